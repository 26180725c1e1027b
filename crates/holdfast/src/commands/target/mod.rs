//! `holdfast target …`: takes a host in, looks whether it still does what it has to, gives it a guard, lets it go.

mod add;
pub(crate) mod check;
mod guard;
mod remove;
pub(crate) mod show;

use std::time::Duration;

use clap::{Args, Subcommand};
use holdfast_steward_host::Way;
use holdfast_types::{Exit, KindDef, Trust};
use serde_json::{Map, Value, json};

use crate::ask::append;
use crate::console::Console;
use crate::enrolment::hands::{Errand, Hands};
use crate::enrolment::record::Record;
use crate::enrolment::survey::{Finding, Verdict};
use crate::enrolment::warrant::Place;
use crate::house::{House, now, this_user};
use crate::kinds::draft;
use crate::look::Shape;
use crate::problem::{Failure, Result};
use crate::steward;

/// How long a silent daemon is waited for when something is written down.
const SILENCE: Duration = Duration::from_secs(10);

/// Take hosts in, check them, have them guarded, let them go
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct TargetArgs {
    #[command(subcommand)]
    command: TargetCommand,
}

#[derive(Debug, Subcommand)]
enum TargetCommand {
    Add(Box<add::AddArgs>),
    Show(show::ShowArgs),
    Check(check::CheckArgs),
    Guard(guard::GuardArgs),
    Remove(remove::RemoveArgs),
}

impl TargetArgs {
    /// What it takes root for in a system install, by what was typed. A check goes nowhere but where the settings lead, and changes none.
    pub(crate) fn errand(&self) -> Result<Option<Errand>> {
        let of = |warrant, touches_the_guard| Some(Errand { warrant, touches_the_guard });
        Ok(match &self.command {
            TargetCommand::Add(args) => of(args.warrant()?, false),
            TargetCommand::Guard(args) => of(args.warrant(), true),
            TargetCommand::Remove(args) => of(args.warrant(), true),
            TargetCommand::Check(_) | TargetCommand::Show(_) => None,
        })
    }
}

/// `hands` are root's, where this process has become the service's user.
pub(crate) fn run(args: &TargetArgs, house: &House, hands: Hands, console: &mut Console) -> Result<Exit> {
    if !house.places.has_journal() {
        house.view(&Default::default())?;
    }
    match &args.command {
        TargetCommand::Add(args) => add::run(args, house, hands, console),
        TargetCommand::Show(args) => show::run(args, house, console),
        TargetCommand::Check(args) => check::run(args, house, console),
        TargetCommand::Guard(args) => guard::run(args, house, hands, console),
        TargetCommand::Remove(args) => remove::run(args, house, hands, console),
    }
}

/// What a person's connection passes and root did not name is not opened by it.
fn told_of_the_way(refused: &[Place], console: &Console) {
    for Place { host, port } in refused {
        console.warn(&format!(
            "{host} port {port} is not lent, since you did not name it: where it is refused, say as root in another terminal \
             `holdfast-egress lend {host}:{port}`"
        ));
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

/// Writes down what was done, and gives the entry's number. What is done stays done where that cannot be.
fn written_down(kind: &KindDef, body: Value, house: &House, console: &Console) -> Option<u64> {
    let body = match body {
        Value::Object(body) => body,
        _ => Map::new(),
    };
    let written = this_user()
        .and_then(|actor| Ok(draft(kind, actor, Trust::Admin, body)?))
        .and_then(|draft| append(house, draft, SILENCE, console));
    match written {
        Ok(seq) => Some(seq),
        Err(Failure::Problem(problem)) => {
            console.warn(&format!("it is done, but could not be written down: {}", problem.what));
            None
        }
        Err(Failure::ReaderLeft) => None,
    }
}

/// By this machine's clock, since 1970.
fn seconds_now() -> u64 {
    u64::try_from(now().as_micros() / 1_000_000).unwrap_or(0)
}

/// How long something took, where it took long enough to say.
fn took(span: Duration) -> String {
    match span.as_secs() {
        0 => String::new(),
        seconds => format!(", {seconds} s"),
    }
}
