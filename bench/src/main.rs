//! Measures the journal, the control plane, the guard, the cage, the steward, memory and the gateway against their goals and their peers, and writes
//! the page about it.
//!
//! `holdfast-bench [--only PART] [--quick] [--out FILE] [--dir DIR]`. Begin with [`measure`] for what is measured in
//! which order. Of the journal: `append.rs`, `verify.rs` and `open.rs`, on a journal from `house.rs`. Of the control
//! plane: `control.rs` and what it calls (`replay.rs`, `start.rs`, `calls.rs`, `idle.rs`), on a home from `home.rs`
//! with the product's own `program.rs` and `daemon.rs`. Of the guard: `guard/`, on a tree of invented secrets, against
//! the scanners `scripts/peers.sh` installs. Of the cage: `cage.rs`, beside bubblewrap. Of the steward: `steward.rs`, in
//! simulated worlds, `detection.rs`, on data whose truth is known, `hosts.rs`, on real hosts of the lab, and `net.rs`, with the tripwire. Of memory: `memory/`. Of the gateway: `gateway/`, beside nginx and in
//! Chromium.
//! `tools.rs` knows where peers are, `weather.rs` says which rounds others disturbed, `stats.rs`
//! and `report/` make of it what is read.
//!
//! What holds: ours and its peers work in the same directory, in turns. Two runs never overlap. When it ends, nothing
//! runs and nothing is left but the log for the opening, and the spaces of memories, which are kept in `bench-cache`. Nothing leaves the machine.

mod append;
mod cage;
mod calls;
mod control;
mod daemon;
mod detection;
mod gateway;
mod guard;
mod home;
mod hosts;
mod house;
mod idle;
mod machine;
mod memory;
mod net;
mod open;
mod program;
mod replay;
mod report;
mod start;
mod stats;
mod steward;
mod tools;
mod verify;
mod weather;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::house::Drafts;
use crate::machine::Machine;
use crate::report::{Extent, Journalled, Measured};

const USAGE: &str = "\
usage: holdfast-bench [--only PART] [--quick] [--out FILE] [--dir DIR]

  --only PART  measure the `journal`, the `control` plane, the `guard`, the `cage`, the `steward`, its `detection`, its `hosts`, its safety `net`,
               `memory` or the `gateway` alone; what comes of it goes to standard output only
  --quick      small logs and few rounds: a minute or two
  --out FILE   where the page goes; without it, to standard output
  --dir DIR    where to measure; the build's target directory unless told
";

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Journal,
    Control,
    Guard,
    Cage,
    Steward,
    Detection,
    Hosts,
    Net,
    Memory,
    Gateway,
}

#[derive(Debug, PartialEq, Eq)]
struct Args {
    /// Everything, unless one part is named.
    only: Option<Part>,
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
    match args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some((verify::CHILD, rest)) => return say(&verify::child(rest)?),
        Some((guard::speed::CHILD, rest)) => return say(&guard::speed::child(rest)?),
        Some((memory::SEARCH_CHILD, rest)) => return say(&memory::search_child(rest)?),
        Some((memory::NEAR_CHILD, _)) => return memory::near_child(),
        _ => {}
    }
    let args = match parse(&args)? {
        Wanted::Run(args) => args,
        Wanted::Help => return say(USAGE.trim_end()),
    };
    let rooms = Rooms::take(args.dir.as_deref())?;
    let measured = measure(&rooms, args.only, args.extent)?;
    let page = report::page(&measured);
    match &args.out {
        Some(path) => std::fs::write(path, page).with_context(|| format!("writing {}", path.display())),
        None => say(page.trim_end()),
    }
}

fn measure(rooms: &Rooms, only: Option<Part>, extent: Extent) -> Result<Measured> {
    let began = Instant::now();
    let machine = Machine::look(&rooms.run)?;
    let wanted = |part| only.is_none_or(|only| only == part);
    let journal = wanted(Part::Journal).then(|| measure_journal(rooms, extent)).transpose()?;
    let control = wanted(Part::Control)
        .then(|| control::measure(&rooms.run, &target_dir()?, control_plan(extent)))
        .transpose()?;
    let guard = wanted(Part::Guard)
        .then(|| guard::measure(&rooms.run, &target_dir()?, guard_plan(extent)))
        .transpose()?;
    let cage = wanted(Part::Cage)
        .then(|| cage::measure(&rooms.run, &target_dir()?, cage_plan(extent)))
        .transpose()?;
    let steward = wanted(Part::Steward).then(|| steward::measure(steward_plan(extent))).transpose()?;
    let detection =
        wanted(Part::Detection).then(|| detection::measure(detection_plan(extent))).transpose()?;
    let hosts = wanted(Part::Hosts)
        .then(|| hosts::measure(&rooms.run, &target_dir()?, hosts_plan(extent)))
        .transpose()?;
    let net =
        wanted(Part::Net).then(|| net::measure(&rooms.run, &target_dir()?, net_plan(extent))).transpose()?;
    let memory = wanted(Part::Memory)
        .then(|| memory::measure(&rooms.run.join("memory"), &rooms.cache, memory_plan(extent)))
        .transpose()?;
    let gateway = wanted(Part::Gateway)
        .then(|| gateway::measure(&rooms.run.join("gateway"), &target_dir()?, gateway_plan(extent)))
        .transpose()?;
    step("done");
    Ok(Measured {
        extent,
        machine,
        journal,
        control,
        guard,
        cage,
        steward,
        detection,
        hosts,
        net,
        memory,
        gateway,
        seconds: began.elapsed().as_secs(),
    })
}

fn measure_journal(rooms: &Rooms, extent: Extent) -> Result<Journalled> {
    let run = rooms.run.as_path();
    let drafts = Drafts::measure(&run.join("scratch"))?;
    let (appends, verification, opening) = journal_plans(extent);
    step("appending, one caller");
    let lone = append::lone(run, drafts, appends)?;
    step("appending, many callers");
    let crowd = append::crowd(run, drafts, appends)?;
    step("verifying");
    let verified = verify::measure(run, drafts, verification)?;
    step("opening (the first time a large log is made, which takes minutes)");
    let opened = open::measure(&rooms.cache, opening)?;
    Ok(Journalled { lone, crowd, verified, opened })
}

/// How much of the journal. A full run is as long as it takes for the medians of two runs to agree to a few
/// percent; a quick one shows that everything works.
fn journal_plans(extent: Extent) -> (append::Plan, verify::Plan, open::Plan) {
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
    let verification = verify::Plan {
        bytes: if quick { 40_000_000 } else { 400_000_000 },
        rounds: if extent == Extent::Full { 7 } else { 3 },
    };
    let opening = open::Plan {
        bytes: if quick { 200_000_000 } else { 10_000_000_000 },
        warm_rounds: pick(4, 2),
        cold: pick(7, 3),
        time_max,
    };
    (appends, verification, opening)
}

/// How much of the control plane.
fn control_plan(extent: Extent) -> control::Plan {
    let quick = extent == Extent::Quick;
    let pick = |full: usize, less: usize| if quick { less } else { full };
    let seconds = |full: u64, less: u64| Duration::from_secs(if quick { less } else { full });
    let time_max = seconds(60, 8);
    control::Plan {
        entries: if quick { 50_000 } else { 1_000_000 },
        replay: replay::Plan { rounds: pick(3, 2), time_max },
        start: start::Plan { warm: pick(15, 4), cold: pick(5, 2), without_index: pick(3, 1), time_max },
        calls: calls::Plan { rounds: pick(10, 3), turn: pick(20, 10), at_once: pick(1000, 100), time_max },
        // The window is as long as the longest time between two things an idle daemon does.
        idle: idle::Plan { age: seconds(20, 3), window: seconds(60, 6) },
    }
}

/// How much of the guard. Even the small tree has every kind of secret. The seed is any number; no setting of any tool
/// was chosen with it.
fn guard_plan(extent: Extent) -> guard::Plan {
    let quick = extent == Extent::Quick;
    let pick = |full: usize, less: usize| if quick { less } else { full };
    let seed = 20_261_115;
    let files = pick(1000, holdfast_planter::FILES_FOR_EVERY_KIND);
    let speed = guard::speed::Plan {
        seed,
        planted_files: files,
        tree_bytes: 100_000_000,
        race_rounds: pick(5, 3),
        time_max: Duration::from_secs(if quick { 8 } else { 120 }),
        text_bytes: 8_000_000,
        text_rounds: pick(15, 3),
        messages: 20_000,
        hostile_rounds: pick(50, 5),
        starts: pick(30, 10),
    };
    guard::Plan { quality: guard::quality::Plan { seed, files }, speed }
}

/// How much of the steward.
fn steward_plan(extent: Extent) -> steward::Plan {
    let pick = |whole, quick| if extent == Extent::Full { whole } else { quick };
    steward::Plan {
        worlds: pick(4_000, 1_000),
        episodes: pick(2_000, 500),
        rounds: if extent == Extent::Full { 7 } else { 3 },
    }
}

/// How much of the detection. The seeds are none that anything was set with.
fn detection_plan(extent: Extent) -> detection::Plan {
    let full = extent == Extent::Full;
    detection::Plan {
        series: if full { 60 } else { 6 },
        first_seed: 400_000,
        noise: if full { 8_000_000 } else { 400_000 },
        rounds: if full { 5 } else { 2 },
    }
}

/// How much of real hosts. A full run sees every host collected from twice more.
fn hosts_plan(extent: Extent) -> hosts::Plan {
    let full = extent == Extent::Full;
    hosts::Plan {
        words: if full { 200 } else { 30 },
        collections: if full { 40 } else { 10 },
        resumes: if full { 7 } else { 2 },
        hosts: if full { 100 } else { 10 },
        watched: Duration::from_secs(if full { 245 } else { 20 }),
    }
}

/// How much of the safety net. The kernel counts in steps of 10 ms, and a tripwire takes one in a minute.
fn net_plan(extent: Extent) -> net::Plan {
    let full = extent == Extent::Full;
    net::Plan { idle: Duration::from_secs(if full { 180 } else { 30 }), losses: if full { 4 } else { 1 } }
}

/// How much of memory. The spaces of a full run take minutes to fill, once.
fn memory_plan(extent: Extent) -> memory::Plan {
    let full = extent == Extent::Full;
    let pick = |full_count: usize, less: usize| if full { full_count } else { less };
    memory::Plan {
        quality: memory::quality::Plan { shapes: if full { &memory::Shape::ALL } else { &[] } },
        capture: memory::capture::Plan {
            rounds: pick(40, 10),
            slice: pick(200, 100),
            callers: 16,
            each: pick(50, 20),
            time_max: Duration::from_secs(if full { 60 } else { 8 }),
        },
        embedding: memory::embedding::Plan {
            rounds: pick(7, 3),
            turn: Duration::from_millis(if full { 700 } else { 200 }),
        },
        sizes: if full { &[10_000, 100_000, 1_000_000] } else { &[10_000, 50_000] },
        search: memory::search::Plan { searches: pick(500, 200) },
        near: memory::near::Plan { rounds: pick(5, 2) },
        consolidation: memory::consolidation::Plan {
            durable: pick(memory::DURABLE, 1000),
            runs: if full { &[100, 1000, 10_000] } else { &[100, 1000] },
        },
    }
}

/// How much of the gateway. Three hundred requests a page are what a p99 is worth something with.
fn gateway_plan(extent: Extent) -> gateway::Plan {
    let full = extent == Extent::Full;
    let pick = |full_count: usize, less: usize| if full { full_count } else { less };
    let seconds = |full_count: u64, less: u64| Duration::from_secs(if full { full_count } else { less });
    gateway::Plan {
        site: gateway::site::Plan {
            entries: if full { 100_000 } else { 5_000 },
            samples: pick(1_000_000, 20_000),
            episodes: if full { 300 } else { 30 },
            memories: pick(300, 50),
        },
        pages: gateway::pages::Plan { rounds: pick(30, 4), each: pick(10, 5), time_max: seconds(60, 8) },
        viewers: gateway::viewers::Plan { viewers: pick(5_000, 400), settle: seconds(20, 4) },
        proxy: gateway::proxy::Plan {
            rounds: pick(8, 2),
            turn: Duration::from_millis(if full { 2_000 } else { 500 }),
            time_max: seconds(60, 8),
        },
        browser: gateway::browser::Plan { loads: pick(5, 1) },
    }
}

/// How much of the cage.
fn cage_plan(extent: Extent) -> cage::Plan {
    let quick = extent == Extent::Quick;
    let pick = |full: usize, less: usize| if quick { less } else { full };
    cage::Plan { starts: pick(200, 30), calls: pick(500_000, 100_000), call_rounds: pick(11, 3) }
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
    let mut out = Args { only: None, extent: Extent::Full, out: None, dir: None };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{arg} needs a value\n{USAGE}"));
        match arg.as_str() {
            "--only" => out.only = Some(part(value()?)?),
            "--quick" => out.extent = Extent::Quick,
            "--out" => out.out = Some(PathBuf::from(value()?)),
            "--dir" => out.dir = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Wanted::Help),
            other => bail!("{other:?} means nothing here\n{USAGE}"),
        }
    }
    if out.only.is_some() && out.out.is_some() {
        bail!("a page has all parts, so --only does not go with --out\n{USAGE}");
    }
    Ok(Wanted::Run(out))
}

fn part(name: &str) -> Result<Part> {
    match name {
        "journal" => Ok(Part::Journal),
        "control" => Ok(Part::Control),
        "guard" => Ok(Part::Guard),
        "cage" => Ok(Part::Cage),
        "steward" => Ok(Part::Steward),
        "detection" => Ok(Part::Detection),
        "hosts" => Ok(Part::Hosts),
        "net" => Ok(Part::Net),
        "memory" => Ok(Part::Memory),
        "gateway" => Ok(Part::Gateway),
        other => bail!("{other:?} cannot be measured\n{USAGE}"),
    }
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

    fn check(line: &str, expected: Option<Args>) {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(parse(&args).ok(), expected.map(Wanted::Run), "{line}");
    }

    #[test]
    fn the_command_line_is_understood_or_refused() {
        let all = || Args { only: None, extent: Extent::Full, out: None, dir: None };
        check("", Some(all()));
        check("--quick", Some(Args { extent: Extent::Quick, ..all() }));
        check("--only guard", Some(Args { only: Some(Part::Guard), ..all() }));
        check("--only memory", Some(Args { only: Some(Part::Memory), ..all() }));
        check("--only gateway", Some(Args { only: Some(Part::Gateway), ..all() }));
        check("--only control", Some(Args { only: Some(Part::Control), ..all() }));
        let paths = Args { out: Some("a.md".into()), dir: Some("/d".into()), ..all() };
        check("--out a.md --dir /d", Some(paths));
        check("--out", None);
        check("--only", None);
        check("--only weather", None);
        check("--fast", None);
    }

    #[test]
    fn a_part_alone_never_replaces_the_page() {
        check("--only journal --out a.md", None);
    }
}
