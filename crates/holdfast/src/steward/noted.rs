//! The log of one target, and what goes through it: for people, for brains, and for whoever learns from it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use holdfast_lifeline::EpisodeId;
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::outcome::Outcome;
use holdfast_steward_host::{JournalLog, Log, LogFailed};

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
    asked: Vec<EpisodeId>,
    ended: Vec<(EpisodeId, bool)>,
    /// The open episode only takes another back: no brain is asked for it.
    reverts: bool,
}

impl NotedLog {
    pub(super) fn new(log: JournalLog, read: Vec<Record>) -> NotedLog {
        NotedLog {
            log,
            seen: Seen::of(&read),
            lessons: Lessons::of(&read),
            read: Mutex::new(VecDeque::from([read])),
            heard: Heard::Nothing,
            asked: Vec::new(),
            ended: Vec::new(),
            reverts: false,
        }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.clone()
    }

    pub(super) fn lessons(&self) -> Lessons {
        self.lessons.clone()
    }

    /// Whether something was learnt since this was last asked.
    pub(super) fn heard(&mut self) -> Heard {
        std::mem::replace(&mut self.heard, Heard::Nothing)
    }

    fn note(&mut self, record: &Record) {
        self.seen.note(record);
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
