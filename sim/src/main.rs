//! `holdfast-sim run --seeds A..B`: plays worlds and says what was violated. `holdfast-sim replay SEED`: tells one.
//! `holdfast-sim heal --hosts N`: hosts in trouble, and how many get well.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use holdfast_lifeline::{Flaw, Sound};
use holdfast_sim::run::{self, Seeds};
use holdfast_sim::{Plan, World, shrink, story, trouble};
use serde_json::json;

#[derive(Debug, Parser)]
#[command(name = "holdfast-sim", about = "Simulated worlds for the steward", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play many worlds; exit 1 when a rule is broken in one
    Run {
        /// Which seeds: 0..20000
        #[arg(long, default_value = "0..20000")]
        seeds: Seeds,
        /// Break the design in one place first (see `mutants`)
        #[arg(long)]
        mutant: Option<Mutant>,
        /// Stop at the first violation
        #[arg(long)]
        first: bool,
        /// Name the cells of phases, events and faults that nothing reached
        #[arg(long)]
        coverage: bool,
        /// One JSON object on stdout
        #[arg(long)]
        json: bool,
    },
    /// Tell the story of one world
    Replay {
        seed: u64,
        #[arg(long)]
        mutant: Option<Mutant>,
        /// Only these faults of it, by number: 0,3
        #[arg(long, value_delimiter = ',')]
        faults: Option<Vec<usize>>,
    },
    /// Let the built-in rules look after hosts in trouble, twice: the second time with what was learnt the first
    Heal {
        /// How many hosts in each pass
        #[arg(long, default_value_t = 2000)]
        hosts: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Tell the story of each host that could be healed and was not, and of each that was harmed
        #[arg(long)]
        tell: bool,
        /// One JSON object on stdout
        #[arg(long)]
        json: bool,
    },
    /// List the ways in which the design can be broken on purpose
    Mutants,
}

#[derive(Clone, Copy, Debug)]
struct Mutant(Flaw);

impl std::str::FromStr for Mutant {
    type Err = String;

    fn from_str(text: &str) -> Result<Mutant, String> {
        let known = Flaw::ALL.iter().find(|flaw| flaw.name() == text);
        known
            .map(|flaw| Mutant(*flaw))
            .ok_or_else(|| format!("{text:?} is no mutant; `holdfast-sim mutants` lists them"))
    }
}

fn sound(mutant: Option<Mutant>) -> Sound {
    mutant.map_or(Sound::YES, |Mutant(flaw)| Sound::but_for(flaw))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Run { seeds, mutant, first, coverage, json } => {
            run_seeds(seeds, mutant, first, coverage, json)
        }
        Command::Replay { seed, mutant, faults } => replay(seed, mutant, faults),
        Command::Heal { hosts, seed, tell, json } => heal(hosts, seed, tell, json),
        Command::Mutants => mutants(),
    };
    match done {
        Ok(code) => code,
        // Whoever reads our output has gone: there is nobody to tell.
        Err(_) => ExitCode::FAILURE,
    }
}

fn heal(hosts: u64, seed: u64, tell: bool, json: bool) -> std::io::Result<ExitCode> {
    let began = Instant::now();
    let report = match trouble::report::two_passes(hosts, seed) {
        Ok(report) => report,
        Err(failed) => return Err(std::io::Error::other(failed)),
    };
    let mut out = std::io::stdout().lock();
    if tell {
        for line in report.unhealed() {
            writeln!(std::io::stderr(), "{line}")?;
        }
    }
    if json {
        writeln!(out, "{}", report.json())?;
    } else {
        writeln!(out, "{report}")?;
        writeln!(out, "{:.1} s", began.elapsed().as_secs_f64())?;
    }
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn mutants() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    for flaw in Flaw::ALL {
        writeln!(out, "{:<26} {}", flaw.name(), flaw.what())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_seeds(
    seeds: Seeds,
    mutant: Option<Mutant>,
    first: bool,
    coverage: bool,
    json: bool,
) -> std::io::Result<ExitCode> {
    let began = Instant::now();
    let report = run::run(seeds, sound(mutant), first);
    let seconds = began.elapsed().as_secs_f64();
    let per_second = report.worlds as f64 / seconds.max(1e-9);
    let mut out = std::io::stdout().lock();
    let name = mutant.map_or("none", |Mutant(flaw)| flaw.name());
    if json {
        let broken: Vec<_> = report
            .broken
            .iter()
            .map(|(seed, violation)| json!({ "seed": seed, "rule": violation.rule, "what": violation.what, "at": story::clock(violation.at) }))
            .collect();
        let (events, faults) = report.coverage.unreached();
        let value = json!({
            "seeds": report.worlds, "seeds_per_second": per_second, "episodes": report.episodes, "kept": report.kept,
            "mutant": name, "violations": broken, "unreached": { "events": events, "faults": faults },
        });
        writeln!(out, "{value}")?;
    } else {
        writeln!(
            out,
            "{} worlds, {} episodes, {} kept, {per_second:.0} seeds/s, mutant {name}",
            report.worlds, report.episodes, report.kept
        )?;
        for (seed, violation) in report.broken.iter().take(10) {
            writeln!(
                out,
                "\n● seed {seed} at {}: {}: {}",
                story::clock(violation.at),
                violation.rule,
                violation.what
            )?;
            let needed = shrink::shrink(*seed, sound(mutant), violation.rule);
            let list = needed.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let mutant = mutant.map(|Mutant(flaw)| format!(" --mutant {}", flaw.name())).unwrap_or_default();
            writeln!(out, "  holdfast-sim replay {seed}{mutant} --faults {list}")?;
        }
        if report.broken.len() > 10 {
            writeln!(out, "\nand {} more", report.broken.len() - 10)?;
        }
        if coverage {
            tell_coverage(&mut out, &report.coverage)?;
        }
    }
    Ok(if report.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell_coverage(out: &mut impl Write, coverage: &holdfast_sim::coverage::Coverage) -> std::io::Result<()> {
    let (events, faults) = coverage.unreached();
    writeln!(
        out,
        "\n{} cells of phase × event were reached, {} were not:",
        coverage.events.len(),
        events.len()
    )?;
    for (phase, event) in events {
        writeln!(out, "  {phase} × {event}")?;
    }
    writeln!(
        out,
        "{} cells of phase × fault were reached, {} were not:",
        coverage.faults.len(),
        faults.len()
    )?;
    for (phase, fault) in faults {
        writeln!(out, "  {phase} × {fault}")?;
    }
    Ok(())
}

fn replay(seed: u64, mutant: Option<Mutant>, faults: Option<Vec<usize>>) -> std::io::Result<ExitCode> {
    let whole = Plan::draw(seed);
    let plan = match &faults {
        Some(wanted) => shrink::with_faults(&whole, wanted),
        None => whole.clone(),
    };
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "seed {seed}: level {:?}, brain {:?}, person {:?}, {} controller(s), ends after {}",
        plan.level,
        plan.brain,
        plan.person,
        plan.controllers,
        story::clock(plan.ends)
    )?;
    for (number, fault) in whole.faults.iter().enumerate() {
        let used = faults.as_ref().is_none_or(|wanted| wanted.contains(&number));
        writeln!(
            out,
            "  fault {number}{} at {}: {fault}",
            if used { "" } else { " (left out)" },
            story::clock(fault.at)
        )?;
    }
    let verdict = World::new(plan, sound(mutant), true).run();
    for line in verdict.story.lines() {
        writeln!(out, "{line}")?;
    }
    for violation in &verdict.violations {
        writeln!(out, "{} VIOLATED   {}: {}", story::clock(violation.at), violation.rule, violation.what)?;
    }
    Ok(if verdict.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
