//! `holdfast scan` and `holdfast hook` as a user runs them, with the real `git` and without a home.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_holdfast");

/// A token that is nobody's. Put together here, so that no file holds one.
fn token(n: u64) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
    let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        alphabet[(state >> 33) as usize % alphabet.len()]
    };
    format!("ghp_{}", std::iter::repeat_with(next).take(36).collect::<String>())
}

fn line(n: u64) -> String {
    format!("token = \"{}\"\n", token(n))
}

struct Repo {
    dir: tempfile::TempDir,
}

impl Repo {
    fn new() -> Repo {
        let repo = Repo { dir: tempfile::tempdir().unwrap() };
        repo.git(&["init", "-q", "-b", "main", "."]);
        repo.stage("README", "hello\n");
        repo.git(&["commit", "-q", "-m", "first"]);
        repo
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn stage(&self, name: &str, content: impl AsRef<[u8]>) {
        self.write(name, content);
        self.git(&["add", "--", name]);
    }

    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        let output = git(self.path(), arguments);
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn commit(&self) -> Output {
        git(self.path(), &["commit", "-q", "-m", "message"])
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    #[track_caller]
    fn hook(&self, arguments: &[&str]) -> String {
        let output = holdfast(self.path(), &[&["hook"], arguments].concat());
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Puts a hook of the user's in place that writes down that it ran.
    fn own_hook(&self, name: &str, ends_with: u8) -> Vec<u8> {
        let text =
            format!("#!/bin/sh\necho {name} >> '{}'\nexit {ends_with}\n", self.file(".git/ran").display());
        let path = self.file(&format!(".git/hooks/{name}"));
        self.write(&format!(".git/hooks/{name}"), &text);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o750)).unwrap();
        text.into_bytes()
    }

    fn ran(&self) -> String {
        std::fs::read_to_string(self.file(".git/ran")).unwrap_or_default()
    }
}

/// Everything that differs from machine to machine is taken out of the environment.
fn plain(command: &mut Command, dir: &Path) -> Output {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("HOLDFAST_HOME");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ana").env(format!("GIT_{role}_EMAIL"), "ana@example.org");
    }
    command.current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

fn git(dir: &Path, arguments: &[&str]) -> Output {
    plain(Command::new("git").args(arguments), dir)
}

fn holdfast<A: AsRef<OsStr>>(dir: &Path, arguments: &[A]) -> Output {
    plain(Command::new(PROGRAM).args(arguments), dir)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// Every file of the repository that a commit could change: work tree, index, refs, objects.
fn everything(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                all.insert(path, bytes);
            }
        }
    }
    all
}

// shows: HRD-044
#[test]
fn the_hook_lists_findings_and_refuses_and_a_blocked_commit_changes_nothing() {
    let repo = Repo::new();
    repo.hook(&["install"]);
    assert_eq!(code(&git(repo.path(), &["commit", "-q", "--allow-empty", "-m", "nothing staged"])), 0);
    repo.stage("src/a.py", format!("x = 1\n{}", line(1)));
    repo.write("src/a.py", "x = 1\n");
    // Before it calls a hook, git itself writes trees and the times of files anew; what is staged is listed instead.
    let state = || {
        let mut files = everything(repo.path());
        files.retain(|path, _| {
            path != &repo.file(".git/index") && !path.starts_with(repo.file(".git/objects"))
        });
        (files, repo.git(&["ls-files", "--stage", "-z"]), repo.head())
    };
    let before = state();
    let refused = repo.commit();
    assert_ne!(code(&refused), 0);
    let text = said(&refused);
    assert!(text.lines().any(|l| l.starts_with("src/a.py:2 - ")), "{text}");
    assert!(!text.contains(&token(1)[8..]), "{text}");
    assert!(state() == before, "something changed");
    repo.git(&["add", "src/a.py"]);
    assert_eq!(code(&repo.commit()), 0, "the secret is out of what is staged");
}

// shows: HRD-045
#[test]
fn a_scan_that_cannot_read_refuses_the_commit() {
    let repo = Repo::new();
    repo.hook(&["install"]);
    repo.stage("a.py", "a = 1\n");
    let id = repo.git(&["rev-parse", ":a.py"]).trim().to_owned();
    let object = repo.file(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, "nonsense").unwrap();
    let scanned = holdfast(repo.path(), &["scan", "--staged"]);
    assert_eq!(code(&scanned), 3, "{}", said(&scanned));
    assert!(said(&scanned).contains("HF-SCN-004"), "{}", said(&scanned));
    let head = repo.head();
    assert_ne!(code(&repo.commit()), 0);
    assert_eq!(repo.head(), head);
}

#[test]
fn a_program_that_is_gone_refuses_and_says_the_way_out() {
    let repo = Repo::new();
    let copy = repo.file(".git/holdfast-copy");
    std::fs::copy(PROGRAM, &copy).unwrap();
    assert_eq!(code(&plain(Command::new(&copy).args(["hook", "install"]), repo.path())), 0);
    std::fs::remove_file(&copy).unwrap();
    repo.stage("a.py", "a = 1\n");
    let refused = repo.commit();
    assert_ne!(code(&refused), 0);
    assert!(said(&refused).contains("is gone from") && said(&refused).contains("rm '"), "{}", said(&refused));
    assert_eq!(code(&holdfast(repo.path(), &["hook", "status"])), 0, "it is there, only out of date");
    assert!(repo.hook(&["install"]).contains("renewed"));
    assert_eq!(code(&repo.commit()), 0);
}

#[test]
fn a_hook_that_is_there_is_kept_called_first_and_put_back_byte_for_byte() {
    let repo = Repo::new();
    let own = repo.own_hook("pre-commit", 0);
    let plan = repo.hook(&["install", "--dry-run"]);
    assert!(plan.contains("would be installed"), "{plan}");
    assert_eq!(std::fs::read(repo.file(".git/hooks/pre-commit")).unwrap(), own, "a plan changes nothing");
    assert!(repo.hook(&["install"]).contains("kept"));
    let once = everything(&repo.file(".git/hooks"));
    assert!(repo.hook(&["install"]).contains("already"));
    assert_eq!(everything(&repo.file(".git/hooks")), once, "installing twice is installing once");
    repo.stage("a.py", "a = 1\n");
    assert_eq!(code(&repo.commit()), 0);
    assert_eq!(repo.ran(), "pre-commit\n");
    repo.stage("a.py", line(1));
    assert_ne!(code(&repo.commit()), 0);
    assert_eq!(repo.ran(), "pre-commit\npre-commit\n");
    assert!(repo.hook(&["remove"]).contains("put back"));
    let hook = repo.file(".git/hooks/pre-commit");
    assert_eq!(std::fs::read(&hook).unwrap(), own);
    assert_eq!(hook.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    let names = std::fs::read_dir(repo.file(".git/hooks")).unwrap();
    let names: Vec<_> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.contains("holdfast")), "{names:?}");
    assert!(repo.hook(&["remove"]).contains("is not there"));
}

#[test]
fn a_hook_that_refuses_is_respected() {
    let repo = Repo::new();
    repo.own_hook("pre-commit", 7);
    repo.hook(&["install"]);
    repo.stage("a.py", "a = 1\n");
    assert_ne!(code(&repo.commit()), 0);
    assert_eq!(repo.ran(), "pre-commit\n");
}

#[test]
fn a_hook_put_in_the_place_of_ours_is_not_overwritten() {
    let repo = Repo::new();
    repo.own_hook("pre-commit", 0);
    repo.hook(&["install"]);
    let other = repo.own_hook("pre-commit", 0);
    for command in ["install", "remove"] {
        let refused = holdfast(repo.path(), &["hook", command]);
        assert_eq!(code(&refused), 4);
        assert!(said(&refused).contains("HF-SCN-011"), "{}", said(&refused));
    }
    assert_eq!(std::fs::read(repo.file(".git/hooks/pre-commit")).unwrap(), other);
}

#[test]
fn what_was_interrupted_is_put_right() {
    let repo = Repo::new();
    let own = repo.own_hook("pre-commit", 0);
    let hook = repo.file(".git/hooks/pre-commit");
    let aside = repo.file(".git/hooks/pre-commit.before-holdfast");
    let interrupt = || {
        repo.hook(&["install"]);
        std::fs::remove_file(&hook).unwrap();
        assert_eq!(code(&holdfast(repo.path(), &["hook", "status"])), 1);
    };
    interrupt();
    repo.hook(&["install"]);
    assert!(hook.exists() && aside.exists());
    interrupt();
    repo.hook(&["remove"]);
    assert_eq!(std::fs::read(&hook).unwrap(), own);
    assert!(!aside.exists());
}

#[test]
fn work_trees_share_the_hook_and_a_configured_place_is_followed() {
    let repo = Repo::new();
    let tree = repo.file(".git/elsewhere");
    repo.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    assert_eq!(code(&holdfast(&tree, &["hook", "install"])), 0);
    assert!(repo.file(".git/hooks/pre-commit").exists());
    for dir in [repo.path(), &tree] {
        std::fs::write(dir.join("a.py"), line(1)).unwrap();
        assert_eq!(code(&git(dir, &["add", "a.py"])), 0);
        assert_ne!(code(&git(dir, &["commit", "-q", "-m", "no"])), 0, "{}", dir.display());
    }
    repo.hook(&["remove"]);
    repo.git(&["config", "core.hooksPath", "tools/hooks"]);
    assert!(repo.hook(&["install"]).contains("tools/hooks/pre-commit"));
    assert!(repo.file("tools/hooks/pre-commit").exists() && !repo.file(".git/hooks/pre-commit").exists());
    assert_ne!(code(&repo.commit()), 0);
    std::fs::create_dir_all(repo.file("deep/down")).unwrap();
    assert_eq!(code(&holdfast(&repo.file("deep/down"), &["hook", "status"])), 0);
}

#[test]
fn a_commit_of_named_files_is_judged_by_the_index_it_is_made_from() {
    let repo = Repo::new();
    repo.hook(&["install"]);
    repo.stage("a.py", "a = 1\n");
    repo.stage("b.py", "b = 1\n");
    assert_eq!(code(&repo.commit()), 0);
    repo.write("a.py", line(1));
    repo.write("b.py", "b = 2\n");
    assert_eq!(code(&git(repo.path(), &["commit", "-q", "-m", "only b", "b.py"])), 0);
    assert_ne!(code(&git(repo.path(), &["commit", "-q", "-a", "-m", "all"])), 0);
}

#[test]
fn a_push_is_judged_by_what_it_brings() {
    let (repo, other) = (Repo::new(), tempfile::tempdir().unwrap());
    assert_eq!(code(&git(other.path(), &["init", "-q", "--bare", "."])), 0);
    repo.git(&["remote", "add", "origin", other.path().to_str().unwrap()]);
    repo.stage("old.py", line(1));
    repo.git(&["commit", "-q", "-m", "an old sin"]);
    repo.git(&["push", "-q", "origin", "main"]);
    repo.own_hook("pre-push", 0);
    repo.hook(&["install", "--pre-push"]);
    repo.stage("a.py", "a = 1\n");
    repo.git(&["commit", "-q", "-m", "clean"]);
    repo.git(&["push", "-q", "origin", "main"]);
    assert_eq!(repo.ran(), "pre-push\n");
    repo.stage("b.py", line(2));
    repo.git(&["commit", "-q", "--no-verify", "-m", "past the hook"]);
    repo.git(&["rm", "-q", "b.py"]);
    repo.git(&["commit", "-q", "-m", "and out again"]);
    for refs in ["main", "main:refs/heads/new"] {
        let refused = git(repo.path(), &["push", "-q", "origin", refs]);
        assert_ne!(code(&refused), 0, "{refs}");
        assert!(
            said(&refused).contains("b.py:1 - ") && !said(&refused).contains("old.py"),
            "{}",
            said(&refused)
        );
    }
    repo.git(&["push", "-q", "origin", "HEAD~2:refs/heads/early"]);
    repo.git(&["push", "-q", "origin", ":early"]);
}

#[test]
fn a_scan_ends_by_its_verdict_in_every_format() {
    let repo = Repo::new();
    let scan = |arguments: &[&str]| holdfast(repo.path(), &[&["scan"], arguments].concat());
    assert_eq!(code(&scan(&[])), 0);
    repo.write("src/a.py", line(1));
    let text = scan(&["."]);
    assert_eq!(code(&text), 1);
    assert!(
        said(&text).contains("src/a.py\n  1:10  ") && said(&text).contains("▲ 1 finding in 1 file"),
        "{}",
        said(&text)
    );
    assert!(!said(&text).contains('\u{1b}'));
    let json: serde_json::Value = serde_json::from_slice(&scan(&["--json", "."]).stdout).unwrap();
    assert_eq!((&json["findings"][0]["file"], &json["findings"][0]["line"]), (&"src/a.py".into(), &1.into()));
    assert_eq!(scan(&["--json", "."]).stdout, scan(&["--format", "json", "."]).stdout);
    let sarif: serde_json::Value =
        serde_json::from_slice(&scan(&["--format", "sarif", "src"]).stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 1);
    assert_eq!(code(&scan(&["--json", "--format", "sarif", "."])), 2);
    assert_eq!(code(&scan(&["missing.py"])), 3);
    assert_eq!(code(&scan(&["missing.py", "src"])), 1);
    let outside = tempfile::tempdir().unwrap();
    assert_eq!(code(&holdfast(outside.path(), &["scan", "--staged"])), 3);
}

#[test]
fn standard_input_is_scanned() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a");
    std::fs::write(&file, line(1)).unwrap();
    let input = std::fs::File::open(file).unwrap();
    let output =
        Command::new(PROGRAM).args(["scan", "--format", "lines", "-"]).stdin(input).output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(said(&output).starts_with("<stdin>:1 - "), "{}", said(&output));
}

#[test]
fn a_baseline_is_written_and_read() {
    let repo = Repo::new();
    let scan = |arguments: &[&str]| holdfast(repo.path(), &[&["scan"], arguments].concat());
    repo.write("a.py", line(1));
    let written = scan(&["--write-baseline", ".git/baseline.json"]);
    assert_eq!(code(&written), 0, "{}", said(&written));
    assert_eq!(code(&scan(&["--baseline", ".git/baseline.json"])), 0);
    repo.write("b.py", line(2));
    assert_eq!(code(&scan(&["--baseline", ".git/baseline.json"])), 1);
    assert_eq!(code(&scan(&["--baseline", "README"])), 2);
}

#[test]
fn a_line_is_explained() {
    let repo = Repo::new();
    repo.write(
        "a.py",
        format!("x = 1\n{}k = \"{}\"  # holdfast: allow any — an example\n", line(1), token(2)),
    );
    let explain = |at: &str| holdfast(repo.path(), &["scan", "--explain", at]);
    let check = |at: &str, words: &str| {
        let output = explain(at);
        assert_eq!(code(&output), 0, "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
        assert!(!said(&output).contains(&token(1)[8..]), "{}", said(&output));
    };
    check("a.py:1", "nothing on this line is reported");
    check("a.py:2", " reported: ");
    check("a.py:3", "passes: the comment beside it allows it");
    assert_eq!(code(&explain("a.py:9")), 2);
    assert_eq!(code(&explain("a.py")), 2);
    assert_eq!(code(&explain("missing.py:1")), 3);
}

#[test]
fn history_is_scanned_by_range_too() {
    let repo = Repo::new();
    repo.stage("a.py", line(1));
    repo.git(&["commit", "-q", "-m", "in"]);
    repo.git(&["rm", "-q", "a.py"]);
    repo.git(&["commit", "-q", "-m", "out"]);
    let scan = |arguments: &[&str]| holdfast(repo.path(), &[&["scan"], arguments].concat());
    assert_eq!(code(&scan(&["."])), 0);
    assert_eq!(code(&scan(&["--history"])), 1);
    assert_eq!(code(&scan(&["--history", "."])), 1);
    assert_eq!(code(&scan(&["--history=HEAD~1..HEAD"])), 0);
    assert_eq!(code(&scan(&["--history=no-such-thing"])), 3);
}
