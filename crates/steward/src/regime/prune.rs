//! Takes back what is not plain to see, one weakest change at a time, and moves the rest to the exact sample.

use super::cost::Costs;
use super::curve;
use super::select::{self, Description, NOISE_LEAST, Segment, Shape};
use super::{Prepared, Search, spread};

/// A change must also pay if this share of the variance of the whole were noise: on a plot of the whole series, smaller ones
/// are not seen. Generated series cannot tell, their changes are plain: F1 over the twelve kinds is 0.975 at half of it, at
/// it and at twice, and 0.001 less at four times. Of the changes in pieces of thirty real series half of it adds 2 %, twice
/// takes 13 %.
const PLAIN_TO_SEE: f64 = 0.06;
/// The share of a slope's price that steps in its place are credited with. With all of it a steady trend in noise is at times told
/// as two steps, with none of it a plain drop in a short series as a trend; both were measured on generated series.
const SLOPE_RETURNED: f64 = 0.75;
/// Samples beside a boundary that may belong to the jump.
const JUMP: usize = 2;
/// From here on noise wanders: half of a step is still there after six samples.
const LONG_MEMORY: f64 = 0.89;
/// How far a boundary is moved at most; a place further off was in the search.
const REACH_MOST: usize = 2_000;

/// The description without its weak changes; the others with how sure they are.
pub(super) fn weak_taken_back(
    prepared: &Prepared,
    search: &Search,
    mut description: Description,
) -> Description {
    let costs = Costs::new(&prepared.values, &prepared.at, description.memory);
    let plain = Costs::new(&prepared.values, &prepared.at, 0.0);
    let mut judge =
        Judge { costs, plain, search, length: prepared.len(), noise: description.noise, excess: 0.0 };
    loop {
        judge.settle_places(&mut description.segments);
        judge.noise = description.noise.max(largest_step(prepared, &description));
        judge.excess = excess(prepared, &description);
        let strengths: Vec<f64> =
            description.segments.windows(2).map(|pair| judge.strength(&pair[0], &pair[1])).collect();
        let weakest = strengths.iter().enumerate().min_by(|one, other| one.1.total_cmp(other.1));
        match weakest {
            Some((number, strength)) if *strength < 1.0 => {
                let merged = judge.merged(&description.segments[number], &description.segments[number + 1]);
                description.segments.splice(number..number + 2, [merged]);
            }
            _ => {
                if let Some(number) = judge.smooth(prepared, &description.segments) {
                    let (before, after) = (description.segments[number], description.segments[number + 1]);
                    let whole = Segment { from: before.from, until: after.until, shape: Shape::Line };
                    description.segments.splice(number..number + 2, [whole]);
                    continue;
                }
                judge.settle_bends(&mut description.segments);
                description.sure = strengths.iter().map(|strength| judge.sure(*strength)).collect();
                return description;
            }
        }
    }
}

/// In noise with a long memory a boundary is a jump, so a jump has to stand out among the steps that are none. What the
/// largest of those says of the noise, if it were normal: the largest of n squares is about 2 ln n. For short memories nothing.
fn largest_step(prepared: &Prepared, description: &Description) -> f64 {
    if description.memory < LONG_MEMORY {
        return 0.0;
    }
    let largest = description
        .segments
        .iter()
        // A jump may take a few samples; its other parts are no steps of the noise.
        .filter_map(|segment| prepared.values.get(segment.from + JUMP..segment.until.saturating_sub(JUMP)))
        .flat_map(|values| values.windows(2))
        .map(|pair| (pair[1] - description.memory * pair[0]).powi(2))
        .fold(0.0, f64::max);
    largest / (2.0 * (prepared.len().max(3) as f64).ln())
}

/// Excess kurtosis of what the description leaves.
fn excess(prepared: &Prepared, description: &Description) -> f64 {
    let left = spread::innovations_of(prepared, description);
    let count = left.len().max(1) as f64;
    let square = left.iter().map(|figure| figure.powi(2)).sum::<f64>() / count;
    let fourth = left.iter().map(|figure| figure.powi(4)).sum::<f64>() / count;
    if square > NOISE_LEAST * 1e-3 { (fourth / (square * square) - 3.0).max(0.0) } else { 0.0 }
}

struct Judge<'a> {
    costs: Costs<'a>,
    plain: Costs<'a>,
    search: &'a Search,
    length: usize,
    noise: f64,
    /// Excess kurtosis of the noise, none if negative.
    excess: f64,
}

impl Judge<'_> {
    /// How often a change pays its price: in the noise around it, and on the plot of the whole. One is just enough.
    fn strength(&self, before: &Segment, after: &Segment) -> f64 {
        let merged = self.merged(before, after);
        let apart = select::left(&self.costs, before) + select::left(&self.costs, after);
        let count = (after.until - before.from) as f64;
        // Where it is wilder than elsewhere the noise there counts; where it is calmer, that of the whole does.
        let noise = (apart / (count - 3.0 - slopes(before, after)).max(1.0))
            .max(self.noise)
            .max(select::noise_least(self.costs.memory()));
        let slope = select::price_of_slope(self.length);
        // A trend is not given up for steps just because steps save its slope: not all of
        // what it cost is returned.
        let more_slopes =
            (slopes(before, after) - f64::from(u8::from(merged.shape == Shape::Line))).max(-SLOPE_RETURNED);
        let price = (select::price_of_change(self.search, self.costs.memory()) + slope * more_slopes)
            * self.doubt_of_few((before.until - before.from).min(after.until - after.from));
        let in_noise = (select::left(&self.costs, &merged) - apart) / noise / price.max(1.0);
        let whole = self.plain.left(merged.from, merged.until);
        let parts = self.plain.left(before.from, before.until);
        let rest = self.plain.left(after.from, after.until);
        let gain = if slopes(before, after) > 0.0 {
            whole.line - parts.line - rest.line
        } else {
            whole.level - parts.level - rest.level
        };
        let in_sight = gain / PLAIN_TO_SEE / self.search.price;
        in_noise.min(in_sight)
    }

    /// A mean of few figures with heavy tails is far out more often than normal noise says; how much dearer that makes a
    /// change. The excess kurtosis of a mean falls with the number of figures.
    fn doubt_of_few(&self, samples: usize) -> f64 {
        1.0 + self.excess / samples.max(1) as f64
    }

    fn sure(&self, strength: f64) -> f64 {
        // A price paid once is chance at the asked rate; each further part of it divides that by e.
        let doubt = self.search.false_alarms * (-(strength - 1.0) * self.search.price / 2.0).exp();
        (1.0 - doubt).clamp(0.0, 1.0)
    }

    fn merged(&self, before: &Segment, after: &Segment) -> Segment {
        let left = self.costs.left(before.from, after.until);
        let slope = self.noise * select::price_of_slope(self.length);
        let shape = if left.level <= left.line + slope { Shape::Level } else { Shape::Line };
        Segment { from: before.from, until: after.until, shape }
    }

    /// Moves each boundary to the place between its neighbours where both sides fit best.
    fn settle_places(&self, segments: &mut [Segment]) {
        for number in 1..segments.len() {
            let (before, after) = (segments[number - 1], segments[number]);
            let least = self.search.min_length;
            let places = (before.from + least).max(after.from.saturating_sub(REACH_MOST))
                ..(after.until + 1).saturating_sub(least).min(after.from + REACH_MOST);
            let best = places
                .map(|at| (self.split_at(&before, &after, at), at))
                .min_by(|one, other| one.0.total_cmp(&other.0));
            if let Some((_, at)) = best {
                segments[number - 1].until = at;
                segments[number].from = at;
            }
        }
    }

    /// Where two lines nearly meet, the boundary is where they meet best: a bend has no jump to be found by.
    fn settle_bends(&self, segments: &mut [Segment]) {
        for number in 1..segments.len() {
            if let Some((_, at)) = self.bend(&segments[number - 1], &segments[number]) {
                segments[number - 1].until = at;
                segments[number].from = at;
            }
        }
    }

    /// What two lines that meet leave, and where they meet; none where there is no line, or a jump besides.
    fn bend(&self, before: &Segment, after: &Segment) -> Option<(f64, usize)> {
        if slopes(before, after) == 0.0 {
            return None;
        }
        let least = self.search.min_length;
        let reach = ((after.until - before.from) / 4).min(REACH_MOST);
        let places = (before.from + least).max(after.from.saturating_sub(reach))
            ..(after.until + 1).saturating_sub(least).min(after.from + reach + 1);
        let (bent, at) = places
            .map(|at| (self.plain.left_bent(before.from, at, after.until), at))
            .min_by(|one, other| one.0.total_cmp(&other.0))?;
        let lines =
            self.plain.left(before.from, before.until).line + self.plain.left(after.from, after.until).line;
        // A jump besides would be a figure more; without one the bend fits as well.
        let noise = lines / (after.until - before.from) as f64;
        (bent - lines < noise * self.search.price).then_some((bent, at))
    }

    /// The first bend that a smooth curve explains as well.
    fn smooth(&self, prepared: &Prepared, segments: &[Segment]) -> Option<usize> {
        segments.windows(2).position(|pair| {
            let (from, until) = (pair[0].from, pair[1].until);
            self.bend(&pair[0], &pair[1]).is_some_and(|(bent, _)| {
                curve::left_by_parabola(&prepared.values[from..until], &prepared.at[from..until]) <= bent
            })
        })
    }

    fn split_at(&self, before: &Segment, after: &Segment, at: usize) -> f64 {
        select::left(&self.costs, &Segment { until: at, ..*before })
            + select::left(&self.costs, &Segment { from: at, ..*after })
    }
}

fn slopes(before: &Segment, after: &Segment) -> f64 {
    [before, after].iter().filter(|segment| segment.shape == Shape::Line).count() as f64
}
