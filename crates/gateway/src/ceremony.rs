//! What is under way: registrations, sign-ins and confirmations that a browser has begun.
//!
//! Kept in memory, not in the database: strangers begin sign-ins, and must not have the disk written to. A restart
//! forgets them, and people press the button again. Each is taken at most once, within five minutes, by the browser that
//! began it. Those of strangers, of browsers that signed in before and of people who are signed in have separate room, so
//! that a flood of the first never pushes out the others.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use webauthn_rs::prelude::{DiscoverableAuthentication, PasskeyAuthentication, PasskeyRegistration};

use crate::error::{Error, Result};
use crate::id::{PersonId, SessionId};
use crate::name::Label;
use crate::secret::{Secret, Stamp, Use};

/// Long enough to find the security key, and what the challenge itself is good for.
pub(crate) const LIFE: Duration = Duration::from_secs(300);

/// A few tabs. The oldest gives way.
const PER_HOLDER_MAX: usize = 8;

/// Some megabytes each at most; the oldest gives way. A flood of strangers has to begin this many attempts while somebody
/// looks for their key to push out theirs.
const STRANGERS_MAX: usize = 16_384;
/// Of browsers that signed in here before, and of people who are signed in.
const KNOWN_MAX: usize = 1_024;
const SIGNED_IN_MAX: usize = 1_024;

/// Who began it: a browser before signing in, known by a cookie of its own; one that signed in here before, known by its
/// mark; or a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder(pub(crate) Whose);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    Stranger(Stamp),
    Known(Stamp),
    Session(SessionId),
}

impl Holder {
    /// The browser that holds this cookie, when it can be one of ours.
    pub fn of_cookie(value: &str) -> Option<Holder> {
        Stamp::of_sent(Use::PreSession, value).map(|stamp| Holder(Whose::Stranger(stamp)))
    }

    pub fn of_session(id: SessionId) -> Holder {
        Holder(Whose::Session(id))
    }
}

/// What the browser is given to go on with.
#[derive(Clone, Debug)]
pub struct Started {
    /// Names the attempt when it is finished.
    pub ceremony: Secret,
    /// The `publicKey` options, with binary fields as base64url.
    pub options: Value,
}

/// What was begun.
pub(crate) enum Begun {
    Register {
        state: Box<PasskeyRegistration>,
        person: PersonId,
        label: Label,
        link: Option<Stamp>,
    },
    SignIn {
        state: Box<DiscoverableAuthentication>,
    },
    /// A passkey for one act, which is to come with the answer.
    Act {
        state: Box<PasskeyAuthentication>,
        person: PersonId,
        what: String,
        digest: [u8; 32],
    },
    Confirm {
        state: Box<PasskeyAuthentication>,
        person: PersonId,
        what: String,
        digest: [u8; 32],
        /// Why, in the person's own words: said before the passkey is used, and fixed with the rest.
        reason: Option<String>,
    },
}

struct Pending {
    holder: Holder,
    begun: Begun,
    at: Duration,
}

/// One pool: by stamp, in the order they came, and by whom.
#[derive(Default)]
struct Pool {
    by_stamp: HashMap<Stamp, Pending>,
    /// Also has what was taken since, until it comes to the front or there is too much of it.
    order: VecDeque<Stamp>,
    by_holder: HashMap<Holder, VecDeque<Stamp>>,
}

#[derive(Default)]
pub(crate) struct Ceremonies {
    strangers: Mutex<Pool>,
    known: Mutex<Pool>,
    signed_in: Mutex<Pool>,
}

impl std::fmt::Debug for Ceremonies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ceremonies")
    }
}

impl Ceremonies {
    pub(crate) fn begin(&self, holder: Holder, begun: Begun, now: Duration) -> Result<Secret> {
        let name = Secret::random()?;
        let max = match holder.0 {
            Whose::Stranger(_) => STRANGERS_MAX,
            Whose::Known(_) => KNOWN_MAX,
            Whose::Session(_) => SIGNED_IN_MAX,
        };
        self.pool(holder).put(
            Stamp::of(Use::Ceremony, name.reveal()),
            Pending { holder, begun, at: now },
            max,
        );
        Ok(name)
    }

    /// Takes what was begun, once. Another browser's stays where it is: nobody can spoil what they did not begin.
    pub(crate) fn take(&self, holder: Holder, name: &str, now: Duration) -> Result<Begun> {
        let stamp = Stamp::of_sent(Use::Ceremony, name).ok_or(Error::CeremonyGone)?;
        let mut pool = self.pool(holder);
        let ours = pool.by_stamp.get(&stamp).is_some_and(|pending| pending.holder == holder);
        let taken = if ours { pool.remove(stamp) } else { None };
        taken.filter(|pending| is_live(pending, now)).map(|pending| pending.begun).ok_or(Error::CeremonyGone)
    }

    fn pool(&self, holder: Holder) -> MutexGuard<'_, Pool> {
        let pool = match holder.0 {
            Whose::Stranger(_) => &self.strangers,
            Whose::Known(_) => &self.known,
            Whose::Session(_) => &self.signed_in,
        };
        pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    fn put(&mut self, stamp: Stamp, pending: Pending, max: usize) {
        self.forget_old(pending.at, max);
        let of_holder = self.by_holder.entry(pending.holder).or_default();
        of_holder.push_back(stamp);
        let too_many = if of_holder.len() > PER_HOLDER_MAX { of_holder.front().copied() } else { None };
        self.by_stamp.insert(stamp, pending);
        self.order.push_back(stamp);
        if let Some(oldest) = too_many {
            self.remove(oldest);
        }
    }

    fn remove(&mut self, stamp: Stamp) -> Option<Pending> {
        let pending = self.by_stamp.remove(&stamp)?;
        if let Entry::Occupied(mut of_holder) = self.by_holder.entry(pending.holder) {
            of_holder.get_mut().retain(|s| *s != stamp);
            if of_holder.get().is_empty() {
                of_holder.remove();
            }
        }
        Some(pending)
    }

    /// From the front, since they came in the order of time, until there is room.
    fn forget_old(&mut self, now: Duration, max: usize) {
        while let Some(first) = self.order.front().copied() {
            let over = self.by_stamp.get(&first).is_none_or(|pending| !is_live(pending, now));
            if !over && self.by_stamp.len() < max {
                break;
            }
            self.remove(first);
            self.order.pop_front();
        }
        if self.order.len() > 2 * max {
            self.order.retain(|stamp| self.by_stamp.contains_key(stamp));
        }
    }
}

fn is_live(pending: &Pending, now: Duration) -> bool {
    now.saturating_sub(pending.at) < LIFE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passkeys::tests::sign_in;

    fn stranger() -> Holder {
        Holder::of_cookie(Secret::random().unwrap().reveal()).unwrap()
    }

    const NOW: Duration = Duration::from_secs(1_000);

    // shows: GTW-F11
    #[test]
    fn a_ceremony_is_taken_once_by_whoever_began_it_within_five_minutes() {
        let all = Ceremonies::default();
        let (one, other) = (stranger(), stranger());
        let name = all.begin(one, sign_in(), NOW).unwrap();
        assert!(all.take(other, name.reveal(), NOW).is_err());
        assert!(all.take(one, "nonsense", NOW).is_err());
        assert!(all.take(one, name.reveal(), NOW + LIFE - Duration::from_secs(1)).is_ok());
        assert!(all.take(one, name.reveal(), NOW).is_err());
        let late = all.begin(one, sign_in(), NOW).unwrap();
        assert!(all.take(one, late.reveal(), NOW + LIFE).is_err());
    }

    #[test]
    fn the_oldest_gives_way_and_the_map_stays_bounded() {
        let all = Ceremonies::default();
        let one = stranger();
        let names: Vec<Secret> =
            (0..=PER_HOLDER_MAX).map(|_| all.begin(one, sign_in(), NOW).unwrap()).collect();
        assert!(all.take(one, names[0].reveal(), NOW).is_err());
        assert!(all.take(one, names[1].reveal(), NOW).is_ok());
        let session = Holder::of_session(SessionId::random().unwrap());
        let kept = all.begin(session, sign_in(), NOW).unwrap();
        let mark = Stamp::of(Use::Browser, "a browser that was here before");
        let known = Holder(Whose::Known(mark));
        let theirs = all.begin(known, sign_in(), NOW).unwrap();
        for _ in 0..STRANGERS_MAX + 10 {
            all.begin(stranger(), sign_in(), NOW).unwrap();
        }
        let pool = all.strangers.lock().unwrap();
        assert_eq!(pool.by_stamp.len(), STRANGERS_MAX);
        assert_eq!(pool.by_holder.len(), STRANGERS_MAX);
        assert!(pool.order.len() <= 2 * STRANGERS_MAX);
        drop(pool);
        assert!(all.take(one, names[2].reveal(), NOW).is_err(), "pushed out");
        assert!(all.take(known, theirs.reveal(), NOW).is_ok(), "nor that of a browser that was here before");
        assert!(all.take(session, kept.reveal(), NOW).is_ok(), "a flood of strangers does not reach it");
    }
}
