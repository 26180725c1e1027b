//! Whether the keys do what they are for, and nothing else. Everything is asked over connections of its own: one that is open already proves
//! nothing. Nothing is changed by it.

use std::time::Duration;

use holdfast_doorman::wire::{Ask, Collected, Reply, Role};
use holdfast_line::{Purpose, Unreached, shown};
use holdfast_steward::setting::{Change, Property, Setting, UnitName, Value};
use holdfast_steward_host::Way;

use super::survey::{Finding, Verdict};

const ASK_WITHIN: Duration = Duration::from_secs(60);
const CHECK_WITHIN: Duration = Duration::from_secs(150);
/// Nobody's word, and harmless where there were a shell.
const NO_WORD: &str = "true";

/// Whose the key is that undoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rescue {
    /// It is here.
    Here,
    /// It is a guard's, who rehearses it himself.
    WithAGuard,
}

/// What was found, and whether every key was let in: where one is not, nothing more was asked.
#[derive(Debug)]
pub(crate) struct Proofs {
    pub(crate) found: Vec<Finding>,
    pub(crate) is_let_in: bool,
}

/// All proofs.
pub(crate) fn prove(way: &Way, units: &[UnitName], rescue: Rescue) -> Proofs {
    let mut found = Vec::new();
    let (roles, goes_back) = match rescue {
        Rescue::Here => (&Role::ALL[..], Role::Rescue),
        Rescue::WithAGuard => (&[Role::Observe, Role::Act][..], Role::Act),
    };
    for role in roles.iter().copied() {
        let letting_in = let_in(way, role);
        let is_in = letting_in.verdict == Verdict::Good;
        found.push(letting_in);
        if !is_in {
            return Proofs { found, is_let_in: false };
        }
        found.push(refuses(way, role));
    }
    found.extend(collection(way, units));
    found.extend(units.first().map(|unit| dry_run(way, unit)));
    found.extend(way_back(way, goes_back));
    Proofs { found, is_let_in: true }
}

fn good(what: impl Into<String>) -> Finding {
    Finding::new(Verdict::Good, what)
}

fn bad(what: impl Into<String>) -> Finding {
    Finding::new(Verdict::Bad, what)
}

fn otherwise(asked: &str, reply: Result<Reply, Unreached>) -> Finding {
    match reply {
        Err(unreached) => bad(format!("{asked}: {unreached}")),
        Ok(Reply::Broken { why } | Reply::NotAdmitted { why }) => bad(format!("{asked}: {}", shown(&why))),
        Ok(other) => bad(format!("{asked}: it said {}", shown(&format!("{other:?}")))),
    }
}

fn let_in(way: &Way, role: Role) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    match way.ask(role, &Ask::Ping {}, ASK_WITHIN) {
        Ok(Reply::Pong { version, .. }) if version == own => good(format!("the key for {role} is let in")),
        Ok(Reply::Pong { version, .. }) => Finding::new(
            Verdict::Good,
            format!("the key for {role} is let in; the doorman there is of version {}", shown(&version)),
        ),
        other => otherwise(&format!("the key for {role} is not let in"), other),
    }
}

/// No shell, and no word that is another key's.
fn refuses(way: &Way, role: Role) -> Finding {
    let said = way.line(role).exchange(purpose(role), &[NO_WORD], Vec::new(), ASK_WITHIN);
    let reply = said.ok().and_then(|said| serde_json::from_str::<Reply>(said.trim()).ok());
    if !matches!(reply, Some(Reply::NotAdmitted { .. })) {
        return bad(format!("the key for {role} runs commands that are no words of the doorman"));
    }
    let not_its = match role {
        Role::Observe => Some(Ask::List {}),
        Role::Rescue => Some(Ask::Collect { cursor: None }),
        // It may say every word there is.
        Role::Act => None,
    };
    match not_its.map(|ask| way.ask(role, &ask, ASK_WITHIN)) {
        None | Some(Ok(Reply::NotAdmitted { .. })) => {
            good(format!("the key for {role} is refused what is not its own"))
        }
        Some(other) => otherwise(&format!("the key for {role} is not refused what is another's"), other),
    }
}

fn purpose(role: Role) -> Purpose {
    if role == Role::Observe { Purpose::Looking } else { Purpose::Acting }
}

fn collection(way: &Way, units: &[UnitName]) -> Vec<Finding> {
    match way.ask(Role::Observe, &Ask::Collect { cursor: None }, ASK_WITHIN) {
        Ok(Reply::Collected(collected)) => collected_well(&collected, units),
        other => vec![otherwise("nothing is collected", other)],
    }
}

fn collected_well(collected: &Collected, units: &[UnitName]) -> Vec<Finding> {
    let mut found = Vec::new();
    for unit in units {
        match collected.units.iter().find(|figures| figures.unit == *unit) {
            Some(figures) if figures.active => found.push(good(format!("{unit} runs and is measured"))),
            Some(_) => found.push(Finding::new(Verdict::Noted, format!("{unit} does not run"))),
            None => found.push(bad(format!("{unit} is not measured"))),
        }
    }
    for (what, why) in collected.failed.iter().take(3) {
        found.push(bad(format!("not read: {}: {}", shown(what), shown(why))));
    }
    found
}

/// A change that is only looked at: nothing is loaded for it.
fn dry_run(way: &Way, unit: &UnitName) -> Finding {
    let setting = Setting { unit: unit.clone(), property: Property::MemoryHigh };
    let change = Change { setting, from: Value::Infinity, to: Value::Bytes(1 << 40) };
    match way.ask(Role::Act, &Ask::Check { changes: vec![change] }, CHECK_WITHIN) {
        Ok(Reply::Checked(Ok(()))) => good(format!("a change of {unit} would fit; nothing was changed")),
        Ok(Reply::Checked(Err(why))) => bad(format!("a change of {unit} would not fit: {}", shown(&why))),
        other => otherwise("a change cannot be checked", other),
    }
}

/// Everything that going back takes, up to doing it.
fn way_back(way: &Way, role: Role) -> Vec<Finding> {
    let ask = Ask::State { full: false, renew: None, about: None };
    let state = match way.ask(role, &ask, ASK_WITHIN) {
        Ok(Reply::State(state)) if state.running == state.boots_into || state.leased => {
            good(match state.leased {
                true => "the way back is open; something is being tried",
                false => "the way back is open, and what runs is what a boot gives",
            })
        }
        Ok(Reply::State(_)) => bad("what runs is not what a boot gives, and nothing is being tried"),
        other => otherwise("the way back does not answer", other),
    };
    let baseline = match way.ask(role, &Ask::List {}, ASK_WITHIN) {
        Ok(Reply::Generations(all)) if !all.is_empty() => good(format!(
            "there is something to go back to: {}",
            crate::look::count(all.len() as u64, "generation", "generations")
        )),
        other => otherwise("there is nothing to go back to", other),
    };
    vec![state, baseline]
}
