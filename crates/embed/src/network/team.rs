//! Threads that go through the network together: each does its share of a step, and nobody begins the next before all are done.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How often a thread looks for the others before it lets somebody else have the processor: about as long as a step of a short text
/// may be uneven. Where all threads have a processor, giving it away would cost more than looking.
const LOOKS: u32 = 4000;

/// Where the threads of a team wait for each other.
#[derive(Debug)]
pub(super) struct Team {
    of: usize,
    arrived: AtomicUsize,
    /// Steps that all are done with.
    steps: AtomicUsize,
    /// One of them panicked and will not arrive.
    broken: AtomicBool,
}

impl Team {
    pub(super) fn new(of: usize) -> Team {
        Team { of, arrived: AtomicUsize::new(0), steps: AtomicUsize::new(0), broken: AtomicBool::new(false) }
    }

    pub(super) fn member(&self, index: usize) -> Member<'_> {
        Member { team: self, index }
    }
}

/// One thread of a team.
#[derive(Debug)]
pub(super) struct Member<'a> {
    team: &'a Team,
    index: usize,
}

impl Member<'_> {
    /// This thread's part of so many things. Every thing is somebody's, and nobody else's.
    pub(super) fn share(&self, things: usize) -> Range<usize> {
        let cut = |index| things * index / self.team.of;
        cut(self.index)..cut(self.index + 1)
    }

    /// Waits until all have called this. What any of them wrote before is seen by all after.
    pub(super) fn step(&self) {
        let team = self.team;
        if team.of == 1 {
            return;
        }
        let step = team.steps.load(Ordering::Acquire);
        if team.arrived.fetch_add(1, Ordering::AcqRel) + 1 == team.of {
            team.arrived.store(0, Ordering::Relaxed);
            team.steps.store(step.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut looks = 0;
        while team.steps.load(Ordering::Acquire) == step {
            assert!(!team.broken.load(Ordering::Relaxed), "another thread of the team panicked");
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.team.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn shares_are_everything_once() {
        for of in 1..9 {
            let team = Team::new(of);
            for things in 0..40 {
                let all: Vec<usize> = (0..of).flat_map(|i| team.member(i).share(things)).collect();
                assert_eq!(all, (0..things).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn nobody_begins_a_step_before_all_are_done_with_the_last() {
        let (team, count) = (Team::new(3), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for index in 0..3 {
                let member = team.member(index);
                let count = &count;
                scope.spawn(move || {
                    for step in 0..500 {
                        count.fetch_add(1, Ordering::Relaxed);
                        member.step();
                        assert_eq!(count.load(Ordering::Relaxed), (step + 1) * 3);
                        member.step();
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_of_one_ends_all_and_none_waits_for_ever() {
        let team = Team::new(2);
        let (first, second) = std::thread::scope(|scope| {
            let (one, two) = (team.member(0), team.member(1));
            let first = scope.spawn(move || one.step());
            let second = scope.spawn(move || {
                let _kept = two;
                panic!("on purpose");
            });
            (first.join(), second.join())
        });
        assert!(first.is_err() && second.is_err());
    }
}
