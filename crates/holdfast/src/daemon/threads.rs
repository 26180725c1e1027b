//! Threads that are there before anybody wants one.
//!
//! Everything that blocks runs on a thread of its own, and the system may refuse one: the unit has a bound (`TasksMax`), a user has one
//! (`RLIMIT_NPROC`), a machine has one. Where it does, the runtime leaves the work to the threads that there are; so there are some.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tracing::warn;

/// The parts that hold one for good take three; a person's acts, the journal's readers and the checks find one among the others.
const RESERVED: usize = 16;

/// A thread that ended might not be given again. There are as many at most as there is work for at once.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

/// A system that is slow to start threads makes no start fail.
const PATIENCE: Duration = Duration::from_millis(500);

/// Has the runtime start its first threads: each waits until all are there.
pub(super) fn reserve(runtime: &Handle) {
    let all: Arc<(Mutex<usize>, Condvar)> = Arc::default();
    for _ in 0..RESERVED {
        let all = all.clone();
        drop(runtime.spawn_blocking(move || arrive(&all)));
    }
    let there = arrive(&all);
    // This one counts itself.
    if there <= RESERVED {
        warn!(
            there = there.saturating_sub(1),
            wanted = RESERVED,
            "the system gives few threads: raise TasksMax of the unit, or `ulimit -u`"
        );
    }
}

/// Counts one more, and waits for the others; how many there were when it went on.
fn arrive((count, changed): &(Mutex<usize>, Condvar)) -> usize {
    let mut there = count.lock().unwrap_or_else(PoisonError::into_inner);
    *there += 1;
    changed.notify_all();
    let waited = changed.wait_timeout_while(there, PATIENCE, |there| *there <= RESERVED);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_threads_are_there_before_any_work() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_keep_alive(KEPT_FOR)
            .build()
            .unwrap();
        reserve(runtime.handle());
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().count();
        assert!(tasks > RESERVED, "{tasks}");
    }
}
