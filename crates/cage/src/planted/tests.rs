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
    try_laid_with(root, settings, &[])
}

fn try_laid_with(root: &Path, settings: &[PathBuf], variables: &[(&str, &str)]) -> Result<Laid, Uncovered> {
    let variables: Vec<(String, String)> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Guard::of(&Ground {
        roots: &[root.to_owned()],
        granted: &BTreeSet::from([root.to_owned()]),
        uid: rustix::process::geteuid().as_raw(),
        settings,
        given: &given(&variables).unwrap(),
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
    judged_knowing(root, guard, since, &Recent::default())
}

fn judged_knowing(root: &Path, guard: &Guard, since: i64, recent: &Recent) -> Vec<String> {
    let found = search(&Machine, root, &|_| false, AFTER);
    let mut all: Vec<String> = judge(guard, &found, &Machine, since, recent)
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
fn what_was_made_shortly_before_the_program_is_not_said_to_be_changed_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for at in ["deep/.envrc", "pkg/.vscode/tasks.json", "pkg/.idea/x", "old/.envrc", "now/.envrc"] {
        put(&root.join(at), "1");
    }
    let guard = laid(root).guard;
    let changed = |at: &str| Machine.changed(&root.join(at)).unwrap();
    let later = changed("now/.envrc") + 1_000_000_000;
    let recent = Recent::of(&guard, &Machine, 0, later);
    assert_eq!(judged_knowing(root, &guard, 0, &recent), Vec::<String>::new());
    // What was made in the very moment could have been changed in it too.
    let at_once = Recent::of(&guard, &Machine, 0, changed("now/.envrc"));
    assert!(judged_knowing(root, &guard, 0, &at_once).contains(&"now/.envrc (said)".to_owned()));
    std::thread::sleep(std::time::Duration::from_millis(30));
    // The same length and, by `utimes`, the same time of writing.
    let times = fs::metadata(root.join("deep/.envrc")).unwrap().modified().unwrap();
    put(&root.join("deep/.envrc"), "2");
    fs::File::options().write(true).open(root.join("deep/.envrc")).unwrap().set_modified(times).unwrap();
    put(&root.join("pkg/.vscode/more.json"), "");
    fs::remove_file(root.join("pkg/.idea/x")).unwrap();
    // Put in its place under its name.
    put(&root.join("old/other"), "1");
    fs::remove_file(root.join("old/.envrc")).unwrap();
    fs::hard_link(root.join("old/other"), root.join("old/.envrc")).unwrap();
    assert_eq!(
        judged_knowing(root, &guard, 0, &recent),
        ["deep/.envrc (said)", "old/.envrc (said)", "pkg/.idea (said)", "pkg/.vscode (said)"]
    );
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

#[test]
fn settings_that_include_each_other_by_ever_other_names_come_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    repository(&root.join(".git"));
    put(&root.join(".git/config"), "[include]\npath = ../shared\n");
    put(&root.join("shared"), "[include]\npath = a/../shared\n[include]\npath = link/../shared\n");
    fs::create_dir_all(root.join("a/b")).unwrap();
    symlink("a/b", root.join("link")).unwrap();
    put(&root.join("a/shared"), "[include]\npath = ../a/shared\n[core]\nhooksPath = tools\n");
    let laid = laid(root);
    let covered = covered(&laid, root);
    for wanted in ["shared", "a/shared", "link", "tools"] {
        assert!(covered.contains(wanted), "{wanted}: {covered:?}");
    }
    // One file may include very many.
    let many: String = (0..1100).map(|n| format!("[include]\npath = more/{n}\n")).collect();
    put(&root.join("shared"), &many);
    let refused = try_laid(root, &[]).unwrap_err();
    assert!(refused.why.contains("more than 1000"), "{refused:?}");
}

#[test]
fn what_names_the_home_of_another_is_found_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    repository(&root.join(".git"));
    let config = |text: &str| put(&root.join(".git/config"), text);
    config("[core]\nhooksPath = ~root/hooks\n");
    assert!(try_laid(root, &[]).is_ok());
    for unknown in ["~nobody-of-that-name/hooks", "%(prefix)/hooks"] {
        config(&format!("[core]\nhooksPath = {unknown}\n"));
        assert_eq!(try_laid(root, &[]).unwrap_err().path, Path::new(unknown));
        config(&format!("[include]\npath = {unknown}\n"));
        assert_eq!(try_laid(root, &[]).unwrap_err().path, Path::new(unknown));
        // What a shell reads is not refused for a word.
        config(&format!("[core]\neditor = {unknown}\n"));
        assert!(try_laid(root, &[]).is_ok());
    }
}

#[test]
fn settings_in_variables_lead_to_covers_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    repository(&root.join(".git"));
    put(&root.join("monitor"), "");
    put(&root.join("HEAD"), "");
    let laid = try_laid_with(
        root,
        &[],
        &[("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='tools' 'core.fsmonitor'='sh monitor'")],
    );
    let covered = covered(&laid.unwrap(), root);
    assert!(covered.contains("tools") && covered.contains("monitor"), "{covered:?}");
}

#[test]
fn words_of_settings_leave_what_git_writes_every_day_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    repository(&root.join(".git"));
    put(&root.join(".git/index"), "");
    put(&root.join(".git/logs/HEAD"), "");
    put(&root.join(".git/monitor"), "");
    put(&root.join("co"), "");
    put(
        &root.join(".git/config"),
        "[alias]\nunstage = reset HEAD --\nlast = !git log HEAD\nco = co\nshow = !cat .git/HEAD .git/index .git/logs/HEAD\n\
         [core]\nfsmonitor = .git/monitor\n",
    );
    let covered = covered(&laid(root), root);
    for open in [".git/HEAD", ".git/index", ".git/logs/HEAD", "co"] {
        assert!(!covered.contains(open), "{open}: {covered:?}");
    }
    assert!(covered.contains(".git/monitor"), "{covered:?}");
}

#[test]
fn a_crowd_of_pointers_is_refused_and_a_crowd_of_tools_settings_is_planned_soon() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    repository(&root.join(".git"));
    for n in 0..600 {
        put(&root.join(format!("{n}/.git")), "gitdir: ../.git\n");
    }
    assert!(try_laid(root, &[]).unwrap_err().why.contains("too much"));
    let folder = tempfile::tempdir().unwrap();
    for n in 0..400 {
        repository(&folder.path().join(format!("{n}/.git")));
        put(&folder.path().join(format!("{n}/.vscode/tasks.json")), "{}");
    }
    let began = std::time::Instant::now();
    assert!(laid(folder.path()).covers.len() >= 1600);
    assert!(began.elapsed().as_secs() < 10);
}

#[test]
fn what_other_tools_read_and_addresses_in_files_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    repository(&root.join(".git"));
    put(&root.join(".git/config"), "");
    put(&root.join(".git/remotes/old"), "URL: x\n");
    let guard = laid(root).guard;
    for at in [
        ".jj/repo/config.toml",
        ".sl/config",
        "mise.toml",
        ".config/mise/config.toml",
        ".gemini/settings.json",
        ".codex/config.toml",
    ] {
        put(&root.join("sub").join(at), "x");
    }
    put(&root.join(".git/remotes/origin"), "URL: ext::sh -c x\n");
    put(&root.join("sub/.config/other"), "x");
    assert_eq!(
        judged(root, &guard),
        [
            ".git/remotes/old",
            ".git/remotes/origin",
            "sub/.codex/config.toml (said)",
            "sub/.config/mise (said)",
            "sub/.gemini/settings.json (said)",
            "sub/.jj/repo/config.toml (said)",
            "sub/.sl/config (said)",
            "sub/mise.toml (said)",
        ]
    );
    assert_eq!(
        judged_since(root, &guard, i64::MAX).iter().filter(|left| left.contains("remotes")).count(),
        0
    );
}

#[test]
fn work_trees_in_the_folder_of_a_bare_repository_may_have_links() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let git = root.join("bare.git");
    repository(&git);
    put(&git.join("worktrees/main/HEAD"), "");
    put(&git.join("worktrees/main/commondir"), "../..\n");
    put(&git.join("worktrees/main/gitdir"), &format!("{}/main/.git\n", git.display()));
    put(&git.join("main/.git"), &format!("gitdir: {}/worktrees/main\n", git.display()));
    let guard = laid(root).guard;
    for at in ["main/node_modules/.bin/x", "logs/x", "FETCH_HEAD", "worktrees/main/x"] {
        fs::create_dir_all(git.join(at).parent().unwrap()).unwrap();
        symlink("/nowhere", git.join(at)).unwrap();
    }
    // What git uses itself is no work tree, whatever lies in it.
    put(&git.join("refs/.git"), "gitdir: ../worktrees/main\n");
    symlink("/nowhere", git.join("refs/y")).unwrap();
    let judged = judged(root, &guard);
    let links: Vec<&str> = judged.iter().map(String::as_str).collect();
    assert_eq!(
        links,
        [
            "bare.git/FETCH_HEAD",
            "bare.git/logs/x",
            "bare.git/refs/.git",
            "bare.git/refs/y",
            "bare.git/worktrees/main/x"
        ]
    );
}
