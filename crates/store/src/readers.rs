//! A few read-only connections, lent out one at a time.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::connect;
use crate::error::{Error, Result};

/// Enough to keep a small machine's cores busy; each costs two or three file descriptors and its cache.
const READERS_MAX: usize = 4;

/// How long a reader waits for a connection, and a swap for the readers to leave. Queries take milliseconds.
const WAIT_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    lent: usize,
    shut: bool,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Readers {
        Readers { path: path.to_owned(), state: Mutex::default(), changed: Condvar::new() }
    }

    /// Lends a connection for one look at one state of the database, whatever is committed meanwhile.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let lent = Lent { readers: self, conn: Some(self.borrow()?) };
        let conn = lent.conn.as_ref().unwrap_or_else(|| unreachable!("it is taken when dropped"));
        let snapshot = Transaction::new_unchecked(conn, TransactionBehavior::Deferred)?;
        look(&snapshot)
    }

    fn borrow(&self) -> Result<Connection> {
        let mut state = self.wait(|s| !s.shut && s.lent < READERS_MAX, "too many are reading")?;
        let conn = match state.idle.pop() {
            Some(conn) => conn,
            None => connect::reader(&self.path)?,
        };
        state.lent += 1;
        Ok(conn)
    }

    /// Lets nobody in and returns when everybody has left. Opens again when what this gives back is dropped.
    pub(crate) fn shut(&self) -> Result<Shut<'_>> {
        self.state().shut = true;
        let shut = Shut(self);
        self.wait(|s| s.lent == 0, "a reader does not come back")?.idle.clear();
        Ok(shut)
    }

    fn wait(&self, enough: impl Fn(&State) -> bool, who: &'static str) -> Result<MutexGuard<'_, State>> {
        let deadline = Instant::now() + WAIT_MAX;
        let mut state = self.state();
        while !enough(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Busy { path: self.path.clone(), who });
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lent connection; it goes back also when the reader panics.
struct Lent<'a> {
    readers: &'a Readers,
    conn: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state();
        state.lent -= 1;
        // One that is still inside a transaction would show the next reader an old state.
        state.idle.extend(self.conn.take().filter(Connection::is_autocommit));
        self.readers.changed.notify_all();
    }
}

/// Nobody reads while this is held.
#[derive(Debug)]
pub(crate) struct Shut<'a>(&'a Readers);

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.0.state().shut = false;
        self.0.changed.notify_all();
    }
}
