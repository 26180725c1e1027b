//! The same facts as one JSON document: `{"demo": 1, …}`. Times are seconds on the host's clock, identities are whole.
//!
//! The fields are stable: new ones may come, none changes its meaning under the same number.

use holdfast_lifeline::Steady;
use holdfast_plot::{GateState, Probe};
use serde::Serialize;
use serde_json::{Value, json};

use crate::chronicle::{Facts, Settled, UndoneBy};
use crate::director::Director;
use crate::world::{World, exact_time_of};

/// The version of the document.
const VERSION: u32 = 1;

/// Everything that was shown.
pub fn document(director: &Director) -> Value {
    let acts: Vec<Value> =
        director.titled().enumerate().map(|(n, (title, world))| act(n, title, world)).collect();
    json!({
        "demo": VERSION,
        "accelerated": true,
        "modelled": true,
        "shown_seconds": director.shown().as_secs_f64(),
        "acts": acts,
    })
}

fn act(n: usize, title: &str, world: &World) -> Value {
    let facts = &world.facts;
    json!({
        "act": n + 1,
        "title": title,
        "host": world.cast().host,
        "brain": world.cast().brain.name(),
        "noticed": facts.noticed.as_ref().map(|noticed| json!({
            "sentence": noticed.sentence,
            "at": seconds(noticed.at),
            "began": seconds(noticed.began),
            "from_percent": noticed.from,
            "to_percent": noticed.to,
            "sure": noticed.sure,
        })),
        "cause": facts.cause,
        "episode": facts.episode,
        "change": facts.change,
        "hypothesis": facts.hypothesis,
        "gates": facts.gates.iter().map(|gate| json!({
            "gate": gate.name,
            "state": match &gate.state {
                GateState::Waiting => "waiting",
                GateState::Passed => "passed",
                GateState::Refused(_) => "refused",
            },
            "reason": match &gate.state {
                GateState::Refused(why) => Some(why),
                GateState::Waiting | GateState::Passed => None,
            },
        })).collect::<Vec<_>>(),
        "cycles": facts.cycles.iter().map(|probe| match probe {
            Probe::Pass => "pass",
            Probe::Fail => "fail",
            Probe::Inconclusive => "inconclusive",
            Probe::Grace => "grace",
        }).collect::<Vec<_>>(),
        "score": facts.score,
        "identity": identities(world),
        "controller_killed_at": facts.killed_at.map(seconds),
        "controller_started_anew_at": facts.started_anew_at.map(seconds),
        "went_back_at": facts.back.map(|(at, _)| seconds(at)),
        "settled": settled(facts),
        "outcome": facts.outcome,
        "took_seconds": facts.took().map(|took| took.as_secs_f64()),
        "records": world.records(),
        "story": facts.story.iter().map(|said| Line {
            at: seconds(said.at),
            time: exact_time_of(said.at),
            state: said.state.word(),
            what: &said.what,
        }).collect::<Vec<_>>(),
    })
}

#[derive(Serialize)]
struct Line<'a> {
    at: f64,
    time: String,
    state: &'static str,
    what: &'a str,
}

fn identities(world: &World) -> Value {
    let host = world.host().seen();
    json!({
        "before": world.facts.before,
        "tried": world.facts.tried,
        "after": host.running(),
        "boots_into": host.boots_into(),
    })
}

fn settled(facts: &Facts) -> Value {
    match &facts.settled {
        None => Value::Null,
        Some(Settled::Kept { .. }) => json!({"as": "kept", "by": "controller", "why": null}),
        Some(Settled::Undone { by, why }) => json!({
            "as": "undone",
            "by": match by {
                UndoneBy::Controller => "controller",
                UndoneBy::Lease => "lease",
            },
            "why": why,
        }),
    }
}

fn seconds(at: Steady) -> f64 {
    at.0 as f64 / 1000.0
}
