//! Keeps the rules about what the daemon's and the tripwire's users may reach.
//!
//!     holdfast-egress run                 keeps them true, until it is ended; they stay
//!     holdfast-egress clear               takes them away
//!     holdfast-egress --version           which one this is
//!
//! `run --home DIR [--pace N]` is for a lab: everything it reads and writes lies below that folder, and its waits are so many times shorter.
//! Exit codes: 0 done, 1 failed, 2 wrong usage, or users that no rule can be about.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use holdfast_egress::{Keeper, Pace, World, nft};
use holdfast_logbook::SystemClock;

const USAGE: &str = "usage: holdfast-egress run [--home DIR [--pace N]] | clear | --version";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).take(6).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["run"] => run(World::of_system(), 1),
        ["run", "--home", home] => run(below(home), 1),
        ["run", "--home", home, "--pace", pace] => match pace.parse() {
            Ok(pace @ 1..=1000) => run(below(home), pace),
            _ => wrong(USAGE),
        },
        ["clear"] => clear(),
        ["--version"] => say(&format!("holdfast-egress {}", env!("CARGO_PKG_VERSION"))),
        ["--help" | "-h"] => say(USAGE),
        _ => wrong(USAGE),
    }
}

fn below(home: &str) -> World {
    let home = Path::new(home);
    World::of_home(&home.join("etc"), &home.join("state"), &home.join("run"))
}

fn run(world: World, pace: Pace) -> ExitCode {
    let mut keeper = match Keeper::start(world, pace, Arc::new(SystemClock::new())) {
        Ok(keeper) => keeper,
        Err(e) => return wrong(&e),
    };
    let _not_under_systemd = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    loop {
        if let Err(e) = keeper.turn() {
            let _closed = writeln!(std::io::stderr(), "holdfast-egress: {e}");
            return ExitCode::FAILURE;
        }
        let _not_under_systemd = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
    }
}

fn clear() -> ExitCode {
    match nft::clear() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _closed = writeln!(std::io::stderr(), "holdfast-egress: {e}");
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) -> ExitCode {
    let _closed = writeln!(std::io::stdout(), "{line}");
    ExitCode::SUCCESS
}

fn wrong(line: &str) -> ExitCode {
    let _closed = writeln!(std::io::stderr(), "holdfast-egress: {line}");
    ExitCode::from(2)
}
