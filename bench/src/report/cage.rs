//! The cage's part of the page.

use std::fmt::Write as _;

use super::{Goal, Row, number, times, verdict};
use crate::cage::Caged;
use crate::stats::{Spread, median};

/// What each round took beyond the bare program, ours over bubblewrap's.
fn ratio(c: &Caged) -> f64 {
    let bare = median(&c.bare_ms);
    (median(&c.ours_ms) - bare) / (median(&c.bubblewrap_ms) - bare)
}

pub(super) fn goals(c: &Caged) -> Vec<Row> {
    let ratio = ratio(c);
    let group = if c.with_group { median(&c.ours_ms) } else { f64::NAN };
    let calls: Vec<f64> =
        c.caged_call_ns.iter().zip(&c.bare_call_ns).map(|(ours, bare)| ours / bare).collect();
    vec![
        Row {
            what: "starting in a cage, over the bare program: against bubblewrap".into(),
            goal: "< 2.5 ×".into(),
            measured: format!("{} ×", number(ratio)),
            verdict: verdict(Goal::Below(2.5), ratio),
        },
        Row {
            what: "starting in a cage with a cgroup".into(),
            goal: "< 15 ms".into(),
            measured: if c.with_group {
                format!("{} ms", number(group))
            } else {
                "no cgroup with controllers here".into()
            },
            verdict: verdict(Goal::Below(15.0), group),
        },
        times("a system call inside, against outside".into(), Goal::Below(1.5), &calls),
    ]
}

pub(super) fn sections(out: &mut String, c: &Caged) {
    out.push_str("\n## Starting a program in a cage\n\n");
    let _ = writeln!(
        out,
        "`/bin/true`, {} times each, in turns, from before its process is made until it has been waited for. Bubblewrap has the same\nnamespaces and files, and neither a filter of calls nor Landlock nor limits.\n",
        c.ours_ms.len()
    );
    out.push_str("| | median | range | beyond the bare program |\n|---|---|---|---|\n");
    let bare = median(&c.bare_ms);
    for (name, values) in [
        ("bare", &c.bare_ms),
        ("bubblewrap", &c.bubblewrap_ms),
        ("cage, from a program that runs already", &c.ours_ms),
        ("`holdfast cage run`", &c.command_ms),
    ] {
        let spread = Spread::of(values);
        let beyond = spread.median - bare;
        let _ = writeln!(
            out,
            "| {name} | {} ms | {}–{} ms | {} ms |",
            number(spread.median),
            number(spread.min),
            number(spread.max),
            number(beyond)
        );
    }
    let _ = writeln!(
        out,
        "\nA system call, one byte read or written: {} ns outside, {} ns inside. The kernel remembers which calls the filter always lets\nthrough, so most cost nothing more; what remains is its own price for a program that has a filter at all.",
        number(median(&c.bare_call_ns)),
        number(median(&c.caged_call_ns))
    );
}
