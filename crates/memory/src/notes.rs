//! Notes people read: session notes, monthly files, the decision log. Markdown with the record of each entry beside its rendering.
//!
//! A [`Document`] is lines and blocks. A block is one entry: its record in a comment on one line, with a checksum, then the same for
//! people, then an end mark. Reading goes by the record alone, so that no edit beside an entry can change it; what somebody wrote
//! between blocks stays where it is. Everything written is escaped: no text can end a comment, make a row, a heading or a second block,
//! or turn the text around it.
//!
//! Notes are rendered from the journal, which is the truth. What was edited inside a block is reported ([`Block::edited`]), so that it is
//! taken in before the block is rendered again. The bytes are drawn in `docs/formats/notes.md`.

mod block;
mod escape;
mod row;

use crate::id::MemoryId;

pub use block::{Block, Noted};
pub use row::{Row, RowKind};

/// A document of notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Line(String),
    Block(Box<Block>),
}

/// Where entries stand in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    SessionMemory,
    Memories,
    Decisions,
}

impl Section {
    pub fn heading(self) -> &'static str {
        match self {
            Section::SessionMemory => "## Session Memory",
            Section::Memories => "## Memories",
            Section::Decisions => "## Decisions",
        }
    }
}

impl Document {
    /// Any text is a document. What only looks like a block stays text and is counted by [`Document::damaged`].
    pub fn parse(text: &str) -> Document {
        let lines: Vec<&str> = if text.is_empty() { Vec::new() } else { text.split('\n').collect() };
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            match Block::parse(&lines[at..]) {
                Some((block, taken)) => {
                    pieces.push(Piece::Block(Box::new(block)));
                    at += taken;
                }
                None => {
                    pieces.push(Piece::Line(lines[at].to_owned()));
                    at += 1;
                }
            }
        }
        Document { pieces }
    }

    pub fn render(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Line(line) => line.clone(),
            Piece::Block(block) => block.render(),
        };
        self.pieces.iter().map(piece).collect::<Vec<_>>().join("\n")
    }

    /// A document with this title and these entries, in order.
    pub fn of(title: &str, section: Section, entries: impl IntoIterator<Item = Noted>) -> Document {
        let title = escape::inline(title);
        let mut document = Document::parse(&format!("# {title}\n"));
        document.ensure(section.heading());
        entries.into_iter().for_each(|noted| document.put(section, noted));
        document
    }

    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Block(block) => Some(&**block),
            Piece::Line(_) => None,
        })
    }

    /// Lines that begin like a record and are none: cut, or with a changed byte.
    pub fn damaged(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Line(line) if Block::is_begun(line))).count()
    }

    /// Takes out what is left of damaged blocks: the line that begins like a record, and what was for people below it. The journal has the
    /// entries; left here, a text that was forgotten would stay.
    pub fn mend(&mut self) -> usize {
        let mut mended = 0;
        while let Some(at) =
            self.pieces.iter().position(|piece| matches!(piece, Piece::Line(line) if Block::is_begun(line)))
        {
            let below = &self.pieces[at + 1..];
            let is_other = |piece: &Piece| match piece {
                Piece::Block(_) => true,
                Piece::Line(line) => line.starts_with("## ") || Block::is_begun(line),
            };
            let until = below.iter().position(is_other).unwrap_or(below.len());
            let is_end = |piece: &Piece| matches!(piece, Piece::Line(line) if Block::is_end(line));
            let end = below[..until].iter().position(is_end).map_or(until, |end| end + 1);
            self.pieces.drain(at..at + 1 + end);
            mended += 1;
        }
        mended
    }

    /// Whether it has nothing but what [`Document::of`] and rows put there.
    pub fn is_all_ours(&self, title: &str, section: Section) -> bool {
        let mut same = Document::of(title, section, self.blocks().map(|block| block.noted.clone()));
        self.rows().for_each(|row| same.add_row(&row));
        same == *self
    }

    /// Writes an entry in place, or at the end of its section.
    pub fn put(&mut self, section: Section, noted: Noted) {
        let id = noted.entry.id();
        let block = Piece::Block(Box::new(Block::new(noted)));
        match self.position(id) {
            Some(at) => self.pieces[at] = block,
            None => {
                let heading = self.ensure(section.heading());
                let at = self.end_of(heading, |piece| matches!(piece, Piece::Block(_)));
                self.pieces.insert(at, block);
            }
        }
    }

    /// Takes out these entries and nothing else.
    pub fn clear(&mut self, ids: &[MemoryId]) {
        self.pieces
            .retain(|piece| !matches!(piece, Piece::Block(block) if ids.contains(&block.noted.entry.id())));
    }

    /// Adds an event's row to the section of its kind.
    pub fn add_row(&mut self, row: &Row) {
        let heading = self.ensure(row.kind.heading());
        let end = self.end_of(heading, |piece| matches!(piece, Piece::Line(line) if line.starts_with('|')));
        if end == heading + 1 {
            let head = row::HEAD.iter().map(|line| Piece::Line((*line).to_owned()));
            let row = Piece::Line(row.render());
            self.pieces.splice(end..end, head.chain([row]));
        } else {
            self.pieces.insert(end, Piece::Line(row.render()));
        }
    }

    pub fn rows(&self) -> impl Iterator<Item = Row> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Line(line) => Row::parse(line),
            Piece::Block(_) => None,
        })
    }

    /// Whether it has grown beyond what its reader can take in.
    pub fn is_beyond(&self, bytes_max: usize) -> bool {
        self.render().len() > bytes_max
    }

    fn position(&self, id: MemoryId) -> Option<usize> {
        self.pieces
            .iter()
            .position(|piece| matches!(piece, Piece::Block(block) if block.noted.entry.id() == id))
    }

    /// Where this heading stands; it is added at the end where it is missing.
    fn ensure(&mut self, heading: &str) -> usize {
        let is_it = |piece: &Piece| matches!(piece, Piece::Line(line) if line.trim_end() == heading);
        if let Some(at) = self.pieces.iter().position(is_it) {
            return at;
        }
        let last_blank = matches!(self.pieces.last(), Some(Piece::Line(line)) if line.is_empty());
        if !self.pieces.is_empty() && !last_blank {
            self.pieces.push(Piece::Line(String::new()));
        }
        self.pieces.push(Piece::Line(heading.to_owned()));
        self.pieces.push(Piece::Line(String::new()));
        self.pieces.len() - 2
    }

    /// After the last such piece of the section that begins at `heading`, or right after the heading.
    fn end_of(&self, heading: usize, counts: impl Fn(&Piece) -> bool) -> usize {
        let section = self.pieces[heading + 1..].iter().enumerate();
        let within =
            section.take_while(|(_, piece)| !matches!(piece, Piece::Line(line) if line.starts_with("## ")));
        let last = within.filter(|(_, piece)| counts(piece)).last();
        last.map_or(heading + 1, |(at, _)| heading + at + 2)
    }
}

#[cfg(test)]
mod tests;
