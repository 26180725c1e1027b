//! Series with known truth: twelve kinds drawn from a seed, noise of many kinds in which nothing changes, and shapes
//! as people meet them in yearly, monthly and daily figures, marked as a person would.

mod draw;
mod shapes;

pub use draw::Draw;
pub use shapes::{SHAPES, realistic};

/// A series and where its regimes begin, the first sample left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    pub kind: &'static str,
    pub values: Vec<Option<f64>>,
    pub begins: Vec<usize>,
}

impl Labelled {
    /// The samples that are there, gaps filled with the one before: what a tool that knows no gaps is given.
    pub fn filled(&self) -> Vec<f64> {
        let mut last = self.values.iter().flatten().next().copied().unwrap_or(0.0);
        self.values
            .iter()
            .map(|value| {
                last = value.unwrap_or(last);
                last
            })
            .collect()
    }
}

/// The kinds of [`generated`], in order; the last three have no change.
pub const KINDS: [&str; 12] = [
    "shift in white noise",
    "several shifts",
    "shift in correlated noise",
    "shift in heavy tails",
    "shift on a daily cycle",
    "break of slope",
    "change of spread",
    "counts with a new rate",
    "shift with gaps",
    "spikes only",
    "cycle and trend only",
    "correlated noise only",
];

/// The series of this kind and seed. Sizes go from plain to hard, places and lengths are drawn.
pub fn generated(kind: usize, seed: u64) -> Labelled {
    let mut draw = Draw::new(seed.wrapping_mul(31).wrapping_add(kind as u64));
    let length = draw.whole(120, 1_200);
    let place = length / 5 + draw.whole(0, length * 3 / 5);
    let size = draw.real(0.8, 5.0) * draw.sign();
    let step = |at: usize| if at >= place { size } else { 0.0 };
    let one = vec![place];
    let (values, begins): (Vec<f64>, Vec<usize>) = match kind {
        0 => ((0..length).map(|at| draw.normal() + step(at)).collect(), one),
        1 => several_shifts(&mut draw, length),
        2 => {
            let memory = draw.real(0.3, 0.8);
            let noise = draw.correlated(length, memory);
            // As plain as in white noise: the step is drawn in spreads of the slow part.
            let wide = ((1.0 + memory) / (1.0 - memory)).sqrt().min(2.5);
            ((0..length).map(|at| noise[at] + step(at) * wide).collect(), one)
        }
        3 => ((0..length).map(|at| draw.heavy() + step(at)).collect(), one),
        4 => {
            let period = draw.pick(&[24, 48, 96]);
            let length = length.max(6 * period);
            let place = length / 4 + draw.whole(0, length / 2);
            let high = draw.real(2.0, 6.0);
            let values = (0..length)
                .map(|at| draw.normal() + high * wave(at, period) + if at >= place { size } else { 0.0 });
            (values.collect(), vec![place])
        }
        5 => {
            let bend = draw.real(5.0, 25.0) * draw.sign() / (length - place) as f64;
            let slope = draw.real(-10.0, 10.0) / length as f64;
            let values = (0..length)
                .map(|at| draw.normal() + slope * at as f64 + bend * at.saturating_sub(place) as f64);
            (values.collect(), one)
        }
        6 => {
            let factor = draw.real(1.7, 5.0);
            let factor = if draw.whole(0, 2) == 0 { factor } else { 1.0 / factor };
            ((0..length).map(|at| draw.normal() * if at >= place { factor } else { 1.0 }).collect(), one)
        }
        7 => {
            let rate = draw.real(0.5, 6.0);
            let after = rate + size.abs() * rate.sqrt().max(0.8);
            let (rate, after) = if size > 0.0 { (rate, after) } else { (after, rate) };
            ((0..length).map(|at| draw.count(if at >= place { after } else { rate })).collect(), one)
        }
        8 => ((0..length).map(|at| draw.normal() + step(at)).collect(), one),
        9 => {
            let values = (0..length).map(|_| {
                let spike = if draw.whole(0, 60) == 0 { draw.real(8.0, 40.0) * draw.sign() } else { 0.0 };
                draw.normal() + spike
            });
            (values.collect(), Vec::new())
        }
        10 => {
            let period = draw.pick(&[12, 24, 48]);
            let (high, slope) = (draw.real(1.0, 8.0), draw.real(-20.0, 20.0) / length as f64);
            let values = (0..length).map(|at| draw.normal() + high * wave(at, period) + slope * at as f64);
            (values.collect(), Vec::new())
        }
        _ => {
            let memory = draw.real(0.2, 0.9);
            (draw.correlated(length, memory), Vec::new())
        }
    };
    let mut values: Vec<Option<f64>> = values.into_iter().map(Some).collect();
    if kind == 8 {
        lose_some(&mut draw, &mut values, place);
    }
    Labelled { kind: KINDS[kind.min(11)], values, begins }
}

fn several_shifts(draw: &mut Draw, length: usize) -> (Vec<f64>, Vec<usize>) {
    let parts = draw.whole(3, 8);
    let mut begins: Vec<usize> = (1..parts).map(|part| part * length / parts).collect();
    for begin in &mut begins {
        *begin += draw.whole(0, length / parts / 2);
    }
    let mut level = 0.0;
    let mut values = Vec::with_capacity(length);
    for at in 0..length {
        if begins.contains(&at) {
            level += draw.real(1.0, 5.0) * draw.sign();
        }
        values.push(level + draw.normal());
    }
    (values, begins)
}

/// Gaps of single samples and of stretches; the sample where the regime begins stays.
fn lose_some(draw: &mut Draw, values: &mut [Option<f64>], place: usize) {
    let length = values.len();
    for (at, value) in values.iter_mut().enumerate() {
        if draw.whole(0, 10) == 0 && at != place {
            *value = None;
        }
    }
    for _ in 0..3 {
        let from = draw.whole(0, length);
        let until = (from + draw.whole(2, length / 20 + 3)).min(length);
        if !(from..until).contains(&place) {
            values[from..until].fill(None);
        }
    }
}

fn wave(at: usize, period: usize) -> f64 {
    let phase = std::f64::consts::TAU * at as f64 / period as f64;
    phase.sin() + 0.3 * (2.0 * phase + 1.0).sin()
}

/// Noise in which nothing changes.
pub const NOISES: [&str; 9] = [
    "white",
    "correlated 0.5",
    "correlated 0.9",
    "heavy tails (t3)",
    "lognormal",
    "cycle",
    "quantised",
    "rare counts",
    "random walk",
];

/// Noise of this kind, so long.
pub fn noise(kind: usize, length: usize, seed: u64) -> Vec<f64> {
    let mut draw = Draw::new(seed.wrapping_mul(37).wrapping_add(1_000 + kind as u64));
    match kind {
        0 => (0..length).map(|_| draw.normal()).collect(),
        1 => draw.correlated(length, 0.5),
        2 => draw.correlated(length, 0.9),
        3 => (0..length).map(|_| draw.heavy()).collect(),
        4 => (0..length).map(|_| draw.normal().exp()).collect(),
        5 => (0..length).map(|at| draw.normal() + 3.0 * wave(at, 12)).collect(),
        6 => (0..length).map(|_| draw.normal().round()).collect(),
        7 => (0..length).map(|_| draw.count(0.3)).collect(),
        _ => {
            let mut level = 0.0;
            (0..length)
                .map(|_| {
                    level += draw.normal();
                    level
                })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_series_and_its_truth_lies_within() {
        for seed in 0..20 {
            let all = (0..KINDS.len()).map(|kind| (generated(kind, seed), generated(kind, seed)));
            for (series, again) in
                all.chain((0..SHAPES.len()).map(|shape| (realistic(shape, seed), realistic(shape, seed))))
            {
                assert_eq!(series, again);
                assert!(series.begins.windows(2).all(|pair| pair[0] < pair[1]), "{}", series.kind);
                assert!(
                    series.begins.iter().all(|at| *at > 0 && *at < series.values.len()),
                    "{}",
                    series.kind
                );
                assert!(series.values.iter().flatten().all(|value| value.is_finite()), "{}", series.kind);
            }
        }
    }

    #[test]
    fn the_last_three_kinds_have_no_change_and_the_others_do() {
        for (kind, name) in KINDS.iter().enumerate() {
            assert_eq!(generated(kind, 7).begins.is_empty(), kind >= 9, "{name}");
        }
    }

    #[test]
    fn another_seed_is_another_series() {
        assert!((0..KINDS.len()).all(|kind| generated(kind, 1) != generated(kind, 2)));
    }
}
