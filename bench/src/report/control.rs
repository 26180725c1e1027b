//! The control plane's part of the page.

use std::fmt::Write as _;

use super::{Goal, Row, bars, bytes, calm, number, verdict, whole};
use crate::control::Controlled;
use crate::stats::{Spread, median, quantile};

/// The goals speak of a journal this long.
const ENTRIES: u64 = 1_000_000;

pub(super) fn goals(c: &Controlled) -> Vec<Row> {
    let started = &c.started;
    let start = |how: &str, ms: &[f64]| {
        goal(c, format!("start to healthy, {how}"), Goal::Below(150.0), "ms", &Spread::of(ms))
    };
    let mut rows = vec![start("warm", &started.warm_ms)];
    if !started.cold_ms.is_empty() {
        rows.push(start("page cache dropped", &started.cold_ms));
    }
    rows.push(start("no index", &started.without_index_ms));
    let status = &c.called.status_ms;
    rows.push(goal(c, "`holdfast status`: median".into(), Goal::Below(15.0), "ms", &Spread::of(status)));
    rows.push(alone(c, "`holdfast status`: p99".into(), Goal::Below(15.0), "ms", quantile(status, 0.99)));
    let replay = Spread::of(&c.replayed.rebuild);
    rows.push(goal(
        c,
        "rebuilding the index".into(),
        Goal::AtLeast(200_000.0),
        "entries per second",
        &replay,
    ));
    rows.push(goal(
        c,
        "idle daemon: memory (PSS)".into(),
        Goal::Below(25.0),
        "MB",
        &megabytes(&c.idled.pss_kib),
    ));
    rows.push(alone(c, "idle daemon: processor".into(), Goal::Below(0.1), "% of a core", cpu_percent(c)));
    rows
}

pub(super) fn sections(out: &mut String, c: &Controlled) {
    started(out, c);
    called(out, c);
    replayed(out, c);
    idled(out, c);
    rush(out, c);
}

/// A row about a figure with its spread.
fn goal(c: &Controlled, what: String, goal: Goal, unit: &str, spread: &Spread) -> Row {
    let range = format!(" ({}–{})", number(spread.min), number(spread.max));
    row(c, what, goal, unit, spread.median, &range)
}

/// A row about a single figure.
fn alone(c: &Controlled, what: String, goal: Goal, unit: &str, value: f64) -> Row {
    row(c, what, goal, unit, value, "")
}

fn row(c: &Controlled, what: String, goal: Goal, unit: &str, value: f64, range: &str) -> Row {
    let goal_text = match goal {
        Goal::AtLeast(n) => format!("≥ {} {unit}", whole(n)),
        Goal::Below(n) => format!("< {n} {unit}"),
    };
    Row {
        what,
        goal: goal_text,
        measured: format!("{}{range} {unit}", number(value)),
        verdict: if c.entries >= ENTRIES { verdict(goal, value) } else { "another size" },
    }
}

fn started(out: &mut String, c: &Controlled) {
    let _ = writeln!(
        out,
        "\n## Start to healthy\n\n\
         From making the process to its first answer of 200 on /health, with a journal of {} entries ({}). The index is\n\
         up to date but for the entry that the last stop wrote; without one the daemon answers all the same and fills it in\n\
         the background.\n",
        whole(c.entries as f64),
        bytes(c.bytes)
    );
    let s = &c.started;
    if s.cold_ms.is_empty() {
        out.push_str("Only warm: the page cache can be dropped by root alone.\n\n");
    }
    out.push_str("| | median | range | times |\n|---|---|---|---|\n");
    for (name, unit, values) in [
        ("healthy, warm", "ms", &s.warm_ms),
        ("healthy, page cache dropped", "ms", &s.cold_ms),
        ("healthy, no index", "ms", &s.without_index_ms),
        ("every entry in the index, where there was none", "s", &s.index_s),
        ("stopped, from SIGTERM to the end of the process", "ms", &s.stop_ms),
    ] {
        durations(out, name, unit, values);
    }
    calm(out, s.rounds);
}

fn durations(out: &mut String, name: &str, unit: &str, values: &[f64]) {
    let spread = Spread::of(values);
    let _ = writeln!(
        out,
        "| {name} | {} {unit} | {}–{} {unit} | {} |",
        number(spread.median),
        number(spread.min),
        number(spread.max),
        values.len()
    );
}

fn called(out: &mut String, c: &Controlled) {
    out.push_str(
        "\n## `holdfast status`\n\n\
         The whole process, from before it is made until it has been waited for, with the daemon of that home running, in\n\
         turns with `/bin/true`: the least a call costs here.\n\n\
         | | median | p99 | range | times |\n|---|---|---|---|---|\n",
    );
    for (name, ms) in [("`holdfast status`", &c.called.status_ms), ("`/bin/true`", &c.called.true_ms)] {
        let spread = Spread::of(ms);
        let _ = writeln!(
            out,
            "| {name} | {} ms | {} ms | {}–{} ms | {} |",
            number(spread.median),
            number(quantile(ms, 0.99)),
            number(spread.min),
            number(spread.max),
            ms.len()
        );
    }
    calm(out, c.called.rounds);
}

fn replayed(out: &mut String, c: &Controlled) {
    let r = &c.replayed;
    let _ = writeln!(
        out,
        "\n## Filling the index\n\n\
         {} entries from the journal into the projections of the daemon, warm. A *rebuild* fills a file aside, makes its\n\
         indexes at the end and puts it in place; a *catch-up* fills the index in use, with its indexes, from the first entry\n\
         on. *SQLite* inserts the rows of the largest table from memory, prepared, 10,000 to a transaction, and nothing else: no\n\
         log is read, no name looked up, no index kept.\n\n\
         | | entries per second | range |\n|---|---|---|",
        whole(r.entries as f64)
    );
    let all = [("SQLite", &r.sqlite), ("rebuild", &r.rebuild), ("catch-up", &r.catch_up)];
    for (name, rates) in all {
        let spread = Spread::of(rates);
        let (low, high) = (whole(spread.min), whole(spread.max));
        let _ = writeln!(out, "| {name} | {} | {low}–{high} |", whole(spread.median));
    }
    calm(out, r.rounds);
    bars(out, "entries per second", &all.map(|(name, rates)| (name, median(rates))));
}

fn idled(out: &mut String, c: &Controlled) {
    let i = &c.idled;
    let pss = megabytes(&i.pss_kib);
    let _ = writeln!(
        out,
        "\n## An idle daemon\n\n\
         The daemon that was asked above, with nobody asking any more, watched for {} s once its first checks are done. Its\n\
         health checks run every minute instead of every five, so that a round of them is among it.\n\n\
         | | |\n|---|---|\n\
         | memory (PSS) | {} MB ({}–{}), {} MB of it anonymous |\n\
         | processor | {} s, {} % of a core |\n\
         | wake-ups | {} per second, {} threads |",
        whole(i.seconds),
        number(pss.median),
        number(pss.min),
        number(pss.max),
        number(megabytes(&[i.anonymous_kib]).median),
        number(i.cpu_s),
        number(cpu_percent(c)),
        number(i.wakeups as f64 / i.seconds),
        i.threads
    );
}

fn rush(out: &mut String, c: &Controlled) {
    let r = &c.rush;
    let each = Spread::of(&r.each_ms);
    let _ = writeln!(
        out,
        "\n## {} calls at once\n\n\
         As many processes of `holdfast status`, all made as fast as the machine can.\n\n\
         | | |\n|---|---|\n\
         | until the last had its answer | {} s |\n\
         | one call | median {} ms, p99 {} ms, at most {} ms |\n\
         | calls without a good answer | {} |\n\
         | memory of the daemon afterwards (PSS) | {} MB |",
        whole(r.each_ms.len() as f64),
        number(r.seconds),
        number(each.median),
        number(quantile(&r.each_ms, 0.99)),
        number(each.max),
        r.failed,
        number(megabytes(&[c.pss_after_rush_kib]).median)
    );
}

fn cpu_percent(c: &Controlled) -> f64 {
    c.idled.cpu_s / c.idled.seconds * 100.0
}

/// Millions of bytes, from KiB.
fn megabytes(kib: &[f64]) -> Spread {
    let mb: Vec<f64> = kib.iter().map(|kib| kib * 1024.0 / 1e6).collect();
    Spread::of(&mb)
}
