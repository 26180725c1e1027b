//! What a journal is opened with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdfast_keys::SecretKey;
use holdfast_types::Clock;

use crate::entry::Space;
use crate::error::{Error, Result};
use crate::retention::Archive;
use crate::screen::Screen;
use crate::vault::Vault;

const MIB: u64 = 1024 * 1024;

/// Everything the journal needs from outside. The screen is not optional.
#[derive(Debug)]
pub struct Options {
    pub dir: PathBuf,
    /// Signs checkpoints. More than one while a key is being replaced: each checkpoint then carries both.
    pub signers: Vec<SecretKey>,
    pub screen: Arc<dyn Screen>,
    pub clock: Arc<dyn Clock>,
    /// Without one, blobs can be neither written nor read.
    pub vault: Option<Vault>,
    /// Where closed segments may go, so that they may leave here.
    pub archive: Option<Arc<dyn Archive>>,
    pub limits: Limits,
}

/// Sizes, ages and counts. The defaults are the product's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A segment is closed before it would grow beyond this.
    pub segment_bytes: u64,
    /// A segment is closed when its first entry is this old and another one comes.
    pub segment_age: Duration,
    /// A checkpoint is signed whenever this many more entries are there.
    pub checkpoint_every: u64,
    /// How many of the newest segments stay here whatever is in the archive.
    pub keep_segments: usize,
    /// From here on the status warns.
    pub warn_bytes: u64,
    /// Beyond this nothing is taken until something has left for the archive; ordinary entries stop [`Limits::reserve_bytes`] below it.
    pub cap_bytes: u64,
}

/// The most that is kept for reserved entries: what a person does takes some 600 bytes, so this is 25,000 acts.
const RESERVE_MAX: u64 = 16 * MIB;

/// The part of the cap that is kept where the cap is small.
const RESERVE_PART: u64 = 16;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            segment_bytes: 10 * MIB,
            segment_age: Duration::from_secs(3600),
            checkpoint_every: 100,
            keep_segments: 10,
            // What retention alone holds, and a fifth more: a warning that is always on is none.
            warn_bytes: 120 * MIB,
            // Years at the expected few megabytes a week, and still a small part of any disk.
            cap_bytes: 4096 * MIB,
        }
    }
}

impl Limits {
    /// How much of the room below the cap only reserved entries may use. Never so much that ordinary entries stop before the warning.
    pub fn reserve_bytes(&self) -> u64 {
        let above_warning = self.cap_bytes.saturating_sub(self.warn_bytes);
        RESERVE_MAX.min(self.cap_bytes / RESERVE_PART).min(above_warning / 2)
    }

    /// Where entries of this sort stop.
    pub fn room_for(&self, space: Space) -> u64 {
        match space {
            Space::Ordinary => self.cap_bytes - self.reserve_bytes(),
            Space::Reserved => self.cap_bytes,
        }
    }

    /// Refuses limits that cannot work together.
    pub fn check(&self) -> Result<()> {
        let refuse = |name, why: &str| Err(Error::Setting { name, why: why.to_owned() });
        if self.keep_segments < 1 {
            return refuse("keep_segments", "at least one segment must stay");
        }
        if self.segment_bytes < 4096 || self.segment_bytes > 1024 * MIB {
            return refuse("segment_bytes", "a segment has between 4 KiB and 1 GiB");
        }
        if self.checkpoint_every < 1 {
            return refuse("checkpoint_every", "it counts entries, from 1 on");
        }
        if self.warn_bytes < self.segment_bytes.saturating_mul(self.keep_segments as u64) {
            return refuse(
                "warn_bytes",
                "retention alone holds more than that, so the warning would never end",
            );
        }
        if self.cap_bytes <= self.warn_bytes {
            return refuse("cap_bytes", "it must be above warn_bytes, or the warning comes too late");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_a_part_of_the_cap_and_begins_above_the_warning() {
        let check = |warn: u64, cap: u64, reserve: u64| {
            let limits = Limits { warn_bytes: warn, cap_bytes: cap, ..Limits::default() };
            assert_eq!(limits.reserve_bytes(), reserve, "{warn} {cap}");
            assert!(limits.room_for(Space::Ordinary) >= warn && limits.room_for(Space::Reserved) == cap);
        };
        check(120 * MIB, 4096 * MIB, 16 * MIB);
        check(10 * MIB, 40 * MIB, 5 * MIB / 2);
        check(39 * MIB, 40 * MIB, MIB / 2);
        check(40 * MIB - 1, 40 * MIB, 0);
    }

    // shows: MEM-058, MEM-F17, MEM-F16
    #[test]
    fn limits_that_contradict_each_other_are_refused_and_the_defaults_are_not() {
        let check = |change: fn(&mut Limits)| {
            let mut limits = Limits::default();
            change(&mut limits);
            limits.check()
        };
        assert!(check(|_| {}).is_ok());
        assert!(check(|l| l.keep_segments = 0).is_err());
        assert!(check(|l| l.warn_bytes = l.segment_bytes * l.keep_segments as u64 - 1).is_err());
        assert!(check(|l| l.cap_bytes = l.warn_bytes).is_err());
        assert!(check(|l| l.checkpoint_every = 0).is_err());
        assert!(check(|l| l.segment_bytes = 1).is_err());
    }
}
