//! What should happen at a repository elsewhere and at its forge, from what was kept and from what was done there already. Pure.
//!
//! It is decided anew each time from what is seen, so that nothing is lost by an outage and nothing is done twice by a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, TargetName};
use holdfast_types::Timestamp;

use crate::book::{Book, DEPLOYED, MAIN, NOTES, Refs, STEWARD};
use crate::kinds::{Event, Gone};
use crate::line::{Deed, What};
use crate::object::Oid;
use crate::settle::Move;

/// A branch nobody is asked about any more is removed when it is older than this.
pub const BRANCHES_FOR: Duration = Duration::from_secs(7 * 86_400);

/// What was done and found there, as the journal says.
#[derive(Clone, Debug, Default)]
pub struct Outward {
    pushed: BTreeMap<EpisodeId, Timestamp>,
    removed: BTreeSet<EpisodeId>,
    requested: BTreeMap<EpisodeId, u64>,
    answered: BTreeSet<EpisodeId>,
    drifted: BTreeSet<(String, Oid)>,
}

/// What is to be done to references, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushes {
    pub moves: Vec<Move>,
    /// True once these moves are done, or already.
    pub then: Vec<Event>,
    /// Found now, whatever is moved.
    pub found: Vec<Event>,
}

impl Outward {
    pub fn take(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::Pushed { episode, .. } => {
                self.pushed.entry(episode.clone()).or_insert(at);
            }
            Event::Removed { episode, .. } => {
                self.removed.insert(episode.clone());
            }
            Event::Requested { episode, number, .. } => {
                self.requested.insert(episode.clone(), *number);
            }
            Event::Answered { episode, .. } => {
                self.answered.insert(episode.clone());
            }
            Event::Drifted { branch, found, .. } => {
                self.drifted.insert((branch.clone(), *found));
            }
        }
    }

    /// What is to be pushed and removed, given what is there. Only what was kept is ever pushed.
    pub fn pushes(&self, book: &Book, base: &str, seen: &Refs, now: Timestamp) -> Pushes {
        let mut out = Pushes::default();
        for (name, at) in book.refs() {
            if name == NOTES || name.starts_with(DEPLOYED) {
                self.bring(&name, at, book, seen, &mut out);
            } else if name == MAIN {
                // What people merge into, made for them where there is none.
                let name = format!("refs/heads/{base}");
                let missing = (!seen.contains_key(&name)).then_some(Move { name, from: None, to: Some(at) });
                out.moves.extend(missing);
            }
        }
        for (_, deed) in kept(book) {
            if let Some(episode) = &deed.episode {
                self.branch(episode, deed, seen, now, &mut out);
            }
        }
        out
    }

    /// A line is moved on from wherever it was before; from where no record ever put it, it is left and told.
    fn bring(&self, name: &str, to: Oid, book: &Book, seen: &Refs, out: &mut Pushes) {
        let from = seen.get(name).copied();
        match from {
            Some(at) if at == to => {}
            Some(at) if !book.knows(at) => {
                let branch = name.trim_start_matches("refs/heads/").to_owned();
                if name != NOTES && !self.drifted.contains(&(branch.clone(), at)) {
                    out.found.push(Event::Drifted { branch, expected: to, found: at });
                }
            }
            from => out.moves.push(Move { name: name.to_owned(), from, to: Some(to) }),
        }
    }

    fn branch(&self, episode: &EpisodeId, deed: &Deed, seen: &Refs, now: Timestamp, out: &mut Pushes) {
        let name = format!("{STEWARD}{episode}");
        let there = seen.get(&name).copied();
        let is_pushed = self.pushed.contains_key(episode);
        if deed.taken_back {
            let gone = Event::Removed { episode: episode.clone(), why: Gone::TakenBack };
            match there {
                Some(at) if at == deed.commit => out.moves.push(Move { name, from: Some(at), to: None }),
                // Somebody went on from it: it is theirs now.
                Some(_) => return,
                None if !is_pushed || self.removed.contains(episode) => return,
                None => {}
            }
            out.then.push(gone);
            return;
        }
        // Pushed once: who removes it there has their reasons. One that is old would be removed at once.
        if is_pushed || now.since(deed.at) > BRANCHES_FOR {
            return;
        }
        if there.is_none() {
            out.moves.push(Move { name, from: None, to: Some(deed.commit) });
        }
        if there.is_none_or(|at| at == deed.commit) {
            out.then.push(Event::Pushed { episode: episode.clone(), commit: deed.commit });
        }
    }

    /// Episodes for which a change request is to be opened.
    pub fn to_request<'b>(&self, book: &'b Book) -> Vec<(&'b TargetName, &'b Deed)> {
        let wants = |episode: &EpisodeId| {
            self.pushed.contains_key(episode)
                && !self.removed.contains(episode)
                && !self.requested.contains_key(episode)
        };
        let is_wanted = |deed: &Deed| !deed.taken_back && deed.episode.as_ref().is_some_and(wants);
        kept(book).filter(|(_, deed)| is_wanted(deed)).collect()
    }

    /// Requests of which it is not known yet what people said.
    pub fn to_ask(&self) -> impl Iterator<Item = (&EpisodeId, u64)> {
        let open = self.requested.iter().filter(|(episode, _)| !self.answered.contains(*episode));
        open.map(|(episode, number)| (episode, *number))
    }

    /// Branches that are old; whether anybody is asked about them is for the forge to say.
    pub fn old<'s>(&'s self, seen: &'s Refs, now: Timestamp) -> impl Iterator<Item = (&'s EpisodeId, Oid)> {
        let old = self.pushed.iter().filter(move |(_, at)| now.since(**at) > BRANCHES_FOR);
        old.filter_map(move |(episode, _)| Some((episode, *seen.get(&format!("{STEWARD}{episode}"))?)))
    }
}

/// The commits that have what was kept, one for each episode.
fn kept(book: &Book) -> impl Iterator<Item = (&TargetName, &Deed)> {
    let all = book.deeds().flat_map(|(target, deeds)| deeds.iter().map(move |deed| (target, deed)));
    all.filter(|(_, deed)| deed.what == What::Kept)
}
