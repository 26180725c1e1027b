//! A memory as it lies beside the journal: header and body in one blob, so that forgetting takes both.

use holdfast_journal::{Content, Draft, Subject};
use holdfast_memory::event::{CAPTURED, Event};
use holdfast_memory::{Body, Entry, Header};
use holdfast_types::{Actor, AgentId, Key, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};

#[derive(Serialize)]
struct Writing<'a> {
    header: &'a Header,
    body: &'a Body,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    header: Header,
    body: Body,
}

/// The text that is sealed.
pub(crate) fn sealed(entry: &Entry) -> Result<Vec<u8>> {
    let writing = Writing { header: &entry.header, body: &entry.body };
    serde_json::to_vec(&writing).map_err(|source| Error::Sealing { source })
}

/// The memory of a text that was sealed.
pub(crate) fn opened(seq: u64, text: &[u8]) -> Result<Entry> {
    let read: Reading = serde_json::from_slice(text).map_err(|source| Error::NotAMemory { seq, source })?;
    Ok(Entry { header: read.header, body: read.body })
}

/// The journal's draft of a memory.
pub(crate) fn captured(entry: &Entry, key: Option<Key>) -> Result<Draft> {
    let (header, actor) = (&entry.header, entry.header.provenance.actor().clone());
    let mut draft = bare(CAPTURED.name, actor, header.agent, header.trust())?;
    draft.content = Content::Blob(sealed(entry)?);
    draft.key = key;
    Ok(draft)
}

/// The journal's draft of anything else that happens in a space.
pub(crate) fn happened(event: &Event, actor: Actor, agent: AgentId) -> Result<Draft> {
    let mut draft = bare(event.kind().name, actor, agent, Trust::Admin)?;
    match event.body()? {
        Value::Object(body) => draft.content = Content::Body(body),
        other => draft.content = Content::Body(Map::from_iter([("value".to_owned(), other)])),
    }
    Ok(draft)
}

fn bare(kind: &str, actor: Actor, agent: AgentId, trust: Trust) -> Result<Draft> {
    let kind = kind.parse().map_err(|_| Error::Kind { kind: kind.to_owned() })?;
    let mut draft = Draft::new(kind, actor, trust, Map::new());
    draft.subject = Some(Subject::Agent(agent));
    Ok(draft)
}

/// A space was begun. Said again it is written once.
pub(crate) fn opened_space(kind: &str, agent: AgentId, body: Map<String, Value>) -> Result<Draft> {
    let mut draft = bare(kind, own_actor()?, agent, Trust::Admin)?;
    draft.content = Content::Body(body);
    draft.key = format!("memory-space:{agent}").parse().ok();
    Ok(draft)
}

/// Who did what nobody asked for by name.
pub(crate) fn own_actor() -> Result<Actor> {
    const NAME: &str = "holdfast";
    NAME.parse().map_err(|_| Error::Name(NAME.to_owned()))
}
