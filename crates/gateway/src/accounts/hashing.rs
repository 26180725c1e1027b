//! Slow hashes, a few at once. Each takes megabytes and tens of milliseconds, and strangers can ask for them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Both cores of a small machine for a moment; whoever comes third is told to come again.
const AT_ONCE_MAX: usize = 2;

#[derive(Debug, Default)]
pub(super) struct Hashing {
    running: AtomicUsize,
    done: AtomicU64,
}

/// A place at the hashing, given back when dropped.
#[derive(Debug)]
pub(super) struct Seat<'a>(&'a Hashing);

impl Hashing {
    pub(super) fn seat(&self) -> Result<Seat<'_>> {
        let free = |running| (running < AT_ONCE_MAX).then_some(running + 1);
        self.running
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, free)
            .map(|_| Seat(self))
            .map_err(|_| Error::Busy)
    }

    /// How many hashes were computed since the start.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

impl Seat<'_> {
    pub(super) fn count(&self) {
        self.0.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_is_told_to_come_again() {
        let hashing = Hashing::default();
        let (first, _second) = (hashing.seat().unwrap(), hashing.seat().unwrap());
        assert!(matches!(hashing.seat(), Err(Error::Busy)));
        drop(first);
        assert!(hashing.seat().is_ok());
    }
}
