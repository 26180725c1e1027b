//! An episode's story, from its records alone: what happened, when, and why, in sentences.

use holdfast_lifeline::EpisodeId;
use holdfast_steward::episode::{Episode, Phase};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::gates::GateResult;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::trigger::Cause;
use holdfast_steward::verify::Cycle;
use holdfast_types::Timestamp;
use serde::Serialize;

/// One line of a story.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub at: Timestamp,
    pub what: String,
    /// Where the score stands, on lines about the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i32>,
}

/// An episode in a row of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub episode: EpisodeId,
    pub opened: Timestamp,
    pub ended: Option<Timestamp>,
    pub why: String,
    /// What it changes, once that is known.
    pub change: Option<String>,
    /// Where it stands while it is open.
    pub phase: &'static str,
    pub outcome: Option<Outcome>,
    pub reason: Option<String>,
}

/// All episodes, oldest first.
pub fn episodes(records: &[Record]) -> Vec<Summary> {
    let mut episodes: Vec<Summary> = Vec::new();
    for record in records {
        let Some(id) = record.event.episode() else { continue };
        if let Event::Opened { episode } = &record.event {
            episodes.push(opened(episode, record.wall));
            continue;
        }
        let Some(summary) = episodes.iter_mut().rev().find(|summary| summary.episode == *id) else {
            continue;
        };
        match &record.event {
            Event::Judged { cleared: Some(cleared), .. } => {
                let changes: Vec<String> = cleared.changes.iter().map(ToString::to_string).collect();
                summary.change = Some(changes.join(", "));
            }
            Event::Moved { phase, .. } => summary.phase = phase.name(),
            Event::Scored { .. } => summary.phase = "verifying",
            Event::Ended { ending, .. } => {
                summary.ended = Some(record.wall);
                summary.outcome = Some(ending.outcome);
                summary.reason = Some(ending.reason.clone());
                summary.phase = "ended";
            }
            Event::Retrospected { verdict, .. } => summary.outcome = Some(verdict.outcome()),
            _ => {}
        }
    }
    episodes
}

fn opened(episode: &Episode, at: Timestamp) -> Summary {
    Summary {
        episode: episode.id.clone(),
        opened: at,
        ended: None,
        why: causes(&episode.causes),
        change: None,
        phase: episode.phase.name(),
        outcome: None,
        reason: None,
    }
}

/// Why an episode was opened, in a phrase.
pub fn causes(causes: &[Cause]) -> String {
    let said: Vec<String> = causes
        .iter()
        .map(|cause| match cause {
            Cause::RegimeChange { metric, direction } => {
                format!("{metric} went {}", format!("{direction:?}").to_lowercase())
            }
            // A sentence of its own, in the middle of another.
            Cause::Noticed { told, .. } => within(&told.sentence),
            Cause::MonitorFailure { endpoint } => format!("{endpoint} was not healthy"),
            Cause::OutOfMemory { unit } => format!("{unit} was killed for want of memory"),
            Cause::CrashLoop { unit } => format!("{unit} was restarted again and again"),
            Cause::Routine => "nothing had changed for a while".to_owned(),
            Cause::Asked { by } => format!("{by} asked"),
            Cause::Revert { episode } => format!("{episode} is to be taken back"),
        })
        .collect();
    said.join("; ")
}

/// A sentence without its capital and its full stop.
fn within(sentence: &str) -> String {
    let mut rest = sentence.trim_end_matches('.').chars();
    rest.next().map_or_else(String::new, |first| first.to_lowercase().chain(rest).collect())
}

/// The story of one episode; empty when the records know nothing of it.
pub fn tell(records: &[Record], episode: &EpisodeId) -> Vec<Line> {
    let about = records.iter().filter(|record| record.event.episode() == Some(episode));
    about.filter_map(line).collect()
}

fn line(record: &Record) -> Option<Line> {
    let (what, score) = match &record.event {
        Event::Opened { episode } => {
            let kind = if episode.exploration { ", as an exploration" } else { "" };
            (format!("opened because {}{kind}", causes(&episode.causes)), None)
        }
        Event::Judged { cleared: Some(cleared), results, .. } => {
            let changes: Vec<String> = cleared.changes.iter().map(ToString::to_string).collect();
            let passed = results.iter().filter(|result| result.passed).count();
            let slow: String = results.iter().filter_map(slowly).collect();
            (
                format!("cleared by {passed} gates{slow}: {} ({})", changes.join(", "), cleared.hypothesis),
                None,
            )
        }
        Event::Judged { cleared: None, results, .. } => {
            let refused = results.iter().rev().find(|result| !result.passed);
            (
                refused.map_or("nothing was proposed".to_owned(), |result| {
                    format!("refused by gate {}: {}", result.gate, result.reason)
                }),
                None,
            )
        }
        Event::Gated { result, .. } => (gated(result), None),
        Event::Moved { phase, .. } => (moved(phase)?, None),
        Event::Counted { .. } => return None,
        Event::Scored { cycle, verifying, .. } => {
            let said = match cycle {
                Cycle::Grace => "in grace, not scored",
                Cycle::Pass => "passed",
                Cycle::Fail => "failed",
                Cycle::TimedOut => "timed out",
                Cycle::Inconclusive => "said nothing",
            };
            let window = verifying.window;
            (
                format!("cycle {} of {} {said}, score {}", window.seen(), window.cycles(), window.score()),
                Some(window.score()),
            )
        }
        Event::Foretold { prediction, .. } => (prediction.to_string(), None),
        Event::Kept { identity, replaced, .. } => {
            (format!("kept {identity:?} in place of {replaced:?}, read back from the target"), None)
        }
        Event::Restored { identity, .. } => {
            (format!("{identity:?} runs again and is booted into, seen on the target"), None)
        }
        Event::Ended { ending, .. } => {
            let outcome = ending.outcome.as_str().replace('_', " ");
            (format!("ended as {outcome}: {}", ending.reason), None)
        }
        Event::Retrospected { verdict, .. } => (format!("a day later: {}", verdict.outcome()), None),
        Event::Learnt { lesson, .. } => (format!("learnt that {}", lesson.sentence()), None),
        Event::Reviewed { .. } => ("read by a person".to_owned(), None),
        Event::Enrolled { .. }
        | Event::LevelSet { .. }
        | Event::Queued { .. }
        | Event::BreakerOpened
        | Event::BreakerReset
        | Event::Drifted { .. }
        | Event::Accepted { .. }
        | Event::Consolidated { .. }
        | Event::Drawn { .. }
        | Event::Rehearsed { .. } => return None,
    };
    Some(Line { at: record.wall, what, score })
}

fn gated(result: &GateResult) -> String {
    let slow = slowly(result).unwrap_or_default();
    if result.passed {
        format!("gate {} passed{slow}", result.gate)
    } else {
        format!("refused by gate {}{slow}: {}", result.gate, result.reason)
    }
}

/// Said of a gate that took far longer than it usually does: something is wrong with it, or with what it was given.
fn slowly(result: &GateResult) -> Option<String> {
    let usual = u64::try_from(result.slower_than()?.as_millis()).unwrap_or(u64::MAX);
    Some(format!(" ({} took {}, usually {})", result.gate, seconds(result.millis), seconds(usual)))
}

fn seconds(millis: u64) -> String {
    if millis < 1000 {
        format!("{millis} ms")
    } else {
        format!("{}.{} s", millis / 1000, millis % 1000 / 100)
    }
}

fn moved(phase: &Phase) -> Option<String> {
    Some(match phase {
        Phase::Looking { .. } => return None,
        Phase::Asking { .. } => "asked the brain".to_owned(),
        Phase::Checking { .. } => "has the target check the whole configuration".to_owned(),
        Phase::Staging { .. } => "has the target build it".to_owned(),
        Phase::Waiting { .. } => "waits for a person".to_owned(),
        Phase::Draining { .. } => "waits for work in flight to end".to_owned(),
        Phase::Preflight { .. } => "looks at everything once more".to_owned(),
        Phase::Opening { .. } => "opens the window record".to_owned(),
        Phase::Arming { .. } => "arms the lease".to_owned(),
        Phase::Starting { trial, .. } => {
            format!("tries {:?} in place of {:?}", trial.candidate, trial.known_good)
        }
        Phase::Activating { .. } => "waits for the activation".to_owned(),
        Phase::Verifying(_) => "seen running; the window begins".to_owned(),
        Phase::LastLook { .. } => "the window passed; looks once more".to_owned(),
        Phase::Claiming { .. } => "claims the window to keep it".to_owned(),
        Phase::Keeping { tries, .. } => format!("has the target keep it, try {tries}"),
        Phase::ReadingBack { .. } => "reads back whether it is kept".to_owned(),
        Phase::Probation(_) => "on probation for two hours, the way back armed".to_owned(),
        Phase::Closing { .. } => "probation is over".to_owned(),
        Phase::TakingOver { why, .. } => format!("goes back: {}", why.sentence()),
        Phase::Undoing { cascade, .. } => format!("undoing: {}", trying(cascade)),
        Phase::StandingBy { .. } => "the tripwire undoes it; stands by".to_owned(),
    })
}

fn trying(cascade: &holdfast_lifeline::Cascade) -> String {
    use holdfast_lifeline::{Channel, Order, Trying};
    let route = |channel| match channel {
        Channel::First | Channel::Reboot | Channel::Reset => "the first route",
        Channel::Second => "the second route",
    };
    match cascade.trying() {
        Trying::Ordered { order: Order::Restore { over }, .. } => {
            format!("restore {:?} over {}", cascade.wanted, route(over))
        }
        Trying::Ordered { order: Order::Look { over }, .. } => format!("look over {}", route(over)),
        Trying::Ordered { order: Order::Reboot { reset: false }, .. } => "reboot by the provider".to_owned(),
        Trying::Ordered { order: Order::Reboot { reset: true }, .. } => "reset by the provider".to_owned(),
        Trying::Ordered { order: Order::Alarm, .. } | Trying::Pausing { .. } => {
            "nothing worked; tries again soon".to_owned()
        }
        Trying::Settling { over, .. } => format!("waits to see it, over {}", route(over)),
        Trying::Ended(_) => "done".to_owned(),
    }
}
