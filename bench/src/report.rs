//! The page: measurements in, Markdown out. Pure.
//!
//! Every goal stands beside what was measured, and says *met* or *not met* by the median alone; the spread
//! stands next to it, so that a reader can see how much that is worth.

use std::fmt::Write as _;

use crate::append::{Crowd, Lone, Series};
use crate::machine::Machine;
use crate::open::Opened;
use crate::stats::{Spread, median, quantile, ratios};
use crate::verify::Verified;
use crate::weather::Rounds;

/// Whether the run was the whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Full,
    Quick,
}

/// All that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) extent: Extent,
    pub(crate) machine: Machine,
    pub(crate) lone: Lone,
    pub(crate) crowd: Crowd,
    pub(crate) verified: Verified,
    pub(crate) opened: Opened,
    /// How long it all took.
    pub(crate) seconds: u64,
}

/// A goal, what was measured, and what to make of it.
struct Row {
    what: String,
    goal: String,
    measured: String,
    verdict: &'static str,
}

/// How a goal's number is meant.
#[derive(Clone, Copy)]
enum Goal {
    AtLeast(f64),
    Below(f64),
}

const BAR_MAX: usize = 40;
/// Peaks of two runs of the same program differ by some pages anyway.
const SAME_MEMORY_KIB: f64 = 512.0;
const OPENING_BYTES: u64 = 10_000_000_000;

/// The whole page.
pub(crate) fn page(m: &Measured) -> String {
    let mut out = String::new();
    out.push_str("# Benchmarks\n\n");
    out.push_str(INTRODUCTION);
    if m.extent == Extent::Quick {
        out.push_str("\n**A quick run**: fewer rounds and smaller logs than the goals speak of. It shows that the program works, and roughly where things stand.\n");
    }
    machine(&mut out, m);
    goals(&mut out, m);
    lone(&mut out, &m.lone);
    crowd(&mut out, &m.crowd);
    verified(&mut out, &m.verified);
    opened(&mut out, &m.opened);
    out
}

const INTRODUCTION: &str = "\
Written by `cargo run --release -p holdfast-bench -- journal --out docs/benchmarks.md`; do not edit.

Absolute numbers belong to the machine. What carries over are ratios, so every ratio here was taken within one run: the
journal and its peers took turns on the same data in the same directory, a few hundred operations at a time. Numbers are
medians; the range behind them is the smallest and the largest of all rounds.
";

fn machine(out: &mut String, m: &Measured) {
    let it = &m.machine;
    out.push_str("\n## The machine\n\n| | |\n|---|---|\n");
    for (name, value) in [
        ("date", it.date.clone()),
        ("Holdfast", it.version.clone()),
        ("compiler", it.rustc.clone()),
        ("processor", format!("{}, {} cores", it.cpu, it.cores)),
        ("memory", format!("{} GiB", it.memory_gib)),
        ("kernel", it.kernel.clone()),
        ("file system", it.filesystem.clone()),
        ("load when it began", it.load.clone()),
        ("the run took", format!("{} s", m.seconds)),
    ] {
        let _ = writeln!(out, "| {name} | {value} |");
    }
}

fn goals(out: &mut String, m: &Measured) {
    out.push_str("\n## Goals\n\n| what | goal | measured | |\n|---|---|---|---|\n");
    let rows =
        [lone_goals(&m.lone), crowd_goals(&m.crowd), verify_goals(&m.verified), opening_goals(&m.opened)];
    for row in rows.into_iter().flatten() {
        let _ = writeln!(out, "| {} | {} | {} | {} |", row.what, row.goal, row.measured, row.verdict);
    }
}

fn lone_goals(lone: &Lone) -> Vec<Row> {
    let goal = Goal::AtLeast(1.2);
    let mut rows = Vec::new();
    for (peer, series) in [("plain append", &lone.plain), ("SQLite", &lone.sqlite)] {
        let name = |how: &str| format!("one caller: {how}, against {peer}");
        let by_median = ratios(&series.medians(), &lone.ours.medians());
        rows.push(times(name("the median append"), goal, &by_median));
        let by_rate = ratios(&lone.ours.rates(), &series.rates());
        rows.push(times(name("whole slices, notary included"), goal, &by_rate));
    }
    rows
}

fn crowd_goals(crowd: &Crowd) -> Vec<Row> {
    let sorts = [("threads", &crowd.ours), ("tasks", &crowd.tasks)];
    sorts.into_iter().flat_map(|(sort, series)| caller_goals(crowd, sort, series)).collect()
}

fn caller_goals(crowd: &Crowd, sort: &str, ours: &Series) -> [Row; 2] {
    let what = format!("{} callers as {sort}: appends per second, against one plain caller", crowd.callers);
    let rates = ratios(&ours.rates(), &crowd.plain.rates());
    let p99 = quantile(&ours.durations_us, 0.99);
    let syncs = p99 / median(&crowd.plain.durations_us);
    let prefilled = p99 / median(&crowd.prefilled.durations_us);
    let tail = Row {
        what: format!("{} callers as {sort}: p99 of one append", crowd.callers),
        goal: "< 3 syncs".into(),
        measured: format!("{} plain syncs ({} of the prefilled kind)", number(syncs), number(prefilled)),
        verdict: verdict(Goal::Below(3.0), syncs),
    };
    [times(what, Goal::AtLeast(12.0), &rates), tail]
}

fn verify_goals(v: &Verified) -> Vec<Row> {
    let goal = Goal::AtLeast(0.4);
    let against = |rates: &[f64]| ratios(rates, &v.openssl);
    let memory = median(&v.peak_kib) - median(&v.small_peak_kib);
    vec![
        times("verification per CPU second, against `openssl speed`".into(), goal, &against(&v.per_cpu)),
        times("verification per wall second, against `openssl speed`".into(), goal, &against(&v.per_wall)),
        Row {
            what: "verification: memory".into(),
            goal: "constant".into(),
            measured: format!("{:+.0} KiB for ten times the log", memory),
            verdict: verdict(Goal::Below(SAME_MEMORY_KIB), memory),
        },
    ]
}

fn opening_goals(opened: &Opened) -> Vec<Row> {
    let of_size = opened.bytes >= OPENING_BYTES;
    let row = |how: &str, ms: &[f64]| {
        let spread = Spread::of(ms);
        Row {
            what: format!("opening, {how}"),
            goal: "< 20 ms for 10 GB".into(),
            measured: format!(
                "{} ms ({}–{}) for {}",
                number(spread.median),
                number(spread.min),
                number(spread.max),
                bytes(opened.bytes)
            ),
            verdict: if of_size { verdict(Goal::Below(20.0), spread.median) } else { "another size" },
        }
    };
    let mut rows = vec![row("warm", &opened.warm_ms)];
    if !opened.cold_ms.is_empty() {
        rows.push(row("page cache dropped", &opened.cold_ms));
    }
    rows
}

/// A row about a ratio, with its spread.
fn times(what: String, goal: Goal, ratios: &[f64]) -> Row {
    let spread = Spread::of(ratios);
    let goal_text = match goal {
        Goal::AtLeast(n) => format!("≥ {n} ×"),
        Goal::Below(n) => format!("< {n} ×"),
    };
    Row {
        what,
        goal: goal_text,
        measured: format!("{} × ({}–{})", number(spread.median), number(spread.min), number(spread.max)),
        verdict: verdict(goal, spread.median),
    }
}

fn verdict(goal: Goal, value: f64) -> &'static str {
    let met = match goal {
        Goal::AtLeast(least) => value >= least,
        Goal::Below(limit) => value < limit,
    };
    match (value.is_nan(), met) {
        (true, _) => "not measured",
        (false, true) => "met",
        (false, false) => "**not met**",
    }
}

fn lone(out: &mut String, lone: &Lone) {
    out.push_str("\n## Durable append, one caller\n\n");
    let rounds = lone.ours.slices.len();
    let each = lone.ours.durations_us.len() / rounds.max(1);
    let _ = writeln!(
        out,
        "Lines of 400 bytes, each durable before the next. {rounds} rounds of {each} appends each. *Plain* appends to a growing\n\
         file and calls fdatasync; *prefilled* overwrites a file whose space was filled and synced before, the least a durable\n\
         write costs here; *SQLite* commits one row in WAL mode with synchronous=FULL. The journal's rate includes its\n\
         hashing, its checkpoints and their syncs.\n"
    );
    let all = [
        ("plain", &lone.plain),
        ("SQLite", &lone.sqlite),
        ("Holdfast", &lone.ours),
        ("prefilled", &lone.prefilled),
    ];
    series(out, &all);
    calm(out, lone.rounds);
    let bare = |peer: &Series| Spread::of(&ratios(&peer.medians(), &lone.prefilled.medians())).median;
    let _ = writeln!(
        out,
        "\nPrefilled, with nothing else to do, is {} × plain and {} × SQLite by the median append. That is about the\n\
         most a log that syncs once for each entry can reach here.",
        number(bare(&lone.plain)),
        number(bare(&lone.sqlite))
    );
    rate_bars(out, &all);
}

fn crowd(out: &mut String, crowd: &Crowd) {
    let _ = writeln!(out, "\n## Durable append, {} callers\n", crowd.callers);
    let rounds = crowd.ours.slices.len();
    let each = crowd.ours.durations_us.len() / rounds.max(1) / crowd.callers.max(1);
    let _ = writeln!(
        out,
        "{} callers append to one open journal, {each} times each in each of {rounds} rounds, and each waits for its own entry to\n\
         be durable: once as threads that block, once as tasks of an async runtime on as many threads as there are cores.\n\
         The peers between these rounds have one caller.\n",
        crowd.callers
    );
    let all = [
        ("plain, one caller", &crowd.plain),
        ("prefilled, one caller", &crowd.prefilled),
        ("Holdfast, threads", &crowd.ours),
        ("Holdfast, tasks", &crowd.tasks),
    ];
    series(out, &all);
    calm(out, crowd.rounds);
    rate_bars(out, &all);
}

/// Which rounds count, where others had the machine busy.
fn calm(out: &mut String, rounds: Rounds) {
    let Rounds { calm, disturbed, all_count } = rounds;
    let _ = match (disturbed, all_count) {
        (0, _) => Ok(()),
        (_, false) => {
            writeln!(out, "\n{disturbed} more rounds are left out: other programs were computing meanwhile.")
        }
        (_, true) => writeln!(
            out,
            "\n**Disturbed**: in {disturbed} of {} rounds other programs were computing. All of them count, for want of calm ones.",
            calm + disturbed
        ),
    };
}

fn series(out: &mut String, all: &[(&str, &Series)]) {
    out.push_str("| | appends per second | median append | p99 | p99, best and worst slice | CPU per append |\n|---|---|---|---|---|---|\n");
    for (name, series) in all {
        let rates = Spread::of(&series.rates());
        let tails: Vec<f64> = series.slices.iter().map(|s| s.p99_us).collect();
        let tails = Spread::of(&tails);
        let _ = writeln!(
            out,
            "| {name} | {} ({}–{}) | {} µs | {} µs | {}–{} µs | {} µs |",
            whole(rates.median),
            whole(rates.min),
            whole(rates.max),
            whole(median(&series.durations_us)),
            whole(quantile(&series.durations_us, 0.99)),
            whole(tails.min),
            whole(tails.max),
            number(median(&series.cpu())),
        );
    }
}

fn rate_bars(out: &mut String, all: &[(&str, &Series)]) {
    let rates: Vec<(&str, f64)> = all.iter().map(|(name, s)| (*name, median(&s.rates()))).collect();
    bars(out, "appends per second", &rates);
}

fn verified(out: &mut String, v: &Verified) {
    out.push_str("\n## Full verification\n\n");
    let _ = writeln!(
        out,
        "A log of {} in {} entries of 400 bytes, each time in a process of its own, in turns with\n\
         `openssl speed -bytes 400 -evp sha256`. Verification reads, checks every checksum, hashes every entry into the tree,\n\
         compares stored hashes and roots, and checks the last signature of every segment.\n",
        bytes(v.bytes),
        whole(v.entries as f64)
    );
    out.push_str("| | MB per second | range |\n|---|---|---|\n");
    let rows = [
        ("openssl, SHA-256 of 400 bytes, per CPU second", &v.openssl),
        ("Holdfast, per CPU second", &v.per_cpu),
        ("Holdfast, per wall second", &v.per_wall),
        ("Holdfast, every signature checked, per CPU second", &v.every_signature),
    ];
    for (name, rates) in rows {
        let spread = Spread::of(rates);
        let mb = |rate: f64| whole(rate / 1e6);
        let _ = writeln!(out, "| {name} | {} | {}–{} |", mb(spread.median), mb(spread.min), mb(spread.max));
    }
    let mb = |rates: &[f64]| median(rates) / 1e6;
    bars(out, "MB per second", &[("openssl", mb(&v.openssl)), ("Holdfast", mb(&v.per_cpu))]);
    let _ = writeln!(
        out,
        "\nPeak memory: {} KiB for {}, {} KiB for {}.",
        whole(median(&v.small_peak_kib)),
        bytes(v.small_bytes),
        whole(median(&v.peak_kib)),
        bytes(v.bytes)
    );
}

fn opened(out: &mut String, o: &Opened) {
    out.push_str("\n## Opening\n\n");
    let _ = writeln!(
        out,
        "A log of {} in {} entries, {} of them after the last checkpoint.",
        bytes(o.bytes),
        whole(o.entries as f64),
        o.tail
    );
    if o.bytes < o.wanted_bytes {
        let _ = writeln!(
            out,
            "**Smaller than meant**: time or disk space did not allow for {}.",
            bytes(o.wanted_bytes)
        );
    }
    if o.cold_ms.is_empty() {
        out.push_str("Only warm: the page cache can be dropped by root alone.\n");
    }
    out.push_str("\n| | median | range | times |\n|---|---|---|---|\n");
    for (name, ms) in
        [("opening, warm", &o.warm_ms), ("opening, page cache dropped", &o.cold_ms), ("closing", &o.close_ms)]
    {
        let spread = Spread::of(ms);
        let _ = writeln!(
            out,
            "| {name} | {} ms | {}–{} ms | {} |",
            number(spread.median),
            number(spread.min),
            number(spread.max),
            ms.len()
        );
    }
    calm(out, o.rounds);
}

/// Bars of text, the longest for the largest value.
fn bars(out: &mut String, unit: &str, values: &[(&str, f64)]) {
    let max = values.iter().map(|(_, v)| *v).fold(0.0, f64::max);
    let width = values.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let _ = writeln!(out, "\n```text\n{:width$}  {unit}", "");
    for (name, value) in values {
        let len = (value / max * BAR_MAX as f64).round().max(1.0) as usize;
        let _ = writeln!(out, "{name:width$}  {} {}", "█".repeat(len.min(BAR_MAX)), whole(*value));
    }
    out.push_str("```\n");
}

/// Three digits that mean something.
fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "–".into(),
        v if v.abs() < 10.0 => format!("{v:.2}"),
        v if v.abs() < 100.0 => format!("{v:.1}"),
        v => whole(v),
    }
}

/// A whole number with its thousands apart.
fn whole(value: f64) -> String {
    if value.is_nan() {
        return "–".into();
    }
    let digits = format!("{:.0}", value.abs());
    let sign = if value.round() < 0.0 { "-" } else { "" };
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}")
}

fn bytes(n: u64) -> String {
    match n {
        n if n >= 1_000_000_000 => format!("{:.1} GB", n as f64 / 1e9),
        n => format!("{:.0} MB", n as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::Slice;

    fn constant(median_us: f64, rate: f64) -> Series {
        let slice = Slice { median_us, p99_us: median_us * 2.0, rate, cpu_us: 10.0 };
        Series { slices: vec![slice; 3], durations_us: vec![median_us; 300] }
    }

    fn measured() -> Measured {
        Measured {
            extent: Extent::Full,
            machine: Machine::default(),
            lone: Lone {
                plain: constant(150.0, 6000.0),
                prefilled: constant(80.0, 12000.0),
                sqlite: constant(300.0, 3000.0),
                ours: constant(100.0, 6600.0),
                rounds: Rounds::default(),
            },
            crowd: Crowd {
                callers: 64,
                plain: constant(150.0, 6000.0),
                prefilled: constant(80.0, 12000.0),
                ours: constant(440.0, 120_000.0),
                tasks: constant(300.0, 180_000.0),
                rounds: Rounds::default(),
            },
            verified: Verified {
                bytes: 400_000_000,
                entries: 1_000_000,
                small_bytes: 40_000_000,
                per_cpu: vec![4e8],
                per_wall: vec![3.9e8],
                every_signature: vec![3e8],
                openssl: vec![8e8],
                peak_kib: vec![5100.0],
                small_peak_kib: vec![5000.0],
            },
            opened: Opened {
                wanted_bytes: OPENING_BYTES,
                bytes: OPENING_BYTES,
                entries: 4_000_000,
                tail: 99,
                warm_ms: vec![9.0, 10.0, 30.0],
                cold_ms: vec![25.0],
                close_ms: vec![1.0],
                rounds: Rounds::default(),
            },
            seconds: 100,
        }
    }

    fn line<'a>(page: &'a str, begin: &str) -> &'a str {
        page.lines()
            .find(|l| l.starts_with(begin))
            .unwrap_or_else(|| panic!("no line begins with {begin:?}:\n{page}"))
    }

    #[test]
    fn each_goal_stands_beside_what_was_measured_and_is_judged_by_it() {
        let page = page(&measured());
        for (begin, verdict) in [
            ("| one caller: the median append, against plain", "| met |"),
            ("| one caller: whole slices, notary included, against plain", "| **not met** |"),
            ("| one caller: the median append, against SQLite", "| met |"),
            ("| 64 callers as threads: appends per second", "| met |"),
            ("| 64 callers as threads: p99", "| met |"),
            ("| verification per CPU second", "| met |"),
            ("| verification: memory", "| met |"),
            ("| opening, warm", "| met |"),
            ("| opening, page cache dropped", "| **not met** |"),
        ] {
            let line = line(&page, begin);
            assert!(line.ends_with(verdict), "{line}");
        }
        assert!(line(&page, "| one caller: the median append, against plain").contains("1.50 × (1.50–1.50)"));
        assert!(page.contains("is 1.88 × plain and 3.75 × SQLite"));
        assert!(
            line(&page, "| 64 callers as threads: p99")
                .contains("2.93 plain syncs (5.50 of the prefilled kind)")
        );
    }

    #[test]
    fn a_smaller_log_is_neither_met_nor_missed_and_the_page_says_so() {
        let mut m = measured();
        (m.opened.bytes, m.opened.cold_ms) = (2_000_000_000, Vec::new());
        let page = page(&m);
        assert!(line(&page, "| opening, warm").ends_with("| another size |"));
        assert!(page.contains("**Smaller than meant**"));
        assert!(page.contains("Only warm"));
    }

    #[test]
    fn without_openssl_nothing_is_claimed() {
        let mut m = measured();
        m.verified.openssl.clear();
        assert!(line(&page(&m), "| verification per CPU").ends_with("| – × (–––) | not measured |"));
    }

    #[test]
    fn a_quick_run_says_that_it_was_one() {
        let mut m = measured();
        assert!(!page(&m).contains("**A quick run**"));
        m.extent = Extent::Quick;
        assert!(page(&m).contains("**A quick run**"));
    }

    #[test]
    fn rounds_left_out_and_rounds_disturbed_are_named() {
        let mut m = measured();
        m.lone.rounds = Rounds { calm: 3, disturbed: 4, all_count: false };
        m.crowd.rounds = Rounds { all_count: true, ..m.lone.rounds };
        let page = page(&m);
        assert!(page.contains("4 more rounds are left out"));
        assert!(page.contains("**Disturbed**: in 4 of 7 rounds"));
    }

    #[test]
    fn numbers_are_short_and_bars_fit() {
        for (value, expected) in [(1.234, "1.23"), (12.34, "12.3"), (1234.5, "1,234"), (f64::NAN, "–")] {
            assert_eq!(number(value), expected);
        }
        for (value, expected) in [(1_234_567.0, "1,234,567"), (-1234.0, "-1,234"), (7.0, "7"), (-0.2, "0")] {
            assert_eq!(whole(value), expected);
        }
        let mut out = String::new();
        bars(&mut out, "x", &[("a", 1.0), ("bb", 1000.0)]);
        assert!(out.contains("a   █ 1\n"));
        assert!(out.contains(&format!("bb  {} 1,000\n", "█".repeat(BAR_MAX))));
    }
}
