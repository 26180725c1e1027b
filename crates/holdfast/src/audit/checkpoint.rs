//! `holdfast audit checkpoint`: the newest signed statement of how long the log is and what is in it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use holdfast_types::Exit;
use serde_json::json;

use crate::console::Console;
use crate::house::{ArchiveArgs, House, say_warnings};
use crate::problem::Result;

/// Print the newest signed checkpoint, as foreign tools read it
///
/// A C2SP signed note: origin, size and root of the log, and its signatures.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: origin, size, root (base64), note.")]
pub(crate) struct CheckpointArgs {
    /// Sign one now, over everything there is
    #[arg(long)]
    new: bool,
}

pub(crate) fn run(args: &CheckpointArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let archive = ArchiveArgs::default();
    let signed = if args.new {
        let journal = house.journal(&archive, console)?;
        let signed = journal.checkpoint()?;
        say_warnings(&journal, console);
        signed
    } else {
        house.view(&archive)?.latest_checkpoint()?
    };
    if console.is_json() {
        let checkpoint = signed.checkpoint;
        console.json(&json!({
            "origin": checkpoint.origin,
            "size": checkpoint.size,
            "root": BASE64.encode(checkpoint.root),
            "note": signed.note,
        }))?;
    } else {
        console.write(signed.note.as_bytes())?;
    }
    Ok(Exit::Ok)
}
