//! What a line is by its shape: something a person would say, or something a program printed.

/// A line that nobody said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Printed {
    Log,
    Trace,
    Listing,
    Code,
    Output,
}

/// The lines of a text that somebody said, and what most of the others are.
pub(crate) struct Sorted<'a> {
    pub(crate) said: Vec<&'a str>,
    pub(crate) printed: Option<Printed>,
}

pub(crate) fn sorted(text: &str) -> Sorted<'_> {
    let mut said = Vec::new();
    let mut counts = [0usize; 5];
    let mut fenced = false;
    let mut diff = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        let fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        diff |= trimmed.starts_with("diff --git") || trimmed.starts_with("@@ ");
        let kind = if fence || fenced {
            Some(Printed::Code)
        } else if diff && line.starts_with(['+', '-', ' ', '@']) {
            Some(Printed::Output)
        } else {
            printed(line, trimmed)
        };
        fenced ^= fence;
        match kind {
            Some(kind) => counts[kind as usize] += 1,
            None => said.push(trimmed),
        }
    }
    // A line that names an error beside the frames of a trace belongs to it.
    if counts[Printed::Trace as usize] > 0 {
        said.retain(|line| !(line.contains("Error: ") || line.contains("Exception: ")));
    }
    let most = (0..counts.len()).rev().max_by_key(|&at| counts[at]).filter(|&at| counts[at] > 0);
    const KINDS: [Printed; 5] =
        [Printed::Log, Printed::Trace, Printed::Listing, Printed::Code, Printed::Output];
    Sorted { said, printed: most.map(|at| KINDS[at]) }
}

fn printed(line: &str, trimmed: &str) -> Option<Printed> {
    if is_trace(line, trimmed) {
        Some(Printed::Trace)
    } else if is_log(trimmed) {
        Some(Printed::Log)
    } else if is_listing(trimmed) {
        Some(Printed::Listing)
    } else if is_output(trimmed) {
        Some(Printed::Output)
    } else if is_code(line, trimmed) {
        Some(Printed::Code)
    } else {
        None
    }
}

fn starts_with_any(text: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| text.starts_with(start))
}

fn is_trace(line: &str, trimmed: &str) -> bool {
    starts_with_any(
        trimmed,
        &[
            "Traceback (",
            "File \"",
            "goroutine ",
            "panic: ",
            "stack backtrace",
            "Exception in thread",
            "note: run with",
            "thread '",
            "Caused by: ",
            "... ",
        ],
    ) || is_frame(line, trimmed)
        || names_an_exception(trimmed)
        || trimmed.ends_with("(...)")
        || trimmed.starts_with('#') && trimmed.contains("0x")
        || trimmed.contains(" +0x")
        || starts_with_any(trimmed, &["called `", "index out of bounds"])
}

/// `at Object.openSync (node:fs:601:3)`, `0: std::panicking::begin_panic`, `main.main()`.
fn is_frame(line: &str, trimmed: &str) -> bool {
    let indented = line.starts_with([' ', '\t']);
    let at = trimmed
        .strip_prefix("at ")
        .is_some_and(|rest| rest.contains('(') || rest.contains("::") || ends_in_position(rest));
    let numbered = trimmed
        .split_once(": ")
        .is_some_and(|(n, rest)| n.bytes().all(|b| b.is_ascii_digit()) && rest.contains("::"));
    let call = trimmed.ends_with("()") && !trimmed.contains(' ');
    indented && (at || numbered) || at && trimmed.contains(".java:") || call
}

fn ends_in_position(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit() || b == b')'))
}

/// `ValueError: …`, `java.lang.IllegalStateException: …` at the start of a line, `Error: ENOENT: …`.
fn names_an_exception(trimmed: &str) -> bool {
    let (name, rest) = trimmed.split_once(':').unwrap_or((trimmed, ""));
    let one_word = !name.contains(' ') && name.len() > 5;
    let errno = rest
        .trim_start()
        .split_once(':')
        .is_some_and(|(word, _)| word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase()));
    one_word && (name.ends_with("Error") || name.ends_with("Exception")) || name == "Error" && errno
}

fn is_log(trimmed: &str) -> bool {
    begins_with_a_time(trimmed)
        || begins_with_a_level(trimmed)
        || trimmed.contains("level=")
        || trimmed.contains(" kernel: [")
        || is_logcat(trimmed)
        || trimmed.contains(" HTTP/1.") && trimmed.contains('"')
        || trimmed.split_whitespace().filter(|token| is_pair(token)).count() >= 3
}

/// `W/System.err(120): …`
fn is_logcat(trimmed: &str) -> bool {
    let bytes = trimmed.as_bytes();
    bytes.len() > 4 && bytes[1] == b'/' && b"VDIWEF".contains(&bytes[0]) && trimmed.contains("): ")
}

/// `key=value`, as programs print it.
fn is_pair(token: &str) -> bool {
    token.split_once('=').is_some_and(|(key, value)| {
        !key.is_empty()
            && !value.is_empty()
            && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
    })
}

fn begins_with_a_time(trimmed: &str) -> bool {
    let line = trimmed.strip_prefix('[').unwrap_or(trimmed);
    let shape: String = line.chars().take(20).map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    starts_with_any(&shape, &["9999-99-99T99:99", "9999-99-99 99:99", "9999/99/99 99:99", "99:99:99"])
        || is_syslog(&shape)
        || is_glog(&shape)
        || trimmed.starts_with("time=\"")
}

/// `Nov 18 04:12:44 host sshd[1]: …`
fn is_syslog(shape: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = shape.get(..3).is_some_and(|month| MONTHS.contains(&month));
    month
        && shape.get(3..).is_some_and(|rest| {
            rest.trim_start().trim_start_matches('9').trim_start().starts_with("99:99:99")
        })
}

/// `I1118 04:12:44.1 …`
fn is_glog(shape: &str) -> bool {
    shape.get(1..).is_some_and(|rest| rest.starts_with("9999 99:99:99"))
        && shape.starts_with(['I', 'W', 'E', 'F'])
}

fn begins_with_a_level(trimmed: &str) -> bool {
    const LEVELS: [&str; 10] =
        ["TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "CRIT"];
    let bracketed =
        trimmed.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(level, _)| level.trim());
    let plain = || {
        trimmed
            .split_once(':')
            .map(|(level, _)| level)
            .or_else(|| trimmed.split_once(' ').map(|(level, _)| level))
    };
    bracketed.or_else(plain).is_some_and(|level| LEVELS.contains(&level))
}

fn is_listing(trimmed: &str) -> bool {
    let mode = trimmed.len() > 10
        && starts_with_any(trimmed, &["-r", "drwx", "lrwx", "-rw"])
        && trimmed.as_bytes()[9..].contains(&b' ');
    let total = trimmed.strip_prefix("total ").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let rooted = trimmed.starts_with('/') && trimmed.matches('/').count() >= 2 && !is_sentence(trimmed);
    mode || total
        || rooted
        || trimmed.contains(['├', '└', '│'])
        || is_bare_path(trimmed)
        || trimmed.starts_with("Files changed:")
}

/// One token that is nothing but a file's name.
fn is_bare_path(trimmed: &str) -> bool {
    const WELL_KNOWN: [&str; 5] = ["Makefile", "Dockerfile", "LICENSE", ".", "src"];
    let named = || {
        let stem = trimmed.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        trimmed.contains('/')
            || stem.is_some_and(|(_, ending)| {
                (1..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            })
    };
    !trimmed.contains(char::is_whitespace) && (WELL_KNOWN.contains(&trimmed) || named())
}

fn is_output(trimmed: &str) -> bool {
    starts_with_any(
        trimmed,
        &[
            "$ ",
            "> ",
            "% ",
            "diff --git",
            "--- a/",
            "+++ b/",
            "@@ ",
            "HTTP/1",
            "HTTP/2",
            "Exit code",
            "exit code",
            "stdout",
            "stderr",
            "On branch ",
            "Your branch is",
            "nothing to commit",
            "test result:",
            "   Compiling",
            "Compiling ",
            "remote: ",
            "Get:",
            "Hit:",
            "PING ",
            "--> ",
            "warning: ",
            "note: ",
            "error: ",
            "error[",
            "Segmentation fault",
            "Finished ",
            "<tool",
            "</tool",
        ],
    ) || is_json(trimmed)
        || is_table(trimmed)
        || is_test_line(trimmed)
        || is_header_field(trimmed)
}

fn is_json(trimmed: &str) -> bool {
    let braced = trimmed.starts_with('{') && trimmed.ends_with('}')
        || trimmed.starts_with('[') && trimmed.ends_with(']');
    braced && trimmed.contains("\":") || trimmed.starts_with('"') && trimmed.contains("\":")
}

/// Columns: three or more cells with runs of spaces between them.
fn is_table(trimmed: &str) -> bool {
    let cells = trimmed.split("  ").filter(|cell| !cell.trim().is_empty()).count();
    let rule = trimmed.len() > 4 && trimmed.chars().all(|c| "-=+| ".contains(c));
    cells >= 3 || trimmed.matches(" | ").count() >= 2 || rule
}

fn is_test_line(trimmed: &str) -> bool {
    let numbered =
        trimmed.split_whitespace().next().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
    let counts = [" passed", " failed", " changed,", " insertions", " deletions"]
        .iter()
        .any(|end| trimmed.contains(end));
    let tallies = numbered && trimmed.split(", ").all(|part| part.split_whitespace().count() == 2);
    tallies
        || trimmed.starts_with("test ") && trimmed.contains("... ")
        || trimmed.starts_with("running ") && trimmed.ends_with(" tests")
        || numbered && counts && !trimmed.contains(" because ")
}

/// `content-type: application/json`: a lower-case name with a hyphen and a value.
fn is_header_field(trimmed: &str) -> bool {
    trimmed.split_once(": ").is_some_and(|(name, _)| {
        name.contains('-')
            && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
            && starts_with_any(name, &["content-", "x-", "cache-", "set-", "accept-"])
    })
}

fn is_code(line: &str, trimmed: &str) -> bool {
    let indented = line.starts_with([' ', '\t']);
    trimmed.ends_with(['{', '}', ';']) && !is_sentence(trimmed)
        || matches!(trimmed, "}" | ")" | "]" | "});" | ");")
        || begins_like_code(trimmed)
        || indented && (trimmed.ends_with(':') || trimmed.starts_with("return ") || trimmed.contains(" = "))
        || is_call(trimmed)
        || mostly_marks(trimmed)
}

fn begins_like_code(trimmed: &str) -> bool {
    starts_with_any(
        trimmed,
        &[
            "fn ",
            "pub fn ",
            "pub struct ",
            "impl ",
            "def ",
            "class ",
            "import ",
            "#include",
            "#!/",
            "const ",
            "let ",
            "var ",
            "function ",
            "async fn",
            "export ",
            "SELECT ",
            "UPDATE ",
            "INSERT INTO",
            "DELETE FROM",
            "CREATE TABLE",
            "ALTER TABLE",
            "</",
            "<div",
            "<span",
            "<?",
            "//",
            "/*",
            "set -",
            "cd /",
            "cd ~",
            "make -",
            "sudo ",
            "println!",
            "package ",
            "use std",
            "@media",
            "FROM ",
            "RUN ",
        ],
    ) && !is_sentence(trimmed)
        || trimmed.starts_with("from ") && trimmed.contains(" import ")
        || trimmed.starts_with("for ") && trimmed.contains("; do")
        || trimmed.starts_with("if ") && trimmed.ends_with(':')
}

/// A line of four or more plain words with a small one among them.
fn is_sentence(trimmed: &str) -> bool {
    let plain = trimmed
        .split_whitespace()
        .filter(|token| token.chars().all(|c| c.is_alphabetic() || "',.;".contains(c)))
        .count();
    const SMALL: [&str; 10] =
        [" the ", " is ", " are ", " of ", " der ", " die ", " le ", " la ", " el ", " because "];
    plain >= 4 && SMALL.iter().any(|small| trimmed.contains(small))
}

/// `run(30)`
fn is_call(trimmed: &str) -> bool {
    !trimmed.contains(' ') && trimmed.ends_with(')') && trimmed.contains('(')
}

/// A third of it is neither letter, digit nor space, and some of that is brackets: emoji are not code.
fn mostly_marks(trimmed: &str) -> bool {
    let all = trimmed.chars().count();
    let marks = trimmed.chars().filter(|c| c.is_ascii_punctuation()).count();
    all >= 6 && marks * 3 >= all && trimmed.contains(['(', '{', '[', '<', '='])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Printed>, said: usize) {
        let sorted = sorted(text);
        assert_eq!((sorted.printed, sorted.said.len()), (expected, said), "{text}");
    }

    #[test]
    fn what_programs_print_is_told_from_what_people_say() {
        check("2026-11-18T04:12:44Z INFO gateway started", Some(Printed::Log), 0);
        check("[WARN] queue is long", Some(Printed::Log), 0);
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: x",
            Some(Printed::Trace),
            0,
        );
        check("-rw-r--r-- 1 root root 12 Nov 18 10:00 a.rs\nREADME.md", Some(Printed::Listing), 0);
        check("fn a() -> u32 {\n    3\n}", Some(Printed::Code), 1);
        check("```\nanything at all\n```", Some(Printed::Code), 0);
        check("{\"a\": 1}", Some(Printed::Output), 0);
        check("The gateway listens on port 9096.", None, 1);
        check("Use `make test` before a commit; it takes a minute.", None, 1);
        check("ValueError: x\nThe cause was a date in local time.", Some(Printed::Trace), 1);
        check("Import of dates failed because they were local.", None, 1);
        check("from March on, the office is closed", None, 1);
    }
}
