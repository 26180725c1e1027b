//! `holdfast memory stats`: who remembers how much.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryCount, MemoryStats};
use holdfast_types::Exit;
use serde_json::json;

use super::{ask, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, Style, count, number, printable, table, time};
use crate::problem::Result;

/// Who remembers how much, and where it stands
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: agents[] with agent, session, durable, archived, merged, superseded, rejected, forgotten, blocked, refused (by gate), conflicts, runs, \
last_run, without_vector; model (whether there is one).")]
pub(super) struct StatsArgs {
    /// Whose memory [default: everybody's]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

pub(super) fn run(args: &StatsArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let stats = match ask(&mut Talk::with(house), MemoryAsk::Stats { agent: args.agent.clone() }, console)? {
        MemoryAnswer::Stats(stats) => stats,
        other => return Err(strange(other)),
    };
    if console.is_json() {
        console.json(&json!({"agents": stats.agents, "model": stats.model}))?;
    } else {
        let text = told(&stats, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn told(stats: &MemoryStats, style: Style) -> String {
    if stats.agents.is_empty() {
        let mark = style.shape(Shape::Unknown);
        return format!("{mark} nobody remembers anything yet; `holdfast memory add` begins it\n");
    }
    let mut out = String::new();
    for agent in &stats.agents {
        let MemoryCount { session, durable, archived, .. } = agent;
        let all = count(session + durable + archived, "memory", "memories");
        out.push_str(&format!("{} {}: {all}\n", style.shape(Shape::Settled), printable(&agent.agent)));
        out.push_str(&table(&rows(agent), style));
    }
    if !stats.model {
        out.push_str("\nthere is no model: searches go by words alone; `holdfast model fetch` brings one\n");
    }
    out
}

/// What there is some of.
fn rows(agent: &MemoryCount) -> Vec<(String, String)> {
    let counts = [
        ("not decided about yet", agent.session),
        ("kept", agent.durable),
        ("archived", agent.archived),
        ("merged", agent.merged),
        ("superseded", agent.superseded),
        ("refused later", agent.rejected),
        ("forgotten", agent.forgotten),
        ("contradictions", agent.conflicts),
        ("without a vector", agent.without_vector),
        ("blocked by the guard", agent.blocked),
        ("refused by gates", agent.refused.values().sum()),
    ];
    let some = counts.into_iter().filter(|(_, n)| *n > 0);
    let mut rows: Vec<(String, String)> = some.map(|(what, n)| (what.to_owned(), number(n))).collect();
    if let Some(at) = agent.last_run {
        let times = count(agent.runs, "time", "times");
        rows.push(("consolidated".to_owned(), format!("{times}, last {}", time(at))));
    }
    rows
}
