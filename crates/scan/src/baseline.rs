//! What was there before scanning began: findings that pass because they were written down once.
//!
//! One JSON document, sorted and without a byte of a secret, so that it can be committed and compared. Counted: a
//! second copy of a known secret in the same file is new.

use std::collections::BTreeMap;
use std::path::Path;

use holdfast_durable::Mode;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::found::Found;

const VERSION: u32 = 1;
/// A baseline beyond this is no list of findings.
const BYTES_MAX: u64 = 64 << 20;

/// Findings by file and fingerprint, with how many of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<(String, String), Known>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    rule: String,
    count: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    findings: Vec<Row>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    file: String,
    rule: String,
    fingerprint: String,
    count: u64,
}

impl Baseline {
    pub fn of(findings: &[Found]) -> Baseline {
        let mut all = Baseline::default();
        for found in findings {
            let key = (found.place.clone(), found.fingerprint.clone());
            all.0.entry(key).or_insert_with(|| Known { rule: found.rule.clone(), count: 0 }).count += 1;
        }
        all
    }

    pub fn read(path: &Path) -> Result<Baseline> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let size = std::fs::metadata(path).map_err(failed)?.len();
        let wrong = |why: String| Error::Baseline { path: path.to_owned(), why };
        if size > BYTES_MAX {
            return Err(wrong(format!("it has {size} bytes")));
        }
        let text = std::fs::read(path).map_err(failed)?;
        let document: Document = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
        if document.version != VERSION {
            return Err(wrong(format!("it has version {}", document.version)));
        }
        let rows = document.findings.into_iter();
        Ok(Baseline(
            rows.map(|r| ((r.file, r.fingerprint), Known { rule: r.rule, count: r.count })).collect(),
        ))
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = |source| Error::Write { path: path.to_owned(), source };
        let row = |((file, fingerprint), known): (&(String, String), &Known)| Row {
            file: file.clone(),
            rule: known.rule.clone(),
            fingerprint: fingerprint.clone(),
            count: known.count,
        };
        let document = Document { version: VERSION, findings: self.0.iter().map(row).collect() };
        let mut text = serde_json::to_vec_pretty(&document).map_err(|e| failed(e.into()))?;
        text.push(b'\n');
        holdfast_durable::replace(path, &text, Mode::Readable).map_err(failed)
    }

    /// How many findings it has.
    pub fn len(&self) -> u64 {
        self.0.values().map(|known| known.count).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes one such finding out, if it is known and not used up.
    pub(crate) fn take(&mut self, found: &Found) -> bool {
        match self.0.get_mut(&(found.place.clone(), found.fingerprint.clone())) {
            Some(known) if known.count > 0 => {
                known.count -= 1;
                true
            }
            _ => false,
        }
    }
}
