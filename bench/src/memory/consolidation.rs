//! How long a run of consolidation takes when much is known already, and how that grows: facts, an eighth of which was said before, with the
//! real model.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use holdfast_embed::Model;
use holdfast_memory::Gates;
use holdfast_memory_host::{AgentName, Memories, Outcome};
use serde_json::json;

use super::capture::draft;
use super::home::{Home, by, import};
use super::texts::fact;
use crate::step;

/// What is known already, as in the goals.
pub(crate) const DURABLE: usize = 10_000;
/// Callers that capture what is to be decided about; they only save time.
const CALLERS: u64 = 16;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) durable: usize,
    /// Entries of each run, the smallest first.
    pub(crate) runs: &'static [usize],
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Consolidations {
    pub(crate) runs: Vec<Run>,
}

/// One run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) entries: usize,
    /// Durable ones when it began.
    pub(crate) durable: usize,
    /// Seconds for giving each a vector, and for deciding and writing that down.
    pub(crate) embed_s: f64,
    pub(crate) decide_s: f64,
    pub(crate) merged: u64,
}

pub(super) fn measure(dir: &Path, model: &Path, plan: Plan) -> Result<Consolidations> {
    step(&format!("consolidating, with {} durable entries", plan.durable));
    let cores = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let model = Arc::new(Model::open(model)?.with_threads(cores));
    let (memories, agent) = (Home::create(dir)?.memories(Some(model))?, "scout".parse()?);
    import(&memories, &agent, (0..plan.durable).map(|n| json!({"content": fact(n as u64)})))?;
    memories.embed_all(&agent)?;
    while memories.tend(&|| true)? {}
    let mut next = plan.durable as u64;
    let mut out = Consolidations::default();
    for &entries in plan.runs {
        capture(&memories, &agent, next, entries as u64)?;
        next += entries as u64;
        out.runs.push(run(&memories, &agent, entries)?);
    }
    Ok(out)
}

fn run(memories: &Memories, agent: &AgentName, entries: usize) -> Result<Run> {
    let before = memories.counted(agent)?;
    ensure!(before.session as usize == entries, "{} wait to be decided about", before.session);
    let began = Instant::now();
    memories.embed_all(agent)?;
    let embed_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let done = memories.consolidate(agent, &by()?.actor, &Gates::consolidation())?;
    let decide_s = began.elapsed().as_secs_f64();
    let done = done.context("a run decided nothing")?;
    ensure!(!done.fallback_used, "a run went by words");
    ensure!(done.counts.loaded as usize == entries, "a run loaded {}", done.counts.loaded);
    let (durable, merged) = (before.durable as usize, done.counts.deduplicated);
    Ok(Run { entries, durable, embed_s, decide_s, merged })
}

fn capture(memories: &Memories, agent: &AgentName, from: u64, count: u64) -> Result<()> {
    let by = by()?;
    let call = |caller: u64| {
        for number in (from + caller..from + count).step_by(CALLERS as usize) {
            let outcome = memories.capture(agent, draft(&fact(number))?, &by, None)?;
            ensure!(matches!(outcome, Outcome::Captured(_)), "a fact was not captured: {outcome:?}");
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let call = &call;
        let callers: Vec<_> = (0..CALLERS).map(|caller| scope.spawn(move || call(caller))).collect();
        callers.into_iter().try_for_each(|it| it.join().map_err(|_| anyhow::anyhow!("a caller panicked"))?)
    })
}
