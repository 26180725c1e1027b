//! The candidates and what stands beside them, with the ties between neighbours.
//!
//! Invariants of a [`Field`]: entries ascend by `seq`; `tie` of an entry is to the one directly before it in its space and is zero
//! when that one is not here.

use std::time::Duration;

use crate::facts::Facts;
use crate::rank::Found;
use crate::shelf::Shelf;
use crate::terms::LIST_LEN;

/// Neighbours this far from a candidate are judged themselves: the answer to a question that was found stands after it.
const JUDGED_REACH: usize = 2;
/// How far names reach, and words (one place less). Twice as far brought nothing above noise.
pub(crate) const LENT_REACH: usize = 4;
const REACH: usize = JUDGED_REACH + LENT_REACH;

/// Entries further apart in time belong to two conversations. Sessions of LoCoMo are days apart and turns seconds; people answer
/// within the hour or on another day.
const PAUSE_MAX: Duration = Duration::from_secs(3 * 3600);

/// Of the entries around (three each side): below a quarter of speech, notes stand alone; above three quarters it is a conversation.
const SPEECH_REACH: usize = 3;
const SPEECH_NONE: f64 = 0.25;
const SPEECH_FULL: f64 = 0.75;

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) facts: Facts,
    /// How much this is part of a conversation, 0 to 1.
    pub(crate) conversation: f64,
    /// How much it belongs with the entry before it, 0 to 1.
    pub(crate) tie: f64,
    /// It may be a hit; the others only lend.
    pub(crate) judged: bool,
}

/// An entry of the neighbourhood, seen from another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// Places after (positive) or before.
    pub(crate) offset: isize,
    pub(crate) index: usize,
    pub(crate) tie: f64,
}

impl Field {
    pub(crate) fn gather(found: &Found<'_>, shelf: &impl Shelf) -> Field {
        let candidates = union(found);
        let mut field = Field { entries: tied(&windows(&candidates, shelf)) };
        field.judge(&candidates);
        field.keep_what_is_lent();
        field
    }

    /// The neighbours within reach that are tied to this one, those before it first, nearest first.
    pub(crate) fn beside(&self, index: usize, reach: usize) -> impl Iterator<Item = Beside> {
        self.before(index, reach).chain(self.after(index, reach))
    }

    pub(crate) fn seqs(&self) -> Vec<u64> {
        self.entries.iter().map(|e| e.facts.seq).collect()
    }

    fn before(&self, index: usize, reach: usize) -> impl Iterator<Item = Beside> {
        (1..=reach.min(index)).scan(1.0, move |tie, back| {
            *tie *= self.entries[index - back + 1].tie;
            (*tie > 0.0).then_some(Beside { offset: -back.cast_signed(), index: index - back, tie: *tie })
        })
    }

    fn after(&self, index: usize, reach: usize) -> impl Iterator<Item = Beside> {
        (1..=reach.min(self.entries.len() - 1 - index)).scan(1.0, move |tie, ahead| {
            *tie *= self.entries[index + ahead].tie;
            (*tie > 0.0).then_some(Beside { offset: ahead.cast_signed(), index: index + ahead, tie: *tie })
        })
    }

    fn judge(&mut self, candidates: &[u64]) {
        let found: Vec<usize> = (0..self.entries.len())
            .filter(|&i| candidates.binary_search(&self.entries[i].facts.seq).is_ok())
            .collect();
        let near = found.iter().flat_map(|&i| self.beside(i, JUDGED_REACH).map(|b| b.index));
        let judged: Vec<usize> = near.chain(found.iter().copied()).collect();
        for index in judged {
            self.entries[index].judged = self.entries[index].facts.eligible;
        }
    }

    fn keep_what_is_lent(&mut self) {
        let mut kept: Vec<bool> = self.entries.iter().map(|e| e.judged).collect();
        for index in (0..self.entries.len()).filter(|&i| self.entries[i].judged) {
            for beside in self.beside(index, LENT_REACH) {
                kept[beside.index] = true;
            }
        }
        for index in 1..self.entries.len() {
            if !kept[index - 1] {
                self.entries[index].tie = 0.0;
            }
        }
        let mut flags = kept.into_iter();
        self.entries.retain(|_| flags.next().unwrap_or(false));
    }
}

/// The candidates of both lists, ascending, each once. A longer list than asked for is cut, so that work stays bounded.
fn union(found: &Found<'_>) -> Vec<u64> {
    let lists = [found.lexical, found.vector];
    let mut seqs: Vec<u64> =
        lists.into_iter().flat_map(|list| list.iter().take(2 * LIST_LEN).copied()).collect();
    seqs.sort_unstable();
    seqs.dedup();
    seqs
}

/// What the port knows, and which entry stands directly before.
struct Known {
    facts: Facts,
    previous: Option<u64>,
}

/// All windows around the candidates as one ascending list.
fn windows(candidates: &[u64], shelf: &impl Shelf) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for &seq in candidates {
        let mut previous = None;
        for facts in shelf.around(seq, REACH).into_iter().take(2 * REACH + 1) {
            // A port that does not keep the order is not believed about neighbours.
            previous = previous.filter(|&p| p < facts.seq);
            known.push(Known { facts, previous });
            previous = Some(facts.seq);
        }
    }
    known.sort_by_key(|k| (k.facts.seq, k.previous.is_none()));
    known.dedup_by_key(|k| k.facts.seq);
    known
}

fn tied(known: &[Known]) -> Vec<Entry> {
    let joined: Vec<bool> =
        (0..known.len()).map(|i| i > 0 && known[i].previous == Some(known[i - 1].facts.seq)).collect();
    let conversation: Vec<f64> = (0..known.len()).map(|i| conversation(known, &joined, i)).collect();
    let entry = |i: usize| Entry {
        facts: known[i].facts,
        conversation: conversation[i],
        tie: if joined[i] && is_one_thread(known, &joined, i) {
            conversation[i].min(conversation[i - 1])
        } else {
            0.0
        },
        judged: false,
    };
    (0..known.len()).map(entry).collect()
}

/// How much of what stands around is speech, stretched to 0 to 1.
fn conversation(known: &[Known], joined: &[bool], index: usize) -> f64 {
    let back = (1..=SPEECH_REACH.min(index)).take_while(|b| joined[index - b + 1]).count();
    let ahead = (index + 1..known.len()).take(SPEECH_REACH).take_while(|&i| joined[i]).count();
    let around = &known[index - back..=index + ahead];
    let speech = around.iter().filter(|k| k.facts.traits.speech).count();
    ((speech as f64 / around.len() as f64 - SPEECH_NONE) / (SPEECH_FULL - SPEECH_NONE)).clamp(0.0, 1.0)
}

/// Whether an entry goes on where the one before it stopped: no long pause, no change of source.
fn is_one_thread(known: &[Known], joined: &[bool], index: usize) -> bool {
    let (before, here) = (&known[index - 1].facts, &known[index].facts);
    let paused = match (before.at, here.at) {
        (Some(a), Some(b)) => a.since(b).max(b.since(a)) > PAUSE_MAX,
        _ => false,
    };
    !paused && !source_changes(known, joined, index)
}

/// Another source ends a thread only where sources come in runs. One that differs with every entry is an id, and one that
/// alternates is a speaker.
fn source_changes(known: &[Known], joined: &[bool], index: usize) -> bool {
    let source = |i: usize| known[i].facts.source;
    let run_before = index >= 2 && joined[index - 1] && source(index - 2) == source(index - 1);
    let run_here = index + 1 < known.len() && joined[index + 1] && source(index + 1) == source(index);
    source(index - 1) != source(index) && run_before && run_here
}
