//! `holdfast memory experience …`: what the history of a repository taught, and what of it fits now.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryMined};
use holdfast_memory_host::Error as EngineError;
use holdfast_types::Exit;
use serde_json::json;

use super::search::from_where;
use super::{ActorArgs, WhoseArgs, ask, quoted, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::{House, now, reading};
use crate::look::{Shape, count, number, printable};
use crate::memory::MemoryError;
use crate::problem::Result;

/// Lines of a text that a list shows.
const TEXT_LINES: usize = 6;

/// What was learnt from history: mine a repository, match a situation
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(super) struct ExperienceArgs {
    #[command(subcommand)]
    command: ExperienceCommand,
}

#[derive(Debug, Subcommand)]
enum ExperienceCommand {
    Mine(MineArgs),
    Match(MatchArgs),
}

/// Learn fixes, patterns and decisions from the history of a git repository
///
/// Read with git, which runs nothing of the repository. Said again it learns what is new.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast memory experience mine ~/src/gateway --agent scout

JSON fields: agent, commits, captured, known, blocked, dry_run.")]
struct MineArgs {
    /// The repository
    #[arg(value_name = "FOLDER")]
    repository: PathBuf,

    #[command(flatten)]
    whose: WhoseArgs,

    /// The most commits that are looked at, the newest first
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    commits: u32,

    #[command(flatten)]
    by: ActorArgs,

    /// Say what would be looked at and learn nothing
    #[arg(long)]
    dry_run: bool,
}

/// Find what was learnt that fits an error or a situation, before a brain is asked
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast memory experience match 'connection refused on port 9096 after deploy' --agent scout

Exit code 1: nothing fits, or nobody of that name remembers anything.

JSON fields: agent, matches[] with score, why, and the fields of a hit of `memory search`.")]
struct MatchArgs {
    /// The error, or what is to be done
    situation: String,

    #[command(flatten)]
    whose: WhoseArgs,

    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    top: u32,
}

pub(super) fn run(
    args: &ExperienceArgs,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    match &args.command {
        ExperienceCommand::Mine(args) => mine(args, house, console),
        ExperienceCommand::Match(args) => matched(args, &house()?, console),
    }
}

fn mine(args: &MineArgs, house: impl FnOnce() -> Result<House>, console: &mut Console) -> Result<Exit> {
    // Whoever reads it may work elsewhere.
    let repository = std::fs::canonicalize(&args.repository).map_err(|e| reading(&args.repository, e))?;
    if !repository.join(".git").exists() && !repository.join("HEAD").is_file() {
        // Before anything is opened for it.
        return Err(MemoryError::from(EngineError::NotARepository(repository)).into());
    }
    let house = house()?;
    let mark = |shape| console.out_style.shape(shape);
    if args.dry_run {
        house.view(&Default::default())?;
        if console.is_json() {
            console.json(
                &json!({"agent": args.whose.agent, "commits": null, "captured": null, "known": null, "blocked": null, "dry_run": true}),
            )?;
        } else {
            let line = format!(
                "{} would look at up to {} commits of {}",
                mark(Shape::Unknown),
                number(args.commits.into()),
                repository.display()
            );
            console.line(&line)?;
        }
        return Ok(Exit::Ok);
    }
    let asked = MemoryAsk::Mine {
        agent: args.whose.agent.clone(),
        repository: repository.display().to_string(),
        commits: args.commits,
        actor: args.by.actor()?,
    };
    let MemoryMined { agent, commits, captured, known, blocked } =
        match ask(&mut Talk::with(&house), asked, console)? {
            MemoryAnswer::Mined(mined) => mined,
            other => return Err(strange(other)),
        };
    if console.is_json() {
        console.json(&json!({"agent": agent, "commits": commits, "captured": captured, "known": known, "blocked": blocked, "dry_run": false}))?;
    } else {
        let learnt = count(captured, "experience", "experiences");
        let mark = console.out_style.shape(Shape::Settled);
        let commits = count(commits, "commit", "commits");
        console
            .line(&format!("{mark} {agent} learnt {learnt} from {commits}; {} were known", number(known)))?;
        if blocked > 0 {
            console.line(&format!("  blocked by the guard: {}", number(blocked)))?;
        }
    }
    Ok(Exit::Ok)
}

fn matched(args: &MatchArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let asked = MemoryAsk::Match {
        agent: args.whose.agent.clone(),
        situation: args.situation.clone(),
        top: args.top,
    };
    let matches = match ask(&mut Talk::with(house), asked, console)? {
        MemoryAnswer::Matched(matches) => matches,
        other => return Err(strange(other)),
    };
    if console.is_json() {
        console.json(&json!({"agent": args.whose.agent, "matches": matches}))?;
    } else if matches.is_empty() {
        let mark = console.out_style.shape(Shape::Unknown);
        console.line(&format!("{mark} nothing that {} learnt fits", args.whose.agent))?;
    } else {
        for it in &matches {
            let whence = console.out_style.faint(&from_where(&it.memory, now()));
            console.line(&format!("{}  {:.2}  {whence}", it.memory.id, it.score))?;
            let text = quoted(&it.memory.text, console.width(), TEXT_LINES);
            console.write(text.as_bytes())?;
            console.line(&format!("  {}", printable(&it.why)))?;
        }
    }
    Ok(if matches.is_empty() { Exit::Negative } else { Exit::Ok })
}
