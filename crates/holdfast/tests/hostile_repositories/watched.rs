//! Runs a command of ours while the kernel tells (by strace) which programs it starts, what it connects to and what it writes; and looks at a folder
//! before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::home::{PROGRAM, Ran, run};

/// Far more than any of this takes, and far less than for ever.
pub const WITHIN_S: u32 = 30;

/// What the kernel is asked to tell: programs, connections, and everything that makes, changes or removes a file.
const CALLS: &str = "trace=execve,execveat,connect,openat,open,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,\
                     unlink,unlinkat,rmdir,truncate,chmod,fchmodat,chown,lchown,fchownat,utimensat";

/// What strace is told, before the program.
pub fn strace(log: &Path) -> Vec<String> {
    let log = log.to_str().unwrap();
    let args =
        ["-f", "-qq", "--seccomp-bpf", "-y", "-s", "512", "-e", "signal=none", "-e", CALLS, "-o", log, "--"];
    args.map(str::to_owned).to_vec()
}

/// Runs it to its end, traced, and gives the lines of the trace. With another git, that one lies for it where ours is found.
pub fn traced(ours: &Command, git: Option<&Path>, log: &Path, input: Option<&[u8]>) -> (Ran, String) {
    let mut command = git.map_or_else(|| Command::new("/usr/bin/strace"), in_the_place_of_ours);
    command.args(strace(log)).args(["/usr/bin/timeout", "-s", "KILL", &WITHIN_S.to_string()]);
    with(&mut command, ours);
    let ran = run(command, input);
    (ran, std::fs::read_to_string(log).unwrap())
}

/// Begins a command in a world of its own, in which this git is where we look for it.
fn in_the_place_of_ours(git: &Path) -> Command {
    let mut command = Command::new("/usr/bin/unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "/bin/sh", "-c", r#"mount --bind "$0" "$1" && shift && exec "$@""#]);
    command.arg(git).arg(git_here()).arg("/usr/bin/strace");
    command
}

/// The same program, arguments, folder and variables.
pub fn with(command: &mut Command, ours: &Command) {
    command.arg(ours.get_program()).args(ours.get_args());
    if let Some(folder) = ours.get_current_dir() {
        command.current_dir(folder);
    }
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// What a command may do.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Where it runs: what it writes may be named from there.
    pub stands: PathBuf,
    /// Programs beside ours and git.
    pub programs: Vec<PathBuf>,
    /// Sockets of this machine.
    pub sockets: Vec<PathBuf>,
    /// Folders in which it may write.
    pub folders: Vec<PathBuf>,
    /// Beginnings of files that it may write and take away again.
    pub passing: Vec<&'static str>,
}

/// Everything in a trace that is not allowed.
pub fn odd(trace: &str, allowed: &Allowed) -> BTreeSet<String> {
    let mut odd = BTreeSet::new();
    for line in trace.lines() {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let Some((name, args)) = call.split_once('(') else { continue };
        match name {
            // Also one that is not there: it would have been run.
            "execve" | "execveat" => {
                let program = quoted(args).next().unwrap_or_default();
                if !may_run(&program, allowed) && !is_reaper(&program, args) {
                    odd.insert(format!("started {program}"));
                }
            }
            "connect" => {
                if !may_reach(args, allowed) {
                    odd.insert(format!("connected: {args}"));
                }
            }
            "open" | "openat"
                if !["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|it| args.contains(it)) => {}
            // What is not there was not touched.
            _ if args.contains("= -1 E") => {}
            // Git notes when it last used one of these, and nothing else. Of a sparse index, older ones use the objects too.
            "utimensat" if args.contains("/sharedindex.") || args.contains("/objects/") => {}
            _ => {
                // Where a link leads to is not written.
                let skipped = usize::from(name.starts_with("symlink"));
                let written = paths(&allowed.stands, args)
                    .into_iter()
                    .skip(skipped)
                    .filter(|path| !may_write(path, allowed));
                odd.extend(written.map(|path| format!("{name} {}", path.display())));
            }
        }
    }
    odd
}

/// Programs that were started, by name.
pub fn started(trace: &str) -> BTreeSet<String> {
    let lines = trace.lines().filter_map(|line| line.split_once("execve("));
    lines
        .filter_map(|(_, args)| quoted(args).next())
        .filter_map(|path| Some(path.rsplit_once('/')?.1.to_owned()))
        .collect()
}

/// Where each git of this machine has its own programs.
fn programs_of_git() -> &'static [PathBuf] {
    static ALL: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let its_own = |git: PathBuf| {
        let said = Command::new(git).arg("--exec-path").output().unwrap().stdout;
        PathBuf::from(String::from_utf8(said).unwrap().trim())
    };
    ALL.get_or_init(|| gits().into_iter().map(its_own).collect())
}

/// The git that our commands find.
fn git_here() -> PathBuf {
    holdfast_subprocess::unhardened_git(None).unwrap().get_program().into()
}

/// Each git of this machine, ours first: a newer one may have closed what an older one has open, and the other way round.
pub fn gits() -> Vec<PathBuf> {
    let ours = git_here();
    let there = ["/usr/local/bin/git", "/usr/bin/git"].map(PathBuf::from);
    let mut all = vec![ours];
    for path in there.into_iter().filter(|path| path.is_file()) {
        if !all.iter().any(|known| known.canonicalize().unwrap() == path.canonicalize().unwrap()) {
            all.push(path);
        }
    }
    all
}

fn may_run(program: &str, allowed: &Allowed) -> bool {
    let path = Path::new(program);
    let is_git = git_here() == path || programs_of_git().iter().any(|its_own| path.starts_with(its_own));
    let beside_ours = path.parent() == Path::new(PROGRAM).parent()
        && program.rsplit('/').next().is_some_and(|name| name.starts_with("holdfast"));
    program == "/usr/bin/timeout" || is_git || beside_ours || allowed.programs.iter().any(|it| it == path)
}

/// What ends git with us, where git takes long.
fn is_reaper(program: &str, args: &str) -> bool {
    let script = holdfast_subprocess::REAPER_SCRIPT;
    let is_sh = holdfast_subprocess::find("sh").is_ok_and(|sh| sh == Path::new(program));
    is_sh && args.contains(&format!("[\"{program}\", \"-c\", \"{script}\"], "))
}

/// The C library asks whether there is a cache of names, where git wants to know who somebody is.
fn may_reach(args: &str, allowed: &Allowed) -> bool {
    let Some((_, rest)) = args.split_once("sun_path=") else { return false };
    let path = quoted(rest).next().unwrap_or_default();
    path == "/var/run/nscd/socket" || allowed.sockets.iter().any(|it| it == Path::new(&path))
}

fn may_write(path: &Path, allowed: &Allowed) -> bool {
    let nowhere = ["/dev/null", "/dev/tty", "/proc"].iter().any(|it| path.starts_with(it));
    let is_passing = || allowed.passing.iter().any(|beginning| path.to_string_lossy().starts_with(beginning));
    nowhere || allowed.folders.iter().any(|folder| path.starts_with(folder)) || is_passing()
}

/// The paths that a call names, each from the folder it is seen from.
fn paths(stands: &Path, args: &str) -> Vec<PathBuf> {
    let mut folder = stands.to_owned();
    let mut all = Vec::new();
    let mut rest = args;
    loop {
        let (next_folder, next_text) = (rest.find('<'), rest.find('"'));
        match (next_folder, next_text) {
            (Some(at), text) if text.is_none_or(|text| at < text) => {
                let Some((name, after)) = rest[at + 1..].split_once('>') else { return all };
                folder = PathBuf::from(name);
                rest = after;
            }
            (_, Some(at)) => {
                let text = quoted(&rest[at..]).next().unwrap_or_default();
                all.push(plain(&folder.join(text)));
                rest = after_quoted(&rest[at..]);
            }
            _ => return all,
        }
        // What is after the result is of no call.
        if rest.starts_with(") ") {
            return all;
        }
    }
}

/// Without the parts that lead up again.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

fn after_quoted(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return &text[at + 1..],
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    ""
}

/// The texts in quotes of a call.
fn quoted(args: &str) -> impl Iterator<Item = String> {
    let mut rest = args;
    std::iter::from_fn(move || {
        let from = &rest[rest.find('"')?..];
        let after = after_quoted(from);
        let inner = &from[1..from.len() - after.len()];
        rest = after;
        Some(inner.trim_end_matches('"').to_owned())
    })
}

/// A file as it was: every change shows in the last of these.
type Was = (u32, u32, u64, i64, i64);

/// Everything below a folder.
#[derive(Debug, PartialEq, Eq)]
pub struct Files(BTreeMap<PathBuf, Was>);

impl Files {
    pub fn below(folder: &Path) -> Files {
        let mut all = BTreeMap::new();
        let mut left = vec![folder.to_owned()];
        while let Some(folder) = left.pop() {
            for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                let meta = path.symlink_metadata().unwrap();
                // Of a folder, what is in it counts. Of an object of git's, whether it is there: it is named by its content, and the kernel tells who
                // writes into one.
                let is_folder = meta.is_dir();
                let is_object = path.iter().any(|part| part == "objects");
                let at = if is_folder || is_object { (0, 0) } else { (meta.ctime(), meta.ctime_nsec()) };
                let len = if is_folder { 0 } else { meta.len() };
                all.insert(path.clone(), (meta.mode(), meta.uid(), len, at.0, at.1));
                if is_folder {
                    left.push(path);
                }
            }
        }
        Files(all)
    }

    /// What was made, changed or removed since.
    pub fn changed(&self, after: &Files) -> BTreeSet<PathBuf> {
        let is_other = |path: &&PathBuf| self.0.get(*path) != after.0.get(*path);
        self.0.keys().chain(after.0.keys()).filter(is_other).cloned().collect()
    }
}
