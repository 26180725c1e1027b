//! A trend that bends all the way is one regime: before a bend is told, a smooth curve is tried in its place.

/// What the best parabola through these samples leaves.
pub(super) fn left_by_parabola(values: &[f64], at: &[usize]) -> f64 {
    let middle = (at.first().copied().unwrap_or(0) as f64 + at.last().copied().unwrap_or(0) as f64) / 2.0;
    let half = (at.last().copied().unwrap_or(0) as f64 - middle).max(1.0);
    let place = |at: &usize| (*at as f64 - middle) / half;
    // Level, line and square are made independent of each other one after the other (Gram and Schmidt).
    let one = vec![1.0; values.len()];
    let line = apart(at.iter().map(place).collect(), &[&one]);
    let square = apart(at.iter().map(|at| place(at).powi(2)).collect(), &[&one, &line]);
    let rest = apart(values.to_vec(), &[&one, &line, &square]);
    rest.iter().map(|figure| figure * figure).sum()
}

/// What is left of `figures` after each of the directions is taken out.
fn apart(mut figures: Vec<f64>, directions: &[&Vec<f64>]) -> Vec<f64> {
    for direction in directions {
        let size: f64 = direction.iter().map(|part| part * part).sum();
        let along: f64 = figures.iter().zip(*direction).map(|(figure, part)| figure * part).sum();
        if size > 1e-12 {
            for (figure, part) in figures.iter_mut().zip(*direction) {
                *figure -= along / size * part;
            }
        }
    }
    figures
}
