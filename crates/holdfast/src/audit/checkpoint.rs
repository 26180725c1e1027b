//! `holdfast audit checkpoint`: the newest signed statement of how long the log is and what is in it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use holdfast_control::{Answer, Checkpoint, Request};
use holdfast_types::Exit;
use serde_json::json;

use crate::ask::{ask, unexpected};
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

    /// With --new: print the newest there is and sign nothing
    #[arg(long, requires = "new")]
    dry_run: bool,
}

pub(crate) fn run(args: &CheckpointArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let signed = if args.new && !args.dry_run {
        match ask(house, &Request::Checkpoint {}, console)? {
            Answer::Checkpoint(signed) => signed,
            other => return Err(unexpected(&other)),
        }
    } else {
        let signed = house.view(&ArchiveArgs::default())?.latest_checkpoint()?;
        Checkpoint {
            origin: signed.checkpoint.origin,
            size: signed.checkpoint.size,
            root: BASE64.encode(signed.checkpoint.root),
            note: signed.note,
            warnings: Vec::new(),
        }
    };
    say_warnings(&signed.warnings, console);
    if console.is_json() {
        console.json(&json!({
            "origin": signed.origin,
            "size": signed.size,
            "root": signed.root,
            "note": signed.note,
        }))?;
    } else {
        console.write(signed.note.as_bytes())?;
    }
    Ok(Exit::Ok)
}
