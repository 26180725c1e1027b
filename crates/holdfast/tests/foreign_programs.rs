//! Somebody else's repository or folder runs nothing through a command of ours: every setting of git that names a program is set, and every program that is
//! named leaves a mark. The kernel tells (by strace) what was started besides.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared by the subjects, and a test stops where it cannot go on"
)]

mod home;
#[path = "foreign_programs/repository.rs"]
mod repository;
#[path = "daemon/running.rs"]
mod running;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use home::{Home, Ran, run};
use repository::{Hostile, Lazy, token};
use running::Running;
use serde_json::Value;

/// Runs a command of ours there, and gives what it came to and the names of all programs that were started for it.
fn traced(home: &Home, folder: &Path, args: &[&str]) -> (Ran, BTreeSet<String>) {
    let log = home.beside("trace");
    let ours = home.command(args);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-s", "4096", "-e", "trace=execve", "-o"]).arg(&log).arg("--");
    command.arg(ours.get_program()).args(ours.get_args()).current_dir(folder);
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let ran = run(command, None);
    let text = std::fs::read_to_string(log).unwrap();
    // What ends git with us, where git takes long.
    let reaper = format!("\"-c\", \"{}\"], ", holdfast_subprocess::REAPER_SCRIPT);
    let started = text.lines().filter(|line| line.contains(" = 0") && !line.contains(&reaper));
    let program = |line: &str| Some(line.split_once("execve(\"")?.1.split_once('"')?.0.to_owned());
    (ran, started.filter_map(program).collect())
}

/// Runs it, and asserts that nothing but ourselves and git was started.
#[track_caller]
fn runs_nothing(home: &Home, hostile: &Hostile, args: &[&str]) -> Ran {
    let (ran, started) = traced(home, &hostile.folder(), args);
    let is_ours = |program: &String| {
        program.starts_with('/') && ["holdfast", "git"].iter().any(|it| program.ends_with(&format!("/{it}")))
    };
    let odd: Vec<&String> = started.iter().filter(|program| !is_ours(program)).collect();
    assert!(odd.is_empty(), "{args:?} started {odd:?}");
    assert!(started.iter().any(|program| program.ends_with("/git")), "{args:?} asked git: {started:?}");
    assert_eq!(hostile.marks(), Vec::<String>::new(), "{args:?}");
    ran
}

#[test]
fn a_repository_whose_every_setting_names_a_program_runs_none_through_us() {
    let home = Home::made("web-1");
    // The traps work: somebody who uses git there as everybody does steps into them.
    let control = Hostile::new(Lazy::No);
    for args in
        [&["status"][..], &["log", "--patch"], &["commit", "-q", "--allow-empty", "-m", "x"], &["add", "."]]
    {
        control.git_as_anybody(args);
    }
    let sprung = control.marks();
    for trap in ["fsmonitor", "gpg", "textconv", "hook-pre-commit", "clean"] {
        assert!(sprung.iter().any(|mark| mark == trap), "{trap} does not work: {sprung:?}");
    }

    let hostile = Hostile::new(Lazy::No);
    let folder = hostile.folder().display().to_string();
    let found = |ran: &Ran| -> Vec<String> {
        let findings = ran.json()["findings"].as_array().unwrap().clone();
        findings.iter().map(|finding| finding["file"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let history = runs_nothing(&home, &hostile, &["--json", "scan", "--history"]).ends(1);
    assert_eq!(found(&history), ["old.py"], "{}", history.out);
    hostile.write("staged.py", &format!("token = \"{}\"\n", token(2)));
    hostile.stage_quietly("staged.py");
    let staged = runs_nothing(&home, &hostile, &["--json", "scan", "--staged"]).ends(1);
    assert_eq!(found(&staged), ["staged.py"], "{}", staged.out);
    hostile.home_scan(&home).ends(1);
    assert_eq!(hostile.marks(), Vec::<String>::new(), "a scan of the files");

    let mined = runs_nothing(
        &home,
        &hostile,
        &["--json", "memory", "experience", "mine", &folder, "--agent", "scout"],
    )
    .ok();
    assert_eq!(mined.json()["commits"], 4, "{}", mined.out);
    let installed = runs_nothing(&home, &hostile, &["--json", "hook", "status"]);
    assert!(installed.out.contains("hooks"), "{}{}", installed.out, installed.err);
}

#[test]
fn what_a_partial_clone_left_out_is_told_and_not_fetched() {
    let home = Home::made("web-1");
    let hostile = Hostile::new(Lazy::Yes);
    hostile.git_as_anybody(&["cat-file", "-p", &hostile.missing()]);
    assert!(hostile.take_marks().iter().any(|mark| mark == "uploadpack"), "the trap does not work");
    hostile.lose();

    let told = |ran: Ran| -> (i32, Vec<String>) {
        let said: Value = ran.json();
        let failed = said["failed"].as_array().unwrap().iter();
        (
            ran.code,
            failed
                .map(|it| format!("{}: {}", it["file"].as_str().unwrap(), it["why"].as_str().unwrap()))
                .collect(),
        )
    };
    let (code, failed) = told(runs_nothing(&home, &hostile, &["--json", "scan", "--history"]));
    assert_eq!(failed, ["lost.py: it is not in this partial clone, and nothing is fetched to scan it"]);
    assert_ne!(code, 0, "what was not scanned is not called clean");
    hostile.stage_lost();
    let (code, failed) = told(runs_nothing(&home, &hostile, &["--json", "scan", "--staged"]));
    assert!(
        code != 0 && failed.iter().any(|line| line.starts_with("staged-lost.py: it is not in")),
        "{failed:?}"
    );

    let folder = hostile.folder().display().to_string();
    let args = ["--json", "memory", "experience", "mine", &folder, "--agent", "scout"];
    assert_eq!(runs_nothing(&home, &hostile, &args).ok().json()["commits"], 4);
}

#[test]
fn a_daemon_that_is_told_to_learn_from_a_repository_runs_nothing_of_it() {
    let home = Home::made("web-1");
    let daemon = Running::with(&home, |command| command);
    for lazy in [Lazy::No, Lazy::Yes] {
        let hostile = Hostile::new(lazy);
        let folder = hostile.folder().display().to_string();
        let mined = home.json(&["memory", "experience", "mine", &folder, "--agent", "scout"]);
        assert_eq!(mined["commits"], 4, "{mined}");
        assert_eq!(hostile.marks(), Vec::<String>::new());
    }
    drop(daemon);
}

#[test]
fn a_repository_of_another_user_is_scanned_only_when_a_person_vouches_for_it_and_may_always_be_learnt_from() {
    let home = Home::made("web-1");
    let hostile = Hostile::new(Lazy::No);
    hostile.give_away(54321);
    let folder = hostile.folder().display().to_string();
    for args in [&["scan", "--history"][..], &["scan", "--staged"], &["hook", "status"]] {
        let mut command = home.command(args);
        command.current_dir(hostile.folder());
        let refused = run(command, None).ends(3).says("HF-SCN-012");
        assert!(refused.err.contains("54321") && refused.err.contains("safe.directory"), "{}", refused.err);
    }
    // As the person's own settings say it to git itself.
    let settings = home.beside("gitconfig");
    let vouched = |directory: &str| {
        std::fs::write(&settings, format!("[safe]\n\tdirectory = {directory}\n")).unwrap();
        let mut command = home.command(&["scan", "--history"]);
        command.current_dir(hostile.folder()).env("GIT_CONFIG_GLOBAL", &settings);
        run(command, None)
    };
    vouched("/somewhere/else").ends(3);
    vouched(&folder).ends(1).shows("old.py");
    let mined = home.json(&["memory", "experience", "mine", &folder, "--agent", "scout"]);
    assert_eq!(mined["commits"], 4, "nothing of it runs, whoever it belongs to");
    assert_eq!(hostile.marks(), Vec::<String>::new());
}

#[test]
fn what_is_a_pipe_where_a_file_should_be_is_not_waited_for() {
    let home = Home::made("web-1");
    for name in
        ["HEAD", "config", "index", "refs/heads/side", "packed-refs", "objects/info/alternates", "shallow"]
    {
        let hostile = Hostile::new(Lazy::No);
        hostile.pipe(&format!(".git/{name}"));
        let mut scan = home.command(&["scan", "--history"]);
        scan.current_dir(hostile.folder());
        let refused = run(scan, None).ends(3);
        assert!(refused.err.contains("HF-SCN-013"), "{name}: {}", refused.err);
        // Most of it is not read to learn from it. What is read is refused too.
        let folder = hostile.folder().display().to_string();
        let mined = home.run(&["memory", "experience", "mine", &folder, "--agent", "scout"]);
        let is_read = ["HEAD", "objects/info/alternates", "shallow"].contains(&name);
        assert_eq!(mined.code == 0, !is_read, "{name}: {}{}", mined.out, mined.err);
        assert_eq!(hostile.marks(), Vec::<String>::new(), "{name}");
    }
    for name in [".gitignore", "deep/.gitignore", ".git/info/exclude"] {
        let hostile = Hostile::new(Lazy::No);
        hostile.pipe(name);
        let said = hostile.home_scan(&home).err + &hostile.home_scan(&home).out;
        assert!(said.contains("which files are ignored is no file"), "{name}: {said}");
    }
}

#[test]
fn what_a_caller_has_in_the_environment_reaches_no_git_of_ours() {
    let home = Home::made("web-1");
    let hostile = Hostile::new(Lazy::No);
    let trap = hostile.trap("environment");
    let mut command = home.command(&["scan", "--history"]);
    command.current_dir(hostile.folder());
    for name in ["GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EDITOR"]
    {
        command.env(name, &trap);
    }
    command
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.fsmonitor")
        .env("GIT_CONFIG_VALUE_0", &trap);
    // A git of somebody's, before the system's.
    let bin = home.beside("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(&trap, bin.join("git")).unwrap();
    command.env("PATH", format!("{}:.:/usr/bin:/bin", bin.display()));
    run(command, None).ends(1).shows("old.py");
    assert_eq!(hostile.marks(), Vec::<String>::new());
}

#[test]
fn a_hook_scans_the_index_it_was_told_of() {
    let home = Home::made("web-1");
    let hostile = Hostile::new(Lazy::No);
    hostile.write("staged.py", &format!("token = \"{}\"\n", token(3)));
    let index = home.beside("another-index");
    hostile.stage_into(&index, "staged.py");
    let scan = |told: &[(&str, &Path)]| {
        let mut command = home.command(&["scan", "--staged"]);
        command.current_dir(hostile.folder()).envs(told.iter().copied());
        run(command, None)
    };
    scan(&[]).ok();
    scan(&[("GIT_INDEX_FILE", &index)]).ends(1).shows("staged.py");
    scan(&[("GIT_INDEX_FILE", &index), ("GIT_DIR", Path::new(".git"))]).ends(1).shows("staged.py");
    assert_eq!(hostile.marks(), Vec::<String>::new());
}

#[test]
fn fetching_the_model_runs_nothing_of_the_folder_somebody_is_in() {
    let home = Home::made("web-1");
    let folder = home.beside("downloads");
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    let mark = home.beside("ran");
    let module = format!("open({:?}, 'w').write(__name__)\n", mark.display().to_string());
    for name in ["pip", "sitecustomize", "usercustomize", "ssl", "json", "encodings"] {
        std::fs::write(folder.join(name).with_extension("py"), &module).unwrap();
    }
    let program = folder.join("bin/python3");
    std::fs::write(&program, format!("#!/bin/sh\necho x >'{}'\nexit 1\n", mark.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    // The trap works for whoever starts Python there as usual.
    Command::new("python3").args(["-m", "pip", "--version"]).current_dir(&folder).output().unwrap();
    assert!(mark.exists(), "the trap does not work");
    std::fs::remove_file(&mark).unwrap();

    let mut command = home.command(&["model", "fetch"]);
    command.current_dir(&folder);
    command
        .env("PATH", "bin:.:/usr/bin:/bin")
        .env("PYTHONPATH", &folder)
        .env("PYTHONSTARTUP", folder.join("pip.py"));
    command
        .env("PIP_PYTHON", &program)
        .env("PIP_FIND_LINKS", "")
        .env("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
    command.env("PIP_RETRIES", "0");
    run(command, None).ends(3).says("HF-MEM-015");
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap());
}
