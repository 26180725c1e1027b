//! A program that may write a folder plants code in it that git would run outside, with the rights of whoever works there:
//! in every way that is known, with the real git, and each of them shown to run where nothing keeps it from being planted.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::path::Path;

use holdfast_cage::Planting;
use support::scene::Scene;
use support::{Outcome, own, until};

/// A way to plant something: what is there before, what the program does in one run after another, and where git is used.
struct Way {
    name: &'static str,
    repositories: &'static [&'static str],
    before: &'static [&'static [&'static str]],
    runs: &'static [&'static str],
    used_in: &'static [&'static str],
}

const fn way(name: &'static str, runs: &'static [&'static str]) -> Way {
    Way { name, repositories: &[""], before: &[], runs, used_in: &[""] }
}

const WAYS: &[Way] = &[
    way("a hook", &["cp payload .git/hooks/post-checkout; cp payload .git/hooks/post-index-change"]),
    way(
        "a monitor in the configuration",
        &["printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> .git/config"],
    ),
    way(
        "another configuration in its place",
        &["cp .git/config c; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> c; mv -f c .git/config"],
    ),
    way(
        "another repository in its place",
        &[
            "mv .git old; cp -r .git new 2>/dev/null || cp -r old new; rm -rf .git; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> new/config; mv new .git",
        ],
    ),
    way(
        "another folder that git is led to",
        &[
            "cp -r .git evil; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> evil/config; printf '../evil\\n' > .git/commondir",
        ],
    ),
    Way {
        before: &[&["config", "extensions.worktreeConfig", "true"]],
        ..way(
            "a configuration for one work tree",
            &["printf '[core]\\nfsmonitor = %s\\n' $PWD/payload > .git/config.worktree"],
        )
    },
    Way {
        before: &[&["config", "core.hooksPath", "tools"], &["config", "include.path", "../settings"]],
        ..way(
            "a folder of hooks the configuration names",
            &["mkdir -p tools; cp payload tools/post-checkout; cp payload tools/post-index-change"],
        )
    },
    way(
        "a bare repository around a broken one",
        &[
            "cp -r .git/objects .git/refs .git/HEAD .; rm .git/HEAD; printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=%s\\nfsmonitor=%s\\n' $PWD $PWD/payload > config; cp .git/index .",
        ],
    ),
    Way {
        repositories: &[],
        ..way(
            "a repository where none was",
            &["git init -q; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> .git/config"],
        )
    },
    Way {
        used_in: &["sub"],
        ..way(
            "a repository further down",
            &[
                "git init -q sub; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> sub/.git/config; cp payload sub/.git/hooks/post-checkout",
            ],
        )
    },
    Way {
        repositories: &["worktrees"],
        used_in: &["worktrees"],
        ..way(
            "a hook in a folder that has the name of one of git's",
            &[
                "cp payload worktrees/.git/hooks/post-checkout; printf '[core]\nfsmonitor = %s\n' $PWD/payload >> worktrees/.git/config",
            ],
        )
    },
    Way {
        repositories: &["a/b"],
        used_in: &["a/b"],
        ..way(
            "another folder above the repository",
            &[
                "cp -r a c; mv a d; rm -rf a; mv c a; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> a/b/.git/config",
            ],
        )
    },
    way(
        "a file that leads to a repository",
        &[
            "cp -r .git evil; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> evil/config; mkdir sub; echo 'gitdir: ../evil' > sub/.git",
        ],
    ),
    Way {
        used_in: &["sub"],
        ..way(
            "a link that leads to a repository",
            &[
                "mkdir sub; mkdir hid; cp -r .git hid/x; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> hid/x/config; ln -s ../hid/x sub/.git",
            ],
        )
    },
    Way {
        used_in: &["sub"],
        ..way(
            "a second name of a configuration, used in the next run",
            &[
                "git init -q sub; ln sub/.git/config twin",
                "printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> twin",
            ],
        )
    },
    Way {
        used_in: &["sub"],
        ..way(
            "half a repository, made whole in the next run",
            &[
                "mkdir sub; cp -r .git half; rm half/HEAD half/commondir 2>/dev/null; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> half/config; touch -d 2001-01-01 half/config",
                "cp .git/HEAD half/; mv half sub/.git",
            ],
        )
    },
    Way {
        used_in: &["sub"],
        ..way(
            "a repository in a folder nobody can list",
            &[
                "git init -q sub; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> sub/.git/config; chmod 0311 sub",
            ],
        )
    },
    Way {
        used_in: &["node_modules/sub"],
        ..way(
            "a repository among what tools fill",
            &[
                "git init -q node_modules/sub; printf '[core]\\nfsmonitor = %s\\n' $PWD/payload >> node_modules/sub/.git/config",
            ],
        )
    },
];

#[test]
fn what_is_planted_in_a_writable_folder_does_not_run_outside() {
    for way in WAYS {
        for planting in [Planting::RunsOutsideLater, Planting::Prevented] {
            let scene = Scene::new(false);
            way.repositories.iter().for_each(|below| scene.repository(below));
            for setting in way.before {
                assert!(scene.git(way.repositories[0], setting), "{}", way.name);
            }
            if way.name.contains("names") {
                fs::create_dir(scene.work.path().join("tools")).unwrap();
                own(&scene.work.path().join("tools"));
            }
            let runs: Vec<Outcome> = way.runs.iter().map(|script| scene.trial(planting).sh(script)).collect();
            let ran = way.used_in.iter().any(|below| scene.everyday(below));
            let seen = planting == Planting::RunsOutsideLater;
            assert_eq!(ran, seen, "{} {planting:?}: {runs:?}", way.name);
        }
    }
}

#[test]
fn gits_everyday_work_goes_on_inside_and_leaves_nothing_of_the_cages() {
    let scene = Scene::new(true);
    fs::remove_dir_all(scene.work.path().join(".git/hooks")).unwrap();
    let before = fs::read_to_string(scene.work.path().join(".git/config")).unwrap();
    let done = scene.trial(Planting::Prevented).sh(
        "set -e; ls .git/commondir; ls -d .git/hooks; echo more >> file; git add file; git commit -qm second; git branch topic; git switch -q topic; \
         echo topic > other; git add other; git commit -qm third; git switch -q main; git merge -q topic; git tag v1; \
         echo x >> file; git stash -q; git stash pop -q; git checkout -q -- file; git rebase -q HEAD~1; git reset -q --hard; \
         git worktree add -q tree topic; git -C tree status -sb; git worktree remove tree; git gc -q; git fsck 2>&1; git log --oneline | wc -l; \
         git init -q fresh; git -C fresh config user.name b; git status --short",
    );
    assert_eq!(done.evidence.code(), 0, "{done:?}");
    assert!(done.out.contains("\n3\n") && done.out.ends_with("?? fresh/\n?? payload\n"), "{done:?}");
    assert_eq!(done.evidence.ended.left_behind, [], "nothing of it runs anything");
    assert!(
        !scene.work.path().join(".git/commondir").exists() && !scene.work.path().join(".git/hooks").exists()
    );
    assert_eq!(fs::read_to_string(scene.work.path().join(".git/config")).unwrap(), before);
    assert!(scene.git("", &["fsck"]) && scene.git("fresh", &["status"]));
}

#[test]
fn what_was_left_behind_is_set_aside_and_said() {
    let scene = Scene::new(true);
    let done = scene.trial(Planting::Prevented).sh(
        "git init -q new; git -C new config core.sshCommand x; mkdir -p later/.vscode; echo '{}' > later/.vscode/tasks.json",
    );
    let left = &done.evidence.ended.left_behind;
    let work = scene.work.path().canonicalize().unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    let aside = left[0].set_aside.clone().unwrap();
    assert!(
        aside.display().to_string().starts_with(&format!("{}/new/.git/config.set-aside-", work.display()))
    );
    assert!(left[0].what.contains("core.sshcommand"), "{left:?}");
    assert_eq!((left[1].path.clone(), &left[1].set_aside), (work.join("later/.vscode"), &None));
    assert!(fs::read_to_string(aside).unwrap().contains("sshCommand"));
    assert!(scene.git("new", &["status"]));
}

#[test]
fn two_cages_guard_one_repository_until_both_have_ended() {
    let scene = Scene::new(true);
    let common = scene.work.path().join(".git/commondir");
    // Each goes on when its file is there.
    let wait = |name: &str| {
        format!(
            "touch {name}-is-there; until [ -e {name}-may-end ]; do sleep 0.02; done; (echo /tmp > .git/commondir) 2>/dev/null && echo planted"
        )
    };
    let (first, second) = (wait("first"), wait("second"));
    let trial = scene.trial(Planting::Prevented);
    let (one, one_said, _) = trial.start(&["sh", "-c", &first]).unwrap();
    let (two, two_said, _) = trial.start(&["sh", "-c", &second]).unwrap();
    let there = |name: &str| scene.work.path().join(name).exists();
    until("both run", || there("first-is-there") && there("second-is-there"));
    assert_eq!(fs::read_to_string(&common).unwrap(), ".\n");
    fs::write(scene.work.path().join("first-may-end"), "").unwrap();
    one.wait().unwrap();
    assert!(common.exists(), "the other one's cover stays");
    fs::write(scene.work.path().join("second-may-end"), "").unwrap();
    two.wait().unwrap();
    assert!(!common.exists());
    assert_eq!((one_said.text(), two_said.text()), (String::new(), String::new()));
}

#[test]
fn what_a_launcher_that_was_cut_off_put_there_is_taken_away_by_the_next() {
    let scene = Scene::new(true);
    let common = scene.work.path().join(".git/commondir");
    fs::write(&common, ".\n").unwrap();
    own(&common);
    assert!(scene.git("", &["status"]), "git is not hindered by it");
    let done = scene.trial(Planting::Prevented).sh("echo /tmp > .git/commondir; git status -s");
    assert!(done.out.contains("payload") && done.err.contains("Read-only"), "{done:?}");
    assert!(!common.exists());
}

#[test]
fn a_link_among_what_git_reads_is_covered_too() {
    let scene = Scene::new(true);
    let hooks = scene.work.path().join(".git/hooks");
    fs::remove_dir_all(&hooks).unwrap();
    std::os::unix::fs::symlink("/nowhere", &hooks).unwrap();
    let done = scene.trial(Planting::Prevented).sh(
        "rm .git/hooks 2>/dev/null && echo removed; mv .git/hooks h 2>/dev/null && echo moved; mkdir -p .git/hooks 2>/dev/null; \
         cp payload .git/hooks/post-checkout 2>/dev/null && echo planted; git commit -q --allow-empty -m x && echo done",
    );
    assert_eq!(done.out, "done\n", "{done:?}");
    assert_eq!(fs::read_link(&hooks).unwrap(), Path::new("/nowhere"));
}
