//! `holdfast steward …`: what the steward looks after, what it did there, and what people tell it.
//!
//! Stories, lists and reports come from the journal alone, with or without a daemon; how things stand now comes from the
//! daemon where one runs; orders need one.

pub(crate) mod calibrate;
pub(crate) mod detect;
mod episodes;
pub(crate) mod history;
mod metrics;
mod orders;
pub(crate) mod report;
mod show;
mod status;
mod verdict;

use clap::{Args, Subcommand};
use holdfast_lifeline::TargetName;
use holdfast_steward::event::Record;
use holdfast_types::{Actor, Exit};

use super::pause;
use crate::console::Console;
use crate::house::{ArchiveArgs, House};
use crate::look::Shape;
use crate::problem::Result;
use crate::settings::{self, Overlay};
use crate::steward::{Place, StewardError, Written, places_of, records_of};

/// What the steward looks after, what it did, and what it may do
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct StewardArgs {
    #[command(subcommand)]
    command: StewardCommand,
}

#[derive(Debug, Subcommand)]
enum StewardCommand {
    Status(status::StatusArgs),
    Episodes(episodes::EpisodesArgs),
    Show(show::ShowArgs),
    History(history::HistoryArgs),
    Metrics(metrics::MetricsArgs),
    Trigger(orders::TriggerArgs),
    Level(orders::LevelArgs),
    Rollback(orders::RollbackArgs),
    Accept(orders::AcceptArgs),
    Reset(orders::ResetArgs),
    Review(orders::ReviewArgs),
    Rehearsed(orders::RehearsedArgs),
    Approve(verdict::ApproveArgs),
    Reject(verdict::RejectArgs),
    Report(report::ReportArgs),
    Detect(detect::DetectArgs),
    Calibrate(calibrate::CalibrateArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
}

/// Halt all autonomy at once, the steward's with it
///
/// The same switch as `holdfast pause --all`: a trial under way is taken back, and nothing is begun until
/// `holdfast steward resume`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: paused, since, by, reason, repeated (it was so before), recorded_as (the entry; null when the journal \
could not take it), dry_run; only where the switch could not be written yet and the pause is in memory: until_restart.")]
struct PauseArgs {
    #[command(flatten)]
    turn: TurnArgs,
}

/// Let autonomy go on
///
/// The same switch as `holdfast resume --all`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: paused, since, by, reason, repeated (it was so before), recorded_as (the entry), dry_run.")]
struct ResumeArgs {
    #[command(flatten)]
    turn: TurnArgs,
}

#[derive(Debug, Args)]
struct TurnArgs {
    /// Why, for whoever finds it so
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// Who turns it [default: uid:<number of the user>]
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,

    /// Say how it stands and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(
    args: &StewardArgs,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    // A file of the caller's is read with the caller's rights, and no home is needed.
    if let StewardCommand::Detect(args) = &args.command {
        return detect::run(args, console);
    }
    let house = &house()?;
    match &args.command {
        StewardCommand::Status(args) => status::run(args, house, console),
        StewardCommand::Episodes(args) => episodes::run(args, house, console),
        StewardCommand::Show(args) => show::run(args, house, console),
        StewardCommand::History(args) => history::run(args, house, console),
        StewardCommand::Metrics(args) => metrics::run(args, house, console),
        StewardCommand::Trigger(args) => orders::trigger(args, house, console),
        StewardCommand::Level(args) => orders::level(args, house, console),
        StewardCommand::Rollback(args) => orders::rollback(args, house, console),
        StewardCommand::Accept(args) => orders::accept(args, house, console),
        StewardCommand::Reset(args) => orders::reset(args, house, console),
        StewardCommand::Review(args) => orders::review(args, house, console),
        StewardCommand::Rehearsed(args) => orders::rehearsed(args, house, console),
        StewardCommand::Approve(args) => verdict::approve(args, house, console),
        StewardCommand::Reject(args) => verdict::reject(args, house, console),
        StewardCommand::Report(args) => report::run(args, house, console),
        StewardCommand::Detect(args) => detect::run(args, console),
        StewardCommand::Calibrate(args) => calibrate::run(args, house, console),
        StewardCommand::Pause(PauseArgs { turn: TurnArgs { reason, actor, dry_run } }) => {
            let all = pause::PauseArgs::everything(reason.clone(), actor.clone(), *dry_run);
            pause::pause(&all, house, console)
        }
        StewardCommand::Resume(ResumeArgs { turn: TurnArgs { reason, actor, dry_run } }) => {
            let all = pause::ResumeArgs::everything(reason.clone(), actor.clone(), *dry_run);
            pause::resume(&all, house, console)
        }
    }
}

/// The records of every target, oldest first.
fn written(house: &House) -> Result<Vec<(TargetName, Vec<Written>)>> {
    Ok(records_of(&house.view(&ArchiveArgs::default())?)?.into_iter().collect())
}

fn records(written: &[Written]) -> Vec<Record> {
    written.iter().map(|one| one.record.clone()).collect()
}

/// The targets of the configuration.
fn places(house: &House) -> Result<Vec<Place>> {
    let loaded = settings::load(&house.places, &Overlay::of_this_process(&[]))?;
    let origin = house.view(&ArchiveArgs::default())?.origin().to_string();
    Ok(places_of(&loaded.config.steward, &origin))
}

/// How fast a target lives, where the configuration still has it.
fn speed_of(house: &House, target: &TargetName) -> Option<u32> {
    let places = places(house).ok()?;
    places.iter().find(|place| place.name == *target).map(|place| place.speed)
}

/// `accelerated 600×`, for whatever does not live in real time; nothing for what does.
fn accelerated(speed: u32) -> String {
    if speed > 1 { format!("accelerated {speed}×") } else { String::new() }
}

/// The one episode a person means by the beginning or the end of its id.
fn find_episode<'i>(text: &str, ids: impl Iterator<Item = &'i str>) -> Result<String, StewardError> {
    let wanted = text.trim_start_matches('…');
    let fits = |id: &&str| {
        let bare = id.strip_prefix("ep_").unwrap_or(id);
        id.starts_with(wanted) || bare.starts_with(wanted) || id.ends_with(wanted)
    };
    let found: Vec<&str> = if wanted.is_empty() { Vec::new() } else { ids.filter(fits).collect() };
    // Another id may go on where this one ends.
    let exact = found.iter().find(|id| **id == wanted);
    match (exact, found.as_slice()) {
        (Some(id), _) | (None, [id]) => Ok((*id).to_owned()),
        (None, []) => Err(StewardError::UnknownEpisode { text: text.to_owned() }),
        (None, several) => {
            let found = several.iter().take(5).map(|id| (*id).to_owned()).collect();
            Err(StewardError::SeveralEpisodes { text: text.to_owned(), found })
        }
    }
}

/// The shortest end that tells these ids apart, four characters at least.
fn short_ends(ids: &[&str]) -> usize {
    let longest = ids.iter().map(|id| id.len()).max().unwrap_or(4);
    let tells_apart = |len: &usize| {
        let ends: std::collections::BTreeSet<&str> = ids.iter().map(|id| end(id, *len)).collect();
        ends.len() == ids.len()
    };
    (4..=longest).find(tells_apart).unwrap_or(longest)
}

fn end(id: &str, len: usize) -> &str {
    // Ids are ASCII.
    id.get(id.len().saturating_sub(len)..).unwrap_or(id)
}

/// Text in lines of at most this width, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = word.to_owned(),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// An outcome as people say it, and its shape.
fn said(outcome: &str) -> (Shape, String) {
    let shape = match outcome {
        "kept" | "improved" | "neutral" => Shape::Settled,
        "rolled_back" | "delayed_negative" | "interrupted" => Shape::Undone,
        "gate_rejected" | "failed" => Shape::Failed,
        _ => Shape::Unknown,
    };
    let word = match outcome {
        // Interrupted says nothing against the change; what became of it is the same.
        "rolled_back" | "interrupted" => "undone".to_owned(),
        other => other.replace('_', " "),
    };
    (shape, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_is_found_by_either_end_of_its_id_when_only_one_has_it() {
        let ids = ["ep_aaa0001", "ep_aaa0002", "ep_bbb0003", "ep_aaa00011"];
        let find = |text: &str| find_episode(text, ids.into_iter());
        assert_eq!(find("0002").ok().as_deref(), Some("ep_aaa0002"));
        assert_eq!(find("…0003").ok().as_deref(), Some("ep_bbb0003"));
        assert_eq!(find("ep_b").ok().as_deref(), Some("ep_bbb0003"));
        assert_eq!(find("bbb").ok().as_deref(), Some("ep_bbb0003"));
        assert_eq!(find("ep_aaa0001").ok().as_deref(), Some("ep_aaa0001"));
        assert!(matches!(find("ep_a"), Err(StewardError::SeveralEpisodes { found, .. }) if found.len() == 3));
        for none in ["ep_c", "", "…", "x"] {
            assert!(matches!(find(none), Err(StewardError::UnknownEpisode { .. })), "{none}");
        }
    }

    #[test]
    fn text_is_broken_between_words_and_loses_none() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one", 1), ["one"]);
        assert_eq!(wrapped("", 7), [""]);
        assert_eq!(wrapped("a bb ccc", 80), ["a bb ccc"]);
    }

    #[test]
    fn ids_are_cut_to_what_tells_them_apart() {
        assert_eq!(short_ends(&["ep_aaa0001", "ep_aaa0002"]), 4);
        assert_eq!(short_ends(&["ep_a10001", "ep_a20001"]), 5);
        assert_eq!(short_ends(&[]), 4);
        assert_eq!(end("ep_aaa0001", 4), "0001");
    }
}
