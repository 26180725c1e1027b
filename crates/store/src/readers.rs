//! A few read-only connections, lent out one at a time.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::connect;
use crate::error::{Error, Result};

/// Enough to keep a small machine's cores busy; each costs two or three file descriptors and its cache.
const READERS_MAX: usize = 4;

/// How long a reader waits for a connection. Queries take milliseconds.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How long a swap waits for the readers to leave. What is put in place took minutes to make, and one slow reader
/// must not waste it.
const SHUT: Patience = Patience { all: Duration::from_secs(120), turn: Duration::from_secs(10) };

/// Between two turns, so that those who waited at the door come in.
const PAUSE: Duration = Duration::from_millis(50);

/// How long readers are waited for in all, and how long the others are kept out meanwhile.
#[derive(Clone, Copy, Debug)]
struct Patience {
    all: Duration,
    /// Less than [`WAIT_MAX`]: nobody is turned away because of one slow reader.
    turn: Duration,
}

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
        let mut state = self.wait(WAIT_MAX, |s| !s.shut && s.lent < READERS_MAX, "too many are reading")?;
        let conn = match state.idle.pop() {
            Some(conn) => conn,
            None => connect::reader(&self.path)?,
        };
        state.lent += 1;
        Ok(conn)
    }

    /// Lets nobody in and returns when everybody has left. Opens again when what this gives back is dropped.
    pub(crate) fn shut(&self) -> Result<Shut<'_>> {
        self.shut_with(SHUT)
    }

    /// Turn by turn: while it waits nobody reads, so after each turn those who waited are let in.
    fn shut_with(&self, patience: Patience) -> Result<Shut<'_>> {
        let deadline = Instant::now() + patience.all;
        loop {
            self.state().shut = true;
            let shut = Shut(self);
            match self.wait(patience.turn, |s| s.lent == 0, "a reader does not come back") {
                Ok(mut state) => state.idle.clear(),
                Err(busy) if Instant::now() >= deadline => return Err(busy),
                Err(_) => {
                    drop(shut);
                    std::thread::sleep(PAUSE);
                    continue;
                }
            }
            return Ok(shut);
        }
    }

    fn wait(
        &self,
        max: Duration,
        enough: impl Fn(&State) -> bool,
        who: &'static str,
    ) -> Result<MutexGuard<'_, State>> {
        let deadline = Instant::now() + max;
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn some_database(dir: &Path) -> PathBuf {
        let path = dir.join("a.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        path
    }

    #[test]
    fn a_slow_reader_is_waited_for_and_the_others_read_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let readers = &Readers::new(&some_database(dir.path()));
        let ((slow_is_in, in_now), (other_was_in, been_in)) = (channel(), channel());
        std::thread::scope(|scope| {
            // Leaves only when another one has come in after the door was shut.
            scope.spawn(move || {
                readers.look(|_| {
                    slow_is_in.send(()).unwrap();
                    been_in.recv_timeout(WAIT_MAX).unwrap();
                    Ok(())
                })
            });
            in_now.recv().unwrap();
            let shutting = scope.spawn(|| {
                let patience = Patience { all: WAIT_MAX, turn: Duration::from_millis(20) };
                readers.shut_with(patience).map(drop)
            });
            while !readers.state().shut {
                std::thread::yield_now();
            }
            readers.look(|_| Ok(())).unwrap();
            other_was_in.send(()).unwrap();
            shutting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_reader_that_never_leaves_is_not_waited_for_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let readers = Readers::new(&some_database(dir.path()));
        let patience = Patience { all: Duration::from_millis(30), turn: Duration::from_millis(10) };
        let shut = readers.look(|_| readers.shut_with(patience).map(drop));
        assert!(matches!(shut, Err(Error::Busy { .. })), "{shut:?}");
        readers.look(|_| Ok(())).unwrap();
    }
}
