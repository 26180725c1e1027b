//! PROMISES.md: every promise names a test that exists.
//!
//! A row of a table has the promise and, in backticks, `file.rs::test_name`, or the word `pending`.

use super::Found;

/// What this check may ask about other files.
pub(super) trait Sources {
    fn text(&self, path: &str) -> Option<&str>;
}

pub(super) fn check(text: &str, sources: &impl Sources) -> Vec<Found> {
    let rows = text.lines().enumerate().filter(|(_, line)| is_row(line));
    rows.filter_map(|(n, line)| wrong(line, sources).map(|what| (n + 1, what))).collect()
}

fn is_row(line: &str) -> bool {
    line.starts_with("| ") && !line.starts_with("| promise ") && !line.starts_with("|---")
}

fn wrong(line: &str, sources: &impl Sources) -> Option<String> {
    let named: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
    if named.is_empty() {
        return Some("a promise without a test".to_owned());
    }
    named.into_iter().filter(|name| *name != "pending").find_map(|name| missing(name, sources))
}

fn missing(name: &str, sources: &impl Sources) -> Option<String> {
    let Some((path, test)) = name.split_once("::") else {
        return Some(format!("{name:?} is not of the form file.rs::test_name"));
    };
    let Some(text) = sources.text(path) else {
        return Some(format!("the promise's file {path} does not exist"));
    };
    let defines = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ").is_some_and(|l| l.starts_with(&format!("{test}(")))
    };
    (!text.lines().any(defines)).then(|| format!("{path} has no test {test}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One;

    impl Sources for One {
        fn text(&self, path: &str) -> Option<&str> {
            (path == "a.rs").then_some("#[test]\nfn it_holds() {}\n")
        }
    }

    fn finds(row: &str) -> usize {
        check(&format!("# P\n\n| promise | shown by |\n|---|---|\n{row}\n"), &One).len()
    }

    #[test]
    fn a_promise_names_a_test_that_is_there() {
        assert_eq!(finds("| It holds. | `a.rs::it_holds` |"), 0);
        assert_eq!(finds("| It will. | `pending` |"), 0);
        assert_eq!(finds("| It holds. | `a.rs::it_hold` |"), 1);
        assert_eq!(finds("| It holds. | `b.rs::it_holds` |"), 1);
        assert_eq!(finds("| It holds. | trust us |"), 1);
        assert_eq!(finds("| It holds. | `it_holds` |"), 1);
    }
}
