//! What became of the steward's episodes, remembered: prose with its figures beside it, so that a person or a brain that asks memory finds what was
//! tried before. A later verdict on the same episode takes the place of an earlier one.
//!
//! That a verdict was given to memory is written down with no word of it. So it is given once, and what somebody has forgotten does not come back.

use std::collections::BTreeSet;

use holdfast_journal::Stored;
use holdfast_memory::{
    Body, Confidence, Content, Draft, EntryType, Label, OutcomeRecord, Record, Said, Scope, Source, Tags,
};
use holdfast_memory_host::{AgentName, Memories, Outcome};
use holdfast_steward::outcome;
use holdfast_store::{Filter, Order, find};
use holdfast_types::Trust;
use serde_json::{Value, json};
use tracing::{info, warn};

use super::MemoryError;
use super::answer::by;
use crate::kinds::{REMEMBERED, own_actor, own_draft};
use crate::office::Office;
use crate::problem::Result;

/// Whose memory it is. An agent may be let to read it.
pub(crate) const STEWARD: &str = "steward";

/// Measured by the steward itself.
const CONFIDENCE: f64 = 0.95;

/// What comes before so many is of years ago, and the books have let go of it.
const REMEMBERED_MAX: usize = 20_000;

/// Episodes with the verdicts on them that were given to memory.
pub(super) type Given = BTreeSet<(String, String)>;

impl Office {
    /// Remembers the verdicts that wait. What fails waits on.
    pub(super) fn remember_outcomes(&self, given: &mut Option<Given>) -> Result<()> {
        let waiting = self.bench.verdicts.take();
        if waiting.is_empty() {
            return Ok(());
        }
        let done = self.remember_new(&waiting, given);
        if done.is_err() {
            // Those that were given are known as such by now.
            self.bench.verdicts.give_back(&waiting);
        }
        done
    }

    fn remember_new(&self, waiting: &[outcome::Record], given: &mut Option<Given>) -> Result<()> {
        let given = match given {
            Some(given) => given,
            None => given.insert(self.given_before()?),
        };
        for verdict in waiting {
            let name = (verdict.episode.to_string(), verdict.outcome.to_string());
            if !given.contains(&name) {
                self.remember_outcome(verdict)?;
                given.insert(name);
            }
        }
        Ok(())
    }

    fn remember_outcome(&self, verdict: &outcome::Record) -> Result<()> {
        let (agent, memories) = (STEWARD.parse::<AgentName>().map_err(MemoryError::from)?, self.memories()?);
        let episode = &verdict.episode;
        let memory = match capture(&memories, &agent, verdict)? {
            Some(memory) => Some(memory),
            // Its words are the steward's own and a brain's, so it may be that the guard lets nothing through.
            None => {
                warn!(%episode, "what became of an episode is not remembered: the guard refused its text");
                None
            }
        };
        let body = json!({"episode": episode, "outcome": verdict.outcome, "memory": memory});
        self.journal.append(&own_draft(&REMEMBERED, body)?)?;
        self.memory_changed();
        info!(%episode, outcome = %verdict.outcome, "what became of an episode was remembered");
        Ok(())
    }

    /// What the journal says was given.
    fn given_before(&self) -> Result<Given> {
        let filter = Filter { kind: REMEMBERED.name.parse().ok(), ..Filter::default() };
        let newest =
            self.index_up_to_date()?.read(|conn| find(conn, &filter, Order::NewestFirst, REMEMBERED_MAX))?;
        let mut known = BTreeSet::new();
        for seq in newest {
            let entry = self.journal.entry(seq)?.parse()?;
            let Stored::Body(body) = &entry.content else { continue };
            let word = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
            known.extend(word("episode").zip(word("outcome")));
        }
        Ok(known)
    }
}

fn capture(memories: &Memories, agent: &AgentName, verdict: &outcome::Record) -> Result<Option<String>> {
    let draft = draft_of(verdict).map_err(|why| MemoryError::Draft { why })?;
    match memories.capture(agent, draft, &by(&own_actor(), Trust::Trusted), None)? {
        Outcome::Captured(captured) => Ok(Some(captured.id.to_string())),
        Outcome::Blocked { .. } | Outcome::Rejected(_) => Ok(None),
    }
}

fn draft_of(verdict: &outcome::Record) -> std::result::Result<Draft, String> {
    let wrong = |e: holdfast_memory::TextError| e.to_string();
    let record: OutcomeRecord = serde_json::to_value(verdict.metadata())
        .and_then(serde_json::from_value)
        .map_err(|e| format!("the steward's record is not one of memory's: {e}"))?;
    let tags = verdict.changes().map(|change| change.setting.property.to_string());
    let tags: Vec<String> = tags.chain([verdict.outcome.to_string()]).collect();
    let body = Body {
        content: Content::new(verdict.content()).map_err(wrong)?,
        tags: Tags::new(&tags).map_err(wrong)?,
        source_id: Some(Label::new(format!("{}:{}", verdict.episode, verdict.outcome)).map_err(wrong)?),
        said: Some(Said { at: Some(verdict.wall), thread: None }),
        record: Record::Outcome(record),
    };
    let claimed = Confidence::new(CONFIDENCE).map_err(|e| e.to_string())?;
    Ok(Draft {
        entry_type: EntryType::Pattern,
        source: Source::Observation,
        claimed,
        scope: Scope::Global,
        body,
    })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::quiet::tests::made;
    use super::*;
    use holdfast_control::{Answer, MemoryAnswer, MemoryAsk, MemoryFilter, MemoryHit, MemorySearch};
    use holdfast_lifeline::{Now, Steady};
    use holdfast_steward::setting::{Change, Property, Setting, Value as Size};
    use holdfast_types::Timestamp;

    fn verdict(outcome: outcome::Outcome, to: &str) -> outcome::Record {
        let now = Now { steady: Steady(0), wall: Timestamp::EPOCH, synced: false };
        let size = |text: &str| Size::parse(&Property::MemoryMax, text).unwrap();
        let setting = Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryMax };
        let episode = format!("ep_{:0>26}", to.trim_end_matches('M')).parse().unwrap();
        outcome::Record {
            change: Some(Change { setting, from: size("512M"), to: size(to) }),
            reason: "pressure fell from 31 % to 2 %".to_owned(),
            ..outcome::Record::new(episode, "box-1".parse().unwrap(), outcome, now)
        }
    }

    fn remember(office: &Office, given: &mut Option<Given>, verdicts: &[outcome::Record]) {
        office.bench.verdicts.give_back(verdicts);
        office.remember_outcomes(given).unwrap();
    }

    fn ask(office: &Office, ask: MemoryAsk) -> MemoryAnswer {
        match office.memory(ask, &mut |_| ControlFlow::Continue(())).unwrap() {
            Answer::Memory(answer) => *answer,
            other => panic!("{other:?}"),
        }
    }

    fn found(office: &Office) -> Vec<MemoryHit> {
        let only = MemoryFilter {
            kinds: vec!["outcomes".into()],
            host: Some("box-1".into()),
            ..MemoryFilter::default()
        };
        let search =
            MemorySearch { agent: STEWARD.into(), query: "what became of MemoryMax".into(), only, top: 10 };
        match ask(office, MemoryAsk::Search(Box::new(search))) {
            MemoryAnswer::Found(found) => found.hits,
            other => panic!("{other:?}"),
        }
    }

    // shows: STW-217, STW-219
    #[test]
    fn verdicts_are_remembered_once_the_later_takes_the_place_and_what_is_forgotten_does_not_come_back() {
        use outcome::Outcome::{DelayedNegative, Kept, RolledBack};
        let folder = tempfile::tempdir().unwrap();
        let office = made(folder.path());
        let mut given = None;
        // They differ by a number alone.
        let (one, other) = (verdict(Kept, "640M"), verdict(RolledBack, "768M"));
        remember(&office, &mut given, &[one.clone(), other.clone()]);
        let texts = |hits: &[MemoryHit]| hits.iter().map(|hit| hit.memory.text.clone()).collect::<Vec<_>>();
        let hits = found(&office);
        assert_eq!(hits.len(), 2, "{:?}", texts(&hits));
        assert!(texts(&hits).iter().any(|text| text.contains("640M") && text.contains("kept")));
        let undone = hits.iter().find(|hit| hit.memory.text.contains("768M")).unwrap().memory.id.clone();

        // A daemon that starts again is shown the whole book.
        remember(&office, &mut None, &[one, other.clone()]);
        assert_eq!(found(&office).len(), 2);
        remember(&office, &mut given, &[verdict(DelayedNegative, "640M")]);
        let hits = found(&office);
        assert_eq!(hits.len(), 2, "{:?}", texts(&hits));
        assert!(texts(&hits).iter().any(|text| text.contains("640M") && text.contains("done harm")));

        let gone = MemoryAsk::Forget { agent: STEWARD.into(), id: undone, actor: own_actor() };
        ask(&office, gone);
        remember(&office, &mut None, &[other]);
        assert_eq!(found(&office).len(), 1);
    }
}
