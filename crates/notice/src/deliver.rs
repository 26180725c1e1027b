//! Keeps one courier running per configured sink, opens and closes sinks as the configuration changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdfast_journal::Journal;
use holdfast_types::{Clock, KindDef, Origin, Timestamp};
use serde_json::Map;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::courier::{Courier, Parts, blocking, own_actor};
use crate::error::{Error, Result};
use crate::kinds;
use crate::message::Message;
use crate::notice::{Severity, draft, instance};
use crate::outlook::{Board, Handle, Standing};
use crate::sink::{Channel, Outcome, SinkName};
use crate::view::{Outbox, Recorded};

/// Tells people what was raised. One per house; [`Deliverer::run`] is its life.
#[derive(Debug)]
pub struct Deliverer {
    parts: Parts,
    channels: watch::Receiver<Vec<Channel>>,
}

impl Deliverer {
    /// `channels` is the configuration, replaced as a whole when it is read again. `applied` says how many entries
    /// the view has applied; whoever feeds the view moves it on after each commit, and that is what wakes the
    /// couriers. Nothing is polled.
    pub fn new(
        journal: Journal,
        outbox: Outbox,
        clock: Arc<dyn Clock>,
        channels: watch::Receiver<Vec<Channel>>,
        applied: watch::Receiver<u64>,
    ) -> (Deliverer, Handle) {
        let board = Arc::new(Board::default());
        let handle = Handle::new(board.clone(), outbox.clone());
        (Deliverer { parts: Parts { journal, outbox, clock, board, applied }, channels }, handle)
    }

    /// Runs until cancelled. An error means that it should be started again; nothing is lost by that.
    pub async fn run(mut self, cancel: CancellationToken) -> Result<()> {
        let mut crew = Crew::default();
        let served = self.serve(&mut crew, &cancel).await;
        crew.stop_all().await;
        served
    }

    async fn serve(&mut self, crew: &mut Crew, cancel: &CancellationToken) -> Result<()> {
        loop {
            // Dropped while waiting, neither has changed anything.
            tokio::select! {
                () = cancel.cancelled() => return Ok(()),
                () = caught_up(&mut self.parts) => {}
            }
            let wanted = self.channels.borrow_and_update().clone();
            self.rearrange(crew, wanted).await?;
            tokio::select! {
                () = cancel.cancelled() => return Ok(()),
                Some(ended) = crew.tasks.join_next() => {
                    let sink = ended.map_or_else(|_| "unknown".to_owned(), |name| name.to_string());
                    return Err(Error::Ended { sink });
                }
                () = changed(&mut self.channels) => {}
            }
        }
    }

    /// Stops couriers that are no longer wanted as they are, closes sinks that are gone, and starts the missing.
    async fn rearrange(&mut self, crew: &mut Crew, wanted: Vec<Channel>) -> Result<()> {
        let wanted: BTreeMap<SinkName, Channel> = wanted.into_iter().map(|c| (c.name.clone(), c)).collect();
        let stale =
            crew.running.iter().filter(|(name, (now, _))| !wanted.get(*name).is_some_and(|c| same(c, now)));
        let stale: Vec<SinkName> = stale.map(|(name, _)| name.clone()).collect();
        for name in &stale {
            crew.stop(name).await?;
        }
        for name in self.known_sinks().await? {
            if !wanted.contains_key(&name) {
                self.append(&kinds::CLOSED, &name).await?;
                self.parts.board.lock().remove(&name);
            }
        }
        for (name, channel) in wanted {
            if !crew.running.contains_key(&name) {
                let cursor = self.open(&channel).await?;
                crew.start(self.parts.clone(), channel, cursor);
            }
        }
        Ok(())
    }

    async fn known_sinks(&self) -> Result<Vec<SinkName>> {
        let outbox = self.parts.outbox.clone();
        let names = blocking("every sink", move || outbox.sink_names()).await?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Where the sink goes on; a new one begins after the entry that says it was opened.
    async fn open(&self, channel: &Channel) -> Result<u64> {
        let name = &channel.name;
        let known = self.parts.board.lock().get(name).map(|standing| standing.recorded);
        let recorded = match known {
            Some(recorded) => recorded,
            None => {
                let (outbox, sink) = (self.parts.outbox.clone(), name.clone());
                match blocking(name.as_str(), move || outbox.sink(sink.as_str())).await? {
                    Some(recorded) => recorded,
                    None => Recorded {
                        cursor: self.append(&kinds::OPENED, name).await?,
                        delivered: 0,
                        abandoned: 0,
                        last_delivered: None,
                    },
                }
            }
        };
        let standing =
            Standing { min_severity: channel.min_severity, recorded, trouble: None, next_attempt: None };
        self.parts.board.lock().insert(name.clone(), standing);
        Ok(recorded.cursor)
    }

    async fn append(&self, kind: &KindDef, sink: &SinkName) -> Result<u64> {
        let body = Map::from_iter([("sink".to_owned(), sink.as_str().into())]);
        let (journal, draft) = (self.parts.journal.clone(), draft(kind, own_actor(), body));
        blocking(sink.as_str(), move || Ok(journal.append(&draft)?.seq)).await
    }
}

/// Sends a message now, past the outbox, so that a person sees whether a sink works.
pub async fn test(channel: &Channel, origin: &Origin, now: Timestamp) -> Outcome {
    let source = instance(origin).to_owned();
    let message = Message {
        id: format!("ntc_{}_test_{}", source.replace('.', "_"), now.as_micros()),
        timestamp: now,
        severity: Severity::Info,
        message: "This is a test: notices of this instance arrive here.".into(),
        context: Map::from_iter([("sink".to_owned(), channel.name.as_str().into())]),
        source,
        folded: None,
    };
    channel.sink.send(&message).await
}

/// Returns when the view has applied every entry there is now, so that it says how far each sink really is.
async fn caught_up(parts: &mut Parts) {
    let size = parts.journal.size();
    if parts.applied.wait_for(|applied| *applied >= size).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn changed(channels: &mut watch::Receiver<Vec<Channel>>) {
    if channels.changed().await.is_err() {
        // Nobody is left to change them.
        std::future::pending::<()>().await;
    }
}

fn same(a: &Channel, b: &Channel) -> bool {
    a.min_severity == b.min_severity && a.pace == b.pace && Arc::ptr_eq(&a.sink, &b.sink)
}

/// The couriers that run.
#[derive(Debug, Default)]
struct Crew {
    tasks: JoinSet<SinkName>,
    running: BTreeMap<SinkName, (Channel, CancellationToken)>,
}

impl Crew {
    fn start(&mut self, parts: Parts, channel: Channel, cursor: u64) {
        let stop = CancellationToken::new();
        self.running.insert(channel.name.clone(), (channel.clone(), stop.clone()));
        self.tasks.spawn(Courier::new(parts, channel, cursor, stop).run());
    }

    /// Returns when that courier has ended; how far it is stands on the board.
    async fn stop(&mut self, name: &SinkName) -> Result<()> {
        let Some((_, stop)) = self.running.remove(name) else { return Ok(()) };
        stop.cancel();
        match self.tasks.join_next().await {
            Some(Ok(ended)) if ended == *name => Ok(()),
            _ => Err(Error::Ended { sink: name.to_string() }),
        }
    }

    async fn stop_all(&mut self) {
        self.running.values().for_each(|(_, stop)| stop.cancel());
        while self.tasks.join_next().await.is_some() {}
    }
}
