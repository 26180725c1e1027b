//! The journal's part of the page.

use std::fmt::Write as _;

use super::{Goal, Row, bars, bytes, calm, number, times, verdict, whole};
use crate::append::{Crowd, Lone, Series};
use crate::open::Opened;
use crate::stats::{Spread, median, quantile, ratios};
use crate::verify::Verified;

/// All that was measured of the journal.
#[derive(Clone, Debug)]
pub(crate) struct Journalled {
    pub(crate) lone: Lone,
    pub(crate) crowd: Crowd,
    pub(crate) verified: Verified,
    pub(crate) opened: Opened,
}

/// Peaks of two runs of the same program differ by some pages anyway.
const SAME_MEMORY_KIB: f64 = 512.0;
const OPENING_BYTES: u64 = 10_000_000_000;

pub(super) fn goals(j: &Journalled) -> Vec<Row> {
    let rows =
        [lone_goals(&j.lone), crowd_goals(&j.crowd), verify_goals(&j.verified), opening_goals(&j.opened)];
    rows.into_iter().flatten().collect()
}

pub(super) fn sections(out: &mut String, j: &Journalled) {
    lone(out, &j.lone);
    crowd(out, &j.crowd);
    verified(out, &j.verified);
    opened(out, &j.opened);
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
