//! `holdfast uninstall`: takes away what can be made again, or everything, and lists what it leaves.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use holdfast_journal::{Error as JournalError, Hold};
use holdfast_types::Exit;
use serde_json::{Value, json};

use crate::autonomy::Switch;
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, Style, table};
use crate::places::Places;
use crate::problem::{CliError, Failure, Result};

/// Remove this home, and list what is left
///
/// Without --everything only what can be made again goes: the index, logs, the run directory. Journal, keys,
/// configuration, databases and their copies stay. The plan is shown first; --yes carries it out.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: removed[] and left[], each with path, what; everything, dry_run.")]
pub(crate) struct UninstallArgs {
    /// Also journal, keys, configuration, databases and copies: nothing can bring them back
    #[arg(long)]
    everything: bool,

    /// Do it; without this the plan is shown and nothing happens
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Show the plan and end well
    #[arg(long)]
    dry_run: bool,
}

/// One thing of a home, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Thing {
    path: PathBuf,
    what: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    remove: Vec<Thing>,
    leave: Vec<Thing>,
}

pub(crate) fn run(args: &UninstallArgs, house: &House, console: &mut Console) -> Result<Exit> {
    check(&house.places)?;
    let plan = plan(&house.places, args.everything, &outside(&house.places));
    if plan.remove.is_empty() {
        show(&plan, args, args.dry_run, console)?;
        return Ok(Exit::Ok);
    }
    if !args.yes {
        show(&plan, args, true, console)?;
        return if args.dry_run { Ok(Exit::Ok) } else { Err(CliError::UninstallNeedsYes.into()) };
    }
    // Held to the end, so that no daemon starts on what is being taken away.
    let _hold = Hold::take(&house.places.journal()).map_err(|e| match e {
        JournalError::Busy { .. } => Failure::from(CliError::DaemonRuns),
        other => other.into(),
    })?;
    for thing in &plan.remove {
        remove(&thing.path).map_err(|source| CliError::HalfRemoved { path: thing.path.clone(), source })?;
    }
    remove_if_empty(&house.places);
    show(&plan, args, false, console)?;
    Ok(Exit::Ok)
}

/// Refuses what is not a home, and as root a home that somebody else could have rearranged.
fn check(places: &Places) -> Result<()> {
    let not = |path: &Path, why: &'static str| Err(CliError::NotAHome { path: path.to_owned(), why }.into());
    if !places.journal().join("META").is_file() {
        return not(&places.journal(), "there is no journal in it");
    }
    let us = rustix::process::geteuid().as_raw();
    for path in places.home.iter().chain([&places.etc, &places.state, &places.run]) {
        let Ok(about) = path.symlink_metadata() else { continue };
        if about.is_symlink() {
            return not(path, "it is a link, and may lead anywhere");
        }
        if about.uid() != us {
            return not(path, "it belongs to another user; run this as that user");
        }
    }
    Ok(())
}

/// What goes and what stays, of what is there.
fn plan(places: &Places, everything: bool, outside: &[Thing]) -> Plan {
    let thing = |path: PathBuf, what| Thing { path, what };
    let mut derived = vec![
        thing(places.index(), "the index; `holdfast rebuild` makes it again"),
        thing(places.memory(), "what agents remember, as it is searched; it is made again from the journal"),
        thing(places.models(), "models; `holdfast model fetch` brings them again"),
        thing(places.logs(), "logs of notices and health checks"),
        thing(places.findings(), "what the last health check found"),
        thing(places.socket(), "the socket"),
        thing(places.paused().with_extension("ready"), "a file that lies ready for a pause"),
    ];
    derived.extend(companions(&places.index()).map(|path| thing(path, "of the index")));
    let mut own = vec![
        thing(places.journal(), "the journal: everything that happened"),
        thing(places.keys(), "the keys and the vault"),
        thing(places.trust(), "which keys are believed"),
        thing(places.config(), "the configuration"),
        thing(places.witness_name(), "under which name this home cosigns"),
        thing(places.witness_seen(), "what this home has cosigned"),
        thing(places.metrics(), "samples of what was measured"),
        thing(places.backups(), "copies of the databases"),
        thing(places.paused(), "the switch: autonomy is paused"),
        thing(places.made(), "the mark that this home was made"),
    ];
    let in_memory = Switch::of(places).files_in_memory();
    own.extend(
        in_memory.into_iter().map(|path| thing(path, "the switch, where the disk could not be written")),
    );
    own.extend(companions(&places.metrics()).map(|path| thing(path, "of the samples")));
    let there = |things: Vec<Thing>| -> Vec<Thing> {
        things.into_iter().filter(|thing| thing.path.symlink_metadata().is_ok()).collect()
    };
    let (remove, mut leave) = if everything {
        let mut all = own;
        all.extend(derived);
        (there(all), Vec::new())
    } else {
        (there(derived), there(own))
    };
    let known: BTreeSet<PathBuf> = remove.iter().chain(&leave).map(|thing| thing.path.clone()).collect();
    leave.extend(strangers(places, &known));
    leave.extend(there(outside.to_vec()));
    leave.dedup_by(|a, b| a.path == b.path);
    Plan { remove, leave }
}

/// What lies in the home and is not ours by name: it is never removed.
fn strangers(places: &Places, known: &BTreeSet<PathBuf>) -> Vec<Thing> {
    let folders: Vec<&PathBuf> =
        places.home.iter().chain([&places.etc, &places.state, &places.run]).collect();
    let mut found = Vec::new();
    for folder in &folders {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !known.contains(&path) && !folders.contains(&&path) {
                found.push(Thing { path, what: "not of this program, as far as it knows" });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The folders of the home, where nothing is left in them.
fn remove_if_empty(places: &Places) {
    for folder in [&places.run, &places.state, &places.etc].into_iter().chain(&places.home) {
        // Not empty, or not ours to remove: then it stays, and what is in it was listed.
        let _ = std::fs::remove_dir(folder);
    }
}

/// What lies beside a database and has its name: SQLite's own files, those a crash left, those set aside.
fn companions(database: &Path) -> impl Iterator<Item = PathBuf> {
    let name = database.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let dir = database.parent().map(std::fs::read_dir).and_then(std::io::Result::ok);
    let names = dir.into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = names
        .filter(|entry| {
            entry.file_name().to_string_lossy().strip_prefix(&name).is_some_and(|more| !more.is_empty())
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.into_iter()
}

/// What is not in the home, and never removed by it.
fn outside(places: &Places) -> Vec<Thing> {
    let mut things = Vec::new();
    if let Ok(program) = std::env::current_exe() {
        things.push(Thing { path: program, what: "this program; remove it as it was installed" });
    }
    for unit in ["/etc/systemd/system/holdfast.service", "/usr/lib/systemd/system/holdfast.service"] {
        things.push(Thing { path: unit.into(), what: "the service; it belongs to the package" });
    }
    let overlay = crate::settings::Overlay::of_this_process(&[]);
    let archive =
        crate::settings::load(places, &overlay).ok().and_then(|loaded| loaded.config.journal.archive);
    if let Some(archive) = archive {
        things.push(Thing { path: archive.to_path_buf(), what: "the archive of closed segments" });
    }
    things
}

/// Removes a file or a whole directory; one that is gone already, with its parent for instance, is fine.
fn remove(path: &Path) -> std::io::Result<()> {
    let gone = |e: std::io::Error| if e.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(e) };
    match path.symlink_metadata() {
        Err(e) => gone(e),
        Ok(about) if about.is_dir() => std::fs::remove_dir_all(path).or_else(gone),
        Ok(_) => std::fs::remove_file(path).or_else(gone),
    }
}

fn show(plan: &Plan, args: &UninstallArgs, only_plan: bool, console: &mut Console) -> Result<()> {
    if console.is_json() {
        if only_plan && !args.dry_run {
            return Ok(());
        }
        let list = |things: &[Thing]| -> Vec<Value> {
            things.iter().map(|t| json!({"path": t.path, "what": t.what})).collect()
        };
        return console.json(&json!({
            "removed": list(&plan.remove),
            "left": list(&plan.leave),
            "everything": args.everything,
            "dry_run": only_plan,
        }));
    }
    let text = told(plan, only_plan, console.out_style);
    if only_plan && !args.dry_run {
        console.aside(&text);
        return Ok(());
    }
    console.write(text.as_bytes())
}

fn told(plan: &Plan, only_plan: bool, style: Style) -> String {
    let rows = |things: &[Thing]| -> String {
        let rows: Vec<_> = things.iter().map(|t| (t.path.display().to_string(), t.what.to_owned())).collect();
        table(&rows, Style::plain())
    };
    let mut out = String::new();
    if !plan.remove.is_empty() {
        out.push_str(&format!(
            "{}\n{}\n",
            if only_plan { "would be removed" } else { "removed" },
            rows(&plan.remove)
        ));
    }
    if !plan.leave.is_empty() {
        out.push_str(&format!("{}\n{}\n", if only_plan { "would stay" } else { "left" }, rows(&plan.leave)));
    }
    let (shape, word) = match (only_plan, plan.remove.is_empty()) {
        (_, true) => (Shape::Settled, "nothing to remove"),
        (true, false) => (Shape::Unknown, "nothing was removed"),
        (false, false) => (Shape::Settled, "removed"),
    };
    out.push_str(&format!("{} {word}\n", style.shape(shape)));
    out
}
