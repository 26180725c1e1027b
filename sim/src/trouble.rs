//! Hosts in trouble: a machine that behaves, the real loop around it, and whether it gets well.
//!
//! [`Host::draw`] makes a host from a seed: what it runs, what goes wrong on it and when. [`heal::live`] plays it: detector, steward,
//! gates, lease, verification, probation, and the look back a day later, with the built-in rules as brain and Tier 1
//! alone. A twin that nobody touches tells what would have been. [`possible`] asks the machine, not the brain, whether any allowed
//! sequence of steps heals it. [`report`] sums many of them up.

mod around;
pub mod eye;
pub mod heal;
mod host;
pub mod possible;
pub mod report;
mod symptom;

pub use host::{Host, Kind};
pub use symptom::{Band, Symptom};
