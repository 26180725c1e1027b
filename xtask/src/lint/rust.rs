//! Rust files: a file of a crate opens with what it is for. Formatting and lints are cargo's business.

use super::Found;

pub(super) fn check(path: &str, text: &str) -> Vec<Found> {
    let opens = text.lines().next().is_some_and(|line| line.starts_with("//!"));
    if opens || !must_open(path) {
        return Vec::new();
    }
    vec![(1, "the file does not open with `//!`: say what it is for".to_owned())]
}

/// Every source file of a crate, and every `lib.rs` or `main.rs` wherever it lies. Tests and benches may open as
/// they like.
fn must_open(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let in_crate = matches!(parts.as_slice(), ["crates", _, "src", ..] | ["xtask", "src", ..]);
    in_crate || matches!(parts.last(), Some(&("lib.rs" | "main.rs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_opening(path: &str, text: &str, good: bool) {
        assert_eq!(check(path, text).is_empty(), good, "{path}: {text}");
    }

    #[test]
    fn sources_open_with_what_they_are_for() {
        check_opening("crates/a/src/b/c.rs", "//! Words.\n", true);
        check_opening("crates/a/src/b/c.rs", "// Words.\n", false);
        check_opening("crates/a/src/b/c.rs", "", false);
        check_opening("sim/src/main.rs", "fn main() {}\n", false);
        check_opening("crates/a/tests/b.rs", "fn f() {}\n", true);
        check_opening("crates/a/build.rs", "fn main() {}\n", true);
    }
}
