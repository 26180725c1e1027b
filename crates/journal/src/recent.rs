//! Idempotency keys of the last entries.

use std::collections::{HashMap, VecDeque};

use holdfast_types::Key;

/// A key is honoured for at least this many entries after it was used: a retry comes within minutes, and
/// reading so far back at the first keyed append after a start takes milliseconds.
pub(crate) const WINDOW: u64 = 16 * 1024;

#[derive(Debug, Default)]
pub(crate) struct RecentKeys {
    by_key: HashMap<Key, u64>,
    in_order: VecDeque<(u64, Key)>,
    /// The keys that were in the log when it was opened have been read.
    pub(crate) loaded: bool,
}

impl RecentKeys {
    /// For filling with the keys that are in the log.
    pub(crate) fn loading() -> Self {
        RecentKeys { loaded: true, ..RecentKeys::default() }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<u64> {
        self.by_key.get(key).copied()
    }

    /// Remembers a key and forgets those that are out of the window.
    pub(crate) fn insert(&mut self, key: Key, seq: u64) {
        while self.in_order.front().is_some_and(|(old, _)| seq.saturating_sub(*old) > WINDOW) {
            if let Some((old, key)) = self.in_order.pop_front()
                && self.by_key.get(&key) == Some(&old)
            {
                self.by_key.remove(&key);
            }
        }
        self.by_key.insert(key.clone(), seq);
        self.in_order.push_back((seq, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_remembered_for_the_window_and_then_forgotten() {
        let mut keys = RecentKeys::default();
        let key = |n: u64| format!("k{n}").parse::<Key>().unwrap();
        for n in 0..=WINDOW {
            keys.insert(key(n), n);
        }
        assert_eq!(keys.get(&key(0)), Some(0));
        keys.insert(key(WINDOW + 1), WINDOW + 1);
        assert_eq!(keys.get(&key(0)), None);
        assert_eq!(keys.by_key.len(), keys.in_order.len());
    }
}
