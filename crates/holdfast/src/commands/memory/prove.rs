//! `holdfast memory prove-forgotten`: looks for anything that is left of a memory.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryProof};
use holdfast_types::Exit;
use serde_json::json;

use super::{WhoseArgs, ask, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, time};
use crate::problem::Result;

/// Show that a memory was forgotten: look everywhere for what is left of it
///
/// Every place is looked at now, and none is taken from what was said before. That it was forgotten, and when it was captured, stays in the
/// journal. Exit code 1: something is left, or it was never forgotten.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: agent, id, entry, captured, holds, looks (each place by name, and whether it is as it should be).")]
pub(super) struct ProveArgs {
    /// The memory
    id: String,

    #[command(flatten)]
    whose: WhoseArgs,
}

pub(super) fn run(args: &ProveArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let asked = MemoryAsk::ProveForgotten { agent: args.whose.agent.clone(), id: args.id.clone() };
    let proof = match ask(&mut Talk::with(house), asked, console)? {
        MemoryAnswer::Proof(proof) => proof,
        other => return Err(strange(other)),
    };
    let MemoryProof { agent, id, entry, captured, holds, looks } = &proof;
    if console.is_json() {
        console.json(&json!({"agent": agent, "id": id, "entry": entry, "captured": captured, "holds": holds, "looks": looks}))?;
    } else {
        for (look, is) in looks {
            let mark = console.out_style.shape(if *is { Shape::Settled } else { Shape::Failed });
            console.line(&format!("  {mark} {look}{}", if *is { "" } else { ": no" }))?;
        }
        let mark = console.out_style.shape(if *holds { Shape::Settled } else { Shape::Failed });
        let word = if *holds { "is forgotten: nothing of its text is left here" } else { "is not forgotten" };
        console
            .line(&format!("{mark} {id} of {agent} {word}; entry {entry}, captured {}", time(*captured)))?;
    }
    Ok(if *holds { Exit::Ok } else { Exit::Negative })
}
