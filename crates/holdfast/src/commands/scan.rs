//! `holdfast scan`: looks for secrets in files, in what is staged, in history. Needs neither a home nor a daemon.

mod told;

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use holdfast_scan::{Baseline, Explained, IgnoreFiles, Progress, Report, Scan, Where, Which};
use holdfast_types::Exit;
use serde_json::json;

use crate::console::Console;
use crate::house::now;
use crate::look::{Shape, count, number};
use crate::problem::{CliError, Result};

/// Look for secrets in files, in what is staged, or in all of a repository's history
///
/// Respects .gitignore, looks into archives and notebooks, and shows no byte of what it finds. A finding passes by a comment
/// `holdfast: allow RULE — reason` on its line or alone on the line before, by the reviewed list in .holdfast/scan.toml, or
/// by a baseline. Exit code 0: nothing found, 1: findings, 3: something could not be read.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: clean, findings[] with file, line, column (in characters), rule, type (as rule), what, confidence (0 to 1), \
masked, snippet (as masked), reason, fingerprint, commit (with --history), note; allowed, excepted, known; skipped[] with \
file, why; failed[] with file, why; files, bytes; only with --write-baseline: baseline. With --explain: file, line, \
steps[]; findings[] with rule, masked, fingerprint, is_reported, why.")]
pub(crate) struct ScanArgs {
    /// Files and folders; - is standard input [default: .]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Look at what the next commit would hold, not at files
    #[arg(long, conflicts_with_all = ["history", "pushed"])]
    staged: bool,

    /// With --staged: tell findings too that the files had before
    #[arg(long, requires = "staged")]
    whole: bool,

    /// Look at everything the repository ever held, or at what a range of commits brought (--history=main..HEAD)
    #[arg(long, value_name = "RANGE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    history: Option<String>,

    /// Look at what a push brings; git tells a pre-push hook on its standard input
    #[arg(long, value_name = "REMOTE", hide = true)]
    pushed: Option<String>,

    /// How to answer [default: text]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Findings that are written down in this file pass
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write down what is found, so that it passes with --baseline
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    write_baseline: Option<PathBuf>,

    /// The reviewed list of exceptions [default: .holdfast/scan.toml at the root; with --staged, as it is staged]
    #[arg(long, value_name = "FILE")]
    exceptions: Option<PathBuf>,

    /// Look at files too that .gitignore leaves out
    #[arg(long)]
    no_ignore: bool,

    /// List what was left out and why, and the fingerprints that exceptions name
    #[arg(long, short)]
    verbose: bool,

    /// Tell what the engine thought of one line, and why it was reported or not
    #[arg(long, value_name = "FILE:LINE", conflicts_with_all = ["paths", "staged", "history", "pushed", "write_baseline"])]
    explain: Option<FileLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// A line a finding: file:line - type
    Lines,
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
}

/// A file and a line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileLine {
    file: PathBuf,
    line: u64,
}

impl FromStr for FileLine {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<FileLine, &'static str> {
        const FORM: &str = "give the file and the line: src/main.rs:12";
        let (file, line) = text.rsplit_once(':').ok_or(FORM)?;
        let line = line.parse().ok().filter(|line| *line > 0).ok_or(FORM)?;
        if file.is_empty() { Err(FORM) } else { Ok(FileLine { file: file.into(), line }) }
    }
}

pub(crate) fn run(args: &ScanArgs, console: &mut Console) -> Result<Exit> {
    let format = format(args, console)?;
    if let Some(FileLine { file, line }) = &args.explain {
        let explained = holdfast_scan::explain(file, *line, now())?;
        return explain(&explained, format, console);
    }
    let scan = plan(args)?;
    let began = Instant::now();
    let report = with_progress(&scan, console)?;
    if let Some(path) = &args.write_baseline {
        let baseline = Baseline::of(&report.findings);
        baseline.write(path)?;
        return recorded(&baseline, path, &report, format, console);
    }
    match format {
        Format::Json => console.json(&holdfast_scan::json(&report))?,
        Format::Sarif => console.json(&holdfast_scan::sarif(&report, env!("CARGO_PKG_VERSION")))?,
        Format::Lines => lines(&report, &scan.place, console)?,
        Format::Text => {
            let text = told::report(&report, began.elapsed(), args.verbose, console.out_style);
            console.write(text.as_bytes())?;
        }
    }
    Ok(verdict(&report))
}

/// Findings are a verdict, whatever else could not be read.
fn verdict(report: &Report) -> Exit {
    match (report.findings.is_empty(), report.failed.is_empty()) {
        (false, _) => Exit::Negative,
        (true, false) => Exit::CouldNotCheck,
        (true, true) => Exit::Ok,
    }
}

fn format(args: &ScanArgs, console: &Console) -> Result<Format> {
    match (console.is_json(), args.format) {
        (true, None | Some(Format::Json)) => Ok(Format::Json),
        (false, format) => Ok(format.unwrap_or(Format::Text)),
        (true, Some(_)) => {
            let message = "--json and another --format cannot both be given".into();
            Err(CliError::Usage { message }.into())
        }
    }
}

fn plan(args: &ScanArgs) -> Result<Scan> {
    let paths = args.paths.clone();
    let place = if args.staged {
        Where::Staged { paths, which: if args.whole { Which::Whole } else { Which::Added } }
    } else if let Some(range) = &args.history {
        Where::History { paths, range: Some(range.clone()).filter(|range| !range.is_empty()) }
    } else if let Some(remote) = &args.pushed {
        Where::Pushed { remote: remote.clone(), told: told_by_git()? }
    } else {
        let paths = if paths.is_empty() { vec![PathBuf::from(".")] } else { paths };
        let ignore_files = if args.no_ignore { IgnoreFiles::Passed } else { IgnoreFiles::Respected };
        Where::Tree { paths, ignore_files }
    };
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?.unwrap_or_default();
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Ok(Scan { place, exceptions: args.exceptions.clone(), baseline, now: now(), threads })
}

/// The refs of a push, from standard input. A line a ref; nobody pushes more than fit in here.
fn told_by_git() -> Result<String> {
    const LIMIT: u64 = 16 << 20;
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LIMIT).read_to_string(&mut text);
    read.map_err(|source| CliError::Read { path: "<stdin>".into(), source })?;
    Ok(text)
}

/// Runs the scan, and meanwhile tells a terminal how far it is.
fn with_progress(scan: &Scan, console: &Console) -> Result<Report> {
    const EVERY: Duration = Duration::from_millis(200);
    let progress = Progress::default();
    let report = std::thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        let scanning = scope.spawn(|| {
            // Dropped at the end, also by a panic.
            let _done = done;
            scan.run(&progress)
        });
        while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            let (files, all) = progress.so_far();
            let of = all.map(|all| format!(" of {}", number(all as u64))).unwrap_or_default();
            console.progress(&format!("looked at {}{of}", number(files as u64)));
        }
        console.progress("");
        scanning.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    Ok(report?)
}

/// The form in which a hook tells what it refuses.
fn lines(report: &Report, place: &Where, console: &mut Console) -> Result<()> {
    console.write(told::lines(report).as_bytes())?;
    let (deed, more) = match place {
        Where::Staged { .. } => ("commit", "holdfast scan --staged --verbose"),
        Where::Pushed { .. } => ("push", "holdfast scan --history --verbose"),
        Where::Tree { .. } | Where::History { .. } => return Ok(()),
    };
    let found = report.findings.len() as u64;
    if found > 0 {
        console.flush()?;
        let found = count(found, "finding", "findings");
        console.warn(&format!("{found}: no {deed}, and nothing was changed; `{more}` says more"));
    }
    Ok(())
}

fn recorded(
    baseline: &Baseline,
    path: &std::path::Path,
    report: &Report,
    format: Format,
    console: &mut Console,
) -> Result<Exit> {
    if format == Format::Json {
        let mut value = holdfast_scan::json(report);
        value["baseline"] = json!(path);
        console.json(&value)?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let found = count(baseline.len(), "finding", "findings");
        console.line(&format!("{mark} wrote down {found} in {}", path.display()))?;
        console.write(told::failures(report, console.out_style).as_bytes())?;
    }
    Ok(if report.failed.is_empty() { Exit::Ok } else { Exit::CouldNotCheck })
}

fn explain(explained: &Explained, format: Format, console: &mut Console) -> Result<Exit> {
    if format == Format::Json {
        let findings = explained.findings.iter().map(|f| {
            json!({
                "rule": f.rule,
                "masked": f.masked,
                "fingerprint": f.fingerprint,
                "is_reported": f.is_reported,
                "why": f.why,
            })
        });
        let findings: Vec<_> = findings.collect();
        let Explained { file, line, steps, .. } = explained;
        console.json(&json!({"file": file, "line": line, "steps": steps, "findings": findings}))?;
    } else {
        console.write(told::explained(explained, console.out_style).as_bytes())?;
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_line_are_told_apart_at_the_last_colon() {
        let parsed = "a:b.py:12".parse();
        assert_eq!(parsed, Ok(FileLine { file: "a:b.py".into(), line: 12 }));
        for wrong in ["a.py", "a.py:0", "a.py:x", ":3", ""] {
            assert!(wrong.parse::<FileLine>().is_err(), "{wrong}");
        }
    }
}
