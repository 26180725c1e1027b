//! Serves one sink: looks what is pending, sends it, writes down that it was told, waits.
//!
//! One task per sink, so that a sink which is slow or down holds up no other. What is pending stays in the view,
//! however much that is; what it told stands on the board until the view knows. A message that could tell other
//! notices after a restart is written down before it is sent. In quiet hours only what is critical is told; a message
//! that they interrupted is put off as it is, and goes first when they are over. So, stopped or killed at any moment, it loses nothing,
//! and whoever comes after it sends the same message under the same id.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use holdfast_journal::{Draft, Journal};
use holdfast_types::{Actor, Clock, Timestamp};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::kinds;
use crate::notice::{Severity, draft};
use crate::outbox::{Looker, Outbox};
use crate::outlook::Board;
use crate::plan::{self, LOOKAHEAD, Manner, Memory, Parcel, Step};
use crate::retry::{self, Next as Then, Tries};
use crate::sink::{Channel, Outcome, SinkName, Trouble};

/// How long the end of quiet hours is slept towards at once: the wall clock may be set meanwhile.
const QUIET_LOOK: Duration = Duration::from_secs(900);
/// How long an answer is waited for after a stop was asked for.
const GRACE: Duration = Duration::from_secs(2);

/// What couriers share.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) journal: Journal,
    pub(crate) outbox: Outbox,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) board: Arc<Board>,
    /// Times of the plan are measured from here.
    pub(crate) began: Instant,
    /// How many entries the view has applied.
    pub(crate) applied: watch::Receiver<u64>,
}

#[derive(Debug)]
pub(crate) struct Courier {
    parts: Parts,
    channel: Channel,
    memory: Memory,
    /// Messages that quiet hours interrupted, to be told as they are.
    put_off: VecDeque<Parcel>,
    stop: CancellationToken,
}

/// What comes next.
#[derive(Debug)]
enum Next {
    Step(Step),
    /// What quiet hours had put off.
    PutOff,
}

/// Somebody asked the courier to stop.
#[derive(Debug)]
struct Stopped;

impl Courier {
    /// The view must know everything its forerunner wrote down, and the sink must be on the board.
    pub(crate) fn new(parts: Parts, channel: Channel, memory: Memory, stop: CancellationToken) -> Courier {
        Courier { parts, channel, memory, put_off: VecDeque::new(), stop }
    }

    /// Runs until it is stopped, and gives back how it paced itself.
    pub(crate) async fn run(mut self) -> (SinkName, Memory) {
        // Somebody asked it to stop.
        let Err(Stopped) = self.serve().await;
        (self.channel.name, self.memory)
    }

    async fn serve(&mut self) -> Result<Infallible, Stopped> {
        let begun = self.look_until_seen(Courier::begun).await?;
        for parcel in begun {
            self.deliver(parcel).await?;
        }
        loop {
            let step = self.look_until_seen(Courier::next).await?;
            self.take(step).await?;
        }
    }

    /// Looks at the view, again and again if it cannot be read.
    async fn look_until_seen<T>(
        &mut self,
        look: impl AsyncFn(&Courier, Looker) -> Result<T>,
    ) -> Result<T, Stopped> {
        let mut failures = 0;
        loop {
            if self.stop.is_cancelled() {
                return Err(Stopped);
            }
            // Marked as seen first, so that nothing raised after this look goes unnoticed.
            let applied = *self.parts.applied.borrow_and_update();
            let looker = self.parts.board.looker(&self.channel.name, applied).ok_or(Stopped)?;
            match look(self, looker).await {
                Ok(seen) => return Ok(seen),
                Err(e) => {
                    failures += 1;
                    tracing::error!(sink = %self.channel.name, error = %e, "the outbox cannot be read");
                    self.in_trouble(Trouble::Outbox, failures).await?;
                }
            }
        }
    }

    /// The messages that were being told when this sink was last served, what matters most first.
    async fn begun(&self, looker: Looker) -> Result<Vec<Parcel>> {
        let outbox = self.parts.outbox.clone();
        let gathered = blocking(self.channel.name.as_str(), move || outbox.gathered(&looker)).await?;
        let mut begun: Vec<Parcel> = gathered.iter().filter_map(|notices| Parcel::again(notices)).collect();
        begun.sort_by_key(|parcel| Reverse(parcel.message.severity));
        Ok(begun)
    }

    async fn next(&self, mut looker: Looker) -> Result<Next> {
        let put_off = self.put_off.iter().flat_map(|parcel| &parcel.seqs);
        looker.handled.extend(put_off.map(|seq| (*seq, u64::MAX)));
        let Some(end) = self.quiet_until() else {
            self.parts.board.update(&self.channel.name, |standing| standing.quiet_until = None);
            if !self.put_off.is_empty() {
                return Ok(Next::PutOff);
            }
            return Ok(Next::Step(self.step(looker).await?));
        };
        let step = self.step(looker.urgently()).await?;
        let outbox = self.parts.outbox.clone();
        let waiting = blocking(self.channel.name.as_str(), move || outbox.count(&looker)).await?;
        let is_waiting = waiting > 0 || !self.put_off.is_empty();
        self.parts.board.update(&self.channel.name, |standing| {
            standing.quiet_until = is_waiting.then_some(end);
        });
        if step == Step::Idle && is_waiting {
            let left = end.since(self.parts.clock.now()).clamp(Duration::from_millis(1), QUIET_LOOK);
            return Ok(Next::Step(Step::WaitUntil(self.parts.began.elapsed() + left)));
        }
        Ok(Next::Step(step))
    }

    async fn step(&self, looker: Looker) -> Result<Step> {
        let outbox = self.parts.outbox.clone();
        let seen = blocking(self.channel.name.as_str(), move || outbox.look(&looker, LOOKAHEAD)).await?;
        let now = self.parts.began.elapsed();
        Ok(plan::step(&seen.pending, &self.memory, seen.last_critical, self.manner(), now))
    }

    fn manner(&self) -> Manner<'_> {
        Manner { pace: &self.channel.pace, quiet: self.channel.quiet.as_ref() }
    }

    /// Until when only what is critical is told, if that is so now.
    fn quiet_until(&self) -> Option<Timestamp> {
        self.channel.quiet.as_ref()?.end(self.parts.clock.now())
    }

    async fn take(&mut self, next: Next) -> Result<(), Stopped> {
        let step = match next {
            Next::Step(step) => step,
            Next::PutOff => {
                return match self.put_off.pop_front() {
                    Some(parcel) => self.deliver(parcel).await,
                    None => Ok(()),
                };
            }
        };
        match step {
            Step::Send(parcel) => {
                // What could tell other notices another time.
                let may_change = parcel.fold.is_some() || self.manner().made_wait(&parcel.message);
                if may_change {
                    self.write_down(&gathered(&self.channel.name, &parcel)).await?;
                }
                self.deliver(*parcel).await
            }
            Step::WaitUntil(at) => self.wait(Some(self.parts.began + at)).await,
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
    /// and could not say so recognises it by its id. Quiet hours put it off, unless it is critical.
    async fn deliver(&mut self, parcel: Parcel) -> Result<(), Stopped> {
        let mut tries = Tries::default();
        loop {
            if parcel.message.severity < Severity::Critical && self.quiet_until().is_some() {
                self.put_off.push_back(parcel);
                return Ok(());
            }
            let outcome = self.attempt(&parcel).await?;
            let random = getrandom::u64().unwrap_or(0);
            match retry::next(&mut tries, &outcome, &self.channel.pace, random) {
                Then::Delivered => {
                    self.memory.told(&parcel, &self.channel.pace, self.parts.began.elapsed());
                    return self.done(&parcel, tries, None).await;
                }
                Then::Abandon => {
                    let why = trouble_of(&outcome);
                    tracing::warn!(sink = %self.channel.name, notice = parcel.notice(), ?why, "a notice was given up");
                    return self.done(&parcel, tries, why).await;
                }
                Then::Retry { after } => {
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

    /// Writes down that a parcel is done with. Until that is written nothing more is sent here: a restart would
    /// otherwise tell it all again.
    async fn done(&self, parcel: &Parcel, tries: Tries, given_up: Option<Trouble>) -> Result<(), Stopped> {
        let record = self.write_down(&record(&self.channel.name, parcel, tries, given_up)).await?;
        let now = self.parts.clock.now();
        self.parts.board.update(&self.channel.name, |standing| {
            standing.handled.extend(parcel.seqs.iter().map(|seq| (*seq, record)));
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

    async fn write_down(&self, draft: &Draft) -> Result<u64, Stopped> {
        let mut failures = 0;
        loop {
            let (journal, draft) = (self.parts.journal.clone(), draft.clone());
            let append = move || Ok(journal.append(&draft)?.seq);
            match blocking(self.channel.name.as_str(), append).await {
                Ok(seq) => return Ok(seq),
                Err(e) => {
                    failures += 1;
                    tracing::error!(sink = %self.channel.name, error = %e, "a delivery could not be written down");
                    self.in_trouble(Trouble::Outbox, failures).await?;
                }
            }
        }
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

fn gathered(sink: &SinkName, parcel: &Parcel) -> Draft {
    let body = [("sink".to_owned(), sink.as_str().into()), ("notices".to_owned(), json!(parcel.seqs))];
    Draft { cause: Some(parcel.notice()), ..draft(&kinds::GATHERED, own_actor(), Map::from_iter(body)) }
}

fn record(sink: &SinkName, parcel: &Parcel, tries: Tries, given_up: Option<Trouble>) -> Draft {
    let mut body = Map::new();
    body.insert("sink".into(), sink.as_str().into());
    body.insert("notice".into(), parcel.notice().into());
    body.insert("count".into(), json!(parcel.seqs.len()));
    body.insert("attempts".into(), tries.attempts.into());
    if let Some(why) = given_up {
        body.insert("why".into(), Value::String(why.to_string()));
    }
    let kind = if given_up.is_some() { &kinds::ABANDONED } else { &kinds::DELIVERED };
    Draft { cause: Some(parcel.notice()), ..draft(kind, own_actor(), body) }
}

fn trouble_of(outcome: &Outcome) -> Option<Trouble> {
    match outcome {
        Outcome::Delivered => None,
        Outcome::Unavailable { why, .. } | Outcome::Refused { why } => Some(*why),
    }
}
