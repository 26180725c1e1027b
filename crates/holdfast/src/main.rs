//! `holdfast`: the command line.
//!
//! Begin with `cli.rs`, the one definition of every command; each command is a file of its own (`init.rs`,
//! `audit/…`). `places.rs` decides where files lie, `house.rs` opens them, `look.rs` and `problem.rs` say
//! how answers and errors look, `console.rs` is the only place that prints.
//!
//! What holds: data goes to stdout and everything else to stderr; nothing prompts; the exit code is the
//! verdict (`docs/exit-codes.md`); no input makes it panic.

mod audit;
mod cli;
mod console;
mod docs;
mod house;
mod init;
mod kinds;
mod look;
mod places;
mod problem;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use holdfast_types::Exit;

use crate::cli::{Cli, Command};
use crate::console::{Console, Form};
use crate::house::House;
use crate::places::{Facts, Places};
use crate::problem::{CliError, Failure, Result};

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    let exit = match Cli::try_parse_from(&args) {
        Ok(cli) => run(cli),
        Err(e) => not_understood(&e, args.iter().any(|a| a == "--json")),
    };
    ExitCode::from(exit.code())
}

fn run(cli: Cli) -> Exit {
    let mut console = Console::new(if cli.json { Form::Json } else { Form::People });
    let ended = dispatch(cli, &mut console);
    // The verdict stands, whether or not anyone was left to read it.
    let ended = match (ended, console.flush()) {
        (Ok(exit), Ok(()) | Err(Failure::ReaderLeft)) => Ok(exit),
        (Ok(_), Err(e)) | (Err(e), _) => Err(e),
    };
    match ended {
        Ok(exit) => exit,
        Err(Failure::ReaderLeft) => Exit::Ok,
        Err(Failure::Problem(problem)) => {
            console.problem(&problem);
            problem.exit
        }
    }
}

fn dispatch(cli: Cli, console: &mut Console) -> Result<Exit> {
    let house = || -> Result<House> {
        let places = Places::find(&facts(cli.home.clone()))?;
        Ok(House { places })
    };
    match cli.command {
        Command::Init(args) => init::run(&args, &house()?, console),
        Command::Audit(args) => audit::run(*args, &house()?, console),
        Command::Docs(args) => docs::run(&args, console),
    }
}

fn facts(flag: Option<std::path::PathBuf>) -> Facts {
    Facts {
        flag,
        holdfast_home: std::env::var_os("HOLDFAST_HOME").map(Into::into),
        home: std::env::var_os("HOME").map(Into::into),
        is_root: rustix::process::geteuid().is_root(),
        system_install: Path::new(places::SYSTEM_ETC).is_dir(),
    }
}

/// Help and version are answers; anything else is wrong usage.
fn not_understood(e: &clap::Error, json: bool) -> Exit {
    if !e.use_stderr() {
        // A reader that left, as `head` does, has seen what it wanted.
        let _ = e.print();
        return Exit::Ok;
    }
    if json {
        let message = e.render().to_string().trim().to_owned();
        Console::new(Form::Json).problem(&CliError::Usage { message }.problem());
    } else {
        let _ = e.print();
    }
    Exit::Usage
}
