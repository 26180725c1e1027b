//! The entries of this room. Together they are the inbox: every table and every list comes from them.

use holdfast_journal::{Draft, Entry, Stored, Subject as About};
use holdfast_types::{Actor, ApprovalId, Digest, KindDef, Trust};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ask::Ask;
use crate::error::{Error, Result};
use crate::verdict::{self, Verdict};

pub(crate) const MADE: KindDef = KindDef {
    name: "approval.ask.made",
    version: 1,
    when: "A part wants to do something that a person has to allow first.",
    fields: &[
        ("ask", "its id"),
        ("subject", "what kind of act it is: room.noun"),
        ("target", "what it would be done to"),
        ("digest", "SHA-256 of the canonical JSON of action, subject and target"),
        ("action", "the act itself, to the byte"),
        ("summary", "what would be done, in sentences"),
        ("evidence", "why"),
        ("asked_at", "when"),
        ("expires_at", "from when on it counts as expired"),
    ],
};

pub(crate) const GIVEN: KindDef = KindDef {
    name: "approval.verdict.given",
    version: 1,
    when: "A person approved or rejected an ask, and the signature was good.",
    fields: &[
        ("ask", "its id"),
        ("verdict", "approve or reject"),
        ("by", "who decided"),
        ("document", "the signed approval; see formats/approvals.md"),
    ],
};

pub(crate) const REFUSED: KindDef = KindDef {
    name: "approval.verdict.refused",
    version: 1,
    when: "Somebody handed in an approval that does not count. At most 30 an hour are written down.",
    fields: &[
        ("ask", "the id it names, where it names one"),
        ("key", "the key it says it was signed with, where it says so"),
        ("code", "why, as an error code"),
        ("why", "why, in a sentence"),
    ],
};

pub(crate) const WITHDRAWN: KindDef = KindDef {
    name: "approval.ask.withdrawn",
    version: 1,
    when: "Whoever asked does not want it any more.",
    fields: &[("ask", "its id"), ("why", "why, where somebody said")],
};

pub(crate) const USED: KindDef = KindDef {
    name: "approval.ask.used",
    version: 1,
    when: "An approval was redeemed; written before the action begins, so it is never used twice.",
    fields: &[("ask", "its id"), ("digest", "of the action")],
};

pub(crate) const EXPIRED: KindDef = KindDef {
    name: "approval.ask.expired",
    version: 1,
    when: "Nobody decided in time, or an approval was not used in time.",
    fields: &[("ask", "its id")],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[MADE, GIVEN, REFUSED, WITHDRAWN, USED, EXPIRED];

/// Keys of entries that may be written once begin with this.
pub(crate) const KEY_PREFIX: &str = "approval-";

/// Something that happened to an ask.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Made(Box<Ask>),
    Given { verdict: Box<Verdict>, document: Value },
    Withdrawn { ask: ApprovalId, by: Actor, why: Option<String> },
    Used { ask: ApprovalId, by: Actor, digest: Digest },
    Expired { ask: ApprovalId },
}

#[derive(Serialize, Deserialize)]
struct WithdrawnBody {
    ask: ApprovalId,
    why: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct UsedBody {
    ask: ApprovalId,
    digest: Digest,
}

#[derive(Deserialize)]
struct OfAsk {
    ask: ApprovalId,
}

#[derive(Deserialize)]
struct GivenBody {
    document: Value,
}

/// Whether entries of this kind change what is known of an ask.
pub(crate) fn wants(kind: &str) -> bool {
    [MADE, GIVEN, WITHDRAWN, USED, EXPIRED].iter().any(|def| def.name == kind)
}

impl Event {
    pub(crate) fn ask(&self) -> ApprovalId {
        match self {
            Event::Made(ask) => ask.id,
            Event::Given { verdict, .. } => verdict.ask,
            Event::Withdrawn { ask, .. } | Event::Used { ask, .. } | Event::Expired { ask } => *ask,
        }
    }

    /// What an entry says. `None` for other kinds, and for a body that this room did not write.
    pub(crate) fn read(entry: &Entry) -> Option<Event> {
        let Stored::Body(body) = &entry.content else { return None };
        let by = || entry.actor.clone();
        match entry.kind.as_str() {
            kind if kind == MADE.name => {
                let mut body = body.clone();
                body.insert("actor".into(), json!(entry.actor));
                if let Some(About::Agent(agent)) = entry.subject {
                    body.insert("agent".into(), json!(agent));
                }
                Some(Event::Made(Box::new(parse(&body)?)))
            }
            kind if kind == GIVEN.name => {
                let GivenBody { document } = parse(body)?;
                let (_, verdict) = verdict::read(&serde_json::to_vec(&document).ok()?).ok()?;
                Some(Event::Given { verdict: Box::new(verdict), document })
            }
            kind if kind == WITHDRAWN.name => {
                let WithdrawnBody { ask, why } = parse(body)?;
                Some(Event::Withdrawn { ask, by: by(), why })
            }
            kind if kind == USED.name => {
                let UsedBody { ask, digest } = parse(body)?;
                Some(Event::Used { ask, by: by(), digest })
            }
            kind if kind == EXPIRED.name => {
                let OfAsk { ask } = parse(body)?;
                Some(Event::Expired { ask })
            }
            _ => None,
        }
    }

    /// The entry that says so; `actor` is who did it, where the event does not know.
    pub(crate) fn draft(&self, actor: &Actor) -> Result<Draft> {
        match self {
            Event::Made(ask) => {
                let mut body = object(serde_json::to_value(ask));
                body.remove("actor");
                body.remove("agent");
                let subject = ask.agent.map(About::Agent);
                Ok(Draft { subject, ..entry(&MADE, &ask.actor, Trust::SemiTrusted, body)? })
            }
            Event::Given { verdict, document } => {
                let Verdict { ask, verdict, by, .. } = &**verdict;
                let body = json!({"ask": ask, "verdict": verdict, "by": by, "document": document});
                Ok(entry(&GIVEN, by, Trust::Admin, object(Ok(body)))?.reserved())
            }
            Event::Withdrawn { ask, by, why } => {
                let body = WithdrawnBody { ask: *ask, why: why.clone() };
                Ok(entry(&WITHDRAWN, by, Trust::SemiTrusted, object(serde_json::to_value(body)))?.reserved())
            }
            Event::Used { ask, by, digest } => {
                let body = UsedBody { ask: *ask, digest: *digest };
                let draft = entry(&USED, by, Trust::Trusted, object(serde_json::to_value(body)))?;
                once(draft, "used", *ask)
            }
            Event::Expired { ask } => {
                let draft = entry(&EXPIRED, actor, Trust::Trusted, object(Ok(json!({"ask": ask}))))?;
                once(draft, "expired", *ask)
            }
        }
    }
}

/// An entry of one of these kinds.
pub(crate) fn entry(def: &KindDef, actor: &Actor, trust: Trust, body: Map<String, Value>) -> Result<Draft> {
    let kind =
        def.name.parse().map_err(|e: holdfast_types::NameError| Error::BadAsk { why: e.to_string() })?;
    Ok(Draft { version: def.version, ..Draft::new(kind, actor.clone(), trust, body) })
}

/// An entry that the journal takes once.
fn once(draft: Draft, word: &str, ask: ApprovalId) -> Result<Draft> {
    let key = format!("{KEY_PREFIX}{word}:{ask}").parse();
    let key = key.map_err(|e: holdfast_types::NameError| Error::BadAsk { why: e.to_string() })?;
    Ok(Draft { key: Some(key), ..draft })
}

fn object(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(body)) => body,
        // Everything above is an object of plain values.
        _ => Map::new(),
    }
}

fn parse<T: DeserializeOwned>(body: &Map<String, Value>) -> Option<T> {
    T::deserialize(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_proper_name_in_this_room() {
        for def in KINDS {
            let kind: holdfast_types::Kind = def.name.parse().unwrap();
            assert_eq!(kind.room().as_str(), "approval");
        }
    }
}
