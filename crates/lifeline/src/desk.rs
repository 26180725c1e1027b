//! The target's own desk: what it boots into, the lease on what it tries, and how each episode ended here.
//!
//! Everything that matters to the host is decided in this one place, on the host, under one lock: whether a step still
//! belongs to an open episode, whether the lease has run out, whether what is to be kept is what was tried. Messages may
//! be lost, doubled, late or in another order; a step that comes too late is refused, and one that comes twice is done once.
//!
//! Whoever carries out what the desk says does it first and writes the desk down afterwards: going back twice changes
//! nothing, and a way back that was written down but not gone would be lost.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::flaw::{Flaw, Sound};
use crate::identity::{EpisodeId, Identity};
use crate::time::Steady;

/// Endings remembered. A message that is late by more episodes than this does not exist.
const ENDINGS_KEPT: usize = 64;

/// What a target knows about its own state. What is durable outlives a boot; the lease does not, and need not:
/// a boot undoes the trial by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Desk {
    /// What a boot gives. Durable.
    boots_into: Identity,
    /// What was kept last, and what it replaced. Durable.
    kept: Option<Kept>,
    /// How episodes ended here, newest last. Durable.
    endings: VecDeque<(EpisodeId, Ended)>,
    /// The lease on a trial. Gone after a boot.
    lease: Option<Lease>,
    #[serde(skip)]
    sound: Sound,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    episode: EpisodeId,
    replaced: Identity,
}

/// The right to try something for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub episode: EpisodeId,
    pub known_good: Identity,
    pub candidate: Identity,
    /// How long a renewal lasts.
    pub lasts: Duration,
    /// When the target puts itself back, on its own clock.
    pub expires: Steady,
    /// No renewal reaches beyond this.
    pub cap: Steady,
}

/// How an episode ended on this target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Kept,
    Restored,
    /// Nobody renewed the lease.
    Expired,
    /// The target booted while it was being tried.
    LostAtBoot,
    /// A person put something else on the target in the meantime.
    Overtaken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Armed {
    pub expires: Steady,
}

/// What a restore did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restored {
    /// The trial ends: run this again. What is booted into was not touched.
    Trial(Identity),
    /// What had been kept is taken back: run and boot into this.
    Kept(Identity),
    /// It had ended already, or another episode is tried: nothing is taken back. Whoever finds anything but what is
    /// booted into running, with no lease open, still runs that again: the way back may have stopped half-way.
    Already(Ended),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    #[error("another episode is being tried here")]
    Busy,
    #[error("the episode has ended here already ({0:?})")]
    HasEnded(Ended),
    #[error("what runs here is not what the controller takes for known-good")]
    NotKnownGood,
    #[error("there is no lease for this episode")]
    NotArmed,
    #[error("this is not what the lease was armed for")]
    NotTheCandidate,
    #[error("the episode is neither open nor the last that was kept")]
    Stale,
}

impl Desk {
    pub fn new(boots_into: Identity, sound: Sound) -> Desk {
        Desk { boots_into, kept: None, endings: VecDeque::new(), lease: None, sound }
    }

    pub fn boots_into(&self) -> Identity {
        self.boots_into
    }

    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    pub fn ending(&self, episode: &EpisodeId) -> Option<Ended> {
        self.endings.iter().rev().find(|(id, _)| id == episode).map(|(_, ended)| *ended)
    }

    /// Arms a lease. Nothing is tried before this was confirmed.
    pub fn arm(&mut self, lease: Lease, running: Identity) -> Result<Armed, Refused> {
        if let Some(ended) = self.ending(&lease.episode).filter(|_| !self.sound.has(Flaw::NoFence)) {
            return Err(Refused::HasEnded(ended));
        }
        match &self.lease {
            Some(open) if open.episode != lease.episode => return Err(Refused::Busy),
            // Confirming another candidate than the armed one would be a lie.
            Some(open) if open.candidate != lease.candidate || open.known_good != lease.known_good => {
                return Err(Refused::NotTheCandidate);
            }
            Some(open) => return Ok(Armed { expires: open.expires }),
            None => {}
        }
        if (running != lease.known_good || self.boots_into != lease.known_good)
            && !self.sound.has(Flaw::DriftIgnored)
        {
            return Err(Refused::NotKnownGood);
        }
        let expires = lease.expires.min(lease.cap);
        self.lease = Some(Lease { expires, ..lease });
        Ok(Armed { expires })
    }

    /// Whether this may be tried now.
    pub fn may_try(&self, episode: &EpisodeId, candidate: Identity, now: Steady) -> Result<(), Refused> {
        if self.sound.has(Flaw::NoLease) {
            return Ok(());
        }
        if let Some(ended) = self.ending(episode).filter(|_| !self.sound.has(Flaw::NoFence)) {
            return Err(Refused::HasEnded(ended));
        }
        let lease = self.open(episode, now)?;
        if lease.candidate == candidate { Ok(()) } else { Err(Refused::NotTheCandidate) }
    }

    pub fn renew(&mut self, episode: &EpisodeId, now: Steady) -> Result<Armed, Refused> {
        let sound = self.sound;
        self.open(episode, now)?;
        let lease = self.lease.as_mut().ok_or(Refused::NotArmed)?;
        let wanted = now.plus(lease.lasts);
        lease.expires = if sound.has(Flaw::LeaseWithoutCap) { wanted } else { wanted.min(lease.cap) };
        Ok(Armed { expires: lease.expires })
    }

    /// Keeps what was tried: one step that writes what is booted into and ends the lease.
    pub fn keep(
        &mut self,
        episode: &EpisodeId,
        candidate: Identity,
        running: Identity,
        now: Steady,
    ) -> Result<(), Refused> {
        match self.ending(episode) {
            Some(Ended::Kept) if self.boots_into == candidate => return Ok(()),
            Some(ended) if !self.sound.has(Flaw::NoFence) => return Err(Refused::HasEnded(ended)),
            _ => {}
        }
        let unleased = self.sound.has(Flaw::NoLease) || self.sound.has(Flaw::DisarmBeforeCommit);
        if !unleased {
            let lease = self.open(episode, now)?;
            let is_candidate = lease.candidate == candidate && running == candidate;
            if !is_candidate && !self.sound.has(Flaw::CommitWhatIsStaged) {
                return Err(Refused::NotTheCandidate);
            }
        }
        let replaced = self.boots_into;
        self.boots_into = candidate;
        self.kept = Some(Kept { episode: episode.clone(), replaced });
        if !self.sound.has(Flaw::CommitLeavesLease) {
            self.end(episode.clone(), Ended::Kept);
        }
        Ok(())
    }

    /// Goes back to what was there before the episode: out of a trial, or out of what was kept last. Going back wins over
    /// trying: a trial that was built on what is taken back ends with it.
    ///
    /// Also taken for an episode this target has not heard of: its steps may still be under way, and are refused when
    /// they arrive.
    pub fn restore(&mut self, episode: &EpisodeId, wanted: Identity) -> Result<Restored, Refused> {
        if let Some(lease) = self.lease.as_ref().filter(|lease| lease.episode == *episode) {
            let known_good = lease.known_good;
            self.end(episode.clone(), Ended::Restored);
            return Ok(Restored::Trial(known_good));
        }
        match (self.ending(episode), &self.kept) {
            (Some(Ended::Kept), Some(kept)) if kept.episode == *episode && kept.replaced == wanted => {
                self.boots_into = wanted;
                self.kept = None;
                if let Some(lease) = self.lease.take() {
                    self.end(lease.episode, Ended::Restored);
                }
                self.end(episode.clone(), Ended::Restored);
                Ok(Restored::Kept(wanted))
            }
            (Some(Ended::Kept), _) => Err(Refused::Stale),
            (Some(ended), _) => Ok(Restored::Already(ended)),
            (None, _) if self.lease.is_some() => {
                self.end(episode.clone(), Ended::Restored);
                Ok(Restored::Already(Ended::Restored))
            }
            // With no lease there may still be a half-done trial of a broken design; nothing of ours runs otherwise.
            (None, _) => {
                self.end(episode.clone(), Ended::Restored);
                Ok(Restored::Trial(self.boots_into))
            }
        }
    }

    /// Gives the episode up before its time. Something may have been tried meanwhile, so the lease is not taken away: it
    /// runs out now, and the target's own timer goes back. An episode not heard of is refused when it arrives.
    pub fn cancel(&mut self, episode: &EpisodeId) {
        let ended = self.ending(episode);
        match &mut self.lease {
            Some(lease) if lease.episode == *episode && self.sound.has(Flaw::DisarmBeforeCommit) => {
                self.lease = None
            }
            Some(lease) if lease.episode == *episode => lease.expires = Steady::default(),
            Some(_) | None if ended.is_none() => self.end(episode.clone(), Ended::Restored),
            Some(_) | None => {}
        }
    }

    /// What to go back to because nobody renewed the lease. Asked by the target's own timer.
    pub fn expire(&mut self, now: Steady) -> Option<Identity> {
        let lease = self.lease.as_ref().filter(|lease| lease.expires <= now)?;
        let (episode, known_good) = (lease.episode.clone(), lease.known_good);
        self.end(episode, Ended::Expired);
        Some(known_good)
    }

    /// A person put something on the target that is not ours. What they did stands: neither what was being tried nor what
    /// was kept last can be restored over it.
    pub fn overtaken(&mut self, by: Identity) {
        if let Some(kept) = self.kept.take() {
            self.end(kept.episode, Ended::Overtaken);
        }
        if let Some(lease) = self.lease.take() {
            self.end(lease.episode, Ended::Overtaken);
        }
        self.boots_into = by;
    }

    /// The target starts again: the trial and its lease are gone.
    pub fn boot(&mut self) -> Identity {
        if let Some(lease) = self.lease.take() {
            self.end(lease.episode, Ended::LostAtBoot);
        }
        self.boots_into
    }

    fn open(&self, episode: &EpisodeId, now: Steady) -> Result<&Lease, Refused> {
        match &self.lease {
            Some(lease) if lease.episode == *episode && lease.expires > now => Ok(lease),
            _ => Err(self.ending(episode).map_or(Refused::NotArmed, Refused::HasEnded)),
        }
    }

    fn end(&mut self, episode: EpisodeId, ended: Ended) {
        if self.lease.as_ref().is_some_and(|lease| lease.episode == episode) {
            self.lease = None;
        }
        self.endings.retain(|(id, _)| *id != episode);
        self.endings.push_back((episode, ended));
        if self.endings.len() > ENDINGS_KEPT {
            self.forget_oldest();
        }
    }

    /// The oldest but what was kept last, which can still be taken back.
    fn forget_oldest(&mut self) {
        let kept = self.kept.as_ref().map(|kept| &kept.episode);
        let oldest = self.endings.iter().position(|(id, _)| Some(id) != kept);
        oldest.and_then(|at| self.endings.remove(at));
    }
}

#[cfg(test)]
mod tests;
