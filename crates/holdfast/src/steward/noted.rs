//! The log of one target, and what goes through it: for people, for brains, and for whoever learns from it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use holdfast_lifeline::{EpisodeId, Steady};
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::outcome::Outcome;
use holdfast_steward::sample::{Marked, Why};
use holdfast_steward_host::{JournalLog, Log, LogFailed};

use super::around::PAST;
use super::lessons::{Heard, Lessons};
use super::seen::Seen;

/// The log of one target, with an account of what went through it. What was read before the start is not read twice.
#[derive(Debug)]
pub(super) struct NotedLog {
    log: JournalLog,
    read: Mutex<VecDeque<Vec<Record>>>,
    seen: Seen,
    lessons: Lessons,
    heard: Heard,
    /// An episode ended, or was judged anew a day later.
    judged: bool,
    asked: Vec<EpisodeId>,
    ended: Vec<(EpisodeId, bool)>,
    /// The open episode only takes another back: no brain is asked for it.
    reverts: bool,
    /// What was our own doing, and says nothing about how the target usually is.
    marked: Marked,
}

impl NotedLog {
    pub(super) fn new(log: JournalLog, read: Vec<Record>) -> NotedLog {
        let mut marked = Marked::default();
        read.iter().for_each(|record| mark(&mut marked, record));
        NotedLog {
            log,
            seen: Seen::of(&read),
            lessons: Lessons::of(&read),
            read: Mutex::new(VecDeque::from([read])),
            heard: Heard::Nothing,
            judged: false,
            asked: Vec::new(),
            ended: Vec::new(),
            reverts: false,
            marked,
        }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.clone()
    }

    pub(super) fn marked(&self) -> &Marked {
        &self.marked
    }

    pub(super) fn lessons(&self) -> Lessons {
        self.lessons.clone()
    }

    /// Whether something was learnt since this was last asked.
    pub(super) fn heard(&mut self) -> Heard {
        std::mem::replace(&mut self.heard, Heard::Nothing)
    }

    /// Whether there is a verdict that was not there when this was last asked.
    pub(super) fn judged(&mut self) -> bool {
        std::mem::replace(&mut self.judged, false)
    }

    fn note(&mut self, record: &Record) {
        self.seen.note(record);
        self.judged |= matches!(record.event, Event::Ended { .. } | Event::Retrospected { .. });
        mark(&mut self.marked, record);
        if self.lessons.note(record) == Heard::Something {
            self.heard = Heard::Something;
        }
        match &record.event {
            Event::Opened { episode } => self.reverts = episode.reverts.is_some(),
            Event::Moved { episode, phase } if matches!(**phase, Phase::Asking { .. }) && !self.reverts => {
                self.asked.push(episode.clone());
            }
            Event::Ended { episode, ending } => {
                // What was cut short says nothing about the change.
                let teaches = ending.tried && ending.outcome != Outcome::Interrupted;
                self.ended.push((episode.clone(), teaches));
            }
            _ => {}
        }
    }

    /// Episodes a brain was asked for, and those that ended with whether something can be learnt from them, since this was last
    /// taken.
    pub(super) fn turns(&mut self) -> (Vec<EpisodeId>, Vec<(EpisodeId, bool)>) {
        (std::mem::take(&mut self.asked), std::mem::take(&mut self.ended))
    }
}

/// From the moment a target builds something for us until that is kept or gone, nothing there is as it usually is.
fn mark(marked: &mut Marked, record: &Record) {
    match &record.event {
        Event::Moved { phase, .. } => match **phase {
            Phase::Staging { .. } | Phase::Opening { .. } => marked.begin(record.at, Why::OwnBuild),
            // It may wait for a day, in which nothing of ours runs.
            Phase::Waiting { .. } => marked.end(record.at, Why::OwnBuild),
            _ => {}
        },
        Event::Kept { .. } | Event::Ended { .. } => {
            marked.end(record.at, Why::OwnBuild);
            marked.forget_before(Steady(record.at.0.saturating_sub(PAST.as_millis() as u64)));
        }
        _ => {}
    }
}

impl Log for NotedLog {
    fn append(&mut self, records: &[Record]) -> Result<(), LogFailed> {
        self.log.append(records)?;
        records.iter().for_each(|record| self.note(record));
        Ok(())
    }

    fn read(&self) -> Result<Vec<Record>, LogFailed> {
        let before = self.read.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        before.map_or_else(|| self.log.read(), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_lifeline::Identity;
    use holdfast_steward::effect::Op;
    use holdfast_steward::retrospective::matched;
    use holdfast_types::Timestamp;

    const MINUTE: u64 = 60_000;
    const DAY: u64 = 24 * 60 * MINUTE;

    // shows: STW-318
    #[test]
    fn the_load_of_our_own_build_and_trial_is_in_no_baseline() {
        let record = |at: u64, event| Record { at: Steady(at), wall: Timestamp::EPOCH, synced: true, event };
        let episode: EpisodeId = "ep_1".parse().unwrap();
        let (built, switched) = (DAY - 25 * MINUTE, DAY);
        let known_good = Identity([1; 32]);
        let staging = Phase::Staging { op: Op(1), until: Steady(DAY), known_good };
        let records = [
            record(built, Event::Moved { episode: episode.clone(), phase: Box::new(staging) }),
            record(
                switched,
                Event::Kept {
                    episode,
                    identity: Identity([2; 32]),
                    replaced: known_good,
                    changes: Vec::new(),
                },
            ),
        ];
        let mut marked = Marked::default();
        records.iter().for_each(|record| mark(&mut marked, record));
        // Every two minutes, and a build that lets everybody wait.
        let samples = |build: f64| -> Vec<(Steady, f64)> {
            let usual = |at: u64| 1.0 + (at / MINUTE % 7) as f64 / 10.0;
            let load = |at: u64| if (built..=switched).contains(&at) { build } else { 0.0 };
            (0..2 * DAY).step_by(2 * MINUTE as usize).map(|at| (Steady(at), usual(at) + load(at))).collect()
        };
        let compared = |build: f64| matched(&samples(build), Steady(switched), None, marked.intervals());
        assert_eq!(compared(60.0), compared(0.0));
        let unmarked = |build: f64| matched(&samples(build), Steady(switched), None, &[]);
        assert_ne!(unmarked(60.0), unmarked(0.0), "else nothing was shown");
    }
}
