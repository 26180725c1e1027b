//! The couriers that run, one task each: started, stopped, and given a rest when one ended by itself.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::courier::{Courier, Parts};
use crate::plan::Memory;
use crate::retry;
use crate::sink::{Channel, SinkName};

#[derive(Debug, Default)]
pub(crate) struct Crew {
    tasks: JoinSet<(SinkName, Memory)>,
    running: BTreeMap<SinkName, Post>,
    /// How those paced themselves that were stopped: the rate holds on when a sink gets other settings.
    paced: BTreeMap<SinkName, Memory>,
    /// Those that ended by themselves and are not asked back before their time.
    resting: BTreeMap<SinkName, Instant>,
    /// How often in a row that happened.
    failures: BTreeMap<SinkName, u32>,
}

#[derive(Debug)]
struct Post {
    channel: Channel,
    stop: CancellationToken,
    task: Id,
    since: Instant,
}

type Ended = Result<(Id, (SinkName, Memory)), JoinError>;

impl Crew {
    pub(crate) fn start(&mut self, parts: Parts, channel: Channel) {
        let (name, stop) = (channel.name.clone(), CancellationToken::new());
        let memory = self.paced.remove(&name).unwrap_or_default();
        let courier = Courier::new(parts, channel.clone(), memory, stop.clone());
        let task = self.tasks.spawn(courier.run()).id();
        self.resting.remove(&name);
        self.running.insert(name, Post { channel, stop, task, since: Instant::now() });
    }

    /// Whether nobody serves this sink although somebody could.
    pub(crate) fn lacks(&self, name: &SinkName) -> bool {
        let rests = self.resting.get(name).is_some_and(|until| *until > Instant::now());
        !rests && !self.running.contains_key(name)
    }

    /// Those whose channel is gone or is another one now.
    pub(crate) fn not_among(&self, wanted: &BTreeMap<SinkName, Channel>) -> Vec<SinkName> {
        let is_wanted =
            |post: &Post| wanted.get(&post.channel.name).is_some_and(|c| c.is_same(&post.channel));
        self.running.iter().filter(|(_, post)| !is_wanted(post)).map(|(name, _)| name.clone()).collect()
    }

    /// Returns when that courier has ended. Others that end meanwhile are found missing afterwards.
    pub(crate) async fn stop(&mut self, name: &SinkName) {
        let Some(post) = self.running.get(name) else { return };
        post.stop.cancel();
        let task = post.task;
        while let Some(ended) = self.tasks.join_next_with_id().await {
            if self.sign_off(ended) == task {
                break;
            }
        }
        self.resting.remove(name);
    }

    pub(crate) async fn stop_all(&mut self) {
        self.running.values().for_each(|post| post.stop.cancel());
        while self.tasks.join_next().await.is_some() {}
    }

    /// Returns the first that ended without having been asked to.
    pub(crate) async fn lost(&mut self) -> SinkName {
        loop {
            // Only waits until it has one: dropping it loses nothing.
            let Some(ended) = self.tasks.join_next_with_id().await else {
                return std::future::pending().await;
            };
            let id = id_of(&ended);
            let name = self.running.iter().find(|(_, post)| post.task == id).map(|(name, _)| name.clone());
            if let Some(name) = name {
                return name;
            }
        }
    }

    /// Says until when a lost one rests: ever longer while it ends soon after each start.
    pub(crate) fn rest(&mut self, name: &SinkName) -> Instant {
        let Some(post) = self.running.remove(name) else { return Instant::now() };
        let pace = &post.channel.pace;
        let failures = self.failures.entry(name.clone()).or_default();
        *failures = if post.since.elapsed() > pace.longest_wait { 1 } else { failures.saturating_add(1) };
        let wait = retry::wait(*failures, pace, getrandom::u64().unwrap_or(0)).max(Duration::from_millis(1));
        let until = Instant::now() + wait;
        self.resting.insert(name.clone(), until);
        until
    }

    /// Waits until the next one has rested.
    pub(crate) fn next_rested(&self) -> impl Future<Output = ()> + use<> {
        let until = self.resting.values().min().copied();
        async move {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Nobody is asked back to a sink that is gone.
    pub(crate) fn expect_only(&mut self, wanted: &BTreeMap<SinkName, Channel>) {
        self.resting.retain(|name, _| wanted.contains_key(name));
    }

    /// The sink is closed: should it come again, it is a new one.
    pub(crate) fn forget(&mut self, name: &SinkName) {
        self.paced.remove(name);
        self.resting.remove(name);
        self.failures.remove(name);
    }

    fn sign_off(&mut self, ended: Ended) -> Id {
        let id = id_of(&ended);
        self.running.retain(|_, post| post.task != id);
        if let Ok((_, (name, memory))) = ended {
            self.paced.insert(name, memory);
        }
        id
    }
}

fn id_of(ended: &Ended) -> Id {
    match ended {
        Ok((id, _)) => *id,
        Err(e) => e.id(),
    }
}
