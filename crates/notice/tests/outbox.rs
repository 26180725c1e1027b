//! The whole path from a raised notice to a receiver, in simulated time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Desk, Home, Made, channel, down, in_the_end, notice, until};
use holdfast_notice::{Channel, Message, Outcome, Pace, Severity, Sink, Trouble};
use tokio::time::{Instant, sleep};

const HOUR: Duration = Duration::from_secs(3_600);

fn texts(range: std::ops::RangeInclusive<u32>) -> Vec<String> {
    range.map(|n| format!("notice {n}")).collect()
}

// shows: STW-251
#[tokio::test(start_paused = true)]
async fn after_an_hour_without_a_receiver_everything_is_told_once_in_order() {
    let home = Home::new();
    let desk = Desk::new(down());
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    for n in 1..=200 {
        home.warn(&format!("notice {n}"));
        sleep(HOUR / 200).await;
    }
    assert_eq!(running.pending(), 200);
    let asked = *desk.asked.lock().unwrap();
    assert!((15..30).contains(&asked), "tried {asked} times in an hour");
    desk.answer(Outcome::Delivered);
    running.all_told_in_the_end().await;
    assert_eq!(desk.texts(), texts(1..=200));
    let at = desk.at.lock().unwrap().clone();
    for i in 30..200 {
        assert!(at[i] - at[i - 30] >= Duration::from_secs(60), "message {i} came too soon");
    }
    running.stop().await;
    assert_eq!(home.entries("notice.message.delivered").len(), 200);
    let (_, first) = &home.entries("notice.message.delivered")[0];
    assert_eq!(first["attempts"], asked + 1, "every try is written down");
}

// shows: HRD-088
#[tokio::test(start_paused = true)]
async fn one_dead_sink_does_not_hold_up_the_other() {
    let home = Home::new();
    let (dead, alive) = (Desk::new(down()), Desk::new(Outcome::Delivered));
    let running = home.open(vec![channel("dead", dead.clone()), channel("alive", alive.clone())]).await;
    let began = Instant::now();
    for n in 1..=10 {
        home.warn(&format!("notice {n}"));
    }
    until(|| alive.len() == 10).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(alive.texts(), texts(1..=10));
    assert_eq!(dead.len(), 0);
    let outlook = running.handle.outlook().unwrap();
    assert_eq!(outlook.iter().map(|o| o.pending).collect::<Vec<_>>(), [0, 10]);
    let sick = &outlook[1];
    assert_eq!((sick.sink.as_str(), sick.trouble, sick.delivered), ("dead", Some(Trouble::Network), 0));
    assert!(
        sick.next_attempt.is_some() && outlook[0].trouble.is_none() && outlook[0].last_delivered.is_some()
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_a_thousand_is_folded_to_few() {
    let home = Home::new();
    let desk = Desk::new(Outcome::Delivered);
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    let draft =
        |n| notice(Severity::Warning, &format!("disk {n}")).folding("disk").draft(home.journal.origin());
    for batch in 0..20 {
        let drafts: Vec<_> = (0..50).map(|n| draft(batch * 50 + n)).collect();
        home.journal.append_many(&drafts).unwrap();
        home.feed();
        sleep(Duration::from_secs(1)).await;
    }
    running.all_told_in_the_end().await;
    let got = desk.got.lock().unwrap().clone();
    assert!(got.len() <= 5, "{} messages", got.len());
    let counted: u64 = got.iter().map(|m| m.folded.map_or(1, |f| f.count)).sum();
    assert_eq!(counted, 1000);
    assert_eq!(got.last().unwrap().message, "disk 999");
    running.stop().await;
    assert_eq!(home.entries("notice.message.raised").len(), 1000, "the journal keeps each of them");
}

// shows: HRD-084, HRD-085
#[tokio::test(start_paused = true)]
async fn what_matters_less_than_a_sink_wants_is_not_told_there() {
    let home = Home::new();
    let desks: Vec<_> = (0..4).map(|_| Desk::new(Outcome::Delivered)).collect();
    let at = |name: &str, n: usize, min_severity| Channel { min_severity, ..channel(name, desks[n].clone()) };
    // The fourth is configured and not enabled, so it is not in the list.
    let running = home
        .open(vec![
            at("everything", 0, Severity::Info),
            channel("usual", desks[1].clone()),
            at("urgent", 2, Severity::Critical),
        ])
        .await;
    for severity in Severity::ALL {
        home.raise(&notice(severity, severity.as_str()).with("unit", "sshd").with("tries", 3));
    }
    running.all_told().await;
    until(|| desks[2].len() == 1).await;
    running.stop().await;
    let told: Vec<Vec<String>> = desks.iter().map(|desk| desk.texts()).collect();
    let expected = [&["info", "warning", "critical"][..], &["warning", "critical"], &["critical"], &[]];
    assert_eq!(told, expected);
    let first = desks[0].got.lock().unwrap()[0].clone();
    assert_eq!((first.severity, first.context["unit"].as_str()), (Severity::Info, Some("sshd")));
    assert_eq!(first.context["tries"], "3");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_refused_for_ever_does_not_block_those_behind_it() {
    let home = Home::new();
    let desk = Desk::new(Outcome::Refused { why: Trouble::Status(400) });
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    let seq = home.warn("refused");
    in_the_end(|| *desk.asked.lock().unwrap() == 6).await;
    desk.answer(Outcome::Delivered);
    home.warn("accepted");
    running.all_told().await;
    assert_eq!(desk.texts(), ["accepted"]);
    assert_eq!(running.handle.outlook().unwrap()[0].abandoned, 1);
    running.stop().await;
    let given_up = home.entries("notice.message.abandoned");
    let body = &given_up[0].1;
    assert_eq!(
        (&body["notice"], &body["why"], &body["attempts"]),
        (&seq.into(), &"status-400".into(), &6.into())
    );
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_asks_for_a_pause_gets_it() {
    let home = Home::new();
    let pause = Some(Duration::from_secs(90));
    let desk = Desk::new(Outcome::Unavailable { why: Trouble::Status(429), retry_after: pause });
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    home.warn("later");
    until(|| *desk.asked.lock().unwrap() == 1).await;
    desk.answer(Outcome::Delivered);
    let began = Instant::now();
    running.all_told_in_the_end().await;
    assert!(began.elapsed() > Duration::from_secs(89), "{:?}", began.elapsed());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn sinks_come_and_go_with_the_configuration() {
    let home = Home::new();
    let (old, new) = (Desk::new(Outcome::Delivered), Desk::new(Outcome::Delivered));
    let running = home.open(vec![channel("old", old.clone())]).await;
    home.warn("before");
    running.all_told().await;
    home.feed();
    running.channels.send_replace(vec![channel("old", old.clone()), channel("new", new.clone())]);
    until(|| running.handle.outlook().unwrap().len() == 2).await;
    home.warn("both");
    until(|| old.len() == 2 && new.len() == 1).await;
    home.feed();
    running.channels.send_replace(vec![channel("new", new.clone())]);
    until(|| running.handle.outlook().unwrap().len() == 1).await;
    home.warn("only new");
    until(|| new.len() == 2).await;
    running.stop().await;
    home.feed();
    // Back again, it is a new sink: what was raised while it was gone is not told to it.
    let running = home.open(vec![channel("old", old.clone()), channel("new", new.clone())]).await;
    home.warn("both again");
    until(|| old.len() == 3 && new.len() == 3).await;
    running.stop().await;
    assert_eq!(old.texts(), ["before", "both", "both again"]);
    assert_eq!(new.texts(), ["both", "only new", "both again"]);
    let sinks =
        |kind: &str| home.entries(kind).into_iter().map(|(_, body)| body["sink"].clone()).collect::<Vec<_>>();
    assert_eq!(sinks("notice.sink.opened"), ["old", "new", "old"]);
    assert_eq!(sinks("notice.sink.closed"), ["old"]);
}

#[tokio::test(start_paused = true)]
async fn a_restart_goes_on_where_the_last_run_ended() {
    let home = Home::new();
    let desk = Desk::new(Outcome::Delivered);
    for n in 1..=12 {
        let running = home.open(vec![channel("ops", desk.clone())]).await;
        home.warn(&format!("notice {n}"));
        if n % 3 == 0 {
            running.all_told().await;
        }
        running.stop().await;
        home.feed();
        assert!(home.index.rebuild(&home.journal, &mut |_| std::ops::ControlFlow::Continue(())).is_ok());
    }
    assert_eq!(desk.texts(), texts(1..=12));
}

#[tokio::test(start_paused = true)]
async fn with_nothing_to_tell_nothing_happens() {
    let home = Home::new();
    let running = home.open(vec![channel("ops", Desk::new(Outcome::Delivered))]).await;
    home.warn("one");
    running.all_told().await;
    // Simulated time jumps to the next timer whenever every task waits. While another thread keeps this test
    // waiting, it stands still: so there is no timer.
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

#[tokio::test(start_paused = true)]
async fn a_notice_whose_text_may_not_be_stored_is_still_raised() {
    let home = Home::new();
    let desk = Desk::new(Outcome::Delivered);
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    home.raise(&notice(
        Severity::Critical,
        // holdfast: allow private_key_pem — the first bytes of every such key, and no more
        "leaked: -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA",
    ));
    until(|| desk.len() == 1).await;
    let got = desk.got.lock().unwrap()[0].clone();
    assert_eq!(got.severity, Severity::Critical);
    assert!(got.message.contains("withheld") && !got.message.contains("BEGIN"), "{}", got.message);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn text_is_cleaned_cut_and_screened_before_it_leaves() {
    let home = Home::new();
    let desk = Desk::new(Outcome::Delivered);
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    let token = format!("ghp_{}", "a1B2".repeat(9));
    // The token stands across the place where the sent text is cut.
    let across = format!("{} {token} {}", "x".repeat(980), "y".repeat(5_000));
    let mut long =
        notice(Severity::Warning, &across).with("token", &token).with("v\u{1b}", "v".repeat(5_000));
    for n in 0..40 {
        long = long.with(format!("z{n:02}"), n);
    }
    home.raise(&long);
    home.raise(&notice(Severity::Warning, &format!("a\u{1b}[2J\nb\u{202e} {token}")));
    until(|| desk.len() == 2).await;
    running.stop().await;
    let got = desk.got.lock().unwrap().clone();
    let sent = serde_json::to_string(&got).unwrap();
    assert!(!sent.contains("a1B2") && !sent.contains("\\u001b") && !sent.contains('\u{202e}'), "{sent}");
    assert!(got[0].message.chars().count() <= 1_000 && got[0].context.len() <= 16);
    assert!(got[0].context.values().all(|v| v.as_str().unwrap().chars().count() <= 200));
    assert_eq!(got[1].message, "a[2J b [REDACTED_GITHUB_TOKEN]");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_out_of_order_for_a_day_loses_nothing() {
    let home = Home::new();
    let gone = Outcome::Unavailable { why: Trouble::Status(404), retry_after: None };
    let desk = Desk::new(gone);
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    for n in 1..=20 {
        home.warn(&format!("notice {n}"));
    }
    sleep(24 * HOUR).await;
    let outlook = running.handle.outlook().unwrap().remove(0);
    assert_eq!((outlook.trouble, outlook.pending), (Some(Trouble::Status(404)), 20));
    assert!(outlook.next_attempt.unwrap() <= Duration::from_secs(300));
    desk.answer(Outcome::Delivered);
    running.all_told_in_the_end().await;
    assert_eq!(desk.texts(), texts(1..=20));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_one_sink_gave_up_the_others_are_told_of_once() {
    let home = Home::new();
    home.follow();
    let refuses = || Desk::new(Outcome::Refused { why: Trouble::Status(400) });
    let (one, two, good) = (refuses(), refuses(), Desk::new(Outcome::Delivered));
    let sinks = [("one", &one), ("two", &two), ("good", &good)];
    let running = home.open(sinks.map(|(name, desk)| channel(name, desk.clone())).into()).await;
    let seq = home.warn("odd");
    in_the_end(|| running.handle.outlook().unwrap().iter().map(|o| o.abandoned).sum::<u64>() == 4).await;
    running.all_told_in_the_end().await;
    let told = good.got.lock().unwrap().clone();
    let about: Vec<(&str, &str)> =
        told[1..].iter().map(|m| (m.context["sink"].as_str().unwrap(), m.severity.as_str())).collect();
    assert_eq!(told[0].message, "odd");
    assert_eq!(about.len(), 2);
    assert!(about.contains(&("one", "warning")) && about.contains(&("two", "warning")), "{about:?}");
    let seq = seq.to_string();
    assert!(told[1..].iter().all(|m| m.context["notice"] == seq));
    // Each of the two is told of the other, refuses that, and there it ends.
    sleep(Duration::from_secs(120)).await;
    assert_eq!(home.entries("notice.message.abandoned").len(), 4);
    assert_eq!(good.len(), 3);
    running.stop().await;
}

fn made(desk: &Arc<Desk>, settings: &'static str) -> Channel {
    let pace = Pace { per_minute: NonZeroU32::new(2), ..Pace::default() };
    Channel { pace, ..channel("ops", Arc::new(Made { desk: desk.clone(), settings })) }
}

#[tokio::test(start_paused = true)]
async fn a_reload_neither_tells_anything_again_nor_lifts_the_rate() {
    for changed in [false, true] {
        let home = Home::new();
        home.follow();
        let desk = Desk::new(Outcome::Delivered);
        let running = home.open(vec![made(&desk, "a")]).await;
        let repeat = || home.raise(&notice(Severity::Warning, "repeat").folding("k"));
        repeat();
        home.warn("distinct");
        until(|| desk.len() == 2).await;
        repeat();
        repeat();
        for _ in 0..20 {
            sleep(Duration::from_secs(1)).await;
            let channel = made(&desk, if changed { "b" } else { "a" });
            running.channels.send_replace(vec![channel]);
        }
        assert_eq!(desk.len(), 2, "the repeats are held and the rate is used up; changed: {changed}");
        home.warn("another");
        running.all_told_in_the_end().await;
        let got = desk.got.lock().unwrap().clone();
        let told: Vec<(&str, u64)> =
            got.iter().map(|m| (m.message.as_str(), m.folded.map_or(1, |f| f.count))).collect();
        assert_eq!(told, [("repeat", 1), ("distinct", 1), ("repeat", 2), ("another", 1)]);
        assert!(desk.at.lock().unwrap()[2] >= Duration::from_secs(60), "changed: {changed}");
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_being_told_is_the_same_one_after_a_reload_and_a_restart() {
    let home = Home::new();
    home.follow();
    let desk = Desk::new(down());
    let running = home.open(vec![made(&desk, "a")]).await;
    let repeat = || home.raise(&notice(Severity::Warning, "repeat").folding("k"));
    let first = repeat();
    in_the_end(|| *desk.asked.lock().unwrap() >= 3).await;
    // More of the kind come while nobody knows whether the message arrived.
    repeat();
    repeat();
    running.channels.send_replace(vec![made(&desk, "b")]);
    in_the_end(|| *desk.asked.lock().unwrap() >= 6).await;
    running.stop().await;
    let running = home.open(vec![made(&desk, "b")]).await;
    desk.answer(Outcome::Delivered);
    running.all_told_in_the_end().await;
    running.stop().await;
    let got = desk.got.lock().unwrap().clone();
    let told: Vec<(String, Option<u64>)> =
        got.iter().map(|m| (m.id.clone(), m.folded.map(|f| f.count))).collect();
    assert_eq!(
        told,
        [(format!("ntc_test_{first}"), None), (format!("ntc_test_{}", got_seq(&home, 1)), Some(2))]
    );
}

fn got_seq(home: &Home, nth: usize) -> u64 {
    home.entries("notice.message.raised")[nth].0.seq
}

#[tokio::test(start_paused = true)]
async fn another_least_severity_means_the_same_with_and_without_a_restart() {
    for restart in [false, true] {
        let home = Home::new();
        home.follow();
        let desk = Desk::new(Outcome::Delivered);
        let with = |min_severity| vec![Channel { min_severity, ..made(&desk, "a") }];
        let mut running = home.open(with(Severity::Critical)).await;
        home.warn("passed over");
        home.raise(&notice(Severity::Critical, "told"));
        home.warn("passed over too");
        until(|| desk.len() == 1).await;
        if restart {
            running.stop().await;
            running = home.open(with(Severity::Warning)).await;
        } else {
            running.channels.send_replace(with(Severity::Warning));
        }
        until(|| home.entries("notice.sink.changed").len() == 1).await;
        home.warn("told as well");
        running.all_told_in_the_end().await;
        running.stop().await;
        assert_eq!(desk.texts(), ["told", "told as well"], "restart: {restart}");
    }
}

/// Breaks the courier that calls it, so many times.
#[derive(Debug)]
struct Trap {
    left: AtomicU32,
    desk: Arc<Desk>,
}

impl Sink for Trap {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        let sprung = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        assert!(sprung.is_err(), "the trap");
        self.desk.send(message)
    }
}

#[tokio::test(start_paused = true)]
async fn a_courier_that_breaks_is_started_again_and_the_others_do_not_notice() {
    let home = Home::new();
    home.follow();
    let (desk, other) = (Desk::new(Outcome::Delivered), Desk::new(Outcome::Delivered));
    let trap = Arc::new(Trap { left: AtomicU32::new(5), desk: desk.clone() });
    let running = home.open(vec![channel("trap", trap), channel("other", other.clone())]).await;
    let began = Instant::now();
    home.warn("notice 1");
    until(|| other.len() == 1).await;
    home.warn("notice 2");
    until(|| other.len() == 2).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(running.handle.outlook().unwrap()[1].trouble.is_some());
    running.all_told_in_the_end().await;
    assert!(began.elapsed() > Duration::from_secs(20), "it rests ever longer: {:?}", began.elapsed());
    assert_eq!((desk.texts(), other.texts()), (texts(1..=2), texts(1..=2)));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_fullest_notice_fits_into_the_journal() {
    let home = Home::new();
    let desk = Desk::new(Outcome::Delivered);
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    for filling in ["🚨", "\"", "\\", "é", "x"] {
        let long = filling.repeat(20_000);
        let mut full = notice(Severity::Warning, &long).folding(long.clone());
        for n in 0..20 {
            full = full.with(format!("{n}{long}"), &long);
        }
        home.raise(&full);
    }
    running.all_told_in_the_end().await;
    running.stop().await;
    let got = desk.got.lock().unwrap().clone();
    assert_eq!(got.len(), 5);
    for message in got {
        assert_eq!((message.message.chars().count(), message.context.len()), (1_000, 16));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_worse_hides_behind_something_lesser() {
    let home = Home::new();
    let desk = Desk::new(down());
    let running = home.open(vec![channel("ops", desk.clone())]).await;
    for (severity, text) in [
        (Severity::Warning, "slow"),
        (Severity::Warning, "slower"),
        (Severity::Critical, "gone"),
        (Severity::Warning, "slow again"),
    ] {
        home.raise(&notice(severity, text).folding("disk"));
    }
    in_the_end(|| *desk.asked.lock().unwrap() > 3).await;
    desk.answer(Outcome::Delivered);
    running.all_told_in_the_end().await;
    running.stop().await;
    // The first was being told alone; what came meanwhile is folded, each severity for itself.
    let got = desk.got.lock().unwrap().clone();
    let told: Vec<(&str, Severity)> = got.iter().map(|m| (m.message.as_str(), m.severity)).collect();
    assert!(told.contains(&("gone", Severity::Critical)), "{told:?}");
    assert_eq!(told.last().unwrap(), &("gone", Severity::Critical));
    assert_eq!(got.iter().map(|m| m.folded.map_or(1, |f| f.count)).sum::<u64>(), 4);
}
