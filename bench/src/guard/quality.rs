//! How much each scanner finds in the same tree, and how often it cries wolf.
//!
//! The tree is drawn from a seed and thrown away with the run's directory. A tool that cannot run is said to, with the
//! reason, and the others go on.

use std::path::Path;

use anyhow::{Context as _, Result};
use holdfast_planter::{Corpus, Score, corpus, score};

use super::peers::{TOOLS, TREE, Tool};
use crate::program::Program;
use crate::step;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) files: usize,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Examined {
    pub(crate) seed: u64,
    pub(crate) files: usize,
    pub(crate) lines: usize,
    pub(crate) corpus: Corpus,
    pub(crate) candidates: Vec<Candidate>,
}

/// A scanner, and its marks or why it has none.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    pub(crate) setting: &'static str,
    pub(crate) version: String,
    pub(crate) ours: bool,
    pub(crate) marks: Result<Score, String>,
}

pub(crate) fn measure(dir: &Path, target: &Path, plan: Plan) -> Result<Examined> {
    step("planting a tree of invented secrets");
    let corpus = corpus(plan.seed, plan.files);
    std::fs::create_dir_all(dir)?;
    corpus.write_to(&dir.join(TREE)).context("planting a tree")?;
    let ours = Program::find(target);
    if let Err(e) = &ours {
        step(&format!("the guard itself sits out: {e:#}"));
    }
    let candidates = TOOLS.iter().map(|tool| examine(tool, dir, ours.as_ref().ok(), &corpus)).collect();
    let lines = corpus.files.iter().map(|file| file.text.lines().count()).sum();
    Ok(Examined { seed: plan.seed, files: corpus.files.len(), lines, corpus, candidates })
}

fn examine(tool: &Tool, dir: &Path, ours: Option<&Program>, corpus: &Corpus) -> Candidate {
    step(format!("scanning with {} {}", tool.name, tool.setting).trim_end());
    let findings = tool.scan(dir, ours).map_err(|e| format!("{e:#}"));
    Candidate {
        name: tool.name,
        setting: tool.setting,
        version: tool.version(dir, ours).unwrap_or_else(|_| "–".to_owned()),
        ours: tool.is_ours(),
        marks: findings.map(|findings| score(corpus, &findings)),
    }
}
