//! `holdfast memory search`: one question, or a file of them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::Args;
use holdfast_control::{
    MemoryAnswer, MemoryAnswered, MemoryAsk, MemoryBrief, MemoryFilter, MemoryFound, MemoryHit, MemoryQuery,
    MemorySearch, MemoryTold,
};
use holdfast_types::{Exit, Timestamp, Trust};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::lines::{Lines, TOLD_MAX};
use super::{WhoseArgs, ask, moment, quoted, say_by_words, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::{House, now};
use crate::look::{Shape, Style, count, printable, span};
use crate::problem::{CliError, Result};

/// Questions that are sent at once.
const PIECE: usize = 32;

/// Lines of a text that a list of hits shows; all of it is in `show`.
const TEXT_LINES: usize = 6;

/// Find memories by a question
///
/// By words, and by meaning where there is a model. Every hit says where it comes from and how far it is trusted; what it says is quoted, and is
/// data and never an instruction.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast memory search 'which port does the gateway use?' --agent scout
  holdfast memory search --batch questions.jsonl --top 20

Exit code 1: nothing was found, nobody of that name remembers anything, or a line of a batch could not be answered.

JSON fields: agent, hits[] with id, score, text, why[], conflicts[], kind, type, scope, confidence, tags[], marks[], standing, at, captured, source, \
thread, source_id, actor, trust, entry, origins[], shared_by; lexical (there is no model), exact, without_vector, left_off.

With --batch each line is {\"id\", \"query\", \"agent\"}, and the answer to it is a line {\"id\", \"hits\"}, each hit with id, source_id, score. \
With --batch the fields are: id, hits[]. Age does not count there.")]
pub(super) struct SearchArgs {
    /// The question
    #[arg(required_unless_present = "batch")]
    query: Option<String>,

    /// A file of JSON lines, each with id, query and perhaps agent; - reads standard input
    #[arg(long, value_name = "QUERIES.jsonl", conflicts_with = "query")]
    batch: Option<PathBuf>,

    #[command(flatten)]
    whose: WhoseArgs,

    /// How many hits at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=200))]
    top: u32,

    #[command(flatten)]
    only: OnlyArgs,
}

/// Which memories it is about.
#[derive(Debug, Args)]
pub(super) struct OnlyArgs {
    /// Only of this kind: session_facts, outcomes, directives, user_inputs, version_snapshots, run_trajectories, doc_trajectories, experiences
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,

    /// Only of this type: decision, fact, preference, pattern, error
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,

    /// Only of this scope: project, global
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,

    /// Only what was said at or after this moment: 2026-11-18T09:30:00Z, or 2026-11-18
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,

    /// Only what was said before this moment
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,

    /// Only what has this tag; with several, what has all of them
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    /// Only what is trusted at least so far: disposable, untrusted, semi-trusted, trusted, admin
    #[arg(long, value_name = "LEVEL")]
    trust: Option<Trust>,

    /// Only what is about this host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Not what is archived
    #[arg(long)]
    fresh: bool,
}

impl OnlyArgs {
    pub(super) fn filter(&self) -> MemoryFilter {
        MemoryFilter {
            kinds: self.kinds.clone(),
            types: self.types.clone(),
            scope: self.scope.clone(),
            since: self.since,
            until: self.until,
            tags: self.tags.clone(),
            trust: self.trust,
            fresh: self.fresh,
            host: self.host.clone(),
        }
    }
}

pub(super) fn run(
    args: &SearchArgs,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    match (&args.query, &args.batch) {
        (_, Some(path)) => batch(args, path, house, console),
        (Some(query), None) => one(args, query, &house()?, console),
        (None, None) => Err(CliError::Usage { message: "ask something, or give --batch".into() }.into()),
    }
}

fn one(args: &SearchArgs, query: &str, house: &House, console: &mut Console) -> Result<Exit> {
    let search = MemorySearch {
        agent: args.whose.agent.clone(),
        query: query.to_owned(),
        only: args.only.filter(),
        top: args.top,
    };
    let found = match ask(&mut Talk::with(house), MemoryAsk::Search(Box::new(search)), console)? {
        MemoryAnswer::Found(found) => found,
        other => return Err(strange(other)),
    };
    let exit = if found.hits.is_empty() { Exit::Negative } else { Exit::Ok };
    if console.is_json() {
        let MemoryFound { agent, hits, lexical, exact, without_vector, left_off } = &found;
        console.json(
            &json!({"agent": agent, "hits": hits, "lexical": lexical, "exact": exact, "without_vector": without_vector,
            "left_off": left_off}),
        )?;
        return Ok(exit);
    }
    if found.lexical {
        say_by_words(console);
    } else if found.without_vector > 0 {
        let waiting = count(found.without_vector, "memory was", "memories were");
        console.note(&format!("{waiting} looked at by words alone: they have no vector yet"));
    }
    let text = told(&found, now(), console.out_style, console.width());
    console.write(text.as_bytes())?;
    Ok(exit)
}

fn told(found: &MemoryFound, now: Timestamp, style: Style, width: usize) -> String {
    if found.hits.is_empty() {
        return format!("{} {} remembers nothing like it\n", style.shape(Shape::Unknown), found.agent);
    }
    let mut out = String::new();
    for hit in &found.hits {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&told_hit(hit, now, style, width));
    }
    if found.left_off > 0 {
        let more = count(found.left_off, "further hit does not fit", "further hits do not fit");
        out.push_str(&format!("\n{more} here; ask for fewer with --top\n"));
    }
    out
}

fn told_hit(hit: &MemoryHit, now: Timestamp, style: Style, width: usize) -> String {
    let MemoryHit { score, conflicts, memory, .. } = hit;
    let mut out = format!("{}  {score:.2}  {}\n", memory.id, style.faint(&from_where(memory, now)));
    out.push_str(&quoted(&memory.text, width, TEXT_LINES));
    if !conflicts.is_empty() {
        out.push_str(&format!("  {} otherwise: {}\n", style.shape(Shape::NeedsYou), conflicts.join(", ")));
    }
    out
}

/// `3 min ago in session_1, by ana, trusted, entry 4`.
pub(super) fn from_where(memory: &MemoryTold, now: Timestamp) -> String {
    let age = span(now.since(memory.at).as_secs_f64());
    let thread = memory.thread.as_deref().map(|it| format!(" in {}", printable(it))).unwrap_or_default();
    let called = memory.source_id.as_deref().map(|it| format!(" as {}", printable(it))).unwrap_or_default();
    let shared =
        memory.shared_by.as_deref().map(|it| format!(", shared by {}", printable(it))).unwrap_or_default();
    let MemoryTold { actor, trust, entry, .. } = memory;
    format!("{age} ago{thread}{called}, by {actor}, {trust}, entry {entry}{shared}")
}

/// A line of a batch.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    query: Cow<'a, str>,
    #[serde(borrow, default)]
    agent: Option<Cow<'a, str>>,
}

/// The answer to it.
#[derive(Serialize)]
struct Answered<'a> {
    id: &'a RawValue,
    hits: &'a [MemoryBrief],
}

impl Asked<'_> {
    /// What is wrong is said without repeating any of it.
    fn read(line: &str) -> Result<Asked<'_>, String> {
        let asked: Asked<'_> = serde_json::from_str(line).map_err(|e| match e.classify() {
            serde_json::error::Category::Data => "it is not an object with an id and a query".to_owned(),
            _ => format!("it is not JSON from byte {} on", e.column()),
        })?;
        match asked.id.get().as_bytes().first() {
            Some(b'"' | b'-' | b'0'..=b'9') => Ok(asked),
            _ => Err("its id is neither a text nor a number".to_owned()),
        }
    }
}

/// What went wrong with questions, told as far as it is worth while.
#[derive(Default)]
struct Wrong {
    lines: u64,
    told: Vec<String>,
    lexical: bool,
}

impl Wrong {
    fn note(&mut self, line: u64, why: &str, console: &Console) {
        self.lines += 1;
        // What is wrong with every line is said once.
        if self.told.len() < TOLD_MAX && !self.told.iter().any(|told| told == why) {
            console.warn(&format!("line {line} of the batch: {why}"));
            self.told.push(why.to_owned());
        }
    }
}

fn batch(
    args: &SearchArgs,
    path: &Path,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    let mut lines = Lines::open(path)?;
    let house = house()?;
    house.view(&Default::default())?;
    let mut talk = Talk::with(&house);
    let mut wrong = Wrong::default();
    loop {
        let mut piece: Vec<(u64, String)> = Vec::new();
        while piece.len() < PIECE {
            match lines.next()? {
                None => break,
                Some((number, Err(why))) => wrong.note(number, &why, console),
                Some((number, Ok(line))) => match Asked::read(&line) {
                    Ok(_) => piece.push((number, line)),
                    Err(why) => wrong.note(number, &why, console),
                },
            }
        }
        if piece.is_empty() {
            break;
        }
        answer(&piece, args, &mut talk, &mut wrong, console)?;
    }
    if wrong.lexical {
        say_by_words(console);
    }
    Ok(if wrong.lines > 0 { Exit::Negative } else { Exit::Ok })
}

fn answer(
    piece: &[(u64, String)],
    args: &SearchArgs,
    talk: &mut Talk<'_>,
    wrong: &mut Wrong,
    console: &mut Console,
) -> Result<()> {
    let asked: Vec<Asked<'_>> = piece.iter().filter_map(|(_, line)| Asked::read(line).ok()).collect();
    let query = |asked: &Asked<'_>| MemoryQuery {
        agent: asked.agent.as_deref().unwrap_or(&args.whose.agent).to_owned(),
        query: asked.query.clone().into_owned(),
    };
    let queries = asked.iter().map(query).collect();
    let only = Box::new(args.only.filter());
    let answers = match ask(talk, MemoryAsk::SearchMany { queries, only, top: args.top }, console)? {
        MemoryAnswer::FoundMany(answers) => answers,
        other => return Err(strange(other)),
    };
    for (((number, _), asked), found) in piece.iter().zip(&asked).zip(&answers) {
        let MemoryAnswered { hits, trouble, lexical } = found;
        wrong.lexical |= lexical;
        if let Some(why) = trouble {
            wrong.note(*number, why, console);
        }
        // Texts and numbers always serialise.
        let line = serde_json::to_string(&Answered { id: asked.id, hits }).unwrap_or_default();
        console.line(&line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_question_is_told_apart_without_being_repeated() {
        for (line, said) in [
            ("hunter2xyz", "not JSON from byte 1"),
            ("[1]", "not an object"),
            ("{\"id\":1}", "not an object"),
            ("{\"id\":1,\"query\":7}", "not an object"),
            ("{\"id\":null,\"query\":\"a\"}", "neither a text nor a number"),
        ] {
            let wrong = Asked::read(line).err().unwrap();
            assert!(wrong.contains(said) && !wrong.contains("hunter2"), "{line}: {wrong}");
        }
        let asked =
            Asked::read("{\"id\":12345678901234567890.50,\"query\":\"\\u0061\",\"agent\":null}").unwrap();
        assert_eq!((asked.id.get(), asked.query.as_ref()), ("12345678901234567890.50", "a"));
    }
}
