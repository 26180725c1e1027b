//! How many connections there are at once. Each is a process of ssh that holds 1.4 MB of its own, so a hundred that stay open cost more
//! than the daemon does. Opening one takes 10 to 90 ms of processor time, by how the two agree on a key (OpenSSH 9.2 and its way that is
//! safe from quantum computers: 90), which every two minutes is little.
//!
//! The first hosts that are looked at keep their connection. The others open one for each look, and it is gone with the answer.
//! Where something is done there are many calls in a row, and connections are always shared; such a host is rare.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Connections that stay open for looking.
const KEPT_MAX: usize = 32;
/// Looks at once: hosts that do not answer hold a turn for ten seconds, and the others still come round within two minutes.
const LOOKS_MAX: usize = 16;

static KEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static LOOKS: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Whether the connection at this socket stays open.
pub(super) fn keeps(socket: &Path) -> bool {
    let mut kept = locked(&KEPT);
    kept.contains(socket) || (kept.len() < KEPT_MAX && kept.insert(socket.to_owned()))
}

/// Its place is free for another.
pub(super) fn gives_up(socket: &Path) {
    locked(&KEPT).remove(socket);
}

/// The right to look at a host now; given back when dropped.
pub(super) struct Turn(());

impl Turn {
    /// Nothing when none was free for so long.
    pub(super) fn take(within: Duration) -> Option<Turn> {
        let waited = ENDED.wait_timeout_while(locked(&LOOKS), within, |looks| *looks >= LOOKS_MAX);
        let (mut looks, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (*looks < LOOKS_MAX).then(|| {
            *looks += 1;
            Turn(())
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut looks = locked(&LOOKS);
        *looks = looks.saturating_sub(1);
        ENDED.notify_one();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_turns_and_one_that_ends_is_another_s() {
        let short = Duration::from_millis(20);
        let mut turns: Vec<Turn> = std::iter::from_fn(|| Turn::take(short)).take(LOOKS_MAX + 1).collect();
        assert!(turns.len() <= LOOKS_MAX && Turn::take(short).is_none());
        let waiting = std::thread::spawn(|| Turn::take(Duration::from_secs(30)).is_some());
        turns.pop();
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn a_place_is_kept_until_it_is_given_up() {
        let path = |n: usize| PathBuf::from(format!("/nowhere/{n}"));
        let kept: Vec<usize> = (0..KEPT_MAX + 5).filter(|n| keeps(&path(*n))).collect();
        assert_eq!(kept, (0..KEPT_MAX).collect::<Vec<_>>());
        assert!(keeps(&path(3)) && !keeps(&path(KEPT_MAX)));
        gives_up(&path(3));
        assert!(keeps(&path(KEPT_MAX)) && !keeps(&path(3)));
        (0..KEPT_MAX + 5).for_each(|n| gives_up(&path(n)));
    }
}
