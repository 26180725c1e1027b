//! Questions to the index: the best entries, the scores of given ones, and how near the words stand.

use std::sync::Arc;

use crate::concordance::Concordance;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::fresh::Fresh;
use crate::nearness::nearness;
use crate::query::Query;
use crate::score::{Collection, Score, Shares, length_of, rarity, weight};
use crate::search::{Hit, Part, Sums, Top, score_of, search_part};
use crate::segment::Segment;

/// Entries of one answer.
pub const TOP_MAX: usize = 10_000;

/// A set of fewer ids than one in so many entries is gone through entry by entry instead of list by list.
const FEW: usize = 64;

/// The index as a search sees it: it stays as it was when it began.
struct Asked {
    parts: Vec<Part>,
    sources: Vec<Source>,
    weights: Vec<u32>,
    shares: Shares,
}

enum Source {
    Segment(Arc<Segment>),
    /// The tokens of its entries, where they are needed.
    Fresh(Option<Vec<Vec<crate::gathered::Token>>>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Lists,
    ListsAndTokens,
}

impl Concordance {
    /// The best entries, the best first, those with one score by their id. At most [`TOP_MAX`]; entries without any word of the question are not
    /// among them.
    pub fn search(&self, query: &Query, top: usize, filter: Filter<'_>) -> Result<Vec<Hit>> {
        if query.is_empty() || top == 0 {
            return Ok(Vec::new());
        }
        self.consistently(|| {
            let asked = self.asked(query, Need::Lists)?;
            let mut best = Top::new(top.min(TOP_MAX));
            match filter {
                Filter::Among(ids) if ids.len() * FEW < asked.entries() => {
                    for id in ids.iter() {
                        match asked.score(id) {
                            Some(score) if score > Score::default() => best.put(score.0, id),
                            _ => {}
                        }
                    }
                }
                _ => {
                    let mut sums = Sums::new();
                    for part in &asked.parts {
                        search_part(part, &asked.weights, &asked.shares, filter, &mut best, &mut sums);
                    }
                }
            }
            Ok(best.into_hits())
        })
    }

    /// What the question comes to for each of these entries; none for those that are not here.
    pub fn scores(&self, query: &Query, ids: &[u64]) -> Result<Vec<Option<Score>>> {
        self.consistently(|| {
            let asked = self.asked(query, Need::Lists)?;
            Ok(ids.iter().map(|id| asked.score(*id)).collect())
        })
    }

    /// How near the words of the question stand to each other in each of these entries, in their order: the sum, over neighbouring words of the
    /// question, of the smaller weight divided by the distance, up to five words. None for entries that are not here.
    pub fn nearness(&self, query: &Query, ids: &[u64]) -> Result<Vec<Option<Score>>> {
        self.consistently(|| {
            let asked = self.asked(query, Need::ListsAndTokens)?;
            ids.iter().map(|id| asked.nearness(query, *id)).collect()
        })
    }

    /// How telling a question is: the inverse document frequency of the rarest of its terms that any entry has, and zero when none has one.
    pub fn rarity(&self, query: &Query) -> Result<f64> {
        self.consistently(|| {
            let asked = self.asked(query, Need::Lists)?;
            let entries = asked.entries() as u64;
            let counts = (0..query.wanted().len()).map(|at| asked.df(at)).filter(|df| *df > 0);
            Ok(counts.map(|df| rarity(entries, df)).fold(0.0, f64::max))
        })
    }

    /// Whether the entry can be found.
    pub fn contains(&self, id: u64) -> Result<bool> {
        self.consistently(|| Ok(self.asked(&Query::default(), Need::Lists)?.place_of(id).is_some()))
    }

    /// A segment that was replaced is overwritten at once, so whoever still reads it finds it damaged. It is asked again then, of what came
    /// in its place.
    fn consistently<T>(&self, ask: impl Fn() -> Result<T>) -> Result<T> {
        loop {
            let generation = self.look().generation;
            match ask() {
                Err(Error::Damaged { .. }) if self.look().generation != generation => {}
                answer => return answer,
            }
        }
    }

    fn asked(&self, query: &Query, need: Need) -> Result<Asked> {
        let (segments, fresh) = {
            let view = self.look();
            let sealed = view.sealed.iter().map(|(sealed, _)| sealed.as_ref());
            let fresh: Vec<(Part, Source)> = sealed
                .chain([&view.fresh])
                .filter(|fresh| fresh.len() > 0)
                .map(|fresh| (fresh_part(fresh, query), Source::Fresh(tokens_of(fresh, need))))
                .collect();
            (Arc::clone(&view.segments), fresh)
        };
        let (mut parts, mut sources) = (Vec::new(), Vec::new());
        for segment in segments.iter() {
            parts.push(segment_part(segment, query)?);
            sources.push(Source::Segment(Arc::clone(segment)));
        }
        let words = segments.iter().map(|segment| segment.header().words).sum::<u64>()
            + fresh.iter().map(|(part, _)| words_of(part)).sum::<u64>();
        for (part, source) in fresh {
            parts.push(part);
            sources.push(source);
        }
        let entries = parts.iter().map(|part| part.ids.len() as u64).sum();
        let collection = Collection { entries, words };
        let df = |at: usize| {
            parts
                .iter()
                .filter_map(|part| part.lists[at].as_ref())
                .map(|list| u64::from(list.df))
                .sum::<u64>()
        };
        let weights = query
            .wanted()
            .iter()
            .enumerate()
            .map(|(at, wanted)| weight(self.bm25(), collection, df(at), wanted));
        let weights = weights.collect();
        Ok(Asked { weights, shares: Shares::of(self.bm25(), collection), parts, sources })
    }
}

impl Asked {
    /// How many entries have the term at this place of the question.
    fn df(&self, at: usize) -> u64 {
        let lists = self.parts.iter().filter_map(|part| part.lists[at].as_ref());
        lists.map(|list| u64::from(list.df)).sum()
    }

    fn entries(&self) -> usize {
        self.parts.iter().map(|part| part.ids.len()).sum()
    }

    fn place_of(&self, id: u64) -> Option<(usize, u16)> {
        // Parts are in the order of their ids.
        let at = self.parts.partition_point(|part| part.ids.last().is_some_and(|last| *last < id));
        let doc = self.parts.get(at)?.ids.binary_search(&id).ok()?;
        Some((at, doc as u16))
    }

    fn score(&self, id: u64) -> Option<Score> {
        let (at, doc) = self.place_of(id)?;
        Some(score_of(&self.parts[at], doc, &self.weights, &self.shares))
    }

    fn nearness(&self, query: &Query, id: u64) -> Result<Option<Score>> {
        let Some((at, doc)) = self.place_of(id) else { return Ok(None) };
        let ranks: Vec<Option<u32>> =
            self.parts[at].lists.iter().map(|list| list.as_ref().map(|list| list.rank)).collect();
        let near = match &self.sources[at] {
            Source::Segment(segment) => nearness(query, &self.weights, &ranks, &segment.tokens_of(doc)?),
            Source::Fresh(tokens) => {
                let tokens = tokens.as_ref().and_then(|tokens| tokens.get(usize::from(doc)));
                nearness(query, &self.weights, &ranks, tokens.map_or(&[], Vec::as_slice))
            }
        };
        Ok(Some(near))
    }
}

fn segment_part(segment: &Segment, query: &Query) -> Result<Part> {
    let lists = query.wanted().iter().map(|wanted| segment.list(&wanted.term)).collect::<Result<_>>()?;
    Ok(Part { ids: segment.ids()?, lengths: segment.lengths()?, lists })
}

fn fresh_part(fresh: &Fresh, query: &Query) -> Part {
    let lists = query.wanted().iter().map(|wanted| fresh.list(&wanted.term)).collect();
    Part {
        ids: fresh.gathered.ids.as_slice().into(),
        lengths: fresh.gathered.lengths.as_slice().into(),
        lists,
    }
}

fn tokens_of(fresh: &Fresh, need: Need) -> Option<Vec<Vec<crate::gathered::Token>>> {
    (need == Need::ListsAndTokens)
        .then(|| fresh.gathered.entries().map(|(_, tokens)| tokens.to_vec()).collect())
}

fn words_of(part: &Part) -> u64 {
    part.lengths.iter().map(|class| u64::from(length_of(*class))).sum()
}
