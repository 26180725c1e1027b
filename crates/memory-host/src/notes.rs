//! Notes that people read: a file for each month, the session, the archive and a log of decisions. They are made from the journal and equal
//! to what a rebuild makes, but for lines that somebody wrote between the entries, which stay.
//!
//! What holds:
//! - a file is replaced whole, and what it held before is overwritten on the disk;
//! - an edit within an entry is captured as a memory of its own before the entry is rendered again;
//! - what was forgotten is in no file when a forget has returned; a start that finds notes older than the last forget writes them again;
//! - the text goes nowhere from here: git has it sealed only (`notes/copies.rs`).

mod copies;
mod form;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holdfast_durable::Mode;
use holdfast_memory::notes::{Document, Noted, Row as NoteRow, Section};
use holdfast_memory::{Draft, Entry, EntryType, MemoryId, Month, Standing};
use holdfast_types::AgentId;
use serde::{Deserialize, Serialize};

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::{By, Inner, Memories, Outcome, folder_of};
use crate::space::Space;
use crate::table::Row;

pub use copies::{Committed, Copy};

const FOLDER: &str = "notes";
/// How far the files are, and what they were made from.
const WRITTEN: &str = "written.json";
const SESSION: &str = "NOTES.md";
const DECISIONS: &str = "decisions.md";

/// What was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// Files that are other than before.
    pub files: Vec<String>,
    /// Entries whose text somebody changed in a file, and what became of the change.
    pub edits: Vec<(MemoryId, Outcome)>,
    /// Blocks that could not be read and were made again.
    pub mended: usize,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// The first entry of the journal that the files do not know of.
    applied: u64,
    files: BTreeMap<String, Made>,
}

/// What a file was made from, and what it was when it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    from: String,
    bytes: String,
}

/// One file, before its texts are read.
#[derive(Debug)]
struct Page {
    title: String,
    section: Section,
    rows: Vec<Row>,
    events: Vec<NoteRow>,
}

impl Memories {
    /// Brings an agent's notes to where the journal is. Files that need no change are not touched.
    pub fn write_notes(&self, agent: &AgentName, by: &By) -> Result<Written> {
        let folder = notes_folder(&self.options.folder, agent.id());
        let edits = self.take_in_edits(agent, &folder, by)?;
        let inner = self.caught_up()?;
        let mut written = self.write_pages(&inner, inner.space_of(agent)?, &folder)?;
        written.edits = edits;
        Ok(written)
    }

    /// The folder of an agent's notes; it is there once they were written.
    pub fn notes_folder(&self, agent: &AgentName) -> PathBuf {
        notes_folder(&self.options.folder, agent.id())
    }

    /// What was forgotten leaves the notes, where there are any. No edit is looked at: it might be one of the text that has to go.
    pub(crate) fn scrub_notes(&self, agent: AgentId) -> Result<()> {
        let folder = notes_folder(&self.options.folder, agent);
        if !folder.is_dir() {
            return Ok(());
        }
        let inner = self.caught_up()?;
        let Some(space) = inner.spaces.get(&agent) else { return Ok(()) };
        self.write_pages(&inner, space, &folder).map(drop)
    }

    /// Notes that are older than the last forget, because somebody was killed in between, are written again.
    pub(crate) fn finish_scrubbing(&self) -> Result<()> {
        let mut behind = Vec::new();
        for space in self.caught_up()?.spaces.values() {
            let folder = notes_folder(&self.options.folder, space.agent);
            if folder.is_dir() && state(&folder).applied <= space.table.forgot()? {
                behind.push(space.agent);
            }
        }
        behind.into_iter().try_for_each(|agent| self.scrub_notes(agent))
    }

    /// Whether the notes have nothing of a memory: they were written since it was forgotten, and no block is it or cannot be read.
    pub(crate) fn not_in_notes(&self, space: &Space, id: MemoryId) -> Result<bool> {
        let folder = notes_folder(&self.options.folder, space.agent);
        if !folder.is_dir() {
            return Ok(true);
        }
        for path in files_in(&folder)? {
            let Some(text) = read(&path)? else { continue };
            let document = Document::parse(&text);
            if document.damaged() > 0 || document.blocks().any(|block| block.noted.entry.id() == id) {
                return Ok(false);
            }
        }
        Ok(state(&folder).applied > space.table.forgot()?)
    }

    fn take_in_edits(&self, agent: &AgentName, folder: &Path, by: &By) -> Result<Vec<(MemoryId, Outcome)>> {
        let mut edits = Vec::new();
        if !folder.is_dir() {
            return Ok(edits);
        }
        for path in files_in(folder)? {
            let Some(text) = read(&path)? else { continue };
            for block in Document::parse(&text).blocks() {
                let Some(text) = block.edited_text() else { continue };
                let id = block.noted.entry.id();
                let outcome = self.capture(agent, edited(&block.noted.entry, text)?, by, None)?;
                edits.push((id, outcome));
            }
        }
        Ok(edits)
    }

    fn write_pages(&self, inner: &Inner, space: &Space, folder: &Path) -> Result<Written> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::File { path, source }
        };
        let before = state(folder);
        let mut now = State { applied: inner.applied(), files: BTreeMap::new() };
        let mut written = Written::default();
        let pages = pages(space)?;
        for (name, page) in &pages {
            let path = folder.join(name);
            let from = page.made_from(space)?;
            let there = read(&path)?;
            let bytes = there.as_deref().map(digest);
            let held = before
                .files
                .get(name)
                .filter(|made| made.from == from && Some(&made.bytes) == bytes.as_ref());
            if let Some(made) = held {
                now.files.insert(name.clone(), made.clone());
                continue;
            }
            let (text, mended) = self.rendered(space, page, there.as_deref())?;
            written.mended += mended;
            if there.as_deref() != Some(text.as_str()) {
                if let Some(parent) = path.parent() {
                    holdfast_durable::create_dir(parent).map_err(failed(parent))?;
                }
                holdfast_durable::replace_and_shred(&path, text.as_bytes(), Mode::Private)
                    .map_err(failed(&path))?;
                written.files.push(name.clone());
            }
            now.files.insert(name.clone(), Made { from, bytes: digest(&text) });
        }
        written.files.extend(self.empty_others(folder, &pages)?);
        if now.files != before.files || now.applied != before.applied {
            holdfast_durable::create_dir(folder).map_err(failed(folder))?;
            let text = serde_json::to_vec(&now).map_err(|source| Error::Sealing { source })?;
            let path = folder.join(WRITTEN);
            holdfast_durable::replace_and_shred(&path, &text, Mode::Private).map_err(failed(&path))?;
        }
        Ok(written)
    }

    /// A file's text: what is there with its entries brought up to date, or made anew where nobody else wrote into it.
    fn rendered(&self, space: &Space, page: &Page, there: Option<&str>) -> Result<(String, usize)> {
        let noted = page
            .rows
            .iter()
            .filter_map(|row| self.noted(space, row).transpose())
            .collect::<Result<Vec<Noted>>>()?;
        let mut document = Document::parse(there.unwrap_or_default());
        let mended = document.mend();
        if there.is_none() || document.is_all_ours(&page.title, page.section) {
            let mut fresh = Document::of(&page.title, page.section, noted);
            page.events.iter().for_each(|row| fresh.add_row(row));
            return Ok((fresh.render(), mended));
        }
        let gone: Vec<MemoryId> = document
            .blocks()
            .map(|block| block.noted.entry.id())
            .filter(|id| !page.rows.iter().any(|row| row.id == *id))
            .collect();
        document.clear(&gone);
        noted.into_iter().for_each(|noted| document.put(page.section, noted));
        let known: Vec<NoteRow> = document.rows().collect();
        page.events.iter().filter(|row| !known.contains(row)).for_each(|row| document.add_row(row));
        Ok((document.render(), mended))
    }

    fn noted(&self, space: &Space, row: &Row) -> Result<Option<Noted>> {
        let Some(entry) = self.entry(row.seq)? else { return Ok(None) };
        let conflicts = space.table.conflicts_of(row.seq)?;
        Ok(Some(Noted { entry, standing: row.standing, conflicts }))
    }

    /// Files that have no entries any more, and what a cut-short write left aside. Whatever else stands in them stays.
    fn empty_others(&self, folder: &Path, pages: &BTreeMap<String, Page>) -> Result<Vec<String>> {
        let mut emptied = Vec::new();
        for path in files_in(folder)? {
            let failed = |source| Error::File { path: path.clone(), source };
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            if pages.contains_key(&name) {
                continue;
            }
            if name.ends_with(".new") {
                holdfast_durable::shred(&path).map_err(failed)?;
                continue;
            }
            let Some(text) = read(&path)? else { continue };
            let mut document = Document::parse(&text);
            let ids: Vec<MemoryId> = document.blocks().map(|block| block.noted.entry.id()).collect();
            if ids.is_empty() && document.mend() == 0 {
                continue;
            }
            document.clear(&ids);
            let bare = document.render();
            let is_empty = bare.lines().all(|line| line.trim().is_empty() || line.starts_with('#'));
            match is_empty {
                true => holdfast_durable::shred(&path),
                false => holdfast_durable::replace_and_shred(&path, bare.as_bytes(), Mode::Private),
            }
            .map_err(failed)?;
            emptied.push(name);
        }
        Ok(emptied)
    }
}

impl Page {
    fn new(title: &str, section: Section) -> Page {
        Page { title: title.to_owned(), section, rows: Vec::new(), events: Vec::new() }
    }

    /// What a file is made from changes where an entry comes, goes, or stands elsewhere. Texts never change.
    fn made_from(&self, space: &Space) -> Result<String> {
        let mut hash = blake3::Hasher::new();
        for row in &self.rows {
            let conflicts = space.table.conflicts_of(row.seq)?;
            hash.update(format!("{} {:?} {conflicts:?}\n", row.seq, row.standing).as_bytes());
        }
        for event in &self.events {
            hash.update(format!("{event:?}\n").as_bytes());
        }
        Ok(hash.finalize().to_hex().to_string())
    }
}

/// Which entry stands in which file.
fn pages(space: &Space) -> Result<BTreeMap<String, Page>> {
    let mut pages: BTreeMap<String, Page> = BTreeMap::new();
    let events = space.table.happenings()?.into_iter();
    let events: Vec<NoteRow> =
        events.map(|it| NoteRow { at: it.at, kind: it.kind, message: it.message }).collect();
    let mut put = |name: String, title: &str, section, row: Row| {
        pages.entry(name).or_insert_with(|| Page::new(title, section)).rows.push(row);
    };
    for row in space.table.rows(0, usize::MAX >> 1)? {
        let month = Month::of(row.captured);
        let is_decision = row.entry_type == EntryType::Decision;
        match row.standing {
            Standing::Forgotten | Standing::Rejected { .. } => continue,
            Standing::Session => put(SESSION.to_owned(), "Notes", Section::SessionMemory, row),
            Standing::Archived => {
                if is_decision {
                    put(DECISIONS.to_owned(), "Decisions", Section::Decisions, row.clone());
                }
                put(format!("archive/{}", month.file_name()), &month.to_string(), Section::Memories, row);
            }
            Standing::Durable | Standing::Merged { .. } | Standing::Superseded { .. } => {
                if is_decision && row.standing == Standing::Durable {
                    put(DECISIONS.to_owned(), "Decisions", Section::Decisions, row.clone());
                }
                put(format!("memory/{}", month.file_name()), &month.to_string(), Section::Memories, row);
            }
        }
    }
    if !events.is_empty() {
        let session = || Page::new("Notes", Section::SessionMemory);
        pages.entry(SESSION.to_owned()).or_insert_with(session).events = events;
    }
    Ok(pages)
}

/// What somebody made of an entry's text, as something to be remembered.
fn edited(entry: &Entry, text: String) -> Result<Draft> {
    let mut body = entry.body.clone();
    body.content = holdfast_memory::Content::new(text)?;
    body.source_id = None;
    let header = &entry.header;
    Ok(Draft {
        entry_type: header.entry_type,
        source: header.source,
        claimed: header.confidence,
        scope: header.scope,
        body,
    })
}

fn notes_folder(root: &Path, agent: AgentId) -> PathBuf {
    folder_of(root, agent).join(FOLDER)
}

/// One that is missing or cannot be read means that every file is looked at again.
fn state(folder: &Path) -> State {
    let text = std::fs::read(folder.join(WRITTEN)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Our files and what lies among them, one folder deep. Links are passed over.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned(), folder.join("memory"), folder.join("archive")];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(Error::File { path: folder, source }),
        };
        for entry in entries.flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && entry.file_name() != WRITTEN {
                files.push(entry.path());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// A file's text; what is no text is nobody's notes.
fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}
