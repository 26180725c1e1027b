//! The page: measurements in, Markdown out. Pure.
//!
//! Every goal stands beside what was measured, and says *met* or *not met* by the median alone; the spread
//! stands next to it, so that a reader can see how much that is worth. `journal.rs`, `control.rs`, `guard.rs`,
//! `speed.rs`, `cage.rs`, `steward.rs`, `detection.rs`, `hosts.rs`, `net.rs`, `memory.rs` and `gateway.rs` each write their part; here is what they share.

mod cage;
mod control;
mod detection;
mod gateway;
mod guard;
mod hosts;
mod journal;
mod memory;
mod net;
mod speed;
mod steward;

use std::fmt::Write as _;

pub(crate) use journal::Journalled;

use crate::cage::Caged;
use crate::control::Controlled;
use crate::detection::Detected;
use crate::gateway::Gated;
use crate::guard::Guarded;
use crate::hosts::Hosted;
use crate::machine::Machine;
use crate::memory::Remembered;
use crate::net::Netted;
use crate::stats::Spread;
use crate::steward::Stewarded;
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
    /// Absent when only something else was asked for.
    pub(crate) journal: Option<Journalled>,
    pub(crate) control: Option<Controlled>,
    pub(crate) guard: Option<Guarded>,
    pub(crate) cage: Option<Caged>,
    pub(crate) steward: Option<Stewarded>,
    pub(crate) detection: Option<Detected>,
    pub(crate) hosts: Option<Hosted>,
    pub(crate) net: Option<Netted>,
    pub(crate) memory: Option<Remembered>,
    pub(crate) gateway: Option<Gated>,
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
    m.journal.iter().for_each(|j| journal::sections(&mut out, j));
    m.control.iter().for_each(|c| control::sections(&mut out, c));
    m.guard.iter().for_each(|g| guard::sections(&mut out, &g.examined));
    m.guard.iter().for_each(|g| speed::sections(&mut out, &g.sped));
    m.cage.iter().for_each(|c| cage::sections(&mut out, c));
    m.steward.iter().for_each(|s| steward::sections(&mut out, s));
    m.detection.iter().for_each(|d| detection::sections(&mut out, d));
    m.hosts.iter().for_each(|h| hosts::sections(&mut out, h));
    m.net.iter().for_each(|n| net::sections(&mut out, n));
    m.memory.iter().for_each(|it| memory::sections(&mut out, it));
    m.gateway.iter().for_each(|it| gateway::sections(&mut out, it));
    out
}

const INTRODUCTION: &str = "\
Written by `cargo run --release -p holdfast-bench -- --out docs/benchmarks.md`; do not edit.

Absolute numbers belong to the machine. What carries over are ratios, so every ratio here was taken within one run: ours
and its peers took turns on the same data in the same directory, a little at a time. Numbers are medians; the range
behind them is the smallest and the largest of all rounds.
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
    let rows = [
        m.journal.as_ref().map(journal::goals),
        m.control.as_ref().map(control::goals),
        m.guard.as_ref().map(|g| speed::goals(&g.sped)),
        m.cage.as_ref().map(cage::goals),
        m.steward.as_ref().map(steward::goals),
        m.detection.as_ref().map(detection::goals),
        m.hosts.as_ref().map(hosts::goals),
        m.net.as_ref().map(net::goals),
        m.memory.as_ref().map(memory::goals),
        m.gateway.as_ref().map(gateway::goals),
    ];
    let rows: Vec<Row> = rows.into_iter().flatten().flatten().collect();
    if rows.is_empty() {
        return;
    }
    out.push_str("\n## Goals\n\n| what | goal | measured | |\n|---|---|---|---|\n");
    for row in rows {
        let _ = writeln!(out, "| {} | {} | {} | {} |", row.what, row.goal, row.measured, row.verdict);
    }
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
    use crate::append::{Crowd, Lone, Series, Slice};
    use crate::calls::{Called, Rush};
    use crate::idle::Idled;
    use crate::open::Opened;
    use crate::replay::Replayed;
    use crate::start::Started;
    use crate::verify::Verified;

    fn constant(median_us: f64, rate: f64) -> Series {
        let slice = Slice { median_us, p99_us: median_us * 2.0, rate, cpu_us: 10.0 };
        Series { slices: vec![slice; 3], durations_us: vec![median_us; 300] }
    }

    fn journalled() -> Journalled {
        Journalled {
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
                wanted_bytes: 10_000_000_000,
                bytes: 10_000_000_000,
                entries: 4_000_000,
                tail: 99,
                warm_ms: vec![9.0, 10.0, 30.0],
                cold_ms: vec![25.0],
                close_ms: vec![1.0],
                rounds: Rounds::default(),
            },
        }
    }

    fn controlled() -> Controlled {
        Controlled {
            entries: 1_000_000,
            bytes: 400_000_000,
            replayed: Replayed {
                entries: 1_000_000,
                rebuild: vec![250_000.0],
                catch_up: vec![150_000.0],
                sqlite: vec![900_000.0],
                rounds: Rounds::default(),
            },
            started: Started {
                warm_ms: vec![60.0, 70.0, 200.0],
                cold_ms: vec![180.0],
                without_index_ms: vec![80.0],
                index_s: vec![6.0],
                stop_ms: vec![20.0],
                rounds: Rounds::default(),
            },
            called: Called {
                status_ms: (1..=100).map(|n| f64::from(n) / 6.0).collect(),
                true_ms: vec![1.0],
                rounds: Rounds::default(),
            },
            idled: Idled {
                pss_kib: vec![20_000.0],
                anonymous_kib: 9000.0,
                cpu_s: 0.03,
                seconds: 60.0,
                wakeups: 180,
                threads: 7,
            },
            rush: Rush { seconds: 4.0, each_ms: vec![900.0; 1000], failed: 0 },
            pss_after_rush_kib: 30_000.0,
        }
    }

    fn measured() -> Measured {
        Measured {
            extent: Extent::Full,
            machine: Machine::default(),
            journal: Some(journalled()),
            control: Some(controlled()),
            guard: None,
            cage: None,
            steward: None,
            detection: None,
            hosts: None,
            net: None,
            memory: None,
            gateway: None,
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
            ("| start to healthy, warm", "| met |"),
            ("| start to healthy, page cache dropped", "| **not met** |"),
            ("| start to healthy, no index", "| met |"),
            ("| `holdfast status`: median", "| met |"),
            ("| `holdfast status`: p99", "| **not met** |"),
            ("| rebuilding the index", "| met |"),
            ("| idle daemon: memory", "| met |"),
            ("| idle daemon: processor", "| met |"),
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
        let (mut journal, mut control) = (journalled(), controlled());
        (journal.opened.bytes, journal.opened.cold_ms) = (2_000_000_000, Vec::new());
        control.entries = 50_000;
        let page = page(&Measured { journal: Some(journal), control: Some(control), ..measured() });
        assert!(line(&page, "| opening, warm").ends_with("| another size |"));
        assert!(line(&page, "| start to healthy, warm").ends_with("| another size |"));
        assert!(page.contains("**Smaller than meant**"));
        assert!(page.contains("Only warm"));
    }

    #[test]
    fn without_openssl_nothing_is_claimed() {
        let mut journal = journalled();
        journal.verified.openssl.clear();
        let page = page(&Measured { journal: Some(journal), ..measured() });
        assert!(line(&page, "| verification per CPU").ends_with("| – × (–––) | not measured |"));
    }

    #[test]
    fn a_quick_run_says_that_it_was_one() {
        let mut m = measured();
        assert!(!page(&m).contains("**A quick run**"));
        m.extent = Extent::Quick;
        assert!(page(&m).contains("**A quick run**"));
    }

    #[test]
    fn what_was_not_measured_is_not_spoken_of() {
        let page = page(&Measured { journal: None, ..measured() });
        assert!(page.contains("\n## Start to healthy\n") && !page.contains("\n## Opening\n"));
    }

    #[test]
    fn rounds_left_out_and_rounds_disturbed_are_named() {
        let mut journal = journalled();
        journal.lone.rounds = Rounds { calm: 3, disturbed: 4, all_count: false };
        journal.crowd.rounds = Rounds { all_count: true, ..journal.lone.rounds };
        let page = page(&Measured { journal: Some(journal), ..measured() });
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
