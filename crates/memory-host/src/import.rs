//! Memories that come from elsewhere: a line of JSON each. They are redacted like all others; the gates say what they think of them and refuse
//! nothing unless they are to; nothing is merged, and what a person brings in stays.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_memory::MemoryId;
use holdfast_memory::Record;
use holdfast_memory::Standing;
use holdfast_memory::event::{Decided, Event};
use holdfast_memory::{Accepted, Considered, Redactor, consider};
use holdfast_memory::{Action, Gates, Rule};
use holdfast_memory::{Body, Confidence, Draft, EntryType, Provenance, Said, Scope, Source, Stamp};
use holdfast_memory::{Content, LABEL_MAX, Label, TAG_MAX, TAGS_MAX, Tags};
use holdfast_memory::{Counts, Decision, Method};
use holdfast_types::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::agent::AgentName;
use crate::error::Result;
use crate::memories::{By, Memories};
use crate::sealed;

/// Lines that are written down together.
const BATCH: usize = 256;
/// What somebody else kept was worth keeping to them.
const CONFIDENCE: f64 = 0.9;

/// One memory from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub agent: Option<String>,
    draft: Draft,
    foreign_id: Option<String>,
}

/// Why a line is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotALine(String);

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    id: Value,
    content: String,
    #[serde(default)]
    at: Value,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    agent: Option<String>,
}

/// What became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub captured: u64,
    /// Of an id that is here already.
    pub repeated: u64,
    /// The guard lets nothing of it through.
    pub blocked: u64,
    /// A gate refused it, because gates were to.
    pub refused: BTreeMap<&'static str, u64>,
    /// A gate would have.
    pub doubted: BTreeMap<&'static str, u64>,
    /// Longer than a memory may be.
    pub too_long: u64,
}

impl Line {
    /// Reads a line. What it has besides is not looked at.
    pub fn parse(text: &str) -> std::result::Result<Line, NotALine> {
        let raw: Raw = serde_json::from_str(text).map_err(wrong_form)?;
        let wrong = |e: holdfast_memory::TextError| NotALine(e.to_string());
        let foreign_id = word(&raw.id);
        let (source, thread) = match raw.source.as_deref().and_then(source) {
            Some(source) => (source, None),
            None => (Source::Conversation, raw.source.as_deref()),
        };
        let (entry_type, kind_tag) = match raw.kind.as_deref() {
            None => (EntryType::Fact, None),
            Some(kind) => EntryType::ALL
                .into_iter()
                .find(|it| it.as_str() == kind)
                .map_or((EntryType::Fact, Some(kind)), |it| (it, None)),
        };
        let tags = raw.tags.unwrap_or_default();
        let tags: Vec<&str> =
            tags.iter().map(String::as_str).chain(kind_tag).map(|tag| short(tag, TAG_MAX)).collect();
        let tags =
            Tags::new(tags.into_iter().filter(|tag| !tag.trim().is_empty()).take(TAGS_MAX)).map_err(wrong)?;
        let thread = thread.map(|it| short(it, LABEL_MAX)).filter(|it| !it.trim().is_empty());
        let said = Said { at: moment(&raw.at), thread: thread.map(Label::new).transpose().map_err(wrong)? };
        let source_id =
            foreign_id.as_deref().map(|id| Label::new(short(id, LABEL_MAX))).transpose().map_err(wrong)?;
        let body = Body {
            content: Content::new(raw.content).map_err(wrong)?,
            tags,
            source_id,
            said: Some(said),
            record: Record::default(),
        };
        let claimed = Confidence::new(CONFIDENCE).map_err(|e| NotALine(e.to_string()))?;
        let draft = Draft { entry_type, source, claimed, scope: Scope::Project, body };
        Ok(Line { agent: raw.agent, draft, foreign_id })
    }
}

/// What is wrong with the form of a line, without a word of it.
fn wrong_form(e: serde_json::Error) -> NotALine {
    NotALine(match e.classify() {
        serde_json::error::Category::Data => {
            "it is not an object with a content that is a text, and tags that are a list of texts".to_owned()
        }
        _ => format!("it is not JSON from byte {} on", e.column()),
    })
}

fn source(word: &str) -> Option<Source> {
    Source::ALL.into_iter().find(|it| it.as_str() == word)
}

/// An id is a text or a number.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A moment is a text as RFC 3339 has it, with or without a zone, or seconds since 1970.
fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => moment_of(text),
        Value::Number(number) => {
            let seconds = number.as_f64().filter(|it| it.abs() < 1e11)?;
            Timestamp::from_micros((seconds * 1e6) as i64).ok()
        }
        _ => None,
    }
}

/// A moment as people write it: as RFC 3339 has it, without a zone, or a day alone.
pub fn moment_of(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let in_utc =
        |it: jiff::civil::DateTime| it.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|it| it.timestamp());
    let without_zone = || in_utc(text.parse::<jiff::civil::DateTime>().ok()?);
    let day = || in_utc(text.parse::<jiff::civil::Date>().ok()?.at(0, 0, 0, 0));
    let moment = text.parse::<jiff::Timestamp>().ok().or_else(without_zone).or_else(day)?;
    Timestamp::from_micros(moment.as_microsecond()).ok()
}

/// No longer than this, and no character cut.
pub(crate) fn short(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

impl Memories {
    /// Takes in lines of one agent. Each is durable when this returns.
    pub fn import(&self, agent: &AgentName, lines: Vec<Line>, by: &By, enforce: bool) -> Result<Imported> {
        let _one = self.deciding();
        let mut imported = Imported::default();
        let gates = at_import(&self.options.gates, enforce);
        let (mut ready, mut cut_short, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for line in lines {
            if let Some((id, standing)) = self.is_here(agent, line.foreign_id.as_deref())? {
                imported.repeated += 1;
                // Whoever brought it in was stopped before it was said that it stays.
                cut_short.extend((standing == Standing::Session).then_some(id));
                continue;
            }
            if line.foreign_id.clone().is_some_and(|id| !seen.insert(id)) {
                imported.repeated += 1;
                continue;
            }
            ready.extend(sorted_out(line, self.options.redactor.as_ref(), &gates, &mut imported));
        }
        for batch in ready.chunks(BATCH) {
            imported.captured += self.write_down_all(agent, batch, by)?;
        }
        for ids in cut_short.chunks(BATCH) {
            let stays = sealed::happened(&kept(ids), by.actor.clone(), agent.id())?;
            self.options.journal.append(&stays)?;
        }
        Ok(imported)
    }

    fn write_down_all(&self, agent: &AgentName, batch: &[Accepted], by: &By) -> Result<u64> {
        let (mut drafts, mut ids) = (Vec::with_capacity(batch.len() + 1), Vec::with_capacity(batch.len()));
        for accepted in batch {
            let own = Provenance::new(by.actor.clone(), by.trust, Vec::new())
                .unwrap_or_else(|_| unreachable!("none is few"));
            let id = self.next_id(agent)?;
            let stamp = Stamp {
                id,
                at: self.options.clock.now(),
                agent: agent.id(),
                owner: by.owner.clone(),
                provenance: accepted.provenance(own),
                marks: accepted.marks.clone(),
            };
            drafts.push(sealed::captured(&accepted.draft.clone().stamped(stamp), None)?);
            ids.push(id);
        }
        drafts.push(sealed::happened(&kept(&ids), by.actor.clone(), agent.id())?);
        let written = self.options.journal.append_many(&drafts)?;
        let mut captured = 0;
        for done in written {
            done?;
            captured += 1;
        }
        // The last one says that the others are kept.
        Ok(captured - 1)
    }

    /// The memory that was called this where it came from.
    pub(crate) fn is_here(
        &self,
        agent: &AgentName,
        foreign_id: Option<&str>,
    ) -> Result<Option<(MemoryId, Standing)>> {
        let Some(foreign_id) = foreign_id else { return Ok(None) };
        let inner = self.caught_up()?;
        match inner.spaces.get(&agent.id()) {
            Some(space) => space.table.by_foreign(foreign_id),
            None => Ok(None),
        }
    }
}

/// What a person brings in stays: no later run decides about it.
fn kept(ids: &[MemoryId]) -> Event {
    let count = ids.len() as u64;
    let counts = Counts { loaded: count, promoted: count, ..Counts::default() };
    let decisions = ids.iter().map(|&entry| Decision::Promote { entry }).collect();
    Event::Decided(Decided { run: 0, part: 0, parts: 1, method: Method::Semantic, counts, decisions })
}

/// What would become of lines, as far as that can be told without looking what is here. Nothing is written.
pub fn preview(lines: Vec<Line>, redactor: &dyn Redactor, gates: &Gates, enforce: bool) -> Imported {
    let mut imported = Imported::default();
    let gates = at_import(gates, enforce);
    for line in lines {
        imported.captured += u64::from(sorted_out(line, redactor, &gates, &mut imported).is_some());
    }
    imported
}

/// A line that is to be kept; what becomes of another is counted.
fn sorted_out(
    line: Line,
    redactor: &dyn Redactor,
    gates: &Gates,
    imported: &mut Imported,
) -> Option<Accepted> {
    match consider(line.draft, redactor, gates) {
        Considered::Accepted(accepted) => {
            for refusal in &accepted.warnings {
                *imported.doubted.entry(refusal.gate.as_str()).or_default() += 1;
            }
            return Some(*accepted);
        }
        Considered::Rejected(refusal) => *imported.refused.entry(refusal.gate.as_str()).or_default() += 1,
        Considered::Blocked { .. } => imported.blocked += 1,
        Considered::TooLong(_) => imported.too_long += 1,
    }
    None
}

/// The gates as they are, or the same gates, which then say what they think and refuse nothing.
fn at_import(gates: &Gates, enforce: bool) -> Gates {
    if enforce {
        return gates.clone();
    }
    Gates::new(gates.rules().iter().map(|rule| Rule { action: Action::Warn, ..*rule }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Line::parse(text).unwrap().draft
    }

    #[test]
    fn a_line_is_read_for_what_it_says_and_nothing_is_made_up() {
        let line = Line::parse(
            r#"{"id":"D1:3","content":"Caroline: I went.","at":"2023-05-08T13:56:00Z","kind":"turn","source":"session_1","tags":["a"],"agent":"conv-26","more":1}"#,
        )
        .unwrap();
        assert_eq!((line.agent.as_deref(), line.foreign_id.as_deref()), (Some("conv-26"), Some("D1:3")));
        let said = line.draft.body.said.unwrap();
        assert_eq!(said.thread.unwrap().as_str(), "session_1");
        assert_eq!(said.at.unwrap().to_string(), "2023-05-08T13:56:00.000000Z");
        assert_eq!(line.draft.body.tags.iter().collect::<Vec<_>>(), ["a", "turn"]);

        let bare = draft(r#"{"content":"The port is 9096."}"#);
        assert_eq!((bare.source, bare.entry_type), (Source::Conversation, EntryType::Fact));
        assert_eq!(bare.body.said, Some(Said::default()));
        let known =
            draft(r#"{"id":7,"content":"We keep Postgres.","kind":"decision","source":"observation"}"#);
        assert_eq!((known.source, known.entry_type), (Source::Observation, EntryType::Decision));
        assert_eq!(known.body.source_id.unwrap().as_str(), "7");
    }

    #[test]
    fn a_moment_is_read_in_the_forms_people_write_and_else_left_out() {
        let at = |text: &str| moment(&serde_json::from_str(text).unwrap()).map(|it| it.to_string());
        for (text, read) in [
            (r#""2023-05-08T13:56:00Z""#, Some("2023-05-08T13:56:00.000000Z")),
            (r#""2023-05-08T13:56:00+02:00""#, Some("2023-05-08T11:56:00.000000Z")),
            (r#""2023-05-08 13:56:00""#, Some("2023-05-08T13:56:00.000000Z")),
            (r#""2023-05-08""#, Some("2023-05-08T00:00:00.000000Z")),
            ("1683554160", Some("2023-05-08T13:56:00.000000Z")),
            (r#""1:56 pm on 8 May, 2023""#, None),
            ("1e300", None),
            ("null", None),
        ] {
            assert_eq!(at(text).as_deref(), read, "{text}");
        }
    }

    #[test]
    fn what_is_no_line_is_refused_with_why() {
        for text in ["", "[]", "{}", r#"{"content":""}"#, r#"{"content":1}"#, r#"{"content":"x","tags":"y"}"#]
        {
            assert!(Line::parse(text).is_err(), "{text}");
        }
        let long =
            format!(r#"{{"content":"x","source":"{}","tags":["{}"]}}"#, "ü".repeat(400), "t".repeat(100));
        assert!(Line::parse(&long).is_ok());
    }
}
