//! Who is in the guard's charge: a target is put into its settings with its key and its pinned host key, or taken out again.
//!
//! Whoever asks hands over one document and gets one answer. What could not be done whole is undone: a target whose ways back do
//! not all work is not guarded by half. Where root asks, the files are root's and for the guard's group to read, so that nobody who plans can
//! change what is undone; elsewhere they are the user's own, as ssh demands of a key.
//!
//! What holds:
//! - settings that would not guard are never put in place of those that do;
//! - nothing that is asked for runs a program: a provider is named by people, in the file;
//! - taken out again, a file that was there before has every byte it had, unless somebody has written it since.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_durable::Mode;
use holdfast_lifeline::TargetName;
use holdfast_probe::Check;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::heart::Heart;
use crate::rehearsal::Way;
use crate::settings::{Route, Settings};

/// Where a system install has them.
pub const SETTINGS: &str = "/etc/holdfast-tripwire/tripwire.json";
const SYSTEM: [(&str, &str); 3] = [
    ("windows", "/var/lib/holdfast-windows"),
    ("state", "/var/lib/holdfast-tripwire"),
    ("run", "/run/holdfast-tripwire"),
];
const USER: &str = "holdfast-tripwire";
const SERVICE: &str = "holdfast-tripwire.service";

/// What is asked is a key and some addresses.
pub const ASK_MAX: u64 = 256 << 10;
const KEY_BYTES_MAX: usize = 16 << 10;
const KEY_BEGINS: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
const LOCK_WITHIN: Duration = Duration::from_secs(10);
/// All ways back, one after the other, each within its own limit.
const REHEARSE_WITHIN: Duration = Duration::from_secs(90);
const TRIES: u32 = 3;
const BETWEEN_TRIES: Duration = Duration::from_secs(5);
/// Its unit has a minute to start.
const SERVICE_WITHIN: Duration = Duration::from_secs(75);
const LOOK_UP_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    Take(Box<Take>),
    Release { name: TargetName },
}

/// A target to guard.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Take {
    pub name: TargetName,
    pub first: Route,
    pub second: Option<Route>,
    pub probes: Vec<Check>,
    pub references: Vec<Check>,
    /// The private key of the role that undoes.
    pub key: String,
    /// The target's own key, under its name.
    pub known_hosts: String,
    /// Where the guard works, if it is not that of a system install.
    pub places: Option<Places>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Places {
    pub windows: PathBuf,
    pub state: PathBuf,
    pub run: PathBuf,
}

/// Without the key.
impl std::fmt::Debug for Take {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Take").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub done: bool,
    /// Why not.
    pub why: Option<String>,
    pub ways: Vec<Way>,
    /// What the guard's service does now, where it is one.
    pub service: Option<String>,
}

/// Does what is asked to the settings at this path.
pub fn carry_out(request: &Request, settings: &Path) -> Answer {
    let desk = Desk::at(settings);
    let done = match request {
        Request::Take(take) => desk.take(take),
        Request::Release { name } => desk.release(name),
    };
    done.unwrap_or_else(|why| Answer { why: Some(why), ..Answer::default() })
}

struct Desk {
    settings: PathBuf,
    is_system: bool,
}

impl Desk {
    fn at(settings: &Path) -> Desk {
        Desk { settings: settings.to_owned(), is_system: settings == Path::new(SETTINGS) }
    }

    /// The folder of all that the guard is told.
    fn home(&self) -> PathBuf {
        self.settings.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned)
    }

    fn folder(&self, name: &TargetName) -> PathBuf {
        self.home().join(name.as_str())
    }

    /// One at a time.
    fn alone(&self) -> Result<File, String> {
        let home = self.home();
        holdfast_durable::create_dir(&home).map_err(said)?;
        let file = File::open(&home).map_err(while_doing("opening", &home))?;
        match holdfast_durable::lock_within(&file, LOCK_WITHIN) {
            Ok(true) => Ok(file),
            Ok(false) => Err("somebody else is changing what the guard is told".to_owned()),
            Err(e) => Err(said(e)),
        }
    }

    // --- taking

    fn take(&self, take: &Take) -> Result<Answer, String> {
        is_proper(take)?;
        let _alone = self.alone()?;
        let before = read(&self.settings)?;
        let folder = self.folder(&take.name);
        if folder.exists() {
            return Err(format!("{} is there already", folder.display()));
        }
        let text = self.with(before.as_deref(), take)?;
        let put = self.put(take, before.as_deref(), &text);
        let answer = put.and_then(|()| self.rehearsed(&take.name));
        match answer {
            Ok(answer) if answer.done => Ok(Answer { service: self.service(), ..answer }),
            // Half of it would be worse than none.
            Ok(answer) => self.taken_out(&take.name).map(|()| answer),
            Err(why) => match self.taken_out(&take.name) {
                Ok(()) => Err(why),
                Err(also) => Err(format!("{why}; and it could not be taken out again: {also}")),
            },
        }
    }

    /// The settings with the target in them, as they will be written; they guard.
    fn with(&self, before: Option<&str>, take: &Take) -> Result<String, String> {
        let mut value = match before {
            Some(text) => serde_json::from_str(text).map_err(|e| self.wrong(&e))?,
            None => self.fresh(take)?,
        };
        let folder = self.folder(&take.name);
        let target = json!({
            "name": take.name, "first": take.first, "second": take.second,
            "key": folder.join("rescue"), "known_hosts": folder.join("known_hosts"),
            "probes": take.probes, "references": take.references,
        });
        let targets = value.get_mut("targets").and_then(Value::as_array_mut);
        targets.ok_or_else(|| self.wrong(&"it has no list `targets`"))?.push(target);
        let text = rendered(&value)?;
        Settings::of(text.as_bytes()).map_err(|why| self.wrong(&why))?;
        Ok(text)
    }

    fn fresh(&self, take: &Take) -> Result<Value, String> {
        if self.is_system {
            let mut value = json!({"targets": []});
            for (key, path) in SYSTEM {
                value[key] = path.into();
            }
            return Ok(value);
        }
        let places = take.places.as_ref().ok_or("where the guard is to work was not said")?;
        let Places { windows, state, run } = places;
        Ok(json!({"windows": windows, "state": state, "run": run, "targets": []}))
    }

    fn put(&self, take: &Take, before: Option<&str>, text: &str) -> Result<(), String> {
        let folder = self.folder(&take.name);
        holdfast_durable::create_dir(&folder).map_err(said)?;
        self.hand_over(&folder, 0o750, 0o700)?;
        if let Some(before) = before {
            self.write(&folder.join(BEFORE), before)?;
        }
        self.write(&folder.join("known_hosts"), &take.known_hosts)?;
        self.write(&folder.join("rescue"), &take.key)?;
        self.write(&self.settings, text)
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        holdfast_durable::replace(path, text.as_bytes(), Mode::Private).map_err(said)?;
        self.hand_over(path, 0o640, 0o600)
    }

    /// What is root's in a system install is for the guard's group to read; anything else is its owner's alone.
    fn hand_over(&self, path: &Path, shared: u32, own: u32) -> Result<(), String> {
        let doing = while_doing("handing over", path);
        let group =
            if self.is_system { Some(std::fs::metadata(self.home()).map_err(said)?.gid()) } else { None };
        let done = match group {
            Some(group) => chown(path, None, Some(group))
                .and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(shared))),
            None => std::fs::set_permissions(path, Permissions::from_mode(own)),
        };
        done.map_err(doing)
    }

    /// Every way back. In a system install the packet filter lets the guard out to what its settings name, some seconds after they were
    /// written: until then what fails is tried again.
    fn rehearsed(&self, name: &TargetName) -> Result<Answer, String> {
        let tries = if self.is_system { TRIES } else { 1 };
        let mut answer = self.rehearsed_once(name)?;
        for _ in 1..tries {
            if answer.done {
                break;
            }
            std::thread::sleep(BETWEEN_TRIES);
            answer = self.rehearsed_once(name)?;
        }
        Ok(answer)
    }

    /// As the guard itself would: as its own user, whose key it is.
    fn rehearsed_once(&self, name: &TargetName) -> Result<Answer, String> {
        let program = std::env::current_exe().map_err(said)?;
        let mut command = Command::new(program);
        command.arg("rehearse").arg(&self.settings).arg(name.as_str());
        if self.is_system && rustix::process::geteuid().is_root() {
            let (user, group) = guards_user()?;
            command.uid(user).gid(group).current_dir("/");
        }
        let out = bounded(command, REHEARSE_WITHIN)?;
        let ways: Vec<Way> =
            serde_json::from_str(out.trim()).map_err(|_| "the ways back could not be tried".to_owned())?;
        let failing: Vec<String> = ways.iter().filter_map(Way::complaint).collect();
        let why = (!failing.is_empty()).then(|| failing.join("; "));
        Ok(Answer { done: why.is_none(), why, ways, service: None })
    }

    // --- releasing

    fn release(&self, name: &TargetName) -> Result<Answer, String> {
        let _alone = self.alone()?;
        self.is_idle(name)?;
        self.taken_out(name)?;
        Ok(Answer { done: true, service: self.service(), ..Answer::default() })
    }

    /// A guard that is bringing a target back is not sent away.
    fn is_idle(&self, name: &TargetName) -> Result<(), String> {
        let run = read(&self.settings)?.and_then(|text| Settings::of(text.as_bytes()).ok()).map(|it| it.run);
        let heart = run.and_then(|run| Heart::read(&run, name)).filter(|heart| heart.age().is_some());
        match heart {
            Some(heart) if heart.undoing => Err(format!(
                "the guard is bringing {name} back: wait for it, or take it over with `holdfast-tripwire acknowledge {name}`"
            )),
            _ => Ok(()),
        }
    }

    /// May be said again until nothing is left.
    fn taken_out(&self, name: &TargetName) -> Result<(), String> {
        let folder = self.folder(name);
        let text = read(&self.settings)?;
        let places = text.as_deref().and_then(|text| Settings::of(text.as_bytes()).ok());
        if let Some(text) = text {
            self.write_without(&text, name, &folder)?;
        }
        for file in ["rescue", "known_hosts", BEFORE] {
            holdfast_durable::remove(&folder.join(file)).map_err(said)?;
        }
        let gone = |dir: &Path| match std::fs::remove_dir(dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(while_doing("removing", dir)(e)),
            _ => Ok(()),
        };
        gone(&folder)?;
        for path in places.iter().flat_map(|settings| settings.files_of(name)) {
            holdfast_durable::remove(&path).map_err(said)?;
        }
        if !self.is_system {
            // Made for the first one, and gone with the last; what people put there keeps it.
            let _not_empty = std::fs::remove_dir(self.home());
        }
        Ok(())
    }

    fn write_without(&self, text: &str, name: &TargetName, folder: &Path) -> Result<(), String> {
        let mut value: Value = serde_json::from_str(text).map_err(|e| self.wrong(&e))?;
        let Some(targets) = value.get_mut("targets").and_then(Value::as_array_mut) else {
            return Err(self.wrong(&"it has no list `targets`"));
        };
        let is_it = |target: &Value| target["name"] == name.as_str();
        if !targets.iter().any(is_it) {
            return Ok(());
        }
        targets.retain(|target| !is_it(target));
        // Without anybody to guard it says nothing but where the guard works.
        let says_nothing =
            targets.is_empty() && value.as_object().is_some_and(|it| it.len() == SYSTEM.len() + 1);
        let before = read(&folder.join(BEFORE))?;
        match before {
            // As it was, byte by byte, if nobody has written it since.
            Some(before) if serde_json::from_str::<Value>(&before).is_ok_and(|it| it == value) => {
                self.write(&self.settings, &before)
            }
            _ if says_nothing => holdfast_durable::remove(&self.settings).map_err(said),
            _ => self.write(&self.settings, &rendered(&value)?),
        }
    }

    /// What the guard is told it reads when it starts.
    fn service(&self) -> Option<String> {
        if !self.is_system
            || !rustix::process::geteuid().is_root()
            || !Path::new("/run/systemd/system").is_dir()
        {
            return None;
        }
        let (word, done) = match self.settings.exists() {
            true => ("restart", "was started with it"),
            false => ("stop", "was stopped: it has nobody to guard"),
        };
        let asked = holdfast_subprocess::command("systemctl").map_err(said).and_then(|mut command| {
            command.args(["--no-ask-password", word, SERVICE]);
            bounded(command, SERVICE_WITHIN)
        });
        Some(match asked {
            Ok(_) => format!("{SERVICE} {done}"),
            Err(why) => format!("{SERVICE} did not {word}: {why}"),
        })
    }

    fn wrong(&self, why: &dyn std::fmt::Display) -> String {
        format!("{}: {why}", self.settings.display())
    }
}

/// The text of the settings as it was before a target came.
const BEFORE: &str = "before.json";

fn is_proper(take: &Take) -> Result<(), String> {
    if !take.key.starts_with(KEY_BEGINS) || take.key.len() > KEY_BYTES_MAX {
        return Err("the key is no private key of ssh".to_owned());
    }
    let mut lines = take.known_hosts.lines();
    let pins =
        |line: &str| line.split(' ').next() == Some(take.name.as_str()) && line.split(' ').count() == 3;
    if take.known_hosts.is_empty() || take.known_hosts.len() > KEY_BYTES_MAX || !lines.all(pins) {
        return Err(format!("the host key is not pinned under the name {}", take.name));
    }
    let runs = |check: &Check| matches!(check, Check::Tailscale { program: Some(_), .. });
    if take.probes.iter().chain(&take.references).any(runs) {
        return Err("a look that runs a program is for people to write".to_owned());
    }
    Ok(())
}

fn rendered(value: &Value) -> Result<String, String> {
    serde_json::to_string_pretty(value).map(|text| format!("{text}\n")).map_err(said)
}

/// Nothing where there is none.
fn read(path: &Path) -> Result<Option<String>, String> {
    match std::fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(meta) if meta.len() > SETTINGS_BYTES_MAX => return Err(format!("{} is too long", path.display())),
        _ => {}
    }
    std::fs::read_to_string(path).map(Some).map_err(while_doing("reading", path))
}

/// The user and the group that the guard runs as.
fn guards_user() -> Result<(u32, u32), String> {
    let mut command = holdfast_subprocess::command("getent").map_err(said)?;
    command.args(["passwd", USER]);
    let line = bounded(command, LOOK_UP_WITHIN).map_err(|_| format!("there is no user {USER}"))?;
    let number = |at: usize| line.split(':').nth(at).and_then(|it| it.parse().ok());
    number(2).zip(number(3)).ok_or_else(|| format!("there is no user {USER}"))
}

/// Runs a program to its end; what it printed, or why not. Into files: nobody has to read while it runs.
fn bounded(mut command: Command, within: Duration) -> Result<String, String> {
    let (out, err) = (tempfile::tempfile().map_err(said)?, tempfile::tempfile().map_err(said)?);
    command.stdin(Stdio::null());
    command.stdout(out.try_clone().map_err(said)?).stderr(err.try_clone().map_err(said)?);
    let mut child = command.spawn().map_err(said)?;
    let until = Instant::now() + within;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(said)? {
            break status;
        }
        if Instant::now() >= until {
            let _already_gone = child.kill();
            let _reaped = child.wait();
            return Err(format!("it took longer than {} s", within.as_secs()));
        }
        std::thread::sleep(LOOK_EVERY);
    };
    match status.success() {
        true => Ok(contents(out)),
        false => Err(holdfast_line::shown(&contents(err))),
    }
}

fn contents(mut file: File) -> String {
    let mut bytes = Vec::new();
    let _what_there_is = file.rewind().and_then(|()| file.take(ASK_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn said(e: impl std::fmt::Display) -> String {
    e.to_string()
}

fn while_doing(deed: &str, path: &Path) -> impl FnOnce(io::Error) -> String + use<> {
    let doing = format!("{deed} {}", path.display());
    move |e| format!("{doing}: {e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        folder: tempfile::TempDir,
    }

    const REFERENCE: &str = r#"[{"tcp":{"address":"192.0.2.1:53"}}]"#;

    impl Scene {
        fn new() -> Scene {
            Scene { folder: tempfile::tempdir().unwrap() }
        }

        fn settings(&self) -> PathBuf {
            self.folder.path().join("guard/tripwire.json")
        }

        fn desk(&self) -> Desk {
            Desk::at(&self.settings())
        }

        fn ask(&self, name: &str) -> Take {
            let place = |name: &str| self.folder.path().join(name);
            Take {
                name: name.parse().unwrap(),
                first: Route { address: "box-1.lan".to_owned(), port: 22, user: "root".to_owned() },
                second: None,
                probes: Vec::new(),
                references: serde_json::from_str(REFERENCE).unwrap(),
                key: format!("{KEY_BEGINS}not one\n"),
                known_hosts: format!("{name} ssh-ed25519 AAAA\n"),
                places: Some(Places { windows: place("windows"), state: place("state"), run: place("run") }),
            }
        }

        /// Without the rehearsal, which is of real hosts.
        fn put(&self, take: &Take) {
            let desk = self.desk();
            holdfast_durable::create_dir(&desk.home()).unwrap();
            let before = read(&self.settings()).unwrap();
            let text = desk.with(before.as_deref(), take).unwrap();
            desk.put(take, before.as_deref(), &text).unwrap();
        }

        fn names(&self) -> Vec<String> {
            let settings = Settings::read(&self.settings()).unwrap();
            settings.targets.iter().map(|target| target.name.to_string()).collect()
        }
    }

    #[test]
    fn a_target_is_put_in_and_taken_out_and_the_last_takes_all_with_it() {
        let scene = Scene::new();
        scene.put(&scene.ask("box-1"));
        scene.put(&scene.ask("box-2"));
        assert_eq!(scene.names(), ["box-1", "box-2"]);
        let mode = |path: &str| {
            std::fs::metadata(scene.folder.path().join("guard").join(path)).unwrap().mode() & 0o777
        };
        assert_eq!((mode("box-1"), mode("box-1/rescue"), mode("tripwire.json")), (0o700, 0o600, 0o600));
        // In whatever order.
        scene.desk().taken_out(&"box-1".parse().unwrap()).unwrap();
        assert_eq!(scene.names(), ["box-2"]);
        scene.desk().taken_out(&"box-2".parse().unwrap()).unwrap();
        scene.desk().taken_out(&"box-2".parse().unwrap()).unwrap();
        assert!(!scene.folder.path().join("guard").exists());
    }

    #[test]
    fn settings_that_people_wrote_have_every_byte_again() {
        let scene = Scene::new();
        let theirs = r#"{"run":"/r",  "windows":"/w","state":"/s","targets":[{"name":"own","first":{"address":"own.lan"},
            "key":"/k","known_hosts":"/h","references":[{"tcp":{"address":"192.0.2.1:53"}}]}]}"#;
        std::fs::create_dir(scene.folder.path().join("guard")).unwrap();
        std::fs::write(scene.settings(), theirs).unwrap();
        scene.put(&scene.ask("box-1"));
        assert_eq!(scene.names(), ["own", "box-1"]);
        assert_eq!(Settings::read(&scene.settings()).unwrap().run, Path::new("/r"));
        scene.desk().taken_out(&"box-1".parse().unwrap()).unwrap();
        assert_eq!(std::fs::read_to_string(scene.settings()).unwrap(), theirs);
        // Who has written it since keeps that.
        scene.put(&scene.ask("box-1"));
        let text = std::fs::read_to_string(scene.settings()).unwrap().replace("/r\"", "/other\"");
        std::fs::write(scene.settings(), text).unwrap();
        scene.desk().taken_out(&"box-1".parse().unwrap()).unwrap();
        assert_eq!(Settings::read(&scene.settings()).unwrap().run, Path::new("/other"));
        assert_eq!(scene.names(), ["own"]);
    }

    #[test]
    fn what_would_not_guard_or_would_run_something_is_refused_and_nothing_is_left() {
        let scene = Scene::new();
        let refused = |change: fn(&mut Take), said: &str| {
            let mut take = scene.ask("box-1");
            change(&mut take);
            let answer = carry_out(&Request::Take(Box::new(take)), &scene.settings());
            let why = answer.why.unwrap_or_default();
            assert!(!answer.done && why.contains(said), "{said}: {why}");
            assert!(!scene.folder.path().join("guard/box-1").exists());
            assert!(!scene.settings().exists());
        };
        refused(|it| it.key = "ssh-ed25519 AAAA".to_owned(), "no private key");
        refused(
            |it| it.known_hosts = "box-2 ssh-ed25519 AAAA\n".to_owned(),
            "not pinned under the name box-1",
        );
        refused(|it| it.known_hosts = "box-1 ssh-ed25519 AAAA\nbox-1 x\n".to_owned(), "not pinned");
        refused(|it| it.known_hosts.clear(), "not pinned");
        refused(|it| it.references.clear(), "whose network is down");
        refused(|it| it.first.address = "-oProxyCommand=x".to_owned(), "an address is a host's name");
        refused(|it| it.places = None, "was not said");
        refused(
            |it| it.probes.push(Check::Tailscale { id: "n1".to_owned(), program: Some("/bin/sh".into()) }),
            "runs a program",
        );
        // One that is bringing a target back stays.
        scene.put(&scene.ask("box-1"));
        let heart = Heart {
            boot: crate::clock::this_boot(),
            beat_ms: crate::clock::since_boot_ms(),
            watching: None,
            undoing: true,
            alone: false,
            parts: None,
            rehearsed: Default::default(),
            failing: Default::default(),
        };
        let (run, name): (_, TargetName) = (scene.folder.path().join("run"), "box-1".parse().unwrap());
        std::fs::create_dir(&run).unwrap();
        heart.write(&run, &name).unwrap();
        let stays = carry_out(&Request::Release { name: name.clone() }, &scene.settings());
        assert!(stays.why.unwrap().contains("is bringing box-1 back"));
        Heart { undoing: false, ..heart }.write(&run, &name).unwrap();
        assert!(carry_out(&Request::Release { name: name.clone() }, &scene.settings()).done);
        assert_eq!(Heart::read(&run, &name), None);
        assert!(!format!("{:?}", scene.ask("box-1")).contains("PRIVATE"));
    }
}
