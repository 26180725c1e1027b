//! What must hold about the target before, during and after a trial: one table, one function.
//!
//! The steward and the tripwire both call [`check`] with what they observed, so the two cannot come to differ. A check that
//! could not be made is never a pass and never a failure: it is inconclusive, and it is for the caller to wait, to
//! refuse a trial, or to leave the decision to the timer on the target.

use std::fmt;
use std::time::Duration;

use holdfast_lifeline::Sight;
use serde::{Deserialize, Serialize};

use crate::time::Steady;

/// What is checked. The second name is that of an earlier design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Check {
    /// An SSH command that does nothing.
    #[serde(rename = "ssh_reachable")]
    Ssh,
    /// The target's peer is online.
    #[serde(rename = "vpn_online", alias = "tailscale_online")]
    Vpn,
    /// Every named endpoint of the target is healthy.
    #[serde(rename = "monitor_healthy", alias = "gatus_all_healthy")]
    Monitor,
    /// The way back was rehearsed lately.
    #[serde(rename = "rollback_rehearsed", alias = "rollback_functional")]
    RollbackRehearsed,
    /// The tripwire does its rounds.
    #[serde(rename = "tripwire_running")]
    Tripwire,
    /// The safety parts are those that were installed.
    #[serde(rename = "integrity", alias = "auditor_integrity")]
    Integrity,
}

impl Check {
    pub fn as_str(self) -> &'static str {
        match self {
            Check::Ssh => "ssh_reachable",
            Check::Vpn => "vpn_online",
            Check::Monitor => "monitor_healthy",
            Check::RollbackRehearsed => "rollback_rehearsed",
            Check::Tripwire => "tripwire_running",
            Check::Integrity => "integrity",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// When it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before the trial, and again right before it when time has passed.
    Preflight,
    /// Each cycle of the verification window.
    Window,
    /// Between the window and the commit.
    BeforeCommit,
    /// The two hours after the commit.
    Probation,
}

impl Moment {
    fn is_after_activation(self) -> bool {
        match self {
            Moment::Preflight => false,
            Moment::Window | Moment::BeforeCommit | Moment::Probation => true,
        }
    }
}

/// One cell of the table: this check, at this moment, with this much time to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub check: Check,
    pub moment: Moment,
    pub timeout: Duration,
}

const fn row(check: Check, moment: Moment, timeout_seconds: u64) -> Row {
    Row { check, moment, timeout: Duration::from_secs(timeout_seconds) }
}

/// All there is. SSH has 5 s where one answer decides and 10 s where a cycle of 30 s has room for a slow one; in probation
/// it is asked by the tripwire, whose rounds take 10 s, so it must be done in 8.
pub const TABLE: [Row; 19] = [
    row(Check::Ssh, Moment::Preflight, 5),
    row(Check::Ssh, Moment::Window, 10),
    row(Check::Ssh, Moment::BeforeCommit, 5),
    row(Check::Ssh, Moment::Probation, 8),
    row(Check::Vpn, Moment::Preflight, 5),
    row(Check::Vpn, Moment::Window, 5),
    row(Check::Vpn, Moment::BeforeCommit, 5),
    row(Check::Vpn, Moment::Probation, 5),
    row(Check::Monitor, Moment::Preflight, 5),
    row(Check::Monitor, Moment::Window, 5),
    row(Check::Monitor, Moment::BeforeCommit, 5),
    row(Check::Monitor, Moment::Probation, 5),
    row(Check::RollbackRehearsed, Moment::Preflight, 5),
    row(Check::Tripwire, Moment::Preflight, 5),
    row(Check::Tripwire, Moment::Window, 5),
    row(Check::Tripwire, Moment::BeforeCommit, 5),
    row(Check::Tripwire, Moment::Probation, 5),
    row(Check::Integrity, Moment::Preflight, 5),
    row(Check::Integrity, Moment::BeforeCommit, 5),
];

/// How long a check may take, where it is made at all.
pub fn timeout(check: Check, moment: Moment) -> Option<Duration> {
    TABLE.iter().find(|row| row.check == check && row.moment == moment).map(|row| row.timeout)
}

/// What was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    Yes,
    No,
    /// It could not be observed: the observer was cut off, or the answer could not be read.
    Unknown,
}

/// What the monitor says about an endpoint, and when it looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub healthy: bool,
    pub at: Steady,
}

/// A way back, and when it was last shown to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    pub name: String,
    pub rehearsed: Option<Steady>,
}

/// Everything observed, with the moment it is judged at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub now: Steady,
    pub ssh: Seen,
    pub vpn: Seen,
    /// What the monitor knows; nothing where it has no result yet.
    pub endpoints: Vec<(String, Option<Health>)>,
    /// How many generations can be restored.
    pub generations: Option<u32>,
    /// The timer on the target counts as one.
    pub channels: Vec<Channel>,
    /// When the tripwire last finished a full round.
    pub heartbeat: Option<Steady>,
    pub integrity: Seen,
}

/// What the target is expected to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectations {
    /// By name: a list that is empty or names nothing real never passes.
    pub endpoints: Vec<String>,
    /// The endpoint of the service the change is about. It may be ill before the trial, or no illness could be repaired.
    pub excused: Option<String>,
    /// When the trial was seen live. What the monitor saw before that says nothing about it.
    pub activation: Option<Steady>,
    pub vpn_required: bool,
    /// The oldest result of the monitor that still says something.
    pub fresh_within: Duration,
    /// The time the tripwire takes for a round.
    pub tripwire_period: Duration,
}

/// Three intervals of a monitor that looks every minute.
pub const FRESH_WITHIN: Duration = Duration::from_secs(180);
pub const TRIPWIRE_PERIOD: Duration = Duration::from_secs(10);
/// Channels are rehearsed daily; an hour more, so that a late rehearsal does not bar a trial.
pub const REHEARSED_WITHIN: Duration = Duration::from_secs(25 * 3600);
/// One way back can fail at the moment it is needed.
const CHANNELS_MIN: usize = 2;
const HEARTBEAT_PERIODS: u32 = 3;

impl Default for Expectations {
    fn default() -> Expectations {
        Expectations {
            endpoints: Vec::new(),
            excused: None,
            activation: None,
            vpn_required: true,
            fresh_within: FRESH_WITHIN,
            tripwire_period: TRIPWIRE_PERIOD,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It could not be told. Bars a trial or a commit, and undoes nothing.
    Inconclusive,
    /// It does not hold. Aborts before activation, rolls back after it.
    Failure,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub check: Check,
    pub weight: Weight,
    pub sentence: String,
}

/// All that does not hold, or cannot be told to hold, at this moment. Empty means all is well.
pub fn check(moment: Moment, facts: &Facts, expected: &Expectations) -> Vec<Violation> {
    let mut found = Vec::new();
    for row in TABLE.iter().filter(|row| row.moment == moment) {
        let mut say = |weight, sentence: String| found.push(Violation { check: row.check, weight, sentence });
        match row.check {
            Check::Ssh => ssh(facts, &mut say),
            Check::Vpn => vpn(moment, facts, expected, &mut say),
            Check::Monitor => monitor(moment, facts, expected, &mut say),
            Check::RollbackRehearsed => rehearsed(facts, &mut say),
            Check::Tripwire => tripwire(facts, expected, &mut say),
            Check::Integrity => integrity(facts, &mut say),
        }
    }
    found
}

/// What the tripwire looks at: what can be seen from outside without a word of the target's own.
const OUTSIDE: [Check; 3] = [Check::Ssh, Check::Vpn, Check::Monitor];

/// What the tripwire makes of what it observed. `references` says whether hosts that have nothing to do with the target
/// answer: who sees nothing at all says nothing about it.
pub fn sight(facts: &Facts, expected: &Expectations, references: bool) -> Sight {
    let mut found = check(Moment::Probation, facts, expected);
    found.retain(|violation| OUTSIDE.contains(&violation.check));
    match found.iter().map(|violation| violation.weight).max() {
        _ if !references => Sight::Unsure,
        None => Sight::Well,
        Some(Weight::Inconclusive) => Sight::Unsure,
        Some(Weight::Failure) => Sight::Bad,
    }
}

type Say<'a> = &'a mut dyn FnMut(Weight, String);

fn ssh(facts: &Facts, say: Say<'_>) {
    match facts.ssh {
        Seen::Yes => {}
        Seen::No => say(Weight::Failure, "the target does not answer over SSH".into()),
        Seen::Unknown => {
            say(Weight::Inconclusive, "whether the target answers over SSH could not be told".into())
        }
    }
}

/// What a coordination server believes lags behind, so once a trial is live the VPN alone proves nothing.
fn vpn(moment: Moment, facts: &Facts, expected: &Expectations, say: Say<'_>) {
    if !expected.vpn_required {
        return;
    }
    match facts.vpn {
        Seen::Yes => {}
        Seen::No if moment.is_after_activation() => {
            say(
                Weight::Inconclusive,
                "the VPN reports the target offline, which alone proves nothing".into(),
            );
        }
        Seen::No => say(Weight::Failure, "the VPN reports the target offline".into()),
        Seen::Unknown => {
            say(Weight::Inconclusive, "the VPN does not say whether the target is online".into())
        }
    }
}

fn monitor(moment: Moment, facts: &Facts, expected: &Expectations, say: Say<'_>) {
    if expected.endpoints.is_empty() {
        return say(Weight::Failure, "no endpoint of the target is named, so none can be healthy".into());
    }
    let excused = expected.excused.as_ref().filter(|_| !moment.is_after_activation());
    for name in &expected.endpoints {
        let known = facts.endpoints.iter().find(|(endpoint, _)| endpoint == name);
        let (weight, trouble) = match known {
            // Before a trial a name the monitor does not know is a mistake to mend; later it may be an answer cut short.
            None if moment.is_after_activation() => {
                (Weight::Inconclusive, "is missing from the monitor's answer")
            }
            None => (Weight::Failure, "is not known to the monitor"),
            Some(_) if excused == Some(name) => continue,
            Some((_, result)) => match trouble(*result, moment, facts.now, expected) {
                Some(trouble) => trouble,
                None => continue,
            },
        };
        say(weight, format!("endpoint {name} {trouble}"));
    }
}

fn trouble(
    result: Option<Health>,
    moment: Moment,
    now: Steady,
    expected: &Expectations,
) -> Option<(Weight, &'static str)> {
    let Some(health) = result else { return Some((Weight::Inconclusive, "has no result yet")) };
    let predates = match expected.activation {
        Some(activation) => health.at <= activation,
        // Who does not know when the trial went live cannot know what the result is about.
        None => true,
    };
    if moment.is_after_activation() && predates {
        Some((Weight::Inconclusive, "was last looked at before the trial"))
    } else if now.since(health.at) > expected.fresh_within {
        Some((Weight::Inconclusive, "was not looked at lately"))
    } else if !health.healthy {
        Some((Weight::Failure, "is not healthy"))
    } else {
        None
    }
}

/// That the way back was rehearsed is what counts; three generations are the aim and none is too few.
fn rehearsed(facts: &Facts, say: Say<'_>) {
    match facts.generations {
        Some(0) => say(Weight::Failure, "the target has no generation to go back to".into()),
        Some(_) => {}
        None => say(Weight::Inconclusive, "the target's generations could not be listed".into()),
    }
    let is_fresh =
        |channel: &&Channel| channel.rehearsed.is_some_and(|at| facts.now.since(at) <= REHEARSED_WITHIN);
    let fresh = facts.channels.iter().filter(is_fresh).count();
    if fresh < CHANNELS_MIN {
        say(
            Weight::Failure,
            format!("{fresh} ways back were rehearsed within a day, {CHANNELS_MIN} are needed"),
        );
    }
}

fn tripwire(facts: &Facts, expected: &Expectations, say: Say<'_>) {
    match facts.heartbeat.map(|at| facts.now.since(at)) {
        None => say(Weight::Failure, "the tripwire was never seen finishing a round".into()),
        Some(age) if age > expected.tripwire_period * HEARTBEAT_PERIODS => {
            say(Weight::Failure, format!("the tripwire finished its last round {} s ago", age.as_secs()));
        }
        Some(_) => {}
    }
}

fn integrity(facts: &Facts, say: Say<'_>) {
    match facts.integrity {
        Seen::Yes => {}
        Seen::No => say(Weight::Failure, "a safety part is not the one that was installed".into()),
        Seen::Unknown => say(Weight::Inconclusive, "the safety parts could not be compared".into()),
    }
}

/// Free space in bytes; nothing where it could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Where the controller keeps its working copy.
    pub controller: Option<u64>,
    /// Where the target keeps what it builds.
    pub target: Option<u64>,
}

pub const CONTROLLER_FREE_MIN: u64 = 1_000_000_000;
pub const TARGET_FREE_MIN: u64 = 5_000_000_000;

/// What speaks against a trial for want of space, a sentence each. Asked before a trial only: space that runs out
/// during one is no reason to keep or to undo it.
pub fn space(free: FreeSpace, (here, there): (u64, u64)) -> Vec<String> {
    let places = [("the controller", free.controller, here), ("the target", free.target, there)];
    let short = |(place, free, least): (&str, Option<u64>, u64)| match free {
        Some(free) if free >= least => None,
        Some(free) => {
            Some(format!("{place} has {} MB free, {} are needed", free / 1_000_000, least / 1_000_000))
        }
        None => Some(format!("the free space of {place} could not be read")),
    };
    places.into_iter().filter_map(short).collect()
}
