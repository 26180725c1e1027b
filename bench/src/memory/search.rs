//! How long a search takes in a space of a given size, and what the process that answers holds: in a process of its own.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use holdfast_embed::Model;
use holdfast_memory_host::{Ask, Only, TOP_USUAL};
use holdfast_recall::Terms;
use holdfast_vectors::Vector;
use serde::{Deserialize, Serialize};

use super::home::model_folder;
use super::space::{Filled, QUERIES, Space, Vectors, agent};
use super::texts::questions;
use crate::step;

/// The word that makes this program the one that searches.
pub(crate) const CHILD: &str = "memory-search";
/// Searches before those that count.
const WARM_UP: usize = 50;
const SEED: u64 = 11;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// At most as many as there are queries.
    pub(crate) searches: usize,
}

/// What came of one size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Searches {
    pub(crate) entries: usize,
    /// What filling the space took, in seconds: its texts, and its vectors with their graph.
    pub(crate) import_s: f64,
    pub(crate) vectors_s: f64,
    pub(crate) seen: Seen,
}

/// What the process saw of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) with_model: bool,
    pub(crate) open_ms: f64,
    /// Each search whose question's vector is known.
    pub(crate) ms: Vec<f64>,
    /// Each with the embedding of the question; empty without a model.
    pub(crate) whole_ms: Vec<f64>,
    /// Before the memory was opened (the model was), after, and after all searches.
    pub(crate) before: Resident,
    pub(crate) opened: Resident,
    pub(crate) after: Resident,
}

/// What a process holds, in MiB: its own memory, and pages of files.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Resident {
    pub(crate) own: f64,
    pub(crate) mapped: f64,
}

impl Resident {
    /// This process now.
    pub(super) fn look() -> Result<Resident> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let of = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
            Ok(kib.with_context(|| format!("the kernel does not tell {name}"))? / 1024.0)
        };
        Ok(Resident { own: of("RssAnon:")?, mapped: of("RssFile:")? })
    }

    pub(crate) fn sum(self) -> f64 {
        self.own + self.mapped
    }
}

pub(super) fn measure(space: &Space, plan: Plan) -> Result<Searches> {
    let Filled { entries, import_s, vectors_s } = space.filled()?;
    step(&format!("searching among {entries}"));
    let mut child = Command::new(std::env::current_exe()?);
    child.arg(CHILD).arg(space.folder()).arg(plan.searches.to_string());
    let out = child.output()?;
    ensure!(out.status.success(), "searching failed: {}", String::from_utf8_lossy(&out.stderr).trim());
    let seen = serde_json::from_slice(&out.stdout).context("whoever searched said something else")?;
    Ok(Searches { entries, import_s, vectors_s, seen })
}

/// What the process does: opens the memory, searches, and says what it saw.
pub(crate) fn child(args: &[String]) -> Result<String> {
    let [folder, searches] = args else { bail!("{CHILD} takes a folder and a count") };
    let (space, searches) = (Space::at(Path::new(folder)), searches.parse::<usize>()?.min(QUERIES));
    let model = model_folder().map(|folder| Model::open(&folder)).transpose()?.map(Arc::new);
    let mut seen = Seen { with_model: model.is_some(), before: Resident::look()?, ..Seen::default() };
    let began = Instant::now();
    let memories = space.home().memories(model)?;
    seen.open_ms = millis(began);
    seen.opened = Resident::look()?;
    let vectors: Vec<Vector> = Vectors::open(&space.file("queries"))?.collect::<Result<_>>()?;
    let (agent, only, texts) = (agent()?, Only::default(), questions(SEED, searches));
    for (n, (query, vector)) in texts.iter().zip(&vectors).cycle().take(WARM_UP + searches).enumerate() {
        let ask = Ask { agent: &agent, query, top: TOP_USUAL, only: &only, now: None };
        let began = Instant::now();
        let found = memories.search_given(&ask, Some(vector), &Terms::default())?;
        if n >= WARM_UP {
            seen.ms.push(millis(began));
        }
        ensure!(found.hits.len() == TOP_USUAL, "{query:?} found {} memories", found.hits.len());
        ensure!(found.without_vector == 0, "the space is of another format: remove {folder}");
    }
    for query in texts.iter().take(if seen.with_model { WARM_UP } else { 0 }) {
        let began = Instant::now();
        memories.search(&Ask { agent: &agent, query, top: TOP_USUAL, only: &only, now: None })?;
        seen.whole_ms.push(millis(began));
    }
    seen.after = Resident::look()?;
    Ok(serde_json::to_string(&seen)?)
}

fn millis(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
