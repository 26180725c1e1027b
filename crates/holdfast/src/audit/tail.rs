//! `holdfast audit tail`: the newest entries, and those that come.
//!
//! Reads through a view, without the lock, also while another process writes. Only as much of the log is read
//! as is needed: the last N entries, or, with a filter, blocks from the end backwards until N are found.

use std::collections::VecDeque;
use std::time::Duration;

use clap::Args;
use holdfast_journal::{Entry, RawEntry, Stored, View};
use holdfast_types::{Actor, Exit};

use crate::console::Console;
use crate::house::{ArchiveArgs, House};
use crate::look::{bytes, cut, padded, printable, printable_lines, time};
use crate::problem::Result;

/// Show the newest entries
#[derive(Debug, Args)]
#[command(after_long_help = "\
With --json each line is the entry exactly as it stands in the log.")]
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
    #[arg(long, conflicts_with_all = ["follow", "json"])]
    text: bool,

    #[command(flatten)]
    archive: ArchiveArgs,
}

const LINES: u64 = 20;

/// Often enough to feel live, seldom enough to cost nothing.
const POLL_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &TailArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let view = house.view(&args.archive)?;
    let filter = Filter {
        kind: args.kind.clone(),
        actor: args.actor.clone(),
    };
    let mut columns = Columns::default();
    let mut next = match args.from {
        Some(from) => show_from(&view, from, args.lines, &filter, &mut columns, console)?,
        None => {
            let (found, end) = newest(&view, args, &filter)?;
            found.iter().for_each(|(_, entry)| columns.fit(entry));
            for (raw, entry) in &found {
                show(raw, entry, &columns, console)?;
                if args.text && matches!(entry.content, Stored::Blob(_)) {
                    show_text(entry.seq, args, house, console)?;
                }
            }
            end
        }
    };
    while args.follow {
        console.pause(POLL_EVERY)?;
        next = show_from(&view, next, None, &filter, &mut columns, console)?;
    }
    Ok(Exit::Ok)
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

/// The last entries the filter takes, oldest first, and the seq that comes next.
fn newest(view: &View, args: &TailArgs, filter: &Filter) -> Result<(VecDeque<(RawEntry, Entry)>, u64)> {
    let wanted = args.lines.unwrap_or(LINES);
    let size = view.size()?;
    let oldest = if args.archive.archive.is_some() { 0 } else { view.oldest_here()? };
    let mut found = VecDeque::new();
    let (mut end, mut block) = (size, wanted);
    while end > oldest && (found.len() as u64) < wanted {
        let start = end.saturating_sub(block).max(oldest);
        let mut taken = Vec::new();
        let mut entries = view.entries(start);
        while entries.position() < end {
            let Some(raw) = entries.next_raw()? else { break };
            let entry = raw.parse()?;
            if filter.takes(&entry) {
                taken.push((raw, entry));
            }
        }
        let missing = usize::try_from(wanted).unwrap_or(usize::MAX).saturating_sub(found.len());
        taken.into_iter().rev().take(missing).for_each(|pair| found.push_front(pair));
        end = start;
        // Larger blocks further back: each costs a look into a segment from its beginning.
        block = if filter.is_open() { block } else { block.saturating_mul(4).clamp(1_000, 100_000) };
    }
    Ok((found, size))
}

/// Shows entries from a seq on to where the log ends for now; gives the seq that comes next.
fn show_from(
    view: &View,
    from: u64,
    lines: Option<u64>,
    filter: &Filter,
    columns: &mut Columns,
    console: &mut Console,
) -> Result<u64> {
    let mut entries = view.entries(from);
    let mut left = lines.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(raw) = entries.next_raw()? else { break };
        let entry = raw.parse()?;
        if filter.takes(&entry) {
            columns.fit(&entry);
            show(&raw, &entry, columns, console)?;
            left -= 1;
        }
    }
    Ok(entries.position())
}

fn show(raw: &RawEntry, entry: &Entry, columns: &Columns, console: &mut Console) -> Result<()> {
    if console.is_json() {
        console.write(&raw.line)?;
        return console.line("");
    }
    let line = columns.line(entry, console.width());
    console.line(&line)
}

fn show_text(seq: u64, args: &TailArgs, house: &House, console: &mut Console) -> Result<()> {
    use crate::problem::Failure;
    let text = match house.text(seq, &args.archive, console) {
        Ok(text) => printable_lines(&String::from_utf8_lossy(&text)),
        // An erased text is an answer; one that cannot be read is said, and the rest goes on.
        Err(Failure::Problem(problem)) => format!("({})", printable(&problem.what)),
        Err(left) => return Err(left),
    };
    for line in text.trim_end_matches('\n').split('\n') {
        console.line(&format!("      {line}"))?;
    }
    Ok(())
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
        self.actor = self.actor.max(entry.actor.as_str().len()).min(ACTOR_MAX);
    }

    fn line(&self, entry: &Entry, width: usize) -> String {
        let line = format!(
            "{:>seq$}  {}  {}  {}  {}",
            entry.seq,
            time(entry.at),
            padded(&cut(entry.kind.as_str(), self.kind), self.kind),
            padded(&cut(entry.actor.as_str(), self.actor), self.actor),
            printable(&content(entry)),
            seq = self.seq,
        );
        cut(&line, width)
    }
}

fn content(entry: &Entry) -> String {
    match &entry.content {
        Stored::Body(body) => serde_json::Value::Object(body.clone()).to_string(),
        Stored::Blob(blob) => format!("sealed text, {}", bytes(blob.len)),
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
            entry(12_345, "steward.trial.started", r#""body":{"text":"tab\there, esc \u009b and a long tail that goes on and on"}"#),
            entry(12_346, "memory.text.kept", &format!(r#""blob":{{"name":"blake3:{}","offset":0,"len":1234}}"#, "0".repeat(64))),
        ];
        let mut columns = Columns::default();
        all.iter().for_each(|e| columns.fit(e));
        let lines: Vec<String> = all.iter().map(|e| columns.line(e, 80)).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
