//! The rows of a spec page: table lines whose first cell is an id.

use super::row::RowId;

/// The ids of a page with their line numbers, in the order they stand there.
pub(crate) fn rows(text: &str) -> Vec<(usize, RowId)> {
    let numbered = text.lines().enumerate();
    numbered.filter_map(|(index, line)| Some((index + 1, first_cell(line)?))).collect()
}

fn first_cell(line: &str) -> Option<RowId> {
    let (cell, _) = line.strip_prefix('|')?.split_once('|')?;
    RowId::parse(cell.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, &str)]) {
        let told: Vec<_> = rows(text).into_iter().map(|(line, id)| (line, id.to_string())).collect();
        let expected: Vec<_> = expected.iter().map(|(line, id)| (*line, (*id).to_owned())).collect();
        assert_eq!(told, expected, "{text}");
    }

    #[test]
    fn only_a_first_cell_that_is_an_id_makes_a_row() {
        check(
            "| ID | Requirement |\n|---|---|\n| MEM-001 | two phases |\n| MEM-F02 | locks |",
            &[(3, "MEM-001"), (4, "MEM-F02")],
        );
        check("| FR-001 users | AGT-018 |\n| 013 | FAB-088 |", &[]);
        check("see MEM-070 | MEM-071 | and more", &[]);
    }
}
