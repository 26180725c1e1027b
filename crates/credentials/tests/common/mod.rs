//! A folder with an age identity, and the real `age` tool to encrypt with.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holdfast_credentials::{AgeFile, SecretName, Variables};

/// A value that must not be printed anywhere.
pub const MARKER: &str = "marker-7c1f";

pub struct Room {
    dir: tempfile::TempDir,
    recipient: String,
}

impl Room {
    pub fn new() -> Room {
        let dir = tempfile::tempdir().unwrap();
        let made = tool("age-keygen", &[OsStr::new("-o"), dir.path().join("identity").as_os_str()], b"");
        let text = String::from_utf8(made.stderr).unwrap();
        let recipient = text.trim().strip_prefix("Public key: ").unwrap().to_owned();
        let creds = dir.path().join("creds");
        std::fs::create_dir(&creds).unwrap();
        std::fs::set_permissions(creds, std::fs::Permissions::from_mode(0o700)).unwrap();
        Room { dir, recipient }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn identity(&self) -> PathBuf {
        self.path("identity")
    }

    pub fn age_file(&self, name: &str) -> AgeFile {
        AgeFile::new(self.path(name), self.identity()).unwrap()
    }

    pub fn encrypt(&self, name: &str, text: &str, options: &[&str]) {
        let path = self.path(name);
        let mut args: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
        args.extend([OsStr::new("-r"), OsStr::new(&self.recipient), OsStr::new("-o"), path.as_os_str()]);
        tool("age", &args, text.as_bytes());
    }

    pub fn write(&self, name: &str, bytes: &[u8], mode: u32) {
        let path = self.path(name);
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

pub fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

pub fn variables(list: &[(&str, &str)]) -> Variables {
    Variables::fixed(list.iter().map(|(name, value)| ((*name).to_owned(), *value)))
}

fn tool(program: impl AsRef<Path>, args: &[&OsStr], input: &[u8]) -> std::process::Output {
    let mut child = Command::new(program.as_ref())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the age tool is needed here: install the package `age`");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}
