//! How long it takes until the rules are ready, in processes that begin from nothing.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use holdfast_guard::Guard;

use super::{Plan, text};
use crate::program::Program;

/// The hidden first argument that makes this program take the secrets out of one line and say what that took.
pub(crate) const CHILD: &str = "redact-one";

/// What came of it, per process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ready {
    /// From making `holdfast redact` to the end of its answer to one line.
    pub(crate) process_ms: Vec<f64>,
    /// Within a new process: the rules made ready, and one line redacted by them.
    pub(crate) rules_ms: Vec<f64>,
    pub(crate) line_ms: Vec<f64>,
}

pub(crate) fn measure(dir: &Path, ours: &Program, plan: Plan) -> Result<Ready> {
    let line = line_with_a_secret(plan.seed)?;
    let home = dir.join("no-home");
    let mut out = Ready::default();
    for _ in 0..plan.starts {
        out.process_ms.push(redact(ours, &home, &line)?);
        let (rules, line) = in_child(plan.seed)?;
        out.rules_ms.push(rules);
        out.line_ms.push(line);
    }
    Ok(out)
}

/// What the child does: makes the rules ready, takes the secrets out of one line, and prints what each took.
pub(crate) fn child(args: &[String]) -> Result<String> {
    let seed = args.first().context("redact-one takes a seed")?.parse()?;
    let text = text::messages_with_secrets(seed, 1).pop().context("there is no message")?;
    let began = Instant::now();
    let guard = Guard::builtin();
    let rules = began.elapsed();
    let done = guard.redact(&text);
    let line = began.elapsed() - rules;
    ensure!(!done.content.contains(&text), "nothing was taken out");
    Ok(format!("{} {}", rules.as_nanos(), line.as_nanos()))
}

fn in_child(seed: u64) -> Result<(f64, f64)> {
    let mut child = Command::new(std::env::current_exe()?);
    let out = child.arg(CHILD).arg(seed.to_string()).output()?;
    ensure!(out.status.success(), "a child failed: {}", String::from_utf8_lossy(&out.stderr).trim());
    parse(&String::from_utf8_lossy(&out.stdout)).context("a child said something else")
}

/// Two numbers of nanoseconds, as milliseconds.
fn parse(line: &str) -> Option<(f64, f64)> {
    let (rules, line) = line.trim().split_once(' ')?;
    let ms = |nanoseconds: &str| Some(nanoseconds.parse::<u64>().ok()? as f64 / 1e6);
    Some((ms(rules)?, ms(line)?))
}

/// One line that something is taken out of without refusing it.
fn line_with_a_secret(seed: u64) -> Result<String> {
    let guard = Guard::builtin();
    let taken = |text: &String| {
        let done = guard.redact(text);
        !done.blocked && !done.redactions.is_empty() && !text.contains('\n')
    };
    text::messages_with_secrets(seed, 20_000).into_iter().find(taken).context("there is no such message")
}

fn redact(ours: &Program, home: &Path, line: &str) -> Result<f64> {
    let mut call = ours.call(home, &["redact"]);
    call.stdin(Stdio::piped()).stdout(Stdio::piped());
    let began = Instant::now();
    let mut process = call.spawn().context("starting holdfast redact")?;
    let mut input = process.stdin.take().context("it has no standard input")?;
    input.write_all(line.as_bytes())?;
    drop(input);
    let out = process.wait_with_output()?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    let said = String::from_utf8_lossy(&out.stdout);
    ensure!(out.status.success() && said.contains("[REDACTED"), "holdfast redact: {}", out.status);
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_childs_answer_reads_back() {
        assert_eq!(parse("2000000 500000\n"), Some((2.0, 0.5)));
        assert_eq!(parse("2000000"), None);
        assert!(parse(&child(&["7".to_owned()]).unwrap()).is_some());
    }
}
