//! Tries every wall of a cage from inside, and says what held.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use holdfast_cage::plan::PROXY_PORT;
use holdfast_cage::{Access, CageError, Call, Destination, Files, Input, Machine, Plan, Sinks};
use holdfast_intruder::{ATTEMPTS, Group, Outcome, Report, SECRET, Stage};
use holdfast_types::Exit;
use serde_json::json;

use super::{Asked, Kept};
use crate::console::Console;
use crate::look::{Shape, count, padded};
use crate::problem::{CliError, Result};

const INTRUDER: &str = "holdfast-intruder";

/// Why some attempts are not made for an ordinary user.
const TAKES_ROOT: &str = "only root can set up a setuid program and a program with capabilities: as root, `holdfast cage explain --user NAME` tries these too";

pub(super) fn run(asked: &Asked, verbose: bool, console: &mut Console) -> Result<Exit> {
    let reports = attempts(asked)?;
    let of = |reports: &[Report], which: fn(&Outcome) -> bool| {
        reports.iter().filter(|r| which(&r.outcome)).count()
    };
    let held = of(&reports, |outcome| matches!(outcome, Outcome::Refused { .. }));
    let open = of(&reports, |outcome| matches!(outcome, Outcome::Through { .. }));
    let untried = of(&reports, |outcome| matches!(outcome, Outcome::CouldNotTry { .. }));
    if console.is_json() {
        console.json(&json!({
            "policy": asked.policy.name,
            "held": held,
            "open": open,
            "untried": untried,
            "attempts": reports,
            "lacks": asked.plan.lacks,
        }))?;
    } else {
        let text = told(asked, &reports, (held, open, untried), verbose, console);
        console.write(text.as_bytes())?;
    }
    Ok(if open > 0 { Exit::Negative } else { Exit::Ok })
}

/// What came of every attempt, made in the cage that was asked for.
fn attempts(asked: &Asked) -> Result<Vec<Report>> {
    let intruder = asked.launcher.path().with_file_name(INTRUDER);
    let lost = |source| CageError::Launcher { path: intruder.clone(), source };
    let mut stage = Stage::set(asked.call.identity.uid, asked.call.identity.gid, &intruder).map_err(lost)?;
    let mut policy = asked.policy.clone();
    let has_proxy = !policy.destinations.is_empty();
    if has_proxy {
        let (host, port) = stage.with_proxy(SocketAddr::from(([127, 0, 0, 1], PROXY_PORT)));
        policy.destinations.push(decoy_host(host, port));
    }
    policy.files.extend([
        decoy(&stage.readonly(), Access::Read, false),
        decoy(&stage.hidden(), Access::Hidden, false),
        decoy(&stage.work(), Access::Write, true),
        decoy(stage.programs(), Access::Read, true),
    ]);
    // What a cage without a proxy cannot have, it need not withstand.
    let names = ATTEMPTS.iter().filter(|attempt| has_proxy || attempt.group != Group::Proxy);
    let mut argv = vec![stage.intruder().display().to_string(), "try".to_owned()];
    argv.extend(names.map(|attempt| attempt.name.to_owned()));
    let mut environment = asked.call.environment.clone();
    environment.push((SECRET.to_owned(), "set outside".to_owned()));
    let call = Call { argv, environment, ..asked.call.clone() };
    let plan = Plan::of(&policy, &call, &asked.host, &Machine).map_err(CageError::from)?;
    let (out, err) = (Kept::default(), Kept::default());
    let sinks = Sinks { output: Box::new(out.clone()), errors: Box::new(err) };
    let input = stage.decoys_on_a_pipe().map_err(|source| CliError::Output { source })?;
    asked.launcher.start(&plan, &policy, Input::From(input), sinks)?.wait()?;
    Ok(out.text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn decoy(path: &Path, access: Access, run: bool) -> Files {
    Files::by_hand(path.display().to_string(), access, run, false, "a decoy")
}

fn decoy_host(host: String, port: u16) -> Destination {
    Destination::by_hand(host, vec![port], true, "a decoy")
}

fn told(
    asked: &Asked,
    reports: &[Report],
    totals: (usize, usize, usize),
    verbose: bool,
    console: &Console,
) -> String {
    let style = console.out_style;
    let mut text = Vec::new();
    let (held, open, untried) = totals;
    let all = count(reports.len() as u64, "way out was tried", "ways out were tried");
    let verdict = if open == 0 { (Shape::Settled, "held") } else { (Shape::Failed, "did not hold") };
    let _ = writeln!(
        text,
        "{} the walls of {} {}: {all}, {held} refused",
        style.shape(verdict.0),
        asked.policy.name,
        verdict.1
    );
    if open + untried > 0 {
        let _ = writeln!(text, "  {open} got through, {untried} could not be tried here");
    }
    let _ = writeln!(text);
    let mut groups: Vec<Group> = reports.iter().map(|r| r.group).collect();
    groups.sort();
    groups.dedup();
    for group in groups {
        let of: Vec<&Report> = reports.iter().filter(|r| r.group == group).collect();
        let refused = of.iter().filter(|r| matches!(r.outcome, Outcome::Refused { .. })).count();
        let shape = if of.iter().any(|r| matches!(r.outcome, Outcome::Through { .. })) {
            Shape::Failed
        } else {
            Shape::Settled
        };
        let _ = writeln!(
            text,
            "  {} {} {refused}/{}",
            style.shape(shape),
            padded(&group.to_string(), 22),
            of.len()
        );
        for report in of {
            match &report.outcome {
                Outcome::Refused { how } if verbose => {
                    let layer = report.layers.first().map(ToString::to_string).unwrap_or_default();
                    let _ = writeln!(
                        text,
                        "      {} {}",
                        padded(&report.name, 36),
                        style.faint(&format!("{layer}: {how}"))
                    );
                }
                Outcome::Refused { .. } => {}
                Outcome::Through { what } => {
                    let _ = writeln!(text, "    {} {}: {what}", style.shape(Shape::Failed), report.name);
                }
                Outcome::CouldNotTry { why } => {
                    let _ = writeln!(text, "    {} {}: {why}", style.shape(Shape::Unknown), report.name);
                }
            }
        }
    }
    if untried > 0 && !rustix::process::geteuid().is_root() {
        let _ = writeln!(text, "\n{} {TAKES_ROOT}", style.shape(Shape::Unknown));
    }
    for lack in &asked.plan.lacks {
        let _ = writeln!(text, "\n{} no {}: {}", style.shape(Shape::NeedsYou), lack.piece, lack.means);
    }
    String::from_utf8_lossy(&text).into_owned()
}
