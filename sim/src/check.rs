//! What must never happen, and what must happen in the end; asked of what is true, not of what anybody believes.
//!
//! Two kinds of question: at each moment (a record is written, the host does something, time stands still), and at the end of
//! a world, when nothing has gone wrong for a while. A violation names its rule, so that a smaller world with the same one
//! can be looked for.

mod end;
mod rule;

use std::collections::BTreeMap;

use holdfast_lifeline::{EpisodeId, Identity, Steady, WindowState};
use holdfast_steward::effect::{Answer, Fault, Looked, Verb, Workload};
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::retrospective::Verdict;
use holdfast_steward::verify::Cycle;
use holdfast_steward_host::{HostEvent, Quirk, SimHost};

use crate::plan::{HOUR, MINUTE, Plan, SECOND};

/// How long the world has to notice what changed a moment ago.
const NOTICE: u64 = 60 * SECOND;
/// How long something sick may run before somebody must have begun to undo it, when nothing hinders anybody.
const ACTS_WITHIN: u64 = 20 * MINUTE;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub at: u64,
    pub rule: &'static str,
    pub what: String,
}

/// What the checkers may know of the world around the host.
#[derive(Clone, Debug)]
pub struct Facts {
    pub now: u64,
    pub tripwire_dead_since: Option<u64>,
    pub paused_since: Option<u64>,
    pub record: Option<WindowState>,
    pub network_is_well: bool,
    pub target_reachable: bool,
    pub clock_is_true: bool,
    pub levels: Vec<Level>,
    pub space_low_since: Option<u64>,
    pub people_since: Option<u64>,
}

/// A trial as it truly is.
#[derive(Clone, Debug)]
struct Trial {
    episode: EpisodeId,
    from: Identity,
    to: Identity,
    began: u64,
    boot: u64,
    workload: Workload,
}

#[derive(Debug)]
pub struct Checker {
    pub violations: Vec<Violation>,
    pub episodes: u64,
    pub kept: u64,
    pub(crate) kept_at: u64,
    plan_level: Level,
    no_endpoints: bool,
    controllers: usize,
    seen: Vec<usize>,
    trial: Option<Trial>,
    trials: Vec<(EpisodeId, u64)>,
    owners: BTreeMap<EpisodeId, usize>,
    identities: BTreeMap<EpisodeId, Identity>,
    granted: Vec<(EpisodeId, String)>,
    asked: BTreeMap<EpisodeId, String>,
    collected: Vec<u64>,
    rollbacks_in_a_row: Vec<u32>,
    last_tried_end: Vec<Option<u64>>,
    /// When the causes that wait were queued.
    queued: Vec<Vec<u64>>,
    /// When each controller's last trial began.
    began: Vec<u64>,
    lowered: Option<u64>,
    sick_since: Option<u64>,
    unreachable_at: u64,
    pub(crate) overtaken: bool,
    pub(crate) late_harm: Vec<EpisodeId>,
    /// What each controller's last look saw running.
    saw_running: Vec<Option<Identity>>,
}

impl Checker {
    pub fn new(plan: &Plan) -> Checker {
        let n = plan.controllers;
        Checker {
            violations: Vec::new(),
            episodes: 0,
            kept: 0,
            kept_at: 0,
            plan_level: plan.level,
            no_endpoints: plan.no_endpoints,
            controllers: n,
            seen: vec![2; n],
            trial: None,
            trials: Vec::new(),
            owners: BTreeMap::new(),
            identities: BTreeMap::new(),
            granted: Vec::new(),
            asked: BTreeMap::new(),
            collected: vec![0; n],
            rollbacks_in_a_row: vec![0; n],
            last_tried_end: vec![None; n],
            queued: vec![Vec::new(); n],
            began: vec![0; n],
            lowered: None,
            sick_since: None,
            unreachable_at: 0,
            overtaken: false,
            late_harm: Vec::new(),
            saw_running: vec![None; n],
        }
    }

    pub fn violate(&mut self, at: u64, rule: &'static str, what: String) {
        self.violations.push(Violation { at, rule, what });
    }

    fn must(&mut self, at: u64, rule: &'static str, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violate(at, rule, what());
        }
    }

    pub(crate) fn seen(&self, which: usize) -> usize {
        self.seen[which]
    }

    pub(crate) fn saw(&mut self, which: usize, count: usize) {
        self.seen[which] = count;
    }

    pub(crate) fn asked(&mut self, episode: &EpisodeId, digest: &str) {
        self.asked.insert(episode.clone(), digest.to_owned());
    }

    pub(crate) fn granted(&mut self, episode: &EpisodeId, digest: &str) {
        self.granted.push((episode.clone(), digest.to_owned()));
    }

    pub(crate) fn collected(&mut self, which: usize, now: u64) {
        self.collected[which] = now;
    }

    pub(crate) fn lowered(&mut self, now: u64) {
        self.lowered = Some(now);
    }

    pub(crate) fn accepted(&mut self) {
        self.overtaken = false;
    }

    pub(crate) fn reset(&mut self, which: usize) {
        self.rollbacks_in_a_row[which] = 0;
    }

    pub(crate) fn looked(&mut self, which: usize, looked: &Looked) {
        self.saw_running[which] = looked.target.as_ref().map(|target| target.running);
    }

    /// A step that changes the host was taken: it must stand in the records of whoever took it.
    pub(crate) fn intent(&mut self, at: u64, records: &[Record], episode: &EpisodeId, verb: &Verb) {
        let intended = records.iter().rev().any(|record| match &record.event {
            Event::Moved { episode: of, phase } if of == episode => matches!(
                (verb, &**phase),
                (Verb::Arm { .. }, Phase::Arming { .. })
                    | (Verb::Try { .. }, Phase::Starting { .. })
                    | (Verb::Keep { .. }, Phase::Keeping { .. })
                    | (Verb::Restore { .. }, Phase::Undoing { .. })
            ),
            _ => false,
        });
        self.must(at, "written down first", intended, || {
            format!("{} of {episode} was not in the records", verb.name())
        });
    }

    pub(crate) fn called(&mut self, at: u64, verb: &Verb, answer: &Result<Answer, Fault>) {
        if let (Verb::Arm { episode, .. }, Ok(_)) = (verb, answer) {
            let again = self.trials.iter().any(|(of, _)| of == episode)
                && self.trial.as_ref().is_none_or(|trial| trial.episode != *episode);
            self.must(at, "no step after the end", !again, || {
                format!("{episode} was armed again after it had ended")
            });
        }
    }

    /// Something truly happened on the host.
    pub(crate) fn host(&mut self, at: u64, event: &HostEvent, facts: &Facts, host: &SimHost) {
        match event {
            HostEvent::Tried { episode, from, to } => self.tried(at, episode, *from, *to, facts, host),
            HostEvent::Kept { episode, to, .. } => self.kept_on_host(at, episode, *to, host),
            HostEvent::Ran { identity, why } => self.ran(at, *identity, why, host),
            HostEvent::RestoredKept { to, .. } => {
                // Whatever was being tried was built on what is taken back.
                self.trial = None;
                self.must(at, "back to what was good", host.boots_into() == *to, || {
                    "a restore did not restore what is booted into".to_owned()
                });
            }
            HostEvent::WorkLost => {
                self.must(at, "work in flight", !host.busy_since(Steady(at.saturating_sub(NOTICE))), || {
                    "a unit was restarted although work had been in flight for a while".to_owned()
                });
            }
            HostEvent::Rebooted { .. } => {
                // Who could not be reached from anywhere a moment ago cannot be told from who is down.
                let whole = host.running() == host.boots_into() || host.desk().lease().is_some();
                let needless =
                    whole && host.was_well() && !host.is_sick() && at > self.unreachable_at + 2 * NOTICE;
                self.must(at, "a healthy host is left alone", !needless, || {
                    "a host that was well was rebooted".to_owned()
                });
                self.trial = None;
            }
            HostEvent::Deployed { .. } => {
                self.trial = None;
                self.overtaken = true;
            }
        }
    }

    fn tried(
        &mut self,
        at: u64,
        episode: &EpisodeId,
        from: Identity,
        to: Identity,
        facts: &Facts,
        host: &SimHost,
    ) {
        let began = at;
        let workload = host.workload();
        self.trial =
            Some(Trial { episode: episode.clone(), from, to, began, boot: host.boot_id().0, workload });
        self.must(at, "leased", host.desk().lease().is_some_and(|lease| lease.episode == *episode), || {
            format!("{episode} is tried without a lease")
        });
        self.must(at, "one change in its bounds", rule::is_one_bounded_change(host, from, to), || {
            format!("{episode} changes {:?} to {:?}", host.layer(from), host.layer(to))
        });
        let level = self.plan_level;
        self.must(at, "level", level >= Level::ApproveEach, || {
            format!("{episode} is tried at level {level:?}")
        });
        if let Some(lowered) = self.lowered {
            self.must(at, "level", at < lowered + NOTICE, || {
                format!("{episode} is tried although its level was lowered")
            });
        }
        let needs_person = self.plan_level == Level::ApproveEach || !rule::is_tier_one(host, from, to);
        if needs_person {
            let digest = self.asked.get(episode).cloned().unwrap_or_default();
            let granted = self.granted.iter().any(|(of, what)| of == episode && *what == digest);
            self.must(at, "approval", granted, || format!("{episode} is tried, and nobody approved it"));
        }
        self.must(at, "pause", facts.paused_since.is_none_or(|since| at < since + NOTICE), || {
            format!("{episode} is tried although autonomy is paused")
        });
        // The second controller has a tripwire of its own.
        let first = self.owners.get(episode) == Some(&0);
        self.must(
            at,
            "tripwire",
            !first || facts.tripwire_dead_since.is_none_or(|since| at < since + 2 * NOTICE),
            || format!("{episode} is tried although the tripwire is dead"),
        );
        self.must(at, "preflight", facts.space_low_since.is_none_or(|since| at < since + 2 * NOTICE), || {
            format!("{episode} is tried although the target's disk is full")
        });
        self.must(
            at,
            "preflight",
            facts.people_since.is_none_or(|since| at < since + NOTICE) || !self.overtaken,
            || format!("{episode} is tried on a target that somebody else changed"),
        );
        self.must(at, "endpoints", !self.no_endpoints, || {
            format!("{episode} is tried, and nobody could see its health")
        });
        self.count_trial(at, episode);
    }

    fn count_trial(&mut self, at: u64, episode: &EpisodeId) {
        if self.trials.iter().any(|(of, _)| of == episode) {
            return;
        }
        self.trials.push((episode.clone(), at));
        let lately = self.trials.iter().filter(|(_, when)| at - when < 24 * HOUR - 2 * MINUTE).count();
        self.must(at, "daily limit", lately <= 3 * self.controllers, || {
            format!("{episode} is trial {lately} of one day")
        });
        if self.controllers == 1 {
            let row = self.rollbacks_in_a_row[0];
            self.must(at, "breaker", row < 3, || {
                format!("{episode} is tried after {row} rollbacks in a row")
            });
        }
    }

    fn kept_on_host(&mut self, at: u64, episode: &EpisodeId, to: Identity, host: &SimHost) {
        self.kept += 1;
        self.kept_at = at;
        let Some(trial) = self.trial.take().filter(|trial| trial.to == to && trial.episode == *episode)
        else {
            return self.violate(
                at,
                "kept is what was verified",
                format!("{episode} keeps {to:?}, which is not what was tried"),
            );
        };
        let (was, is) = (trial.workload, host.workload());
        let long_enough = at - trial.began >= 450 * SECOND;
        self.must(at, "kept is what was verified", long_enough, || {
            format!("{episode} was kept after {} s", (at - trial.began) / SECOND)
        });
        self.must(
            at,
            "kept is what was verified",
            trial.boot == host.boot_id().0 && host.running() == to,
            || format!("{episode} was kept, and something else ran in between"),
        );
        self.must(
            at,
            "the sick is undone",
            is.restarts == was.restarts && is.kills == was.kills && !host.is_sick(),
            || format!("{episode} was kept while its workload was sick"),
        );
        self.must(at, "leased", host.desk().lease().is_none(), || {
            format!("{episode} is kept, and its lease is still armed")
        });
    }

    fn ran(&mut self, at: u64, identity: Identity, why: &str, host: &SimHost) {
        if let Some(trial) = self.trial.take() {
            self.must(at, "back to what was good", identity == trial.from || why == "deploy", || {
                format!("{why} of {} went to {identity:?} instead of {:?}", trial.episode, trial.from)
            });
        }
        self.must(
            at,
            "back to what was good",
            host.boots_into() == identity || host.desk().lease().is_some(),
            || format!("{why} runs {identity:?}, and a boot would give something else"),
        );
    }

    /// What holds at every moment.
    pub(crate) fn standing(&mut self, facts: &Facts, host: &SimHost) {
        let at = facts.now;
        if !host.answers() || !facts.target_reachable {
            self.unreachable_at = at;
        }
        if let Some(lease) = host.desk().lease() {
            self.must(at, "leased", lease.expires <= lease.cap, || {
                "a lease was renewed beyond its cap".to_owned()
            });
        } else if self
            .trial
            .as_ref()
            .is_some_and(|trial| host.running() == trial.to && host.boots_into() != trial.to)
        {
            self.violate(at, "leased", "a trial runs, and nothing would undo it".to_owned());
        }
        self.watch_the_sick(facts, host);
    }

    /// With nothing in the way, what makes a service fail from outside is undone before long, whoever is dead.
    fn watch_the_sick(&mut self, facts: &Facts, host: &SimHost) {
        let watched = matches!(
            facts.record,
            Some(WindowState::Active { .. } | WindowState::Probation { .. } | WindowState::Undoing { .. })
        );
        let hindered = !facts.network_is_well || facts.tripwire_dead_since.is_some() || !host.is_up();
        if !watched || hindered || host.is_healthy() {
            self.sick_since = None;
            return;
        }
        let since = *self.sick_since.get_or_insert(facts.now);
        self.must(facts.now, "somebody acts", facts.now - since < ACTS_WITHIN, || {
            format!("a service has been down for {} min in an open window", (facts.now - since) / MINUTE)
        });
    }

    /// A record was written.
    pub(crate) fn record(
        &mut self,
        which: usize,
        record: &Record,
        before: &[Record],
        facts: &Facts,
        host: &SimHost,
    ) {
        let at = facts.now;
        match &record.event {
            Event::Opened { episode } => {
                self.episodes += 1;
                self.owners.insert(episode.id.clone(), which);
                self.opened(at, which, episode);
            }
            Event::Judged { cleared: Some(_), .. } => {
                let age = at.saturating_sub(self.collected[which]);
                if age > 12 * MINUTE && facts.clock_is_true {
                    self.violate(
                        at,
                        "fresh data",
                        format!("a change was cleared on data of {} min ago", age / MINUTE),
                    );
                }
            }
            Event::Moved { episode, phase } => self.moved(at, episode, phase, host),
            Event::Scored { cycle: Cycle::Pass, verifying, .. } => {
                let ran = self.saw_running[which].is_none_or(|seen| seen == verifying.trial.candidate);
                self.must(at, "a pass is about the trial", ran, || {
                    "a cycle passed while something else ran".to_owned()
                });
            }
            Event::Kept { episode, identity, .. } => {
                self.identities.insert(episode.clone(), *identity);
                let cycles: Vec<Cycle> = before
                    .iter()
                    .filter_map(|record| match &record.event {
                        Event::Scored { episode: of, cycle, .. } if of == episode => Some(*cycle),
                        _ => None,
                    })
                    .collect();
                self.must(at, "the window's rule", rule::may_be_kept(&cycles), || {
                    format!("{episode} was kept after {cycles:?}")
                });
                let truly = host.boots_into() == *identity || self.overtaken;
                self.must(at, "the records are true", truly, || {
                    format!("{episode} is recorded as kept, and is not")
                });
            }
            Event::Restored { episode, identity } => {
                let truly = host.running() == *identity && host.boots_into() == *identity;
                // What is seen of a host that two change at once may be over by the time it is written down.
                let excused = self.overtaken || !host.is_up() || self.controllers > 1;
                self.must(at, "the records are true", truly || excused, || {
                    format!("{episode} is recorded as restored, and is not")
                });
            }
            Event::Ended { episode, ending } => {
                self.ended(at, which, episode, ending.outcome, ending.tried, host)
            }
            Event::LevelSet { from, to, .. } => {
                self.must(at, "level", to < from, || {
                    format!("the level went up from {from:?} to {to:?} without evidence")
                });
            }
            Event::Queued { .. } => self.queued[which].push(at),
            Event::Retrospected { episode, verdict } => {
                let quirk = self.identities.get(episode).map(|identity| host.quirk(*identity));
                // What another controller did in between cannot be told apart.
                let alone = self.controllers == 1;
                let made_up = alone && quirk == Some(Quirk::Fine) && *verdict == Verdict::Improved;
                self.must(at, "no effect is neutral", !made_up, || {
                    format!("{episode} had no effect, and is called an improvement")
                });
            }
            Event::Counted { .. } => self.began[which] = at,
            Event::Enrolled { .. }
            | Event::Judged { cleared: None, .. }
            | Event::Gated { .. }
            | Event::Scored { .. }
            | Event::Foretold { .. }
            | Event::BreakerOpened
            | Event::BreakerReset
            | Event::Drifted { .. }
            | Event::Accepted { .. }
            | Event::Consolidated { .. }
            | Event::Drawn { .. }
            | Event::Reviewed { .. }
            | Event::Learnt { .. }
            | Event::Rehearsed { .. } => {}
        }
    }

    fn opened(&mut self, at: u64, which: usize, episode: &holdfast_steward::episode::Episode) {
        use holdfast_steward::trigger::Cause;
        let seen = episode
            .causes
            .iter()
            .all(|cause| matches!(cause, Cause::RegimeChange { .. } | Cause::OutOfMemory { .. }));
        let queued = std::mem::take(&mut self.queued[which]);
        let began = self.began[which];
        let own_doing = seen && queued.iter().all(|at| *at >= began);
        if let Some(end) = self.last_tried_end[which].filter(|_| own_doing) {
            self.must(at, "cool-down", at - end >= 30 * MINUTE, || {
                format!("{} follows {} s after a trial it may owe itself to", episode.id, (at - end) / SECOND)
            });
        }
    }

    fn moved(&mut self, at: u64, episode: &EpisodeId, phase: &Phase, host: &SimHost) {
        if let Phase::Starting { .. } = phase {
            let leased = host.desk().lease().is_some_and(|lease| lease.episode == *episode);
            let ended = host.desk().ending(episode).is_some();
            self.must(at, "leased", leased || ended, || {
                format!("{episode} starts its trial, and the target has no lease for it")
            });
        }
    }

    fn ended(
        &mut self,
        at: u64,
        which: usize,
        episode: &EpisodeId,
        outcome: Outcome,
        tried: bool,
        host: &SimHost,
    ) {
        let runs = self.trial.as_ref().is_some_and(|trial| {
            trial.episode == *episode && host.running() == trial.to && host.boots_into() != trial.to
        });
        self.must(at, "the records are true", !runs, || {
            format!("{episode} is recorded as ended, and its trial still runs")
        });
        if tried {
            self.last_tried_end[which] = Some(at);
        }
        match outcome {
            Outcome::RolledBack => self.rollbacks_in_a_row[which] += 1,
            Outcome::Kept => self.rollbacks_in_a_row[which] = 0,
            _ => {}
        }
    }
}
