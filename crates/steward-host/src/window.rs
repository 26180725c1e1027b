//! The window record's rules for whoever keeps it, and the one that is kept in memory.
//!
//! A record may be opened over nothing, over a closed one, or again by its own episode; a claim goes by what the record says.

use holdfast_lifeline::{Claim, EpisodeId, Owner, WindowRecord, WindowState};
use holdfast_steward::Claimed;

/// Whether a new record may take the place of what is there.
pub fn may_open(found: Option<&WindowRecord>, new: &WindowRecord) -> bool {
    found.is_none_or(|old| new.may_replace(old))
}

/// The record after a claim, or what is answered to one that is not granted.
pub fn claimed(
    found: Option<&WindowRecord>,
    episode: &EpisodeId,
    claim: Claim,
) -> Result<WindowRecord, Claimed> {
    let record = found.filter(|record| record.episode == *episode).ok_or(Claimed::Lost)?;
    let by_the_tripwire = record.state == (WindowState::Undoing { by: Owner::Tripwire });
    record.claimed(claim).ok_or(if by_the_tripwire { Claimed::Tripwire } else { Claimed::Lost })
}

/// A window record that lives as long as whoever holds it.
#[derive(Clone, Debug, Default)]
pub struct MemoryWindow {
    record: Option<WindowRecord>,
}

impl MemoryWindow {
    /// One that an earlier life left.
    pub fn found(record: Option<WindowRecord>) -> MemoryWindow {
        MemoryWindow { record }
    }

    pub fn record(&self) -> Option<&WindowRecord> {
        self.record.as_ref()
    }

    pub fn open(&mut self, new: WindowRecord) -> Claimed {
        if !may_open(self.record(), &new) {
            return Claimed::Lost;
        }
        self.record = Some(new);
        Claimed::Won
    }

    pub fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        match claimed(self.record(), episode, claim) {
            Ok(next) => {
                self.record = Some(next);
                Claimed::Won
            }
            Err(answer) => answer,
        }
    }
}
