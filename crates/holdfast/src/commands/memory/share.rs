//! `holdfast memory share`, `unshare` and `cite`: what others may read, and what was of use.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryPortion};
use holdfast_types::Exit;
use serde_json::json;

use super::{ActorArgs, WhoseArgs, ask, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, count};
use crate::problem::Result;

/// Let another agent read memories: one, those with a tag, or those of a kind
///
/// A tag or a kind stands for what has it now: what is captured later is not shared by itself. Nothing is shared otherwise, and forgetting the original
/// takes it from all.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast memory share --tag ports --agent scout --with pilot

JSON fields: agent, with, shared, ids[], dry_run.")]
pub(super) struct ShareArgs {
    #[command(flatten)]
    portion: PortionArgs,
}

/// Take back what another agent could read
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: agent, with, shared, ids[], dry_run.")]
pub(super) struct UnshareArgs {
    #[command(flatten)]
    portion: PortionArgs,
}

#[derive(Debug, Args)]
struct PortionArgs {
    /// The memory
    #[arg(required_unless_present_any = ["tag", "kind"], conflicts_with_all = ["tag", "kind"])]
    id: Option<String>,

    /// All that have this tag
    #[arg(long, value_name = "TAG", conflicts_with = "kind")]
    tag: Option<String>,

    /// All of this kind: session_facts, directives, …
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Who may read them
    #[arg(long, value_name = "NAME")]
    with: String,

    #[command(flatten)]
    whose: WhoseArgs,

    #[command(flatten)]
    by: ActorArgs,

    /// Say what would be done; change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn share(args: &ShareArgs, house: &House, console: &mut Console) -> Result<Exit> {
    turn(&args.portion, false, house, console)
}

pub(super) fn unshare(args: &UnshareArgs, house: &House, console: &mut Console) -> Result<Exit> {
    turn(&args.portion, true, house, console)
}

fn turn(args: &PortionArgs, take_back: bool, house: &House, console: &mut Console) -> Result<Exit> {
    let PortionArgs { id, tag, kind, with, whose, by, dry_run } = args;
    let what = match (id, tag, kind) {
        (Some(id), ..) => MemoryPortion::One(id.clone()),
        (None, Some(tag), _) => MemoryPortion::Tagged(tag.clone()),
        (None, None, kind) => MemoryPortion::OfKind(kind.clone().unwrap_or_default()),
    };
    let word = if take_back { "read no more by" } else { "read by" };
    if *dry_run {
        house.view(&Default::default())?;
        if console.is_json() {
            console.json(&json!({"agent": whose.agent, "with": with, "shared": !take_back, "ids": [], "dry_run": true}))?;
        } else {
            let mark = console.out_style.shape(Shape::Unknown);
            console.line(&format!("{mark} memories of {} would be {word} {with}", whose.agent))?;
        }
        return Ok(Exit::Ok);
    }
    let asked = MemoryAsk::Share {
        agent: whose.agent.clone(),
        what,
        with: with.clone(),
        actor: by.actor()?,
        take_back,
    };
    let done = match ask(&mut Talk::with(house), asked, console)? {
        MemoryAnswer::Shared(done) => done,
        other => return Err(strange(other)),
    };
    if console.is_json() {
        console.json(&json!({"agent": done.agent, "with": done.with, "shared": done.shared, "ids": done.ids, "dry_run": false}))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let memories = count(done.ids.len() as u64, "memory", "memories");
        console.line(&format!("{mark} {memories} of {}: {word} {}", done.agent, done.with))?;
    }
    Ok(Exit::Ok)
}

/// Say that a memory was of use; what is cited is found sooner
///
/// One voice for each person or agent. The journal does not say who it was.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: agent, id, citations, dry_run.")]
pub(super) struct CiteArgs {
    /// The memory
    id: String,

    #[command(flatten)]
    whose: WhoseArgs,

    #[command(flatten)]
    by: ActorArgs,

    /// Say what would be done; change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn cite(args: &CiteArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let CiteArgs { id, whose, by, dry_run } = args;
    if *dry_run {
        house.view(&Default::default())?;
        if console.is_json() {
            console.json(&json!({"agent": whose.agent, "id": id, "citations": null, "dry_run": true}))?;
        } else {
            let mark = console.out_style.shape(Shape::Unknown);
            console.line(&format!("{mark} would say that {id} of {} was of use", whose.agent))?;
        }
        return Ok(Exit::Ok);
    }
    let asked = MemoryAsk::Cite { agent: whose.agent.clone(), id: id.clone(), who: by.actor()? };
    let done = match ask(&mut Talk::with(house), asked, console)? {
        MemoryAnswer::Cited(done) => done,
        other => return Err(strange(other)),
    };
    if console.is_json() {
        console.json(
            &json!({"agent": done.agent, "id": done.id, "citations": done.citations, "dry_run": false}),
        )?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let voices = count(done.citations, "voice says", "voices say");
        console.line(&format!("{mark} {voices} that {} was of use", done.id))?;
    }
    Ok(Exit::Ok)
}
