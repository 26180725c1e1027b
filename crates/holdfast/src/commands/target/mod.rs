//! `holdfast target …`: takes a host in, looks whether it still does what it has to, lets it go.

mod add;
mod check;
mod remove;

use std::time::Duration;

use clap::{Args, Subcommand};
use holdfast_steward_host::Way;
use holdfast_types::Exit;
use serde_json::{Value, json};

use crate::console::Console;
use crate::enrolment::record::Record;
use crate::enrolment::survey::{Finding, Verdict};
use crate::house::House;
use crate::look::Shape;
use crate::problem::Result;
use crate::steward;

/// Take hosts in, check them, let them go
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct TargetArgs {
    #[command(subcommand)]
    command: TargetCommand,
}

#[derive(Debug, Subcommand)]
enum TargetCommand {
    Add(Box<add::AddArgs>),
    Check(check::CheckArgs),
    Remove(remove::RemoveArgs),
}

pub(crate) fn run(args: &TargetArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if !house.places.has_journal() {
        house.view(&Default::default())?;
    }
    match &args.command {
        TargetCommand::Add(args) => add::run(args, house, console),
        TargetCommand::Check(args) => check::run(args, house, console),
        TargetCommand::Remove(args) => remove::run(args, house, console),
    }
}

const fn shape_of(verdict: Verdict) -> Shape {
    match verdict {
        Verdict::Good => Shape::Settled,
        Verdict::Noted => Shape::NeedsYou,
        Verdict::Bad => Shape::Failed,
    }
}

const fn word_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Noted => "noted",
        Verdict::Bad => "bad",
    }
}

fn told(found: &[Finding], console: &Console) {
    for finding in found {
        console.told(shape_of(finding.verdict), &format!("  {}", finding.what));
    }
}

fn listed(found: &[Finding]) -> Value {
    found.iter().map(|it| json!({"what": it.what, "verdict": word_of(it.verdict)})).collect()
}

fn bad(found: &[Finding]) -> Vec<String> {
    found.iter().filter(|it| it.verdict == Verdict::Bad).map(|it| it.what.clone()).collect()
}

/// How the keys of a target reach it, over connections that are not the daemon's.
fn way(record: &Record, house: &House, sockets: &tempfile::TempDir) -> Way {
    let reach = holdfast_config::Reach {
        address: record.address.clone(),
        port: record.port.into(),
        ..holdfast_config::Reach::default()
    };
    Way { sockets: sockets.path().to_owned(), ..steward::way_to(&record.target, &reach, &house.places) }
}

/// How long something took, where it took long enough to say.
fn took(span: Duration) -> String {
    match span.as_secs() {
        0 => String::new(),
        seconds => format!(", {seconds} s"),
    }
}
