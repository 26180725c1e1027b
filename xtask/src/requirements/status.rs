//! `docs/spec/status.toml`: what tests cannot say about a row. The file's own head explains its format.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::row::{Catalog, RowId, resolve};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Status {
    /// By decision: the rows it amends.
    pub(crate) amended: BTreeMap<String, Vec<String>>,
    /// By page: rows only a long run on real hosts can show.
    pub(crate) field: BTreeMap<String, Selection>,
    /// By page: rows of rooms not built yet.
    pub(crate) later: BTreeMap<String, Selection>,
}

/// Rows of one page: a plain list, or a list with exceptions.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Selection {
    Rows(Vec<String>),
    Except(RowsExcept),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsExcept {
    rows: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
}

impl Selection {
    /// The selected rows of `page`, and a message for each item that is wrong.
    pub(crate) fn resolve(&self, page: &str, catalog: &Catalog) -> (Vec<RowId>, Vec<String>) {
        let (rows, except): (&[String], &[String]) = match self {
            Selection::Rows(rows) => (rows, &[]),
            Selection::Except(selection) => (&selection.rows, &selection.except),
        };
        let (mut selected, mut wrong) = rows_of_page(rows, page, catalog);
        let (excluded, more) = rows_of_page(except, page, catalog);
        selected.retain(|id| !excluded.contains(id));
        wrong.extend(more);
        (selected, wrong)
    }
}

fn rows_of_page(items: &[String], page: &str, catalog: &Catalog) -> (Vec<RowId>, Vec<String>) {
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for item in items {
        let found = if item == "*" { whole_page(page, catalog) } else { resolve(item, catalog) };
        match found {
            Ok(found) => rows.extend(found),
            Err(why) => wrong.push(why),
        }
    }
    let foreign = rows.iter().filter(|id| catalog.get(*id).is_some_and(|on| on != page));
    wrong.extend(foreign.map(|id| format!("{id} is not a row of the page {page}")));
    (rows, wrong)
}

fn whole_page(page: &str, catalog: &Catalog) -> Result<Vec<RowId>, String> {
    let rows: Vec<RowId> = catalog.iter().filter(|(_, on)| *on == page).map(|(id, _)| id.clone()).collect();
    if rows.is_empty() { Err(format!("there is no page {page} with rows")) } else { Ok(rows) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(later: &str, expected: &str) {
        let rows =
            [("MEM-001", "memory"), ("MEM-002", "memory"), ("MEM-F01", "memory"), ("HRD-001", "hardening")];
        let catalog = rows.iter().map(|(id, page)| (RowId::parse(id).unwrap(), (*page).to_owned())).collect();
        let status: Status = toml::from_str(later).unwrap();
        let mut told = Vec::new();
        for (page, selection) in &status.later {
            let (rows, wrong) = selection.resolve(page, &catalog);
            told.extend(rows.iter().map(RowId::to_string).chain(wrong));
        }
        assert_eq!(told.join(" | "), expected, "{later}");
    }

    #[test]
    fn a_selection_is_a_list_a_star_or_a_star_with_exceptions() {
        check("[later]\nmemory = ['MEM-001', 'MEM-F01']", "MEM-001 | MEM-F01");
        check("[later]\nmemory = ['*']", "MEM-001 | MEM-002 | MEM-F01");
        check("[later.memory]\nrows = ['*']\nexcept = ['MEM-001..MEM-002']", "MEM-F01");
    }

    #[test]
    fn a_selection_stays_on_its_page() {
        check("[later]\nmemory = ['HRD-001']", "HRD-001 | HRD-001 is not a row of the page memory");
        check("[later]\nlibrary = ['*']", "there is no page library with rows");
        check("[later.memory]\nrows = []\nexcept = ['MEM-009']", "there is no row MEM-009");
    }
}
