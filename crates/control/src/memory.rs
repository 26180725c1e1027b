//! What can be asked of memory, and what it answers. Words such as a kind or a gate cross as text: whoever answers knows them.
//!
//! Whatever may be long comes in pieces that fit a line: lines of an import, questions of a batch, pages of an export. Whoever asks sends the
//! next piece when the last one is answered.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holdfast_types::{Actor, Key, Timestamp, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One question or order to memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MemoryAsk {
    /// Remember something.
    Add(Box<MemoryDraft>),
    /// Take in lines from elsewhere.
    Import(MemoryLines),
    /// Find memories by a question.
    Search(Box<MemorySearch>),
    /// The same for many questions, which get no more than ids.
    SearchMany { queries: Vec<MemoryQuery>, only: Box<MemoryFilter>, top: u32 },
    /// Everything that is known of one.
    Show { agent: String, id: String },
    /// Give every memory its vector; of everybody, where nobody is named.
    Embed { agent: Option<String> },
    /// Decide what stays of what was captured since the last time; for everybody, where nobody is named.
    Consolidate { agent: Option<String>, actor: Actor },
    /// How much there is; of everybody, where nobody is named.
    Stats { agent: Option<String> },
    /// Destroy the text of a memory, and of all it had taken the place of.
    Forget { agent: String, id: String, actor: Actor },
    /// Look for anything that is left of a memory that was forgotten.
    ProveForgotten { agent: String, id: String },
    /// What an agent remembers, from an entry on.
    Export { agent: String, from: u64 },
    /// The memories that go with an objective, cut to a budget of tokens.
    Pack { agent: String, objective: String, budget: u32, only: Box<MemoryFilter> },
    /// Learn from the history of a git repository.
    Mine { agent: String, repository: String, commits: u32, actor: Actor },
    /// What was learnt that fits a situation.
    Match { agent: String, situation: String, top: u32 },
    /// Somebody confirms that a memory was of use.
    Cite { agent: String, id: String, who: Actor },
    /// Let another agent read memories, or not any more.
    Share { agent: String, what: MemoryPortion, with: String, actor: Actor, take_back: bool },
    /// Write the notes that people read.
    Notes { agent: String, actor: Actor },
    /// Take in what is worth keeping of a written file, or of a part of it.
    Read(Box<MemoryWritten>),
}

/// A text that whoever asks read from a file, with rights of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryWritten {
    pub agent: String,
    /// What the file is called. A piece that is here already from a file of that name is known again.
    pub name: String,
    pub text: String,
    /// Where in the file the text begins: a long one is sent in parts.
    pub at: u64,
    pub actor: Actor,
    pub trust: Trust,
}

/// What is shared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MemoryPortion {
    One(String),
    Tagged(String),
    OfKind(String),
}

/// Something to be remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryDraft {
    pub agent: String,
    pub text: String,
    #[serde(rename = "type")]
    pub entry_type: String,
    pub source: String,
    pub confidence: f64,
    pub scope: String,
    pub tags: Vec<String>,
    /// When and where it was said, if that was elsewhere.
    pub at: Option<Timestamp>,
    pub thread: Option<String>,
    pub actor: Actor,
    pub trust: Trust,
    /// A second capture with the same key writes nothing.
    pub key: Option<Key>,
}

/// A piece of an import.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLines {
    pub lines: Vec<MemoryLine>,
    /// Whose they are where they do not say.
    pub agent: String,
    pub actor: Actor,
    pub trust: Trust,
    /// The gates refuse instead of saying what they think.
    pub gate: bool,
}

/// A line of a file, with its number there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLine {
    pub number: u64,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySearch {
    pub agent: String,
    pub query: String,
    pub only: MemoryFilter,
    pub top: u32,
}

/// One of many questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryQuery {
    pub agent: String,
    pub query: String,
}

/// Which memories a search is about. What is empty or not set lets everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryFilter {
    pub kinds: Vec<String>,
    pub types: Vec<String>,
    pub scope: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// With all of these.
    pub tags: Vec<String>,
    /// Trusted at least so far.
    pub trust: Option<Trust>,
    /// Not what grew too old for planning.
    pub fresh: bool,
    /// About this host.
    pub host: Option<String>,
}

/// What memory answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryAnswer {
    Added(MemoryAdded),
    Imported(MemoryImported),
    Found(MemoryFound),
    FoundMany(Vec<MemoryAnswered>),
    Shown(Box<MemoryShown>),
    Embedded(MemoryEmbedded),
    Consolidated(Vec<MemoryRun>),
    Stats(MemoryStats),
    Forgotten(MemoryGone),
    Proof(MemoryProof),
    Page(MemoryPage),
    Packed(Box<MemoryPack>),
    Mined(MemoryMined),
    Matched(Vec<MemoryMatch>),
    Cited(MemoryCited),
    Shared(MemoryShared),
    Notes(MemoryNotes),
    Read(MemoryRead),
}

/// What became of something that was to be remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryAdded {
    pub agent: String,
    /// captured, repeated, rejected or blocked.
    pub outcome: String,
    /// Absent when nothing was kept.
    pub id: Option<String>,
    pub entry: Option<u64>,
    /// Which gate refused it.
    pub gate: Option<String>,
    /// Why it was not kept, in words of ours.
    pub reason: Option<String>,
    pub marks: Vec<String>,
    /// What gates thought of it that only say so.
    pub doubts: Vec<MemoryDoubt>,
}

/// A gate's objection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryDoubt {
    pub gate: String,
    pub reason: String,
}

/// What became of the lines of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryImported {
    pub captured: u64,
    /// Of an id that was here already.
    pub repeated: u64,
    /// The guard lets nothing of it through.
    pub blocked: u64,
    /// Longer than a memory may be.
    pub too_long: u64,
    /// By gate: what was refused, and what would have been.
    pub refused: BTreeMap<String, u64>,
    pub doubted: BTreeMap<String, u64>,
    /// Lines that are none.
    pub wrong: Vec<MemoryWrong>,
}

/// Why a line was not taken. None of it is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryWrong {
    pub line: u64,
    pub why: String,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFound {
    pub agent: String,
    pub hits: Vec<MemoryHit>,
    /// There is no model, so it went by words alone.
    pub lexical: bool,
    /// A nearer one cannot have been missed.
    pub exact: bool,
    /// Memories that had no vector yet.
    pub without_vector: u64,
    /// Hits that did not fit the answer.
    pub left_off: u64,
}

/// A memory that was found, why, and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryHit {
    pub score: f64,
    /// What counted for it or against it, the strongest first.
    pub why: Vec<MemoryWhy>,
    /// Memories that say otherwise.
    pub conflicts: Vec<String>,
    #[serde(flatten)]
    pub memory: MemoryTold,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryWhy {
    pub signal: String,
    pub share: f64,
}

/// A memory with where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryTold {
    pub id: String,
    pub text: String,
    pub kind: String,
    #[serde(rename = "type")]
    pub entry_type: String,
    pub scope: String,
    pub confidence: f64,
    pub tags: Vec<String>,
    pub marks: Vec<String>,
    /// session, durable, archived, merged, superseded, rejected.
    pub standing: String,
    /// When it was said, as far as that is known, and when it was captured.
    pub at: Timestamp,
    pub captured: Timestamp,
    /// conversation, observation or inference; and which conversation, session or file.
    pub source: String,
    pub thread: Option<String>,
    /// What it was called where it came from.
    pub source_id: Option<String>,
    /// Who captured it, and how far it is trusted: no further than anything it was made from.
    pub actor: Actor,
    pub trust: Trust,
    /// The entry of the journal that it is.
    pub entry: u64,
    /// The entries it was made from.
    pub origins: Vec<MemoryOrigin>,
    /// Whose it is, where another agent shares it.
    pub shared_by: Option<String>,
}

/// An entry that a memory was made from, and which bytes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryOrigin {
    pub entry: u64,
    pub span: Option<(u32, u32)>,
    pub trust: Trust,
}

/// The answer to one of many questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryAnswered {
    pub hits: Vec<MemoryBrief>,
    /// Why there are none, where that is not for want of memories like it.
    pub trouble: Option<String>,
    pub lexical: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryBrief {
    pub id: String,
    pub source_id: Option<String>,
    pub score: f64,
}

/// Everything that is known of a memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryShown {
    pub agent: String,
    pub id: String,
    pub entry: u64,
    /// session, durable, archived, merged, superseded, rejected or forgotten.
    pub standing: String,
    /// What took its place.
    pub replaced_by: Option<String>,
    /// Which gate refused it.
    pub gate: Option<String>,
    /// What it has taken the place of, the oldest first.
    pub replaces: Vec<String>,
    /// Memories that say otherwise.
    pub conflicts: Vec<String>,
    /// Agents that may read it, and how many found it of use.
    pub shared_with: Vec<String>,
    pub citations: u64,
    pub captured: Timestamp,
    /// Absent when it was forgotten.
    pub memory: Option<MemoryTold>,
}

/// How many memories got a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryEmbedded {
    pub embedded: u64,
    /// Whether there is a model to make one with.
    pub model: bool,
}

/// A run of consolidation, of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRun {
    pub agent: String,
    /// Its number; absent when there was nothing to decide.
    pub run: Option<u64>,
    pub looked_at: u64,
    pub promoted: u64,
    pub deduplicated: u64,
    pub rejected: u64,
    pub merged: Vec<MemoryMerged>,
    pub conflicts: Vec<(String, String)>,
    /// The model was not there, and it went by words.
    pub lexical: bool,
    /// Merges of earlier runs without the model that were looked at again.
    pub reviewed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMerged {
    pub kept: String,
    pub discarded: String,
    pub similarity: f64,
    pub reason: String,
}

/// How much there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryStats {
    pub agents: Vec<MemoryCount>,
    /// Whether there is a model to search by meaning with.
    pub model: bool,
}

/// Where an agent's memories stand, by count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryCount {
    pub agent: String,
    pub session: u64,
    pub durable: u64,
    pub archived: u64,
    pub merged: u64,
    pub superseded: u64,
    pub rejected: u64,
    pub forgotten: u64,
    /// Refused before anything was stored: by the guard, and by gate.
    pub blocked: u64,
    pub refused: BTreeMap<String, u64>,
    pub conflicts: u64,
    pub runs: u64,
    pub last_run: Option<Timestamp>,
    /// Memories that have no vector yet.
    pub without_vector: u64,
}

/// What was forgotten: the memory, and all it had taken the place of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryGone {
    pub agent: String,
    pub ids: Vec<String>,
    pub entries: Vec<u64>,
}

/// What can be seen of a memory that was forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryProof {
    pub agent: String,
    pub id: String,
    pub entry: u64,
    pub captured: Timestamp,
    /// All of the looks below found nothing.
    pub holds: bool,
    /// Each look by its name, and whether it is as it should be.
    pub looks: BTreeMap<String, bool>,
}

/// A page of an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPage {
    pub lines: Vec<Value>,
    /// Where the next page begins; absent after the last.
    pub next: Option<u64>,
}

/// What an agent is given for an objective. The same journal and the same question give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPack {
    pub agent: String,
    pub objective: String,
    pub budget: u64,
    pub tokens: u64,
    /// How the journal stood: its entries before this one.
    pub at_entry: u64,
    /// There is no model, so it went by words alone.
    pub lexical: bool,
    /// Memories that found no room.
    pub left_out: u64,
    /// Of all it was made from and all it holds.
    pub digest: String,
    /// As the agent reads it.
    pub text: String,
    pub items: Vec<MemoryPacked>,
}

/// A memory of a pack, and why it is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPacked {
    pub id: String,
    pub shared_by: Option<String>,
    pub tokens: u64,
    pub rationale: String,
    pub confidence: f64,
    pub conflicts: Vec<String>,
}

/// What a history taught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMined {
    pub agent: String,
    pub commits: u64,
    /// New, or seen more often than before.
    pub captured: u64,
    pub known: u64,
    pub blocked: u64,
}

/// Something that was learnt and fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMatch {
    pub score: f64,
    pub why: String,
    #[serde(flatten)]
    pub memory: MemoryTold,
}

/// How many found a memory of use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryCited {
    pub agent: String,
    pub id: String,
    pub citations: u64,
}

/// What another agent can read now, or not any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryShared {
    pub agent: String,
    pub with: String,
    pub shared: bool,
    pub ids: Vec<String>,
}

/// What was written of an agent's notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryNotes {
    pub agent: String,
    pub folder: PathBuf,
    /// Files that are other than before.
    pub files: Vec<String>,
    /// Entries whose text somebody changed in a file, and what became of the change.
    pub edits: Vec<(String, String)>,
    /// Whether git was given a commit, and if not, why.
    pub committed: String,
}

/// What came of a written text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRead {
    /// What was captured, by id.
    pub captured: Vec<String>,
    /// Pieces that were captured before, from a file of the same name.
    pub known: u64,
    /// What gates refused, by gate.
    pub refused: BTreeMap<String, u64>,
    /// The guard lets nothing of it through.
    pub blocked: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Request};

    #[test]
    fn a_question_to_memory_round_trips_and_what_is_not_known_is_refused() {
        let actor: Actor = "ana".parse().unwrap();
        let line = MemoryLine { number: 7, text: "{}".into() };
        let all = [
            MemoryAsk::Import(MemoryLines {
                lines: vec![line],
                agent: "main".into(),
                actor: actor.clone(),
                trust: Trust::Trusted,
                gate: true,
            }),
            MemoryAsk::SearchMany { queries: vec![], only: Box::default(), top: 10 },
            MemoryAsk::Read(Box::new(MemoryWritten {
                agent: "main".into(),
                name: "ops.md".into(),
                text: "The port is 9096.".into(),
                at: 7,
                actor: actor.clone(),
                trust: Trust::SemiTrusted,
            })),
            MemoryAsk::Consolidate { agent: None, actor },
        ];
        for ask in all {
            let request = Request::Memory { ask };
            let text = serde_json::to_string(&request).unwrap();
            assert!(text.starts_with(r#"{"do":"memory","ask":{"#), "{text}");
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        }
        for text in [
            r#"{"do":"memory","ask":{"dance":{}}}"#,
            r#"{"do":"memory","ask":{"stats":{"agent":null,"more":1}}}"#,
            r#"{"do":"memory"}"#,
        ] {
            assert!(serde_json::from_str::<Request>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_hit_is_one_flat_object() {
        let memory = MemoryTold {
            id: "mem-2026-11-18-001".into(),
            text: "The port is 9096.".into(),
            kind: "session_fact".into(),
            entry_type: "fact".into(),
            scope: "project".into(),
            confidence: 0.9,
            tags: vec![],
            marks: vec![],
            standing: "durable".into(),
            at: Timestamp::EPOCH,
            captured: Timestamp::EPOCH,
            source: "conversation".into(),
            thread: None,
            source_id: None,
            actor: "ana".parse().unwrap(),
            trust: Trust::Trusted,
            entry: 4,
            origins: vec![MemoryOrigin { entry: 3, span: Some((0, 4)), trust: Trust::Trusted }],
            shared_by: None,
        };
        let hit = MemoryHit { score: 0.5, why: vec![], conflicts: vec![], memory };
        let found = MemoryFound {
            agent: "main".into(),
            hits: vec![hit],
            lexical: true,
            exact: true,
            without_vector: 0,
            left_off: 0,
        };
        let answer = Answer::Memory(Box::new(MemoryAnswer::Found(found)));
        let value = serde_json::to_value(&answer).unwrap();
        let hit = &value["memory"]["found"]["hits"][0];
        assert_eq!((&hit["type"], &hit["origins"][0]["span"][1]), (&"fact".into(), &4.into()));
        assert_eq!(serde_json::from_value::<Answer>(value).unwrap(), answer);
    }
}
