//! Quiet hours from end to end, in simulated time: the wall clock and the timers move together.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Home, channel, notice};
use holdfast_notice::{Channel, Identity, Message, Outcome, QuietHours, Severity, Sink, Trouble};
use tokio::time::{Instant, sleep};

const MINUTE: Duration = Duration::from_secs(60);

/// A receiver that keeps every attempt, with the time of day, whether or not it answers.
#[derive(Debug)]
struct Notebook {
    clock: holdfast_testkit::TestClock,
    tries: Mutex<Vec<(String, Message)>>,
    is_up: Mutex<bool>,
}

impl Notebook {
    fn new(home: &Home) -> Arc<Notebook> {
        let clock = home.house.clock.clone();
        Arc::new(Notebook { clock, tries: Mutex::default(), is_up: Mutex::new(true) })
    }

    fn up(&self, is_up: bool) {
        *self.is_up.lock().unwrap() = is_up;
    }

    fn tries(&self) -> Vec<(String, Message)> {
        self.tries.lock().unwrap().clone()
    }

    /// What was tried, as the time and the text.
    fn told(&self) -> Vec<String> {
        self.tries().iter().map(|(at, message)| format!("{at} {}", message.message)).collect()
    }
}

impl Sink for Notebook {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        let at = self.clock.now().to_string()[11..16].to_owned();
        self.tries.lock().unwrap().push((at, message.clone()));
        let outcome = match *self.is_up.lock().unwrap() {
            true => Outcome::Delivered,
            false => Outcome::Unavailable { why: Trouble::Network, retry_after: None },
        };
        Box::pin(async move { outcome })
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::of(["notebook"]))
    }
}

/// It is noon when a test begins.
fn quiet(notebook: &Arc<Notebook>) -> Vec<Channel> {
    let hours = QuietHours::read("13:00-15:00 UTC").unwrap();
    vec![Channel { quiet: Some(hours), ..channel("ops", notebook.clone()) }]
}

/// So many minutes pass, and the view follows.
async fn pass(home: &Home, minutes: u32) {
    // What was raised just now is seen at this minute.
    sleep(Duration::from_millis(10)).await;
    for _ in 0..minutes {
        home.house.clock.advance(MINUTE);
        sleep(MINUTE).await;
        home.feed();
    }
    sleep(Duration::from_millis(10)).await;
}

#[tokio::test(start_paused = true)]
async fn in_quiet_hours_only_what_is_critical_is_told_and_the_rest_is_one_message_afterwards() {
    let home = Home::new();
    let notebook = Notebook::new(&home);
    let running = home.open(quiet(&notebook)).await;
    home.warn("before");
    pass(&home, 61).await;
    home.warn("disk slow");
    pass(&home, 5).await;
    home.raise(&notice(Severity::Critical, "host gone"));
    home.warn("disk slower");
    pass(&home, 5).await;
    assert_eq!(notebook.told(), ["12:00 before", "13:06 host gone"]);
    let outlook = running.handle.outlook().unwrap().remove(0);
    assert_eq!((outlook.pending, outlook.trouble), (2, None));
    assert_eq!(outlook.quiet_until.unwrap().to_string(), "2026-11-15T15:00:00.000000Z");
    pass(&home, 108).await;
    assert_eq!(notebook.told().len(), 2, "a minute before the end");
    pass(&home, 2).await;
    home.warn("after");
    pass(&home, 1).await;
    running.stop().await;
    let told = notebook.told();
    assert_eq!(told[2..], ["15:00 2 notices waited until the quiet hours were over.", "15:01 after"]);
    let (_, digest) = &notebook.tries()[2];
    let lines: Vec<&str> = digest.digest.iter().map(|line| line.message.as_str()).collect();
    assert_eq!((lines, digest.folded.unwrap().count), (vec!["disk slow", "disk slower"], 2));
    assert_eq!(home.entries("notice.message.delivered").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_digest_is_the_same_after_a_restart_between_two_tries() {
    let home = Home::new();
    let notebook = Notebook::new(&home);
    let mut running = home.open(quiet(&notebook)).await;
    pass(&home, 61).await;
    for n in 1..=3 {
        home.warn(&format!("notice {n}"));
        // Stopped and started while it is quiet, with the view made anew.
        running.stop().await;
        home.feed();
        home.index.rebuild(&home.journal, &mut |_| ControlFlow::Continue(())).unwrap();
        running = home.open(quiet(&notebook)).await;
        pass(&home, 5).await;
    }
    assert!(notebook.told().is_empty());
    notebook.up(false);
    pass(&home, 110).await;
    let first_tries = notebook.tries().len();
    assert!(first_tries >= 2, "{first_tries}");
    running.stop().await;
    home.feed();
    // Also with other settings: it may have arrived as it was.
    let running = home.open(vec![channel("ops", notebook.clone())]).await;
    notebook.up(true);
    pass(&home, 10).await;
    running.stop().await;
    let tries = notebook.tries();
    assert!(tries.len() > first_tries && tries.iter().all(|(_, message)| *message == tries[0].1));
    assert_eq!(tries[0].1.folded.unwrap().count, 3);
    assert_eq!(home.entries("notice.message.delivered").len(), 1, "told once");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_quiet_hours_interrupt_is_put_off_as_it_is() {
    for restart in [false, true] {
        let home = Home::new();
        let notebook = Notebook::new(&home);
        let mut running = home.open(quiet(&notebook)).await;
        pass(&home, 55).await;
        notebook.up(false);
        home.raise(&notice(Severity::Warning, "slow").folding("disk"));
        home.warn("alone");
        pass(&home, 15).await;
        let before = notebook.tries();
        assert!(
            before.len() > 2 && before.iter().all(|(at, _)| at.as_str() < "13:00"),
            "{:?}",
            notebook.told()
        );
        // The receiver is back, and it is quiet.
        notebook.up(true);
        home.raise(&notice(Severity::Critical, "gone").folding("host"));
        home.raise(&notice(Severity::Warning, "slower").folding("disk"));
        pass(&home, 5).await;
        if restart {
            running.stop().await;
            home.feed();
            running = home.open(quiet(&notebook)).await;
        }
        pass(&home, 30).await;
        assert_eq!(notebook.told()[before.len()..], ["13:10 gone"], "restart: {restart}");
        pass(&home, 95).await;
        running.stop().await;
        let after: Vec<String> = notebook.told()[before.len() + 1..].to_vec();
        assert_eq!(after[0], "15:00 slow", "restart: {restart}");
        let mut rest = after[1..].to_vec();
        rest.sort();
        assert_eq!(rest.len(), 2, "{rest:?}");
        assert!(
            rest.iter().any(|told| told.ends_with("alone"))
                && rest.iter().any(|told| told.ends_with("slower"))
        );
        // What was tried before and is tried again is the same, to the byte.
        let tries = notebook.tries();
        for (_, message) in &tries {
            let first = tries.iter().find(|(_, other)| other.id == message.id).unwrap();
            assert_eq!(first.1, *message, "restart: {restart}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_sink_without_quiet_hours_is_told_at_once() {
    let home = Home::new();
    let (asleep, awake) = (Notebook::new(&home), Notebook::new(&home));
    let mut channels = quiet(&asleep);
    channels.push(channel("awake", awake.clone()));
    let running = home.open(channels).await;
    pass(&home, 61).await;
    home.warn("one");
    pass(&home, 1).await;
    assert_eq!((asleep.told().len(), awake.told()), (0, vec!["13:01 one".to_owned()]));
    // Settings that are read again without quiet hours hold at once.
    running.channels.send_replace(vec![channel("ops", asleep.clone()), channel("awake", awake.clone())]);
    pass(&home, 1).await;
    assert_eq!(asleep.told(), ["13:02 one"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn in_quiet_hours_with_nothing_waiting_nothing_happens() {
    let home = Home::new();
    let notebook = Notebook::new(&home);
    let running = home.open(quiet(&notebook)).await;
    pass(&home, 61).await;
    // Simulated time jumps to the next timer whenever every task waits, and stands still where there is none.
    let began = Instant::now();
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        send.send(()).unwrap();
    });
    receive.await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
    running.stop().await;
}
