//! The script: three acts, each a list of beats. A beat says what happens, how fast time there goes meanwhile, how long it
//! is shown at most, and what ends it sooner.

use std::time::Duration;

use holdfast_steward_host::Quirk;

use crate::around::Brain;
use crate::world::Cast;

/// Seconds there for one second here. Zero: time there stands still while somebody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace(pub(crate) u32);

const STILL: Pace = Pace(0);
/// Two periods of sampling a second.
const WATCHING: Pace = Pace(60);
/// Quiet time that only has to pass.
const PASSING: Pace = Pace(120);
/// Four cycles of a window a second.
const TRYING: Pace = Pace(120);
/// A plan is made within seconds.
const PLANNING: Pace = Pace(4);
/// Slow enough to see a workload fail.
const FAILING: Pace = Pace(45);
/// Slow enough to see a lease run out.
const COUNTING: Pace = Pace(25);

/// What is done when a beat begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Nothing,
    Spike,
    ShiftLoad,
    Ask,
    Kill,
    StartAnew,
}

/// What ends a beat before its time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Nothing does.
    Over,
    Noticed,
    /// A change was cleared and its trial begun.
    Tried,
    Scored(usize),
    Back,
    Settled,
}

/// What is shown of a proposal and of the gates before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gates {
    Shut,
    /// None yet, but what they will look at.
    Proposed,
    /// One after the other, over the length of the beat.
    ReadOut,
    All,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Beat {
    pub(crate) caption: &'static str,
    pub(crate) does: Does,
    pub(crate) pace: Pace,
    pub(crate) shown_ms: u64,
    pub(crate) until: Until,
    pub(crate) gates: Gates,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Act {
    pub(crate) title: &'static str,
    pub(crate) cast: Cast,
    pub(crate) beats: &'static [Beat],
}

/// Shown for this long at most, at this pace.
const fn beat(caption: &'static str, shown_ms: u64, pace: Pace) -> Beat {
    Beat { caption, does: Does::Nothing, pace, shown_ms, until: Until::Over, gates: Gates::Shut }
}

impl Beat {
    const fn does(self, does: Does) -> Beat {
        Beat { does, ..self }
    }

    const fn until(self, until: Until) -> Beat {
        Beat { until, ..self }
    }

    const fn gates(self, gates: Gates) -> Beat {
        Beat { gates, ..self }
    }
}

pub(crate) const ACTS: [Act; 3] = [
    Act {
        title: "a change that helps",
        cast: Cast { host: "web-1", brain: Brain::BuiltIn, quirk: Quirk::Helps, seed: 11 },
        beats: &[
            beat("A host at night. It is looked at every 30 seconds.", 2000, WATCHING),
            beat("A lone spike. It passes, and is left alone.", 4000, PASSING).does(Does::Spike),
            beat("More work arrives, and stays.", 3500, WATCHING).does(Does::ShiftLoad).until(Until::Noticed),
            beat("Noticed: this is no spike.", 2400, STILL),
            beat("The built-in rules are asked for one small change.", 1500, PLANNING)
                .until(Until::Tried)
                .gates(Gates::Proposed),
            beat("Every gate looks at it, in order. One refusal ends it.", 2600, STILL).gates(Gates::ReadOut),
            beat("On trial. Not kept, it undoes itself.", 6000, TRYING)
                .until(Until::Settled)
                .gates(Gates::All),
            beat("Kept. The pressure has fallen.", 2600, WATCHING).gates(Gates::All),
        ],
    },
    Act {
        title: "a change that harms",
        cast: Cast {
            host: "web-2",
            brain: Brain::Careless,
            quirk: Quirk::CrashesAfter(Duration::from_secs(130)),
            seed: 22,
        },
        beats: &[
            beat("Another host. This time the brain is careless, on purpose.", 1600, WATCHING),
            beat("It proposes something that looks harmless.", 1500, PLANNING)
                .does(Does::Ask)
                .until(Until::Tried)
                .gates(Gates::Proposed),
            beat("The gates find nothing against it.", 1800, STILL).gates(Gates::ReadOut),
            beat("On trial. The workload will not bear it for long.", 4500, FAILING)
                .until(Until::Settled)
                .gates(Gates::All),
            beat("Undone. The host is what it was.", 2600, STILL).gates(Gates::All),
        ],
    },
    Act {
        title: "nobody is left to undo it",
        cast: Cast { host: "web-3", brain: Brain::BuiltIn, quirk: Quirk::Helps, seed: 33 },
        beats: &[
            beat("A third host. More work arrives.", 3500, WATCHING)
                .does(Does::ShiftLoad)
                .until(Until::Noticed),
            beat("Noticed, and a change is proposed.", 1500, PLANNING)
                .until(Until::Tried)
                .gates(Gates::Proposed),
            beat("The gates pass it.", 1200, STILL).gates(Gates::ReadOut),
            beat("On trial.", 2500, WATCHING).until(Until::Scored(4)).gates(Gates::All),
            beat("The controller is killed in the middle of it.", 2200, STILL)
                .does(Does::Kill)
                .gates(Gates::All),
            beat("Nobody renews the lease.", 4500, COUNTING).until(Until::Back).gates(Gates::All),
            beat("The host undid the trial by itself.", 2200, STILL).gates(Gates::All),
            beat("A new controller starts from the log.", 2000, COUNTING)
                .does(Does::StartAnew)
                .until(Until::Settled)
                .gates(Gates::All),
            beat("Settled. Nothing was left half done.", 2200, STILL).gates(Gates::All),
        ],
    },
];
