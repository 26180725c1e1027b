//! `holdfast steward approve` and `reject`: a person's word on what an episode wants to try.
//!
//! The same signed verdict as `holdfast approve` gives; only the ask is named by its episode.

use clap::Args;
use holdfast_approval::Word;
use holdfast_types::{ApprovalId, Exit};

use super::{find_episode, written};
use crate::commands::approvals::look;
use crate::commands::verdict::{HowArgs, decide};
use crate::console::Console;
use crate::house::{ArchiveArgs, House};
use crate::problem::Result;
use crate::steward::StewardError;

/// Allow what an episode waits to try
///
/// Signs with the approvals key in etc/keys, as `holdfast approve` does. On a terminal it asks before it signs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward approve 0003 --yes

JSON fields: id, verdict, state, subject, target, digest, expires_at, recorded_as (the entry; null in a dry run), \
repeated (it was so before), dry_run.")]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    decide: DecideArgs,
}

/// Refuse what an episode waits to try; it ends
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward reject 0003 --yes --reason 'not on a Friday'

JSON fields: id, verdict, state, subject, target, digest, expires_at, recorded_as (the entry; null in a dry run), \
repeated (it was so before), dry_run.")]
pub(super) struct RejectArgs {
    #[command(flatten)]
    decide: DecideArgs,
}

#[derive(Debug, Args)]
struct DecideArgs {
    /// The episode; the beginning or the end of its id is enough
    episode: String,

    #[command(flatten)]
    how: HowArgs,
}

pub(super) fn approve(args: &ApproveArgs, house: &House, console: &mut Console) -> Result<Exit> {
    decide(Word::Approve, asked_by(&args.decide.episode, house)?, &args.decide.how, house, console)
}

pub(super) fn reject(args: &RejectArgs, house: &House, console: &mut Console) -> Result<Exit> {
    decide(Word::Reject, asked_by(&args.decide.episode, house)?, &args.decide.how, house, console)
}

/// What the episode has asked for, from the journal: the newest, should there be several.
fn asked_by(text: &str, house: &House) -> Result<ApprovalId> {
    let all = written(house)?;
    let ids: Vec<&str> = all
        .iter()
        .flat_map(|(_, written)| written)
        .filter_map(|one| match &one.record.event {
            holdfast_steward::event::Event::Opened { episode } => Some(episode.id.as_str()),
            _ => None,
        })
        .collect();
    let episode = find_episode(text, ids.into_iter())?;
    let (ledger, _) = look(&house.view(&ArchiveArgs::default())?)?;
    let asks = ledger.lives().into_iter().filter(|life| {
        let action = &life.ask.action;
        action.subject().to_string() == "steward.trial" && action.what()["episode"] == episode.as_str()
    });
    let newest = asks.max_by_key(|life| life.made_as).map(|life| life.ask.id);
    Ok(newest.ok_or(StewardError::NothingAsked { episode })?)
}
