//! Which segments there are, and up to where the journal is in them: one small file that is replaced whole, so that rows and
//! progress change together or not at all.

use std::path::Path;

use holdfast_durable::{Mode, while_doing};
use serde::{Deserialize, Serialize};

use crate::analyse::ANALYSIS;
use crate::error::{Error, Result};
use crate::segment::layout::FORMAT;

pub(crate) const NAME: &str = "MANIFEST";

/// Far above what thousands of segments need.
const LEN_MAX: u64 = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    format: u32,
    analysis: u32,
    /// Every journal entry before this one is in the segments, or has nothing to do with them.
    pub(crate) applied: u64,
    /// The number of the next segment; none is given twice.
    pub(crate) next_serial: u64,
    /// In the order of their ids.
    pub(crate) segments: Vec<Listed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    pub(crate) serial: u64,
    /// The checksum of its first page, which covers all others.
    pub(crate) root: u32,
}

impl Manifest {
    pub(crate) fn empty() -> Manifest {
        Manifest { format: FORMAT, analysis: ANALYSIS, applied: 0, next_serial: 1, segments: Vec::new() }
    }

    /// What the folder says; none when it has no manifest.
    pub(crate) fn read(dir: &Path) -> Result<Option<Manifest>> {
        let path = dir.join(NAME);
        let damaged = |what| Error::Damaged { path: path.clone(), what };
        match std::fs::metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(while_doing("looking at", &path, e).into()),
            Ok(found) if found.len() > LEN_MAX => return Err(damaged("it is far too long")),
            Ok(_) => {}
        }
        let bytes = std::fs::read(&path).map_err(|e| while_doing("reading", &path, e))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| damaged("it is not text"))?;
        let (line, check) = text.split_once('\n').ok_or_else(|| damaged("it is cut short"))?;
        if check != checksum_line(line) {
            return Err(damaged("its checksum"));
        }
        let versions: Versions =
            serde_json::from_str(line).map_err(|_| damaged("it does not say its format"))?;
        if versions.format > FORMAT {
            return Err(Error::Newer { path, found: versions.format, known: FORMAT });
        }
        if versions.analysis != ANALYSIS {
            return Err(Error::OtherAnalysis { path, found: versions.analysis, known: ANALYSIS });
        }
        serde_json::from_str(line).map(Some).map_err(|_| damaged("it does not read as a manifest"))
    }

    /// Durable on return.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        let line = serde_json::to_string(self).map_err(std::io::Error::other)?;
        let text = format!("{line}\n{}", checksum_line(&line));
        Ok(holdfast_durable::replace(&dir.join(NAME), text.as_bytes(), Mode::Private)?)
    }

    pub(crate) fn take_serial(&mut self) -> u64 {
        let serial = self.next_serial;
        self.next_serial += 1;
        serial
    }
}

/// What is read of a manifest before it is known to be one of ours.
#[derive(Deserialize)]
struct Versions {
    format: u32,
    analysis: u32,
}

fn checksum_line(line: &str) -> String {
    format!("{:08x}\n", crc32c::crc32c(line.as_bytes()))
}
