//! How far a daily round will carry a figure: the most that is to be expected of it within a day.
//!
//! What was seen since yesterday tells it, unless the figure has just moved to another level. Then the round before that is taken,
//! as a shape: by how much the most of that day lay above what the same moment of it saw.

use std::time::Duration;

use crate::time::Steady;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Figures are averaged over this, so that a burst is not taken for a peak.
const BLOCK: Duration = Duration::from_secs(15 * 60);
/// A round that was seen for less has not shown its most.
const SEEN_MIN: Duration = Duration::from_secs(20 * 3600);
/// A figure that goes further up and down than this is idle at times, and its shape says nothing about its level.
const SHAPE_MAX: f64 = 4.0;

/// The most of the figure to be expected within a day, in the order of time; nothing where nothing was seen.
pub(super) fn peak(figures: impl IntoIterator<Item = (Steady, f64)>) -> Option<f64> {
    let blocks = blocks(figures);
    let (now, level) = *blocks.last()?;
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let today = most(&mut blocks.iter().filter(|(at, _)| now.since(*at) < DAY).map(|(_, value)| *value));
    let before: Vec<(Steady, f64)> = blocks.iter().filter(|(at, _)| now.since(*at) >= DAY).copied().collect();
    let shape = match (before.first(), before.last()) {
        (Some((first, _)), Some((last, then))) if last.since(*first) >= SEEN_MIN && *then > 0.0 => {
            (most(&mut before.iter().map(|(_, value)| *value)) / then).clamp(1.0, SHAPE_MAX)
        }
        _ => 1.0,
    };
    Some(today.max(level * shape)).filter(|peak| peak.is_finite())
}

/// Means of a quarter of an hour each. What is no number is passed over.
fn blocks(figures: impl IntoIterator<Item = (Steady, f64)>) -> Vec<(Steady, f64)> {
    let mut blocks: Vec<(Steady, f64, f64)> = Vec::new();
    for (at, value) in figures.into_iter().filter(|(_, value)| value.is_finite()) {
        match blocks.last_mut() {
            Some((began, sum, count)) if at.since(*began) < BLOCK => {
                *sum += value;
                *count += 1.0;
            }
            _ => blocks.push((at, value, 1.0)),
        }
    }
    blocks.into_iter().map(|(at, sum, count)| (at, sum / count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    /// Two days at two minutes each, up to this hour of the third.
    fn seen(until: f64, figure: impl Fn(f64) -> f64) -> Option<f64> {
        let last = ((48.0 + until) * 30.0) as u64;
        let first = last.saturating_sub(48 * 30);
        peak((first..=last).map(|n| (Steady(n * 2 * MINUTE), figure(n as f64 / 30.0))))
    }

    fn round(hour: f64) -> f64 {
        1.0 + 0.2 * (hour / 24.0 * std::f64::consts::TAU).sin()
    }

    #[test]
    fn the_peak_of_a_round_is_known_before_it_comes_and_after_the_level_has_moved() {
        let near = |what: &str, found: Option<f64>, expected: f64| {
            let found = found.unwrap();
            assert!((found / expected - 1.0).abs() < 0.02, "{what}: {found} instead of {expected}");
        };
        near("an hour before its most", seen(5.0, round), 1.2);
        near("at its least", seen(18.0, round), 1.2);
        // Since an hour ago it is twice itself: the most is still to come, and nobody has seen it yet.
        let twice = |hour: f64| round(hour) * if hour >= 65.0 { 2.0 } else { 1.0 };
        near("moved at its least", seen(18.0, twice), 2.4);
        let half = |hour: f64| round(hour) * if hour >= 53.0 { 0.5 } else { 1.0 };
        near("what fell is not trusted to stay down for a day", seen(6.0, half), 1.2);
    }

    #[test]
    fn what_was_seen_for_too_short_a_time_has_no_shape() {
        let few = |hours: u64| peak((0..hours * 30).map(|n| (Steady(n * 2 * MINUTE), 1.0 + n as f64)));
        assert_eq!(few(0), None);
        assert_eq!(few(1).unwrap().round(), 28.0, "the mean of its last quarter of an hour");
        assert_eq!(peak([(Steady(0), f64::NAN), (Steady(1), 2.0)]), Some(2.0));
        assert_eq!(peak([(Steady(0), f64::MAX), (Steady(1), f64::MAX)]), None, "a sum beyond all numbers");
    }

    #[test]
    fn a_figure_that_was_idle_yesterday_does_not_grow_without_bound() {
        let idle = |hour: f64| if hour % 24.0 < 6.0 { 0.001 } else { 1.0 };
        let found = seen(5.0, idle).unwrap();
        assert!(found <= 4.0, "{found}");
    }
}
