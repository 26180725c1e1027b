//! The doorman's own log: every word that may change something, and what came of it, in the journal's format under an origin and a
//! key of its own, so that nobody who holds a controller can rewrite what was done here.
//!
//! It is written under the room's lock, by root alone. A log that cannot be written stops nothing: an undo has to work on a full
//! disk too. The system's log is told then.

use std::path::PathBuf;
use std::sync::Arc;

use holdfast_journal::{Draft, Journal, Limits, Options, Screen, SystemClock, Verdict};
use holdfast_keys::{Role as KeyRole, SecretKey, file};
use holdfast_types::{Actor, Clock as _, KindDef, Origin, Trust};
use serde_json::{Map, json};

use crate::place::Place;
use crate::program::Trouble;
use crate::room::lock;
use crate::wire::{Ask, Reply};

pub(crate) const ANSWERED: KindDef = KindDef {
    name: "doorman.word.answered",
    version: 1,
    when: "A word that may change a target was said to its doorman and answered.",
    fields: &[
        ("word", "what was said"),
        ("episode", "the episode it was said for, if it names one"),
        ("answer", "accepted, refused or broken"),
        ("why", "the reason, when it was not accepted"),
    ],
};

pub(crate) const EXPIRED: KindDef = KindDef {
    name: "doorman.lease.expired",
    version: 1,
    when: "A lease ran out on the target, and what was tried was undone there.",
    fields: &[("episode", "the episode whose lease it was")],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[ANSWERED, EXPIRED];

const MIB: u64 = 1 << 20;

/// A few hundred bytes a word: years of trials, and a small part of any disk.
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

/// Everything in it is a word, a number or a sentence of this program.
#[derive(Debug)]
struct OwnWords;

impl Screen for OwnWords {
    fn screen(&self, _: &str) -> Verdict {
        Verdict::Clean
    }
}

fn folder(place: &Place) -> PathBuf {
    place.state.join("log")
}

fn key_file(place: &Place) -> PathBuf {
    place.state.join("log.key")
}

fn odd(e: impl std::fmt::Display) -> Trouble {
    Trouble::Odd(format!("the doorman's log: {e}"))
}

/// The first day: a key, and an empty log under an origin that nobody else has. Whatever of it is there stays.
pub(crate) fn begin(place: &Place) -> Result<(), Trouble> {
    if folder(place).exists() {
        return Ok(());
    }
    let clock = Arc::new(SystemClock::new());
    let key = match file::read_key(&key_file(place), KeyRole::Log) {
        Ok(read) => read.key,
        Err(_) => {
            let key = SecretKey::generate().map_err(odd)?;
            file::create_key(&key_file(place), &key, KeyRole::Log, clock.now()).map_err(odd)?;
            key
        }
    };
    let name: String = key.id().to_string().chars().filter(char::is_ascii_hexdigit).take(12).collect();
    let origin: Origin = format!("holdfast/doorman-{name}").parse().map_err(odd)?;
    Journal::create(&folder(place), &origin, &[key], clock).map_err(odd)
}

/// What was asked and what came of it; nothing of a word that only looks.
pub(crate) fn answered(place: &Place, ask: &Ask, reply: &Reply) {
    let episode = match ask {
        Ask::Stage { episode, .. }
        | Ask::Arm { episode, .. }
        | Ask::Try { episode, .. }
        | Ask::Keep { episode, .. }
        | Ask::Restore { episode, .. }
        | Ask::Cancel { episode } => Some(episode.to_string()),
        Ask::Clean { .. } => None,
        Ask::Ping {}
        | Ask::Collect { .. }
        | Ask::State { .. }
        | Ask::List {}
        | Ask::Check { .. }
        | Ask::Poll { .. } => return,
    };
    let (answer, why) = match reply {
        Reply::Refused(refused) => ("refused", Some(refused.to_string())),
        Reply::Staged(Err(why)) | Reply::NotAdmitted { why } => ("refused", Some(why.clone())),
        Reply::Broken { why } => ("broken", Some(why.clone())),
        _ => ("accepted", None),
    };
    write(place, &ANSWERED, json!({"word": ask.word(), "episode": episode, "answer": answer, "why": why}));
}

pub(crate) fn expired(place: &Place, episode: &str) {
    write(place, &EXPIRED, json!({ "episode": episode }));
}

fn write(place: &Place, kind: &KindDef, body: serde_json::Value) {
    if let Err(trouble) = try_to_write(place, kind, body) {
        crate::door::warn(&trouble.to_string());
    }
}

fn try_to_write(place: &Place, kind: &KindDef, body: serde_json::Value) -> Result<(), Trouble> {
    let body: Map<_, _> = match body {
        serde_json::Value::Object(body) => body.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    };
    let actor: Actor = "doorman".parse().map_err(odd)?;
    let draft = Draft::new(kind.name.parse().map_err(odd)?, actor, Trust::Trusted, body);
    // One writer at a time: words may be answered side by side, and the lease runs out when it wants to.
    let _lock = lock(&place.state.join("log.lock"))?;
    let journal = Journal::open(Options {
        dir: folder(place),
        signers: vec![file::read_key(&key_file(place), KeyRole::Log).map_err(odd)?.key],
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_change_something_are_kept_and_signed_and_those_that_look_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { state: folder.path().to_owned(), ..Place::default() };
        begin(&place).unwrap();
        begin(&place).unwrap();
        let episode = || "ep_1".parse().unwrap();
        answered(&place, &Ask::Cancel { episode: episode() }, &Reply::Accepted);
        answered(&place, &Ask::Ping {}, &Reply::Accepted);
        answered(&place, &Ask::Clean { keep: 3 }, &Reply::Broken { why: "no space".to_owned() });
        expired(&place, "ep_1");
        let view = holdfast_journal::View::open(&super::folder(&place), None).unwrap();
        assert!(view.origin().to_string().starts_with("holdfast/doorman-"));
        let lines: Vec<String> =
            view.entries(0).map(|raw| String::from_utf8_lossy(&raw.unwrap().line).into_owned()).collect();
        assert_eq!(lines.len(), 3, "{lines:#?}");
        for (line, part) in lines.iter().zip(["\"answer\":\"accepted\"", "no space", "doorman.lease.expired"])
        {
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(view.latest_checkpoint().unwrap().checkpoint.size, 3);
    }

    #[test]
    fn a_log_that_cannot_be_written_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { state: folder.path().join("gone"), ..Place::default() };
        answered(&place, &Ask::Clean { keep: 3 }, &Reply::Accepted);
    }
}
