//! `holdfast memory …`: what agents remember, put in, found again, decided about and forgotten.
//!
//! Everything is asked of whoever has the home open (`ask.rs`). Long input is sent in pieces, long output comes in pages.

mod add;
mod consolidate;
mod experience;
mod export;
mod forget;
mod hook;
mod import;
mod lines;
mod notes;
mod pack;
mod prove;
mod read;
mod search;
mod share;
mod show;
mod stats;

pub(crate) use hook::is_called as is_hook;

use clap::{Args, Subcommand};
use holdfast_control::{Answer, MemoryAnswer, MemoryAsk, Request};
use holdfast_memory_host::moment_of;
use holdfast_types::{Actor, Exit, Timestamp};

use crate::ask::{Talk, unexpected};
use crate::console::Console;
use crate::house::{House, this_user};
use crate::look::printable;
use crate::memory::USUAL_AGENT;
use crate::places::Places;
use crate::problem::Result;

/// What agents remember: add, import, read, search, consolidate, forget
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    Add(add::AddArgs),
    Import(import::ImportArgs),
    Read(read::ReadArgs),
    Hook(hook::HookArgs),
    Search(search::SearchArgs),
    Pack(pack::PackArgs),
    Show(show::ShowArgs),
    Cite(share::CiteArgs),
    Share(share::ShareArgs),
    Unshare(share::UnshareArgs),
    Consolidate(consolidate::ConsolidateArgs),
    Notes(notes::NotesArgs),
    Experience(experience::ExperienceArgs),
    Stats(stats::StatsArgs),
    Forget(forget::ForgetArgs),
    ProveForgotten(prove::ProveArgs),
    Export(export::ExportArgs),
}

/// Files of the caller's are opened with the caller's rights, before anybody else's are taken on.
pub(crate) fn run(
    args: &MemoryArgs,
    places: impl FnOnce() -> Result<Places>,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    match &args.command {
        MemoryCommand::Add(args) => add::run(args, house, console),
        MemoryCommand::Import(args) => import::run(args, house, console),
        MemoryCommand::Read(args) => read::run(args, places, house, console),
        MemoryCommand::Hook(args) => hook::run(args, places, house, console),
        MemoryCommand::Search(args) => search::run(args, house, console),
        MemoryCommand::Pack(args) => pack::run(args, &house()?, console),
        MemoryCommand::Show(args) => show::run(args, &house()?, console),
        MemoryCommand::Cite(args) => share::cite(args, &house()?, console),
        MemoryCommand::Share(args) => share::share(args, &house()?, console),
        MemoryCommand::Unshare(args) => share::unshare(args, &house()?, console),
        MemoryCommand::Notes(args) => notes::run(args, &house()?, console),
        MemoryCommand::Experience(args) => experience::run(args, house, console),
        MemoryCommand::Consolidate(args) => consolidate::run(args, &house()?, console),
        MemoryCommand::Stats(args) => stats::run(args, &house()?, console),
        MemoryCommand::Forget(args) => forget::run(args, &house()?, console),
        MemoryCommand::ProveForgotten(args) => prove::run(args, &house()?, console),
        MemoryCommand::Export(args) => export::run(args, &house()?, console),
    }
}

/// Whose memory it is.
#[derive(Clone, Debug, Args)]
struct WhoseArgs {
    /// Whose memory; each agent has its own
    #[arg(long, value_name = "NAME", default_value = USUAL_AGENT)]
    agent: String,
}

/// Who does it.
#[derive(Clone, Debug, Args)]
struct ActorArgs {
    /// Who does it [default: uid:<number of the user>]
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,
}

impl ActorArgs {
    fn actor(&self) -> Result<Actor> {
        self.actor.clone().map_or_else(this_user, Ok)
    }
}

/// Asks memory something.
fn ask(talk: &mut Talk<'_>, ask: MemoryAsk, console: &Console) -> Result<MemoryAnswer> {
    match talk.ask(&Request::Memory { ask }, console)? {
        Answer::Memory(answer) => Ok(*answer),
        other => Err(unexpected(&other)),
    }
}

/// The answer did not fit the question.
fn strange(answer: MemoryAnswer) -> crate::problem::Failure {
    unexpected(&Answer::Memory(Box::new(answer)))
}

fn say_by_words(console: &Console) {
    console.note("there is no model, so this goes by words alone; `holdfast model fetch` brings one");
}

/// A moment as people write it.
fn moment(text: &str) -> std::result::Result<Timestamp, String> {
    moment_of(text).ok_or_else(|| "expected the form 2026-11-18T09:30:00Z, or 2026-11-18".to_owned())
}

/// A memory's text as it is shown: quoted, cut into lines of this width, and no more of them than wanted.
fn quoted(text: &str, width: usize, lines_max: usize) -> String {
    let width = width.saturating_sub(4).max(20);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.trim_end().lines() {
        let mut line = String::new();
        for word in printable(paragraph).split(' ') {
            let longer = line.chars().count() + 1 + word.chars().count();
            if !line.is_empty() && longer > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        lines.push("…".to_owned());
    }
    lines.iter().map(|line| format!("  > {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_line_by_line_and_cannot_drive_the_terminal() {
        assert_eq!(quoted("one two\nthree", 80, 9), "  > one two\n  > three\n");
        assert_eq!(
            quoted("aaaaaaaaaa bbbbbbbbbb cccccccccc", 24, 9),
            "  > aaaaaaaaaa\n  > bbbbbbbbbb\n  > cccccccccc\n"
        );
        assert_eq!(quoted("a\nb\nc", 80, 2), "  > a\n  > b\n  > …\n");
        assert!(!quoted("a\u{1b}[2Jb", 80, 9).contains('\u{1b}'));
    }
}
