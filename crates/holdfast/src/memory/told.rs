//! Memories as they are told: the words and fields of the answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holdfast_control::{
    MemoryAdded, MemoryBrief, MemoryCount, MemoryDoubt, MemoryHit, MemoryImported, MemoryMatch, MemoryMerged,
    MemoryMined, MemoryNotes, MemoryOrigin, MemoryPack, MemoryPacked, MemoryRead, MemoryRun, MemoryShown,
    MemoryTold, MemoryWhy,
};
use holdfast_memory::{Entry, Item, Mark, MemoryId, MergeRecord, Pack, Refusal, Standing};
use holdfast_memory_host::{
    AgentName, Committed, Consolidated, Counted, Hit, Imported, Matched, Mined, Outcome, Row, Shown, TakenIn,
    Written,
};
use serde::Serialize;
use serde_json::{Value, json};

pub(super) fn added(agent: &AgentName, outcome: Outcome) -> MemoryAdded {
    let nothing = |outcome: &str| MemoryAdded {
        agent: agent.to_string(),
        outcome: outcome.to_owned(),
        id: None,
        entry: None,
        gate: None,
        reason: None,
        marks: Vec::new(),
        doubts: Vec::new(),
    };
    match outcome {
        Outcome::Captured(captured) => MemoryAdded {
            id: Some(captured.id.to_string()),
            entry: Some(captured.seq),
            marks: marks(&captured.marks),
            doubts: doubts(&captured.warnings),
            ..nothing(if captured.repeated { "repeated" } else { "captured" })
        },
        Outcome::Blocked { reason } => MemoryAdded { reason: Some(reason.to_owned()), ..nothing("blocked") },
        Outcome::Rejected(refusal) => MemoryAdded {
            gate: Some(refusal.gate.as_str().to_owned()),
            reason: Some(refusal.reason.sentence().to_owned()),
            ..nothing("rejected")
        },
    }
}

pub(crate) fn doubts(refusals: &[Refusal]) -> Vec<MemoryDoubt> {
    let doubt = |refusal: &Refusal| MemoryDoubt {
        gate: refusal.gate.as_str().to_owned(),
        reason: refusal.reason.sentence().to_owned(),
    };
    refusals.iter().map(doubt).collect()
}

pub(crate) fn marks(marks: &[Mark]) -> Vec<String> {
    marks.iter().map(word).collect()
}

/// Adds what became of the lines of one agent.
pub(super) fn add_imported(all: &mut MemoryImported, of_one: Imported) {
    let Imported { captured, repeated, blocked, refused, doubted, too_long } = of_one;
    all.captured += captured;
    all.repeated += repeated;
    all.blocked += blocked;
    all.too_long += too_long;
    let add = |to: &mut BTreeMap<String, u64>, from: BTreeMap<&'static str, u64>| {
        from.into_iter().for_each(|(gate, count)| *to.entry(gate.to_owned()).or_default() += count);
    };
    add(&mut all.refused, refused);
    add(&mut all.doubted, doubted);
}

pub(super) fn hit(hit: Hit) -> MemoryHit {
    let why =
        |(signal, share): &(&'static str, f64)| MemoryWhy { signal: (*signal).to_owned(), share: *share };
    MemoryHit {
        score: hit.score,
        why: hit.why.iter().map(why).collect(),
        conflicts: ids(&hit.conflicts),
        memory: MemoryTold { shared_by: hit.shared_by.map(|by| by.name), ..told(&hit.row, &hit.entry) },
    }
}

pub(super) fn brief(hit: &Hit) -> MemoryBrief {
    MemoryBrief { id: hit.row.id.to_string(), source_id: hit.row.foreign_id.clone(), score: hit.score }
}

pub(super) fn told(row: &Row, entry: &Entry) -> MemoryTold {
    let origin = |origin: &holdfast_memory::Origin| MemoryOrigin {
        entry: origin.seq,
        span: origin.span.map(Into::into),
        trust: origin.trust,
    };
    let provenance = &entry.header.provenance;
    MemoryTold {
        id: row.id.to_string(),
        text: entry.text().to_owned(),
        kind: row.kind.policy().collection.to_owned(),
        entry_type: row.entry_type.as_str().to_owned(),
        scope: row.scope.as_str().to_owned(),
        confidence: row.confidence.get(),
        tags: entry.body.tags.iter().map(str::to_owned).collect(),
        marks: marks(&entry.header.marks),
        standing: standing(row.standing).to_owned(),
        at: row.said,
        captured: row.captured,
        source: row.source.as_str().to_owned(),
        thread: row.thread.clone(),
        source_id: row.foreign_id.clone(),
        actor: provenance.actor().clone(),
        trust: row.trust,
        entry: row.seq,
        origins: provenance.origins().iter().map(origin).collect(),
        shared_by: None,
    }
}

pub(super) fn shown(agent: &str, shown: Shown, shared_with: Vec<String>) -> MemoryShown {
    let (replaced_by, gate) = ended_by(shown.row.standing);
    let replaced: Vec<MemoryId> = shown.replaced.iter().map(|row| row.id).collect();
    let memory =
        shown.entry.as_ref().map(|entry| MemoryTold { tags: shown.tags.clone(), ..told(&shown.row, entry) });
    MemoryShown {
        agent: agent.to_owned(),
        id: shown.row.id.to_string(),
        entry: shown.row.seq,
        standing: standing(shown.row.standing).to_owned(),
        replaced_by,
        gate,
        replaces: ids(&replaced),
        conflicts: ids(&shown.conflicts),
        shared_with,
        citations: shown.citations as u64,
        captured: shown.row.captured,
        memory,
    }
}

/// A memory as a line that an import takes: it reads the first of these fields and passes over the rest.
pub(super) fn exported(agent: &str, shown: Shown) -> Option<Value> {
    let memory = told(&shown.row, shown.entry.as_ref()?);
    let MemoryTold { id, text, at, entry_type, source, thread, source_id, .. } = memory;
    Some(json!({
        "id": id, "content": text, "at": at, "kind": entry_type, "source": thread.unwrap_or(source), "tags": shown.tags, "agent": agent,
        "source_id": source_id, "scope": memory.scope, "confidence": memory.confidence, "standing": memory.standing,
        "captured": memory.captured, "actor": memory.actor, "trust": memory.trust, "entry": memory.entry,
    }))
}

pub(super) fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Session => "session",
        Standing::Durable => "durable",
        Standing::Archived => "archived",
        Standing::Merged { .. } => "merged",
        Standing::Superseded { .. } => "superseded",
        Standing::Rejected { .. } => "rejected",
        Standing::Forgotten => "forgotten",
    }
}

/// What took its place, and which gate refused it.
pub(super) fn ended_by(standing: Standing) -> (Option<String>, Option<String>) {
    match standing {
        Standing::Merged { into: other, .. } | Standing::Superseded { by: other } => {
            (Some(other.to_string()), None)
        }
        Standing::Rejected { gate } => (None, Some(gate.as_str().to_owned())),
        Standing::Session | Standing::Durable | Standing::Archived | Standing::Forgotten => (None, None),
    }
}

pub(super) fn packed(agent: &str, pack: Pack) -> MemoryPack {
    let text = pack.text();
    let item = |item: Item| MemoryPacked {
        id: item.id.to_string(),
        shared_by: item.shared_by,
        tokens: item.tokens as u64,
        rationale: item.rationale,
        confidence: f64::from(item.confidence_permille) / 1000.0,
        conflicts: ids(&item.conflicts),
    };
    MemoryPack {
        agent: agent.to_owned(),
        objective: pack.request.objective,
        budget: pack.request.token_budget as u64,
        tokens: pack.tokens as u64,
        at_entry: pack.request.at_seq,
        lexical: pack.request.model.is_none(),
        left_out: pack.left_out as u64,
        digest: pack.digest.to_string(),
        text,
        items: pack.items.into_iter().map(item).collect(),
    }
}

pub(super) fn mined(agent: &str, mined: &Mined) -> MemoryMined {
    let Mined { commits, captured, known, blocked } = *mined;
    let [commits, captured, known, blocked] = [commits, captured, known, blocked].map(|n| n as u64);
    MemoryMined { agent: agent.to_owned(), commits, captured, known, blocked }
}

pub(super) fn taken_in(taken: TakenIn) -> MemoryRead {
    let TakenIn { captured, known, refused, blocked } = taken;
    let refused = refused.into_iter().map(|(gate, count)| (gate.to_owned(), count)).collect();
    MemoryRead { captured: ids(&captured), known: known as u64, refused, blocked }
}

pub(super) fn matched(it: Matched) -> MemoryMatch {
    MemoryMatch { score: it.score, why: it.why, memory: told(&it.row, &it.entry) }
}

pub(super) fn notes(
    agent: &AgentName,
    folder: PathBuf,
    written: Written,
    committed: &Committed,
) -> MemoryNotes {
    let edit = |(id, outcome): (MemoryId, Outcome)| (id.to_string(), added(agent, outcome).outcome);
    let committed = match committed {
        Committed::Commit(name) => format!("committed, sealed, as {name}"),
        Committed::Nothing => "it has everything already".to_owned(),
        Committed::Held(found) => {
            format!("nothing was committed: the scan found something in {}", ids(found).join(", "))
        }
    };
    MemoryNotes {
        agent: agent.to_string(),
        folder,
        files: written.files,
        edits: written.edits.into_iter().map(edit).collect(),
        committed,
    }
}

pub(super) fn run(agent: &str, done: Option<Consolidated>) -> MemoryRun {
    let empty = MemoryRun {
        agent: agent.to_owned(),
        run: None,
        looked_at: 0,
        promoted: 0,
        deduplicated: 0,
        rejected: 0,
        merged: Vec::new(),
        conflicts: Vec::new(),
        lexical: false,
        reviewed: 0,
    };
    let Some(done) = done else { return empty };
    let merged = |record: &MergeRecord| MemoryMerged {
        kept: record.kept.to_string(),
        discarded: record.discarded.to_string(),
        similarity: record.similarity.get(),
        reason: word(&record.reason),
    };
    MemoryRun {
        run: Some(done.run),
        looked_at: done.counts.loaded,
        promoted: done.counts.promoted,
        deduplicated: done.counts.deduplicated,
        rejected: done.counts.rejected,
        merged: done.merged.iter().map(merged).collect(),
        conflicts: done.conflicts.iter().map(|(one, other)| (one.to_string(), other.to_string())).collect(),
        lexical: done.fallback_used,
        reviewed: done.reviewed as u64,
        ..empty
    }
}

pub(super) fn count(agent: &str, counted: Counted, without_vector: u64) -> MemoryCount {
    MemoryCount {
        agent: agent.to_owned(),
        session: counted.session,
        durable: counted.durable,
        archived: counted.archived,
        merged: counted.merged,
        superseded: counted.superseded,
        rejected: counted.rejected,
        forgotten: counted.forgotten,
        blocked: counted.blocked,
        refused: counted.refused.into_iter().collect(),
        conflicts: counted.conflicts,
        runs: counted.runs,
        last_run: counted.last_run,
        without_vector,
    }
}

pub(super) fn ids(ids: &[MemoryId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// The word a value is written as.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
