//! Taking in other logs of the same format: the tripwire's, a doorman's, a sandbox's.
//!
//! Each is written by its own process under its own origin and key. Its entries are copied into this log under
//! that origin, once each, and only as far as a checkpoint of a trusted key covers them. A log that is not a
//! continuation of what was taken in before is refused.

use std::path::Path;

use holdfast_keys::TrustSet;
use holdfast_keys::note::Note;
use holdfast_types::{Actor, Digest, Origin};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use crate::checkpoint::{all_records, append_lines, to_line};
use crate::entry::{Content, Draft, Prepared, Space, Stored};
use crate::error::{Error, Result};
use crate::journal::{Journal, SignedCheckpoint, own_draft};
use crate::kinds::FOREIGN_INGESTED;
use crate::line::LINE_MAX;
use crate::merkle::{Frontier, Hash, leaf_hash};
use crate::read::RawEntry;
use crate::verify::trusted_signer;
use crate::view::View;

/// What was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ingested {
    pub origin: Origin,
    /// The foreign seqs that are new here.
    pub from: u64,
    pub to: u64,
}

/// At most so many bytes longer than the original is a copy: its key, a longer seq, where it came from.
const ENVELOPE_MORE: usize = 512;

/// How many entries are handed to the writer at a time.
const CHUNK: usize = 500;

/// One line of `foreign.jsonl`: everything of a log up to `size` has been taken in, as of our `seq`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Mark {
    origin: Origin,
    size: u64,
    root: Digest,
    /// Our log has been looked through up to here for this origin's entries.
    as_of: u64,
}

impl Journal {
    /// Takes in what is new in the log in `dir`. Safe to repeat, also after a crash half-way.
    pub fn ingest(&self, dir: &Path, trust: &TrustSet, actor: &Actor) -> Result<Ingested> {
        let view = View::open(dir, None)?;
        let origin = view.origin().clone();
        if origin == *self.origin() {
            return Err(Error::Foreign("it has the origin of this very log".into()));
        }
        let signed = view.latest_checkpoint()?;
        let note = Note::parse(signed.note.as_bytes()).map_err(|e| Error::Foreign(e.to_string()))?;
        trusted_signer(trust, &origin, &note, signed.checkpoint.size).map_err(Error::Foreign)?;
        let mark = self.mark_of(&origin)?;
        check_history(&view, &signed, mark.as_ref())?;
        let from = self.already_taken(&origin, mark.as_ref())?;
        if from > signed.checkpoint.size {
            return Err(Error::Foreign(format!(
                "{from} of its entries were taken in, and it has {}",
                signed.checkpoint.size
            )));
        }
        self.take_in(&view, from, signed.checkpoint.size)?;
        if from < signed.checkpoint.size {
            self.note_ingested(&signed, from, actor)?;
        }
        Ok(Ingested { origin, from, to: signed.checkpoint.size })
    }

    fn mark_of(&self, origin: &Origin) -> Result<Option<Mark>> {
        let marks: Vec<Mark> = all_records(&self.layout().foreign(), "foreign.jsonl")?;
        Ok(marks.into_iter().rfind(|m| m.origin == *origin))
    }

    /// How many of a log's entries are in ours: the mark, and what a crash kept from being marked.
    fn already_taken(&self, origin: &Origin, mark: Option<&Mark>) -> Result<u64> {
        let mut taken = mark.map_or(0, |m| m.size);
        let mine = format!("ingest:{origin}:");
        for raw in self.read(mark.map_or(0, |m| m.as_of)) {
            let entry = raw?.parse()?;
            let key = entry.key.as_ref().filter(|_| entry.origin == *origin);
            let seq = key.and_then(|k| k.as_str().strip_prefix(&mine)?.parse::<u64>().ok());
            taken = taken.max(seq.map_or(0, |s| s.saturating_add(1)));
        }
        Ok(taken)
    }

    fn take_in(&self, view: &View, from: u64, to: u64) -> Result<()> {
        let mut chunk = Vec::with_capacity(CHUNK);
        for raw in view.entries(from).take((to - from.min(to)) as usize) {
            chunk.push(self.copy_of(&raw?, view.origin())?);
            if chunk.len() == CHUNK {
                self.commit_all(std::mem::take(&mut chunk))?;
            }
        }
        self.commit_all(chunk)
    }

    fn commit_all(&self, chunk: Vec<Prepared>) -> Result<()> {
        self.commit(chunk)?.into_iter().try_for_each(|result| result.map(drop))
    }

    /// A foreign entry made ready for our log. It is screened again: the other log's screen may be older.
    ///
    /// It stands under the origin of the log whose key vouches for it, whatever it says of itself: a log can neither
    /// speak for another nor take another's places.
    fn copy_of(&self, raw: &RawEntry, origin: &Origin) -> Result<Prepared> {
        let entry = raw.parse()?;
        let mut body = match &entry.content {
            Stored::Body(body) => body.clone(),
            Stored::Blob(blob) => one_field("blob_elsewhere", json!(blob.name.to_string())),
        };
        if raw.line.len() + ENVELOPE_MORE > LINE_MAX {
            // What a copy adds would make the line longer than any may be. The other log still has it.
            body = one_field("too_long_to_copy", json!(Digest::sha256(leaf_hash(&raw.line))));
        }
        if entry.origin != *origin {
            body.insert("first_written_to".to_owned(), json!(entry.origin));
        }
        let draft = Draft {
            kind: entry.kind.clone(),
            version: entry.version,
            actor: entry.actor.clone(),
            subject: entry.subject,
            run: entry.run,
            cause: None,
            key: format!("ingest:{origin}:{}", entry.seq).parse().ok(),
            trust: entry.trust,
            content: Content::Body(body),
            space: Space::Ordinary,
        };
        let mut prepared = self.prepare(&draft)?;
        prepared.from = Some((origin.clone(), entry.at));
        Ok(prepared)
    }

    /// Writes down the other log's checkpoint, and how far we are.
    fn note_ingested(&self, signed: &SignedCheckpoint, from: u64, actor: &Actor) -> Result<()> {
        let checkpoint = &signed.checkpoint;
        let body = json!({
            "origin": checkpoint.origin, "from": from, "to": checkpoint.size,
            "root": Digest::sha256(checkpoint.root), "checkpoint": signed.note,
        });
        let appended = self.append(&own_draft(&FOREIGN_INGESTED, actor.clone(), body)?)?;
        let mark = Mark {
            origin: checkpoint.origin.clone(),
            size: checkpoint.size,
            root: Digest::sha256(checkpoint.root),
            as_of: appended.seq,
        };
        Ok(append_lines(&self.layout().foreign(), &to_line(&mark))?)
    }
}

fn one_field(name: &str, value: serde_json::Value) -> Map<String, serde_json::Value> {
    Map::from_iter([(name.to_owned(), value)])
}

/// The foreign entries are those its checkpoint was signed over, and begin with those taken in before.
fn check_history(view: &View, signed: &SignedCheckpoint, mark: Option<&Mark>) -> Result<()> {
    if let Some(mark) = mark.filter(|m| m.size > signed.checkpoint.size) {
        let what =
            format!("it has {} entries, and {} were taken in before", signed.checkpoint.size, mark.size);
        return Err(Error::Foreign(what));
    }
    let mut frontier = Frontier::default();
    let mut at_mark: Option<Hash> = mark.filter(|m| m.size == 0).map(|_| frontier.root());
    let mut entries = view.entries(0);
    while frontier.size() < signed.checkpoint.size {
        let Some(raw) = entries.next_raw()? else {
            return Err(Error::Foreign("entries its checkpoint covers are missing".into()));
        };
        frontier.push(leaf_hash(&raw.line), |_, _, _| {});
        if mark.is_some_and(|m| m.size == frontier.size()) {
            at_mark = Some(frontier.root());
        }
    }
    if frontier.root() != signed.checkpoint.root {
        return Err(Error::Foreign("its entries are not those its checkpoint was signed over".into()));
    }
    match (mark, at_mark) {
        (Some(mark), Some(root)) if mark.root.bytes != root => {
            Err(Error::Foreign(format!("its first {} entries are not those taken in before", mark.size)))
        }
        _ => Ok(()),
    }
}
