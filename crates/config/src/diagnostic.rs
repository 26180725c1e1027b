//! What is wrong, where, and what to write instead; for a person and as JSON.
//!
//! Nothing here knows which file is read. A [`Diagnostic`] carries the line it shows, already freed of words
//! that must not be repeated, so it can be kept, sorted and printed without the file.

use std::fmt;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthChar;

use crate::source::{Place, Snippet, SourceKind};
use holdfast_types::printable;

/// More than this at once helps nobody; the rest is counted.
pub const SHOWN_MAX: usize = 20;

/// The kinds of mistakes, as stable words for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// More bytes, nodes or levels than are read.
    TooLarge,
    /// Not UTF-8, or a character that cannot be used.
    NotText,
    /// Not YAML.
    Syntax,
    /// YAML that is not used here: anchors, tags, several documents, keys that are not text.
    NotUsed,
    DuplicateKey,
    UnknownKey,
    WrongType,
    OutOfRange,
    /// Text of the wrong form, or not one of the choices.
    WrongValue,
    /// Two keys that do not go together.
    Combination,
    Version,
    /// A secret written where its name belongs.
    PlainSecret,
    /// A flag or variable that does not name a key.
    BadFlag,
}

impl Code {
    pub fn word(self) -> &'static str {
        match self {
            Code::TooLarge => "too-large",
            Code::NotText => "not-text",
            Code::Syntax => "syntax",
            Code::NotUsed => "not-used",
            Code::DuplicateKey => "duplicate-key",
            Code::UnknownKey => "unknown-key",
            Code::WrongType => "wrong-type",
            Code::OutOfRange => "out-of-range",
            Code::WrongValue => "wrong-value",
            Code::Combination => "combination",
            Code::Version => "version",
            Code::PlainSecret => "plain-secret",
            Code::BadFlag => "bad-flag",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub file: String,
    pub kind: SourceKind,
    /// Where its source comes among the others.
    pub order: usize,
    pub place: Place,
    pub code: Code,
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    pub snippet: Option<Snippet>,
    /// The other places a combination is made of.
    pub related: Vec<Related>,
}

/// Another place that has to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    pub message: String,
    /// Nothing for a built-in default, which is written nowhere.
    pub at: Option<RelatedPlace>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedPlace {
    pub file: String,
    pub kind: SourceKind,
    pub place: Place,
    pub snippet: Option<Snippet>,
}

impl Diagnostic {
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub fn related(mut self, related: Vec<Related>) -> Diagnostic {
        self.related = related;
        self
    }

    /// `config.yaml:7:3: message`, the line, the marks, what else belongs to it, and what to write.
    pub fn render(&self) -> String {
        let mut out = format!("{}: {}\n", spot(&self.file, self.kind, self.place), printable(&self.message));
        marks(&mut out, self.kind, self.place, self.snippet.as_ref());
        for related in &self.related {
            match &related.at {
                Some(at) => {
                    let spot = spot(&at.file, at.kind, at.place);
                    out.push_str(&format!("  {spot}: {}\n", printable(&related.message)));
                    marks(&mut out, at.kind, at.place, at.snippet.as_ref());
                }
                None => out.push_str(&format!("  {}\n", printable(&related.message))),
            }
        }
        if let Some(help) = &self.help {
            out.push_str(&format!("  {}\n", printable(help)));
        }
        out
    }

    pub fn json(&self) -> Value {
        let related: Vec<Value> = self.related.iter().map(Related::json).collect();
        json!({
            "file": self.file,
            "line": self.place.line,
            "column": self.place.column,
            "length": self.place.len,
            "code": self.code.word(),
            "message": self.message,
            "help": self.help,
            "related": related,
        })
    }
}

impl Related {
    fn json(&self) -> Value {
        let at = self.at.as_ref();
        json!({
            "message": self.message,
            "file": at.map(|at| &at.file),
            "line": at.map(|at| at.place.line),
            "column": at.map(|at| at.place.column),
            "length": at.map(|at| at.place.len),
        })
    }
}

/// Collects what one step finds, in the order it is written. Only those that can be shown are made.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    kept: Vec<Diagnostic>,
    more: usize,
}

impl Sink {
    pub fn push(&mut self, make: impl FnOnce() -> Diagnostic) {
        if self.kept.len() < SHOWN_MAX {
            self.kept.push(make());
        } else {
            self.more += 1;
        }
    }

    /// For a step that does not go in the order of the file and finds few things.
    pub fn keep(&mut self, diagnostic: Diagnostic) {
        self.kept.push(diagnostic);
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

/// All that is wrong, in the order it is written, bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    first: Vec<Diagnostic>,
    more: usize,
}

impl Diagnostics {
    /// Sorts by source and place, keeps the first [`SHOWN_MAX`] and counts the rest.
    pub fn new(found: impl IntoIterator<Item = Sink>) -> Diagnostics {
        let (mut all, mut more) = (Vec::new(), 0);
        for sink in found {
            all.extend(sink.kept);
            more += sink.more;
        }
        all.sort_by_key(|d| (d.order, d.place.line, d.place.column));
        more += all.len().saturating_sub(SHOWN_MAX);
        all.truncate(SHOWN_MAX);
        Diagnostics { first: all, more }
    }

    pub fn first(&self) -> &[Diagnostic] {
        &self.first
    }

    /// How many there are, with those that are not kept.
    pub fn count(&self) -> usize {
        self.first.len() + self.more
    }

    pub fn render(&self) -> String {
        let mut out: String = self.first.iter().map(Diagnostic::render).collect::<Vec<_>>().join("\n");
        if self.more > 0 {
            out.push_str(&format!("\nand {} more\n", self.more));
        }
        out
    }

    pub fn json(&self) -> Value {
        let all: Vec<Value> = self.first.iter().map(Diagnostic::json).collect();
        json!({ "diagnostics": all, "more": self.more })
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(one: Diagnostic) -> Diagnostics {
        Diagnostics { first: vec![one], more: 0 }
    }
}

/// The first one in a line: what fits where only one line is shown.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.first.first() else { return f.write_str("nothing is wrong") };
        write!(f, "{}: {}", spot(&first.file, first.kind, first.place), printable(&first.message))?;
        match self.count() - 1 {
            0 => Ok(()),
            more => write!(f, " (and {more} more)"),
        }
    }
}

fn spot(file: &str, kind: SourceKind, place: Place) -> String {
    match kind {
        SourceKind::File => format!("{}:{}:{}", printable(file), place.line, place.column),
        SourceKind::Value => printable(file),
    }
}

fn marks(out: &mut String, kind: SourceKind, place: Place, snippet: Option<&Snippet>) {
    let Some(snippet) = snippet else { return };
    let number = match kind {
        SourceKind::File => place.line.to_string(),
        SourceKind::Value => " ".to_owned(),
    };
    let gap = " ".repeat(number.len());
    // A wide character takes two columns, and so do the marks below it.
    let width = |from: usize, len: usize| -> usize {
        snippet.text.chars().skip(from).take(len).filter_map(char::width).sum()
    };
    let carets = "^".repeat(width(snippet.from, snippet.len).max(1));
    let indent = " ".repeat(width(0, snippet.from));
    out.push_str(&format!("  {number} | {}\n  {gap} | {indent}{carets}\n", printable(&snippet.text)));
}
