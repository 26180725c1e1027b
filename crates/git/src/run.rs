//! Asks git one thing, or starts it for a caller who reads while it runs.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use holdfast_subprocess::{Limits, NotEnded, Ran};
use holdfast_types::printable;

use crate::place::Place;
use crate::settings::{AlsoOf, ENVIRONMENT, added, as_arguments, served_by};
use crate::{owner, survey};

/// Of what it says so much is read. A repository of ours with more references than fit is none.
const OUTPUT_MAX: usize = 4 << 20;

/// Some files of a few lines: a thousandth of this is usual.
const SETTINGS_WITHIN: Duration = Duration::from_secs(8);

/// In a hook, these say which index and which objects are meant. No other variable of the caller's is handed on.
const TOLD: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_PREFIX",
];
/// Where a person's own settings are, for the questions that are about them.
const OF_A_PERSON: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    #[error("git could not be run: {0}")]
    NotRun(#[source] io::Error),
    #[error("git took longer than {} s to {what}", .within.as_secs())]
    TooLong { what: &'static str, within: Duration },
    #[error("git had more to say than is read, to {what}")]
    TooMuch { what: &'static str },
    /// Something ended it: that says nothing about the repository.
    #[error("git was ended by signal {signal}, to {what}")]
    Cut { what: &'static str, signal: i32 },
    /// It ran, and said no.
    #[error("git could not {what}: {said}")]
    Refused { what: &'static str, said: String },
    /// It was not run: whoever owns this could have written settings there.
    #[error("{} belongs to user {owner}, so git is not run there", path.display())]
    NotOurs { path: PathBuf, owner: u32 },
    /// It was not run: it would not come back from this.
    #[error("{} is {kind}, and git would wait for it for ever", path.display())]
    Waits { path: PathBuf, kind: &'static str },
    /// It was not run: its place cannot be understood.
    #[error("{}: {why}", path.display())]
    Odd { path: PathBuf, why: &'static str },
}

impl NotDone {
    /// What to do, for people. Never to ask git the same by hand: there, what the repository says is done.
    pub fn hint(&self) -> &'static str {
        match self {
            NotDone::NotRun(_) => {
                "Install git where the system keeps its programs, such as /usr/bin; PATH is not searched."
            }
            NotDone::NotOurs { .. } => "See who put it there, and give it back to the user this runs as.",
            NotDone::Waits { .. } | NotDone::Odd { .. } => {
                "Take away what is named, or name a clone of the repository: git clone --no-checkout"
            }
            NotDone::TooLong { .. } | NotDone::TooMuch { .. } | NotDone::Cut { .. } => {
                "Ask again, for less of it where that can be said."
            }
            NotDone::Refused { .. } => {
                "`git fsck` finds damage. A partial clone lacks objects: have its owner fetch them, or send the history as a bundle."
            }
        }
    }
}

/// What a call may reach. Whatever a repository's settings say, nothing else is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network<'a> {
    /// Nothing: no address, no other repository of this machine, no object that is not there.
    #[default]
    None,
    /// An address that the call names, over HTTPS or HTTP.
    Web,
    /// This folder of this machine, which has to be ours. Its hooks do not run.
    Folder(&'a Path),
}

/// Which repository.
#[derive(Clone, Debug)]
enum Where {
    /// One of ours, by its folder.
    Ours(PathBuf),
    /// A person's, as it was found around a folder.
    Found { place: Place, folder: PathBuf },
    /// A person's, as the environment says; git finds it as it does in a hook.
    Told { folder: PathBuf },
}

/// The program, and one repository it works on.
#[derive(Clone, Debug)]
pub struct Git {
    /// Where it is; looked for at each call where nothing is said.
    program: Option<PathBuf>,
    at: Where,
    told: Vec<(&'static str, OsString)>,
}

/// One thing asked of it.
#[derive(Debug)]
pub struct Ask<'a> {
    /// For people: after "could not".
    pub what: &'static str,
    /// A verb, and what is said to it.
    pub args: Vec<&'a str>,
    pub input: Vec<u8>,
    pub within: Duration,
    pub output_max: usize,
    pub network: Network<'a>,
    /// Signatures of commits are checked against this file, with OpenSSH.
    pub allowed_signers: Option<&'a Path>,
    /// More of the environment; may hold a secret, which arguments never do.
    pub environment: Vec<(String, String)>,
}

impl<'a> Ask<'a> {
    pub fn new(what: &'static str, args: &[&'a str]) -> Ask<'a> {
        Ask {
            what,
            args: args.to_vec(),
            input: Vec::new(),
            within: Duration::from_secs(30),
            output_max: OUTPUT_MAX,
            network: Network::None,
            allowed_signers: None,
            environment: Vec::new(),
        }
    }
}

impl Git {
    /// One that we made, or are about to make.
    pub fn at(repository: &Path) -> Git {
        Git { program: None, at: Where::Ours(repository.to_owned()), told: Vec::new() }
    }

    /// The one that a person works in, around this folder or as the environment says. It is theirs, and nothing in it would make git wait.
    pub fn around(folder: &Path) -> Result<Git, NotDone> {
        let told = TOLD.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut git = Git {
            program: None,
            at: Where::Told { folder: folder.to_owned() },
            told: told.filter(|(_, value)| !value.is_empty()).collect(),
        };
        let place = match git.told.iter().find(|(name, _)| *name == "GIT_DIR") {
            Some((_, dir)) => Place::of_git_dir(&folder.join(dir))?,
            None => {
                let place = Place::around(folder)?;
                git.at = Where::Found { place: place.clone(), folder: folder.to_owned() };
                place
            }
        };
        owner::check(&place, |path| git.is_excepted(path))?;
        survey::whole(&place)?;
        // Settings may include a file that is none: what is started next has no deadline, this has.
        git.ask(Ask {
            within: SETTINGS_WITHIN,
            ..Ask::new("read its settings", &["rev-parse", "--git-dir"])
        })?;
        Ok(git)
    }

    /// Another program in its place.
    pub fn with_program(self, program: &Path) -> Git {
        Git { program: Some(program.to_owned()), ..self }
    }

    /// Where it is, as it was named or found.
    pub fn repository(&self) -> &Path {
        match &self.at {
            Where::Ours(folder) | Where::Told { folder } => folder,
            Where::Found { place, .. } => &place.git_dir,
        }
    }

    /// The root of the work tree, where there is one.
    pub fn work_tree(&self) -> Result<Option<PathBuf>, NotDone> {
        if let Where::Found { place, .. } = &self.at {
            return Ok(place.work_tree.clone());
        }
        let is_inside = Ask::new("find its work tree", &["rev-parse", "--is-inside-work-tree"]);
        if self.ask(is_inside)?.trim() != "true" {
            return Ok(None);
        }
        let top = self.ask_bytes(Ask::new("find its work tree", &["rev-parse", "--show-toplevel"]))?;
        Ok(Some(path_of(top)))
    }

    /// Where its hooks lie, for whoever puts one there: as the person's own settings say, which all other calls leave aside. In a folder of somebody
    /// else's nothing is put: they could change what it does.
    pub fn hooks(&self) -> Result<PathBuf, NotDone> {
        let ask = Ask::new("find its hooks", &["rev-parse", "--git-path", "hooks"]);
        let mut command = self.command(&ask, AlsoOf::ThePerson)?;
        let path = path_of(ended(&ask, &mut command, Vec::new())?);
        // What git says is seen from where it ran.
        let path = match &self.at {
            Where::Found { folder, .. } | Where::Told { folder } => absolute(folder)?.join(path),
            Where::Ours(_) => path,
        };
        match owner::check_path(&path) {
            Err(NotDone::NotOurs { .. }) if self.is_vouched_for()? => Ok(path),
            found => found.map(|()| path),
        }
    }

    fn is_vouched_for(&self) -> Result<bool, NotDone> {
        Ok(self.is_excepted(&self.work_tree()?.unwrap_or_else(|| self.repository().to_owned())))
    }

    /// Whether a person said in their own settings that this folder of somebody else's is safe.
    fn is_excepted(&self, path: &Path) -> bool {
        let git = Git { program: self.program.clone(), ..Git::at(Path::new("/nonexistent")) };
        let args = ["config", "--null", "--get-all", "safe.directory"];
        let ask = Ask::new("read a person's settings", &args);
        let command = git.command(&ask, AlsoOf::ThePerson);
        let said = command.and_then(|mut command| ended(&ask, &mut command, Vec::new()));
        said.is_ok_and(|said| owner::is_listed(path, &said))
    }

    /// What it says to this; anything but success is an error.
    pub fn ask(&self, ask: Ask<'_>) -> Result<String, NotDone> {
        Ok(String::from_utf8_lossy(&self.ask_bytes(ask)?).into_owned())
    }

    /// The same, as it said it.
    pub fn ask_bytes(&self, mut ask: Ask<'_>) -> Result<Vec<u8>, NotDone> {
        let input = std::mem::take(&mut ask.input);
        let mut command = self.command(&ask, AlsoOf::Nobody)?;
        ended(&ask, &mut command, input)
    }

    /// The same, with an empty folder in the place of the work tree, for a question about the index and objects. On the way to some answers git reads
    /// `.gitattributes` of any folder of the work tree, and would wait for one that is a pipe.
    pub fn ask_bytes_beside(&self, ask: Ask<'_>) -> Result<Vec<u8>, NotDone> {
        let temp = absolute(&std::env::temp_dir())?;
        let empty = tempfile::tempdir_in(temp).map_err(NotDone::NotRun)?;
        self.with_work_tree(empty.path())?.ask_bytes(ask)
    }

    fn with_work_tree(&self, folder: &Path) -> Result<Git, NotDone> {
        let (git_dir, from) = match &self.at {
            Where::Ours(git_dir) => (git_dir.clone(), git_dir),
            Where::Found { place, folder } => (place.git_dir.clone(), folder),
            Where::Told { folder } => {
                let told = self.told.iter().find(|(name, _)| *name == "GIT_DIR");
                (told.map_or_else(|| folder.clone(), |(_, dir)| folder.join(dir)), folder)
            }
        };
        // What is told is seen from the root of the work tree.
        let from = absolute(&self.work_tree()?.unwrap_or_else(|| from.clone()))?;
        let told = self.told.iter().filter_map(|(name, value)| match *name {
            "GIT_DIR" | "GIT_WORK_TREE" | "GIT_PREFIX" => None,
            // A list.
            "GIT_ALTERNATE_OBJECT_DIRECTORIES" => Some((*name, value.clone())),
            name => Some((name, from.join(value).into_os_string())),
        });
        let place = Place { work_tree: Some(folder.to_owned()), ..Place::of_git_dir(&absolute(&git_dir)?)? };
        Ok(Git {
            program: self.program.clone(),
            told: told.collect(),
            at: Where::Found { place, folder: folder.to_owned() },
        })
    }

    /// Starts it for a caller who reads while it runs, in the caller's own process group. There is no deadline: only for [`Git::around`], which has looked
    /// at everything that would make it wait.
    pub fn start(&self, ask: &Ask<'_>, input: Stdio) -> Result<Child, NotDone> {
        let mut command = self.command(ask, AlsoOf::Nobody)?;
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(NotDone::NotRun)
    }

    fn command(&self, ask: &Ask<'_>, also: AlsoOf) -> Result<Command, NotDone> {
        let what = ask.what;
        let added = added(&ask.args)
            .map_err(|why| NotDone::Refused { what, said: format!("{:?}: {why}", ask.args) })?;
        let mut command =
            holdfast_subprocess::unhardened_git(self.program.as_deref()).map_err(NotDone::NotRun)?;
        command.envs(ENVIRONMENT);
        command.args(as_arguments(also));
        if also == AlsoOf::ThePerson {
            of_the_person(&mut command);
        }
        self.stand(&mut command)?;
        if let Some(file) = ask.allowed_signers {
            // Where it is not installed, no signature is good.
            if let Ok(checks) = holdfast_subprocess::find("ssh-keygen") {
                set(&mut command, "gpg.ssh.program", &checks);
            }
            set(&mut command, "gpg.ssh.allowedSignersFile", file);
        }
        let verb = ask.args.first().copied().unwrap_or_default();
        command.arg(verb).args(added);
        reach(&mut command, verb, ask.network)?;
        command.args(ask.args.iter().skip(1));
        command.envs(ask.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Says which repository.
    fn stand(&self, command: &mut Command) -> Result<(), NotDone> {
        let option = |name: &str, value: &Path| {
            let mut text = OsString::from(name);
            text.push(value);
            text
        };
        match &self.at {
            Where::Ours(folder) => {
                owner::check_folder(folder)?;
                is_whole(folder)?;
                command.arg(option("--git-dir=", folder));
            }
            Where::Found { place, folder } => {
                command.arg("-C").arg(absolute(folder)?);
                command.arg(option("--git-dir=", &place.git_dir));
                if let Some(top) = &place.work_tree {
                    command.arg(option("--work-tree=", top));
                }
            }
            Where::Told { folder } => {
                command.arg("-C").arg(absolute(folder)?);
            }
        }
        command.envs(self.told.iter().map(|(name, value)| (name, value)));
        Ok(())
    }
}

/// Where hooks lie and what is safe is for a person and a machine to say. Such a question runs nothing.
fn of_the_person(command: &mut Command) {
    for name in ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"] {
        command.env_remove(name);
    }
    command.envs(OF_A_PERSON.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
}

/// Lets it reach what this call may.
fn reach(command: &mut Command, verb: &str, network: Network<'_>) -> Result<(), NotDone> {
    match network {
        Network::None => {}
        Network::Web => {
            command.env("GIT_ALLOW_PROTOCOL", "https:http");
        }
        Network::Folder(folder) => {
            owner::check_folder(folder)?;
            command.env("GIT_ALLOW_PROTOCOL", "file");
            match verb {
                "push" => command.arg(format!("--receive-pack={}", served_by("receive-pack"))),
                _ => command.arg(format!("--upload-pack={}", served_by("upload-pack"))),
            };
        }
    }
    Ok(())
}

/// None that we made is a part of another one: git would write there.
fn is_whole(folder: &Path) -> Result<(), NotDone> {
    let why = "it leads git to another repository, which none of ours does";
    match std::fs::symlink_metadata(folder.join("commondir")) {
        Ok(_) => Err(NotDone::Odd { path: folder.join("commondir"), why }),
        Err(_) => Ok(()),
    }
}

fn set(command: &mut Command, name: &str, value: &Path) {
    let mut text = OsString::from(name);
    text.push("=");
    text.push(value);
    command.arg("-c").arg(text);
}

fn absolute(folder: &Path) -> Result<PathBuf, NotDone> {
    std::path::absolute(folder).map_err(NotDone::NotRun)
}

fn ended(ask: &Ask<'_>, command: &mut Command, input: Vec<u8>) -> Result<Vec<u8>, NotDone> {
    let (what, within) = (ask.what, ask.within);
    let limits = Limits { within, output_max: ask.output_max };
    let Ran { status, out, err } =
        holdfast_subprocess::run_while_we_do(command, input, limits).map_err(|e| match e {
            NotEnded::Late => NotDone::TooLong { what, within },
            NotEnded::Io(e) => NotDone::NotRun(e),
        })?;
    if let Some(signal) = status.signal() {
        return Err(NotDone::Cut { what, signal });
    }
    if !status.success() {
        return Err(NotDone::Refused { what, said: why(&err) });
    }
    if out.len() > ask.output_max {
        return Err(NotDone::TooMuch { what });
    }
    Ok(out)
}

fn path_of(mut bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

/// What it complained of, short and safe to show: its error, or what it said last.
pub fn why(err: &[u8]) -> String {
    let text = String::from_utf8_lossy(err);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let line = lines().find(is_error).or_else(|| lines().next_back()).unwrap_or("it said nothing");
    printable(&line.chars().take(300).collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::thread;
    use std::time::Instant;

    use super::*;

    /// A program in git's place that does this.
    fn played(script: &str) -> (tempfile::TempDir, Git) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("git");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let git = Git::at(folder.path()).with_program(&program);
        (folder, git)
    }

    fn ask() -> Ask<'static> {
        Ask::new("do it", &["version"])
    }

    #[test]
    fn nothing_of_the_caller_s_reaches_it() {
        let (_folder, git) = played("env");
        let said = git.ask(ask()).unwrap();
        let allowed = ["PWD", "SHLVL", "_", "OLDPWD", "PATH", "LC_ALL"];
        let names = said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        let odd: Vec<&str> = names
            .filter(|name| !allowed.contains(name) && !ENVIRONMENT.iter().any(|(known, _)| known == name))
            .collect();
        assert!(odd.is_empty(), "{odd:?}");
        for line in ["GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none"] {
            assert!(said.lines().any(|it| it == line), "{line}");
        }
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let (folder, git) = played("sleep 300 & echo $! > \"${0%/*}/helper\"; wait");
        let began = Instant::now();
        let asked = Ask { within: Duration::from_millis(800), ..ask() };
        assert!(matches!(git.ask(asked), Err(NotDone::TooLong { .. })));
        assert!(began.elapsed() < Duration::from_secs(60));
        let helper = std::fs::read_to_string(folder.path().join("helper")).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", helper.trim())).unwrap_or_default();
        while !(state().is_empty() || state().contains(") Z")) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn more_than_is_read_is_an_error_and_no_memory() {
        let (_folder, git) = played("head -c 20000000 /dev/zero");
        assert!(matches!(git.ask(ask()), Err(NotDone::TooMuch { .. })));
    }

    #[test]
    fn what_it_complains_of_is_told_safely() {
        let (_folder, git) = played("printf 'hint: x\\nfatal: \\033[2Jno\\nhint: y\\n' >&2; exit 3");
        let said = git.ask(ask()).unwrap_err().to_string();
        assert_eq!(said, "git could not do it: fatal: \\u{1b}[2Jno");
        let none = Git::at(Path::new("/")).with_program(Path::new("/there/is/none"));
        assert!(matches!(none.ask(ask()), Err(NotDone::NotRun(_))));
    }

    #[test]
    fn what_would_run_a_program_is_not_asked() {
        let (_folder, git) = played("echo ran");
        let said = git.ask(Ask::new("look", &["checkout", "main"])).unwrap_err().to_string();
        assert!(said.contains("not among the verbs"), "{said}");
    }
}
