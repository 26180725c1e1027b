//! The log's side: ask for a cosignature, take it in.

use std::path::PathBuf;

use clap::Args;
use holdfast_control::{Answer, Request, WitnessRequest};
use holdfast_keys::KeyName;
use holdfast_keys::note::NOTE_SIZE_MAX;
use holdfast_types::Exit;
use serde_json::json;

use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::{House, read_input};
use crate::look::{Shape, entries, time};
use crate::problem::Result;

/// Print what a witness needs to cosign everything there is now
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: witness, old_size, request.")]
pub(crate) struct RequestArgs {
    /// The witness's name, as in its verifier key
    #[arg(long, value_name = "NAME")]
    witness: KeyName,
}

/// Take in a checkpoint of this log that a trusted witness has cosigned
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: witness, at, size.")]
pub(crate) struct AcceptArgs {
    /// The cosigned checkpoint; - reads standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
}

pub(super) fn request(args: &RequestArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let asked = Request::WitnessRequest { witness: args.witness.to_string() };
    let WitnessRequest { old_size, request } = match ask(house, &asked, console)? {
        Answer::WitnessRequest(request) => request,
        other => return Err(unexpected(&other)),
    };
    if console.is_json() {
        console.json(&json!({"witness": args.witness, "old_size": old_size, "request": request}))?;
    } else {
        console.write(request.as_bytes())?;
    }
    Ok(Exit::Ok)
}

pub(super) fn accept(args: &AcceptArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let cosigned = read_input(&args.file, NOTE_SIZE_MAX as u64)?;
    // A note is text; what is not is no cosigned checkpoint, and says so in the words for it.
    let note = String::from_utf8_lossy(&cosigned).into_owned();
    let taken = match ask(house, &Request::AcceptCosigned { note }, console)? {
        Answer::Cosigned(taken) => taken,
        other => return Err(unexpected(&other)),
    };
    if console.is_json() {
        console.json(&json!({"witness": taken.witness, "at": taken.at, "size": taken.size}))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let (size, at) = (entries(taken.size), time(taken.at));
        console.line(&format!("{mark} witnessed: {size}, by {} at {at}", taken.witness))?;
    }
    Ok(Exit::Ok)
}
