//! `holdfast cage` as people and scripts use it.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Nobody on the machine has it: root's tests need a user to be.
const USER: u32 = 48_211;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(folder.path(), Some(USER), Some(USER)).unwrap();
    }
    folder
}

fn cage(work: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    let (globals, rest): (Vec<&&str>, Vec<&&str>) = arguments.iter().partition(|a| **a == "--json");
    command.args(globals).arg("cage").arg(rest[0]).current_dir(work);
    if rustix::process::geteuid().is_root() && !rest.contains(&&"--user") {
        command.args(["--user", &USER.to_string()]);
    }
    command.args(&rest[1..]).stdin(Stdio::null()).env("TOKEN", "not for the program").output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_programs_words_and_its_code_are_passed_on_and_nothing_else_is_said() {
    let work = folder();
    let done = cage(
        work.path(),
        &["run", "--", "sh", "-c", "echo word; echo aside >&2; echo $TOKEN > kept; exit 5"],
    );
    assert_eq!((out(&done).as_str(), err(&done).as_str()), ("word\n", "aside\n"));
    assert_eq!(done.status.code(), Some(5));
    assert_eq!(fs::read_to_string(work.path().join("kept")).unwrap(), "\n");
}

#[test]
fn what_the_program_cannot_say_itself_is_said_beside_it() {
    let work = folder();
    let late = cage(work.path(), &["run", "--time", "200ms", "--", "sleep", "9"]);
    assert_eq!(late.status.code(), Some(124));
    assert!(err(&late).contains("its time was up"), "{}", err(&late));
    let refused = cage(work.path(), &["run", "--", "sh", "-c", "unshare --user true 2>/dev/null; true"]);
    assert_eq!(refused.status.code(), Some(0));
    assert!(err(&refused).contains("refused calls: unshare ×1"), "{}", err(&refused));
}

#[test]
fn one_answer_has_the_output_and_the_evidence() {
    let work = folder();
    let done = cage(work.path(), &["--json", "run", "--", "sh", "-c", "echo word; kill -9 $$"]);
    assert_eq!(done.status.code(), Some(137));
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((answer["stdout"].as_str(), answer["end"].as_str()), (Some("word\n"), Some("signalled")));
    assert_eq!((answer["code"].as_u64(), answer["policy"].as_str()), (Some(137), Some("work")));
    assert!(answer["memory"].as_u64().unwrap() > 0 && answer["refused"].is_object());
}

#[test]
fn a_dry_run_says_what_would_be_seen_and_runs_nothing() {
    let work = folder();
    let told = cage(work.path(), &["run", "--dry-run", "--reach", "example.org:443", "--", "touch", "made"]);
    assert_eq!(told.status.code(), Some(0), "{}", err(&told));
    let text = out(&told);
    assert!(
        text.contains("would run touch made") && text.contains("example.org:443 through the proxy"),
        "{text}"
    );
    assert!(!work.path().join("made").exists());
    let json = cage(work.path(), &["--json", "run", "--dry-run", "--", "touch", "made"]);
    let plan: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((plan["dry_run"].as_bool(), plan["policy"].as_str()), (Some(true), Some("work")));
    assert!(plan["variables"].as_array().unwrap().iter().all(|name| name != "TOKEN"));
}

#[test]
fn a_policy_of_ones_own_grants_what_it_says_and_one_that_is_untrue_is_refused() {
    let (work, data) = (folder(), folder());
    fs::write(data.path().join("figures"), "42\n").unwrap();
    let policy = |refused: &str| {
        let path = data.path().display();
        let text = format!(
            "name = \"mine\"\nwhy = \"a test\"\nextends = \"quiet\"\n[[files]]\npath = \"{path}\"\naccess = \"read\"\nwhy = \"the figures\"\n\
             allowed = [\"read {path}/figures\"]\nrefused = [\"{refused} {path}/figures\"]\n"
        );
        fs::write(work.path().join("mine.toml"), text).unwrap();
    };
    let figures = data.path().join("figures").display().to_string();
    policy("write");
    let read = cage(work.path(), &["run", "--policy", "./mine.toml", "--", "cat", &figures]);
    assert_eq!(out(&read), "42\n", "{}", err(&read));
    let without = cage(work.path(), &["run", "--policy", "quiet", "--", "cat", &figures]);
    assert_eq!((out(&without).as_str(), without.status.code()), ("", Some(1)));
    policy("read");
    let untrue = cage(work.path(), &["run", "--policy", "./mine.toml", "--", "true"]);
    assert_eq!(untrue.status.code(), Some(2));
    assert!(
        err(&untrue).contains("HF-CAG-001") && err(&untrue).contains("is to be refused, and is allowed"),
        "{}",
        err(&untrue)
    );
}

#[test]
fn what_cannot_be_run_is_refused_with_what_to_do() {
    let work = folder();
    let table: [(&[&str], i32, &str); 5] = [
        (&["run", "--", "no-such-program"], 3, "starting no-such-program"),
        (&["run", "--policy", "loud", "--", "true"], 2, "there are: quiet, work, online, model"),
        (&["run", "--reach", "example.org", "--", "true"], 2, "example.org:443"),
        (&["run", "--time", "soon", "--", "true"], 2, "90s or 10m"),
        (&["run", "--work", "/", "--", "true"], 4, "cannot be the folder to work in"),
    ];
    for (arguments, code, says) in table {
        let done = cage(work.path(), arguments);
        assert_eq!(done.status.code(), Some(code), "{arguments:?} {}", err(&done));
        assert!(err(&done).contains(says), "{arguments:?} {}", err(&done));
    }
    if rustix::process::geteuid().is_root() {
        let root = cage(work.path(), &["run", "--user", "root", "--", "true"]);
        assert_eq!(root.status.code(), Some(4));
        assert!(err(&root).contains("root's own rights"), "{}", err(&root));
    }
}

#[test]
fn only_what_the_program_changed_is_said_to_be_changed() {
    let work = folder();
    let deep = work.path().join("deep");
    fs::create_dir(&deep).unwrap();
    fs::write(deep.join(".envrc"), "1").unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(deep.join(".envrc"), Some(USER), Some(USER)).unwrap();
    }
    // Longer than the clock of a file system stands still.
    std::thread::sleep(std::time::Duration::from_millis(100));
    let idle = cage(work.path(), &["run", "--", "true"]);
    assert_eq!((idle.status.code(), err(&idle).as_str()), (Some(0), ""));
    let changing = cage(work.path(), &["run", "--", "sh", "-c", "echo 2 > deep/.envrc"]);
    assert_eq!(changing.status.code(), Some(0), "{}", err(&changing));
    assert!(err(&changing).contains("deep/.envrc: it was changed"), "{}", err(&changing));
}

#[test]
fn explaining_tries_every_wall_and_says_what_held() {
    let work = folder();
    let told = cage(work.path(), &["explain"]);
    assert_eq!(told.status.code(), Some(0), "{}{}", out(&told), err(&told));
    assert!(out(&told).starts_with("● the walls of work held: "), "{}", out(&told));
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(out(&told).contains("only root can set up"), !is_root, "{}", out(&told));
    let json = cage(work.path(), &["--json", "explain", "--policy", "model"]);
    let answer: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(answer["open"], 0, "{answer}");
    assert!(answer["held"].as_u64().unwrap() > 400, "the proxy's walls are tried too: {}", answer["held"]);
    assert!(answer["attempts"][0]["layers"].is_array());
}

/// What a program prints, on a terminal that is really one.
fn on_a_terminal(work: &Path, arguments: &[&str]) -> String {
    use std::io::Read as _;
    use std::os::unix::process::CommandExt as _;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = Command::new("setsid");
    let (globals, arguments): (Vec<&&str>, Vec<&&str>) = arguments.iter().partition(|a| **a == "--json");
    command
        .arg("--ctty")
        .arg(env!("CARGO_BIN_EXE_holdfast"))
        .args(globals)
        .args(["cage", "run"])
        .current_dir(work);
    if rustix::process::geteuid().is_root() {
        command.args(["--user", &USER.to_string()]);
    }
    command.args(arguments).env("TERM", "xterm-256color").process_group(0);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut running = command.spawn().unwrap();
    drop(command);
    // The terminal ends with the last who holds it: then reading gives an error.
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    let mut ours = fs::File::from(ours);
    while let Ok(length @ 1..) = ours.read(&mut piece) {
        seen.extend_from_slice(&piece[..length]);
    }
    running.wait().unwrap();
    String::from_utf8_lossy(&seen).into_owned()
}

/// A title, the clipboard, a question the terminal answers by typing, a link, pasting without brackets, text over text, a
/// sequence of eight bits.
const DRIVING: &str = "printf '\\033]0;title\\007\\033]52;c;ZXZpbA==\\007\\033P$qm\\033\\\\\\033[21t\\033[6n\\033]8;;http://x\\033\\\\\\033[?2004l\\033[2J\\033[1A\\302\\2332J\\b'; \
     printf '\\033[31mred\\033[0m\\n'; printf '\\033]0;title\\007' >&2";

#[test]
fn nothing_a_program_prints_drives_the_callers_terminal() {
    let work = folder();
    let seen = on_a_terminal(work.path(), &["--", "sh", "-c", DRIVING]);
    assert!(seen.contains("\u{1b}[31mred\u{1b}[0m"), "colours stay: {seen:?}");
    let without_colours =
        ["\u{1b}[31m", "\u{1b}[0m"].iter().fold(seen.clone(), |text, c| text.replace(c, ""));
    let driving = |c: char| c.is_control() && !matches!(c, '\r' | '\n');
    assert!(!without_colours.contains(driving), "{seen:?}");
    assert!(
        seen.contains("\\x1b]52;c;ZXZpbA==\\x07") && seen.contains("\\u{9b}2J"),
        "and the rest is shown: {seen:?}"
    );
    // So the test can see.
    let raw = on_a_terminal(work.path(), &["--let-it-drive-the-terminal", "--", "sh", "-c", DRIVING]);
    assert!(raw.contains("\u{1b}]52;c;ZXZpbA==\u{7}") && raw.contains("\u{9b}2J"), "{raw:?}");
    // Nor does an answer in one piece.
    let json = on_a_terminal(work.path(), &["--json", "--", "sh", "-c", DRIVING]);
    assert!(json.contains("\\u009b2J") && !json.contains(driving), "{json:?}");
    // What goes elsewhere is data.
    let piped = cage(work.path(), &["run", "--", "sh", "-c", DRIVING]);
    assert!(piped.stdout.starts_with(b"\x1b]0;title\x07") && piped.stderr == b"\x1b]0;title\x07");
}

#[test]
fn a_program_holds_no_terminal_and_types_on_none() {
    let work = folder();
    let tries = "import fcntl, os, termios\n\
        print([os.isatty(fd) for fd in (0, 1, 2)])\n\
        try: os.open('/dev/tty', os.O_RDWR); print('opened')\n\
        except OSError: print('no terminal')\n\
        for request in (termios.TIOCSTI, 0x541c, termios.TIOCSCTTY, termios.TIOCSETD, termios.TIOCCONS):\n\
        \x20   for fd in (0, 1, 2):\n\
        \x20       try: fcntl.ioctl(fd, request, b'x'); print('done', request)\n\
        \x20       except OSError as e:\n\
        \x20           if e.errno != 1: print('came past the filter', request, e)\n";
    let seen = on_a_terminal(work.path(), &["--", "python3", "-c", tries]);
    assert!(seen.starts_with("[False, False, False]\r\nno terminal\r\n"), "{seen:?}");
    assert!(!seen.contains("done") && !seen.contains("came past") && seen.contains("ioctl ×15"), "{seen:?}");
}

#[test]
fn what_was_left_behind_is_told() {
    let work = folder();
    let plant = ["run", "--", "sh", "-c", "git init -q .; git config core.fsmonitor ./x"];
    let told = cage(work.path(), &plant);
    assert!(err(&told).contains("left behind: ") && err(&told).contains("core.fsmonitor"), "{}", err(&told));
    let names = fs::read_dir(work.path().join(".git")).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name.starts_with("config.set-aside-")), "{names:?}");
    assert!(!names.iter().any(|name| name == "config"), "{names:?}");
    fs::remove_dir_all(work.path().join(".git")).unwrap();
    let json = cage(work.path(), &[&["--json"], &plant[..]].concat());
    let answer: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(
        answer["left_behind"][0]["set_aside"].as_str().unwrap().contains("/.git/config.set-aside-"),
        "{answer}"
    );
    let named = [&["run", "--let-planted-code-run-outside-later"], &plant[1..]].concat();
    fs::remove_dir_all(work.path().join(".git")).unwrap();
    assert_eq!(err(&cage(work.path(), &named)), "");
    assert!(work.path().join(".git/config").exists());
}
