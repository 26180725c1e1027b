//! How the parts are, for anyone who asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::part::{Beat, Importance};
use crate::restart::Restarts;

/// What a part is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartState {
    /// Alive and heard of lately.
    Running,
    /// Alive by its task, and silent for longer than it may be.
    Stale,
    /// It ended and waits to be started again.
    Waiting { why: String },
    /// It was stopped.
    Stopped,
}

/// One line of the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartStatus {
    pub name: &'static str,
    pub importance: Importance,
    pub state: PartState,
    pub restarts: u64,
    pub silent_for: Duration,
    pub stale_after: Duration,
}

impl PartStatus {
    pub fn is_well(&self) -> bool {
        self.state == PartState::Running
    }
}

/// A handle on the state of every part.
#[derive(Clone, Debug)]
pub struct Board {
    lines: Arc<Vec<Line>>,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) importance: Importance,
    pub(crate) stale_after: Duration,
    pub(crate) beat: Beat,
    now: Mutex<Now>,
}

#[derive(Debug, Default)]
struct Now {
    phase: Phase,
    restarts: Restarts,
    /// What it left unfinished when it was stopped.
    left: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) enum Phase {
    #[default]
    Running,
    Waiting {
        why: String,
    },
    Stopped,
}

impl Line {
    pub(crate) fn new(name: &'static str, importance: Importance, stale_after: Duration, beat: Beat) -> Line {
        Line { name, importance, stale_after, beat, now: Mutex::default() }
    }

    pub(crate) fn set(&self, phase: Phase) {
        self.lock().phase = phase;
    }

    /// Takes note of an end and says how long to wait.
    pub(crate) fn note_end(&self, why: String, lived: Duration) -> Duration {
        let mut now = self.lock();
        now.phase = Phase::Waiting { why };
        now.restarts.note_end(lived)
    }

    pub(crate) fn note_left(&self, what: String) {
        self.lock().left = Some(what);
    }

    fn status(&self) -> PartStatus {
        let now = self.lock();
        let silent_for = self.beat.age();
        let state = match &now.phase {
            Phase::Running if silent_for > self.stale_after => PartState::Stale,
            Phase::Running => PartState::Running,
            Phase::Waiting { why } => PartState::Waiting { why: why.clone() },
            Phase::Stopped => PartState::Stopped,
        };
        PartStatus {
            name: self.name,
            importance: self.importance,
            state,
            restarts: now.restarts.total,
            silent_for,
            stale_after: self.stale_after,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        // Plain values: a panic elsewhere leaves none of them half-written.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board {
    pub(crate) fn new(lines: Vec<Line>) -> Board {
        Board { lines: Arc::new(lines) }
    }

    pub(crate) fn line(&self, at: usize) -> &Line {
        &self.lines[at]
    }

    pub(crate) fn left(&self) -> Vec<(&'static str, String)> {
        self.lines.iter().filter_map(|line| Some((line.name, line.lock().left.clone()?))).collect()
    }

    pub fn parts(&self) -> Vec<PartStatus> {
        self.lines.iter().map(Line::status).collect()
    }

    /// Whether every part that safety rests on is well.
    pub fn is_safe(&self) -> bool {
        self.parts().iter().all(|part| part.importance == Importance::Service || part.is_well())
    }
}
