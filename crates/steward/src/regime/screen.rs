//! Where something might begin. A short series is asked everywhere; a long one where windows on both sides differ most,
//! for windows of every size, so that the exact search stays small however long the series is.

use super::cost::Costs;

/// Boundaries given to the exact search at most; its work grows with their square.
const BOUNDARIES_MOST: usize = 500;

/// Boundaries worth a search, in order; the first is 0, the last the length.
pub(super) fn boundaries(plain: &Costs<'_>, length: usize, min_length: usize) -> Vec<usize> {
    if length <= BOUNDARIES_MOST {
        return (0..=length)
            .filter(|at| *at == 0 || *at == length || (*at >= min_length && *at + min_length <= length))
            .collect();
    }
    let mut windows = Vec::new();
    let mut window = min_length;
    while window <= length / 2 {
        windows.push(window);
        window = (window * 3 / 2).max(window + 1);
    }
    let share = (BOUNDARIES_MOST / windows.len().max(1)).max(4);
    let mut boundaries = vec![0, length];
    for window in windows {
        boundaries.extend(standing_out(plain, length, window, share));
    }
    boundaries.sort_unstable();
    boundaries.dedup();
    boundaries
}

/// The places where two windows side by side gain most by being described apart; none nearer than half a window.
fn standing_out(plain: &Costs<'_>, length: usize, window: usize, most: usize) -> Vec<usize> {
    // Wide windows slide in steps: a boundary is set exactly afterwards.
    let step = (window / 16).max(1);
    let gains: Vec<(f64, f64, usize)> = (window..=length - window)
        .step_by(step)
        .map(|at| {
            let whole = plain.left(at - window, at + window);
            let (before, after) = (plain.left(at - window, at), plain.left(at, at + window));
            (whole.level - before.level - after.level, whole.line - before.line - after.line, at)
        })
        .collect();
    let near = (window / 2 / step).max(1);
    let mut places = peaks(&gains, near, most.div_ceil(2), |gain| gain.0);
    places.extend(peaks(&gains, near, most.div_ceil(2), |gain| gain.1));
    places
}

fn peaks(
    gains: &[(f64, f64, usize)],
    near: usize,
    most: usize,
    of: impl Fn(&(f64, f64, usize)) -> f64,
) -> Vec<usize> {
    let mut peaks: Vec<(f64, usize)> = Vec::new();
    let mut last_number = 0;
    for (number, gain) in gains.iter().enumerate() {
        let size = of(gain);
        match peaks.last_mut() {
            Some(last) if number - last_number < near => {
                if size > last.0 {
                    *last = (size, gain.2);
                    last_number = number;
                }
            }
            _ => {
                peaks.push((size, gain.2));
                last_number = number;
            }
        }
    }
    peaks.sort_by(|one, other| other.0.total_cmp(&one.0));
    peaks.into_iter().take(most).map(|(_, at)| at).collect()
}
