//! The same offline task, the same penalty, the same answer: the exact partition into levels, by ours and by `ruptures`.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use holdfast_steward::regime::partition_into_levels;
use holdfast_yardstick::peers::schwarz_penalty;
use holdfast_yardstick::series::noise;

use super::ruptures::{MIN_LENGTH, Ruptures};

/// One series, round by round: how many times quicker ours was.
#[derive(Clone, Debug)]
pub(crate) struct Raced {
    /// Against `Pelt(model="l2", jump=1)`.
    pub(crate) pelt: Vec<f64>,
    /// Against `KernelCPD(kernel="linear")`, which is compiled C.
    pub(crate) kernel: Vec<f64>,
    pub(crate) series: usize,
    /// On how many of them all three gave the same change points.
    pub(crate) same: usize,
}

pub(super) fn measure(ruptures: &Ruptures, rounds: usize) -> Result<Raced> {
    let tasks = tasks();
    let mut raced = Raced { pelt: Vec::new(), kernel: Vec::new(), series: tasks.len(), same: 0 };
    for round in 0..rounds {
        for values in &tasks {
            let penalty = schwarz_penalty(values);
            let theirs = ruptures.ask(&[(values, penalty)], &["kernel", "pelt"])?;
            let (found, seconds) = ours(values, penalty);
            if let [answers] = theirs.as_slice()
                && let [kernel, pelt] = answers.as_slice()
            {
                raced.kernel.push(kernel.seconds / seconds);
                raced.pelt.push(pelt.seconds / seconds);
                let same = answers.iter().all(|answer| answer.change_points == found);
                raced.same += usize::from(round == 0 && same);
            }
        }
    }
    Ok(raced)
}

/// White noise, and noise with steps, of a few lengths.
fn tasks() -> Vec<Vec<f64>> {
    let steps = |length: usize| -> Vec<f64> {
        let step = |(at, value): (usize, &f64)| value + if (at / 200) % 2 == 1 { 3.0 } else { 0.0 };
        noise(0, length, 7).iter().enumerate().map(step).collect()
    };
    [500, 1000, 2000].into_iter().flat_map(|length| [noise(0, length, 3), steps(length)]).collect()
}

/// The best of a few, as for anything that takes less than the system's own interruptions.
fn ours(values: &[f64], penalty: f64) -> (Vec<usize>, f64) {
    let mut best = f64::INFINITY;
    let mut found = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        found = black_box(partition_into_levels(values, penalty, MIN_LENGTH));
        best = best.min(began.elapsed().as_secs_f64());
    }
    (found, best)
}
