//! Sessions in memory, so that a request need not ask the disk who is asking.
//!
//! Only what the database says is here, and every change that could take something away forgets all of it. A reader that
//! looked before such a change cannot put what it saw in afterwards: it has to name the turn it looked in.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_types::Timestamp;
use tokio::sync::watch;

use crate::id::{PersonId, SessionId};
use crate::name::PersonName;
use crate::role::Role;
use crate::secret::Stamp;

/// More browsers than any house has. When it is full it is emptied: the disk knows everything.
const KNOWN_MAX: usize = 8_192;

/// Looking at a page is written down at most this often.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

/// A clock may be corrected by this much without a session being taken for one of the future.
const SLACK: Duration = Duration::from_secs(120);

/// A session as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: SessionId,
    pub(super) person: PersonId,
    pub(super) name: PersonName,
    pub(super) role: Role,
    pub(super) created: Timestamp,
    pub(super) seen: Timestamp,
    pub(super) expires: Timestamp,
}

impl Row {
    /// Whether the session counts now. With a clock far behind its beginning it does not, and is kept: the machine may
    /// have started with a wrong clock.
    pub(super) fn is_live(&self, now: Timestamp, idle: Duration) -> bool {
        now < self.expires && now < self.seen.plus(idle) && self.created <= now.plus(SLACK)
    }
}

#[derive(Debug)]
pub(super) struct Known {
    rows: Mutex<HashMap<Stamp, Row>>,
    /// When the use of a token was last written down. Nothing else is kept of tokens: each request looks at the disk.
    tokens: Mutex<HashMap<Stamp, Timestamp>>,
    turn: watch::Sender<u64>,
}

impl Default for Known {
    fn default() -> Known {
        Known { rows: Mutex::default(), tokens: Mutex::default(), turn: watch::Sender::new(0) }
    }
}

impl Known {
    pub(super) fn get(&self, stamp: Stamp) -> Option<Row> {
        self.rows().get(&stamp).cloned()
    }

    pub(super) fn turn(&self) -> u64 {
        *self.turn.borrow()
    }

    pub(super) fn turns(&self) -> watch::Receiver<u64> {
        self.turn.subscribe()
    }

    /// Keeps what was read in `turn`, unless something changed since.
    pub(super) fn put(&self, turn: u64, stamp: Stamp, row: Row) {
        let mut rows = self.rows();
        if self.turn() != turn {
            return;
        }
        if rows.len() >= KNOWN_MAX {
            rows.clear();
        }
        rows.insert(stamp, row);
    }

    /// Something was taken away or changed: everybody looks again, streams too.
    pub(super) fn forget(&self) {
        let mut rows = self.rows();
        rows.clear();
        self.turn.send_modify(|turn| *turn += 1);
    }

    /// Whether this look is to be written down; says so once a minute.
    pub(super) fn touch(&self, stamp: Stamp, now: Timestamp) -> bool {
        let mut rows = self.rows();
        match rows.get_mut(&stamp) {
            Some(row) if now.since(row.seen) >= TOUCH_EVERY => {
                row.seen = now;
                true
            }
            _ => false,
        }
    }

    /// The same for a token that is good.
    pub(super) fn touch_token(&self, stamp: Stamp, now: Timestamp) -> bool {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.get(&stamp).is_some_and(|at| now.since(*at) < TOUCH_EVERY) {
            return false;
        }
        if tokens.len() >= KNOWN_MAX {
            tokens.clear();
        }
        tokens.insert(stamp, now);
        true
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<Stamp, Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Use;

    fn row(at: Timestamp) -> Row {
        Row {
            id: SessionId::random().unwrap(),
            person: PersonId::random().unwrap(),
            name: "Ana".parse().unwrap(),
            role: Role::Viewer,
            created: at,
            seen: at,
            expires: at.plus(Duration::from_secs(1_000)),
        }
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept_after_it() {
        let known = Known::default();
        let (stamp, now) = (Stamp::of(Use::Session, "x"), Timestamp::EPOCH);
        let turn = known.turn();
        known.forget();
        known.put(turn, stamp, row(now));
        assert!(known.get(stamp).is_none());
        known.put(known.turn(), stamp, row(now));
        assert!(known.get(stamp).is_some());
        known.forget();
        assert!(known.get(stamp).is_none());
    }

    #[test]
    fn looking_is_written_down_once_a_minute() {
        let known = Known::default();
        let (stamp, now) = (Stamp::of(Use::Session, "x"), Timestamp::EPOCH);
        known.put(known.turn(), stamp, row(now));
        assert!(!known.touch(stamp, now.plus(Duration::from_secs(59))));
        assert!(known.touch(stamp, now.plus(Duration::from_secs(60))));
        assert!(!known.touch(stamp, now.plus(Duration::from_secs(61))));
        let token = |secs| known.touch_token(stamp, now.plus(Duration::from_secs(secs)));
        assert!(token(0) && !token(59) && token(60) && !token(61));
    }

    #[test]
    fn a_session_ends_idle_or_old_and_does_not_count_before_its_time() {
        let at = Timestamp::from_micros(1_000_000_000_000).unwrap();
        let after = |secs| at.plus(Duration::from_secs(secs));
        let idle = Duration::from_secs(100);
        let live = |seen: Timestamp, now: Timestamp| Row { seen, ..row(at) }.is_live(now, idle);
        assert!(live(at, at) && live(at, after(99)) && !live(at, after(100)));
        assert!(live(after(950), after(999)) && !live(after(950), after(1_000)));
        assert!(!live(at, Timestamp::EPOCH), "the clock is years behind");
        assert!(live(after(60), at), "the clock was corrected by a minute");
    }
}
