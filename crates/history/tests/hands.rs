//! A repository that was lost, damaged, locked, cut off or changed by somebody: it is put right, and what was found is said.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod tale;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use holdfast_history::{Look, NotDone, Trouble, keep};
use holdfast_testkit::{Seed, rounds};
use tale::{Desk, Tale, memory};

/// A program in git's place that does `deed` when its n-th call comes, and the real thing otherwise.
fn counting(folder: &Path, nth: usize, deed: &str) -> std::path::PathBuf {
    let program = folder.join("counting-git");
    let count = folder.join("count");
    let _ = fs::remove_file(&count);
    let script = format!(
        "#!/bin/sh\necho x >> '{count}'\nif [ $(wc -l < '{count}') -eq {nth} ]; then\n{deed}\nfi\nexec git \"$@\"\n",
        count = count.display(),
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Cut off before and after each call of git, in the middle of a change of every kind, and done again.
#[test]
fn cut_off_at_any_step_it_ends_in_the_same_state_when_done_again() {
    let tale = Tale::whole();
    let expected = tale.book().refs();
    for deed in ["kill -9 $$", "git \"$@\"; kill -9 $$"] {
        for had in [0, 12] {
            for nth in 1.. {
                let desk = Desk::new();
                if had > 0 {
                    desk.keep(&Tale { records: tale.records[..had].to_vec() });
                }
                let cut = desk.repository.clone().with_program(&counting(desk.folder.path(), nth, deed));
                let ended = keep(&cut, &mut tale.book(), Look::Whole, tale::now());
                let told = desk.keep(&tale);
                assert_eq!(desk.refs(), expected, "{deed}, call {nth}, {had} records before");
                assert!(told.foreign.is_empty() && told.put_aside.is_none(), "{told:?}: {deed}, call {nth}");
                if ended.is_ok() {
                    assert!(nth > 3, "it takes several calls");
                    break;
                }
            }
        }
    }
}

#[test]
fn one_that_is_gone_is_made_again_and_a_book_that_forgot_says_that_it_must_be_read_again() {
    let (desk, tale) = (Desk::new(), Tale::whole());
    let mut book = tale.book();
    keep(&desk.repository, &mut book, Look::Whole, tale::now()).unwrap();
    let refs = desk.refs();
    fs::remove_dir_all(desk.path()).unwrap();
    let behind = keep(&desk.repository, &mut book, Look::Shallow, tale::now());
    assert!(matches!(behind, Err(Trouble::Behind)), "{behind:?}");
    assert!(desk.keep(&tale).moved > 0);
    assert_eq!(desk.refs(), refs);
}

/// Damage of any kind anywhere in it: it is put aside whole and made again, to the same commits.
#[test]
fn a_damaged_one_is_put_aside_and_made_again() {
    let tale = Tale::whole();
    let mut chance = Seed::from_env_or(20).rng();
    for round in 0..rounds(9, 200) {
        let desk = Desk::new();
        // Bit by bit its objects lie alone, at once together.
        for end in (3..tale.records.len()).step_by(5).filter(|_| round % 2 == 0) {
            desk.keep(&Tale { records: tale.records[..end].to_vec() });
        }
        desk.keep(&tale);
        let refs = desk.refs();
        let mut files = Vec::new();
        files_below(&desk.path().join("objects"), &mut files);
        files.push(desk.path().join("HEAD"));
        files.sort();
        let file = &files[chance.below(files.len() as u64) as usize];
        let bytes = fs::read(file).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        match round % 3 {
            0 => fs::remove_file(file).unwrap(),
            1 => fs::write(file, &bytes[..bytes.len() / 2]).unwrap(),
            _ => fs::write(file, vec![b'?'; bytes.len()]).unwrap(),
        }
        let told = desk.keep(&tale);
        assert_eq!(desk.refs(), refs, "round {round}, {}", file.display());
        desk.git(&["fsck", "--strict"]);
        // What is gone may lie elsewhere in it too; then nothing is missing, and there is nothing to tell.
        let noticed = told.put_aside.is_some() || told.made || told.moved > 0;
        assert!(noticed || round % 3 == 0, "round {round}, {}: {told:?}", file.display());
        if let Some((aside, said)) = told.put_aside {
            assert!(aside.is_dir() && !said.is_empty());
        }
    }
}

fn files_below(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => files_below(&path, found),
            path => found.push(path),
        }
    }
}

#[test]
fn what_somebody_moved_is_kept_aside_and_told_and_their_own_branches_stay() {
    let (desk, mut tale) = (Desk::new(), Tale::whole());
    desk.keep(&tale);
    let refs = desk.refs();
    let tree = desk.git(&["rev-parse", "deployed/web^{tree}"]);
    let theirs = desk.git(&["commit-tree", "-m", "mine", tree.trim()]);
    for name in ["deployed/web", "steward/ep_0005", "mine", "steward/invented"] {
        desk.git(&["update-ref", &format!("refs/heads/{name}"), theirs.trim()]);
    }
    let told = desk.keep(&tale);
    let mut foreign = told.foreign;
    foreign.sort();
    assert_eq!(
        foreign,
        ["refs/heads/deployed/web", "refs/heads/steward/ep_0005", "refs/heads/steward/invented"]
    );
    let mut now = desk.refs();
    assert_eq!(now.remove("refs/heads/mine").unwrap().to_string(), theirs.trim());
    assert_eq!(now.remove(&format!("refs/aside/{}", theirs.trim())).unwrap().to_string(), theirs.trim());
    assert_eq!(now, refs, "everything else is as the records say");
    // Said once: the next pass finds it in order.
    assert!(desk.keep(&tale).foreign.is_empty());
    desk.keep(tale.kept("web", 5, memory(512, 700)));
    assert_eq!(desk.refs().get("refs/heads/deployed/web"), tale.book().refs().get("refs/heads/deployed/web"));
}

/// Settings, hooks, helpers and includes that would run something, far too many references, replaced objects.
#[test]
fn nothing_in_a_hostile_repository_runs_and_it_is_put_right() {
    let (desk, mut tale) = (Desk::new(), Tale::whole());
    desk.keep(&tale);
    let ran = desk.folder.path().join("ran");
    let evil = desk.folder.path().join("evil");
    fs::write(&evil, format!("#!/bin/sh\ntouch '{}'\nexit 0\n", ran.display())).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = desk.path().join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in
        ["reference-transaction", "pre-receive", "update", "post-update", "pre-auto-gc", "post-index-change"]
    {
        std::os::unix::fs::symlink(&evil, hooks.join(hook)).unwrap();
    }
    let path = evil.display();
    let include = desk.folder.path().join("include");
    fs::write(&include, format!("[core]\n\tfsmonitor = {path}\n\tsshCommand = {path}\n")).unwrap();
    let settings = format!(
        "[core]\n\tbare = true\n\thooksPath = {}\n\tfsmonitor = {path}\n\tpager = {path}\n\talternateRefsCommand = {path}\n\
         [include]\n\tpath = {}\n[gpg \"ssh\"]\n\tprogram = {path}\n[credential]\n\thelper = {path}\n[gc]\n\tauto = 1\n",
        hooks.display(),
        include.display()
    );
    fs::write(desk.path().join("config"), &settings).unwrap();
    let told = desk.keep(tale.kept("web", 5, memory(512, 700)));
    assert!(told.settings_restored && !ran.exists(), "{told:?}");
    assert_eq!(fs::read_to_string(desk.path().join("config.aside")).unwrap(), settings, "kept to be read");
    assert_eq!(desk.refs(), tale.book().refs());
    assert!(!desk.keep(&tale).settings_restored);

    // An object that stands for another, and more references than anybody reads.
    let (a, b) = (desk.git(&["rev-parse", "deployed/web"]), desk.git(&["rev-parse", "deployed/db"]));
    desk.git(&["update-ref", &format!("refs/replace/{}", a.trim()), b.trim()]);
    let name = "x".repeat(200);
    let many: String = (0..25_000).map(|n| format!("{} refs/tags/{name}{n:05}\n", b.trim())).collect();
    let packed = format!("# pack-refs with: peeled fully-peeled sorted \n{many}");
    fs::write(desk.path().join("packed-refs"), packed).unwrap();
    let told = desk.keep(&tale);
    assert!(told.put_aside.is_some(), "{told:?}");
    assert_eq!(desk.refs(), tale.book().refs());
}

#[test]
fn a_lock_that_was_left_is_taken_away_when_it_is_old_and_waited_for_when_it_is_not() {
    let (desk, mut tale) = (Desk::new(), Tale::whole());
    desk.keep(&tale);
    tale.kept("web", 5, memory(512, 700));
    let lock = desk.path().join("refs/heads/deployed/web.lock");
    fs::write(&lock, "").unwrap();
    let modified = fs::metadata(&lock).unwrap().modified().unwrap();
    let since = modified.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let made = holdfast_types::Timestamp::from_micros(since.as_micros() as i64).unwrap();
    let young = keep(&desk.repository, &mut tale.book(), Look::Shallow, made.plus(Duration::from_secs(60)));
    assert!(matches!(young, Err(Trouble::Git(NotDone::Refused { .. }))), "{young:?}");
    let old = keep(&desk.repository, &mut tale.book(), Look::Shallow, made.plus(Duration::from_secs(700)));
    assert_eq!(old.unwrap().unlocked, 1);
    assert_eq!(desk.refs(), tale.book().refs());
}

#[test]
fn without_git_nothing_happens_but_that_it_is_said() {
    let desk = Desk::new();
    let none = desk.repository.clone().with_program(Path::new("/there/is/no/git"));
    let said = keep(&none, &mut Tale::whole().book(), Look::Whole, tale::now()).unwrap_err();
    assert!(said.to_string().starts_with("git could not be run"), "{said}");
    // Nothing was ever looked after: no folder is made for it.
    let desk = Desk::new();
    desk.keep(&Tale::default());
    assert!(!desk.path().exists());
}
