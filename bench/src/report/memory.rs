//! Memory's part of the page.

use std::fmt::Write as _;

use super::{Goal, Row, calm, number, times, verdict, whole};
use crate::append::Series;
use crate::memory::capture::Captures;
use crate::memory::consolidation::{Consolidations, Run};
use crate::memory::embedding::{Case, Embeddings};
use crate::memory::near::{At, Nears, USUAL_WIDTH, Walks};
use crate::memory::quality::{AT_TEN, Category, Examined, Figures, Method, RECIPROCAL};
use crate::memory::search::Searches;
use crate::memory::{DURABLE, Remembered};
use crate::stats::{Spread, median, quantile, ratios};

/// What a space must be found again by at least, as in the goals.
const RECALL: f64 = 0.98;
/// A million bytes, in MiB.
const MB: f64 = 1e6 / (1 << 20) as f64;

pub(super) fn goals(m: &Remembered) -> Vec<Row> {
    let rows = [
        m.examined.as_ref().map(quality_goals).unwrap_or_default(),
        capture_goals(&m.captured),
        m.embedded.as_ref().map(embedding_goals).unwrap_or_default(),
        m.searched.iter().filter_map(search_goal).collect(),
        m.near.iter().flat_map(near_goals).collect(),
        m.consolidated.as_ref().map(consolidation_goals).unwrap_or_default(),
        m.searched.iter().filter_map(resident_goal).collect(),
        m.searched.iter().filter_map(opening_goal).collect(),
    ];
    rows.into_iter().flatten().collect()
}

pub(super) fn sections(out: &mut String, m: &Remembered) {
    m.examined.iter().for_each(|it| quality(out, it));
    capture(out, &m.captured);
    m.embedded.iter().for_each(|it| embedding(out, it));
    searches(out, &m.searched);
    m.near.iter().for_each(|it| near(out, it));
    m.consolidated.iter().for_each(|it| consolidation(out, it));
}

fn quality_goals(examined: &Examined) -> Vec<Row> {
    let Some(all) = examined.categories.first() else { return Vec::new() };
    let ours = all.figures[Method::Hybrid as usize];
    let (ten, reciprocal) = (100.0 * ours[AT_TEN], ours[RECIPROCAL]);
    let below: Vec<String> = examined.categories.iter().filter(|it| is_below(it)).map(name).collect();
    vec![
        Row {
            what: "LoCoMo, turn by turn: recall at 10".into(),
            goal: "≥ 78 %".into(),
            measured: format!("{} %", number(ten)),
            verdict: verdict(Goal::AtLeast(78.0), ten),
        },
        Row {
            what: "LoCoMo: mean reciprocal rank".into(),
            goal: "≥ 0.54".into(),
            measured: format!("{reciprocal:.3}"),
            verdict: verdict(Goal::AtLeast(0.54), reciprocal),
        },
        Row {
            what: "LoCoMo: categories significantly below BM25".into(),
            goal: "none".into(),
            measured: if below.is_empty() { "none".into() } else { below.join(", ") },
            verdict: if below.is_empty() { "met" } else { "**not met**" },
        },
    ]
}

/// By either figure, in all but a few draws.
fn is_below(category: &Category) -> bool {
    category.above.iter().any(|(_, high)| *high < 0.0)
}

fn name(category: &Category) -> String {
    category.number.map_or_else(|| "all".to_owned(), |number| format!("category {number}"))
}

fn capture_goals(c: &Captures) -> Vec<Row> {
    let ratio = |bare: &Series| ratios(&c.ours.medians(), &bare.medians());
    let p99 = quantile(&c.crowd_us, 0.99) / 1e3;
    vec![
        at_most("capture, durable, against a bare append of the same sealed text", 1.3, &ratio(&c.sealed)),
        at_most("the same, against a plain entry of the same length", 1.3, &ratio(&c.plain)),
        Row {
            what: format!("capture, {} callers: p99", c.callers),
            goal: "< 5 ms".into(),
            measured: format!("{} ms", number(p99)),
            verdict: verdict(Goal::Below(5.0), p99),
        },
    ]
}

/// A ratio that is not to be exceeded.
fn at_most(what: &str, most: f64, ratios: &[f64]) -> Row {
    let row = times(what.into(), Goal::Below(most), ratios);
    // Two decimals are shown, so what is shown as the limit is within it.
    let within = Spread::of(ratios).median < most + 0.005;
    Row { goal: format!("≤ {most} ×"), verdict: if within { "met" } else { row.verdict }, ..row }
}

fn embedding_goals(e: &Embeddings) -> Vec<Row> {
    let least = |who: &str| if who == "candle" { 1.5 } else { 1.0 };
    let rows = e.cases.iter().flat_map(|case| {
        let peers = e.who.iter().enumerate().skip(1);
        peers.map(move |(at, who)| {
            let what = format!("embedding {}, against {who}", case_name(case));
            times(what, Goal::AtLeast(least(who)), &ratios(&case.per_s[0], &case.per_s[at]))
        })
    });
    rows.collect()
}

fn case_name(case: &Case) -> String {
    let threads = if case.threads == 1 { "a thread".to_owned() } else { format!("{} threads", case.threads) };
    format!("texts {}, batch {}, {threads}", case.texts, case.batch)
}

fn search_goal(s: &Searches) -> Option<Row> {
    let most = match s.entries {
        10_000 => 2.0,
        100_000 => 5.0,
        1_000_000 => 15.0,
        _ => return None,
    };
    let p50 = median(&s.seen.ms);
    Some(Row {
        what: format!("search among {}: p50 without the question's embedding", whole(s.entries as f64)),
        goal: format!("≤ {} ms", number(most)),
        measured: format!("{} ms", number(p50)),
        verdict: verdict(Goal::Below(most + 0.005), p50),
    })
}

fn near_goals(n: &Nears) -> Vec<Row> {
    let vectors = whole(n.vectors as f64);
    let mut rows = Vec::new();
    if let (Some(least), Some((ours, theirs))) =
        (near_least(n.vectors), n.theirs.as_ref().and_then(|t| pair(&n.ours, t)))
    {
        let what =
            format!("{vectors} vectors: queries a second against hnswlib, at equal recall and less memory");
        rows.push(times(what, Goal::AtLeast(least), &ratios(&ours.per_s, &theirs.per_s)));
    }
    if let Some(usual) = n.ours.usual().filter(|_| n.vectors >= 1_000_000) {
        rows.push(Row {
            what: format!("{vectors} vectors: recall at 10 against an exact search"),
            goal: format!("≥ {RECALL}"),
            measured: format!("{:.4}", usual.recall),
            verdict: verdict(Goal::AtLeast(RECALL), usual.recall),
        });
    }
    rows
}

fn near_least(vectors: usize) -> Option<f64> {
    match vectors {
        100_000 => Some(1.0),
        1_000_000 => Some(0.5),
        _ => None,
    }
}

/// Our usual walk, and the narrowest of theirs that finds as much; their widest where none does.
fn pair<'a>(ours: &'a Walks, theirs: &'a Walks) -> Option<(&'a At, &'a At)> {
    let usual = ours.usual()?;
    Some((usual, theirs.finding(usual.recall).or(theirs.at.last())?))
}

fn consolidation_goals(c: &Consolidations) -> Vec<Row> {
    let mut rows: Vec<Row> = c.runs.iter().filter_map(run_goal).collect();
    if let [.., before, last] = c.runs[..] {
        let (times, allowed) = (last.decide_s / before.decide_s, n_log_n(last) / n_log_n(before));
        rows.push(Row {
            what: format!(
                "deciding about {} entries, against {}",
                whole(last.entries as f64),
                whole(before.entries as f64)
            ),
            goal: format!("≤ {} × (n log n)", number(allowed)),
            measured: format!("{} ×", number(times)),
            verdict: verdict(Goal::Below(allowed + 0.005), times),
        });
    }
    rows
}

/// Each entry is looked for among all there are.
fn n_log_n(run: Run) -> f64 {
    run.entries as f64 * ((run.entries + run.durable) as f64).ln()
}

fn run_goal(run: &Run) -> Option<Row> {
    let most = match run.entries {
        100 => 2.0,
        10_000 => 90.0,
        _ => return None,
    };
    if run.durable < DURABLE {
        return None;
    }
    let took = run.embed_s + run.decide_s;
    Some(Row {
        what: format!(
            "consolidating {} entries with {} durable ones",
            whole(run.entries as f64),
            whole(run.durable as f64)
        ),
        goal: format!("< {} s", whole(most)),
        measured: format!("{} s, {} s of it embedding", number(took), number(run.embed_s)),
        verdict: verdict(Goal::Below(most), took),
    })
}

fn resident_goal(s: &Searches) -> Option<Row> {
    let held = s.seen.after.sum() / MB;
    (s.entries == 100_000 && s.seen.with_model).then(|| Row {
        what: "100,000 entries and the model: resident, after searching".into(),
        goal: "< 300 MB".into(),
        measured: format!("{} MB", whole(held)),
        verdict: verdict(Goal::Below(300.0), held),
    })
}

/// What opening adds is small beside what there is: a vector alone has 1.5 kB.
fn opening_goal(s: &Searches) -> Option<Row> {
    let (grew, all) = ((s.seen.opened.sum() - s.seen.before.sum()) / MB, s.entries as f64 * 1536.0 / 1e6);
    (s.entries == 1_000_000).then(|| Row {
        what: "1,000,000 entries: starting does not load them all".into(),
        goal: format!("< {} MB of vectors", whole(all)),
        measured: format!("{} MB, {} ms", whole(grew), whole(s.seen.open_ms)),
        verdict: verdict(Goal::Below(all / 10.0), grew),
    })
}

fn quality(out: &mut String, examined: &Examined) {
    let Some(all) = examined.categories.first() else { return };
    let _ = writeln!(
        out,
        "\n## What memory finds\n\n\
         {} conversations of LoCoMo with {} turns, imported turn by turn, and {} questions whose evidence is known. *BM25* is memory's own index of words\n\
         alone, *vectors* the cosine of the question's vector and each turn's, *hybrid* the product's own search. Recall counts each turn of the\n\
         evidence that stands among the first 1, 5, 10, 20; MRR is the mean of 1 / the place of the first, and 0 beyond 20. The ranking's nine weights were\n\
         learnt on these conversations; learnt on the others each time, recall at 10 is within a point\n\
         ([decision 0050](decisions/0050-how-memories-are-ranked.md)). The last column is how far hybrid stands above BM25 in points of recall at 10 and of MRR:\n\
         the middle 95 % of 10,000 draws of the questions, in pairs.\n",
        examined.conversations,
        whole(examined.turns as f64),
        all.questions
    );
    out.push_str(
        "| questions | | R@1 | R@5 | R@10 | R@20 | MRR | above BM25 |\n|---|---|---|---|---|---|---|---|\n",
    );
    for category in &examined.categories {
        for method in Method::ALL {
            let (name, words, above) = match method {
                Method::Bm25 => {
                    (format!("{} ({})", name(category), category.questions), "BM25", String::new())
                }
                Method::Vectors => (String::new(), "vectors", String::new()),
                Method::Hybrid => (String::new(), "**hybrid**", above(category)),
            };
            let cells = cells(&category.figures[method as usize]);
            let _ = writeln!(out, "| {name} | {words} | {cells} | {above} |");
        }
    }
    out.push_str("\nWhat each signal adds: hybrid with one left out.\n\n| without | R@1 | R@5 | R@10 | R@20 | MRR |\n|---|---|---|---|---|---|\n");
    for (name, figures) in &examined.ablations {
        let _ = writeln!(out, "| {name} | {} |", cells(figures));
    }
    if examined.shapes.is_empty() {
        return;
    }
    out.push_str("\nThe same turns imported in other shapes.\n\n| shape | R@1 | R@5 | R@10 | R@20 | MRR |\n|---|---|---|---|---|---|\n");
    for (shape, figures) in &examined.shapes {
        let _ = writeln!(out, "| {} | {} |", shape.as_str(), cells(figures));
    }
}

fn cells(figures: &Figures) -> String {
    let [a, b, c, d, reciprocal] = *figures;
    let recall: Vec<String> = [a, b, c, d].iter().map(|it| format!("{:.1}", 100.0 * it)).collect();
    format!("{} | {reciprocal:.3}", recall.join(" | "))
}

fn above(category: &Category) -> String {
    let [ten, reciprocal] =
        category.above.map(|(low, high)| format!("{:+.1} to {:+.1}", 100.0 * low, 100.0 * high));
    format!("{ten}; {reciprocal}")
}

fn capture(out: &mut String, c: &Captures) {
    let rounds = c.ours.slices.len();
    let each = c.ours.durations_us.len() / rounds.max(1);
    let _ = writeln!(
        out,
        "\n## Capture\n\nA fact is redacted, judged, sealed and durable when a capture returns. Beside it the journal alone, which is given a text of the same length to seal,\n\
         or a plain entry of that length. {rounds} rounds of {each}, in turns; then {} callers of one memory.\n\n\
         | | median, µs | p99, µs |\n|---|---|---|",
        c.callers
    );
    for (name, series) in [("plain entry", &c.plain), ("sealed text", &c.sealed), ("capture", &c.ours)] {
        let spread = Spread::of(&series.medians());
        let _ = writeln!(
            out,
            "| {name} | {} ({}–{}) | {} |",
            whole(spread.median),
            whole(spread.min),
            whole(spread.max),
            whole(quantile(&series.durations_us, 0.99))
        );
    }
    let _ = writeln!(
        out,
        "| capture, {} callers | {} | {} |",
        c.callers,
        whole(median(&c.crowd_us)),
        whole(quantile(&c.crowd_us, 0.99))
    );
    calm(out, c.rounds.and(c.crowd_rounds));
}

fn embedding(out: &mut String, e: &Embeddings) {
    let _ = writeln!(
        out,
        "\n## Embedding\n\nTexts a second with the same weights and threads, in turns; in brackets by processor time. Ours uses {}. *onnxruntime* has the graph its own\n\
         optimizer makes of the model, *candle* its own BERT. Vectors were compared and agree. Short texts have about 12 tokens, long ones 144.\n",
        e.instructions
    );
    let _ = writeln!(out, "| texts | {} |\n|---{}|", e.who.join(" | "), "|---".repeat(e.who.len()));
    for case in &e.cases {
        let figures = case.per_s.iter().zip(&case.per_cpu_s);
        let figures: Vec<String> = figures
            .map(|(clock, cpu)| format!("{} ({})", number(median(clock)), number(median(cpu))))
            .collect();
        let _ =
            writeln!(out, "| {} | {} |", case_name(case).trim_start_matches("texts "), figures.join(" | "));
    }
}

fn searches(out: &mut String, searched: &[Searches]) {
    if searched.is_empty() {
        return;
    }
    out.push_str(
        "\n## Search in spaces of many sizes\n\nMade-up conversations of turns with 8 to 23 words, imported as anybody would; made-up vectors in place of the model's. Each question names a speaker and has\n\
         four words, some rare; its vector is handed in. Everything else is the product's: both indexes, the ranking, reading ten hits from the journal. In a process\n\
         of its own with the model loaded; *start* is opening the memory. MB are of the process: its own memory and pages of files it has touched.\n\n\
         | entries | p50, ms | p99 | with embedding | start, ms | MB before, after start | after searching | filling it, s: texts, vectors |\n|---|---|---|---|---|---|---|---|\n",
    );
    for s in searched {
        let seen = &s.seen;
        let mb = |held: f64| whole(held / MB);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {}, {} | {} ({} its own) | {}, {} |",
            whole(s.entries as f64),
            number(median(&seen.ms)),
            number(quantile(&seen.ms, 0.99)),
            number(median(&seen.whole_ms)),
            number(seen.open_ms),
            mb(seen.before.sum()),
            mb(seen.opened.sum()),
            mb(seen.after.sum()),
            mb(seen.after.own),
            whole(s.import_s),
            whole(s.vectors_s)
        );
    }
}

fn near(out: &mut String, n: &Nears) {
    let _ = writeln!(
        out,
        "\n## {} vectors\n\nMade-up vectors, 1,000 queries, the ten nearest, one thread; recall against an exact search. *Width* is how many rows a walk keeps (`ef`); ours is {USUAL_WIDTH} unless told.\n",
        whole(n.vectors as f64)
    );
    let theirs = n.theirs.as_ref();
    out.push_str("| width | ours: recall | queries a second | hnswlib: recall | queries a second |\n|---|---|---|---|---|\n");
    for (at, ours) in n.ours.at.iter().enumerate() {
        let theirs = theirs.and_then(|theirs| theirs.at.get(at));
        let cell = |at: Option<&At>| match at {
            Some(at) => format!("{:.4} | {}", at.recall, whole(median(&at.per_s))),
            None => "– | –".to_owned(),
        };
        let _ = writeln!(out, "| {} | {} | {} |", ours.width, cell(Some(ours)), cell(theirs));
    }
    let Some(theirs) = theirs else { return };
    let _ = writeln!(
        out,
        "\nOpening took {} s (hnswlib {} s); the process grew by {} MB until all was asked (hnswlib {} MB: it holds the vectors in full).",
        number(n.ours.open_s),
        number(theirs.open_s),
        whole(n.ours.resident_mib / MB),
        whole(theirs.resident_mib / MB)
    );
    if let (Some(ours), Some(theirs)) = (n.ours.finding(RECALL), theirs.finding(RECALL)) {
        let spread = Spread::of(&ratios(&ours.per_s, &theirs.per_s));
        let _ = writeln!(
            out,
            "Each at the narrowest walk that finds {RECALL}: {} × ({}–{}).",
            number(spread.median),
            number(spread.min),
            number(spread.max)
        );
    }
}

fn consolidation(out: &mut String, c: &Consolidations) {
    out.push_str(
        "\n## Consolidation\n\nFacts of which an eighth was said before in other words, captured one by one; then a run, with the real model.\n\n\
         | entries | durable before | embedding, s | deciding, s | an entry, ms | given up for another |\n|---|---|---|---|---|---|\n",
    );
    for run in &c.runs {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            whole(run.entries as f64),
            whole(run.durable as f64),
            number(run.embed_s),
            number(run.decide_s),
            number(1e3 * run.decide_s / run.entries as f64),
            whole(run.merged as f64)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::Slice;
    use crate::memory::search::{Resident, Seen};

    fn series(median_us: f64) -> Series {
        let slice = Slice { median_us, p99_us: median_us, rate: 1e6 / median_us, cpu_us: 1.0 };
        Series { slices: vec![slice; 3], durations_us: vec![median_us; 30] }
    }

    fn category(number: Option<u64>, ten: f64, above: (f64, f64)) -> Category {
        let hybrid = [0.3, 0.6, ten, 0.9, 0.6];
        Category { number, questions: 10, figures: [[0.1; 5], [0.2; 5], hybrid], above: [above; 2] }
    }

    fn searches(entries: usize, ms: f64) -> Searches {
        let held = |own: f64| Resident { own, mapped: 100.0 };
        let seen = Seen {
            with_model: true,
            ms: vec![ms; 9],
            before: held(10.0),
            opened: held(30.0),
            after: held(250.0),
            ..Seen::default()
        };
        Searches { entries, seen, ..Searches::default() }
    }

    fn walks(recall: f64, per_s: f64) -> Walks {
        let at = |width: usize, recall: f64, per_s: f64| At { width, recall, per_s: vec![per_s; 2] };
        Walks {
            at: vec![at(32, recall - 0.1, 2.0 * per_s), at(USUAL_WIDTH, recall, per_s)],
            ..Walks::default()
        }
    }

    fn remembered() -> Remembered {
        Remembered {
            examined: Some(Examined {
                conversations: 1,
                turns: 1000,
                categories: vec![category(None, 0.8, (0.1, 0.2)), category(Some(2), 0.7, (-0.2, -0.1))],
                ablations: vec![("words", [0.1; 5])],
                shapes: Vec::new(),
            }),
            captured: Captures {
                plain: series(100.0),
                sealed: series(120.0),
                ours: series(150.0),
                callers: 16,
                crowd_us: vec![900.0; 100],
                ..Captures::default()
            },
            embedded: Some(Embeddings {
                instructions: "Avx2".into(),
                who: vec!["Holdfast", "onnxruntime", "candle"],
                cases: vec![Case {
                    texts: "short",
                    batch: 1,
                    threads: 1,
                    per_s: vec![vec![120.0], vec![100.0], vec![100.0]],
                    per_cpu_s: vec![vec![120.0], vec![100.0], vec![100.0]],
                }],
            }),
            searched: vec![searches(10_000, 2.5), searches(100_000, 4.0), searches(1_000_000, 14.0)],
            near: vec![
                Nears { vectors: 100_000, ours: walks(0.99, 90.0), theirs: Some(walks(0.99, 100.0)) },
                Nears { vectors: 1_000_000, ours: walks(0.99, 90.0), theirs: None },
            ],
            consolidated: Some(Consolidations {
                runs: vec![
                    Run { entries: 100, durable: 10_000, embed_s: 0.5, decide_s: 0.1, merged: 12 },
                    Run { entries: 10_000, durable: 10_100, embed_s: 20.0, decide_s: 80.0, merged: 1200 },
                ],
            }),
        }
    }

    #[test]
    fn each_goal_of_memory_is_judged_by_what_was_measured() {
        let rows = goals(&remembered());
        for (begin, verdict) in [
            ("LoCoMo, turn by turn: recall at 10", "met"),
            ("LoCoMo: mean reciprocal rank", "met"),
            ("LoCoMo: categories significantly below BM25", "**not met**"),
            ("capture, durable, against a bare append of the same sealed text", "met"),
            ("the same, against a plain entry", "**not met**"),
            ("capture, 16 callers: p99", "met"),
            ("embedding texts short, batch 1, a thread, against onnxruntime", "met"),
            ("embedding texts short, batch 1, a thread, against candle", "**not met**"),
            ("search among 10,000", "**not met**"),
            ("search among 100,000", "met"),
            ("search among 1,000,000", "met"),
            ("100,000 vectors: queries", "**not met**"),
            ("1,000,000 vectors: recall", "met"),
            ("consolidating 100 entries", "met"),
            ("consolidating 10,000 entries", "**not met**"),
            ("deciding about 10,000 entries", "**not met**"),
            ("100,000 entries and the model", "**not met**"),
            ("1,000,000 entries: starting", "met"),
        ] {
            let row = rows.iter().find(|row| row.what.starts_with(begin));
            let row = row.unwrap_or_else(|| panic!("no row begins with {begin:?}"));
            assert_eq!(row.verdict, verdict, "{}: {}", row.what, row.measured);
        }
    }

    #[test]
    fn sizes_that_no_goal_is_about_are_not_judged() {
        let mut m = remembered();
        m.searched = vec![searches(50_000, 1.0)];
        m.near = vec![Nears { vectors: 50_000, ours: walks(0.99, 9.0), theirs: Some(walks(0.99, 1.0)) }];
        let rows = goals(&m);
        assert!(rows.iter().all(|row| !row.what.contains("50,000")));
    }

    #[test]
    fn the_page_has_every_method_every_category_and_what_each_signal_adds() {
        let mut out = String::new();
        sections(&mut out, &remembered());
        for line in [
            "| all (10) | BM25 | 10.0 | 10.0 | 10.0 | 10.0 | 0.100 |  |",
            "|  | **hybrid** | 30.0 | 60.0 | 70.0 | 90.0 | 0.600 | -20.0 to -10.0; -20.0 to -10.0 |",
            "| words | 10.0 | 10.0 | 10.0 | 10.0 | 0.100 |",
            "| 128 | 0.9900 | 90 | 0.9900 | 100 |",
            "| 128 | 0.9900 | 90 | – | – |",
        ] {
            assert!(out.lines().any(|it| it == line), "{line}\n{out}");
        }
    }
}
