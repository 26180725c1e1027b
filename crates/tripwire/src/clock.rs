//! Time that surely passed, for a process that may be started again: counted from what was last written down.
//!
//! A record of the steward carries the moment it was written at on the steward's own count and on this machine's clock since boot, so that
//! the two counts can be compared. After another boot the time in which the machine was off counts as none: nothing comes early.

use std::time::Duration;

use holdfast_lifeline::{BootId, Steady};
use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

/// A moment on somebody's count of steady time, and on this machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    pub steady: Steady,
    pub boot: BootId,
    pub since_boot_ms: u64,
}

impl Moment {
    /// This moment, which is so much on the count of whoever asks.
    pub fn now(steady: Steady) -> Moment {
        Moment { steady, boot: this_boot(), since_boot_ms: since_boot_ms() }
    }

    /// What that count has surely come to when this machine's clock shows that.
    pub fn reckoned(&self, boot: BootId, since_boot_ms: u64) -> Steady {
        let since = if boot == self.boot { self.since_boot_ms } else { 0 };
        Steady(self.steady.0.saturating_add(since_boot_ms.saturating_sub(since)))
    }
}

/// Milliseconds since this machine was started, those in which it slept included.
pub fn since_boot_ms() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let part = |count: i64| u64::try_from(count).unwrap_or(0);
    part(time.tv_sec) * 1000 + part(time.tv_nsec) / 1_000_000
}

/// The wall clock, which only informs.
pub fn wall() -> Timestamp {
    use holdfast_types::Clock as _;
    holdfast_logbook::SystemClock::new().now()
}

/// Which boot this is; zero where the kernel does not say, which is the same all the time.
pub fn this_boot() -> BootId {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    BootId(u64::from_str_radix(&digits, 16).unwrap_or(0))
}

/// Where a guard begins to count: moments from before its first day, which records tell of, have a place on it too.
const FIRST_DAY: Steady = Steady(30 * 86_400_000);

/// The guard's own count.
#[derive(Clone, Debug)]
pub struct Clock {
    from: Moment,
    /// More than one in a lab alone: what takes minutes takes seconds there.
    pace: u32,
}

impl Clock {
    /// Goes on from what was last written down.
    pub fn from(last: Option<Moment>, pace: u32) -> Clock {
        let now = Moment::now(Steady(0));
        let steady = last.map_or(FIRST_DAY, |last| last.reckoned(now.boot, now.since_boot_ms));
        Clock { from: Moment { steady, ..now }, pace: pace.max(1) }
    }

    pub fn now(&self) -> Steady {
        let passed = since_boot_ms().saturating_sub(self.from.since_boot_ms);
        self.from.steady.plus(Duration::from_millis(passed.saturating_mul(self.pace.into())))
    }

    /// How long to wait, really, until that moment of the count.
    pub fn until(&self, at: Steady) -> Duration {
        at.since(self.now()) / self.pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_off_counts_as_none_and_time_asleep_counts() {
        let written = Moment { steady: Steady(50_000), boot: BootId(1), since_boot_ms: 10_000 };
        assert_eq!(written.reckoned(BootId(1), 12_500), Steady(52_500));
        assert_eq!(written.reckoned(BootId(1), 9_000), Steady(50_000), "never back");
        assert_eq!(written.reckoned(BootId(2), 4_000), Steady(54_000), "another boot");
        let clock = Clock::from(Some(Moment::now(Steady(7))), 1);
        assert!(clock.now() >= Steady(7) && clock.now() < Steady(60_000));
        assert!(Clock::from(None, 1).now() >= FIRST_DAY);
        assert_ne!(this_boot(), BootId(0));
    }
}
