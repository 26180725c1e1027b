//! `holdfast rebuild`: makes the index anew from the journal.

use clap::Args;
use holdfast_control::{Answer, Request};
use holdfast_types::Exit;
use serde_json::json;

use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, entries};
use crate::problem::Result;

/// Make the index anew from the journal
///
/// The old one answers until the new one is whole; stopped half-way, nothing has changed. No model is called.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: entries, seconds, projections[] with name, next_seq, behind, halted; dry_run.")]
pub(crate) struct RebuildArgs {
    /// Say what would be replayed and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &RebuildArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if args.dry_run {
        let size = house.view(&Default::default())?.size()?;
        if console.is_json() {
            console.json(&json!({"entries": size, "seconds": 0.0, "projections": [], "dry_run": true}))?;
        } else {
            let index = house.places.shown(&house.places.index());
            let mark = console.out_style.shape(Shape::Unknown);
            console.line(&format!("{mark} would replay {} into a new {index}", entries(size)))?;
        }
        return Ok(Exit::Ok);
    }
    let rebuilt = match ask(house, &Request::Rebuild {}, console)? {
        Answer::Rebuilt(rebuilt) => rebuilt,
        other => return Err(unexpected(&other)),
    };
    let halted = rebuilt.projections.iter().find(|p| p.halted.is_some());
    if console.is_json() {
        console.json(&json!({
            "entries": rebuilt.entries,
            "seconds": rebuilt.seconds,
            "projections": rebuilt.projections,
            "dry_run": false,
        }))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let (size, seconds) = (entries(rebuilt.entries), rebuilt.seconds);
        console.line(&format!("{mark} rebuilt: {size} replayed in {seconds:.1} s"))?;
    }
    if let Some(halted) = halted {
        let why = halted.halted.as_deref().unwrap_or_default();
        console.warn(&format!(
            "the projection {} stands still at entry {}: {why}",
            halted.name, halted.next_seq
        ));
        return Ok(Exit::Negative);
    }
    Ok(Exit::Ok)
}
