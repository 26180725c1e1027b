//! How the doorman comes to a target and how it leaves: the user who looks, the lines of the keys, the first day; and all of it away again.
//!
//! Both are said by a person's account on the target, never by a key. What was not there before is written down before it is made
//! ([`Record`]), so that one who was cut off anywhere is undone by the same word. `leave` may be said again until it has said that
//! nothing is left, and needs nobody but itself.
//!
//! What holds: of files that are people's, only lines that run this very program are added or taken away; the target is left as
//! it was found, but for copies that `useradd` and `userdel` keep of the files they change.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdfast_durable::Mode;
use serde::{Deserialize, Serialize};

use crate::deed;
use crate::enrol::{Enrolment, NotEnrolled, authorized_line, enrol};
use crate::layer::{KEPT_PREFIX, Layer};
use crate::ours::{layer_in, remove};
use crate::place::Place;
use crate::program::{Trouble, run, run_whatever};
use crate::wire::Role;

/// The user who looks and has no rights.
pub const OBSERVER: &str = "holdfast-observer";
/// What people wrote into one file of keys.
const KEYS_MAX: u64 = 4 << 20;
const USER_WITHIN: Duration = Duration::from_secs(30);
/// A manager of a user stays for ten seconds after the last session.
const GONE_WITHIN: Duration = Duration::from_secs(20);
const LOCK_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Where sshd looks for the keys of a user, below his home.
const FOLDER: &str = ".ssh";
const FILE: &str = "authorized_keys";

/// What is handed over on the first day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    pub settings: Enrolment,
    /// The public half of each key.
    pub keys: BTreeMap<Role, String>,
    /// The addresses they count from; all when there are none.
    #[serde(default)]
    pub from: Vec<IpAddr>,
}

/// What came of leaving.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    pub undone: Vec<String>,
    /// What is still there, and why.
    pub remains: Vec<String>,
}

/// What was not there before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// What of ours was in force already: people may have kept it from an earlier stay.
    found: Layer,
    user: bool,
    /// Of root's keys: the folder, the file, and whether its last line had no end.
    folder: bool,
    file: bool,
    no_end: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum NotArrived {
    #[error("this target is looked after already: {} is there", .0.display())]
    Already(PathBuf),
    #[error("there is a user {OBSERVER} already, and nobody wrote down that it is ours")]
    UserIsThere,
    #[error("the key for {0} is no line that sshd would take")]
    NoKey(Role),
    #[error(transparent)]
    NotEnrolled(#[from] NotEnrolled),
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

/// Everything of the first day. What could not be done whole is undone.
pub(crate) fn arrive(place: &Place, arrival: &Arrival) -> Result<(), String> {
    let _alone = alone(place).map_err(|e| e.to_string())?;
    if let Some(there) = [&place.settings, &place.state].into_iter().find(|path| path.exists()) {
        return Err(NotArrived::Already(there.clone()).to_string());
    }
    arrive_now(place, arrival).map_err(|e| {
        let left = leave_now(place, Program::Stays);
        match left.remains.is_empty() {
            true => format!("{e}; what was done before is undone"),
            false => format!("{e}; not undone: {}", left.remains.join("; ")),
        }
    })
}

fn arrive_now(place: &Place, arrival: &Arrival) -> Result<(), NotArrived> {
    let lines: BTreeMap<Role, String> = Role::ALL
        .into_iter()
        .map(|role| {
            let key = arrival.keys.get(&role).map_or("", String::as_str);
            let line = authorized_line(place, role, key, &arrival.from).ok_or(NotArrived::NoKey(role))?;
            Ok((role, line))
        })
        .collect::<Result<_, NotArrived>>()?;
    if home_of(OBSERVER)?.is_some() || observer_home().exists() {
        return Err(NotArrived::UserIsThere);
    }
    let root = home_of("root")?.unwrap_or_else(|| PathBuf::from("/root"));
    let keys = root.join(FOLDER).join(FILE);
    let before = read_keys(&keys)?;
    let record = Record {
        found: layer_in(&place.kept, KEPT_PREFIX)?.layer,
        user: true,
        folder: !root.join(FOLDER).exists(),
        file: before.is_none(),
        no_end: before.as_deref().is_some_and(|text| !text.is_empty() && !text.ends_with(b"\n")),
    };
    write_record(place, &record)?;
    enrol(place, &arrival.settings)?;
    make_observer(&lines[&Role::Observe])?;
    let mut text = before.unwrap_or_default();
    if record.no_end {
        text.push(b'\n');
    }
    for role in [Role::Act, Role::Rescue] {
        text.extend_from_slice(format!("{}\n", lines[&role]).as_bytes());
    }
    if record.folder {
        let made = fs::create_dir(root.join(FOLDER))
            .and_then(|()| fs::set_permissions(root.join(FOLDER), fs::Permissions::from_mode(0o700)));
        made.map_err(Trouble::file("making root's folder of keys"))?;
    }
    write_keys(&keys, &text)?;
    relabel(&[&place.program, &root.join(FOLDER), &observer_home()]);
    Ok(())
}

/// Takes away everything that is ours. Says what was undone and what could not be.
pub(crate) fn leave(place: &Place) -> Result<Left, String> {
    let _alone = alone(place).map_err(|e| e.to_string())?;
    Ok(leave_now(place, Program::Goes))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Stays,
    Goes,
}

/// Each step whatever became of the one before; but the record stays until all that it tells of is gone, and the program until that is.
fn leave_now(place: &Place, program: Program) -> Left {
    let mut left = Left::default();
    let record = read_record(place).unwrap_or_default();
    left.step("settings that were kept or tried", as_it_was_found(place, &record.found));
    left.step("the lines in root's authorized_keys", take_lines(place, &record));
    if record.user {
        left.step("the user who looks", remove_observer());
    }
    left.step("what was said at enrolment", remove_settings(place));
    if left.remains.is_empty() {
        left.step("the doorman's memory", remove_state(place));
    }
    if left.remains.is_empty() && program == Program::Goes {
        left.step("the program there", remove_program(place));
    }
    left
}

impl Left {
    fn step(&mut self, what: &str, done: Result<bool, Trouble>) {
        match done {
            Ok(true) => self.undone.push(what.to_owned()),
            Ok(false) => {}
            Err(e) => self.remains.push(format!("{what}: {e}")),
        }
    }
}

// --- settings

fn as_it_was_found(place: &Place, found: &Layer) -> Result<bool, Trouble> {
    if !place.state.join("desk.json").exists() {
        return Ok(false);
    }
    deed::as_it_was_found(place, found)
}

// --- lines

/// A line of ours is one that runs this very program. Without it such a line is worth nothing.
fn is_our_line(place: &Place, line: &[u8]) -> bool {
    let mark = format!("command=\"{} ", place.program.display());
    line.windows(mark.len()).any(|part| part == mark.as_bytes())
}

/// The text without our lines; nothing where there are none.
fn without_our_lines(place: &Place, text: &[u8], no_end: bool) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    let theirs: Vec<&[u8]> = lines.iter().copied().filter(|line| !is_our_line(place, line)).collect();
    let were_last = lines.last().is_some_and(|line| is_our_line(place, line));
    (theirs.len() < lines.len()).then(|| {
        let mut text = theirs.concat();
        if no_end && were_last && text.ends_with(b"\n") {
            text.pop();
        }
        text
    })
}

fn take_lines(place: &Place, record: &Record) -> Result<bool, Trouble> {
    let root = home_of("root")?.unwrap_or_else(|| PathBuf::from("/root"));
    let (folder, keys) = (root.join(FOLDER), root.join(FOLDER).join(FILE));
    let rest = read_keys(&keys)?.and_then(|text| without_our_lines(place, &text, record.no_end));
    let had = rest.is_some();
    match rest {
        Some(rest) if rest.is_empty() && record.file => remove(&keys)?,
        Some(rest) => write_keys(&keys, &rest)?,
        None => {}
    }
    if record.folder {
        // Somebody else's files in it keep it.
        let _ = fs::remove_dir(&folder);
    }
    Ok(had)
}

fn read_keys(path: &Path) -> Result<Option<Vec<u8>>, Trouble> {
    let what = || format!("reading {}", path.display());
    let meta = match fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        meta => meta.map_err(Trouble::file(what()))?,
    };
    if !meta.is_file() || meta.len() > KEYS_MAX {
        return Err(Trouble::Odd(format!("{} is no file of keys", path.display())));
    }
    fs::read(path).map(Some).map_err(Trouble::file(what()))
}

/// Replaced whole, so that no login finds half of it, and with the owner and the mode of the one that was there.
fn write_keys(path: &Path, text: &[u8]) -> Result<(), Trouble> {
    // People keep such files elsewhere and link to them.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&path).ok();
    let written = holdfast_durable::replace(&path, text, Mode::Private).and_then(|()| match before {
        None => Ok(()),
        Some(before) => {
            std::os::unix::fs::chown(&path, Some(before.uid()), Some(before.gid()))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(before.mode() & 0o7777))
        }
    });
    written.map_err(Trouble::file(format!("writing {}", path.display())))
}

// --- the user

/// Beside the doorman's state, and root's: whoever has the key that looks cannot give himself another.
fn observer_home() -> PathBuf {
    PathBuf::from("/var/lib").join(OBSERVER)
}

fn home_of(user: &str) -> Result<Option<PathBuf>, Trouble> {
    let (text, said, ok, code) = run_whatever("getent", &["passwd", user], Vec::new(), USER_WITHIN)?;
    match (ok, code.as_str()) {
        (true, _) => Ok(text.trim_end().split(':').nth(5).map(PathBuf::from)),
        // Nobody of that name.
        (false, "exit status: 2") => Ok(None),
        _ => Err(Trouble::Failed { program: "getent", code, said }),
    }
}

fn make_observer(line: &str) -> Result<(), Trouble> {
    let home = observer_home();
    let home_text = home.display().to_string();
    // A star is no password and no lock: an sshd without PAM turns away who is locked.
    let mut args = vec![
        "--system",
        "--no-create-home",
        "--home-dir",
        &home_text,
        "--shell",
        "/bin/sh",
        "--password",
        "*",
    ];
    let reads_journal = run("getent", &["group", "systemd-journal"], USER_WITHIN).is_ok();
    if reads_journal {
        args.extend(["--groups", "systemd-journal"]);
    }
    args.push(OBSERVER);
    run("useradd", &args, USER_WITHIN)?;
    let made = (|| {
        let folder = home.join(FOLDER);
        fs::create_dir(&home)?;
        fs::create_dir(&folder)?;
        for path in [&home, &folder] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        holdfast_durable::create(&folder.join(FILE), format!("{line}\n").as_bytes(), Mode::Readable)
    })();
    made.map_err(Trouble::file(format!("making {}", home.display())))
}

fn remove_observer() -> Result<bool, Trouble> {
    let was_there = home_of(OBSERVER)?.is_some();
    if was_there {
        // Sessions of his, and the manager that outlives them.
        let _ = run("loginctl", &["terminate-user", OBSERVER], USER_WITHIN);
        let until = Instant::now() + GONE_WITHIN;
        loop {
            match run("userdel", &[OBSERVER], USER_WITHIN) {
                Ok(_) => break,
                Err(e) if Instant::now() >= until => return Err(e),
                Err(_) => std::thread::sleep(LOOK_EVERY),
            }
        }
    }
    remove_folder(&observer_home()).map(|had| had || was_there)
}

// --- files

fn remove_settings(place: &Place) -> Result<bool, Trouble> {
    let had = place.settings.exists();
    remove(&place.settings)?;
    if let Some(folder) = place.settings.parent() {
        remove(&folder.join("reserve"))?;
        // Where a controller of its own is on this machine too, it has files there.
        let _ = fs::remove_dir(folder);
    }
    Ok(had)
}

fn remove_state(place: &Place) -> Result<bool, Trouble> {
    let had = place.state.exists();
    for (path, name) in crate::ours::entries(&place.state)? {
        if name != RECORD {
            if path.is_dir() { remove_folder(&path).map(drop)? } else { remove(&path)? }
        }
    }
    remove_folder(&place.state)?;
    let _ = fs::remove_dir_all(&place.passing);
    Ok(had)
}

fn remove_folder(path: &Path) -> Result<bool, Trouble> {
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Trouble::File { what: format!("removing {}", path.display()), source: e }),
    }
}

/// The last of all: who is cut off before can still be called.
fn remove_program(place: &Place) -> Result<bool, Trouble> {
    let had = place.program.exists();
    remove(&place.program)?;
    if let Some(folder) = place.program.parent() {
        let _ = fs::remove_dir(folder);
    }
    Ok(had)
}

// --- the record

const RECORD: &str = "arrival.json";

fn write_record(place: &Place, record: &Record) -> Result<(), Trouble> {
    let what = || format!("writing {}", place.state.display());
    fs::create_dir(&place.state)
        .and_then(|()| fs::set_permissions(&place.state, fs::Permissions::from_mode(0o755)))
        .map_err(Trouble::file(what()))?;
    let text = serde_json::to_vec(record).map_err(|e| Trouble::Odd(e.to_string()))?;
    holdfast_durable::create(&place.state.join(RECORD), &text, Mode::Readable).map_err(Trouble::file(what()))
}

fn read_record(place: &Place) -> Option<Record> {
    serde_json::from_slice(&fs::read(place.state.join(RECORD)).ok()?).ok()
}

/// One at a time: two that come and go at once would take each other's record away.
fn alone(place: &Place) -> Result<File, Trouble> {
    let what = || format!("locking {}", place.program.display());
    let file = File::open(&place.program).map_err(Trouble::file(what()))?;
    match holdfast_durable::lock_within(&file, LOCK_WITHIN).map_err(Trouble::file(what()))? {
        true => Ok(file),
        false => Err(Trouble::Odd("somebody else is coming or leaving here".to_owned())),
    }
}

/// Where files carry labels, new ones get those of their place. Where none do, there is no such program.
fn relabel(paths: &[&Path]) {
    for path in paths {
        if let Some(path) = path.to_str() {
            let _ = run_whatever("restorecon", &["-R", path], Vec::new(), USER_WITHIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_run_this_program_are_taken_and_the_rest_stays_byte_by_byte() {
        let place = Place::default();
        let ours = "command=\"/usr/local/lib/holdfast/holdfast-doorman act\",restrict ssh-ed25519 AAAA holdfast-act\n";
        let theirs =
            "# mine\r\nssh-ed25519 AAAA ana@desk\ncommand=\"/usr/bin/backup\" ssh-rsa BBBB holdfast-act\n";
        let without = |text: &str, no_end| {
            without_our_lines(&place, text.as_bytes(), no_end).map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(without(theirs, false), None);
        assert_eq!(without(&format!("{theirs}{ours}"), false).unwrap(), theirs);
        assert_eq!(without(&format!("{ours}{theirs}"), false).unwrap(), theirs);
        assert_eq!(without(ours, false).unwrap(), "");
        // The last line had no end before ours came.
        assert_eq!(without(&format!("{theirs}{ours}"), true).unwrap(), theirs.trim_end_matches('\n'));
        // Somebody has added a line since.
        assert_eq!(without(&format!("a\n{ours}b\n"), true).unwrap(), "a\nb\n");
    }
}
