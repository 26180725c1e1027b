//! How fast the guard is: scanning a large tree beside a peer, taking secrets out of text, and being ready.
//!
//! Begin with [`measure`]. `race.rs` scans the same tree with ours and the fastest peer, in turns. `redact.rs` measures
//! the engine within this process, on texts from `text.rs`. `ready.rs` starts processes.
//!
//! What runs within one thread is told by the processor time of that thread, so that a busy machine does not count
//! against it; what a person or a program waits for is told by the clock on the wall.

mod race;
mod ready;
mod redact;
mod text;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

pub(crate) use race::{Race, Racer};
pub(crate) use ready::{CHILD, Ready, child};
pub(crate) use redact::{Hostile, Messages, Rate, Redacting};

use crate::program::Program;
use crate::step;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Files with invented secrets that are put into the large tree.
    pub(crate) planted_files: usize,
    /// What the large tree has of other people's sources.
    pub(crate) tree_bytes: u64,
    pub(crate) race_rounds: usize,
    /// How long to go on for want of calm rounds.
    pub(crate) time_max: Duration,
    pub(crate) text_bytes: usize,
    pub(crate) text_rounds: usize,
    pub(crate) messages: usize,
    pub(crate) hostile_rounds: usize,
    /// Processes that are started.
    pub(crate) starts: usize,
}

/// What came of it. What could not be measured is told with the reason.
#[derive(Clone, Debug)]
pub(crate) struct Sped {
    pub(crate) race: Result<Race, String>,
    pub(crate) redacting: Redacting,
    pub(crate) ready: Result<Ready, String>,
}

impl Default for Sped {
    fn default() -> Sped {
        let not_asked = || "it was not asked for".to_owned();
        Sped { race: Err(not_asked()), redacting: Redacting::default(), ready: Err(not_asked()) }
    }
}

pub(crate) fn measure(dir: &Path, target: &Path, plan: Plan) -> Result<Sped> {
    let told = |e: anyhow::Error| format!("{e:#}");
    let ours = Program::find(target).map_err(told);
    let ours = ours.as_ref().map_err(String::clone);
    let race = ours.clone().and_then(|ours| race::measure(&dir.join("race"), ours, plan).map_err(told));
    step("taking secrets out of text");
    let redacting = redact::measure(plan);
    step("starting processes that take secrets out");
    let ready = ours.and_then(|ours| ready::measure(dir, ours, plan).map_err(told));
    for why in [race.as_ref().err(), ready.as_ref().err()].into_iter().flatten() {
        step(&format!("not measured: {why}"));
    }
    Ok(Sped { race, redacting, ready })
}
