//! Serves one sink: looks what is pending, sends it, writes down that it was told, waits.
//!
//! One task per sink, so that a sink which is slow or down holds up no other. Between two messages it keeps a
//! cursor and little else: what is pending stays in the view, however much that is. Cancelled between two steps
//! it loses nothing; cancelled while sending, it waits a little for the answer and otherwise sends the same
//! message under the same id after the next start.

use std::sync::Arc;
use std::time::Duration;

use holdfast_journal::{Draft, Journal};
use holdfast_types::{Actor, Clock};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::kinds;
use crate::message::Raised;
use crate::notice::draft;
use crate::outlook::Board;
use crate::plan::{self, LOOKAHEAD, Memory, Parcel, Step};
use crate::retry::{self, Next, Tries};
use crate::sink::{Channel, Outcome, SinkName, Trouble};
use crate::view::Outbox;

/// How long an answer is waited for after a stop was asked for.
const GRACE: Duration = Duration::from_secs(2);

/// What couriers share.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) journal: Journal,
    pub(crate) outbox: Outbox,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) board: Arc<Board>,
    /// How many entries the view has applied.
    pub(crate) applied: watch::Receiver<u64>,
}

#[derive(Debug)]
pub(crate) struct Courier {
    parts: Parts,
    channel: Channel,
    cursor: u64,
    memory: Memory,
    /// Times of the plan are measured from here.
    began: Instant,
    stop: CancellationToken,
}

/// Somebody asked the courier to stop.
#[derive(Debug)]
struct Stopped;

impl Courier {
    pub(crate) fn new(parts: Parts, channel: Channel, cursor: u64, stop: CancellationToken) -> Courier {
        Courier { parts, channel, cursor, memory: Memory::default(), began: Instant::now(), stop }
    }

    /// Runs until it is stopped, and tells whom it served.
    pub(crate) async fn run(mut self) -> SinkName {
        let mut failures = 0;
        while !self.stop.is_cancelled() {
            let turn = match self.look().await {
                Ok((step, pending)) => {
                    failures = 0;
                    self.take(step, &pending).await
                }
                Err(e) => {
                    failures += 1;
                    tracing::error!(sink = %self.channel.name, error = %e, "the outbox cannot be read");
                    self.in_trouble(Trouble::Outbox, failures).await
                }
            };
            if turn.is_err() {
                break;
            }
        }
        self.channel.name
    }

    /// What is pending and what to do about it. Marks the view as seen first, so that nothing raised after this
    /// look goes unnoticed.
    async fn look(&mut self) -> Result<(Step, Vec<Raised>)> {
        self.parts.applied.borrow_and_update();
        let (outbox, cursor, least) = (self.parts.outbox.clone(), self.cursor, self.channel.min_severity);
        let look = move || outbox.look(cursor, least, LOOKAHEAD);
        let seen = blocking(self.channel.name.as_str(), look).await?;
        if seen.pending.is_empty() {
            self.pass_over(seen.newest);
        }
        let now = self.began.elapsed();
        let step = plan::step(&seen.pending, &self.memory, seen.last_critical, &self.channel.pace, now);
        Ok((step, seen.pending))
    }

    /// Moves on past notices that do not matter here, so that the next look does not go over them again.
    fn pass_over(&mut self, newest: u64) {
        let cursor = self.cursor.max(newest);
        if cursor > self.cursor {
            self.cursor = cursor;
            self.parts.board.update(&self.channel.name, |standing| standing.recorded.cursor = cursor);
        }
    }

    async fn take(&mut self, step: Step, pending: &[Raised]) -> Result<(), Stopped> {
        match step {
            Step::Send(parcel) => self.deliver(&parcel, pending).await,
            Step::WaitUntil(at) => self.wait(Some(self.began + at)).await,
            Step::Idle => self.wait(None).await,
        }
    }

    /// Sleeps until something is raised or the time has come.
    async fn wait(&mut self, until: Option<Instant>) -> Result<(), Stopped> {
        let stop = self.stop.clone();
        let timer = async {
            match until {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let news = async {
            if self.parts.applied.changed().await.is_err() {
                // Nobody is left to raise anything.
                std::future::pending::<()>().await;
            }
        };
        // Every arm only waits: dropping it loses nothing.
        tokio::select! {
            () = stop.cancelled() => Err(Stopped),
            () = timer => Ok(()),
            () = news => Ok(()),
        }
    }

    /// Tries one parcel until it is told or given up. The parcel stays the same meanwhile: a receiver that got it
    /// and could not say so recognises it by its id.
    async fn deliver(&mut self, parcel: &Parcel, pending: &[Raised]) -> Result<(), Stopped> {
        let mut tries = Tries::default();
        loop {
            let outcome = self.attempt(parcel).await?;
            let random = getrandom::u64().unwrap_or(0);
            match retry::next(&mut tries, &outcome, &self.channel.pace, random) {
                Next::Delivered => {
                    self.memory.told(parcel, &self.channel.pace, self.began.elapsed());
                    return self.done(parcel, pending, tries, None).await;
                }
                Next::Abandon => {
                    let why = trouble_of(&outcome);
                    tracing::warn!(sink = %self.channel.name, notice = parcel.notice(), ?why, "a notice was given up");
                    return self.done(parcel, pending, tries, why).await;
                }
                Next::Retry { after } => {
                    if tries.attempts == 1 {
                        tracing::warn!(sink = %self.channel.name, why = ?trouble_of(&outcome), "a notice could not be delivered; trying on");
                    }
                    self.pause(trouble_of(&outcome), after).await?;
                }
            }
        }
    }

    async fn attempt(&self, parcel: &Parcel) -> Result<Outcome, Stopped> {
        let given_up = async {
            self.stop.cancelled().await;
            sleep(GRACE).await;
        };
        // Dropping the sending leaves it open whether the message arrived; it will be sent again under its id.
        tokio::select! {
            outcome = self.channel.sink.send(&parcel.message) => Ok(outcome),
            () = given_up => Err(Stopped),
        }
    }

    /// Moves the cursor and writes that down. Until that is written nothing more is sent here: a restart would
    /// otherwise tell it all again.
    async fn done(
        &mut self,
        parcel: &Parcel,
        pending: &[Raised],
        tries: Tries,
        given_up: Option<Trouble>,
    ) -> Result<(), Stopped> {
        self.cursor = self.memory.done_with(parcel, pending, self.cursor);
        let record = record(&self.channel.name, parcel, tries, given_up, self.cursor);
        let mut failures = 0;
        while let Err(e) = self.append(&record).await {
            failures += 1;
            tracing::error!(sink = %self.channel.name, error = %e, "a delivery could not be written down");
            self.in_trouble(Trouble::Outbox, failures).await?;
        }
        let (now, cursor) = (self.parts.clock.now(), self.cursor);
        self.parts.board.update(&self.channel.name, |standing| {
            standing.recorded.cursor = cursor;
            standing.trouble = given_up;
            standing.next_attempt = None;
            match given_up {
                Some(_) => standing.recorded.abandoned += 1,
                None => {
                    standing.recorded.delivered += 1;
                    standing.recorded.last_delivered = Some(now);
                }
            }
        });
        Ok(())
    }

    async fn append(&self, record: &Draft) -> Result<()> {
        let (journal, draft) = (self.parts.journal.clone(), record.clone());
        blocking(self.channel.name.as_str(), move || Ok(journal.append(&draft).map(drop)?)).await
    }

    async fn in_trouble(&self, why: Trouble, failures: u32) -> Result<(), Stopped> {
        let random = getrandom::u64().unwrap_or(0);
        self.pause(Some(why), retry::wait(failures, &self.channel.pace, random)).await
    }

    async fn pause(&self, why: Option<Trouble>, span: Duration) -> Result<(), Stopped> {
        let until = Instant::now() + span;
        self.parts.board.update(&self.channel.name, |standing| {
            (standing.trouble, standing.next_attempt) = (why, Some(until));
        });
        tokio::select! {
            () = self.stop.cancelled() => Err(Stopped),
            () = sleep_until(until) => Ok(()),
        }
    }
}

/// Runs what may block for a moment where it holds up no other task.
pub(crate) async fn blocking<T: Send + 'static>(
    sink: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let ended = |_| Error::Ended { sink: sink.to_owned() };
    tokio::task::spawn_blocking(work).await.map_err(ended)?
}

/// The part of the house that writes this room's entries.
pub(crate) fn own_actor() -> Actor {
    "holdfast-notice".parse().unwrap_or_else(|_| unreachable!("it is an actor's name"))
}

fn record(sink: &SinkName, parcel: &Parcel, tries: Tries, given_up: Option<Trouble>, cursor: u64) -> Draft {
    let mut body = Map::new();
    body.insert("sink".into(), sink.as_str().into());
    body.insert("notice".into(), parcel.notice().into());
    body.insert("count".into(), json!(parcel.seqs.len()));
    body.insert("attempts".into(), tries.attempts.into());
    if let Some(why) = given_up {
        body.insert("why".into(), Value::String(why.to_string()));
    }
    body.insert("cursor".into(), cursor.into());
    let kind = if given_up.is_some() { &kinds::ABANDONED } else { &kinds::DELIVERED };
    Draft { cause: Some(parcel.notice()), ..draft(kind, own_actor(), body) }
}

fn trouble_of(outcome: &Outcome) -> Option<Trouble> {
    match outcome {
        Outcome::Delivered => None,
        Outcome::Unavailable { why, .. } | Outcome::Refused { why } => Some(*why),
    }
}
