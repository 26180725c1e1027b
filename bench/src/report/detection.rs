//! The part of the page about noticing change.

use std::fmt::Write as _;

use super::{Goal, Row, number, times, verdict};
use crate::detection::{Detected, IN_TIME, OnKind, STEP, Textbook, WHO};
use crate::stats::{Spread, median};

pub(super) fn goals(d: &Detected) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some([ours, peer, ..]) = d.corpus.as_deref() {
        let worst = (0..3).map(|at| ours.scores[at] / peer.scores[at]).fold(f64::INFINITY, f64::min);
        rows.push(Row {
            what: "labelled corpus: against a windowed Gaussian, in the worst of three profiles".into(),
            goal: "far above".into(),
            measured: format!("{} ×", number(worst)),
            verdict: if worst >= 1.25 { "met" } else { "**not met**" },
        });
    }
    let best_peer = (1..WHO.len()).map(|who| mean(d, |kind| kind.f1[who])).fold(0.0, f64::max);
    let ours = mean(d, |kind| kind.f1[0]);
    rows.push(Row {
        what: "regimes in generated series: F1, against the best of the others".into(),
        goal: format!("> {best_peer:.2}"),
        measured: format!("{ours:.2}"),
        verdict: if ours > best_peer { "met" } else { "**not met**" },
    });
    let ratio = |found: u64, asked: f64| found as f64 / asked;
    let within = d.noises.iter().filter(|n| (0.8..=1.2).contains(&ratio(n.found, n.asked))).count();
    rows.push(Row {
        what: "false alarms on noise: within 20 % of what was asked".into(),
        goal: format!("{} of {}", d.noises.len(), d.noises.len()),
        measured: format!("{within} of {}", d.noises.len()),
        verdict: if within == d.noises.len() { "met" } else { "**not met**" },
    });
    let per_second = median(&d.samples_per_s);
    rows.push(Row {
        what: "samples through a lookout, one processor".into(),
        goal: "≥ 1,000,000 /s".into(),
        measured: format!("{} /s", number(per_second)),
        verdict: verdict(Goal::AtLeast(1e6), per_second),
    });
    rows.push(Row {
        what: "state of a lookout".into(),
        goal: "≤ 4,096 bytes".into(),
        measured: format!("{} bytes", number(d.bytes as f64)),
        verdict: verdict(Goal::Below(4097.0), d.bytes as f64),
    });
    if let Some(raced) = &d.raced {
        rows.push(times(
            "exact partition into levels, against ruptures' Pelt".into(),
            Goal::AtLeast(20.0),
            &raced.pelt,
        ));
    }
    rows
}

fn mean(d: &Detected, of: impl Fn(&OnKind) -> f64) -> f64 {
    d.kinds.iter().map(of).sum::<f64>() / d.kinds.len().max(1) as f64
}

pub(super) fn sections(out: &mut String, d: &Detected) {
    out.push_str("\n## Noticing change\n\n");
    corpus(out, d);
    kinds(out, d);
    noises(out, d);
    steps(out, d);
    let spread = Spread::of(&d.samples_per_s);
    let _ = writeln!(
        out,
        "\nA lookout takes {} samples a second ({}–{}) and keeps {} bytes, with nothing on the heap.",
        number(spread.median),
        number(spread.min),
        number(spread.max),
        number(d.bytes as f64)
    );
    if let Some(raced) = &d.raced {
        let kernel = Spread::of(&raced.kernel);
        let _ = writeln!(
            out,
            "\nThe exact partition into levels, the task ruptures' `Pelt(model=\"l2\", jump=1)` does, on {} series of 500 to 2,000 samples with\nthe same penalty: all gave the same change points on {} of them. Against `KernelCPD(kernel=\"linear\")`, which is compiled C, ours\nwas {} × as fast ({}–{}).",
            raced.series,
            raced.same,
            number(kernel.median),
            number(kernel.min),
            number(kernel.max)
        );
    }
}

fn corpus(out: &mut String, d: &Detected) {
    let Some(corpus) = &d.corpus else {
        out.push_str("The labelled corpus was not here, so nothing was scored on it.\n");
        return;
    };
    out.push_str(
        "Thirty series of the Numenta Anomaly Benchmark, scored by its published rules: labelled windows, an earlier find is worth more, one\nthreshold for all series, the best one for each profile. Shape and constants of the lookout were chosen with these series in sight, so\nexpect less elsewhere.\n\n| | standard | few false alarms | few misses | windows found | false alarms |\n|---|---|---|---|---|---|\n",
    );
    for row in corpus {
        let [standard, low_false, low_missed] = row.scores;
        let _ = writeln!(
            out,
            "| {} | {standard:.1} | {low_false:.1} | {low_missed:.1} | {} of {} | {} |",
            row.who, row.found, row.windows, row.false_alarms
        );
    }
}

fn kinds(out: &mut String, d: &Detected) {
    let searched = match d.textbook {
        Textbook::Ruptures => {
            "Binary\nsegmentation and PELT are those of the library ruptures (`Binseg` and the compiled `KernelCPD` with a linear kernel, whose cost is that of\n`Pelt`)"
        }
        Textbook::Own => {
            "ruptures was not here, so binary\nsegmentation and PELT are written from the papers"
        }
    };
    let _ = writeln!(
        out,
        "\nRegimes with the whole series in view, {} generated series of each kind: F1 with a margin of five samples (the beginning counts as\nfound, as usual), and in the last column the covering of ours. The peers have the textbook's settings, which suit white noise. {searched}.\n\n| | {} | covering |\n|---|{}---|",
        d.series,
        WHO.join(" | "),
        "---|".repeat(WHO.len())
    );
    for kind in &d.kinds {
        let cells: Vec<String> = kind.f1.iter().map(|f1| format!("{f1:.2}")).collect();
        let _ = writeln!(out, "| {} | {} | {:.2} |", kind.kind, cells.join(" | "), kind.covering[0]);
    }
    let cells: Vec<String> =
        (0..WHO.len()).map(|who| format!("{:.2}", mean(d, |kind| kind.f1[who]))).collect();
    let covered = mean(d, |kind| kind.covering[0]);
    let _ = writeln!(out, "| **all** | {} | {covered:.2} |", cells.join(" | "));
    off(out, d);
}

/// By how much places are missed. Who finds nothing misses nothing, so this is read beside the table before it.
fn off(out: &mut String, d: &Detected) {
    let who: Vec<&str> = WHO.iter().copied().filter(|who| *who != "nothing").collect();
    let _ = writeln!(
        out,
        "\nBy how many samples the places are missed that are found within a twentieth of the series, in the middle:\n\n| | {} |\n|---|{}",
        who.join(" | "),
        "---|".repeat(who.len())
    );
    for kind in d.kinds.iter().filter(|kind| kind.off.iter().any(Option::is_some)) {
        let each = WHO.iter().zip(kind.off).filter(|(who, _)| **who != "nothing");
        let cells: Vec<String> =
            each.map(|(_, off)| off.map_or_else(|| "–".to_owned(), |off| off.to_string())).collect();
        let _ = writeln!(out, "| {} | {} |", kind.kind, cells.join(" | "));
    }
}

/// How long a step stays unnoticed by what looks sample by sample.
fn steps(out: &mut String, d: &Detected) {
    let _ = writeln!(
        out,
        "\nA step of {STEP} spreads after a week, samples 30 s apart, {} times in each noise, at one false alarm asked for in 30 days: the share told within\nthree minutes ({IN_TIME} samples), and the sample by which one half are told. The plain CUSUM has its calibration from the week; how soon anybody could tell is in\n[decision 0037](decisions/0037-noticing-change.md).\n\n| noise | lookout | | plain CUSUM | |\n|---|---|---|---|---|",
        d.lives
    );
    for step in &d.steps {
        let cells: Vec<String> = step
            .told
            .iter()
            .map(|told| {
                let median = told.median().map_or_else(|| "–".to_owned(), |sample| sample.to_string());
                format!("{:.0} % | {median}", told.in_time() * 100.0)
            })
            .collect();
        let _ = writeln!(out, "| {} | {} |", step.noise, cells.join(" | "));
    }
}

fn noises(out: &mut String, d: &Detected) {
    out.push_str(
        "\nFalse alarms on noise in which nothing happens, after a week of learning, samples 30 s apart, everything but missing samples\ncounted:\n\n| noise | asked for | expected | found | ratio |\n|---|---|---|---|---|\n",
    );
    for noise in &d.noises {
        let asked = if noise.asked_days == 1 { "one a day" } else { "one a week" };
        let _ = writeln!(
            out,
            "| {} | {asked} | {} | {} | {:.2} |",
            noise.noise,
            number(noise.asked),
            noise.found,
            noise.found as f64 / noise.asked
        );
    }
}
