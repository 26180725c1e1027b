//! A repository in which every program that git could be made to run leaves a mark.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::home::{Home, Ran, run};

/// Whether an object is missing that git would fetch by a program of the repository's choice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lazy {
    Yes,
    No,
}

pub struct Hostile {
    dir: tempfile::TempDir,
    lost: String,
}

/// A token that is nobody's. Put together here, so that no file holds one.
pub fn token(n: u64) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
    let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        alphabet[(state >> 33) as usize % alphabet.len()]
    };
    format!("ghp_{}", std::iter::repeat_with(next).take(36).collect::<String>())
}

const HOOKS: [&str; 8] = [
    "pre-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "pre-auto-gc",
    "post-merge",
    "prepare-commit-msg",
];

impl Hostile {
    /// Four commits, the last of them signed; the second brought `old.py` with a secret.
    pub fn new(lazy: Lazy) -> Hostile {
        let mut hostile = Hostile { dir: tempfile::tempdir().unwrap(), lost: String::new() };
        std::fs::create_dir_all(hostile.folder()).unwrap();
        std::fs::create_dir_all(hostile.dir.path().join("marks")).unwrap();
        hostile.git(&["init", "-q", "--initial-branch=main"]);
        let commit = |name: &str, text: &str, message: &str| {
            hostile.write(name, text);
            hostile.git(&["add", "--all"]);
            hostile.git(&["commit", "-q", "-m", message]);
        };
        commit("README", "hello\n", "begin");
        let old = if lazy == Lazy::No { format!("token = \"{}\"\n", token(1)) } else { "x = 1\n".to_owned() };
        commit("old.py", &old, "fix: it hangs\n\nerror: database is locked (code 5)");
        commit("lost.py", "y = 1\n", "fix: it hangs again\n\nerror: no space left (code 7)");
        hostile.lost = hostile.git(&["rev-parse", "HEAD:lost.py"]).trim().to_owned();
        hostile.sign();
        hostile.set_traps(lazy);
        if lazy == Lazy::Yes {
            hostile.lose();
        }
        hostile
    }

    pub fn folder(&self) -> PathBuf {
        self.dir.path().join("repository")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    /// A commit that says it is signed: who shows signatures asks a program about it.
    fn sign(&self) {
        let (tree, parent) = (self.git(&["rev-parse", "HEAD^{tree}"]), self.git(&["rev-parse", "HEAD"]));
        let text = format!(
            "tree {}\nparent {}\nauthor ana <ana@localhost> 1790000000 +0000\ncommitter ana <ana@localhost> 1790000000 +0000\n\
             gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\nsigned\n",
            tree.trim(),
            parent.trim()
        );
        std::fs::write(self.dir.path().join("commit"), text).unwrap();
        let file = self.dir.path().join("commit").display().to_string();
        let id = self.git(&["hash-object", "-t", "commit", "-w", "--literally", &file]);
        self.git(&["update-ref", "refs/heads/main", id.trim()]);
    }

    /// A program that leaves a mark of this name.
    pub fn trap(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(format!("trap-{name}"));
        let mark = self.dir.path().join("marks").join(name);
        std::fs::write(
            &path,
            format!("#!/bin/sh\n: >'{}'\ncat >/dev/null 2>&1 </dev/null\nexit 0\n", mark.display()),
        )
        .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn set_traps(&self, lazy: Lazy) {
        let trap = |name: &str| self.trap(name).display().to_string();
        let hooks = self.dir.path().join("hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        for hook in HOOKS {
            for folder in [hooks.clone(), self.file(".git/hooks")] {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::copy(trap(&format!("hook-{hook}")), folder.join(hook)).unwrap();
            }
        }
        let mut settings = format!(
            "[core]\n\tfsmonitor = {}\n\thooksPath = {}\n\tpager = {}\n\teditor = {}\n\taskPass = {}\n\tsshCommand = {}\n\tgitProxy = {}\n\
             \talternateRefsCommand = {}\n[sequence]\n\teditor = {}\n[pager]\n\tlog = {}\n",
            trap("fsmonitor"),
            hooks.display(),
            trap("pager"),
            trap("editor"),
            trap("askpass"),
            trap("ssh"),
            trap("proxy"),
            trap("alternate-refs"),
            trap("sequence-editor"),
            trap("pager-log"),
        );
        settings.push_str(&format!(
            "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {0}\n[gpg \"openpgp\"]\n\tprogram = {0}\n[gpg \"ssh\"]\n\tprogram = {0}\n\
             \tdefaultKeyCommand = {0}\n[gpg \"x509\"]\n\tprogram = {0}\n[diff]\n\texternal = {1}\n[diff \"evil\"]\n\ttextconv = {2}\n\tcachetextconv = false\n\
             [filter \"evil\"]\n\tclean = {3}\n\tsmudge = {4}\n\trequired = false\n[merge \"evil\"]\n\tdriver = {5}\n[credential]\n\thelper = {6}\n",
            trap("gpg"),
            trap("external"),
            trap("textconv"),
            trap("clean"),
            trap("smudge"),
            trap("merge"),
            trap("credential"),
        ));
        settings.push_str(&format!(
            "[remote \"origin\"]\n\turl = {2}\n\tuploadpack = {0}\n\treceivepack = {0}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [remote \"evil\"]\n\turl = ext::{1}\n\tvcs = evil\n[url \"ext::{1} \"]\n\tinsteadOf = https://\n[uploadpack]\n\tpackObjectsHook = {1}\n\
             [gc]\n\trecentObjectsHook = {1}\n[trailer \"x\"]\n\tcommand = {1}\n[tar \"x\"]\n\tcommand = {1}\n[submodule \"x\"]\n\tupdate = !{1}\n\
             [alias]\n\tlog = !{1}\n\trev-list = !{1}\n\tcat-file = !{1}\n[interactive]\n\tdiffFilter = {1}\n[protocol]\n\tallow = always\n[include]\n\tpath = more\n",
            trap("uploadpack"),
            trap("other"),
            self.folder().display(),
        ));
        if lazy == Lazy::Yes {
            settings.push_str("[remote \"origin\"]\n\tpromisor = true\n\tpartialCloneFilter = blob:none\n[extensions]\n\tpartialClone = origin\n");
            settings.push_str("[core]\n\trepositoryFormatVersion = 1\n");
        }
        let config = self.file(".git/config");
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, before + &settings).unwrap();
        std::fs::write(self.file(".git/more"), format!("[core]\n\tfsmonitor = {}\n", trap("fsmonitor")))
            .unwrap();
        std::fs::create_dir_all(self.file(".git/info")).unwrap();
        let attributes = "* filter=evil diff=evil merge=evil\n";
        std::fs::write(self.file(".git/info/attributes"), attributes).unwrap();
        std::fs::write(self.file(".gitattributes"), attributes).unwrap();
    }

    pub fn missing(&self) -> String {
        self.lost.clone()
    }

    /// Takes an object away, as a partial clone would not have it.
    pub fn lose(&self) {
        let (folder, name) = self.lost.split_at(2);
        let _gone_already = std::fs::remove_file(self.file(".git/objects").join(folder).join(name));
    }

    /// Stages a name for the object that is not there.
    pub fn stage_lost(&self) {
        let entry = format!("100644,{},staged-lost.py", self.lost);
        self.git(&[
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "update-index",
            "--add",
            "--cacheinfo",
            &entry,
        ]);
        self.take_marks();
    }

    /// Stages a file as it is, past all traps.
    pub fn stage_quietly(&self, name: &str) {
        self.stage_into(&self.file(".git/index"), name);
    }

    pub fn stage_into(&self, index: &Path, name: &str) {
        if !index.exists() {
            std::fs::copy(self.file(".git/index"), index).unwrap();
        }
        let path = self.file(name).display().to_string();
        let id = self.git(&["hash-object", "-w", "--no-filters", &path]);
        let entry = format!("100644,{},{name}", id.trim());
        let mut command = self.command();
        command.args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "update-index",
            "--add",
            "--cacheinfo",
            &entry,
        ]);
        assert!(command.env("GIT_INDEX_FILE", index).output().unwrap().status.success());
        self.take_marks();
    }

    /// A named pipe in the place of a file.
    pub fn pipe(&self, name: &str) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _was_there = std::fs::remove_file(&path);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    }

    /// To a user that nobody is.
    pub fn give_away(&self, uid: u32) {
        let mut command =
            if rustix::process::geteuid().is_root() { Command::new("chown") } else { Command::new("sudo") };
        if !rustix::process::geteuid().is_root() {
            command.args(["-n", "chown"]);
        }
        let given = command.args(["-R", &uid.to_string()]).arg(self.folder()).status().unwrap();
        assert!(given.success(), "run this as root, or with sudo that asks nothing");
    }

    /// A scan of the files themselves.
    pub fn home_scan(&self, home: &Home) -> Ran {
        let mut command = home.command(&["scan", "."]);
        command.current_dir(self.folder());
        run(command, None)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.folder()).args(["-c", "user.name=ana", "-c", "user.email=ana@localhost"]);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").stdin(Stdio::null());
        command
    }

    fn git(&self, args: &[&str]) -> String {
        let out = self.command().args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// As somebody would who thinks nothing of it.
    pub fn git_as_anybody(&self, args: &[&str]) {
        drop(self.command().args(args).output().unwrap());
    }

    pub fn marks(&self) -> Vec<String> {
        let all = std::fs::read_dir(self.dir.path().join("marks")).unwrap().flatten();
        all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    pub fn take_marks(&self) -> Vec<String> {
        let marks = self.marks();
        for mark in &marks {
            std::fs::remove_file(self.dir.path().join("marks").join(mark)).unwrap();
        }
        marks
    }
}
