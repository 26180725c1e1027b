//! Where things are in a journal's directory, and its META file.
//!
//! ```text
//! META                               format, origin, when it was made
//! LOCK                               held by the one process that writes; never deleted
//! 00000000000000000000.jsonl         a segment, named by the first seq in it
//! 00000000000000000000.blobs         the sealed blobs of that segment's entries
//! 00000000000000000000.checkpoints   signed checkpoints made while it was written
//! seals.jsonl                        what each closed segment was, and which have left for the archive
//! witnessed.jsonl                    checkpoints that witnesses have cosigned
//! foreign.jsonl                      how much of which other log has been taken in
//! tree/00 tree/08 …                  hashes of the Merkle tree
//! next.spare                         space for the next segment, filled ahead under load
//! *.torn-<offset>                    bytes a crash left behind, set aside
//! ```

use std::io;
use std::path::{Path, PathBuf};

use holdfast_durable::{Mode, while_doing};
use holdfast_types::{Origin, Timestamp};

use crate::error::{Error, Result};

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    dir: PathBuf,
}

impl Layout {
    pub(crate) fn new(dir: &Path) -> Self {
        Layout { dir: dir.to_owned() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn meta(&self) -> PathBuf {
        self.dir.join("META")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.dir.join("LOCK")
    }

    pub(crate) fn seals(&self) -> PathBuf {
        self.dir.join("seals.jsonl")
    }

    pub(crate) fn witnessed(&self) -> PathBuf {
        self.dir.join("witnessed.jsonl")
    }

    pub(crate) fn foreign(&self) -> PathBuf {
        self.dir.join("foreign.jsonl")
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    pub(crate) fn spare(&self) -> PathBuf {
        self.dir.join("next.spare")
    }

    pub(crate) fn segment(&self, first: u64) -> PathBuf {
        self.dir.join(segment_name(first))
    }

    pub(crate) fn pack(&self, first: u64) -> PathBuf {
        self.dir.join(pack_name(first))
    }

    pub(crate) fn checkpoints(&self, first: u64) -> PathBuf {
        self.dir.join(format!("{first:020}.checkpoints"))
    }

    /// First seqs of the segments that are here, ascending.
    pub(crate) fn segments(&self) -> io::Result<Vec<u64>> {
        Ok(self.list()?.segments)
    }

    /// First seqs of the checkpoint files that are here, ascending.
    pub(crate) fn checkpoint_files(&self) -> io::Result<Vec<u64>> {
        Ok(self.list()?.checkpoints)
    }

    /// What is here, in one pass over the directory. Names that mean nothing are passed over.
    pub(crate) fn list(&self) -> io::Result<Listing> {
        let entries = std::fs::read_dir(&self.dir).map_err(|e| while_doing("listing", &self.dir, e))?;
        let mut listing = Listing::default();
        for entry in entries {
            let name = entry?.file_name();
            let Some((stem, ending)) = name.to_str().and_then(|n| n.split_once('.')) else { continue };
            match ending {
                "jsonl" => listing.segments.extend(first_of(stem)),
                "checkpoints" => listing.checkpoints.extend(first_of(stem)),
                _ => {}
            }
        }
        listing.segments.sort_unstable();
        listing.checkpoints.sort_unstable();
        Ok(listing)
    }
}

/// The files of a journal that are named by a seq, ascending.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) segments: Vec<u64>,
    pub(crate) checkpoints: Vec<u64>,
}

pub(crate) fn segment_name(first: u64) -> String {
    format!("{first:020}.jsonl")
}

pub(crate) fn pack_name(first: u64) -> String {
    format!("{first:020}.blobs")
}

/// Twenty digits, no other spelling: `2.jsonl` is not a segment.
fn first_of(stem: &str) -> Option<u64> {
    (stem.len() == 20 && stem.bytes().all(|b| b.is_ascii_digit())).then(|| stem.parse().ok()).flatten()
}

/// What META says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    pub origin: Origin,
    pub created: Timestamp,
}

impl Meta {
    pub(crate) fn write(&self, layout: &Layout) -> io::Result<()> {
        let mut text = format!("format: 1\norigin: {}\ncreated: {}\n", self.origin, self.created);
        text.push_str(&format!("crc: {:08x}\n", crc32c::crc32c(text.as_bytes())));
        holdfast_durable::create(&layout.meta(), text.as_bytes(), Mode::Private)
    }

    pub(crate) fn read(layout: &Layout) -> Result<Meta> {
        let path = layout.meta();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Missing { path: layout.dir().to_owned() });
            }
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                return Err(Error::damaged("META", 0, None, "it is not text"));
            }
            Err(e) => return Err(while_doing("reading", &path, e).into()),
        };
        Meta::parse(&text)
    }

    fn parse(text: &str) -> Result<Meta> {
        let damaged = |what: &str| Error::damaged("META", 0, None, what);
        let mut lines = text.lines();
        let mut value = |name: &str| {
            let line = lines.next().and_then(|l| l.strip_prefix(name)).and_then(|l| l.strip_prefix(": "));
            line.ok_or_else(|| damaged(&format!("the line `{name}:` is missing")))
        };
        // The format comes first and is looked at first: a newer one may have any other lines.
        let format = value("format")?;
        if format != "1" {
            return match format.parse::<u32>() {
                Ok(n) if n > 1 => Err(Error::NewerFormat { found: n.to_string() }),
                _ => Err(damaged("the format is not a number")),
            };
        }
        let (origin, created, crc) = (value("origin")?, value("created")?, value("crc")?);
        let covered = text.find("crc: ").unwrap_or(0);
        if crc != format!("{:08x}", crc32c::crc32c(&text.as_bytes()[..covered])) || text.lines().count() != 4
        {
            return Err(damaged("its checksum does not fit"));
        }
        let origin = origin.parse().map_err(|_| damaged("the origin is not one"))?;
        let created = created.parse().map_err(|_| damaged("the time is not one"))?;
        Ok(Meta { origin, created })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta_text() -> String {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let meta = Meta {
            origin: "holdfast/test".parse().unwrap(),
            created: "2026-11-15T08:00:00.000000Z".parse().unwrap(),
        };
        meta.write(&layout).unwrap();
        assert_eq!(Meta::read(&layout).unwrap(), meta);
        std::fs::read_to_string(layout.meta()).unwrap()
    }

    #[test]
    fn meta_reads_back_and_any_changed_byte_is_noticed() {
        let text = meta_text();
        for i in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[i] ^= 1;
            if let Ok(changed) = String::from_utf8(bytes) {
                assert!(Meta::parse(&changed).is_err(), "byte {i}");
            }
        }
    }

    #[test]
    fn a_newer_format_is_refused_by_its_number() {
        let newer = meta_text().replace("format: 1", "format: 2");
        assert!(matches!(Meta::parse(&newer), Err(Error::NewerFormat { found }) if found == "2"));
    }

    // shows: MEM-F14
    #[test]
    fn segments_are_listed_in_the_order_of_their_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        for name in [segment_name(10), segment_name(2), "2.jsonl".into(), "x.jsonl".into(), pack_name(2)] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(layout.segments().unwrap(), [2, 10]);
    }
}
