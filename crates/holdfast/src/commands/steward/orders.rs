//! What people order: plan now, another level, undo, accept, reset. The daemon carries it out and writes it down.

use clap::{Args, ValueEnum};
use holdfast_control::{Answer, Request, StewardDone, StewardOrder, connect};
use holdfast_steward::event::Event;
use holdfast_types::{Actor, Exit};
use serde_json::Value;

use super::{find_episode, written};
use crate::ask::unexpected;
use crate::console::Console;
use crate::house::{House, this_user};
use crate::look::{Shape, printable};
use crate::problem::{CliError, Result};
use crate::steward::Written;

/// Plan now
///
/// A cycle of planning begins a moment later, unless the level, a pause, an open breaker or drift forbids it. What it
/// proposes goes through the same gates as ever.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward trigger box-1

JSON fields: target, said, level, episode (the one that is open; null when none is), repeated (it was so before), dry_run.")]
pub(super) struct TriggerArgs {
    /// Where; may be left out where there is only one target
    target: Option<String>,

    #[command(flatten)]
    order: OrderArgs,
}

/// Set how far a target trusts the steward
///
/// Down at once, and a trial that is under way is taken back where the new level does not allow it. Up one level at a
/// time, when the evidence for it is there; what is missing is listed, with exit code 4.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Levels: observe (measures only), plan (proposes, for you to read), approve-each (tries what you approve), tier-one (tries \
small changes by itself), tier-two (larger ones too, each approved by you).

Examples:
  holdfast steward level box-1 plan
  holdfast steward level box-1 observe

JSON fields: target, said, level, episode (the one that is open; null when none is), repeated (it was so before), dry_run.")]
pub(super) struct LevelArgs {
    /// Which target, by its name in the settings
    target: String,

    /// How far it trusts the steward from now on
    level: LevelName,

    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelName {
    Observe,
    Plan,
    ApproveEach,
    TierOne,
    TierTwo,
}

impl LevelName {
    const fn word(self) -> &'static str {
        match self {
            LevelName::Observe => "observe",
            LevelName::Plan => "plan",
            LevelName::ApproveEach => "approve-each",
            LevelName::TierOne => "tier-one",
            LevelName::TierTwo => "tier-two",
        }
    }
}

/// Undo what is on trial, or what was kept last while it is on probation
///
/// What is only planned is ended; what waits for you is taken back.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward rollback box-1

JSON fields: target, said, level, episode (the one that is open; null when none is), repeated (it was so before), dry_run.")]
pub(super) struct RollbackArgs {
    /// Where; may be left out where there is only one target
    target: Option<String>,

    #[command(flatten)]
    order: OrderArgs,
}

/// Say that what runs on a target is good, after somebody else changed it
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward accept box-1

JSON fields: target, said, level, episode (the one that is open; null when none is), repeated (it was so before), dry_run.")]
pub(super) struct AcceptArgs {
    /// Which target, by its name in the settings
    target: String,

    #[command(flatten)]
    order: OrderArgs,
}

/// Close the breaker again, after too many trials in a row were undone
///
/// The level stays where the breaker left it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward reset box-1

JSON fields: target, said, level, episode (the one that is open; null when none is), repeated (it was so before), dry_run.")]
pub(super) struct ResetArgs {
    /// Which target, by its name in the settings
    target: String,

    #[command(flatten)]
    order: OrderArgs,
}

/// Say that you have read what an episode proposed
///
/// Above the level plan, a target asks for five proposals that people have read. `holdfast steward show` has what there is to read.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward review 0003

JSON fields: target, said, level, episode (the one that is open; null when none is), repeated (it was so before), dry_run.")]
pub(super) struct ReviewArgs {
    /// The episode; the beginning or the end of its id is enough
    episode: String,

    #[command(flatten)]
    order: OrderArgs,
}

/// Say that you have seen a way back work
///
/// Above the level approve-each, a target asks for a rollback that was caused on purpose and came back (`holdfast steward rollback` in the
/// middle of a trial), and for a tripwire that undid a trial while the daemon was stopped. Each counts for 30 days.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast steward rehearsed box-1 rollback
  holdfast steward rehearsed box-1 tripwire

JSON fields: target, said, level, episode (the one that is open; null when none is), repeated (it was so before), dry_run.")]
pub(super) struct RehearsedArgs {
    /// Which target, by its name in the settings
    target: String,

    /// Which way back
    way: WayBack,

    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WayBack {
    Rollback,
    Tripwire,
}

#[derive(Debug, Args)]
struct OrderArgs {
    /// Who orders it [default: uid:<number of the user>]
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,

    /// Say whether it would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn trigger(args: &TriggerArgs, house: &House, console: &mut Console) -> Result<Exit> {
    order(args.target.as_deref(), StewardOrder::Trigger, &args.order, house, console)
}

pub(super) fn level(args: &LevelArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let to = args.level.word().to_owned();
    order(Some(&args.target), StewardOrder::Level { to }, &args.order, house, console)
}

pub(super) fn rollback(args: &RollbackArgs, house: &House, console: &mut Console) -> Result<Exit> {
    order(args.target.as_deref(), StewardOrder::RollBack, &args.order, house, console)
}

pub(super) fn accept(args: &AcceptArgs, house: &House, console: &mut Console) -> Result<Exit> {
    order(Some(&args.target), StewardOrder::Accept, &args.order, house, console)
}

pub(super) fn reset(args: &ResetArgs, house: &House, console: &mut Console) -> Result<Exit> {
    order(Some(&args.target), StewardOrder::Reset, &args.order, house, console)
}

pub(super) fn review(args: &ReviewArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let all = written(house)?;
    let opened = |one: &Written| match &one.record.event {
        Event::Opened { episode } => Some(episode.id.to_string()),
        _ => None,
    };
    let ids: Vec<(String, String)> = all
        .iter()
        .flat_map(|(target, written)| written.iter().filter_map(opened).map(|id| (target.to_string(), id)))
        .collect();
    let episode = find_episode(&args.episode, ids.iter().map(|(_, id)| id.as_str()))?;
    let target = ids.into_iter().find_map(|(target, id)| (id == episode).then_some(target));
    order(target.as_deref(), StewardOrder::Review { episode }, &args.order, house, console)
}

pub(super) fn rehearsed(args: &RehearsedArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let tripwire = args.way == WayBack::Tripwire;
    order(Some(&args.target), StewardOrder::Rehearsed { tripwire }, &args.order, house, console)
}

fn order(
    target: Option<&str>,
    order: StewardOrder,
    args: &OrderArgs,
    house: &House,
    console: &mut Console,
) -> Result<Exit> {
    // A home that is not there is the better news.
    house.view(&Default::default())?;
    let actor = args.actor.clone().map_or_else(this_user, Ok)?;
    // A target is worked on by a daemon alone: without one there is nobody to order about.
    let client = connect(&house.places.socket())?.ok_or(CliError::NoDaemon)?;
    let request =
        Request::StewardOrder { target: target.map(str::to_owned), order, actor, dry_run: args.dry_run };
    match client.ask(request, &mut |_| {})? {
        Answer::StewardDone(done) => show(&done, console),
        other => Err(unexpected(&other)),
    }
}

fn show(done: &StewardDone, console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        let value: Value =
            serde_json::to_value(done).map_err(|e| CliError::Usage { message: e.to_string() })?;
        console.json(&value)?;
        return Ok(Exit::Ok);
    }
    let StewardDone { target, said, repeated, dry_run, .. } = done;
    let (shape, would) = match (dry_run, repeated) {
        (true, false) => (Shape::Unknown, "would be taken: "),
        (_, true) | (false, false) => (Shape::Settled, ""),
    };
    let mark = console.out_style.shape(shape);
    console.line(&format!("{mark} {target}: {would}{}", printable(said)))?;
    Ok(Exit::Ok)
}
