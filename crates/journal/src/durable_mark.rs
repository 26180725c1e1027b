//! How much of the log is durable, for those who read while it is written.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::commit::lock;

/// Counts durable entries; readers wait on it.
#[derive(Debug)]
pub(crate) struct DurableMark {
    state: Mutex<State>,
    changed: Condvar,
    waiting: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
struct State {
    count: u64,
    closed: bool,
}

/// What a wait ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// There are more than the reader had.
    More,
    TimedOut,
    /// The journal was closed and there will be no more.
    Closed,
}

impl DurableMark {
    pub(crate) fn new(count: u64) -> Self {
        DurableMark {
            state: Mutex::new(State { count, closed: false }),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        lock(&self.state).count
    }

    pub(crate) fn advance_to(&self, count: u64) {
        lock(&self.state).count = count;
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.changed.notify_all();
        }
    }

    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// Waits until more than `have` entries are durable.
    pub(crate) fn wait_beyond(&self, have: u64, timeout: Duration) -> Woken {
        // Counted before the state is looked at, under its lock: a writer that advances afterwards sees us.
        let guard = lock(&self.state);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let nothing_new = |s: &mut State| s.count <= have && !s.closed;
        let waited = self.changed.wait_timeout_while(guard, timeout, nothing_new);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        match (state.count > have, state.closed) {
            (true, _) => Woken::More,
            (false, true) => Woken::Closed,
            (false, false) => Woken::TimedOut,
        }
    }
}
