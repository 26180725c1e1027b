//! How every sink is doing, for status, doctor and metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_types::Timestamp;
use tokio::time::Instant;

use crate::error::Result;
use crate::notice::Severity;
use crate::outbox::{Handled, Looker, Outbox, Recorded};
use crate::sink::{SinkName, Trouble};

/// How one sink is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub sink: SinkName,
    pub min_severity: Severity,
    /// Notices it has still to be told.
    pub pending: u64,
    /// Messages its receiver accepted, and messages given up.
    pub delivered: u64,
    pub abandoned: u64,
    pub last_delivered: Option<Timestamp>,
    /// Why the last attempt failed; nothing when it did not.
    pub trouble: Option<Trouble>,
    /// How long until it is tried again, while it fails.
    pub next_attempt: Option<Duration>,
    /// Until when what waits here waits for the end of quiet hours, while it does.
    pub quiet_until: Option<Timestamp>,
}

/// Answers questions about the deliverer while it runs.
#[derive(Clone, Debug)]
pub struct Handle {
    board: Arc<Board>,
    outbox: Outbox,
}

impl Handle {
    pub(crate) fn new(board: Arc<Board>, outbox: Outbox) -> Handle {
        Handle { board, outbox }
    }

    /// Every sink that is served, by name. Reads the view, so it may block for a moment.
    pub fn outlook(&self) -> Result<Vec<Outlook>> {
        let standings: Vec<(SinkName, Standing)> =
            self.board.lock().iter().map(|(name, standing)| (name.clone(), standing.clone())).collect();
        let now = Instant::now();
        let outlook = |(sink, standing): (SinkName, Standing)| {
            Ok(Outlook {
                pending: self.outbox.count(&standing.looker(&sink))?,
                sink,
                min_severity: standing.min_severity,
                delivered: standing.recorded.delivered,
                abandoned: standing.recorded.abandoned,
                last_delivered: standing.recorded.last_delivered,
                trouble: standing.trouble,
                next_attempt: standing.next_attempt.map(|at| at.saturating_duration_since(now)),
                quiet_until: standing.quiet_until,
            })
        };
        standings.into_iter().map(outlook).collect()
    }
}

/// What the couriers know and the view may not know yet.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<BTreeMap<SinkName, Standing>>);

#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) min_severity: Severity,
    pub(crate) recorded: Recorded,
    pub(crate) handled: Handled,
    pub(crate) trouble: Option<Trouble>,
    pub(crate) next_attempt: Option<Instant>,
    pub(crate) quiet_until: Option<Timestamp>,
}

impl Standing {
    pub(crate) fn new(min_severity: Severity, recorded: Recorded) -> Standing {
        Standing {
            min_severity,
            recorded,
            handled: Handled::new(),
            trouble: None,
            next_attempt: None,
            quiet_until: None,
        }
    }

    pub(crate) fn looker(&self, sink: &SinkName) -> Looker {
        Looker { sink: sink.clone(), least: self.min_severity, handled: self.handled.clone() }
    }
}

impl Board {
    /// Each entry is replaced as a whole, so a panic leaves nothing half written.
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<SinkName, Standing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update(&self, sink: &SinkName, change: impl FnOnce(&mut Standing)) {
        if let Some(standing) = self.lock().get_mut(sink) {
            change(standing);
        }
    }

    /// For looking at the view once that has applied this many entries: what it knows need not be kept here.
    pub(crate) fn looker(&self, sink: &SinkName, applied: u64) -> Option<Looker> {
        let mut board = self.lock();
        let standing = board.get_mut(sink)?;
        standing.handled.retain(|_, record| *record >= applied);
        Some(standing.looker(sink))
    }
}
