//! A folder with repositories, and somebody who uses git in them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holdfast_cage::Planting;
use tempfile::TempDir;

use super::{Trial, USER, folder, own};

/// Outside: as whoever owns the folder, who has no settings of their own.
pub fn git(at: &Path, home: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(at).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
    if rustix::process::geteuid().is_root() {
        command.uid(USER).gid(USER);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

/// A folder to work in, a place outside it that shows whether something ran, and a home.
pub struct Scene {
    pub work: TempDir,
    pub outside: TempDir,
}

impl Scene {
    pub fn new(has_repository: bool) -> Scene {
        let scene = Scene { work: folder(), outside: folder() };
        if has_repository {
            scene.repository("");
        }
        let payload = format!("#!/bin/sh\ntouch {}\n", scene.marker().display());
        fs::write(scene.work.path().join("payload"), payload).unwrap();
        fs::set_permissions(scene.work.path().join("payload"), fs::Permissions::from_mode(0o755)).unwrap();
        own(&scene.work.path().join("payload"));
        scene
    }

    pub fn repository(&self, below: &str) {
        let at = self.work.path().join(below);
        fs::create_dir_all(&at).unwrap();
        at.ancestors().take_while(|folder| *folder != self.work.path()).for_each(own);
        self.git(below, &["init", "-q", "-b", "main"]);
        self.git(below, &["config", "user.name", "a"]);
        self.git(below, &["config", "user.email", "a@example.org"]);
        fs::write(at.join("file"), "text\n").unwrap();
        own(&at.join("file"));
        self.git(below, &["add", "file"]);
        assert!(self.git(below, &["commit", "-qm", "first"]));
    }

    pub fn marker(&self) -> PathBuf {
        self.outside.path().join("ran")
    }

    pub fn git(&self, below: &str, arguments: &[&str]) -> bool {
        git(&self.work.path().join(below), self.outside.path(), arguments)
    }

    pub fn trial(&self, planting: Planting) -> Trial {
        let mut trial = Trial::of("work", self.work.path());
        trial.policy.planting = planting;
        trial
    }

    /// What somebody does in a folder every day; whether anything of the program's ran.
    pub fn everyday(&self, below: &str) -> bool {
        if self.work.path().join(below).is_dir() {
            for arguments in [
                &["status"][..],
                &["add", "-A", "."],
                &["commit", "-qm", "second"],
                &["checkout", "-q", "-b", "other"],
                &["log", "-p", "-1"],
                &["diff", "HEAD"],
            ] {
                self.git(below, arguments);
            }
        }
        self.marker().exists()
    }

    /// What somebody does in the folder by hand. `MARKER` stands for what shows that something ran, `HOME` for their home.
    pub fn by_hand(&self, script: &str) -> bool {
        let script = self.placed(script);
        let mut command = Command::new("sh");
        command.args(["-ec", &script]).current_dir(self.work.path()).env_clear();
        command.env("HOME", self.outside.path()).env("PATH", "/usr/bin:/bin");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
        if rustix::process::geteuid().is_root() {
            command.uid(USER).gid(USER);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    }

    pub fn placed(&self, script: &str) -> String {
        let home = self.outside.path().display().to_string();
        script.replace("MARKER", &self.marker().display().to_string()).replace("HOME", &home)
    }

    /// Works in a folder of it.
    pub fn trial_in(&self, below: &str, planting: Planting) -> Trial {
        let mut trial = Trial::of("work", &self.work.path().join(below));
        trial.policy.planting = planting;
        trial
    }
}
