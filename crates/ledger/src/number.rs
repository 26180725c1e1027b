//! A number of a series: one that could be given, and how it is written.

use std::fmt;
use std::net::Ipv4Addr;

use crate::name::{InterfaceName, interface};
use crate::series::{Series, Space};

/// A number of a series, one that could be given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number {
    series: Series,
    raw: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} cannot be given as {series}: {rule}")]
pub struct NotANumber {
    pub series: Series,
    pub text: String,
    pub rule: &'static str,
}

/// A number as whoever asked for it uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Uid(u32),
    Port(u16),
    Subnet { address: Ipv4Addr, prefix: u8 },
    Mark(u32),
    Interface(InterfaceName),
}

impl Number {
    /// A subnet's number is its first address.
    pub fn new(series: Series, raw: u32) -> Result<Number, NotANumber> {
        let number = Number { series, raw };
        if series.has(raw) { Ok(number) } else { Err(NotANumber::new(series, &number.to_string())) }
    }

    /// Reads what [`Value`] prints; there is one spelling of each.
    pub fn parse(series: Series, text: &str) -> Result<Number, NotANumber> {
        let number = raw_of(series.space(), text).and_then(|raw| Number::new(series, raw).ok());
        number.filter(|number| number.to_string() == text).ok_or_else(|| NotANumber::new(series, text))
    }

    pub fn series(self) -> Series {
        self.series
    }

    pub fn raw(self) -> u32 {
        self.raw
    }

    pub fn value(self) -> Value {
        match self.series.space() {
            Space::Uids => Value::Uid(self.raw),
            // No series has a port that is larger.
            Space::Ports => Value::Port(u16::try_from(self.raw).unwrap_or(u16::MAX)),
            Space::Subnets => {
                let prefix = 32 - u8::try_from(self.series.step().ilog2()).unwrap_or(0);
                Value::Subnet { address: Ipv4Addr::from_bits(self.raw), prefix }
            }
            Space::Marks => Value::Mark(self.raw),
            Space::Interfaces => Value::Interface(interface(self.raw)),
        }
    }

    /// All it covers of its space, both ends included.
    pub(crate) fn span(self) -> (u32, u32) {
        (self.raw, self.raw + (self.series.step() - 1))
    }
}

/// What a text says in any spelling.
fn raw_of(space: Space, text: &str) -> Option<u32> {
    match space {
        Space::Uids | Space::Ports => text.parse().ok(),
        Space::Subnets => Some(text.split_once('/')?.0.parse::<Ipv4Addr>().ok()?.to_bits()),
        Space::Marks => u32::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
        Space::Interfaces => text.strip_prefix("hf")?.parse().ok(),
    }
}

impl NotANumber {
    fn new(series: Series, text: &str) -> NotANumber {
        NotANumber { series, text: text.chars().take(80).collect(), rule: series.rule() }
    }
}

impl Series {
    /// The first number it gives, unless another range is declared.
    pub fn first(self) -> Number {
        Number { series: self, raw: self.ends().0 }
    }

    /// The last one, unless another range is declared.
    pub fn last(self) -> Number {
        Number { series: self, raw: self.ends().1 }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.series, self)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Uid(uid) => write!(f, "{uid}"),
            Value::Port(port) => write!(f, "{port}"),
            Value::Subnet { address, prefix } => write!(f, "{address}/{prefix}"),
            Value::Mark(mark) => write!(f, "{mark:#x}"),
            Value::Interface(name) => write!(f, "{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> u32 {
        text.parse::<Ipv4Addr>().unwrap().to_bits()
    }

    #[test]
    fn what_belongs_to_others_is_no_number() {
        for (series, raw, ok) in [
            (Series::Uid, 4001, true),
            (Series::Uid, 59_999, true),
            (Series::Uid, 0, false),
            (Series::Uid, 999, false),
            (Series::Uid, 4000, false),
            (Series::Uid, 60_000, false),
            (Series::Uid, 65_534, false),
            (Series::Port, 1023, false),
            (Series::Port, 9094, true),
            (Series::Port, 9096, false),
            (Series::Port, 32_767, true),
            (Series::Port, 32_768, false),
            (Series::Subnet24, address("192.168.4.0"), true),
            (Series::Subnet24, address("10.0.0.16"), false),
            (Series::Subnet28, address("10.0.0.16"), true),
            (Series::Subnet28, address("8.8.8.0"), false),
            (Series::Subnet24, address("172.32.0.0"), false),
            (Series::Mark, 0x1000, false),
            (Series::Mark, 0x2000, false),
            (Series::Interface, 0, false),
            (Series::Interface, 10_000_000, false),
        ] {
            assert_eq!(Number::new(series, raw).is_ok(), ok, "{series} {raw}");
        }
    }

    #[test]
    fn a_number_is_read_back_from_the_one_way_it_is_written() {
        for series in Series::ALL {
            for number in [series.first(), series.last()] {
                assert_eq!(Number::parse(series, &number.to_string()), Ok(number));
            }
        }
        for (series, text) in [
            (Series::Uid, "04001"),
            (Series::Uid, "+4001"),
            (Series::Uid, "1000"),
            (Series::Mark, "0x01001"),
            (Series::Mark, "4097"),
            (Series::Subnet24, "10.208.0.0/28"),
            (Series::Subnet24, "10.208.0.1/24"),
            (Series::Subnet24, "10.208.0.0"),
            (Series::Interface, "eth1"),
            (Series::Interface, "hf01"),
        ] {
            let refused = Number::parse(series, text).unwrap_err();
            assert!(refused.to_string().contains(text), "{refused}");
        }
    }
}
