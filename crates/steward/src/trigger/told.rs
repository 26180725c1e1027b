//! What is said about a cause, kept beside it.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use holdfast_types::printable;
use serde::{Deserialize, Serialize};

use crate::lookout::TOLD_MAX;
use crate::sample::Metric;

/// A sentence about every metric an account may tell of fits.
const SENTENCE_CHARS_MAX: usize = 2000;

/// A change in a sentence, and the metrics it names, what moved first at the head.
///
/// It is no part of which cause something is: a queue that has looked into a cause has looked into it, whatever was said
/// about it. So all of them are equal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    pub metrics: Vec<Metric>,
    pub sentence: String,
}

impl Told {
    /// Cut to what is read, without what a terminal would obey.
    pub fn new(mut metrics: Vec<Metric>, sentence: &str) -> Told {
        metrics.truncate(TOLD_MAX);
        let sentence = printable(sentence).chars().take(SENTENCE_CHARS_MAX).collect();
        Told { metrics, sentence }
    }
}

impl PartialEq for Told {
    fn eq(&self, _: &Told) -> bool {
        true
    }
}

impl Eq for Told {}

impl Hash for Told {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl PartialOrd for Told {
    fn partial_cmp(&self, other: &Told) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Told {
    fn cmp(&self, _: &Told) -> Ordering {
        Ordering::Equal
    }
}

#[cfg(test)]
mod tests {
    use super::super::{COOL_DOWN, Cause, Gate, Offered, Queue, SETTLE, Suppression};
    use super::*;
    use crate::detect::Direction;
    use crate::time::Steady;

    fn cause(sentence: &str) -> Cause {
        let metric = Metric::primary();
        let told = Told::new(vec![metric.clone()], sentence);
        Cause::Noticed { metric, direction: Direction::Up, told }
    }

    #[test]
    fn a_story_that_was_looked_into_rests_however_it_is_told() {
        let (gate, mut queue) = (Gate::default(), Queue::new(Steady(0)));
        assert_eq!(queue.offer(Steady(0), cause("Pressure rose."), &gate), Offered::Accepted);
        let at = Steady(0).plus(SETTLE);
        let taken = queue.take(at, &gate).unwrap();
        assert!(queue.acknowledge(taken.id, at));
        let again = |queue: &mut Queue, at| queue.offer(at, cause("Pressure and latency rose."), &gate);
        assert_eq!(again(&mut queue, at), Offered::Suppressed(Suppression::JustHandled));
        assert_eq!(again(&mut queue, at.plus(COOL_DOWN)), Offered::Accepted);
    }

    #[test]
    fn what_is_said_is_bounded_and_obeyed_by_no_terminal() {
        let told = Told::new(vec![Metric::primary(); 100], &"\u{1b}[2J".repeat(5000));
        assert_eq!(told.metrics.len(), TOLD_MAX);
        assert!(told.sentence.chars().count() <= SENTENCE_CHARS_MAX && !told.sentence.contains('\u{1b}'));
        let written = serde_json::to_string(&cause("Pressure rose.")).unwrap();
        let Cause::Noticed { told, .. } = serde_json::from_str(&written).unwrap() else { panic!() };
        assert_eq!(told.sentence, "Pressure rose.");
    }
}
