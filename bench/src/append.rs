//! Durable appends: the journal and its peers take turns in one directory, a slice at a time, so that the
//! disk's weather hits all of them alike.
//!
//! A slice is a few hundred appends, each timed for itself; which peer begins moves on from round to round.
//! The journal's slice ends when its notary has caught up: hashing, signing and their syncs are paid for in the
//! slice that caused them and in no other's.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use holdfast_journal::{Draft, Journal};
use rustix::time::{ClockId, clock_gettime};

use crate::house::{Drafts, House, LINE};
use crate::stats::{median, quantile};
use crate::weather::{Rounds, calm_rounds, in_turns};

/// Entries written before anything is measured, so that every seq measured has six digits and every line
/// the same length.
const PREAMBLE: u64 = 100_000;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) lone_rounds: usize,
    pub(crate) crowd_rounds: usize,
    /// Appends of one slice with one caller.
    pub(crate) slice: usize,
    pub(crate) callers: usize,
    /// Appends of each caller in one slice with many.
    pub(crate) each: usize,
    /// How long to go on for want of calm rounds, with one caller and again with many.
    pub(crate) time_max: Duration,
}

/// What one slice took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    /// Median duration of one append, in microseconds.
    pub(crate) median_us: f64,
    /// The 99th percentile, in microseconds.
    pub(crate) p99_us: f64,
    /// Appends per second of the whole slice, the notary's catching up included.
    pub(crate) rate: f64,
    /// CPU time of the process per append, all threads, in microseconds.
    pub(crate) cpu_us: f64,
}

/// The slices of one contestant, one per round, and every duration among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    pub(crate) slices: Vec<Slice>,
    pub(crate) durations_us: Vec<f64>,
}

/// One caller at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lone {
    pub(crate) plain: Series,
    pub(crate) prefilled: Series,
    pub(crate) sqlite: Series,
    pub(crate) ours: Series,
    pub(crate) rounds: Rounds,
}

/// Many callers of one journal, beside one caller of the plain peers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    pub(crate) callers: usize,
    pub(crate) plain: Series,
    pub(crate) prefilled: Series,
    /// Each caller a thread that blocks.
    pub(crate) ours: Series,
    /// Each caller a task of an async runtime.
    pub(crate) tasks: Series,
    pub(crate) rounds: Rounds,
}

impl Series {
    pub(crate) fn medians(&self) -> Vec<f64> {
        self.slices.iter().map(|s| s.median_us).collect()
    }

    pub(crate) fn rates(&self) -> Vec<f64> {
        self.slices.iter().map(|s| s.rate).collect()
    }

    pub(crate) fn cpu(&self) -> Vec<f64> {
        self.slices.iter().map(|s| s.cpu_us).collect()
    }

    fn add(&mut self, (slice, durations): Timed) {
        self.slices.push(slice);
        self.durations_us.extend(durations);
    }
}

/// Measures one caller: plain, prefilled, SQLite and the journal.
pub(crate) fn lone(dir: &Path, drafts: Drafts, plan: Plan) -> Result<Lone> {
    let mut ours = Ours::new(&dir.join("lone"), drafts, plan.slice)?;
    let lines = ours.lines(plan.slice)?;
    let mut plain = Plain::new(&dir.join("lone.plain"), lines.clone())?;
    let mut prefilled = Prefilled::new(&dir.join("lone.prefilled"), lines.clone())?;
    let mut sqlite = Sqlite::new(&dir.join("lone.sqlite"), &lines)?;
    let n = plan.slice;
    let mut round = |number| {
        in_turns(number, |who| match who {
            0 => alone(&mut plain, n),
            1 => alone(&mut prefilled, n),
            2 => alone(&mut sqlite, n),
            _ => alone(&mut ours, n),
        })
    };
    // The first round only warms up: files are young, caches cold.
    round(0)?;
    let (measured, rounds) = calm_rounds(plan.lone_rounds, plan.time_max, round)?;
    ours.check_lines()?;
    let [plain, prefilled, sqlite, ours] = series(measured);
    Ok(Lone { plain, prefilled, sqlite, ours, rounds })
}

/// Measures many callers of one journal beside one caller of the plain peers.
pub(crate) fn crowd(dir: &Path, drafts: Drafts, plan: Plan) -> Result<Crowd> {
    let ours = Ours::new(&dir.join("crowd"), drafts, plan.callers)?;
    let lines = ours.lines(plan.slice)?;
    let mut plain = Plain::new(&dir.join("crowd.plain"), lines.clone())?;
    let mut prefilled = Prefilled::new(&dir.join("crowd.prefilled"), lines)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let mut round = |number| {
        in_turns(number, |who| match who {
            0 => alone(&mut plain, plan.slice),
            1 => alone(&mut prefilled, plan.slice),
            2 => together(&ours, plan.each),
            _ => as_tasks(&runtime, &ours, plan.each),
        })
    };
    round(0)?;
    let (measured, rounds) = calm_rounds(plan.crowd_rounds, plan.time_max, round)?;
    ours.check_lines()?;
    let [plain, prefilled, ours, tasks] = series(measured);
    Ok(Crowd { callers: plan.callers, plain, prefilled, ours, tasks, rounds })
}

/// A slice and the duration of every append in it.
pub(crate) type Timed = (Slice, Vec<f64>);

/// The rounds sorted by contestant.
pub(crate) fn series<const N: usize>(rounds: Vec<[Option<Timed>; N]>) -> [Series; N] {
    let mut out = [const { Series { slices: Vec::new(), durations_us: Vec::new() } }; N];
    for round in rounds {
        for (series, timed) in out.iter_mut().zip(round) {
            timed.into_iter().for_each(|timed| series.add(timed));
        }
    }
    out
}

/// Something that makes a line durable.
pub(crate) trait Appender {
    fn append(&mut self, n: usize) -> Result<()>;

    /// Returns when nothing is going on any more that its appends have begun.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
}

/// One caller's slice.
pub(crate) fn alone(appender: &mut impl Appender, n: usize) -> Result<Timed> {
    let mut durations = Vec::with_capacity(n);
    let (began, cpu) = (Instant::now(), cpu_time());
    for i in 0..n {
        let start = Instant::now();
        appender.append(i)?;
        durations.push(micros(start.elapsed()));
    }
    appender.settle()?;
    Ok(slice(durations, began.elapsed(), cpu_time() - cpu))
}

/// The slice of as many callers as there are drafts, all beginning at once.
fn together(ours: &Ours, each: usize) -> Result<Timed> {
    let callers = ours.drafts.len();
    let gate = Barrier::new(callers + 1);
    let call = |draft: &Draft| {
        gate.wait();
        let append = |_| {
            let start = Instant::now();
            ours.journal.append(draft)?;
            Ok(micros(start.elapsed()))
        };
        (0..each).map(append).collect::<Result<Vec<f64>>>()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = ours.drafts.iter().map(|d| scope.spawn(|| call(d))).collect();
        let cpu = cpu_time();
        gate.wait();
        let began = Instant::now();
        let mut durations = Vec::with_capacity(callers * each);
        for thread in threads {
            let called = thread.join().map_err(|_| anyhow::anyhow!("a caller panicked"))?;
            durations.extend(called?);
        }
        ours.journal.settle()?;
        Ok(slice(durations, began.elapsed(), cpu_time() - cpu))
    })
}

/// The same with a task for each caller, on as many worker threads as there are cores.
fn as_tasks(runtime: &tokio::runtime::Runtime, ours: &Ours, each: usize) -> Result<Timed> {
    let call = |draft: Draft| {
        let journal = ours.journal.clone();
        async move {
            let mut durations = Vec::with_capacity(each);
            for _ in 0..each {
                let start = Instant::now();
                journal.submit(&draft)?.await?;
                durations.push(micros(start.elapsed()));
            }
            Ok::<_, holdfast_journal::Error>(durations)
        }
    };
    let cpu = cpu_time();
    let began = Instant::now();
    let tasks: Vec<_> = ours.drafts.iter().map(|d| runtime.spawn(call(d.clone()))).collect();
    let mut durations = Vec::with_capacity(tasks.len() * each);
    for task in tasks {
        durations.extend(runtime.block_on(task)??);
    }
    ours.journal.settle()?;
    Ok(slice(durations, began.elapsed(), cpu_time() - cpu))
}

fn slice(durations: Vec<f64>, took: Duration, cpu: Duration) -> Timed {
    let n = durations.len() as f64;
    let slice = Slice {
        median_us: median(&durations),
        p99_us: quantile(&durations, 0.99),
        rate: n / took.as_secs_f64(),
        cpu_us: micros(cpu) / n,
    };
    (slice, durations)
}

/// The journal.
struct Ours {
    journal: Journal,
    drafts: Vec<Draft>,
}

impl Ours {
    fn new(dir: &Path, drafts: Drafts, how_many: usize) -> Result<Ours> {
        let journal = House::create(dir)?.open()?;
        drafts.fill(&journal, PREAMBLE)?;
        let drafts = (0..how_many as u64).map(|n| drafts.exact(PREAMBLE, n));
        Ok(Ours { journal, drafts: drafts.collect::<Result<_>>()? })
    }

    /// Lines as they stand in the log, for the peers to write.
    fn lines(&self, n: usize) -> Result<Vec<Vec<u8>>> {
        let line = |raw: holdfast_journal::Result<holdfast_journal::RawEntry>| {
            let mut line = raw?.line;
            line.push(b'\n');
            ensure!(line.len() == LINE, "a line has {} bytes", line.len());
            Ok(line)
        };
        self.journal.read(PREAMBLE / 2).take(n).map(line).collect()
    }

    /// What was measured was lines of the length said.
    fn check_lines(&self) -> Result<()> {
        let mut entries = self.journal.read(PREAMBLE);
        while let Some(raw) = entries.next_raw()? {
            ensure!(
                raw.line.len() + 1 == LINE,
                "the line of entry {} has {} bytes",
                raw.seq,
                raw.line.len() + 1
            );
        }
        Ok(())
    }
}

impl Appender for Ours {
    fn append(&mut self, n: usize) -> Result<()> {
        self.journal.append(&self.drafts[n])?;
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.journal.settle()?)
    }
}

/// A file that grows: append, fdatasync.
struct Plain {
    file: File,
    lines: Vec<Vec<u8>>,
}

impl Plain {
    fn new(path: &Path, lines: Vec<Vec<u8>>) -> Result<Plain> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Plain { file, lines })
    }
}

impl Appender for Plain {
    fn append(&mut self, n: usize) -> Result<()> {
        self.file.write_all(&self.lines[n])?;
        Ok(self.file.sync_data()?)
    }
}

/// A file whose space was filled and synced beforehand: overwrite, fdatasync. The least a durable write costs.
struct Prefilled {
    file: File,
    lines: Vec<Vec<u8>>,
    end: u64,
}

impl Prefilled {
    /// Begins again at the front when it comes to the end.
    const SPACE: u64 = 20_000 * LINE as u64;
    /// Filled in pieces as small as the journal's: one large write makes large folios in the page cache, and
    /// then every sync of 400 bytes looks through a large folio, which costs a fifth more.
    const PIECE: usize = 256 * 1024;

    fn new(path: &Path, lines: Vec<Vec<u8>>) -> Result<Prefilled> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        for piece in vec![b'\n'; Self::SPACE as usize].chunks(Self::PIECE) {
            file.write_all(piece)?;
        }
        file.sync_all()?;
        Ok(Prefilled { file, lines, end: 0 })
    }
}

impl Appender for Prefilled {
    fn append(&mut self, n: usize) -> Result<()> {
        self.file.write_all_at(&self.lines[n], self.end)?;
        self.end = (self.end + LINE as u64) % Self::SPACE;
        Ok(self.file.sync_data()?)
    }
}

/// SQLite with a write-ahead log and full syncs: one row, one transaction.
struct Sqlite {
    connection: rusqlite::Connection,
    lines: Vec<String>,
}

impl Sqlite {
    fn new(path: &Path, lines: &[Vec<u8>]) -> Result<Sqlite> {
        let connection = rusqlite::Connection::open(path)?;
        let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
        ensure!(mode == "wal", "SQLite uses the journal mode {mode}");
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch("CREATE TABLE log (seq INTEGER PRIMARY KEY, line TEXT)")?;
        let lines = lines.iter().map(|line| String::from_utf8(line.clone()));
        let lines = lines.collect::<Result<_, _>>().context("a line is text")?;
        Ok(Sqlite { connection, lines })
    }
}

impl Appender for Sqlite {
    fn append(&mut self, n: usize) -> Result<()> {
        let mut insert = self.connection.prepare_cached("INSERT INTO log (line) VALUES (?1)")?;
        insert.execute([&self.lines[n]])?;
        Ok(())
    }
}

/// CPU time of this process so far, all threads.
pub(crate) fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap_or(0))
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginner_moves_on_and_slices_stay_with_their_contestant() {
        let timed = |us: f64| slice(vec![us], Duration::from_secs(1), Duration::ZERO);
        let mut order = Vec::new();
        let rounds: Vec<[_; 3]> = (0..2)
            .map(|number| {
                let slice = |who| {
                    order.push(who);
                    Ok(timed(who as f64))
                };
                in_turns(number, slice).unwrap()
            })
            .collect();
        assert_eq!(order, [0, 1, 2, 1, 2, 0]);
        let series = series(rounds);
        assert_eq!(series.map(|s| s.durations_us), [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]);
    }

    #[test]
    fn a_slice_says_rate_median_and_tail_of_its_appends() {
        let durations: Vec<f64> = (1..=100).map(f64::from).collect();
        let (slice, _) = slice(durations, Duration::from_millis(10), Duration::from_millis(1));
        assert_eq!((slice.median_us, slice.p99_us), (50.5, 99.0));
        assert!((slice.rate - 10_000.0).abs() < 1e-6);
        assert!((slice.cpu_us - 10.0).abs() < 1e-6);
    }
}
