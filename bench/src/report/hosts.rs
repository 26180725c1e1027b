//! The part of the page about real hosts.

use std::fmt::Write as _;

use super::{Goal, Row, number, times, verdict};
use crate::hosts::{Hosted, Many};
use crate::stats::{Spread, median, ratios};

pub(super) fn goals(h: &Hosted) -> Vec<Row> {
    let Many { hosts, cpu_s, seconds, daemon_mib, connections_mib, .. } = &h.many;
    let (share, memory) = (100.0 * cpu_s / seconds, daemon_mib + connections_mib);
    let collect = median(&h.collect_ms) + h.manager_ms;
    let mut rows: Vec<Row> = h.resumes.iter().map(|(release, seconds)| resumed(release, seconds)).collect();
    rows.extend([
        times(
            "a word to a doorman over an open connection, against `ssh true`".into(),
            Goal::Below(1.3),
            &ratios(&h.word_ms, &h.true_ms),
        ),
        Row {
            what: "a collection: processor time on the target".into(),
            goal: "< 50 ms".into(),
            measured: format!("{} ms", number(collect)),
            verdict: verdict(Goal::Below(50.0), collect),
        },
        Row {
            what: format!("{hosts} hosts over SSH every two minutes: processor"),
            goal: "< 10 % of a core".into(),
            measured: format!("{} %", number(share)),
            verdict: verdict(Goal::Below(10.0), share),
        },
        Row {
            what: format!("{hosts} hosts over SSH: memory, connections included"),
            goal: "< 150 MB".into(),
            measured: format!("{} MiB", number(memory)),
            verdict: verdict(Goal::Below(150e6 / f64::from(1 << 20)), memory),
        },
    ]);
    rows
}

fn resumed(release: &str, seconds: &[f64]) -> Row {
    Row {
        what: format!("a guest ({release}): from its state to a login over SSH"),
        goal: "< 3 s".into(),
        measured: format!("{} s", number(median(seconds))),
        verdict: verdict(Goal::Below(3.0), median(seconds)),
    }
}

pub(super) fn sections(out: &mut String, h: &Hosted) {
    let of = |values: &[f64]| {
        let spread = Spread::of(values);
        format!("{} ({}–{})", number(spread.median), number(spread.min), number(spread.max))
    };
    out.push_str(
        "\n## Real hosts\n\nA word (`ping`) and the command `true` over connections that are open, in turns, to one host in a network namespace.\n\
         One collection in a container with a real systemd: the doorman and what it starts, and what the manager did for it.\n\n\
         | | milliseconds |\n|---|---|\n",
    );
    let _ = writeln!(out, "| a word to a doorman | {} |", of(&h.word_ms));
    let _ = writeln!(out, "| `ssh true` | {} |", of(&h.true_ms));
    let _ = writeln!(
        out,
        "| processor time of a collection, the doorman and its programs | {} |",
        of(&h.collect_ms)
    );
    let _ = writeln!(out, "| … and the service manager's | {} |", number(h.manager_ms));
    let runs = if h.accelerator == "kvm" { "with KVM" } else { "emulated" };
    let of_guests = h.resumes.iter().map(|(release, seconds)| format!("{release} {} s", of(seconds)));
    let of_guests: Vec<String> = of_guests.collect();
    let _ = writeln!(
        out,
        "\nA guest of the lab, {runs}, resumed from its state until root is logged in over SSH and its clock is right: {}.",
        of_guests.join(", ")
    );
    let many = &h.many;
    let _ = writeln!(
        out,
        "\nA daemon with {} hosts, each in a network namespace with an sshd and a connection of its own, for {} s: {} collections, \
         {} s of processor time in the daemon, what it started and the connections; at most {} MiB in the daemon and {} MiB in {} \
         processes of ssh (proportional set size, looked at every second). The hosts have no systemd, so their units could not be read.",
        many.hosts,
        number(many.seconds),
        number(many.collected as f64),
        number(many.cpu_s),
        number(many.daemon_mib),
        number(many.connections_mib),
        many.connections,
    );
}
