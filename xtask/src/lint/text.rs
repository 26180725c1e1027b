//! The rules every text file keeps: clean line ends, no left-over merge, nothing that ties it to one machine.

use super::Found;
use super::kind::Kind;

pub(super) fn check(path: &str, text: &str, kind: Kind) -> Vec<Found> {
    let forbidden = forbidden(path);
    let mut found = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        found.extend(check_line(line, kind, &forbidden).into_iter().map(|what| (index + 1, what)));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        found.push((text.split('\n').count(), "no newline at the end of the file".to_owned()));
    }
    found
}

fn check_line(line: &str, kind: Kind, forbidden: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    if line.contains('\r') {
        found.push("a carriage return; lines end in a plain newline".to_owned());
    } else if line.ends_with([' ', '\t']) && kind != Kind::Snapshot {
        found.push("white space at the end of the line".to_owned());
    }
    if is_conflict_marker(line) {
        found.push("a merge conflict was left in the file".to_owned());
    }
    let named = forbidden.iter().filter(|text| line.contains(text.as_str()));
    found.extend(
        named.map(|text| format!("names {text}, which differs from machine to machine; leave it out")),
    );
    found
}

/// A line of equals signs alone is no marker: in Markdown it may underline a heading, and it never comes alone.
fn is_conflict_marker(line: &str) -> bool {
    ["<<<<<<<", ">>>>>>>", "|||||||"]
        .iter()
        .any(|marker| line.strip_prefix(marker).is_some_and(is_marker_tail))
}

fn is_marker_tail(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

/// Hosts of registries and the paths of one machine. Put together here, because this file is checked too.
/// A lock file must name the registry its packages come from.
fn forbidden(path: &str) -> Vec<String> {
    let hosts =
        [("crates", ".io"), ("pypi", ".org"), ("deb.debian", ".org"), ("npmjs", ".org"), ("/work", "/")];
    let locks = path.rsplit('/').next() == Some("Cargo.lock");
    let skipped = if locks { 1 } else { 0 };
    hosts.iter().skip(skipped).map(|(head, tail)| format!("{head}{tail}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_as(path: &str, kind: Kind, text: &str, expected: &[(usize, &str)]) {
        let told = check(path, text, kind);
        let told: Vec<_> = told.iter().map(|(line, what)| (*line, what.as_str())).collect();
        assert_eq!(told, expected, "{path}: {text:?}");
    }

    fn check_plain(text: &str, expected: &[(usize, &str)]) {
        check_as("a.txt", Kind::Plain, text, expected);
    }

    #[test]
    fn clean_text_passes() {
        check_plain("", &[]);
        check_plain("one\n\ntwo\n", &[]);
        check_plain("=======\n", &[]);
    }

    #[test]
    fn line_ends_are_clean() {
        check_plain("one\r\n", &[(1, "a carriage return; lines end in a plain newline")]);
        check_plain("one\ntwo \n", &[(2, "white space at the end of the line")]);
        check_plain("one", &[(1, "no newline at the end of the file")]);
        check_as("a.snap", Kind::Snapshot, "two \n", &[]);
        check_as("a.snap", Kind::Snapshot, "two", &[(1, "no newline at the end of the file")]);
    }

    #[test]
    fn a_left_over_merge_is_found() {
        let marker = "<".repeat(7);
        check_plain(&format!("{marker} ours\n"), &[(1, "a merge conflict was left in the file")]);
        check_plain(&format!("{marker}<\n"), &[]);
    }

    #[test]
    fn nothing_names_a_registry_or_a_machine() {
        let registry = ["crates", ".io"].concat();
        let what = format!("names {registry}, which differs from machine to machine; leave it out");
        check_plain(&format!("see {registry}\n"), &[(1, &what)]);
        check_as("Cargo.lock", Kind::Toml, &format!("{registry}\n"), &[]);
        check_as("peers/one/Cargo.lock", Kind::Toml, &format!("{registry}\n"), &[]);
        check_as("NotCargo.lock", Kind::Toml, &format!("{registry}\n"), &[(1, &what)]);
        let path = ["/work", "/"].concat();
        let what = format!("names {path}, which differs from machine to machine; leave it out");
        check_as("Cargo.lock", Kind::Toml, &format!("{path}main\n"), &[(1, &what)]);
    }
}
