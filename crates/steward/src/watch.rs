//! Watching one host: what is seen of it at each collection, what its lookouts make of that, and what a brain is shown.
//!
//! A [`Sighting`] is one collection, whatever kind of host it comes from. A [`Watch`] holds the lookouts over its metrics and tells
//! what they found as one story; [`Collections`] keep what a brain needs of the past; [`metrics`] and the functions beside it
//! say which metrics there are and how people read them.

mod collections;
mod figures;
mod sighting;
mod story;

use std::time::Duration;

pub use collections::{Collections, Past, Surroundings};
pub use figures::{figure, means, metrics, name, noticeable, shown};
pub use sighting::{Sighting, UNITS_MAX, UnitSighting};
pub use story::{Noticed, Watch};

/// Between two collections.
pub const COLLECT_EVERY: Duration = Duration::from_secs(120);

/// What a lookout needs to know what is usual. Lookouts that were given such a week before the target's first collection live a
/// week ahead of it, and so do all others, so that their time never has to go back.
pub const WEEK: Duration = Duration::from_secs(7 * 86_400);
