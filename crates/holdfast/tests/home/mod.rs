//! A home in a temporary directory, and the real program run in it.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "every test file uses a part of it, and stops where it cannot go on"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_holdfast");

pub struct Home {
    _dir: Option<tempfile::TempDir>,
    path: PathBuf,
}

/// How a run ended and what it said.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
    command: String,
}

impl Home {
    /// A place where nothing is yet.
    pub fn bare() -> Home {
        let dir = tempfile::tempdir().unwrap();
        Home { path: dir.path().join("home"), _dir: Some(dir) }
    }

    pub fn at(path: &Path) -> Home {
        Home { _dir: None, path: path.to_owned() }
    }

    /// A home that has been initialised.
    pub fn made(instance: &str) -> Home {
        let home = Home::bare();
        home.run(&["init", "--name", instance]).ok();
        home
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("state/journal")
    }

    pub fn segment(&self) -> PathBuf {
        self.journal().join("00000000000000000000.jsonl")
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = bare_command(args);
        command.env("HOLDFAST_HOME", &self.path);
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        run(self.command(args), None)
    }

    pub fn run_with(&self, args: &[&str], input: &[u8]) -> Ran {
        run(self.command(args), Some(input))
    }

    /// Runs with `--json` and gives what was answered.
    pub fn json(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        self.run(&all).ok().json()
    }

    pub fn log(&self, body: &str) -> Ran {
        let kind = "captain.note.added";
        self.run(&["audit", "log", "--actor", "ana", "--kind", kind, "--body", body])
    }

    pub fn log_many(&self, n: u64) {
        (0..n).for_each(|n| {
            self.log(&format!("{{\"n\":{n}}}")).ok();
        });
    }

    /// The output with what differs from run to run taken out.
    pub fn same(&self, text: &str) -> String {
        text.replace(&self.path.display().to_string(), "[HOME]")
    }
}

/// The program with no home and no colour settings from outside.
pub fn bare_command(args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args);
    for name in ["HOLDFAST_HOME", "HOLDFAST_MODEL", "HOME", "XDG_CACHE_HOME", "NO_COLOR", "TERM"] {
        command.env_remove(name);
    }
    command
}

pub fn run(mut command: Command, input: Option<&[u8]>) -> Ran {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // A program that refuses its arguments does not read its input.
        let _ = stdin.write_all(input);
    }
    Ran::of(child.wait_with_output().unwrap(), format!("{command:?}"))
}

impl Ran {
    pub fn of(done: std::process::Output, command: String) -> Ran {
        Ran {
            code: done.status.code().unwrap_or(-1),
            out: String::from_utf8(done.stdout).unwrap(),
            err: String::from_utf8(done.stderr).unwrap(),
            command,
        }
    }

    #[track_caller]
    pub fn ok(self) -> Ran {
        self.ends(0)
    }

    #[track_caller]
    pub fn ends(self, code: i32) -> Ran {
        let Ran { code: found, out, err, command } = &self;
        assert_eq!(*found, code, "{command}\n--- stdout\n{out}\n--- stderr\n{err}");
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(self.err.contains(text), "{}\nno {text:?} in\n{}", self.command, self.err);
        self
    }

    #[track_caller]
    pub fn shows(self, text: &str) -> Ran {
        assert!(self.out.contains(text), "{}\nno {text:?} in\n{}", self.command, self.out);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{}\n{e}\n{}", self.command, self.out))
    }

    /// The error a run with `--json` ended with.
    #[track_caller]
    pub fn error(&self) -> Value {
        let last = self.err.lines().last().unwrap_or_default();
        let error: Value =
            serde_json::from_str(last).unwrap_or_else(|e| panic!("{}\n{e}\n{}", self.command, self.err));
        error["error"].clone()
    }
}

/// What differs from run to run: times, keys, hashes, users.
pub fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
        (r"\d{4}-\d\d-\d\d, times", "[DAY], times"),
        (r"\d\d:\d\d:\d\d", "[CLOCK]"),
        (r"\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{44}", "+[KEY]"),
        (r"sha256:[0-9a-f]{64}", "sha256:[ROOT]"),
        (r"sha256:[0-9a-f]{16}…", "sha256:[ROOT]…"),
        (r"[A-Za-z0-9+/]{86,}={0,2}", "[SIGNATURE]"),
        (r"[A-Za-z0-9+/]{43}=", "[HASH]"),
        (r"uid:\d+", "uid:[N]"),
        (r"[\d,]+ bytes", "[N] bytes"),
        (r"at byte \d+", "at byte [N]"),
    ]
}
