//! `holdfast status`: one answer to "does anything need me?"

use clap::Args;
use holdfast_control::{Answer, Request, Status, connect};
use holdfast_types::Exit;

use crate::ask::unexpected;
use crate::console::Console;
use crate::house::{House, say_who_writes};
use crate::look::{Shape, Style, bytes, count, entries, number, printable, span, table, time};
use crate::office::status_without_daemon;
use crate::problem::{CliError, Result};
use crate::settings::Overlay;

/// Does anything need me?
///
/// Asks the daemon, and looks from outside where none runs. Exit code 0: nothing needs you, 1: something does, 3: no
/// daemon runs to tell.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: version, pid (null when no daemon runs), up_seconds, healthy (null when no daemon runs), needs_you[], \
parts[] with name, state, why, safety, restarts, silent_seconds; listening[] with door, addresses[], without (a loopback address this \
machine does not have); journal with origin, entries, checkpointed, bytes, \
cap_bytes, warnings[]; projections[] with name, next_seq, behind, halted; databases[] with name, bytes, last_backup; \
pause with paused, since, by, reason, repeated, recorded_as; notices (null when no daemon runs) with enabled, sinks[] with sink, pending, \
delivered, abandoned, last_delivered, last_error; disk with budget_bytes, used_bytes, free_bytes, level, parts[] with \
part, bytes, at_most.")]
pub(crate) struct StatusArgs {}

pub(crate) fn run(_: &StatusArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let status = look(house)?;
    if status.pid.is_none() {
        say_who_writes(house, console);
    }
    if console.is_json() {
        let value = serde_json::to_value(&status).map_err(|e| CliError::Usage { message: e.to_string() })?;
        console.json(&value)?;
    } else {
        let text = told(&status, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(match status.healthy {
        Some(true) => Exit::Ok,
        Some(false) => Exit::Negative,
        None => Exit::CouldNotCheck,
    })
}

pub(crate) fn look(house: &House) -> Result<Status> {
    let Some(client) = connect(&house.places.socket())? else {
        return status_without_daemon(house, &Overlay::of_this_process(&[]));
    };
    match client.ask(Request::Status {}, &mut |_| {})? {
        Answer::Status(status) => Ok(*status),
        other => Err(unexpected(&other)),
    }
}

fn told(status: &Status, style: Style) -> String {
    let mut out = String::new();
    out.push_str(&headline(status, style));
    for sentence in &status.needs_you {
        out.push_str(&format!("  {} {}\n", style.shape(Shape::NeedsYou), printable(sentence)));
    }
    out.push_str(&pause_line(status, style));
    out.push('\n');
    out.push_str(&table(&rows(status), style));
    out
}

fn headline(status: &Status, style: Style) -> String {
    let origin = &status.journal.origin;
    match status.healthy {
        Some(true) => {
            let up = span(status.up_seconds.unwrap_or_default());
            format!("{} settled: {origin}, up {up}, nothing needs you\n", style.shape(Shape::Settled))
        }
        Some(false) => {
            let things = count(status.needs_you.len() as u64, "thing needs you", "things need you");
            format!("{} {origin}: {things}\n", style.shape(Shape::NeedsYou))
        }
        None => format!(
            "{} {origin}: no daemon runs, so nobody watches; start one with `holdfast up`\n",
            style.shape(Shape::Unknown)
        ),
    }
}

fn pause_line(status: &Status, style: Style) -> String {
    let pause = &status.pause;
    if !pause.paused {
        return String::new();
    }
    let by = pause.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let since = pause.since.map(|at| format!(" since {}", time(at))).unwrap_or_default();
    let why = pause.reason.as_ref().map(|why| format!(": {}", printable(why))).unwrap_or_default();
    format!("  {} all autonomy is paused{since}{by}{why}\n", style.shape(Shape::Paused))
}

fn rows(status: &Status) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |label: &str, value: String| rows.push((label.to_owned(), value));
    let without: Vec<&str> = status.listening.iter().filter_map(|it| it.without.as_deref()).collect();
    if !without.is_empty() {
        row("listens", format!("not at {}, which this machine does not have", without.join(", ")));
    }
    let journal = &status.journal;
    let behind = journal.entries.saturating_sub(journal.checkpointed);
    let signed =
        if behind == 0 { "all signed".to_owned() } else { format!("{} not signed yet", number(behind)) };
    row("journal", format!("{}, {}, {signed}", entries(journal.entries), bytes(journal.bytes)));
    let lag = status.projections.iter().map(|p| p.behind).max();
    if let Some(lag) = lag {
        row("index", if lag == 0 { "up to date".to_owned() } else { format!("{} behind", entries(lag)) });
    }
    let disk = &status.disk;
    let level = format!("{} of {}, {}", bytes(disk.used_bytes), bytes(disk.budget_bytes), disk.level);
    row("disk", level);
    if let Some(notices) = &status.notices {
        let waiting: u64 = notices.sinks.iter().map(|s| s.pending).sum();
        let names: Vec<&str> = notices.sinks.iter().map(|s| s.sink.as_str()).collect();
        let said = match (notices.enabled, waiting) {
            (false, _) => "switched off".to_owned(),
            (true, 0) => format!("all told, by {}", names.join(", ")),
            (true, n) => count(n, "waits", "wait"),
        };
        row("notices", said);
    }
    if !status.parts.is_empty() {
        let alive = status.parts.iter().filter(|p| p.state == "running").count();
        row("parts", format!("{alive} of {} alive", status.parts.len()));
    }
    if let Some(pid) = status.pid {
        row("daemon", format!("holdfast {}, process {pid}", status.version));
    }
    rows
}
