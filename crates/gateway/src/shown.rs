//! What is shown once to somebody whose browser posts forms: the answer to a form is a page, and a secret must not travel
//! in its address. It waits here, in memory, for the next page of the same session.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::id::SessionId;

/// Long enough for a redirect over a bad line.
const KEPT_FOR: Duration = Duration::from_secs(120);

/// More forms than are answered within that time.
const KEPT_MAX: usize = 256;

/// Shown once and never again.
#[derive(Clone, PartialEq, Eq)]
pub enum Shown {
    Codes(Vec<String>),
    Token(String),
    Link(String),
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shown")
    }
}

#[derive(Debug, Default)]
pub(crate) struct Shelf(Mutex<HashMap<SessionId, (Duration, Shown)>>);

impl Shelf {
    pub(crate) fn put(&self, session: SessionId, shown: Shown, now: Duration) {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.retain(|_, (at, _)| now.saturating_sub(*at) < KEPT_FOR);
        if shelf.len() >= KEPT_MAX {
            shelf.clear();
        }
        shelf.insert(session, (now, shown));
    }

    pub(crate) fn take(&self, session: SessionId, now: Duration) -> Option<Shown> {
        let (at, shown) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&session)?;
        (now.saturating_sub(at) < KEPT_FOR).then_some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_once_soon_and_to_its_session_alone() {
        let (shelf, now) = (Shelf::default(), Duration::from_secs(10));
        let (one, other) = (SessionId::random().unwrap(), SessionId::random().unwrap());
        shelf.put(one, Shown::Link("/x".into()), now);
        assert_eq!(shelf.take(other, now), None);
        assert_eq!(shelf.take(one, now), Some(Shown::Link("/x".into())));
        assert_eq!(shelf.take(one, now), None);
        shelf.put(one, Shown::Link("/x".into()), now);
        assert_eq!(shelf.take(one, now + KEPT_FOR), None);
    }
}
