//! Opening a large log: warm, and cold where the page cache may be dropped.
//!
//! The log is kept between runs in the cache directory, because making it takes a while. A marker beside it
//! says that it is complete and of which size; without the marker making it goes on where it ended. Nothing is
//! extrapolated: what is reported is the size that was opened.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use holdfast_durable::Mode;
use holdfast_journal::Journal;

use crate::house::{House, append_all, draft};
use crate::weather::{Rounds, calm_rounds};

const GB: u64 = 1_000_000_000;
/// The least space that is left free on the disk.
const SPARE_BYTES: u64 = 5 * GB;
/// How long making the log may take.
const MAKING_MAX: Duration = Duration::from_secs(180);
/// Large entries, many at once: what counts here is the number of bytes, segments and checkpoints.
const TEXT: usize = 2300;
const AT_ONCE: u64 = 4000;
/// Openings of one round: long enough together to tell whether others disturbed it.
const TOGETHER: usize = 25;
/// The entries after the last checkpoint, all of which an opening reads: as many as there can be.
const TAIL: u64 = 99;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) bytes: u64,
    /// Rounds of twenty-five openings each.
    pub(crate) warm_rounds: usize,
    pub(crate) cold: usize,
    /// How long to go on for want of calm rounds.
    pub(crate) time_max: Duration,
}

/// What opening came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opened {
    pub(crate) wanted_bytes: u64,
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    pub(crate) tail: u64,
    pub(crate) warm_ms: Vec<f64>,
    /// Empty where the page cache cannot be dropped.
    pub(crate) cold_ms: Vec<f64>,
    pub(crate) close_ms: Vec<f64>,
    /// Of the warm ones.
    pub(crate) rounds: Rounds,
}

pub(crate) fn measure(cache: &Path, plan: Plan) -> Result<Opened> {
    let dir = cache.join(format!("open-{}", plan.bytes));
    let house = prepare(&dir, plan.bytes)?;
    let mut out = Opened { wanted_bytes: plan.bytes, ..Opened::default() };
    once(&house, &mut out)?;
    let (warm, rounds) = calm_rounds(plan.warm_rounds, plan.time_max, |_| {
        (0..TOGETHER).map(|_| once(&house, &mut out)).collect::<Result<Vec<_>>>()
    })?;
    (out.warm_ms, out.close_ms) = warm.into_iter().flatten().unzip();
    out.rounds = rounds;
    for _ in 0..plan.cold {
        if !drop_page_cache() {
            break;
        }
        let (open_ms, _) = once(&house, &mut out)?;
        out.cold_ms.push(open_ms);
    }
    Ok(out)
}

/// Opens and closes once; how many milliseconds each took.
fn once(house: &House, out: &mut Opened) -> Result<(f64, f64)> {
    let options = house.options();
    let began = Instant::now();
    let journal = Journal::open(options)?;
    let took = began.elapsed();
    let report = journal.report();
    ensure!(report.torn.is_none() && !report.tree_rebuilt, "opening had something to mend: {report:?}");
    out.tail = report.tail_entries;
    (out.bytes, out.entries) = (journal.status().bytes, journal.size());
    let began = Instant::now();
    drop(journal);
    let millis = |took: Duration| took.as_secs_f64() * 1e3;
    Ok((millis(took), millis(began.elapsed())))
}

/// The cached log, made or completed where it is not there yet.
fn prepare(dir: &Path, wanted: u64) -> Result<House> {
    let log = dir.join("journal");
    let house = match log.join("META").exists() {
        true => House::at(&log),
        false => House::create(&log)?,
    };
    let house = with_room(house);
    let marker = dir.join("complete");
    let (size, bytes) = {
        let journal = house.open()?;
        if std::fs::read_to_string(&marker).ok() == Some(marked(journal.size(), journal.status().bytes)) {
            return Ok(house);
        }
        grow(&journal, wanted.min(affordable(dir, journal.status().bytes)?))?;
        (journal.size(), journal.status().bytes)
    };
    if bytes >= wanted {
        holdfast_durable::replace(&marker, marked(size, bytes).as_bytes(), Mode::Readable)?;
    }
    Ok(house)
}

/// Appends until the log has `wanted` bytes or the time is up.
fn grow(journal: &Journal, wanted: u64) -> Result<()> {
    let began = Instant::now();
    while journal.status().bytes < wanted && began.elapsed() < MAKING_MAX {
        let from = journal.size();
        let drafts = (from..from + AT_ONCE).map(|n| draft(TEXT, n));
        append_all(journal, &drafts.collect::<Result<Vec<_>>>()?)?;
    }
    let every = holdfast_journal::Limits::default().checkpoint_every;
    while journal.size() % every != TAIL {
        append_all(journal, &[draft(TEXT, journal.size())?])?;
    }
    Ok(journal.settle()?)
}

/// The default limits end below ten gigabytes.
fn with_room(mut house: House) -> House {
    house.limits.cap_bytes = 64 * GB;
    house
}

/// How large a log may become without taking space the machine needs.
fn affordable(dir: &Path, already: u64) -> Result<u64> {
    let stat = rustix::fs::statvfs(dir).context("asking how much space is free")?;
    Ok((already + stat.f_bavail * stat.f_frsize).saturating_sub(SPARE_BYTES))
}

fn marked(entries: u64, bytes: u64) -> String {
    format!("{entries} entries, {bytes} bytes\n")
}

/// Makes whoever comes next read from the disk. Only root may.
pub(crate) fn drop_page_cache() -> bool {
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}
