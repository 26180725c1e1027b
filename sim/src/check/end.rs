//! What must be true when nothing has gone wrong for a while.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_lifeline::EpisodeId;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::outcome::Outcome;
use holdfast_steward::retrospective::Verdict;
use holdfast_steward_host::{Quirk, SimHost};

use super::Checker;
use crate::plan::{FaultKind, HOUR, MINUTE, Plan};

impl Checker {
    pub(crate) fn end(&mut self, plan: &Plan, host: &SimHost, logs: &[&[Record]], now: u64) {
        self.settled(host, now);
        self.nothing_sick_stays(plan, host, now);
        for log in logs {
            self.the_records_close(log, now);
            self.looked_back_once(log, now);
        }
        if plan.is_blameless() {
            self.nobody_is_blamed(logs, now);
        }
        if plan.is_gentle() {
            self.what_does_no_harm_is_kept(plan, logs, now);
        }
    }

    /// Every trial has ended: kept or undone, and the host is up.
    fn settled(&mut self, host: &SimHost, now: u64) {
        let trial_since = self.trial.as_ref().map(|trial| trial.began);
        let running = host.running() != host.boots_into();
        let late = self.trials.last().is_none_or(|(_, began)| now - began > HOUR);
        self.must(now, "every trial ends", !(running && late), || {
            "something runs that was neither kept nor undone".to_owned()
        });
        let hung_by_trial = !host.is_up() && trial_since.is_some() && late;
        self.must(now, "every trial ends", !hung_by_trial, || {
            "a trial has taken the host down for good".to_owned()
        });
    }

    fn nothing_sick_stays(&mut self, plan: &Plan, host: &SimHost, now: u64) {
        // What another controller tries in between begins its time anew.
        if self.overtaken || plan.controllers > 1 {
            return;
        }
        let kept = host.boots_into();
        let harm = match host.quirk(kept) {
            Quirk::CrashLoops | Quirk::Starves | Quirk::Unwell | Quirk::CutsSsh | Quirk::HangsHost => {
                Some(Duration::ZERO)
            }
            Quirk::CrashesAfter(after) | Quirk::UnwellAfter(after) => Some(after),
            Quirk::Fine | Quirk::Helps | Quirk::HarmsSlowly => None,
        };
        let Some(after) = harm else { return };
        // In the two hours after the commit somebody looks; and has some time to act.
        let shown = host.ran_for() > after + Duration::from_secs(1800);
        let onset = now.saturating_sub(host.ran_for().as_millis() as u64) + after.as_millis() as u64;
        let in_probation = onset < self.kept_at + 110 * MINUTE;
        self.must(now, "the sick is undone", !(shown && in_probation), || {
            format!("{kept:?} was kept and makes the host sick ({:?})", host.quirk(kept))
        });
    }

    /// Every episode that was opened was ended, once, unless it is still about something.
    fn the_records_close(&mut self, log: &[Record], now: u64) {
        let mut open: BTreeMap<&EpisodeId, u32> = BTreeMap::new();
        for record in log {
            match &record.event {
                Event::Opened { episode } => {
                    self.must(now, "the journal tells it", open.is_empty(), || {
                        format!("{} opens beside another", episode.id)
                    });
                    open.insert(&episode.id, 0);
                }
                Event::Ended { episode, .. } => {
                    let closed = open.remove(episode).is_some();
                    self.must(now, "the journal tells it", closed, || {
                        format!("{episode} ends without having been open")
                    });
                }
                _ => {}
            }
        }
    }

    /// A look back a day later happens once for what was kept, also across restarts.
    fn looked_back_once(&mut self, log: &[Record], now: u64) {
        let mut due: BTreeMap<&EpisodeId, (u64, u32)> = BTreeMap::new();
        let mut reverted: Vec<&EpisodeId> = Vec::new();
        let mut worse: Vec<&EpisodeId> = Vec::new();
        for record in log {
            match &record.event {
                Event::Kept { episode, .. } => {
                    due.insert(episode, (record.at.0, 0));
                }
                Event::Restored { episode, .. } => {
                    due.remove(episode);
                }
                Event::Retrospected { episode, verdict } => {
                    if let Some((_, count)) = due.get_mut(episode) {
                        *count += 1;
                    }
                    if matches!(verdict, Verdict::Worse { .. }) {
                        worse.push(episode);
                    }
                }
                Event::Queued { cause: holdfast_steward::trigger::Cause::Revert { episode } } => {
                    reverted.push(episode)
                }
                _ => {}
            }
        }
        let last = log.last().map_or(0, |record| record.at.0);
        for (episode, (kept_at, count)) in due {
            let is_due = last > kept_at + 25 * HOUR;
            self.must(now, "looked back once", count <= 1 && (count == 1 || !is_due), || {
                format!("{episode} was looked back at {count} times")
            });
        }
        for episode in worse {
            let told = self.late_harm.contains(episode);
            self.must(now, "late harm", told || reverted.contains(&episode), || {
                format!("{episode} did harm over the day, and nothing was done")
            });
        }
    }

    /// What goes wrong with the controller, the clock or the people is not held against a change that does no harm.
    fn nobody_is_blamed(&mut self, logs: &[&[Record]], now: u64) {
        // The first alone: what follows may take back the good that it did.
        let first = logs.iter().flat_map(|log| log.iter()).find_map(|record| match &record.event {
            Event::Ended { episode, ending } if ending.tried => Some((episode, ending)),
            _ => None,
        });
        if let Some((episode, ending)) = first {
            self.must(now, "a healthy host is left alone", ending.outcome != Outcome::RolledBack, || {
                format!("{episode} did no harm and is blamed: {}", ending.reason)
            });
        }
    }

    fn what_does_no_harm_is_kept(&mut self, plan: &Plan, logs: &[&[Record]], now: u64) {
        let ends: Vec<(Outcome, bool, &str)> = logs
            .iter()
            .flat_map(|log| log.iter())
            .filter_map(|record| match &record.event {
                Event::Ended { ending, .. } => Some((ending.outcome, ending.tried, ending.reason.as_str())),
                _ => None,
            })
            .collect();
        let first_tried = ends.iter().find(|(_, tried, _)| *tried);
        if let Some((outcome, _, reason)) = first_tried {
            self.must(now, "a healthy host is left alone", *outcome == Outcome::Kept, || {
                format!("a trial that did no harm ended as {outcome}: {reason}")
            });
        } else if plan.faults.iter().all(|fault| fault.kind != FaultKind::Blip) {
            let kept = logs
                .iter()
                .flat_map(|log| log.iter())
                .any(|record| matches!(record.event, Event::Kept { .. }));
            self.must(now, "a good change is kept", kept, || {
                format!("nothing was kept in a calm world: {ends:?}")
            });
        }
    }
}
