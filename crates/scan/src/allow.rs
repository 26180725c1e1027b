//! Comments that let a finding pass: `holdfast: allow RULE — reason`, on its line or alone on the line before.
//!
//! Any comment syntax will do: what stands before the words is not read, except that a comment on the line before must
//! stand alone there, or it would speak for two lines. Without a reason it does not count.

use std::ops::Range;

use crate::found::Note;

/// How far from a finding its line is read. A comment further away on a line that long helps no reader either.
const REACH: usize = 4096;

/// What the comments around a finding say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Nothing,
    Allowed,
    /// A comment that does not count, and why.
    ButNot(Note),
}

/// Whether a comment beside the span allows this rule.
pub(crate) fn said(text: &[u8], span: &Range<usize>, rule: &str) -> Said {
    let line = line_around(text, span);
    let own = judged(&text[line.clone()], rule);
    if own != Said::Nothing {
        return own;
    }
    let before = line_before(text, line.start);
    let alone = marker_at(before).is_some_and(|at| stands_alone(&before[..at]));
    if alone { judged(before, rule) } else { Said::Nothing }
}

/// The line in which the span begins, as far as it is read.
fn line_around(text: &[u8], span: &Range<usize>) -> Range<usize> {
    let earliest = span.start.saturating_sub(REACH);
    let start = memchr::memrchr(b'\n', &text[earliest..span.start]).map_or(earliest, |n| earliest + n + 1);
    // Of a span of several lines, the first is the one that is reported.
    let first_end = memchr::memchr(b'\n', &text[span.clone()]).map_or(span.end, |n| span.start + n);
    let latest = text.len().min(first_end.saturating_add(REACH));
    let end = memchr::memchr(b'\n', &text[first_end..latest]).map_or(latest, |n| first_end + n);
    start..end
}

fn line_before(text: &[u8], start: usize) -> &[u8] {
    if start == 0 || text[start - 1] != b'\n' {
        return &[];
    }
    let end = start - 1;
    let earliest = end.saturating_sub(REACH);
    let from = memchr::memrchr(b'\n', &text[earliest..end]).map_or(earliest, |n| earliest + n + 1);
    &text[from..end]
}

fn judged(line: &[u8], rule: &str) -> Said {
    let Some(at) = marker_at(line) else { return Said::Nothing };
    let words = String::from_utf8_lossy(&line[at..]);
    let Some((named, reason)) = read(&words) else { return Said::ButNot(Note::AllowedWithoutReason) };
    if named != "any" && named != rule {
        return Said::ButNot(Note::AllowedForAnother { rule: named.to_owned() });
    }
    if is_reason(reason) { Said::Allowed } else { Said::ButNot(Note::AllowedWithoutReason) }
}

const HOUSE: &[u8] = b"holdfast:";

/// Where `holdfast: allow` begins in a line.
fn marker_at(line: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(line, HOUSE)
        .find(|at| line[at + HOUSE.len()..].trim_ascii_start().starts_with(b"allow"))
}

/// `holdfast: allow RULE — reason`, as rule and reason.
fn read(words: &str) -> Option<(&str, &str)> {
    let rest = words.strip_prefix("holdfast:")?.trim_start().strip_prefix("allow")?.trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (rule, rest) = rest.split_at(end);
    let rest = rest.trim_start();
    let reason = ["—", "–", "--", ":", "-"].iter().find_map(|mark| rest.strip_prefix(mark))?;
    (!rule.is_empty()).then_some((rule, reason))
}

/// A reason has a word in it; what closes a comment is none.
fn is_reason(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphanumeric()).count() >= 3
}

/// Nothing but what opens a comment stands before it.
fn stands_alone(before: &[u8]) -> bool {
    let opening = before.trim_ascii();
    opening.eq_ignore_ascii_case(b"rem")
        || opening.iter().all(|byte| byte.is_ascii_punctuation() || *byte == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "github_token";

    fn check(text: &str, expected: &Said) {
        let start = text.find("SECRET").unwrap();
        assert_eq!(said(text.as_bytes(), &(start..start + 6), RULE), *expected, "{text}");
    }

    #[test]
    fn a_comment_with_a_reason_allows() {
        for text in [
            "k = SECRET # holdfast: allow github_token — revoked in 2024",
            "k = SECRET // holdfast: allow any -- an example of the docs",
            "k = SECRET /* holdfast:allow github_token: fixture */",
            "# holdfast: allow any – fixture\nk = SECRET",
            "<!-- holdfast: allow any - fixture -->\r\n<k>SECRET</k>",
            "REM holdfast: allow any: fixture\nset K=SECRET",
            "/* holdfast: allow any: fixture */ k = SECRET\nmore",
        ] {
            check(text, &Said::Allowed);
        }
    }

    #[test]
    fn a_comment_that_does_not_count_is_told() {
        let without = Said::ButNot(Note::AllowedWithoutReason);
        for text in [
            "k = SECRET # holdfast: allow github_token",
            "k = SECRET # holdfast: allow",
            "k = SECRET /* holdfast: allow any -- */",
            "# holdfast: allow any:\nk = SECRET",
        ] {
            check(text, &without);
        }
        let other = Said::ButNot(Note::AllowedForAnother { rule: "aws_key".into() });
        check("k = SECRET # holdfast: allow aws_key — fixture", &other);
    }

    #[test]
    fn a_comment_speaks_for_one_line() {
        for text in [
            "a = x # holdfast: allow any — fixture\nk = SECRET",
            "# holdfast: allow any — fixture\n\nk = SECRET",
            "k = SECRET\n# holdfast: allow any — fixture",
            "k = SECRET # holdfast is allowed any day: yes",
        ] {
            check(text, &Said::Nothing);
        }
    }

    #[test]
    fn a_key_of_many_lines_is_allowed_at_its_first() {
        let text = b"# holdfast: allow any: test key\nBEGIN\nmiddle\nEND # holdfast: allow\n";
        assert_eq!(said(text, &(32..48), RULE), Said::Allowed);
    }
}
