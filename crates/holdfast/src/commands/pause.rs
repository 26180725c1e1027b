//! `holdfast pause` and `holdfast resume`: the switch that halts all autonomy.
//!
//! Pausing works whatever state the rest is in: the switch is turned here, by this process, before anybody is asked.

use std::time::Duration;

use clap::Args;
use holdfast_control::{Answer, PauseState, Request};
use holdfast_types::{Actor, Exit};
use serde_json::json;

use crate::ask::{ask, ask_within, unexpected};
use crate::autonomy::{Note, Switch};
use crate::console::Console;
use crate::house::{House, now, this_user};
use crate::look::{Shape, time};
use crate::office::pause_state;
use crate::problem::{CliError, Failure, Result};

/// How long a silent daemon is waited for. The switch is turned already; only its entry is waited for, and the next
/// start makes up for that.
const SILENCE: Duration = Duration::from_secs(3);

/// Halt all autonomy at once
///
/// Nothing that acts by itself begins anything until `holdfast resume --all`, also after a restart. Works without a
/// daemon, and with one that no longer answers.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: paused, since, by, reason, repeated (it was so before), recorded_as (the entry; null when the journal \
could not take it yet), dry_run; only where the switch could not be written yet and the pause is in memory: \
until_restart.")]
pub(crate) struct PauseArgs {
    /// Everything; there is nothing smaller to pause yet
    #[arg(long, required = true)]
    all: bool,

    /// Why, for whoever finds it paused
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// Who pauses [default: uid:<number of the user>]
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,

    /// Say how it stands and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Let autonomy go on
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: paused, since, by, reason, repeated (it was so before), recorded_as (the entry), dry_run.")]
pub(crate) struct ResumeArgs {
    /// Everything; there is nothing smaller to resume yet
    #[arg(long, required = true)]
    all: bool,

    /// Why, for the log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// Who resumes [default: uid:<number of the user>]
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,

    /// Say how it stands and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl PauseArgs {
    /// Everything, for those who say it otherwise.
    pub(super) fn everything(reason: Option<String>, actor: Option<Actor>, dry_run: bool) -> PauseArgs {
        PauseArgs { all: true, reason, actor, dry_run }
    }
}

impl ResumeArgs {
    pub(super) fn everything(reason: Option<String>, actor: Option<Actor>, dry_run: bool) -> ResumeArgs {
        ResumeArgs { all: true, reason, actor, dry_run }
    }
}

pub(crate) fn pause(args: &PauseArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let switch = Switch::of(&house.places);
    if args.dry_run {
        return dry_run(&switch, console);
    }
    // A home that is not there has nothing to pause, and must not be half made by trying.
    house.view(&Default::default()).map(drop).or_else(missing_only)?;
    let actor = args.actor.clone().map_or_else(this_user, Ok)?;
    let note = Note::new(now(), actor.clone(), args.reason.as_deref());
    let turned = switch.pause(&note);
    let stood = matches!(turned, Ok(false));
    let asked = if stood { Ok(None) } else { record(house, &note, console).map(Some) };
    let state = match (turned, asked) {
        (Ok(turned_now), asked) => {
            let recorded_as = asked.as_ref().ok().and_then(|state| state.as_ref()?.recorded_as);
            match asked {
                Err(Failure::Problem(problem)) => {
                    console.warn(&format!("paused, but it could not be written down: {}", problem.what));
                }
                Ok(Some(_)) if recorded_as.is_none() => {
                    console.warn(
                        "paused, but it could not be written down yet; the daemon does so when there is room",
                    );
                }
                Ok(_) | Err(Failure::ReaderLeft) => {}
            }
            let until_restart = switch.is_in_memory_alone();
            if until_restart {
                console.warn(
                    "the switch's own file cannot be written, so this pause is in the machine's memory: it ends when the machine restarts, unless the daemon can write it before",
                );
            }
            let stands = pause_state(&switch.standing());
            PauseState { paused: true, repeated: !turned_now, recorded_as, until_restart, ..stands }
        }
        // The switch cannot be written here, and a daemon holds it instead.
        (Err(_), Ok(Some(state))) if state.paused => {
            if state.until_restart {
                console.warn("paused by the daemon, in memory alone: the switch cannot be written, so it ends when the daemon does");
            }
            state
        }
        (Err(failure), _) => return Err(failure),
    };
    show(&state, false, console)
}

/// A damaged journal does not keep anybody from pausing; none at all does.
fn missing_only(e: Failure) -> Result<()> {
    let missing = holdfast_journal::Error::Missing { path: Default::default() }.problem().code;
    match e {
        Failure::Problem(problem) if problem.code == missing => Err(Failure::Problem(problem)),
        _ => Ok(()),
    }
}

/// Has it written down, by whoever has this home open.
fn record(house: &House, note: &Note, console: &Console) -> Result<PauseState> {
    let Note { since, by, reason } = note.clone();
    match ask_within(house, &Request::Pause { since, actor: by, reason }, SILENCE, console)? {
        Answer::Paused(state) => Ok(state),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn resume(args: &ResumeArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if args.dry_run {
        return dry_run(&Switch::of(&house.places), console);
    }
    let actor = args.actor.clone().map_or_else(this_user, Ok)?;
    let request = Request::Resume { actor, reason: args.reason.clone() };
    match ask(house, &request, console)? {
        Answer::Paused(state) => show(&state, false, console),
        other => Err(unexpected(&other)),
    }
}

fn dry_run(switch: &Switch, console: &mut Console) -> Result<Exit> {
    show(&pause_state(&switch.standing()), true, console)
}

fn show(state: &PauseState, dry_run: bool, console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        let mut value =
            serde_json::to_value(state).map_err(|e| CliError::Usage { message: e.to_string() })?;
        value["dry_run"] = json!(dry_run);
        console.json(&value)?;
        return Ok(Exit::Ok);
    }
    let (shape, word) = match (state.paused, state.repeated || dry_run) {
        (true, false) => (Shape::Paused, "paused: nothing acts by itself until `holdfast resume --all`"),
        (true, true) => (Shape::Paused, "is paused"),
        (false, false) => (Shape::Settled, "goes on"),
        (false, true) => (Shape::Settled, "is not paused"),
    };
    let mark = console.out_style.shape(shape);
    let since = state.since.map(|at| format!(", since {}", time(at))).unwrap_or_default();
    let by = state.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    console.line(&format!("{mark} autonomy {word}{since}{by}"))?;
    Ok(Exit::Ok)
}
