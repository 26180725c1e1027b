//! How often: token buckets, one for each thing and whoever does it. There is none for everybody together: with one, a
//! stranger's flood would keep everybody out.
//!
//! Pure: the time is handed in. A place is one IPv4 address, one IPv6 /64, which is what one household has, or a
//! user of this machine, whichever of its loopback addresses they took. A browser that signed in before, a session
//! and a recovery code have buckets of their own. What costs much (slow hashes) is bounded where it is done. The maps are
//! bounded; when one is full, those who tried least are forgotten.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::client::Caller;
use crate::code::PREFIX_LEN;
use crate::secret::Stamp;

/// Places remembered at once: about two megabytes.
const PLACES_MAX: usize = 16_384;

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    SignInStart,
    SignInFinish,
    Register,
    /// A link or a ceremony that was not good.
    LinkRefused,
    Recover,
    /// A recovery code whose first letters were right.
    Code,
    /// A token that was not good.
    TokenRefused,
    /// What somebody who is signed in changes about their account.
    Account,
}

/// A bucket: how many at once, and how long until one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub burst: u32,
    pub every: Duration,
}

impl Kind {
    pub const ALL: [Kind; 8] = [
        Kind::SignInStart,
        Kind::SignInFinish,
        Kind::Register,
        Kind::LinkRefused,
        Kind::Recover,
        Kind::Code,
        Kind::TokenRefused,
        Kind::Account,
    ];

    /// For one place.
    pub fn rate(self) -> Rate {
        let rate = |burst, secs| Rate { burst, every: Duration::from_secs(secs) };
        match self {
            // A person who fumbles, and a household behind one address.
            Kind::SignInStart | Kind::SignInFinish => rate(30, 2),
            Kind::Register => rate(20, 5),
            Kind::LinkRefused => rate(10, 30),
            // Ten codes tried in a row, then one a minute.
            Kind::Recover | Kind::Code => rate(10, 60),
            Kind::TokenRefused => rate(20, 5),
            Kind::Account => rate(60, 1),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// When it will be full again. Everything else follows from it.
    full_at: Duration,
}

impl Bucket {
    /// Takes one, or says how long to wait. What is refused costs nothing, so waiting always helps.
    fn take(&mut self, rate: Rate, now: Duration) -> Result<(), Duration> {
        let after = self.full_at.max(now) + rate.every;
        let room = now + rate.every * rate.burst;
        if after <= room {
            self.full_at = after;
            return Ok(());
        }
        Err(after - room)
    }

    fn is_full(&self, now: Duration) -> bool {
        self.full_at <= now
    }
}

/// Whose try it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    /// Anybody's at that address, or of that user of this machine.
    Caller(Caller),
    /// That of a browser that signed in here before. What others do from its address does not count against it.
    Browser(Stamp),
    /// That of somebody who is signed in, session by session: whoever has stolen one does not keep its person from acting in another.
    Session(Stamp),
    /// A recovery code's whose first letters were right. The browsers its person had have a share of their own.
    Code { prefix: [u8; PREFIX_LEN], own: bool },
}

/// What one bucket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// A user of this machine, where it can be told who: whoever is on it has all of 127.0.0.0/8, and the others have nothing to do with that.
    Here(Option<u32>),
    V4([u8; 4]),
    V6([u8; 8]),
}

impl Place {
    fn of(caller: Caller) -> Place {
        match caller.address.to_canonical() {
            address if address.is_loopback() => Place::Here(caller.uid),
            IpAddr::V4(v4) => Place::V4(v4.octets()),
            IpAddr::V6(v6) => {
                let [a, b, c, d, e, f, g, h, ..] = v6.octets();
                Place::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

/// All buckets.
#[derive(Debug, Default)]
pub struct Buckets {
    places: HashMap<(Kind, Place), Bucket>,
    /// As many as there are marks, sessions and codes, each for a few kinds.
    ours: HashMap<(Kind, Whose), Bucket>,
}

impl Buckets {
    /// Takes one of `kind` for whoever is at `from`, or says how long to wait. `now` only ever grows.
    pub fn take(&mut self, kind: Kind, from: IpAddr, now: Duration) -> Result<(), Duration> {
        self.take_for(kind, Whose::Caller(Caller::at(from)), now)
    }

    pub(crate) fn take_for(&mut self, kind: Kind, whose: Whose, now: Duration) -> Result<(), Duration> {
        let new = Bucket { full_at: now };
        if let Whose::Caller(from) = whose {
            let key = (kind, Place::of(from));
            if !self.places.contains_key(&key) {
                make_room(&mut self.places, now);
            }
            return self.places.entry(key).or_insert(new).take(kind.rate(), now);
        }
        let key = (kind, whose);
        if !self.ours.contains_key(&key) {
            make_room(&mut self.ours, now);
        }
        self.ours.entry(key).or_insert(new).take(kind.rate(), now)
    }
}

/// Those that are full again say nothing and go first; then, a quarter at once, those that are nearest to it. Whoever
/// tries most is remembered longest, and a flood from many addresses only makes each of them forget the others.
fn make_room<K: Copy + Eq + std::hash::Hash>(buckets: &mut HashMap<K, Bucket>, now: Duration) {
    if buckets.len() < PLACES_MAX {
        return;
    }
    buckets.retain(|_, bucket| !bucket.is_full(now));
    if buckets.len() < PLACES_MAX {
        return;
    }
    let mut when: Vec<Duration> = buckets.values().map(|bucket| bucket.full_at).collect();
    let (_, limit, _) = when.select_nth_unstable(PLACES_MAX / 4);
    let limit = *limit;
    let mut go = PLACES_MAX / 4;
    buckets.retain(|_, bucket| {
        let goes = go > 0 && bucket.full_at <= limit;
        go -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v4(n: u32) -> IpAddr {
        IpAddr::V4(n.into())
    }

    const START: Duration = Duration::from_secs(1_000);

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        for kind in Kind::ALL {
            let mut buckets = Buckets::default();
            let Rate { burst, every } = kind.rate();
            for n in 0..burst {
                assert_eq!(buckets.take(kind, v4(1), START), Ok(()), "{kind:?} {n}");
            }
            assert_eq!(buckets.take(kind, v4(1), START), Err(every), "{kind:?}");
            assert_eq!(buckets.take(kind, v4(2), START), Ok(()), "{kind:?}: another place");
            assert_eq!(buckets.take(kind, v4(1), START + every), Ok(()), "{kind:?}");
            assert!(buckets.take(kind, v4(1), START + every).is_err(), "{kind:?}");
        }
    }

    #[test]
    fn one_network_of_v6_is_one_place_and_a_mapped_v4_is_itself() {
        let mut buckets = Buckets::default();
        let burst = Kind::Recover.rate().burst;
        for n in 0..burst {
            let address = format!("2001:db8:1:2::{n:x}").parse().unwrap();
            assert_eq!(buckets.take(Kind::Recover, address, START), Ok(()));
        }
        assert!(buckets.take(Kind::Recover, "2001:db8:1:2:ffff::1".parse().unwrap(), START).is_err());
        assert!(buckets.take(Kind::Recover, "2001:db8:1:3::1".parse().unwrap(), START).is_ok());
        assert_eq!(Place::of(Caller::at("::ffff:10.0.0.1".parse().unwrap())), Place::V4([10, 0, 0, 1]));
    }

    #[test]
    fn a_flood_from_everywhere_leaves_the_next_address_its_share() {
        for kind in Kind::ALL {
            let mut buckets = Buckets::default();
            for n in 0..100_000 {
                let _ = buckets.take(kind, v4(n), START);
            }
            assert_eq!(buckets.take(kind, v4(1 << 30), START), Ok(()), "{kind:?}");
            assert!(buckets.places.len() <= PLACES_MAX, "{}", buckets.places.len());
        }
    }

    #[test]
    fn all_of_this_machine_is_one_place() {
        let mut buckets = Buckets::default();
        let burst = Kind::SignInStart.rate().burst;
        let mut passed = 0;
        for n in 0..430u32 {
            passed += u32::from(buckets.take(Kind::SignInStart, v4(0x7f00_0001 + n * 7_919), START).is_ok());
        }
        for address in ["::1", "::ffff:127.9.9.9"] {
            passed += u32::from(buckets.take(Kind::SignInStart, address.parse().unwrap(), START).is_ok());
        }
        assert_eq!(passed, burst);
        assert_eq!(buckets.take(Kind::SignInStart, v4(0x7e00_0001), START), Ok(()), "beside it");
    }

    #[test]
    fn who_is_known_is_not_counted_with_the_address() {
        let mut buckets = Buckets::default();
        let own = Whose::Browser(Stamp([1; 32]));
        while buckets.take(Kind::SignInStart, v4(1), START).is_ok() {}
        let burst = Kind::SignInStart.rate().burst;
        let passed = (0..=burst).filter(|_| buckets.take_for(Kind::SignInStart, own, START).is_ok()).count();
        assert_eq!(passed, burst as usize, "a share, and no more");
        let code = |own| Whose::Code { prefix: *b"AAAA", own };
        while buckets.take_for(Kind::Code, code(false), START).is_ok() {}
        assert_eq!(buckets.take_for(Kind::Code, code(true), START), Ok(()));
        assert_eq!(buckets.take_for(Kind::Code, Whose::Code { prefix: *b"AAAB", own: false }, START), Ok(()));
    }

    #[test]
    fn whoever_tries_most_is_remembered_through_a_flood() {
        let mut buckets = Buckets::default();
        while buckets.take(Kind::Recover, v4(7), START).is_ok() {}
        for n in 0..(3 * PLACES_MAX as u32) {
            let _ = buckets.take(Kind::Recover, v4(1_000_000 + n), START);
        }
        assert!(buckets.take(Kind::Recover, v4(7), START).is_err());
        let later = START + Duration::from_secs(3_600);
        assert_eq!(buckets.take(Kind::Recover, v4(7), later), Ok(()));
        buckets.places.retain(|_, bucket| !bucket.is_full(later));
        assert_eq!(buckets.places.len(), 1, "the idle ones say nothing");
    }

    proptest! {
        #[test]
        fn no_schedule_gets_more_than_burst_and_rate(gaps in prop::collection::vec(0u64..5_000, 1..400)) {
            let (mut buckets, mut now, mut passed) = (Buckets::default(), START, 0u128);
            let Rate { burst, every } = Kind::SignInFinish.rate();
            for gap in gaps {
                now += Duration::from_millis(gap);
                passed += u128::from(buckets.take(Kind::SignInFinish, v4(9), now).is_ok());
                let allowed = u128::from(burst) + (now - START).as_millis() / every.as_millis();
                prop_assert!(passed <= allowed, "{} of {}", passed, allowed);
            }
        }
    }
}
