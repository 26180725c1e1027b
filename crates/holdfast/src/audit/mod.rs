//! `holdfast audit …`: write to the journal, read it, and prove what is in it.

mod checkpoint;
mod erase;
pub(crate) mod export;
mod log;
mod proof;
mod prove;
mod tail;
mod text;
mod verify;
mod witness;

use clap::{Args, Subcommand};
use holdfast_types::Exit;

use crate::console::Console;
use crate::house::House;
use crate::problem::Result;

pub(crate) use proof::{Claim, Proof};
pub(crate) use prove::{consistency_in, holds_here, inclusion_in};
pub(crate) use verify::{Checked, checked};
pub(crate) use witness::believed;

/// Write to the journal, read it, prove what is in it
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Log(log::LogArgs),
    Tail(tail::TailArgs),
    Verify(verify::VerifyArgs),
    Prove(prove::ProveArgs),
    Checkpoint(checkpoint::CheckpointArgs),
    Witness(witness::WitnessArgs),
    Export(export::ExportArgs),
    Text(text::TextArgs),
    Erase(erase::EraseArgs),
}

pub(crate) fn run(args: AuditArgs, house: &House, console: &mut Console) -> Result<Exit> {
    match args.command {
        AuditCommand::Log(args) => log::run(&args, house, console),
        AuditCommand::Tail(args) => tail::run(&args, house, console),
        AuditCommand::Verify(args) => verify::run(&args, house, console),
        AuditCommand::Prove(args) => prove::run(&args, house, console),
        AuditCommand::Checkpoint(args) => checkpoint::run(&args, house, console),
        AuditCommand::Witness(args) => witness::run(args, house, console),
        AuditCommand::Export(args) => export::run(&args, house, console),
        AuditCommand::Text(args) => text::run(&args, house, console),
        AuditCommand::Erase(args) => erase::run(&args, house, console),
    }
}
