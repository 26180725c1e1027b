//! One repository of the corpus, made with the real git: a history with a secret in it, a staged secret, and beside it the folders that a plant needs.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::repository::token;

/// A message from which an experience is learnt.
const FIX: &str = "fix: it hangs\n\nerror: database is locked (code 5)";
/// The text of a file that lies in another repository of the same person.
pub const ELSEWHERE: &str = "what lies elsewhere";

pub struct Kit {
    dir: tempfile::TempDir,
    /// Whoever connects here leaves a mark.
    listener: OnceLock<TcpListener>,
}

impl Kit {
    /// Three commits on `main`; `old.py` came with the second and holds a secret, `staged.py` is staged and holds another. `side` conflicts with `main`.
    pub fn new() -> Kit {
        static BASE: OnceLock<Kit> = OnceLock::new();
        let base = BASE.get_or_init(Kit::base);
        let kit = Kit { dir: tempfile::tempdir().unwrap(), listener: OnceLock::new() };
        for name in ["marks", "elsewhere", "tmp"] {
            std::fs::create_dir(kit.beside(name)).unwrap();
        }
        kit.run("cp", &["-a", &text(&base.folder()), &text(kit.dir.path())]);
        kit
    }

    fn base() -> Kit {
        let kit = Kit { dir: tempfile::tempdir().unwrap(), listener: OnceLock::new() };
        std::fs::create_dir(kit.folder()).unwrap();
        kit.git(&["init", "-q", "--initial-branch=main", "--template="]);
        kit.write("README", "hello\n");
        kit.commit("begin");
        kit.write("old.py", format!("token = \"{}\"\n", token(1)));
        kit.write("lost.py", "y = 1\n");
        kit.commit("an example");
        kit.git(&["branch", "side"]);
        kit.write("README", "hello\nworld\n");
        kit.commit(FIX);
        kit.git(&["checkout", "-q", "side"]);
        kit.write("README", "hello\nside\n");
        kit.commit("beside");
        kit.git(&["checkout", "-q", "main"]);
        kit.write("staged.py", format!("token = \"{}\"\n", token(2)));
        kit.git(&["add", "staged.py"]);
        kit
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn folder(&self) -> PathBuf {
        self.beside("repository")
    }

    /// The folder that commands are run in: of the repository, or of the one inside it.
    pub fn stand(&self) -> PathBuf {
        let inner = self.folder().join("lib");
        if inner.join("HEAD").exists() { inner } else { self.folder() }
    }

    /// What `.git` is: a folder, or what leads to one; the folder itself where it is bare.
    pub fn dot(&self) -> PathBuf {
        let dot = self.stand().join(".git");
        if dot.symlink_metadata().is_ok() { dot } else { self.stand() }
    }

    /// What git itself takes for its folder, and says to a hook.
    pub fn git_dir(&self) -> PathBuf {
        let dot = self.dot();
        let text = std::fs::read_to_string(&dot).unwrap_or_default();
        let target = text.strip_prefix("gitdir:").map(|rest| self.stand().join(rest.trim()));
        let target = target.unwrap_or(dot);
        target.canonicalize().unwrap_or(target)
    }

    /// Everything of this repository: it, what is beside it, and what is planted elsewhere.
    pub fn all(&self) -> &Path {
        self.dir.path()
    }

    /// The commit that is checked out, where a careful person can tell.
    pub fn head(&self) -> Option<String> {
        let out = self.careful().args(["rev-parse", "--verify", "HEAD"]).output().unwrap();
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }

    /// The history as a careful person sends it, or what is planted in its place.
    pub fn bundle(&self) -> Option<Vec<u8>> {
        let planted = self.beside("bundle");
        if planted.exists() {
            return Some(std::fs::read(planted).unwrap());
        }
        // Up to 2.39, git takes `-` for the name of a file where it stands below the top.
        let sent = self.beside("sent");
        let out =
            self.careful().args(["bundle", "create", "-q", &text(&sent), "HEAD", "--all"]).output().unwrap();
        let bundle = out.status.success().then(|| std::fs::read(&sent).unwrap());
        let _none_where_it_failed = std::fs::remove_file(&sent);
        bundle
    }

    /// Somebody who knows what is planted here: only what the corpus names as its content is looked at.
    fn careful(&self) -> Command {
        let mut command = anybody("git", &self.stand());
        command
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_NO_REPLACE_OBJECTS", "1");
        command.args([
            "-c",
            "safe.directory=*",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
        ]);
        command
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// More settings of the repository. `{name}` is the path of a trap of that name, and `{..}` the folder that all of this is in.
    pub fn set(&self, settings: &str) {
        let config = self.folder().join(".git/config");
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, before + &self.filled(settings)).unwrap();
    }

    pub fn filled(&self, text: &str) -> String {
        let mut parts = text.split('{');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap();
            match name {
                ".." => filled.push_str(&self.dir.path().display().to_string()),
                "port" => filled.push_str(&self.port().to_string()),
                name => filled.push_str(&self.trap(name)),
            }
            filled.push_str(rest);
        }
        filled
    }

    /// A program that leaves a mark of this name.
    pub fn trap(&self, name: &str) -> String {
        let path = self.beside(&format!("trap-{name}"));
        self.set_trap(&path, name);
        text(&path)
    }

    pub fn set_trap(&self, path: &Path, name: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mark = self.beside("marks").join(name);
        std::fs::write(path, format!("#!/bin/sh\n: >'{}'\nexit 0\n", mark.display())).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// All hooks that git runs, in this folder.
    pub fn set_hooks(&self, folder: &Path) {
        for hook in [
            "pre-commit",
            "post-commit",
            "post-checkout",
            "post-index-change",
            "reference-transaction",
            "fsmonitor-watchman",
            "pre-auto-gc",
            "post-merge",
            "pre-push",
            "pre-receive",
            "update",
            "post-receive",
            "post-update",
            "proc-receive",
            "push-to-checkout",
        ] {
            self.set_trap(&folder.join(hook), hook);
        }
    }

    /// A port on which whoever connects leaves a mark, and is asked for a password.
    fn port(&self) -> u16 {
        let listener = self.listener.get_or_init(|| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let (heard, mark) = (listener.try_clone().unwrap(), self.beside("marks/connected"));
            std::thread::spawn(move || {
                for stream in heard.incoming().map_while(Result::ok) {
                    // With the repository goes the folder for marks.
                    if std::fs::write(&mark, "").is_err() {
                        break;
                    }
                    ask_for_password(stream);
                }
            });
            listener
        });
        listener.local_addr().unwrap().port()
    }

    /// Another repository of the same person, with a file that says so, and these settings.
    pub fn make_elsewhere(&self, settings: &str) -> PathBuf {
        let folder = self.beside("elsewhere");
        self.git_in(&folder, &["init", "-q", "--initial-branch=main", "--template="]);
        std::fs::write(folder.join("elsewhere.txt"), format!("{ELSEWHERE}\n")).unwrap();
        self.git_in(&folder, &["add", "--all"]);
        self.git_in(&folder, &["commit", "-q", "-m", ELSEWHERE]);
        let config = folder.join(".git/config");
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, before + &self.filled(settings)).unwrap();
        folder
    }

    /// Takes an object away, as a partial clone would not have it.
    pub fn lose(&self, name: &str) {
        let id = self.git(&["rev-parse", name]);
        let (folder, file) = id.trim().split_at(2);
        std::fs::remove_file(self.file(".git/objects").join(folder).join(file)).unwrap();
    }

    /// A commit that says it is signed: whoever shows signatures asks a program about it.
    pub fn sign(&self, kind: &str) {
        let (tree, parent) = (self.git(&["rev-parse", "HEAD^{tree}"]), self.git(&["rev-parse", "HEAD"]));
        let content = format!(
            "tree {}\nparent {}\nauthor ana <ana@localhost> 1790000000 +0000\ncommitter ana <ana@localhost> 1790000000 +0000\n\
             gpgsig -----BEGIN {kind}-----\n \n iQ==\n -----END {kind}-----\n\nsigned\n",
            tree.trim(),
            parent.trim()
        );
        let file = self.beside("commit");
        std::fs::write(&file, content).unwrap();
        let id = self.git(&["hash-object", "-t", "commit", "-w", "--literally", &text(&file)]);
        self.git(&["update-ref", "refs/heads/main", id.trim()]);
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// As a careful person does it, to make what is planted.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.folder(), args)
    }

    pub fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let mut command = anybody("git", folder);
        command.args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "protocol.file.allow=always",
        ]);
        let at = "2026-11-16T10:00:00+0000";
        command.env("GIT_AUTHOR_DATE", at).env("GIT_COMMITTER_DATE", at);
        let out = command.args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// As somebody does it who thinks nothing of it; everything it says.
    pub fn careless(&self, program: &Path, args: &[&str]) -> String {
        let out = anybody(&text(program), &self.stand()).args(args).output().unwrap();
        String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned()
    }

    /// The same at a terminal.
    pub fn careless_at_a_terminal(&self, program: &Path, args: &[&str]) -> String {
        let line = [&[program.to_str().unwrap()], args].concat().join(" ");
        let mut command = anybody("script", &self.stand());
        let out = command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").output().unwrap();
        String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned()
    }

    pub fn run(&self, program: &str, args: &[&str]) {
        let out = Command::new(program).args(args).output().unwrap();
        assert!(out.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    pub fn marks(&self) -> Vec<String> {
        let all = std::fs::read_dir(self.beside("marks")).unwrap().flatten();
        let mut all: Vec<String> =
            all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        all.sort();
        all
    }

    pub fn clear_marks(&self) {
        for mark in self.marks() {
            std::fs::remove_file(self.beside("marks").join(mark)).unwrap();
        }
    }

    /// To a user that nobody is.
    pub fn give_away(&self, path: &Path) {
        let is_root = rustix::process::geteuid().is_root();
        let mut command = Command::new(if is_root { "chown" } else { "sudo" });
        command.args(if is_root { &[][..] } else { &["-n", "chown"] }).args(["-Rh", "54321"]).arg(path);
        assert!(command.status().unwrap().success(), "run this as root, or with sudo that asks nothing");
    }
}

fn ask_for_password(mut stream: std::net::TcpStream) {
    use std::io::{BufRead as _, BufReader, Write as _};
    let Ok(reading) = stream.try_clone() else { return };
    let head = BufReader::new(reading).lines().map_while(Result::ok);
    head.take_while(|line| !line.is_empty()).for_each(drop);
    let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let _may_be_gone = stream.write_all(answer.as_bytes());
}

fn anybody(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "ana").env(format!("GIT_{role}_EMAIL"), "ana@localhost");
    }
    for name in ["EDITOR", "VISUAL", "GIT_EDITOR", "PAGER", "GIT_PAGER", "GIT_DIR", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
