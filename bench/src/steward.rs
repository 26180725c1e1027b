//! How fast the steward can be tried: whole simulated worlds, and plain episodes on a host where nothing goes wrong.

use std::time::Instant;

use anyhow::{Result, ensure};
use holdfast_lifeline::Sound;
use holdfast_sim::plain;
use holdfast_sim::run::{self, Seeds};

use crate::step;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) worlds: u64,
    pub(crate) episodes: u64,
    pub(crate) rounds: usize,
}

/// Per second, round by round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stewarded {
    pub(crate) worlds_per_s: Vec<f64>,
    pub(crate) episodes_per_s: Vec<f64>,
    pub(crate) worlds: u64,
    /// Episodes that those worlds came to.
    pub(crate) episodes_in_worlds: u64,
}

pub(crate) fn measure(plan: Plan) -> Result<Stewarded> {
    step("simulating worlds, and plain episodes");
    let mut done = Stewarded { worlds: plan.worlds, ..Stewarded::default() };
    for round in 0..plan.rounds as u64 {
        let began = Instant::now();
        let seeds = Seeds(round * plan.worlds..(round + 1) * plan.worlds);
        let report = run::run(seeds, Sound::YES, false);
        done.worlds_per_s.push(plan.worlds as f64 / began.elapsed().as_secs_f64());
        ensure!(report.broken.is_empty(), "a world broke a rule: {:?}", report.broken.first());
        done.episodes_in_worlds += report.episodes;
        let began = Instant::now();
        plain::episodes(plan.episodes)?;
        done.episodes_per_s.push(plan.episodes as f64 / began.elapsed().as_secs_f64());
    }
    Ok(done)
}
