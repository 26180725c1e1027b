//! `holdfast memory notes`: the notes that people read, brought to where the journal is.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryNotes};
use holdfast_types::Exit;
use serde_json::json;

use super::{ActorArgs, WhoseArgs, ask, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, count};
use crate::problem::Result;

/// Write what an agent remembers as notes that people read: a file for each month, and a log of decisions
///
/// What somebody changed in an entry of them is captured first. Git has a sealed copy, committed after a scan. The daemon does this by itself after each
/// consolidation.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: agent, folder, files[] (those that changed), edits[] (id, and what became of the change), committed, dry_run.")]
pub(super) struct NotesArgs {
    #[command(flatten)]
    whose: WhoseArgs,

    #[command(flatten)]
    by: ActorArgs,

    /// Say what would be done; write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &NotesArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let NotesArgs { whose, by, dry_run } = args;
    if *dry_run {
        house.view(&Default::default())?;
        if console.is_json() {
            console.json(&json!({"agent": whose.agent, "folder": null, "files": [], "edits": [], "committed": null, "dry_run": true}))?;
        } else {
            let mark = console.out_style.shape(Shape::Unknown);
            console.line(&format!("{mark} would write the notes of {}", whose.agent))?;
        }
        return Ok(Exit::Ok);
    }
    let asked = MemoryAsk::Notes { agent: whose.agent.clone(), actor: by.actor()? };
    let MemoryNotes { agent, folder, files, edits, committed } =
        match ask(&mut Talk::with(house), asked, console)? {
            MemoryAnswer::Notes(notes) => notes,
            other => return Err(strange(other)),
        };
    if console.is_json() {
        console.json(&json!({"agent": agent, "folder": folder, "files": files, "edits": edits, "committed": committed, "dry_run": false}))?;
        return Ok(Exit::Ok);
    }
    let mark = console.out_style.shape(Shape::Settled);
    let changed = count(files.len() as u64, "file has", "files have");
    console.line(&format!("{mark} the notes of {agent} are in {}; {changed} changed", folder.display()))?;
    for (id, outcome) in &edits {
        console.line(&format!("  what somebody wrote into {id} was {outcome}"))?;
    }
    console.line(&format!("  git: {committed}"))?;
    Ok(Exit::Ok)
}
