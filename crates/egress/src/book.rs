//! Which addresses each name has, and when it is asked for again. Pure: the time is handed in, as what has passed since some fixed moment.
//!
//! - An answer is asked for again when it no longer holds, at the earliest after a minute and at the latest after five.
//! - An address that is no longer in the answers stays for an hour, so that a connection to it can end by itself.
//! - A name that cannot be resolved keeps every address it had, for as long as that lasts, and its trouble is told.
//! - A refused packet may be one to an address that a name has only had for a moment: then the names of that port are asked for at once, but not
//!   more often than every five seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dns::{ADDRESSES_MAX, Family, Said, Unanswered};

const AGAIN_AT_THE_EARLIEST: Duration = Duration::from_secs(60);
const AGAIN_AT_THE_LATEST: Duration = Duration::from_secs(300);
const NUDGED_AGAIN: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_secs(3600);

/// How much shorter all times are: 1, or more in a lab.
pub type Pace = u32;

/// What is known of all names.
#[derive(Clone, Debug, Default)]
pub struct Book {
    names: BTreeMap<String, Entry>,
    pace: Pace,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    /// When each was last among the answers.
    seen: BTreeMap<IpAddr, Duration>,
    asked: Option<Duration>,
    again: Option<Duration>,
    trouble: Option<String>,
}

/// One name, for people and for the next life of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    pub name: String,
    pub addresses: Vec<IpAddr>,
    /// Why the last question was not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// What came back for one name: of each family, or why not.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub name: String,
    pub v4: Result<Said, Unanswered>,
    pub v6: Result<Said, Unanswered>,
}

impl Book {
    pub fn at_pace(pace: Pace) -> Book {
        Book { names: BTreeMap::new(), pace: pace.max(1) }
    }

    /// What an earlier life knew: as if it had been heard now, and to be asked again at once.
    pub fn remember(&mut self, known: Vec<Known>, now: Duration) {
        for Known { name, addresses, .. } in known {
            let entry = self.names.entry(name).or_default();
            entry.seen.extend(addresses.into_iter().take(ADDRESSES_MAX).map(|ip| (ip, now)));
        }
    }

    /// From now on these names and no others.
    pub fn keep(&mut self, names: &BTreeSet<&str>) {
        self.names.retain(|name, _| names.contains(name.as_str()));
        for name in names {
            self.names.entry((*name).to_owned()).or_default();
        }
    }

    /// The names that are to be asked for now.
    pub fn due(&self, now: Duration) -> Vec<String> {
        let is_due = |entry: &Entry| entry.again.is_none_or(|again| again <= now);
        self.names.iter().filter(|(_, entry)| is_due(entry)).map(|(name, _)| name.clone()).collect()
    }

    /// Somebody was refused who may have meant one of these names.
    pub fn nudge(&mut self, names: &BTreeSet<&str>, now: Duration) {
        let pause = NUDGED_AGAIN / self.pace;
        for (_, entry) in self.names.iter_mut().filter(|(name, _)| names.contains(name.as_str())) {
            let soonest = entry.asked.map_or(now, |asked| now.max(asked + pause));
            entry.again = Some(entry.again.map_or(soonest, |again| again.min(soonest)));
        }
    }

    /// What came of asking. Whether anything is otherwise than before.
    pub(crate) fn heard(&mut self, answers: Answers, now: Duration) -> bool {
        let pace = self.pace;
        let Some(entry) = self.names.get_mut(&answers.name) else { return false };
        let before = entry.addresses();
        entry.asked = Some(now);
        let mut holds = AGAIN_AT_THE_LATEST;
        let mut trouble = None;
        for (family, answer) in [(Family::V4, answers.v4), (Family::V6, answers.v6)] {
            match answer {
                Ok(said) => {
                    holds = if said.addresses.is_empty() { holds } else { holds.min(said.holds) };
                    entry.take(family, &said.addresses, now, GRACE / pace);
                }
                // It keeps what it has of this family.
                Err(why) => {
                    holds = AGAIN_AT_THE_EARLIEST;
                    trouble = Some(why.to_string());
                }
            }
        }
        if trouble.is_none() && entry.seen.is_empty() {
            trouble = Some("the name has no address".to_owned());
        }
        entry.trouble = trouble;
        entry.again = Some(now + holds.clamp(AGAIN_AT_THE_EARLIEST, AGAIN_AT_THE_LATEST) / pace);
        entry.addresses() != before
    }

    pub fn addresses(&self, name: &str) -> impl Iterator<Item = IpAddr> + '_ {
        self.names.get(name).into_iter().flat_map(|entry| entry.seen.keys().copied())
    }

    /// The name an address was given for.
    pub fn name_of(&self, ip: &IpAddr) -> Option<&str> {
        self.names.iter().find(|(_, entry)| entry.seen.contains_key(ip)).map(|(name, _)| name.as_str())
    }

    pub fn known(&self) -> Vec<Known> {
        let known = |(name, entry): (&String, &Entry)| Known {
            name: name.clone(),
            addresses: entry.seen.keys().copied().collect(),
            trouble: entry.trouble.clone(),
        };
        self.names.iter().map(known).collect()
    }
}

impl Entry {
    fn addresses(&self) -> BTreeSet<IpAddr> {
        self.seen.keys().copied().collect()
    }

    /// These are the addresses now; those that were go after the grace, and the oldest first when there are too many.
    fn take(&mut self, family: Family, addresses: &[IpAddr], now: Duration, grace: Duration) {
        self.seen.extend(addresses.iter().map(|ip| (*ip, now)));
        self.seen.retain(|ip, seen| !family.has(ip) || *seen + grace > now || addresses.contains(ip));
        while self.seen.len() > 2 * ADDRESSES_MAX {
            let oldest = self.seen.iter().min_by_key(|(_, seen)| **seen).map(|(ip, _)| *ip);
            let Some(oldest) = oldest else { break };
            self.seen.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn said(addresses: &[&str], seconds: u32) -> Result<Said, Unanswered> {
        let addresses = addresses.iter().map(|ip| ip.parse().unwrap()).collect();
        Ok(Said { addresses, holds: S * seconds })
    }

    fn heard(
        book: &mut Book,
        v4: Result<Said, Unanswered>,
        v6: Result<Said, Unanswered>,
        now: Duration,
    ) -> bool {
        book.heard(Answers { name: "a.example".to_owned(), v4, v6 }, now)
    }

    fn book() -> Book {
        let mut book = Book::at_pace(1);
        book.keep(&BTreeSet::from(["a.example"]));
        book
    }

    fn has(book: &Book) -> Vec<String> {
        book.addresses("a.example").map(|ip| ip.to_string()).collect()
    }

    #[test]
    fn a_name_is_asked_for_again_when_its_answer_no_longer_holds_within_bounds() {
        for (holds, again) in [(5, 60), (60, 60), (120, 120), (86_400, 300)] {
            let mut book = book();
            assert_eq!(book.due(S), ["a.example"]);
            assert!(heard(&mut book, said(&["192.0.2.1"], holds), said(&[], 0), S));
            assert!(book.due(S * again).is_empty(), "{holds}");
            assert_eq!(book.due(S * (again + 1)), ["a.example"], "{holds}");
        }
    }

    #[test]
    fn an_address_that_went_stays_for_an_hour_and_no_longer() {
        let mut book = book();
        heard(&mut book, said(&["192.0.2.1"], 60), said(&["2001:db8::1"], 60), S);
        assert!(heard(&mut book, said(&["192.0.2.2"], 60), said(&["2001:db8::1"], 60), S * 100));
        assert_eq!(has(&book), ["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
        assert!(!heard(&mut book, said(&["192.0.2.2"], 60), said(&["2001:db8::1"], 60), S * 3600));
        assert!(heard(&mut book, said(&["192.0.2.2"], 60), said(&["2001:db8::1"], 60), S * 3602));
        assert_eq!(has(&book), ["192.0.2.2", "2001:db8::1"]);
    }

    #[test]
    fn a_name_that_cannot_be_resolved_keeps_what_it_had_and_says_so() {
        let mut book = book();
        heard(&mut book, said(&["192.0.2.1"], 60), said(&["2001:db8::1"], 60), S);
        for hour in 1..100 {
            let now = S * 3600 * hour;
            assert!(!heard(&mut book, Err(Unanswered::Silent), Err(Unanswered::NoSuchName), now));
            assert!(book.due(now + S * 59).is_empty());
            assert_eq!(book.due(now + S * 60), ["a.example"]);
        }
        assert_eq!(has(&book), ["192.0.2.1", "2001:db8::1"]);
        assert_eq!(book.known()[0].trouble.as_deref(), Some("there is no such name"));
        // One family that answers says nothing about the other.
        heard(&mut book, said(&["192.0.2.1"], 60), Err(Unanswered::Silent), S * 400_000);
        assert_eq!(has(&book), ["192.0.2.1", "2001:db8::1"]);
        heard(&mut book, said(&["192.0.2.1"], 60), said(&[], 0), S * 400_001);
        assert_eq!(has(&book), ["192.0.2.1"]);
        assert_eq!(book.known()[0].trouble, None);
    }

    #[test]
    fn a_refusal_has_names_asked_again_but_not_all_the_time() {
        let mut book = book();
        heard(&mut book, said(&["192.0.2.1"], 300), said(&[], 0), S);
        book.nudge(&BTreeSet::from(["b.example"]), S * 11);
        assert!(book.due(S * 11).is_empty());
        book.nudge(&BTreeSet::from(["a.example"]), S * 2);
        assert!(book.due(S * 5).is_empty());
        assert_eq!(book.due(S * 6), ["a.example"]);
        heard(&mut book, said(&["192.0.2.1"], 300), said(&[], 0), S * 6);
        book.nudge(&BTreeSet::from(["a.example"]), S * 20);
        assert_eq!(book.due(S * 20), ["a.example"]);
    }

    #[test]
    fn a_name_server_that_invents_addresses_fills_nothing() {
        let mut book = book();
        for n in 0..2000_u32 {
            let ip = IpAddr::from(std::net::Ipv4Addr::from(0x0a00_0000 + n));
            heard(&mut book, Ok(Said { addresses: vec![ip], holds: S }), said(&[], 0), S * n);
        }
        assert!(has(&book).len() <= 2 * ADDRESSES_MAX);
        assert!(has(&book).contains(&"10.0.7.207".to_owned()));
    }

    #[test]
    fn what_an_earlier_life_knew_holds_until_it_is_asked_again() {
        let mut first = book();
        heard(&mut first, said(&["192.0.2.1"], 300), said(&[], 0), S);
        let mut second = Book::at_pace(1);
        second.remember(first.known(), S * 7);
        second.keep(&BTreeSet::from(["a.example", "b.example"]));
        assert_eq!(has(&second), ["192.0.2.1"]);
        assert_eq!(second.due(S * 7), ["a.example", "b.example"]);
        assert_eq!(second.name_of(&"192.0.2.1".parse().unwrap()), Some("a.example"));
        second.keep(&BTreeSet::from(["b.example"]));
        assert!(has(&second).is_empty());
    }
}
