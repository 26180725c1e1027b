//! Keeps the rules about what the daemon's and the tripwire's users may reach.
//!
//!     holdfast-egress run                 keeps them true, until it is ended; they stay
//!     holdfast-egress lend HOST:PORT…     opens that to the daemon's user, until standard input ends; for root
//!     holdfast-egress clear               takes them away
//!     holdfast-egress --version           which one this is
//!
//! `run` and `lend` with `--home DIR [--pace N]` are for a lab: everything lies below that folder, and the waits are so many times shorter.
//! Exit codes: 0 done, 1 failed, 2 wrong usage, or users that no rule can be about.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use holdfast_egress::{
    Bound, Keeper, LEFT, Lender, PLACES_MAX, Pace, Standing, Status, World, destination, nft,
};
use holdfast_logbook::SystemClock;
use holdfast_types::Clock as _;

const USAGE: &str =
    "usage: holdfast-egress run [--home DIR [--pace N]] | lend HOST:PORT... | clear | --version";
/// The filter is given what is new within a quarter of a second, once a name server has answered.
const OPEN_WITHIN: Duration = Duration::from_secs(20);
const NOT_NEEDED: &str = "nothing has to be lent: no rules are kept here";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).take(12).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["run"] => run(World::of_system(), 1),
        ["run", "--home", home] => run(below(home), 1),
        ["run", "--home", home, "--pace", pace] => match pace.parse() {
            Ok(pace @ 1..=1000) => run(below(home), pace),
            _ => wrong(USAGE),
        },
        ["lend", "--home", home, "--pace", pace, places @ ..] => match pace.parse() {
            Ok(pace @ 1..=1000) => lend(&below(home), pace, places),
            _ => wrong(USAGE),
        },
        ["lend", places @ ..] => lend(&World::of_system(), 1, places),
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

/// For what `holdfast target` cannot be told: a host on the way to another, one that was taken in by half.
fn lend(world: &World, pace: Pace, places: &[&str]) -> ExitCode {
    let destinations: Option<Vec<_>> = places.iter().map(|place| destination(place)).collect();
    let Some(destinations) = destinations.filter(|all| (1..=PLACES_MAX).contains(&all.len())) else {
        return wrong(USAGE);
    };
    if !rustix::process::geteuid().is_root() {
        return wrong("lending is root's");
    }
    let clock = SystemClock::new();
    match Bound::of(&world.run, clock.now()) {
        Bound::Kept => {}
        Bound::None => return say(NOT_NEEDED),
        Bound::Left => return wrong(LEFT),
    }
    let lender = match Lender::lend(&world.run, destinations, "root", pace) {
        Ok(lender) => lender,
        Err(e) => return wrong(&e.to_string()),
    };
    let said = match lender.wait(OPEN_WITHIN, || clock.now()) {
        Standing::Open => "lent, until standard input ends".to_owned(),
        Standing::NotNeeded => NOT_NEEDED.to_owned(),
        Standing::NotYet(why) => format!("not open yet: {why}"),
    };
    say(&said);
    let _until_it_ends = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    drop(lender);
    ExitCode::SUCCESS
}

fn clear() -> ExitCode {
    let said = |e: &dyn std::fmt::Display| e.to_string();
    // With them goes what was said of them: whoever asks is told that nobody is bound.
    let forgotten = || Status::forget(&World::of_system().run).map_err(|e| said(&e));
    match nft::clear().map_err(|e| said(&e)).and_then(|()| forgotten()) {
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
