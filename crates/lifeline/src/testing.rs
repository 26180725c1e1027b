//! Short words for the tests: states of a target by number, episodes by name, moments in seconds.

use crate::identity::{EpisodeId, Identity};
use crate::time::Steady;

pub(crate) fn identity(number: u8) -> Identity {
    Identity([number; 32])
}

pub(crate) fn episode(name: &str) -> EpisodeId {
    name.parse().unwrap()
}

pub(crate) fn at(seconds: u64) -> Steady {
    Steady(seconds * 1000)
}
