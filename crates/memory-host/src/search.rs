//! Finding memories again: candidates by their words and by their meaning, put in order by `recall`, read from the journal.

use std::cell::RefCell;

use holdfast_concordance::{Filter, IdSet, Query as Words};
use holdfast_memory::Entry;
use holdfast_memory::MemoryId;
use holdfast_recall::{Facts, Found as Lists, LIST_LEN, Query, Ranked, Shelf, Terms, rank};
use holdfast_types::Timestamp;
use holdfast_vectors::{Among, Effort, How, Query as Near, Vector};

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::Memories;
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
    /// Memories that say the opposite.
    pub conflicts: Vec<MemoryId>,
}

impl Memories {
    pub fn search(&self, ask: &Ask<'_>) -> Result<Found> {
        let vector = self.vector_of(ask.query)?;
        let inner = self.caught_up()?;
        let Some(space) = inner.spaces.get(&ask.agent.id()) else {
            return Err(Error::NoSpace(ask.agent.to_string()));
        };
        let (ranked, exact) = ranked(space, ask, vector.as_ref())?;
        let mut hits = Vec::new();
        for ranked in ranked.into_iter().take(ask.top.min(TOP_MAX)) {
            hits.extend(self.hit(space, ranked)?);
        }
        let without_vector = space.table.pending_count()?;
        Ok(Found { hits, lexical: vector.is_none(), exact, without_vector })
    }

    /// The meaning of a question, where there is a model and the question has any.
    fn vector_of(&self, text: &str) -> Result<Option<Vector>> {
        let Some(model) = &self.options.model else { return Ok(None) };
        let embedded = model.embed(&[text])?;
        Ok(embedded.first().and_then(|it| Vector::new(&it.whole()).ok()))
    }

    fn hit(&self, space: &Space, ranked: Ranked) -> Result<Option<Hit>> {
        let (Some(row), Some(entry)) = (space.table.row(ranked.seq)?, self.entry(ranked.seq)?) else {
            return Ok(None);
        };
        let why = ranked
            .parts
            .strongest()
            .into_iter()
            .map(|(signal, share)| (signal.as_str(), share.value()))
            .collect();
        let conflicts = space.table.conflicts_of(ranked.seq)?;
        Ok(Some(Hit { row, entry, score: ranked.score.value(), why, conflicts }))
    }
}

/// All candidates in their order, and whether the search by meaning was exact.
fn ranked(space: &Space, ask: &Ask<'_>, vector: Option<&Vector>) -> Result<(Vec<Ranked>, bool)> {
    let passing = match ask.only.is_everything() {
        true => None,
        false => Some(space.table.passing(ask.only)?),
    };
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
        Some(vector) => nearest(space, vector, passing.as_deref())?,
    };
    let shelf = OfSpace { space, vector, is_allowed: &is_allowed, trouble: RefCell::new(None) };
    let query = Query::of(ask.query, ask.now);
    let ranked = rank(&query, &Lists { lexical: &lexical, vector: &meaning }, &shelf, &Terms::default());
    match shelf.trouble.into_inner() {
        Some(trouble) => Err(trouble),
        None => Ok((ranked, exact)),
    }
}

/// Entries by their nearest piece, each once.
fn nearest(space: &Space, vector: &Vector, passing: Option<&[u64]>) -> Result<(Vec<u64>, bool)> {
    let dead = |key: holdfast_vectors::Key| !space.dead.contains(key.entry);
    let among = match passing {
        Some(seqs) => Among::These(seqs),
        None if space.dead.is_empty() => Among::All,
        None => Among::Where(&dead),
    };
    let query = Near { vector, limit: LIST_LEN * 3 / 2, upto: None, among, effort: Effort::Usual };
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
            citations: self.space.cited.get(&row.seq).copied().unwrap_or(0),
            eligible: (self.is_allowed)(row.seq),
        };
        rows.into_iter().map(facts).collect()
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
