//! `holdfast memory import`: memories from elsewhere, a line of JSON each, sent in pieces.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use holdfast_control::{
    MemoryAnswer, MemoryAsk, MemoryEmbedded, MemoryImported, MemoryLine, MemoryLines, MemoryWrong,
};
use holdfast_memory::Gates;
use holdfast_memory_host::{AgentName, Imported, Line, Screened, preview};
use holdfast_types::{Exit, Trust};
use serde_json::json;

use super::lines::{Lines, TOLD_MAX};
use super::{ActorArgs, WhoseArgs, ask, say_by_words, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, count, number};
use crate::problem::Result;

/// A piece that is sent at once: what becomes durable together, and far below what the socket takes.
const PIECE_LINES: usize = 256;
const PIECE_BYTES: usize = 1024 * 1024;

/// Import memories from a file of JSON lines
///
/// Each line is an object with content, and as far as known id, at, kind, source, tags and agent. The id is kept as source_id: a line whose id is
/// here already is not taken again, so that an import that was cut short is begun again. Secrets are always taken out. Nothing is merged, and
/// what is imported stays.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast memory import conversations.jsonl --agent scout

A line that is none is told with its number, the others are taken, and the exit code is 1.

JSON fields: captured, repeated, blocked, too_long, refused, doubted (both by gate), wrong[] with line, why (the first \
thousand); wrong_lines, embedded, model (whether there is one), dry_run.")]
pub(super) struct ImportArgs {
    /// The file; - reads standard input
    #[arg(value_name = "FILE.jsonl")]
    file: PathBuf,

    #[command(flatten)]
    whose: WhoseArgs,

    /// Refuse what the quality gates refuse, instead of saying what they think
    #[arg(long)]
    gate: bool,

    /// How far the lines are trusted: disposable, untrusted, semi-trusted, trusted, admin
    #[arg(long, value_name = "LEVEL", default_value = "trusted")]
    trust: Trust,

    /// Leave the vectors to a quiet moment, and to the next search
    #[arg(long)]
    without_vectors: bool,

    #[command(flatten)]
    by: ActorArgs,

    /// Say what would become of the lines and store nothing
    #[arg(long)]
    dry_run: bool,
}

/// What became of the whole file.
#[derive(Debug, Default)]
struct Sum {
    all: MemoryImported,
    wrong_lines: u64,
    embedded: Option<MemoryEmbedded>,
}

pub(super) fn run(
    args: &ImportArgs,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    let mut lines = Lines::open(&args.file)?;
    let house = house()?;
    let mut sum = Sum::default();
    if args.dry_run {
        house.view(&Default::default())?;
        while let Some(piece) = piece(&mut lines, &mut sum, console)? {
            sum.add(previewed(piece, args), console);
        }
    } else {
        import(args, &mut lines, &mut sum, &house, console)?;
    }
    show(&sum, args, console)?;
    Ok(if sum.wrong_lines + sum.all.too_long > 0 { Exit::Negative } else { Exit::Ok })
}

fn import(
    args: &ImportArgs,
    lines: &mut Lines,
    sum: &mut Sum,
    house: &House,
    console: &Console,
) -> Result<()> {
    let mut talk = Talk::with(house);
    let actor = args.by.actor()?;
    // A home that is not there is the news, also for a file with nothing in it.
    house.view(&Default::default())?;
    while let Some(lines) = piece(lines, sum, console)? {
        let (agent, actor) = (args.whose.agent.clone(), actor.clone());
        let asked = MemoryLines { lines, agent, actor, trust: args.trust, gate: args.gate };
        match ask(&mut talk, MemoryAsk::Import(asked), console)? {
            MemoryAnswer::Imported(done) => sum.add(done, console),
            other => return Err(strange(other)),
        }
        console.progress(&format!("importing  {} memories", number(sum.all.captured + sum.all.repeated)));
    }
    console.progress("");
    if args.without_vectors || sum.all.captured + sum.all.repeated == 0 {
        return Ok(());
    }
    match ask(&mut talk, MemoryAsk::Embed { agent: None }, console)? {
        MemoryAnswer::Embedded(embedded) => sum.embedded = Some(embedded),
        other => return Err(strange(other)),
    }
    Ok(())
}

/// The next lines that go together; none at the end.
fn piece(lines: &mut Lines, sum: &mut Sum, console: &Console) -> Result<Option<Vec<MemoryLine>>> {
    let (mut piece, mut bytes) = (Vec::new(), 0);
    while piece.len() < PIECE_LINES && bytes < PIECE_BYTES {
        match lines.next()? {
            None => break,
            Some((number, Ok(text))) => {
                bytes += text.len();
                piece.push(MemoryLine { number, text });
            }
            Some((line, Err(why))) => sum.add_wrong(MemoryWrong { line, why }, console),
        }
    }
    Ok((!piece.is_empty()).then_some(piece))
}

fn previewed(lines: Vec<MemoryLine>, args: &ImportArgs) -> MemoryImported {
    let (mut imported, mut read) = (MemoryImported::default(), Vec::new());
    for line in lines {
        let parsed = Line::parse(&line.text).map_err(|e| e.to_string());
        let named = parsed.and_then(|parsed| {
            let name = parsed.agent.as_deref().unwrap_or(&args.whose.agent);
            name.parse::<AgentName>().map(drop).map_err(|e| e.to_string())?;
            Ok(parsed)
        });
        match named {
            Ok(parsed) => read.push(parsed),
            Err(why) => imported.wrong.push(MemoryWrong { line: line.number, why }),
        }
    }
    let redactor = Screened(std::sync::Arc::new(crate::sieve::screen()));
    let Imported { captured, blocked, refused, doubted, too_long, .. } =
        preview(read, &redactor, &Gates::capture(), args.gate);
    let named =
        |of: BTreeMap<&'static str, u64>| of.into_iter().map(|(gate, n)| (gate.to_owned(), n)).collect();
    MemoryImported {
        captured,
        blocked,
        too_long,
        refused: named(refused),
        doubted: named(doubted),
        ..imported
    }
}

impl Sum {
    fn add(&mut self, done: MemoryImported, console: &Console) {
        let MemoryImported { captured, repeated, blocked, too_long, refused, doubted, wrong } = done;
        self.all.captured += captured;
        self.all.repeated += repeated;
        self.all.blocked += blocked;
        self.all.too_long += too_long;
        refused.into_iter().for_each(|(gate, n)| *self.all.refused.entry(gate).or_default() += n);
        doubted.into_iter().for_each(|(gate, n)| *self.all.doubted.entry(gate).or_default() += n);
        wrong.into_iter().for_each(|wrong| self.add_wrong(wrong, console));
    }

    fn add_wrong(&mut self, wrong: MemoryWrong, console: &Console) {
        const KEPT: usize = 1000;
        if self.all.wrong.len() < TOLD_MAX {
            console.warn(&format!("line {} is not taken: {}", wrong.line, wrong.why));
        }
        self.wrong_lines += 1;
        if self.all.wrong.len() < KEPT {
            self.all.wrong.push(wrong);
        }
    }
}

fn show(sum: &Sum, args: &ImportArgs, console: &mut Console) -> Result<()> {
    let MemoryImported { captured, repeated, blocked, too_long, refused, doubted, wrong } = &sum.all;
    let embedded = sum.embedded.map(|it| it.embedded);
    if console.is_json() {
        return console.json(&json!({
            "captured": captured, "repeated": repeated, "blocked": blocked, "too_long": too_long, "refused": refused,
            "doubted": doubted, "wrong": wrong, "wrong_lines": sum.wrong_lines, "embedded": embedded,
            "model": sum.embedded.map(|it| it.model), "dry_run": args.dry_run,
        }));
    }
    if sum.embedded.is_some_and(|it| !it.model) {
        say_by_words(console);
    }
    let text = told(sum, args.dry_run, console);
    console.write(text.as_bytes())
}

fn told(sum: &Sum, dry_run: bool, console: &Console) -> String {
    let MemoryImported { captured, repeated, blocked, too_long, refused, doubted, .. } = &sum.all;
    let shape = match (dry_run, sum.wrong_lines) {
        (true, _) => Shape::Unknown,
        (false, 0) => Shape::Settled,
        (false, _) => Shape::NeedsYou,
    };
    let verb = if dry_run { " would be imported" } else { " imported" };
    let mut out =
        format!("{} {}{verb}", console.out_style.shape(shape), count(*captured, "memory", "memories"));
    if *repeated > 0 {
        out.push_str(&format!(", {} here before", number(*repeated)));
    }
    out.push('\n');
    let gates = |of: &BTreeMap<String, u64>| {
        of.iter().map(|(gate, n)| format!("{gate} {}", number(*n))).collect::<Vec<_>>().join(", ")
    };
    let mut row = |is: bool, text: String| {
        if is {
            out.push_str(&format!("  {text}\n"));
        }
    };
    row(!doubted.is_empty(), format!("kept, though gates would have refused: {}", gates(doubted)));
    row(!refused.is_empty(), format!("refused by gates: {}", gates(refused)));
    row(*blocked > 0, format!("blocked by the guard: {}", number(*blocked)));
    row(*too_long > 0, format!("longer than a memory may be: {}", number(*too_long)));
    row(sum.wrong_lines > 0, format!("not taken: {}", count(sum.wrong_lines, "line", "lines")));
    row(
        sum.embedded.is_some_and(|it| it.embedded > 0),
        format!("ready to be found by meaning: {}", number(sum.embedded.map_or(0, |it| it.embedded))),
    );
    out
}
