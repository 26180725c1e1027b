//! Checkpoints: signed statements of how long the log is and what is in it.
//!
//! The text is a C2SP tlog-checkpoint (origin, size, root in base64), signed as a C2SP note. Each is kept as
//! one line beside the log, together with where in the log it ends, so that opening begins to read there.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_durable::while_doing;
use holdfast_types::{Origin, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::line;
use crate::merkle::Hash;

/// What a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub origin: Origin,
    pub size: u64,
    pub root: Hash,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is not a checkpoint of a Holdfast log: {0}")]
pub struct NotACheckpoint(&'static str);

impl Checkpoint {
    /// The three lines that are signed.
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, BASE64.encode(self.root))
    }

    /// Reads the body of a note. Lines after the third are extensions and are passed over.
    pub fn parse(text: &str) -> Result<Checkpoint, NotACheckpoint> {
        let mut lines = text.split('\n');
        let mut line = |what| lines.next().filter(|l| !l.is_empty()).ok_or(NotACheckpoint(what));
        let origin =
            line("it has no origin")?.parse().map_err(|_| NotACheckpoint("the origin is not one of ours"))?;
        let digits = line("it has no size")?;
        let size: u64 = digits.parse().map_err(|_| NotACheckpoint("the size is not a number"))?;
        if size.to_string() != digits {
            return Err(NotACheckpoint("the size has more than one spelling"));
        }
        let root =
            BASE64.decode(line("it has no root")?).map_err(|_| NotACheckpoint("the root is not base64"))?;
        let root = root.try_into().map_err(|_| NotACheckpoint("the root is not 32 bytes"))?;
        Ok(Checkpoint { origin, size, root })
    }
}

/// A checkpoint as it is kept: its note and where in the log it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) size: u64,
    pub(crate) at: Timestamp,
    /// The segment that holds the last entry it covers (or the first one, for size 0).
    pub(crate) segment: u64,
    /// Where in that segment the entry ends.
    pub(crate) offset: u64,
    pub(crate) note: String,
}

/// One line of a side file: the record's JSON, closed by a checksum.
pub(crate) fn to_line<T: Serialize>(record: &T) -> Vec<u8> {
    let mut out = serde_json::to_vec(record).unwrap_or_default();
    out.pop();
    line::close(&mut out, 0);
    out
}

pub(crate) fn from_line<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Option<T> {
    let mut json = line::covered(bytes)?.to_vec();
    json.push(b'}');
    serde_json::from_slice(&json).ok()
}

/// Appends lines to a side file, made if it is not there, and returns when they are durable. When it fails, what
/// got there of them is taken back, so that the next try does not begin in the middle of a line.
pub(crate) fn append_lines(path: &Path, lines: &[u8]) -> io::Result<()> {
    let write = || {
        let fresh = !path.exists();
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let before = file.metadata()?.len();
        let folder = path.parent().unwrap_or(Path::new("."));
        let named = || if fresh { holdfast_durable::sync_dir(folder) } else { Ok(()) };
        let written = file.write_all(lines).and_then(|()| file.sync_data()).and_then(|()| named());
        if written.is_err() {
            file.set_len(before)?;
            if fresh {
                std::fs::remove_file(path)?;
            }
        }
        written
    };
    write().map_err(|e| while_doing("appending to", path, e))
}

/// The newest whole record of a side file, and how many bytes of an unfinished one stand after it.
pub(crate) struct Last<T> {
    pub(crate) record: Option<T>,
    pub(crate) torn: u64,
    pub(crate) whole_len: u64,
}

/// Reads the last record of a side file from its end.
///
/// A record without its newline is what a crash leaves of an append that was never relied on; one that has
/// its newline and does not check is damage.
pub(crate) fn last_record<T: for<'a> Deserialize<'a>>(path: &Path, name: &str) -> Result<Last<T>> {
    let file = File::open(path).map_err(|e| while_doing("opening", path, e))?;
    let len = file.metadata()?.len();
    let from = len.saturating_sub(line::LINE_MAX as u64);
    let mut bytes = vec![0; (len - from) as usize];
    file.read_exact_at(&mut bytes, from)?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |n| n + 1);
    let torn = (bytes.len() - whole) as u64;
    let whole_len = len - torn;
    if whole == 0 && from > 0 {
        return Err(Error::damaged(
            name,
            from,
            None,
            "its end is longer than any record and has no line end",
        ));
    }
    if whole == 0 {
        return Ok(Last { record: None, torn, whole_len: 0 });
    }
    let start = memchr::memrchr(b'\n', &bytes[..whole - 1]).map_or(0, |n| n + 1);
    let record = from_line(&bytes[start..whole - 1])
        .ok_or_else(|| Error::damaged(name, from + start as u64, None, "a record does not check"))?;
    Ok(Last { record: Some(record), torn, whole_len })
}

/// All whole records of a side file in order; an unfinished last one is passed over.
pub(crate) fn all_records<T: for<'a> Deserialize<'a>>(path: &Path, name: &str) -> Result<Vec<T>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(while_doing("reading", path, e).into()),
    };
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |n| n + 1);
    let mut records = Vec::new();
    let mut at = 0;
    for line in bytes[..whole].split_inclusive(|b| *b == b'\n') {
        let record = from_line(&line[..line.len() - 1])
            .ok_or_else(|| Error::damaged(name, at, None, "a record does not check"))?;
        records.push(record);
        at += line.len() as u64;
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(size: u64) -> Record {
        Record {
            size,
            at: "2026-11-15T08:00:00.000000Z".parse().unwrap(),
            segment: 0,
            offset: 9,
            note: "a\nb\n".into(),
        }
    }

    #[test]
    fn a_checkpoint_reads_back_and_has_one_spelling() {
        let c = Checkpoint { origin: "holdfast/test".parse().unwrap(), size: 20_852_163, root: [7; 32] };
        assert_eq!(Checkpoint::parse(&c.text()), Ok(c.clone()));
        assert!(Checkpoint::parse(&c.text().replace("2085", "02085")).is_err());
        assert!(Checkpoint::parse(&c.text().replace("2085", "+2085")).is_err());
        assert!(Checkpoint::parse("holdfast/test\n1\n").is_err());
        assert!(Checkpoint::parse("").is_err());
    }

    #[test]
    fn the_last_record_is_found_and_an_unfinished_one_is_counted_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        append_lines(&path, &to_line(&record(1))).unwrap();
        append_lines(&path, &to_line(&record(2))).unwrap();
        append_lines(&path, b"{\"size\":3,").unwrap();
        let last = last_record::<Record>(&path, "f").unwrap();
        assert_eq!((last.record.unwrap().size, last.torn), (2, 10));
        assert_eq!(all_records::<Record>(&path, "f").unwrap().len(), 2);
    }

    #[test]
    fn a_disk_that_fills_up_leaves_no_half_line_for_the_next_try_to_follow() {
        use holdfast_testkit::{SmallDisk, require};
        let Some(disk) = require(SmallDisk::tmpfs(64 * 1024)) else { return };
        let path = disk.path().join("f");
        append_lines(&path, &to_line(&record(1))).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let too_much: Vec<u8> = (0..1000).flat_map(|n| to_line(&record(n))).collect();
        assert_eq!(append_lines(&path, &too_much).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        append_lines(&path, &to_line(&record(2))).unwrap();
        assert_eq!(all_records::<Record>(&path, "f").unwrap().len(), 2);
    }

    #[test]
    fn a_changed_record_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let mut bytes = [to_line(&record(1)), to_line(&record(2))].concat();
        let last = bytes.len() - 30;
        bytes[last] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(last_record::<Record>(&path, "f"), Err(Error::Damaged(_))));
        assert!(matches!(all_records::<Record>(&path, "f"), Err(Error::Damaged(_))));
    }
}
