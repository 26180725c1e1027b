//! Group commit: many callers, one write, one sync.
//!
//! A caller who finds nobody writing takes the turn, writes everything that is waiting and syncs once for all of
//! it; those who come meanwhile wait. Before it wakes the callers it served, it hands the turn to the first of
//! those who wait, so the disk is not idle while they wake up. A lone caller thus pays for its own write and sync
//! and for no other thread.
//!
//! Callers that have just been served tend to come back at once. Whoever takes the turn therefore waits a moment
//! for as many as were there the last time, a small part of what a write takes, rather than leave half of them to
//! the next turn; a lone caller never waits.
//!
//! A caller that must not block its thread leaves a ticket instead ([`Line::leave`]) and is woken as a task. Tasks
//! cannot take the turn, so a clerk thread takes it for them; it is started when the first ticket is left. Waking
//! a task costs a fraction of waking a thread, so with many callers this is also the faster way.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::entry::Prepared;
use crate::error::{Error, Result};

/// Most entries and bytes of one batch: it should take no longer to write than a few syncs.
const BATCH_ENTRIES_MAX: usize = 4096;
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The part of a write's time that a turn may wait for callers to come back, and the most it ever waits.
const GATHER_PART: u32 = 3;
const GATHER_MAX: Duration = Duration::from_micros(500);

/// Where an append ended up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub seq: u64,
    /// The key had been used before: this is the earlier entry, and nothing was written.
    pub repeated: bool,
    /// How many places the screen redacted.
    pub redactions: u32,
}

/// The waiting line.
#[derive(Debug, Default)]
pub(crate) struct Line {
    state: Mutex<Waiting>,
    /// Wakes the clerk.
    called: Condvar,
    /// How long the queue is, to be looked at without the lock.
    length: AtomicUsize,
    /// How many were served or waiting when the last turn ended: as many may come again.
    expected: AtomicUsize,
    /// What the last write took, in nanoseconds.
    write_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    queue: Vec<Ticket>,
    /// Somebody has the turn.
    taken: bool,
    /// The turn is the clerk's.
    clerk: bool,
    closed: bool,
}

/// One entry in the line.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) prepared: Prepared,
    slot: Arc<Slot>,
}

#[derive(Debug)]
struct Slot {
    /// WAITING, then DONE; or YOUR_TURN in between.
    state: AtomicU8,
    result: Mutex<Option<Result<Appended>>>,
    owner: Owner,
}

/// Who is told when an entry is durable.
#[derive(Debug)]
enum Owner {
    Thread(Thread),
    Task(Mutex<Option<Waker>>),
}

impl Owner {
    fn wake(&self) {
        match self {
            Owner::Thread(thread) => thread.unpark(),
            Owner::Task(waker) => {
                let waker = lock(waker).take();
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }
}

/// An entry on its way to the disk. Awaiting it gives its place once it is durable; it is written whether or not
/// anybody awaits it.
#[derive(Debug)]
#[must_use = "the entry is durable only when this has been awaited"]
pub struct OnItsWay {
    slot: Arc<Slot>,
}

impl Future for OnItsWay {
    type Output = Result<Appended>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Owner::Task(waker) = &self.slot.owner {
            *lock(waker) = Some(context.waker().clone());
        }
        // Looked at after the waker is in place: whoever finishes later finds it.
        match self.slot.state.load(Ordering::Acquire) {
            DONE => Poll::Ready(self.slot.take()),
            _ => Poll::Pending,
        }
    }
}

impl Slot {
    fn new(owner: Owner) -> Arc<Slot> {
        Arc::new(Slot { state: AtomicU8::new(WAITING), result: Mutex::new(None), owner })
    }

    fn finish(&self, result: Result<Appended>) {
        *lock(&self.result) = Some(result);
        self.state.store(DONE, Ordering::Release);
        // A waker is foreign code; its panic must not keep the rest of the batch from being told.
        let _ = catch_unwind(AssertUnwindSafe(|| self.owner.wake()));
    }

    fn take(&self) -> Result<Appended> {
        let result = lock(&self.result).take();
        result.unwrap_or_else(|| Err(Error::Stopped { why: "the result was taken already".into() }))
    }
}

const WAITING: u8 = 0;
const YOUR_TURN: u8 = 1;
const DONE: u8 = 2;

/// Writes a batch in order and gives one result per ticket; called by whoever has the turn.
pub(crate) type Write<'a> = &'a dyn Fn(&[Ticket]) -> Vec<Result<Appended>>;

impl Line {
    /// Puts entries in the line and returns when each has its result.
    pub(crate) fn commit(&self, prepared: Vec<Prepared>, write: Write<'_>) -> Vec<Result<Appended>> {
        let owner = std::thread::current();
        let ticket = |prepared| Ticket { prepared, slot: Slot::new(Owner::Thread(owner.clone())) };
        let tickets: Vec<Ticket> = prepared.into_iter().map(ticket).collect();
        let slots: Vec<Arc<Slot>> = tickets.iter().map(|t| t.slot.clone()).collect();
        if self.stand_in_line(tickets) {
            self.take_turn(write);
        }
        slots.iter().map(|slot| self.wait(slot, write)).collect()
    }

    /// Puts an entry in the line for the clerk to write, and returns at once.
    pub(crate) fn leave(&self, prepared: Prepared) -> OnItsWay {
        let slot = Slot::new(Owner::Task(Mutex::new(None)));
        let free = self.stand_in_line(vec![Ticket { prepared, slot: slot.clone() }]);
        if free {
            self.call_clerk();
        }
        OnItsWay { slot }
    }

    /// What the clerk does until the line is closed and empty.
    pub(crate) fn serve(&self, write: Write<'_>) {
        loop {
            let waiting = lock(&self.state);
            let idle = |w: &mut Waiting| !w.clerk && !w.closed;
            let mut waiting = self.called.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner);
            if !std::mem::take(&mut waiting.clerk) {
                return;
            }
            drop(waiting);
            // Whoever was in the batch has been told; the clerk goes on serving the others.
            let _ = catch_unwind(AssertUnwindSafe(|| self.take_turn(write)));
        }
    }

    /// Lets the clerk go home when it is done.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.called.notify_all();
    }

    /// Joins the queue; true when the turn was free and is now the caller's.
    fn stand_in_line(&self, tickets: Vec<Ticket>) -> bool {
        let mut waiting = lock(&self.state);
        waiting.queue.extend(tickets);
        self.length.store(waiting.queue.len(), Ordering::Relaxed);
        !waiting.queue.is_empty() && !std::mem::replace(&mut waiting.taken, true)
    }

    fn wait(&self, slot: &Slot, write: Write<'_>) -> Result<Appended> {
        loop {
            match slot.state.load(Ordering::Acquire) {
                DONE => return slot.take(),
                YOUR_TURN => {
                    slot.state.store(WAITING, Ordering::Relaxed);
                    self.take_turn(write);
                }
                _ => std::thread::park(),
            }
        }
    }

    /// Writes one batch, passes the turn on, and wakes those it served.
    fn take_turn(&self, write: Write<'_>) {
        self.gather();
        let batch = self.next_batch();
        let began = Instant::now();
        // A panic here must not leave the others waiting for ever: they are told, and then it goes on.
        let written = catch_unwind(AssertUnwindSafe(|| write(&batch)));
        self.write_ns.store(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.pass_turn_on(batch.len());
        let (results, panic) = match written {
            Ok(results) => (results, None),
            Err(panic) => (batch.iter().map(|_| Err(stopped_by_panic())).collect(), Some(panic)),
        };
        batch.iter().zip(results).for_each(|(ticket, result)| ticket.slot.finish(result));
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Waits a moment for callers that are likely to come back.
    fn gather(&self) {
        let expected = self.expected.load(Ordering::Relaxed).min(BATCH_ENTRIES_MAX);
        let enough = || self.length.load(Ordering::Relaxed) >= expected;
        if expected <= 1 || enough() {
            return;
        }
        let patience = Duration::from_nanos(self.write_ns.load(Ordering::Relaxed)) / GATHER_PART;
        let deadline = Instant::now() + patience.min(GATHER_MAX);
        while !enough() && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }

    fn next_batch(&self) -> Vec<Ticket> {
        let mut waiting = lock(&self.state);
        let batch = next_batch(&mut waiting.queue);
        self.length.store(waiting.queue.len(), Ordering::Relaxed);
        batch
    }

    fn pass_turn_on(&self, served: usize) {
        let next = {
            let mut waiting = lock(&self.state);
            self.expected.store(served + waiting.queue.len(), Ordering::Relaxed);
            waiting.taken = !waiting.queue.is_empty();
            waiting.queue.first().map(|t| t.slot.clone())
        };
        match next.as_deref() {
            Some(Slot { owner: Owner::Task(_), .. }) => self.call_clerk(),
            Some(slot) => {
                slot.state.store(YOUR_TURN, Ordering::Release);
                slot.owner.wake();
            }
            None => {}
        }
    }

    fn call_clerk(&self) {
        lock(&self.state).clerk = true;
        self.called.notify_all();
    }
}

fn stopped_by_panic() -> Error {
    Error::Stopped { why: "the writer panicked; this is a bug".into() }
}

fn next_batch(queue: &mut Vec<Ticket>) -> Vec<Ticket> {
    let mut bytes = 0;
    let fits = queue.iter().take(BATCH_ENTRIES_MAX).take_while(|t| {
        let fits = bytes < BATCH_BYTES_MAX;
        bytes += t.prepared.rest.len() + t.prepared.blob.as_ref().map_or(0, Vec::len);
        fits
    });
    let n = fits.count();
    if n == queue.len() { std::mem::take(queue) } else { queue.drain(..n).collect() }
}

/// A panic while a lock was held leaves data whole here: every critical section is a plain assignment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn prepared(n: usize) -> Vec<Prepared> {
        let one = |_| Prepared {
            version: 1,
            rest: "x".repeat(100),
            key: None,
            blob: None,
            from: None,
            redactions: 0,
            space: crate::entry::Space::Ordinary,
        };
        (0..n).map(one).collect()
    }

    fn numbering(next: &AtomicU64) -> impl Fn(&[Ticket]) -> Vec<Result<Appended>> {
        move |batch| {
            let number = |_| {
                Ok(Appended { seq: next.fetch_add(1, Ordering::Relaxed), repeated: false, redactions: 0 })
            };
            batch.iter().map(number).collect()
        }
    }

    #[test]
    fn every_caller_gets_its_own_result_however_many_there_are() {
        let (line, next) = (Line::default(), AtomicU64::new(0));
        let write = numbering(&next);
        let seqs = Mutex::new(Vec::new());
        std::thread::scope(|s| {
            for _ in 0..16 {
                s.spawn(|| {
                    for n in 0..200 {
                        for result in line.commit(prepared(n % 3), &|batch| write(batch)) {
                            lock(&seqs).push(result.unwrap().seq);
                        }
                    }
                });
            }
        });
        let mut seqs = seqs.into_inner().unwrap();
        seqs.sort_unstable();
        assert_eq!(seqs, (0..next.load(Ordering::Relaxed)).collect::<Vec<_>>());
    }

    #[test]
    fn more_than_fits_in_a_batch_is_written_in_several_and_in_order() {
        let (line, next) = (Line::default(), AtomicU64::new(0));
        let write = numbering(&next);
        let results = line.commit(prepared(BATCH_ENTRIES_MAX * 2 + 5), &|batch| {
            assert!(batch.len() <= BATCH_ENTRIES_MAX);
            write(batch)
        });
        let seqs: Vec<u64> = results.into_iter().map(|r| r.unwrap().seq).collect();
        assert!(seqs.is_sorted());
        assert_eq!(seqs.len(), BATCH_ENTRIES_MAX * 2 + 5);
    }
}
