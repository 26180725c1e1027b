//! What was refused in the last day, by user and destination. Pure, and bounded whatever comes: so many destinations are listed one by one,
//! and all others are a number.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::destination::Protocol;
use crate::packet::Refused;
use crate::wanted::Who;

/// More destinations than this in a day are one by one of no use to anybody.
pub(crate) const LISTED_MAX: usize = 256;
/// So many lines an hour go to the log one by one; the hour's sum has the rest.
const LINES_AN_HOUR: u32 = 30;
/// So many destinations a sum names.
const SUM_NAMES_MAX: usize = 16;
const DAY: Duration = Duration::from_secs(24 * 3600);
const HOUR: Duration = Duration::from_secs(3600);

/// One destination that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub user: String,
    pub protocol: Protocol,
    pub address: IpAddr,
    pub port: u16,
    /// The name that was declared for this address, with another port or protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The packets that were told of. Of a flood not all are.
    pub packets: u64,
    pub first: Timestamp,
    pub last: Timestamp,
}

#[derive(Clone, Debug)]
struct Tally {
    packets: u64,
    since_sum: u64,
    first: Timestamp,
    last: Timestamp,
}

/// What an hour came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub packets: u64,
    pub destinations: usize,
    /// Those with the most packets.
    pub most: Vec<(Refused, u64)>,
}

#[derive(Debug, Default)]
pub(crate) struct Refusals {
    rows: BTreeMap<Refused, Tally>,
    unlisted: u64,
    unlisted_since_sum: u64,
    /// New destinations whose line has not been written yet.
    fresh: Vec<Refused>,
    nudges: BTreeSet<(Who, Protocol, u16)>,
    lines: Lines,
    summed: Option<Timestamp>,
}

/// How many lines may still go to the log in this hour.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    since: Option<Timestamp>,
    written: u32,
}

impl Lines {
    pub(crate) fn take(&mut self, now: Timestamp) -> bool {
        if self.since.is_none_or(|since| now < since || now.since(since) >= HOUR) {
            *self = Lines { since: Some(now), written: 0 };
        }
        self.written += 1;
        self.written <= LINES_AN_HOUR
    }
}

impl Refusals {
    /// What an earlier life had seen.
    pub(crate) fn remember(&mut self, rows: Vec<Row>) {
        for row in rows.into_iter().take(LISTED_MAX) {
            let Some(who) = Who::ALL.into_iter().find(|who| who.user() == row.user) else { continue };
            let Row { protocol, address, port, packets, first, last, .. } = row;
            let tally = Tally { packets, since_sum: 0, first, last };
            self.rows.insert(Refused { who, protocol, address, port }, tally);
        }
    }

    pub(crate) fn note(&mut self, refused: Refused, now: Timestamp) {
        self.nudges.insert((refused.who, refused.protocol, refused.port));
        while self.nudges.len() > LISTED_MAX {
            self.nudges.pop_first();
        }
        if let Some(tally) = self.rows.get_mut(&refused) {
            tally.packets += 1;
            tally.since_sum += 1;
            tally.last = now;
            return;
        }
        if self.rows.len() >= LISTED_MAX {
            self.unlisted += 1;
            self.unlisted_since_sum += 1;
            return;
        }
        self.fresh.push(refused.clone());
        self.rows.insert(refused, Tally { packets: 1, since_sum: 1, first: now, last: now });
    }

    /// More came than could be told of.
    pub(crate) fn lost(&mut self) {
        self.unlisted += 1;
        self.unlisted_since_sum += 1;
    }

    /// What a day has gone over is forgotten.
    pub(crate) fn age(&mut self, now: Timestamp) {
        let before = self.rows.len();
        self.rows.retain(|_, tally| now < tally.last || now.since(tally.last) < DAY);
        if self.rows.is_empty() && before > 0 {
            self.unlisted = 0;
        }
    }

    /// The destinations that are new and have a line left in this hour.
    pub(crate) fn news(&mut self, now: Timestamp) -> Vec<Refused> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh.into_iter().filter(|_| self.lines.take(now)).collect()
    }

    /// Which names may have been meant.
    pub(crate) fn nudges(&mut self) -> BTreeSet<(Who, Protocol, u16)> {
        std::mem::take(&mut self.nudges)
    }

    /// The sum of an hour, once an hour, where there is something to sum up.
    pub(crate) fn sum(&mut self, now: Timestamp) -> Option<Sum> {
        let since = *self.summed.get_or_insert(now);
        if now >= since && now.since(since) < HOUR {
            return None;
        }
        self.summed = Some(now);
        let mut most: Vec<(Refused, u64)> = self
            .rows
            .iter_mut()
            .map(|(refused, tally)| (refused.clone(), std::mem::take(&mut tally.since_sum)))
            .filter(|(_, packets)| *packets > 0)
            .collect();
        let unlisted = std::mem::take(&mut self.unlisted_since_sum);
        let packets = most.iter().map(|(_, packets)| packets).sum::<u64>() + unlisted;
        let destinations = most.len();
        most.sort_by_key(|(_, packets)| std::cmp::Reverse(*packets));
        most.truncate(SUM_NAMES_MAX);
        (packets > 0).then_some(Sum { packets, destinations, most })
    }

    /// All of the last day, the latest first.
    pub(crate) fn rows(&self, name: impl Fn(&IpAddr) -> Option<String>) -> Vec<Row> {
        let mut rows: Vec<Row> = self
            .rows
            .iter()
            .map(|(refused, tally)| Row {
                user: refused.who.user().to_owned(),
                protocol: refused.protocol,
                address: refused.address,
                port: refused.port,
                name: name(&refused.address),
                packets: tally.packets,
                first: tally.first,
                last: tally.last,
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.last));
        rows
    }

    pub(crate) fn unlisted(&self) -> u64 {
        self.unlisted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000 + seconds * 1_000_000).unwrap()
    }

    fn to(last: u32) -> Refused {
        let address = IpAddr::from(std::net::Ipv4Addr::from(0xc000_0200 + last));
        Refused { who: Who::Daemon, protocol: Protocol::Tcp, address, port: 443 }
    }

    #[test]
    fn a_destination_is_news_once_and_then_a_number() {
        let mut refusals = Refusals::default();
        for second in 0..5 {
            refusals.note(to(1), at(second));
        }
        assert_eq!(refusals.news(at(5)), [to(1)]);
        refusals.note(to(1), at(6));
        assert!(refusals.news(at(7)).is_empty());
        let rows = refusals.rows(|_| Some("a.example".to_owned()));
        assert_eq!((rows[0].packets, rows[0].first, rows[0].last), (6, at(0), at(6)));
        assert_eq!(refusals.nudges(), BTreeSet::from([(Who::Daemon, Protocol::Tcp, 443)]));
        assert!(refusals.sum(at(8)).is_none());
        assert_eq!(refusals.sum(at(3609)), Some(Sum { packets: 6, destinations: 1, most: vec![(to(1), 6)] }));
        assert!(refusals.sum(at(9000)).is_none(), "an hour without refusals has no sum");
        refusals.age(at(6 + 86_399));
        assert_eq!(refusals.rows(|_| None).len(), 1);
        refusals.age(at(6 + 86_400));
        assert!(refusals.rows(|_| None).is_empty());
    }

    #[test]
    fn a_flood_of_a_million_is_bounded_in_rows_and_lines() {
        let mut refusals = Refusals::default();
        let mut lines = 0;
        for n in 0..1_000_000_u32 {
            refusals.note(to(n), at(i64::from(n / 1000)));
            if n % 1000 == 0 {
                lines += refusals.news(at(i64::from(n / 1000))).len();
            }
        }
        assert_eq!(refusals.rows(|_| None).len(), LISTED_MAX);
        assert_eq!(refusals.unlisted(), 1_000_000 - LISTED_MAX as u64);
        assert!(lines <= LINES_AN_HOUR as usize, "{lines}");
        assert!(refusals.nudges().len() <= LISTED_MAX);
        refusals.sum(at(0));
        let sum = refusals.sum(at(3601)).unwrap();
        assert_eq!((sum.packets, sum.most.len()), (1_000_000, SUM_NAMES_MAX));
    }

    #[test]
    fn the_next_life_goes_on_from_what_was_seen() {
        let mut first = Refusals::default();
        first.note(to(1), at(0));
        let mut second = Refusals::default();
        second.remember(first.rows(|_| None));
        second.note(to(1), at(9));
        assert!(second.news(at(9)).is_empty());
        assert_eq!(second.rows(|_| None)[0].packets, 2);
    }
}
