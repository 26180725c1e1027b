//! Who came most, of any number who came: so many as fit a small table, the rest as a number.
//!
//! This is the "space-saving" count of Metwally, Agrawal and El Abbadi: a new one takes the place of the one that came least, and what that one
//! had is remembered as not its own. Whoever had more than one in [`KEPT_MAX`] of all is in the table for certain, whatever else came between;
//! and what is told of anybody is never more than was really there.

use std::net::{IpAddr, Ipv6Addr};

/// Names that are kept: few enough to look through each time, and what is told stays right however many come.
pub(crate) const KEPT_MAX: usize = 64;
/// Names that are told.
const TOLD_MAX: usize = 16;

/// Counts who comes, in bounded room.
#[derive(Clone, Debug)]
pub struct Frequent<K> {
    times: u64,
    kept: Vec<Kept<K>>,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted<K> {
    pub times: u64,
    /// Who came most, in that order, and how often at least.
    pub most: Vec<(K, u64)>,
    /// How often it was anybody else.
    pub others: u64,
}

#[derive(Clone, Copy, Debug)]
struct Kept<K> {
    who: K,
    times: u64,
    /// Of these, what whoever was here before had.
    not_its_own: u64,
}

impl<K> Kept<K> {
    fn at_least(&self) -> u64 {
        self.times - self.not_its_own
    }
}

impl<K> Default for Frequent<K> {
    fn default() -> Self {
        Frequent { times: 0, kept: Vec::new() }
    }
}

impl<K: Copy + Eq> Frequent<K> {
    pub fn note(&mut self, who: K) {
        self.times += 1;
        if let Some(known) = self.kept.iter_mut().find(|kept| kept.who == who) {
            known.times += 1;
        } else if self.kept.len() < KEPT_MAX {
            self.kept.push(Kept { who, times: 1, not_its_own: 0 });
        } else if let Some(least) = self.kept.iter_mut().min_by_key(|kept| kept.times) {
            *least = Kept { who, times: least.times + 1, not_its_own: least.times };
        }
    }

    pub fn is_empty(&self) -> bool {
        self.times == 0
    }

    /// What there is to tell, which begins anew with this.
    pub fn take(&mut self) -> Counted<K> {
        let Frequent { times, mut kept } = std::mem::take(self);
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.at_least()));
        let most: Vec<_> = kept.iter().take(TOLD_MAX).map(|kept| (kept.who, kept.at_least())).collect();
        let others = times - most.iter().map(|(_, times)| times).sum::<u64>();
        Counted { times, most, others }
    }

    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.kept.capacity()
    }
}

/// An IPv4 address, or the IPv6 network that a household has.
pub fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        other => other,
    }
}

/// A household as it is written.
pub fn household_text(household: IpAddr) -> String {
    match household {
        IpAddr::V6(v6) if !v6.is_loopback() => format!("{v6}/64"),
        other => other.to_string(),
    }
}
