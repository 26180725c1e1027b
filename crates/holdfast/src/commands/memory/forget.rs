//! `holdfast memory forget`: destroys the text of a memory for ever.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryShown};
use holdfast_types::Exit;
use serde_json::json;

use super::show::look;
use super::{ActorArgs, WhoseArgs, ask, quoted, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::Shape;
use crate::memory::MemoryError;
use crate::problem::Result;

/// Lines of a text that the plan shows.
const TEXT_LINES: usize = 6;

/// Forget a memory for ever, by destroying the key of its text
///
/// Gone with it is all it had taken the place of. Index, notes and every copy of the journal hold nothing readable of it afterwards; that there was a memory,
/// and when, stays. Copies of the vault made earlier still hold the key: replace them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Nothing is done without --yes where there is no terminal to ask at.

JSON fields: agent, id, forgotten[] (ids; what would be, with --dry-run), entries[], dry_run.")]
pub(super) struct ForgetArgs {
    /// The memory
    id: String,

    #[command(flatten)]
    whose: WhoseArgs,

    #[command(flatten)]
    by: ActorArgs,

    /// Do it without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Show what would be forgotten; change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &ForgetArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let mut talk = Talk::with(house);
    if !args.yes {
        let shown = look(&mut talk, &args.whose.agent, &args.id, console)?;
        if args.dry_run {
            return would(&shown, console);
        }
        console.aside(&plan(&shown, console));
        match console.asks("Forget this for ever? [y/N] ") {
            Some(true) => {}
            Some(false) => return Err(MemoryError::NotConfirmed.into()),
            None => return Err(MemoryError::NeedsYes { what: format!("forgetting {}", args.id) }.into()),
        }
    }
    let asked =
        MemoryAsk::Forget { agent: args.whose.agent.clone(), id: args.id.clone(), actor: args.by.actor()? };
    let gone = match ask(&mut talk, asked, console)? {
        MemoryAnswer::Forgotten(gone) => gone,
        other => return Err(strange(other)),
    };
    if console.is_json() {
        console.json(&json!({"agent": gone.agent, "id": args.id, "forgotten": gone.ids, "entries": gone.entries, "dry_run": false}))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        console.line(&format!("{mark} forgotten by {}: {}", gone.agent, gone.ids.join(", ")))?;
        console.line("  copies of the vault made earlier still hold the key: replace them too")?;
    }
    Ok(Exit::Ok)
}

fn would(shown: &MemoryShown, console: &mut Console) -> Result<Exit> {
    let all: Vec<&String> = shown.replaces.iter().chain([&shown.id]).collect();
    if console.is_json() {
        console.json(
            &json!({"agent": shown.agent, "id": shown.id, "forgotten": all, "entries": [], "dry_run": true}),
        )?;
    } else {
        let text = plan(shown, console);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn plan(shown: &MemoryShown, console: &Console) -> String {
    let mut out = format!("{} of {}\n", shown.id, shown.agent);
    match &shown.memory {
        Some(memory) => {
            out.push_str(&quoted(&memory.text, console.width(), TEXT_LINES));
            out.push_str("  the key of its text would be destroyed; nothing brings it back\n");
        }
        None => out.push_str("  was forgotten before\n"),
    }
    if !shown.replaces.is_empty() {
        out.push_str(&format!("  with it goes what it took the place of: {}\n", shown.replaces.join(", ")));
    }
    out
}
