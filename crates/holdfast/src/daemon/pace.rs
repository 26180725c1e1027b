//! How many attempts are looked at: so many a minute from one address, and so many from all. Pure; the time is handed in.
//!
//! Each address has a purse that holds a minute's worth and fills up evenly. Whoever empties theirs waits, and others do not.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// Addresses that are remembered. A purse that is full again is forgotten; were there more that are not, the rest share the
/// purse of all.
const SOURCES_MAX: usize = 256;

/// How much more all together may try than one.
const ALL: u32 = 4;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Pace {
    per_minute: f64,
    all: Purse,
    sources: BTreeMap<IpAddr, Purse>,
}

#[derive(Clone, Copy, Debug)]
struct Purse {
    left: f64,
    at: Duration,
}

impl Pace {
    pub(super) fn new(per_minute: u32, now: Duration) -> Pace {
        let per_minute = f64::from(per_minute.max(1));
        let all = Purse { left: per_minute * f64::from(ALL), at: now };
        Pace { per_minute, all, sources: BTreeMap::new() }
    }

    /// Takes one attempt of this address, or says after how long it may try again.
    pub(super) fn attempt(&mut self, from: IpAddr, now: Duration) -> Result<(), Duration> {
        let (one, all) = (self.per_minute, self.per_minute * f64::from(ALL));
        self.all.fill(all, now);
        let source = source_of(from);
        if !self.sources.contains_key(&source) && self.sources.len() >= SOURCES_MAX {
            self.sources.retain(|_, purse| purse.fill(one, now) < one);
        }
        let room = self.sources.len() < SOURCES_MAX || self.sources.contains_key(&source);
        let purse = room.then(|| self.sources.entry(source).or_insert(Purse { left: one, at: now }));
        if let Some(purse) = purse {
            purse.fill(one, now);
            purse.take(one)?;
        }
        self.all.take(all)
    }
}

impl Purse {
    /// What is in it now.
    fn fill(&mut self, most: f64, now: Duration) -> f64 {
        let gained = now.saturating_sub(self.at).as_secs_f64() * most / MINUTE.as_secs_f64();
        self.left = (self.left + gained).min(most);
        self.at = self.at.max(now);
        self.left
    }

    fn take(&mut self, most: f64) -> Result<(), Duration> {
        if self.left < 1.0 {
            return Err(MINUTE.mul_f64((1.0 - self.left) / most));
        }
        self.left -= 1.0;
        Ok(())
    }
}

/// Whoever has an IPv6 address has 2^64 of them.
fn source_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn one_address_has_so_many_a_minute_and_does_not_take_them_from_another() {
        let mut pace = Pace::new(30, at(0));
        assert!((0..30).all(|_| pace.attempt(v4(1), at(0)).is_ok()));
        let wait = pace.attempt(v4(1), at(0)).unwrap_err();
        assert_eq!(wait, at(2), "one thirtieth of a minute");
        assert!(pace.attempt(v4(2), at(0)).is_ok());
        assert!(pace.attempt(v4(1), at(2)).is_ok() && pace.attempt(v4(1), at(2)).is_err());
        assert!((0..30).all(|_| pace.attempt(v4(1), at(62)).is_ok()), "after a minute all of them");
    }

    #[test]
    fn all_together_have_four_times_as_many_and_addresses_without_end_are_not_remembered() {
        let mut pace = Pace::new(30, at(0));
        let taken = (0..=255).filter(|n| pace.attempt(v4(*n), at(0)).is_ok()).count();
        assert_eq!(taken, 120);
        for n in 0..10_000u32 {
            let _limited = pace.attempt(IpAddr::from(n.to_be_bytes()), at(0));
        }
        assert!(pace.sources.len() <= SOURCES_MAX);
        assert!(pace.attempt(v4(7), at(3600)).is_ok(), "and an hour later nothing of it is left");
    }

    #[test]
    fn a_whole_network_of_ipv6_is_one_address_and_a_mapped_one_is_itself() {
        let mut pace = Pace::new(1, at(0));
        assert!(pace.attempt("2001:db8::1".parse().unwrap(), at(0)).is_ok());
        assert!(pace.attempt("2001:db8::ffff:2".parse().unwrap(), at(0)).is_err());
        assert!(pace.attempt("2001:db8:0:1::1".parse().unwrap(), at(0)).is_ok());
        assert!(pace.attempt("::ffff:192.0.2.1".parse().unwrap(), at(0)).is_ok());
        assert!(pace.attempt(v4(1), at(0)).is_err());
    }

    #[test]
    fn time_that_stands_still_or_goes_back_gives_nothing() {
        let mut pace = Pace::new(1, at(100));
        assert!(pace.attempt(v4(1), at(100)).is_ok());
        assert!(pace.attempt(v4(1), at(10)).is_err() && pace.attempt(v4(1), at(100)).is_err());
        assert!(pace.attempt(v4(1), at(160)).is_ok());
    }
}
