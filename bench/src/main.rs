//! Measures the journal against its goals and its peers, and writes the page about it.
//!
//! `holdfast-bench [journal] [--quick] [--out FILE] [--dir DIR]`. Begin with [`measure`] for what is measured in
//! which order; `append.rs`, `verify.rs` and `open.rs` measure, `weather.rs` says which
//! rounds others disturbed, `stats.rs` and `report.rs` make of it what is read.
//!
//! What holds: the journal and its peers work in the same directory, in turns. Two runs never overlap. When it
//! ends, nothing is left but the log for the opening, which is kept in `bench-cache`. Nothing goes over a network.

mod append;
mod house;
mod machine;
mod open;
mod report;
mod stats;
mod verify;
mod weather;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::house::Drafts;
use crate::machine::Machine;
use crate::report::{Extent, Measured};

const USAGE: &str = "\
usage: holdfast-bench [journal] [--quick] [--out FILE] [--dir DIR]

  journal     what to measure; there is nothing else yet
  --quick     small logs and few rounds: less than a minute
  --out FILE  where the page goes; without it, to standard output
  --dir DIR   where to measure; the build's target directory unless told
";

#[derive(Debug, PartialEq, Eq)]
struct Args {
    extent: Extent,
    out: Option<PathBuf>,
    dir: Option<PathBuf>,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Run(Args),
    Help,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some((verify::CHILD, rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return say(&verify::child(rest)?);
    }
    let args = match parse(&args)? {
        Wanted::Run(args) => args,
        Wanted::Help => return say(USAGE.trim_end()),
    };
    let rooms = Rooms::take(args.dir.as_deref())?;
    let measured = measure(&rooms, args.extent)?;
    let page = report::page(&measured);
    match &args.out {
        Some(path) => std::fs::write(path, page).with_context(|| format!("writing {}", path.display())),
        None => say(page.trim_end()),
    }
}

fn measure(rooms: &Rooms, extent: Extent) -> Result<Measured> {
    let began = Instant::now();
    let run = rooms.run.as_path();
    let machine = Machine::look(run)?;
    let drafts = Drafts::measure(&run.join("scratch"))?;
    let (appends, verification, opening) = plans(extent);
    step("appending, one caller");
    let lone = append::lone(run, drafts, appends)?;
    step("appending, many callers");
    let crowd = append::crowd(run, drafts, appends)?;
    step("verifying");
    let verified = verify::measure(run, drafts, verification)?;
    step("opening (the first time a large log is made, which takes minutes)");
    let opened = open::measure(&rooms.cache, opening)?;
    step("done");
    Ok(Measured { extent, machine, lone, crowd, verified, opened, seconds: began.elapsed().as_secs() })
}

/// How much of everything. A full run is as long as it takes for the medians of two runs to agree to a few
/// percent; a quick one shows that everything works.
fn plans(extent: Extent) -> (append::Plan, verify::Plan, open::Plan) {
    let quick = extent == Extent::Quick;
    let pick = |full: usize, less: usize| if quick { less } else { full };
    let time_max = Duration::from_secs(if quick { 8 } else { 120 });
    let appends = append::Plan {
        lone_rounds: pick(60, 20),
        crowd_rounds: pick(40, 10),
        slice: pick(200, 100),
        callers: 64,
        each: pick(50, 20),
        time_max,
    };
    let verification =
        verify::Plan { bytes: if quick { 40_000_000 } else { 400_000_000 }, rounds: pick(7, 3) };
    let opening = open::Plan {
        bytes: if quick { 200_000_000 } else { 10_000_000_000 },
        warm_rounds: pick(4, 2),
        cold: pick(7, 3),
        time_max,
    };
    (appends, verification, opening)
}

/// The directories of this run, and the lock that keeps a second one out.
struct Rooms {
    run: PathBuf,
    cache: PathBuf,
    _lock: File,
}

impl Rooms {
    fn take(dir: Option<&Path>) -> Result<Rooms> {
        let base = match dir {
            Some(dir) => dir.to_owned(),
            None => target_dir()?,
        };
        let (run, cache) = (base.join("bench-run"), base.join("bench-cache"));
        std::fs::create_dir_all(&cache).with_context(|| format!("making {}", cache.display()))?;
        let lock = File::create(cache.join("LOCK"))?;
        lock.try_lock().context("another run is under way here")?;
        // What a run that was killed has left.
        remove(&run)?;
        std::fs::create_dir(&run).with_context(|| format!("making {}", run.display()))?;
        Ok(Rooms { run, cache, _lock: lock })
    }
}

impl Drop for Rooms {
    fn drop(&mut self) {
        if let Err(e) = remove(&self.run) {
            step(&format!("could not tidy up: {e:#}"));
        }
    }
}

fn remove(dir: &Path) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("removing {}", dir.display()))
        }
        _ => Ok(()),
    }
}

/// The build's target directory: this program lies in `target/release`.
fn target_dir() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2);
    Ok(target.context("the program lies in no directory")?.to_owned())
}

fn parse(args: &[String]) -> Result<Wanted> {
    let mut out = Args { extent: Extent::Full, out: None, dir: None };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut path = || {
            let value = rest.next().with_context(|| format!("{arg} needs a path\n{USAGE}"));
            value.map(|v| Some(PathBuf::from(v)))
        };
        match arg.as_str() {
            "journal" => {}
            "--quick" => out.extent = Extent::Quick,
            "--out" => out.out = path()?,
            "--dir" => out.dir = path()?,
            "--help" | "-h" => return Ok(Wanted::Help),
            other => bail!("{other:?} means nothing here\n{USAGE}"),
        }
    }
    Ok(Wanted::Run(out))
}

fn say(text: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// One line per step, for whoever waits.
#[expect(clippy::print_stderr, reason = "this is the program's progress, for a person")]
fn step(what: &str) {
    eprintln!("holdfast-bench: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(Extent, Option<&str>, Option<&str>)>) {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let wanted = expected.map(|(extent, out, dir)| {
            Wanted::Run(Args { extent, out: out.map(PathBuf::from), dir: dir.map(PathBuf::from) })
        });
        assert_eq!(parse(&args).ok(), wanted, "{line}");
    }

    #[test]
    fn the_command_line_is_understood_or_refused() {
        check("", Some((Extent::Full, None, None)));
        check("journal --quick", Some((Extent::Quick, None, None)));
        check("--out a.md --dir /d", Some((Extent::Full, Some("a.md"), Some("/d"))));
        check("--out", None);
        check("--fast", None);
    }
}
