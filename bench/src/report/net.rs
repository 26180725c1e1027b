//! The part of the page about the safety net.

use std::fmt::Write as _;

use super::{Goal, Row, number, verdict};
use crate::net::Netted;
use crate::stats::{Spread, median};

/// Seconds between two looks of the tripwire.
const PERIOD: f64 = 10.0;

pub(super) fn goals(n: &Netted) -> Vec<Row> {
    let mib = |values: &[f64]| median(values) / 1024.0;
    let (guard, both) = (mib(&n.tripwire.pss_kib), mib(&n.tripwire.pss_kib) + mib(&n.daemon.pss_kib));
    let share = 100.0 * n.tripwire.cpu_s / n.tripwire.seconds;
    // The first look that can see it comes a period after the loss.
    let slowest = Spread::of(&n.claimed_s).max / PERIOD - 1.0;
    let memory = |what: &str, goal: f64, measured: f64| Row {
        what: what.to_owned(),
        goal: format!("< {} MB", number(goal)),
        measured: format!("{} MiB", number(measured)),
        verdict: verdict(Goal::Below(goal * 1e6 / f64::from(1 << 20)), measured),
    };
    vec![
        memory("daemon and tripwire with one host, idle: memory", 40.0, both),
        memory("the tripwire alone", 6.0, guard),
        Row {
            what: "the tripwire, nothing open: processor".into(),
            goal: "< 0.05 % of a core".into(),
            measured: format!("{} %", number(share)),
            verdict: verdict(Goal::Below(0.05), share),
        },
        Row {
            what: "from the look that sees a loss to the way back, the slowest".into(),
            goal: "≤ 3 periods".into(),
            measured: format!("{} periods", number(slowest)),
            verdict: verdict(Goal::Below(3.0), slowest),
        },
    ]
}

pub(super) fn sections(out: &mut String, n: &Netted) {
    let of = |values: &[f64], unit: f64| {
        let spread = Spread::of(values);
        format!(
            "{} ({}–{})",
            number(spread.median / unit),
            number(spread.min / unit),
            number(spread.max / unit)
        )
    };
    out.push_str(
        "\n## The safety net\n\nA daemon and a tripwire, each with one host in a network namespace, with nothing to do; proportional set sizes, which the\n\
         programs they have in memory count for. Then an endpoint that falls while a window is open, at the worst moment, right after\n\
         a look: the time until the tripwire has claimed the window. The first look that can see it comes a period of 10 s later.\n\n\
         | | |\n|---|---|\n",
    );
    let _ = writeln!(out, "| the tripwire, MiB | {} |", of(&n.tripwire.pss_kib, 1024.0));
    let _ = writeln!(out, "| the daemon, MiB | {} |", of(&n.daemon.pss_kib, 1024.0));
    let _ = writeln!(
        out,
        "| processor time of the tripwire in {} s | {} s, {} wake-ups, {} threads |",
        number(n.tripwire.seconds),
        number(n.tripwire.cpu_s),
        n.tripwire.wakeups,
        n.tripwire.threads
    );
    let _ = writeln!(out, "| from the loss to the claim, seconds | {} |", of(&n.claimed_s, 1.0));
}
