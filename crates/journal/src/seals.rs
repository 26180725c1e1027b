//! What became of each closed segment: sealed, copied to the archive, gone from here.
//!
//! A line per event in `seals.jsonl`. A segment that is missing without a line that says it left is damage.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use holdfast_durable::while_doing;
use holdfast_types::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{all_records, append_lines, to_line};
use crate::error::Result;
use crate::layout::Layout;

/// A line of `seals.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum Event {
    /// The segment is closed and will never change.
    Sealed { first: u64, last: u64, bytes: u64, digest: Digest, pack: Option<Pack>, at: Timestamp },
    /// A copy was read back from the archive and is the same.
    Archived { first: u64, at: Timestamp },
    /// The local files were removed.
    Dropped { first: u64, at: Timestamp },
}

/// The blobs beside a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pack {
    pub(crate) bytes: u64,
    pub(crate) digest: Digest,
}

/// A closed segment and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) bytes: u64,
    pub(crate) digest: Digest,
    pub(crate) pack: Option<Pack>,
    pub(crate) archived: bool,
    pub(crate) dropped: bool,
}

impl Closed {
    pub(crate) fn all_bytes(&self) -> u64 {
        self.bytes + self.pack.as_ref().map_or(0, |p| p.bytes)
    }
}

/// All closed segments by their first seq.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seals {
    pub(crate) closed: BTreeMap<u64, Closed>,
}

impl Seals {
    pub(crate) fn read(layout: &Layout) -> Result<Seals> {
        let mut seals = Seals::default();
        for event in all_records(&layout.seals(), "seals.jsonl")? {
            seals.apply(event);
        }
        Ok(seals)
    }

    /// Writes an event down and then takes it in.
    pub(crate) fn record(&mut self, layout: &Layout, event: Event) -> io::Result<()> {
        append_lines(&layout.seals(), &to_line(&event))?;
        self.apply(event);
        Ok(())
    }

    /// The closed segment that holds `seq`.
    pub(crate) fn holding(&self, seq: u64) -> Option<&Closed> {
        self.closed.range(..=seq).next_back().map(|(_, c)| c).filter(|c| seq <= c.last)
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Sealed { first, last, bytes, digest, pack, at: _ } => {
                let closed = Closed { first, last, bytes, digest, pack, archived: false, dropped: false };
                self.closed.insert(first, closed);
            }
            Event::Archived { first, .. } => {
                self.closed.entry(first).and_modify(|c| c.archived = true);
            }
            Event::Dropped { first, .. } => {
                self.closed.entry(first).and_modify(|c| c.dropped = true);
            }
        }
    }
}

/// The length and BLAKE3 digest of a file, read in pieces.
pub(crate) fn digest_of(path: &Path) -> io::Result<(u64, Digest)> {
    let read = || {
        let mut file = File::open(path)?;
        let mut hasher = blake3::Hasher::new();
        let mut chunk = vec![0; 128 * 1024];
        let mut len = 0;
        loop {
            let n = file.read(&mut chunk)?;
            if n == 0 {
                return Ok((len, Digest::blake3(*hasher.finalize().as_bytes())));
            }
            hasher.update(&chunk[..n]);
            len += n as u64;
        }
    };
    read().map_err(|e| while_doing("reading", path, e))
}
