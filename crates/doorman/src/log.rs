//! The doorman's own log: every word that may change something, and what came of it, in the journal's format under an origin and a
//! key of its own, so that nobody who holds a controller can rewrite what was done here.
//!
//! It is written by root alone. A log that cannot be written stops nothing: an undo has to work on a full disk too. The system's log is told
//! then.

use holdfast_logbook::{KindDef, Logbook};
use serde_json::json;

use crate::place::Place;
use crate::program::Trouble;
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

fn logbook(place: &Place) -> Logbook {
    Logbook::of("doorman", place.state.clone())
}

/// The first day. Whatever of it is there stays.
pub(crate) fn begin(place: &Place) -> Result<(), Trouble> {
    logbook(place).begin().map_err(|e| Trouble::Odd(format!("the doorman's log: {e}")))
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
        | Ask::Survey {}
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
    if let Err(e) = logbook(place).write(kind, body) {
        crate::door::warn(&format!("the doorman's log: {e}"));
    }
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
        answered(
            &place,
            &Ask::Clean { keep: 3, older_seconds: 0 },
            &Reply::Broken { why: "no space".to_owned() },
        );
        expired(&place, "ep_1");
        let view = holdfast_journal::View::open(&logbook(&place).log(), None).unwrap();
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
        answered(&place, &Ask::Clean { keep: 3, older_seconds: 0 }, &Reply::Accepted);
    }
}
