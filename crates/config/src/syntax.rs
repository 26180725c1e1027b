//! What the YAML parser stumbled over, in our own words.
//!
//! The parser's messages are for people who know YAML's grammar. Here they are turned into what is there and what
//! to write. An unknown one, from a later version of the parser, still gets its place and a plain sentence.

use saphyr_parser::ScanError;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Place, Reveal, Source};

pub(crate) fn explain(source: &Source, error: &ScanError) -> Diagnostic {
    let mut place = Place { line: error.marker().line(), column: error.marker().col() + 1, len: 1 };
    if source.line(place.line).is_none_or(|line| line.trim().is_empty()) {
        place = source.last_written(place.line);
    }
    let info = error.info();
    // For a text of several lines the parser gives its beginning, and the tab is further down.
    let last = if info.contains("tab") { place.line + FOLLOWED_MAX } else { place.line };
    let tab = (place.line..=last).find_map(|line| Some((line, tab_before_text(source, line)?)));
    if let Some((line, column)) = tab {
        let place = Place { line, column, len: 1 };
        return say(source, place, "a tab stands where only spaces can", "indent with spaces");
    }
    if info.contains("did not find expected key") && !is_first_in_line(source, place) {
        let help = "put the whole value in quotes, as an address in brackets needs them";
        return say(source, place, "this does not belong to the value before it", help);
    }
    let (_, message, help) =
        WORDS.iter().find(|(part, _, _)| info.contains(part)).copied().unwrap_or(("", OTHER.0, OTHER.1));
    say(source, place, message, help)
}

/// How many lines of one text are searched.
const FOLLOWED_MAX: usize = 100;

/// In order: the first whose part occurs in the parser's message is taken.
const WORDS: &[(&str, &str, &str)] = &[
    ("tab", "a tab stands where only spaces can", "use spaces"),
    ("unknown anchor", "an alias (`*`) is YAML that is not used here", "put the text in quotes"),
    ("anchor", "an anchor (`&`) is YAML that is not used here", "put the text in quotes"),
    ("tag", "a tag (`!`) is YAML that is not used here", "remove it, or put the text in quotes"),
    ("TAG", "a tag (`!`) is YAML that is not used here", "remove it, or put the text in quotes"),
    ("handle", "a tag (`!`) is YAML that is not used here", "remove it, or put the text in quotes"),
    ("directive", "a directive (`%`) is YAML that is not used here", "remove the line"),
    ("incompatible YAML", "a directive (`%`) is YAML that is not used here", "remove the line"),
    ("found unexpected end of stream", "a quote was opened and never closed", "close the quote"),
    ("document indicator", "a quote was opened and not closed before `---` or `...`", "close the quote"),
    ("after double-quoted", "something follows the closing quote", "put all of it into one pair of quotes"),
    ("escape", "this is no escape that YAML knows", "write `\\\\` for a backslash, or use single quotes"),
    (
        "hexadecimal",
        "this escape is not a hexadecimal number",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    (
        "invalid indentation in quoted",
        "a quoted text goes on here with too little indentation",
        "close the quote, or indent the line",
    ),
    (
        "invalid indentation in flow",
        "a list or map in brackets goes on here with too little indentation",
        "close the bracket, or indent the line",
    ),
    (
        "expected ',' or ']'",
        "the list that was opened with `[` is not closed",
        "write `,` between the items and `]` at the end",
    ),
    (
        "expected ',' or '}'",
        "the map that was opened with `{` is not closed",
        "write `,` between the keys and `}` at the end",
    ),
    (
        "must be followed by a valid YAML whitespace",
        "a space is missing here",
        "write a space after `:` or `-`",
    ),
    ("may not precede", "a space is missing here", "write a space after `:`"),
    (
        "mapping values are not allowed",
        "a `:` stands where no key can be",
        "put the text in quotes, or begin a new line for the key",
    ),
    (
        "illegal placement of ':'",
        "a `:` stands where no key can be",
        "put the text in quotes, or begin a new line for the key",
    ),
    (
        "mapping keys are not allowed",
        "a key cannot stand here",
        "begin a new line for it, indented like its neighbours",
    ),
    (
        "block sequence entries",
        "a `-` stands where no list can begin",
        "begin a new line for it, indented like its neighbours",
    ),
    ("followed by ,[]{}", "a text cannot begin with `-` here", "put the text in quotes"),
    (
        "expected '-' indicator",
        "this line does not continue the list above it",
        "begin it with `- `, or indent it like the key the list belongs to",
    ),
    (
        "did not find expected key",
        "this line does not fit the lines above it",
        "indent it like the keys it belongs to",
    ),
    ("simple key", "a key without its `:` stands here", "write `key: value`"),
    ("node content", "a value is missing here", "write the value, or remove the sign before it"),
    ("unexpected character", "a text cannot begin with this sign", "put the text in quotes"),
    (
        "block scalar",
        "the text that was begun with `|` or `>` is not indented as it should be",
        "indent all its lines alike",
    ),
    ("recursion", "this is nested too deeply", "use fewer levels"),
    ("after document end", "something follows the end of the document", "remove it, or the `...` before it"),
    ("document start", "something stands after the end of the document", "indent it, or remove it"),
    ("document-start", "something stands after the end of the document", "indent it, or remove it"),
    (
        "indentation",
        "the indentation does not fit the lines above",
        "indent with as many spaces as the neighbours",
    ),
    ("whitespace", "a space is missing here", "write a space before it"),
    ("plain scalar", "the text ends where it cannot", "put the text in quotes"),
];

const OTHER: (&str, &str) = ("this cannot be read as YAML", "compare it with the lines around it");

fn say(source: &Source, place: Place, message: &str, help: &str) -> Diagnostic {
    source.diagnostic(place, Reveal::KnownWords, Code::Syntax, message).help(help)
}

fn is_first_in_line(source: &Source, place: Place) -> bool {
    let line = source.line(place.line).unwrap_or_default();
    line.chars().take(place.column.saturating_sub(1)).all(char::is_whitespace)
}

/// Where the indentation of a line has a tab.
fn tab_before_text(source: &Source, line: usize) -> Option<usize> {
    let text = source.line(line)?;
    let indent = &text[..text.len() - text.trim_start().len()];
    indent.chars().position(|c| c == '\t').map(|at| at + 1)
}
