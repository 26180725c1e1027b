//! A journal looked at from outside: read-only, without the lock, also while another process writes.

use std::path::Path;
use std::sync::Arc;

use holdfast_types::Origin;

use crate::error::{Error, Result};
use crate::journal::SignedCheckpoint;
use crate::layout::{Layout, Meta};
use crate::merkle::{Hash, Rows, prove_consistency, prove_inclusion};
use crate::open::{checkpoint_of, is_locked, latest_checkpoint};
use crate::read::{Entries, RawEntry, Source, Until};
use crate::retention::Archive;
use crate::vault::Vault;
use crate::witness::{Cosigned, cosigned_records};

/// Reads, never writes. It may see an entry a moment before its writer has made it durable.
#[derive(Clone, Debug)]
pub struct View {
    meta: Meta,
    source: Source,
}

impl View {
    pub fn open(dir: &Path, archive: Option<Arc<dyn Archive>>) -> Result<View> {
        let layout = Layout::new(dir);
        Ok(View { meta: Meta::read(&layout)?, source: Source { layout, archive } })
    }

    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    pub fn origin(&self) -> &Origin {
        &self.meta.origin
    }

    /// Whether some process has it open for writing.
    pub fn is_being_written(&self) -> bool {
        is_locked(&self.source.layout)
    }

    /// The first seq whose segment is still here.
    pub fn oldest_here(&self) -> Result<u64> {
        Ok(self.source.layout.segments()?.first().copied().unwrap_or(0))
    }

    pub fn entries(&self, from: u64) -> Entries {
        Entries::new(self.source.clone(), Until::WholeLines, from)
    }

    pub fn entry(&self, seq: u64) -> Result<RawEntry> {
        match self.entries(seq).next_raw()? {
            Some(entry) => Ok(entry),
            None => Err(Error::NoSuchEntry { seq, size: self.size()? }),
        }
    }

    /// The text of a blob entry, opened with the log's vault.
    pub fn text(&self, seq: u64, vault: &Vault) -> Result<Vec<u8>> {
        self.source.text(&self.entry(seq)?.parse()?, vault)
    }

    /// The checkpoints that witnesses have cosigned and this log has kept, oldest first.
    pub fn cosigned(&self) -> Result<Vec<Cosigned>> {
        let records = cosigned_records(&self.source.layout)?.into_iter();
        Ok(records.map(|r| Cosigned { witness: r.witness, at: r.at, size: r.size }).collect())
    }

    /// How many whole entries there are.
    pub fn size(&self) -> Result<u64> {
        let latest = latest_checkpoint(&self.source.layout, &self.meta.origin)?;
        let mut entries = self.entries(latest.record.size);
        while entries.next_raw()?.is_some() {}
        Ok(entries.position())
    }

    /// The newest checkpoint. Its signature is the caller's to check.
    pub fn latest_checkpoint(&self) -> Result<SignedCheckpoint> {
        let latest = latest_checkpoint(&self.source.layout, &self.meta.origin)?;
        let checkpoint = checkpoint_of(&latest.record)
            .ok_or_else(|| Error::damaged("a checkpoint", 0, None, "it does not read back"))?;
        Ok(SignedCheckpoint { checkpoint, note: latest.record.note })
    }

    /// Proves that entry `seq` is in the log of `size` entries; `size` is at most the newest checkpoint's.
    pub fn prove_inclusion(&self, seq: u64, size: u64) -> Result<Vec<Hash>> {
        self.within(seq.checked_add(1), size)?;
        Ok(prove_inclusion(&self.rows()?, seq, size)?)
    }

    /// Proves that the log of `old` entries is the beginning of the log of `new` entries.
    pub fn prove_consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>> {
        self.within(Some(old), new)?;
        Ok(prove_consistency(&self.rows()?, old, new)?)
    }

    /// The root of the log of `size` entries.
    pub fn root_at(&self, size: u64) -> Result<Hash> {
        self.within(Some(size), size)?;
        Ok(self.rows()?.frontier(size)?.root())
    }

    fn rows(&self) -> Result<Rows> {
        Ok(Rows::open_read_only(&self.source.layout.tree())?)
    }

    fn within(&self, part: Option<u64>, size: u64) -> Result<()> {
        let covered = self.latest_checkpoint()?.checkpoint.size;
        match part {
            Some(part) if part <= size && size <= covered => Ok(()),
            _ => Err(Error::NoSuchEntry { seq: part.unwrap_or(size).max(size), size: covered }),
        }
    }
}
