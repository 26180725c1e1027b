//! The steward's judgement: what really changed, what one bounded change is proposed, whether it may be tried, and
//! whether it is kept or undone. Deciding only; `steward-host` does.
//!
//! The way through: what is collected ([`sample`]) is watched ([`watch`], [`detect`], [`trigger`]); a trigger opens an [`episode`]; a brain is
//! given a [`task`] and answers with a [`proposal`]; [`gates`] judge it by [`policy`], [`auditor`] and [`properties`]; [`Steward`] tries
//! it under a lease, scores it ([`verify`]), keeps or undoes it, and learns ([`outcome`], [`lesson`], [`retrospective`],
//! [`profile`], [`consolidate`], [`review`]). [`ladder`] and [`limits`] say how far it may go by itself; [`constitution`] and [`invariant`] what
//! it can never change. Everything it does is an [`event`]; what is done about it an [`effect`].
//!
//! What holds:
//! - nothing is done that was not written down before ([`Step`]: records first, effects after);
//! - whatever passes the gates changes one setting, or one declared pair, within its bounds, as evaluated and not as told;
//! - what is kept is what was verified, by identity; what is gone back to is named;
//! - limits are counted on time that surely passed, so no clock can be turned to get round them.
//!
//! Absent on purpose: no clock, no I/O, no async, no randomness, and nothing that knows a driver.

pub mod auditor;
pub mod brain;
pub mod calibrate;
pub mod com;
pub mod consolidate;
pub mod constitution;
pub mod detect;
pub mod effect;
pub mod episode;
pub mod event;
pub mod explore;
pub mod gates;
pub mod invariant;
pub mod json;
pub mod ladder;
pub mod lesson;
pub mod limits;
pub mod look;
pub mod lookout;
pub mod outcome;
pub mod policy;
pub mod prediction;
pub mod profile;
pub mod properties;
pub mod proposal;
pub mod regime;
pub mod retrospective;
pub mod review;
pub mod sample;
pub mod setting;
mod steward;
pub mod task;
pub mod time;
pub mod trigger;
pub mod verify;
pub mod watch;

pub use steward::{Claimed, Settings, Step, Steward};
