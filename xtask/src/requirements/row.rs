//! The id of a requirement (`MEM-041`, `HRD-F12`), and lists of ids with ranges (`MEM-047..MEM-049`).

use std::collections::BTreeMap;
use std::fmt;

/// An id as it stands in the pages. Ordered by prefix, then by number, so that a page lists its rows in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RowId {
    /// Everything before the number, `MEM-` or `MEM-F`.
    prefix: String,
    number: u32,
    text: String,
}

impl RowId {
    /// Three capitals, a hyphen, perhaps an `F`, two to four digits; nothing else is an id.
    pub(crate) fn parse(text: &str) -> Option<RowId> {
        let (part, rest) = text.split_once('-')?;
        let digits = rest.strip_prefix('F').unwrap_or(rest);
        let well_formed = part.len() == 3
            && part.bytes().all(|b| b.is_ascii_uppercase())
            && (2..=4).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit());
        well_formed.then(|| RowId {
            prefix: text[..text.len() - digits.len()].to_owned(),
            number: digits.parse().unwrap_or_default(),
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Every row there is, and the page it stands on.
pub(crate) type Catalog = BTreeMap<RowId, String>;

/// The rows an item names: one id, or a range over the ids with the same prefix. The error says what is wrong with it.
pub(crate) fn resolve(item: &str, catalog: &Catalog) -> Result<Vec<RowId>, String> {
    match item.split_once("..") {
        None => Ok(vec![known(item, catalog)?]),
        Some((first, last)) => range(item, known(first, catalog)?, known(last, catalog)?, catalog),
    }
}

/// The rows a comma-separated list names, and a message for each item that is wrong.
pub(crate) fn resolve_list(list: &str, catalog: &Catalog) -> (Vec<RowId>, Vec<String>) {
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for item in list.split(',').map(str::trim) {
        match resolve(item, catalog) {
            Ok(found) => rows.extend(found),
            Err(why) => wrong.push(why),
        }
    }
    (rows, wrong)
}

fn known(text: &str, catalog: &Catalog) -> Result<RowId, String> {
    let id = RowId::parse(text).ok_or_else(|| format!("{text:?} is not the id of a row"))?;
    if catalog.contains_key(&id) { Ok(id) } else { Err(format!("there is no row {id}")) }
}

fn range(item: &str, first: RowId, last: RowId, catalog: &Catalog) -> Result<Vec<RowId>, String> {
    if first.prefix != last.prefix {
        return Err(format!("the range {item} has ends of two kinds"));
    }
    if first > last {
        return Err(format!("the range {item} is empty"));
    }
    Ok(catalog.range(first..=last).map(|(id, _)| id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &str, expected: &str) {
        let ids = ["MEM-001", "MEM-002", "MEM-010", "MEM-F01", "MEM-F02", "HRD-001"];
        let catalog = ids.iter().map(|id| (RowId::parse(id).unwrap(), "page".to_owned())).collect();
        let (rows, wrong) = resolve_list(list, &catalog);
        let told: Vec<String> = rows.iter().map(RowId::to_string).chain(wrong).collect();
        assert_eq!(told.join(" | "), expected, "{list}");
    }

    #[test]
    fn lists_name_known_rows_only() {
        check("MEM-001, HRD-001", "MEM-001 | HRD-001");
        check("MEM-003", "there is no row MEM-003");
        check("MEM-1", "\"MEM-1\" is not the id of a row");
        check("", "\"\" is not the id of a row");
        check("mem-001", "\"mem-001\" is not the id of a row");
    }

    #[test]
    fn ranges_run_by_number_over_one_kind() {
        check("MEM-001..MEM-010", "MEM-001 | MEM-002 | MEM-010");
        check("MEM-F01..MEM-F02", "MEM-F01 | MEM-F02");
        check("MEM-002..MEM-001", "the range MEM-002..MEM-001 is empty");
        check("MEM-001..MEM-F02", "the range MEM-001..MEM-F02 has ends of two kinds");
        check("MEM-001..MEM-009", "there is no row MEM-009");
    }
}
