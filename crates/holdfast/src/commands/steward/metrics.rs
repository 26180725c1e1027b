//! `holdfast steward metrics`: what was collected of a target, how fresh that is, and where nothing was seen.

use clap::Args;
use holdfast_control::{Answer, Request, StewardMetrics};
use holdfast_plot::{Figure, Glyphs, Point, Series, Size, figure_lines};
use holdfast_types::{Exit, Timestamp};

use crate::ask::ask;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, count, number, padded, printable, span, time};
use crate::problem::{CliError, Result};

/// Show what was collected of a target: means by unit, gaps, and what is wrong
///
/// Every observation is kept for 30 days and every hour of them for 400. Exits with 1 when the figures are too old to decide
/// anything by, or something is wrong on the target.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast steward metrics
  holdfast steward metrics box-1 --days 30

JSON fields: target, from, to, observations, last_success (null when there was none), stale, failures (of the last \
collection), failed[] with label and why, psi_mem_some (mean memory pressure in percent; null where it is not measured), \
hours[] with from, mean and max of it, units[] with unit, memory_mib, cpu (processors), psi_mem_some, samples; gaps[] with \
from and to, gaps_left_off, gap_seconds, gaps_known_from; anomalies[] with kind, scope, message, since, times.")]
pub(super) struct MetricsArgs {
    /// The target; the only one when there is one
    #[arg(value_name = "NAME")]
    target: Option<String>,

    /// Over so many days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=400))]
    days: u32,
}

const PLOT_WIDTH_MAX: usize = 100;
const PLOT_HEIGHT: usize = 9;
/// Gaps that are listed for people; all are in the JSON.
const GAPS_TOLD: usize = 8;
/// Hours further apart than this are not joined.
const JOINED_MS: i64 = 2 * 3_600_000;

pub(super) fn run(args: &MetricsArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let request = Request::StewardMetrics { target: args.target.clone(), days: args.days };
    let Answer::StewardMetrics(found) = ask(house, &request, console)? else {
        return Err(CliError::Usage { message: "it was answered something else".to_owned() }.into());
    };
    if console.is_json() {
        console
            .json(&serde_json::to_value(&found).map_err(|e| CliError::Usage { message: e.to_string() })?)?;
    } else {
        tell(&found, args.days, console)?;
    }
    Ok(if found.stale || !found.anomalies.is_empty() { Exit::Negative } else { Exit::Ok })
}

fn tell(found: &StewardMetrics, days: u32, console: &mut Console) -> Result<()> {
    let over = count(u64::from(days), "day", "days");
    let (shape, word) = freshness(found);
    let shape = console.out_style.shape(shape);
    console.line(&format!(
        "{shape} {}  {word}; observed {} times in {over}",
        found.target,
        number(found.observations)
    ))?;
    for failed in &found.failed {
        console.line(&format!("  not read: {}, {}", printable(&failed.label), printable(&failed.why)))?;
    }
    if console.out_is_terminal() && found.hours.len() > 1 {
        console.line("")?;
        let size = Size { width: console.width().min(PLOT_WIDTH_MAX), height: PLOT_HEIGHT };
        for line in figure_lines(&figure(found), size, Glyphs::Unicode) {
            console.line(&console.out_style.line(&line))?;
        }
    }
    tell_units(found, console)?;
    tell_gaps(found, console)?;
    tell_anomalies(found, console)
}

fn freshness(found: &StewardMetrics) -> (Shape, String) {
    match found.last_success {
        None => (Shape::Unknown, "nothing was collected yet".to_owned()),
        Some(last) => {
            let ago = span(found.to.since(last).as_secs_f64());
            let shape = if found.stale { Shape::NeedsYou } else { Shape::Settled };
            (
                shape,
                format!("collected {ago} ago{}", if found.stale { ", too long to decide by" } else { "" }),
            )
        }
    }
}

fn figure(found: &StewardMetrics) -> Figure {
    let millis = |at: Timestamp| at.as_micros() / 1000;
    let point =
        |hour: &holdfast_control::StewardHour| Point { at_ms: millis(hour.from), value: Some(hour.mean) };
    Figure {
        title: "memory pressure".to_owned(),
        series: vec![Series {
            name: "mean of the hour".to_owned(),
            points: found.hours.iter().map(point).collect(),
            gap_after_ms: Some(JOINED_MS),
        }],
        unit: "%".to_owned(),
        span_ms: Some((millis(found.from), millis(found.to))),
        least: Some((0.0, 10.0)),
        ..Figure::default()
    }
}

fn tell_units(found: &StewardMetrics, console: &mut Console) -> Result<()> {
    let figure = |value: Option<f64>, digits: usize, unit: &str| {
        value.map_or_else(|| "not measured".to_owned(), |value| format!("{value:.digits$}{unit}"))
    };
    let mut rows =
        vec![["".to_owned(), "memory".to_owned(), "processors".to_owned(), "memory pressure".to_owned()]];
    let host = figure(found.psi_mem_some, 1, " %");
    rows.push(["host".to_owned(), String::new(), String::new(), host]);
    for unit in &found.units {
        rows.push([
            printable(&unit.unit),
            figure(unit.memory_mib, 0, " MiB"),
            figure(unit.cpu, 2, ""),
            figure(unit.psi_mem_some, 1, " %"),
        ]);
    }
    let widths: Vec<usize> =
        (0..4).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    console.line("")?;
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width)).collect();
        let line = format!("  {}", cells.join("  "));
        let line = line.trim_end();
        console.line(&if at == 0 { console.out_style.faint(line) } else { line.to_owned() })?;
    }
    Ok(())
}

fn tell_gaps(found: &StewardMetrics, console: &mut Console) -> Result<()> {
    if found.observations == 0 {
        return Ok(());
    }
    console.line("")?;
    let all = found.gaps.len() as u64 + found.gaps_left_off;
    if all == 0 {
        let shape = console.out_style.shape(Shape::Settled);
        return console.line(&format!("{shape} no gap of more than 5 min"));
    }
    let shape = console.out_style.shape(Shape::Unknown);
    let gaps = count(all, "gap", "gaps");
    console.line(&format!("{shape} {gaps} of more than 5 min, {} in all", span(found.gap_seconds as f64)))?;
    for gap in found.gaps.iter().rev().take(GAPS_TOLD) {
        let lasted = span(gap.to.since(gap.from).as_secs_f64());
        console.line(&format!("  {} to {}, {lasted}", time(gap.from), time(gap.to)))?;
    }
    let rest = all.saturating_sub(GAPS_TOLD as u64);
    if rest > 0 {
        console.line(&format!("  and {} earlier; --json has them", number(rest)))?;
    }
    Ok(())
}

fn tell_anomalies(found: &StewardMetrics, console: &mut Console) -> Result<()> {
    for anomaly in &found.anomalies {
        let shape = console.out_style.shape(Shape::NeedsYou);
        let times =
            if anomaly.times > 1 { format!(", {} times", number(anomaly.times)) } else { String::new() };
        let since = time(anomaly.since);
        console.line(&format!(
            "{shape} {} since {since}{times}: {}",
            anomaly.kind,
            printable(&anomaly.message)
        ))?;
    }
    Ok(())
}
