//! The records of this room. Whatever the steward knows after a restart, it knows from them; so does whoever reads the story.

use holdfast_lifeline::{EpisodeId, Identity, Steady};
use holdfast_types::{KindDef, Timestamp};
use serde::{Deserialize, Serialize};

use crate::effect::Probed;
use crate::episode::{Cleared, Ending, Episode, Phase, Verifying};
use crate::gates::GateResult;
use crate::ladder::Level;
use crate::lesson::Lesson;
use crate::prediction::Prediction;
use crate::retrospective;
use crate::review::Draft;
use crate::setting::Change;
use crate::trigger::Cause;
use crate::verify::Cycle;

/// One record: when it was, and what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub at: Steady,
    pub wall: Timestamp,
    pub synced: bool,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Enrolled {
        known_good: Identity,
    },
    LevelSet {
        from: Level,
        to: Level,
        by_person: bool,
        why: String,
    },
    Queued {
        cause: Cause,
    },
    Opened {
        episode: Box<Episode>,
    },
    /// What the gates said. Without `cleared` it was refused, and the end follows.
    Judged {
        episode: EpisodeId,
        results: Vec<GateResult>,
        cleared: Option<Box<Cleared>>,
        /// What a refused one would have changed, where it could be read as a change.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        proposed: Vec<Change>,
    },
    /// What a gate that needs the target said.
    Gated {
        episode: EpisodeId,
        result: GateResult,
    },
    Moved {
        episode: EpisodeId,
        phase: Box<Phase>,
    },
    /// A trial begins now; it counts towards the limit of the day.
    Counted {
        episode: EpisodeId,
    },
    Scored {
        episode: EpisodeId,
        cycle: Cycle,
        verifying: Box<Verifying>,
        /// Each probe of the cycle.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        probes: Vec<Probed>,
    },
    /// The window passed: what the proposal foretold is compared with what came.
    Foretold {
        episode: EpisodeId,
        prediction: Prediction,
    },
    Kept {
        episode: EpisodeId,
        identity: Identity,
        replaced: Identity,
        changes: Vec<Change>,
    },
    /// The target runs and boots into what it did before.
    Restored {
        episode: EpisodeId,
        identity: Identity,
    },
    Ended {
        episode: EpisodeId,
        ending: Ending,
    },
    BreakerOpened,
    BreakerReset,
    /// The target is not what it was left as. Nothing is tried until a person has looked.
    Drifted {
        expected: Identity,
        found: Identity,
    },
    Accepted {
        known_good: Identity,
    },
    Retrospected {
        episode: EpisodeId,
        verdict: retrospective::Verdict,
    },
    /// What a change did to what it was made for, measured where it was made.
    Learnt {
        episode: EpisodeId,
        lesson: Box<Lesson>,
    },
    /// Outcomes were brought together: so many settings have a pattern now.
    Consolidated {
        patterns: usize,
    },
    /// The last weeks were reviewed; these wider bounds are proposed to people.
    Drawn {
        drafts: Vec<Draft>,
    },
    Reviewed {
        episode: EpisodeId,
    },
    Rehearsed {
        tripwire: bool,
    },
}

const TARGET: (&str, &str) = ("target", "the target by name");
const EPISODE: (&str, &str) = ("episode", "the episode by id");
const STEADY: (&str, &str) =
    ("steady", "milliseconds in which the controller was seen running, over all its runs");

macro_rules! kinds {
    ($($name:ident = $text:literal, $when:literal, [$($field:expr),*];)*) => {
        $(const $name: KindDef = KindDef { name: $text, version: 1, when: $when, fields: &[TARGET, STEADY, $($field),*] };)*

        /// All of them, for the page that lists every kind.
        pub const KINDS: &[KindDef] = &[$($name),*];
    };
}

kinds! {
    ENROLLED = "steward.target.enrolled", "A target is looked after from now on, as it was found.",
        [("known_good", "the identity to go back to")];
    LEVEL_SET = "steward.target.level_set", "The level of autonomy of a target is another one.",
        [("from", "the level before"), ("to", "the level from now on"), ("by_person", "whether a person asked for it"), ("why", "why, in a sentence")];
    QUEUED = "steward.trigger.queued", "Something happened that is worth a cycle of planning.",
        [("cause", "what happened")];
    OPENED = "steward.episode.opened", "A cycle begins: its triggers are taken together.",
        [("episode", "the whole episode as it begins")];
    JUDGED = "steward.episode.judged", "A proposal went through the gates that need no target.",
        [EPISODE, ("results", "each gate with what it said"), ("cleared", "what was cleared; absent when it was refused"), ("proposed", "what a refused one would have changed")];
    GATED = "steward.episode.gated", "A gate that needs the target was asked: whether the whole fits together, whether it can be built.",
        [EPISODE, ("result", "what it said, and how long it took in milliseconds")];
    MOVED = "steward.episode.moved", "An episode enters a phase. Written before anything is done about it.",
        [EPISODE, ("phase", "the phase, with everything that is true in it")];
    COUNTED = "steward.trial.counted", "A trial begins, and counts towards the limit of 24 hours.", [EPISODE];
    SCORED = "steward.trial.scored", "A cycle of the verification window was judged.",
        [EPISODE, ("cycle", "what it gave"), ("verifying", "where the window stands"), ("probes", "each probe of the cycle, with how it came out; null where nobody could tell")];
    FORETOLD = "steward.trial.foretold", "A window has passed: what the proposal foretold was compared with what came.",
        [EPISODE, ("prediction", "the metric, what was foretold, what was measured before and meanwhile, and whether it came true")];
    KEPT = "steward.trial.kept", "What was verified is what the target boots into, read back from it.",
        [EPISODE, ("identity", "what was kept"), ("replaced", "what it replaced"), ("changes", "what was changed")];
    RESTORED = "steward.trial.restored", "A target was seen running, and booting into, what it did before the trial.",
        [EPISODE, ("identity", "what runs there again")];
    ENDED = "steward.episode.ended", "An episode is over.", [EPISODE, ("ending", "how, and why")];
    BREAKER_OPENED = "steward.breaker.opened", "Too many trials in a row were undone: nothing is tried until a person resets it.", [];
    BREAKER_RESET = "steward.breaker.reset", "A person closed the circuit again.", [];
    DRIFTED = "steward.target.drifted", "A target is not what it was left as. Nothing is tried until a person has looked.",
        [("expected", "what it was left as"), ("found", "what runs there")];
    ACCEPTED = "steward.target.accepted", "A person says that what runs on a target is good.",
        [("known_good", "what runs there")];
    RETROSPECTED = "steward.episode.retrospected", "A day after a change its effect was judged.",
        [EPISODE, ("verdict", "what it came to")];
    LEARNT = "steward.change.learnt", "A change that was tried is over: what it did to what it was made for.",
        [EPISODE, ("lesson", "diagnosis, unit, property, step, and how bad it was before and after, in percent")];
    CONSOLIDATED = "steward.outcomes.consolidated", "Many outcomes of one setting are one pattern from here on.",
        [("patterns", "how many settings have a new one")];
    DRAWN = "steward.review.drawn", "The last thirty days were reviewed.",
        [("drafts", "wider bounds that are proposed to people, and that nothing applies")];
    REVIEWED = "steward.proposal.reviewed", "A person has read what an episode proposed.", [EPISODE];
    REHEARSED = "steward.rollback.rehearsed", "A way back was tried on purpose, and worked.",
        [("tripwire", "whether it was the tripwire that went it")];
}

impl Event {
    pub fn kind(&self) -> &'static KindDef {
        match self {
            Event::Enrolled { .. } => &ENROLLED,
            Event::LevelSet { .. } => &LEVEL_SET,
            Event::Queued { .. } => &QUEUED,
            Event::Opened { .. } => &OPENED,
            Event::Judged { .. } => &JUDGED,
            Event::Gated { .. } => &GATED,
            Event::Moved { .. } => &MOVED,
            Event::Counted { .. } => &COUNTED,
            Event::Scored { .. } => &SCORED,
            Event::Foretold { .. } => &FORETOLD,
            Event::Kept { .. } => &KEPT,
            Event::Restored { .. } => &RESTORED,
            Event::Ended { .. } => &ENDED,
            Event::BreakerOpened => &BREAKER_OPENED,
            Event::BreakerReset => &BREAKER_RESET,
            Event::Drifted { .. } => &DRIFTED,
            Event::Accepted { .. } => &ACCEPTED,
            Event::Retrospected { .. } => &RETROSPECTED,
            Event::Learnt { .. } => &LEARNT,
            Event::Consolidated { .. } => &CONSOLIDATED,
            Event::Drawn { .. } => &DRAWN,
            Event::Reviewed { .. } => &REVIEWED,
            Event::Rehearsed { .. } => &REHEARSED,
        }
    }

    /// The name a record of this kind has among the others, as it is written.
    pub fn name_of(kind: &KindDef) -> &'static str {
        const NAMES: [(&KindDef, &str); 23] = [
            (&ENROLLED, "enrolled"),
            (&LEVEL_SET, "level_set"),
            (&QUEUED, "queued"),
            (&OPENED, "opened"),
            (&JUDGED, "judged"),
            (&GATED, "gated"),
            (&MOVED, "moved"),
            (&COUNTED, "counted"),
            (&SCORED, "scored"),
            (&FORETOLD, "foretold"),
            (&KEPT, "kept"),
            (&RESTORED, "restored"),
            (&ENDED, "ended"),
            (&BREAKER_OPENED, "breaker_opened"),
            (&BREAKER_RESET, "breaker_reset"),
            (&DRIFTED, "drifted"),
            (&ACCEPTED, "accepted"),
            (&RETROSPECTED, "retrospected"),
            (&LEARNT, "learnt"),
            (&CONSOLIDATED, "consolidated"),
            (&DRAWN, "drawn"),
            (&REVIEWED, "reviewed"),
            (&REHEARSED, "rehearsed"),
        ];
        NAMES.iter().find(|(known, _)| known.name == kind.name).map_or("", |(_, name)| name)
    }

    /// The episode it is about.
    pub fn episode(&self) -> Option<&EpisodeId> {
        match self {
            Event::Opened { episode } => Some(&episode.id),
            Event::Judged { episode, .. }
            | Event::Gated { episode, .. }
            | Event::Moved { episode, .. }
            | Event::Counted { episode }
            | Event::Scored { episode, .. }
            | Event::Foretold { episode, .. }
            | Event::Kept { episode, .. }
            | Event::Restored { episode, .. }
            | Event::Ended { episode, .. }
            | Event::Reviewed { episode }
            | Event::Learnt { episode, .. }
            | Event::Retrospected { episode, .. } => Some(episode),
            Event::Enrolled { .. }
            | Event::LevelSet { .. }
            | Event::Queued { .. }
            | Event::BreakerOpened
            | Event::BreakerReset
            | Event::Drifted { .. }
            | Event::Accepted { .. }
            | Event::Consolidated { .. }
            | Event::Drawn { .. }
            | Event::Rehearsed { .. } => None,
        }
    }
}
