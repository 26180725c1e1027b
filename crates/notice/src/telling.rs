//! A message in words for people: a sign, a word and a sentence, a few facts, and what to do next. Every sink that people
//! read begins here, and then writes it as its service wants it. Pure.

use serde_json::Value;

use crate::message::Message;
use crate::notice::Severity;

impl Severity {
    /// The sign beside the word.
    pub(crate) const fn icon(self) -> &'static str {
        match self {
            Severity::Critical => "🚨",
            Severity::Warning => "⚠️",
            Severity::Info => "ℹ️",
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Severity::Critical => "CRITICAL",
            Severity::Warning => "WARNING",
            Severity::Info => "INFO",
        }
    }
}

/// `⚠️ WARNING on web-1`
pub(crate) fn title(message: &Message) -> String {
    format!("{} {} on {}", message.severity.icon(), message.severity.word(), message.source)
}

/// The named facts, and how often it was said.
pub(crate) fn facts(message: &Message) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut facts: Vec<(String, String)> =
        message.context.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    if let Some(folded) = message.folded.filter(|_| message.digest.is_empty()) {
        let times = format!("{} times, {} to {}", folded.count, clock(folded.first), clock(folded.last));
        facts.push(("said".to_owned(), times));
    }
    facts
}

/// The matters of a digest, a line each.
pub(crate) fn lines(message: &Message) -> Vec<String> {
    let line = |line: &crate::digest::DigestLine| {
        let times = if line.count > 1 { format!(" ({} times)", line.count) } else { String::new() };
        format!("{} {} {}{times}", line.severity.icon(), clock(line.timestamp), line.message)
    };
    message.digest.iter().map(line).collect()
}

/// What a reader can do.
pub(crate) fn next(message: &Message) -> String {
    format!("What to do: run `holdfast status` on {}; it says what needs you.", message.source)
}

/// `15 Nov 12:00 UTC`
fn clock(at: holdfast_types::Timestamp) -> String {
    moment(at).strftime("%-d %b %H:%M UTC").to_string()
}

pub(crate) fn moment(at: holdfast_types::Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}
