//! The log: what was put in and forgotten since the base was sealed, one record after another.
//!
//! What holds:
//! - a record is written with one call at the end, so a kill leaves whole records and at most one that is cut off, which opening takes away;
//! - a record that is there in full and does not match its checksum is damage, and the log is refused;
//! - but for the vector of a key that a later record forgets: it is wiped, and need not match anything.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::{Source, read_vector};
use crate::error::Error;
use crate::key::Key;
use crate::layout::{FORMAT, vector_crc};
use crate::vector::{VECTOR_BYTES, Vector};

const MAGIC: [u8; 8] = *b"HFveclog";
pub(crate) const HEAD_BYTES: u64 = 32;
pub(crate) const RECORD_BYTES: usize = 32;

/// What one record says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    Put {
        key: Key,
        vector: Vector,
    },
    Forget {
        key: Key,
    },
    /// All entries up to this one have been dealt with.
    Applied {
        entry: u64,
    },
}

/// What is read back: of a vector, where it lies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// `vector` is `None` when it does not match its checksum; then a [`Told::Forget`] of its key follows.
    Put {
        key: Key,
        at: u64,
        vector: Option<Vector>,
    },
    Forget {
        key: Key,
    },
    Applied {
        entry: u64,
    },
}

#[derive(Debug)]
pub(crate) struct Log {
    file: Arc<File>,
    path: PathBuf,
    generation: u64,
    end: u64,
}

impl Log {
    /// A new one with these records, durable under its name only after the folder is synced.
    pub(crate) fn create(path: PathBuf, generation: u64, records: &[u8]) -> Result<Log, Error> {
        let made = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path);
        let file = made.map_err(|e| holdfast_durable::while_doing("making", &path, e))?;
        let mut bytes = head(generation).to_vec();
        bytes.extend_from_slice(records);
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        Ok(Log { file: Arc::new(file), path, generation, end: bytes.len() as u64 })
    }

    /// Opens one and tells what is in it, in order; takes away a record that is cut off at its end.
    pub(crate) fn open(path: PathBuf, generation: u64, told: impl FnMut(Told)) -> Result<Log, Error> {
        let file = File::options().read(true).write(true).open(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::damaged(&path, "it is missing"),
            _ => holdfast_durable::while_doing("opening", &path, e).into(),
        })?;
        let len = file.metadata()?.len();
        let mut log = Log { file: Arc::new(file), path, generation, end: len };
        let whole = log.read(HEAD_BYTES, told)?;
        if whole < len {
            log.file.set_len(whole)?;
            log.end = whole;
        }
        Ok(log)
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn source(&self) -> Source {
        Source { file: Arc::clone(&self.file), path: self.path.clone() }
    }

    /// Adds records with one call; where each of them begins. When it fails, none of them is there.
    pub(crate) fn add(&mut self, records: &[Record]) -> Result<Vec<u64>, Error> {
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(records.len());
        for record in records {
            places.push(self.end + bytes.len() as u64);
            write_record(&mut bytes, record, self.generation, self.end);
        }
        if let Err(e) = self.file.write_all_at(&bytes, self.end) {
            // What is left of it would be cut off by the next opening; taking it away now as well costs nothing.
            let _ = self.file.set_len(self.end);
            return Err(holdfast_durable::while_doing("writing", &self.path, e).into());
        }
        self.end += bytes.len() as u64;
        Ok(places)
    }

    pub(crate) fn sync(&self) -> Result<(), Error> {
        Ok(self.file.sync_data().map_err(|e| holdfast_durable::while_doing("syncing", &self.path, e))?)
    }

    /// The vector of the record that begins there.
    pub(crate) fn vector(&self, key: Key, at: u64) -> Result<Vector, Error> {
        let mut head = [0; RECORD_BYTES];
        self.file.read_exact_at(&mut head, at)?;
        let crc = word(&head, 4);
        read_vector(&self.file, at + RECORD_BYTES as u64, &self.path, |bytes| vector_crc(key, bytes) == crc)
    }

    /// Wipes the vectors of the records that begin there, on the disk too.
    pub(crate) fn wipe(&self, places: &[u64]) -> Result<(), Error> {
        let mut changed = false;
        for at in places.iter().map(|at| at + RECORD_BYTES as u64) {
            let mut bytes = [0; VECTOR_BYTES];
            self.file.read_exact_at(&mut bytes, at)?;
            if bytes != [0; VECTOR_BYTES] {
                self.file.write_all_at(&[0; VECTOR_BYTES], at)?;
                changed = true;
            }
        }
        if changed { self.sync() } else { Ok(()) }
    }

    /// The records from `from` on, as bytes of a log of another generation that they follow `applied` in.
    pub(crate) fn moved(&self, from: u64, generation: u64, applied: Option<u64>) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        if let Some(entry) = applied {
            write_record(&mut bytes, &Record::Applied { entry }, generation, HEAD_BYTES);
        }
        let mut at = from;
        while at < self.end {
            let mut record = [0; RECORD_BYTES];
            self.file.read_exact_at(&mut record, at)?;
            let len = RECORD_BYTES + payload_of(record[0]);
            let begin = bytes.len();
            bytes.resize(begin + len, 0);
            self.file.read_exact_at(&mut bytes[begin..], at)?;
            seal(&mut bytes[begin..begin + RECORD_BYTES], generation, HEAD_BYTES + begin as u64);
            at += len as u64;
        }
        Ok(bytes)
    }

    /// Reads on from a place; where the last whole record ends.
    fn read(&self, from: u64, mut told: impl FnMut(Told)) -> Result<u64, Error> {
        self.check_head()?;
        let mut reader =
            Reader { input: BufReader::with_capacity(1 << 18, &*self.file), at: from, end: self.end };
        reader.skip_to(from)?;
        // Vectors that do not match their checksum, until the record that forgets them comes.
        let mut unmatched: HashMap<Key, usize> = HashMap::new();
        loop {
            let at = reader.at;
            match reader.next(self.generation, &self.path)? {
                None => break,
                Some(record) => {
                    match &record {
                        Told::Put { key, vector: None, .. } => *unmatched.entry(*key).or_default() += 1,
                        Told::Forget { key } => drop(unmatched.remove(key)),
                        _ => {}
                    }
                    debug_assert!(reader.at > at);
                    told(record);
                }
            }
        }
        if unmatched.is_empty() {
            Ok(reader.at)
        } else {
            Err(Error::damaged(&self.path, "a vector does not match its checksum"))
        }
    }

    fn check_head(&self) -> Result<(), Error> {
        let mut found = [0; HEAD_BYTES as usize];
        if self.end < HEAD_BYTES {
            return Err(Error::damaged(&self.path, "it is shorter than its header"));
        }
        self.file.read_exact_at(&mut found, 0)?;
        if found == head(self.generation) {
            return Ok(());
        }
        let format = word(&found, 8);
        if found[..8] == MAGIC && format > FORMAT && word(&found, 28) == crc32c::crc32c(&found[..28]) {
            return Err(Error::Newer { found: format, known: FORMAT });
        }
        Err(Error::damaged(&self.path, "its header is not the one of this log"))
    }
}

struct Reader<'a> {
    input: BufReader<&'a File>,
    /// Where the next record begins.
    at: u64,
    end: u64,
}

impl Reader<'_> {
    fn skip_to(&mut self, at: u64) -> Result<(), Error> {
        use std::io::{Seek, SeekFrom};
        self.input.seek(SeekFrom::Start(at))?;
        Ok(())
    }

    /// `None` at the end, or at a record that is cut off there.
    fn next(&mut self, generation: u64, path: &Path) -> Result<Option<Told>, Error> {
        let left = self.end - self.at;
        if left < RECORD_BYTES as u64 {
            return Ok(None);
        }
        let mut record = [0; RECORD_BYTES];
        self.input.read_exact(&mut record)?;
        if record == [0; RECORD_BYTES] {
            // A power cut can leave a file longer than what was written of it.
            return if self.rest_is_zero()? {
                Ok(None)
            } else {
                Err(Error::damaged(path, "a record is missing"))
            };
        }
        let mut sealed = record;
        seal(&mut sealed, generation, self.at);
        let len = RECORD_BYTES + payload_of(record[0]);
        if sealed != record || !(1..=3).contains(&record[0]) {
            return Err(Error::damaged(path, "a record does not match its checksum"));
        }
        if left < len as u64 {
            return Ok(None);
        }
        let told = self.told(&record)?;
        self.at += len as u64;
        Ok(Some(told))
    }

    fn told(&mut self, record: &[u8; RECORD_BYTES]) -> Result<Told, Error> {
        let entry = u64::from(word(record, 8)) | u64::from(word(record, 12)) << 32;
        let key = Key { entry, chunk: u16::from_le_bytes([record[2], record[3]]) };
        Ok(match record[0] {
            1 => {
                let mut bytes = [0; VECTOR_BYTES];
                self.input.read_exact(&mut bytes)?;
                let whole = vector_crc(key, &bytes) == word(record, 4);
                Told::Put { key, at: self.at, vector: if whole { Vector::from_bytes(&bytes) } else { None } }
            }
            2 => Told::Forget { key },
            _ => Told::Applied { entry },
        })
    }

    fn rest_is_zero(&mut self) -> Result<bool, Error> {
        let mut buffer = [0; 4096];
        loop {
            match self.input.read(&mut buffer)? {
                0 => return Ok(true),
                read if buffer[..read].iter().all(|byte| *byte == 0) => {}
                _ => return Ok(false),
            }
        }
    }
}

fn head(generation: u64) -> [u8; HEAD_BYTES as usize] {
    let mut bytes = [0; HEAD_BYTES as usize];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[16..24].copy_from_slice(&generation.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Appends a record to bytes that will begin at `begin` of the log.
fn write_record(bytes: &mut Vec<u8>, record: &Record, generation: u64, begin: u64) {
    let mut head = [0; RECORD_BYTES];
    let vector = match record {
        Record::Put { key, vector } => {
            let vector = vector.to_bytes();
            let crc = vector.as_array().map_or(0, |bytes| vector_crc(*key, bytes));
            head[0] = 1;
            head[2..4].copy_from_slice(&key.chunk.to_le_bytes());
            head[4..8].copy_from_slice(&crc.to_le_bytes());
            head[8..16].copy_from_slice(&key.entry.to_le_bytes());
            vector
        }
        Record::Forget { key } => {
            head[0] = 2;
            head[2..4].copy_from_slice(&key.chunk.to_le_bytes());
            head[8..16].copy_from_slice(&key.entry.to_le_bytes());
            Vec::new()
        }
        Record::Applied { entry } => {
            head[0] = 3;
            head[8..16].copy_from_slice(&entry.to_le_bytes());
            Vec::new()
        }
    };
    seal(&mut head, generation, begin + bytes.len() as u64);
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(&vector);
}

/// Sets the fields that tie a record to its place: a record of another log, or moved within this one, does not match.
fn seal(record: &mut [u8], generation: u64, at: u64) {
    record[1] = 0;
    record[16..24].copy_from_slice(&at.to_le_bytes());
    record[24..28].copy_from_slice(&(generation as u32).to_le_bytes());
    let crc = crc32c::crc32c(&record[..28]);
    record[28..32].copy_from_slice(&crc.to_le_bytes());
}

fn payload_of(kind: u8) -> usize {
    if kind == 1 { VECTOR_BYTES } else { 0 }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
