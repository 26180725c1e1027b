//! `holdfast audit tail`: the newest entries, and those that come.
//!
//! Reads through a view, without the lock, also while another process writes. Only as much of the log is read
//! as is needed: the last N entries, or, with a filter, blocks from the end backwards until N are found. What
//! is shown goes out in batches, so memory does not grow with the log.

use std::time::Duration;

use clap::Args;
use holdfast_journal::{Entries, Entry, RawEntry, Stored, View};
use holdfast_types::{Actor, AgentId, Exit};

use crate::console::Console;
use crate::house::{ArchiveArgs, House};
use crate::look::{bytes, cut, padded, printable, printable_lines, time};
use crate::problem::{Failure, Result};

/// Show the newest entries
#[derive(Debug, Args)]
#[command(after_long_help = "\
With --json each line is the entry exactly as it stands in the log. JSON fields: seq, v, at, origin, room, kind, actor, \
trust, crc; only where there is one: agent, target, run, cause, key, body, blob.")]
pub(crate) struct TailArgs {
    /// How many entries [default: 20, or all of them with --from]
    #[arg(short = 'n', long = "lines", value_name = "N")]
    lines: Option<u64>,

    /// Begin at this entry
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,

    /// Go on as entries come, until interrupted
    #[arg(long, short = 'f')]
    follow: bool,

    /// Only kinds that begin so: steward, steward.trial
    #[arg(long, value_name = "PREFIX")]
    kind: Option<String>,

    /// Only what this actor did
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,

    /// Also the texts sealed with entries; takes the lock for a moment
    #[arg(long, conflicts_with = "json")]
    text: bool,

    #[command(flatten)]
    archive: ArchiveArgs,
}

const LINES: u64 = 20;

/// Often enough to feel live, seldom enough to cost nothing.
const POLL_EVERY: Duration = Duration::from_millis(200);

/// So many lines are looked at before their columns are drawn.
const BATCH: usize = 500;

pub(crate) fn run(args: &TailArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let view = house.view(&args.archive)?;
    let filter = Filter { kind: args.kind.clone(), actor: args.actor.clone() };
    let (from, lines) = match args.from {
        Some(from) => (from, args.lines),
        None => (start_of_last(&view, args, &filter)?, None),
    };
    let mut tail = Tail {
        args,
        house,
        filter,
        entries: view.entries(from),
        columns: Columns::default(),
        day: String::new(),
    };
    tail.show(lines.unwrap_or(u64::MAX), console)?;
    if !args.follow {
        return Ok(Exit::Ok);
    }
    // Ends by the signal that interrupts it, or when the reader leaves.
    loop {
        console.pause(POLL_EVERY)?;
        tail.show(u64::MAX, console)?;
    }
}

#[derive(Debug, Default)]
struct Filter {
    kind: Option<String>,
    actor: Option<Actor>,
}

impl Filter {
    fn is_open(&self) -> bool {
        self.kind.is_none() && self.actor.is_none()
    }

    fn takes(&self, entry: &Entry) -> bool {
        self.kind.as_ref().is_none_or(|kind| begins_with(entry.kind.as_str(), kind))
            && self.actor.as_ref().is_none_or(|actor| *actor == entry.actor)
    }
}

/// By whole words: `steward.trial` is no beginning of `steward.trials.counted`.
fn begins_with(kind: &str, prefix: &str) -> bool {
    let prefix = prefix.strip_suffix('.').unwrap_or(prefix);
    kind.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Where the last entries the filter takes begin.
fn start_of_last(view: &View, args: &TailArgs, filter: &Filter) -> Result<u64> {
    let wanted = args.lines.unwrap_or(LINES);
    let size = view.size()?;
    let oldest = match args.archive.archive {
        Some(_) => 0,
        None => view.oldest_here()?,
    };
    if filter.is_open() || wanted == 0 {
        return Ok(size.saturating_sub(wanted).max(oldest));
    }
    let (mut end, mut block, mut missing) = (size, 1_000, wanted);
    while end > oldest {
        let start = end.saturating_sub(block).max(oldest);
        let taken = taken_in(view, start, end, filter)?;
        let nth_last = usize::try_from(missing).ok().and_then(|n| taken.len().checked_sub(n));
        if let Some(seq) = nth_last.and_then(|n| taken.get(n)) {
            return Ok(*seq);
        }
        missing -= taken.len() as u64;
        end = start;
        // Larger blocks further back: each costs a look into a segment from its beginning.
        block = (block * 4).min(100_000);
    }
    Ok(oldest)
}

/// Which entries of a part of the log the filter takes.
fn taken_in(view: &View, start: u64, end: u64, filter: &Filter) -> Result<Vec<u64>> {
    let mut taken = Vec::new();
    let mut entries = view.entries(start);
    while entries.position() < end {
        let Some(raw) = entries.next_raw()? else { break };
        if filter.takes(&raw.parse()?) {
            taken.push(raw.seq);
        }
    }
    Ok(taken)
}

/// A place in the log, and how it is shown.
struct Tail<'a> {
    args: &'a TailArgs,
    house: &'a House,
    filter: Filter,
    entries: Entries,
    columns: Columns,
    day: String,
}

impl Tail<'_> {
    /// Shows at most `left` entries, to where the log ends for now.
    fn show(&mut self, mut left: u64, console: &mut Console) -> Result<()> {
        while left > 0 {
            let batch = self.batch(left)?;
            if batch.is_empty() {
                break;
            }
            left -= batch.len() as u64;
            batch.iter().for_each(|(_, entry)| self.columns.fit(entry));
            for (raw, entry) in &batch {
                self.show_one(raw, entry, console)?;
            }
        }
        Ok(())
    }

    fn batch(&mut self, most: u64) -> Result<Vec<(RawEntry, Entry)>> {
        let most = usize::try_from(most).unwrap_or(BATCH).min(BATCH);
        let mut batch = Vec::new();
        while batch.len() < most {
            let Some(raw) = self.entries.next_raw()? else { break };
            let entry = raw.parse()?;
            if self.filter.takes(&entry) {
                batch.push((raw, entry));
            }
        }
        Ok(batch)
    }

    fn show_one(&mut self, raw: &RawEntry, entry: &Entry, console: &mut Console) -> Result<()> {
        if console.is_json() {
            console.write(&raw.line)?;
            return console.line("");
        }
        let (day, clock) = day_and_clock(entry);
        if day != self.day {
            console.line(&console.out_style.faint(&format!("{day}, times in UTC")))?;
            self.day = day;
        }
        console.line(&self.columns.line(entry, &clock, console.width()))?;
        if self.args.text && matches!(entry.content, Stored::Blob(_)) {
            self.show_text(entry.seq, console)?;
        }
        Ok(())
    }

    fn show_text(&self, seq: u64, console: &mut Console) -> Result<()> {
        let text = match self.house.text(seq, &self.args.archive) {
            Ok(text) => printable_lines(&String::from_utf8_lossy(&text)),
            // An erased text is an answer; one that cannot be read is said, and the rest goes on.
            Err(Failure::Problem(problem)) => format!("({})", printable(&problem.what)),
            Err(left) => return Err(left),
        };
        let indent = " ".repeat(self.columns.seq + 2);
        text.trim_end_matches('\n').split('\n').try_for_each(|line| console.line(&format!("{indent}{line}")))
    }
}

/// `2026-11-15` and `08:17:16`: the day stands above the lines, so that they have room for what happened.
fn day_and_clock(entry: &Entry) -> (String, String) {
    let shown = time(entry.at);
    let (day, clock) = shown.split_once(' ').unwrap_or((&shown, ""));
    (day.to_owned(), clock.trim_end_matches('Z').to_owned())
}

/// How wide the columns are; they only grow, so that lines stay under one another.
#[derive(Debug, Default)]
struct Columns {
    seq: usize,
    kind: usize,
    actor: usize,
}

const KIND_MAX: usize = 32;
const ACTOR_MAX: usize = 20;

impl Columns {
    fn fit(&mut self, entry: &Entry) {
        self.seq = self.seq.max(entry.seq.to_string().len()).max(4);
        self.kind = self.kind.max(entry.kind.as_str().len()).min(KIND_MAX);
        self.actor = self.actor.max(shown_actor(entry).chars().count()).min(ACTOR_MAX);
    }

    fn line(&self, entry: &Entry, clock: &str, width: usize) -> String {
        let line = format!(
            "{:>seq$}  {clock}  {}  {}  {}",
            entry.seq,
            padded(&cut(entry.kind.as_str(), self.kind), self.kind),
            padded(&cut(&shown_actor(entry), self.actor), self.actor),
            printable(&content(entry)),
            seq = self.seq,
        );
        cut(&line, width)
    }
}

/// An agent's id by its last characters: the first ones are alike for all agents made in the same weeks.
fn shown_actor(entry: &Entry) -> String {
    let actor = entry.actor.as_str();
    match actor.parse::<AgentId>() {
        Ok(_) => format!("{}_…{}", AgentId::PREFIX, &actor[actor.len() - 6..]),
        Err(_) => actor.to_owned(),
    }
}

fn content(entry: &Entry) -> String {
    match &entry.content {
        Stored::Body(body) => serde_json::Value::Object(body.clone()).to_string(),
        Stored::Blob(blob) => format!("sealed text, {}", bytes(blob.sealed_len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64, kind: &str, body: &str) -> Entry {
        let line = format!(
            "{{\"seq\":{seq},\"v\":1,\"at\":\"2026-11-15T08:17:16.123456Z\",\"origin\":\"holdfast/t\",\"room\":\"a\",\"kind\":\"{kind}\",\"actor\":\"ana\",\"trust\":\"admin\",{body}}}"
        );
        Entry::parse(line.as_bytes()).unwrap()
    }

    fn by_agent(mut entry: Entry) -> Entry {
        entry.actor = "agt_01arz3ndektsv4rrffq69g5fav".parse().unwrap();
        entry
    }

    #[test]
    fn a_kind_is_matched_by_whole_words() {
        for (prefix, matches) in [
            ("steward", true),
            ("steward.", true),
            ("steward.trial", true),
            ("steward.trial.started", true),
            ("steward.tri", false),
            ("stew", false),
            ("trial", false),
        ] {
            assert_eq!(begins_with("steward.trial.started", prefix), matches, "{prefix}");
        }
    }

    #[test]
    fn lines_are_aligned_and_fit_the_terminal() {
        let all = [
            entry(7, "a.b.c", r#""body":{"n":1}"#),
            by_agent(entry(8, "a.b.c", r#""body":{}"#)),
            entry(
                12_345,
                "steward.trial.started",
                r#""body":{"text":"tab\there, esc \u009b and a long tail that goes on and on"}"#,
            ),
            entry(
                12_346,
                "memory.text.kept",
                &format!(r#""blob":{{"name":"blake3:{}","offset":0,"len":1234}}"#, "0".repeat(64)),
            ),
        ];
        let mut columns = Columns::default();
        all.iter().for_each(|e| columns.fit(e));
        let lines: Vec<String> = all.iter().map(|e| columns.line(e, &day_and_clock(e).1, 80)).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
