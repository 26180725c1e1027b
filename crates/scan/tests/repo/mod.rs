//! A real repository in a temporary folder, driven by the real `git`, and secrets drawn at run time.

#![allow(dead_code, reason = "each test file uses a part")]

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use holdfast_scan::{Baseline, IgnoreFiles, Progress, Report, Result, Scan, Where, Which};

/// A token that is nobody's, always the same for the same number. Put together here, so that no file holds one.
pub(crate) fn token(n: u64) -> String {
    format!("ghp_{}", letters(n, 36))
}

/// Letters and digits that look random.
pub(crate) fn letters(n: u64, count: usize) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
    let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        alphabet[(state >> 33) as usize % alphabet.len()]
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// A private key of several lines, drawn.
pub(crate) fn private_key(n: u64) -> String {
    let lines: Vec<String> = (0..6).map(|line| letters(n * 100 + line, 64)).collect();
    let (dashes, name) = ("-----", "RSA PRIVATE KEY");
    format!("{dashes}BEGIN {name}{dashes}\n{}\n{dashes}END {name}{dashes}\n", lines.join("\n"))
}

pub(crate) struct Repo {
    dir: tempfile::TempDir,
}

impl Repo {
    /// A repository with one commit.
    pub(crate) fn new() -> Repo {
        let repo = Repo::empty();
        repo.write("README", "hello\n");
        repo.git(["add", "."]);
        repo.git(["commit", "-qm", "first"]);
        repo
    }

    /// A repository without a commit.
    pub(crate) fn empty() -> Repo {
        let repo = Repo { dir: tempfile::tempdir().unwrap() };
        repo.git(["init", "-q", "-b", "main", "."]);
        repo
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.dir.path().join(name.as_ref())
    }

    pub(crate) fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes a file and stages it.
    pub(crate) fn stage(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        self.write(name.as_ref(), content);
        self.git([OsStr::new("add"), OsStr::new("-f"), OsStr::new("--"), name.as_ref()]);
    }

    /// Commits what is staged, past any hook.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(["commit", "-q", "--no-verify", "-m", message]);
        self.git(["rev-parse", "HEAD"]).trim().to_owned()
    }

    #[track_caller]
    pub(crate) fn git<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> String {
        let output = self.try_git(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn try_git<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Output {
        git_in(self.path(), arguments)
    }

    #[track_caller]
    pub(crate) fn staged(&self) -> Report {
        self.try_staged(Which::Added).unwrap()
    }

    pub(crate) fn try_staged(&self, which: Which) -> Result<Report> {
        scan(Where::Staged { paths: vec![self.path().to_owned()], which })
    }

    #[track_caller]
    pub(crate) fn history(&self) -> Report {
        scan(Where::History { paths: vec![self.path().to_owned()], range: None }).unwrap()
    }

    #[track_caller]
    pub(crate) fn tree(&self) -> Report {
        tree(&[self.path()])
    }
}

pub(crate) fn git_in<A: AsRef<OsStr>>(dir: &Path, arguments: impl IntoIterator<Item = A>) -> Output {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(arguments).stdin(Stdio::null());
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ana").env(format!("GIT_{role}_EMAIL"), "ana@example.org");
        command.env(format!("GIT_{role}_DATE"), "2026-11-15T08:00:00Z");
    }
    command.output().unwrap()
}

/// A scan of today with two threads and nothing accepted.
pub(crate) fn plan(place: Where) -> Scan {
    Scan {
        place,
        exceptions: None,
        baseline: Baseline::default(),
        now: "2026-11-15T08:00:00.000000Z".parse().unwrap(),
        threads: NonZeroUsize::new(2).unwrap(),
    }
}

pub(crate) fn scan(place: Where) -> Result<Report> {
    plan(place).run(&Progress::default())
}

#[track_caller]
pub(crate) fn tree(paths: &[&Path]) -> Report {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    scan(Where::Tree { paths, ignore_files: IgnoreFiles::Respected }).unwrap()
}

/// Findings as `place:line:column rule`.
pub(crate) fn told(report: &Report) -> Vec<String> {
    report.findings.iter().map(|f| format!("{}:{}:{} {}", f.place, f.line, f.column, f.rule)).collect()
}

/// Files in which something was found.
pub(crate) fn files(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|f| f.place.as_str()).collect()
}

/// What was left out, as `file: why`.
pub(crate) fn left_out(report: &Report, root: &Path) -> Vec<String> {
    let root = format!("{}/", root.display());
    report.skipped.iter().map(|s| format!("{}: {}", s.file.replace(&root, ""), s.why)).collect()
}
