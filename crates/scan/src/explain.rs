//! Why a line was reported, or was not: the engine's reasoning step by step, then what was done with its findings.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use holdfast_guard::{Guard, Scene, fingerprint, masked};
use holdfast_types::Timestamp;

use crate::accepted;
use crate::allow::{self, Said};
use crate::error::{Error, Result};
use crate::lines::line_at;
use crate::notebook;
use crate::review::{Review, Standing};
use crate::shown::shown;
use crate::text::{self, Content, HEAD};
use crate::walk;

/// What is read of a file for this: a line further on is not explained.
const BYTES_MAX: u64 = 64 << 20;

/// A line, explained. Quotes nothing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub file: String,
    pub line: u64,
    /// What the engine saw and thought, in its order.
    pub steps: Vec<String>,
    /// What became of each finding.
    pub findings: Vec<Outcome>,
}

/// What became of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub rule: String,
    pub masked: String,
    pub fingerprint: String,
    pub is_reported: bool,
    pub why: String,
}

/// Explains one line of a file.
pub fn explain(path: &Path, line: u64, now: Timestamp) -> Result<Explained> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    let root = walk::root_of(path);
    let review = root.as_deref().map_or_else(|| Ok(Review::default()), Review::of_root)?;
    let place = place_of(path, root.as_deref());
    let (text, within) = line_of(path, &place, &bytes, line)?;
    let scene = Scene::file(&place, &text[..text.len().min(HEAD)]);
    let steps =
        Guard::builtin().explain(&text, &scene, within.clone()).iter().map(ToString::to_string).collect();
    let found = Guard::builtin().find(&text, &scene).into_iter();
    let on_line =
        found.filter(|f| f.span.start < within.end.max(within.start + 1) && f.span.end > within.start);
    let findings = on_line.map(|finding| {
        let secret = &text[finding.span.clone()];
        let fingerprint = fingerprint(&finding.kind.id, secret);
        let said = allow::said(&text, &finding.span, &finding.kind.id);
        let standing = review.standing(&fingerprint, &place, accepted::day(now));
        let (is_reported, why) = decided(finding.reason, &said, &standing);
        Outcome { rule: finding.kind.id.clone(), masked: masked(secret), fingerprint, is_reported, why }
    });
    let findings = findings.collect();
    Ok(Explained { file: path.display().to_string(), line, steps, findings })
}

/// Whether a finding is reported, and the reason in words.
fn decided(reason: &str, said: &Said, standing: &Standing) -> (bool, String) {
    match (said, standing) {
        (Said::Allowed, _) => (false, "the comment beside it allows it".to_owned()),
        (_, Standing::Excepted) => (false, "a reviewed exception lists it".to_owned()),
        (_, Standing::Expired { on }) => (true, format!("{reason}; its exception expired after {on}")),
        (Said::ButNot(note), _) => (true, format!("{reason}; {note}")),
        (Said::Nothing, _) => (true, reason.to_owned()),
    }
}

/// The file from its root, as exceptions name it.
fn place_of(path: &Path, root: Option<&Path>) -> String {
    use std::os::unix::ffi::OsStrExt;
    let real = path.canonicalize().ok();
    let from_root = real.as_deref().zip(root).and_then(|(real, root)| real.strip_prefix(root).ok());
    shown(from_root.unwrap_or(path).as_os_str().as_bytes())
}

/// The text the engine sees, and which part of it is the line.
fn line_of(path: &Path, place: &str, bytes: &[u8], line: u64) -> Result<(Vec<u8>, Range<usize>)> {
    let missing = |text: &[u8]| {
        let lines = memchr::memchr_iter(b'\n', text).count() as u64 + u64::from(!text.ends_with(b"\n"));
        Error::NoSuchLine { path: path.to_owned(), line, lines }
    };
    match text::of(place, bytes) {
        Content::Text => {
            let within = line_at(bytes, line).ok_or_else(|| missing(bytes))?;
            Ok((bytes.to_vec(), within))
        }
        Content::Wide(order) => {
            let text = text::narrowed(bytes, order).into_bytes();
            let within = line_at(&text, line).ok_or_else(|| missing(&text))?;
            Ok((text, within))
        }
        Content::Notebook => {
            let within = line_at(bytes, line).ok_or_else(|| missing(bytes))?;
            let unescaped = notebook::unescaped(bytes);
            let within = unescaped.first_from(within.start)..unescaped.first_from(within.end);
            Ok((unescaped.text, within))
        }
        _ => Err(Error::NotText { path: path.to_owned() }),
    }
}
