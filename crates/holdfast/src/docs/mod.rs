//! Pages that come from the program itself, so that they cannot disagree with it: `docs/cli.md`,
//! `docs/exit-codes.md`, `docs/errors.md`,
//! `docs/formats/events.md`, `docs/configuration.md`, `docs/config.schema.json`; manual pages and completions. A test
//! compares the committed ones with what the program says.

mod errors;
mod pages;

use clap::{Args, CommandFactory as _, Subcommand};
use holdfast_types::Exit;

use crate::cli::Cli;
use crate::console::Console;
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
    /// A manual page for each command, into a directory
    Man { dir: std::path::PathBuf },
}

pub(crate) fn run(args: &DocsArgs, console: &mut Console) -> Result<Exit> {
    let text = match args.page {
        Page::Cli => pages::cli().into_bytes(),
        Page::ExitCodes => pages::exit_codes().into_bytes(),
        Page::Errors => errors::page().into_bytes(),
        Page::Events => pages::events().into_bytes(),
        Page::Configuration => holdfast_config::reference().into_bytes(),
        Page::Schema => format!("{:#}\n", holdfast_config::schema()).into_bytes(),
        Page::Man { ref dir } => {
            holdfast_durable::create_dir(dir).map_err(|e| crate::house::writing(dir, e))?;
            clap_mangen::generate_to(Cli::command(), dir).map_err(|e| crate::house::writing(dir, e))?;
            Vec::new()
        }
    };
    console.write(&text)?;
    Ok(Exit::Ok)
}

pub(crate) fn completions(shell: clap_complete::Shell, console: &mut Console) -> Result<Exit> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "holdfast", &mut out);
    console.write(&out)?;
    Ok(Exit::Ok)
}
