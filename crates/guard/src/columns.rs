//! Tables in text files: exported accounts, lists of logins in a wiki. The heading of a column names what stands below it.

use std::ops::Range;

use crate::keyname::{self, Promise};

/// The longest line of a table that is looked at.
const LONGEST_LINE: usize = 2048;
/// The longest heading.
const LONGEST_HEADING: usize = 32;

/// A cell below a heading that promises a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) heading: Range<usize>,
    pub(crate) promise: Promise,
    pub(crate) value: Range<usize>,
}

/// The cells of all tables of a text.
pub(crate) fn cells(text: &[u8]) -> Vec<Cell> {
    let mut found = Vec::new();
    let mut table: Option<Table> = None;
    let mut start = 0;
    for line in text.split(|b| *b == b'\n') {
        let here = start;
        start += line.len() + 1;
        if line.len() > LONGEST_LINE {
            table = None;
            continue;
        }
        match &table {
            Some(open) if open.fits(line) => {
                let cells = split(line, open.sign);
                for (index, heading, promise) in &open.columns {
                    let value = cells[*index].clone();
                    if !value.is_empty() {
                        found.push(Cell {
                            heading: heading.clone(),
                            promise: *promise,
                            value: here + value.start..here + value.end,
                        });
                    }
                }
            }
            _ => table = heading(line, here),
        }
    }
    found
}

struct Table {
    sign: u8,
    count: usize,
    columns: Vec<(usize, Range<usize>, Promise)>,
}

impl Table {
    fn fits(&self, line: &[u8]) -> bool {
        split(line, self.sign).len() == self.count
    }
}

/// The line as the head of a table, if one of its cells promises a secret.
fn heading(line: &[u8], here: usize) -> Option<Table> {
    let sign =
        [b'|', b'\t', b';', b','].into_iter().find(|sign| line.iter().filter(|b| *b == sign).count() >= 2)?;
    let cells = split(line, sign);
    // A heading is short words; a line of prose with commas is not.
    let number = |c: &Range<usize>| !c.is_empty() && line[c.clone()].iter().all(u8::is_ascii_digit);
    if cells.len() < 3
        || cells.iter().any(number)
        || cells.iter().any(|c| {
            c.len() > LONGEST_HEADING
                || line[c.clone()].iter().any(|b| matches!(b, b'(' | b'{' | b'=' | b'.' | b'['))
        })
    {
        return None;
    }
    let columns: Vec<_> = cells
        .iter()
        .enumerate()
        .filter_map(|(index, cell)| {
            let promise = keyname::promise(&line[cell.clone()]).filter(|p| *p >= Promise::Token)?;
            Some((index, here + cell.start..here + cell.end, promise))
        })
        .collect();
    (!columns.is_empty()).then_some(Table { sign, count: cells.len(), columns })
}

/// The cells of a line, without blanks, quotation marks and emphasis around them.
fn split(line: &[u8], sign: u8) -> Vec<Range<usize>> {
    let mut cells = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (i, byte) in line.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b if *b == sign && !quoted => {
                cells.push(trimmed(line, start..i));
                start = i + 1;
            }
            _ => {}
        }
    }
    cells.push(trimmed(line, start..line.len()));
    // A line between bars has nothing before its first and behind its last.
    if sign == b'|' {
        if cells.first().is_some_and(Range::is_empty) {
            cells.remove(0);
        }
        if cells.last().is_some_and(Range::is_empty) {
            cells.pop();
        }
    }
    cells
}

fn trimmed(line: &[u8], mut cell: Range<usize>) -> Range<usize> {
    let around = |b: u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'`' | b'*');
    while cell.start < cell.end && around(line[cell.start]) {
        cell.start += 1;
    }
    while cell.end > cell.start && around(line[cell.end - 1]) {
        cell.end -= 1;
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<&str> {
        cells(text.as_bytes()).into_iter().map(|c| &text[c.value]).collect()
    }

    #[test]
    fn what_stands_under_a_promising_heading_is_found() {
        assert_eq!(values("host,user,password\nweb1,ann,\"a,b1\"\nweb2,bob,c2\n\nx,y,z\n"), ["a,b1", "c2"]);
        assert_eq!(
            values("| Host | Login | Password |\n|---|---|---|\n| web1 | ann | `abc1` |\n"),
            ["---", "abc1"]
        );
        assert_eq!(values("site;user;passwd;changed\nx;ann;p1;2024\n"), ["p1"]);
    }

    #[test]
    fn prose_and_code_are_no_tables() {
        assert!(values("Hello, my password, you know, is gone.\nAnd so, too, am, I\n").is_empty());
        assert!(values("fn login(user, password, token)\nlogin(a, b, c)\n").is_empty());
    }
}
