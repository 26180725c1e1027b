//! A file of sealed notes: Markdown whose every line is of this form, so that nothing readable can be in one.
//!
//! ```text
//! # 2026-11-18
//!
//! ### mem-2026-11-18-001 · durable
//! <!-- holdfast:sealed 4711 BASE64 -->
//! ```

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdfast_memory::{Day, MemoryId, Standing};

/// Memories in one file: sixteen kilobytes each at most, a file stays below what is read of git at once.
pub(super) const PER_FILE: u32 = 150;

const BEGIN: &str = "<!-- holdfast:sealed ";
const CLOSE: &str = " -->";
const STANDINGS: [&str; 3] = ["durable", "archived", "replaced"];

/// One memory as nobody can read it without its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub(super) id: MemoryId,
    pub(super) seq: u64,
    pub(super) standing: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// The file a memory is in, below the folder of its month.
pub(super) fn file_of(id: MemoryId) -> (String, String) {
    let day = id.day();
    let part = (id.number().get() - 1) / PER_FILE;
    (day.month().to_string(), format!("{day}-{part:03}.md"))
}

/// Of where it stands only what its id would tell anyway: that it is kept, or was.
pub(super) fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Archived => "archived",
        Standing::Merged { .. } | Standing::Superseded { .. } => "replaced",
        _ => "durable",
    }
}

pub(super) fn rendered(day: Day, all: &[Sealed]) -> String {
    let mut out = format!("# {day}\n");
    for Sealed { id, seq, standing, bytes } in all {
        let _ = write!(out, "\n### {id} · {standing}\n{BEGIN}{seq} {}{CLOSE}\n", STANDARD.encode(bytes));
    }
    out
}

/// What a file holds, or nothing where any line of it is not of this form. Whoever is killed while git takes a file in leaves one that is cut
/// off anywhere: what is left of its last memory has to be of this form too, and is passed over.
pub(super) fn parsed(text: &str) -> Option<Vec<Sealed>> {
    let (whole, cut) = text.rsplit_once('\n').unwrap_or(("", text));
    let mut lines = whole.lines();
    let mut all = Vec::new();
    let Some(first) = lines.next().filter(|_| !whole.is_empty()) else {
        return begins("# ", cut, is_of_day).then_some(all);
    };
    first.strip_prefix("# ")?.parse::<Day>().ok()?;
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let (id, standing) = line.strip_prefix("### ")?.split_once(" · ")?;
        let (id, standing) = (id.parse().ok()?, STANDINGS.into_iter().find(|known| *known == standing)?);
        let Some(line) = lines.next() else {
            return begins(BEGIN, cut, is_of_sealed).then_some(all);
        };
        let (seq, bytes) = line.strip_prefix(BEGIN)?.strip_suffix(CLOSE)?.split_once(' ')?;
        let (seq, bytes) = (seq.parse().ok()?, STANDARD.decode(bytes).ok()?);
        all.push(Sealed { id, seq, standing, bytes });
    }
    begins("### ", cut, is_of_heading).then_some(all)
}

/// Whether a line that was cut off begins like this, and goes on with what may stand there.
fn begins(mark: &str, cut: &str, goes_on: impl Fn(&str) -> bool) -> bool {
    match cut.strip_prefix(mark) {
        Some(rest) => goes_on(rest),
        None => mark.starts_with(cut),
    }
}

fn is_of_day(rest: &str) -> bool {
    rest.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

fn is_of_heading(rest: &str) -> bool {
    let (id, standing) = rest.split_once(" · ").unwrap_or((rest, ""));
    let id = id.strip_suffix([' ', '·']).unwrap_or(id).trim_end();
    let digits = id.strip_prefix("mem-").map_or("mem-".starts_with(id), is_of_day);
    digits && STANDINGS.iter().any(|known| known.starts_with(standing))
}

fn is_of_sealed(rest: &str) -> bool {
    let (seq, bytes) = rest.split_once(' ').unwrap_or((rest, ""));
    let bytes = bytes.split(CLOSE.trim_end_matches('>')).next().unwrap_or(bytes).trim_end_matches([' ', '-']);
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
    seq.bytes().all(|b| b.is_ascii_digit()) && bytes.bytes().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rendered_reads_back_and_any_other_line_is_refused() {
        let id: MemoryId = "mem-2026-11-18-151".parse().unwrap();
        let all = vec![Sealed { id, seq: 7, standing: "durable", bytes: vec![0, 1, 255] }];
        assert_eq!(file_of(id), ("2026-11".to_owned(), "2026-11-18-001.md".to_owned()));
        let text = rendered(id.day(), &all);
        assert_eq!(parsed(&text), Some(all));
        for other in [
            text.replace("durable", "a word"),
            format!("{text}\nThe port is 9096.\n"),
            text.replace("# 2026-11-18\n", "# The port is 9096.\n"),
            text.replace("sealed 7", "sealed seven"),
            "The port is 9096.".to_owned(),
            "# 2026-11-18\n\n### The port is 9096.".to_owned(),
            "# 2026-11-18\n\n### mem-2026-11-18-151 · durable\n<!-- holdfast:sealed 7 The port is 9096."
                .to_owned(),
        ] {
            assert_eq!(parsed(&other), None, "{other}");
        }
    }

    #[test]
    fn a_file_that_was_cut_off_anywhere_has_what_is_whole_in_it() {
        let id = |n: u32| format!("mem-2026-11-18-{n:03}").parse::<MemoryId>().unwrap();
        let one = |n: u32| Sealed { id: id(n), seq: 7, standing: "replaced", bytes: vec![n as u8; 40] };
        let text = rendered(id(1).day(), &[one(1), one(2)]);
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let found = parsed(&text[..end]).unwrap_or_else(|| panic!("{:?}", &text[..end]));
            assert!(found.len() <= 2 && found.iter().enumerate().all(|(n, it)| *it == one(n as u32 + 1)));
        }
        assert_eq!(parsed(&text).map(|all| all.len()), Some(2));
    }
}
