//! YAML as a tree that knows where each part is written.
//!
//! A small YAML: maps, lists and scalars in one document. What could make a file mean something else than it
//! seems to is refused at its place: a key written twice, anchors, aliases, merge keys, tags, directives, keys
//! that are not text. Everything is bounded, so a hostile file costs no more than an honest one.
//!
//! What a scalar means is decided in [`Scalar::meaning`]: `true`, `false`, `null`, whole numbers, and text. `yes` is text.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use crate::diagnostic::{Code, Diagnostic, Sink};
use crate::quote::{is_key_like, quoted};
use crate::scalar::{Meaning, Scalar};
use crate::source::{Place, Reveal, Source};
use crate::syntax;

/// Deeper than any file a person would want to read.
pub const DEPTH_MAX: usize = 32;
pub const NODES_MAX: usize = 10_000;
/// Brackets and commas that may stand in a text, in comments too. The parser keeps a whole list in brackets in mind
/// before it tells of the first item, so they are counted before it begins.
const SEPARATORS_MAX: usize = 20_000;

#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    pub place: Place,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Scalar(Scalar),
    Map(Vec<Entry>),
    List(Vec<Node>),
    /// Was refused already; nothing more is to be said about it.
    Refused,
}

/// One key of a map with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub key_place: Place,
    pub value: Node,
}

impl Entry {
    /// Where a person looks for the value: its own place, or the key when the value is empty or further down.
    pub fn place(&self) -> Place {
        let empty = matches!(&self.value.kind, Kind::Scalar(scalar) if scalar.is_empty());
        if empty || self.value.place.line != self.key_place.line { self.key_place } else { self.value.place }
    }
}

impl Node {
    /// What it is, in words, for a message that may repeat it.
    pub fn found(&self) -> String {
        match &self.kind {
            Kind::Scalar(scalar) => scalar.found(),
            Kind::Map(_) => "a map".to_owned(),
            Kind::List(_) => "a list".to_owned(),
            Kind::Refused => "refused".to_owned(),
        }
    }

    /// What it is, in words, for a message that must not repeat it.
    pub fn found_unsaid(&self) -> &'static str {
        match &self.kind {
            Kind::Scalar(scalar) if scalar.is_empty() => "empty",
            Kind::Scalar(_) => "a plain value",
            Kind::Map(_) => "another map",
            Kind::List(_) => "a list",
            Kind::Refused => "refused",
        }
    }
}

/// What came of a text.
#[derive(Debug)]
pub struct Parsed {
    /// Nothing when the text holds nothing, or cannot be read to its end.
    pub root: Option<Node>,
    pub found: Sink,
}

pub fn parse(source: &Source) -> Parsed {
    if let Some(stop) = too_many_separators(source) {
        let mut found = Sink::default();
        found.push(|| stop);
        return Parsed { root: None, found };
    }
    let mut builder =
        Builder { source, open: Vec::new(), root: None, nodes: 0, documents: 0, found: Sink::default() };
    let mut parser = Parser::new_from_str(source.text());
    match builder.run(&mut parser) {
        Ok(()) => Parsed { root: builder.root, found: builder.found },
        Err(stop) => {
            builder.found.push(|| *stop);
            Parsed { root: None, found: builder.found }
        }
    }
}

fn too_many_separators(source: &Source) -> Option<Diagnostic> {
    let separator = |(_, byte): &(usize, u8)| matches!(byte, b',' | b'[' | b'{');
    let (at, _) = source.text().bytes().enumerate().filter(separator).nth(SEPARATORS_MAX)?;
    let message = format!("there are more than {SEPARATORS_MAX} commas and brackets");
    Some(
        source
            .diagnostic(source.place_at(at), Reveal::KnownWords, Code::TooLarge, message)
            .help("check that this is the right file"),
    )
}

struct Builder<'a> {
    source: &'a Source,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
    documents: usize,
    found: Sink,
}

/// A map or list whose end has not come yet.
struct Open {
    place: Place,
    holds: Holds,
    /// Refused as a whole, for instance because it has a tag.
    refused: bool,
}

enum Holds {
    Items(Vec<Node>),
    Entries { entries: Vec<Entry>, seen: HashMap<String, Place>, key: Option<Key> },
}

/// A key whose value has not come yet. Without a name it was refused, and its value is dropped.
struct Key {
    name: Option<String>,
    place: Place,
}

impl Builder<'_> {
    /// Stops at what cannot be read on from; what can is noted, and reading goes on.
    fn run(&mut self, parser: &mut Parser<'_, StrInput<'_>>) -> Result<(), Box<Diagnostic>> {
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|e| Box::new(syntax::explain(self.source, &e)))?;
            match event {
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                Event::DocumentStart(_) => self.document(span)?,
                Event::Alias(_) => {
                    let place = self.place(span);
                    self.not_used(place, "an alias (`*`)", "write the value out where it is used");
                    self.count(place)?;
                    self.add(Node { kind: Kind::Refused, place });
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let refused = self.properties(span, anchor, tag.is_some());
                    self.scalar(&text, style, span, refused)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    let refused = self.properties(span, anchor, tag.is_some());
                    self.begin(span, Holds::Items(Vec::new()), refused)?;
                }
                Event::MappingStart(anchor, tag) => {
                    let refused = self.properties(span, anchor, tag.is_some());
                    let holds = Holds::Entries { entries: Vec::new(), seen: HashMap::new(), key: None };
                    self.begin(span, holds, refused)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.end(span),
            }
        }
        Ok(())
    }

    fn document(&mut self, span: Span) -> Result<(), Box<Diagnostic>> {
        self.documents += 1;
        let place = self.place(span);
        if self.documents > 1 {
            let message = "a second document begins here, and a file holds one";
            let stop = self.source.diagnostic(place, Reveal::KnownWords, Code::NotUsed, message);
            return Err(Box::new(stop.help("remove the `---`, or what follows it")));
        }
        let directive =
            (1..place.line).find(|&line| self.source.line(line).is_some_and(|l| l.starts_with('%')));
        if let Some(line) = directive {
            let place = Place { line, column: 1, len: 1 };
            self.not_used(place, "a directive (`%`)", "remove the line");
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        span: Span,
        refused: bool,
    ) -> Result<(), Box<Diagnostic>> {
        let place = self.place(span);
        self.count(place)?;
        // The parser writes `~` where nothing is written.
        let empty = span.start.index() == span.end.index();
        let scalar = Scalar::new(if empty { "" } else { text }, style == ScalarStyle::Plain);
        let control = scalar.text().chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        if control {
            self.found.push(|| {
                let message = "an escape in this text stands for a control character";
                self.source
                    .diagnostic(place, Reveal::KnownWords, Code::NotText, message)
                    .help("write it without that escape")
            });
        }
        let kind = if refused || control { Kind::Refused } else { Kind::Scalar(scalar) };
        self.add(Node { kind, place });
        Ok(())
    }

    fn begin(&mut self, span: Span, holds: Holds, refused: bool) -> Result<(), Box<Diagnostic>> {
        let place = self.place(span);
        self.count(place)?;
        if self.open.len() >= DEPTH_MAX {
            let message = format!("this is nested deeper than {DEPTH_MAX} levels");
            return Err(Box::new(self.source.diagnostic(place, Reveal::KnownWords, Code::TooLarge, message)));
        }
        self.open.push(Open { place, holds, refused });
        Ok(())
    }

    fn end(&mut self, span: Span) {
        let Some(Open { mut place, holds, refused }) = self.open.pop() else { return };
        let closing = span.end.col() + 1;
        if span.end.line() == place.line && closing > place.column {
            place.len = closing - place.column;
        }
        let kind = match holds {
            _ if refused => Kind::Refused,
            Holds::Items(items) => Kind::List(items),
            Holds::Entries { entries, .. } => Kind::Map(entries),
        };
        self.add(Node { kind, place });
    }

    /// Puts a finished node where it belongs: into the list, behind its key, or as the key itself.
    fn add(&mut self, node: Node) {
        let source = self.source;
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        match &mut open.holds {
            Holds::Items(items) => items.push(node),
            Holds::Entries { key: key @ None, seen, .. } => {
                *key = Some(as_key(source, &mut self.found, seen, node));
            }
            Holds::Entries { entries, key, .. } => {
                if let Some(Key { name: Some(name), place }) = key.take() {
                    entries.push(Entry { key: name, key_place: place, value: node });
                }
            }
        }
    }

    /// Refuses anchors and tags. Says whether there was one.
    fn properties(&mut self, span: Span, anchor: usize, tag: bool) -> bool {
        let place = self.place(span);
        // Looked for only where it is told: a line of nothing but marks would be looked through for each.
        let source = self.source;
        if anchor > 0 {
            let help = "write the value out where it is used";
            self.found.push(|| not_used(source, mark_before(source, place, '&'), "an anchor (`&`)", help));
        }
        if tag {
            let help = "remove it: every key knows its type";
            self.found.push(|| not_used(source, mark_before(source, place, '!'), "a tag (`!`)", help));
        }
        anchor > 0 || tag
    }

    fn not_used(&mut self, place: Place, what: &str, help: &str) {
        self.found.push(|| not_used(self.source, place, what, help));
    }

    fn count(&mut self, place: Place) -> Result<(), Box<Diagnostic>> {
        self.nodes += 1;
        if self.nodes <= NODES_MAX {
            return Ok(());
        }
        let message = format!("there are more than {NODES_MAX} keys and values");
        Err(Box::new(self.source.diagnostic(place, Reveal::KnownWords, Code::TooLarge, message)))
    }

    fn place(&self, span: Span) -> Place {
        let (line, column) = (span.start.line(), span.start.col() + 1);
        // Something empty at the end of a text is placed behind its last line.
        if self.source.line(line).is_none_or(str::is_empty) {
            return self.source.last_written(line);
        }
        let len = if span.end.line() == line {
            span.end.col() + 1 - column.min(span.end.col() + 1)
        } else {
            let text = self.source.line(line).unwrap_or_default();
            text.trim_end().chars().count().saturating_sub(span.start.col())
        };
        Place { line, column, len: len.max(1) }
    }
}

/// The parser gives the place of the node; its mark stands before it, mostly in the same line.
fn mark_before(source: &Source, place: Place, mark: char) -> Place {
    let near = (place.line.saturating_sub(1)..=place.line).rev();
    let found = near.filter(|line| *line > 0).find_map(|line| {
        let until = if line == place.line { place.column - 1 } else { usize::MAX };
        let text: Vec<char> = source.line(line)?.chars().take(until).collect();
        let last = text.iter().rposition(|c| *c == mark)?;
        // `!!str` begins with its first mark.
        let first = text[..last].iter().rposition(|c| *c != mark).map_or(0, |before| before + 1);
        Some((line, first + 1))
    });
    found.map_or(place, |(line, column)| Place { line, column, len: 1 })
}

fn not_used(source: &Source, place: Place, what: &str, help: &str) -> Diagnostic {
    let message = format!("{what} is YAML that is not used here");
    source.diagnostic(place, Reveal::KnownWords, Code::NotUsed, message).help(help)
}

/// Takes a node as a key: text, written once, with no meaning of its own in YAML.
fn as_key(source: &Source, found: &mut Sink, seen: &mut HashMap<String, Place>, node: Node) -> Key {
    let place = node.place;
    let refused = Key { name: None, place };
    let mut refuse = |code, message: String, help: &str| {
        found.push(|| source.diagnostic(place, Reveal::KnownWords, code, message).help(help));
    };
    let scalar = match node.kind {
        Kind::Scalar(scalar) => scalar,
        Kind::Refused => return refused,
        Kind::Map(_) | Kind::List(_) => {
            refuse(Code::NotUsed, "a key is text, and this is a map or a list".into(), "write a plain word");
            return refused;
        }
    };
    if scalar.is_merge_key() {
        refuse(
            Code::NotUsed,
            "a merge key (`<<`) is YAML that is not used here".into(),
            "write the keys out",
        );
        return refused;
    }
    let meaning = match scalar.meaning() {
        Meaning::Text(_) => None,
        Meaning::Empty => Some(("a key is missing here".to_owned(), "write it before the `:`")),
        Meaning::Ambiguous(word) => {
            let message = format!("the key `{word}` is not text for every reader of YAML");
            Some((message, "put it in quotes, or write another word"))
        }
        Meaning::Null | Meaning::Bool(_) | Meaning::Whole(_) | Meaning::OtherNumber => {
            let message = "a key is text, and this is a number, `true`, `false` or `null`";
            Some((message.to_owned(), "write a plain word"))
        }
    };
    if let Some((message, help)) = meaning {
        refuse(Code::NotUsed, message, help);
        return refused;
    }
    let name = scalar.into_text();
    if let Some(before) = seen.get(&name) {
        let shown =
            if is_key_like(&name) { format!("the key {}", quoted(&name)) } else { "this key".to_owned() };
        let message = format!("{shown} was written already, at {}:{}", before.line, before.column);
        refuse(Code::DuplicateKey, message, "keep one of the two");
        return refused;
    }
    seen.insert(name.clone(), place);
    Key { name: Some(name), place }
}
