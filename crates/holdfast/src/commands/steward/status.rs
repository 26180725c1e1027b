//! `holdfast steward status`: every target in a few lines, and whether it needs somebody.

use clap::Args;
use holdfast_control::{Answer, Request, StewardOpen, StewardState, StewardTargetState, connect};
use holdfast_lifeline::{Now, Sound};
use holdfast_steward::Steward;
use holdfast_types::Exit;

use super::{accelerated, places, records, said, wrapped, written};
use crate::ask::unexpected;
use crate::autonomy::Switch;
use crate::console::Console;
use crate::house::{House, now};
use crate::look::{Shape, Style, printable, span, table, time};
use crate::problem::{CliError, Result};
use crate::steward::{Place, Seen, state_of};

/// Columns of a value beside the widest label.
const VALUE_WIDTH: usize = 68;

/// How the steward's targets stand
///
/// Asks the daemon, and reads the journal where none runs. Exit code 0: nothing needs you, 1: something does, 3: no daemon
/// runs, so nothing is looked after at the moment.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: source (daemon or journal), paused, targets[] with target, driver, speed (how many times faster than real time), \
level, known_good, open (null when no episode is, else episode, opened, open_seconds, phase, why, change, undone_in_seconds, \
lease_seconds, seen, cycles, score, needs_you), last (null before the first, else episode, ended, outcome, reason, change), breaker_open, \
drifted, next_routine_seconds (of the target's time, null while none is to come), noticed (null when all is as usual or no daemon \
runs, else sentence, metrics[], began_seconds_ago of the target's time), trouble.")]
pub(super) struct StatusArgs {}

pub(super) fn run(_: &StatusArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let state = match connect(&house.places.socket())? {
        Some(client) => match client.ask(Request::Steward {}, &mut |_| {})? {
            Answer::Steward(state) => *state,
            other => return Err(unexpected(&other)),
        },
        None => from_journal(house)?,
    };
    if console.is_json() {
        let value = serde_json::to_value(&state).map_err(|e| CliError::Usage { message: e.to_string() })?;
        console.json(&value)?;
    } else {
        let text = shown(&state, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(match state.source.as_str() {
        "daemon" if state.targets.iter().any(needs_you) => Exit::Negative,
        "daemon" => Exit::Ok,
        _ => Exit::CouldNotCheck,
    })
}

fn from_journal(house: &House) -> Result<StewardState> {
    let all = written(house)?;
    let of = |place: &Place| {
        let written =
            all.iter().find(|(target, _)| *target == place.name).map(|(_, written)| written.as_slice());
        let records = records(written.unwrap_or_default());
        let steady = records.last().map_or_else(Default::default, |record| record.at);
        let now = Now { steady, wall: now(), synced: false };
        let steward = Steward::replay(place.settings.clone(), &records, now, Sound::YES);
        state_of(place, &steward, &Seen::of(&records))
    };
    let targets = places(house)?.iter().map(of).collect();
    let paused = Switch::of(&house.places).standing().is_paused();
    Ok(StewardState { source: "journal".to_owned(), paused, targets })
}

fn needs_you(target: &StewardTargetState) -> bool {
    target.breaker_open
        || target.drifted
        || target.trouble.is_some()
        || target.open.as_ref().is_some_and(|open| open.needs_you)
}

fn shown(state: &StewardState, style: Style) -> String {
    if state.targets.is_empty() {
        let mark = style.shape(Shape::Unknown);
        return format!(
            "{mark} the steward looks after nothing\n  to try it on a modelled host, write into config.yaml:\n\n  \
             steward:\n    targets:\n      - {{ name: box-1, driver: sim, speed: 600 }}\n"
        );
    }
    let mut out = String::new();
    if state.source == "journal" {
        let mark = style.shape(Shape::Unknown);
        out.push_str(&format!("{mark} no daemon runs: this is how the journal left it\n\n"));
    }
    if state.paused {
        let mark = style.shape(Shape::Paused);
        out.push_str(&format!(
            "{mark} autonomy is paused: nothing is tried until `holdfast steward resume`\n\n"
        ));
    }
    let targets: Vec<String> =
        state.targets.iter().map(|target| one(target, state.source == "daemon", style)).collect();
    out.push_str(&targets.join("\n"));
    out
}

fn one(target: &StewardTargetState, live: bool, style: Style) -> String {
    let (shape, word) = standing(target, live);
    let speed = accelerated(target.speed);
    let speed = if speed.is_empty() { String::new() } else { format!("  {}", style.faint(&speed)) };
    let mut out = format!("{} {}  {word}{speed}\n", style.shape(shape), target.target);
    let modelled =
        if target.driver == "sim" { "sim, a modelled host inside the daemon" } else { &target.driver };
    let mut rows =
        vec![("level".to_owned(), target.level.clone()), ("driver".to_owned(), modelled.to_owned())];
    rows.extend(target.noticed.as_ref().map(|seen| ("noticed".to_owned(), printable(&seen.sentence))));
    if let Some(open) = &target.open {
        rows.extend(open_rows(open, live));
    }
    if let Some(last) = &target.last {
        let (_, word) = said(&last.outcome);
        rows.push(("last".to_owned(), format!("{word}, {}: {}", time(last.ended), printable(&last.reason))));
        rows.extend(last.change.as_ref().map(|change| (String::new(), printable(change))));
    }
    if target.breaker_open {
        let what = format!("open: nothing is tried until `holdfast steward reset {}`", target.target);
        rows.push(("breaker".to_owned(), what));
    }
    if target.drifted {
        let what = format!("not what it was left as; look, then `holdfast steward accept {}`", target.target);
        rows.push(("drift".to_owned(), what));
    }
    if let Some(seconds) = target.next_routine_seconds {
        let own = if target.speed > 1 { " of its time" } else { "" };
        rows.push(("routine".to_owned(), format!("plans without a reason in {}{own}", span(seconds as f64))));
    }
    rows.extend(target.trouble.as_ref().map(|why| ("trouble".to_owned(), printable(why))));
    out.push_str(&table(&broken(rows), style));
    out
}

/// Long values go on in lines of their own.
fn broken(rows: Vec<(String, String)>) -> Vec<(String, String)> {
    let lines = |(label, value): (String, String)| {
        let width = VALUE_WIDTH;
        let mut label = Some(label);
        wrapped(&value, width)
            .into_iter()
            .map(move |line| (label.take().unwrap_or_default(), line))
            .collect::<Vec<_>>()
    };
    rows.into_iter().flat_map(lines).collect()
}

fn standing(target: &StewardTargetState, live: bool) -> (Shape, &'static str) {
    match &target.open {
        _ if needs_you(target) => (Shape::NeedsYou, "needs you"),
        _ if target.known_good.is_none() => (Shape::Unknown, "not taken in yet"),
        Some(open) if open.phase == "probation" => (Shape::OnTrial, "kept, on probation"),
        Some(open) if open.undone_in_seconds.is_some() => (Shape::OnTrial, "on trial"),
        Some(_) => (Shape::OnTrial, "at work"),
        // What nobody watches is not known to be well.
        None if !live => (Shape::Unknown, "not looked after at the moment"),
        None => (Shape::Settled, "settled"),
    }
}

fn open_rows(open: &StewardOpen, live: bool) -> Vec<(String, String)> {
    let since = if live {
        format!(", open for {} of its time", span(open.open_seconds as f64))
    } else {
        String::new()
    };
    let mut rows = vec![
        ("open".to_owned(), format!("{}, {}{since}", open.episode, open.phase)),
        (String::new(), format!("because {}", printable(&open.why))),
    ];
    rows.extend(open.change.as_ref().map(|change| (String::new(), printable(change))));
    if let (Some(seen), Some(cycles), Some(score)) = (open.seen, open.cycles, open.score) {
        rows.push(("window".to_owned(), format!("{seen} of {cycles} cycles, score {score}")));
    }
    if let Some(seconds) = open.undone_in_seconds {
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        rows.push((
            "lease".to_owned(),
            format!("undone by itself in {minutes}:{seconds:02} unless renewed or kept"),
        ));
    }
    if open.needs_you {
        rows.push(("waits".to_owned(), format!("`holdfast steward approve {}`, or reject", open.episode)));
    }
    rows
}
