//! Pages that come from the program itself, so that they cannot disagree with it: `docs/cli.md`,
//! `docs/exit-codes.md`, `docs/errors.md`,
//! `docs/formats/events.md`, `docs/configuration.md`, `docs/config.schema.json`, `docs/api.md`; manual pages and completions. A test
//! compares the committed ones with what the program says.

mod api;
mod errors;
mod pages;

use clap::{Args, CommandFactory as _, Subcommand};
use holdfast_types::Exit;
use serde_json::json;

use crate::cli::Cli;
use crate::console::Console;
use crate::look::{Shape, count};
use crate::problem::Result;

/// Print a page of the manual
#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    #[command(subcommand)]
    page: Page,
}

#[derive(Debug, Subcommand)]
enum Page {
    /// docs/cli.md
    Cli,
    /// docs/exit-codes.md
    ExitCodes,
    /// docs/errors.md
    Errors,
    /// docs/formats/events.md
    Events,
    /// docs/configuration.md
    Configuration,
    /// docs/config.schema.json
    Schema,
    /// docs/api.md
    Api,
}

pub(crate) fn run(args: &DocsArgs, console: &mut Console) -> Result<Exit> {
    let text = match args.page {
        Page::Cli => pages::cli().into_bytes(),
        Page::ExitCodes => pages::exit_codes().into_bytes(),
        Page::Errors => errors::page().into_bytes(),
        Page::Events => pages::events().into_bytes(),
        Page::Configuration => holdfast_config::reference().into_bytes(),
        Page::Api => api::page().into_bytes(),
        Page::Schema => format!("{:#}\n", holdfast_config::schema()).into_bytes(),
    };
    console.write(&text)?;
    Ok(Exit::Ok)
}

/// Write a manual page for each command
///
/// For one user: holdfast man ~/.local/share/man/man1
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: dir, pages, dry_run.")]
pub(crate) struct ManArgs {
    /// Where to; made if it is not there
    dir: std::path::PathBuf,

    /// Say how many pages there are and write none
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn man(args: &ManArgs, console: &mut Console) -> Result<Exit> {
    let dir = &args.dir;
    let pages = count_commands(&Cli::command());
    if !args.dry_run {
        holdfast_durable::create_dir(dir).map_err(|e| crate::house::writing(dir, e))?;
        clap_mangen::generate_to(Cli::command(), dir).map_err(|e| crate::house::writing(dir, e))?;
    }
    if console.is_json() {
        console.json(&json!({"dir": dir, "pages": pages, "dry_run": args.dry_run}))?;
        return Ok(Exit::Ok);
    }
    let (shape, word) =
        if args.dry_run { (Shape::Unknown, "would write") } else { (Shape::Settled, "wrote") };
    let mark = console.out_style.shape(shape);
    console.line(&format!("{mark} {word} {} to {}", count(pages, "page", "pages"), dir.display()))?;
    Ok(Exit::Ok)
}

fn count_commands(command: &clap::Command) -> u64 {
    1 + command.get_subcommands().filter(|c| !c.is_hide_set()).map(count_commands).sum::<u64>()
}

pub(crate) fn completions(shell: clap_complete::Shell, console: &mut Console) -> Result<Exit> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "holdfast", &mut out);
    if console.is_json() {
        console.json(&json!({"shell": shell.to_string(), "script": String::from_utf8_lossy(&out)}))?;
    } else {
        console.write(&out)?;
    }
    Ok(Exit::Ok)
}
