//! How often refusals are told. Each reason has some entries at once and then one a minute. The first refusal takes one at once; those that come
//! before the next is due are counted, and become one entry together. So what strangers cause in the journal depends on how many reasons
//! there are and never on how many come, from how many addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdfast_door::{Counted, Frequent, household};
use holdfast_gateway::{PersonId, Why};

/// Between two entries of one reason at least.
const APART: Duration = Duration::from_secs(1);
/// Entries of one reason that may come in a row: enough to see an attack begin and change its ways.
const BURST: u32 = 16;
/// After them, one in this time.
const EVERY: Duration = Duration::from_secs(60);

/// Who was refused: a household, and who they are where that is known.
pub(super) type Refused = (IpAddr, Option<PersonId>);

/// What is known of each reason. There are as many as [`Why`] has variants.
#[derive(Debug, Default)]
pub(super) struct Folding(Mutex<BTreeMap<Why, Reason>>);

#[derive(Debug, Default)]
struct Reason {
    /// When all of the burst may be used again. Everything else follows from it.
    full_at: Duration,
    /// Not told again before this.
    next: Duration,
    since: Frequent<Refused>,
}

impl Reason {
    /// Takes one of its entries, if there is one.
    fn take(&mut self, now: Duration) -> bool {
        let after = self.full_at.max(now) + EVERY;
        let may = now >= self.next && after <= now + EVERY * BURST;
        if may {
            (self.full_at, self.next) = (after, now + APART);
        }
        may
    }
}

impl Folding {
    /// Whether this one is to be told at once; if not, it is counted.
    pub(super) fn is_news(&self, why: Why, who: Refused, now: Duration) -> bool {
        let mut reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = reasons.entry(why).or_default();
        let news = reason.since.is_empty() && reason.take(now);
        if !news {
            reason.since.note((household(who.0), who.1));
        }
        news
    }

    /// What is to be told now of what was counted.
    pub(super) fn due(&self, now: Duration) -> Vec<(Why, Counted<Refused>)> {
        self.told(|reason| reason.take(now))
    }

    /// All of it, for whoever stops.
    pub(super) fn rest(&self) -> Vec<(Why, Counted<Refused>)> {
        self.told(|_| true)
    }

    fn told(&self, is_due: impl Fn(&mut Reason) -> bool) -> Vec<(Why, Counted<Refused>)> {
        let mut reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = reasons.iter_mut().filter(|(_, reason)| !reason.since.is_empty());
        counted.filter_map(|(why, reason)| is_due(reason).then(|| (*why, reason.since.take()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(n: u32) -> Refused {
        (std::net::Ipv4Addr::from_bits(0x0a00_0000 + n).into(), None)
    }

    /// Entries, and refusals they speak of, when `per_second` come from ever new addresses for so long.
    fn flood(seconds: u64, per_second: u32) -> (u64, u64) {
        let folding = Folding::default();
        let (mut entries, mut told) = (0, 0);
        for second in 0..seconds {
            let now = Duration::from_secs(second);
            for n in 0..per_second {
                if folding.is_news(Why::Host, v4(second as u32 * per_second + n), now) {
                    (entries, told) = (entries + 1, told + 1);
                }
            }
            for (_, counted) in folding.due(now) {
                (entries, told) = (entries + 1, told + counted.times);
            }
        }
        let rest: u64 = folding.rest().iter().map(|(_, counted)| counted.times).sum();
        (entries, told + rest)
    }

    #[test]
    fn ten_minutes_of_a_flood_are_a_few_entries_that_count_every_one() {
        let (entries, told) = flood(600, 1_000);
        assert!((10..=26).contains(&entries), "{entries}");
        assert_eq!(told, 600_000);
        // However it comes and goes.
        let (folding, mut entries) = (Folding::default(), 0);
        for second in (0..6_000).filter(|second| second % 7 == 0) {
            let now = Duration::from_secs(second);
            (0..100).for_each(|n| entries += u64::from(folding.is_news(Why::Host, v4(n), now)));
            entries += folding.due(now + APART).len() as u64;
        }
        assert!(entries <= 100 + 16 + 1, "{entries}");
    }

    #[test]
    fn the_first_of_a_reason_is_told_at_once_and_who_came_most_is_named() {
        let folding = Folding::default();
        let at = Duration::from_secs;
        let person = None;
        assert!(folding.is_news(Why::Code, v4(1), at(0)));
        assert!(folding.is_news(Why::Host, v4(1), at(0)), "another reason");
        assert!(!folding.is_news(Why::Code, v4(2), at(0)));
        assert!(folding.due(at(0)).is_empty());
        for host in ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"] {
            assert!(!folding.is_news(Why::Code, (host.parse().unwrap(), person), at(0)));
        }
        let told = folding.due(at(1));
        assert_eq!(told.len(), 1);
        let (why, counted) = &told[0];
        assert_eq!((*why, counted.times, counted.others), (Why::Code, 4, 0));
        assert_eq!(counted.most[0], (("2001:db8::".parse().unwrap(), person), 2), "one household");
        assert!(folding.is_news(Why::Code, v4(3), at(2)), "after a moment of quiet");
        assert!(!folding.is_news(Why::Code, v4(3), at(2)) && folding.due(at(3)).len() == 1);
    }
}
