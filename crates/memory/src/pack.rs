//! Context packs: the memories that go with an objective, within a budget of tokens.
//!
//! The same inputs give the same bytes, on any machine: scores are whole numbers, ties are broken by id, and everything that could
//! change the result (the sequence the index stood at, the model, the tokenizer, the budget) is an input and in the hash.
//!
//! Items are taken by score; what repeats an item already taken counts less, so that a pack is not one fact in ten wordings.
//! Entries that contradict each other come together or not at all: half of a contradiction is a lie.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_types::{AgentId, Digest};
use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::id::MemoryId;
use crate::render::{PREAMBLE, quoted_from};
use crate::similar::{jaccard, word_set};

/// Counts tokens as the model that reads the pack does.
pub trait Tokens {
    fn count(&self, text: &str) -> usize;

    /// Which tokenizer it is.
    fn digest(&self) -> Digest;
}

/// Why something was found: what each signal gave, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signals {
    /// How near in meaning.
    pub meaning: u32,
    /// How well the words match.
    pub words: u32,
    pub recency: u32,
    pub citations: u32,
    /// All of them together, as the search fused them. This alone decides the order.
    pub score: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub entry: Entry,
    pub signals: Signals,
    /// Entries of its own space that it contradicts.
    pub conflicts: BTreeSet<MemoryId>,
    /// What people call the agent that shares it, where it is not the reader's own.
    pub shared_by: Option<String>,
}

/// Ids are given by each space for itself; two spaces may have given the same one.
type Place = (AgentId, MemoryId);

impl Candidate {
    fn place(&self) -> Place {
        (self.entry.header.agent, self.entry.id())
    }

    fn quoted(&self) -> String {
        quoted_from(&self.entry, self.shared_by.as_deref())
    }
}

/// What a pack is made for and from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub objective: String,
    pub token_budget: usize,
    /// The index was read as it stood after this entry of the journal.
    pub at_seq: u64,
    /// The embedding model; nothing when candidates were found by words alone.
    pub model: Option<Digest>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    pub id: MemoryId,
    /// In whose space it is.
    pub agent: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
    /// As the agent reads it.
    pub text: String,
    pub tokens: usize,
    pub rationale: String,
    /// What the entry claims, in thousandths.
    pub confidence_permille: u32,
    pub signals: Signals,
    pub conflicts: Vec<MemoryId>,
}

/// A pack, and the digest of all it was made from and all it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    pub request: Request,
    pub tokenizer: Digest,
    pub items: Vec<Item>,
    /// How many candidates found no room.
    pub left_out: usize,
    pub tokens: usize,
    pub digest: Digest,
}

impl Pack {
    /// What the agent is given.
    pub fn text(&self) -> String {
        rendered(&self.items)
    }
}

/// How much a repetition of what is taken already costs: an item of the same words loses three quarters of its score.
const REPETITION_COST: f64 = 0.75;

/// Candidates are ranked exactly, whatever found them; more than this many are not looked at.
pub const CANDIDATES_MAX: usize = 256;

pub fn pack(request: Request, candidates: Vec<Candidate>, tokens: &dyn Tokens) -> Pack {
    let candidates = sorted(candidates);
    let groups = grouped(&candidates);
    let mut chosen = chosen(&groups, &candidates, request.token_budget, tokens);
    // Parts counted alone may come to less than the whole they make: the whole decides, and gives up what came last.
    let mut items = items(&chosen, &candidates, tokens);
    let mut used = total(&items, tokens);
    while used > request.token_budget {
        chosen.pop();
        items = self::items(&chosen, &candidates, tokens);
        used = total(&items, tokens);
    }
    let tokenizer = tokens.digest();
    let left_out = candidates.len() - items.len();
    let digest = digest(&request, &tokenizer, &candidates, &items);
    Pack { request, tokenizer, items, left_out, tokens: used, digest }
}

/// By score, then by id; each memory once.
fn sorted(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut by_place: BTreeMap<Place, Candidate> = BTreeMap::new();
    for candidate in candidates {
        let held = by_place.entry(candidate.place()).or_insert_with(|| candidate.clone());
        if candidate.signals.score > held.signals.score {
            *held = candidate;
        }
    }
    let mut sorted: Vec<Candidate> = by_place.into_values().collect();
    let order = |it: &Candidate| (std::cmp::Reverse(it.signals.score), it.entry.id(), it.entry.header.agent);
    sorted.sort_by_key(order);
    sorted.truncate(CANDIDATES_MAX);
    sorted
}

/// Positions of candidates that come together: each alone, or with all it contradicts.
fn grouped(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let at: BTreeMap<Place, usize> = candidates.iter().enumerate().map(|(n, c)| (c.place(), n)).collect();
    let mut seen = BTreeSet::new();
    let mut groups = Vec::new();
    for n in 0..candidates.len() {
        if !seen.insert(n) {
            continue;
        }
        let mut group = vec![n];
        let mut next = 0;
        while next < group.len() {
            let one = &candidates[group[next]];
            for other in one.conflicts.iter().filter_map(|id| at.get(&(one.entry.header.agent, *id))) {
                if seen.insert(*other) {
                    group.push(*other);
                }
            }
            next += 1;
        }
        groups.push(group);
    }
    groups
}

/// Groups in the order they are taken, as long as there is room.
fn chosen(
    groups: &[Vec<usize>],
    candidates: &[Candidate],
    budget: usize,
    tokens: &dyn Tokens,
) -> Vec<Vec<usize>> {
    let words: Vec<BTreeSet<String>> = candidates.iter().map(|c| word_set(c.entry.text())).collect();
    let costs: Vec<usize> = candidates.iter().map(|c| tokens.count(&c.quoted())).collect();
    let mut room = budget.saturating_sub(tokens.count(PREAMBLE));
    let mut open: Vec<usize> = (0..groups.len()).collect();
    // How much each group repeats of what is taken.
    let mut repeats = vec![0.0f64; groups.len()];
    let mut taken = Vec::new();
    while let Some(best) = best(&open, groups, candidates, &repeats) {
        let group = open.remove(best);
        // An empty line stands between two items.
        let cost: usize = groups[group].iter().map(|&n| costs[n] + 2).sum();
        if cost > room {
            continue;
        }
        room -= cost;
        for &other in &open {
            let alike = groups[group]
                .iter()
                .map(|&n| jaccard(&words[n], &words[groups[other][0]]).get())
                .fold(0.0, f64::max);
            repeats[other] = repeats[other].max(alike);
        }
        taken.push(groups[group].clone());
    }
    taken
}

fn best(open: &[usize], groups: &[Vec<usize>], candidates: &[Candidate], repeats: &[f64]) -> Option<usize> {
    let worth = |group: usize| {
        let score = f64::from(candidates[groups[group][0]].signals.score);
        (score * (1.0 - REPETITION_COST * repeats[group])).round() as u64
    };
    // Of equals the first, which has the higher score or the smaller id.
    (0..open.len()).rev().max_by_key(|&at| worth(open[at]))
}

fn items(chosen: &[Vec<usize>], candidates: &[Candidate], tokens: &dyn Tokens) -> Vec<Item> {
    let included: BTreeSet<Place> = chosen.iter().flatten().map(|&n| candidates[n].place()).collect();
    let item = |&n: &usize| {
        let candidate = &candidates[n];
        let (text, agent) = (candidate.quoted(), candidate.entry.header.agent);
        let is_here = |id: &&MemoryId| included.contains(&(agent, **id));
        let conflicts: Vec<MemoryId> = candidate.conflicts.iter().filter(is_here).copied().collect();
        Item {
            id: candidate.entry.id(),
            agent,
            shared_by: candidate.shared_by.clone(),
            tokens: tokens.count(&text),
            text,
            rationale: rationale(candidate, &conflicts),
            confidence_permille: (candidate.entry.header.confidence.get() * 1_000.0).round() as u32,
            signals: candidate.signals,
            conflicts,
        }
    };
    chosen.iter().flatten().map(item).collect()
}

fn rationale(candidate: &Candidate, conflicts: &[MemoryId]) -> String {
    let Signals { meaning, words, recency, citations, .. } = candidate.signals;
    // A tenth of the scale is where a signal says something.
    let signals = [
        (meaning, "near in meaning"),
        (words, "matches in words"),
        (recency, "recent"),
        (citations, "confirmed by others"),
    ];
    let mut said: Vec<String> =
        signals.iter().filter(|(value, _)| *value >= 100_000).map(|(_, why)| (*why).to_owned()).collect();
    if said.is_empty() {
        said.push("the best there was".to_owned());
    }
    said.extend(conflicts.iter().map(|id| format!("contradicts {id}")));
    said.join(", ")
}

fn rendered(items: &[Item]) -> String {
    let mut out = PREAMBLE.to_owned();
    for item in items {
        out.push_str("\n\n");
        out.push_str(&item.text);
        if !item.conflicts.is_empty() {
            let ids: Vec<String> = item.conflicts.iter().map(MemoryId::to_string).collect();
            out.push_str(&format!("\n(contradicts {})", ids.join(", ")));
        }
    }
    out
}

/// An empty pack costs nothing: there is nothing to introduce.
fn total(items: &[Item], tokens: &dyn Tokens) -> usize {
    if items.is_empty() { 0 } else { tokens.count(&rendered(items)) }
}

/// Every part with its length before it, so that no two inputs run together into the same bytes.
fn digest(request: &Request, tokenizer: &Digest, candidates: &[Candidate], items: &[Item]) -> Digest {
    let mut hash = blake3::Hasher::new_derive_key("holdfast memory context pack v1");
    let mut part = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(request.objective.as_bytes());
    part(&(request.token_budget as u64).to_le_bytes());
    part(&request.at_seq.to_le_bytes());
    part(request.model.map(|model| model.to_string()).unwrap_or_default().as_bytes());
    part(tokenizer.to_string().as_bytes());
    for candidate in candidates {
        part(candidate.entry.header.agent.to_string().as_bytes());
        part(candidate.entry.id().to_string().as_bytes());
        part(&candidate.signals.score.to_le_bytes());
        part(candidate.entry.text().as_bytes());
    }
    part(b"items");
    for item in items {
        part(item.id.to_string().as_bytes());
        part(item.text.as_bytes());
    }
    Digest::blake3(*hash.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::build;

    /// A token for every word, and one for every line, so that parts do not add up to the whole.
    struct Words;

    impl Tokens for Words {
        fn count(&self, text: &str) -> usize {
            text.split_whitespace().count() + text.lines().count()
        }

        fn digest(&self) -> Digest {
            Digest::blake3([1; 32])
        }
    }

    fn request(token_budget: usize) -> Request {
        Request {
            objective: "open the gate".into(),
            token_budget,
            at_seq: 7,
            model: Some(Digest::blake3([2; 32])),
        }
    }

    fn candidate(n: u32, text: &str, score: u32) -> Candidate {
        let signals = Signals { meaning: score, score, ..Signals::default() };
        Candidate { entry: build::fact(text).entry(n), signals, conflicts: BTreeSet::new(), shared_by: None }
    }

    fn some() -> Vec<Candidate> {
        vec![
            candidate(1, "The gate opens with the blue key.", 900_000),
            candidate(2, "The gate opens with a blue key.", 890_000),
            candidate(3, "Rivers flow to the sea in spring.", 500_000),
        ]
    }

    fn ids(pack: &Pack) -> Vec<u32> {
        pack.items.iter().map(|item| item.id.number().get()).collect()
    }

    // shows: DOC-147
    #[test]
    fn equal_inputs_give_equal_bytes_in_any_order_and_every_input_is_in_the_digest() {
        let made = pack(request(400), some(), &Words);
        let mut backwards = some();
        backwards.reverse();
        let bytes = |pack: &Pack| serde_json::to_vec(pack).unwrap();
        assert_eq!(bytes(&made), bytes(&pack(request(400), backwards, &Words)));

        let changes: [Request; 4] = [
            Request { objective: "shut the gate".into(), ..request(400) },
            request(401),
            Request { at_seq: 8, ..request(400) },
            Request { model: None, ..request(400) },
        ];
        for changed in changes {
            assert_ne!(pack(changed, some(), &Words).digest, made.digest);
        }
        let mut other = some();
        other[2].signals.score -= 1;
        assert_ne!(pack(request(400), other, &Words).digest, made.digest);
    }

    #[test]
    fn every_item_says_why_it_is_there_and_how_sure_it_is() {
        let made = pack(request(400), some(), &Words);
        assert!(
            made.items
                .iter()
                .all(|item| item.rationale.contains("near in meaning") && item.confidence_permille == 900)
        );
        assert_eq!(made.text().lines().next(), Some(PREAMBLE));
    }

    #[test]
    fn what_repeats_an_item_comes_after_what_is_new() {
        assert_eq!(ids(&pack(request(400), some(), &Words)), [1, 3, 2]);
    }

    #[test]
    fn a_contradiction_comes_whole_or_not_at_all() {
        let mut candidates = some();
        candidates[0].conflicts.insert(build::id(3));
        candidates[2].conflicts.insert(build::id(1));
        let whole = pack(request(400), candidates.clone(), &Words);
        assert_eq!(ids(&whole), [1, 3, 2]);
        assert!(whole.items[0].rationale.contains("contradicts mem-2026-11-18-003"));
        assert!(whole.text().contains("(contradicts mem-2026-11-18-001)"));
        // Room for two items that are alone, and not for the pair with what it says of itself.
        let tight = Words.count(PREAMBLE) + 2 * Words.count(&candidates[0].quoted());
        let part = pack(request(tight), candidates, &Words);
        assert_eq!(ids(&part), [2]);
        assert_eq!(part.left_out, 2);
    }

    #[test]
    fn two_spaces_may_have_given_the_same_id_and_what_is_shared_says_by_whom() {
        let mut theirs = candidate(1, "The gate of the other house is red.", 800_000);
        theirs.entry.header.agent = build::agent(2);
        theirs.shared_by = Some("scout".into());
        let mut ours = candidate(1, "The gate opens with the blue key.", 900_000);
        ours.conflicts.insert(build::id(1));
        let made = pack(request(400), vec![ours, theirs], &Words);
        assert_eq!(ids(&made), [1, 1]);
        assert!(made.items[1].text.contains("· shared by \"scout\""), "{}", made.items[1].text);
        assert!(!made.items[0].text.contains("shared by"));
        assert!(made.items[1].conflicts.is_empty(), "a contradiction is between two of one space");
    }

    #[test]
    fn without_room_or_candidates_a_pack_is_empty() {
        assert_eq!(pack(request(0), some(), &Words).tokens, 0);
        assert!(pack(request(400), Vec::new(), &Words).items.is_empty());
    }

    proptest! {
        #[test]
        fn the_budget_is_never_exceeded(
            budget in 0usize..600,
            texts in prop::collection::vec(("[a-z\n ]{1,120}", 0u32..1_000_000, 0u32..8), 0..12),
        ) {
            let candidates: Vec<Candidate> = texts
                .iter()
                .enumerate()
                .map(|(n, (text, score, other))| {
                    let text = if text.trim().is_empty() { "x" } else { text };
                    let mut made = candidate(n as u32 + 1, text, *score);
                    if *other > 0 {
                        made.conflicts.insert(build::id(*other));
                    }
                    made
                })
                .collect();
            let made = pack(request(budget), candidates, &Words);
            prop_assert!(made.tokens <= budget);
            prop_assert!(made.items.is_empty() || Words.count(&made.text()) == made.tokens);
            prop_assert_eq!(made.items.len() + made.left_out, texts.len());
        }
    }
}
