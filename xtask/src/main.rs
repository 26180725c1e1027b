//! The project's own tools, run as `cargo run -q -p xtask -- <command>`.
//!
//! `requirements` counts which rows of `docs/spec/` are shown by tests; `lint` checks every kind of file in the
//! tree; `sbom` lists what is in the shipped programs. They decide in pure functions over text that was read before;
//! [`tree`] is where reading happens.
//! Exit codes are those of the product: 0 good, 1 findings, 2 wrong usage, 3 could not check.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool reports by printing")]

mod lint;
mod requirements;
mod sbom;
mod tree;

use std::process::ExitCode;

const USAGE: &str = "\
The project's own tools.

Usage: cargo run -q -p xtask -- <command>

Commands:
  requirements   count the rows of docs/spec that tests show; fail when claims,
                 status.toml and the decision pages disagree
      --list         also list the ids of rows not shown
      --page NAME    one page only, with its list
      --json         print the report for machines
  lint           check every file git knows, by its kind
  sbom [VERSION] print the parts of the shipped programs as CycloneDX

Exit codes: 0 good, 1 findings, 2 wrong usage, 3 could not check.
";

/// How a command ended, when it ran at all.
enum Verdict {
    Good,
    Findings,
    WrongUsage(String),
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Findings) => ExitCode::from(1),
        Ok(Verdict::WrongUsage(why)) => {
            eprintln!("xtask: {why}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("xtask: could not check: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn dispatch(args: &[String]) -> anyhow::Result<Verdict> {
    let Some((command, rest)) = args.split_first() else {
        return Ok(Verdict::WrongUsage("no command given".into()));
    };
    if ["--help", "-h", "help"].contains(&command.as_str()) || rest.iter().any(|a| a == "--help") {
        print!("{USAGE}");
        return Ok(Verdict::Good);
    }
    match command.as_str() {
        "requirements" => requirements::run(rest),
        "lint" if rest.is_empty() => lint::run(),
        "lint" => Ok(Verdict::WrongUsage(format!("`lint` takes no arguments, but was given {:?}", rest[0]))),
        "sbom" => sbom::run(rest),
        other => Ok(Verdict::WrongUsage(format!("there is no command {other:?}"))),
    }
}
