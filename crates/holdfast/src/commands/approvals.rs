//! `holdfast approvals`: what waits for a person, and what became of it. Deciding is in `verdict.rs`.

use clap::{Args, Subcommand};
use holdfast_approval::{Error, Ledger, Now, Refusal};
use holdfast_control::{Answer, ApprovalLine, ApprovalState, Request, connect};
use holdfast_journal::{SystemClock, View};
use holdfast_types::{ApprovalId, Exit};
use serde_json::{Value, json};

use crate::ask::unexpected;
use crate::console::Console;
use crate::house::{ArchiveArgs, House};
use crate::look::{Shape, Style, count, printable, table, time};
use crate::office::approvals::{in_full, judged, shown};
use crate::problem::{CliError, Result};

/// What waits for you to allow it
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,

    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    List(ListArgs),
    Show(ShowArgs),
}

/// List what waits for you, the newest first
///
/// Without a daemon the journal itself is read, as far back as it is here.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast approvals
  holdfast approvals list --all

JSON fields: approvals[] with id, state (asked, approved, rejected, withdrawn, used, expired), subject, target, digest, \
actor, asked_at, expires_at, summary.")]
struct ListArgs {
    /// Also what is decided, used or expired
    #[arg(long)]
    all: bool,
}

/// Show one ask in full: what exactly would be done, and what became of it
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast approvals show apr_01kc1yq8m0e3t6v9x2b5h8n1r4

JSON fields: id, state, subject, target, digest, action, summary[], evidence[], actor, agent, asked_at, expires_at, \
origin, decision (null before there is one) with verdict, by, reason, at, recorded_as; made_as, ended_as (entries).")]
struct ShowArgs {
    /// The ask
    id: ApprovalId,
}

pub(crate) fn run(args: &ApprovalsArgs, house: &House, console: &mut Console) -> Result<Exit> {
    match &args.command {
        None => list(&args.list, house, console),
        Some(ApprovalsCommand::List(args)) => list(args, house, console),
        Some(ApprovalsCommand::Show(args)) => show(args, house, console),
    }
}

fn list(args: &ListArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let lines = match connect(&house.places.socket())? {
        Some(client) => match client.ask(Request::Approvals { all: args.all }, &mut |_| {})? {
            Answer::Approvals(lines) => lines,
            other => return Err(unexpected(&other)),
        },
        None => {
            let (ledger, now) = look(&house.view(&ArchiveArgs::default())?)?;
            shown(ledger.lives().into_iter(), args.all, now)
        }
    };
    if console.is_json() {
        console.json(&json!({"approvals": lines}))?;
    } else {
        let text = listed(&lines, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn show(args: &ShowArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let found = find(args.id, house)?;
    if console.is_json() {
        console.json(&value_of(&found)?)?;
    } else {
        let text = told(&found, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// One ask, from whoever has the home open, or from the journal itself.
pub(super) fn find(id: ApprovalId, house: &House) -> Result<ApprovalState> {
    let Some(client) = connect(&house.places.socket())? else {
        let view = house.view(&ArchiveArgs::default())?;
        let (ledger, now) = look(&view)?;
        let life = ledger.get(id).ok_or(Refusal::UnknownAsk { ask: id }).map_err(Error::from)?;
        return Ok(in_full(life, view.origin(), now));
    };
    match client.ask(Request::Approval { id }, &mut |_| {})? {
        Answer::Approval(found) => Ok(*found),
        other => Err(unexpected(&other)),
    }
}

/// The asks of a home that nobody has open: read without a lock, and nothing is changed by it.
pub(super) fn look(view: &View) -> Result<(Ledger, Now)> {
    let mut ledger = Ledger::new(view.origin().clone());
    let mut last = None;
    for raw in view.entries(view.oldest_here()?) {
        let raw = raw?;
        // Most entries are somebody else's, and parsing is what takes long. What only mentions the room is parsed too.
        if String::from_utf8_lossy(&raw.line).contains(r#""room":"approval""#) {
            ledger.apply(&raw.parse()?);
        }
        last = Some(raw);
    }
    let last = last.map(|raw| raw.parse()).transpose()?;
    Ok((ledger, judged(&SystemClock::new(), last.map(|entry| entry.at))))
}

fn value_of(found: &ApprovalState) -> Result<Value> {
    Ok(serde_json::to_value(found).map_err(|e| CliError::Usage { message: e.to_string() })?)
}

pub(super) fn shape(state: &str) -> Shape {
    match state {
        "asked" => Shape::NeedsYou,
        "approved" | "used" => Shape::Settled,
        "rejected" => Shape::Failed,
        "withdrawn" => Shape::Undone,
        _ => Shape::Unknown,
    }
}

fn listed(lines: &[ApprovalLine], style: Style) -> String {
    let waiting = lines.iter().filter(|line| line.state == "asked").count() as u64;
    let mut out = match waiting {
        0 => format!("{} nothing waits for you\n", style.shape(Shape::Settled)),
        n => format!(
            "{} {}\n",
            style.shape(Shape::NeedsYou),
            count(n, "ask waits for you", "asks wait for you")
        ),
    };
    for line in lines {
        let ApprovalLine { id, state, subject, target, actor, asked_at, expires_at, summary, .. } = line;
        out.push_str(&format!(
            "\n{} {id}  {state}\n  {subject} on {}: {}\n  {}\n",
            style.shape(shape(state)),
            printable(target),
            printable(summary),
            style.faint(&format!("asked by {actor} {}, ends {}", time(*asked_at), time(*expires_at))),
        ));
    }
    if waiting > 0 {
        out.push_str("\nlook at one: holdfast approvals show ID\n");
    }
    out
}

pub(super) fn told(found: &ApprovalState, style: Style) -> String {
    let mut rows = vec![
        ("subject".to_owned(), found.subject.clone()),
        ("target".to_owned(), printable(&found.target)),
        ("digest".to_owned(), found.digest.to_string()),
        ("asked by".to_owned(), format!("{}, {}", found.actor, time(found.asked_at))),
        ("ends".to_owned(), time(found.expires_at)),
    ];
    rows.extend(found.agent.map(|agent| ("agent".to_owned(), agent.to_string())));
    if let Some(decision) = &found.decision {
        let reason = decision.reason.as_deref().map(|r| format!(": {}", printable(r))).unwrap_or_default();
        let said = format!("{} by {}, {}{reason}", decision.verdict, decision.by, time(decision.at));
        rows.push(("decided".to_owned(), said));
    }
    rows.push(("entry".to_owned(), found.made_as.to_string()));
    rows.extend(found.ended_as.map(|seq| ("ended in".to_owned(), format!("entry {seq}"))));
    let mut out = format!("{} {}  {}\n\n", style.shape(shape(&found.state)), found.id, found.state);
    found.summary.iter().for_each(|line| out.push_str(&format!("  {}\n", printable(line))));
    if !found.evidence.is_empty() {
        out.push_str("\nwhy\n");
        found.evidence.iter().for_each(|line| out.push_str(&format!("  {}\n", printable(line))));
    }
    out.push_str("\nexactly\n");
    // Values of plain JSON always print.
    let action = serde_json::to_string_pretty(&found.action).unwrap_or_default();
    action.lines().for_each(|line| out.push_str(&format!("  {}\n", printable(line))));
    out.push('\n');
    out.push_str(&table(&rows, style));
    out
}
