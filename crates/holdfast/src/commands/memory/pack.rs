//! `holdfast memory pack`: the memories that go with an objective, cut to a budget, as an agent is given them.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryPack};
use holdfast_types::Exit;
use serde_json::json;

use super::search::OnlyArgs;
use super::{WhoseArgs, ask, say_by_words, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::{number, printable_lines};
use crate::problem::Result;

/// Tokens of a pack when nobody says how many: a page or two, which leaves an agent most of its context.
const BUDGET: u32 = 2_000;

/// Print the memories that go with an objective, within a budget of tokens
///
/// The same journal and the same question give the same bytes, and a digest of them. Each memory is quoted with where it comes from, and what contradicts
/// another comes with it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast memory pack 'move the gateway of staging to another port' --agent scout --budget 1000

Exit code 1: nothing goes with it, or nobody of that name remembers anything.

JSON fields: agent, objective, budget, tokens, at_entry, lexical (there is no model), left_out, digest, text, items[] with id, shared_by, tokens, rationale, \
confidence, conflicts[].")]
pub(super) struct PackArgs {
    /// What the agent is about to do
    objective: String,

    #[command(flatten)]
    whose: WhoseArgs,

    /// The most tokens it may have
    #[arg(long, value_name = "TOKENS", default_value_t = BUDGET, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    budget: u32,

    /// Also say why each memory is in it
    #[arg(long)]
    why: bool,

    #[command(flatten)]
    only: OnlyArgs,
}

pub(super) fn run(args: &PackArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let asked = MemoryAsk::Pack {
        agent: args.whose.agent.clone(),
        objective: args.objective.clone(),
        budget: args.budget,
        only: Box::new(args.only.filter()),
    };
    let pack = match ask(&mut Talk::with(house), asked, console)? {
        MemoryAnswer::Packed(pack) => *pack,
        other => return Err(strange(other)),
    };
    let exit = if pack.items.is_empty() { Exit::Negative } else { Exit::Ok };
    let MemoryPack { agent, objective, budget, tokens, at_entry, lexical, left_out, digest, text, items } =
        &pack;
    if console.is_json() {
        console.json(&json!({
            "agent": agent, "objective": objective, "budget": budget, "tokens": tokens, "at_entry": at_entry, "lexical": lexical,
            "left_out": left_out, "digest": digest, "text": text, "items": items,
        }))?;
        return Ok(exit);
    }
    if *lexical {
        say_by_words(console);
    }
    let shown = printable_lines(text);
    console.write(shown.as_bytes())?;
    if !shown.ends_with('\n') {
        console.line("")?;
    }
    if args.why {
        for item in items {
            console.note(&format!("{} ({} tokens): {}", item.id, number(item.tokens), item.rationale));
        }
    }
    console.note(&format!(
        "{} of {} tokens, {} left out, as of entry {at_entry}, {digest}",
        number(*tokens),
        number(*budget),
        number(*left_out)
    ));
    Ok(exit)
}
