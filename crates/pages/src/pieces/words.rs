//! Numbers and times as words, the same ones as in a terminal.

use std::time::Duration;

use holdfast_types::Timestamp;

/// `1,234,567`.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 entry`, `1,234 entries`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// `312 bytes`, `4.2 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return count(n, "byte", "bytes");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would be shown as 1024.0 of the smaller unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `12 s`, `3 min`, `5 h`, `2 days`.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", number(seconds / 86_400)),
    }
}

pub(crate) fn span_of(duration: Duration) -> String {
    span(duration.as_secs())
}

/// `just now`, `3 min ago`, `in 2 h`. It changes once a minute and not every second, so that a live page is not sent the
/// same thing over and over.
pub(crate) fn relative(now: Timestamp, at: Timestamp) -> String {
    let (past, future) = (now.since(at).as_secs(), at.since(now).as_secs());
    match past.max(future) {
        0..=59 => if future > 0 { "in a moment" } else { "just now" }.to_owned(),
        away => {
            let said = if away < 120 { "1 min".to_owned() } else { span(away) };
            if future > 0 { format!("in {said}") } else { format!("{said} ago") }
        }
    }
}

/// `2026-11-15 08:17:16 UTC`.
pub(crate) fn exact(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.split('.').next().unwrap_or(&text);
    format!("{} UTC", seconds.replacen('T', " ", 1))
}

/// A part of one as percent.
pub(crate) fn share(part: f64) -> String {
    if part.is_finite() { format!("{:.0} %", (part * 100.0).clamp(0.0, 100.0)) } else { "–".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000).unwrap()
    }

    #[test]
    fn a_time_is_said_as_a_person_would() {
        for (seconds, said) in [
            (1_000, "just now"),
            (941, "just now"),
            (940, "1 min ago"),
            (880, "2 min ago"),
            (1_030, "in a moment"),
            (1_090, "in 1 min"),
            (8_200, "in 2 h"),
            (-200_000, "2 days ago"),
        ] {
            assert_eq!(relative(at(1_000), at(seconds)), said, "{seconds}");
        }
        assert_eq!(exact(at(0)), "1970-01-01 00:00:00 UTC");
    }

    #[test]
    fn numbers_have_separators_and_units() {
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(count(1, "entry", "entries"), "1 entry");
        assert_eq!((bytes(1023), bytes(1024)), ("1,023 bytes".to_owned(), "1.0 KiB".to_owned()));
        assert_eq!((share(0.314), share(f64::NAN), share(7.0)), ("31 %".into(), "–".into(), "100 %".into()));
    }
}
