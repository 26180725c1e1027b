//! What is taken for planted, in folders of a test's own.

use std::fs;
use std::os::unix::fs::symlink;

use super::cover::{Ground, Laid, Uncovered};
use super::*;
use crate::tree::Machine;

const FILES: &[(&str, &str)] = &[("HEAD", "ref: refs/heads/main\n"), ("objects/x", ""), ("refs/x", "")];

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn repository(git: &Path) {
    for (name, text) in FILES {
        put(&git.join(name), text);
    }
}

fn try_laid(root: &Path, settings: &[PathBuf]) -> Result<Laid, Uncovered> {
    Guard::of(&Ground {
        roots: &[root.to_owned()],
        granted: &BTreeSet::from([root.to_owned()]),
        uid: rustix::process::geteuid().as_raw(),
        settings,
        home: None,
        tree: &Machine,
    })
}

fn laid(root: &Path) -> Laid {
    try_laid(root, &[]).unwrap()
}

/// What is covered, below a folder.
fn covered(laid: &Laid, root: &Path) -> BTreeSet<String> {
    let covered = laid.guard.covered.iter().filter_map(|path| path.strip_prefix(root).ok());
    covered.map(|path| path.display().to_string()).collect()
}

/// As if everything had changed since the start.
fn judged(root: &Path, guard: &Guard) -> Vec<String> {
    judged_since(root, guard, 0)
}

fn judged_since(root: &Path, guard: &Guard, since: i64) -> Vec<String> {
    let found = search(&Machine, root, &|_| false, AFTER);
    let mut all: Vec<String> = judge(guard, &found, &Machine, since)
        .iter()
        .map(|verdict| {
            let below = verdict.path.strip_prefix(root).unwrap().display();
            format!("{below}{}", if verdict.set_aside { "" } else { " (said)" })
        })
        .collect();
    all.sort();
    all
}

#[test]
fn what_git_reads_is_covered_where_it_is_and_where_it_could_be() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    repository(&root.join(".git"));
    put(
        &root.join(".git/config"),
        "[core]\nhooksPath = tools/hooks\n[include]\npath = ../shared\n[extensions]\nworktreeConfig = true\n",
    );
    put(&root.join("tools/hooks/pre-commit"), "");
    put(&root.join("shared"), "");
    put(&root.join(".git/info/attributes"), "");
    repository(&root.join(".git/modules/deep/sub"));
    put(&root.join(".git/worktrees/other/HEAD"), "");
    put(&root.join(".git/worktrees/other/commondir"), "../..\n");
    put(&root.join(".git/worktrees/other/gitdir"), "/elsewhere/.git\n");
    put(&root.join("sub/.git"), "gitdir: ../.git/modules/deep/sub\n");
    repository(&root.join("bare"));
    symlink("/nowhere", root.join("bare/hooks")).unwrap();
    put(&root.join(".envrc"), "");
    put(&root.join("src/.envrc"), "");
    let laid = laid(root);
    let covered = covered(&laid, root);
    for wanted in [
        ".git/hooks",
        ".git/config",
        ".git/commondir",
        ".git/config.worktree",
        ".git/info/attributes",
        "tools/hooks",
        "shared",
        ".git/modules/deep/sub/hooks",
        ".git/modules/deep/sub/config",
        ".git/modules/deep/sub/commondir",
        ".git/worktrees/other/commondir",
        ".git/worktrees/other/gitdir",
        ".git/worktrees/other/config.worktree",
        "sub/.git",
        "bare/hooks",
        "bare/config",
        "bare/commondir",
        ".envrc",
    ] {
        assert!(covered.contains(wanted), "{wanted}: {covered:?}");
    }
    for open in [".git", ".git/HEAD", ".git/refs", ".git/objects", ".git/info", ".git/index", "src/.envrc"] {
        assert!(!covered.contains(open), "{open}");
    }
    assert!(laid.covers.iter().any(|cover| cover.at.ends_with("bare/hooks") && cover.over == Over::Link));
    let put_there: Vec<_> =
        laid.guard.placeholders.iter().filter(|p| p.at.starts_with(root.join(".git/hooks"))).collect();
    assert!(put_there.len() == 1 && put_there[0].folder, "a missing folder of hooks is made: {put_there:?}");
    assert_eq!(judged(root, &laid.guard), ["src/.envrc (said)"], "what is not covered can be changed");
    assert_eq!(judged_since(root, &laid.guard, i64::MAX), Vec::<String>::new(), "nothing was");
}

#[test]
fn a_repository_that_came_to_be_inside_is_judged_by_what_git_would_run() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let guard = laid(root).guard;
    // As `git init`, `git clone`, `git submodule add` and `git worktree add` make them.
    repository(&root.join("clone/.git"));
    put(&root.join("clone/.git/hooks/pre-commit.sample"), "");
    put(
        &root.join("clone/.git/config"),
        "[core]\nbare = false\n[remote \"origin\"]\nurl = https://example.org/a\n",
    );
    repository(&root.join("clone/.git/modules/sub"));
    put(&root.join("clone/.git/modules/sub/config"), "[core]\nworktree = ../../../sub\n");
    put(&root.join("clone/sub/.git"), "gitdir: ../.git/modules/sub\n");
    put(&root.join("clone/.git/worktrees/other/HEAD"), "");
    put(&root.join("clone/.git/worktrees/other/commondir"), "../..\n");
    put(&root.join("other/.git"), &format!("gitdir: {}/clone/.git/worktrees/other\n", root.display()));
    assert_eq!(judged(root, &guard), Vec::<String>::new());
    // And in every way that runs something.
    for (name, text) in [
        ("a/.git/config", "[core]\nfsmonitor = x\n"),
        ("b/hooks/post-checkout", "x"),
        ("c/.git/commondir", "/tmp\n"),
    ] {
        put(&root.join(name), text);
    }
    for git in ["a/.git", "b", "c/.git", "node_modules/d/.git", "e/.git", "i/.git"] {
        repository(&root.join(git));
    }
    put(&root.join("node_modules/d/.git/config.worktree"), "[core]\nsshCommand = x\n");
    put(&root.join("e/twin"), "[core]\n");
    fs::hard_link(root.join("e/twin"), root.join("e/.git/config")).unwrap();
    put(&root.join("f/.git"), "gitdir: /tmp\n");
    fs::create_dir_all(root.join("g")).unwrap();
    symlink("../e", root.join("g/.git")).unwrap();
    put(&root.join("h/HEAD"), "");
    put(&root.join("h/commondir"), "../nothing\n");
    symlink("../../a", root.join("i/.git/hooks")).unwrap();
    put(&root.join("j/.vscode/tasks.json"), "{}");
    put(&root.join("k/.git/modules/x/config"), "[core]\nworktree = /\n");
    repository(&root.join("k/.git/modules/x"));
    assert_eq!(
        judged(root, &guard),
        [
            "a/.git/config",
            "b/hooks",
            "c/.git/commondir",
            "e/.git/config",
            "f/.git",
            "g/.git",
            "h/commondir",
            "i/.git/hooks",
            "j/.vscode (said)",
            "k/.git/modules/x/config",
            "node_modules/d/.git/config.worktree",
        ]
    );
}

#[test]
fn a_search_ends_at_its_bounds_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..30 {
        repository(&folder.path().join(format!("{n}/.git")));
    }
    let within = |folders_max, repositories_max| {
        let bounds = Bounds { folders_max, repositories_max, filled_by_tools: true };
        let found = search(&Machine, folder.path(), &|_| false, bounds);
        (found.git_folders.len() <= repositories_max, found.complete)
    };
    assert_eq!(within(1000, 1000), (true, true));
    assert_eq!(within(20, 1000), (true, false));
    assert_eq!(within(1000, 5), (true, false));
}
