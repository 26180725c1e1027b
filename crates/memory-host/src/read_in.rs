//! What is worth keeping of a written text: it is divided and offered to capture piece by piece, each with the span it came from. The files
//! themselves are found and read in `files.rs`, which may be done elsewhere and with other rights.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use holdfast_memory::event::{Event, FileRead};
use holdfast_memory::{
    Body, Confidence, Considered, Content, Draft, EntryType, Gates, Label, MemoryId, Record, Redactor, Said,
    Scope, Source, Span, Tags, consider, pieces,
};

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::files::{Files, Part, Skipped};
use crate::memories::{By, Memories, Outcome, Passage};
use crate::sealed;

const PIECES_MAX: usize = 2_000;
/// What a file says, somebody took the trouble to write.
const CONFIDENCE: f64 = 0.9;

/// What came of reading a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadIn {
    pub files: usize,
    pub captured: Vec<MemoryId>,
    /// Pieces that were captured before, from the same file.
    pub known: usize,
    pub refused: BTreeMap<&'static str, u64>,
    pub blocked: u64,
    pub skipped: Vec<(PathBuf, Skipped)>,
}

/// What came of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenIn {
    pub captured: Vec<MemoryId>,
    pub known: usize,
    pub refused: BTreeMap<&'static str, u64>,
    pub blocked: u64,
}

/// What would come of a text, as far as that can be told without looking what is here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WouldTake {
    pub captured: u64,
    pub refused: BTreeMap<&'static str, u64>,
    pub blocked: u64,
}

impl Memories {
    /// Reads a file, or the files of a folder, for what is worth keeping. Links and hidden names are passed over. Repeated it captures what
    /// is new.
    pub fn read_in(&self, agent: &AgentName, path: &Path, by: &By) -> Result<ReadIn> {
        let mut files = Files::beside(&self.options.folder);
        files.take(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let mut read = ReadIn { files: files.read.len(), skipped: files.skipped, ..ReadIn::default() };
        for part in files.read.iter().flat_map(|file| file.parts()) {
            read.add(self.take_in(agent, &part, by)?);
        }
        Ok(read)
    }

    /// Takes in what is worth keeping of a text that somebody read. A piece that is here already, from a file of the same name, is known again. What
    /// the gates refuse is counted and not written down by itself: whoever reads a file after each change of it would write it down each time.
    pub fn take_in(&self, agent: &AgentName, part: &Part<'_>, by: &By) -> Result<TakenIn> {
        let mut taken = TakenIn::default();
        let mut worthy = Vec::new();
        for (range, foreign) in pieces_of(part) {
            if self.is_here(agent, Some(foreign.as_str()))?.is_some() {
                taken.known += 1;
                continue;
            }
            let draft = draft(part.name, &part.text[range.clone()], foreign)?;
            match consider(draft.clone(), self.options.redactor.as_ref(), &self.options.gates) {
                Considered::Accepted(_) => worthy.push((range, draft)),
                Considered::Rejected(refusal) => {
                    *taken.refused.entry(refusal.gate.as_str()).or_default() += 1
                }
                Considered::Blocked { .. } => taken.blocked += 1,
                Considered::TooLong(e) => return Err(e.into()),
            }
        }
        if worthy.is_empty() {
            return Ok(taken);
        }
        let origin = self.note_reading(agent, part, worthy.len(), &taken, by)?;
        for (range, draft) in worthy {
            let from = [Passage { seq: origin, span: span(&range, part.at) }];
            if let Outcome::Captured(captured) = self.capture_from(agent, draft, by, &from, None)? {
                taken.captured.push(captured.id);
            }
        }
        Ok(taken)
    }

    /// Writes down that a text was read, which is where its memories come from.
    fn note_reading(
        &self,
        agent: &AgentName,
        part: &Part<'_>,
        worthy: usize,
        taken: &TakenIn,
        by: &By,
    ) -> Result<u64> {
        let refused = taken.refused.values().sum::<u64>() + taken.blocked;
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let read = FileRead {
            bytes: part.text.len() as u64,
            pieces: small(worthy as u64 + refused),
            refused: small(refused),
        };
        let event = sealed::happened(&Event::FileRead(read), by.actor.clone(), agent.id())?;
        Ok(self.options.journal.append(&event)?.seq)
    }
}

impl ReadIn {
    fn add(&mut self, taken: TakenIn) {
        let TakenIn { captured, known, refused, blocked } = taken;
        self.captured.extend(captured);
        self.known += known;
        self.blocked += blocked;
        refused.into_iter().for_each(|(gate, n)| *self.refused.entry(gate).or_default() += n);
    }
}

/// What would come of a text. Nothing is written.
pub fn would_take(part: &Part<'_>, redactor: &dyn Redactor, gates: &Gates) -> Result<WouldTake> {
    let mut would = WouldTake::default();
    for (range, foreign) in pieces_of(part) {
        match consider(draft(part.name, &part.text[range], foreign)?, redactor, gates) {
            Considered::Accepted(_) => would.captured += 1,
            Considered::Rejected(refusal) => *would.refused.entry(refusal.gate.as_str()).or_default() += 1,
            Considered::Blocked { .. } => would.blocked += 1,
            Considered::TooLong(e) => return Err(e.into()),
        }
    }
    Ok(would)
}

/// The pieces of a text, each with what it is known by. What it says twice is taken once.
fn pieces_of(part: &Part<'_>) -> Vec<(Range<usize>, String)> {
    let mut seen = BTreeSet::new();
    let named = |range: Range<usize>| {
        let foreign = foreign_id(part.name, &part.text[range.clone()]);
        seen.insert(foreign.clone()).then_some((range, foreign))
    };
    pieces(part.text).into_iter().take(PIECES_MAX).filter_map(named).collect()
}

/// The same piece of the same file is known again by this. It is kept with the text, and forgotten with it.
fn foreign_id(name: &str, text: &str) -> String {
    let digest = blake3::hash(text.as_bytes()).to_hex();
    format!("{}#{}", on_one_line(name), &digest[..16])
}

fn draft(name: &str, text: &str, foreign: String) -> Result<Draft> {
    let body = Body {
        content: Content::new(text)?,
        tags: Tags::default(),
        source_id: Some(Label::new(foreign)?),
        said: Some(Said { at: None, thread: Label::new(on_one_line(name)).ok() }),
        record: Record::default(),
    };
    let claimed = Confidence::new(CONFIDENCE).map_err(holdfast_memory::DraftError::from)?;
    let (entry_type, source, scope) = (EntryType::Fact, Source::Observation, Scope::Project);
    Ok(Draft { entry_type, source, claimed, scope, body })
}

/// A name as a label takes it, with room for the digest.
fn on_one_line(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    crate::import::short(&name, 400).to_owned()
}

/// Which bytes of the file a piece is, of a part that begins somewhere in it.
fn span(range: &Range<usize>, at: u64) -> Option<Span> {
    let place = |offset: usize| u32::try_from(at.checked_add(offset as u64)?).ok();
    Span::new(place(range.start)?, place(range.end)?).ok()
}
