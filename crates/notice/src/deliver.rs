//! Keeps one courier running per configured sink, opens and closes sinks as the configuration changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdfast_journal::Journal;
use holdfast_types::{Clock, KindDef, Origin, Timestamp};
use serde_json::Map;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::courier::{Parts, blocking, own_actor};
use crate::crew::Crew;
use crate::error::Result;
use crate::kinds;
use crate::message::Message;
use crate::notice::{Severity, draft, instance};
use crate::outbox::Outbox;
use crate::outlook::{Board, Handle, Standing};
use crate::sink::{Channel, Outcome, SinkName, Trouble};

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
        let (board, began) = (Arc::new(Board::default()), Instant::now());
        let handle = Handle::new(board.clone(), outbox.clone());
        (Deliverer { parts: Parts { journal, outbox, clock, board, began, applied }, channels }, handle)
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
            let wanted = self.channels.borrow_and_update().clone();
            // Dropped half-way it has changed nothing that the next start does not find.
            tokio::select! {
                () = cancel.cancelled() => return Ok(()),
                arranged = self.rearrange(crew, wanted) => arranged?,
            }
            let rested = crew.next_rested();
            tokio::select! {
                () = cancel.cancelled() => return Ok(()),
                name = crew.lost() => self.rest(crew, name),
                () = rested => {}
                () = changed(&mut self.channels) => {}
            }
        }
    }

    /// Stops couriers that are no longer wanted as they are, closes sinks that are gone, and starts the missing.
    async fn rearrange(&mut self, crew: &mut Crew, wanted: Vec<Channel>) -> Result<()> {
        let wanted: BTreeMap<SinkName, Channel> = wanted.into_iter().map(|c| (c.name.clone(), c)).collect();
        for name in crew.not_among(&wanted) {
            crew.stop(&name).await;
        }
        crew.expect_only(&wanted);
        // Only now: what the stopped ones wrote down last has to be in the view as well.
        caught_up(&mut self.parts).await;
        for name in self.known_sinks().await? {
            if !wanted.contains_key(&name) {
                self.append(&kinds::CLOSED, &name, None).await?;
                self.parts.board.lock().remove(&name);
                crew.forget(&name);
            }
        }
        for (name, channel) in wanted {
            if crew.lacks(&name) {
                self.open(&channel).await?;
                crew.start(self.parts.clone(), channel);
            }
        }
        Ok(())
    }

    /// A courier ended by itself: its sink is served again after a while, and the others do not notice.
    fn rest(&self, crew: &mut Crew, name: SinkName) {
        let until = crew.rest(&name);
        tracing::error!(sink = %name, "the part that serves a sink ended by itself; it is started again");
        self.parts.board.update(&name, |standing| {
            (standing.trouble, standing.next_attempt) = (Some(Trouble::Outbox), Some(until));
        });
    }

    async fn known_sinks(&self) -> Result<Vec<SinkName>> {
        let outbox = self.parts.outbox.clone();
        let names = blocking("every sink", move || outbox.sink_names()).await?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Puts the sink on the board, and writes down what the journal does not say yet: that there is this sink, or
    /// that it has another least severity. A new one is told what is raised after that.
    async fn open(&self, channel: &Channel) -> Result<()> {
        let (name, least) = (&channel.name, channel.min_severity);
        let (outbox, sink) = (self.parts.outbox.clone(), name.clone());
        let recorded = blocking(name.as_str(), move || outbox.sink(sink.as_str())).await?;
        match recorded {
            None => self.append(&kinds::OPENED, name, Some(least)).await?,
            Some(known) if known.least != Some(least) => {
                self.append(&kinds::CHANGED, name, Some(least)).await?;
            }
            Some(_) => {}
        }
        let standing = Standing::new(least, recorded.unwrap_or_default());
        self.parts.board.lock().insert(name.clone(), standing);
        Ok(())
    }

    async fn append(&self, kind: &KindDef, sink: &SinkName, least: Option<Severity>) -> Result<()> {
        let mut body = Map::from_iter([("sink".to_owned(), sink.as_str().into())]);
        body.extend(least.map(|least| ("min_severity".to_owned(), least.as_str().into())));
        let (journal, draft) = (self.parts.journal.clone(), draft(kind, own_actor(), body));
        blocking(sink.as_str(), move || Ok(journal.append(&draft).map(drop)?)).await
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
        digest: Vec::new(),
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
