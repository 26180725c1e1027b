//! `holdfast doctor`: one round of checks, for a person.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use holdfast_journal::SystemClock;
use holdfast_types::Exit;
use serde_json::{Value, json};

use super::{Asked, CHECKS, Finding, Round, Scene, State, Verdict, round};
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, Style, printable};
use crate::problem::Result;
use crate::settings::{self, Overlay};

/// Look at everything and say how it is
///
/// Changes nothing, calls no model and leaves the machine alone; ends within 30 seconds. Exit code 0: healthy,
/// 1: unhealthy, 2: degraded, 3: could not check, 124: a check did not end in time.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: verdict, seconds, checks[] with check, status, looked_at, message, hint, figures. With --list: checks[] \
with check, purpose, owner, does_not.")]
pub(crate) struct DoctorArgs {
    /// List the checks, what each is for and what it does not do
    #[arg(long)]
    list: bool,
}

/// A person waits no longer, whatever the daemon's own rounds may take.
pub(crate) const LIMIT_SECONDS: u32 = 30;

pub(crate) fn run(args: &DoctorArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if args.list {
        return list(console);
    }
    let overlay = Overlay::of_this_process(&[]);
    // With a wrong configuration the default limit holds; the check of the configuration says what is wrong.
    let limit = settings::load(&house.places, &overlay)
        .map_or(LIMIT_SECONDS, |loaded| loaded.config.health.timeout_seconds);
    let clock = Arc::new(SystemClock::new());
    let scene = Arc::new(Scene::new(house, &overlay, clock, Asked::Later(Mutex::default())));
    let found = round(&CHECKS, &scene, Duration::from_secs(u64::from(limit.min(LIMIT_SECONDS))));
    if console.is_json() {
        console.told_as_json(&found.told())?;
    } else {
        let text = told(&found, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(found.verdict().exit())
}

fn list(console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        let rows: Vec<Value> = CHECKS
            .iter()
            .map(|c| json!({"check": c.name, "purpose": c.purpose, "owner": c.owner, "does_not": c.not}))
            .collect();
        console.json(&json!({"checks": rows}))?;
    } else {
        for check in &CHECKS {
            console.line(&format!("{:<14}{} ({})", check.name, check.purpose, check.owner))?;
            console.line(&format!("{:<14}{}", "", check.not))?;
        }
    }
    Ok(Exit::Ok)
}

fn told(round: &Round, style: Style) -> String {
    let mut out = String::new();
    for finding in &round.findings {
        out.push_str(&line(finding, style));
    }
    let (shape, word) = match round.verdict() {
        Verdict::Healthy => (Shape::Settled, "healthy"),
        Verdict::Degraded => (Shape::NeedsYou, "degraded"),
        Verdict::CouldNotCheck => (Shape::Unknown, "could not check everything"),
        Verdict::TimedOut => (Shape::Unknown, "timed out"),
        Verdict::Unhealthy => (Shape::Failed, "unhealthy"),
    };
    let wrong = round.wrong().count();
    let checks = round.findings.len();
    let said = if wrong == 0 {
        format!("all {checks} checks are well")
    } else {
        format!("{wrong} of {checks} checks need you")
    };
    out.push_str(&format!("\n{} {word}: {said}, {:.1} s\n", style.shape(shape), round.took.as_secs_f64()));
    out
}

fn line(finding: &Finding, style: Style) -> String {
    let shape = match finding.state {
        State::Healthy => Shape::Settled,
        State::Degraded => Shape::NeedsYou,
        State::Failed => Shape::Failed,
        State::Unknown | State::TimedOut | State::NotLooked => Shape::Unknown,
    };
    let mark = style.shape(shape);
    let mut out = format!("{mark} {:<14}{}\n", finding.check, printable(&finding.said));
    out.push_str(&format!(
        "  {:<14}{}\n",
        "",
        style.faint(&format!("looked at {}", printable(&finding.looked_at)))
    ));
    if let Some(hint) = &finding.hint {
        out.push_str(&format!("  {:<14}next: {}\n", "", printable(hint)));
    }
    out
}
