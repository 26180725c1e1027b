//! The guard beside the steward.
//!
//!     holdfast-tripwire run [SETTINGS]          watches, until it is ended
//!     holdfast-tripwire check [SETTINGS]        reads the settings and tries every way back without doing anything
//!     holdfast-tripwire acknowledge TARGET [SETTINGS]
//!                                               a person takes care of it: an undo that does not get through is given up
//!     holdfast-tripwire charge [SETTINGS]       puts a target into the settings or takes it out; a document for each on a
//!                                               line of standard input, and an answer on a line. `holdfast target guard` says it
//!     holdfast-tripwire --version               which one this is
//!
//! Settings are at /etc/holdfast-tripwire/tripwire.json unless said.
//! Exit codes: 0 done, 1 failed or refused, 2 wrong usage or settings.

use std::io::{BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holdfast_lifeline::{PERIOD, TargetName};
use holdfast_logbook::Logbook;
use holdfast_tripwire::charge::{ASK_MAX, Request, SETTINGS, carry_out};
use holdfast_tripwire::clock::since_boot_ms;
use holdfast_tripwire::keeper::Keeper;
use holdfast_tripwire::rehearsal::rehearse;
use holdfast_tripwire::settings::Settings;

const USAGE: &str = "usage: holdfast-tripwire run [SETTINGS] | check [SETTINGS] | acknowledge TARGET [SETTINGS] | \
                     charge [SETTINGS] | --version";
/// A round is late when it took longer than all its limits together.
const ROUND_WITHIN: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).take(4).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["run"] => run(Path::new(SETTINGS)),
        ["run", settings] => run(Path::new(settings)),
        ["check"] => check(Path::new(SETTINGS)),
        ["check", settings] => check(Path::new(settings)),
        ["charge"] => charge(Path::new(SETTINGS)),
        ["charge", settings] => charge(Path::new(settings)),
        // Said by `charge` to itself, as the guard's own user.
        ["rehearse", settings, target] => rehearsed(Path::new(settings), target),
        ["acknowledge", target] => acknowledge(target, Path::new(SETTINGS)),
        ["acknowledge", target, settings] => acknowledge(target, Path::new(settings)),
        ["--version"] => say(&format!("holdfast-tripwire {}", env!("CARGO_PKG_VERSION")), ExitCode::SUCCESS),
        ["--help" | "-h"] => say(USAGE, ExitCode::SUCCESS),
        _ => wrong(USAGE),
    }
}

fn run(path: &Path) -> ExitCode {
    let settings = match Settings::read(path) {
        Ok(settings) => settings,
        Err(e) => return wrong(&e.to_string()),
    };
    let logbook = match prepared(&settings) {
        Ok(logbook) => logbook,
        Err(e) => return wrong(&e),
    };
    let beats: Vec<Arc<AtomicU64>> = settings
        .targets
        .iter()
        .map(|target| {
            let beat = Arc::new(AtomicU64::new(since_boot_ms()));
            let (theirs, settings, target, logbook) =
                (beat.clone(), settings.clone(), target.clone(), logbook.clone());
            std::thread::spawn(move || {
                let mut keeper = Keeper::start(&settings, &target, logbook);
                loop {
                    let nap = keeper.round();
                    theirs.store(since_boot_ms(), Ordering::Relaxed);
                    std::thread::sleep(nap);
                }
            });
            beat
        })
        .collect();
    drop(settings);
    let _not_under_systemd = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    loop {
        std::thread::sleep(PERIOD);
        let late = |beat: &Arc<AtomicU64>| {
            since_boot_ms().saturating_sub(beat.load(Ordering::Relaxed)) > ROUND_WITHIN.as_millis() as u64
        };
        // One that hangs or has died is started again with all of them.
        if !beats.iter().any(late) {
            let _not_under_systemd = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
        }
    }
}

/// Its own folders and its own log. Where the log cannot be made the guard works without.
fn prepared(settings: &Settings) -> Result<Logbook, String> {
    for folder in [&settings.state, &settings.run] {
        holdfast_durable::create_dir(folder).map_err(|e| e.to_string())?;
    }
    let logbook = Logbook::of("tripwire", settings.state.clone());
    if let Err(e) = logbook.begin() {
        let _ = writeln!(std::io::stderr(), "<4>the guard's log: {e}");
    }
    Ok(logbook)
}

/// A line for each way back: whether it would work.
fn check(path: &Path) -> ExitCode {
    let settings = match Settings::read(path) {
        Ok(settings) => settings,
        Err(e) => return wrong(&e.to_string()),
    };
    let mut failed = false;
    for target in &settings.targets {
        for way in rehearse(target) {
            failed |= way.trouble.is_some();
            let word = way.trouble.map_or_else(|| "works".to_owned(), |why| format!("would not work: {why}"));
            let _closed = writeln!(std::io::stdout(), "{}  {:<12}  {word}", target.name, way.way);
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The same of one target, as one line of JSON. That a way fails is an answer.
fn rehearsed(path: &Path, name: &str) -> ExitCode {
    let settings = match Settings::read(path) {
        Ok(settings) => settings,
        Err(e) => return wrong(&e.to_string()),
    };
    match settings.targets.iter().find(|target| target.name.as_str() == name) {
        Some(target) => match serde_json::to_string(&rehearse(target)) {
            Ok(line) => say(&line, ExitCode::SUCCESS),
            Err(e) => wrong(&e.to_string()),
        },
        None => wrong(&format!("no target is named {name:?}")),
    }
}

/// A request on a line, an answer on a line, until nobody asks any more.
fn charge(path: &Path) -> ExitCode {
    let mut input = std::io::stdin().lock();
    let mut ended = ExitCode::SUCCESS;
    loop {
        let mut line = String::new();
        match input.by_ref().take(ASK_MAX).read_line(&mut line) {
            Ok(0) => return ended,
            Ok(_) => {}
            Err(e) => return wrong(&e.to_string()),
        }
        // What came holds a key: nothing of it is repeated.
        let Ok(request) = serde_json::from_str::<Request>(&line) else {
            return wrong("what was asked is not what it should be");
        };
        let answer = carry_out(&request, path);
        ended = if answer.done { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        match serde_json::to_string(&answer) {
            Ok(line) => say(&line, ended),
            Err(e) => return wrong(&e.to_string()),
        };
    }
}

fn acknowledge(target: &str, path: &Path) -> ExitCode {
    let settings = match Settings::read(path) {
        Ok(settings) => settings,
        Err(e) => return wrong(&e.to_string()),
    };
    let Some(name) =
        target.parse::<TargetName>().ok().filter(|name| settings.targets.iter().any(|it| it.name == *name))
    else {
        return wrong(&format!("no target is named {target:?}"));
    };
    let file: PathBuf = settings.state.join(format!("{name}.acknowledged"));
    match holdfast_durable::replace(&file, b"", holdfast_durable::Mode::Private) {
        Ok(()) => say(&format!("{name}: what could not be undone is left to you"), ExitCode::SUCCESS),
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "holdfast-tripwire: {e}");
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str, code: ExitCode) -> ExitCode {
    let _closed = writeln!(std::io::stdout(), "{line}");
    code
}

fn wrong(line: &str) -> ExitCode {
    let _closed = writeln!(std::io::stderr(), "holdfast-tripwire: {line}");
    ExitCode::from(2)
}
