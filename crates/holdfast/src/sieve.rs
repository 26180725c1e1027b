//! What is printed beside an answer, logged, or said in a panic passes here and loses its secrets on the way.
//!
//! The rules are those of the home the command works on, made when the first text comes; the daemon puts others in force
//! when its configuration is read again. Nothing here panics or comes back to itself: where the rules cannot be asked, the
//! text is withheld.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use holdfast_journal::{Screen as _, Verdict};
use holdfast_screen::{GuardScreen, Rules};
use holdfast_types::{Actor, Problem};

use crate::places::Places;
use crate::settings;

static HOME: OnceLock<Places> = OnceLock::new();
static RULES: RwLock<Option<Arc<Rules>>> = RwLock::new(None);

const WITHHELD: &str = "[withheld: it could not be looked at for secrets]";

thread_local! {
    /// Whether this thread is sieving. A panic in there is told by the hook below, which would sieve again.
    static AT_IT: Cell<bool> = const { Cell::new(false) };
}

/// From now on texts are sieved with the rules of this home, once there is one to sieve.
pub(crate) fn of_home(places: &Places) {
    // A process works on one home.
    let _ = HOME.set(places.clone());
}

/// From now on these rules hold.
pub(crate) fn take(rules: Arc<Rules>) {
    *RULES.write().unwrap_or_else(PoisonError::into_inner) = Some(rules);
}

/// The rules in force.
pub(crate) fn rules() -> Arc<Rules> {
    if let Some(rules) = RULES.read().unwrap_or_else(PoisonError::into_inner).clone() {
        return rules;
    }
    // Made without the lock: whatever goes wrong in there is told through here.
    let made = HOME.get().map_or_else(|| Arc::new(Rules::builtin()), settings::rules_of_home);
    RULES.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(made).clone()
}

/// The screen that a text passes which is kept outside the journal.
pub(crate) fn screen() -> GuardScreen {
    GuardScreen::new(rules())
}

/// A text without its secrets.
pub(crate) fn sieved(text: &str) -> Cow<'_, str> {
    if AT_IT.replace(true) {
        return WITHHELD.into();
    }
    let sieved = catch_unwind(AssertUnwindSafe(|| rules().sieved(text)));
    AT_IT.set(false);
    sieved.unwrap_or(WITHHELD.into())
}

/// A line of JSON without its secrets, and still a line of JSON.
pub(crate) fn sieved_json(line: &str) -> Cow<'_, str> {
    let clean = sieved(line);
    let whole = clean == line || serde_json::from_str::<serde::de::IgnoredAny>(&clean).is_ok();
    if whole { clean } else { serde_json::json!({ "withheld": WITHHELD }).to_string().into() }
}

/// A problem that can be shown.
pub(crate) fn sieved_problem(problem: &Problem) -> Problem {
    Problem {
        code: problem.code,
        exit: problem.exit,
        what: sieved(&problem.what).into_owned(),
        untouched: sieved(&problem.untouched).into_owned(),
        hint: sieved(&problem.hint).into_owned(),
    }
}

/// A text that is kept outside the journal as it would be kept in it.
pub(crate) fn kept(text: &str) -> String {
    match screen().screen(text) {
        Verdict::Clean => text.to_owned(),
        Verdict::Redacted(clean) => clean,
        Verdict::Blocked { .. } => "(withheld: it held a secret that cannot be cut out)".to_owned(),
    }
}

/// A name that is kept outside the journal, unless it looks like a secret.
pub(crate) fn kept_name(name: Actor) -> Actor {
    match screen().screen_envelope(name.as_str()) {
        Verdict::Clean => name,
        Verdict::Redacted(_) | Verdict::Blocked { .. } => {
            "withheld".parse().unwrap_or_else(|_| crate::kinds::own_actor())
        }
    }
}

/// Sends what a panic says through the sieve.
pub(crate) fn hook_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // Nobody can be told that stderr is closed.
        let _ = io::stderr().write_all(panic_told(panic).as_bytes());
    }));
}

fn panic_told(panic: &PanicHookInfo<'_>) -> String {
    let said = sieved(panic.payload_as_str().unwrap_or("no message")).into_owned();
    let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    let thread = std::thread::current();
    let trace = Backtrace::capture();
    let trace = if trace.status() == BacktraceStatus::Captured { format!("{trace}") } else { String::new() };
    format!(
        "✕ the program panicked, thread {}{place}: {said}\n{trace}",
        thread.name().unwrap_or("without a name")
    )
}

/// Where the log's lines go: stderr, through the sieve. A line comes in one piece.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogLines {
    Text,
    Json,
}

impl LogLines {
    fn clean(self, text: &str) -> String {
        let (line, end) = text.strip_suffix('\n').map_or((text, ""), |line| (line, "\n"));
        let clean = match self {
            LogLines::Text => sieved_colours(line),
            LogLines::Json => sieved_json(line),
        };
        format!("{clean}{end}")
    }
}

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // One write, so that a line is never interleaved with another.
        io::stderr().lock().write_all(self.clean(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Escapes that add colour stand right before values and would hide where one begins. So it is looked for without them,
/// and a line in which something is found goes without colour.
pub(crate) fn sieved_colours(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return sieved(line);
    }
    let plain = without_colours(line);
    let clean = sieved(&plain);
    if clean == plain { line.into() } else { clean.into_owned().into() }
}

fn without_colours(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(after.len());
        rest = after[end..].strip_prefix('m').unwrap_or(&after[end..]);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn token() -> String {
        format!("ghp_{}", "q7R2".repeat(9))
    }

    #[test]
    fn a_secret_is_found_behind_colours_and_a_line_without_one_keeps_them() {
        let line =
            format!("\u{1b}[2mtime\u{1b}[0m \u{1b}[33mWARN\u{1b}[0m \u{1b}[3mwhy\u{1b}[0m={}\n", token());
        assert_eq!(sieved_colours(&line), "time WARN why=[REDACTED_GITHUB_TOKEN]\n");
        let line = "\u{1b}[2mtime\u{1b}[0m nothing\n";
        assert_eq!(sieved_colours(line), line);
        assert_eq!(without_colours("a\u{1b}[b\u{1b}[1;31mc\u{1b}"), "abc\u{1b}");
    }

    #[test]
    fn a_line_of_json_stays_one() {
        let line = format!("{{\"message\":\"use {} now\",\"password\":\"hunter2xyz\"}}", token());
        let clean = sieved_json(&line);
        let read: serde_json::Value = serde_json::from_str(&clean).unwrap();
        assert_eq!(read["message"], "use [REDACTED_GITHUB_TOKEN] now");
        assert!(!clean.contains("hunter2xyz"), "{clean}");
        let block = format!("{{\"message\":\"-----BEGIN {} KEY-----\\nMIIEvQIBADANBgkqhkiG\"}}", "PRIVATE");
        let read: serde_json::Value = serde_json::from_str(&sieved_json(&block)).unwrap();
        assert!(read["withheld"].is_string());
    }

    #[test]
    fn a_line_of_the_log_ends_as_it_did_whatever_is_taken_out() {
        let key = format!("-----BEGIN {} KEY-----\nMIIEvQIBADANBgkqhkiG\n", "PRIVATE");
        for (line, expected) in [
            (format!("WARN why={}\n", token()), "WARN why=[REDACTED_GITHUB_TOKEN]\n"),
            (key, "[withheld: it holds a secret that cannot be cut out safely]\n"),
            ("INFO up\n".to_owned(), "INFO up\n"),
            (String::new(), ""),
        ] {
            assert_eq!(LogLines::Text.clean(&line), expected);
        }
        let line = json!({"message": token()}).to_string() + "\n";
        assert_eq!(LogLines::Json.clean(&line), "{\"message\":\"[REDACTED_GITHUB_TOKEN]\"}\n");
    }

    #[test]
    fn whoever_comes_back_while_it_sieves_gets_nothing() {
        AT_IT.set(true);
        assert_eq!(sieved("a plain text"), WITHHELD);
        AT_IT.set(false);
        assert_eq!(sieved("a plain text"), "a plain text");
    }

    #[test]
    fn a_name_that_is_a_secret_is_not_kept_and_any_other_is() {
        assert_eq!(kept_name("ana".parse().unwrap()).as_str(), "ana");
        assert_ne!(kept_name(token().parse().unwrap()).as_str(), token());
    }
}
