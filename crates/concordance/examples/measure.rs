//! How long searches take, and what they find: for measuring beside others on the same texts.
//!
//! `measure TEXTS FOLDER [TOP [K1 B COMMON]]` indexes TEXTS, one entry a line, in FOLDER, unless that has an index already. It then answers each
//! question on a line of standard input by a line: microseconds for the search, a tab, microseconds for the nearness of what was found, a tab, and the
//! numbers of the entries found, the best first. What it did before is said on standard error.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people who measure")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use holdfast_concordance::{Bm25, Concordance, Filter, Query};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let texts = args.first().context("which texts?")?;
    let folder = args.get(1).context("in which folder?")?;
    let top = args.get(2).map_or(Ok(100), |top| top.parse())?;
    let number = |at: usize| args.get(at).map(|number| number.parse::<f64>()).transpose();
    let bm25 = match (number(3)?, number(4)?, number(5)?) {
        (Some(k1), Some(b), Some(common)) => Bm25::new(k1, b, common),
        _ => Bm25::default(),
    };
    let began = Instant::now();
    let index = Concordance::open(Path::new(folder), bm25)?;
    eprintln!("opened with {} entries in {:?}, {}", index.len(), began.elapsed(), resident());
    if index.is_empty() {
        fill(&index, texts)?;
    }
    answer(&index, top)
}

fn fill(index: &Concordance, texts: &str) -> Result<()> {
    let began = Instant::now();
    let mut adding = std::time::Duration::ZERO;
    for (seq, line) in (0..).zip(BufReader::new(std::fs::File::open(texts)?).lines()) {
        let line = line?;
        let now = Instant::now();
        index.add(seq, &line)?;
        adding += now.elapsed();
        if seq % 64 == 0 {
            index.tend()?;
        }
    }
    index.flush()?;
    while !index.tend()?.is_idle() {}
    eprintln!("{} entries in {:?}, of which adding {adding:?}, {}", index.len(), began.elapsed(), resident());
    Ok(())
}

fn answer(index: &Concordance, top: usize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let began = Instant::now();
        let query = Query::of(&line);
        let hits = index.search(&query, top, Filter::Every)?;
        let searched = began.elapsed();
        let ids: Vec<u64> = hits.iter().map(|hit| hit.id).collect();
        let began = Instant::now();
        index.nearness(&query, &ids)?;
        let near = began.elapsed();
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        writeln!(out, "{}\t{}\t{}", searched.as_micros(), near.as_micros(), ids.join(" "))?;
        out.flush()?;
    }
    eprintln!("{}", resident());
    Ok(())
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or("").to_owned();
    format!("{} {}", line("VmRSS"), line("VmHWM"))
}
