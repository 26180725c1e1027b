//! What is under way: registrations and confirmations that a browser has begun. Sign-ins are not here: browsers carry theirs themselves
//! (`sealed.rs`).
//!
//! Kept in memory, not in the database. A restart forgets them, and people press the button again. Each is taken at most
//! once, within five minutes, by the browser that began it. Each link and each person has a share of the room and pushes out
//! nothing but its own. Nobody else can begin anything here, so what is kept is bounded by the links and people there are.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use webauthn_rs::prelude::{PasskeyAuthentication, PasskeyRegistration};

use crate::error::{Error, Result};
use crate::id::{PersonId, SessionId};
use crate::name::Label;
use crate::secret::{Secret, Stamp, Use};

/// Long enough to find the security key, and what the challenge itself is good for.
pub(crate) const LIFE: Duration = Duration::from_secs(300);

/// A few tabs. The oldest gives way.
const PER_HOLDER_MAX: usize = 8;

/// Of one link, or of one person in all their sessions: eight browsers with all their tabs. The oldest gives way.
const PER_SHARE_MAX: usize = 64;

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

    /// Other bytes for each.
    pub(crate) fn bytes(self) -> [u8; 33] {
        let (kind, name) = match self.0 {
            Whose::Stranger(stamp) => (0, stamp.0),
            Whose::Known(stamp) => (1, stamp.0),
            Whose::Session(id) => (2, *blake3::hash(id.to_string().as_bytes()).as_bytes()),
        };
        let mut bytes = [kind; 33];
        bytes[1..].copy_from_slice(&name);
        bytes
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

/// Whose room it takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Share {
    Link(Stamp),
    Person(PersonId),
}

impl Begun {
    fn share(&self) -> Share {
        match self {
            Begun::Register { link: Some(link), .. } => Share::Link(*link),
            Begun::Register { person, link: None, .. }
            | Begun::Act { person, .. }
            | Begun::Confirm { person, .. } => Share::Person(*person),
        }
    }
}

struct Pending {
    holder: Holder,
    begun: Begun,
    at: Duration,
}

/// By stamp, in the order they came, and by whose room they take.
#[derive(Default)]
struct Pool {
    by_stamp: HashMap<Stamp, Pending>,
    /// Also has what was taken since, until it comes to the front or there is too much of it.
    order: VecDeque<Stamp>,
    by_share: HashMap<Share, VecDeque<(Holder, Stamp)>>,
}

#[derive(Default)]
pub(crate) struct Ceremonies(Mutex<Pool>);

impl std::fmt::Debug for Ceremonies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ceremonies")
    }
}

impl Ceremonies {
    pub(crate) fn begin(&self, holder: Holder, begun: Begun, now: Duration) -> Result<Secret> {
        let name = Secret::random()?;
        self.pool().put(Stamp::of(Use::Ceremony, name.reveal()), Pending { holder, begun, at: now });
        Ok(name)
    }

    /// Takes what was begun, once. Another browser's stays where it is: nobody can spoil what they did not begin.
    pub(crate) fn take(&self, holder: Holder, name: &str, now: Duration) -> Result<Begun> {
        let stamp = Stamp::of_sent(Use::Ceremony, name).ok_or(Error::CeremonyGone)?;
        let mut pool = self.pool();
        let ours = pool.by_stamp.get(&stamp).is_some_and(|pending| pending.holder == holder);
        let taken = if ours { pool.remove(stamp) } else { None };
        taken.filter(|pending| is_live(pending, now)).map(|pending| pending.begun).ok_or(Error::CeremonyGone)
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    fn put(&mut self, stamp: Stamp, pending: Pending) {
        self.forget_old(pending.at);
        let share = self.by_share.entry(pending.begun.share()).or_default();
        let of_holder = share.iter().filter(|(holder, _)| *holder == pending.holder);
        let oldest = match of_holder.clone().count() {
            PER_HOLDER_MAX.. => of_holder.map(|(_, stamp)| *stamp).next(),
            _ if share.len() >= PER_SHARE_MAX => share.front().map(|(_, stamp)| *stamp),
            _ => None,
        };
        share.push_back((pending.holder, stamp));
        self.by_stamp.insert(stamp, pending);
        self.order.push_back(stamp);
        if let Some(oldest) = oldest {
            self.remove(oldest);
        }
    }

    fn remove(&mut self, stamp: Stamp) -> Option<Pending> {
        let pending = self.by_stamp.remove(&stamp)?;
        if let Entry::Occupied(mut share) = self.by_share.entry(pending.begun.share()) {
            share.get_mut().retain(|(_, s)| *s != stamp);
            if share.get().is_empty() {
                share.remove();
            }
        }
        Some(pending)
    }

    /// From the front, since they came in the order of time.
    fn forget_old(&mut self, now: Duration) {
        while let Some(first) = self.order.front().copied() {
            if self.by_stamp.get(&first).is_some_and(|pending| is_live(pending, now)) {
                break;
            }
            self.remove(first);
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.by_stamp.len() + PER_SHARE_MAX {
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
    use crate::passkeys::tests::registration_state;

    fn stranger() -> Holder {
        Holder::of_cookie(Secret::random().unwrap().reveal()).unwrap()
    }

    fn session() -> Holder {
        Holder::of_session(SessionId::random().unwrap())
    }

    const NOW: Duration = Duration::from_secs(1_000);

    /// Begun by a link, or by somebody who is signed in.
    fn by(link: Option<&str>, person: PersonId) -> Begun {
        Begun::Register {
            state: Box::new(registration_state()),
            person,
            label: "a key".parse().unwrap(),
            link: link.map(|link| Stamp::of(Use::Link, link)),
        }
    }

    // shows: GTW-F11
    #[test]
    fn a_ceremony_is_taken_once_by_whoever_began_it_within_five_minutes() {
        let all = Ceremonies::default();
        let (one, other, person) = (stranger(), stranger(), PersonId::random().unwrap());
        let name = all.begin(one, by(None, person), NOW).unwrap();
        assert!(all.take(other, name.reveal(), NOW).is_err());
        assert!(all.take(one, "nonsense", NOW).is_err());
        assert!(all.take(one, name.reveal(), NOW + LIFE - Duration::from_secs(1)).is_ok());
        assert!(all.take(one, name.reveal(), NOW).is_err());
        let late = all.begin(one, by(None, person), NOW).unwrap();
        assert!(all.take(one, late.reveal(), NOW + LIFE).is_err());
    }

    #[test]
    fn the_oldest_gives_way_and_nobody_pushes_out_what_is_not_theirs() {
        let all = Ceremonies::default();
        let person = || PersonId::random().unwrap();
        let (one, ana) = (stranger(), person());
        let names: Vec<Secret> =
            (0..=PER_HOLDER_MAX).map(|_| all.begin(one, by(Some("a"), ana), NOW).unwrap()).collect();
        assert!(all.take(one, names[0].reveal(), NOW).is_err());
        assert!(all.take(one, names[1].reveal(), NOW).is_ok());
        // Somebody with another link, in any number of browsers, and somebody else in any number of sessions.
        let (hers, here) = (session(), person());
        let kept = all.begin(hers, by(None, here), NOW).unwrap();
        let (mallory, thief) = (person(), session());
        for _ in 0..2_000 {
            all.begin(stranger(), by(Some("b"), mallory), NOW).unwrap();
            all.begin(session(), by(None, mallory), NOW).unwrap();
            // Also whoever has stolen one session of hers.
            all.begin(thief, by(None, here), NOW).unwrap();
        }
        let pool = all.pool();
        assert_eq!(pool.by_share.len(), 4);
        assert_eq!(pool.by_stamp.len(), 2 * PER_SHARE_MAX + (PER_HOLDER_MAX - 1) + (1 + PER_HOLDER_MAX));
        assert!(pool.order.len() <= 2 * pool.by_stamp.len() + PER_SHARE_MAX + 1, "{}", pool.order.len());
        drop(pool);
        assert!(all.take(one, names[2].reveal(), NOW).is_ok(), "by her own link");
        assert!(all.take(hers, kept.reveal(), NOW).is_ok(), "in her own session");
        all.begin(one, by(Some("c"), ana), NOW + LIFE).unwrap();
        let pool = all.pool();
        assert_eq!((pool.by_stamp.len(), pool.order.len()), (1, 1), "what has ended is gone");
    }
}
