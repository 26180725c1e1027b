//! Files of data: TOML, JSON and YAML parse.

use serde_json::Value;

use super::{Found, line_of};

pub(super) fn toml(text: &str) -> Vec<Found> {
    let Err(error) = ::toml::from_str::<::toml::Table>(text) else {
        return Vec::new();
    };
    let line = error.span().map_or(1, |span| line_of(text.as_bytes(), span.start));
    vec![(line, format!("not TOML: {}", first_line(error.message())))]
}

pub(super) fn json(text: &str) -> Vec<Found> {
    let Err(error) = serde_json::from_str::<Value>(text) else {
        return Vec::new();
    };
    vec![(error.line().max(1), format!("not JSON: {error}"))]
}

/// Every line is a value of its own.
pub(super) fn json_lines(text: &str) -> Vec<Found> {
    let wrong = |line: &str| serde_json::from_str::<Value>(line).err();
    (1..)
        .zip(text.lines())
        .filter_map(|(number, line)| Some((number, format!("not JSON: {}", wrong(line)?))))
        .collect()
}

/// A file may hold several documents.
pub(super) fn yaml(text: &str) -> Vec<Found> {
    let Err(error) = serde_saphyr::from_multiple::<Value>(text) else {
        return Vec::new();
    };
    let line = error.location().map_or(1, |place| usize::try_from(place.line()).unwrap_or(1));
    vec![(line, format!("not YAML: {}", first_line(&error.to_string())))]
}

/// Parsers like to draw the place over several lines; a finding is one line and names the place itself.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of the finding, or none when the text is good.
    fn check(validator: fn(&str) -> Vec<Found>, text: &str, expected: Option<usize>) {
        let found = validator(text);
        assert_eq!(found.first().map(|(line, _)| *line), expected, "{text}: {found:?}");
    }

    #[test]
    fn toml_parses() {
        check(toml, "[a]\nb = 1\n", None);
        check(toml, "[a]\nb = \n", Some(2));
        check(toml, "a = 1\na = 2\n", Some(2));
    }

    #[test]
    fn json_parses() {
        check(json, "{\"a\": [1, 2]}\n", None);
        check(json, "{\n  \"a\": 1,\n}\n", Some(3));
    }

    #[test]
    fn every_line_of_json_lines_parses() {
        check(json_lines, "{\"a\": 1}\n[2]\n", None);
        check(json_lines, "{\"a\": 1}\n{\n", Some(2));
    }

    #[test]
    fn yaml_parses() {
        check(yaml, "a:\n  - b\n  - c: 1\n", None);
        check(yaml, "a: 1\n---\nb: 2\n", None);
        check(yaml, "a: [1, 2\nb: 3\n", Some(2));
    }
}
