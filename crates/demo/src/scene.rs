//! What is to be seen at one moment: a view model, made from the world and from nothing else.

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_plot::{Figure, Gate, GateState, Lease, Mark, Moment, Point, Score, Series, State};

use crate::chronicle::{Said, UndoneBy, short};
use crate::load::PERIOD;
use crate::lookout::Seen;
use crate::script::{ACTS, Act, Beat, Gates, Pace};
use crate::world::{World, exact_time_of};

/// How much of the past a plot shows.
const IN_SIGHT: Duration = Duration::from_secs(20 * 60);
/// Values that are always in sight, so that the plot does not jump when pressure rises.
const LEAST: (f64, f64) = (0.0, 30.0);
const RULE: &str = "Kept at 60 % of the points, at most 1 in 10 failed, and the last five passed.";

/// One moment of the demo.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    pub act: usize,
    pub acts: usize,
    pub title: &'static str,
    pub caption: &'static str,
    pub host: &'static str,
    pub state: State,
    /// The time of day there, and how fast it goes.
    pub time: String,
    pub pace: String,
    pub figure: Figure,
    pub brain: &'static str,
    pub change: Option<String>,
    pub hypothesis: Option<String>,
    pub gates: Vec<Gate>,
    pub lease: Option<Lease>,
    pub controller_lives: bool,
    pub score: Option<Score>,
    pub runs: String,
    pub boots_into: String,
    pub restarts: u32,
    pub story: Vec<(String, State, String)>,
}

pub(crate) fn of(
    world: &World,
    (number, act): (usize, &Act),
    (beat, goes): (&Beat, Pace),
    gates_open: usize,
) -> Scene {
    let facts = &world.facts;
    let read_out = gates_open >= facts.gates.len();
    let host = world.host().seen();
    let proposed = beat.gates != Gates::Shut;
    let tried = read_out && facts.tried.is_some();
    Scene {
        act: number + 1,
        acts: ACTS.len(),
        title: act.title,
        caption: beat.caption,
        host: world.cast().host,
        state: if read_out { facts.state() } else { State::Settled },
        time: exact_time_of(world.now()),
        pace: pace(goes),
        figure: figure(world, read_out),
        brain: world.cast().brain.name(),
        change: facts.change.clone().filter(|_| proposed),
        hypothesis: facts.hypothesis.clone().filter(|_| proposed),
        gates: gates(&facts.gates, gates_open),
        lease: tried.then(|| host.desk().lease().map(|lease| lease_of(lease, world.now()))).flatten(),
        controller_lives: world.controller_lives(),
        score: tried.then(|| Score {
            cycles: facts.cycles.clone(),
            planned: facts.planned,
            score: facts.score,
            rule: RULE.to_owned(),
        }),
        runs: short(if read_out { host.running() } else { facts.before.unwrap_or(host.running()) }),
        boots_into: short(host.boots_into()),
        restarts: host.workload().restarts,
        story: facts.story.iter().filter(|said| read_out || !said.after_gates).map(line).collect(),
    }
}

fn line(said: &Said) -> (String, State, String) {
    (exact_time_of(said.at), said.state, said.what.clone())
}

fn lease_of(lease: &holdfast_lifeline::Lease, now: Steady) -> Lease {
    Lease { left: lease.expires.since(now), whole: lease.lasts }
}

fn pace(Pace(pace): Pace) -> String {
    match pace {
        0 => "time there stands still".to_owned(),
        pace => format!("1 s here = {pace} s there"),
    }
}

fn gates(gates: &[Gate], open: usize) -> Vec<Gate> {
    let shown = |(n, gate): (usize, &Gate)| {
        let state = if n < open { gate.state.clone() } else { GateState::Waiting };
        Gate { name: gate.name.clone(), state }
    };
    gates.iter().enumerate().map(shown).collect()
}

/// What was noticed, or, once a change is kept, what has come of it.
fn sentence(world: &World, read_out: bool) -> String {
    let facts = &world.facts;
    if let Some((_, by)) = facts.back {
        return undone(world, by);
    }
    let Some(noticed) = &facts.noticed else { return String::new() };
    let (Some(tried), State::Kept, true) = (facts.tried_at, facts.state(), read_out) else {
        // How sure it is stands in the story below; the line under the plot is short.
        let short = noticed.sentence.split_once(" (").map(|(said, _)| format!("{said}."));
        return short.unwrap_or_else(|| noticed.sentence.clone());
    };
    let mean = |from: Steady, to: Steady| {
        let within =
            || world.samples.iter().filter(|(at, _)| *at >= from && *at < to).map(|(_, value)| value);
        (within().count() > 0).then(|| within().sum::<f64>() / within().count() as f64)
    };
    // The activation takes a few seconds; the sample after the next is surely of what is tried.
    let after = mean(tried.plus(PERIOD), world.now().plus(PERIOD));
    match mean(noticed.began, tried).zip(after) {
        Some((before, after)) => {
            format!(
                "Memory pressure on {} fell from {before:.0} % to {after:.0} % with the change.",
                world.cast().host
            )
        }
        None => noticed.sentence.clone(),
    }
}

fn undone(world: &World, by: UndoneBy) -> String {
    let (host, runs) = (world.cast().host, short(world.host().seen().running()));
    match by {
        UndoneBy::Controller => format!("Harm was seen, and the trial undone: {host} runs {runs} again."),
        UndoneBy::Lease => format!("The lease ran out with nobody there: {host} runs {runs} again."),
    }
}

fn figure(world: &World, read_out: bool) -> Figure {
    let facts = &world.facts;
    let millis = |at: Steady| i64::try_from(at.0).unwrap_or(i64::MAX);
    // Whole periods: in between the line stands still instead of trembling.
    let period = i64::try_from(PERIOD.as_millis()).unwrap_or(i64::MAX);
    let now = (millis(world.now()) + period - 1) / period * period;
    let from = now.saturating_sub(i64::try_from(IN_SIGHT.as_millis()).unwrap_or(i64::MAX));
    let points = world.samples.iter().map(|(at, value)| Point { at_ms: millis(*at), value: Some(*value) });
    let mark = |at: Option<Steady>, state: State, word: &str| {
        at.map(|at| Moment { at_ms: millis(at), state, word: word.to_owned() })
    };
    let settled = (facts.state() == State::Kept).then_some(facts.settled_at).flatten();
    let moments = [
        mark(facts.tried_at, State::OnTrial, "tried"),
        mark(facts.killed_at, State::Failed, "killed"),
        mark(settled, State::Kept, "kept"),
        mark(facts.back.map(|(at, _)| at), State::Undone, "undone"),
    ];
    Figure {
        title: format!("Memory pressure on {}, average of 60 s", world.cast().host),
        sentence: Some(sentence(world, read_out)),
        series: vec![Series {
            name: "memory pressure".to_owned(),
            points: points.collect(),
            gap_after_ms: i64::try_from(PERIOD.as_millis() * 3 / 2).ok(),
        }],
        band: Some(Seen::normal()),
        began: facts
            .noticed
            .as_ref()
            .map(|noticed| Mark { at_ms: millis(noticed.began), word: "began".to_owned() }),
        moments: moments.into_iter().flatten().filter(|_| read_out).collect(),
        threshold: None,
        unit: "%".to_owned(),
        span_ms: Some((from, now)),
        least: Some(LEAST),
        now_ms: None,
    }
}
