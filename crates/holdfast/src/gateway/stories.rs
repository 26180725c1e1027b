//! The steward's records, followed from the journal: the latest episodes of every target, so that a page about one reads no log.
//!
//! The first look goes through the whole journal once; every later one takes in what came since.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdfast_journal::Journal;
use holdfast_lifeline::{EpisodeId, Steady, TargetName};
use holdfast_steward::event::{Event, Record};
use holdfast_steward_host::record_of;
use holdfast_steward_host::story::{self, Summary};
use memchr::memmem;

use crate::problem::Result;
use crate::steward::{StewardError, Written};

/// Episodes of a target that are at hand, with all their records. Earlier ones are in the journal.
const EPISODES_MAX: usize = 60;

/// Records of a target that are kept whatever they are of: some are of no episode.
const RECORDS_MAX: usize = 20_000;

#[derive(Debug, Default)]
pub(crate) struct Stories {
    followed: Mutex<Followed>,
}

#[derive(Debug, Default)]
struct Followed {
    next: u64,
    targets: BTreeMap<TargetName, Tale>,
}

/// What is at hand of one target.
#[derive(Debug, Default)]
struct Tale {
    records: VecDeque<Written>,
    /// Episodes that were opened, all of them.
    opened: usize,
    /// Of these the records are at hand.
    at_hand: VecDeque<EpisodeId>,
    /// What they come to, until another record comes.
    summaries: Option<Vec<Summary>>,
}

/// An episode with its records.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) target: TargetName,
    pub(crate) summary: Summary,
    pub(crate) records: Vec<Written>,
}

impl Stories {
    /// Takes in what was written since the last look.
    pub(crate) fn catch_up(&self, journal: &Journal) -> Result<()> {
        let mut followed = self.followed();
        if followed.next >= journal.size() {
            return Ok(());
        }
        let room = memmem::Finder::new(br#""room":"steward""#);
        let mut entries = journal.read(followed.next);
        while let Some(raw) = entries.next_raw()? {
            // Most entries are somebody else's, and parsing is what takes long.
            if room.find(&raw.line).is_some() {
                let entry = raw.parse()?;
                let read = record_of(&entry).map_err(|e| StewardError::Unreadable { why: e.to_string() })?;
                if let Some((target, record)) = read {
                    let written = Written { seq: entry.seq, record };
                    followed.targets.entry(target).or_default().take(written);
                }
            }
            followed.next = entries.position();
        }
        Ok(())
    }

    /// The episodes of a target that are at hand, the latest first, and how many earlier ones there are.
    pub(crate) fn of(&self, target: &str) -> (Vec<Summary>, usize) {
        let mut followed = self.followed();
        let Some((_, tale)) = followed.targets.iter_mut().find(|(name, _)| name.as_str() == target) else {
            return (Vec::new(), 0);
        };
        let mut summaries = tale.summaries().to_vec();
        summaries.reverse();
        let earlier = tale.opened.saturating_sub(summaries.len());
        (summaries, earlier)
    }

    /// When each episode of a target that is at hand began, by the steward's own clock.
    pub(crate) fn began(&self, target: &str) -> BTreeMap<EpisodeId, Steady> {
        let followed = self.followed();
        let tale = followed.targets.iter().find(|(name, _)| name.as_str() == target);
        let records = tale.into_iter().flat_map(|(_, tale)| &tale.records);
        let began = records.filter_map(|one| match &one.record.event {
            Event::Opened { episode } => Some((episode.id.clone(), one.record.at)),
            _ => None,
        });
        began.collect()
    }

    /// One episode.
    pub(crate) fn episode(&self, id: &str) -> Option<Episode> {
        let followed = self.followed();
        let (target, tale) =
            followed.targets.iter().find(|(_, tale)| tale.at_hand.iter().any(|it| it.as_str() == id))?;
        let is_of = |one: &&Written| one.record.event.episode().is_some_and(|it| it.as_str() == id);
        let records: Vec<Written> = tale.records.iter().filter(is_of).cloned().collect();
        let plain: Vec<Record> = records.iter().map(|one| one.record.clone()).collect();
        let summary = story::episodes(&plain).into_iter().next()?;
        Some(Episode { target: target.clone(), summary, records })
    }

    /// The one episode that is meant by its id, or by the beginning or the end of it.
    pub(crate) fn find(&self, text: &str) -> Option<String> {
        let followed = self.followed();
        let ids = || followed.targets.values().flat_map(|tale| tale.at_hand.iter().map(EpisodeId::as_str));
        if let Some(exact) = ids().find(|id| *id == text) {
            return Some(exact.to_owned());
        }
        let mut fits = ids().filter(|id| id.starts_with(text) || id.ends_with(text));
        let found = fits.next()?;
        fits.next().is_none().then(|| found.to_owned())
    }

    /// What episodes of all targets wrote lately, the latest first.
    pub(crate) fn latest(&self, limit: usize) -> Vec<(TargetName, Written)> {
        let followed = self.followed();
        let mut all: Vec<(TargetName, Written)> = followed
            .targets
            .iter()
            .flat_map(|(target, tale)| {
                tale.records
                    .iter()
                    .rev()
                    .filter(|one| is_news(&one.record.event))
                    .take(limit)
                    .map(|one| (target.clone(), one.clone()))
            })
            .collect();
        all.sort_by_key(|(_, one)| std::cmp::Reverse(one.seq));
        all.truncate(limit);
        all
    }

    fn followed(&self) -> MutexGuard<'_, Followed> {
        // Every record is taken whole: a panic elsewhere leaves nothing half done.
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it belongs in a story of what happened lately: a beginning, a decision, an end.
fn is_news(event: &Event) -> bool {
    matches!(
        event,
        Event::Opened { .. }
            | Event::Judged { .. }
            | Event::Counted { .. }
            | Event::Kept { .. }
            | Event::Ended { .. }
            | Event::Retrospected { .. }
    )
}

impl Tale {
    fn take(&mut self, written: Written) {
        self.summaries = None;
        if let Event::Opened { episode } = &written.record.event {
            self.opened += 1;
            self.at_hand.push_back(episode.id.clone());
            if self.at_hand.len() > EPISODES_MAX {
                self.at_hand.pop_front();
                self.let_go();
            }
        }
        self.records.push_back(written);
        if self.records.len() > RECORDS_MAX {
            self.records.pop_front();
        }
    }

    /// Drops what is of no episode at hand.
    fn let_go(&mut self) {
        let at_hand = &self.at_hand;
        self.records.retain(|one| {
            one.record.event.episode().is_some_and(|id| at_hand.iter().any(|known| known == id))
        });
    }

    fn summaries(&mut self) -> &[Summary] {
        let records = &self.records;
        self.summaries.get_or_insert_with(|| {
            let plain: Vec<Record> = records.iter().map(|one| one.record.clone()).collect();
            story::episodes(&plain)
        })
    }
}
