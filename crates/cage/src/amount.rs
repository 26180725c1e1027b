//! Amounts as people write them: `64M`, `1.5G`, `90s`, `10m`, `150%`.

use std::fmt;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// Parts of one processor: 100 is a whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u32);

const UNITS: [(&str, u64); 4] = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];

impl Bytes {
    pub fn parse(text: &str) -> Option<Bytes> {
        let (number, unit) = UNITS
            .iter()
            .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)))
            .unwrap_or((text, 1));
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits =
            |text: &str| !text.is_empty() && text.len() <= 15 && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole)
            || !(part.is_empty() || digits(part))
            || (number.contains('.') && (part.is_empty() || unit == 1))
        {
            return None;
        }
        let scale = 10u128.pow(part.len() as u32);
        let total = format!("{whole}{part}").parse::<u128>().ok()? * u128::from(unit) / scale;
        u64::try_from(total).ok().filter(|bytes| *bytes > 0).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.iter().rev().find(|(_, size)| self.0 >= *size);
        match unit {
            Some((unit, size)) if self.0.is_multiple_of(*size) => write!(f, "{}{unit}", self.0 / size),
            Some((unit, size)) => write!(f, "{:.1}{unit}", self.0 as f64 / *size as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

impl Percent {
    pub fn parse(text: &str) -> Option<Percent> {
        let number = text.strip_suffix('%')?.parse().ok()?;
        (1..=100_000).contains(&number).then_some(Percent(number))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// `90s`, `10m`, `2h`, `250ms`.
pub fn duration(text: &str) -> Option<Duration> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..at].parse().ok()?;
    let milliseconds = match &text[at..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(milliseconds).filter(|ms| *ms > 0).map(Duration::from_millis)
}

/// As people write it.
pub fn spoken(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        0..1000 => format!("{ms}ms"),
        _ if ms < 60_000 && !ms.is_multiple_of(1000) => format!("{:.1}s", time.as_secs_f64()),
        _ if ms < 60_000 => format!("{}s", ms / 1000),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ => format!("{}m {}s", ms / 60_000, ms / 1000 % 60),
    }
}

fn read<'de, T, D: Deserializer<'de>>(
    from: D,
    parse: fn(&str) -> Option<T>,
    like: &str,
) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    parse(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is no amount like {like}")))
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        read(from, Bytes::parse, "\"64M\"")
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Percent, D::Error> {
        read(from, Percent::parse, "\"150%\"")
    }
}

/// For fields that are times.
pub(crate) fn read_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    read(from, duration, "\"90s\" or \"10m\"").map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_said_as_people_write_them() {
        for (text, bytes) in [("1", 1), ("64K", 65536), ("1.5G", 1_610_612_736), ("2T", 2 << 40)] {
            assert_eq!(Bytes::parse(text), Some(Bytes(bytes)), "{text}");
        }
        for text in ["", "0", "K", "1.M", "-1", "1.5", "9999999999999999", "1 M", "1MB", "99999999999999T"] {
            assert_eq!(Bytes::parse(text), None, "{text}");
        }
        assert_eq!(Bytes(65536).to_string(), "64K");
        assert_eq!(Bytes(1_610_612_736).to_string(), "1.5G");
        assert_eq!(duration("90s"), Some(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert!(
            ["", "s", "0s", "1d", "1.5s", "99999999999999999h"].iter().all(|text| duration(text).is_none())
        );
        assert_eq!(spoken(Duration::from_secs(90)), "1m 30s");
        assert_eq!(spoken(Duration::from_millis(1500)), "1.5s");
        assert_eq!(Percent::parse("150%"), Some(Percent(150)));
        assert!(["0%", "150", "%", "-1%"].iter().all(|text| Percent::parse(text).is_none()));
    }
}
