//! Is there a cycle? Its length is unknown; it is taken as proven when it returns in every part of the series.

use super::transform::autocorrelation;

/// A cycle has to be seen this often before it is one.
const ROUNDS_LEAST: usize = 3;
/// Lags looked at. A cycle longer than this is left to the eye; weeks of minutes still fit.
const PERIOD_MOST: usize = 20_000;
/// How alike the round of the first half and that of the second have to be: what returns in one half alone is no cycle. F1 and
/// covering over the twelve kinds are the same at 0.3 and at 0.8: what is taken out has to pay for its phases besides. It saves the
/// work for cycles that would not.
const ALIKE_LEAST: f64 = 0.6;
/// A shorter cycle that explains nearly as much is the cycle; the longer one is several of its rounds.
const NEARLY: f64 = 0.9;
/// Peaks of the autocorrelation tried per view of the series.
const PEAKS: usize = 6;

/// Medians of fewer rounds than this are rougher than means.
const ROUNDS_FOR_MEDIAN: usize = 6;
/// Growth is believed when it leaves this share or less of what a steady cycle leaves.
const GROWTH_GAIN: f64 = 0.95;
/// How far beside a peak lengths are tried at most, and how many on each side.
const NEAR_MOST: usize = 60;
const NEAR_TRIED: usize = 12;

/// What returns, by phase.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    round: Round,
    /// A second one on top, where there are two: a week of days.
    other: Option<Round>,
}

/// One round by phase, and how it grows along the series.
#[derive(Clone, Debug)]
struct Round {
    phases: Vec<f64>,
    growth: f64,
    middle: f64,
}

impl Round {
    fn at(&self, at: usize) -> f64 {
        let size = (1.0 + self.growth * (at as f64 - self.middle)).max(0.0);
        self.phases.get(at % self.phases.len().max(1)).map_or(0.0, |phase| phase * size)
    }
}

impl Cycle {
    pub(super) fn period(&self) -> usize {
        self.round.phases.len()
    }

    /// How many figures describe it.
    pub(super) fn figures(&self) -> usize {
        self.round.phases.len() + self.other.as_ref().map_or(0, |round| round.phases.len())
    }

    pub(super) fn at(&self, at: usize) -> f64 {
        self.round.at(at) + self.other.as_ref().map_or(0.0, |round| round.at(at))
    }
}

/// The cycle in the samples at the places `at` of a series of `length`, if one is proven; a second on top of it likewise.
pub(super) fn found(figures: &[f64], at: &[usize], length: usize) -> Option<Cycle> {
    let filled = filled(figures, at, length);
    let round = strongest(&filled)?;
    let rest: Vec<f64> = filled.iter().enumerate().map(|(at, figure)| figure - round.at(at)).collect();
    let other = strongest(&rest);
    Some(Cycle { round, other })
}

/// Every place has a figure: gaps are bridged by straight lines.
fn filled(figures: &[f64], at: &[usize], length: usize) -> Vec<f64> {
    let mut filled = vec![figures.first().copied().unwrap_or(0.0); length];
    for ((from, until), pair) in at.iter().zip(at.iter().skip(1)).zip(figures.windows(2)) {
        let steps = (until - from) as f64;
        for step in 0..until - from {
            filled[from + step] = pair[0] + (pair[1] - pair[0]) * step as f64 / steps;
        }
    }
    if let (Some(last), Some(figure)) = (at.last(), figures.last()) {
        filled[*last..].fill(*figure);
    }
    filled
}

fn strongest(filled: &[f64]) -> Option<Round> {
    let mut proven: Vec<(f64, Round)> =
        periods(filled).into_iter().filter_map(|period| sharpest(filled, period)).collect();
    let best = proven.iter().map(|(explained, _)| *explained).fold(0.0, f64::max);
    proven.sort_by_key(|(_, round)| round.phases.len());
    let longest = proven.iter().find(|(explained, _)| *explained >= best)?.1.phases.len();
    proven
        .into_iter()
        .find(|(explained, round)| {
            *explained >= best || (*explained >= NEARLY * best && 3 * round.phases.len() < 2 * longest)
        })
        .map(|(_, round)| round)
}

/// Noise moves a peak of the autocorrelation; the length near it that explains most is the one.
fn sharpest(filled: &[f64], period: usize) -> Option<(f64, Round)> {
    let off = (period / 25).min(NEAR_MOST);
    let step = (off / NEAR_TRIED).max(1);
    (period - off..=period + off)
        .step_by(step)
        .filter(|near| near * ROUNDS_LEAST <= filled.len())
        .filter_map(|near| proof(filled, near))
        .max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Lengths worth trying: peaks of the autocorrelation, once with the trend taken out and once of the differences,
/// in which levels and trends vanish.
fn periods(filled: &[f64]) -> Vec<usize> {
    let lags = (filled.len() / ROUNDS_LEAST).min(PERIOD_MOST) + 2;
    let differences: Vec<f64> = filled.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut periods = Vec::new();
    for view in [without_trend(filled), differences] {
        let correlation = autocorrelation(&view, lags);
        let mut peaks: Vec<(f64, usize)> = correlation
            .windows(3)
            .enumerate()
            .filter(|(_, three)| three[1] >= three[0] && three[1] > three[2] && three[1] > 0.1)
            .map(|(before, three)| (three[1], before + 1))
            .filter(|(_, period)| *period >= 3 && period * ROUNDS_LEAST <= filled.len())
            .collect();
        peaks.sort_by(|one, other| other.0.total_cmp(&one.0));
        periods.extend(peaks.iter().take(PEAKS).map(|(_, period)| *period));
    }
    periods.sort_unstable();
    periods.dedup();
    periods
}

fn without_trend(filled: &[f64]) -> Vec<f64> {
    let count = filled.len().max(1) as f64;
    let (middle, mean) = ((count - 1.0) / 2.0, filled.iter().sum::<f64>() / count);
    let along = count * (count * count - 1.0) / 12.0;
    let across: f64 =
        filled.iter().enumerate().map(|(at, figure)| (at as f64 - middle) * (figure - mean)).sum();
    let slope = if along > 0.0 { across / along } else { 0.0 };
    filled.iter().enumerate().map(|(at, figure)| figure - mean - slope * (at as f64 - middle)).collect()
}

/// What a cycle of this length explains, and its phases, if it is proven.
fn proof(filled: &[f64], period: usize) -> Option<(f64, Round)> {
    let rest = without_running_mean(filled, period);
    let phases = phases(&rest, period, 0, rest.len());
    let whole: f64 = rest.iter().map(|(_, figure)| figure * figure).sum();
    let left: f64 = rest.iter().map(|(at, figure)| (figure - phases[at % period]).powi(2)).sum();
    if whole <= 1e-12 || rest.len() <= period {
        return None;
    }
    // Corrected for the number of phases: more of them explain more by chance.
    let freedom = (rest.len() - 1) as f64 / (rest.len() - period).max(1) as f64;
    let explained = 1.0 - left / whole * freedom;
    let half = rest.len() / 2;
    let alike =
        likeness(&self::phases(&rest, period, 0, half), &self::phases(&rest, period, half, rest.len()));
    (alike >= ALIKE_LEAST).then(|| (explained, grown(&rest, usual_phases(&rest, period), filled.len())))
}

/// The round with its growth: least squares of what is left on the phases times the place.
fn grown(rest: &[(usize, f64)], phases: Vec<f64>, length: usize) -> Round {
    let middle = length as f64 / 2.0;
    let (mut across, mut along) = (0.0, 0.0);
    for (at, figure) in rest {
        let phase = phases[at % phases.len()];
        let place = *at as f64 - middle;
        across += phase * place * (figure - phase);
        along += (phase * place).powi(2);
    }
    let steady = Round { phases, growth: 0.0, middle };
    let grown = Round { growth: if along > 0.0 { across / along } else { 0.0 }, ..steady.clone() };
    let off = |round: &Round| rest.iter().map(|(at, figure)| (figure - round.at(*at)).abs()).sum::<f64>();
    if off(&grown) < GROWTH_GAIN * off(&steady) { grown } else { steady }
}

/// What a centred running mean over one round leaves, where the window fits; with its place.
fn without_running_mean(filled: &[f64], period: usize) -> Vec<(usize, f64)> {
    let mut sums = Vec::with_capacity(filled.len() + 1);
    sums.push(0.0);
    for figure in filled {
        sums.push(sums.last().copied().unwrap_or(0.0) + figure);
    }
    let half = period / 2;
    (half..filled.len().saturating_sub(half))
        .map(|at| {
            let ends =
                if period.is_multiple_of(2) { (filled[at - half] + filled[at + half]) / 2.0 } else { 0.0 };
            let inner = if period.is_multiple_of(2) { half - 1 } else { half };
            let mean = (sums[at + inner + 1] - sums[at - inner] + ends) / period as f64;
            (at, filled[at] - mean)
        })
        .collect()
}

/// The median of each phase over all rounds, about zero: one odd day among many changes nothing. Of few rounds the mean.
fn usual_phases(rest: &[(usize, f64)], period: usize) -> Vec<f64> {
    if rest.len() < ROUNDS_FOR_MEDIAN * period {
        return phases(rest, period, 0, rest.len());
    }
    let mut figures = vec![Vec::new(); period];
    for (at, figure) in rest {
        figures[at % period].push(*figure);
    }
    let medians: Vec<f64> = figures
        .iter_mut()
        .map(|figures| {
            let middle = figures.len() / 2;
            if figures.is_empty() { 0.0 } else { *figures.select_nth_unstable_by(middle, f64::total_cmp).1 }
        })
        .collect();
    let mean = medians.iter().sum::<f64>() / period as f64;
    medians.iter().map(|figure| figure - mean).collect()
}

/// The mean of each phase over part of the rest, about zero.
fn phases(rest: &[(usize, f64)], period: usize, from: usize, until: usize) -> Vec<f64> {
    let mut sums = vec![(0.0, 0usize); period];
    for (at, figure) in &rest[from..until] {
        let phase = &mut sums[at % period];
        *phase = (phase.0 + figure, phase.1 + 1);
    }
    let means: Vec<f64> = sums.iter().map(|(sum, count)| sum / (*count).max(1) as f64).collect();
    let mean = means.iter().sum::<f64>() / period as f64;
    means.iter().map(|figure| figure - mean).collect()
}

fn likeness(one: &[f64], other: &[f64]) -> f64 {
    let product: f64 = one.iter().zip(other).map(|(one, other)| one * other).sum();
    let sizes = one.iter().map(|figure| figure * figure).sum::<f64>().sqrt()
        * other.iter().map(|figure| figure * figure).sum::<f64>().sqrt();
    if sizes > 0.0 { product / sizes } else { 0.0 }
}
