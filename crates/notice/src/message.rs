//! A message as it goes out: the payload every sink starts from.

use holdfast_types::{Origin, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::digest::DigestLine;
use crate::notice::{Severity, instance};
use crate::text::{CONTEXT_MAX, MESSAGE_MAX, NAME_MAX, VALUE_MAX, sent};

/// What a receiver gets. The same notice always has the same id, so a receiver can drop a second copy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    pub id: String,
    pub timestamp: Timestamp,
    pub severity: Severity,
    pub message: String,
    pub context: Map<String, Value>,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folded: Option<Folded>,
    /// Present when what waited while it was quiet is told as one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub digest: Vec<DigestLine>,
}

/// Present when several are told as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Folded {
    /// How many there were.
    pub count: u64,
    pub first: Timestamp,
    pub last: Timestamp,
}

/// A raised notice as the view holds it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Raised {
    pub(crate) seq: u64,
    pub(crate) fold: Option<String>,
    pub(crate) message: Message,
}

/// `ntc_<instance>_<seq>`, with full stops as `_`: in a signed webhook the full stop ends the id.
pub(crate) fn id_of(origin: &Origin, seq: u64) -> String {
    format!("ntc_{}_{seq}", instance(origin).replace('.', "_"))
}

/// What is in a raised entry's body, cleaned and cut to what is sent: a log that was taken in may hold anything.
/// Fields that are not as they should be are filled in: an odd notice is better told than lost.
pub(crate) fn of_body(origin: &Origin, seq: u64, at: Timestamp, body: &Map<String, Value>) -> Raised {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let message = text("message").unwrap_or("A notice was raised whose text cannot be read.");
    let context = body.get("context").and_then(Value::as_object);
    let severity = text("severity").and_then(|s| s.parse().ok()).unwrap_or(Severity::Critical);
    Raised {
        seq,
        fold: text("fold").map(|key| fold_key(origin, severity, key)),
        message: Message {
            id: id_of(origin, seq),
            timestamp: at,
            severity,
            message: sent(message, MESSAGE_MAX),
            context: context.map(sent_context).unwrap_or_default(),
            source: sent(instance(origin), NAME_MAX),
            folded: None,
            digest: Vec::new(),
        },
    }
}

/// A notice of a version this program does not know: that it was raised can still be told.
pub(crate) fn of_newer(origin: &Origin, seq: u64, at: Timestamp, body: &Map<String, Value>) -> Raised {
    let message =
        format!("A notice of a newer version was raised, which cannot be read here; see entry {seq}.");
    let severity = body.get("severity").cloned().unwrap_or_default();
    let body = Map::from_iter([("severity".to_owned(), severity), ("message".to_owned(), message.into())]);
    of_body(origin, seq, at, &body)
}

/// Only what comes from the same log and matters as much is a repeat: nothing worse hides behind something lesser,
/// and no log speaks for another.
fn fold_key(origin: &Origin, severity: Severity, key: &str) -> String {
    format!("{origin} {severity} {}", sent(key, VALUE_MAX))
}

fn sent_context(context: &Map<String, Value>) -> Map<String, Value> {
    let facts = context.iter().take(CONTEXT_MAX);
    facts
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (sent(name, NAME_MAX), sent(&value, VALUE_MAX).into())
        })
        .collect()
}

#[cfg(test)]
impl Message {
    /// One of which a test says only what matters to it.
    pub(crate) fn bare(text: &str) -> Message {
        Message {
            id: "ntc_test_1".into(),
            timestamp: Timestamp::EPOCH,
            severity: Severity::Warning,
            message: text.into(),
            context: Map::new(),
            source: "test".into(),
            folded: None,
            digest: Vec::new(),
        }
    }
}
