//! `holdfast hook`: the scan in front of every commit, put in place and taken away. Needs neither a home nor a daemon.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use holdfast_scan::{Deed, Done, Hook, Repository, Standing};
use holdfast_types::Exit;
use serde_json::{Value, json};

use crate::console::Console;
use crate::look::{Shape, padded, printable};
use crate::problem::{CliError, Result};

/// The scan in front of every commit and push: put it in place, take it away
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    command: HookCommand,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    Install(InstallArgs),
    Remove(RemoveArgs),
    Status(StatusArgs),
}

/// Scan what is staged before every commit
///
/// A hook that is there is kept: it is called first, and `holdfast hook remove` puts it back as it was. The hook lies where git
/// looks for it, so all work trees of a repository share it, and core.hooksPath is followed.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: hooks[] with hook, path, done; dry_run.")]
struct InstallArgs {
    /// Also scan what a push brings
    #[arg(long)]
    pre_push: bool,

    /// A path in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// Say what would be done and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Take the hooks away, and put back what was there before
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: hooks[] with hook, path, done; dry_run.")]
struct RemoveArgs {
    /// A path in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// Say what would be done and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Whether commits are scanned
///
/// Exit code 0: before every commit, 1: not.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: installed, hooks[] with hook, path, standing.")]
struct StatusArgs {
    /// A path in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
}

pub(crate) fn run(args: &HookArgs, console: &mut Console) -> Result<Exit> {
    match &args.command {
        HookCommand::Install(args) => install(args, console),
        HookCommand::Remove(args) => remove(args, console),
        HookCommand::Status(args) => status(args, console),
    }
}

/// The program as hooks call it: by its path, whatever PATH says at that time.
fn program() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|source| CliError::Start { what: "the path of this program", source }.into())
}

const fn deed(dry_run: bool) -> Deed {
    if dry_run { Deed::Plan } else { Deed::CarryOut }
}

fn install(args: &InstallArgs, console: &mut Console) -> Result<Exit> {
    let repository = Repository::around(&args.repo)?;
    let program = program()?;
    let wanted = if args.pre_push { &Hook::ALL[..] } else { &[Hook::PreCommit] };
    let mut all = Vec::new();
    for hook in wanted {
        all.push((*hook, hook.path(&repository)?, hook.install(&repository, &program, deed(args.dry_run))?));
    }
    tell(&all, args.dry_run, console)
}

fn remove(args: &RemoveArgs, console: &mut Console) -> Result<Exit> {
    let repository = Repository::around(&args.repo)?;
    let mut all = Vec::new();
    for hook in Hook::ALL {
        all.push((hook, hook.path(&repository)?, hook.remove(&repository, deed(args.dry_run))?));
    }
    tell(&all, args.dry_run, console)
}

fn tell(all: &[(Hook, PathBuf, Done)], dry_run: bool, console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        let row = |(hook, path, done): &(Hook, PathBuf, Done)| json!({"hook": hook.name(), "path": shown(path), "done": word(*done)});
        console.json(&json!({"hooks": all.iter().map(row).collect::<Vec<Value>>(), "dry_run": dry_run}))?;
        return Ok(Exit::Ok);
    }
    for (hook, path, done) in all {
        let shape = if dry_run { Shape::Unknown } else { Shape::Settled };
        let would = if dry_run { "would be " } else { "" };
        let mark = console.out_style.shape(shape);
        let sentence = sentence(*done, would);
        console.line(&format!(
            "{mark} {}  {sentence}  {}",
            padded(hook.name(), 10),
            printable(&shown(path))
        ))?;
    }
    Ok(Exit::Ok)
}

const fn word(done: Done) -> &'static str {
    match done {
        Done::Installed { .. } => "installed",
        Done::Renewed => "renewed",
        Done::WasThere => "was_there",
        Done::Removed { .. } => "removed",
        Done::WasNotThere => "was_not_there",
    }
}

fn sentence(done: Done, would: &str) -> String {
    match done {
        Done::Installed { keeps_another: true } => {
            format!("{would}installed; the hook that was there is kept and called first")
        }
        Done::Installed { keeps_another: false } => format!("{would}installed"),
        Done::Renewed => format!("{would}renewed"),
        Done::WasThere => "is there already".to_owned(),
        Done::Removed { puts_back: true } => format!("{would}removed; the hook before it {would}put back"),
        Done::Removed { puts_back: false } => format!("{would}removed"),
        Done::WasNotThere => "is not there".to_owned(),
    }
}

fn status(args: &StatusArgs, console: &mut Console) -> Result<Exit> {
    let repository = Repository::around(&args.repo)?;
    let program = program()?;
    let mut all = Vec::new();
    for hook in Hook::ALL {
        all.push((hook, hook.path(&repository)?, hook.standing(&repository, &program)?));
    }
    let installed =
        all.iter().any(|(hook, _, s)| *hook == Hook::PreCommit && matches!(s, Standing::Installed { .. }));
    if console.is_json() {
        let row = |(hook, path, standing): &(Hook, PathBuf, Standing)| json!({"hook": hook.name(), "path": shown(path), "standing": standing_of(*standing).1});
        let hooks: Vec<Value> = all.iter().map(row).collect();
        console.json(&json!({"installed": installed, "hooks": hooks}))?;
    } else {
        for (hook, path, standing) in &all {
            let (shape, _, sentence) = standing_of(*standing);
            let mark = console.out_style.shape(shape);
            console.line(&format!(
                "{mark} {}  {sentence}  {}",
                padded(hook.name(), 10),
                printable(&shown(path))
            ))?;
        }
    }
    Ok(if installed { Exit::Ok } else { Exit::Negative })
}

fn standing_of(standing: Standing) -> (Shape, &'static str, &'static str) {
    match standing {
        Standing::Absent => (Shape::Unknown, "absent", "not installed"),
        Standing::Foreign => (Shape::Unknown, "foreign", "not installed; there is another hook"),
        Standing::Installed { is_current: false, .. } => (
            Shape::NeedsYou,
            "other_program",
            "installed, and calls another holdfast; install again to renew it",
        ),
        Standing::Installed { keeps_another: true, .. } => {
            (Shape::Settled, "installed", "installed; another hook is called first")
        }
        Standing::Installed { keeps_another: false, .. } => (Shape::Settled, "installed", "installed"),
        Standing::Lost => (Shape::NeedsYou, "interrupted", "interrupted halfway; install or remove again"),
        Standing::TwoHooks => {
            (Shape::NeedsYou, "two_hooks", "replaced by another hook while an older one is kept")
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
