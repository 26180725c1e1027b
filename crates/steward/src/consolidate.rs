//! Many episodes about one setting, told as one pattern.
//!
//! Two steps, each harmless to repeat: [`plan`] reads the book and says which patterns are missing, and once they are
//! added, [`archive_covered`] takes the single records they cover out of planning. A crash between the two leaves both the
//! pattern and its originals; planning again finds the originals covered and makes nothing new.
//!
//! Every figure is counted here. A brain may add a sentence to a pattern and change nothing else. A pattern covers single
//! records only, never other patterns. Rollbacks stay in planning, covered or not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::outcome::{Book, Outcome, Record, bounded};
use crate::setting::{EpisodeId, Setting, TargetName, Value};
use crate::time::Steady;

/// A group must be larger than this to become a pattern.
pub const MORE_THAN: usize = 5;
/// Keeps a pattern well within one line of the journal; what is over waits for the next one.
const MEMBERS_MAX: usize = 256;
const SENTENCE_MAX: usize = 500;
/// A change that is merely kept may be judged the next day. Until then it is not counted as anything.
const UNJUDGED_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// Often enough for a book that grows by three a day.
const EVERY: Duration = Duration::from_secs(7 * 24 * 3600);

/// Whether a week has passed since it was last done.
pub fn is_due(last: Option<Steady>, now: Steady) -> bool {
    last.is_none_or(|last| now.since(last) >= EVERY)
}

/// A verdict that a pattern covers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Member {
    pub episode: EpisodeId,
    pub outcome: Outcome,
}

/// What became of one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueTally {
    pub value: Value,
    pub outcomes: BTreeMap<Outcome, u32>,
    /// The most recent one of them.
    pub latest: Outcome,
    /// It went well at one time and did harm at another.
    pub contradicted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    pub target: TargetName,
    pub setting: Setting,
    pub members: Vec<Member>,
    /// In the order of the values.
    pub values: Vec<ValueTally>,
    /// A brain's words about the counts; shown after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
}

impl Pattern {
    pub fn episode_count(&self) -> usize {
        self.members.len()
    }

    pub fn contradicted(&self) -> bool {
        self.values.iter().any(|tally| tally.contradicted)
    }

    pub fn with_sentence(self, sentence: &str) -> Pattern {
        Pattern { sentence: Some(bounded(sentence, SENTENCE_MAX)), ..self }
    }

    /// The same pattern, whatever a brain said about it.
    pub fn is_same(&self, other: &Pattern) -> bool {
        self.target == other.target && self.setting == other.setting && self.members == other.members
    }

    /// As it is stored beside its text.
    pub fn metadata(&self) -> serde_json::Value {
        json!({
            "consolidated": true,
            "episode_count": self.episode_count(),
            "contradicted": self.contradicted(),
            "target_host": self.target,
            "service": self.setting.unit,
            "option": self.setting.property,
        })
    }

    /// The pattern as a paragraph.
    pub fn content(&self) -> String {
        let mut text = format!("{}: {}, {} episodes.", self.target, self.setting, self.episode_count());
        for tally in &self.values {
            let counts = tally.outcomes.iter().map(|(outcome, count)| format!("{count} {}", words(*outcome)));
            text += &format!(" {}: {}", tally.value, counts.collect::<Vec<_>>().join(", "));
            if tally.contradicted {
                text += &format!("; contradicted, most recently {}", words(tally.latest));
            }
            text.push('.');
        }
        if let Some(sentence) = &self.sentence {
            text += &format!(" Remark of a brain: {sentence}");
        }
        text
    }
}

fn words(outcome: Outcome) -> String {
    outcome.as_str().replace('_', " ")
}

/// The patterns that are missing from the book. Reads only.
pub fn plan(book: &Book, now: Steady) -> Vec<Pattern> {
    let covered: BTreeSet<(&EpisodeId, Outcome)> =
        book.patterns().flat_map(|p| &p.members).map(|member| (&member.episode, member.outcome)).collect();
    let mut groups: BTreeMap<(&TargetName, &Setting), Vec<&Record>> = BTreeMap::new();
    for record in book.current().filter(|record| is_settled(record, now)) {
        if let Some(change) =
            record.change.as_ref().filter(|_| !covered.contains(&(&record.episode, record.outcome)))
        {
            groups.entry((&record.target, &change.setting)).or_default().push(record);
        }
    }
    let large = groups.into_iter().filter(|(_, group)| group.len() > MORE_THAN);
    large
        .map(|((target, setting), group)| pattern(target, setting, &group[..group.len().min(MEMBERS_MAX)]))
        .collect()
}

/// Whether there is something to learn from the record that no later verdict will overturn.
fn is_settled(record: &Record, now: Steady) -> bool {
    let learned = record.outcome.was_tried() || record.outcome == Outcome::GateRejected;
    let may_be_judged = record.outcome == Outcome::Kept && now.since(record.at) < UNJUDGED_FOR;
    learned && !may_be_judged && record.superseded_by.is_none()
}

fn pattern(target: &TargetName, setting: &Setting, group: &[&Record]) -> Pattern {
    let mut values: BTreeMap<Value, ValueTally> = BTreeMap::new();
    // In the order of the book, which is the order things happened in: the last one seen is the latest.
    for record in group {
        let Some(change) = &record.change else { continue };
        let tally = values.entry(change.to).or_insert_with(|| ValueTally {
            value: change.to,
            outcomes: BTreeMap::new(),
            latest: record.outcome,
            contradicted: false,
        });
        *tally.outcomes.entry(record.outcome).or_default() += 1;
        tally.latest = record.outcome;
    }
    for tally in values.values_mut() {
        let any = |is: fn(Outcome) -> bool| tally.outcomes.keys().any(|outcome| is(*outcome));
        tally.contradicted = any(Outcome::is_success) && any(Outcome::is_harm);
    }
    let member = |record: &&Record| Member { episode: record.episode.clone(), outcome: record.outcome };
    Pattern {
        target: target.clone(),
        setting: setting.clone(),
        members: group.iter().map(member).collect(),
        values: values.into_values().collect(),
        sentence: None,
    }
}

/// Takes what the book's patterns cover out of planning, except what did harm or was rejected. A record leaves only when
/// the pattern that covers it holds this very verdict, so it is verified to be told elsewhere before it goes. Says how many.
pub fn archive_covered(book: &mut Book) -> usize {
    let covered: BTreeSet<Member> = book.patterns().flat_map(|p| p.members.iter().cloned()).collect();
    book.archive_where(|record| {
        let told = || covered.contains(&Member { episode: record.episode.clone(), outcome: record.outcome });
        !record.outcome.is_warning() && told()
    })
}
