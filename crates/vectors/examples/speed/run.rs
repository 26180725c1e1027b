//! The measurements. Each gives one line of what it saw.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use holdfast_vectors::{Effort, Index, Key, Model, Query, Vector};

use crate::made::{Kind, Made, WIDTH};

const MODEL: Model = Model([0; 32]);
/// Vectors asked for, as in the goals.
const LIMIT: usize = 10;
const QUERIES: usize = 1000;
/// Put in with one call.
const PART: usize = 1000;

/// Writes vectors, and queries of the same making that are not among them.
pub(crate) fn make(kind: Kind, count: usize, name: &Path) -> Result<(), Box<dyn Error>> {
    let mut made = Made::new(kind, count, 7);
    for (ending, count) in [("base", count), ("queries", QUERIES)] {
        let mut file = BufWriter::new(File::create(with(name, ending))?);
        let mut one = [0.0; WIDTH];
        for _ in 0..count {
            made.next(&mut one);
            one.iter().try_for_each(|n| file.write_all(&n.to_le_bytes()))?;
        }
        file.flush()?;
    }
    Ok(())
}

pub(crate) fn build(name: &Path, folder: &Path, threads: NonZeroUsize) -> Result<String, Box<dyn Error>> {
    let mut index = Index::open(folder, MODEL)?;
    let (mut vectors, begin) = (Vectors::open(&with(name, "base"))?, Instant::now());
    let mut count = 0;
    loop {
        let part: Vec<(Key, Vector)> =
            vectors.by_ref().take(PART).zip(count..).map(|(v, entry)| (Key { entry, chunk: 0 }, v)).collect();
        if part.is_empty() {
            break;
        }
        index.put(&part)?;
        count += part.len() as u64;
    }
    let put = begin.elapsed();
    let rebuilt = index.begin_rebuild()?.with_graph_beyond(graph_beyond()).run(threads, &|| true)?;
    let run = begin.elapsed() - put;
    index.adopt(rebuilt)?.shred()?;
    let stats = index.stats()?;
    Ok(format!(
        "vectors {count}, put {:.1} s ({:.1} µs each), rebuilt {:.1} s with {threads} threads, {:.1} s of the processor, {} bytes, graph {}",
        put.as_secs_f64(),
        put.as_secs_f64() * 1e6 / count as f64,
        run.as_secs_f64(),
        processor_seconds_of_all()?,
        stats.bytes,
        stats.graph,
    ))
}

/// One query after another, in one thread; a round before the one that counts touches what they need.
pub(crate) fn ask(name: &Path, folder: &Path, width: usize) -> Result<String, Box<dyn Error>> {
    let index = Index::open(folder, MODEL)?;
    let queries: Vec<Vector> = Vectors::open(&with(name, "queries"))?.collect();
    let truth = truth(name)?;
    let effort = NonZeroUsize::new(width).map_or(Effort::Exact, Effort::Width);
    let (mut nanos, mut found) = (Vec::with_capacity(queries.len()), 0);
    for round in 0..2 {
        let spent = processor_seconds()?;
        for (vector, nearest) in queries.iter().zip(&truth) {
            let begin = Instant::now();
            let answer = index.search(&Query { effort, ..Query::nearest(vector, LIMIT) })?;
            if round == 1 {
                nanos.push(begin.elapsed().as_nanos() as u64);
                found += answer.hits.iter().filter(|hit| nearest.contains(&(hit.key.entry as u32))).count();
            }
        }
        if round == 1 {
            nanos.sort_unstable();
            let part = |p: usize| nanos[nanos.len() * p / 100] as f64 / 1e6;
            let spent = processor_seconds()? - spent;
            return Ok(format!(
                "width {width}: recall {:.4}, {:.0} queries a second of the processor, p50 {:.3} ms, p99 {:.3} ms, {}",
                found as f64 / (queries.len() * LIMIT) as f64,
                queries.len() as f64 / spent,
                part(50),
                part(99),
                resident()?,
            ));
        }
    }
    Err("no queries".into())
}

pub(crate) fn open(folder: &Path) -> Result<String, Box<dyn Error>> {
    let (before, begin) = (resident()?, Instant::now());
    let index = Index::open(folder, MODEL)?;
    Ok(format!(
        "{} vectors opened in {:.1} ms; before {before}, after {}",
        index.len(),
        begin.elapsed().as_secs_f64() * 1e3,
        resident()?
    ))
}

/// The vectors of a file, one after another.
struct Vectors(BufReader<File>);

impl Vectors {
    fn open(path: &Path) -> std::io::Result<Vectors> {
        File::open(path).map(|file| Vectors(BufReader::with_capacity(1 << 20, file)))
    }
}

impl Iterator for Vectors {
    type Item = Vector;

    fn next(&mut self) -> Option<Vector> {
        let mut bytes = [0; WIDTH * 4];
        self.0.read_exact(&mut bytes).ok()?;
        let numbers: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Vector::new(&numbers).ok()
    }
}

fn truth(name: &Path) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
    let bytes = std::fs::read(with(name, "truth"))?;
    let numbers: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    Ok(numbers.chunks(LIMIT).map(<[u32]>::to_vec).collect())
}

fn with(name: &Path, ending: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Rows beyond which a graph is made: settable, to find where that should be.
fn graph_beyond() -> usize {
    std::env::var("GRAPH_BEYOND")
        .ok()
        .and_then(|rows| rows.parse().ok())
        .unwrap_or(holdfast_vectors::EXACT_MAX)
}

/// What the process holds: its own memory, and pages of mapped files.
fn resident() -> Result<String, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
    };
    Ok(format!("resident {:.1} MB own and {:.1} MB mapped", of("RssAnon:"), of("RssFile:")))
}

/// The same of all threads, in hundredths of a second.
fn processor_seconds_of_all() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = text.rsplit(')').next().ok_or("an empty stat")?;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}

/// Time the processor worked for this thread: on a busy machine the clock says more about the others.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanos: f64 = text.split_whitespace().next().ok_or("an empty schedstat")?.parse()?;
    Ok(nanos / 1e9)
}
