//! How often: token buckets, one for each thing and each place it comes from, and one for each thing from everywhere.
//!
//! Pure: the time is handed in. A place is one IPv4 address or one IPv6 /64, which is what one household has. The map is
//! bounded; when it is full of places that are all busy, newcomers share one bucket, so that a flood from many addresses
//! makes the door slow and never the memory large.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

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
    pub const ALL: [Kind; 7] = [
        Kind::SignInStart,
        Kind::SignInFinish,
        Kind::Register,
        Kind::LinkRefused,
        Kind::Recover,
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
            Kind::Recover => rate(10, 60),
            Kind::TokenRefused => rate(20, 5),
            Kind::Account => rate(60, 1),
        }
    }

    /// For all places together: enough for a busy house, too little to keep the processor busy.
    pub fn rate_of_all(self) -> Rate {
        let rate = |burst, millis| Rate { burst, every: Duration::from_millis(millis) };
        match self {
            Kind::SignInStart | Kind::SignInFinish => rate(400, 20),
            Kind::Register => rate(100, 200),
            Kind::LinkRefused => rate(100, 500),
            Kind::Recover => rate(50, 5_000),
            Kind::TokenRefused => rate(400, 50),
            Kind::Account => rate(400, 20),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    V4([u8; 4]),
    V6([u8; 8]),
    /// Whoever found no room.
    Rest,
}

impl Place {
    fn of(address: IpAddr) -> Place {
        match address.to_canonical() {
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
    all: HashMap<Kind, Bucket>,
}

impl Buckets {
    /// Takes one of `kind` for `from`, or says how long to wait. `now` only ever grows.
    pub fn take(&mut self, kind: Kind, from: IpAddr, now: Duration) -> Result<(), Duration> {
        let place = self.room_for((kind, Place::of(from)), now);
        let new = Bucket { full_at: now };
        // The place first: one busy place does not use up what belongs to all.
        self.places.entry(place).or_insert(new).take(kind.rate(), now)?;
        self.all.entry(kind).or_insert(new).take(kind.rate_of_all(), now)
    }

    fn room_for(&mut self, wanted: (Kind, Place), now: Duration) -> (Kind, Place) {
        if self.places.len() < PLACES_MAX || self.places.contains_key(&wanted) {
            return wanted;
        }
        self.places.retain(|_, bucket| !bucket.is_full(now));
        if self.places.len() < PLACES_MAX { wanted } else { (wanted.0, Place::Rest) }
    }
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
        assert_eq!(Place::of("::ffff:10.0.0.1".parse().unwrap()), Place::V4([10, 0, 0, 1]));
    }

    #[test]
    fn all_places_together_have_a_limit_too() {
        let mut buckets = Buckets::default();
        let passed = (0..10_000).filter(|n| buckets.take(Kind::Recover, v4(*n), START).is_ok()).count();
        assert_eq!(passed, Kind::Recover.rate_of_all().burst as usize);
    }

    #[test]
    fn the_map_stays_bounded_and_newcomers_share() {
        let mut buckets = Buckets::default();
        for n in 0..(PLACES_MAX as u32 + 5_000) {
            let _ = buckets.take(Kind::SignInStart, v4(n), START);
        }
        assert!(buckets.places.len() <= PLACES_MAX + Kind::ALL.len(), "{}", buckets.places.len());
        let later = START + Duration::from_secs(3_600);
        assert_eq!(buckets.take(Kind::SignInStart, v4(7), later), Ok(()));
        for n in 0..10 {
            let _ = buckets.take(Kind::SignInStart, v4(1_000_000 + n), later);
        }
        assert!(buckets.places.len() < PLACES_MAX, "the idle ones went");
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
