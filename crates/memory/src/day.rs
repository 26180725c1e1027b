//! A day of the calendar in UTC. Ids are sorted by it and monthly files are named by its month.

use std::fmt;
use std::str::FromStr;

use holdfast_types::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A day from 1970-01-01 to 9999-12-31: four digits for the year, so that days sort as text too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(Date);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not a day: expected the form 2026-11-18")]
pub struct NotADay {
    text: String,
}

impl Day {
    const FIRST: Day = Day(Date::constant(1970, 1, 1));

    /// The UTC day of a moment. A clock before 1970 is no clock: it is held at the first day.
    pub fn of(at: Timestamp) -> Day {
        let moment = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(jiff::Timestamp::MAX);
        Day(moment.to_zoned(TimeZone::UTC).date()).max(Day::FIRST)
    }

    pub fn month(self) -> Month {
        Month { year: self.0.year(), month: self.0.month() }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:02}", self.month(), self.0.day())
    }
}

impl fmt::Debug for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Day {
    type Err = NotADay;

    fn from_str(text: &str) -> Result<Day, NotADay> {
        let day =
            text.parse::<Date>().ok().map(Day).filter(|day| *day >= Day::FIRST && day.to_string() == text);
        day.ok_or_else(|| NotADay { text: text.chars().take(40).collect() })
    }
}

/// A month, which has a file of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Month {
    year: i16,
    month: i8,
}

impl Month {
    pub fn of(at: Timestamp) -> Month {
        Day::of(at).month()
    }

    /// The name of its file below the durable folder.
    pub fn file_name(self) -> String {
        format!("{self}.md")
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

impl fmt::Debug for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: MEM-086, MEM-F42
    #[test]
    fn the_last_microsecond_of_a_month_belongs_to_it() {
        let month = |text: &str| Month::of(text.parse().unwrap()).file_name();
        assert_eq!(month("2026-02-28T23:59:59.999999Z"), "2026-02.md");
        assert_eq!(month("2026-03-01T00:00:00.000000Z"), "2026-03.md");
    }

    #[test]
    fn a_day_has_one_spelling_and_no_clock_leaves_the_calendar() {
        assert_eq!("2026-11-18".parse::<Day>().unwrap().to_string(), "2026-11-18");
        for bad in ["2026-11-8", "20261118", "2026-02-30", "1969-12-31", "+002026-11-18", "2026-11-18T00", ""]
        {
            assert!(bad.parse::<Day>().is_err(), "{bad}");
        }
        for micros in [i64::MIN, -1, 0, i64::MAX] {
            let at = Timestamp::from_micros(micros).unwrap_or(Timestamp::EPOCH);
            let day = Day::of(at);
            assert_eq!(day.to_string().parse(), Ok(day));
        }
    }
}
