//! How well change points found agree with those marked: F1 with a margin, covering, and how far off they are.
//!
//! The definitions are those of van den Burg and Williams, "An Evaluation of Change Point Detection Algorithms" (2020): the
//! first sample always counts as a change point, several people may have marked the same series, and a mark is met
//! by at most one change point.

/// Places where regimes begin, in order and once each, the first sample among them.
fn with_first(places: &[usize]) -> Vec<usize> {
    let mut places = places.to_vec();
    places.push(0);
    places.sort_unstable();
    places.dedup();
    places
}

/// Pairs of a mark and the change point that meets it within the margin, each used once.
fn met(marks: &[usize], found: &[usize], margin: usize) -> Vec<(usize, usize)> {
    let mut free = found.to_vec();
    let mut met = Vec::new();
    for mark in marks {
        let nearest = (0..free.len())
            .filter(|at| free[*at].abs_diff(*mark) <= margin)
            .min_by_key(|at| free[*at].abs_diff(*mark));
        if let Some(nearest) = nearest {
            met.push((*mark, free.remove(nearest)));
        }
    }
    met
}

/// F1 of the change points found against what one or more people marked.
pub fn f1(marked: &[Vec<usize>], found: &[usize], margin: usize) -> f64 {
    let found = with_first(found);
    let marked: Vec<Vec<usize>> = marked.iter().map(|marks| with_first(marks)).collect();
    let all = with_first(&marked.concat());
    let precision = met(&all, &found, margin).len() as f64 / found.len() as f64;
    let recalls = marked.iter().map(|marks| met(marks, &found, margin).len() as f64 / marks.len() as f64);
    let recall = recalls.sum::<f64>() / marked.len().max(1) as f64;
    if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
}

/// How well the stretches found cover those marked, weighed by length: 1 is the same partition.
pub fn covering(marked: &[Vec<usize>], found: &[usize], length: usize) -> f64 {
    let found = stretches(found, length);
    let each = marked.iter().map(|marks| {
        let covered = stretches(marks, length).into_iter().map(|stretch| {
            let best = found.iter().map(|other| overlap(stretch, *other)).fold(0.0, f64::max);
            best * (stretch.1 - stretch.0) as f64
        });
        covered.sum::<f64>() / length.max(1) as f64
    });
    each.sum::<f64>() / marked.len().max(1) as f64
}

fn stretches(begins: &[usize], length: usize) -> Vec<(usize, usize)> {
    let mut begins = with_first(begins);
    begins.retain(|at| *at < length);
    let mut ends: Vec<usize> = begins.iter().skip(1).copied().collect();
    ends.push(length);
    begins.into_iter().zip(ends).collect()
}

fn overlap(one: (usize, usize), other: (usize, usize)) -> f64 {
    let both = one.1.min(other.1).saturating_sub(one.0.max(other.0)) as f64;
    let either = (one.1 - one.0 + other.1 - other.0) as f64 - both;
    if either > 0.0 { both / either } else { 0.0 }
}

/// How many samples each met mark was missed by, for marks other than the first sample.
pub fn misses(marks: &[usize], found: &[usize], margin: usize) -> Vec<usize> {
    let mut marks = with_first(marks);
    marks.retain(|mark| *mark > 0);
    let mut found = with_first(found);
    found.retain(|at| *at > 0);
    met(&marks, &found, margin).into_iter().map(|(mark, found)| mark.abs_diff(found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_follows_the_published_definition() {
        // Marks of one person, what was found, margin, F1, covering of a series of 100.
        let table: [(&[usize], &[usize], f64, f64); 5] = [
            (&[], &[], 1.0, 1.0),
            (&[50], &[50], 1.0, 1.0),
            (&[50], &[], 2.0 / 3.0, 0.5),
            (&[], &[50], 2.0 / 3.0, 0.5),
            (&[50], &[53], 1.0, (50.0 * 50.0 / 53.0 + 50.0 * 47.0 / 50.0) / 100.0),
        ];
        for (marks, found, wanted_f1, wanted_covering) in table {
            let marked = vec![marks.to_vec()];
            assert!((f1(&marked, found, 5) - wanted_f1).abs() < 1e-12, "{marks:?} {found:?}");
            assert!((covering(&marked, found, 100) - wanted_covering).abs() < 1e-12, "{marks:?} {found:?}");
        }
    }

    #[test]
    fn a_mark_is_met_once_and_several_people_are_averaged() {
        assert!((f1(&[vec![50]], &[49, 51], 5) - 0.8).abs() < 1e-12);
        // Precision against what anyone marked is 1; recall is 1 for one and 1/2 for the other.
        assert!((f1(&[vec![], vec![50]], &[], 5) - 2.0 * 0.75 / 1.75).abs() < 1e-12);
    }

    #[test]
    fn misses_count_samples_of_met_marks_only() {
        assert_eq!(misses(&[50, 80], &[53, 99], 5), vec![3]);
    }
}
