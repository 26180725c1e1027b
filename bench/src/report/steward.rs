//! The steward's part of the page.

use std::fmt::Write as _;

use super::{Goal, Row, number, verdict};
use crate::stats::{Spread, median};
use crate::steward::Stewarded;

pub(super) fn goals(s: &Stewarded) -> Vec<Row> {
    let row = |what: &str, least: f64, values: &[f64]| {
        let per_second = median(values);
        Row {
            what: what.into(),
            goal: format!("≥ {} /s", number(least)),
            measured: format!("{} /s", number(per_second)),
            verdict: verdict(Goal::AtLeast(least), per_second),
        }
    };
    vec![
        row("simulated worlds, two processors", 250.0, &s.worlds_per_s),
        row("plain episodes, one processor", 3000.0, &s.episodes_per_s),
    ]
}

pub(super) fn sections(out: &mut String, s: &Stewarded) {
    out.push_str("\n## The steward in simulated worlds\n\n");
    let _ = writeln!(
        out,
        "A world is some hours of a modelled host with a controller, a tripwire, people and faults ({} worlds a round, about {} episodes\neach); a plain episode goes from the ask through twenty cycles and two hours of probation, with nothing going wrong.\n",
        s.worlds,
        number(s.episodes_in_worlds as f64 / (s.worlds as f64 * s.worlds_per_s.len() as f64))
    );
    out.push_str("| | median | range |\n|---|---|---|\n");
    for (name, values) in
        [("worlds per second", &s.worlds_per_s), ("plain episodes per second", &s.episodes_per_s)]
    {
        let spread = Spread::of(values);
        let _ = writeln!(
            out,
            "| {name} | {} | {}–{} |",
            number(spread.median),
            number(spread.min),
            number(spread.max)
        );
    }
}
