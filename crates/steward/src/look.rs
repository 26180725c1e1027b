//! What a look means: one function for the preflight, one for every cycle of the window, the last look and probation.

use holdfast_lifeline::{EpisodeId, Flaw, GRACE, Identity, PERIOD, Sound, Steady};

use crate::effect::{Looked, Probe, TargetState};
use crate::episode::{Before, Violation};
use crate::invariant::{self, Channel, Expectations, FRESH_WITHIN, Facts, FreeSpace, Moment, Seen, Weight};
use crate::steward::Settings;
use crate::verify::Cycle;

/// What a look is measured by.
#[derive(Clone, Debug)]
pub struct Expected<'a> {
    pub moment: Moment,
    /// What should be running.
    pub identity: Identity,
    /// What was true before, for what must not get worse.
    pub before: Option<Before>,
    /// Results of the monitor from before this moment do not count.
    pub activated: Option<Steady>,
    /// The endpoint that may be ill, because the change is to help it.
    pub excused: Option<String>,
    /// The episode whose window the tripwire should know of.
    pub episode: Option<&'a EpisodeId>,
    pub now: Steady,
    pub settings: &'a Settings,
}

/// What a cycle came to, and what of it speaks against the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    pub cycle: Cycle,
    /// Ends a window at once.
    pub violation: Option<Violation>,
    /// Why the cycle failed.
    pub blame: Option<Violation>,
}

/// Everything that must hold before a trial; a sentence for what does not.
pub fn preflight(looked: &Looked, expected: &Expected<'_>, sound: Sound) -> Result<(), String> {
    let refuse = |sentence: String| Err(sentence);
    let found = violations(looked, expected, sound);
    if let Some(violation) = found.into_iter().next() {
        return refuse(violation.sentence);
    }
    let space = looked.target.as_ref().and_then(|target| target.full.as_ref()).map(|full| full.space);
    let free = FreeSpace { controller: Some(looked.space_here), target: space };
    let least = (expected.settings.space_here, expected.settings.space_there);
    match invariant::space(free, least).into_iter().next() {
        Some(sentence) => refuse(sentence),
        None => Ok(()),
    }
}

/// One cycle.
pub fn cycle(looked: &Looked, expected: &Expected<'_>, sound: Sound) -> Judged {
    let settled = |cycle, blame| Judged { cycle, violation: None, blame };
    let target = looked.target.as_ref();
    if let Some(violation) = target.and_then(|target| on_target(target, expected, sound)) {
        return Judged { cycle: Cycle::Fail, violation: Some(violation), blame: Some(violation) };
    }
    let mut found = violations(looked, expected, sound);
    if expected.moment == Moment::Probation {
        // Nothing is taken back because the tripwire is silent; the controller watches too.
        found.retain(|violation| violation.check != invariant::Check::Tripwire);
    }
    let is_silent = found.iter().any(|violation| violation.check == invariant::Check::Tripwire)
        || is_unwatched(looked, expected);
    if is_silent && !sound.has(Flaw::TripwireNotNeeded) {
        let violation = Violation::TripwireSilent;
        return Judged { cycle: Cycle::Fail, violation: Some(violation), blame: Some(violation) };
    }
    if !looked.references && !sound.has(Flaw::OutageCountsAsFailure) {
        return settled(Cycle::Inconclusive, None);
    }
    let failure = found.iter().find(|violation| violation.weight == Weight::Failure);
    match failure {
        Some(violation) if violation.check == invariant::Check::Ssh && looked.ssh == Probe::TimedOut => {
            settled(Cycle::TimedOut, Some(Violation::Unreachable))
        }
        Some(violation) if violation.check == invariant::Check::Ssh => {
            settled(Cycle::Fail, Some(Violation::Unreachable))
        }
        Some(_) => settled(Cycle::Fail, Some(Violation::Unhealthy)),
        None if found.is_empty() => settled(Cycle::Pass, None),
        None => settled(Cycle::Inconclusive, None),
    }
}

/// Whether the tripwire has had the time to read the window record, and has not.
fn is_unwatched(looked: &Looked, expected: &Expected<'_>) -> bool {
    let in_grace = expected.activated.is_none_or(|activated| expected.now < activated.plus(GRACE));
    match expected.moment {
        Moment::Window | Moment::BeforeCommit => !in_grace && looked.watched.as_ref() != expected.episode,
        Moment::Preflight | Moment::Probation => false,
    }
}

/// What the target itself says that ends a window whatever the probes say.
fn on_target(target: &TargetState, expected: &Expected<'_>, sound: Sound) -> Option<Violation> {
    let before = expected.before?;
    if target.boot != before.boot && !sound.has(Flaw::IdentityNotChecked) {
        return Some(Violation::Boot);
    }
    if target.running != expected.identity && !sound.has(Flaw::IdentityNotChecked) {
        return Some(Violation::Identity);
    }
    if target.people != before.people && !sound.has(Flaw::DriftIgnored) {
        return Some(Violation::PeopleChanged);
    }
    if sound.has(Flaw::WorkloadNotWatched) {
        return None;
    }
    let (was, is) = (before.workload, target.workload);
    // A unit that is just being started again may not be up yet; it has the grace to come up, and not to go down.
    let in_grace = expected.activated.is_some_and(|activated| expected.now < activated.plus(GRACE));
    if is.kills > was.kills {
        Some(Violation::Kills)
    } else if is.restarts > was.restarts {
        Some(Violation::Restarts)
    } else if !is.active && !in_grace {
        Some(Violation::Inactive)
    } else if is.failed_units > was.failed_units {
        Some(Violation::FailedUnit)
    } else {
        None
    }
}

fn violations(looked: &Looked, expected: &Expected<'_>, sound: Sound) -> Vec<invariant::Violation> {
    let settings = expected.settings;
    let stale_counts = sound.has(Flaw::StaleResultsCount);
    let expectations = Expectations {
        endpoints: settings.rules.endpoints.clone(),
        excused: expected.excused.clone(),
        activation: if stale_counts { Some(Steady(0)) } else { expected.activated },
        vpn_required: looked.vpn.is_some(),
        fresh_within: if stale_counts { FRESH_WITHIN * 100 } else { FRESH_WITHIN },
        tripwire_period: PERIOD,
    };
    let facts = facts(looked, expected.now, sound);
    let mut found = invariant::check(expected.moment, &facts, &expectations);
    if sound.has(Flaw::EmptyIsHealthy) {
        found.retain(|violation| {
            violation.check != invariant::Check::Monitor || !settings.rules.endpoints.is_empty()
        });
    }
    if sound.has(Flaw::TripwireNotNeeded) {
        found.retain(|violation| violation.check != invariant::Check::Tripwire);
    }
    found
}

fn facts(looked: &Looked, now: Steady, sound: Sound) -> Facts {
    let ssh = match looked.ssh {
        Probe::Passed => Seen::Yes,
        // Who sees nothing at all says nothing about the target.
        Probe::Failed | Probe::TimedOut if !looked.references && !sound.has(Flaw::OutageCountsAsFailure) => {
            Seen::Unknown
        }
        Probe::Failed | Probe::TimedOut => Seen::No,
    };
    let full = looked.target.as_ref().and_then(|target| target.full.as_ref());
    Facts {
        now,
        ssh,
        vpn: looked.vpn.unwrap_or(Seen::Unknown),
        endpoints: looked.endpoints.clone(),
        generations: full.map(|full| full.generations),
        channels: looked
            .rehearsed
            .iter()
            .map(|(name, at)| Channel { name: (*name).to_owned(), rehearsed: *at })
            .collect(),
        heartbeat: looked.heartbeat,
        integrity: if looked.integrity { Seen::Yes } else { Seen::No },
    }
}
