//! What a target's records come to, for people: what is open, what was last, and what needs them.

use holdfast_control::{StewardLast, StewardOpen, StewardTargetState};
use holdfast_lifeline::{EpisodeId, Steady};
use holdfast_steward::Steward;
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::trigger::Cause;
use holdfast_steward_host::story::causes;
use holdfast_types::Timestamp;

use super::leased::Left;
use super::records::level_name;
use super::settings::Place;

/// A running account of the records. Bounded: it holds the present and the last episode.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    open: Option<Opened>,
    last: Option<StewardLast>,
    /// The last routine cycle, or the last change of regime.
    routine_from: Steady,
    /// How many causes were taken.
    pub(super) queued: u64,
}

#[derive(Clone, Debug)]
struct Opened {
    id: EpisodeId,
    wall: Timestamp,
    at: Steady,
    why: String,
    change: Option<String>,
}

impl Seen {
    pub(crate) fn of(records: &[Record]) -> Seen {
        let mut seen = Seen::default();
        records.iter().for_each(|record| seen.note(record));
        seen
    }

    pub(super) fn note(&mut self, record: &Record) {
        match &record.event {
            Event::Opened { episode } => {
                let (id, why) = (episode.id.clone(), causes(&episode.causes));
                self.open = Some(Opened { id, wall: record.wall, at: record.at, why, change: None });
            }
            Event::Judged { cleared: Some(cleared), .. } => {
                let changes: Vec<String> = cleared.changes.iter().map(ToString::to_string).collect();
                if let Some(open) = &mut self.open {
                    open.change = Some(changes.join(", "));
                }
            }
            Event::Ended { episode, ending } => {
                let change = self.open.take().filter(|open| open.id == *episode).and_then(|open| open.change);
                self.last = Some(StewardLast {
                    episode: episode.to_string(),
                    ended: record.wall,
                    outcome: ending.outcome.to_string(),
                    reason: ending.reason.clone(),
                    change,
                });
            }
            Event::Retrospected { episode, verdict } => {
                if let Some(last) = self.last.as_mut().filter(|last| last.episode == episode.as_str()) {
                    last.outcome = verdict.outcome().to_string();
                }
            }
            Event::Queued { cause } => {
                self.queued += 1;
                if cause.is_regime_change() || *cause == Cause::Routine {
                    self.routine_from = record.at;
                }
            }
            _ => {}
        }
    }
}

/// Who is asked how a target stands: a worker that is at it, or the records alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    pub(super) now: Steady,
    pub(super) started: Steady,
    pub(super) lease: Option<Left>,
}

/// How a target stands by its records alone.
pub(crate) fn state_of(place: &Place, steward: &Steward, seen: &Seen) -> StewardTargetState {
    told(place, steward, seen, None)
}

pub(super) fn told(
    place: &Place,
    steward: &Steward,
    seen: &Seen,
    present: Option<Present>,
) -> StewardTargetState {
    let episode = steward.episode();
    let open = seen.open.as_ref().zip(episode).map(|(open, episode)| {
        let window = match &episode.phase {
            Phase::Verifying(verifying) => Some(verifying.window),
            _ => None,
        };
        StewardOpen {
            episode: open.id.to_string(),
            opened: open.wall,
            open_seconds: present.map_or(0, |present| present.now.since(open.at).as_secs()),
            phase: episode.phase.name().replace('_', " "),
            why: open.why.clone(),
            change: open.change.clone(),
            undone_in_seconds: present.and_then(|present| Some(present.lease?.left.as_secs())),
            lease_seconds: present.and_then(|present| Some(present.lease?.whole.as_secs())),
            seen: window.map(|window| window.seen()),
            cycles: window.map(|window| window.cycles()),
            score: window.map(|window| window.score()),
            needs_you: matches!(episode.phase, Phase::Waiting { .. }),
        }
    });
    let routine = present.filter(|_| holdfast_steward::ladder::may_plan(steward.level())).map(|present| {
        let due = seen.routine_from.max(present.started).plus(steward.settings().routine_after);
        due.since(present.now).as_secs()
    });
    StewardTargetState {
        target: place.name.to_string(),
        driver: place.driver().word().to_owned(),
        speed: place.speed,
        level: level_name(steward.level()).to_owned(),
        known_good: steward.known_good().map(|identity| identity.to_string()),
        open,
        last: seen.last.clone(),
        breaker_open: steward.breaker_is_open(),
        drifted: steward.has_drifted(),
        next_routine_seconds: routine,
        noticed: None,
        trouble: None,
    }
}
