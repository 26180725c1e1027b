//! How good the steward's eyes are, and how quick: the lookout on a public corpus and on noise, regimes on series whose
//! truth is known, each beside the textbook; and the same offline task given to ours and to the library `ruptures`.

mod delay;
mod race;
mod ruptures;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use holdfast_lifeline::Steady;
use holdfast_steward::lookout::{Asked, Lookout};
use holdfast_steward::regime::{Wanted, regimes};
use holdfast_yardstick::agreement::{covering, f1, misses};
use holdfast_yardstick::gaussian::WindowedGaussian;
use holdfast_yardstick::nab::{self, PROFILES};
use holdfast_yardstick::noise::{Noise, Run};
use holdfast_yardstick::peers::{binary_segmentation, cusum, pelt, schwarz_penalty};
use holdfast_yardstick::series::{KINDS, Labelled, generated};

use crate::step;
pub(crate) use delay::{IN_TIME, OnStep, STEP};
pub(crate) use race::Raced;
use ruptures::{MIN_LENGTH, Ruptures};

/// Between two samples of noise, and how many a lookout may learn from before its alarms count: a week.
const PERIOD_MS: u64 = 30_000;
const LEARNING: u64 = 7 * 86_400_000 / PERIOD_MS;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Series of each kind, and the first seed: none that was looked at while anything was built.
    pub(crate) series: u64,
    pub(crate) first_seed: u64,
    /// Samples of each noise.
    pub(crate) noise: u64,
    pub(crate) rounds: usize,
}

/// A detector on the corpus: its score for each profile, and what it found at the first one's threshold.
#[derive(Clone, Debug)]
pub(crate) struct OnCorpus {
    pub(crate) who: &'static str,
    pub(crate) scores: [f64; 3],
    pub(crate) found: usize,
    pub(crate) windows: usize,
    pub(crate) false_alarms: usize,
}

/// Who looks for regimes, in the order of the columns.
pub(crate) const WHO: [&str; 5] = ["regimes", "nothing", "plain CUSUM", "binary segmentation", "PELT"];

#[derive(Clone, Debug)]
pub(crate) struct OnKind {
    pub(crate) kind: &'static str,
    /// F1 with a margin of five samples, and the covering, of each.
    pub(crate) f1: [f64; 5],
    pub(crate) covering: [f64; 5],
    /// By how many samples each misses the places it finds, in the middle.
    pub(crate) off: [Option<usize>; 5],
}

/// Who searched for binary segmentation and PELT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Textbook {
    Ruptures,
    /// Ours, written from the papers, where that is not installed.
    Own,
}

/// False alarms on one noise: how many of those that were asked for.
#[derive(Clone, Debug)]
pub(crate) struct OnNoise {
    pub(crate) noise: String,
    pub(crate) asked_days: u64,
    pub(crate) asked: f64,
    pub(crate) found: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Detected {
    /// Absent where the corpus is not.
    pub(crate) corpus: Option<Vec<OnCorpus>>,
    pub(crate) kinds: Vec<OnKind>,
    pub(crate) series: u64,
    pub(crate) textbook: Textbook,
    pub(crate) noises: Vec<OnNoise>,
    pub(crate) steps: Vec<OnStep>,
    /// Steps in each noise.
    pub(crate) lives: u64,
    pub(crate) samples_per_s: Vec<f64>,
    pub(crate) bytes: usize,
    /// Absent where ruptures is not installed.
    pub(crate) raced: Option<Raced>,
}

pub(crate) fn measure(plan: Plan) -> Result<Detected> {
    step("scoring on the corpus");
    let corpus = corpus()?;
    let ruptures = Ruptures::find();
    step("looking for regimes in generated series");
    let kinds = (0..KINDS.len()).map(|kind| on_kind(kind, plan, ruptures.as_ref())).collect::<Result<_>>()?;
    step("counting false alarms on noise");
    let noises = noises(plan);
    step("waiting for steps to be told");
    let lives = plan.series * 4;
    let steps = delay::measure(lives)?;
    step("looking out, as fast as it goes");
    let samples_per_s = (0..plan.rounds).map(|_| speed()).collect();
    step("racing ruptures");
    // Theirs takes seconds for each series.
    let raced = ruptures.as_ref().map(|it| race::measure(it, plan.rounds.min(2))).transpose()?;
    let textbook = if ruptures.is_some() { Textbook::Ruptures } else { Textbook::Own };
    let (series, bytes) = (plan.series, size_of::<Lookout>());
    Ok(Detected { corpus, kinds, series, textbook, noises, steps, lives, samples_per_s, bytes, raced })
}

/// The labelled series, where the data is.
fn corpus() -> Result<Option<Vec<OnCorpus>>> {
    let dir = std::env::var_os("HOLDFAST_TEST_DATA").unwrap_or_else(|| "../shared/data".into());
    let root = Path::new(&dir).join("nab-dev");
    if !root.join("windows.json").is_file() {
        step("the corpus is not here, so nothing is scored on it");
        return Ok(None);
    }
    let read = |name: &str| {
        let path = root.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    };
    let windows: nab::Windows = serde_json::from_str(&read("windows.json")?)?;
    let series: Vec<nab::Series> = windows
        .iter()
        .map(|(name, windows)| Ok(nab::Series::parse(name, &read(name)?, windows)))
        .collect::<Result<_>>()?;
    let gaussian = |window, step| {
        move |series: &nab::Series| {
            let mut gaussian = WindowedGaussian::with(window, step);
            series.scores(|_, value| gaussian.step(value))
        }
    };
    let lookout = |series: &nab::Series| {
        let mut lookout = Lookout::new(Asked::default());
        series.scores(|at, value| lookout.step(Steady(at), Some(value)).score)
    };
    Ok(Some(vec![
        scored("lookout", &series, lookout),
        scored("windowed Gaussian (6400, 150)", &series, gaussian(6400, 150)),
        scored("windowed Gaussian (1000, 1)", &series, gaussian(1000, 1)),
        scored("nothing", &series, |series| series.scores(|_, _| 0.0)),
    ]))
}

fn scored(
    who: &'static str,
    series: &[nab::Series],
    detector: impl Fn(&nab::Series) -> Vec<f64>,
) -> OnCorpus {
    let scores: Vec<Vec<f64>> = series.iter().map(detector).collect();
    let pairs: Vec<(&nab::Series, &[f64])> =
        series.iter().zip(&scores).map(|(series, scores)| (series, scores.as_slice())).collect();
    let outcomes = PROFILES.map(|profile| nab::best(&pairs, &profile));
    let nab::Outcome { found, windows, false_alarms, .. } = outcomes[0];
    OnCorpus { who, scores: outcomes.map(|outcome| outcome.score), found, windows, false_alarms }
}

fn on_kind(kind: usize, plan: Plan, ruptures: Option<&Ruptures>) -> Result<OnKind> {
    let all: Vec<Labelled> =
        (plan.first_seed..plan.first_seed + plan.series).map(|seed| generated(kind, seed)).collect();
    let filled: Vec<Vec<f64>> = all.iter().map(Labelled::filled).collect();
    let textbook = textbook(&filled, ruptures)?;
    let (mut f1s, mut coverings, mut off) = ([0.0; 5], [0.0; 5], [const { Vec::new() }; 5]);
    for ((series, filled), [cuts, levels]) in all.iter().zip(&filled).zip(textbook) {
        let ours = regimes(&series.values, &Wanted::default());
        let ours = ours.iter().skip(1).map(|regime| regime.begins).collect();
        // In the order of the columns.
        let found: [Vec<usize>; 5] = [ours, Vec::new(), cusum(filled), cuts, levels];
        let (marks, length) = (vec![series.begins.clone()], series.values.len());
        for (at, found) in found.iter().enumerate() {
            f1s[at] += f1(&marks, found, 5) / plan.series as f64;
            coverings[at] += covering(&marks, found, length) / plan.series as f64;
            off[at].extend(misses(&series.begins, found, length / 20));
        }
    }
    let off = off.map(|mut off: Vec<usize>| {
        off.sort_unstable();
        off.get(off.len() / 2).copied()
    });
    Ok(OnKind { kind: KINDS[kind], f1: f1s, covering: coverings, off })
}

/// What binary segmentation and PELT say of each series, at Schwarz's penalty. PELT is the compiled one, `KernelCPD` with a linear
/// kernel: the same cost, and the only one of the library's that does hundreds of series in minutes.
fn textbook(series: &[Vec<f64>], ruptures: Option<&Ruptures>) -> Result<Vec<[Vec<usize>; 2]>> {
    let penalised = || series.iter().map(|values| (values.as_slice(), schwarz_penalty(values)));
    let Some(ruptures) = ruptures else {
        let own = |(values, penalty)| {
            [binary_segmentation(values, penalty, MIN_LENGTH), pelt(values, penalty, MIN_LENGTH)]
        };
        return Ok(penalised().map(own).collect());
    };
    let answers = ruptures.ask(&penalised().collect::<Vec<_>>(), &["binseg", "kernel"])?;
    let pairs = answers.into_iter().map(|answers| {
        let mut found = answers.into_iter().map(|answer| answer.change_points);
        [found.next().unwrap_or_default(), found.next().unwrap_or_default()]
    });
    Ok(pairs.collect())
}

fn noises(plan: Plan) -> Vec<OnNoise> {
    let kinds = [
        ("white", Noise::White),
        ("autocorrelated, 0.5", Noise::Kept { share: 0.5 }),
        ("autocorrelated, 0.9", Noise::Kept { share: 0.9 }),
        ("heavy-tailed (t, 3 degrees)", Noise::HeavyTailed),
        ("lopsided (lognormal)", Noise::Lopsided),
        ("cyclic (daily)", Noise::Daily { height: 3.0 }),
    ];
    let asked = kinds.iter().flat_map(|kind| [1, 7].map(|days| (kind, days)));
    asked.map(|((name, noise), days)| on_noise(name, *noise, days, plan.noise)).collect()
}

/// Over several lives of a lookout, each with its own week to learn from.
fn on_noise(name: &str, noise: Noise, asked_days: u64, samples: u64) -> OnNoise {
    const LIVES: u64 = 8;
    let every = Duration::from_secs(86_400 * asked_days);
    let mut found = 0;
    for seed in 0..LIVES {
        let mut lookout = Lookout::new(Asked { false_alarm_every: every, ..Asked::default() });
        // Seeds that nothing was set with.
        let mut run = Run::new(noise, 7_000 + seed);
        for index in 0..LEARNING + samples / LIVES {
            let at = index * PERIOD_MS;
            let alarm = lookout.step(Steady(at), Some(run.next_at(at))).finding.is_some();
            found += u64::from(alarm && index >= LEARNING);
        }
    }
    let asked = (samples * PERIOD_MS) as f64 / every.as_millis() as f64;
    OnNoise { noise: name.to_owned(), asked_days, asked, found }
}

fn speed() -> f64 {
    const SAMPLES: u64 = 1_000_000;
    let mut run = Run::new(Noise::Kept { share: 0.5 }, 1);
    let values: Vec<f64> = (0..SAMPLES).map(|index| run.next_at(index * PERIOD_MS)).collect();
    let mut lookout = Lookout::new(Asked::default());
    let began = Instant::now();
    for (index, value) in values.iter().enumerate() {
        black_box(lookout.step(Steady(index as u64 * PERIOD_MS), Some(*value)));
    }
    SAMPLES as f64 / began.elapsed().as_secs_f64()
}
