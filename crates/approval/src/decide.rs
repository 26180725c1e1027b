//! Every yes and no, from values alone: no file, no clock, no randomness.

use std::time::Duration;

use holdfast_types::{Actor, Timestamp};

use crate::action::Action;
use crate::error::{Error, Result};
use crate::life::{Life, Standing};
use crate::refusal::Refusal;
use crate::time::Now;
use crate::verdict::{Verdict, Word};

/// More than a person answers in one sitting.
pub const OPEN_PER_ACTOR_MAX: u64 = 16;
/// A crowd that asks at once; beyond this nobody reads.
pub const OPEN_MAX: u64 = 256;
/// Asking and withdrawing in a loop fills the journal as well.
pub const ASKS_PER_HOUR_MAX: u64 = 60;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// How far the clock of whoever signs may be ahead of ours.
const SKEW: Duration = Duration::from_secs(60);

/// What is there when somebody asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crowd {
    pub(crate) open: u64,
    pub(crate) open_of_actor: u64,
    pub(crate) lately_of_actor: u64,
}

pub(crate) fn may_ask(crowd: Crowd, actor: &Actor) -> Result<()> {
    let actor = || actor.clone();
    let Crowd { open, open_of_actor, lately_of_actor } = crowd;
    if open_of_actor >= OPEN_PER_ACTOR_MAX {
        return Err(Error::TooManyOpen { actor: actor(), open: open_of_actor, max: OPEN_PER_ACTOR_MAX });
    }
    if lately_of_actor >= ASKS_PER_HOUR_MAX {
        return Err(Error::TooOften { actor: actor(), asked: lately_of_actor, max: ASKS_PER_HOUR_MAX });
    }
    if open >= OPEN_MAX {
        return Err(Error::InboxFull { open, max: OPEN_MAX });
    }
    Ok(())
}

/// What becomes of a verdict that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    New,
    /// The same was said before, in that entry.
    Repeated(u64),
}

/// Whether a verdict that is believed counts for this ask.
pub(crate) fn may_take(life: &Life, verdict: &Verdict, now: Now) -> Result<Taking, Refusal> {
    let ask = life.ask.id;
    fits(life, verdict)?;
    match &life.standing {
        Standing::Asked => {}
        Standing::Approved(given) | Standing::Rejected(given) if given.verdict.verdict == verdict.verdict => {
            return Ok(Taking::Repeated(given.seq));
        }
        Standing::Approved(_) | Standing::Rejected(_) | Standing::Used { .. } => {
            return Err(Refusal::AlreadyDecided { ask, state: life.state() });
        }
        Standing::Withdrawn { .. } => return Err(Refusal::Withdrawn { ask }),
        Standing::Expired { .. } => return Err(Refusal::Late { ask, at: life.expires_at() }),
    }
    match (verdict.verdict, now) {
        // It only takes away, so a clock that may be wrong is no reason to wait.
        (Word::Reject, Now::Unsure(_)) => {}
        (Word::Reject, Now::Good(at)) => in_time(life, life.ask.expires_at, at)?,
        (Word::Approve, now) => {
            let at = now.good()?;
            in_time(life, life.ask.expires_at.min(verdict.expires_at), at)?;
            if verdict.expires_at > life.ask.expires_at {
                return Err(Refusal::Malformed { why: "it would hold longer than was asked for".into() });
            }
            if verdict.issued_at < life.ask.asked_at {
                return Err(Refusal::Malformed { why: "it is older than what it answers".into() });
            }
            if verdict.issued_at > at.plus(SKEW) {
                return Err(Refusal::ClockBehind { at: verdict.issued_at, now: at });
            }
        }
    }
    Ok(Taking::New)
}

/// Whether the ask has an approval at all; the verdict in it is still to be believed, and then to pass [`may_use`].
pub(crate) fn approved<'l>(
    life: &'l Life,
    action: &Action,
    now: Now,
) -> Result<&'l crate::life::Given, Refusal> {
    let ask = life.ask.id;
    if action.digest() != life.ask.digest() {
        return Err(Refusal::ChangedAction { ask, asked: life.ask.digest(), found: action.digest() });
    }
    match &life.standing {
        Standing::Asked => {
            if let Now::Good(at) = now {
                in_time(life, life.ask.expires_at, at)?;
            }
            Err(Refusal::NotApproved { ask })
        }
        Standing::Approved(given) => Ok(given),
        Standing::Rejected(_) => Err(Refusal::Rejected { ask }),
        Standing::Withdrawn { .. } => Err(Refusal::Withdrawn { ask }),
        Standing::Used { seq, .. } => Err(Refusal::SecondUse { ask, seq: *seq }),
        Standing::Expired { .. } => Err(Refusal::Late { ask, at: life.expires_at() }),
    }
}

/// Whether an approval that was found and is believed may be used now.
pub(crate) fn may_use(life: &Life, verdict: &Verdict, now: Now) -> Result<(), Refusal> {
    let ask = life.ask.id;
    fits(life, verdict)?;
    if verdict.verdict != Word::Approve {
        return Err(Refusal::Rejected { ask });
    }
    let at = now.good()?;
    let made_at = life.ask.asked_at.max(verdict.issued_at);
    if at.plus(SKEW) < made_at {
        return Err(Refusal::ClockBehind { at: made_at, now: at });
    }
    in_time(life, life.ask.expires_at.min(verdict.expires_at), at)
}

/// Only whoever asked takes it back, and only while nothing is decided.
pub(crate) fn may_withdraw(life: &Life, by: &Actor) -> Result<()> {
    let ask = life.ask.id;
    if life.ask.actor != *by {
        return Err(Error::NotYours { actor: by.clone(), owner: life.ask.actor.clone() });
    }
    match &life.standing {
        Standing::Asked => Ok(()),
        Standing::Withdrawn { .. } => Err(Refusal::Withdrawn { ask }.into()),
        Standing::Expired { .. } => Err(Refusal::Late { ask, at: life.expires_at() }.into()),
        Standing::Approved(_) | Standing::Rejected(_) | Standing::Used { .. } => {
            Err(Refusal::AlreadyDecided { ask, state: life.state() }.into())
        }
    }
}

fn fits(life: &Life, verdict: &Verdict) -> Result<(), Refusal> {
    let ask = life.ask.id;
    if verdict.ask != ask {
        return Err(Refusal::UnknownAsk { ask: verdict.ask });
    }
    if verdict.digest != life.ask.digest() {
        return Err(Refusal::ChangedAction { ask, asked: life.ask.digest(), found: verdict.digest });
    }
    Ok(())
}

fn in_time(life: &Life, end: Timestamp, at: Timestamp) -> Result<(), Refusal> {
    if at >= end { Err(Refusal::Late { ask: life.ask.id, at: end }) } else { Ok(()) }
}
