//! What a stretch costs: the squared innovations left by a level or a line, for noise with a given memory.
//!
//! With noise `e(t) = memory · e(t-1) + innovation`, the samples `x(t) - memory · x(t-1)` have independent noise, and
//! the first of a stretch counts with `1 - memory²`. So least squares on them is the exact likelihood, and running sums
//! give any stretch in constant time. A memory of nought is plain least squares; near one it is a random walk, in which a
//! stretch costs its steps and only a jump or a change of drift begins another.

/// Running sums over a series for one memory.
#[derive(Clone, Debug)]
pub(super) struct Costs<'a> {
    values: &'a [f64],
    /// Places on a scale of -1 to 1: sums over long series keep their digits.
    places: Vec<f64>,
    sums: Vec<Sums>,
    memory: f64,
    first_weight: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    place: f64,
    place_place: f64,
    place_value: f64,
    value: f64,
    value_value: f64,
}

/// The squares left by the two descriptions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) level: f64,
    pub(super) line: f64,
}

impl<'a> Costs<'a> {
    pub(super) fn new(values: &'a [f64], at: &[usize], memory: f64) -> Costs<'a> {
        let middle = at.last().map_or(0.0, |last| *last as f64 / 2.0);
        let half = middle.max(1.0);
        let places: Vec<f64> = at.iter().map(|at| (*at as f64 - middle) / half).collect();
        let mut sums = Vec::with_capacity(values.len() + 1);
        let mut sum = Sums::default();
        sums.push(sum);
        let (mut value_before, mut place_before) = (0.0, 0.0);
        for (value, place) in values.iter().zip(&places) {
            let innovation = value - memory * value_before;
            let step = place - memory * place_before;
            sum.place += step;
            sum.place_place += step * step;
            sum.place_value += step * innovation;
            sum.value += innovation;
            sum.value_value += innovation * innovation;
            sums.push(sum);
            (value_before, place_before) = (*value, *place);
        }
        Costs { values, places, sums, memory, first_weight: 1.0 - memory * memory }
    }

    pub(super) fn memory(&self) -> f64 {
        self.memory
    }

    /// What the stretch from `from` up to before `until` leaves. Asked for nothing, nothing.
    #[inline]
    pub(super) fn left(&self, from: usize, until: usize) -> Left {
        if from >= until || until > self.values.len() {
            return Left { level: 0.0, line: 0.0 };
        }
        let (low, high) = (&self.sums[from + 1], &self.sums[until]);
        let (value, place, first) = (self.values[from], self.places[from], self.first_weight);
        let others = (until - from - 1) as f64;
        let share = 1.0 - self.memory;
        let one_one = first + others * share * share;
        let one_place = first * place + share * (high.place - low.place);
        let one_value = first * value + share * (high.value - low.value);
        let place_place = first * place * place + high.place_place - low.place_place;
        let place_value = first * place * value + high.place_value - low.place_value;
        let value_value = first * value * value + high.value_value - low.value_value;
        let level = if one_one > 0.0 { value_value - one_value * one_value / one_one } else { value_value };
        // The line is fitted to what the level leaves.
        let along = place_place - one_place * one_place / one_one.max(f64::MIN_POSITIVE);
        let across = place_value - one_place * one_value / one_one.max(f64::MIN_POSITIVE);
        let line =
            if along > 1e-14 * place_place.max(1e-300) { level - across * across / along } else { level };
        Left { level: level.max(0.0), line: line.max(0.0).min(level.max(0.0)) }
    }

    /// What two lines that meet at `bend` leave of a stretch. Exact for a memory of nought.
    #[inline]
    pub(super) fn left_bent(&self, from: usize, bend: usize, until: usize) -> f64 {
        if from >= bend || bend >= until || until > self.values.len() {
            return f64::INFINITY;
        }
        let (low, mid, high) = (&self.sums[from], &self.sums[bend], &self.sums[until]);
        let (count, beyond) = ((until - from) as f64, (until - bend) as f64);
        let about = self.places[bend];
        // Sums of `hinge = place - about` after the bend, and of its products.
        let (place, place_place) = (high.place - mid.place, high.place_place - mid.place_place);
        let hinge = place - about * beyond;
        let hinge_hinge = place_place - 2.0 * about * place + about * about * beyond;
        let hinge_place = place_place - about * place;
        let hinge_value = high.place_value - mid.place_value - about * (high.value - mid.value);
        let all = Sums {
            place: high.place - low.place,
            place_place: high.place_place - low.place_place,
            place_value: high.place_value - low.place_value,
            value: high.value - low.value,
            value_value: high.value_value - low.value_value,
        };
        // Everything about its mean, then the line, then the hinge about the line.
        let line_line = all.place_place - all.place * all.place / count;
        let line_value = all.place_value - all.place * all.value / count;
        let value_value = all.value_value - all.value * all.value / count;
        let hinge_line = hinge_place - hinge * all.place / count;
        let hinge_rest = hinge_value - hinge * all.value / count;
        if line_line <= 0.0 {
            return value_value.max(0.0);
        }
        let along = hinge_hinge - hinge * hinge / count - hinge_line * hinge_line / line_line;
        let across = hinge_rest - hinge_line * line_value / line_line;
        let bent = if along > 1e-12 * hinge_hinge { across * across / along } else { 0.0 };
        (value_value - line_value * line_value / line_line - bent).max(0.0)
    }
}
