//! A memory: what is known about it ([`Header`]) and what it says ([`Body`]).
//!
//! The two are apart because they live apart: a header is in the journal for ever, a body is a blob whose key can be
//! destroyed. No word of the text, no tag and no digest of either is in a header, so that nothing can be read or
//! guessed from it once the body is gone.
//!
//! [`RawDraft`] is what a caller hands in, [`Draft`] the same once it is known to be good; only the engine gives a draft
//! its id and its time and makes it an [`Entry`].

use std::fmt;

use holdfast_types::{Actor, AgentId, Timestamp, Trust};
use serde::{Deserialize, Serialize};

use crate::id::MemoryId;
use crate::kind::Kind;
use crate::record::Record;
use crate::text::{Content, Label, Tags, TextError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryType {
    Decision,
    Fact,
    Preference,
    Pattern,
    Error,
}

impl EntryType {
    pub const ALL: [EntryType; 5] =
        [EntryType::Decision, EntryType::Fact, EntryType::Preference, EntryType::Pattern, EntryType::Error];

    pub fn as_str(self) -> &'static str {
        match self {
            EntryType::Decision => "decision",
            EntryType::Fact => "fact",
            EntryType::Preference => "preference",
            EntryType::Pattern => "pattern",
            EntryType::Error => "error",
        }
    }
}

/// Where it was learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Somebody said it.
    Conversation,
    /// It was seen: a command's output, a file, a measurement.
    Observation,
    /// It was concluded.
    Inference,
}

impl Source {
    pub const ALL: [Source; 3] = [Source::Conversation, Source::Observation, Source::Inference];

    pub fn as_str(self) -> &'static str {
        match self {
            Source::Conversation => "conversation",
            Source::Observation => "observation",
            Source::Inference => "inference",
        }
    }

    /// The most that may be claimed for it. An inference stays below 0.8, which is what lets hedged wording through the
    /// gates; what was seen stays below what a person said, because eyes misread.
    pub fn confidence_max(self) -> f64 {
        match self {
            Source::Conversation => 1.0,
            Source::Observation => 0.95,
            Source::Inference => 0.75,
        }
    }
}

/// Whether it concerns the work at hand or everything the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Project,
    Global,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::Global => "global",
        }
    }
}

/// How sure somebody is, from 0 to 1: never a NaN, so that it can be compared.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(f64);

#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
#[error("confidence {0} is not a number from 0 to 1")]
pub struct NotAConfidence(f64);

impl Confidence {
    pub fn new(value: f64) -> Result<Confidence, NotAConfidence> {
        // Adding zero makes of minus zero a plain one.
        if (0.0..=1.0).contains(&value) { Ok(Confidence(value + 0.0)) } else { Err(NotAConfidence(value)) }
    }

    pub fn get(self) -> f64 {
        self.0
    }

    /// What remains of a claim about something learnt in this way.
    pub fn capped(self, source: Source) -> Confidence {
        Confidence(self.0.min(source.confidence_max()))
    }
}

impl Eq for Confidence {}

impl PartialOrd for Confidence {
    fn partial_cmp(&self, other: &Confidence) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Confidence {
    fn cmp(&self, other: &Confidence) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Debug for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TryFrom<f64> for Confidence {
    type Error = NotAConfidence;

    fn try_from(value: f64) -> Result<Confidence, NotAConfidence> {
        Confidence::new(value)
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> f64 {
        confidence.0
    }
}

/// Bytes of a text, from and up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "(u32, u32)", into = "(u32, u32)")]
pub struct Span {
    from: u32,
    to: u32,
}

#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("a span from {from} to {to} goes backwards")]
pub struct NotASpan {
    from: u32,
    to: u32,
}

impl Span {
    pub fn new(from: u32, to: u32) -> Result<Span, NotASpan> {
        if from <= to { Ok(Span { from, to }) } else { Err(NotASpan { from, to }) }
    }

    /// The part of the text, when it is one: a span may be of an older version of it.
    pub fn of(self, text: &str) -> Option<&str> {
        text.get(self.from as usize..self.to as usize)
    }
}

impl TryFrom<(u32, u32)> for Span {
    type Error = NotASpan;

    fn try_from((from, to): (u32, u32)) -> Result<Span, NotASpan> {
        Span::new(from, to)
    }
}

impl From<Span> for (u32, u32) {
    fn from(span: Span) -> (u32, u32) {
        (span.from, span.to)
    }
}

/// Something it was made from: an entry of the journal, perhaps one part of it, with the trust that had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    pub seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    pub trust: Trust,
}

/// The most entries one memory can name as its origin; a summary of more names their summaries.
pub const ORIGINS_MAX: usize = 32;

/// Where a memory comes from. It is trusted as far as the least trusted thing it was made from, and no claim raises that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawProvenance", into = "RawProvenance")]
pub struct Provenance {
    actor: Actor,
    own: Trust,
    origins: Vec<Origin>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{count} origins are named; at most {ORIGINS_MAX} are taken")]
pub struct TooManyOrigins {
    count: usize,
}

impl Provenance {
    /// `own` is how far the writer itself is trusted.
    pub fn new(actor: Actor, own: Trust, origins: Vec<Origin>) -> Result<Provenance, TooManyOrigins> {
        if origins.len() > ORIGINS_MAX {
            return Err(TooManyOrigins { count: origins.len() });
        }
        Ok(Provenance { actor, own, origins })
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    pub fn trust(&self) -> Trust {
        self.origins.iter().map(|origin| origin.trust).fold(self.own, Trust::min)
    }

    /// The same, trusted no further than this.
    pub fn at_most(self, trust: Trust) -> Provenance {
        Provenance { own: self.own.min(trust), ..self }
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProvenance {
    actor: Actor,
    own: Trust,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    origins: Vec<Origin>,
}

impl TryFrom<RawProvenance> for Provenance {
    type Error = TooManyOrigins;

    fn try_from(raw: RawProvenance) -> Result<Provenance, TooManyOrigins> {
        Provenance::new(raw.actor, raw.own, raw.origins)
    }
}

impl From<Provenance> for RawProvenance {
    fn from(p: Provenance) -> RawProvenance {
        RawProvenance { actor: p.actor, own: p.own, origins: p.origins }
    }
}

/// Something to know about an entry besides what its text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// In a language whose phrases the gates do not know.
    UnlistedLanguage,
    /// Reads like an instruction to an agent. Kept as somebody's words, and trusted like a stranger's.
    InstructionLike,
    /// The gates would have refused it, and were only asked for their opinion.
    Doubted,
}

/// What is known about a memory. It is in the journal, and holds no word of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub id: MemoryId,
    pub at: Timestamp,
    /// Whose space it is in.
    pub agent: AgentId,
    /// For whom the agent works.
    pub owner: Actor,
    pub kind: Kind,
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    pub source: Source,
    pub confidence: Confidence,
    pub scope: Scope,
    pub provenance: Provenance,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

impl Header {
    pub fn trust(&self) -> Trust {
        self.provenance.trust()
    }
}

/// What a memory says. It is a blob beside the journal, and can be forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    pub content: Content,
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// What it was called where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<Label>,
    /// When and where it was said, if that was elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    #[serde(default, skip_serializing_if = "Record::is_plain")]
    pub record: Record,
}

/// When something was said, and in which conversation, session or file, for what was not captured as it was said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Label>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub header: Header,
    pub body: Body,
}

impl Entry {
    pub fn id(&self) -> MemoryId {
        self.header.id
    }

    pub fn text(&self) -> &str {
        self.body.content.as_str()
    }
}

/// What a caller hands in, as it arrives. A field that is not listed is refused by name: `id` and `timestamp` among
/// them, which are the engine's to give.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawDraft {
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    pub content: String,
    pub source: Source,
    pub confidence: f64,
    pub scope: Scope,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub source_id: Option<String>,
    #[serde(default)]
    pub record: Record,
}

/// Why a draft is not taken: the field, and what is wrong with it. Never what was in it.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum DraftError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Confidence(#[from] NotAConfidence),
}

/// What is to be remembered, known to be well formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub entry_type: EntryType,
    pub source: Source,
    /// As claimed; what the source allows of it is in the header.
    pub claimed: Confidence,
    pub scope: Scope,
    pub body: Body,
}

impl TryFrom<RawDraft> for Draft {
    type Error = DraftError;

    fn try_from(raw: RawDraft) -> Result<Draft, DraftError> {
        let body = Body {
            content: Content::new(raw.content)?,
            tags: Tags::new(raw.tags)?,
            source_id: raw.source_id.map(Label::new).transpose()?,
            said: None,
            record: raw.record,
        };
        Ok(Draft {
            entry_type: raw.entry_type,
            source: raw.source,
            claimed: Confidence::new(raw.confidence)?,
            scope: raw.scope,
            body,
        })
    }
}

impl Draft {
    /// What the gates go by and the header will say.
    pub fn confidence(&self) -> Confidence {
        self.claimed.capped(self.source)
    }

    pub fn kind(&self) -> Kind {
        self.body.record.kind()
    }

    /// Makes it an entry. Only the engine knows the id, the time and who is speaking.
    pub fn stamped(self, stamp: Stamp) -> Entry {
        let header = Header {
            id: stamp.id,
            at: stamp.at,
            agent: stamp.agent,
            owner: stamp.owner,
            kind: self.kind(),
            entry_type: self.entry_type,
            source: self.source,
            confidence: self.confidence(),
            scope: self.scope,
            provenance: stamp.provenance,
            marks: stamp.marks,
        };
        Entry { header, body: self.body }
    }
}

/// What the engine adds to a draft.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub id: MemoryId,
    pub at: Timestamp,
    pub agent: AgentId,
    pub owner: Actor,
    pub provenance: Provenance,
    pub marks: Vec<Mark>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;

    fn raw(change: (&str, serde_json::Value)) -> Result<Draft, String> {
        let mut value = serde_json::json!({
            "type": "fact", "content": "The gateway listens on 9096.", "source": "observation",
            "confidence": 0.9, "scope": "project",
        });
        value[change.0] = change.1;
        let raw: RawDraft = serde_json::from_value(value).map_err(|e| e.to_string())?;
        Draft::try_from(raw).map_err(|e| e.to_string())
    }

    // shows: MEM-013, MEM-014, MEM-017
    #[test]
    fn a_value_outside_its_list_is_refused() {
        for (field, value) in [("type", "rumour"), ("source", "dream"), ("scope", "universe")] {
            let said = raw((field, value.into())).unwrap_err();
            assert!(said.contains(value) && said.contains("expected"), "{said}");
        }
        assert!(raw(("type", "error".into())).is_ok());
    }

    // shows: MEM-015
    #[test]
    fn a_confidence_outside_zero_to_one_is_refused() {
        for bad in [-0.1, 1.1, 5.0] {
            assert!(raw(("confidence", bad.into())).unwrap_err().contains("confidence"), "{bad}");
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Confidence::new(bad).is_err());
        }
        assert_eq!(Confidence::new(-0.0), Confidence::new(0.0));
    }

    // shows: MEM-021, MEM-F59
    #[test]
    fn a_caller_can_set_neither_id_nor_time() {
        for field in ["id", "timestamp", "at", "agent", "trust"] {
            let said = raw((field, "x".into())).unwrap_err();
            assert!(said.contains("unknown field") && said.contains(field), "{said}");
        }
    }

    // shows: MEM-F28
    #[test]
    fn a_claim_is_capped_by_its_source_and_its_author_is_recorded() {
        for (source, kept) in [("conversation", 1.0), ("observation", 0.95), ("inference", 0.75)] {
            let mut draft = raw(("source", source.into())).unwrap();
            draft.claimed = Confidence::new(1.0).unwrap();
            let entry = draft.stamped(build::stamp(1));
            assert_eq!(entry.header.confidence.get(), kept, "{source}");
            assert_eq!(entry.header.provenance.actor().as_str(), "ana");
        }
    }

    #[test]
    fn a_memory_is_trusted_as_far_as_the_least_of_its_lineage() {
        let origin = |trust| Origin { seq: 1, span: None, trust };
        let from = |own, of: &[Trust]| {
            let origins = of.iter().copied().map(origin).collect();
            Provenance::new("ana".parse().unwrap(), own, origins).unwrap().trust()
        };
        assert_eq!(from(Trust::Admin, &[]), Trust::Admin);
        assert_eq!(from(Trust::Admin, &[Trust::Trusted, Trust::Untrusted]), Trust::Untrusted);
        assert_eq!(from(Trust::Untrusted, &[Trust::Admin]), Trust::Untrusted);
    }

    #[test]
    fn a_span_never_cuts_a_character() {
        let span = Span::new(0, 1).unwrap();
        assert_eq!((span.of("ab"), span.of("ü"), span.of("")), (Some("a"), None, None));
        assert!(Span::new(2, 1).is_err());
    }

    // shows: MEM-016
    #[test]
    fn header_and_body_survive_a_round_trip() {
        let entry = build::fact("The gateway listens on 9096.").entry(7);
        let header = serde_json::to_string(&entry.header).unwrap();
        let body = serde_json::to_string(&entry.body).unwrap();
        assert!(header.contains(r#""at":"2026-11-18T10:00:07.000000Z""#), "{header}");
        assert_eq!(serde_json::from_str::<Header>(&header).unwrap(), entry.header);
        assert_eq!(serde_json::from_str::<Body>(&body).unwrap(), entry.body);
        assert!(!header.contains("gateway"));
    }
}
