//! Builders for tests: one for each thing, so that a test names only what matters to it.

use holdfast_types::{AgentId, Timestamp, Trust};

use crate::entry::{Confidence, Draft, Entry, EntryType, Provenance, RawDraft, Scope, Source, Stamp};
use crate::id::MemoryId;
use crate::record::Record;

pub(crate) fn agent(n: u128) -> AgentId {
    AgentId::from(ulid::Ulid(n))
}

/// Ten o'clock, and so many seconds.
pub(crate) fn at(second: u32) -> Timestamp {
    let ten: Timestamp = "2026-11-18T10:00:00.000000Z".parse().unwrap();
    ten.plus(std::time::Duration::from_secs(second.into()))
}

pub(crate) fn id(number: u32) -> MemoryId {
    MemoryId::new("2026-11-18".parse().unwrap(), number.try_into().unwrap())
}

pub(crate) fn stamp(number: u32) -> Stamp {
    Stamp {
        id: id(number),
        at: at(number),
        agent: agent(1),
        owner: "ana".parse().unwrap(),
        provenance: Provenance::new("ana".parse().unwrap(), Trust::SemiTrusted, Vec::new()).unwrap(),
        marks: Vec::new(),
    }
}

/// What a test changes about an entry.
#[derive(Clone)]
pub(crate) struct Build {
    raw: RawDraft,
    trust: Trust,
}

pub(crate) fn fact(text: &str) -> Build {
    let raw = RawDraft {
        entry_type: EntryType::Fact,
        content: text.to_owned(),
        source: Source::Conversation,
        confidence: 0.9,
        scope: Scope::Project,
        tags: Vec::new(),
        source_id: None,
        record: Record::default(),
    };
    Build { raw, trust: Trust::SemiTrusted }
}

impl Build {
    pub(crate) fn of_type(mut self, entry_type: EntryType) -> Build {
        self.raw.entry_type = entry_type;
        self
    }

    pub(crate) fn confidence(mut self, confidence: f64) -> Build {
        self.raw.confidence = confidence;
        self
    }

    pub(crate) fn scope(mut self, scope: Scope) -> Build {
        self.raw.scope = scope;
        self
    }

    pub(crate) fn tags(mut self, tags: &[&str]) -> Build {
        self.raw.tags = tags.iter().map(|&tag| tag.to_owned()).collect();
        self
    }

    pub(crate) fn record(mut self, record: Record) -> Build {
        self.raw.record = record;
        self
    }

    pub(crate) fn trust(mut self, trust: Trust) -> Build {
        self.trust = trust;
        self
    }

    pub(crate) fn draft(self) -> Draft {
        Draft::try_from(self.raw).unwrap()
    }

    pub(crate) fn entry(self, number: u32) -> Entry {
        let provenance = Provenance::new("ana".parse().unwrap(), self.trust, Vec::new()).unwrap();
        let stamp = Stamp { provenance, ..stamp(number) };
        let confidence = Confidence::new(self.raw.confidence).unwrap();
        let mut entry = self.draft().stamped(stamp);
        // A test that names a confidence means that one.
        entry.header.confidence = confidence;
        entry
    }
}
