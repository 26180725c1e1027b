//! How things look in a terminal: shapes, colour, numbers, columns. Pure functions from values to text.
//!
//! State is a shape and a word; colour only adds to them. 80 columns suffice.

use anstyle::{AnsiColor, Effects};
use holdfast_types::Timestamp;
pub(crate) use holdfast_types::printable;
use unicode_width::UnicodeWidthStr;

pub(crate) use holdfast_plot::fitted as cut;

/// The width assumed where there is no terminal.
pub(crate) const WIDTH: usize = 80;

/// What state something is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Settled,
    NeedsYou,
    Failed,
    Unknown,
    Undone,
    Paused,
    OnTrial,
}

/// Whether colour is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    pub(crate) const fn plain() -> Style {
        Style { colour: false }
    }

    pub(crate) const fn coloured() -> Style {
        Style { colour: true }
    }

    pub(crate) fn is_coloured(self) -> bool {
        self.colour
    }

    /// A line of a plot.
    pub(crate) fn line(self, line: &holdfast_plot::Line) -> String {
        if self.colour { line.painted() } else { line.plain() }
    }

    pub(crate) fn shape(self, shape: Shape) -> String {
        let (mark, colour) = match shape {
            Shape::Settled => ("●", AnsiColor::Green),
            Shape::NeedsYou => ("▲", AnsiColor::Yellow),
            Shape::Failed => ("✕", AnsiColor::Red),
            Shape::Unknown => ("○", AnsiColor::BrightBlack),
            Shape::Undone => ("↩", AnsiColor::BrightBlack),
            Shape::Paused => ("‖", AnsiColor::Yellow),
            Shape::OnTrial => ("◐", AnsiColor::Yellow),
        };
        self.paint(mark, anstyle::Style::new().fg_color(Some(colour.into())))
    }

    /// Secondary text: labels, times.
    pub(crate) fn faint(self, text: &str) -> String {
        self.paint(text, anstyle::Style::new().effects(Effects::DIMMED))
    }

    fn paint(self, text: &str, style: anstyle::Style) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

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

pub(crate) fn entries(n: u64) -> String {
    count(n, "entry", "entries")
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

/// `2026-11-15 08:17:16Z`: UTC to the second.
pub(crate) fn time(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.split('.').next().unwrap_or(&text);
    format!("{}Z", seconds.replacen('T', " ", 1))
}

/// `12 s`, `3 min`, `5 h`, `2 days`: how long something has lasted.
pub(crate) fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match whole {
        0..=119 => format!("{whole} s"),
        120..=7_199 => format!("{} min", whole / 60),
        7_200..=172_799 => format!("{} h", whole / 3_600),
        _ => format!("{} days", whole / 86_400),
    }
}

/// As [`printable`], for text of several lines: line feeds and tabs stay.
pub(crate) fn printable_lines(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| line.split('\t').map(printable).collect::<Vec<_>>().join("\t")).collect();
    lines.join("\n")
}

/// Text in a column of at least this width, left-aligned. Escapes that add colour take no room.
pub(crate) fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// Lines of `label  value`, the values under one another.
pub(crate) fn table(rows: &[(String, String)], style: Style) -> String {
    let width = rows.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
    let line =
        |(label, value): &(String, String)| format!("  {}  {value}\n", style.faint(&padded(label, width)));
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(number(n), text);
        }
    }

    #[test]
    fn sizes_have_units() {
        for (n, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1,023 bytes"),
            (1024, "1.0 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (u64::MAX, "16384.0 PiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }

    #[test]
    fn text_is_cut_by_columns_and_says_so() {
        for (text, width, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, width), expected);
            assert!(cut(text, width).width() <= width);
        }
    }

    #[test]
    fn a_span_has_the_unit_a_person_would_use() {
        for (seconds, text) in [
            (-1.0, "0 s"),
            (0.4, "0 s"),
            (119.0, "119 s"),
            (120.0, "2 min"),
            (7200.0, "2 h"),
            (172_800.0, "2 days"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn times_are_shown_to_the_second_in_utc() {
        let at = "2026-11-15T08:17:16.123456Z".parse().unwrap();
        assert_eq!(time(at), "2026-11-15 08:17:16Z");
    }

    #[test]
    fn colour_is_only_added() {
        assert_eq!(Style::plain().shape(Shape::Failed), "✕");
        assert!(Style::coloured().shape(Shape::Failed).contains('✕'));
        assert_ne!(Style::coloured().shape(Shape::Failed), "✕");
    }
}
