//! What is written and what is read: the envelope.
//!
//! A caller hands in a [`Draft`]; the journal adds what only it knows (`seq`, `at`, `origin`, `crc`) and
//! writes the fields in one fixed order. [`Entry`] is the same thing read back. The order is part of the
//! format (`docs/formats/journal.md`); fields without a value are left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_types::{Actor, AgentId, Digest, Key, Kind, Origin, Room, RunId, TargetId, Timestamp, Trust};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::screen::{Blocked, Screen, Screened};

/// What a caller wants to have written down.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// What happened. Its first word is the room that defines it.
    pub kind: Kind,
    /// The version of that kind's body.
    pub version: u16,
    /// Who did it.
    pub actor: Actor,
    /// Whom or what it is about.
    pub subject: Option<Subject>,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The `seq` of the entry that led to this one.
    pub cause: Option<u64>,
    /// A second append with the same key returns the first one's place and writes nothing.
    pub key: Option<Key>,
    /// How far the content is trusted.
    pub trust: Trust,
    pub content: Content,
    /// Whether it may use the room that is kept for what must be recorded. It is not written down.
    pub space: Space,
}

/// Which room an entry may use when there is little left, below the cap and on the disk.
///
/// Whoever drafts an entry decides. Reserved is what a person does (signing in, accounts, verdicts, pause and resume, orders, erasing) and
/// the end of what a person may be waiting for (a trial that is kept, undone or given up). What anybody can cause without an account is
/// never reserved: the reserve would be theirs to fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Space {
    #[default]
    Ordinary,
    Reserved,
}

/// Whom or what an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Agent(AgentId),
    Target(TargetId),
}

/// The content to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A small JSON object, readable in the log for ever.
    Body(Map<String, Value>),
    /// Large or erasable bytes: encrypted, in the log's line when they are few and beside the log when not.
    Blob(Vec<u8>),
}

impl Draft {
    /// A draft with what every entry must have; the rest can be set on it.
    pub fn new(kind: Kind, actor: Actor, trust: Trust, body: Map<String, Value>) -> Self {
        Draft {
            kind,
            version: 1,
            actor,
            subject: None,
            run: None,
            cause: None,
            key: None,
            trust,
            content: Content::Body(body),
            space: Space::Ordinary,
        }
    }

    /// The same entry, which may use the reserve.
    #[must_use]
    pub fn reserved(self) -> Self {
        Draft { space: Space::Reserved, ..self }
    }
}

/// A draft as it would stand in the log, but for what only the writer knows: `seq`, `at`, `crc`, the blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// One JSON object in the order of the format.
    pub json: String,
    /// How many places the screen would redact.
    pub redactions: u32,
}

impl Draft {
    /// What would be written, without writing it.
    pub fn preview(&self, origin: &Origin, screen: &dyn Screen) -> Result<Preview, Blocked> {
        let prepared = prepare(self, screen)?;
        let blob = prepared.blob.as_ref().map(|text| format!(",\"blob\":{{\"bytes\":{}}}", text.len()));
        let (version, rest, blob) = (prepared.version, prepared.rest, blob.unwrap_or_default());
        let json = format!("{{\"v\":{version},\"origin\":\"{origin}\",{rest}{blob}}}");
        Ok(Preview { json, redactions: prepared.redactions })
    }
}

/// An entry as it stands in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub seq: u64,
    pub version: u16,
    pub at: Timestamp,
    pub origin: Origin,
    pub room: Room,
    pub kind: Kind,
    pub actor: Actor,
    pub subject: Option<Subject>,
    pub run: Option<RunId>,
    pub cause: Option<u64>,
    pub key: Option<Key>,
    pub trust: Trust,
    pub content: Stored,
}

/// The content as it stands in the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    Body(Map<String, Value>),
    Blob(BlobRef),
}

/// Names a blob without saying anything about its text, and says where its sealed bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WireBlob")]
pub struct BlobRef {
    /// A commitment to the text under a salt that is destroyed with the key.
    pub name: Digest,
    pub place: Place,
}

/// Where sealed bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the entry's own line: these.
    InLine(Vec<u8>),
    /// In the pack of the entry's segment.
    InPack { offset: u64, len: u64 },
}

impl BlobRef {
    /// How many sealed bytes there are.
    pub fn sealed_len(&self) -> u64 {
        match &self.place {
            Place::InLine(sealed) => sealed.len() as u64,
            Place::InPack { len, .. } => *len,
        }
    }
}

/// A blob as the line has it: its place in the pack, or its bytes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireBlob {
    name: Digest,
    offset: Option<u64>,
    len: Option<u64>,
    sealed: Option<String>,
}

impl TryFrom<WireBlob> for BlobRef {
    type Error = &'static str;

    fn try_from(wire: WireBlob) -> Result<BlobRef, Self::Error> {
        let place = match (wire.offset, wire.len, wire.sealed) {
            (Some(offset), Some(len), None) => Place::InPack { offset, len },
            (None, None, Some(sealed)) => {
                Place::InLine(BASE64.decode(sealed).map_err(|_| "the sealed bytes are no base64")?)
            }
            _ => return Err("a blob has a place in the pack or its sealed bytes"),
        };
        Ok(BlobRef { name: wire.name, place })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the line is not an entry: {0}")]
pub struct NotAnEntry(String);

impl Entry {
    /// Reads one line (without its newline). The checksum is the caller's to have checked.
    pub fn parse(line: &[u8]) -> Result<Entry, NotAnEntry> {
        let wire: Wire = serde_json::from_slice(line).map_err(|e| NotAnEntry(e.to_string()))?;
        wire.into_entry()
    }
}

/// The line as it is on disk. Unknown fields are a newer minor version's and are passed over.
#[derive(Deserialize)]
struct Wire {
    seq: u64,
    v: u16,
    at: Timestamp,
    origin: Origin,
    room: Room,
    kind: Kind,
    actor: Actor,
    agent: Option<AgentId>,
    target: Option<TargetId>,
    run: Option<RunId>,
    cause: Option<u64>,
    key: Option<Key>,
    trust: Trust,
    body: Option<Map<String, Value>>,
    blob: Option<BlobRef>,
}

impl Wire {
    fn into_entry(self) -> Result<Entry, NotAnEntry> {
        let subject = match (self.agent, self.target) {
            (None, None) => None,
            (Some(agent), None) => Some(Subject::Agent(agent)),
            (None, Some(target)) => Some(Subject::Target(target)),
            (Some(_), Some(_)) => return Err(NotAnEntry("it names both an agent and a target".into())),
        };
        let content = match (self.body, self.blob) {
            (Some(body), None) => Stored::Body(body),
            (None, Some(blob)) => Stored::Blob(blob),
            _ => return Err(NotAnEntry("it must have either a body or a blob".into())),
        };
        Ok(Entry {
            seq: self.seq,
            version: self.v,
            at: self.at,
            origin: self.origin,
            room: self.room,
            kind: self.kind,
            actor: self.actor,
            subject,
            run: self.run,
            cause: self.cause,
            key: self.key,
            trust: self.trust,
            content,
        })
    }
}

/// A draft made ready by its caller: all that does not depend on its place in the log.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) version: u16,
    /// From `"room":` up to and including the body; for a blob, up to `"trust":…`.
    pub(crate) rest: String,
    pub(crate) key: Option<Key>,
    pub(crate) blob: Option<Vec<u8>>,
    /// An entry that was first written to another log keeps that log's name and time.
    pub(crate) from: Option<(Origin, Timestamp)>,
    pub(crate) redactions: u32,
    pub(crate) space: Space,
}

/// Screens a draft and encodes what can be encoded outside the writer's turn.
pub(crate) fn prepare(draft: &Draft, screen: &dyn Screen) -> Result<Prepared, Blocked> {
    Screened::envelope(screen, draft.actor.as_str())?;
    if let Some(key) = &draft.key {
        Screened::envelope(screen, key.as_str())?;
    }
    let mut rest = envelope(draft);
    let (blob, redactions) = match &draft.content {
        Content::Body(body) => {
            let screened = Screened::body(screen, body)?;
            rest.push_str(",\"body\":");
            rest.push_str(&screened.json);
            (None, screened.redactions)
        }
        Content::Blob(bytes) => match Screened::blob(screen, bytes)? {
            Some(clean) => (Some(clean), 1),
            None => (Some(bytes.clone()), 0),
        },
    };
    let (version, key, space) = (draft.version, draft.key.clone(), draft.space);
    Ok(Prepared { version, rest, key, blob, from: None, redactions, space })
}

/// The caller's part of the envelope. Names and ids need no escaping: their alphabets hold nothing to escape.
fn envelope(draft: &Draft) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(256);
    let mut field = |name: &str, value: &str| {
        let comma = if name == "room" { "" } else { "," };
        let _ = write!(out, "{comma}\"{name}\":\"{value}\"");
    };
    field("room", draft.kind.room().as_str());
    field("kind", draft.kind.as_str());
    field("actor", draft.actor.as_str());
    match draft.subject {
        Some(Subject::Agent(id)) => field("agent", &id.to_string()),
        Some(Subject::Target(id)) => field("target", &id.to_string()),
        None => {}
    }
    if let Some(run) = draft.run {
        field("run", &run.to_string());
    }
    if let Some(cause) = draft.cause {
        let _ = write!(out, ",\"cause\":{cause}");
    }
    let mut field = |name: &str, value: &str| {
        let _ = write!(out, ",\"{name}\":\"{value}\"");
    };
    if let Some(key) = &draft.key {
        field("key", key.as_str());
    }
    field("trust", draft.trust.as_str());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;
    use crate::screen::tests::Plain;
    use serde_json::json;

    fn draft() -> Draft {
        let Value::Object(body) = json!({"text": "a \"quoted\"\nline", "n": 3}) else { unreachable!() };
        Draft::new("journal.test.written".parse().unwrap(), "ana".parse().unwrap(), Trust::Admin, body)
    }

    fn written(prepared: &Prepared) -> Vec<u8> {
        let mut out = Vec::new();
        line::open(&mut out, 5);
        out.extend_from_slice(
            b",\"v\":1,\"at\":\"2026-11-15T08:00:00.000000Z\",\"origin\":\"holdfast/test\",",
        );
        out.extend_from_slice(prepared.rest.as_bytes());
        line::close(&mut out, 0);
        out.pop();
        out
    }

    #[test]
    fn a_draft_reads_back_as_the_entry_it_described() {
        let mut d = draft();
        d.subject = Some(Subject::Target("tgt_01arz3ndektsv4rrffq69g5fav".parse().unwrap()));
        d.run = Some("run_01arz3ndektsv4rrffq69g5fav".parse().unwrap());
        d.cause = Some(4);
        d.key = Some("once".parse().unwrap());
        let line = written(&prepare(&d, &Plain).unwrap());
        let e = Entry::parse(&line).unwrap();
        assert_eq!((e.seq, e.cause, e.subject, e.run, &e.key), (5, Some(4), d.subject, d.run, &d.key));
        let Content::Body(body) = d.content else { unreachable!() };
        assert_eq!(e.content, Stored::Body(body));
        assert_eq!(e.room.as_str(), "journal");
    }

    #[test]
    fn the_fields_stand_in_the_order_of_the_format() {
        let mut d = draft();
        d.subject = Some(Subject::Agent("agt_01arz3ndektsv4rrffq69g5fav".parse().unwrap()));
        d.run = Some("run_01arz3ndektsv4rrffq69g5fav".parse().unwrap());
        (d.cause, d.key) = (Some(4), Some("once".parse().unwrap()));
        let line = written(&prepare(&d, &Plain).unwrap());
        let text = String::from_utf8(line).unwrap();
        let order = [
            "seq", "v", "at", "origin", "room", "kind", "actor", "agent", "run", "cause", "key", "trust",
            "body", "crc",
        ];
        let places: Vec<usize> = order.iter().map(|f| text.find(&format!("\"{f}\":")).expect(f)).collect();
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn a_preview_is_what_would_be_written_without_the_secret() {
        let mut d = draft();
        let Content::Body(body) = &mut d.content else { unreachable!() };
        body.insert("text".into(), json!(["use SECRET"]));
        let preview = d.preview(&"holdfast/test".parse().unwrap(), &Plain).unwrap();
        assert_eq!(preview.redactions, 1);
        let json: Value = serde_json::from_str(&preview.json).unwrap();
        assert_eq!(json["body"]["text"], json!(["use [GONE]"]));
        d.content = Content::Blob(b"text".to_vec());
        let preview = d.preview(&"holdfast/test".parse().unwrap(), &Plain).unwrap();
        let json: Value = serde_json::from_str(&preview.json).unwrap();
        assert_eq!(json["blob"], json!({"bytes": 4}));
    }

    #[test]
    fn a_secret_shaped_key_is_refused() {
        let mut d = draft();
        d.key = Some("SECRET-1".parse().unwrap());
        assert!(prepare(&d, &Plain).is_err());
    }

    #[test]
    fn a_blob_is_in_its_line_or_in_a_pack_and_never_both_or_half() {
        let name = format!("blake3:{}", "0".repeat(64));
        let read = |rest: &str| {
            serde_json::from_str::<BlobRef>(&format!("{{\"name\":\"{name}\"{rest}}}")).map(|b| b.place)
        };
        assert_eq!(read(",\"offset\":3,\"len\":4").unwrap(), Place::InPack { offset: 3, len: 4 });
        assert_eq!(read(",\"sealed\":\"AAEC\"").unwrap(), Place::InLine(vec![0, 1, 2]));
        for bad in [
            "",
            ",\"offset\":3",
            ",\"len\":4",
            ",\"sealed\":\"AAEC\",\"offset\":3,\"len\":4",
            ",\"sealed\":\"AAEC\",\"len\":3",
            ",\"sealed\":\"A\"",
            ",\"sealed\":\"AAEC\",\"more\":1",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_with_two_contents_or_none_is_no_entry() {
        let head = "{\"seq\":1,\"v\":1,\"at\":\"2026-11-15T08:00:00.000000Z\",\"origin\":\"holdfast/t\",\"room\":\"a\",\"kind\":\"a.b.c\",\"actor\":\"x\",\"trust\":\"admin\"";
        assert!(Entry::parse(format!("{head}}}").as_bytes()).is_err());
        assert!(Entry::parse(format!("{head},\"body\":{{}}}}").as_bytes()).is_ok());
        assert!(Entry::parse(format!("{head},\"body\":{{}},\"later\":1}}").as_bytes()).is_ok());
        assert!(Entry::parse(b"[]").is_err());
    }
}
