//! `holdfast steward show`: an episode as dated sentences, each with the entry that proves it.

use clap::Args;
use holdfast_lifeline::{EpisodeId, Steady, TargetName};
use holdfast_steward::event::Event;
use holdfast_steward::verify::{Cycle, Window};
use holdfast_steward_host::story::{self, Line, Summary};
use holdfast_types::Exit;
use serde_json::{Value, json};

use super::{accelerated, find_episode, records, said, speed_of, wrapped, written};
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, Style, WIDTH, printable, time};
use crate::problem::{CliError, Result};
use crate::steward::{StewardError, Written};

/// Tell an episode from beginning to end
///
/// From the journal alone, with or without a daemon. Each line names its entry: `holdfast audit prove ENTRY` proves it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast steward show 0003
  holdfast steward show ep_0c5a1f3b9d2e40000000000003

JSON fields: episode, target, speed (null when the target is not configured any more), opened, ended, why, change, phase, \
outcome, reason; lines[] with entry, at, seconds (of the target's time since it was opened), what, score (null on lines that \
are not about the window); window (null when none was opened) with cells (one letter a cycle: g grace, p passed, f failed, \
t timed out, i inconclusive), score, needed, cycles.")]
pub(super) struct ShowArgs {
    /// The episode; the beginning or the end of its id is enough
    id: String,
}

/// An episode and everything that was written about it.
struct Told {
    target: TargetName,
    summary: Summary,
    lines: Vec<Entry>,
    score: Option<Score>,
}

struct Entry {
    seq: u64,
    /// Of the target's time since the beginning.
    seconds: u64,
    line: Line,
}

/// The cycles of the window, in their order.
struct Score {
    cells: Vec<Cycle>,
    window: Window,
}

pub(super) fn run(args: &ShowArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let told = find(&args.id, house)?;
    let speed = speed_of(house, &told.target);
    if console.is_json() {
        console.json(&value_of(&told, speed)?)?;
    } else {
        let text = shown(&told, speed, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn find(text: &str, house: &House) -> Result<Told> {
    let all = written(house)?;
    let summaries: Vec<(&TargetName, &[Written], Summary)> = all
        .iter()
        .flat_map(|(target, written)| {
            story::episodes(&records(written))
                .into_iter()
                .map(move |summary| (target, written.as_slice(), summary))
        })
        .collect();
    let id = find_episode(text, summaries.iter().map(|(_, _, summary)| summary.episode.as_str()))?;
    let unknown = || StewardError::UnknownEpisode { text: text.to_owned() };
    let found = summaries.into_iter().find(|(_, _, summary)| summary.episode.as_str() == id);
    let (target, written, summary) = found.ok_or_else(unknown)?;
    let of: Vec<&Written> =
        written.iter().filter(|one| one.record.event.episode() == Some(&summary.episode)).collect();
    let (lines, score) = (lines(&of, &summary.episode), score(&of));
    Ok(Told { target: target.clone(), lines, score, summary })
}

fn lines(of: &[&Written], episode: &EpisodeId) -> Vec<Entry> {
    let began = of.first().map_or(Steady(0), |one| one.record.at);
    let line = |one: &&Written| {
        let line = story::tell(std::slice::from_ref(&one.record), episode).into_iter().next()?;
        Some(Entry { seq: one.seq, seconds: one.record.at.since(began).as_secs(), line })
    };
    of.iter().filter_map(line).collect()
}

fn score(of: &[&Written]) -> Option<Score> {
    let scored = of.iter().filter_map(|one| match &one.record.event {
        Event::Scored { cycle, verifying, .. } => Some((*cycle, verifying.window)),
        _ => None,
    });
    let (cells, windows): (Vec<Cycle>, Vec<Window>) = scored.unzip();
    Some(Score { window: *windows.last()?, cells })
}

impl Score {
    fn letters(&self) -> String {
        self.cells.iter().map(|cycle| cycle.letter()).collect()
    }

    /// A cell for each cycle, those to come as dots, and the rule that decides.
    fn drawn(&self, style: Style) -> String {
        let cell = |cycle: &Cycle| match cycle {
            Cycle::Grace => style.faint("–"),
            Cycle::Pass => style.shape(Shape::Settled),
            Cycle::Fail | Cycle::TimedOut => style.shape(Shape::Failed),
            Cycle::Inconclusive => style.shape(Shape::Unknown),
        };
        let seen: String = self.cells.iter().map(cell).collect();
        let to_come = (self.window.cycles() as usize).saturating_sub(self.cells.len());
        format!("{seen}{}", style.faint(&"·".repeat(to_come)))
    }

    fn rule(&self) -> String {
        format!(
            "score {} of at least {} in {} cycles",
            self.window.score(),
            self.window.needed(),
            self.window.cycles()
        )
    }
}

fn value_of(told: &Told, speed: Option<u32>) -> Result<Value> {
    let mut value =
        serde_json::to_value(&told.summary).map_err(|e| CliError::Usage { message: e.to_string() })?;
    let line = |entry: &Entry| {
        let Line { at, what, score } = &entry.line;
        json!({"entry": entry.seq, "at": at, "seconds": entry.seconds, "what": what, "score": score})
    };
    value["target"] = json!(told.target);
    value["speed"] = json!(speed);
    value["lines"] = told.lines.iter().map(line).collect();
    value["window"] = told.score.as_ref().map_or(Value::Null, |score| {
        let (cells, needed) = (score.letters(), score.window.needed());
        json!({"cells": cells, "score": score.window.score(), "needed": needed, "cycles": score.window.cycles()})
    });
    Ok(value)
}

fn shown(told: &Told, speed: Option<u32>, style: Style) -> String {
    let Told { target, summary, lines, score } = told;
    let (shape, word) = match summary.outcome {
        Some(outcome) => said(outcome.as_str()),
        None if summary.phase == "waiting" => (Shape::NeedsYou, "needs you".to_owned()),
        None => (Shape::OnTrial, summary.phase.replace('_', " ")),
    };
    let speed = speed.map(accelerated).filter(|said| !said.is_empty());
    let speed = speed.map(|said| format!("  {}", style.faint(&said))).unwrap_or_default();
    let mut out = format!("{} {} on {target}  {word}{speed}\n", style.shape(shape), summary.episode);
    out.push_str(&format!("  because {}\n", printable(&summary.why)));
    if let Some(change) = &summary.change {
        out.push_str(&format!("  {}\n", printable(change)));
    }
    out.push_str(&format!(
        "\n  {}\n",
        style.faint(&format!("from {}, times since then", time(summary.opened)))
    ));
    let width = lines.iter().map(|entry| entry.seq.to_string().len()).max().unwrap_or(1);
    let mut drawn = false;
    for Entry { seq, seconds, line } in lines {
        // The cycles are one picture; each has its line in JSON.
        let what = match (line.score.is_some(), score) {
            (true, _) if drawn => continue,
            (true, Some(score)) => {
                drawn = true;
                vec![score.drawn(style), score.rule()]
            }
            _ => wrapped(&printable(&line.what), WIDTH.saturating_sub(14 + width)),
        };
        let (clock, entry) = (clock(*seconds), style.faint(&format!("{seq:>width$}")));
        let indent = format!("\n{}", " ".repeat(14 + width));
        out.push_str(&format!("  {clock:>8}  {entry}  {}\n", what.join(&indent)));
    }
    if summary.phase == "waiting" && summary.outcome.is_none() {
        out.push_str(&format!("\nallow it: holdfast steward approve {}\n", summary.episode));
    }
    out.push_str(&format!(
        "\n{}\n",
        style.faint("the second column is the entry: holdfast audit prove ENTRY")
    ));
    out
}

fn clock(seconds: u64) -> String {
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
