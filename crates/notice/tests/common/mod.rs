//! A house with a journal, an index that follows it, and receivers to be told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod heard;
pub mod http;

use std::ops::ControlFlow;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast_credentials::Secret;
use holdfast_journal::{Entry, Journal, Stored};
use holdfast_notice::{
    AllowHosts, Channel, Deliverer, Handle, Identity, Message, Notice, NoticeProjection, Outbox, Outcome,
    Pace, Severity, Sink, Trouble, Webhook, raise,
};
use holdfast_store::Index;
use holdfast_testkit::House;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A house whose notices are told.
pub struct Home {
    pub house: House,
    pub journal: Journal,
    pub index: Arc<Index>,
    applied: watch::Sender<u64>,
}

/// A deliverer that runs.
pub struct Running {
    pub handle: Handle,
    pub channels: watch::Sender<Vec<Channel>>,
    cancel: CancellationToken,
    task: JoinHandle<holdfast_notice::Result<()>>,
}

impl Home {
    pub fn new() -> Home {
        Home::of(House::new())
    }

    pub fn attach(root: &Path) -> Home {
        Home::of(House::attach(root, "test"))
    }

    fn of(house: House) -> Home {
        let journal = house.open();
        let path = house.state().join("index.db");
        let clock = Arc::new(house.clock.clone());
        let projection = Box::new(NoticeProjection::new(house.origin.clone()));
        let (index, _) = Index::open(&path, vec![projection], clock).unwrap();
        let home = Home { house, journal, index: Arc::new(index), applied: watch::Sender::new(0) };
        home.feed();
        home
    }

    /// Lets the view catch up, as the daemon does after each batch.
    pub fn feed(&self) {
        let done = self.index.catch_up(&self.journal, &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(done.halted.is_empty(), "{:?}", done.halted);
        self.applied.send_replace(done.progress.applied);
    }

    /// Lets the view catch up again and again from now on, as the daemon does.
    pub fn follow(&self) {
        let (journal, index, applied) = (self.journal.clone(), self.index.clone(), self.applied.clone());
        tokio::spawn(async move {
            loop {
                if journal.size() > *applied.borrow() {
                    let done = index.catch_up(&journal, &mut |_| ControlFlow::Continue(())).unwrap();
                    applied.send_replace(done.progress.applied);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
    }

    pub fn raise(&self, notice: &Notice) -> u64 {
        let seq = raise(&self.journal, notice).unwrap();
        self.feed();
        seq
    }

    pub fn warn(&self, text: &str) -> u64 {
        self.raise(&notice(Severity::Warning, text))
    }

    pub fn run(&self, channels: Vec<Channel>) -> Running {
        let channels = watch::Sender::new(channels);
        let clock = Arc::new(self.house.clock.clone());
        let outbox = Outbox::new(self.index.clone());
        let (deliverer, handle) = Deliverer::new(
            self.journal.clone(),
            outbox,
            clock,
            channels.subscribe(),
            self.applied.subscribe(),
        );
        let cancel = CancellationToken::new();
        let task = tokio::spawn(deliverer.run(cancel.clone()));
        Running { handle, channels, cancel, task }
    }

    /// Runs once with no notice pending, so that the sinks are open.
    pub async fn open(&self, channels: Vec<Channel>) -> Running {
        let (count, running) = (channels.len(), self.run(channels));
        until(|| running.handle.outlook().unwrap().len() == count).await;
        self.feed();
        running
    }

    /// Bodies of this room's entries of one kind.
    pub fn entries(&self, kind: &str) -> Vec<(Entry, serde_json::Map<String, serde_json::Value>)> {
        let parsed = self.journal.read(0).map(|raw| raw.unwrap().parse().unwrap());
        let body = |entry: Entry| match entry.content.clone() {
            Stored::Body(body) => (entry, body),
            Stored::Blob(_) => unreachable!(),
        };
        parsed.filter(|entry: &Entry| entry.kind.as_str() == kind).map(body).collect()
    }
}

impl Running {
    pub async fn stop(self) {
        self.cancel.cancel();
        self.task.await.unwrap().unwrap();
    }

    pub fn pending(&self) -> u64 {
        self.handle.outlook().unwrap().iter().map(|o| o.pending).sum()
    }

    pub async fn all_told(&self) {
        until(|| self.pending() == 0).await;
    }

    /// The same where it takes minutes of simulated time.
    pub async fn all_told_in_the_end(&self) {
        in_the_end(|| self.pending() == 0).await;
    }
}

/// Waits for a state; with paused time the waiting costs none.
pub async fn until(reached: impl FnMut() -> bool) {
    look_every(Duration::from_millis(5), reached).await;
}

/// The same where it takes minutes of simulated time.
pub async fn in_the_end(reached: impl FnMut() -> bool) {
    look_every(Duration::from_secs(1), reached).await;
}

async fn look_every(step: Duration, mut reached: impl FnMut() -> bool) {
    for _ in 0..4_000 {
        if reached() {
            return;
        }
        tokio::time::sleep(step).await;
    }
    panic!("the state was never reached");
}

pub fn notice(severity: Severity, text: &str) -> Notice {
    Notice::new(severity, "steward".parse().unwrap(), text)
}

pub fn channel(name: &str, sink: Arc<dyn Sink>) -> Channel {
    Channel::new(name.parse().unwrap(), sink)
}

/// The usual pace a thousand times faster, without a rate.
pub fn fast() -> Pace {
    Pace {
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(20),
        per_minute: None,
        ..Pace::default()
    }
}

// holdfast: allow stripe_webhook_secret — the convention's published example
pub const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub fn secret(text: impl Into<String>) -> Secret {
    Secret::new(text.into()).unwrap()
}

/// A webhook to a receiver of this machine, with a token in its path.
pub fn webhook(port: u16, limit: Duration) -> Webhook {
    let clock = Arc::new(holdfast_journal::SystemClock::new());
    let address = secret(format!("http://127.0.0.1:{port}/hook/T0K3N"));
    Webhook::with_limit(address, &secret(KEY), AllowHosts::new(["127.0.0.1"]), clock, limit).unwrap()
}

/// A receiver in memory, which answers as it is told to.
#[derive(Debug)]
pub struct Desk {
    pub got: Mutex<Vec<Message>>,
    /// When each came, since the desk was made.
    pub at: Mutex<Vec<Duration>>,
    pub answer: Mutex<Outcome>,
    pub asked: Mutex<u64>,
    began: tokio::time::Instant,
}

impl Desk {
    pub fn new(answer: Outcome) -> Arc<Desk> {
        Arc::new(Desk {
            got: Mutex::default(),
            at: Mutex::default(),
            answer: Mutex::new(answer),
            asked: Mutex::default(),
            began: tokio::time::Instant::now(),
        })
    }

    pub fn answer(&self, outcome: Outcome) {
        *self.answer.lock().unwrap() = outcome;
    }

    pub fn texts(&self) -> Vec<String> {
        self.got.lock().unwrap().iter().map(|m| m.message.clone()).collect()
    }

    pub fn len(&self) -> usize {
        self.got.lock().unwrap().len()
    }
}

/// The desk as a sink made from settings: as such it is the same as any other made from the same ones.
#[derive(Debug)]
pub struct Made {
    pub desk: Arc<Desk>,
    pub settings: &'static str,
}

impl Sink for Made {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        self.desk.send(message)
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::of(["made", self.settings]))
    }
}

pub fn down() -> Outcome {
    Outcome::Unavailable { why: Trouble::Network, retry_after: None }
}

impl Sink for Desk {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(async move {
            *self.asked.lock().unwrap() += 1;
            let answer = self.answer.lock().unwrap().clone();
            if answer == Outcome::Delivered {
                self.got.lock().unwrap().push(message.clone());
                self.at.lock().unwrap().push(self.began.elapsed());
            }
            answer
        })
    }
}
