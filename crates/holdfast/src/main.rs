//! `holdfast`: the command line.
//!
//! Begin with `cli.rs`, the one definition of every command; each command is a file of its own (`init.rs`,
//! `commands/…`, `audit/…`, `doctor/…`). `places.rs` decides where files lie, `house.rs` looks at them, `office/`
//! opens them for work and answers requests, `ask.rs` finds whoever has them open, `daemon/` is `holdfast up`.
//! `settings.rs` turns configuration into rooms; `steward/` is the steward at work, `memory/` keeps what agents remember, `enrolment/` takes hosts in and lets them go; `sieve.rs` takes secrets out of whatever is said beside an answer; `look.rs` and `problem.rs` say how answers and errors look,
//! `console.rs` is the only place that prints answers.
//!
//! What holds: data goes to stdout and everything else to stderr; nothing prompts where there is no
//! terminal, and on one only what is signed by a person does; the exit code is the
//! verdict (`docs/exit-codes.md`); no input makes it panic.

mod ask;
mod audit;
mod autonomy;
mod cli;
mod commands;
mod console;
mod daemon;
mod disk;
mod docs;
mod doctor;
mod enrolment;
mod gateway;
mod house;
mod init;
mod kinds;
mod look;
mod memory;
mod office;
mod owner;
mod places;
mod problem;
mod settings;
mod sieve;
mod steward;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use holdfast_types::{Exit, Problem};

use crate::cli::{Cli, Command};
use crate::console::{Console, Form};
use crate::house::House;
use crate::places::{Facts, Places};
use crate::problem::{CliError, Failure, Result};

fn main() -> ExitCode {
    sieve::hook_panics();
    let args: Vec<_> = std::env::args_os().collect();
    let exit = match Cli::try_parse_from(&args) {
        Ok(cli) => run(cli),
        Err(e) => {
            // An agent's command line would take 2 for a veto.
            let wrong = if commands::memory::is_hook(&args) { Exit::Negative } else { Exit::Usage };
            not_understood(&e, wrong, args.iter().any(|a| a == "--json")).code()
        }
    };
    ExitCode::from(exit)
}

/// Answers with an exit code: a verdict's, or that of the program a cage ran.
fn run(cli: Cli) -> u8 {
    let mut console = Console::new(if cli.json { Form::Json } else { Form::People });
    let ended = dispatch(cli, &mut console);
    // The verdict stands, whether or not anyone was left to read it.
    let ended = match (ended, console.flush()) {
        (Ok(exit), Ok(()) | Err(Failure::ReaderLeft)) => Ok(exit),
        (Ok(_), Err(e)) | (Err(e), _) => Err(e),
    };
    match ended {
        Ok(exit) => exit,
        Err(Failure::ReaderLeft) => Exit::Ok.code(),
        Err(Failure::Problem(problem)) => {
            console.problem(&problem);
            problem.exit.code()
        }
    }
}

fn dispatch(cli: Cli, console: &mut Console) -> Result<u8> {
    let house = || -> Result<House> {
        let places = Places::find(&facts(cli.home.clone()))?;
        owner::become_owner(&places)?;
        sieve::of_home(&places);
        Ok(House { places })
    };
    let verdict = match cli.command {
        Command::Cage(args) => return commands::cage::run(&args, console),
        Command::Demo(args) => return commands::demo::run(&args, console),
        Command::Init(args) => init::run(&args, &house()?, console),
        Command::Up(args) => daemon::run(&args, &house()?, console),
        Command::Down(args) => commands::down::run(&args, &house()?, console),
        Command::Status(args) => commands::status::run(&args, &house()?, console),
        Command::Doctor(args) => doctor::run(&args, &house()?, console),
        Command::Pause(args) => commands::pause::pause(&args, &house()?, console),
        Command::Resume(args) => commands::pause::resume(&args, &house()?, console),
        Command::Approvals(args) => commands::approvals::run(&args, &house()?, console),
        Command::Approve(args) => commands::verdict::approve(&args, house, console),
        Command::Reject(args) => commands::verdict::reject(&args, house, console),
        Command::Steward(args) => commands::steward::run(&args, house, console),
        Command::Memory(args) => {
            let places = || Ok(Places::find(&facts(cli.home.clone()))?);
            commands::memory::run(&args, places, house, console)
        }
        Command::Model(args) => commands::model::run(&args, &house()?, console),
        Command::Target(args) => {
            let places = Places::find(&facts(cli.home.clone()))?;
            let hands = match args.errand()? {
                Some(errand) => enrolment::hands::Hands::reached_out(&places, &errand)?,
                None => enrolment::hands::Hands::default(),
            };
            commands::target::run(&args, &house()?, hands, console)
        }
        Command::Config(args) => commands::config::run(&args, house, console),
        Command::Egress(args) => {
            // Root stays root: the tripwire's settings are none of the daemon's business.
            let places = Places::find(&facts(cli.home.clone()))?;
            sieve::of_home(&places);
            commands::egress::run(&args, &places, console)
        }
        Command::Notice(args) => commands::notice::run(&args, &house()?, console),
        Command::Gateway(args) => commands::gateway::run(args, &house()?, console),
        Command::Disk(args) => commands::disk::run(&args, &house()?, console),
        Command::Rebuild(args) => commands::rebuild::run(&args, &house()?, console),
        Command::Backup(args) => commands::backup::run(&args, &house()?, console),
        Command::Export(args) => commands::export::run(&args, &house()?, console),
        Command::SupportBundle(args) => commands::bundle::run(&args, &house()?, console),
        Command::Scan(args) => commands::scan::run(&args, console),
        Command::Hook(args) => commands::hook::run(&args, console),
        Command::Redact(args) => {
            // Whatever is to be read is the caller's, so nobody else's rights are taken on.
            let places = Places::find(&facts(cli.home.clone())).ok();
            commands::redact::run(&args, places.as_ref(), console)
        }
        Command::Audit(args) => audit::run(*args, &house()?, console),
        Command::Uninstall(args) => commands::uninstall::run(&args, &house()?, console),
        Command::Completions { shell } => docs::completions(shell, console),
        Command::Man(args) => docs::man(&args, console),
        Command::Docs(args) => docs::run(&args, console),
        Command::Warrant(warrant) => enrolment::warrant::run(&warrant, console),
    };
    verdict.map(Exit::code)
}

fn facts(flag: Option<std::path::PathBuf>) -> Facts {
    Facts {
        flag,
        holdfast_home: std::env::var_os("HOLDFAST_HOME").map(Into::into),
        unit: ["CONFIGURATION_DIRECTORY", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"]
            .map(|name| std::env::var_os(name).map(Into::into)),
        home: std::env::var_os("HOME").map(Into::into),
        is_root: rustix::process::geteuid().is_root(),
        system_install: Path::new(places::SYSTEM_ETC).is_dir(),
        owns_system: owner::owner_of(Path::new(places::SYSTEM_STATE))
            .is_some_and(|owner| owner.uid == rustix::process::geteuid()),
    }
}

/// Help and version are answers; anything else is wrong usage.
fn not_understood(e: &clap::Error, wrong: Exit, json: bool) -> Exit {
    if !e.use_stderr() {
        // A reader that left, as `head` does, has seen what it wanted.
        let _ = e.print();
        return Exit::Ok;
    }
    let message = e.render().to_string();
    if json {
        let message = message.trim().to_owned();
        Console::new(Form::Json).problem(&Problem { exit: wrong, ..CliError::Usage { message }.problem() });
        return wrong;
    }
    // It repeats what was typed, and what was typed wrong may be a secret.
    match sieve::sieved(&message) {
        clean if clean == message => drop(e.print()),
        clean => Console::new(Form::People).aside(&clean),
    }
    wrong
}
