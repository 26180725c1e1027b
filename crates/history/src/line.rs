//! One target's line of commits, folded from its records. Nothing here looks at a repository.

use std::collections::BTreeMap;

use holdfast_lifeline::{EpisodeId, TargetName};
use holdfast_steward::episode::{Cleared, Episode, Phase};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::outcome::Outcome;
use holdfast_steward::setting::Change;
use holdfast_steward_host::story::causes;
use holdfast_types::Timestamp;

use crate::applied::Applied;
use crate::object::{Entry, Oid};
use crate::shelf::Shelf;
use crate::text::{self, About};

/// What a commit of a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Began,
    Kept,
    TakenBack,
    Drifted,
    Accepted,
}

/// One commit of what is in force on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The entry of the journal it follows from.
    pub seq: u64,
    pub at: Timestamp,
    pub what: What,
    pub episode: Option<EpisodeId>,
    pub title: String,
    /// What the commit says, whole.
    pub message: String,
    /// What came of it since.
    pub notes: Vec<String>,
    /// Whether what was kept was taken back in the same episode.
    pub taken_back: bool,
    pub commit: Oid,
}

/// The branch of an open episode.
#[derive(Clone, Debug)]
struct Branch {
    commit: Oid,
    parent: Option<Oid>,
    changes: Vec<Change>,
    after: Applied,
    message: String,
    seq: u64,
}

#[derive(Clone, Debug)]
struct Open {
    id: EpisodeId,
    because: String,
    reverts: Option<EpisodeId>,
    branch: Option<Branch>,
    /// What was in force before it was kept.
    before: Option<Applied>,
    /// Why it is taken back, once it is.
    why: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Line {
    target: TargetName,
    /// The page at the top, and the commit all lines begin at.
    front: Entry,
    root: Oid,
    applied: Applied,
    tip: Option<Oid>,
    open: Option<Open>,
    deeds: Vec<Deed>,
}

/// A record, and the entry of the journal it stands in.
pub(crate) struct Written<'a> {
    pub(crate) seq: u64,
    pub(crate) record: &'a Record,
}

impl Line {
    pub(crate) fn new(target: TargetName, front: Entry, root: Oid) -> Line {
        Line { target, front, root, applied: Applied::default(), tip: None, open: None, deeds: Vec::new() }
    }

    pub(crate) fn tip(&self) -> Option<Oid> {
        self.tip
    }

    pub(crate) fn deeds(&self) -> &[Deed] {
        &self.deeds
    }

    /// The episode that is open and its commit, once it was judged.
    pub(crate) fn branch(&self) -> Option<(&EpisodeId, Oid)> {
        let open = self.open.as_ref()?;
        Some((&open.id, open.branch.as_ref()?.commit))
    }

    /// Takes one record in; the deed whose notes are others now, if any.
    pub(crate) fn take(&mut self, written: &Written<'_>, shelf: &mut Shelf) -> Option<usize> {
        let at = written.record.wall;
        match &written.record.event {
            Event::Enrolled { known_good } => {
                (self.applied, self.open) = (Applied::default(), None);
                let message = text::began(&self.target, written.seq, *known_good);
                self.advance(What::Began, None, written, &message, shelf);
            }
            Event::Opened { episode } => self.open = Some(opened(episode)),
            Event::Judged { episode, cleared: Some(cleared), .. } => {
                self.judged(episode, cleared, written, shelf);
            }
            Event::Moved { episode, phase } => self.moved(episode, phase),
            Event::Kept { episode, identity, replaced, changes } => {
                self.kept(episode, changes, written, shelf);
                let line =
                    format!("Kept {} as {identity:?}, in place of {replaced:?}.", text::day_and_minute(at));
                return self.note(episode, line);
            }
            Event::Restored { episode, .. } => return self.restored(episode, written, shelf),
            Event::Ended { episode, ending } => {
                if self.open.as_ref().is_some_and(|open| open.id == *episode) {
                    self.open = None;
                }
                return self.note(episode, format!("Ended as {}: {}.", said(ending.outcome), ending.reason));
            }
            Event::Retrospected { episode, verdict } => {
                return self.note(episode, format!("A day later: {}.", said(verdict.outcome())));
            }
            Event::Learnt { episode, lesson } => {
                return self.note(episode, format!("Learnt that {}.", lesson.sentence()));
            }
            Event::Drifted { expected, found } => {
                let message = text::drifted(&self.target, written.seq, *expected, *found);
                self.advance(What::Drifted, None, written, &message, shelf);
            }
            Event::Accepted { known_good } => {
                let message = text::accepted(&self.target, written.seq, *known_good);
                self.advance(What::Accepted, None, written, &message, shelf);
            }
            // Refused ones never had a branch; the end of the episode follows.
            Event::Judged { cleared: None, .. }
            | Event::LevelSet { .. }
            | Event::Queued { .. }
            | Event::Gated { .. }
            | Event::Counted { .. }
            | Event::Scored { .. }
            | Event::Foretold { .. }
            | Event::BreakerOpened
            | Event::BreakerReset
            | Event::Consolidated { .. }
            | Event::Drawn { .. }
            | Event::Reviewed { .. }
            | Event::Rehearsed { .. } => {}
        }
        None
    }

    fn judged(&mut self, episode: &EpisodeId, cleared: &Cleared, written: &Written<'_>, shelf: &mut Shelf) {
        let Some(open) = self.open.clone().filter(|open| open.id == *episode) else { return };
        let about = About { target: &self.target, episode, seq: written.seq };
        let message = text::candidate(&about, &open.because, open.reverts.as_ref(), cleared);
        let at = written.record.wall;
        let after = self.applied.with(&cleared.changes, episode, at);
        let (parent, changes) = (self.tip, cleared.changes.clone());
        let tree = self.tree(&after, shelf);
        let commit = shelf.commit(tree, Some(parent.unwrap_or(self.root)), at, &message);
        let branch = Branch { commit, parent, changes, after, message, seq: written.seq };
        self.open = Some(Open { branch: Some(branch), ..open });
    }

    /// What is being undone, and why, is said before it is done.
    fn moved(&mut self, episode: &EpisodeId, phase: &Phase) {
        let (Phase::TakingOver { why, .. } | Phase::Undoing { why, .. } | Phase::StandingBy { why, .. }) =
            phase
        else {
            return;
        };
        if let Some(open) = self.open.as_mut().filter(|open| open.id == *episode) {
            open.why = Some(why.sentence());
        }
    }

    /// What was judged is what is kept, by the same commit; only where something came in between it is made anew on top.
    fn kept(&mut self, episode: &EpisodeId, changes: &[Change], written: &Written<'_>, shelf: &mut Shelf) {
        let Some(open) = self.open.clone().filter(|open| open.id == *episode) else { return };
        let before = self.applied.clone();
        let judged =
            open.branch.as_ref().filter(|it| it.parent == self.tip && it.changes == changes).cloned();
        if let Some(Branch { commit, after, message, seq, .. }) = judged {
            (self.applied, self.tip) = (after, Some(commit));
            let (at, title) = (written.record.wall, text::title(changes));
            let (what, episode, notes) = (What::Kept, Some(episode.clone()), Vec::new());
            self.deeds.push(Deed {
                seq,
                at,
                what,
                episode,
                title,
                message,
                notes,
                taken_back: false,
                commit,
            });
        } else {
            let about = About { target: &self.target, episode, seq: written.seq };
            let message = text::kept(&about, &open.because, changes);
            self.applied = self.applied.with(changes, episode, written.record.wall);
            self.advance(What::Kept, Some(episode), written, &message, shelf);
        }
        self.open = Some(Open { before: Some(before), ..open });
    }

    /// Before anything was kept there is nothing to take back here.
    fn restored(&mut self, episode: &EpisodeId, written: &Written<'_>, shelf: &mut Shelf) -> Option<usize> {
        let open = self.open.as_mut().filter(|open| open.id == *episode)?;
        let before = open.before.take()?;
        let why = open.why.clone().unwrap_or_else(|| "it did not do well".to_owned());
        let index = self.deed_of(episode)?;
        let kept = self.deeds.get(index)?.clone();
        let about = About { target: &self.target, episode, seq: written.seq };
        let message = text::revert(&about, &kept.title, kept.commit, &why);
        self.applied = before;
        self.advance(What::TakenBack, Some(episode), written, &message, shelf);
        if let Some(deed) = self.deeds.get_mut(index) {
            deed.taken_back = true;
        }
        self.note_at(index, format!("Taken back: {why}."))
    }

    /// A commit on top of what is in force.
    fn advance(
        &mut self,
        what: What,
        episode: Option<&EpisodeId>,
        written: &Written<'_>,
        message: &str,
        shelf: &mut Shelf,
    ) {
        let (seq, at) = (written.seq, written.record.wall);
        let tree = self.tree(&self.applied.clone(), shelf);
        let commit = shelf.commit(tree, Some(self.tip.unwrap_or(self.root)), at, message);
        self.tip = Some(commit);
        let title = message.lines().next().unwrap_or_default().to_owned();
        let (episode, message, notes) = (episode.cloned(), message.to_owned(), Vec::new());
        self.deeds.push(Deed { seq, at, what, episode, title, message, notes, taken_back: false, commit });
    }

    /// The commit that has what an episode kept.
    fn deed_of(&self, episode: &EpisodeId) -> Option<usize> {
        self.deeds.iter().rposition(|deed| deed.what == What::Kept && deed.episode.as_ref() == Some(episode))
    }

    fn note(&mut self, episode: &EpisodeId, line: String) -> Option<usize> {
        let index = self.deed_of(episode)?;
        self.note_at(index, line)
    }

    fn note_at(&mut self, index: usize, line: String) -> Option<usize> {
        self.deeds.get_mut(index)?.notes.push(line);
        Some(index)
    }

    /// `TARGET/UNIT/SETTING`, and a page of it all.
    fn tree(&self, applied: &Applied, shelf: &mut Shelf) -> Oid {
        let mut units: BTreeMap<String, BTreeMap<String, Entry>> = BTreeMap::new();
        for (setting, held) in applied.iter() {
            let file = shelf.blob(&text::setting(setting, held.value));
            units.entry(setting.unit.to_string()).or_default().insert(setting.property.to_string(), file);
        }
        let mut folder =
            BTreeMap::from([("README.md".to_owned(), shelf.blob(&text::page(&self.target, applied)))]);
        for (unit, files) in units {
            let files = shelf.folder(&files);
            folder.insert(unit, files);
        }
        let folder = shelf.folder(&folder);
        let top = BTreeMap::from([("README.md".to_owned(), self.front), (self.target.to_string(), folder)]);
        shelf.tree(&top)
    }
}

/// An outcome as people say it.
fn said(outcome: Outcome) -> String {
    outcome.as_str().replace('_', " ")
}

fn opened(episode: &Episode) -> Open {
    Open {
        id: episode.id.clone(),
        because: causes(&episode.causes),
        reverts: episode.reverts.clone(),
        branch: None,
        before: None,
        why: None,
    }
}
