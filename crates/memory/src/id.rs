//! A memory's name: the day it was captured on, and its number on that day.
//!
//! People read these in notes and logs, and they sort by day. The number comes from the journal (how many were captured
//! on that day before), so that no counter of its own can be lost or repeat.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::day::Day;

/// `mem-2026-11-18-001`: at least three digits, and more on a busy day. Unique within an agent's space, for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemoryId {
    day: Day,
    number: NonZeroU32,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not a memory's id: expected the form mem-2026-11-18-001")]
pub struct NotAMemoryId {
    text: String,
}

impl MemoryId {
    pub fn new(day: Day, number: NonZeroU32) -> MemoryId {
        MemoryId { day, number }
    }

    pub fn day(self) -> Day {
        self.day
    }

    pub fn number(self) -> NonZeroU32 {
        self.number
    }

    /// The id of what is captured now, when `last` is the newest id given out in this space.
    ///
    /// Ids never go back: with a clock that did, numbering goes on in the later day. Only four thousand million captures in
    /// one day end it, and then there is none.
    pub fn following(last: Option<MemoryId>, now: Timestamp) -> Option<MemoryId> {
        let today = Day::of(now);
        match last {
            Some(last) if last.day >= today => {
                last.number.checked_add(1).map(|number| MemoryId { number, ..last })
            }
            Some(_) | None => Some(MemoryId { day: today, number: NonZeroU32::MIN }),
        }
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mem-{}-{:03}", self.day, self.number)
    }
}

impl fmt::Debug for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MemoryId {
    type Err = NotAMemoryId;

    fn from_str(text: &str) -> Result<MemoryId, NotAMemoryId> {
        let parse = || {
            let (day, number) = text.strip_prefix("mem-")?.rsplit_once('-')?;
            Some(MemoryId { day: day.parse().ok()?, number: number.parse().ok()? })
        };
        let refused = || NotAMemoryId { text: text.chars().take(40).collect() };
        parse().filter(|id| id.to_string() == text).ok_or_else(refused)
    }
}

impl From<MemoryId> for String {
    fn from(id: MemoryId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for MemoryId {
    type Error = NotAMemoryId;

    fn try_from(text: String) -> Result<MemoryId, NotAMemoryId> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    // shows: MEM-012, MEM-F47
    #[test]
    fn two_thousand_captures_of_a_day_across_a_restart_have_distinct_ids_in_order() {
        let noon = at("2026-11-18T12:00:00.000000Z");
        let mut last = None;
        let mut seen = Vec::new();
        for n in 0..2_000 {
            if n == 1_000 {
                // A restart: all that is known is what the text of the newest id says.
                last = last.map(|id: MemoryId| id.to_string().parse().unwrap());
            }
            last = MemoryId::following(last, noon);
            seen.push(last.unwrap());
        }
        assert_eq!(seen[0].to_string(), "mem-2026-11-18-001");
        assert_eq!(seen[1_999].to_string(), "mem-2026-11-18-2000");
        assert!(seen.is_sorted());
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 2_000);
    }

    #[test]
    fn a_clock_that_goes_back_repeats_no_id() {
        let first = MemoryId::following(None, at("2026-11-18T00:00:01.000000Z")).unwrap();
        let back = MemoryId::following(Some(first), at("2026-11-17T23:59:59.000000Z")).unwrap();
        let next = MemoryId::following(Some(back), at("2026-11-19T00:00:00.000000Z")).unwrap();
        assert_eq!(back.to_string(), "mem-2026-11-18-002");
        assert_eq!(next.to_string(), "mem-2026-11-19-001");
        assert!(first < back && back < next);
    }

    #[test]
    fn a_day_with_no_numbers_left_gives_none() {
        let full = MemoryId::new("2026-11-18".parse().unwrap(), NonZeroU32::MAX);
        assert_eq!(MemoryId::following(Some(full), at("2026-11-18T10:00:00.000000Z")), None);
    }

    #[test]
    fn only_the_one_spelling_is_an_id() {
        for bad in [
            "mem-2026-11-18-1",
            "mem-2026-11-18-000",
            "mem-2026-11-18-0001",
            "mem-2026-11-18-+01",
            "mem-2026-13-18-001",
            "MEM-2026-11-18-001",
            "mem-2026-11-18-99999999999",
            "mem-2026-11-18",
            "",
        ] {
            assert!(bad.parse::<MemoryId>().is_err(), "{bad}");
        }
    }
}
