//! What an assignment in a unit's file means. The service manager takes more spellings than we ever write: `1.5G`, `12.5%`.

use holdfast_steward::setting::{Property, Value};

use crate::kernel::PAGE;

/// A value as people wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assigned {
    pub(crate) value: Value,
    /// Nothing was rounded: whoever says this value says what people said.
    pub(crate) exact: bool,
}

impl Assigned {
    fn exactly(value: Value) -> Assigned {
        Assigned { value, exact: true }
    }

    /// What holds where nothing is assigned.
    pub(crate) fn default_of(property: &Property) -> Assigned {
        let nice = *property == Property::Nice;
        Assigned::exactly(if nice { Value::Number(0) } else { Value::Infinity })
    }

    /// Nothing where it is a spelling that is not understood here.
    pub(crate) fn read(property: &Property, text: &str, memory_total: u64) -> Option<Assigned> {
        match property {
            _ if text.is_empty() => Some(Assigned::default_of(property)),
            Property::MemoryMax | Property::MemoryHigh => memory(text, memory_total).map(Assigned::exactly),
            Property::CpuQuota => quota(text),
            _ => Value::parse(property, text).ok().map(Assigned::exactly),
        }
    }
}

fn memory(text: &str, total: u64) -> Option<Value> {
    if text == "infinity" {
        return Some(Value::Infinity);
    }
    if let Some(share) = hundredths_of_percent(text) {
        // In whole pages, as the manager reckons.
        let pages = u128::from(total / PAGE) * u128::from(share) / 10_000;
        let bytes = u64::try_from(pages * u128::from(PAGE)).ok();
        return bytes.filter(|_| share <= 10_000).map(Value::Bytes);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        "P" => 50,
        "E" => 60,
        _ => return None,
    };
    let (whole, part, parts) = decimal(digits.trim_end())?;
    let bytes = u128::from(whole).checked_mul(1 << shift)? + (u128::from(part) << shift) / u128::from(parts);
    u64::try_from(bytes).ok().map(Value::Bytes)
}

/// Whole percents are as fine as a change gets.
fn quota(text: &str) -> Option<Assigned> {
    if text == "infinity" {
        return Some(Assigned::exactly(Value::Infinity));
    }
    let share = hundredths_of_percent(text)?;
    let percent = u32::try_from(share.saturating_add(50) / 100).ok().filter(|percent| *percent > 0)?;
    Some(Assigned { value: Value::Percent(percent), exact: share % 100 == 0 })
}

fn hundredths_of_percent(text: &str) -> Option<u64> {
    let (whole, part, parts) = decimal(text.strip_suffix('%')?)?;
    (parts <= 100).then(|| whole.checked_mul(100)?.checked_add(part * (100 / parts))).flatten()
}

/// A number with at most nine digits behind its point: what is before it, what is behind it, and how many of those make a whole.
fn decimal(text: &str) -> Option<(u64, u64, u64)> {
    let digits = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse::<u64>().ok()).flatten()
    };
    match text.split_once('.') {
        None => Some((digits(text)?, 0, 1)),
        Some((whole, part)) if part.len() <= 9 => {
            Some((digits(whole)?, digits(part)?, 10_u64.pow(part.len() as u32)))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: u64 = 1_000_003 * PAGE;

    #[track_caller]
    fn check(property: Property, text: &str, expected: Option<(Value, bool)>) {
        let read = Assigned::read(&property, text, TOTAL).map(|it| (it.value, it.exact));
        assert_eq!(read, expected, "{property}={text}");
    }

    #[test]
    fn memory_is_read_in_every_spelling_of_the_manager_s() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("1K", 1 << 10),
            ("1.5G", 3 << 29),
            ("0.25M", 1 << 18),
            ("2 M", 2 << 20),
            ("3T", 3 << 40),
            ("1P", 1 << 50),
            ("50%", 500_001 * PAGE),
            ("12.5%", 125_000 * PAGE),
            ("0.01%", 100 * PAGE),
            ("100%", TOTAL),
        ] {
            check(Property::MemoryHigh, text, Some((Value::Bytes(bytes), true)));
        }
        check(Property::MemoryMax, "infinity", Some((Value::Infinity, true)));
        check(Property::MemoryMax, "", Some((Value::Infinity, true)));
        for odd in [
            "101%",
            "-1",
            "1g",
            "1Gi",
            "1.G",
            ".5G",
            "1e3",
            "1.0000000001G",
            "16E",
            "12.345%",
            "%",
            "G",
            "1G 1M",
        ] {
            check(Property::MemoryMax, odd, None);
        }
    }

    #[test]
    fn a_quota_finer_than_a_percent_is_rounded_and_says_so() {
        for (text, percent, exact) in [
            ("40%", 40, true),
            ("50.00%", 50, true),
            ("12.5%", 13, false),
            ("12.4%", 12, false),
            ("250%", 250, true),
        ] {
            check(Property::CpuQuota, text, Some((Value::Percent(percent), exact)));
        }
        check(Property::CpuQuota, "infinity", Some((Value::Infinity, true)));
        check(Property::CpuQuota, "", Some((Value::Infinity, true)));
        for odd in ["0%", "0.4%", "40", "40 %", "99999999999%", "184467440737095516%", "1.234%", "-5%"] {
            check(Property::CpuQuota, odd, None);
        }
        check(Property::Nice, "", Some((Value::Number(0), true)));
        check(Property::Nice, "-5", Some((Value::Number(-5), true)));
    }
}
