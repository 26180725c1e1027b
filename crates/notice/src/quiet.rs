//! Hours in which only what is critical is told. Pure: the time and the rules of the zone are handed in.
//!
//! A window is the time between two moments of the local clock, and each evening has exactly one, however the clock is
//! moved that night: it is longer or shorter by what the clock was moved, and never begins twice. A time that the clock
//! jumps over counts as if it had not jumped.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use holdfast_types::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use crate::error::{Error, Result};

/// Where the rules of all zones lie on a machine.
const ZONES: &str = "/usr/share/zoneinfo";
/// The largest of them has a few thousand bytes.
const ZONE_MAX: u64 = 256 * 1024;
const NAME_MAX: usize = 64;

/// From when to when, by the clock of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietHours {
    from: Time,
    until: Time,
    zone: TimeZone,
    zone_name: String,
}

impl QuietHours {
    /// `22:00-07:00 Europe/Brussels`; the rules of the zone are read from this machine.
    pub fn read(text: &str) -> Result<QuietHours> {
        QuietHours::parse(text, |name| zone_of_machine(Path::new(ZONES), name))
    }

    pub(crate) fn parse(text: &str, zone: impl Fn(&str) -> Option<TimeZone>) -> Result<QuietHours> {
        let wrong = || Error::Hours { text: text.chars().take(NAME_MAX).collect() };
        let (hours, name) = text.split_once(' ').ok_or_else(wrong)?;
        let (from, until) = hours.split_once('-').ok_or_else(wrong)?;
        let (from, until) = (time(from).ok_or_else(wrong)?, time(until).ok_or_else(wrong)?);
        if from == until {
            return Err(wrong());
        }
        let unknown = || Error::Zone { zone: name.chars().take(NAME_MAX).collect() };
        let zone = Some(name).filter(|name| is_name(name)).and_then(zone).ok_or_else(unknown)?;
        Ok(QuietHours { from, until, zone, zone_name: name.to_owned() })
    }

    /// The end of the window this moment lies in, if it lies in one.
    pub fn end(&self, at: Timestamp) -> Option<Timestamp> {
        let at = jiff::Timestamp::from_microsecond(at.as_micros()).ok()?;
        let today = self.zone.to_datetime(at).date();
        let windows = [today.yesterday().ok(), Some(today)].into_iter().flatten();
        let end =
            windows.filter_map(|day| self.window(day)).find(|(from, until)| *from <= at && at < *until)?.1;
        Timestamp::from_micros(end.as_microsecond()).ok()
    }

    /// The window that begins on this day.
    fn window(&self, day: Date) -> Option<(jiff::Timestamp, jiff::Timestamp)> {
        let last = if self.from < self.until { day } else { day.tomorrow().ok()? };
        let moment = |day: Date, time: Time| self.zone.to_timestamp(day.to_datetime(time)).ok();
        Some((moment(day, self.from)?, moment(last, self.until)?))
    }
}

/// `07:30`
fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse::<i8>().ok()).flatten()
    };
    Time::new(number(hour)?, number(minute)?, 0, 0).ok()
}

/// A name of a zone, and no way out of the folder of zones.
fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        part.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+'))
    };
    name.len() <= NAME_MAX && name.split('/').all(part)
}

fn zone_of_machine(zones: &Path, name: &str) -> Option<TimeZone> {
    if name == "UTC" {
        return Some(TimeZone::UTC);
    }
    let mut rules = Vec::new();
    let file = File::open(zones.join(name)).ok()?;
    file.take(ZONE_MAX).read_to_end(&mut rules).ok()?;
    TimeZone::tzif(name, &rules).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    /// Western Europe's rules, and a zone half an hour apart that moves its clock by half an hour.
    fn zone(name: &str) -> Option<TimeZone> {
        let rules = match name {
            "Europe/Brussels" => "CET-1CEST,M3.5.0,M10.5.0/3",
            "Australia/Lord_Howe" => "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
            "UTC" => "UTC0",
            _ => return None,
        };
        TimeZone::posix(rules).ok()
    }

    fn hours(text: &str) -> QuietHours {
        QuietHours::parse(text, zone).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        format!("{text}:00.000000Z").parse().unwrap()
    }

    /// Looks at moments in UTC and says when the window ends that each lies in; nothing for one outside.
    fn check(quiet: &str, moments: &[(&str, Option<&str>)]) {
        let quiet = hours(quiet);
        for (moment, end) in moments {
            assert_eq!(quiet.end(at(moment)), end.map(at), "{moment} in {quiet:?}");
        }
    }

    #[test]
    fn a_window_over_midnight_and_one_within_a_day() {
        let morning = Some("2026-11-16T06:00");
        check(
            "22:00-07:00 Europe/Brussels",
            &[
                ("2026-11-15T20:59", None),
                ("2026-11-15T21:00", morning),
                ("2026-11-15T22:59", morning),
                ("2026-11-15T23:00", morning),
                ("2026-11-16T05:59", morning),
                ("2026-11-16T06:00", None),
                ("2026-11-16T12:00", None),
            ],
        );
        check(
            "12:30-13:30 UTC",
            &[
                ("2026-11-15T12:29", None),
                ("2026-11-15T12:30", Some("2026-11-15T13:30")),
                ("2026-11-15T13:29", Some("2026-11-15T13:30")),
                ("2026-11-15T13:30", None),
                ("2026-11-15T00:00", None),
            ],
        );
        check(
            "00:00-06:00 UTC",
            &[("2026-11-15T00:00", Some("2026-11-15T06:00")), ("2026-11-14T23:59", None)],
        );
        check(
            "18:00-00:00 UTC",
            &[("2026-11-15T23:59", Some("2026-11-16T00:00")), ("2026-11-16T00:00", None)],
        );
    }

    #[test]
    fn a_night_in_which_the_clock_is_moved_has_one_window() {
        // 29 March 2026: 02:00 becomes 03:00, so 22:00 to 07:00 is eight hours. 25 October: ten.
        check(
            "22:00-07:00 Europe/Brussels",
            &[
                ("2026-03-28T20:59", None),
                ("2026-03-28T21:00", Some("2026-03-29T05:00")),
                ("2026-03-29T04:59", Some("2026-03-29T05:00")),
                ("2026-03-29T05:00", None),
                ("2026-10-24T20:00", Some("2026-10-25T06:00")),
                ("2026-10-25T05:59", Some("2026-10-25T06:00")),
                ("2026-10-25T06:00", None),
            ],
        );
        // An end that comes twice that night: it ends at the first, and does not begin again.
        check(
            "22:00-02:30 Europe/Brussels",
            &[
                ("2026-10-25T00:29", Some("2026-10-25T00:30")),
                ("2026-10-25T00:30", None),
                ("2026-10-25T01:00", None),
                ("2026-10-25T01:29", None),
            ],
        );
        // A beginning that comes twice: it begins at the first.
        check(
            "02:30-07:00 Europe/Brussels",
            &[
                ("2026-10-25T00:29", None),
                ("2026-10-25T00:30", Some("2026-10-25T06:00")),
                ("2026-10-25T01:15", Some("2026-10-25T06:00")),
            ],
        );
        // A time that the clock jumps over counts as if it had not jumped.
        check(
            "02:30-07:00 Europe/Brussels",
            &[("2026-03-29T01:29", None), ("2026-03-29T01:30", Some("2026-03-29T05:00"))],
        );
        check(
            "22:00-02:30 Europe/Brussels",
            &[("2026-03-29T01:29", Some("2026-03-29T01:30")), ("2026-03-29T01:30", None)],
        );
        // A zone that moves its clock by half an hour, on the other side of the world.
        check(
            "22:00-07:00 Australia/Lord_Howe",
            &[("2026-04-04T11:00", Some("2026-04-04T20:30")), ("2026-10-03T11:30", Some("2026-10-03T20:00"))],
        );
    }

    #[test]
    fn what_is_not_a_window_is_refused() {
        for text in [
            "",
            "22:00-07:00",
            "22:00-22:00 UTC",
            "22:00 07:00 UTC",
            "24:00-07:00 UTC",
            "22:60-07:00 UTC",
            "9:00-10:00 UTC",
            "+9:00-10:00 UTC",
            "22-07 UTC",
            "22:00-07:00 ",
            "22:00-07:00 Europe/Atlantis",
            "22:00-07:00 ../../etc/passwd",
            "22:00-07:00 /etc/localtime",
            "22:00-07:00 Europe/../UTC",
        ] {
            let e = QuietHours::read(text).unwrap_err();
            assert!(matches!(e, Error::Hours { .. } | Error::Zone { .. }), "{text:?}: {e}");
        }
    }

    /// The machine's own rules say the same as the ones above.
    #[test]
    fn the_rules_of_a_zone_are_read_from_the_machine() {
        let (own, machine) =
            (hours("22:00-07:00 Europe/Brussels"), QuietHours::read("22:00-07:00 Europe/Brussels"));
        let machine = machine.expect("the package tzdata is needed here");
        for hour in 0..24 * 366 {
            let at = at("2026-01-01T00:00").plus(Duration::from_secs(hour * 3_600));
            assert_eq!(machine.end(at), own.end(at), "{at}");
        }
        assert_eq!(machine, QuietHours::read("22:00-07:00 Europe/Brussels").unwrap());
        assert!(QuietHours::read("22:00-07:00 UTC").is_ok());
    }

    proptest! {
        #[test]
        fn a_window_ends_and_its_end_is_outside_or_in_the_next(
            from in 0u32..1_440, until in 0u32..1_440, minute in 0u64..3 * 525_600
        ) {
            prop_assume!(from != until);
            let clock = |m: u32| format!("{:02}:{:02}", m / 60, m % 60);
            for place in ["Europe/Brussels", "Australia/Lord_Howe", "UTC"] {
                let quiet = hours(&format!("{}-{} {place}", clock(from), clock(until)));
                let now = at("2026-01-01T00:00").plus(Duration::from_secs(minute * 60));
                let Some(end) = quiet.end(now) else { continue };
                prop_assert!(end > now && end.since(now) <= Duration::from_secs(26 * 3_600));
                prop_assert!(quiet.end(end).is_none_or(|next| next > end));
            }
        }
    }
}
