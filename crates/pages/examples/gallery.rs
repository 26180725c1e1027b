//! Writes every sample page into a folder, with what it loads beside it, so that it can be looked at:
//! `cargo run -p holdfast-pages --example gallery -- FOLDER`, then serve that folder.

#[path = "../tests/samples/mod.rs"]
mod samples;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return ExitCode::from(2);
    };
    match written(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn written(folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder.join("assets"))?;
    for asset in holdfast_pages::assets() {
        std::fs::write(folder.join(asset.path.trim_start_matches('/')), asset.bytes)?;
    }
    for sample in samples::all() {
        std::fs::write(folder.join(format!("{}.html", sample.name)), sample.html)?;
    }
    Ok(())
}
