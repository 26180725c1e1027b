//! `holdfast audit witness …`: let others remember how long this log was, and do so for them.
//!
//! `ask.rs` is this log's side (request, accept), `serve.rs` the witness's (init, cosign), `known.rs` whom
//! either believes (trust, list). What goes between the two are files, by mail or by hand; the request is
//! the body of C2SP tlog-witness `add-checkpoint`.

mod ask;
mod known;
mod serve;

use clap::{Args, Subcommand};
use holdfast_journal::{Checkpoint, Error, Refused, trusted_signer};
use holdfast_keys::note::Note;
use holdfast_types::Exit;

use crate::console::Console;
use crate::house::House;
use crate::problem::Result;

pub(crate) use known::believed;

/// Have others cosign this log, or cosign theirs
///
/// request → (the witness's) cosign → accept. Each side first trusts the other's verifier key.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct WitnessArgs {
    #[command(subcommand)]
    command: WitnessCommand,
}

#[derive(Debug, Subcommand)]
enum WitnessCommand {
    Request(ask::RequestArgs),
    Accept(ask::AcceptArgs),
    Init(serve::InitArgs),
    Cosign(serve::CosignArgs),
    Trust(known::TrustArgs),
    List(known::ListArgs),
}

pub(crate) fn run(args: WitnessArgs, house: &House, console: &mut Console) -> Result<Exit> {
    match args.command {
        WitnessCommand::Request(args) => ask::request(&args, house, console),
        WitnessCommand::Accept(args) => ask::accept(&args, house, console),
        WitnessCommand::Init(args) => serve::init(&args, house, console),
        WitnessCommand::Cosign(args) => serve::cosign(&args, house, console),
        WitnessCommand::Trust(args) => known::trust(&args, house, console),
        WitnessCommand::List(args) => known::list(&args, house, console),
    }
}

/// What a note says, once a log key of the trust set is seen to have signed it.
fn signed_by_trusted(note: &[u8], house: &House) -> Result<Checkpoint> {
    let refuse = |refused: Refused| Error::from(refused);
    let note = Note::parse(note).map_err(|e| refuse(Refused::Malformed(e.to_string())))?;
    let checkpoint = Checkpoint::parse(note.unverified_text());
    let checkpoint = checkpoint.map_err(|e| refuse(Refused::Malformed(e.to_string())))?;
    trusted_signer(&house.trust()?, &checkpoint.origin, &note, checkpoint.size)
        .map_err(|e| refuse(Refused::NotSigned(e)))?;
    Ok(checkpoint)
}
