//! What became of episodes, from the stewards that know it to memory, which takes it when it has a moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdfast_lifeline::{EpisodeId, TargetName};
use holdfast_steward::outcome::{Book, Outcome, Record};

/// Verdicts that wait for memory, and which of each target were seen.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: Vec<Record>,
    /// What a book had when it was last looked at; as bounded as a book is.
    seen: BTreeMap<TargetName, BTreeSet<(EpisodeId, Outcome)>>,
}

impl Verdicts {
    /// Takes what is new in a target's book. A cycle in which no change was thought of is nothing to remember.
    pub(super) fn put(&self, target: &TargetName, book: &Book) {
        let named = |record: &Record| (record.episode.clone(), record.outcome);
        let standing: Vec<&Record> = book.standing(target).filter(|record| record.change.is_some()).collect();
        let mut inner = self.inner();
        let now = standing.iter().map(|record| named(record)).collect();
        let before = inner.seen.insert(target.clone(), now).unwrap_or_default();
        let new = standing.into_iter().filter(|record| !before.contains(&named(record)));
        inner.waiting.extend(new.cloned());
    }

    /// What waits, oldest first.
    pub(crate) fn take(&self) -> Vec<Record> {
        std::mem::take(&mut self.inner().waiting)
    }

    /// What could not be remembered waits on.
    pub(crate) fn give_back(&self, records: &[Record]) {
        let mut inner = self.inner();
        inner.waiting.splice(0..0, records.iter().cloned());
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Nothing in it is ever half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_lifeline::{Now, Steady};
    use holdfast_steward::setting::{Change, Property, Setting, Value};
    use holdfast_types::Timestamp;

    fn verdict(number: u32, outcome: Outcome, change: bool) -> Record {
        let now = Now { steady: Steady(u64::from(number)), wall: Timestamp::EPOCH, synced: false };
        let unit = "web.service".parse().unwrap();
        let mib = |n: u64| Value::parse(&Property::MemoryMax, &format!("{n}M")).unwrap();
        let setting = Setting { unit, property: Property::MemoryMax };
        let episode = format!("ep_{number:026}").parse().unwrap();
        Record {
            change: change.then(|| Change { setting, from: mib(512), to: mib(640) }),
            ..Record::new(episode, "box-1".parse().unwrap(), outcome, now)
        }
    }

    #[test]
    fn each_verdict_is_handed_over_once_and_again_only_when_it_is_another() {
        let (verdicts, mut book) = (Verdicts::default(), Book::default());
        let target: TargetName = "box-1".parse().unwrap();
        let taken = |verdicts: &Verdicts| verdicts.take().iter().map(|it| it.outcome).collect::<Vec<_>>();
        book.add(verdict(1, Outcome::Kept, true));
        book.add(verdict(2, Outcome::NoAction, false));
        verdicts.put(&target, &book);
        verdicts.put(&target, &book);
        assert_eq!(taken(&verdicts), [Outcome::Kept]);
        book.add(verdict(1, Outcome::DelayedNegative, true));
        book.add(verdict(3, Outcome::RolledBack, true));
        verdicts.put(&target, &book);
        let waiting = verdicts.take();
        verdicts.give_back(&waiting);
        assert_eq!(taken(&verdicts), [Outcome::DelayedNegative, Outcome::RolledBack]);
        verdicts.put(&target, &book);
        assert_eq!(taken(&verdicts), []);
    }
}
