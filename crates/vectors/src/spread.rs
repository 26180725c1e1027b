//! Work spread over threads, with results in the order of the work: how many threads there are changes nothing but the time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Items taken at once: small beside a batch, large beside what taking costs.
const TAKEN: usize = 16;

/// The results of `work` for 0, 1, … `count - 1`. Each thread has a state of its own, which no result may depend on.
pub(crate) fn spread<S, T: Send>(
    count: usize,
    threads: NonZeroUsize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut done) = (state(), Vec::new());
        loop {
            let begin = next.fetch_add(TAKEN, Ordering::Relaxed);
            if begin >= count {
                return done;
            }
            let results: Vec<T> = (begin..(begin + TAKEN).min(count)).map(|n| work(&mut state, n)).collect();
            done.push((begin, results));
        }
    };
    let mut all = std::thread::scope(|scope| {
        // With little to do, starting a thread would take longer than doing it.
        let others = if count <= TAKEN { 0 } else { threads.get() - 1 };
        let others: Vec<_> = (0..others).map(|_| scope.spawn(run)).collect();
        let mut all = run();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(begin, _)| *begin);
    all.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_work_whatever_the_threads() {
        for threads in [1, 2, 7] {
            for count in [0, 1, 16, 17, 1000] {
                let threads = NonZeroUsize::new(threads).unwrap();
                let results = spread(count, threads, || (), |(), n| n * n);
                assert_eq!(results, (0..count).map(|n| n * n).collect::<Vec<_>>());
            }
        }
    }
}
