//! Lines that are not read from left to right: written over by a terminal, turned around, or printed as a dump of bytes.

use super::markup;
use super::reader::char_at;
use super::reading::Reading;
use super::wrapped::begins_text;

/// Longer lines are not put together.
const LONGEST_LINE: usize = 4096;
/// The furthest column the cursor is moved to.
const LAST_COLUMN: usize = 4096;

/// The text with each line as a terminal shows it, where the cursor goes back in it.
pub(super) fn shown(text: &[u8]) -> Reading {
    let mut reading = Reading::with_capacity(text.len());
    let mut at = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        let end = line.len() - line.iter().rev().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let (inner, rest) = line.split_at(end);
        match on_screen(inner) {
            Some(screen) => reading.replace(at..at + inner.len(), &screen),
            None => reading.copy(inner),
        }
        reading.copy(rest);
        at += line.len();
    }
    reading
}

/// What is on the screen after a line was written; nothing if the cursor only went forward.
fn on_screen(line: &[u8]) -> Option<Vec<u8>> {
    if line.len() > LONGEST_LINE || !line.iter().any(|b| matches!(b, b'\r' | 0x1b)) {
        return None;
    }
    let mut cells: Vec<char> = Vec::new();
    let mut column: usize = 0;
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let c = char_at(rest).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut length = char_at(rest).map_or(1, char::len_utf8);
        match c {
            '\r' => column = 0,
            '\u{8}' => column = column.saturating_sub(1),
            '\u{1b}' => {
                let sequence = markup::sequence(rest)?;
                column = moved(column, &rest[..sequence.length]);
                length = sequence.length;
            }
            c if c.is_control() => {}
            c => {
                if column >= cells.len() {
                    cells.resize(column + 1, ' ');
                }
                cells[column] = c;
                column += 1;
            }
        }
        at += length;
    }
    Some(cells.iter().collect::<String>().into_bytes())
}

/// Where the cursor is after a sequence.
fn moved(column: usize, sequence: &[u8]) -> usize {
    let [0x1b, b'[', count @ .., last] = sequence else { return column };
    let count = str::from_utf8(count).ok().and_then(|n| n.parse().ok()).unwrap_or(1).clamp(1, LAST_COLUMN);
    match last {
        b'C' => (column + count).min(LAST_COLUMN),
        b'D' => column.saturating_sub(count),
        b'G' => count - 1,
        _ => column,
    }
}

/// The text with the dumps of bytes in it as what they are dumps of; words of two bytes may have the low one first.
pub(super) fn undumped(text: &[u8], low_first: bool) -> Reading {
    let mut reading = Reading::with_capacity(text.len());
    let (mut at, mut copied) = (0, 0);
    let mut dump: Option<(usize, usize, Vec<u8>)> = None;
    let finish = |reading: &mut Reading, copied: &mut usize, dump: &mut Option<(usize, usize, Vec<u8>)>| {
        if let Some((start, end, bytes)) = dump.take().filter(|(_, _, bytes)| begins_text(bytes)) {
            reading.copy(&text[*copied..start]);
            reading.replace(start..end, &bytes);
            *copied = end;
        }
    };
    for line in text.split_inclusive(|b| *b == b'\n') {
        // Something may stand before the first row.
        let before = if dump.is_none() { memchr::memmem::find(line, b"0000000").unwrap_or(0) } else { 0 };
        match row(line[before..].trim_ascii_end(), low_first) {
            Some(bytes) => {
                let (_, end, all) = dump.get_or_insert_with(|| (at + before, at, Vec::new()));
                *end = at + line.trim_ascii_end().len();
                all.extend(bytes);
            }
            None => finish(&mut reading, &mut copied, &mut dump),
        }
        at += line.len();
    }
    finish(&mut reading, &mut copied, &mut dump);
    reading.copy(&text[copied..]);
    reading
}

/// The bytes of a row: an offset, groups of hex digits, and perhaps the letters they stand for.
fn row(line: &[u8], low_first: bool) -> Option<Vec<u8>> {
    const WIDEST: usize = 32;
    let offset = line.iter().take(16).take_while(|b| b.is_ascii_hexdigit()).count();
    if !(6..=16).contains(&offset) {
        return None;
    }
    let mut rest = &line[offset..];
    rest = rest.strip_prefix(b":").unwrap_or(rest);
    let mut bytes = Vec::new();
    loop {
        let blanks = rest.iter().take_while(|b| **b == b' ').count();
        // Behind a wide gap that is not the one in the middle stand the letters.
        if blanks == 0 || (blanks > 1 && !bytes.is_empty() && bytes.len() != 8) {
            break;
        }
        let digits = rest[blanks..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let ends = matches!(rest.get(blanks + digits), None | Some(b' '));
        if !matches!(digits, 2 | 4 | 8) || !ends || bytes.len() >= WIDEST {
            break;
        }
        let group = rest[blanks..blanks + digits].chunks_exact(2);
        let group = group.filter_map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok());
        if low_first {
            bytes.extend(group.rev());
        } else {
            bytes.extend(group);
        }
        rest = &rest[blanks + digits..];
    }
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_a_terminal_shows_it() {
        for (line, shown_as) in [
            ("key:    _abc\rkey: ghp", "key: ghp_abc"),
            ("\u{1b}[5Gabcd\u{1b}[1Gghp_", "ghp_abcd"),
            ("no\r\nchange", "no\r\nchange"),
        ] {
            assert_eq!(shown(line.as_bytes()).text, shown_as.as_bytes(), "{line:?}");
        }
        assert!(shown(b"a\r\nb\r\n").is_unchanged());
    }

    #[test]
    fn a_dump_is_read_as_its_bytes() {
        let text = "see\n00000000  6d 79 20 6b 65 79 20 67  68 70 5f 61 62 63 64 65  |my key ghp_abcde|\n00000010  66 67 |fg|\nend";
        assert_eq!(undumped(text.as_bytes(), false).text, b"see\nmy key ghp_abcdefg\nend");
        let text = "0000000 6867 5f70 6261\n";
        assert_eq!(undumped(text.as_bytes(), true).text, b"ghp_ab\n");
        assert!(undumped(b"20261119 12 45\n", false).is_unchanged());
    }
}
