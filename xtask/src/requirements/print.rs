//! The report as people and machines read it: at most 80 columns, no colour.

use std::fmt::Write;

use serde::Serialize;

use super::count::{Counts, PageCount, Report};

const WIDTH: usize = 80;
const INDENT: &str = "  ";

/// The table of all pages, or of one, with a line of totals.
pub(crate) fn table(report: &Report, page: Option<&str>) -> String {
    let mut out =
        line("page", ["rows", "shown", "amended", "field", "later", "not shown"].map(str::to_owned));
    for count in picked(report, page) {
        out += &counts(&count.page, &count.counts);
    }
    if page.is_none() {
        out += &counts("total", &report.totals);
    }
    out
}

/// The ids that are not shown, page by page.
pub(crate) fn list(report: &Report, page: Option<&str>) -> String {
    let mut out = String::from("\nnot shown\n");
    let owed: Vec<_> = picked(report, page).filter(|count| !count.not_shown_ids.is_empty()).collect();
    if owed.is_empty() {
        out += "  none\n";
    }
    for count in owed {
        let _ = writeln!(out, "\n{INDENT}{}", count.page);
        out += &wrapped(&count.not_shown_ids);
    }
    out
}

/// What disagrees, one line each; nothing when all is well.
pub(crate) fn problems(report: &Report) -> String {
    match report.problems.len() {
        0 => String::new(),
        n => format!("\n{}\nrequirements: {n} {}\n", report.problems.join("\n"), plural(n, "problem")),
    }
}

/// The report for machines. Its fields keep their names; more may be added.
#[derive(Serialize)]
struct Json<'a> {
    pages: Vec<&'a PageCount>,
    totals: &'a Counts,
    problems: &'a [String],
}

pub(crate) fn json(report: &Report, page: Option<&str>) -> anyhow::Result<String> {
    let pages = picked(report, page).collect();
    let json = Json { pages, totals: &report.totals, problems: &report.problems };
    Ok(serde_json::to_string_pretty(&json)?)
}

fn picked<'a>(report: &'a Report, page: Option<&'a str>) -> impl Iterator<Item = &'a PageCount> {
    report.pages.iter().filter(move |count| page.is_none_or(|name| name == count.page))
}

fn counts(name: &str, count: &Counts) -> String {
    let numbers = [count.rows, count.shown, count.amended, count.field, count.later, count.not_shown];
    line(name, numbers.map(|n| n.to_string()))
}

fn line(name: &str, cells: [String; 6]) -> String {
    let [rows, shown, amended, field, later, not_shown] = cells;
    format!("{name:<16}{rows:>8}{shown:>8}{amended:>10}{field:>8}{later:>8}{not_shown:>12}\n")
}

fn wrapped(ids: &[String]) -> String {
    let mut out = String::new();
    let mut width = WIDTH;
    for id in ids {
        if width + 2 + id.len() > WIDTH {
            let start = if out.is_empty() { "" } else { "\n" };
            let _ = write!(out, "{start}{INDENT}{INDENT}{id}");
            width = 2 * INDENT.len() + id.len();
        } else {
            let _ = write!(out, "  {id}");
            width += 2 + id.len();
        }
    }
    out + "\n"
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let ids: Vec<String> = (1..=12).map(|n| format!("MEM-{n:03}")).collect();
        let counts = Counts { rows: 190, not_shown: 12, ..Counts::default() };
        let page = PageCount { page: "memory-capture".into(), counts: counts.clone(), not_shown_ids: ids };
        Report { pages: vec![page], totals: counts, problems: vec!["a:1: wrong".into()] }
    }

    #[test]
    fn the_table_lines_up_within_80_columns() {
        let text = table(&report(), None);
        let expected = "\
page                rows   shown   amended   field   later   not shown
memory-capture       190       0         0       0       0          12
total                190       0         0       0       0          12
";
        assert_eq!(text, expected);
        assert!(list(&report(), None).lines().all(|line| line.len() <= WIDTH));
    }

    #[test]
    fn the_list_names_every_owed_row() {
        let text = list(&report(), Some("memory-capture"));
        assert!(text.contains("MEM-001") && text.contains("MEM-012"), "{text}");
        assert_eq!(list(&report(), Some("other")), "\nnot shown\n  none\n");
    }

    #[test]
    fn problems_are_counted_in_words() {
        assert_eq!(problems(&report()), "\na:1: wrong\nrequirements: 1 problem\n");
        assert_eq!(problems(&Report::default()), "");
    }

    #[test]
    fn json_has_the_same_numbers() {
        let value: serde_json::Value = serde_json::from_str(&json(&report(), None).unwrap()).unwrap();
        assert_eq!(value["totals"]["rows"], 190);
        assert_eq!(value["pages"][0]["not_shown_ids"][0], "MEM-001");
        assert_eq!(value["problems"][0], "a:1: wrong");
    }
}
