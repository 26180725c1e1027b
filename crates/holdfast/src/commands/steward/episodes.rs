//! `holdfast steward episodes`: what was tried, the newest first.

use clap::Args;
use holdfast_lifeline::TargetName;
use holdfast_steward_host::story::{self, Summary};
use holdfast_types::Exit;
use serde_json::{Value, json};

use super::{end, records, said, short_ends, written};
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, Style, count, cut, padded, printable, time};
use crate::problem::{CliError, Result};
use crate::steward::StewardError;

/// List what the steward planned and tried, the newest first
///
/// From the journal alone, with or without a daemon.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast steward episodes
  holdfast steward episodes --target box-1 --limit 5

JSON fields: episodes[] with episode, target, opened, ended (null while it is open), why, change (null when nothing was \
cleared), phase, outcome (null while it is open), reason; more (how many older ones there are).")]
pub(super) struct EpisodesArgs {
    /// Only those of this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,

    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub(super) fn run(args: &EpisodesArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let all = written(house)?;
    if let Some(name) = &args.target
        && !all.iter().any(|(target, _)| target.as_str() == name)
    {
        let known = all.iter().map(|(target, _)| target.to_string()).collect();
        return Err(StewardError::UnknownTarget { name: name.clone(), known }.into());
    }
    let wanted =
        all.iter().filter(|(target, _)| args.target.as_deref().is_none_or(|name| name == target.as_str()));
    let mut found: Vec<(&TargetName, Summary)> = wanted
        .flat_map(|(target, written)| {
            story::episodes(&records(written)).into_iter().map(move |s| (target, s))
        })
        .collect();
    found.sort_by_key(|(_, summary)| std::cmp::Reverse(summary.opened));
    let more = found.len().saturating_sub(args.limit);
    found.truncate(args.limit);
    if console.is_json() {
        let episodes =
            found.iter().map(|(target, summary)| value_of(target, summary)).collect::<Result<Vec<_>>>()?;
        console.json(&json!({"episodes": episodes, "more": more}))?;
    } else {
        let text = listed(&found, more, console.width(), console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn value_of(target: &TargetName, summary: &Summary) -> Result<Value> {
    let mut value = serde_json::to_value(summary).map_err(|e| CliError::Usage { message: e.to_string() })?;
    value["target"] = json!(target);
    Ok(value)
}

fn listed(found: &[(&TargetName, Summary)], more: usize, width: usize, style: Style) -> String {
    if found.is_empty() {
        let mark = style.shape(Shape::Unknown);
        return format!("{mark} no episode yet: each is here from the moment the steward begins to plan\n");
    }
    let ids: Vec<&str> = found.iter().map(|(_, summary)| summary.episode.as_str()).collect();
    let len = short_ends(&ids);
    let target_width = found.iter().map(|(target, _)| target.as_str().len()).max().unwrap_or(0);
    let mut out = String::new();
    for (target, summary) in found {
        let (shape, word) = standing(summary);
        let id = end(summary.episode.as_str(), len);
        let target = padded(target.as_str(), target_width);
        let opened = style.faint(&time(summary.opened));
        out.push_str(&format!("{} …{id}  {target}  {opened}  {word}\n", style.shape(shape)));
        let change = summary.change.as_deref().unwrap_or(&summary.why);
        let reason = summary.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let line = printable(&format!("{change}{reason}"));
        out.push_str(&format!("  {}\n", cut(&line, width.saturating_sub(2))));
    }
    if more > 0 {
        out.push_str(&format!("\n{} before these: --limit\n", count(more as u64, "episode", "episodes")));
    }
    out.push_str("\nthe whole story of one: holdfast steward show ID\n");
    out
}

fn standing(summary: &Summary) -> (Shape, String) {
    match summary.outcome {
        Some(outcome) => said(outcome.as_str()),
        None if summary.phase == "waiting" => (Shape::NeedsYou, "needs you".to_owned()),
        None => (Shape::OnTrial, summary.phase.replace('_', " ")),
    }
}
