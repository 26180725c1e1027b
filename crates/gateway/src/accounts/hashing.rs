//! Slow hashes, a few at once, in the order in which they were asked for. Each takes megabytes and tens of milliseconds,
//! and strangers can ask for them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// Both cores of a small machine for a moment.
const AT_ONCE_MAX: usize = 2;

/// Who waits for one: a third of the threads that may be in the database. Whoever comes later is told to come again.
const WAITING_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Hashing {
    queue: Mutex<Queue>,
    moved: Condvar,
    done: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    running: usize,
    next: u64,
    waiting: VecDeque<u64>,
}

/// A place at the hashing, given back when dropped.
#[derive(Debug)]
pub(super) struct Seat<'a>(&'a Hashing);

impl Hashing {
    /// Waits for its turn: every hash costs the same, so that is soon.
    pub(super) fn seat(&self) -> Result<Seat<'_>> {
        let mut queue = self.queue();
        if queue.waiting.len() >= WAITING_MAX {
            return Err(Error::Busy);
        }
        let mine = queue.next;
        queue.next += 1;
        queue.waiting.push_back(mine);
        while queue.running >= AT_ONCE_MAX || queue.waiting.front() != Some(&mine) {
            queue = self.moved.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.waiting.pop_front();
        queue.running += 1;
        drop(queue);
        self.moved.notify_all();
        Ok(Seat(self))
    }

    /// How many hashes were computed since the start.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat<'_> {
    pub(super) fn count(&self) {
        self.0.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.queue().running -= 1;
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn two_at_once_the_rest_in_turn_and_the_eleventh_comes_again() {
        let hashing = Hashing::default();
        let held = [hashing.seat().unwrap(), hashing.seat().unwrap()];
        let seated = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..WAITING_MAX {
                scope.spawn(|| {
                    let seat = hashing.seat();
                    seated.fetch_add(usize::from(seat.is_ok()), Ordering::SeqCst);
                });
            }
            while hashing.queue().waiting.len() < WAITING_MAX {
                std::thread::yield_now();
            }
            assert!(matches!(hashing.seat(), Err(Error::Busy)));
            assert_eq!(seated.load(Ordering::SeqCst), 0);
            drop(held);
        });
        assert_eq!(seated.load(Ordering::SeqCst), WAITING_MAX);
        assert!(hashing.seat().is_ok());
    }
}
