//! Sign-ins that a browser has begun. The browser itself keeps the state, so no number of sign-ins that others begin pushes one out.
//!
//! A sealed sign-in is the challenge and the time, authenticated with a key that is drawn at every start, for one holder. It is no secret:
//! the challenge is in the options anyway. It holds for five minutes and is good once: when a passkey has answered it, it is remembered until
//! it would have ended. Only people with a passkey get so far, so what is remembered is bounded for each of them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use serde::{Deserialize, Serialize};
use webauthn_rs::prelude::DiscoverableAuthentication;
use zeroize::Zeroizing;

use crate::ceremony::{Holder, LIFE};
use crate::error::{Error, Result};
use crate::id::PersonId;
use crate::secret::Secret;

/// Longest text that is looked at. Ours have some 300 characters.
const TEXT_MAX: usize = 1_024;

const MAC_LEN: usize = blake3::OUT_LEN;

/// Sign-ins of one person that are remembered, some 40 KB: more than anybody makes in five minutes. Who makes more has to wait.
const USED_MAX: usize = 1_024;

/// Seals sign-ins, opens them again, and knows which were used.
pub(crate) struct Sealer {
    key: Zeroizing<[u8; blake3::KEY_LEN]>,
    used: Mutex<HashMap<PersonId, Vec<Seal>>>,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

#[derive(Serialize, Deserialize)]
struct Sealed<State> {
    at: Duration,
    state: State,
}

/// A sign-in that was begun here, by whoever finishes it, within the last five minutes.
pub(crate) struct Opened {
    pub(crate) state: DiscoverableAuthentication,
    pub(crate) seal: Seal,
}

/// What tells one sealed sign-in from all others, and when it was begun.
#[derive(Clone, Copy)]
pub(crate) struct Seal {
    mac: [u8; MAC_LEN],
    at: Duration,
}

impl Sealer {
    /// With a key of its own: what an earlier start sealed holds no more.
    pub(crate) fn new() -> Result<Sealer> {
        let mut key = Zeroizing::new([0; blake3::KEY_LEN]);
        getrandom::fill(key.as_mut()).map_err(|_| Error::NoRandomness)?;
        Ok(Sealer { key, used: Mutex::default() })
    }

    pub(crate) fn seal(
        &self,
        holder: Holder,
        state: &DiscoverableAuthentication,
        now: Duration,
    ) -> Result<Secret> {
        let payload = serde_json::to_vec(&Sealed { at: now, state }).map_err(|_| Error::Interrupted)?;
        let mut bytes = self.mac(holder, &payload).as_bytes().to_vec();
        bytes.extend(payload);
        Ok(Secret::of(BASE64URL.encode(bytes)))
    }

    /// Opens what this holder began. Costs no disk.
    pub(crate) fn open(&self, holder: Holder, text: &str, now: Duration) -> Result<Opened> {
        let opened = || {
            let bytes = BASE64URL.decode(text).ok()?;
            let (mac, payload) = bytes.split_first_chunk::<MAC_LEN>()?;
            // Compared in constant time.
            if self.mac(holder, payload) != blake3::Hash::from_bytes(*mac) {
                return None;
            }
            let Sealed { at, state } = serde_json::from_slice(payload).ok()?;
            (now.saturating_sub(at) < LIFE).then_some(Opened { state, seal: Seal { mac: *mac, at } })
        };
        (text.len() <= TEXT_MAX).then(opened).flatten().ok_or(Error::CeremonyGone)
    }

    /// Uses it up for this person, whose passkey has answered it: of any number of times, one passes.
    pub(crate) fn use_up(&self, person: PersonId, seal: Seal, now: Duration) -> Result<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, theirs| {
            theirs.retain(|one| now.saturating_sub(one.at) < LIFE);
            !theirs.is_empty()
        });
        let theirs = used.entry(person).or_default();
        if theirs.iter().any(|one| one.mac == seal.mac) {
            return Err(Error::CeremonyGone);
        }
        if theirs.len() >= USED_MAX {
            let first = theirs.iter().map(|one| one.at).min().unwrap_or(now);
            return Err(Error::TooManyTries { again_in: (first + LIFE).saturating_sub(now) });
        }
        theirs.push(seal);
        Ok(())
    }

    fn mac(&self, holder: Holder, payload: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        // The holder has one length, so that it cannot be taken for a part of what follows.
        hasher.update(&holder.bytes()).update(payload).finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passkeys::tests::sign_in_state;

    const NOW: Duration = Duration::from_secs(1_000);

    fn stranger() -> Holder {
        Holder::of_cookie(Secret::random().unwrap().reveal()).unwrap()
    }

    // shows: GTW-F11
    #[test]
    fn a_sign_in_is_opened_by_whoever_began_it_within_five_minutes() {
        let sealer = Sealer::new().unwrap();
        let (one, other) = (stranger(), stranger());
        let text = sealer.seal(one, &sign_in_state(), NOW).unwrap();
        let text = text.reveal();
        assert!(text.len() < TEXT_MAX / 2, "{}", text.len());
        assert!(sealer.open(one, text, NOW + LIFE - Duration::from_millis(1)).is_ok());
        assert!(sealer.open(one, text, NOW + LIFE).is_err(), "late");
        assert!(sealer.open(other, text, NOW).is_err(), "another browser");
        assert!(Sealer::new().unwrap().open(one, text, NOW).is_err(), "of an earlier start");
        for at in 0..text.len() {
            let mut altered = text.as_bytes().to_vec();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert!(sealer.open(one, &altered, NOW).is_err(), "altered at {at}");
            assert!(sealer.open(one, &text[..at], NOW).is_err(), "cut at {at}");
        }
        for odd in ["", "x", "nonsense", &"A".repeat(TEXT_MAX), &"A".repeat(1 << 20)] {
            assert!(sealer.open(one, odd, NOW).is_err());
        }
    }

    #[test]
    fn it_is_used_once_and_what_is_remembered_stays_bounded() {
        let sealer = Sealer::new().unwrap();
        let (ana, ben) = (PersonId::random().unwrap(), PersonId::random().unwrap());
        let seal = |n: usize, at| Seal { mac: *blake3::hash(&n.to_be_bytes()).as_bytes(), at };
        assert!(sealer.use_up(ana, seal(0, NOW), NOW).is_ok());
        assert!(matches!(sealer.use_up(ana, seal(0, NOW), NOW), Err(Error::CeremonyGone)));
        for n in 1..USED_MAX {
            sealer.use_up(ana, seal(n, NOW), NOW).unwrap();
        }
        let next = seal(USED_MAX, NOW);
        let wait = sealer.use_up(ana, next, NOW + Duration::from_secs(100)).unwrap_err();
        assert!(matches!(wait, Error::TooManyTries { again_in } if again_in == Duration::from_secs(200)));
        let again = sealer.use_up(ana, seal(0, NOW), NOW + LIFE - Duration::from_millis(1));
        assert!(matches!(again, Err(Error::CeremonyGone)), "as long as it could be opened");
        assert!(sealer.use_up(ben, next, NOW).is_ok(), "others are not held up");
        assert!(sealer.use_up(ana, seal(USED_MAX, NOW + LIFE), NOW + LIFE).is_ok());
        assert_eq!(sealer.used.lock().unwrap().len(), 1, "the rest has ended");
    }
}
