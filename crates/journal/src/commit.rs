//! Group commit: many callers, one write, one sync.
//!
//! There is no writer thread. A caller who finds nobody writing takes the turn, writes everything that is
//! waiting and syncs once for all of it; those who come meanwhile wait. Before it wakes the callers it served,
//! it hands the turn to the first of those who wait, so the disk is not idle while they wake up. A lone caller
//! thus pays for its own write and sync and for no other thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

use crate::entry::Prepared;
use crate::error::{Error, Result};

/// Most entries and bytes of one batch: it should take no longer to write than a few syncs.
const BATCH_ENTRIES_MAX: usize = 4096;
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

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
}

#[derive(Debug, Default)]
struct Waiting {
    queue: Vec<Ticket>,
    /// Somebody has the turn.
    taken: bool,
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
    owner: Thread,
}

const WAITING: u8 = 0;
const YOUR_TURN: u8 = 1;
const DONE: u8 = 2;

impl Line {
    /// Puts entries in the line and returns when each has its result. `write` is called by whoever has the
    /// turn, for a batch in order, and gives one result per ticket.
    pub(crate) fn commit(
        &self,
        prepared: Vec<Prepared>,
        write: &dyn Fn(&[Ticket]) -> Vec<Result<Appended>>,
    ) -> Vec<Result<Appended>> {
        let owner = std::thread::current();
        let slot = || {
            Arc::new(Slot { state: AtomicU8::new(WAITING), result: Mutex::new(None), owner: owner.clone() })
        };
        let tickets: Vec<Ticket> =
            prepared.into_iter().map(|prepared| Ticket { prepared, slot: slot() }).collect();
        let slots: Vec<Arc<Slot>> = tickets.iter().map(|t| t.slot.clone()).collect();
        if self.stand_in_line(tickets) {
            self.take_turn(write);
        }
        slots.iter().map(|slot| self.wait(slot, write)).collect()
    }

    /// Joins the queue; true when the turn was free and is now the caller's.
    fn stand_in_line(&self, tickets: Vec<Ticket>) -> bool {
        let mut waiting = lock(&self.state);
        waiting.queue.extend(tickets);
        !waiting.queue.is_empty() && !std::mem::replace(&mut waiting.taken, true)
    }

    fn wait(&self, slot: &Slot, write: &dyn Fn(&[Ticket]) -> Vec<Result<Appended>>) -> Result<Appended> {
        loop {
            match slot.state.load(Ordering::Acquire) {
                DONE => break,
                YOUR_TURN => {
                    slot.state.store(WAITING, Ordering::Relaxed);
                    self.take_turn(write);
                }
                _ => std::thread::park(),
            }
        }
        let result = lock(&slot.result).take();
        result.unwrap_or_else(|| unreachable!("a result is put in the slot before it is marked done"))
    }

    /// Writes one batch, passes the turn on, and wakes those it served.
    fn take_turn(&self, write: &dyn Fn(&[Ticket]) -> Vec<Result<Appended>>) {
        let batch = next_batch(&mut lock(&self.state).queue);
        // A panic here must not leave the others waiting for ever: they are told, and then it goes on.
        let written = catch_unwind(AssertUnwindSafe(|| write(&batch)));
        self.pass_turn_on();
        let (results, panic) = match written {
            Ok(results) => (results, None),
            Err(panic) => (batch.iter().map(|_| Err(stopped_by_panic())).collect(), Some(panic)),
        };
        let me = std::thread::current().id();
        for (ticket, result) in batch.iter().zip(results) {
            *lock(&ticket.slot.result) = Some(result);
            ticket.slot.state.store(DONE, Ordering::Release);
            if ticket.slot.owner.id() != me {
                ticket.slot.owner.unpark();
            }
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn pass_turn_on(&self) {
        let next = {
            let mut waiting = lock(&self.state);
            waiting.taken = !waiting.queue.is_empty();
            waiting.queue.first().map(|t| t.slot.clone())
        };
        if let Some(slot) = next {
            slot.state.store(YOUR_TURN, Ordering::Release);
            slot.owner.unpark();
        }
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
