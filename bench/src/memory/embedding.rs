//! Texts a second: ours, onnxruntime and candle with the same weights, on the same texts and as many threads, in turns.

use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use holdfast_embed::Model;
use serde::{Deserialize, Serialize};

use super::peer::{self, Peer};
use crate::append::cpu_time;
use crate::step;

const SHORT: &str = "The control plane restarted the agent after its lease expired";
/// How alike two vectors of one text must be for the same work to have been done.
const SAME: f32 = 0.9999;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// How long a turn is.
    pub(crate) turn: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Embeddings {
    pub(crate) instructions: String,
    /// Names of those that take part, ours first.
    pub(crate) who: Vec<&'static str>,
    pub(crate) cases: Vec<Case>,
}

/// One kind of batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) texts: &'static str,
    pub(crate) batch: usize,
    pub(crate) threads: usize,
    /// Texts a second by the clock, of each that takes part, a round each.
    pub(crate) per_s: Vec<Vec<f64>>,
    /// The same by the time of the processor.
    pub(crate) per_cpu_s: Vec<Vec<f64>>,
}

#[derive(Serialize)]
struct Job<'a> {
    texts: &'a [String],
    seconds: f64,
}

#[derive(Deserialize)]
struct Answer {
    texts_per_s: f64,
    texts_per_cpu_s: f64,
    first: Vec<f32>,
}

enum Contestant {
    Ours(Box<Model>),
    Peer(Peer),
}

pub(super) fn measure(model: &Path, plan: Plan) -> Result<Embeddings> {
    let mut out = Embeddings::default();
    let cores = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let mut threads = vec![NonZero::<usize>::MIN, cores];
    threads.dedup();
    for threads in threads {
        step(&format!("embedding with {threads} threads"));
        let mut contestants = contestants(model, threads)?;
        out.who = contestants.iter().map(|(name, _)| *name).collect();
        if let (_, Contestant::Ours(model)) = &contestants[0] {
            out.instructions = format!("{:?}", model.info().instructions);
        }
        for (kind, batch) in batches() {
            let mut case = race(&mut contestants, &batch, plan)?;
            (case.texts, case.threads) = (kind, threads.get());
            out.cases.push(case);
        }
    }
    Ok(out)
}

/// Everybody that is here, ours first.
fn contestants(model: &Path, threads: NonZero<usize>) -> Result<Vec<(&'static str, Contestant)>> {
    let ours = Model::open(model).context("opening the model")?.with_threads(threads);
    let mut all = vec![("Holdfast", Contestant::Ours(Box::new(ours)))];
    match peer::python() {
        Some(python) => {
            let mut command = Command::new(python);
            command.arg(peer::script("embedder.py")).arg(model).arg(threads.to_string());
            all.push(("onnxruntime", Contestant::Peer(Peer::start("onnxruntime", &mut command)?)));
        }
        None => step("onnxruntime is not installed (scripts/peers.sh), so it is not compared with"),
    }
    match peer::candle() {
        Some(candle) => {
            let mut command = Command::new(candle);
            command.arg(model).env("RAYON_NUM_THREADS", threads.to_string());
            all.push(("candle", Contestant::Peer(Peer::start("candle", &mut command)?)));
        }
        None => step("candle is not built (scripts/peers.sh), so it is not compared with"),
    }
    Ok(all)
}

/// About 12 tokens each, alone and together; then 32 texts of 12 to 144 tokens.
fn batches() -> Vec<(&'static str, Vec<String>)> {
    let mixed = (0..32).map(|n| [SHORT; 12][..1 + n * 5 % 12].join(" and then ")).collect();
    let long = [SHORT; 12].join(" and then ");
    vec![
        ("short", vec![SHORT.to_owned()]),
        ("short", vec![SHORT.to_owned(); 32]),
        ("long", vec![long]),
        ("of all lengths", mixed),
    ]
}

/// Who begins moves on from round to round.
fn race(contestants: &mut [(&'static str, Contestant)], texts: &[String], plan: Plan) -> Result<Case> {
    let job = Job { texts, seconds: plan.turn.as_secs_f64() };
    let count = contestants.len();
    let mut case = Case { batch: texts.len(), ..Case::default() };
    (case.per_s, case.per_cpu_s) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    let mut first: Option<Vec<f32>> = None;
    for round in 0..plan.rounds {
        for turn in 0..count {
            let who = (round + turn) % count;
            let (name, contestant) = &mut contestants[who];
            let answer = contestant.answer(&job)?;
            let expected = first.get_or_insert_with(|| answer.first.clone());
            let alike: f32 = expected.iter().zip(&answer.first).map(|(a, b)| a * b).sum();
            ensure!(alike > SAME, "{name} has another vector for the same text: they agree to {alike}");
            case.per_s[who].push(answer.texts_per_s);
            case.per_cpu_s[who].push(answer.texts_per_cpu_s);
        }
    }
    Ok(case)
}

impl Contestant {
    fn answer(&mut self, job: &Job<'_>) -> Result<Answer> {
        match self {
            Contestant::Ours(model) => embedded(model, job),
            Contestant::Peer(peer) => peer.ask(job),
        }
    }
}

fn embedded(model: &Model, job: &Job<'_>) -> Result<Answer> {
    let first = model.embed(job.texts)?.first().context("no vector came back")?.whole().to_vec();
    let (clock, cpu, mut count) = (Instant::now(), cpu_time(), 0);
    while clock.elapsed().as_secs_f64() < job.seconds {
        model.embed(job.texts)?;
        count += job.texts.len();
    }
    let (clock, cpu) = (clock.elapsed(), cpu_time() - cpu);
    let per = |time: Duration| count as f64 / time.as_secs_f64();
    Ok(Answer { texts_per_s: per(clock), texts_per_cpu_s: per(cpu), first })
}
