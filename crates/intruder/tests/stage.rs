//! The stage is laid out by root, and nobody but the user it is for reaches it: everybody on the machine can look for it while it
//! stands. Only root's tests can show this.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use holdfast_intruder::Stage;

/// Whom the stage is for, and somebody else on the machine.
const OWNER: u32 = 48_212;
const STRANGER: u32 = 54_321;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn stage() -> Stage {
    Stage::set(OWNER, OWNER, Path::new(env!("CARGO_BIN_EXE_holdfast-intruder"))).unwrap()
}

fn shell(user: u32, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    command.uid(user).gid(user).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(user: u32, script: &str, input: &str) -> Output {
    let mut running = shell(user, script).spawn().unwrap();
    let _ = running.stdin.take().unwrap().write_all(input.as_bytes());
    running.wait_with_output().unwrap()
}

/// A file that only root may read and change.
fn of_root() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let file = folder.path().join("of-root");
    fs::write(&file, "of root\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    (folder, file)
}

fn is_untouched(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(file).unwrap();
    found.uid() == 0 && found.mode() & 0o777 == 0o600 && fs::read_to_string(file).unwrap() == "of root\n"
}

fn top(stage: &Stage) -> PathBuf {
    stage.programs().parent().unwrap().to_owned()
}

#[test]
fn a_stranger_reaches_nothing_of_the_stage() {
    if !is_root() {
        return;
    }
    let stage = stage();
    let top = top(&stage).display().to_string();
    for (what, script) in [
        ("looks into it", "ls TOP"),
        ("puts something among the programs", "touch TOP/programs/x"),
        ("puts a link outside", "ln -s /etc/shadow TOP/outside/x"),
        ("reads a decoy", "cat TOP/granted/file"),
        ("runs root's copy", "TOP/programs/setuid who"),
    ] {
        let output = run(STRANGER, &script.replace("TOP", &top), "");
        assert!(!output.status.success(), "a stranger {what}: {output:?}");
    }
    let output = run(OWNER, &format!("cd {top} && cat outside/file && touch outside/x work/x"), "");
    assert!(output.status.success(), "it is there for whom it is for: {output:?}");
    let output = run(OWNER, &format!("touch {top}/programs/x || touch {top}/x"), "");
    assert!(!output.status.success(), "what root laid out stays root's: {output:?}");
}

#[test]
fn a_copy_that_root_marked_says_who_it_is_and_tries_nothing() {
    if !is_root() {
        return;
    }
    let stage = stage();
    let (_folder, file) = of_root();
    let decoys = format!("{{\"file\":{:?}}}", file.display().to_string());
    for program in [&stage.decoys.setuid_program, &stage.decoys.capable_program] {
        let program = program.as_ref().unwrap().display();
        let tried = run(OWNER, &format!("{program} try change-mode-of-outside-file"), &decoys);
        assert_eq!(tried.status.code(), Some(2), "{tried:?}");
        assert!(String::from_utf8_lossy(&tried.stderr).contains("Nothing was tried."), "{tried:?}");
        let who = run(OWNER, &format!("{program} who"), "");
        assert!(who.status.success(), "{who:?}");
    }
    assert!(is_untouched(&file));
    // The one that is not marked tries, with nobody's rights but its caller's.
    let tried =
        run(OWNER, &format!("{} try change-mode-of-outside-file", stage.intruder().display()), &decoys);
    assert!(tried.status.success() && is_untouched(&file), "{tried:?}");
}

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nobody_puts_a_link_in_roots_way_while_the_stage_is_laid_out() {
    if !is_root() {
        return;
    }
    let (folder, file) = of_root();
    let planted = folder.path().join("planted");
    fs::create_dir(&planted).unwrap();
    fs::set_permissions(&planted, Permissions::from_mode(0o777)).unwrap();
    let script = format!(
        "while :; do for at in /var/tmp/intruder-stage*/outside /var/tmp/intruder-stage*/granted; do \
         for name in file hidden x; do ln -s {0} $at/$name && touch {1}/yes; done; done; done 2>/dev/null",
        file.display(),
        planted.display()
    );
    let _running =
        Running(shell(STRANGER, &script).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        // Where it cannot be laid out, nothing is said of what it was to show.
        drop(stage());
    }
    assert!(is_untouched(&file));
    assert!(!planted.join("yes").exists(), "a link was planted on a stage");
}

#[test]
fn the_stage_goes_whatever_its_owner_keeps_making_in_it() {
    if !is_root() {
        return;
    }
    let stage = stage();
    let top = top(&stage);
    let script = "cd TOP/work && touch ../outside/begun && mkdir -p deep/deeper && chmod 0 deep/deeper; \
                  while [ -d TOP/outside ]; do i=$((i+1)); mkdir -p a$i/b ../outside/c$i deep/d$i; : >a$i/b/f; done";
    let script = script.replace("TOP", &top.display().to_string());
    let _running =
        Running(shell(OWNER, &script).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let until = Instant::now() + Duration::from_secs(5);
    while !top.join("outside/begun").exists() {
        assert!(Instant::now() < until, "it did not begin");
    }
    std::thread::sleep(Duration::from_millis(50));
    drop(stage);
    assert!(!top.exists(), "the stage is still there");
}
