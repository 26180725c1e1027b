//! What a program plants by way of git's own files, and of repositories that lie around its folder, were there before or come to
//! be in a later run: each way runs something outside, or writes somewhere, where nothing keeps it from being planted.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use holdfast_cage::{LeftBehind, Planting};
use support::scene::Scene;
use support::{Outcome, USER, launcher};

/// What is there before, the folder that the program works in, what it does in one run after another, and what somebody does
/// then. In all of them `MARKER` is what must not come to be outside.
struct Way {
    name: &'static str,
    before: &'static str,
    works_in: &'static str,
    runs: &'static [&'static str],
    after: &'static str,
}

const REPOSITORY: &str = "git init -q -b main .; git config user.name a; git config user.email a@example.org; \
                          echo text > file; git add file; git commit -qm first;";
/// A hook that git runs at the next `status` after a file was touched.
const HOOK: &str = "plant() { mkdir -p $1; printf '#!/bin/sh\\ntouch MARKER\\n' > $1/post-index-change; \
                    chmod +x $1/post-index-change; };";
const HOOKS_IN_THE_TREE: &str = "mkdir .githooks; echo x > .githooks/x; git config core.hooksPath .githooks; git add .githooks; git commit -qm hooks;";

const WAYS: &[Way] = &[
    Way {
        name: "a log of a branch that leads to a file of the shell's",
        before: "REPOSITORY",
        works_in: "",
        runs: &["git checkout -q -b 'x$(touch${IFS}ran)'; rm .git/logs/HEAD; ln -s HOME/rc .git/logs/HEAD"],
        after: "echo '# rc' > HOME/rc; git checkout -q main || true; cd HOME; sh rc || true",
    },
    Way {
        name: "a folder of tags that leads home",
        before: "REPOSITORY",
        works_in: "",
        runs: &["rm -rf .git/refs/tags; ln -s HOME .git/refs/tags"],
        after: "git tag ran || true",
    },
    Way {
        name: "a message that leads to a file",
        before: "REPOSITORY",
        works_in: "",
        runs: &["rm -f .git/COMMIT_EDITMSG; ln -s MARKER .git/COMMIT_EDITMSG"],
        after: "git commit -q --allow-empty -m second || true",
    },
    Way {
        name: "a list of what was fetched that leads to a file",
        before: "REPOSITORY",
        works_in: "",
        runs: &["ln -s MARKER .git/FETCH_HEAD"],
        after: "git fetch -q . || true",
    },
    Way {
        name: "packed references that lead to a file",
        before: "REPOSITORY",
        works_in: "",
        runs: &["ln -s MARKER .git/packed-refs"],
        after: "git pack-refs --all || true",
    },
    Way {
        name: "a link in the part of a work tree",
        before: "REPOSITORY git worktree add -q tree -b tree;",
        works_in: "",
        runs: &[
            "rm -f .git/worktrees/tree/logs/HEAD .git/worktrees/tree/COMMIT_EDITMSG; ln -s MARKER .git/worktrees/tree/COMMIT_EDITMSG",
        ],
        after: "git -C tree commit -q --allow-empty -m second || true",
    },
    Way {
        name: "a pipe that git waits for",
        before: "REPOSITORY",
        works_in: "",
        runs: &["rm -f .git/info/exclude; mkfifo .git/info/exclude"],
        after: "timeout 5 git status || { [ $? != 124 ] || touch MARKER; }",
    },
    Way {
        name: "a name that was there as another link",
        before: "REPOSITORY ln -s nowhere .git/FETCH_HEAD;",
        works_in: "",
        runs: &["rm .git/FETCH_HEAD; ln -s MARKER .git/FETCH_HEAD"],
        after: "git fetch -q . || true",
    },
    Way {
        name: "hooks in a linked work tree, by the settings of the main repository outside",
        before: "mkdir main; cd main; REPOSITORY HOOKS_IN_THE_TREE git worktree add -q ../tree -b tree;",
        works_in: "tree",
        runs: &["HOOK plant .githooks"],
        after: "cd tree; touch file; git status || true",
    },
    Way {
        name: "hooks in a submodule, by its settings outside",
        before: "mkdir lib main; cd lib; REPOSITORY mkdir .githooks; echo x > .githooks/x; git add .githooks; git commit -qm hooks; \
                 cd ../main; REPOSITORY git -c protocol.file.allow=always submodule --quiet add ../lib sub; \
                 git -C sub config core.hooksPath .githooks;",
        works_in: "main/sub",
        runs: &["HOOK plant .githooks"],
        after: "cd main/sub; touch file; git status || true",
    },
    Way {
        name: "hooks in a folder of a repository",
        before: "REPOSITORY mkdir -p tools/hooks; echo x > tools/hooks/x; git config core.hooksPath tools/hooks;",
        works_in: "tools",
        runs: &["HOOK plant hooks"],
        after: "touch file; git status || true",
    },
    Way {
        name: "a monitor in a folder of a repository",
        before: "REPOSITORY mkdir tools; printf '#!/bin/sh\\n' > tools/monitor; chmod +x tools/monitor; git config core.fsmonitor tools/monitor;",
        works_in: "tools",
        runs: &["printf '#!/bin/sh\\ntouch MARKER\\n' > monitor"],
        after: "git status || true",
    },
    Way {
        name: "a hook that a link outside leads to",
        before: "REPOSITORY mkdir scripts; printf '#!/bin/sh\\n' > scripts/hook; chmod +x scripts/hook; ln -s ../../scripts/hook .git/hooks/post-index-change;",
        works_in: "scripts",
        runs: &["printf '#!/bin/sh\\ntouch MARKER\\n' > hook"],
        after: "touch file; git status || true",
    },
    Way {
        name: "a second work tree of a repository, with hooks of its own",
        before: "REPOSITORY HOOKS_IN_THE_TREE",
        works_in: "",
        runs: &["HOOK mkdir docs; echo 'gitdir: ../.git' > docs/.git; plant docs/.githooks"],
        after: "cd docs; git status || true; git add -A . || true",
    },
    Way {
        name: "a work tree made inside, with other hooks",
        before: "REPOSITORY HOOKS_IN_THE_TREE",
        works_in: "",
        runs: &["HOOK git worktree add -q tree -b tree; plant tree/.githooks"],
        after: "cd tree; touch file; git status || true",
    },
    Way {
        name: "a work tree made inside, with another monitor",
        before: "REPOSITORY printf '#!/bin/sh\\n' > monitor; chmod +x monitor; git add monitor; git commit -qm monitor; git config core.fsmonitor ./monitor;",
        works_in: "",
        runs: &["git worktree add -q tree -b tree; printf '#!/bin/sh\\ntouch MARKER\\n' > tree/monitor"],
        after: "cd tree; git status || true",
    },
    Way {
        name: "a monitor that the settings name and that was not there",
        before: "REPOSITORY git config core.fsmonitor tools/monitor;",
        works_in: "",
        runs: &["mkdir tools; printf '#!/bin/sh\\ntouch MARKER\\n' > tools/monitor; chmod +x tools/monitor"],
        after: "git status || true",
    },
    Way {
        name: "settings in a folder that is a repository no more, in three runs",
        before: "REPOSITORY",
        works_in: "",
        runs: &[
            "mkdir -p new/.git shared/objects shared/refs; cp .git/HEAD new/.git/; cp .git/HEAD shared/; echo ../../shared > new/.git/commondir",
            "rm shared/HEAD",
            "printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nfsmonitor=touch MARKER;\\n' > shared/config",
        ],
        after: "cd new; git status || true",
    },
    Way {
        name: "a link in a folder that is a repository no more, in three runs",
        before: "REPOSITORY",
        works_in: "",
        runs: &[
            "mkdir -p new/.git shared; cp .git/HEAD new/.git/; cp -r .git/HEAD .git/objects .git/refs shared/; echo ../../shared > new/.git/commondir",
            "rm shared/HEAD",
            "rm -rf shared/refs/tags; ln -s HOME shared/refs/tags",
        ],
        after: "cd new; git tag ran || true",
    },
    Way {
        name: "a link in the place of a work tree that a repository among what tools fill names",
        before: "REPOSITORY",
        works_in: "",
        runs: &[
            "git init -q node_modules/new; git -C node_modules/new config user.name a; git -C node_modules/new config user.email a@example.org; \
             mkdir real; git -C node_modules/new config core.worktree ../../../real; echo planted > real/ran; cd node_modules/new; \
             git add -A; git commit -qm planted; sleep 3",
            "rm -rf real; ln -s HOME real",
        ],
        after: "cd node_modules/new; git reset --hard || true",
    },
    Way {
        name: "a work tree named by a link that leads elsewhere in the next run",
        before: "REPOSITORY",
        works_in: "",
        runs: &[
            "git init -q new; git -C new config user.name a; git -C new config user.email a@example.org; mkdir real; ln -s real link; \
             git -C new config core.worktree ../../link; echo planted > real/ran; cd new; git add -A; git commit -qm planted",
            "rm link; ln -s HOME link",
        ],
        after: "cd new; git reset --hard || true",
    },
    Way {
        name: "a link in the place of a work tree that settings name",
        before: "REPOSITORY mkdir kept; git init -q --separate-git-dir=kept/sub.git sub; cd sub; git config core.worktree ../../sub; git config user.name a; \
                 git config user.email a@example.org; echo planted > ran; git add ran; git commit -qm planted; rm .git;",
        works_in: "",
        runs: &["rm -rf sub; ln -s HOME sub"],
        after: "git --git-dir=kept/sub.git reset --hard || true",
    },
    Way {
        name: "a strategy for work that was begun",
        before: "REPOSITORY",
        works_in: "",
        runs: &[
            "git checkout -q -b side; echo 2 > g; git add g; git commit -qm s1; echo 3 > g; git commit -qam s2; git checkout -q main; \
                 echo m > g; git add g; git commit -qm m; git cherry-pick side~1 side; \
                 printf '[options]\\n\\tstrategy = /../evil\\n' > .git/sequencer/opts; mkdir -p git-merge-; \
                 printf '#!/bin/sh\\ntouch MARKER\\n' > evil; chmod +x evil; echo evil >> .git/info/exclude; echo git-merge- >> .git/info/exclude",
        ],
        after: "echo r > g; git add g; git cherry-pick --continue || true",
    },
    Way {
        name: "a monitor that is a word without a path",
        before: "REPOSITORY echo true > monitor; git config core.fsmonitor 'sh monitor';",
        works_in: "",
        runs: &["echo 'touch MARKER' > monitor"],
        after: "git status || true",
    },
    Way {
        name: "more names for what is set aside than there are numbers",
        before: "REPOSITORY",
        works_in: "",
        runs: &["HOOK git init -q new; plant new/.git/hooks; touch new/.git/hooks.set-aside; \
                 i=2; while [ $i -lt 100 ]; do touch new/.git/hooks.set-aside-$i; i=$((i+1)); done"],
        after: "cd new; touch a; git add a || true",
    },
    Way {
        name: "a link with the longest name there is",
        before: "REPOSITORY",
        works_in: "",
        runs: &[
            "long=$(printf '%0200d' 0); git checkout -q -b $long; rm .git/logs/refs/heads/$long; ln -s MARKER .git/logs/refs/heads/$long",
        ],
        after: "git commit -q --allow-empty -m second || true",
    },
    Way {
        name: "an address in a file of its own",
        before: "REPOSITORY",
        works_in: "",
        runs: &[
            "mkdir -p .git/remotes; printf 'URL: ext::sh -c touch%% MARKER\\nPull: refs/heads/main\\n' > .git/remotes/origin",
        ],
        after: "git -c protocol.ext.allow=always fetch || true",
    },
];

fn whole(scene: &Scene, script: &str) -> String {
    let script = script.replace("REPOSITORY", REPOSITORY).replace("HOOKS_IN_THE_TREE", HOOKS_IN_THE_TREE);
    scene.placed(&script.replace("HOOK", HOOK))
}

fn go(way: &Way, planting: Planting) -> (bool, Vec<Outcome>) {
    let scene = Scene::new(false);
    assert!(scene.by_hand(&whole(&scene, way.before)), "{}", way.name);
    let trial = || scene.trial_in(way.works_in, planting);
    let runs: Vec<Outcome> = way.runs.iter().map(|script| trial().sh(&whole(&scene, script))).collect();
    assert!(scene.by_hand(&whole(&scene, way.after)), "{} {runs:?}", way.name);
    (fs::symlink_metadata(scene.marker()).is_ok(), runs)
}

#[test]
fn what_is_planted_around_a_repository_neither_runs_nor_is_written_outside() {
    let mut wrong = Vec::new();
    for way in WAYS {
        if !go(way, Planting::RunsOutsideLater).0 {
            wrong.push(format!("{}: it does nothing where nothing keeps it from it", way.name));
        }
        let (ran, runs) = go(way, Planting::Prevented);
        if ran {
            wrong.push(format!("{}: {runs:?}", way.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What was left behind, below the folder, and whether it was set aside.
fn left(scene: &Scene, outcome: &Outcome) -> Vec<(String, bool)> {
    let work = scene.work.path().canonicalize().unwrap();
    let below = |left: &LeftBehind| left.path.strip_prefix(&work).unwrap().display().to_string();
    outcome.evidence.ended.left_behind.iter().map(|left| (below(left), left.set_aside.is_some())).collect()
}

#[test]
fn what_was_there_before_stays_and_what_is_new_is_told() {
    let scene = Scene::new(false);
    let before = "ln -s /nowhere .git/FETCH_HEAD; mkfifo .git/pipe; mkdir -p node_modules/x; \
                  git init -q node_modules/x; ln -s /nowhere node_modules/x/.git/FETCH_HEAD; sleep 3;";
    assert!(scene.by_hand(&format!("{}{before}", REPOSITORY)));
    let trial = || scene.trial_in("", Planting::Prevented);
    let done = trial().sh("git commit -q --allow-empty -m second; ln -s a b; mkfifo c");
    assert_eq!(left(&scene, &done), [], "links in the work tree are nobody's business: {done:?}");
    let done = trial().sh("ln -s x .git/refs/heads/y; mkfifo .git/other; ln -s x .git/objects/info/alternates; ln -s x node_modules/x/.git/y");
    let mut all = left(&scene, &done);
    all.sort();
    let told = [
        ".git/objects/info/alternates",
        ".git/other",
        ".git/refs/heads/y",
        "node_modules/x/.git/FETCH_HEAD",
        "node_modules/x/.git/y",
    ];
    assert_eq!(all, told.map(|path| (path.to_owned(), true)), "{done:?}");
    let aside = done.evidence.ended.left_behind.iter().filter_map(|left| left.set_aside.as_ref());
    let among = aside.filter(|aside| aside.display().to_string().contains("/refs/"));
    assert!(among.into_iter().all(|aside| aside.file_name().unwrap().to_string_lossy().starts_with('.')));
    assert!(scene.by_hand("git fsck"));
}

#[test]
fn gits_everyday_work_goes_on_with_hooks_in_the_tree_submodules_and_work_trees() {
    let scene = Scene::new(false);
    let before = format!(
        "mkdir lib; cd lib; {REPOSITORY} cd ..; mkdir main; cd main; {REPOSITORY} {HOOKS_IN_THE_TREE} \
         git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub; git worktree add -q kept -b kept; \
         git -C sub config user.name a; git -C sub config user.email a@example.org; \
         git config filter.lfs.clean 'cat'; git config filter.lfs.smudge 'cat'; git config alias.unstage 'reset HEAD --'; \
         git config alias.last '!git log -1 HEAD'; echo '*.bin filter=lfs' > .gitattributes; git add .; git commit -qm attributes;"
    );
    assert!(scene.by_hand(&before));
    let trial = scene.trial_in("main", Planting::Prevented);
    let done = trial.sh(
        "set -e; git status -s; echo 2 > file; git add file; git unstage file; git commit -qam second; git last >/dev/null; \
         echo b > a.bin; git add a.bin; git commit -qm bin; cd sub; echo 2 > file; git commit -qam second; cd ..; git add sub; git commit -qm up; \
         cd kept; echo k > k; git add k; git commit -qm k; cd ..; git worktree add -q tree -b tree; cd tree; echo t > t; git add t; \
         git commit -qm t; cd ..; git merge -q kept -m merge; git log --oneline | wc -l; git fsck 2>&1; git gc -q",
    );
    assert_eq!(done.evidence.code(), 0, "{done:?}");
    assert_eq!(left(&scene, &done), [], "hooks that are as they were stay: {done:?}");
    assert!(
        scene.by_hand(
            "cd main; git status; git -C sub status; git -C tree status; git -C kept log -1; git fsck"
        )
    );
    // Where the main repository lies outside, its work tree can be looked at.
    let done = scene
        .trial_in("main/sub", Planting::Prevented)
        .sh("git log --oneline | wc -l; git status -s; echo x > new");
    assert_eq!((done.evidence.code(), left(&scene, &done)), (0, vec![]), "{done:?}");
}

#[test]
fn the_settings_of_whoever_asks_are_read_wherever_they_have_them() {
    let scene = Scene::new(false);
    let before = "mkdir -p .gh deep; echo x > .gh/x; printf '[core]\\nhooksPath = .gh\\n' > HOME/system;";
    assert!(scene.by_hand(&format!("{REPOSITORY}{before}")));
    let system = scene.placed("HOME/system");
    let ways: [&[(&str, &str)]; 3] = [
        &[("GIT_CONFIG_SYSTEM", &system)],
        &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath"), ("GIT_CONFIG_VALUE_0", ".gh")],
        &[("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='.gh'")],
    ];
    for environment in ways {
        let mut trial = scene.trial_in("", Planting::Prevented);
        trial.environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let done = trial.sh("echo x > .gh/post-checkout && echo planted; git init -q new; mkdir new/.gh; echo x > new/.gh/post-checkout");
        assert_eq!(done.out, "", "{environment:?} {done:?}");
        assert_eq!(left(&scene, &done), [("new/.gh".to_owned(), true)], "{environment:?} {done:?}");
        fs::remove_dir_all(scene.work.path().join("new")).unwrap();
    }
}

#[test]
fn a_link_named_as_a_repository_cannot_be_replaced_meanwhile() {
    let scene = Scene::new(false);
    assert!(scene.by_hand(&format!("{REPOSITORY} mv .git .real; ln -s .real .git; git status")));
    let done = scene.trial_in("", Planting::Prevented).sh(
        "rm .git 2>/dev/null && echo removed; mv .git x 2>/dev/null && echo moved; git commit -q --allow-empty -m second && echo done",
    );
    assert_eq!(done.out, "done\n", "{done:?}");
    assert_eq!(fs::read_link(scene.work.path().join(".git")).unwrap(), Path::new(".real"));
}

/// An ordinary user is kept out by modes, as root is not: here the one who asks is the one the program runs as.
#[test]
fn what_is_shut_against_the_one_who_asks_is_opened_and_set_aside() {
    let scene = Scene::new(false);
    assert!(scene.by_hand(REPOSITORY));
    let programs = tempfile::tempdir().unwrap();
    let put = |from: &Path, name: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let to = programs.path().join(name);
        fs::copy(from, &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(programs.path(), fs::Permissions::from_mode(0o755)).unwrap();
        to
    };
    let (cage, caged) =
        (put(launcher().path(), "holdfast-cage"), launcher().path().with_file_name("examples/caged"));
    let caged = put(&caged, "caged");
    let script = whole(
        &scene,
        "HOOK git init -q n; touch n/a; git -C n add a; printf '[core]\\nfsmonitor=touch MARKER;\\n' >> n/.git/config; plant n/.git/hooks; \
         chmod a-w n/.git; mkdir o; git init -q o/sub; printf '[core]\\nfsmonitor=touch MARKER;\\n' >> o/sub/.git/config; chmod 0111 o; \
         mkdir p; git init -q p/q; printf '[core]\\nfsmonitor=touch MARKER;\\n' >> p/q/.git/config; chmod 0111 p/q; chmod 0 p",
    );
    let work = scene.work.path().canonicalize().unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let uid = if is_root { USER } else { rustix::process::geteuid().as_raw() }.to_string();
    let mut command = Command::new(caged);
    command.arg(&cage).arg(&work).args([&uid, "256M", "64", "100%", "--", "sh", "-c", &script]).env_clear();
    if is_root {
        command.uid(USER).gid(USER);
    }
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(scene.by_hand("chmod 755 p p/q o || true; for at in n o/sub p/q; do git -C $at status || true; done; touch n/b; git -C n add b || true"));
    assert!(!scene.marker().exists(), "{said}");
    let aside = said["evidence"]["left_behind"].as_array().unwrap();
    assert_eq!(aside.iter().filter(|left| !left["set_aside"].is_null()).count(), 4, "{said}");
}
