//! What is known of a run when it is over.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::amount::{Bytes, spoken};
use crate::wire::{Counted, End, Ended};

/// How a run ended, what it used and what was refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    #[serde(flatten)]
    pub ended: Ended,
    /// What it printed, also what was not passed on any more.
    pub output_bytes: u64,
    /// Destinations that were asked for and refused, and how often.
    pub refused_destinations: BTreeMap<String, u64>,
}

impl Evidence {
    /// What ended it, as a sentence.
    pub fn end(&self) -> String {
        let by = if self.ended.killed { ", by force" } else { "" };
        match self.ended.end {
            End::Exited { code: 0 } => "it ended by itself".to_owned(),
            End::Exited { code } => format!("it ended by itself with {code}"),
            End::Signalled { signal } => format!("signal {signal} ended it"),
            End::TimeUp => format!("its time was up{by}"),
            End::OutOfMemory => "it took more memory than it was given".to_owned(),
            End::TooMuchOutput => format!("it printed more than it may{by}"),
            End::DiskFull => "it wrote more than it may".to_owned(),
            End::Stopped => format!("it was asked to end{by}"),
            End::Abandoned => "whoever ran it was gone".to_owned(),
        }
    }

    /// What it used, as a sentence.
    pub fn used(&self) -> String {
        // Without a cgroup, what nobody waited for is not counted.
        let least = if self.ended.memory_of == Counted::Cgroup { "" } else { "at least " };
        let of = match self.ended.memory_of {
            Counted::Cgroup => "",
            Counted::Watched => ", as far as seen",
            Counted::LargestProcess => " in its largest process",
        };
        format!(
            "{} on the wall, {least}{} of processor time, {} of memory{of}",
            spoken(self.ended.wall),
            spoken(self.ended.user + self.ended.system),
            Bytes(self.ended.memory.max(1)),
        )
    }

    /// What a shell would say of it: the program's own code, or 128 and the signal; 124 where its time was up.
    pub fn code(&self) -> u8 {
        match self.ended.end {
            End::Exited { code } => code as u8,
            End::Signalled { signal } => 128u8.wrapping_add(signal as u8),
            End::TimeUp => 124,
            End::OutOfMemory | End::TooMuchOutput | End::DiskFull | End::Stopped | End::Abandoned => 137,
        }
    }
}
