//! `holdfast memory add`: one memory.

use std::path::Path;

use clap::Args;
use holdfast_control::{MemoryAdded, MemoryAnswer, MemoryAsk, MemoryDraft};
use holdfast_memory::{CONTENT_MAX, Considered, Gates, Source, consider};
use holdfast_memory_host::Screened;
use holdfast_types::{Exit, Key, Timestamp, Trust};
use serde_json::json;

use super::{ActorArgs, WhoseArgs, ask, moment, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::{House, read_input};
use crate::look::Shape;
use crate::memory::{MemoryError, doubts, draft_of, marks, parsed};
use crate::problem::{CliError, Result};

/// Remember something; it is on the disk when the command returns
///
/// Secrets are taken out first. Then the quality gates say whether it is worth keeping: what they refuse is not stored.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast memory add 'The gateway of staging listens on port 9096.' --agent scout --tag ports
  holdfast memory add - --type decision <decision.txt

Exit code 1: a gate refused it. Exit code 4: the guard lets nothing of it through.

JSON fields: agent, outcome (captured, repeated, rejected, blocked), id, entry, gate, reason (null where they do not \
apply), marks[], doubts[] with gate, reason; dry_run.")]
pub(super) struct AddArgs {
    /// The text; - reads standard input
    text: String,

    #[command(flatten)]
    whose: WhoseArgs,

    /// What it is: decision, fact, preference, pattern, error
    #[arg(long = "type", visible_alias = "kind", value_name = "TYPE", default_value = "fact")]
    entry_type: String,

    /// Where it was learnt: conversation, observation, inference, or the name of a conversation, session or file
    #[arg(long, value_name = "WHERE", default_value = "conversation")]
    source: String,

    /// How sure it is, from 0 to 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0.9)]
    confidence: f64,

    /// Whether it concerns the work at hand or everything: project, global
    #[arg(long, value_name = "SCOPE", default_value = "project")]
    scope: String,

    /// A tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    /// When it was said, where that was not now: 2026-11-18T09:30:00Z, or 2026-11-18
    #[arg(long, value_name = "TIME", value_parser = moment)]
    at: Option<Timestamp>,

    /// How far it is trusted: disposable, untrusted, semi-trusted, trusted, admin
    #[arg(long, value_name = "LEVEL", default_value = "trusted")]
    trust: Trust,

    /// Idempotency key: a second time with the same key writes nothing
    #[arg(long)]
    key: Option<Key>,

    #[command(flatten)]
    by: ActorArgs,

    /// Say what would become of it and store nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(
    args: &AddArgs,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    let draft = args.draft()?;
    let house = house()?;
    let added = if args.dry_run {
        house.view(&Default::default())?;
        considered(&draft)?
    } else {
        match ask(&mut Talk::with(&house), MemoryAsk::Add(Box::new(draft)), console)? {
            MemoryAnswer::Added(added) => added,
            other => return Err(strange(other)),
        }
    };
    if console.is_json() {
        let MemoryAdded { agent, outcome, id, entry, gate, reason, marks, doubts } = &added;
        console.json(
            &json!({"agent": agent, "outcome": outcome, "id": id, "entry": entry, "gate": gate, "reason": reason,
            "marks": marks, "doubts": doubts, "dry_run": args.dry_run}),
        )?;
    } else {
        console.line(&told(&added, args.dry_run, console))?;
        for doubt in &added.doubts {
            console.note(&format!("the gate {} doubts it: {}", doubt.gate, doubt.reason));
        }
    }
    Ok(match added.outcome.as_str() {
        "rejected" => Exit::Negative,
        "blocked" => Exit::Refused,
        _ => Exit::Ok,
    })
}

impl AddArgs {
    fn draft(&self) -> Result<MemoryDraft> {
        // A word that is no way of learning names the conversation, session or file, as in an import.
        let (source, thread) = match parsed::<Source>(&self.source) {
            Ok(source) => (source.as_str(), None),
            Err(_) => (Source::Conversation.as_str(), Some(self.source.clone())),
        };
        let draft = MemoryDraft {
            agent: self.whose.agent.clone(),
            text: text(&self.text)?,
            entry_type: self.entry_type.clone(),
            source: source.to_owned(),
            confidence: self.confidence,
            scope: self.scope.clone(),
            tags: self.tags.clone(),
            at: self.at,
            thread,
            actor: self.by.actor()?,
            trust: self.trust,
            key: self.key.clone(),
        };
        // What is wrong with it is said before anything is opened.
        draft_of(&draft)?;
        Ok(draft)
    }
}

fn text(argument: &str) -> Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let bytes = read_input(Path::new("-"), CONTENT_MAX as u64)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CliError::Input { what: "standard input".into(), why: "it is not UTF-8".into() })?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// What would become of it, by the rules of this home.
fn considered(draft: &MemoryDraft) -> Result<MemoryAdded> {
    let mut added = MemoryAdded {
        agent: draft.agent.clone(),
        outcome: "captured".to_owned(),
        id: None,
        entry: None,
        gate: None,
        reason: None,
        marks: Vec::new(),
        doubts: Vec::new(),
    };
    let redactor = Screened(std::sync::Arc::new(crate::sieve::screen()));
    match consider(draft_of(draft)?, &redactor, &Gates::capture()) {
        Considered::Accepted(accepted) => {
            (added.marks, added.doubts) = (marks(&accepted.marks), doubts(&accepted.warnings));
        }
        Considered::Blocked { reason } => {
            (added.outcome, added.reason) = ("blocked".to_owned(), Some(reason.to_owned()));
        }
        Considered::Rejected(refusal) => {
            added.outcome = "rejected".to_owned();
            added.gate = Some(refusal.gate.as_str().to_owned());
            added.reason = Some(refusal.reason.sentence().to_owned());
        }
        Considered::TooLong(e) => return Err(MemoryError::Draft { why: e.to_string() }.into()),
    }
    Ok(added)
}

fn told(added: &MemoryAdded, dry_run: bool, console: &Console) -> String {
    let mark = |shape| console.out_style.shape(shape);
    let reason = added.reason.as_deref().unwrap_or("no reason was given");
    let gate = added.gate.as_deref().unwrap_or("of quality");
    let agent = &added.agent;
    match (added.outcome.as_str(), &added.id) {
        ("rejected", _) => format!("{} not kept: the gate {gate} says that {reason}", mark(Shape::Failed)),
        ("blocked", _) => {
            format!("{} not kept: the guard lets nothing of it through, {reason}", mark(Shape::Failed))
        }
        (_, _) if dry_run => format!("{} would be remembered by {agent}", mark(Shape::Unknown)),
        ("repeated", Some(id)) => {
            format!("{} {id}  this key was used before, nothing was written", mark(Shape::Settled))
        }
        (_, id) => {
            format!("{} {}  remembered by {agent}", mark(Shape::Settled), id.as_deref().unwrap_or("?"))
        }
    }
}
