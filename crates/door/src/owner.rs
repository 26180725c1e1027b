//! Whose program is at the other end of a connection: one reading of the system's tables answers all who ask at that time.
//!
//! A reading costs the more the more connections the machine has, and anybody may open many. So there is one at a time, and the next begins
//! [`PAUSE`] after the last began at the earliest: the cost is the same however many ask. Who asks waits for a reading that begins after the question, and so
//! after the connection.
//!
//! No task belongs to this. Whoever waits may be the one whose turn it is to read; when that one leaves, the next does it.

use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedMutexGuard, oneshot};

use crate::sockets::{self, Pair};

/// From the beginning of one reading to the next, at least; and a reading that took longer is followed by a pause that is as long.
const PAUSE: Duration = Duration::from_millis(100);

/// Threads that may block for readings.
pub const OWNER_THREADS: usize = 1;

static READER: LazyLock<Reader> = LazyLock::new(Reader::default);

/// Those who ask, and whoever reads for them.
#[derive(Debug, Default)]
struct Reader {
    asked: Mutex<Vec<Question>>,
    /// Held while the tables are read.
    turn: Arc<tokio::sync::Mutex<Turn>>,
}

#[derive(Debug)]
struct Question {
    pair: Pair,
    answer: oneshot::Sender<Option<u32>>,
}

#[derive(Debug, Default)]
struct Turn {
    /// Before which the next reading does not begin.
    next: Option<Instant>,
    /// Readings so far.
    #[cfg(test)]
    readings: usize,
}

/// The uid at the other end of a connection, or nothing where it cannot be told for certain.
pub(crate) async fn owner_of(pair: Pair) -> io::Result<Option<u32>> {
    READER.owner_of(pair).await
}

impl Reader {
    async fn owner_of(&'static self, pair: Pair) -> io::Result<Option<u32>> {
        let (answer, mut answered) = oneshot::channel();
        self.asked().push(Question { pair, answer });
        let turn = tokio::select! {
            biased;
            uid = &mut answered => return uid.map_err(io::Error::other),
            // Dropped, it leaves the line.
            turn = self.turn.clone().lock_owned() => turn,
        };
        // Somebody else may have read in the meantime.
        if let Ok(uid) = answered.try_recv() {
            return Ok(uid);
        }
        if let Some(next) = turn.next {
            tokio::time::sleep(next.saturating_duration_since(Instant::now())).await;
        }
        // It goes on when whoever waits for it leaves: others wait too.
        let read = tokio::task::spawn_blocking(move || self.read(turn));
        read.await.map_err(io::Error::other)??;
        answered.await.map_err(io::Error::other)
    }

    /// Answers all who have asked by now.
    fn read(&self, mut turn: OwnedMutexGuard<Turn>) -> io::Result<()> {
        let began = Instant::now();
        let mut asked = std::mem::take(&mut *self.asked());
        asked.retain(|question| !question.answer.is_closed());
        let pairs: Vec<Pair> = asked.iter().map(|question| question.pair).collect();
        let uids = sockets::owners_of(&pairs);
        turn.next = Some((began + PAUSE).max(Instant::now() + began.elapsed()));
        #[cfg(test)]
        {
            turn.readings += 1;
        }
        for (question, uid) in asked.into_iter().zip(uids?) {
            // Whoever left needs no answer.
            let _ = question.answer.send(uid);
        }
        Ok(())
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Vec<Question>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockets::Opener;
    use std::net::{TcpListener, TcpStream};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn however_many_ask_the_tables_are_read_a_few_times_a_second() {
        let me = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
        let reader: &'static Reader = Box::leak(Box::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (ours, theirs) = listener.accept().unwrap();
        let pair = Pair { ours: ours.local_addr().unwrap(), theirs, opened_by: Opener::Them };
        let began = Instant::now();
        // Some leave before they are answered, whoever of them reads.
        for _ in 0..50 {
            let all: Vec<_> = (0..40).map(|_| tokio::spawn(reader.owner_of(pair))).collect();
            tokio::time::sleep(Duration::from_millis(3)).await;
            all.iter().step_by(2).for_each(|one| one.abort());
            for one in all.into_iter().skip(1).step_by(2) {
                assert_eq!(one.await.unwrap().unwrap(), Some(me));
            }
        }
        let (took, readings) = (began.elapsed(), reader.turn.lock().await.readings);
        let most = 2 + usize::try_from(took.as_millis() / PAUSE.as_millis()).unwrap();
        assert!(readings <= most, "{readings} readings in {took:?}");
        assert!(reader.asked().is_empty(), "nobody is remembered who has left");
    }
}
