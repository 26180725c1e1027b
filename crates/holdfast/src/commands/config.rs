//! `holdfast config`: what is set, by what, and whether it is right.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use holdfast_api::{Setting, Settings, SettingsChecked, SettingsWrong};
use holdfast_config::{Config, Diagnostic, Error as ConfigError, Layer, Layers, Loaded, Row};
use holdfast_control::{Answer, Reloaded, Request, connect};
use holdfast_types::Exit;
use serde_json::json;

use crate::ask::unexpected;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, padded};
use crate::problem::{CliError, Failure, Result};
use crate::settings::{self, Overlay};

/// What is set, by what, and whether it is right
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    Show(ShowArgs),
    Check(CheckArgs),
    Reload(ReloadArgs),
    /// Print a config.yaml with every key, its default and its manual entry
    #[command(after_long_help = "JSON fields: example (the text of the file).")]
    Example,
    /// Print the JSON Schema of config.yaml, for editors
    #[command(after_long_help = "The schema is JSON already; with --json it is on one line.")]
    Schema,
}

/// Every setting in force, and what set it
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: file (null when there is none), settings[] with key, value, from (default, file, environment or flag), \
line, column, variable, live, doc.")]
struct ShowArgs {
    /// Only what is not at its default
    #[arg(long)]
    changed: bool,

    /// Lay a setting over the configuration
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Check a configuration without using it
///
/// Every mistake is shown with its place and what to write instead.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: file, right; only when it is not: more (how many are not listed), diagnostics[] with code, file, line, \
column, length, message, help, related.")]
struct CheckArgs {
    /// Another file than the home's
    file: Option<PathBuf>,
}

/// Have the daemon read its configuration again
///
/// As SIGHUP does. A wrong one is refused, and the settings in force stay in force.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: live[] and needs_restart[], each with key, before, after; dry_run.")]
struct ReloadArgs {
    /// Check the file and say that it would be read; change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(
    args: &ConfigArgs,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    match &args.command {
        ConfigCommand::Show(args) => show(args, &house()?, console),
        ConfigCommand::Check(args) => check(args, &house()?, console),
        ConfigCommand::Reload(args) => reload(args, &house()?, console),
        // These two are of the program, and need no home.
        ConfigCommand::Example if console.is_json() => {
            console.json(&json!({"example": holdfast_config::example()}))?;
            Ok(Exit::Ok)
        }
        ConfigCommand::Example => {
            console.write(holdfast_config::example().as_bytes())?;
            Ok(Exit::Ok)
        }
        ConfigCommand::Schema if console.is_json() => {
            console.json(&holdfast_config::schema())?;
            Ok(Exit::Ok)
        }
        ConfigCommand::Schema => {
            console.line(&format!("{:#}", holdfast_config::schema()))?;
            Ok(Exit::Ok)
        }
    }
}

fn show(args: &ShowArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let overlay = Overlay::of_this_process(&args.set);
    let loaded = loaded(settings::load(&house.places, &overlay), console)?;
    if console.is_json() {
        console.told_as_json(&in_force(&loaded, house, args.changed))?;
        return Ok(Exit::Ok);
    }
    let rows = rows(&loaded, args.changed);
    let file = file_of(house);
    let keys = rows.iter().map(|row| row.path.len()).max().unwrap_or(0);
    let values = rows.iter().map(|row| row.value.len()).max().unwrap_or(0).min(32);
    for row in &rows {
        let from = console.out_style.faint(&row.layer.to_string());
        let line = format!("{}  {}  {from}", padded(&row.path, keys), padded(&row.value, values));
        console.line(line.trim_end())?;
    }
    match file {
        Some(path) => console.note(&format!("file: {}", path.display())),
        None => console.note(&format!("there is no {}; defaults hold", house.places.config().display())),
    }
    Ok(Exit::Ok)
}

fn rows(loaded: &Loaded, changed: bool) -> Vec<Row> {
    loaded.rows().into_iter().filter(|row| !changed || row.layer != Layer::Default).collect()
}

fn file_of(house: &House) -> Option<PathBuf> {
    Some(house.places.config()).filter(|path| path.exists())
}

/// Every setting, or those that are not at their default, and what set it.
pub(crate) fn in_force(loaded: &Loaded, house: &House, changed: bool) -> Settings {
    Settings {
        file: file_of(house).map(|path| path.display().to_string()),
        settings: rows(loaded, changed).into_iter().map(setting).collect(),
    }
}

fn setting(row: Row) -> Setting {
    let Row { path, value, layer, live, doc } = row;
    let (from, place, variable) = match layer {
        Layer::Default => ("default", None, None),
        Layer::File { line, column } => ("file", Some((line, column)), None),
        Layer::Environment { variable } => ("environment", None, Some(variable)),
        Layer::Flag => ("flag", None, None),
    };
    Setting {
        key: path,
        value,
        from: from.to_owned(),
        line: place.map(|(line, _)| line as u64),
        column: place.map(|(_, column)| column as u64),
        variable,
        live,
        doc: doc.to_owned(),
    }
}

/// Whether a text would be taken as a configuration. It stands alone: nothing of this process is laid over it.
pub(crate) fn would_be_taken(text: &[u8]) -> Result<SettingsChecked> {
    let name = Path::new("config.yaml");
    let read = Config::read(Layers { file: Some((name, text)), environment: &[], sets: &[] });
    let wrong = match read {
        Ok(_) => return Ok(SettingsChecked { right: true, diagnostics: Vec::new(), more: 0 }),
        Err(e) => e,
    };
    let Some(found) = wrong.diagnostics() else { return Err(wrong.into()) };
    let one = |it: &Diagnostic| SettingsWrong {
        code: it.code.word().to_owned(),
        line: it.place.line as u64,
        column: it.place.column as u64,
        length: it.place.len as u64,
        message: it.message.clone(),
        help: it.help.clone(),
    };
    let diagnostics: Vec<SettingsWrong> = found.first().iter().map(one).collect();
    let more = (found.count() - diagnostics.len()) as u64;
    Ok(SettingsChecked { right: false, diagnostics, more })
}

fn check(args: &CheckArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let path = args.file.clone().unwrap_or_else(|| house.places.config());
    // A file that was named must be there; the home's own may be absent.
    if args.file.is_some() && !path.exists() {
        let source = std::io::ErrorKind::NotFound.into();
        return Err(CliError::Read { path, source }.into());
    }
    let overlay = Overlay::of_this_process(&[]);
    match holdfast_config::load(&path, &overlay.environment, &[]) {
        Ok(_) if console.is_json() => console.json(&json!({"file": path, "right": true}))?,
        Ok(_) => {
            let mark = console.out_style.shape(Shape::Settled);
            let what = if path.exists() { "is right" } else { "is not there; defaults hold" };
            console.line(&format!("{mark} {} {what}", path.display()))?;
        }
        Err(e) if console.is_json() && e.diagnostics().is_some() => {
            let listed = e.diagnostics().map(|d| d.json()).unwrap_or_default();
            let (diagnostics, more) = (&listed["diagnostics"], &listed["more"]);
            console.json(&json!({"file": path, "right": false, "diagnostics": diagnostics, "more": more}))?;
            return Ok(e.problem().exit);
        }
        Err(e) => return Err(wrong(e, console)),
    }
    Ok(Exit::Ok)
}

fn reload(args: &ReloadArgs, house: &House, console: &mut Console) -> Result<Exit> {
    house.view(&Default::default())?;
    let overlay = Overlay::of_this_process(&[]);
    // Checked here first: mistakes are shown with their places, which the daemon's answer would cut short.
    loaded(settings::load(&house.places, &overlay), console)?;
    if args.dry_run {
        let empty = Reloaded { live: vec![], needs_restart: vec![] };
        return show_reloaded(&empty, true, console);
    }
    let Some(client) = connect(&house.places.socket())? else {
        return Err(CliError::NoDaemon.into());
    };
    match client.ask(Request::Reload {}, &mut |_| {})? {
        Answer::Reloaded(done) => show_reloaded(&done, false, console),
        other => Err(unexpected(&other)),
    }
}

fn show_reloaded(done: &Reloaded, dry_run: bool, console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        console.json(&json!({"live": done.live, "needs_restart": done.needs_restart, "dry_run": dry_run}))?;
        return Ok(Exit::Ok);
    }
    let mark = console.out_style.shape(Shape::Settled);
    if dry_run {
        return console
            .line(&format!("{mark} the configuration is right; it was not applied"))
            .map(|()| Exit::Ok);
    }
    for key in &done.live {
        console.line(&format!("{mark} {}  {} → {}", key.key, key.before, key.after))?;
    }
    for key in &done.needs_restart {
        let mark = console.out_style.shape(Shape::NeedsYou);
        console.line(&format!("{mark} {}  {} → {}  after a restart", key.key, key.before, key.after))?;
    }
    if done.live.is_empty() && done.needs_restart.is_empty() {
        console.line(&format!("{mark} nothing has changed"))?;
    }
    Ok(Exit::Ok)
}

/// The configuration, or all its mistakes on stderr and the problem.
pub(crate) fn loaded(read: Result<Loaded, ConfigError>, console: &Console) -> Result<Loaded> {
    read.map_err(|e| wrong(e, console))
}

pub(crate) fn wrong(e: ConfigError, console: &Console) -> Failure {
    if let Some(diagnostics) = e.diagnostics()
        && !console.is_json()
    {
        console.aside(&format!("{}\n", diagnostics.render()));
    }
    e.into()
}
