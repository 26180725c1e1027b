//! The gateway's part of the page.

use std::fmt::Write as _;

use super::{Goal, Row, calm, number, times, verdict, whole};
use crate::gateway::Gated;
use crate::gateway::browser::{Loaded, SLOWER};
use crate::gateway::pages::Page;
use crate::gateway::proxy::{CONNECTIONS, Raced, Racer};
use crate::stats::{Spread, median, quantile, ratios};

/// The goals speak of so much.
const ENTRIES: u64 = 100_000;
const SAMPLES: usize = 1_000_000;
const VIEWERS: usize = 5_000;
/// Of the kernel's KiB, a MB in the goals.
const MB: f64 = 1e6 / 1024.0;

pub(super) fn goals(g: &Gated) -> Vec<Row> {
    let raced = g.raced.as_ref().map(|raced| ratios(&raced.ours.per_second, &raced.nginx.per_second));
    let grown = (g.viewed.after_kib - g.viewed.before_kib) / MB;
    vec![
        times(
            format!(
                "authenticated proxy, 1 KB, {CONNECTIONS} connections: requests per second, against nginx"
            ),
            Goal::AtLeast(0.6),
            &raced.unwrap_or_default(),
        ),
        Row {
            what: format!("{} idle viewers: memory of the daemon", whole(g.viewed.count() as f64)),
            goal: "< 200 MB".into(),
            measured: format!("{} MB more, {} MB in all", number(grown), number(g.viewed.after_kib / MB)),
            verdict: sized(g.viewed.count() >= VIEWERS, Goal::Below(200.0), grown),
        },
        worst("first load of a page, compressed", "KB", 60.0, g.pages.iter().map(first_kb)),
        Row {
            verdict: sized(
                g.entries >= ENTRIES && g.samples >= SAMPLES,
                Goal::Below(10.0),
                slowest(g.pages.iter().map(p99)).1,
            ),
            ..worst("server time of a page, p99", "ms", 10.0, g.pages.iter().map(p99))
        },
        worst(
            &format!("a page can be used, processor slowed {SLOWER} ×"),
            "ms",
            500.0,
            g.loaded.iter().flat_map(|loaded| &loaded.pages).map(|(shown, ms)| (shown.as_str(), median(ms))),
        ),
    ]
}

fn sized(is_whole: bool, goal: Goal, value: f64) -> &'static str {
    if is_whole { verdict(goal, value) } else { "another size" }
}

fn first_kb(page: &Page) -> (&str, f64) {
    (&page.shown, page.first_bytes as f64 / 1e3)
}

fn p99(page: &Page) -> (&str, f64) {
    (&page.shown, quantile(&page.server_ms, 0.99))
}

/// The page that is worst, by which a goal about all of them is judged.
fn slowest<'a>(values: impl Iterator<Item = (&'a str, f64)>) -> (&'a str, f64) {
    values.fold(("–", f64::NAN), |worst, one| if worst.1 >= one.1 { worst } else { one })
}

fn worst<'a>(what: &str, unit: &str, goal: f64, values: impl Iterator<Item = (&'a str, f64)>) -> Row {
    let (shown, value) = slowest(values);
    Row {
        what: format!("{what}: the worst page"),
        goal: format!("< {goal} {unit}"),
        measured: format!("{} {unit} (`{shown}`)", number(value)),
        verdict: verdict(Goal::Below(goal), value),
    }
}

pub(super) fn sections(out: &mut String, g: &Gated) {
    match &g.raced {
        Ok(raced) => race(out, raced),
        Err(why) => not_measured(out, "Through the gateway to a service", why),
    }
    watched(out, g);
    paged(out, g);
}

fn race(out: &mut String, raced: &Raced) {
    let _ = writeln!(
        out,
        "\n## Through the gateway to a service\n\n\
         Answers of 1 KB over {CONNECTIONS} connections that are kept, HTTP/1.1 on loopback, to one and the same service. Through the daemon every\n\
         request is that of somebody who is signed in: their cookie is checked and taken out, and the service is told who it is, signed. nginx\n\
         {} with `worker_processes auto` asks nobody. The load, the service and the proxy share the machine's processors.\n\n\
         | | requests per second | range | p50 | p99 | processor for one |\n|---|---|---|---|---|---|",
        raced.version
    );
    for (name, racer) in [("the gateway", &raced.ours), ("nginx", &raced.nginx)] {
        racer_line(out, name, racer);
    }
    calm(out, raced.rounds);
}

fn racer_line(out: &mut String, name: &str, racer: &Racer) {
    let spread = Spread::of(&racer.per_second);
    let _ = writeln!(
        out,
        "| {name} | {} | {}–{} | {} ms | {} ms | {} µs |",
        whole(spread.median),
        whole(spread.min),
        whole(spread.max),
        number(median(&racer.micros) / 1e3),
        number(quantile(&racer.micros, 0.99) / 1e3),
        number(median(&racer.cpu_micros))
    );
}

fn watched(out: &mut String, g: &Gated) {
    let (v, all) = (&g.viewed, g.viewed.count() as f64);
    let _ = writeln!(
        out,
        "\n## Viewers\n\n\
         {} who only watch: live pages and the API's events as streams, and WebSockets through the proxy to an echo, all with one session. Resident\n\
         memory of the daemon; what the kernel holds for their sockets is not in it.\n\n\
         | | |\n|---|---|\n| before | {} MB |",
        whole(all),
        number(v.before_kib / MB)
    );
    for kind in &v.kinds {
        let (count, grown) = (kind.count as f64, kind.grown_kib);
        let (more, each) = (number(grown / MB), number(grown / count));
        let _ = writeln!(out, "| {} {} | {more} MB more, {each} KiB each |", whole(count), kind.what);
    }
    let _ = writeln!(
        out,
        "| with all of them, a while later | {} MB |\n| after they left | {} MB |\n| until all were in | {} s |\n\
         | processor while they watch | {} % of a core |\n| still there at the end | {} of {} |",
        number(v.after_kib / MB),
        number(v.left_kib / MB),
        number(v.opened_s),
        number(v.cpu_percent),
        whole(v.alive as f64),
        whole(all)
    );
}

fn paged(out: &mut String, g: &Gated) {
    let browser = match &g.loaded {
        Ok(Loaded { version, .. }) => format!(
            "The last column is Chromium {version} with its processor slowed {SLOWER} × and no cache: from the beginning of\na navigation until the module has run and the document is ready."
        ),
        Err(why) => format!("In a browser: not measured, {}.", plain(why)),
    };
    let _ = writeln!(
        out,
        "\n## Pages\n\n\
         A home with {} entries, {} samples of 4 hosts and {} episodes. First load: the page with its style, module and icon as they come over\n\
         the wire, heads and all, compressed. Server time: from the question to the last byte, one client on one connection, {} requests a\n\
         page, all pages in turns. {browser}\n\n\
         | page | first load | of it the page | server p50 | p99 | slowest | usable |\n|---|---|---|---|---|---|---|",
        whole(g.entries as f64),
        whole(g.samples as f64),
        whole(g.episodes as f64),
        g.pages.first().map_or(0, |page| page.server_ms.len()),
    );
    for page in &g.pages {
        page_line(out, page, g.loaded.as_ref().ok());
    }
    calm(out, g.timed);
}

fn page_line(out: &mut String, page: &Page, loaded: Option<&Loaded>) {
    let usable = loaded.and_then(|it| it.pages.iter().find(|(shown, _)| *shown == page.shown));
    let usable = usable.map_or_else(|| "–".to_owned(), |(_, ms)| format!("{} ms", whole(median(ms))));
    let at = |q| number(quantile(&page.server_ms, q));
    let _ = writeln!(
        out,
        "| `{}` | {} KB | {} KB | {} ms | {} ms | {} ms | {usable} |",
        page.shown,
        number(page.first_bytes as f64 / 1e3),
        number(page.html_bytes as f64 / 1e3),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn not_measured(out: &mut String, title: &str, why: &str) {
    let _ = writeln!(out, "\n## {title}\n\nNot measured: {}.", plain(why));
}

/// A reason on one line.
fn plain(why: &str) -> String {
    why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::viewers::{Came, Viewed};
    use crate::weather::Rounds;

    fn page(shown: &str, first_bytes: usize, ms: f64) -> Page {
        Page {
            shown: shown.into(),
            path: shown.into(),
            html_bytes: 4_000,
            first_bytes,
            server_ms: vec![ms / 2.0, ms],
        }
    }

    fn gated() -> Gated {
        let racer = |per_second: f64| Racer {
            per_second: vec![per_second; 3],
            micros: vec![1000.0, 4000.0],
            cpu_micros: vec![50.0],
        };
        let came = |what, count| Came { what, count, grown_kib: 50_000.0 };
        let viewed = Viewed {
            kinds: vec![came("live pages", 2500), came("WebSockets", 2500)],
            before_kib: 50_000.0,
            after_kib: 150_000.0,
            alive: 5000,
            ..Viewed::default()
        };
        Gated {
            entries: ENTRIES,
            samples: SAMPLES,
            episodes: 300,
            pages: vec![page("/", 20_000, 4.0), page("/audit", 30_000, 12.0), page("/hosts", 61_000, 1.0)],
            timed: Rounds::default(),
            viewed,
            raced: Ok(Raced {
                version: "1.22.1".into(),
                ours: racer(7000.0),
                nginx: racer(10_000.0),
                ..Raced::default()
            }),
            loaded: Ok(Loaded {
                version: "140".into(),
                pages: vec![("/".into(), vec![300.0]), ("/audit".into(), vec![400.0])],
            }),
        }
    }

    #[test]
    fn each_goal_is_judged_by_the_worst_page_and_the_median_round() {
        let rows = goals(&gated());
        for (row, (measured, verdict)) in rows.iter().zip([
            ("0.70 × (0.70–0.70)", "met"),
            ("102 MB more, 154 MB in all", "met"),
            ("61.0 KB (`/hosts`)", "**not met**"),
            ("12.0 ms (`/audit`)", "**not met**"),
            ("400 ms (`/audit`)", "met"),
        ]) {
            assert_eq!((row.measured.as_str(), row.verdict), (measured, verdict), "{}", row.what);
        }
    }

    #[test]
    fn a_smaller_house_is_neither_met_nor_missed() {
        let g = Gated { entries: 10, viewed: Viewed { kinds: Vec::new(), ..gated().viewed }, ..gated() };
        let verdicts: Vec<&str> = goals(&g).iter().map(|row| row.verdict).collect();
        assert_eq!((verdicts[1], verdicts[3]), ("another size", "another size"));
    }

    #[test]
    fn peers_that_are_missing_are_said_and_nothing_is_claimed() {
        let g = Gated { raced: Err("no\nnginx".into()), loaded: Err("no chromium".into()), ..gated() };
        let rows = goals(&g);
        assert_eq!((rows[0].verdict, rows[4].verdict), ("not measured", "not measured"));
        let mut page = String::new();
        sections(&mut page, &g);
        assert!(
            page.contains("Not measured: no nginx.") && page.contains("not measured, no chromium."),
            "{page}"
        );
    }

    #[test]
    fn every_page_has_its_line() {
        let mut page = String::new();
        sections(&mut page, &gated());
        assert!(
            page.contains("| `/audit` | 30.0 KB | 4.00 KB | 6.00 ms | 12.0 ms | 12.0 ms | 400 ms |"),
            "{page}"
        );
        assert!(
            page.contains("| `/hosts` | 61.0 KB | 4.00 KB | 0.50 ms | 1.00 ms | 1.00 ms | – |"),
            "{page}"
        );
        assert!(
            page.contains("| the gateway | 7,000 | 7,000–7,000 | 2.50 ms | 4.00 ms | 50.0 µs |"),
            "{page}"
        );
        assert!(page.contains("| 2,500 WebSockets | 51.2 MB more, 20.0 KiB each |"), "{page}");
    }
}
