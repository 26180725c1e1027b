//! A world's story: what happened, when, to whom, in lines a person can follow.

use std::fmt::Write as _;

use holdfast_steward::event::{Event, Record};
use holdfast_steward_host::HostEvent;

use crate::plan::BEGIN;

/// Lines kept; a world that says more is not read by anybody.
const LINES_MAX: usize = 20_000;

#[derive(Clone, Debug, Default)]
pub struct Story {
    tells: bool,
    lines: Vec<String>,
}

impl Story {
    pub fn new(tells: bool) -> Story {
        Story { tells, lines: Vec::new() }
    }

    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(crate) fn say(&mut self, at: u64, who: &str, what: impl FnOnce() -> String) {
        if self.tells && self.lines.len() < LINES_MAX {
            self.lines.push(format!("{} {who:<10} {}", clock(at), what()));
        }
    }

    pub(crate) fn host(&mut self, at: u64, event: &HostEvent) {
        self.say(at, "host", || match event {
            HostEvent::Tried { episode, from, to } => format!("tries {to:?} instead of {from:?} ({episode})"),
            HostEvent::Kept { from, to, .. } => format!("boots into {to:?} instead of {from:?} from now on"),
            HostEvent::Ran { identity, why } => format!("runs {identity:?} again ({why})"),
            HostEvent::RestoredKept { to, .. } => format!("takes back what was kept, boots into {to:?}"),
            HostEvent::WorkLost => "loses work in flight".to_owned(),
            HostEvent::Rebooted { reset } => if *reset { "is reset" } else { "is rebooted" }.to_owned(),
            HostEvent::Deployed { identity } => format!("a person deploys {identity:?}"),
        });
    }

    pub(crate) fn record(&mut self, at: u64, which: usize, record: &Record) {
        let who = format!("steward {which}");
        self.say(at, &who, || match &record.event {
            Event::Moved { phase, .. } => format!("→ {}", phase.name()),
            Event::Scored { cycle, verifying, .. } => {
                format!(
                    "cycle {} of {}: {cycle:?}, score {}",
                    verifying.window.seen(),
                    verifying.window.cycles(),
                    verifying.window.score()
                )
            }
            Event::Opened { episode } => format!("opens {} for {:?}", episode.id, episode.causes),
            Event::Judged { cleared: Some(cleared), .. } => format!(
                "clears {}",
                cleared.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            ),
            Event::Judged { results, cleared: None, .. } => {
                let last = results.last();
                format!("refuses: {}", last.map_or("", |result| result.reason.as_str()))
            }
            Event::Gated { result, .. } => {
                let said = if result.passed { "passes" } else { result.reason.as_str() };
                format!("gate {}: {said} ({} ms)", result.gate, result.millis)
            }
            Event::Ended { ending, .. } => format!("ends: {} ({})", ending.outcome, ending.reason),
            other => {
                let mut text = String::new();
                let _ = write!(text, "{other:?}");
                text.chars().take(140).collect()
            }
        });
    }
}

/// Time since the world began, as hours, minutes, seconds.
pub fn clock(at: u64) -> String {
    let seconds = at.saturating_sub(BEGIN) / 1000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
