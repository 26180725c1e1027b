//! Who was turned away, and for what: so many by address as fit a small table, the rest as a number.
//!
//! Whoever is turned away reaches nobody who could write it down, and may come by the thousand from as many addresses. So of each reason those are
//! kept that came most (`frequent.rs`).

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::frequent::{Counted, Frequent, household, household_text};
use crate::tally::Tally;

/// Why somebody was turned away before anybody behind the door knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    UnknownHost,
    Confusing,
    Malformed,
    Flooding,
    Plain,
    HouseFull,
    NeighbourhoodFull,
    /// Waited for nothing while places were needed.
    Idle,
}

/// Those who were turned away for one reason since it was last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedAway {
    pub why: &'static str,
    pub times: u64,
    /// Who came most, in that order, and how often at least. Of IPv6 the network of a household.
    pub most: Vec<(String, u64)>,
    /// How often it was anybody else.
    pub others: u64,
}

/// A table for each reason.
#[derive(Debug, Default)]
pub(crate) struct Turned([Table; REASONS.len()]);

const REASONS: [&str; 6] = ["unknown_host", "confusing", "malformed", "flooded", "plain", "too_many"];

impl For {
    fn table(self) -> usize {
        match self {
            For::UnknownHost => 0,
            For::Confusing => 1,
            For::Malformed => 2,
            For::Flooding => 3,
            For::Plain => 4,
            For::HouseFull | For::NeighbourhoodFull | For::Idle => 5,
        }
    }
}

impl Tally {
    /// Counts it, and notes who it was.
    pub(crate) fn turn_away(&self, why: For, from: IpAddr) {
        let count = match why {
            For::UnknownHost => &self.unknown_host,
            For::Confusing => &self.confusing,
            For::Malformed => &self.malformed,
            For::Flooding => &self.flooded,
            For::Plain => &self.refused_plain,
            For::HouseFull => &self.refused_house_full,
            For::NeighbourhoodFull => &self.refused_neighbourhood_full,
            For::Idle => &self.made_room,
        };
        count.up();
        self.turned.0[why.table()].note(household(from));
    }
}

impl Turned {
    /// What there is to tell, which begins anew with this.
    pub(crate) fn take(&self) -> Vec<TurnedAway> {
        let told = self.0.iter().zip(REASONS).map(|(table, why)| table.take(why));
        told.filter(|told| told.times > 0).collect()
    }
}

#[derive(Debug, Default)]
struct Table(Mutex<Frequent<IpAddr>>);

impl Table {
    fn note(&self, from: IpAddr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).note(from);
    }

    fn take(&self, why: &'static str) -> TurnedAway {
        let Counted { times, most, others } = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let most = most.into_iter().map(|(from, times)| (household_text(from), times)).collect();
        TurnedAway { why, times, most, others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn v4(n: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(0x0a00_0000 + n).into()
    }

    #[test]
    fn who_came_most_is_told_and_the_rest_is_a_number_and_it_begins_anew() {
        let tally = Tally::default();
        for n in 0..3 {
            (0..=n).for_each(|_| tally.turn_away(For::UnknownHost, v4(n)));
        }
        tally.turn_away(For::HouseFull, "2001:db8:1:2::7".parse().unwrap());
        tally.turn_away(For::NeighbourhoodFull, "2001:db8:1:2:9::8".parse().unwrap());
        let named =
            |all: &[(&str, u64)]| all.iter().map(|(from, n)| ((*from).to_owned(), *n)).collect::<Vec<_>>();
        let most = named(&[("10.0.0.2", 3), ("10.0.0.1", 2), ("10.0.0.0", 1)]);
        assert_eq!(
            tally.turned.take(),
            [
                TurnedAway { why: "unknown_host", times: 6, most, others: 0 },
                TurnedAway { why: "too_many", times: 2, most: named(&[("2001:db8:1:2::/64", 2)]), others: 0 },
            ]
        );
        assert_eq!(tally.turned.take(), []);
        let counts = tally.counts(0);
        let full = (counts.refused_house_full, counts.refused_neighbourhood_full);
        assert_eq!((counts.unknown_host, full), (6, (1, 1)), "counts go on");
    }

    #[test]
    fn a_million_addresses_take_no_more_room_than_a_few_and_do_not_hide_whoever_comes_often() {
        let table = Table::default();
        for n in 0..1_000_000 {
            table.note(v4(n));
            if n % 20 == 0 {
                table.note(v4(0xff_ffff));
            }
        }
        assert!(table.0.lock().unwrap().room() <= crate::frequent::KEPT_MAX);
        let told = table.take("x");
        let (first, times) = &told.most[0];
        assert_eq!(first, "10.255.255.255");
        assert!((1..=50_000).contains(times), "{times}");
        assert_eq!(told.most.len(), 16);
        assert_eq!(told.times, 1_050_000);
        assert_eq!(told.others + told.most.iter().map(|(_, times)| times).sum::<u64>(), told.times);
    }

    proptest! {
        #[test]
        fn no_address_is_blamed_for_more_than_it_did(all in proptest::collection::vec(0u32..200, 0..2_000)) {
            let table = Table::default();
            let mut real: BTreeMap<String, u64> = BTreeMap::new();
            for n in &all {
                table.note(v4(*n));
                *real.entry(v4(*n).to_string()).or_default() += 1;
            }
            let told = table.take("x");
            prop_assert!(told.most.iter().all(|(from, times)| *times <= real[from]));
            prop_assert_eq!(told.times, all.len() as u64);
        }
    }
}
