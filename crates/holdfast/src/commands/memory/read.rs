//! `holdfast memory read`: what is worth keeping of written files. They are found and read with the caller's rights, and sent in parts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryRead, MemoryWritten};
use holdfast_memory::Gates;
use holdfast_memory_host::{AgentName, Files, Part, Screened, Skipped, WouldTake, would_take};
use holdfast_types::{Actor, Exit, Trust};
use serde_json::{Value, json};

use super::lines::TOLD_MAX;
use super::{ActorArgs, WhoseArgs, ask, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::{House, reading};
use crate::look::{Shape, count, number, printable};
use crate::places::Places;
use crate::problem::Result;

/// Read written files, or those of a folder, for what is worth keeping
///
/// A file is divided into paragraphs and items of lists. Of each, secrets are taken out, and the quality gates say whether it is worth keeping; what is
/// kept says which file it is from, and which bytes of it. Read again, a file gives what is new in it. Files that are no text, are longer than
/// a mebibyte or are memory's own are passed over and told; in a folder, links, hidden names and what is no
/// prose by its name (.md, .txt, .rst, .adoc, .org, or no ending at all) are passed over; name such a file to have it read.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast memory read docs/ runbook.md --agent scout

Exit code 1: there was nothing that could be read.

JSON fields: agent, files, captured, ids[] (of what was captured; none in a dry run), known (null in a dry run), refused (by gate), blocked, \
skipped[] with path, why; dry_run. Why is our_own, too_long, not_text, too_many, too_deep, not_a_file, unreadable or the_rest.")]
pub(super) struct ReadArgs {
    /// Files, and folders with files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    whose: WhoseArgs,

    /// How far they are trusted: disposable, untrusted, semi-trusted, trusted, admin
    #[arg(long, value_name = "LEVEL", default_value = "trusted")]
    trust: Trust,

    #[command(flatten)]
    by: ActorArgs,

    /// Say what would become of them and store nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(
    args: &ReadArgs,
    places: impl FnOnce() -> Result<Places>,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    let mut files = Files::beside(&places()?.memory());
    for path in &args.paths {
        files.take(path).map_err(|e| reading(path, e))?;
    }
    let actor = args.by.actor()?;
    let house = house()?;
    // A home that is not there is the news, also where there is nothing to read.
    house.view(&Default::default())?;
    let whose = Whose { agent: &args.whose.agent, actor: &actor, trust: args.trust };
    let done = match args.dry_run {
        true => Done::previewed(&files, &whose)?,
        false => Done::taken(&files, &whose, &mut Talk::with(&house), console)?,
    };
    if console.is_json() {
        let mut answer = done.json();
        answer["agent"] = args.whose.agent.clone().into();
        answer["dry_run"] = args.dry_run.into();
        console.json(&answer)?;
    } else {
        let text = told(&done, args, console);
        console.write(text.as_bytes())?;
    }
    Ok(if done.files == 0 { Exit::Negative } else { Exit::Ok })
}

/// Whose memory takes it in, who does it, and how far it is trusted.
pub(super) struct Whose<'a> {
    pub(super) agent: &'a str,
    pub(super) actor: &'a Actor,
    pub(super) trust: Trust,
}

/// What came of all files.
#[derive(Debug, Default)]
pub(super) struct Done {
    files: usize,
    captured: u64,
    ids: Vec<String>,
    /// Not known before memory is asked.
    known: Option<u64>,
    refused: BTreeMap<String, u64>,
    blocked: u64,
    skipped: Vec<(PathBuf, Skipped)>,
}

impl Done {
    /// Sends the texts to whoever has the home open. What was answered is durable, so that a second try goes on where the first was cut short.
    pub(super) fn taken(
        files: &Files,
        whose: &Whose<'_>,
        talk: &mut Talk<'_>,
        console: &Console,
    ) -> Result<Done> {
        let mut done = Done { known: Some(0), ..Done::of(files) };
        for (n, file) in (0..).zip(&files.read) {
            console.progress(&format!(
                "reading  {} of {}",
                number(n),
                count(files.read.len() as u64, "file", "files")
            ));
            for part in file.parts() {
                match ask(talk, MemoryAsk::Read(Box::new(whose.written(&part))), console)? {
                    MemoryAnswer::Read(read) => done.add(read),
                    other => return Err(strange(other)),
                }
            }
        }
        console.progress("");
        Ok(done)
    }

    /// What would come of them, by the rules of this home.
    pub(super) fn previewed(files: &Files, whose: &Whose<'_>) -> Result<Done> {
        whose.agent.parse::<AgentName>()?;
        let redactor = Screened(std::sync::Arc::new(crate::sieve::screen()));
        let mut done = Done::of(files);
        for part in files.read.iter().flat_map(|file| file.parts()) {
            let WouldTake { captured, refused, blocked } = would_take(&part, &redactor, &Gates::capture())?;
            done.captured += captured;
            done.blocked += blocked;
            done.refuse(refused.into_iter().map(|(gate, n)| (gate.to_owned(), n)));
        }
        Ok(done)
    }

    fn of(files: &Files) -> Done {
        Done { files: files.read.len(), skipped: files.skipped.clone(), ..Done::default() }
    }

    fn add(&mut self, read: MemoryRead) {
        let MemoryRead { captured, known, refused, blocked } = read;
        self.captured += captured.len() as u64;
        self.ids.extend(captured);
        self.known = self.known.map(|before| before + known);
        self.blocked += blocked;
        self.refuse(refused);
    }

    fn refuse(&mut self, refused: impl IntoIterator<Item = (String, u64)>) {
        refused.into_iter().for_each(|(gate, n)| *self.refused.entry(gate).or_default() += n);
    }

    pub(super) fn json(&self) -> Value {
        let Done { files, captured, ids, known, refused, blocked, skipped } = self;
        let skipped: Vec<Value> = skipped
            .iter()
            .map(|(path, why)| json!({"path": path.display().to_string(), "why": why.as_str()}))
            .collect();
        json!({"files": files, "captured": captured, "ids": ids, "known": known, "refused": refused, "blocked": blocked, "skipped": skipped})
    }
}

impl Whose<'_> {
    fn written(&self, part: &Part<'_>) -> MemoryWritten {
        MemoryWritten {
            agent: self.agent.to_owned(),
            name: part.name.to_owned(),
            text: part.text.to_owned(),
            at: part.at,
            actor: self.actor.clone(),
            trust: self.trust,
        }
    }
}

fn told(done: &Done, args: &ReadArgs, console: &Console) -> String {
    let Done { files, captured, known, refused, blocked, skipped, .. } = done;
    let (shape, verb) = match (args.dry_run, files) {
        (true, _) => (Shape::Unknown, "would remember"),
        (false, 0) => (Shape::Unknown, "remembers"),
        (false, _) => (Shape::Settled, "remembers"),
    };
    let mut out = format!(
        "{} {} {verb} {} from {}",
        console.out_style.shape(shape),
        args.whose.agent,
        count(*captured, "piece", "pieces"),
        count(*files as u64, "file", "files")
    );
    if let Some(known) = known.filter(|known| *known > 0) {
        out.push_str(&format!(", {} known before", number(known)));
    }
    out.push('\n');
    if !refused.is_empty() {
        let gates: Vec<String> = refused.iter().map(|(gate, n)| format!("{gate} {}", number(*n))).collect();
        out.push_str(&format!("  refused by gates: {}\n", gates.join(", ")));
    }
    if *blocked > 0 {
        out.push_str(&format!("  blocked by the guard: {}\n", number(*blocked)));
    }
    for (path, why) in skipped.iter().take(TOLD_MAX) {
        out.push_str(&format!("  passed over {}: {}\n", shown(path), why.sentence()));
    }
    if skipped.len() > TOLD_MAX {
        out.push_str(&format!("  and {} more\n", number((skipped.len() - TOLD_MAX) as u64)));
    }
    out
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}
