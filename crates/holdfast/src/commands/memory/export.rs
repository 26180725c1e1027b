//! `holdfast memory export`: what an agent remembers, a line of JSON each, in a form that `import` takes.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryPage};
use holdfast_types::Exit;

use super::{WhoseArgs, ask, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::problem::Result;

/// Print what an agent remembers, as JSON lines
///
/// Each line can be imported elsewhere; its id there is the source_id. What was forgotten is not in it, and what was merged or superseded is not either.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast memory export --agent scout >scout.jsonl

JSON fields, one line a memory: id, content, at, kind, source, tags[], agent, source_id, scope, confidence, standing, captured, actor, trust, entry.")]
pub(super) struct ExportArgs {
    #[command(flatten)]
    whose: WhoseArgs,
}

pub(super) fn run(args: &ExportArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let mut talk = Talk::with(house);
    let mut from = Some(0);
    while let Some(begins) = from {
        let asked = MemoryAsk::Export { agent: args.whose.agent.clone(), from: begins };
        let MemoryPage { lines, next } = match ask(&mut talk, asked, console)? {
            MemoryAnswer::Page(page) => page,
            other => return Err(strange(other)),
        };
        for line in &lines {
            console.json(line)?;
        }
        from = next;
    }
    Ok(Exit::Ok)
}
