//! The index of vectors against hnswlib: the same vectors, the same queries, one thread each, in turns, and how much each finds of what an exact
//! search finds. Both answer in a process of their own, so that what each holds can be told.

use std::io::{BufRead as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use holdfast_vectors::{Effort, Index, Query, Vector};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::peer::{self, Peer};
use super::search::Resident;
use super::space::{Space, Vectors, model};
use crate::step;

/// The word that makes this program the one that answers for our index.
pub(crate) const CHILD: &str = "memory-near";
/// As wide as a walk of ours is when nobody says otherwise.
pub(crate) const USUAL_WIDTH: usize = 128;
/// Widths of a walk that are tried, theirs and ours.
const WIDTHS: [usize; 11] = [16, 24, 32, 48, 64, 96, USUAL_WIDTH, 192, 256, 384, 512];
/// How many nearest, as in the goals.
const LIMIT: usize = 10;
/// hnswlib's own advice for vectors of this width: links of a row, and the width of the walk while it is made.
const LINKS: usize = 16;
const EFFORT: usize = 200;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
}

/// What came of one size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nears {
    pub(crate) vectors: usize,
    pub(crate) ours: Walks,
    /// Absent where hnswlib is not installed.
    pub(crate) theirs: Option<Walks>,
}

/// One index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walks {
    pub(crate) open_s: f64,
    /// By how much its process grew until all was asked.
    pub(crate) resident_mib: f64,
    pub(crate) at: Vec<At>,
}

/// A walk of one width.
#[derive(Clone, Debug, Default)]
pub(crate) struct At {
    pub(crate) width: usize,
    pub(crate) recall: f64,
    /// Queries a second, a round each.
    pub(crate) per_s: Vec<f64>,
}

#[derive(Deserialize)]
struct Loaded {
    seconds: f64,
}

#[derive(Deserialize)]
struct Held {
    resident_mib: f64,
}

#[derive(Serialize, Deserialize)]
struct Asked {
    per_s: f64,
    recall: f64,
}

#[derive(Deserialize)]
struct Built {
    seconds: f64,
}

pub(super) fn measure(space: &Space, plan: Plan) -> Result<Nears> {
    let vectors = space.filled()?.entries;
    let mut theirs = hnswlib(space)?;
    if !space.file("truth").exists() {
        step("looking for what is nearest, by looking at all");
        find_truth(space, theirs.as_mut())?;
    }
    step(&format!("walking over {vectors} vectors"));
    let ours = Peer::start("Holdfast", Command::new(std::env::current_exe()?).arg(CHILD))?;
    let mut all = vec![Walking::begin(ours, &json!({"do": "load", "space": space.folder()}))?];
    if let Some(peer) = theirs {
        all.push(Walking::begin(peer, &json!({"do": "load", "index": space.file("hnsw")}))?);
    }
    let count = all.len();
    for round in 0..plan.rounds {
        for at in 0..WIDTHS.len() {
            (0..count).try_for_each(|turn| all[(round + turn) % count].ask(space, at))?;
        }
    }
    let mut walks = all.into_iter().map(Walking::end).collect::<Result<Vec<_>>>()?.into_iter();
    let ours = walks.next().context("our own walks are missing")?;
    Ok(Nears { vectors, ours, theirs: walks.next() })
}

/// hnswlib, with its index of the space's vectors made where it is not there yet.
fn hnswlib(space: &Space) -> Result<Option<Peer>> {
    let Some(python) = peer::python() else {
        step("hnswlib is not installed (scripts/peers.sh), so it is not compared with");
        return Ok(None);
    };
    let mut peer = Peer::start("hnswlib", Command::new(python).arg(peer::script("near.py")))?;
    let index = space.file("hnsw");
    if !index.exists() {
        step("making hnswlib's index, which is kept");
        // Beside its place, so that an index that was cut short is none.
        let aside = space.file("hnsw.aside");
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let base = space.file("base");
        let job = json!({"do": "build", "base": base, "into": aside, "links": LINKS, "effort": EFFORT, "threads": threads});
        let Built { seconds } = peer.ask(&job)?;
        holdfast_durable::move_to_new(&aside, &index)?;
        step(&format!("that took {seconds:.0} s"));
    }
    Ok(Some(peer))
}

/// The nearest of each query, by another program where there is one.
fn find_truth(space: &Space, peer: Option<&mut Peer>) -> Result<()> {
    let into = space.file("truth");
    if let Some(peer) = peer {
        let job = json!({"do": "truth", "base": space.file("base"), "queries": space.file("queries"), "into": into});
        peer.ask::<Value>(&job)?;
        return Ok(());
    }
    let (index, seqs) = (Index::open(&space.index()?, model()?)?, space.seqs()?);
    let mut bytes = Vec::new();
    for vector in Vectors::open(&space.file("queries"))? {
        let vector = vector?;
        let query = Query { effort: Effort::Exact, ..Query::nearest(&vector, LIMIT) };
        for hit in index.search(&query)?.hits {
            let row = seqs.binary_search(&hit.key.entry).ok().context("a vector of no entry")?;
            bytes.extend((row as u32).to_le_bytes());
        }
    }
    Ok(std::fs::write(into, bytes)?)
}

/// An index while it is asked.
struct Walking {
    peer: Peer,
    walks: Walks,
}

impl Walking {
    fn begin(mut peer: Peer, load: &Value) -> Result<Walking> {
        let Loaded { seconds } = peer.ask(load)?;
        let at = WIDTHS.iter().map(|&width| At { width, ..At::default() }).collect();
        Ok(Walking { peer, walks: Walks { open_s: seconds, resident_mib: 0.0, at } })
    }

    fn ask(&mut self, space: &Space, at: usize) -> Result<()> {
        let at = &mut self.walks.at[at];
        let (queries, truth) = (space.file("queries"), space.file("truth"));
        let job = json!({"do": "ask", "queries": queries, "truth": truth, "width": at.width});
        let asked: Asked = self.peer.ask(&job)?;
        at.per_s.push(asked.per_s);
        at.recall = asked.recall;
        Ok(())
    }

    fn end(mut self) -> Result<Walks> {
        let Held { resident_mib } = self.peer.ask(&json!({"do": "resident"}))?;
        Ok(Walks { resident_mib, ..self.walks })
    }
}

impl Walks {
    /// The narrowest walk that finds at least so much.
    pub(crate) fn finding(&self, recall: f64) -> Option<&At> {
        self.at.iter().find(|at| at.recall >= recall)
    }

    pub(crate) fn usual(&self) -> Option<&At> {
        self.at.iter().find(|at| at.width == USUAL_WIDTH)
    }
}

/// What the process of our index does: the same as `peers/near.py`, for as long as its input lasts.
pub(crate) fn child() -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    let mut answering: Option<Answering> = None;
    for line in std::io::stdin().lock().lines() {
        let job: Value = serde_json::from_str(&line?)?;
        let answer = match (job["do"].as_str(), &answering) {
            (Some("load"), _) => {
                let (opened, seconds) = Answering::open(&path(&job["space"])?)?;
                answering = Some(opened);
                json!({"seconds": seconds})
            }
            (Some("ask"), Some(answering)) => serde_json::to_value(answering.ask(&job)?)?,
            (Some("resident"), Some(answering)) => {
                json!({"resident_mib": Resident::look()?.sum() - answering.before})
            }
            _ => anyhow::bail!("{CHILD} does not know what to do with {job}"),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// Our index, with what it is asked and what the answers should be.
struct Answering {
    index: Index,
    seqs: Vec<u64>,
    /// MiB the process held before it was opened.
    before: f64,
}

impl Answering {
    fn open(folder: &Path) -> Result<(Answering, f64)> {
        let space = Space::at(folder);
        let seqs = space.seqs()?;
        let (before, began) = (Resident::look()?.sum(), Instant::now());
        let index = Index::open(&space.index()?, model()?)?;
        Ok((Answering { index, seqs, before }, began.elapsed().as_secs_f64()))
    }

    fn ask(&self, job: &Value) -> Result<Asked> {
        let width = job["width"].as_u64().and_then(|width| NonZeroUsize::new(width as usize));
        let effort = width.map_or(Effort::Usual, Effort::Width);
        let queries: Vec<Vector> = Vectors::open(&path(&job["queries"])?)?.collect::<Result<_>>()?;
        let truth = truth(&path(&job["truth"])?)?;
        let began = Instant::now();
        let answers = queries
            .iter()
            .map(|vector| self.index.search(&Query { effort, ..Query::nearest(vector, LIMIT) }))
            .collect::<Result<Vec<_>, _>>()?;
        let per_s = queries.len() as f64 / began.elapsed().as_secs_f64();
        let right = |(answer, nearest): (&holdfast_vectors::Answer, &Vec<u32>)| {
            let is_right = |entry: u64| nearest.iter().any(|row| self.seqs[*row as usize] == entry);
            answer.hits.iter().filter(|hit| is_right(hit.key.entry)).count()
        };
        let found: usize = answers.iter().zip(&truth).map(right).sum();
        Ok(Asked { per_s, recall: found as f64 / (queries.len() * LIMIT) as f64 })
    }
}

fn truth(path: &Path) -> Result<Vec<Vec<u32>>> {
    let bytes = std::fs::read(path)?;
    let numbers: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    Ok(numbers.chunks(LIMIT).map(<[u32]>::to_vec).collect())
}

fn path(value: &Value) -> Result<PathBuf> {
    Ok(PathBuf::from(value.as_str().context("a path is missing")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_walk_that_finds_enough_is_compared() {
        let at = |width: usize, recall: f64| At { width, recall, per_s: vec![1.0] };
        let walks = Walks { at: vec![at(16, 0.9), at(USUAL_WIDTH, 0.98), at(512, 0.99)], ..Walks::default() };
        assert_eq!(walks.finding(0.95).map(|at| at.width), Some(USUAL_WIDTH));
        assert_eq!(walks.finding(0.999).map(|at| at.width), None);
        assert_eq!(walks.usual().map(|at| at.recall), Some(0.98));
    }
}
