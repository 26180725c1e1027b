//! The log of one small program beside the house: in the journal's format, under an origin and a key of its own, so that nobody who holds
//! the house can rewrite what was done there. The doorman of a target has one, and the tripwire.
//!
//! It is opened for each entry and closed again: such programs write now and then, and should cost nothing in between. Each entry is signed
//! before the call returns.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdfast_durable::lock_within;
use holdfast_journal::{Draft, Journal, Limits, Options, Screen, Verdict};
use holdfast_keys::{Role, SecretKey, file};
use holdfast_types::{Actor, Clock as _, Origin, Trust};
use serde_json::{Map, Value};

pub use holdfast_journal::SystemClock;
pub use holdfast_types::KindDef;

const MIB: u64 = 1 << 20;
/// Whoever writes an entry has done so by then.
const LOCK_WITHIN: Duration = Duration::from_secs(10);

/// Why an entry is not there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotWritten(String);

/// With its causes, unless the sentence names them already: a full disk is told as such.
fn odd(e: impl std::error::Error) -> NotWritten {
    let mut said = e.to_string();
    let mut cause = e.source();
    while let Some(e) = cause {
        let also = e.to_string();
        if !said.contains(&also) {
            said = format!("{said}: {also}");
        }
        cause = e.source();
    }
    NotWritten(said)
}

/// Where a program's log lies: `log/`, `log.key` and `log.lock` in a folder that only it can write.
#[derive(Clone, Debug)]
pub struct Logbook {
    /// Who writes it, and how its origin begins.
    name: &'static str,
    folder: PathBuf,
}

/// A few hundred bytes an entry: years of them, and a small part of any disk.
fn limits() -> Limits {
    Limits {
        segment_bytes: MIB,
        checkpoint_every: 1,
        keep_segments: 4,
        warn_bytes: 16 * MIB,
        cap_bytes: 64 * MIB,
        ..Limits::default()
    }
}

/// Everything in it is a word, a number or a sentence of the program itself.
#[derive(Debug)]
struct OwnWords;

impl Screen for OwnWords {
    fn screen(&self, _: &str) -> Verdict {
        Verdict::Clean
    }
}

impl Logbook {
    pub fn of(name: &'static str, folder: PathBuf) -> Logbook {
        Logbook { name, folder }
    }

    /// The entries.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn key(&self) -> PathBuf {
        self.folder.join("log.key")
    }

    /// The first day: a key, and an empty log under an origin that nobody else has. Whatever of it is there stays.
    pub fn begin(&self) -> Result<(), NotWritten> {
        if self.log().exists() {
            return Ok(());
        }
        let clock = Arc::new(SystemClock::new());
        let key = match file::read_key(&self.key(), Role::Log) {
            Ok(read) => read.key,
            Err(_) => {
                let key = SecretKey::generate().map_err(odd)?;
                file::create_key(&self.key(), &key, Role::Log, clock.now()).map_err(odd)?;
                key
            }
        };
        let id: String = key.id().to_string().chars().filter(char::is_ascii_hexdigit).take(12).collect();
        let origin: Origin = format!("holdfast/{}-{id}", self.name).parse().map_err(odd)?;
        Journal::create(&self.log(), &origin, &[key], clock).map_err(odd)
    }

    /// One entry, durable and signed when this returns. What has no value is left out of it.
    pub fn write(&self, kind: &KindDef, body: Value) -> Result<(), NotWritten> {
        let body: Map<_, _> = match body {
            Value::Object(body) => body.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        };
        let actor: Actor = self.name.parse().map_err(odd)?;
        let draft = Draft::new(kind.name.parse().map_err(odd)?, actor, Trust::Trusted, body);
        // One writer at a time: several of the same program may be at work side by side.
        let lock = self.folder.join("log.lock");
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(lock)
            .map_err(odd)?;
        if !lock_within(&lock, LOCK_WITHIN).map_err(odd)? {
            return Err(NotWritten("somebody else writes it all the time".to_owned()));
        }
        let journal = Journal::open(Options {
            dir: self.log(),
            signers: vec![file::read_key(&self.key(), Role::Log).map_err(odd)?.key],
            screen: Arc::new(OwnWords),
            clock: Arc::new(SystemClock::new()),
            vault: None,
            archive: None,
            limits: limits(),
        })
        .map_err(odd)?;
        journal.append(&draft).map_err(odd)?;
        // Signed before anybody is told: a log is believed as far as its checkpoint goes.
        journal.settle().map_err(odd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HAPPENED: KindDef = KindDef {
        name: "tripwire.test.happened",
        version: 1,
        when: "In a test.",
        fields: &[("what", "what")],
    };

    #[test]
    fn entries_are_kept_and_signed_under_an_origin_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let logbook = Logbook::of("tripwire", folder.path().to_owned());
        logbook.begin().unwrap();
        logbook.write(&HAPPENED, json!({"what": "this", "nothing": null})).unwrap();
        logbook.begin().unwrap();
        logbook.write(&HAPPENED, json!({"what": "that"})).unwrap();
        let view = holdfast_journal::View::open(&logbook.log(), None).unwrap();
        assert!(view.origin().to_string().starts_with("holdfast/tripwire-"));
        let lines: Vec<String> =
            view.entries(0).map(|raw| String::from_utf8_lossy(&raw.unwrap().line).into_owned()).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains(r#"{"what":"this"}"#), "{}", lines[0]);
        assert_eq!(view.latest_checkpoint().unwrap().checkpoint.size, 2);
    }

    #[test]
    fn one_that_cannot_be_written_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let logbook = Logbook::of("tripwire", folder.path().join("gone"));
        assert!(logbook.write(&HAPPENED, json!({})).is_err());
    }
}
