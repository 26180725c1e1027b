//! `holdfast audit erase`: destroys the key of a blob for ever.

use clap::Args;
use holdfast_control::{Answer, Request};
use holdfast_journal::{Entry, Error, Stored};
use holdfast_types::{Actor, Exit};
use serde_json::json;

use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::{ArchiveArgs, House, say_warnings, this_user};
use crate::look::{Shape, bytes, time};
use crate::problem::{CliError, Result};

/// Make a sealed text unreadable for ever, by destroying its key
///
/// It becomes unreadable in every copy of the log, too. The entry stays, and with it the proof that there was
/// a text. Copies of the vault made earlier still hold the key: replace them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: seq, erased, recorded_as (the entry that says so), repeated, dry_run.")]
pub(crate) struct EraseArgs {
    /// The entry
    seq: u64,

    /// Do it; without this the plan is shown and nothing happens
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Show the plan and end well
    #[arg(long)]
    dry_run: bool,

    /// Who erases [default: uid:<number of the user>]
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,

    #[command(flatten)]
    archive: ArchiveArgs,
}

pub(crate) fn run(args: &EraseArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let seq = args.seq;
    let entry = house.view(&args.archive)?.entry(seq)?.parse()?;
    let plan = plan(&entry)?;
    let vault = house.vault()?.ok_or(Error::NoVault)?;
    if !args.yes {
        show_plan(args, &plan, vault.is_erased(seq), console)?;
        return if args.dry_run { Ok(Exit::Ok) } else { Err(CliError::NeedsYes { seq }.into()) };
    }
    drop(vault);
    let actor = args.actor.clone().map_or_else(this_user, Ok)?;
    let done = match ask(house, &Request::Erase { seq, actor }, console)? {
        Answer::Appended(done) => done,
        other => return Err(unexpected(&other)),
    };
    say_warnings(&done.warnings, console);
    if console.is_json() {
        let repeated = done.repeated;
        console.json(&json!({"seq": seq, "erased": true, "recorded_as": done.seq, "repeated": repeated, "dry_run": false}))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let word = if done.repeated { "was erased before" } else { "erased" };
        console.line(&format!("{mark} {word}: the text of entry {seq}, recorded as entry {}", done.seq))?;
    }
    Ok(Exit::Ok)
}

fn plan(entry: &Entry) -> Result<String> {
    let Stored::Blob(blob) = &entry.content else {
        return Err(CliError::NoSealedText { seq: entry.seq }.into());
    };
    Ok(format!(
        "\
entry {seq}  {kind} by {actor} at {at}
  the key of its text ({len} sealed) would be destroyed; nothing brings it back
  the entry and the proof that it was written stay
  copies of the vault made earlier still hold the key: replace them too
",
        seq = entry.seq,
        kind = entry.kind,
        actor = entry.actor,
        at = time(entry.at),
        len = bytes(blob.sealed_len()),
    ))
}

fn show_plan(args: &EraseArgs, plan: &str, erased: bool, console: &mut Console) -> Result<()> {
    if console.is_json() && args.dry_run {
        return console.json(&json!({"seq": args.seq, "erased": erased, "recorded_as": null, "repeated": erased, "dry_run": true}));
    }
    if args.dry_run {
        return console.write(plan.as_bytes());
    }
    if !console.is_json() {
        console.aside(plan);
    }
    Ok(())
}
