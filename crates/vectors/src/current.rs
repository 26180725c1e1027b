//! The file `CURRENT`: which generation of the other files counts. It is replaced whole, which is how a rebuild is switched to.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use holdfast_durable::Mode;

use crate::error::Error;
use crate::layout::FORMAT;
use crate::model::Model;

/// Far more than it has.
const BYTES_MAX: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    pub(crate) generation: u64,
    pub(crate) model: Model,
    /// Whether the generation has a base; a new index has a log alone.
    pub(crate) base: bool,
}

impl Current {
    /// `None` when there is none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Current>, Error> {
        let path = path(folder);
        let file = match std::fs::File::open(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|e| holdfast_durable::while_doing("opening", &path, e))?,
        };
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::damaged(&path, "it is no text"))?;
        Current::parse(&text, &path).map(Some)
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        Ok(holdfast_durable::replace(&path(folder), self.to_text().as_bytes(), Mode::Private)?)
    }

    fn to_text(self) -> String {
        let mut text =
            format!("format: {FORMAT}\ngeneration: {}\nbase: {}\nmodel: ", self.generation, self.base);
        for byte in self.model.0 {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
        let crc = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, "crc: {crc:08x}");
        text
    }

    fn parse(text: &str, path: &Path) -> Result<Current, Error> {
        let damaged = || Error::damaged(path, "it does not say which generation counts");
        let format =
            text.lines().next().and_then(|line| line.strip_prefix("format: ")).and_then(|n| n.parse().ok());
        match format {
            Some(found) if found > FORMAT => return Err(Error::Newer { found, known: FORMAT }),
            Some(_) => {}
            None => return Err(damaged()),
        }
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let read = || {
            Some(Current {
                generation: field("generation")?.parse().ok()?,
                base: field("base")?.parse().ok()?,
                model: Model(bytes_of_hex(field("model")?)?),
            })
        };
        // What is written again has the same bytes: the checksum, the order of the lines, nothing else in the file.
        read().filter(|current| current.to_text() == text).ok_or_else(damaged)
    }
}

pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("CURRENT")
}

fn bytes_of_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let pairs = text.as_bytes().as_chunks::<2>().0;
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURRENT: Current = Current { generation: 41, model: Model([0xab; 32]), base: true };

    #[test]
    fn it_comes_back_as_it_was_and_nothing_is_not_damage() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Current::read(folder.path()).unwrap(), None);
        CURRENT.write(folder.path()).unwrap();
        assert_eq!(Current::read(folder.path()).unwrap(), Some(CURRENT));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let (text, path) = (CURRENT.to_text(), Path::new("CURRENT"));
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Ok(flipped) = String::from_utf8(bytes) else { continue };
            assert!(Current::parse(&flipped, path).is_err(), "bit {bit}: {flipped}");
        }
        for len in 0..text.len() {
            assert!(Current::parse(&text[..len], path).is_err(), "cut at {len}");
        }
    }

    #[test]
    fn a_later_format_is_called_later() {
        let later = CURRENT.to_text().replace("format: 1", "format: 2");
        let refused = Current::parse(&later, Path::new("CURRENT"));
        assert!(matches!(refused, Err(Error::Newer { found: 2, .. })), "{refused:?}");
    }
}
