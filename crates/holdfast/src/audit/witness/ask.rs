//! The log's side: ask for a cosignature, take it in.

use std::path::PathBuf;

use clap::Args;
use holdfast_control::{Answer, Request, WitnessRequest};
use holdfast_journal::{Error, Refused};
use holdfast_keys::KeyName;
use holdfast_keys::note::NOTE_SIZE_MAX;
use holdfast_types::Exit;
use serde_json::json;

use super::signed_by_trusted;
use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::{ArchiveArgs, House, read_input};
use crate::look::{Shape, entries, time};
use crate::problem::Result;

/// Print what a witness needs to cosign everything there is now
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: witness, old_size, request (null in a dry run), dry_run.")]
pub(crate) struct RequestArgs {
    /// The witness's name, as in its verifier key
    #[arg(long, value_name = "NAME")]
    witness: KeyName,

    /// Say what would be signed and asked for, and sign nothing
    #[arg(long)]
    dry_run: bool,
}

/// Take in a checkpoint of this log that a trusted witness has cosigned
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: witness and at (both null in a dry run), size, dry_run.")]
pub(crate) struct AcceptArgs {
    /// The cosigned checkpoint; - reads standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,

    /// Read it and say what it is about; keep nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn request(args: &RequestArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if args.dry_run {
        return request_dry_run(args, house, console);
    }
    let asked = Request::WitnessRequest { witness: args.witness.to_string() };
    let WitnessRequest { old_size, request } = match ask(house, &asked, console)? {
        Answer::WitnessRequest(request) => request,
        other => return Err(unexpected(&other)),
    };
    if console.is_json() {
        let witness = &args.witness;
        console
            .json(&json!({"witness": witness, "old_size": old_size, "request": request, "dry_run": false}))?;
    } else {
        console.write(request.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn request_dry_run(args: &RequestArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let view = house.view(&ArchiveArgs::default())?;
    let here = view.size()?;
    let seen = view.cosigned()?.into_iter().filter(|c| c.witness == args.witness.as_str());
    let old_size = seen.map(|c| c.size).max().unwrap_or(0);
    if console.is_json() {
        let witness = &args.witness;
        console.json(&json!({"witness": witness, "old_size": old_size, "request": null, "dry_run": true}))?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        let signs = if view.latest_checkpoint()?.checkpoint.size < here { "sign and " } else { "" };
        let (here, witness) = (entries(here), &args.witness);
        console.line(&format!("{mark} would {signs}ask {witness} to cosign {here}; it saw {old_size}"))?;
    }
    Ok(Exit::Ok)
}

pub(super) fn accept(args: &AcceptArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let cosigned = read_input(&args.file, NOTE_SIZE_MAX as u64)?;
    if args.dry_run {
        return accept_dry_run(&cosigned, house, console);
    }
    // A note is text; what is not is no cosigned checkpoint, and says so in the words for it.
    let note = String::from_utf8_lossy(&cosigned).into_owned();
    let taken = match ask(house, &Request::AcceptCosigned { note }, console)? {
        Answer::Cosigned(taken) => taken,
        other => return Err(unexpected(&other)),
    };
    if console.is_json() {
        let (witness, at, size) = (&taken.witness, taken.at, taken.size);
        console.json(&json!({"witness": witness, "at": at, "size": size, "dry_run": false}))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let (size, at) = (entries(taken.size), time(taken.at));
        console.line(&format!("{mark} witnessed: {size}, by {} at {at}", taken.witness))?;
    }
    Ok(Exit::Ok)
}

/// Which log signed it and over how much. Whether a trusted witness did too is checked when it is taken in.
fn accept_dry_run(cosigned: &[u8], house: &House, console: &mut Console) -> Result<Exit> {
    let view = house.view(&ArchiveArgs::default())?;
    let checkpoint = signed_by_trusted(cosigned, house)?;
    if checkpoint.origin != *view.origin() {
        let (found, expected) = (checkpoint.origin, view.origin().clone());
        return Err(Error::from(Refused::OtherLog { found, expected }).into());
    }
    let size = checkpoint.size;
    if console.is_json() {
        console.json(&json!({"witness": null, "at": null, "size": size, "dry_run": true}))?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        let size = entries(size);
        console.line(&format!("{mark} would keep it, if a trusted witness has cosigned it: {size}"))?;
    }
    Ok(Exit::Ok)
}
