//! What a single value means. Fewer words have a meaning than in YAML: a surprise is worse than two quotes.

use crate::quote::quoted;

/// A value as written: its text, and whether it stood there without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    text: String,
    plain: bool,
}

/// What a scalar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// Nothing is written.
    Empty,
    Null,
    Bool(bool),
    Whole(i64),
    /// A number some YAML reader would take, written in a way that is not taken here: `1e3`, `0x10`, `010`, `5.0`.
    OtherNumber,
    /// A word that other YAML readers do not take for text: `yes`, `off`, `~`.
    Ambiguous(&'a str),
    Text(&'a str),
}

impl Scalar {
    pub fn new(text: &str, plain: bool) -> Scalar {
        Scalar { text: text.to_owned(), plain }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_text(self) -> String {
        self.text
    }

    pub fn meaning(&self) -> Meaning<'_> {
        let text = self.text.as_str();
        match text {
            _ if !self.plain => Meaning::Text(text),
            "" => Meaning::Empty,
            "null" => Meaning::Null,
            "true" => Meaning::Bool(true),
            "false" => Meaning::Bool(false),
            _ if is_whole(text) => text.parse().map_or(Meaning::OtherNumber, Meaning::Whole),
            _ if is_other_number(text) => Meaning::OtherNumber,
            _ if is_ambiguous(text) => Meaning::Ambiguous(text),
            _ => Meaning::Text(text),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.meaning() == Meaning::Empty
    }

    /// Whether every YAML reader takes it for text.
    pub fn is_text(&self) -> bool {
        matches!(self.meaning(), Meaning::Text(_))
    }

    pub fn is_merge_key(&self) -> bool {
        self.plain && self.text == "<<"
    }

    /// What it is, in words.
    pub fn found(&self) -> String {
        match self.meaning() {
            Meaning::Empty => "empty".to_owned(),
            Meaning::Null | Meaning::Bool(_) => quoted(&self.text),
            Meaning::Whole(_) | Meaning::OtherNumber => format!("the number {}", quoted(&self.text)),
            Meaning::Ambiguous(text) | Meaning::Text(text) => format!("the text {}", quoted(text)),
        }
    }
}

/// Text as it can be written in a file and read back as the same text.
pub(crate) fn written(text: &str) -> String {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | ':');
    let plain = text.chars().all(inner)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_'))
        && !text.ends_with(':');
    if plain && Scalar::new(text, true).is_text() {
        return text.to_owned();
    }
    // A JSON text is a YAML text in double quotes.
    serde_json::Value::from(text).to_string()
}

/// `0`, `7`, `-12`: no sign but minus, no leading zero.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let leading = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !leading && digits.bytes().all(|b| b.is_ascii_digit())
}

fn is_other_number(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let lower = body.to_ascii_lowercase();
    if matches!(lower.as_str(), ".inf" | ".nan") {
        return true;
    }
    let based = ["0x", "0o", "0b"].iter().any(|base| lower.starts_with(base));
    if based {
        return lower.bytes().skip(2).all(|b| b.is_ascii_hexdigit() || b == b'_');
    }
    let starts = body.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    starts && !exponent.is_empty() && digits(whole) && digits(fraction) && digits(exponent)
}

fn is_ambiguous(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(lower.as_str(), "~" | "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_have_a_meaning_and_numbers_have_one_form() {
        let check = |text: &str, meaning: Meaning<'_>| {
            assert_eq!(Scalar::new(text, true).meaning(), meaning, "{text}");
            if !text.is_empty() {
                assert_eq!(Scalar::new(text, false).meaning(), Meaning::Text(text));
            }
        };
        check("", Meaning::Empty);
        check("true", Meaning::Bool(true));
        check("null", Meaning::Null);
        check("0", Meaning::Whole(0));
        check("-12", Meaning::Whole(-12));
        for text in ["010", "+5", "5.0", "1e3", "0x1f", "0o17", "1_000", ".5", ".inf", "99999999999999999999"]
        {
            check(text, Meaning::OtherNumber);
        }
        for text in ["yes", "No", "on", "OFF", "True", "~", "Null", "y"] {
            check(text, Meaning::Ambiguous(text));
        }
        for text in ["info", "1.2.3.4", "10:30", "2026-01-01", "5m", "-", "e5", "0xzz", "1e", "."] {
            check(text, Meaning::Text(text));
        }
    }
}
