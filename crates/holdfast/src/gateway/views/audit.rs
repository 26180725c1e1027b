//! The audit: entries of the journal, and one entry with its proof, checked here and now.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_journal::{Entry, Stored};
use holdfast_pages::{
    Audit, AuditEntry, AuditFilter, EntryLine, Proof, SealedText, Shown, Verdict, Verification, Witness,
};
use holdfast_store::{Filter, Order, find};

use super::Views;
use crate::audit::{Claim, Proof as Document, holds_here, inclusion_in};
use crate::house::ArchiveArgs;
use crate::look::{bytes, cut};
use crate::problem::{Failure, Result};

/// Entries on a page.
const PAGE: usize = 50;
/// Characters of a body in a line.
const SAYS_MAX: usize = 300;
/// Entries that are looked through for a kind by its beginning, which no index has.
const LOOKED_THROUGH: usize = 5_000;

impl Views {
    /// Entries below `before`, or the latest.
    pub(crate) fn audit(&self, filter: AuditFilter, before: Option<u64>) -> Result<Audit> {
        let seqs = self.seqs(&filter, before)?;
        let older_before = (seqs.len() > PAGE).then(|| seqs[PAGE - 1]);
        let entries = seqs.iter().take(PAGE).map(|seq| Ok(line(&self.office.journal.entry(*seq)?.parse()?)));
        Ok(Audit {
            entries: entries.collect::<Result<_>>()?,
            older_before,
            paged: before.is_some(),
            verification: self.verification()?,
            filter,
        })
    }

    /// One more than a page, so that it is known whether there are more.
    fn seqs(&self, filter: &AuditFilter, before: Option<u64>) -> Result<Vec<u64>> {
        let nothing = |text: &str| !text.is_empty();
        let exact = filter.kind.parse().ok();
        let (room, actor) = (filter.room.parse().ok(), filter.actor.parse().ok());
        if (nothing(&filter.room) && room.is_none()) || (nothing(&filter.actor) && actor.is_none()) {
            return Ok(Vec::new());
        }
        let by = Filter { kind: exact.clone(), room, actor, to: before, ..Filter::default() };
        let index = self.office.index_to_look_at()?;
        let by_beginning = nothing(&filter.kind) && exact.is_none();
        let limit = if by_beginning { LOOKED_THROUGH } else { PAGE + 1 };
        let mut found = index.read(|conn| find(conn, &by, Order::NewestFirst, limit))?;
        if by_beginning {
            let begins = format!("\"kind\":\"{}.", filter.kind);
            let fits = |seq: &u64| {
                let raw = self.office.journal.entry(*seq).ok();
                raw.is_some_and(|raw| memchr::memmem::find(&raw.line, begins.as_bytes()).is_some())
            };
            found = found.into_iter().filter(fits).take(PAGE + 1).collect();
        }
        Ok(found)
    }

    fn verification(&self) -> Result<Verification> {
        let status = self.office.journal.status();
        let last = self.office.last_verified()?;
        let verdict = match &last {
            None => Verdict::Never,
            Some(last) if last.findings == 0 => Verdict::Verified,
            Some(_) => Verdict::Damaged,
        };
        let view = self.office.house.view(&ArchiveArgs::default())?;
        let signed = view.latest_checkpoint()?;
        Ok(Verification {
            verdict,
            at: last.as_ref().map(|last| last.at),
            running: false,
            origin: status.origin.to_string(),
            entries: status.size,
            checkpointed: status.checkpointed,
            root: Some(BASE64.encode(signed.checkpoint.root)),
            signatures: None,
            witnesses: witnesses(&self.office.journal.witnessed()?),
            findings: last.and_then(|last| last.first).into_iter().collect(),
        })
    }

    /// An entry with its proof.
    pub(crate) fn audit_entry(&self, seq: u64) -> Result<AuditEntry> {
        let raw = self.office.journal.entry(seq)?;
        let entry = raw.parse()?;
        Ok(AuditEntry {
            seq,
            at: entry.at,
            room: entry.room.to_string(),
            kind: entry.kind.to_string(),
            actor: entry.actor.to_string(),
            trust: entry.trust.as_str().to_owned(),
            origin: entry.origin.to_string(),
            line: String::from_utf8_lossy(&raw.line).into_owned(),
            text: self.sealed_text(&entry),
            proof: self.proof(seq)?,
            newer: seq + 1 < self.office.journal.size(),
        })
    }

    /// That there is one, and not what it says: whose memory it is decides who reads it, and memory has its own page.
    fn sealed_text(&self, entry: &Entry) -> Option<SealedText> {
        let Stored::Blob(blob) = &entry.content else { return None };
        let erased = self.office.house.vault().ok().flatten().is_some_and(|vault| vault.is_erased(entry.seq));
        Some(if erased { SealedText::Erased } else { SealedText::Sealed { bytes: blob.sealed_len() } })
    }

    /// The document that proves an entry, as `holdfast audit prove` makes it.
    pub(crate) fn proof_document(&self, seq: u64) -> Result<Document> {
        let view = self.office.house.view(&ArchiveArgs::default())?;
        if view.latest_checkpoint()?.checkpoint.size <= seq {
            self.office.journal.checkpoint()?;
        }
        inclusion_in(&view, seq, None, &self.office.house)
    }

    /// Checked for this look, against the trust set.
    fn proof(&self, seq: u64) -> Result<Proof> {
        let view = self.office.house.view(&ArchiveArgs::default())?;
        let signed = view.latest_checkpoint()?;
        let witnesses = witnesses(&self.office.journal.witnessed()?);
        let size = signed.checkpoint.size;
        let none = |shown| Proof {
            shown,
            size,
            root: BASE64.encode(signed.checkpoint.root),
            leaf: String::new(),
            hashes: 0,
            key: String::new(),
            witnesses: witnesses.clone(),
        };
        if size <= seq {
            return Ok(none(Shown::NotSignedYet));
        }
        let document = match inclusion_in(&view, seq, None, &self.office.house) {
            Ok(document) => document,
            Err(Failure::Problem(problem)) => return Ok(none(Shown::Unchecked(problem.what.clone()))),
            Err(failure) => return Err(failure),
        };
        let shown = match holds_here(&document, &self.office.house) {
            Ok(()) => Shown::Verified,
            Err(why) => Shown::Wrong(why),
        };
        let leaf = match &document.claim {
            Claim::Inclusion { leaf, .. } => String::from(*leaf),
            Claim::Consistency { .. } => String::new(),
        };
        Ok(Proof { leaf, hashes: document.hashes.len() as u64, key: document.vkey, ..none(shown) })
    }
}

fn witnesses(all: &[holdfast_journal::Cosigned]) -> Vec<Witness> {
    let witness =
        |one: &holdfast_journal::Cosigned| Witness { name: one.witness.clone(), at: one.at, size: one.size };
    all.iter().map(witness).collect()
}

fn line(entry: &Entry) -> EntryLine {
    let says = match &entry.content {
        Stored::Body(body) => serde_json::Value::Object(body.clone()).to_string(),
        Stored::Blob(blob) => format!("sealed text, {}", bytes(blob.sealed_len())),
    };
    EntryLine {
        seq: entry.seq,
        at: entry.at,
        kind: entry.kind.to_string(),
        actor: entry.actor.to_string(),
        says: cut(&says, SAYS_MAX),
    }
}
