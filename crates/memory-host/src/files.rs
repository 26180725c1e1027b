//! What is worth keeping of written files: a file or a folder is read, divided, and offered to capture piece by piece, each with the span it
//! came from. Memory's own files are never read: they would become memories of memories.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use holdfast_memory::event::{Event, FileRead};
use holdfast_memory::{
    Body, Confidence, Content, Draft, EntryType, Label, MemoryId, Record, Said, Scope, Source, Span, Tags,
    pieces,
};

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::{By, Memories, Outcome, Passage};
use crate::sealed;

/// What is longer is data, or a book.
const BYTES_MAX: u64 = 1 << 20;
const FILES_MAX: usize = 1_000;
const DEPTH_MAX: usize = 8;
const PIECES_MAX: usize = 2_000;
/// What a file says, somebody took the trouble to write.
const CONFIDENCE: f64 = 0.9;

/// What came of reading.
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

/// Why a file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// Memory wrote it itself.
    OurOwn,
    TooLong,
    NotText,
    /// There were enough before it.
    TooMany,
    Unreadable,
}

impl Memories {
    /// Reads a file, or the files of a folder, for what is worth keeping. Links and hidden names are passed over. Repeated it captures what
    /// is new.
    pub fn read_in(&self, agent: &AgentName, path: &Path, by: &By) -> Result<ReadIn> {
        let mut read = ReadIn::default();
        let root = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        for file in self.files_of(path, &mut read)? {
            let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
            match text_of(&file) {
                Ok(text) => {
                    read.files += 1;
                    self.read_text(agent, &name, &text, by, &mut read)?;
                }
                Err(why) => read.skipped.push((file, why)),
            }
        }
        Ok(read)
    }

    fn read_text(&self, agent: &AgentName, name: &str, text: &str, by: &By, read: &mut ReadIn) -> Result<()> {
        let mut new = Vec::new();
        for range in pieces(text).into_iter().take(PIECES_MAX) {
            let foreign = foreign_id(name, &text[range.clone()]);
            match self.is_here(agent, Some(foreign.as_str()))? {
                Some(_) => read.known += 1,
                None => new.push((range, foreign)),
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let pieces = u32::try_from(new.len()).unwrap_or(u32::MAX);
        let event = Event::FileRead(FileRead { bytes: text.len() as u64, pieces });
        let origin =
            self.options.journal.append(&sealed::happened(&event, by.actor.clone(), agent.id())?)?.seq;
        for (range, foreign) in new {
            let draft = draft(name, &text[range.clone()], foreign)?;
            let from = [Passage { seq: origin, span: span(&range) }];
            match self.capture_from(agent, draft, by, &from, None)? {
                Outcome::Captured(captured) => read.captured.push(captured.id),
                Outcome::Rejected(refusal) => *read.refused.entry(refusal.gate.as_str()).or_default() += 1,
                Outcome::Blocked { .. } => read.blocked += 1,
            }
        }
        Ok(())
    }

    /// The files of a path in order, no more than so many and not too deep.
    fn files_of(&self, path: &Path, read: &mut ReadIn) -> Result<Vec<PathBuf>> {
        let failed = |source| Error::File { path: path.to_owned(), source };
        let own = self.options.folder.canonicalize().unwrap_or_else(|_| self.options.folder.clone());
        let is_own = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&own));
        let found = std::fs::symlink_metadata(path).map_err(failed)?;
        let mut files = Vec::new();
        let mut open = vec![(path.to_owned(), 0, found.file_type())];
        while let Some((path, depth, kind)) = open.pop() {
            if is_own(&path) {
                read.skipped.push((path, Skipped::OurOwn));
            } else if kind.is_file() && files.len() >= FILES_MAX {
                read.skipped.push((path, Skipped::TooMany));
            } else if kind.is_file() {
                files.push(path);
            } else if kind.is_dir() && depth < DEPTH_MAX {
                match entries(&path) {
                    Some(within) => {
                        open.extend(within.into_iter().map(|(path, kind)| (path, depth + 1, kind)))
                    }
                    None => read.skipped.push((path, Skipped::Unreadable)),
                }
            }
        }
        files.sort_unstable();
        Ok(files)
    }
}

/// What is in a folder and not hidden.
fn entries(folder: &Path) -> Option<Vec<(PathBuf, std::fs::FileType)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if let (false, Ok(kind)) = (is_hidden, entry.file_type()) {
            found.push((entry.path(), kind));
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    Some(found)
}

fn text_of(path: &Path) -> std::result::Result<String, Skipped> {
    let file = File::open(path).map_err(|_| Skipped::Unreadable)?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|_| Skipped::Unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Skipped::TooLong);
    }
    let text = String::from_utf8(bytes).map_err(|_| Skipped::NotText)?;
    if text.contains('\0') { Err(Skipped::NotText) } else { Ok(text) }
}

/// The same piece of the same file is known again by this. It is kept with the text, and forgotten with it.
fn foreign_id(name: &str, text: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let digest = blake3::hash(text.as_bytes()).to_hex();
    format!("{}#{}", crate::import::short(&name, 400), &digest[..16])
}

fn draft(name: &str, text: &str, foreign: String) -> Result<Draft> {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let body = Body {
        content: Content::new(text)?,
        tags: Tags::default(),
        source_id: Some(Label::new(foreign)?),
        said: Some(Said { at: None, thread: Label::new(crate::import::short(&name, 400)).ok() }),
        record: Record::default(),
    };
    let claimed = Confidence::new(CONFIDENCE).map_err(holdfast_memory::DraftError::from)?;
    let (entry_type, source, scope) = (EntryType::Fact, Source::Observation, Scope::Project);
    Ok(Draft { entry_type, source, claimed, scope, body })
}

fn span(range: &Range<usize>) -> Option<Span> {
    Span::new(u32::try_from(range.start).ok()?, u32::try_from(range.end).ok()?).ok()
}
