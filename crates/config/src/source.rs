//! A text that somebody wrote and that may be wrong: its name, its lines, and what of it may be repeated.
//!
//! A file is one source; so is the value of one environment variable or of one flag. Bytes come in,
//! and what leaves is text a parser can be given: UTF-8, bounded, without characters that drive a terminal.
//!
//! A diagnostic shows the line it is about. Somebody may have pasted a password into that line, under a key we
//! do not even know, so a line is shown word by word: words of the file's own vocabulary, short numbers, and
//! what the diagnostic points at. Every other word becomes `…`. What stands where a key does and looks like one is shown:
//! without it, no misspelt key could be told.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic};
use crate::quote::secrets_in;
use holdfast_types::{drives_a_terminal, printable};

/// Far beyond any configuration somebody wrote, and small enough to read at once.
pub const BYTES_MAX: usize = 256 * 1024;

/// Characters of a line that are shown, around the place.
const SHOWN_MAX: usize = 100;

/// Characters before and after the place that are looked at, so that one endless line costs nothing.
const LOOKED_AT: usize = 400;

/// Where something is written. Lines and columns count from 1, columns and length in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub len: usize,
}

impl Place {
    pub const START: Place = Place { line: 1, column: 1, len: 1 };
}

/// What kind of text it is, which decides how a place in it is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    File,
    /// One value, as from the environment: its line and column would say nothing.
    Value,
}

/// How much of a line a diagnostic may repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reveal {
    /// What it points at, and known words around it.
    Place,
    /// Known words only, because the place may hold a secret.
    KnownWords,
}

/// The words that may be shown wherever they stand: keys and the names of choices.
pub type Vocabulary = BTreeSet<String>;

#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub kind: SourceKind,
    /// Where diagnostics about it come among those about others.
    pub order: usize,
    text: String,
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
    vocabulary: Vocabulary,
}

impl Source {
    /// Reads bytes that anybody may have written. What is refused here is refused before any parser sees it.
    pub fn read(
        name: &str,
        kind: SourceKind,
        order: usize,
        bytes: &[u8],
        vocabulary: &Vocabulary,
    ) -> Result<Source, Box<Diagnostic>> {
        let source = |text: &str| Source {
            name: name.to_owned(),
            kind,
            order,
            text: text.to_owned(),
            lines: std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect(),
            vocabulary: vocabulary.clone(),
        };
        let refuse = |text: &str, place, code, message: String, help: &str| {
            Err(Box::new(source(text).diagnostic(place, Reveal::KnownWords, code, message).help(help)))
        };
        if bytes.len() > BYTES_MAX {
            let message = format!("{} bytes are too many: at most {BYTES_MAX} are read", bytes.len());
            return refuse("", Place::START, Code::TooLarge, message, "check that this is the right file");
        }
        // A byte order mark says nothing about UTF-8 and is not part of the text.
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => {
                let good = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
                let message = "from here on the text is not UTF-8".to_owned();
                return refuse(good, end_of(good), Code::NotText, message, "save the file as UTF-8");
            }
        };
        if let Some(at) = text.char_indices().position(|(at, c)| forbidden(c, &text[at..])) {
            let before: String = text.chars().take(at).collect();
            let found = text.chars().nth(at).unwrap_or_default();
            let message = format!("the character {} cannot be used here", printable(&found.to_string()));
            return refuse(text, end_of(&before), Code::NotText, message, "remove it; it may be invisible");
        }
        Ok(source(text))
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// One line without its end. Lines count from 1.
    pub fn line(&self, number: usize) -> Option<&str> {
        let from = *self.lines.get(number.checked_sub(1)?)?;
        let to = self.lines.get(number).map_or(self.text.len(), |next| next - 1);
        let line = self.text.get(from..to)?;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// The place of the character at a byte.
    pub(crate) fn place_at(&self, byte: usize) -> Place {
        end_of(self.text.get(..byte).unwrap_or_default())
    }

    /// Behind the last thing that is written up to a line: where a person looks for what is missing.
    pub fn last_written(&self, up_to: usize) -> Place {
        let written = |line: &usize| self.line(*line).is_some_and(|text| !text.trim().is_empty());
        let line = (1..=up_to.min(self.lines.len())).rev().find(written).unwrap_or(1);
        let column = self.line(line).map_or(0, |text| text.trim_end().chars().count()) + 1;
        Place { line, column, len: 1 }
    }

    pub fn diagnostic(
        &self,
        place: Place,
        reveal: Reveal,
        code: Code,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            file: self.name.clone(),
            kind: self.kind,
            order: self.order,
            place,
            code,
            message: message.into(),
            help: None,
            snippet: self.snippet(place, reveal),
            related: Vec::new(),
        }
    }

    /// The line of a place as it may be shown, and where in it the marks go.
    pub fn snippet(&self, place: Place, reveal: Reveal) -> Option<Snippet> {
        let line = self.line(place.line)?;
        if line.trim().is_empty() {
            return None;
        }
        let column = place.column.saturating_sub(1);
        let skipped = column.saturating_sub(LOOKED_AT);
        let chars: Vec<char> = line.chars().skip(skipped).take(2 * LOOKED_AT).collect();
        let marked = column - skipped..column - skipped + place.len.max(1);
        let hidden = hidden(&chars);
        let mut shown = Snippet { text: String::new(), from: 0, len: 0 };
        let (mut width, mut from, mut end) = (0, None, 0);
        for word in words(&chars) {
            let touched = word.start < marked.end && marked.start < word.end;
            let text: String = chars[word.clone()].iter().collect();
            let secret = hidden.iter().any(|span| word.start < span.end && span.start < word.end);
            let open = self.known(&text) || (touched && !secret && reveal == Reveal::Place);
            let piece = if open { visible(&text) } else { "…".to_owned() };
            if touched {
                let inset = if open { marked.start.saturating_sub(word.start) } else { 0 };
                from.get_or_insert(width + inset);
                let cut = if open { word.end.saturating_sub(marked.end) } else { 0 };
                end = width + piece.chars().count().saturating_sub(cut);
            }
            width += piece.chars().count();
            shown.text.push_str(&piece);
        }
        // A place behind the last character is where something is missing.
        shown.from = from.unwrap_or(width);
        shown.len = end.saturating_sub(shown.from).max(1);
        Some(shown.cut(SHOWN_MAX))
    }

    fn known(&self, word: &str) -> bool {
        let number = word.len() <= 7 && word.bytes().all(|b| b.is_ascii_digit());
        let unspoken = word.chars().all(|c| !c.is_alphanumeric());
        number || unspoken || self.vocabulary.contains(word)
    }
}

/// Where in a line secrets stand, counted in characters.
fn hidden(chars: &[char]) -> Vec<Range<usize>> {
    let text: String = chars.iter().collect();
    let place = |byte: usize| text.char_indices().take_while(|(at, _)| *at < byte).count();
    secrets_in(&text).into_iter().map(|span| place(span.start)..place(span.end)).collect()
}

/// A line to show, with the part that is meant. Counted in characters from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    pub text: String,
    pub from: usize,
    pub len: usize,
}

impl Snippet {
    /// Keeps a long line to what stands around the marks.
    fn cut(self, width: usize) -> Snippet {
        let all: Vec<char> = self.text.trim_end().chars().collect();
        let skip = if self.from < width / 2 || all.len() <= width { 0 } else { self.from - width / 2 };
        let kept = &all[skip.min(all.len())..(skip + width).min(all.len())];
        let (before, after) = (skip > 0, skip + width < all.len());
        let mut text: String = kept.iter().collect();
        if before {
            text.insert(0, '…');
        }
        if after {
            text.push('…');
        }
        let from = self.from - skip + usize::from(before);
        let len = self.len.min(text.chars().count().saturating_sub(from)).max(1);
        Snippet { text, from, len }
    }
}

/// Splits a line into words and what stands between them. YAML's own signs end a word, so that a secret in
/// quotes is a word of its own.
fn words(chars: &[char]) -> Vec<std::ops::Range<usize>> {
    let sign = |at: usize| match chars[at] {
        ' ' | '\t' | '{' | '}' | '[' | ']' | ',' | '"' | '\'' => true,
        ':' => chars.get(at + 1).is_none_or(|next| next.is_whitespace()),
        _ => false,
    };
    let mut out: Vec<std::ops::Range<usize>> = Vec::new();
    for at in 0..chars.len() {
        match out.last_mut() {
            Some(last) if !sign(at) && !sign(at - 1) => last.end = at + 1,
            _ => out.push(at..at + 1),
        }
    }
    out
}

/// One column per character, so that marks stay under what they mean.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\t' { ' ' } else { c })
        .map(|c| if drives_a_terminal(c) { '?' } else { c })
        .collect()
}

/// The place right after a text.
fn end_of(text: &str) -> Place {
    let line = text.split('\n').count();
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Place { line, column, len: 1 }
}

fn forbidden(c: char, from_here: &str) -> bool {
    match c {
        '\n' | '\t' => false,
        '\r' => !from_here.starts_with("\r\n"),
        _ => drives_a_terminal(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line as shown, and the part of it that is marked.
    fn shown(line: &str, column: usize, len: usize, reveal: Reveal) -> (String, String) {
        let known: Vocabulary = ["url", "level"].map(str::to_owned).into();
        let source = Source::read("t", SourceKind::File, 0, line.as_bytes(), &known).unwrap();
        let Snippet { text, from, len } = source.snippet(Place { line: 1, column, len }, reveal).unwrap();
        let marked = text.chars().skip(from).take(len).collect();
        (text, marked)
    }

    #[test]
    fn only_known_words_numbers_and_what_is_meant_are_shown() {
        let check = |line: &str, column, len, reveal, text: &str, marked: &str| {
            assert_eq!(shown(line, column, len, reveal), (text.to_owned(), marked.to_owned()), "{line}");
        };
        check("url: hunter2", 6, 7, Reveal::KnownWords, "url: …", "…");
        check("url: hunter2", 6, 7, Reveal::Place, "url: hunter2", "hunter2");
        check("ulr: hunter2", 1, 3, Reveal::Place, "ulr: …", "ulr");
        check("ulr: \"hunter two\" # three", 1, 3, Reveal::Place, "ulr: \"… …\" # …", "ulr");
        check("{ulr: hunter2, level: 17}", 23, 2, Reveal::Place, "{…: …, level: 17}", "17");
        check("url: a:b://c", 7, 1, Reveal::KnownWords, "url: …", "…");
        check("url: 12345678", 1, 3, Reveal::Place, "url: …", "url");
        check("\tlevel: 1", 1, 1, Reveal::KnownWords, " level: 1", " ");
        check("level: é日", 8, 2, Reveal::Place, "level: é日", "é日");
    }

    #[test]
    fn a_place_behind_the_end_marks_what_is_missing() {
        assert_eq!(shown("level: [1", 10, 1, Reveal::KnownWords), ("level: [1".to_owned(), String::new()));
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        for before in [0, 10, 49, 50, 51, 399, 400, 401, 5000] {
            for after in [0, 30, 5000] {
                let line = format!("{}level {}", "1 ".repeat(before), " 2".repeat(after));
                let (text, marked) = shown(&line, before * 2 + 1, 5, Reveal::Place);
                assert_eq!(marked, "level", "{before} {after} {text}");
                assert!(text.chars().count() <= SHOWN_MAX + 2, "{text}");
            }
        }
    }
}
