//! What pages show of the steward: hosts, and episodes with their gates, their window and their story.

use std::time::Duration;

use holdfast_control::{StewardOpen, StewardTargetState};
use holdfast_lifeline::Steady;
use holdfast_pages::{
    Anomaly, Countdown, EpisodeLine, Gate, GateState, HostLine, Level, Moment, Noticed, Probe, Score, State,
    Told, Trial, Unit,
};
use holdfast_steward::event::Event;
use holdfast_steward::gates::{Gate as StewardGate, GateResult};
use holdfast_steward::verify::Cycle;
use holdfast_steward_host::story::{self, Summary};
use holdfast_types::Timestamp;

use super::Views;
use crate::gateway::stories::Episode;
use crate::office::approvals::asks_for_episode;
use crate::problem::Result;
use crate::steward::Written;

/// Points of the small line beside a host: two hours.
const SPARK_POINTS: usize = 60;
/// Episodes a page of a host lists.
const EPISODES_SHOWN: usize = 20;
/// Days whose means a page of a host shows.
const METRIC_DAYS: u32 = 1;

impl Views {
    /// All targets, as they stand.
    pub(super) fn targets(&self) -> Vec<StewardTargetState> {
        self.office.bench.state(&self.office).targets
    }

    pub(super) fn host_line(&self, target: &StewardTargetState) -> HostLine {
        let spark = self.office.bench.desk_of(&target.target).traces().spark(SPARK_POINTS);
        let (state, word) = standing(target, self.paused());
        HostLine {
            name: target.target.clone(),
            state,
            word,
            level: Level::of(&target.level).unwrap_or(Level::Observe),
            noticed: target.noticed.as_ref().map(|noticed| noticed.sentence.clone()),
            latest: spark.values.iter().rev().copied().flatten().next(),
            metric: spark.metric,
            unit: spark.unit.to_owned(),
            values: spark.values,
            normal: spark.normal,
            seen: self.seen(&target.target),
        }
    }

    /// When a target was reached last.
    fn seen(&self, target: &str) -> Option<Timestamp> {
        let vitals = self.office.bench.vitals();
        let vitals = vitals.iter().find(|one| one.target.as_str() == target && one.failures == 0)?;
        let ago = self.office.clock.monotonic().checked_sub(vitals.collected)?;
        let now = self.office.clock.now().as_micros();
        Timestamp::from_micros(now.checked_sub(i64::try_from(ago.as_micros()).ok()?)?).ok()
    }

    pub(crate) fn hosts(&self) -> holdfast_pages::Hosts {
        holdfast_pages::Hosts { hosts: self.targets().iter().map(|target| self.host_line(target)).collect() }
    }

    /// A host by its name.
    pub(crate) fn host(&self, name: &str) -> Result<Option<holdfast_pages::Host>> {
        let Some(target) = self.targets().into_iter().find(|target| target.target == name) else {
            return Ok(None);
        };
        self.stories.catch_up(&self.office.journal)?;
        let (summaries, earlier) = self.stories.of(name);
        let shown = summaries.iter().take(EPISODES_SHOWN);
        let (state, word) = standing(&target, self.paused());
        let measured = self.office.metrics_of(name, METRIC_DAYS).ok();
        let now = self.office.clock.now();
        let mut figures = self.office.bench.desk_of(name).traces().figures();
        let began = self.stories.began(name);
        let moments = summaries.iter().filter_map(|one| moment(one, *began.get(&one.episode)?));
        let moments: Vec<Moment> = moments.collect();
        figures.iter_mut().for_each(|figure| figure.moments.clone_from(&moments));
        Ok(Some(holdfast_pages::Host {
            name: name.to_owned(),
            state,
            word,
            level: Level::of(&target.level).unwrap_or(Level::Observe),
            driver: target.driver.clone(),
            speed: target.speed,
            known_good: target.known_good.clone(),
            noticed: target.noticed.as_ref().map(|noticed| Noticed {
                sentence: noticed.sentence.clone(),
                began: ago(now, noticed.began_seconds_ago, target.speed),
            }),
            trouble: target.trouble.clone(),
            breaker_open: target.breaker_open,
            drifted: target.drifted,
            next_routine: target.next_routine_seconds.map(Duration::from_secs),
            last_success: measured.as_ref().and_then(|it| it.last_success).or_else(|| self.seen(name)),
            stale: measured.as_ref().is_some_and(|it| it.stale && it.observations > 0),
            observations: measured
                .as_ref()
                .filter(|it| it.observations > 0)
                .map(|it| format!("{} times in a day", it.observations)),
            failed: measured
                .iter()
                .flat_map(|it| it.failed.iter().map(|one| format!("{}: {}", one.label, one.why)))
                .collect(),
            figures,
            anomalies: measured
                .iter()
                .flat_map(|it| it.anomalies.iter())
                .map(|one| Anomaly {
                    scope: one.scope.clone(),
                    message: one.message.clone(),
                    since: one.since,
                    times: one.times,
                })
                .collect(),
            units: measured
                .iter()
                .flat_map(|it| it.units.iter())
                .map(|one| Unit {
                    name: one.unit.clone(),
                    memory_mib: one.memory_mib,
                    cpu: one.cpu,
                    pressure: one.psi_mem_some,
                    samples: one.samples,
                })
                .collect(),
            open: target.open.as_ref().map(|open| self.trial(&target, open)),
            episodes: shown.map(episode_line).collect(),
            episodes_left_off: (earlier + summaries.len().saturating_sub(EPISODES_SHOWN)) as u64,
        }))
    }

    pub(super) fn trial(&self, target: &StewardTargetState, open: &StewardOpen) -> Trial {
        let score = self.stories.episode(&open.episode).and_then(|episode| score(&episode.records));
        Trial {
            episode: open.episode.clone(),
            host: target.target.clone(),
            phase: open.phase.clone(),
            why: open.why.clone(),
            change: open.change.clone(),
            lease: self.lease(target, open),
            score,
            needs_you: open.needs_you,
        }
    }

    fn lease(&self, target: &StewardTargetState, open: &StewardOpen) -> Option<Countdown> {
        Some(Countdown {
            left_seconds: open.undone_in_seconds?,
            whole_seconds: open.lease_seconds,
            as_of: self.office.clock.now(),
            speed: target.speed,
        })
    }

    /// An episode by its id.
    pub(crate) fn episode(&self, id: &str) -> Result<Option<holdfast_pages::Episode>> {
        self.stories.catch_up(&self.office.journal)?;
        let Some(episode) = self.stories.episode(id) else { return Ok(None) };
        let target = self.targets().into_iter().find(|one| one.target == episode.target.as_str());
        let open = target.as_ref().and_then(|target| {
            let open = target.open.as_ref().filter(|open| open.episode == id)?;
            Some((target, open))
        });
        let waits = open.is_some_and(|(_, open)| open.needs_you);
        let ask = if waits { self.ask_of(id)? } else { None };
        let (state, word) = outcome(&episode.summary);
        let kept_last =
            target.as_ref().and_then(|target| target.last.as_ref()).is_some_and(|last| last.episode == id);
        let Summary { why, change, opened, ended, reason, .. } = episode.summary.clone();
        Ok(Some(holdfast_pages::Episode {
            id: id.to_owned(),
            host: episode.target.to_string(),
            speed: target.as_ref().map_or(1, |target| target.speed),
            state,
            word,
            why,
            change,
            prediction: hypothesis(&episode),
            opened,
            ended,
            reason,
            gates: gates(&episode.records),
            score: score(&episode.records),
            lease: open.and_then(|(target, open)| self.lease(target, open)),
            ask,
            // A lease is not known of right after a start; a window that is judged is one all the same.
            can_roll_back: open
                .is_some_and(|(_, open)| open.undone_in_seconds.is_some() || open.seen.is_some())
                || (kept_last && state == State::Kept),
            story: told(&episode),
        }))
    }

    /// The ask that an episode waits for.
    fn ask_of(&self, episode: &str) -> Result<Option<String>> {
        Ok(asks_for_episode(self.office.approvals_to_look_at()?.look_at_list(false)?, episode)
            .map(|id| id.to_string()))
    }

    /// What happened lately on all hosts.
    pub(super) fn lately(&self, limit: usize) -> Vec<Told> {
        let told = |(target, one): &(holdfast_lifeline::TargetName, Written)| {
            let episode = one.record.event.episode()?;
            let line = story::tell(std::slice::from_ref(&one.record), episode).into_iter().next()?;
            Some(Told {
                at: line.at,
                what: format!("{target}: {}", line.what),
                state: state_of(&one.record.event),
                entry: Some(one.seq),
                seconds: None,
                href: Some(format!("/episodes/{episode}")),
            })
        };
        let latest = self.stories.latest(limit);
        latest.iter().filter_map(told).collect()
    }
}

/// An episode on the plots of its host, whose time is the steward's own.
fn moment(summary: &Summary, began: Steady) -> Option<Moment> {
    let (state, word) = outcome(summary);
    // What was only thought about left nothing on the host.
    if !matches!(state, State::Kept | State::Undone | State::OnTrial) || summary.change.is_none() {
        return None;
    }
    let word = word.unwrap_or_else(|| state.word().to_owned());
    Some(Moment { at_ms: i64::try_from(began.0).ok()?, state, word })
}

/// The state a host is shown in, and its word where that is not enough.
fn standing(target: &StewardTargetState, paused: bool) -> (State, Option<String>) {
    let said = |state: State, word: &str| (state, Some(word.to_owned()));
    match &target.open {
        _ if target.trouble.is_some() => said(State::Unknown, "nobody is at work on it"),
        _ if target.breaker_open => said(State::NeedsYou, "needs you: too many trials were undone"),
        _ if target.drifted => said(State::NeedsYou, "needs you: it is not what it was left as"),
        Some(open) if open.needs_you => said(State::NeedsYou, "needs you: a change waits"),
        Some(open) if open.undone_in_seconds.is_some() => (State::OnTrial, None),
        _ if paused => (State::Paused, None),
        Some(open) => (State::OnTrial, Some(open.phase.clone())),
        None => (State::Settled, None),
    }
}

/// The state an episode is shown in.
fn outcome(summary: &Summary) -> (State, Option<String>) {
    let Some(outcome) = summary.outcome else {
        return match summary.phase {
            "waiting" => (State::NeedsYou, None),
            phase => (State::OnTrial, Some(phase.replace('_', " "))),
        };
    };
    let word = outcome.as_str();
    match word {
        "kept" => (State::Kept, None),
        "improved" | "neutral" => (State::Kept, Some(format!("kept, {word}"))),
        "rolled_back" | "interrupted" => (State::Undone, None),
        "delayed_negative" => (State::Undone, Some("undone a day later".to_owned())),
        "gate_rejected" => (State::Failed, Some("refused by a gate".to_owned())),
        "failed" => (State::Failed, None),
        other => (State::Unknown, Some(other.replace('_', " "))),
    }
}

fn state_of(event: &Event) -> Option<State> {
    match event {
        Event::Kept { .. } => Some(State::Kept),
        Event::Counted { .. } => Some(State::OnTrial),
        Event::Ended { ending, .. } => match ending.outcome.as_str() {
            "kept" => Some(State::Kept),
            "rolled_back" | "interrupted" => Some(State::Undone),
            "gate_rejected" | "failed" => Some(State::Failed),
            _ => None,
        },
        _ => None,
    }
}

fn episode_line(summary: &Summary) -> EpisodeLine {
    let (state, word) = outcome(summary);
    let Summary { episode, why, change, opened, ended, .. } = summary.clone();
    EpisodeLine { id: episode.to_string(), state, word, why, change, opened, ended }
}

fn hypothesis(episode: &Episode) -> Option<String> {
    episode.records.iter().find_map(|one| match &one.record.event {
        Event::Judged { cleared: Some(cleared), .. } => Some(cleared.hypothesis.clone()),
        _ => None,
    })
}

/// Every gate in its order. Those behind one that refused were not asked, and wait.
fn gates(records: &[Written]) -> Vec<Gate> {
    let mut results: Vec<&GateResult> = Vec::new();
    for one in records {
        match &one.record.event {
            Event::Judged { results: said, .. } => results.extend(said),
            Event::Gated { result, .. } => results.push(result),
            _ => {}
        }
    }
    if results.is_empty() {
        return Vec::new();
    }
    let state = |gate: StewardGate| match results.iter().rev().find(|result| result.gate == gate) {
        None => GateState::Waiting,
        Some(result) if result.passed => GateState::Passed,
        Some(result) => GateState::Refused(result.reason.clone()),
    };
    StewardGate::ORDER.into_iter().map(|gate| Gate { name: gate.to_string(), state: state(gate) }).collect()
}

fn score(records: &[Written]) -> Option<Score> {
    let scored = records.iter().filter_map(|one| match &one.record.event {
        Event::Scored { cycle, verifying, .. } => Some((probe(*cycle), verifying.window)),
        _ => None,
    });
    let (cycles, windows): (Vec<Probe>, Vec<_>) = scored.unzip();
    let window = *windows.last()?;
    let needed = window.needed();
    let rule = format!("kept from a score of {needed} on, out of {} cycles", window.cycles());
    Some(Score { cycles, planned: window.cycles() as usize, score: window.score(), rule })
}

const fn probe(cycle: Cycle) -> Probe {
    match cycle {
        Cycle::Grace => Probe::Grace,
        Cycle::Pass => Probe::Pass,
        Cycle::Fail | Cycle::TimedOut => Probe::Fail,
        Cycle::Inconclusive => Probe::Inconclusive,
    }
}

/// The whole story, but for the cycles of the window: those are drawn.
fn told(episode: &Episode) -> Vec<Told> {
    let id = &episode.summary.episode;
    let began = episode.records.first().map_or(Steady(0), |one| one.record.at);
    let line = |one: &Written| {
        let line = story::tell(std::slice::from_ref(&one.record), id).into_iter().next()?;
        line.score.is_none().then(|| Told {
            at: line.at,
            seconds: Some(one.record.at.since(began).as_secs()),
            what: line.what,
            state: state_of(&one.record.event),
            entry: Some(one.seq),
            href: None,
        })
    };
    episode.records.iter().filter_map(line).collect()
}

/// A moment that was so many of the target's seconds ago, in real time.
fn ago(now: Timestamp, seconds: u64, speed: u32) -> Option<Timestamp> {
    let micros = i64::try_from(seconds.checked_mul(1_000_000)? / u64::from(speed.max(1))).ok()?;
    Timestamp::from_micros(now.as_micros().checked_sub(micros)?).ok()
}
