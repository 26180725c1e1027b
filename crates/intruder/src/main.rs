//! `holdfast-intruder`: lists the attempts, or makes them and prints a line of JSON for each.

use std::env;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use holdfast_intruder::{ATTEMPTS, Attempt, Decoys, Report, Who, try_apart};
use serde_json::json;

const USAGE: &str = "holdfast-intruder list          the attempts, a line of JSON each
holdfast-intruder try [NAME…]   makes them; the decoys come as JSON on standard input
holdfast-intruder who           the effective user and capabilities of this process
";

/// A stage has copies of this program that root marked. They would do anybody's bidding with root's rights.
const RAISED: &str = "This program runs with more rights than whoever started it. Nothing was tried. Start it from a file \
without the set-user bit and without capabilities.\n";

/// More than any set of decoys needs.
const DECOYS_BYTES_MAX: u64 = 1024 * 1024;

/// What a wrong call ends with, as everywhere in Holdfast.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let done = match arguments.split_first().map(|(verb, rest)| (verb.as_str(), rest)) {
        Some(("list", [])) => list(),
        Some(("try", _)) if Who::is_raised() => Err(RAISED.to_owned()),
        Some(("try", names)) => chosen(names).and_then(|chosen| attempt_all(&chosen)),
        Some(("who", [])) => who(),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // Where standard error is closed there is nobody to tell.
            let _ = io::stderr().write_all(problem.as_bytes());
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn list() -> Result<(), String> {
    for Attempt { name, group, what, layers, harmless, .. } in ATTEMPTS {
        print(
            &json!({ "name": name, "group": group, "what": what, "layers": layers, "harmless": harmless }),
        )?;
    }
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Attempt>, String> {
    if names.is_empty() {
        return Ok(ATTEMPTS.iter().collect());
    }
    let find = |name: &String| ATTEMPTS.iter().find(|a| a.name == *name).ok_or_else(|| unknown(name));
    names.iter().map(find).collect()
}

fn unknown(name: &str) -> String {
    format!("There is no attempt `{name}`. Nothing was tried. `holdfast-intruder list` shows them.\n")
}

fn attempt_all(chosen: &[&Attempt]) -> Result<(), String> {
    let decoys = read_decoys()?;
    for attempt in chosen {
        let outcome = try_apart(attempt, &decoys);
        print(&Report {
            name: attempt.name.to_owned(),
            group: attempt.group,
            layers: attempt.layers.to_vec(),
            outcome,
        })?;
    }
    Ok(())
}

fn read_decoys() -> Result<Decoys, String> {
    let mut text = String::new();
    io::stdin()
        .take(DECOYS_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|e| format!("The decoys could not be read: {e}. Nothing was tried.\n"))?;
    serde_json::from_str(&text).map_err(|e| {
        format!("The decoys on standard input are not what is expected: {e}. Nothing was tried.\n")
    })
}

fn who() -> Result<(), String> {
    let who = Who::this().ok_or("The kernel does not tell the capabilities of this process.\n")?;
    print(&who)
}

/// A line at a time, so that what was found is known even if the intruder does not live to the end.
fn print(value: &impl serde::Serialize) -> Result<(), String> {
    let mut line = serde_json::to_vec(value).map_err(|e| format!("{e}\n"))?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).map_err(|e| format!("{e}\n"))
}
