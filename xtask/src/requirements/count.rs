//! Bringing pages, claims, decisions and the status file together: text in, report out.
//!
//! A row has one standing, the first that applies: shown, amended, field, later, not shown. A row that a test shows
//! is shown whatever else was said about it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde::Serialize;

use super::row::{Catalog, RowId, resolve, resolve_list};
use super::status::{Selection, Status};
use super::{STATUS, claim, decision, page};

/// Everything the counting looks at: paths with their texts.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub(crate) pages: Vec<(String, String)>,
    pub(crate) decisions: Vec<(String, String)>,
    pub(crate) tests: Vec<(String, String)>,
    pub(crate) status: String,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) pages: Vec<PageCount>,
    pub(crate) totals: Counts,
    /// Each disagreement as one line, with the place it was found.
    pub(crate) problems: Vec<String>,
}

impl Report {
    pub(crate) fn has_page(&self, name: &str) -> bool {
        self.pages.iter().any(|page| page.page == name)
    }
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct PageCount {
    pub(crate) page: String,
    #[serde(flatten)]
    pub(crate) counts: Counts,
    pub(crate) not_shown_ids: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) rows: usize,
    pub(crate) shown: usize,
    pub(crate) amended: usize,
    pub(crate) field: usize,
    pub(crate) later: usize,
    pub(crate) not_shown: usize,
}

/// Fails only when the status file cannot be read as such; every other disagreement is a problem in the report.
pub(crate) fn count(input: &Input) -> anyhow::Result<Report> {
    let status: Status = toml::from_str(&input.status).with_context(|| format!("reading {STATUS}"))?;
    let mut problems = Vec::new();
    let catalog = catalog(&input.pages, &mut problems);
    let standing = Standing {
        shown: shown(&input.tests, &catalog, &mut problems),
        amended: amended(&status, &input.decisions, &catalog, &mut problems),
        field: selected("field", &status.field, &catalog, &mut problems),
        later: selected("later", &status.later, &catalog, &mut problems),
    };
    let pages: Vec<PageCount> = page_names(&input.pages).map(|name| standing.page(name, &catalog)).collect();
    let totals = total(&pages);
    Ok(Report { pages, totals, problems })
}

/// Which rows have been said to be what.
struct Standing {
    shown: BTreeSet<RowId>,
    amended: BTreeSet<RowId>,
    field: BTreeSet<RowId>,
    later: BTreeSet<RowId>,
}

impl Standing {
    fn page(&self, name: &str, catalog: &Catalog) -> PageCount {
        let mut page = PageCount { page: name.to_owned(), ..PageCount::default() };
        for (id, _) in catalog.iter().filter(|(_, on)| *on == name) {
            page.counts.rows += 1;
            *self.slot(id, &mut page.counts) += 1;
            if self.is_owed(id) {
                page.not_shown_ids.push(id.to_string());
            }
        }
        page
    }

    /// The number this row adds to. The order of the arms is the order of precedence.
    fn slot<'a>(&self, id: &RowId, count: &'a mut Counts) -> &'a mut usize {
        match id {
            id if self.shown.contains(id) => &mut count.shown,
            id if self.amended.contains(id) => &mut count.amended,
            id if self.field.contains(id) => &mut count.field,
            id if self.later.contains(id) => &mut count.later,
            _ => &mut count.not_shown,
        }
    }

    fn is_owed(&self, id: &RowId) -> bool {
        [&self.shown, &self.amended, &self.field, &self.later].iter().all(|rows| !rows.contains(id))
    }
}

fn page_names(pages: &[(String, String)]) -> impl Iterator<Item = &str> {
    pages.iter().map(|(path, _)| decision::name(path))
}

fn total(pages: &[PageCount]) -> Counts {
    let mut total = Counts::default();
    for PageCount { counts, .. } in pages {
        total.rows += counts.rows;
        total.shown += counts.shown;
        total.amended += counts.amended;
        total.field += counts.field;
        total.later += counts.later;
        total.not_shown += counts.not_shown;
    }
    total
}

fn catalog(pages: &[(String, String)], problems: &mut Vec<String>) -> Catalog {
    let mut catalog = Catalog::new();
    let mut first_seen: BTreeMap<RowId, String> = BTreeMap::new();
    for (path, text) in pages {
        let rows = page::rows(text);
        if rows.is_empty() {
            problems.push(format!("{path}: the page has no rows"));
        }
        for (line, id) in rows {
            let place = format!("{path}:{line}");
            if let Some(earlier) = first_seen.get(&id) {
                problems.push(format!("{place}: {id} stands already at {earlier}"));
                continue;
            }
            catalog.insert(id.clone(), decision::name(path).to_owned());
            first_seen.insert(id, place);
        }
    }
    catalog
}

fn shown(tests: &[(String, String)], catalog: &Catalog, problems: &mut Vec<String>) -> BTreeSet<RowId> {
    let mut shown = BTreeSet::new();
    for (path, text) in tests {
        for claim in claim::claims(path, text) {
            let place = format!("{path}:{}", claim.line);
            if !claim.in_test {
                problems.push(format!("{place}: a claim outside a test; move it to the test that shows it"));
                continue;
            }
            let (rows, wrong) = resolve_list(&claim.ids, catalog);
            shown.extend(rows);
            problems.extend(wrong.into_iter().map(|why| format!("{place}: {why}")));
        }
    }
    shown
}

/// The amended rows, when the status file and the decision pages say the same about them.
fn amended(
    status: &Status,
    decisions: &[(String, String)],
    catalog: &Catalog,
    problems: &mut Vec<String>,
) -> BTreeSet<RowId> {
    let by_page = amended_by_page(decisions, catalog, problems);
    let by_status = amended_by_status(status, catalog, problems);
    for (name, rows) in &by_status {
        match by_page.get(name) {
            None => {
                problems.push(format!("{STATUS}: [amended] names {name}, but there is no such decision page"))
            }
            Some(named) => problems.extend(rows.difference(named).map(|id| {
                format!("{STATUS}: {id} is given to {name}, whose `Amends:` lines do not name it")
            })),
        }
    }
    let nothing = BTreeSet::new();
    for (name, named) in &by_page {
        let missing = named.difference(by_status.get(name).unwrap_or(&nothing));
        problems.extend(
            missing.map(|id| format!("{name}: amends {id}, which {STATUS} does not say under [amended]")),
        );
    }
    by_status.into_values().flatten().collect()
}

fn amended_by_page(
    decisions: &[(String, String)],
    catalog: &Catalog,
    problems: &mut Vec<String>,
) -> BTreeMap<String, BTreeSet<RowId>> {
    let mut by_page = BTreeMap::new();
    for (path, text) in decisions {
        let rows: &mut BTreeSet<RowId> = by_page.entry(decision::name(path).to_owned()).or_default();
        for (line, list) in decision::amends(text) {
            let (found, wrong) = resolve_list(list, catalog);
            rows.extend(found);
            problems.extend(wrong.into_iter().map(|why| format!("{path}:{line}: {why}")));
        }
    }
    by_page
}

fn amended_by_status(
    status: &Status,
    catalog: &Catalog,
    problems: &mut Vec<String>,
) -> BTreeMap<String, BTreeSet<RowId>> {
    let mut by_status = BTreeMap::new();
    for (name, items) in &status.amended {
        let rows: &mut BTreeSet<RowId> = by_status.entry(name.clone()).or_default();
        for item in items {
            match resolve(item, catalog) {
                Ok(found) => rows.extend(found),
                Err(why) => problems.push(format!("{STATUS}: [amended] {name}: {why}")),
            }
        }
    }
    by_status
}

fn selected(
    section: &str,
    by_page: &BTreeMap<String, Selection>,
    catalog: &Catalog,
    problems: &mut Vec<String>,
) -> BTreeSet<RowId> {
    let mut rows = BTreeSet::new();
    for (page, selection) in by_page {
        let (found, wrong) = selection.resolve(page, catalog);
        rows.extend(found);
        problems.extend(wrong.into_iter().map(|why| format!("{STATUS}: [{section}] {page}: {why}")));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Memory\n\n| MEM-001 | a |\n| MEM-002 | b |\n| MEM-003 | c |\n| MEM-004 | d |\n| MEM-F01 | e |\n";
    const DECISION: &str = "# 0001: Bytes\n\nStatus: accepted\nAmends: MEM-002\n";
    const CLAIM: &str = concat!("//", " shows: MEM-001\n");
    const STATUS_TEXT: &str = "[amended]\n'0001-bytes' = ['MEM-002']\n[field]\nmemory = ['MEM-003']\n[later]\nmemory = ['MEM-004']\n";

    fn input() -> Input {
        let file = |path: &str, text: &str| vec![(path.to_owned(), text.to_owned())];
        Input {
            pages: file("docs/spec/memory.md", PAGE),
            decisions: file("docs/decisions/0001-bytes.md", DECISION),
            tests: file("crates/journal/tests/a.rs", CLAIM),
            status: STATUS_TEXT.to_owned(),
        }
    }

    /// Changes the sample, counts, and compares the standing of the page and the problems.
    fn check(change: impl FnOnce(&mut Input), expected: &str) {
        let mut input = input();
        change(&mut input);
        let report = count(&input).unwrap();
        let t = &report.totals;
        let mut told = vec![format!("{} {} {} {} {}", t.shown, t.amended, t.field, t.later, t.not_shown)];
        told.extend(report.problems);
        assert_eq!(told.join("\n"), expected);
    }

    #[test]
    fn each_row_has_one_standing() {
        check(|_| {}, "1 1 1 1 1");
        let report = count(&input()).unwrap();
        assert_eq!(report.pages[0].not_shown_ids, ["MEM-F01"]);
    }

    #[test]
    fn shown_goes_before_all_else() {
        check(|i| i.tests[0].1 = CLAIM.replace("MEM-001", "MEM-001..MEM-004"), "4 0 0 0 1");
        check(|i| i.status = STATUS_TEXT.replace("['MEM-004']", "['*']"), "1 1 1 2 0");
    }

    #[test]
    fn a_wrong_claim_is_told_with_its_place() {
        check(
            |i| i.tests[0].1 = CLAIM.replace("MEM-001", "MEM-001, MEM-099"),
            "1 1 1 1 1\ncrates/journal/tests/a.rs:1: there is no row MEM-099",
        );
        check(
            |i| i.tests[0].0 = "crates/journal/src/lib.rs".to_owned(),
            "0 1 1 1 2\ncrates/journal/src/lib.rs:1: a claim outside a test; move it to the test that shows it",
        );
    }

    #[test]
    fn status_and_decisions_must_agree() {
        check(
            |i| i.decisions.clear(),
            "1 1 1 1 1\ndocs/spec/status.toml: [amended] names 0001-bytes, but there is no such decision page",
        );
        check(
            |i| i.decisions[0].1 = DECISION.replace("MEM-002", "MEM-003"),
            "1 1 1 1 1\ndocs/spec/status.toml: MEM-002 is given to 0001-bytes, whose `Amends:` lines do not name it\n\
             0001-bytes: amends MEM-003, which docs/spec/status.toml does not say under [amended]",
        );
        check(
            |i| i.decisions[0].1 = DECISION.replace("MEM-002", "MEM-002, MEM-777"),
            "1 1 1 1 1\ndocs/decisions/0001-bytes.md:4: there is no row MEM-777",
        );
    }

    #[test]
    fn the_status_file_names_known_rows_and_no_empty_ranges() {
        check(
            |i| i.status = STATUS_TEXT.replace("MEM-003", "MEM-003..MEM-002"),
            "1 1 0 1 2\ndocs/spec/status.toml: [field] memory: the range MEM-003..MEM-002 is empty",
        );
        check(
            |i| i.status = STATUS_TEXT.replace("['MEM-002']", "['MEM-002', 'MEM-099']"),
            "1 1 1 1 1\ndocs/spec/status.toml: [amended] 0001-bytes: there is no row MEM-099",
        );
        let unreadable = Input { status: "[soon]\n".to_owned(), ..input() };
        assert!(count(&unreadable).is_err());
    }

    #[test]
    fn an_id_stands_once() {
        check(
            |i| i.pages[0].1.push_str("| MEM-001 | again |\n"),
            "1 1 1 1 1\ndocs/spec/memory.md:8: MEM-001 stands already at docs/spec/memory.md:3",
        );
        check(
            |i| i.pages.push(("docs/spec/empty.md".to_owned(), "# Empty\n".to_owned())),
            "1 1 1 1 1\ndocs/spec/empty.md: the page has no rows",
        );
    }
}
