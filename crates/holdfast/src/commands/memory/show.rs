//! `holdfast memory show`: all that is known of one memory.

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryShown, MemoryTold};
use holdfast_types::Exit;
use serde_json::json;

use super::{WhoseArgs, ask, quoted, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, Style, number, printable, table, time};
use crate::problem::Result;

/// Show all that is known of a memory: its text, where it comes from, where it stands
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: agent, id, entry, standing (session, durable, archived, merged, superseded, rejected, forgotten), replaced_by, gate, replaces[], conflicts[], \
shared_with[], citations, captured, memory (null when it was forgotten) with the fields of a hit of `memory search`.")]
pub(super) struct ShowArgs {
    /// The memory
    id: String,

    #[command(flatten)]
    whose: WhoseArgs,
}

pub(super) fn run(args: &ShowArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let shown = look(&mut Talk::with(house), &args.whose.agent, &args.id, console)?;
    if console.is_json() {
        console.json(&json!(shown))?;
    } else {
        let text = told(&shown, console.out_style, console.width());
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// What whoever has the home open knows of a memory.
pub(super) fn look(talk: &mut Talk<'_>, agent: &str, id: &str, console: &Console) -> Result<MemoryShown> {
    match ask(talk, MemoryAsk::Show { agent: agent.to_owned(), id: id.to_owned() }, console)? {
        MemoryAnswer::Shown(shown) => Ok(*shown),
        other => Err(strange(other)),
    }
}

fn told(shown: &MemoryShown, style: Style, width: usize) -> String {
    let shape = match shown.standing.as_str() {
        "session" => Shape::OnTrial,
        "durable" => Shape::Settled,
        "rejected" => Shape::Failed,
        "forgotten" => Shape::Undone,
        _ => Shape::Unknown,
    };
    let standing = if shown.standing == "session" { "not decided about yet" } else { &shown.standing };
    let mut out = format!("{} {}  {standing}\n\n", style.shape(shape), shown.id);
    if let Some(memory) = &shown.memory {
        out.push_str(&quoted(&memory.text, width, usize::MAX));
        out.push('\n');
    }
    out.push_str(&table(&rows(shown), style));
    out
}

fn rows(shown: &MemoryShown) -> Vec<(String, String)> {
    let mut rows = vec![("whose".to_owned(), printable(&shown.agent))];
    let mut row = |label: &str, value: Option<String>| rows.extend(value.map(|it| (label.to_owned(), it)));
    row("replaced by", shown.replaced_by.clone());
    row("refused by", shown.gate.as_ref().map(|gate| format!("the gate {gate}")));
    let list = |ids: &[String]| (!ids.is_empty()).then(|| ids.join(", "));
    row("replaces", list(&shown.replaces));
    row("contradicts", list(&shown.conflicts));
    row("shared with", list(&shown.shared_with));
    row("of use to", (shown.citations > 0).then(|| number(shown.citations)));
    match &shown.memory {
        Some(memory) => of_memory(memory, &mut row),
        None => row("text", Some("forgotten; its key is destroyed".to_owned())),
    }
    row("captured", Some(format!("{}, entry {}", time(shown.captured), shown.entry)));
    rows
}

fn of_memory(memory: &MemoryTold, row: &mut dyn FnMut(&str, Option<String>)) {
    let MemoryTold { entry_type, kind, scope, confidence, tags, marks, source, actor, trust, .. } = memory;
    row("what", Some(format!("{entry_type}, {kind}, {scope}, confidence {confidence:.2}")));
    row("tags", (!tags.is_empty()).then(|| printable(&tags.join(", "))));
    row("marks", (!marks.is_empty()).then(|| marks.join(", ")));
    let thread = memory.thread.as_deref().map(|it| format!(", {}", printable(it))).unwrap_or_default();
    let called =
        memory.source_id.as_deref().map(|it| format!(", there {}", printable(it))).unwrap_or_default();
    row("said", Some(format!("{} in {source}{thread}{called}", time(memory.at))));
    row("by", Some(format!("{actor}, {trust}")));
    for origin in &memory.origins {
        let span = origin.span.map(|(from, to)| format!(", bytes {from} to {to}")).unwrap_or_default();
        row("made from", Some(format!("entry {}{span}, {}", origin.entry, origin.trust)));
    }
}
