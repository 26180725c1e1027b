//! The entries of this room. Whatever memory knows after a restart, it knows from them.
//!
//! Text, tags and records are a blob beside [`Event::Captured`]. No event has a word of them, or a digest: after a forget there is
//! nothing to read and nothing to test guesses against.

use holdfast_types::{AgentId, Digest, KindDef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cite::Vote;
use crate::consolidate::{Counts, Decision, Method};
use crate::entry::{Header, Source};
use crate::gates::Refusal;
use crate::id::MemoryId;
use crate::usage::Level;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Captured(Captured),
    Rejected(Rejected),
    Blocked(Blocked),
    Decided(Decided),
    Superseded(Superseded),
    Archived(Archived),
    Forgotten(Forgotten),
    Shared(Shared),
    Unshared(Shared),
    Settled(Settled),
    Cited(Cited),
    IdentityChanged(IdentityChanged),
    ContextReached(ContextReached),
    FileRead(FileRead),
}

/// A memory was captured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Captured {
    pub header: Header,
}

/// A gate refused something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    pub source: Source,
    #[serde(flatten)]
    pub refusal: Refusal,
}

/// The guard let nothing of it through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub reason: String,
}

/// Part of a run. Each part stands for itself: a run that was cut short decided what its parts say, and the rest is decided by the
/// next one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// Counts the runs of this space.
    pub run: u64,
    pub part: u32,
    pub parts: u32,
    pub method: Method,
    /// Of the whole run.
    pub counts: Counts,
    pub decisions: Vec<Decision>,
}

/// A record of the same key came later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    pub entry: MemoryId,
    pub by: MemoryId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    pub entries: Vec<MemoryId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    pub entries: Vec<MemoryId>,
    /// Their places in the journal: once a key is gone, nothing else says which entry it was.
    pub seqs: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    pub entry: MemoryId,
    pub with: AgentId,
}

/// A person looked at two entries that contradict each other, and they do not any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub pair: (MemoryId, MemoryId),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cited {
    pub entry: MemoryId,
    pub vote: Vote,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityChanged {
    pub version: String,
    pub from: Digest,
    pub to: Digest,
    /// Sections with a change.
    pub sections: Vec<String>,
    /// Lines that went and lines that came. The document is nobody's memory: it says who an agent is meant to be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextReached {
    pub level: Level,
    pub used_tokens: u64,
    pub max_tokens: u64,
    pub estimated: bool,
}

/// A file was read for what is worth keeping. Its name is with what was captured from it, where it can be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRead {
    pub bytes: u64,
    /// How many pieces of it were looked at, and how many of them were not worth keeping.
    pub pieces: u32,
    #[serde(default)]
    pub refused: u32,
}

const ENTRY: (&str, &str) = ("entry", "the memory by its id");

macro_rules! kinds {
    ($($name:ident = $text:literal, $when:literal, [$($field:expr),*];)*) => {
        $(pub const $name: KindDef = KindDef { name: $text, version: 1, when: $when, fields: &[$($field),*] };)*

        /// All of them, for the page that lists every kind.
        pub const KINDS: &[KindDef] = &[$($name),*];
    };
}

kinds! {
    CAPTURED = "memory.entry.captured", "Something was remembered. What it says is the entry's blob.",
        [("id", "the memory"), ("at", "when it was captured"), ("agent", "whose space it is in"), ("owner", "for whom the agent works"),
         ("kind", "session_fact, outcome, directive, user_input, version_snapshot, run_trajectory, doc_trajectory or experience"),
         ("type", "decision, fact, preference, pattern or error"), ("source", "conversation, observation or inference"),
         ("confidence", "0 to 1, capped by the source"), ("scope", "project or global"),
         ("provenance", "who wrote it, how far they are trusted, and the entries it was made from with their spans and trust"),
         ("marks", "unlisted_language, instruction_like, doubted")];
    REJECTED = "memory.entry.rejected", "A quality gate refused something. Nothing of it is stored.",
        [("source", "where it was learnt"), ("gate", "the gate"), ("reason", "why, by its name")];
    BLOCKED = "memory.entry.blocked", "The guard let nothing of a text through.", [("reason", "the kind of secret")];
    DECIDED = "memory.run.decided", "A consolidation decided about entries of the session. A large one is several of these.",
        [("run", "which run of this space"), ("part", "which part of it, from 0"), ("parts", "how many there are"),
         ("method", "semantic, or lexical when the model was not there"),
         ("counts", "of the whole run: loaded, promoted, deduplicated, rejected"),
         ("decisions", "promote, merge, displace, reject, conflict, restore and confirm, each with its entries and why")];
    SUPERSEDED = "memory.entry.superseded", "A later record of the same key takes an entry's place.",
        [ENTRY, ("by", "the later one")];
    ARCHIVED = "memory.entry.archived", "Entries grew old: they leave planning and are found as before.", [("entries", "which")];
    FORGOTTEN = "memory.entry.forgotten", "Entries are forgotten, with all they replaced: their keys are destroyed.",
        [("entries", "which"), ("seqs", "their places in the journal")];
    SHARED = "memory.entry.shared", "Another agent may read an entry.", [ENTRY, ("with", "the agent")];
    UNSHARED = "memory.entry.unshared", "Another agent may not read an entry any more.", [ENTRY, ("with", "the agent")];
    SETTLED = "memory.conflict.settled", "Two entries that contradicted each other do not any more.", [("pair", "the two")];
    CITED = "memory.entry.cited", "Somebody confirmed that an entry was of use.",
        [ENTRY, ("vote", "a keyed token in place of a name (`ballot`), whether a person or an agent, and when")];
    IDENTITY_CHANGED = "memory.identity.changed", "The identity document is another one, after an approval and after it was written.",
        [("version", "its version now"), ("from", "digest before"), ("to", "digest now"), ("sections", "where it changed"),
         ("diff", "the lines that went and those that came")];
    CONTEXT_REACHED = "memory.context.reached", "An agent's context reached a level.",
        [("level", "warm, wrap_up or imminent"), ("used_tokens", "in use"), ("max_tokens", "of the model"), ("estimated", "whether it is an estimate")];
    FILE_READ = "memory.file.read", "A file was read for what is worth keeping; what was captured from it names this entry as its origin.",
        [("bytes", "how long it is, or the part of it that was read at once"), ("pieces", "how many pieces of it were looked at"),
            ("refused", "how many of them were not worth keeping")];
}

/// Why an entry of this room's kinds cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    #[error("{kind} is not a kind of this room")]
    UnknownKind { kind: String },
    #[error("{kind} has version {version}, which is newer than this program knows")]
    Newer { kind: String, version: u16 },
    #[error("the body of a {kind} entry is not what its kind says")]
    Body {
        kind: String,
        #[source]
        source: serde_json::Error,
    },
}

impl Event {
    pub fn kind(&self) -> &'static KindDef {
        match self {
            Event::Captured(_) => &CAPTURED,
            Event::Rejected(_) => &REJECTED,
            Event::Blocked(_) => &BLOCKED,
            Event::Decided(_) => &DECIDED,
            Event::Superseded(_) => &SUPERSEDED,
            Event::Archived(_) => &ARCHIVED,
            Event::Forgotten(_) => &FORGOTTEN,
            Event::Shared(_) => &SHARED,
            Event::Unshared(_) => &UNSHARED,
            Event::Settled(_) => &SETTLED,
            Event::Cited(_) => &CITED,
            Event::IdentityChanged(_) => &IDENTITY_CHANGED,
            Event::ContextReached(_) => &CONTEXT_REACHED,
            Event::FileRead(_) => &FILE_READ,
        }
    }

    pub fn body(&self) -> Result<Value, EventError> {
        let body = match self {
            Event::Captured(e) => serde_json::to_value(e),
            Event::Rejected(e) => serde_json::to_value(e),
            Event::Blocked(e) => serde_json::to_value(e),
            Event::Decided(e) => serde_json::to_value(e),
            Event::Superseded(e) => serde_json::to_value(e),
            Event::Archived(e) => serde_json::to_value(e),
            Event::Forgotten(e) => serde_json::to_value(e),
            Event::Shared(e) | Event::Unshared(e) => serde_json::to_value(e),
            Event::Settled(e) => serde_json::to_value(e),
            Event::Cited(e) => serde_json::to_value(e),
            Event::IdentityChanged(e) => serde_json::to_value(e),
            Event::ContextReached(e) => serde_json::to_value(e),
            Event::FileRead(e) => serde_json::to_value(e),
        };
        body.map_err(|source| EventError::Body { kind: self.kind().name.to_owned(), source })
    }

    /// Reads an entry back. A kind that is not listed is for the caller to keep and pass over.
    pub fn parse(kind: &str, version: u16, body: Value) -> Result<Event, EventError> {
        let Some(def) = KINDS.iter().find(|def| def.name == kind) else {
            return Err(EventError::UnknownKind { kind: kind.chars().take(96).collect() });
        };
        if version > def.version {
            return Err(EventError::Newer { kind: kind.to_owned(), version });
        }
        match kind {
            "memory.entry.captured" => of(def, body).map(Event::Captured),
            "memory.entry.rejected" => of(def, body).map(Event::Rejected),
            "memory.entry.blocked" => of(def, body).map(Event::Blocked),
            "memory.run.decided" => of(def, body).map(Event::Decided),
            "memory.entry.superseded" => of(def, body).map(Event::Superseded),
            "memory.entry.archived" => of(def, body).map(Event::Archived),
            "memory.entry.forgotten" => of(def, body).map(Event::Forgotten),
            "memory.entry.shared" => of(def, body).map(Event::Shared),
            "memory.entry.unshared" => of(def, body).map(Event::Unshared),
            "memory.conflict.settled" => of(def, body).map(Event::Settled),
            "memory.entry.cited" => of(def, body).map(Event::Cited),
            "memory.identity.changed" => of(def, body).map(Event::IdentityChanged),
            "memory.context.reached" => of(def, body).map(Event::ContextReached),
            _ => of(def, body).map(Event::FileRead),
        }
    }
}

fn of<T: DeserializeOwned>(def: &KindDef, body: Value) -> Result<T, EventError> {
    serde_json::from_value(body).map_err(|source| EventError::Body { kind: def.name.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::consolidate::{MergeReason, MergeRecord};
    use crate::differs::Difference;
    use crate::gates::{GateName, Reason};
    use crate::similar::Similarity;

    fn one_of_each() -> Vec<Event> {
        let (a, b) = (build::id(1), build::id(2));
        let refusal = Refusal { gate: GateName::Noise, reason: Reason::Greeting };
        let record = MergeRecord {
            kept: a,
            discarded: b,
            similarity: Similarity::new(0.91),
            reason: MergeReason::HigherConfidence,
            method: Method::Semantic,
        };
        let decisions = vec![
            Decision::Promote { entry: a },
            Decision::Merge(record.clone()),
            Decision::Displace(record.clone()),
            Decision::Reject { entry: b, refusal },
            Decision::Conflict { pair: (a, b), by: Difference::Numbers },
            Decision::Restore { entry: b },
            Decision::Confirm { entry: b },
        ];
        let counts = Counts { loaded: 3, promoted: 1, deduplicated: 1, rejected: 1 };
        let digest = Digest::blake3([7; 32]);
        vec![
            Event::Captured(Captured {
                header: build::fact("A planted word.").tags(&["planted"]).entry(1).header,
            }),
            Event::Rejected(Rejected { source: Source::Inference, refusal }),
            Event::Blocked(Blocked { reason: "private_key".into() }),
            Event::Decided(Decided { run: 1, part: 0, parts: 1, method: Method::Lexical, counts, decisions }),
            Event::Superseded(Superseded { entry: a, by: b }),
            Event::Archived(Archived { entries: vec![a] }),
            Event::Forgotten(Forgotten { entries: vec![a, b], seqs: Vec::new() }),
            Event::Shared(Shared { entry: a, with: build::agent(2) }),
            Event::Unshared(Shared { entry: a, with: build::agent(2) }),
            Event::Settled(Settled { pair: (a, b) }),
            Event::Cited(Cited { entry: a, vote: Vote::by_person("tok".parse().unwrap(), build::at(0)) }),
            Event::IdentityChanged(IdentityChanged {
                version: "1.0.1".into(),
                from: digest,
                to: digest,
                sections: vec!["Boundaries".into()],
                diff: "-old\n+new\n".into(),
            }),
            Event::ContextReached(ContextReached {
                level: Level::Warm,
                used_tokens: 60,
                max_tokens: 100,
                estimated: false,
            }),
            Event::FileRead(FileRead { bytes: 120, pieces: 2, refused: 1 }),
        ]
    }

    #[test]
    fn every_kind_has_an_event_that_round_trips_and_holds_no_word_of_the_text() {
        let events = one_of_each();
        assert_eq!(
            events.iter().map(|e| e.kind().name).collect::<Vec<_>>(),
            KINDS.iter().map(|k| k.name).collect::<Vec<_>>()
        );
        for event in events {
            let body = event.body().unwrap();
            assert!(!body.to_string().contains("planted"), "{body}");
            assert_eq!(Event::parse(event.kind().name, 1, body).unwrap(), event);
        }
    }

    #[test]
    fn the_fields_of_a_kind_are_the_ones_it_lists() {
        for event in one_of_each() {
            let body = event.body().unwrap();
            for field in body.as_object().unwrap().keys() {
                let listed = event.kind().fields.iter().any(|(name, _)| name == field);
                assert!(listed, "{} has {field}, which its page does not list", event.kind().name);
            }
        }
    }

    #[test]
    fn a_newer_version_or_a_broken_body_is_an_error_and_a_kind_of_another_room_is_named() {
        let parse = |kind, version| Event::parse(kind, version, Value::Null).unwrap_err().to_string();
        assert!(parse("memory.entry.captured", 2).contains("newer"));
        assert!(parse("memory.entry.captured", 1).contains("not what its kind says"));
        assert!(parse("steward.trial.kept", 1).contains("not a kind of this room"));
    }
}
