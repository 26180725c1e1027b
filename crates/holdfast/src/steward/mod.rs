//! The steward inside the daemon: one worker for each target of the configuration.
//!
//! In reading order: `settings.rs` (from configuration to what a steward is told), `host.rs` (what is worked on), `leased.rs` (what is known of the lease there), `model.rs` and
//! `load.rs` (the modelled host behind the driver `sim`), `eyes.rs` and `real.rs` (what is seen of a host), `sense.rs`, `lookouts.rs` and
//! `calibrations.rs` (what notices change), `series.rs` (series in files), `around.rs` (everything around it that is not its
//! target), `lessons.rs` (what was learnt, here and on other targets), `asks.rs` and `tidings.rs` (its approvals, and what it tells
//! people), `scribe.rs` (what was applied, as git), `window.rs` (the window record on the disk), `parts.rs` (whether
//! this program is still the one that was started), `noted.rs` and `seen.rs` (what its records come to), `tidying.rs` (when old generations are looked for), `traces.rs` (what was measured lately, to be drawn), `vitals.rs` (how a target stands in a few
//! figures), `verdicts.rs` (what became of episodes, for memory), `worker.rs` and `orders.rs` (one target
//! at work, and what people order), `bench.rs` (all of them). `daemon/steward.rs` keeps them running, `office/steward.rs` answers for
//! them, `commands/steward/` asks and shows.
//!
//! What holds:
//! - a worker decides nothing: it carries time, samples, verdicts and the house's pause to the steward;
//! - what a steward wrote down is all that is believed after a start, and a modelled host is built up again from it;
//! - a target's time never runs past something that was due in it, however fast it is made to live.

mod around;
mod asks;
mod bench;
mod calibrations;
mod error;
mod eyes;
mod host;
mod leased;
mod lessons;
mod load;
mod lookouts;
mod looks;
mod model;
mod noted;
mod orders;
mod parts;
mod real;
mod records;
mod scribe;
mod seen;
mod sense;
mod series;
mod settings;
mod tidings;
mod tidying;
mod traces;
mod verdicts;
mod vitals;
mod window;
mod worker;

pub(crate) use bench::{Bench, Desk, which};
pub(crate) use calibrations::CalibrationFile;
pub(crate) use error::{StewardError, refuse_reserved};
pub(crate) use host::way_to;
pub(crate) use records::{Written, records_of};
pub(crate) use scribe::{Scribe, Turned, instance_of};
pub(crate) use seen::{Seen, state_of};
pub(crate) use series::{BYTES_MAX as SERIES_BYTES_MAX, Series};
pub(crate) use settings::{Place, places_of};

pub(crate) use vitals::Vitals;
#[cfg(test)]
pub(crate) use vitals::{Guard, Open};
pub(crate) use worker::{NotStarted, Worker};
