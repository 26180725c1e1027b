//! How often the scanner cries wolf, on source code that nobody planted anything in: widely used crates in the versions
//! `Cargo.lock` pins, which are on disk after any build, and this repository.
//!
//! `docs/false-alarms.md` has a row for everything that is reported in the crates, with the reason. A new version of a
//! crate or of a rule that changes what is reported fails here, and says which rows to add or to take out.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod repo;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use holdfast_scan::{IgnoreFiles, Progress, Report, Where};
use repo::{git_in, plan};

/// Widely used, and of many kinds: parsers, protocols, tables of constants, generated code, test data.
const CRATES: [&str; 31] = [
    "aho-corasick",
    "anyhow",
    "base64",
    "bytes",
    "clap",
    "clap_builder",
    "flate2",
    "futures-util",
    "http",
    "jiff",
    "libc",
    "memchr",
    "proc-macro2",
    "proptest",
    "regex",
    "regex-automata",
    "reqwest",
    "rusqlite",
    "rustix",
    "serde",
    "serde_json",
    "syn",
    "tar",
    "thiserror",
    "tokio",
    "tokio-util",
    "toml",
    "tracing",
    "tracing-subscriber",
    "url",
    "zip",
];

/// One finding in so many lines is what a person puts up with.
const LINES_PER_FINDING: u64 = 20_000;

/// As `docs/false-alarms.md` has them: crate, file, rule.
type Rows = BTreeMap<(String, String, String), usize>;

#[test]
fn the_sources_of_widely_used_crates_raise_few_alarms_and_each_is_explained() {
    let sources = sources();
    let missing: Vec<_> = CRATES.iter().filter(|name| !sources.iter().any(|(n, _)| n == *name)).collect();
    assert!(missing.is_empty(), "not among the workspace's dependencies: {missing:?}");

    let paths: Vec<PathBuf> = sources.iter().map(|(_, dir)| dir.clone()).collect();
    let report = look(paths.clone(), Exceptions::None);
    assert_eq!(report.failed, [], "everything can be read");
    let lines: u64 = paths.iter().map(|dir| lines_below(dir)).sum();
    assert!(lines > 500_000, "{lines} lines are not the sources of these crates");
    assert_few(&report, lines);

    let found = rows_of(&report, &sources);
    let page = std::fs::read_to_string(root().join("docs/false-alarms.md")).unwrap();
    let explained = rows_in(&page);
    let new: Vec<_> = found.iter().filter(|(row, n)| explained.get(*row) != Some(*n)).collect();
    let gone: Vec<_> = explained.iter().filter(|(row, n)| found.get(*row) != Some(*n)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "docs/false-alarms.md\nhas no such row: {new:#?}\nhas a row that is no longer true: {gone:#?}"
    );
}

#[test]
fn this_repository_holds_nothing_that_is_not_accounted_for() {
    let files = own_files();
    let report = look(files.clone(), Exceptions::OfTheRepository);
    assert_eq!(report.failed, [], "everything can be read");
    let lines: u64 = files.iter().map(|file| lines_of(file)).sum();
    assert!(lines > 50_000, "{lines} lines are not this repository");
    let told: Vec<String> = report
        .findings
        .iter()
        .map(|f| format!("{}:{} {} {}", f.place, f.line, f.rule, f.fingerprint))
        .collect();
    assert!(
        told.is_empty(),
        "a value of a test is put together from pieces, an example gets a comment that allows it, \
         and what can have neither stands in .holdfast/scan.toml:\n{}",
        told.join("\n")
    );
}

#[test]
fn every_row_of_the_page_gives_its_reason() {
    let page = std::fs::read_to_string(root().join("docs/false-alarms.md")).unwrap();
    for row in table(&page) {
        assert!(row[4].split_whitespace().count() >= 4, "{row:?}");
    }
}

#[track_caller]
fn assert_few(report: &Report, lines: u64) {
    let findings = report.findings.len() as u64;
    assert!(findings <= lines / LINES_PER_FINDING, "{findings} findings in {lines} lines");
}

/// Whose list of exceptions counts.
enum Exceptions {
    /// Nobody's, even where cargo keeps its sources within a repository that has one.
    None,
    OfTheRepository,
}

fn look(paths: Vec<PathBuf>, exceptions: Exceptions) -> Report {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let list = match exceptions {
        Exceptions::None => empty.path().to_owned(),
        Exceptions::OfTheRepository => root().join(holdfast_scan::REVIEW_FILE),
    };
    let mut scan = plan(Where::Tree { paths, ignore_files: IgnoreFiles::Passed });
    scan.exceptions = Some(list);
    scan.run(&Progress::default()).unwrap()
}

/// The root of this repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The crates by name, with the folders of all their versions that are built here.
fn sources() -> Vec<(String, PathBuf)> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--locked", "--offline", "--format-version", "1"]);
    // Without it, sources for systems nobody builds for here would have to be there.
    cargo.args(["--filter-platform", "host-tuple"]).current_dir(root());
    let answer = cargo.output().unwrap();
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    let packages = answer["packages"].as_array().unwrap().iter();
    let named = packages.map(|p| (p["name"].as_str().unwrap(), p["manifest_path"].as_str().unwrap()));
    let wanted = named.filter(|(name, _)| CRATES.contains(name));
    wanted
        .map(|(name, manifest)| (name.to_owned(), Path::new(manifest).parent().unwrap().to_owned()))
        .collect()
}

/// What git tracks or would, or all there is where this is no clone. The list of exceptions and its scope decide the rest.
fn own_files() -> Vec<PathBuf> {
    let root = root();
    let listed = git_in(&root, ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    if !listed.status.success() {
        let built = |name: &str| name == "target" || name == ".git";
        return files_below(&root, &built);
    }
    let names = String::from_utf8(listed.stdout).unwrap();
    let files = names.split_terminator('\0').map(|name| root.join(name));
    // A file that was deleted is listed until that is committed.
    files.filter(|file| file.is_file()).collect()
}

fn files_below(dir: &Path, left_out: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if left_out(&entry.file_name().to_string_lossy()) {
            continue;
        }
        match kind {
            kind if kind.is_dir() => files.extend(files_below(&entry.path(), left_out)),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}

fn lines_below(dir: &Path) -> u64 {
    files_below(dir, &|_| false).iter().map(|file| lines_of(file)).sum()
}

/// The lines of a text; a binary has none, as the scanner leaves it out.
fn lines_of(file: &Path) -> u64 {
    let content = std::fs::read(file).unwrap();
    let binary = content.iter().take(8192).any(|byte| *byte == 0);
    if binary { 0 } else { memchr::memchr_iter(b'\n', &content).count() as u64 }
}

fn rows_of(report: &Report, sources: &[(String, PathBuf)]) -> Rows {
    let mut rows = Rows::new();
    for finding in &report.findings {
        let within = |(name, dir): &(String, PathBuf)| {
            let file = Path::new(&finding.file).strip_prefix(dir).ok()?;
            Some((name.clone(), file.to_str().unwrap().to_owned()))
        };
        let (name, file) = sources.iter().find_map(within).unwrap();
        *rows.entry((name, file, finding.rule.clone())).or_default() += 1;
    }
    rows
}

fn rows_in(page: &str) -> Rows {
    let rows = table(page);
    let keyed =
        rows.into_iter().map(|[name, file, rule, count, _]| ((name, file, rule), count.parse().unwrap()));
    keyed.collect()
}

/// The rows of the page's table: crate, file, rule, count, reason.
fn table(page: &str) -> Vec<[String; 5]> {
    let lines = page.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim_matches('|').split('|');
        inner.map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    lines.map(|line| cells(line).try_into().expect("five cells")).collect()
}
