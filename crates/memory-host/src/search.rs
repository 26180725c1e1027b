//! Finding memories again: candidates by their words and by their meaning, put in order by `recall`, read from the journal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use holdfast_concordance::{Filter, IdSet, Query as Words};
use holdfast_memory::Entry;
use holdfast_memory::MemoryId;
use holdfast_memory::Signals;
use holdfast_recall::{Facts, Found as Lists, LIST_LEN, Query, Ranked, Shelf, Signal, Terms, rank};
use holdfast_types::{AgentId, Timestamp};
use holdfast_vectors::{Among, Effort, How, Query as Near, Vector};

use crate::agent::AgentName;
use crate::cite::as_citations;
use crate::error::{Error, Result};
use crate::memories::{Inner, Memories};
use crate::only::Only;
use crate::space::Space;
use crate::table::Row;

/// Hits that are given when nobody says how many, and the most that are.
pub const TOP_USUAL: usize = 10;
pub const TOP_MAX: usize = 200;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    pub agent: &'a AgentName,
    pub query: &'a str,
    pub top: usize,
    pub only: &'a Only,
    /// Gives "yesterday" its meaning; without it age does not count.
    pub now: Option<Timestamp>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// There is no model, so it went by words alone.
    pub lexical: bool,
    /// A nearer one cannot have been missed.
    pub exact: bool,
    /// How many had no vector yet.
    pub without_vector: u64,
}

/// A memory that was found, with where it comes from and why it is here.
#[derive(Clone, Debug)]
pub struct Hit {
    pub row: Row,
    pub entry: Entry,
    pub score: f64,
    /// What counted for it, or against it, and how much; the strongest first.
    pub why: Vec<(&'static str, f64)>,
    /// The same for a context pack.
    pub signals: Signals,
    /// Memories that say the opposite.
    pub conflicts: Vec<MemoryId>,
    /// Whose it is, where another agent shares it.
    pub shared_by: Option<SharedBy>,
}

/// The agent in whose space a memory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBy {
    pub agent: AgentId,
    pub name: String,
}

/// One space that is searched, and what of it may be seen.
pub(crate) struct View<'a> {
    pub(crate) space: &'a Space,
    /// Nothing for an agent's own space: it may see all of it.
    pub(crate) shared: Option<&'a BTreeSet<u64>>,
}

impl Memories {
    /// Looks through an agent's own space, and through what others share with it.
    pub fn search(&self, ask: &Ask<'_>) -> Result<Found> {
        let vector = self.vector_of(ask.query)?;
        self.search_given(ask, vector.as_ref(), &Terms::default())
    }

    /// The same where the question's vector is known, or to be done without, with weights that may be others: for measuring what each
    /// part is worth, and takes.
    pub fn search_given(&self, ask: &Ask<'_>, vector: Option<&Vector>, terms: &Terms) -> Result<Found> {
        let inner = self.caught_up()?;
        self.search_in(&inner, ask, vector, terms, Effort::Usual)
    }

    pub(crate) fn search_in(
        &self,
        inner: &Inner,
        ask: &Ask<'_>,
        vector: Option<&Vector>,
        terms: &Terms,
        effort: Effort,
    ) -> Result<Found> {
        let views = views(inner, ask.agent)?;
        let (mut all, mut exact) = (Vec::new(), true);
        for (n, view) in views.iter().enumerate() {
            let (ranked, all_seen) = ranked(view, ask, vector, terms, effort)?;
            exact &= all_seen;
            all.extend(ranked.into_iter().take(TOP_MAX).map(|ranked| (n, ranked)));
        }
        // The first view is the agent's own where it has one: of equals its own come first.
        all.sort_by_key(|(n, ranked)| (std::cmp::Reverse(ranked.score), *n, ranked.seq));
        all.truncate(ask.top.min(TOP_MAX));
        let hits = self.hits(&views, &all)?;
        let own = inner.spaces.get(&ask.agent.id());
        let without_vector = own.map_or(Ok(0), |space| space.table.pending_count())?;
        Ok(Found { hits, lexical: vector.is_none(), exact, without_vector })
    }

    /// The meaning of a question, where there is a model and the question has any.
    pub(crate) fn vector_of(&self, text: &str) -> Result<Option<Vector>> {
        let Some(model) = self.model() else { return Ok(None) };
        let Some(embedded) = self.or_by_words(model.embed(&[text]).map_err(Error::from))? else {
            return Ok(None);
        };
        Ok(embedded.first().and_then(|it| Vector::new(&it.whole()).ok()))
    }

    /// Those that are still there, in this order. A space is asked once for all of its own.
    fn hits(&self, views: &[View<'_>], ranked: &[(usize, Ranked)]) -> Result<Vec<Hit>> {
        let mut rows: BTreeMap<(usize, u64), (Row, Vec<MemoryId>)> = BTreeMap::new();
        for (n, view) in views.iter().enumerate() {
            let seqs: Vec<u64> = ranked.iter().filter(|(of, _)| *of == n).map(|(_, it)| it.seq).collect();
            let found = view.space.table.with_conflicts(&seqs)?;
            rows.extend(found.into_iter().map(|(row, conflicts)| ((n, row.seq), (row, conflicts))));
        }
        let mut hits = Vec::with_capacity(ranked.len());
        for (n, ranked) in ranked {
            let (Some((row, conflicts)), Some(entry)) =
                (rows.remove(&(*n, ranked.seq)), self.entry(ranked.seq)?)
            else {
                continue;
            };
            let (score, signals, why) = (ranked.score.value(), signals(ranked), why(ranked));
            let (conflicts, shared_by) = (views[*n].visible(conflicts)?, views[*n].shared_by()?);
            hits.push(Hit { row, entry, score, why, signals, conflicts, shared_by });
        }
        Ok(hits)
    }
}

impl View<'_> {
    /// Those that may be seen themselves: the id of another would tell that there is one.
    fn visible(&self, mut ids: Vec<MemoryId>) -> Result<Vec<MemoryId>> {
        if let Some(shared) = self.shared {
            let table = &self.space.table;
            let seqs: Vec<Option<u64>> = ids.iter().map(|id| table.seq_of(*id)).collect::<Result<_>>()?;
            let mut seen = seqs.into_iter().map(|seq| seq.is_some_and(|seq| shared.contains(&seq)));
            ids.retain(|_| seen.next().unwrap_or(false));
        }
        Ok(ids)
    }

    fn shared_by(&self) -> Result<Option<SharedBy>> {
        if self.shared.is_none() {
            return Ok(None);
        }
        let agent = self.space.agent;
        let name = self.space.table.name()?.unwrap_or_else(|| agent.to_string());
        Ok(Some(SharedBy { agent, name }))
    }
}

/// What an agent may look through: its own space first, then what others share with it.
pub(crate) fn views<'a>(inner: &'a Inner, agent: &AgentName) -> Result<Vec<View<'a>>> {
    let reader = agent.id();
    let own = inner.spaces.get(&reader).map(|space| View { space, shared: None });
    let others = inner.spaces.values().filter(|space| space.agent != reader);
    let shared = others.filter_map(|space| Some(View { space, shared: Some(space.shared.get(&reader)?) }));
    let views: Vec<View<'_>> = own.into_iter().chain(shared).collect();
    if views.is_empty() { Err(Error::NoSpace(agent.to_string())) } else { Ok(views) }
}

/// What each signal said, as a part of the most that it can say.
fn signals(ranked: &Ranked) -> Signals {
    let terms = Terms::default();
    let of = |signal: Signal, most: f64| {
        (ranked.parts.share(signal).millionths() as f64 / most).clamp(0.0, 1e6).round() as u32
    };
    Signals {
        meaning: of(Signal::Meaning, terms.meaning).max(of(Signal::Surroundings, terms.surroundings)),
        words: of(Signal::Words, terms.words),
        recency: of(Signal::Recency, terms.recency),
        citations: of(Signal::Citations, terms.citations),
        score: u32::try_from(ranked.score.millionths().max(0)).unwrap_or(u32::MAX),
    }
}

fn why(ranked: &Ranked) -> Vec<(&'static str, f64)> {
    let shares = ranked.parts.strongest().into_iter();
    shares.map(|(signal, share)| (signal.as_str(), share.value())).collect()
}

/// All candidates in their order, and whether the search by meaning was exact.
fn ranked(
    view: &View<'_>,
    ask: &Ask<'_>,
    vector: Option<&Vector>,
    terms: &Terms,
    effort: Effort,
) -> Result<(Vec<Ranked>, bool)> {
    let space = view.space;
    let passing = passing(view, ask.only)?;
    let allowed: Option<IdSet> = passing.as_ref().map(|seqs| seqs.iter().copied().collect());
    let is_allowed = |seq: u64| match &allowed {
        Some(allowed) => allowed.contains(seq),
        None => !space.dead.contains(seq),
    };
    let words = Words::of(ask.query);
    let by_words = match &allowed {
        Some(allowed) => space.words.search(&words, LIST_LEN, Filter::Among(allowed))?,
        None => space.words.search(&words, LIST_LEN, Filter::Where(&is_allowed))?,
    };
    let lexical: Vec<u64> = by_words.iter().map(|hit| hit.id).collect();
    let (meaning, exact) = match vector {
        None => (Vec::new(), true),
        Some(vector) => nearest(space, vector, passing.as_deref(), effort)?,
    };
    let shelf = OfSpace {
        space,
        vector,
        is_allowed: &is_allowed,
        alone: view.shared.is_some(),
        now: ask.now.unwrap_or(Timestamp::EPOCH),
        trouble: RefCell::new(None),
    };
    let query = Query::of(ask.query, ask.now);
    let ranked = rank(&query, &Lists { lexical: &lexical, vector: &meaning }, &shelf, terms);
    match shelf.trouble.into_inner() {
        Some(trouble) => Err(trouble),
        None => Ok((ranked, exact)),
    }
}

/// What passes a filter and may be seen; nothing where that is everything there is.
pub(crate) fn passing(view: &View<'_>, only: &Only) -> Result<Option<Vec<u64>>> {
    if view.shared.is_none() && only.is_everything() {
        return Ok(None);
    }
    let mut seqs = view.space.table.passing(only)?;
    if let Some(shared) = view.shared {
        seqs.retain(|seq| shared.contains(seq));
    }
    Ok(Some(seqs))
}

/// Entries by their nearest piece, each once.
fn nearest(
    space: &Space,
    vector: &Vector,
    passing: Option<&[u64]>,
    effort: Effort,
) -> Result<(Vec<u64>, bool)> {
    let dead = |key: holdfast_vectors::Key| !space.dead.contains(key.entry);
    let among = match passing {
        Some(seqs) => Among::These(seqs),
        None if space.dead.is_empty() => Among::All,
        None => Among::Where(&dead),
    };
    let query = Near { vector, limit: LIST_LEN * 3 / 2, upto: None, among, effort };
    let answer = space.vectors.search(&query)?;
    let mut seqs = Vec::with_capacity(LIST_LEN);
    for hit in &answer.hits {
        if !seqs.contains(&hit.key.entry) && seqs.len() < LIST_LEN {
            seqs.push(hit.key.entry);
        }
    }
    Ok((seqs, answer.how == How::Exact))
}

/// What ranking asks of a space. What goes wrong on the way is told at the end.
struct OfSpace<'a> {
    space: &'a Space,
    vector: Option<&'a Vector>,
    is_allowed: &'a dyn Fn(u64) -> bool,
    /// Nothing that may not be seen lends anything: what is shared is ranked as if it stood alone.
    alone: bool,
    /// When votes are weighed; long ago for as if they had not faded.
    now: Timestamp,
    trouble: RefCell<Option<Error>>,
}

impl OfSpace<'_> {
    fn or_empty<T: Default>(&self, found: Result<T>) -> T {
        found.unwrap_or_else(|trouble| {
            self.trouble.borrow_mut().get_or_insert(trouble);
            T::default()
        })
    }
}

impl Shelf for OfSpace<'_> {
    fn around(&self, seq: u64, reach: usize) -> Vec<Facts> {
        let rows = self.or_empty(self.space.rows.around(seq, reach));
        let facts = |row: crate::rows::Fact| Facts {
            seq: row.seq,
            at: Some(row.said),
            source: Some(row.thread).filter(|thread| *thread != 0),
            traits: row.traits,
            labels: row.labels,
            trust: row.trust,
            citations: self.space.votes.get(&row.seq).map_or(0, |votes| as_citations(votes, self.now)),
            eligible: (self.is_allowed)(row.seq),
        };
        let is_seen = |row: &crate::rows::Fact| !self.alone || (self.is_allowed)(row.seq);
        rows.into_iter().filter(is_seen).map(facts).collect()
    }

    fn rarity(&self, word: &str) -> f64 {
        self.or_empty(self.space.words.rarity(&Words::of(word)).map_err(Error::from))
    }

    fn word_scores(&self, word: &str, seqs: &[u64]) -> Vec<f64> {
        let scores = self.or_empty(self.space.words.scores(&Words::of(word), seqs).map_err(Error::from));
        let mut scores: Vec<f64> =
            scores.into_iter().map(|score| score.map_or(0.0, |score| score.as_f64())).collect();
        scores.resize(seqs.len(), 0.0);
        scores
    }

    fn closeness(&self, seqs: &[u64]) -> Vec<Option<f64>> {
        let Some(vector) = self.vector else { return vec![None; seqs.len()] };
        let query = Near {
            vector,
            limit: holdfast_vectors::LIMIT_MAX,
            upto: None,
            among: Among::These(seqs),
            effort: Effort::Exact,
        };
        let answer = self.space.vectors.search(&query).map_err(Error::from);
        let hits = self.or_empty(answer.map(|answer| answer.hits));
        let mut found: Vec<Option<f64>> = vec![None; seqs.len()];
        // The nearest first, so that of several pieces the nearest counts.
        for hit in hits {
            if let Ok(at) = seqs.binary_search(&hit.key.entry) {
                found[at].get_or_insert(f64::from(hit.score));
            }
        }
        found
    }
}
