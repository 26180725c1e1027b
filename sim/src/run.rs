//! Many worlds, on as many threads as there are processors. Each world has one thread to itself; the result does not depend
//! on how many there are.

use std::ops::Range;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use holdfast_lifeline::Sound;

use crate::check::Violation;
use crate::coverage::Coverage;
use crate::plan::Plan;
use crate::world::World;

/// Which worlds: `A..B`.
#[derive(Clone, Debug)]
pub struct Seeds(pub Range<u64>);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seeds, String> {
        let error = || format!("{text:?} is no range of seeds: expected A..B, for instance 0..20000");
        let (from, to) = text.split_once("..").ok_or_else(error)?;
        let (from, to) = (from.parse().map_err(|_| error())?, to.parse().map_err(|_| error())?);
        if from < to { Ok(Seeds(from..to)) } else { Err(error()) }
    }
}

/// What they came to.
#[derive(Debug, Default)]
pub struct Report {
    pub worlds: u64,
    pub episodes: u64,
    pub kept: u64,
    /// The first violation of each world that had one, by seed.
    pub broken: Vec<(u64, Violation)>,
    pub coverage: Coverage,
}

/// Plays the worlds. With `first`, no new ones are begun once one is broken.
pub fn run(Seeds(seeds): Seeds, sound: Sound, first: bool) -> Report {
    let next = AtomicU64::new(seeds.start);
    let stop = AtomicBool::new(false);
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let work = || {
        let mut report = Report::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || (first && stop.load(Ordering::Relaxed)) {
                return report;
            }
            let verdict = World::new(Plan::draw(seed), sound, false).run();
            report.worlds += 1;
            report.episodes += verdict.episodes;
            report.kept += verdict.kept;
            report.coverage.add(&verdict.coverage);
            if let Some(violation) = verdict.violations.into_iter().next() {
                stop.store(true, Ordering::Relaxed);
                report.broken.push((seed, violation));
            }
        }
    };
    let mut whole = Report::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(report) => whole.take(report),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    whole.broken.sort_by_key(|(seed, _)| *seed);
    whole
}

impl Report {
    fn take(&mut self, other: Report) {
        self.worlds += other.worlds;
        self.episodes += other.episodes;
        self.kept += other.kept;
        self.broken.extend(other.broken);
        self.coverage.add(&other.coverage);
    }
}
