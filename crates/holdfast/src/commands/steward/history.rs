//! `holdfast steward history`: what is in force on each target and how it came to be, and whether the repository has it.

use std::collections::BTreeMap;

use clap::Args;
use holdfast_api::{History, HistoryCommit, HistoryOfTarget};
use holdfast_history::{Book, DEPLOYED, Deed, Repository, What, Written};
use holdfast_lifeline::TargetName;
use holdfast_types::Exit;

use super::{end, wrapped, written};
use crate::console::Console;
use crate::house::{ArchiveArgs, House};
use crate::look::{Shape, Style, count, printable, time};
use crate::places::quoted;
use crate::problem::Result;
use crate::steward::{StewardError, instance_of};

/// Show what was applied to the targets, the newest first
///
/// From the journal alone, with or without a daemon. The daemon keeps the same as a git repository with signed commits, one branch
/// `deployed/TARGET` for each target; whether it has everything is said too.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast steward history
  holdfast steward history box-1 --limit 5

JSON fields: repository (its folder), standing (whole, behind, absent, or unreadable), why (null unless it is unreadable); targets[] with \
target, commits[] (newest first) with entry, at, what (began, kept, taken_back, drifted, accepted), episode (null where there is none), \
title, notes[], commit (null when the repository does not have it), signed (null as commit), and more (how many older ones there are).")]
pub(super) struct HistoryArgs {
    /// Only this target
    target: Option<String>,

    /// At most so many of each target
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// How the repository stands to the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Whole,
    /// The daemon has not written everything yet, or none runs.
    Behind,
    Absent,
    Unreadable(String),
}

struct Told<'a> {
    target: &'a TargetName,
    /// Newest first.
    deeds: Vec<(&'a Deed, Option<Written>)>,
    more: usize,
}

pub(super) fn run(args: &HistoryArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let book = book(house)?;
    let (told, standing) = looked_up(&book, house, args.target.as_deref(), args.limit)?;
    if console.is_json() {
        console.told_as_json(&in_full(&told, house, &standing))?;
    } else {
        let text = shown(&told, house, &standing, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// What was applied, of one target or of all, the newest first.
pub(crate) fn applied(house: &House, target: Option<&str>, limit: usize) -> Result<History> {
    let book = book(house)?;
    let (told, standing) = looked_up(&book, house, target, limit)?;
    Ok(in_full(&told, house, &standing))
}

fn looked_up<'b>(
    book: &'b Book,
    house: &House,
    only: Option<&str>,
    limit: usize,
) -> Result<(Vec<Told<'b>>, Standing)> {
    let known: Vec<String> = book.deeds().map(|(target, _)| target.to_string()).collect();
    if let Some(name) = only.filter(|name| !known.iter().any(|one| one == name)) {
        return Err(StewardError::UnknownTarget { name: name.to_owned(), known }.into());
    }
    let wanted = book.deeds().filter(|(target, _)| only.is_none_or(|name| name == target.as_str()));
    let repository = Repository::at(&house.places.history(), "");
    let mut standing = if repository.is_there() { Standing::Whole } else { Standing::Absent };
    let told: Vec<Told<'_>> = wanted
        .map(|(target, deeds)| {
            let lies_there = lies_there(&repository, target, limit, &mut standing);
            let newest = deeds.iter().rev().take(limit);
            let deeds = newest.map(|deed| (deed, lies_there.get(&deed.seq).copied())).collect::<Vec<_>>();
            if standing == Standing::Whole && deeds.iter().any(|(_, written)| written.is_none()) {
                standing = Standing::Behind;
            }
            let all = book.deeds().find(|(name, _)| *name == target).map_or(0, |(_, all)| all.len());
            Told { target, more: all.saturating_sub(deeds.len()), deeds }
        })
        .collect();
    Ok((told, standing))
}

/// Everything that follows from the journal. Without the key, so commits are found by their entry and not by their name.
fn book(house: &House) -> Result<Book> {
    let origin = house.view(&ArchiveArgs::default())?.origin().to_string();
    let mut book = Book::new(instance_of(&origin), None);
    let mut all: Vec<_> = written(house)?
        .into_iter()
        .flat_map(|(target, records)| {
            records.into_iter().map(move |one| (one.seq, target.clone(), one.record))
        })
        .collect();
    all.sort_by_key(|(seq, _, _)| *seq);
    all.iter().for_each(|(seq, target, record)| book.take(*seq, target, record));
    Ok(book)
}

fn lies_there(
    repository: &Repository,
    target: &TargetName,
    limit: usize,
    standing: &mut Standing,
) -> BTreeMap<u64, Written> {
    if *standing == Standing::Absent {
        return BTreeMap::new();
    }
    // A target that was taken in a moment ago has no branch yet.
    let branch = format!("{DEPLOYED}{target}");
    let has_branch = match repository.look() {
        Ok(refs) => refs.contains_key(&branch),
        Err(trouble) => {
            *standing = Standing::Unreadable(trouble.to_string());
            false
        }
    };
    if !has_branch {
        return BTreeMap::new();
    }
    repository.commits(&branch, limit).unwrap_or_else(|trouble| {
        *standing = Standing::Unreadable(trouble.to_string());
        BTreeMap::new()
    })
}

fn in_full(told: &[Told<'_>], house: &House, standing: &Standing) -> History {
    let (word, why) = match standing {
        Standing::Whole => ("whole", None),
        Standing::Behind => ("behind", None),
        Standing::Absent => ("absent", None),
        Standing::Unreadable(why) => ("unreadable", Some(why.clone())),
    };
    let targets = told.iter().map(|Told { target, deeds, more }| HistoryOfTarget {
        target: target.to_string(),
        commits: deeds.iter().map(|(deed, written)| commit(deed, *written)).collect(),
        more: *more as u64,
    });
    History {
        repository: house.places.history().display().to_string(),
        standing: word.to_owned(),
        why,
        targets: targets.collect(),
    }
}

fn commit(deed: &Deed, written: Option<Written>) -> HistoryCommit {
    let Deed { seq, at, what, episode, title, notes, message: _, taken_back: _, commit: _ } = deed;
    HistoryCommit {
        entry: *seq,
        at: *at,
        what: word(*what).to_owned(),
        episode: episode.as_ref().map(ToString::to_string),
        title: title.clone(),
        notes: notes.clone(),
        commit: written.map(|it| it.commit.to_string()),
        signed: written.map(|it| it.signed),
    }
}

const fn word(what: What) -> &'static str {
    match what {
        What::Began => "began",
        What::Kept => "kept",
        What::TakenBack => "taken_back",
        What::Drifted => "drifted",
        What::Accepted => "accepted",
    }
}

fn shown(told: &[Told<'_>], house: &House, standing: &Standing, style: Style) -> String {
    if told.is_empty() {
        let mark = style.shape(Shape::Unknown);
        return format!("{mark} nothing was applied yet: each change that is kept is here from then on\n");
    }
    let mut out = String::new();
    for Told { target, deeds, more } in told {
        out.push_str(&format!("{target}\n"));
        for (deed, written) in deeds {
            out.push_str(&line(deed, *written, style));
        }
        if *more > 0 {
            out.push_str(&format!("  {} before these: --limit\n", count(*more as u64, "commit", "commits")));
        }
        out.push('\n');
    }
    out.push_str(&stands(standing, house, style));
    out
}

fn line(deed: &Deed, written: Option<Written>, style: Style) -> String {
    let shape = match deed.what {
        What::Kept if deed.taken_back => Shape::Undone,
        What::Began | What::Kept | What::Accepted => Shape::Settled,
        What::TakenBack => Shape::Undone,
        What::Drifted => Shape::NeedsYou,
    };
    let commit = match written {
        Some(Written { commit, signed: true }) => commit.to_string().chars().take(8).collect(),
        Some(Written { commit, signed: false }) => {
            format!("{} not signed by this house", commit.to_string().chars().take(8).collect::<String>())
        }
        None => "not in the repository yet".to_owned(),
    };
    let episode = deed.episode.as_ref().map(|id| format!("  …{}", end(id.as_str(), 4))).unwrap_or_default();
    let mut out = format!("{} {}\n", style.shape(shape), printable(&deed.title));
    out.push_str(&format!("  {}{episode}  {}\n", style.faint(&time(deed.at)), style.faint(&commit)));
    for note in &deed.notes {
        for part in wrapped(&printable(note), 76) {
            out.push_str(&format!("  {part}\n"));
        }
    }
    out
}

fn stands(standing: &Standing, house: &House, style: Style) -> String {
    let folder = quoted(&house.places.history());
    match standing {
        Standing::Whole => {
            format!("with the reasons, and as patches: git -C {folder} log -p deployed/TARGET\n")
        }
        Standing::Behind => {
            format!(
                "{} the repository does not have all of it yet; a running daemon writes it\n",
                style.shape(Shape::Unknown)
            )
        }
        Standing::Absent => {
            format!("{} there is no repository yet; a running daemon makes it\n", style.shape(Shape::Unknown))
        }
        Standing::Unreadable(why) => {
            let why = printable(why);
            format!(
                "{} the repository cannot be read, and this is from the journal alone: {why}\n",
                style.shape(Shape::NeedsYou)
            )
        }
    }
}
