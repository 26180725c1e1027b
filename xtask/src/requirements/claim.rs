//! What tests say they show: a comment line of its own, the marker and a list of ids.
//!
//! A claim counts only in test code. Elsewhere it is an error, because nothing there is run to prove it.

/// A marker found in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) line: usize,
    /// The ids as written, not yet looked up.
    pub(crate) ids: String,
    pub(crate) in_test: bool,
}

const FOLDERS: [&str; 7] = ["crates/", "third-parties/", "sim/", "lab/", "bench/", "xtask/", "tests/"];

/// Whole folders that exist to test, so that any file in them may claim.
const TEST_FOLDERS: [&str; 4] = ["sim/", "lab/", "bench/", "tests/"];

/// Whether a file is one to look for claims in.
pub(crate) fn may_hold_claims(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder)) && marker(path).is_some()
}

/// The claims of a file, in order.
pub(crate) fn claims(path: &str, text: &str) -> Vec<Claim> {
    let Some(marker) = marker(path) else {
        return Vec::new();
    };
    let mut in_test = is_test_file(path);
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        in_test |= opens_test_code(line);
        if let Some(ids) = line.strip_prefix(marker) {
            found.push(Claim { line: index + 1, ids: ids.trim().to_owned(), in_test });
        }
    }
    found
}

/// The comment that makes a claim in this kind of file.
fn marker(path: &str) -> Option<&'static str> {
    let name = file_name(path);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("rs") => Some("// shows:"),
        Some("sh" | "py" | "toml" | "mk") => Some("# shows:"),
        _ if name == "Makefile" => Some("# shows:"),
        _ => None,
    }
}

fn is_test_file(path: &str) -> bool {
    let in_test_folder = path.split('/').rev().skip(1).any(|folder| folder == "tests" || folder == "benches");
    in_test_folder
        || file_name(path) == "tests.rs"
        || TEST_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Test modules close a file in this project, so what stands below such a line is test code.
fn opens_test_code(line: &str) -> bool {
    ["#[cfg(test)]", "#![cfg(test)]", "#[cfg(all(test,"].iter().any(|opening| line.starts_with(opening))
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Put together from pieces: this file is scanned too, and must not claim what it only describes.
    const RUST: &str = concat!("//", " shows: MEM-001, MEM-002\n");
    const SHELL: &str = concat!("#", " shows: MEM-001\n");

    fn check(path: &str, text: &str, expected: &[(usize, &str, bool)]) {
        let told: Vec<_> = claims(path, text).into_iter().map(|c| (c.line, c.ids, c.in_test)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(line, ids, test)| (*line, (*ids).to_owned(), *test)).collect();
        assert_eq!(told, expected, "{path}: {text}");
    }

    #[test]
    fn a_claim_counts_in_test_code_only() {
        let ids = "MEM-001, MEM-002";
        check("crates/journal/tests/tail.rs", RUST, &[(1, ids, true)]);
        check("crates/journal/benches/append.rs", RUST, &[(1, ids, true)]);
        check("crates/journal/src/merkle/tests.rs", RUST, &[(1, ids, true)]);
        check("sim/src/main.rs", RUST, &[(1, ids, true)]);
        check("crates/journal/src/lib.rs", RUST, &[(1, ids, false)]);
        check(
            "crates/journal/src/lib.rs",
            &format!("#[cfg(test)]\nmod tests {{\n    {RUST}}}"),
            &[(3, ids, true)],
        );
        check(
            "crates/journal/src/lib.rs",
            &format!("{RUST}#[cfg(test)]\nmod tests {{}}"),
            &[(1, ids, false)],
        );
        check("lab/reboot.sh", SHELL, &[(1, "MEM-001", true)]);
    }

    #[test]
    fn only_a_comment_line_of_its_own_is_a_claim() {
        check("crates/a/tests/a.rs", &format!("let x = 1; {RUST}"), &[]);
        check("crates/a/tests/a.rs", &format!("//{RUST}"), &[]);
        check("crates/a/tests/a.rs", SHELL, &[]);
        check("lab/a.sh", RUST, &[]);
        check("lab/notes.txt", SHELL, &[]);
    }

    #[test]
    fn claims_are_looked_for_where_tests_live() {
        let looked_in = |path: &str| may_hold_claims(path);
        assert!(
            looked_in("crates/journal/src/lib.rs") && looked_in("lab/run.sh") && looked_in("bench/Makefile")
        );
        assert!(!looked_in("docs/spec/status.toml") && !looked_in("crates/journal/README.md"));
    }
}
