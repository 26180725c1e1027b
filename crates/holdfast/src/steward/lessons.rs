//! What this house has learnt about changes: from each target's records, for the brains of all of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdfast_lifeline::{EpisodeId, TargetName};
use holdfast_steward::brain::Experience;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::lesson::{Lesson, Place};
use holdfast_steward::outcome::Outcome;

/// The latest of one target that are kept: two months at three trials a day.
const LESSONS_MAX: usize = 200;
const ENDED_MAX: usize = 8;

/// What was learnt on one target. What is found a day later counts from then on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lessons {
    learnt: VecDeque<(EpisodeId, Lesson, Outcome)>,
    /// The episodes that ended last: what was learnt from one is written down right after, or after the next that came to nothing.
    ended: VecDeque<(EpisodeId, Outcome)>,
}

/// Whether something else is known than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Nothing,
    Something,
}

impl Lessons {
    pub(super) fn of(records: &[Record]) -> Lessons {
        let mut lessons = Lessons::default();
        records.iter().for_each(|record| {
            lessons.note(record);
        });
        lessons
    }

    pub(super) fn note(&mut self, record: &Record) -> Heard {
        match &record.event {
            Event::Ended { episode, ending } => {
                self.ended.push_back((episode.clone(), ending.outcome));
                let surplus = self.ended.len().saturating_sub(ENDED_MAX);
                self.ended.drain(..surplus);
                Heard::Nothing
            }
            Event::Learnt { episode, lesson } => {
                let ended = self.ended.iter().find(|(of, _)| of == episode);
                let Some((_, outcome)) = ended.cloned() else { return Heard::Nothing };
                self.learnt.push_back((episode.clone(), lesson.as_ref().clone(), outcome));
                let surplus = self.learnt.len().saturating_sub(LESSONS_MAX);
                self.learnt.drain(..surplus);
                Heard::Something
            }
            Event::Retrospected { episode, verdict } => {
                let found = self.learnt.iter_mut().find(|(of, ..)| of == episode);
                let Some((_, _, outcome)) = found else { return Heard::Nothing };
                *outcome = verdict.outcome();
                Heard::Something
            }
            _ => Heard::Nothing,
        }
    }
}

/// What was learnt on all targets.
#[derive(Debug, Default)]
pub(crate) struct Library {
    shelves: Mutex<BTreeMap<TargetName, Lessons>>,
}

impl Library {
    /// All that is known of one target, in place of what was.
    pub(super) fn put(&self, target: &TargetName, lessons: Lessons) {
        self.shelves().insert(target.clone(), lessons);
    }

    /// What a brain is shown that looks after this target: others first, so that its own is the latest.
    pub(super) fn experience(&self, target: &TargetName) -> Vec<Experience> {
        let shelves = self.shelves();
        let of = |place: Place| {
            let here = move |of: &TargetName| (of == target) == (place == Place::Here);
            let shelves = shelves.iter().filter(move |(of, _)| here(of));
            shelves.flat_map(move |(_, lessons)| {
                lessons.learnt.iter().map(move |(_, lesson, outcome)| lesson.experience(*outcome, place))
            })
        };
        of(Place::Elsewhere).chain(of(Place::Here)).collect()
    }

    fn shelves(&self) -> MutexGuard<'_, BTreeMap<TargetName, Lessons>> {
        // A shelf is replaced whole.
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_lifeline::Steady;
    use holdfast_steward::brain::Diagnosis;
    use holdfast_steward::episode::Ending;
    use holdfast_steward::retrospective::Verdict;
    use holdfast_steward::setting::Property;
    use holdfast_types::Timestamp;

    fn record(event: Event) -> Record {
        Record { at: Steady(0), wall: Timestamp::EPOCH, synced: false, event }
    }

    fn lived(number: u32, after: f64) -> Vec<Record> {
        let episode: EpisodeId = format!("ep_{number:026}").parse().unwrap();
        let ending = Ending { outcome: Outcome::Kept, reason: String::new(), tried: true };
        let lesson = Lesson {
            diagnosis: Diagnosis::ThrottleTooLow,
            unit: "task-runner.service".parse().unwrap(),
            property: Property::MemoryHigh,
            step: 0.1,
            before: 30.0,
            after,
        };
        vec![
            record(Event::Ended { episode: episode.clone(), ending }),
            record(Event::Learnt { episode: episode.clone(), lesson: Box::new(lesson) }),
            record(Event::Retrospected { episode, verdict: Verdict::Improved }),
        ]
    }

    #[test]
    fn a_brain_is_shown_what_was_learnt_here_and_elsewhere_with_what_came_of_it() {
        let library = Library::default();
        let target = |name: &str| name.parse::<TargetName>().unwrap();
        library.put(&target("box-1"), Lessons::of(&lived(1, 2.0)));
        library.put(&target("box-2"), Lessons::of(&lived(2, 9.0)[..2]));
        let shown = library.experience(&target("box-1"));
        let told: Vec<_> = shown.iter().map(|it| (it.here, it.after, it.outcome)).collect();
        assert_eq!(told, [(false, 9.0, Outcome::Kept), (true, 2.0, Outcome::Improved)]);
        assert_eq!(library.experience(&target("box-3")).iter().filter(|it| it.here).count(), 0);
    }

    #[test]
    fn what_is_kept_of_a_target_is_bounded_and_a_lesson_without_an_end_is_none() {
        let records: Vec<Record> = (0..300).flat_map(|number| lived(number, f64::from(number))).collect();
        let lessons = Lessons::of(&records);
        assert_eq!(lessons.learnt.len(), LESSONS_MAX);
        assert_eq!(lessons.learnt.back().unwrap().1.after, 299.0);
        assert_eq!(Lessons::of(&lived(1, 2.0)[1..]), Lessons::default());
    }
}
