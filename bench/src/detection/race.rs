//! The same offline task, the same penalty, the same answer: the exact partition into levels, by ours and by `ruptures`.

use std::hint::black_box;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use holdfast_steward::regime::partition_into_levels;
use holdfast_yardstick::peers::schwarz_penalty;
use holdfast_yardstick::series::noise;
use serde_json::{Value, json};

use crate::step;

const MIN_LENGTH: usize = 2;
const PROGRAM: &str = "yardstick/peers/ruptures_peer.py";

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

/// Nothing where ruptures is not installed.
pub(crate) fn measure(rounds: usize) -> Result<Option<Raced>> {
    let Some(python) = python() else {
        step("ruptures is not installed (scripts/peers.sh), so there is no race");
        return Ok(None);
    };
    let tasks = tasks();
    let mut raced = Raced { pelt: Vec::new(), kernel: Vec::new(), series: tasks.len(), same: 0 };
    for round in 0..rounds {
        for values in &tasks {
            let penalty = schwarz_penalty(values);
            let theirs = ask(&python, values, penalty)?;
            let (found, seconds) = ours(values, penalty);
            let of = |method: &str| theirs.iter().find(|answer| answer["method"] == method);
            let (pelt, kernel) = (of("pelt"), of("kernel"));
            let took = |answer: Option<&Value>| answer.and_then(|answer| answer["seconds"].as_f64());
            raced.pelt.push(took(pelt).context("no time of Pelt")? / seconds);
            raced.kernel.push(took(kernel).context("no time of KernelCPD")? / seconds);
            let agrees =
                |answer: Option<&Value>| answer.is_some_and(|answer| answer["change_points"] == json!(found));
            raced.same += usize::from(round == 0 && agrees(pelt) && agrees(kernel));
        }
    }
    Ok(Some(raced))
}

fn python() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cache =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home.map(|home| home.join(".cache")));
    let tools = std::env::var_os("HOLDFAST_TOOLS").map(PathBuf::from);
    let tools = tools.or(cache.map(|cache| cache.join("holdfast/tools")))?;
    let python = tools.join("peers/python/bin/python");
    let has_it = Command::new(&python).args(["-c", "import ruptures"]).stderr(Stdio::null()).status().ok()?;
    has_it.success().then_some(python)
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

fn ask(python: &PathBuf, values: &[f64], penalty: f64) -> Result<Vec<Value>> {
    let task = json!({
        "values": values,
        "penalty": penalty,
        "min_size": MIN_LENGTH,
        "methods": ["kernel", "pelt"],
    });
    let mut child = Command::new(python)
        .arg(PROGRAM)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting ruptures")?;
    let mut stdin = child.stdin.take().context("ruptures has no standard input")?;
    writeln!(stdin, "{task}")?;
    drop(stdin);
    let done = child.wait_with_output()?;
    ensure!(done.status.success(), "ruptures ended with {}", done.status);
    String::from_utf8(done.stdout)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
