//! `holdfast memory consolidate`: decides what stays of what was captured.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryRun};
use holdfast_types::Exit;
use serde_json::json;

use super::{ActorArgs, ask, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, Style, count, number};
use crate::problem::Result;

/// Decide what stays: what says the same becomes one, what contradicts is marked, the rest is kept or refused
///
/// The daemon does this by itself once an hour; it is to be asked for where a conversation ends. Every decision is in the journal.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: runs[] with agent, run (null when there was nothing to decide), looked_at, promoted, deduplicated, rejected, merged[], conflicts[], \
lexical (there was no model), reviewed; dry_run.")]
pub(super) struct ConsolidateArgs {
    /// Whose memory [default: everybody's]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    #[command(flatten)]
    by: ActorArgs,

    /// Say whose memory would be looked at and decide nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &ConsolidateArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if args.dry_run {
        house.view(&Default::default())?;
        return would(args, console);
    }
    let asked = MemoryAsk::Consolidate { agent: args.agent.clone(), actor: args.by.actor()? };
    let runs = match ask(&mut Talk::with(house), asked, console)? {
        MemoryAnswer::Consolidated(runs) => runs,
        other => return Err(strange(other)),
    };
    if console.is_json() {
        console.json(&json!({"runs": runs, "dry_run": false}))?;
    } else {
        let text = told(&runs, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn would(args: &ConsolidateArgs, console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        console.json(&json!({"runs": [], "dry_run": true}))?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        let whose = args.agent.as_deref().unwrap_or("everybody");
        console.line(&format!("{mark} would decide about what {whose} captured since the last time"))?;
    }
    Ok(Exit::Ok)
}

fn told(runs: &[MemoryRun], style: Style) -> String {
    let mark = style.shape(Shape::Settled);
    let done: Vec<&MemoryRun> = runs.iter().filter(|run| run.run.is_some()).collect();
    if done.is_empty() {
        return format!("{mark} there is nothing to decide about\n");
    }
    let mut out = String::new();
    for run in done {
        let MemoryRun { agent, looked_at, promoted, deduplicated, rejected, conflicts, lexical, .. } = run;
        let looked_at = count(*looked_at, "memory", "memories");
        out.push_str(&format!(
            "{mark} {agent}: {looked_at} looked at, {} kept, {} merged, {} refused\n",
            number(*promoted),
            number(*deduplicated),
            number(*rejected)
        ));
        for merged in &run.merged {
            out.push_str(&format!("  {} says what {} said\n", merged.kept, merged.discarded));
        }
        for (one, other) in conflicts {
            out.push_str(&format!(
                "  {} {one} and {other} contradict each other; both are kept\n",
                style.shape(Shape::NeedsYou)
            ));
        }
        if *lexical {
            out.push_str("  without the model, by words alone; looked at again when it is there\n");
        }
    }
    out
}
