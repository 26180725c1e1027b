//! One entry in the notes: its record, and the same for people.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::escape;
use crate::entry::{Body, Entry, Header};
use crate::id::MemoryId;
use crate::state::Standing;

const BEGIN: &str = "<!-- holdfast:entry ";
const CLOSE: &str = " -->";
const END: &str = "<!-- /holdfast:entry -->";
/// Characters of the checksum: enough to notice any edit, short enough for a line.
const SUM_LEN: usize = 16;
/// More lines than an entry can have. A block without an end mark is only its record.
const LINES_MAX: usize = 20_000;

/// An entry and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    pub entry: Entry,
    pub standing: Standing,
    /// Entries it contradicts.
    pub conflicts: Vec<MemoryId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub noted: Noted,
    /// What somebody made of the rendering, where it is not what was written.
    edited: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    v: u16,
    header: Header,
    body: Body,
    standing: Standing,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<MemoryId>,
}

impl Block {
    pub(super) fn new(noted: Noted) -> Block {
        Block { noted, edited: None }
    }

    pub fn edited(&self) -> Option<&str> {
        self.edited.as_deref()
    }

    /// What somebody made of the text itself, to be taken in before the block is rendered again; nothing where the text is the same.
    pub fn edited_text(&self) -> Option<String> {
        let quoted = self.edited.as_ref()?.lines().filter_map(|line| line.strip_prefix('>'));
        let lines: Vec<String> =
            quoted.map(|line| escape::plain(line.strip_prefix(' ').unwrap_or(line))).collect();
        Some(lines.join("\n")).filter(|text| !text.trim().is_empty() && text != self.noted.entry.text())
    }

    pub(super) fn is_end(line: &str) -> bool {
        line.trim_end() == END
    }

    pub(super) fn is_begun(line: &str) -> bool {
        line.trim_start().starts_with(BEGIN.trim_end())
    }

    /// The block that begins on the first of these lines, and how many of them it has.
    pub(super) fn parse(lines: &[&str]) -> Option<(Block, usize)> {
        let first = lines.first()?.trim_end_matches('\r');
        let (sum, json) = first.strip_prefix(BEGIN)?.strip_suffix(CLOSE)?.split_once(' ')?;
        if sum != self::sum(json) {
            return None;
        }
        let record: Record = serde_json::from_str(json).ok().filter(|record: &Record| record.v == 1)?;
        let entry = Entry { header: record.header, body: record.body };
        let mut block = Block::new(Noted { entry, standing: record.standing, conflicts: record.conflicts });
        let rest = &lines[1..lines.len().min(LINES_MAX)];
        let another = |line: &&str| Block::is_begun(line) || line.starts_with("## ");
        let until = rest.iter().position(another).unwrap_or(rest.len());
        let Some(end) = rest[..until].iter().position(|line| line.trim_end() == END) else {
            return Some((block, 1));
        };
        let shown = rest[..end].join("\n");
        if shown != block.shown() {
            block.edited = Some(shown);
        }
        Some((block, end + 2))
    }

    pub(super) fn render(&self) -> String {
        let json = self.record();
        let shown = self.edited.clone().unwrap_or_else(|| self.shown());
        format!("{BEGIN}{} {json}{CLOSE}\n{shown}\n{END}", sum(&json))
    }

    fn record(&self) -> String {
        let Noted { entry, standing, conflicts } = self.noted.clone();
        let record = Record { v: 1, header: entry.header, body: entry.body, standing, conflicts };
        // These types have string keys and finite numbers only: there is nothing a JSON writer could refuse.
        escape::json(&serde_json::to_string(&record).unwrap_or_default())
    }

    /// For people: a heading, the text as a quotation, the tags, and what became of it.
    fn shown(&self) -> String {
        let Noted { entry, standing, conflicts } = &self.noted;
        let Header { id, entry_type, source, confidence, .. } = &entry.header;
        let mut out =
            format!("### {id} · {} · {} · {:.2}\n", entry_type.as_str(), source.as_str(), confidence.get());
        for line in entry.text().split('\n') {
            let line = escape::inline(line);
            let _ = write!(out, "\n> {line}");
        }
        if !entry.body.tags.is_empty() {
            let tags: Vec<String> = entry.body.tags.iter().map(escape::inline).collect();
            let _ = write!(out, "\n\nTags: {}", tags.join(", "));
        }
        if let Standing::Merged { into: by, .. } | Standing::Superseded { by } = standing {
            let _ = write!(out, "\n\nSuperseded by {by}.");
        }
        if !conflicts.is_empty() {
            let ids: Vec<String> = conflicts.iter().map(MemoryId::to_string).collect();
            let _ = write!(out, "\n\nContradicts {}.", ids.join(", "));
        }
        out
    }
}

fn sum(json: &str) -> String {
    blake3::hash(json.as_bytes()).to_hex()[..SUM_LEN].to_owned()
}
