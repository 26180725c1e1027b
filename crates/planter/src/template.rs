//! Templates: how a text file with sections becomes a list of things to write.
//!
//! A file holds several templates. `==== path` begins one; the path may have slots. Within it, a line that begins with
//! `%%` begins a section and says how it is used: `any` (left out at times), `many 3-9` (written that often), `mix`
//! (neighbouring sections that say so change places). What stands before the first `%%` is written as it is.
//! Slots (`«…»`) are for `pen.rs`.

use std::ops::RangeInclusive;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template<'a> {
    pub(crate) path: &'a str,
    pub(crate) sections: Vec<Section<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section<'a> {
    pub(crate) text: &'a str,
    pub(crate) mix: bool,
    pub(crate) any: bool,
    pub(crate) times: RangeInclusive<usize>,
}

/// All templates of a file. The files are part of this crate, so a mistake in one is a bug and stops.
pub(crate) fn templates(file: &str) -> Vec<Template<'_>> {
    let mut found = Vec::new();
    for (title, body) in blocks(file, "==== ") {
        let sections =
            blocks(body, "%%").into_iter().filter(|(head, text)| !head.is_empty() || !text.is_empty());
        found.push(Template {
            path: title.trim(),
            sections: sections.map(|(head, text)| section(head, text)).collect(),
        });
    }
    found.retain(|template| !template.path.is_empty());
    found
}

fn section<'a>(head: &str, text: &'a str) -> Section<'a> {
    let mut section = Section { text, mix: false, any: false, times: 1..=1 };
    let mut words = head.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "mix" => section.mix = true,
            "any" => section.any = true,
            "keep" => {}
            "many" => {
                section.times = words.next().and_then(span).unwrap_or_else(|| panic!("how many in {head:?}?"))
            }
            other => panic!("a section cannot be {other:?}"),
        }
    }
    section
}

/// `3-9`, or `3` for just that.
pub(crate) fn span(text: &str) -> Option<RangeInclusive<usize>> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let range = from.parse().ok()?..=to.parse().ok()?;
    (range.start() <= range.end()).then_some(range)
}

/// The text cut at lines that begin with `mark`: the rest of each such line, and what follows it. What stands before
/// the first has an empty title.
fn blocks<'a>(text: &'a str, mark: &str) -> Vec<(&'a str, &'a str)> {
    let (mut found, mut title, mut begin, mut at) = (Vec::new(), "", 0, 0);
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix(mark) {
            found.push((title, &text[begin..at]));
            (title, begin) = (rest.trim_end(), at + line.len());
        }
        at += line.len();
    }
    found.push((title, &text[begin..]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_cut_into_templates_and_those_into_sections() {
        let found = templates("notes\n==== a/b.env\nhead\n%% mix any\none\n%% many 2-3\ntwo\n==== c\nx\n");
        assert_eq!(found.iter().map(|t| t.path).collect::<Vec<_>>(), ["a/b.env", "c"]);
        let section = |text, mix, any, times| Section { text, mix, any, times };
        assert_eq!(
            found[0].sections,
            [
                section("head\n", false, false, 1..=1),
                section("one\n", true, true, 1..=1),
                section("two\n", false, false, 2..=3)
            ]
        );
    }

    #[test]
    fn a_span_is_two_numbers_or_one() {
        assert_eq!(span("3-9"), Some(3..=9));
        assert_eq!(span("4"), Some(4..=4));
        assert_eq!(span("9-3"), None);
        assert_eq!(span("x"), None);
    }
}
