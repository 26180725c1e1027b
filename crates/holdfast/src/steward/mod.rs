//! The steward inside the daemon: one worker for each target of the configuration.
//!
//! In reading order: `model.rs` (the modelled host behind the driver `sim`), `settings.rs` (from configuration to what a
//! steward is told), `sense.rs` and `calibrations.rs` (what notices change), `series.rs` (series in files), `around.rs` (everything around it that is not its target), `asks.rs` (its approvals), `window.rs` (the
//! window record on the disk), `parts.rs` (whether this program is still the one that was started), `seen.rs` (what its records come to, for people), `worker.rs` (one target at work), `bench.rs`
//! (all of them, and the orders people give). `daemon/steward.rs` keeps them running, `office/steward.rs` answers for them,
//! `commands/steward/` asks and shows.
//!
//! What holds:
//! - a worker decides nothing: it carries time, samples, verdicts and the house's pause to the steward;
//! - what a steward wrote down is all that is believed after a start, and the modelled host is built up again from it;
//! - a target's time never runs past something that was due in it, however fast it is made to live.

mod around;
mod asks;
mod bench;
mod calibrations;
mod error;
mod model;
mod parts;
mod records;
mod seen;
mod sense;
mod series;
mod settings;
mod window;
mod worker;

pub(crate) use bench::{Bench, lock, which};
pub(crate) use calibrations::CalibrationFile;
pub(crate) use error::{StewardError, refuse_reserved};
pub(crate) use records::{Written, records_of};
pub(crate) use seen::{Seen, state_of};
pub(crate) use series::{BYTES_MAX as SERIES_BYTES_MAX, Series};
pub(crate) use settings::{Place, places_of};
pub(crate) use worker::Worker;
