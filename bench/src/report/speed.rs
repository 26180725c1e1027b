//! The guard's speed on the page: scanning beside a peer, taking secrets out of text, being ready.

use std::fmt::Write as _;

use super::{Goal, Row, bytes, calm, number, verdict, whole};
use crate::guard::speed::{Hostile, Messages, Race, Racer, Rate, Ready, Redacting, Sped};
use crate::stats::{Spread, median, quantile, ratios};

pub(super) fn goals(s: &Sped) -> Vec<Row> {
    let mut rows = vec![race_goal(s.race.as_ref().ok())];
    rows.extend(s.redacting.rates.iter().map(rate_goal));
    let messages = &s.redacting.messages.wall_us;
    rows.push(plain(
        "redaction of a message of 2 KB: p99",
        Goal::Below(50.0),
        "µs",
        quantile(messages, 0.99),
        "",
    ));
    let (what, worst) = worst(&s.redacting);
    let remark = format!(" ({what})");
    rows.push(plain(
        "redaction of any entry of 64 KiB: the slowest",
        Goal::Below(10.0),
        "ms",
        worst,
        &remark,
    ));
    let process = s.ready.as_ref().map_or(&[][..], |ready| &ready.process_ms);
    let spread = Spread::of(process);
    let range = format!(" ({}–{})", number(spread.min), number(spread.max));
    let what = "`holdfast redact`: from its start to the end of its answer";
    rows.push(plain(what, Goal::Below(20.0), "ms", spread.median, &range));
    rows
}

pub(super) fn sections(out: &mut String, s: &Sped) {
    match &s.race {
        Ok(race) => raced(out, race),
        Err(why) => not_measured(out, "Scanning a large tree", why),
    }
    redacting(out, &s.redacting);
    match &s.ready {
        Ok(ready) => readied(out, ready),
        Err(why) => not_measured(out, "The rules are ready", why),
    }
}

fn race_goal(race: Option<&Race>) -> Row {
    let goal = Goal::AtLeast(1.5);
    let (ratio, spread) =
        race.map_or((f64::NAN, Spread::of(&[])), |race| (faster(race), Spread::of(&pairs(race))));
    Row {
        what: "scanning a large tree, against kingfisher".to_owned(),
        goal: "≥ 1.5 ×".to_owned(),
        measured: format!("{} × ({}–{})", number(ratio), number(spread.min), number(spread.max)),
        verdict: verdict(goal, ratio),
    }
}

/// How many times as fast ours is: the ratio of the medians.
fn faster(race: &Race) -> f64 {
    median(&race.peer.seconds) / median(&race.ours.seconds)
}

/// The same, round by round.
fn pairs(race: &Race) -> Vec<f64> {
    ratios(&race.peer.seconds, &race.ours.seconds)
}

fn rate_goal(rate: &Rate) -> Row {
    let spread = Spread::of(&rate.per_cpu);
    let megabytes = |rate: f64| number(rate / 1e6);
    Row {
        what: format!("redaction of {}, looking for {}", rate.what, rate.looking),
        goal: format!("≥ {} MB/s", whole(rate.goal / 1e6)),
        measured: format!(
            "{} ({}–{}) MB/s",
            megabytes(spread.median),
            megabytes(spread.min),
            megabytes(spread.max)
        ),
        verdict: verdict(Goal::AtLeast(rate.goal), spread.median),
    }
}

/// The kind of entry whose slowest round was the slowest of all.
fn worst(r: &Redacting) -> (&'static str, f64) {
    let slowest = |hostile: &Hostile| (hostile.what, quantile(&hostile.cpu_ms, 1.0));
    r.hostile.iter().map(slowest).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("none", f64::NAN))
}

fn plain(what: &str, goal: Goal, unit: &str, value: f64, remark: &str) -> Row {
    let (sign, wanted) = match goal {
        Goal::AtLeast(n) => ("≥", n),
        Goal::Below(n) => ("<", n),
    };
    Row {
        what: what.to_owned(),
        goal: format!("{sign} {wanted} {unit}"),
        measured: format!("{} {unit}{remark}", number(value)),
        verdict: verdict(goal, value),
    }
}

fn raced(out: &mut String, race: &Race) {
    let _ = writeln!(
        out,
        "\n## Scanning a large tree\n\n\
         The texts of {} packages this workspace is built from, as cargo has them on disk, and the files with {} invented\n\
         secrets from above: {} files, {}. Both scan all of it as they come, with all cores, without the network, in\n\
         turns; the tree is in the page cache. What is found elsewhere lies in the sources, where nobody planted anything.\n\n\
         | tool | median | range | MB/s | planted secrets found | false alarms beside them | found elsewhere |\n\
         |---|---|---|---|---|---|---|",
        whole(race.packages as f64),
        whole(race.planted as f64),
        whole(race.files as f64),
        bytes(race.bytes),
    );
    for racer in [&race.ours, &race.peer] {
        racer_line(out, racer, race);
    }
    let _ = writeln!(out, "\nOurs is {} times as fast, by the medians.", number(faster(race)));
    calm(out, race.rounds);
}

fn racer_line(out: &mut String, racer: &Racer, race: &Race) {
    let spread = Spread::of(&racer.seconds);
    let _ = writeln!(
        out,
        "| {} {} | {} s | {}–{} s | {} | {} of {} | {} | {} |",
        racer.name,
        racer.version,
        number(spread.median),
        number(spread.min),
        number(spread.max),
        number(race.bytes as f64 / 1e6 / spread.median),
        whole(racer.found as f64),
        whole(race.planted as f64),
        whole(racer.false_alarms as f64),
        whole(racer.elsewhere as f64)
    );
}

fn redacting(out: &mut String, r: &Redacting) {
    out.push_str(
        "\n## Taking secrets out of text\n\n\
         The engine within one process and one thread; rates are per second of processor time. Plain text goes through in\n\
         pieces of an entry, messages one by one.\n\n\
         | text | looking for | size | taken out | median | best | goal |\n|---|---|---|---|---|---|---|\n",
    );
    r.rates.iter().for_each(|rate| rate_line(out, rate));
    messages(out, &r.messages);
    entries(out, &r.hostile);
}

fn rate_line(out: &mut String, rate: &Rate) {
    let spread = Spread::of(&rate.per_cpu);
    let _ = writeln!(
        out,
        "| {} | {} | {} in {} pieces | {} | {} MB/s | {} MB/s | {} MB/s |",
        rate.what,
        rate.looking,
        bytes(rate.bytes as u64),
        whole(rate.pieces as f64),
        whole(rate.taken_out as f64),
        number(spread.median / 1e6),
        number(spread.max / 1e6),
        whole(rate.goal / 1e6)
    );
}

fn messages(out: &mut String, m: &Messages) {
    let _ = writeln!(
        out,
        "\n{} messages of 2 KB, every other one with a secret:\n\n\
         | | p50 | p99 | slowest |\n|---|---|---|---|",
        whole(m.wall_us.len() as f64)
    );
    for (name, us) in [("on the wall", &m.wall_us), ("processor time", &m.cpu_us)] {
        let at = |q| number(quantile(us, q));
        let _ = writeln!(out, "| {name} | {} µs | {} µs | {} µs |", at(0.5), at(0.99), at(1.0));
    }
}

fn entries(out: &mut String, entries: &[Hostile]) {
    out.push_str(
        "\nOne entry as large as the journal takes, as people write and as an enemy would; processor time but for the last\n\
         column:\n\n\
         | entry | size | median | slowest | slowest on the wall |\n|---|---|---|---|---|\n",
    );
    for entry in entries {
        let _ = writeln!(
            out,
            "| {} | {} KiB | {} ms | {} ms | {} ms |",
            entry.what,
            whole(entry.bytes as f64 / 1024.0),
            number(median(&entry.cpu_ms)),
            number(quantile(&entry.cpu_ms, 1.0)),
            number(quantile(&entry.wall_ms, 1.0))
        );
    }
}

fn readied(out: &mut String, ready: &Ready) {
    let _ = writeln!(
        out,
        "\n## The rules are ready\n\n\
         {} processes of each, which begin from nothing. `holdfast redact` is given one line and timed from before the\n\
         process is made until its answer has been read and it has ended.\n\n\
         | | median | p99 | range |\n|---|---|---|---|",
        ready.process_ms.len()
    );
    for (name, ms) in [
        ("`holdfast redact`, the whole process", &ready.process_ms),
        ("the rules alone, made ready", &ready.rules_ms),
        ("the first line after that", &ready.line_ms),
    ] {
        let spread = Spread::of(ms);
        let _ = writeln!(
            out,
            "| {name} | {} ms | {} ms | {}–{} ms |",
            number(spread.median),
            number(quantile(ms, 0.99)),
            number(spread.min),
            number(spread.max)
        );
    }
}

fn not_measured(out: &mut String, title: &str, why: &str) {
    let why: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
    let _ = writeln!(out, "\n## {title}\n\nNot measured: {why}.");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn racer(name: &'static str, seconds: &[f64]) -> Racer {
        Racer { name, version: "1.0".into(), seconds: seconds.to_vec(), ..Racer::default() }
    }

    fn sped() -> Sped {
        let race = Race {
            bytes: 100_000_000,
            planted: 100,
            ours: Racer { found: 98, ..racer("holdfast", &[1.0, 1.0, 4.0]) },
            peer: racer("kingfisher", &[2.0, 2.0, 2.0]),
            ..Race::default()
        };
        let rate = |what, per_cpu: f64| Rate {
            what,
            looking: "secrets",
            goal: 150e6,
            bytes: 8_000_000,
            pieces: 100,
            taken_out: 3,
            per_cpu: vec![per_cpu],
        };
        let hostile =
            |what, ms: f64| Hostile { what, bytes: 65_536, wall_ms: vec![20.0], cpu_ms: vec![1.0, ms] };
        Sped {
            race: Ok(race),
            redacting: Redacting {
                rates: vec![rate("fast text", 200e6), rate("slow text", 100e6)],
                messages: Messages { wall_us: (1..=100).map(f64::from).collect(), cpu_us: vec![10.0] },
                hostile: vec![hostile("dashes", 9.0), hostile("letters", 2.0)],
            },
            ready: Ok(Ready { process_ms: vec![9.0, 10.0, 30.0], rules_ms: vec![5.0], line_ms: vec![0.1] }),
        }
    }

    #[test]
    fn each_goal_is_judged_by_what_was_measured() {
        let rows = goals(&sped());
        let row = |begin: &str| rows.iter().find(|row| row.what.starts_with(begin)).unwrap();
        for (begin, measured, verdict) in [
            ("scanning a large tree", "2.00 × (0.50–2.00)", "met"),
            ("redaction of fast text", "200 (200–200) MB/s", "met"),
            ("redaction of slow text", "100 (100–100) MB/s", "**not met**"),
            ("redaction of a message", "99.0 µs", "**not met**"),
            ("redaction of any entry", "9.00 ms (dashes)", "met"),
            ("`holdfast redact`", "10.0 ms (9.00–30.0)", "met"),
        ] {
            assert_eq!((row(begin).measured.as_str(), row(begin).verdict), (measured, verdict), "{begin}");
        }
    }

    #[test]
    fn what_could_not_be_measured_is_told_and_claims_nothing() {
        let s = Sped { race: Err("kingfisher is not\ninstalled".into()), ..Sped::default() };
        assert!(goals(&s).iter().all(|row| row.verdict == "not measured"));
        let mut page = String::new();
        sections(&mut page, &s);
        assert!(page.contains("Not measured: kingfisher is not installed."), "{page}");
    }

    #[test]
    fn both_racers_stand_side_by_side() {
        let mut page = String::new();
        sections(&mut page, &sped());
        assert!(page.contains("| holdfast 1.0 | 1.00 s | 1.00–4.00 s | 100 | 98 of 100 | 0 | 0 |"), "{page}");
        assert!(page.contains("Ours is 2.00 times as fast"), "{page}");
    }
}
