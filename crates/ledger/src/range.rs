//! What an ask may be given: a stretch of one series.
//!
//! A range says where to look for a number that nobody has yet, and nothing about those that were given: declared
//! otherwise later, it moves none.

use std::fmt;
use std::net::Ipv4Addr;

use crate::error::{Error, Result};
use crate::number::Number;
use crate::series::{Series, Space};

/// From one number to another of the same series, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: Number,
    last: Number,
}

impl Range {
    pub fn new(first: Number, last: Number) -> Result<Range> {
        let why = if first.series() != last.series() {
            "it begins in one series and ends in another"
        } else if first > last {
            "it ends before it begins"
        } else if stretch(first) != stretch(last) {
            "there are public addresses between its ends"
        } else {
            return Ok(Range { first, last });
        };
        Err(Error::BadRange { first, last, why })
    }

    /// The one a series has of itself.
    pub fn of(series: Series) -> Range {
        Range { first: series.first(), last: series.last() }
    }

    pub fn series(self) -> Series {
        self.first.series()
    }

    /// In order, without those that are never given.
    pub(crate) fn numbers(self) -> impl Iterator<Item = Number> {
        let series = self.series();
        let step = usize::try_from(series.step()).unwrap_or(1);
        let all = (self.first.raw()..=self.last.raw()).step_by(step);
        all.filter_map(move |raw| Number::new(series, raw).ok())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last)
    }
}

/// Which of the private stretches a subnet lies in; they differ in their first octet.
fn stretch(number: Number) -> Option<u8> {
    let [first, ..] = Ipv4Addr::from_bits(number.raw()).octets();
    (number.series().space() == Space::Subnets).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(series: Series, text: &str) -> Number {
        Number::parse(series, text).unwrap()
    }

    #[test]
    fn a_range_stays_in_one_series_and_among_private_addresses() {
        let subnet = |text| number(Series::Subnet24, text);
        let uid = |text| number(Series::Uid, text);
        for (first, last, ok) in [
            (uid("5000"), uid("5000"), true),
            (uid("5001"), uid("5000"), false),
            (uid("5901"), number(Series::VncPort, "5902"), false),
            (subnet("10.120.0.0/24"), subnet("10.120.255.0/24"), true),
            (subnet("10.120.0.0/24"), subnet("192.168.0.0/24"), false),
            (subnet("172.16.0.0/24"), subnet("172.31.255.0/24"), true),
        ] {
            assert_eq!(Range::new(first, last).is_ok(), ok, "{first} {last}");
        }
    }

    #[test]
    fn numbers_come_in_order_and_leave_out_what_is_ours() {
        let ports = Range::new(number(Series::Port, "9093"), number(Series::Port, "9099")).unwrap();
        let listed: Vec<u32> = ports.numbers().map(Number::raw).collect();
        assert_eq!(listed, [9093, 9094, 9098, 9099]);
        let blocks = Range::of(Series::Subnet28).numbers().take(17).last().unwrap();
        assert_eq!(blocks.to_string(), "10.224.1.0/28");
        assert_eq!(Range::of(Series::Subnet24).numbers().count(), 4096);
    }
}
