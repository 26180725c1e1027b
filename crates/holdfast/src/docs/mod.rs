//! Pages that come from the program itself, so that they cannot disagree with it: `docs/cli.md`,
//! `docs/exit-codes.md`, `docs/errors.md`,
//! `docs/formats/events.md`, and completions. A test compares them with the committed ones.

mod errors;
mod pages;

use clap::{Args, CommandFactory as _, Subcommand};
use holdfast_types::Exit;

use crate::cli::Cli;
use crate::console::Console;
use crate::problem::Result;

/// Print a page of the manual, or completions for a shell
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
    /// Completions for a shell
    Completions { shell: clap_complete::Shell },
}

pub(crate) fn run(args: &DocsArgs, console: &mut Console) -> Result<Exit> {
    let text = match args.page {
        Page::Cli => pages::cli().into_bytes(),
        Page::ExitCodes => pages::exit_codes().into_bytes(),
        Page::Errors => errors::page().into_bytes(),
        Page::Events => pages::events().into_bytes(),
        Page::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "holdfast", &mut out);
            out
        }
    };
    console.write(&text)?;
    Ok(Exit::Ok)
}
