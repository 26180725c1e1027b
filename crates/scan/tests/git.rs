//! Scans of what is staged and of history, with the real `git`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod repo;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use holdfast_scan::{Error, Where, Which};
use repo::{Repo, files, left_out, scan, token, told};

fn line(n: u64) -> String {
    format!("token = \"{}\"\n", token(n))
}

#[test]
fn nothing_staged_passes() {
    for repo in [Repo::new(), Repo::empty()] {
        let report = repo.staged();
        assert!(report.is_clean());
        assert_eq!(report.files, 0);
    }
}

// shows: HRD-043, HRD-F20
#[test]
fn what_is_staged_counts_and_not_the_work_tree() {
    let repo = Repo::new();
    repo.stage("a.py", line(1));
    repo.write("a.py", "token = None\n");
    assert_eq!(files(&repo.staged()), ["a.py"], "removed from the work tree, still staged");
    std::fs::remove_file(repo.file("a.py")).unwrap();
    assert_eq!(files(&repo.staged()), ["a.py"], "gone from the work tree, still staged");
    repo.git(["rm", "-q", "--cached", "a.py"]);
    repo.write("b.py", line(1));
    assert!(repo.staged().is_clean(), "in the work tree and not staged");
}

// shows: HRD-043
#[test]
fn the_scope_of_the_staged_list_is_what_counts() {
    let repo = Repo::new();
    repo.stage("notes/a.md", line(1));
    repo.stage("code/a.py", line(2));
    assert_eq!(repo.staged().findings.len(), 2, "everything staged, unless something else is configured");
    repo.write(".holdfast/scan.toml", "[scope]\nonly = [\"notes/\"]\n");
    assert_eq!(repo.staged().findings.len(), 2, "a list that is not staged does not count");
    repo.git(["add", "."]);
    let report = repo.staged();
    assert_eq!(files(&report), ["notes/a.md"]);
    assert!(left_out(&report, repo.path()).iter().any(|l| l.starts_with("code/a.py: out of the scope")));
}

#[test]
fn of_a_partly_staged_file_the_staged_part_counts() {
    let repo = Repo::new();
    let lines = |first: &str, last: &str| format!("{first}{}{last}", "filler\n".repeat(20));
    repo.stage("a.py", lines("a = 1\n", "b = 2\n"));
    repo.commit("a");
    let patch = |first: &str, last: &str| {
        repo.write("a.py", lines(first, last));
        let patch = repo.git(["diff", "a.py"]);
        let file = repo.file(".git/patch");
        std::fs::write(&file, patch).unwrap();
        file
    };
    let clean = patch("a = 3\n", "b = 2\n");
    repo.git([OsStr::new("apply"), OsStr::new("--cached"), clean.as_os_str()]);
    repo.write("a.py", lines("a = 3\n", &line(1)));
    assert!(repo.staged().is_clean(), "the secret is in the part that is not staged");
    let rest = patch("a = 3\n", &line(1));
    repo.git([OsStr::new("apply"), OsStr::new("--cached"), rest.as_os_str()]);
    repo.write("a.py", lines("a = 3\n", "b = 2\n"));
    assert_eq!(repo.staged().findings.len(), 1);
}

#[test]
fn a_commit_answers_for_what_it_adds() {
    let repo = Repo::new();
    let filler = "line of a file that is long enough to be recognised when it is renamed\n".repeat(20);
    repo.stage("old.py", format!("{}{filler}", line(1)));
    repo.commit("an old sin");
    repo.stage("old.py", format!("# changed\n{}{filler}", line(1)));
    assert!(repo.staged().is_clean(), "another line of a file with an old finding");
    assert_eq!(repo.try_staged(Which::Whole).unwrap().findings.len(), 1);
    repo.git(["mv", "old.py", "new.py"]);
    assert!(repo.staged().is_clean(), "renamed");
    repo.stage("new.py", format!("# changed\n{}{filler}{}", line(1), line(2)));
    assert_eq!(told(&repo.staged()).len(), 1, "renamed, and another added");
    repo.stage("new.py", format!("# changed\n{0}{filler}{0}", line(1)));
    assert_eq!(repo.staged().findings.len(), 1, "a second copy");
    repo.stage("copy.py", line(1));
    assert_eq!(files(&repo.staged()), ["copy.py", "new.py"], "a copy elsewhere");
}

#[test]
fn a_pipe_in_the_place_of_attributes_holds_up_nobody() {
    let repo = Repo::new();
    let filler = "line of a file that is long enough to be recognised when it is renamed\n".repeat(20);
    repo.stage("sub/old.py", format!("{}{filler}", line(1)));
    repo.commit("an old sin");
    repo.git(["mv", "sub/old.py", "sub/new.py"]);
    repo.stage("sub/new.py", format!("# changed\n{}{filler}", line(1)));
    let pipe = repo.file("sub/.gitattributes");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let began = std::time::Instant::now();
    assert!(repo.staged().is_clean(), "renamed");
    assert!(repo.history().findings.len() == 1);
    assert!(began.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn a_merge_answers_for_neither_side() {
    let repo = Repo::new();
    repo.git(["checkout", "-q", "-b", "side"]);
    repo.stage("side.py", line(1));
    repo.commit("side");
    repo.git(["checkout", "-q", "main"]);
    repo.git(["merge", "-q", "--no-commit", "--no-ff", "side"]);
    assert!(repo.staged().is_clean(), "the other side had it");
    repo.stage("side.py", format!("{}{}", line(1), line(2)));
    assert_eq!(told(&repo.staged()).len(), 1, "neither side had it");
}

// shows: HRD-046, HRD-F21
#[test]
fn deleted_renamed_binary_and_oddly_named_files_are_handled() {
    let repo = Repo::new();
    let odd: [&[u8]; 4] =
        [b"with\nnewline.py", b"with \"quote\" and space.py", "ünïcode.py".as_bytes(), b"\xff\xfe.py"];
    repo.stage("gone.py", line(9));
    repo.stage("moved.py", "x = 1\n".repeat(30));
    repo.commit("before");
    repo.git(["rm", "-q", "gone.py"]);
    repo.git(["mv", "moved.py", "renamed.py"]);
    repo.stage("renamed.py", format!("{}{}", "x = 1\n".repeat(30), line(1)));
    for (n, name) in odd.iter().enumerate() {
        repo.stage(OsStr::from_bytes(name), line(n as u64 + 10));
    }
    repo.stage("image.png", [b"\x89PNG\0", line(3).as_bytes()].concat());
    std::os::unix::fs::symlink("/etc/passwd", repo.file("link")).unwrap();
    repo.git(["add", "link"]);
    let report = repo.staged();
    let mut expected =
        vec!["\\xff\\xfe.py", "renamed.py", "with\nnewline.py", "with \"quote\" and space.py", "ünïcode.py"];
    expected.sort_unstable();
    assert_eq!(files(&report), expected);
    assert_eq!(left_out(&report, repo.path()), ["image.png: binary"]);
    assert!(report.failed.is_empty());
}

#[test]
fn a_submodule_is_told_as_left_out() {
    let (repo, other) = (Repo::new(), Repo::new());
    repo.git([
        OsStr::new("-c"),
        OsStr::new("protocol.file.allow=always"),
        OsStr::new("submodule"),
        OsStr::new("--quiet"),
        OsStr::new("add"),
        other.path().as_os_str(),
        OsStr::new("sub"),
    ]);
    let report = repo.staged();
    assert!(report.is_clean());
    assert_eq!(left_out(&report, repo.path()), ["sub: submodule"]);
}

#[test]
fn a_first_commit_is_compared_with_nothing() {
    let repo = Repo::empty();
    repo.stage("a.py", line(1));
    assert_eq!(files(&repo.staged()), ["a.py"]);
}

#[test]
fn a_path_limits_what_is_looked_at() {
    let repo = Repo::new();
    repo.stage("src/a.py", line(1));
    repo.stage("srcs/b.py", line(2));
    let at = |path: &str| {
        let report = scan(Where::Staged { paths: vec![repo.file(path)], which: Which::Added }).unwrap();
        files(&report).iter().map(|f| (*f).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(at("src"), ["src/a.py"]);
    assert_eq!(at("src/a.py"), ["src/a.py"]);
    assert_eq!(at("").len(), 2);
}

/// Overwrites a loose object with nonsense.
fn damage(repo: &Repo, id: &str) {
    let path = repo.file(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    std::fs::remove_file(&path).unwrap();
    std::fs::write(path, b"nonsense").unwrap();
}

#[test]
fn a_blob_that_cannot_be_read_is_an_error_and_never_clean() {
    let repo = Repo::new();
    repo.stage("a.py", "nothing of interest\n");
    let id = repo.git(["rev-parse", ":a.py"]).trim().to_owned();
    repo.commit("a");
    repo.stage("a.py", line(1));
    damage(&repo, &id);
    assert!(matches!(repo.try_staged(Which::Added), Err(Error::Object { .. })), "what was before");
    let id = repo.git(["rev-parse", ":a.py"]).trim().to_owned();
    damage(&repo, &id);
    assert!(matches!(repo.try_staged(Which::Whole), Err(Error::Object { .. })), "what is staged");
    let all = scan(Where::History { paths: vec![repo.path().to_owned()], range: None });
    assert!(matches!(all, Err(Error::Object { .. })), "what was committed");
    std::fs::write(repo.file(".git/index"), "nonsense").unwrap();
    assert!(matches!(repo.try_staged(Which::Added), Err(Error::Git { .. })), "the index");
    let nowhere = tempfile::tempdir().unwrap();
    let outside = scan(Where::Staged { paths: vec![nowhere.path().to_owned()], which: Which::Added });
    assert!(matches!(outside, Err(Error::NoRepository { .. })));
}

#[test]
fn an_object_that_says_it_is_longer_than_it_is_holds_up_nobody() {
    let repo = Repo::new();
    repo.stage("a.py", "x = 1\n");
    repo.commit("a");
    let id = repo.git(["rev-parse", "HEAD:a.py"]).trim().to_owned();
    damage(&repo, &id);
    let path = repo.file(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, b"blob 4611686018427387904\0x = 1\n").unwrap();
    std::fs::write(path, packed.finish().unwrap()).unwrap();
    let all = scan(Where::History { paths: vec![repo.path().to_owned()], range: None });
    assert!(matches!(all, Err(Error::Object { .. })), "{all:?}");
}

#[test]
fn history_finds_what_was_removed_later_with_the_commit_that_brought_it() {
    let repo = Repo::new();
    repo.stage("conf/a.py", format!("x = 1\n{}", line(1)));
    let brought = repo.commit("in");
    repo.stage("conf/a.py", format!("# moved down\nx = 1\n{}", line(1)));
    repo.commit("changed");
    repo.stage("conf/a.py", "x = 1\n");
    repo.commit("out");
    repo.git(["rm", "-rq", "conf"]);
    repo.commit("gone");
    assert!(repo.tree().is_clean());
    let report = repo.history();
    assert_eq!(files(&report), ["conf/a.py"], "once, although two versions had it");
    assert_eq!((report.findings[0].line, report.findings[0].commit.as_deref()), (2, Some(brought.as_str())));
}

#[test]
fn history_sees_other_branches_stashes_and_what_only_a_merge_brought() {
    let repo = Repo::new();
    repo.git(["checkout", "-q", "-b", "side"]);
    repo.stage("side.py", line(1));
    repo.commit("side");
    repo.git(["checkout", "-q", "main"]);
    repo.stage("main.py", "x = 1\n");
    repo.commit("main");
    repo.git(["merge", "-q", "--no-commit", "--no-ff", "side"]);
    repo.stage("evil.py", line(2));
    repo.stage("side.py", line(3));
    let merge = repo.commit("merged");
    repo.write("README", line(4));
    repo.git(["stash", "-q"]);
    let report = repo.history();
    let mut of_merge: Vec<&str> = report
        .findings
        .iter()
        .filter(|f| f.commit.as_deref() == Some(&merge))
        .map(|f| f.place.as_str())
        .collect();
    of_merge.sort_unstable();
    assert_eq!(of_merge, ["evil.py", "side.py"]);
    assert_eq!(files(&report), ["README", "evil.py", "side.py", "side.py"]);
}

#[test]
fn a_range_of_history_is_what_it_brought() {
    let repo = Repo::new();
    repo.stage("a.py", line(1));
    let first = repo.commit("a");
    repo.stage("b.py", line(2));
    repo.commit("b");
    let at = |range: &str| {
        scan(Where::History { paths: vec![repo.path().to_owned()], range: Some(range.to_owned()) })
    };
    assert_eq!(files(&at(&format!("{first}..HEAD")).unwrap()), ["b.py"]);
    for wrong in ["no-such-branch", "--all", "-n1"] {
        assert!(matches!(at(wrong), Err(Error::Git { .. })), "{wrong}");
    }
}
