//! The checks. Each looks at one thing, says what it looked at, changes nothing, and goes on past what it cannot
//! read.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use holdfast_config::{Config, Loaded};
use holdfast_control::{PartLine, Status};
use holdfast_keys::{Role, file};
use holdfast_types::{Clock, Problem};

use super::{Finding, State};
use crate::disk::{Budget, Level, measure};
use crate::house::{House, signer};
use crate::look::{bytes, count, number, time};
use crate::problem::{Failure, Result};
use crate::settings::{self, Overlay};

/// One check.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) purpose: &'static str,
    /// The part of the product it speaks for.
    pub(crate) owner: &'static str,
    /// What it does not do.
    pub(crate) not: &'static str,
    pub(crate) look: fn(&Scene) -> Finding,
}

/// What the checks look at.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) house: House,
    pub(crate) overlay: Overlay,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) asked: Asked,
}

/// What the daemon said when it was asked how it is.
#[derive(Debug)]
pub(crate) enum Asked {
    /// There is none.
    Nobody,
    Answered(Box<Status>),
    Trouble(Problem),
    /// Not asked yet: it is, once, when the first check wants to know.
    Later(Mutex<Option<Arc<Asked>>>),
}

pub(crate) static CHECKS: [Check; 10] = [
    Check {
        name: "home",
        purpose: "files and keys belong to the owner alone",
        owner: "holdfast",
        not: "does not repair anything",
        look: home,
    },
    Check {
        name: "configuration",
        purpose: "config.yaml can be read and is right",
        owner: "config",
        not: "does not apply it",
        look: configuration,
    },
    Check {
        name: "journal",
        purpose: "the journal opens, is signed by a trusted key, and is not too large",
        owner: "journal",
        not: "does not read all of it; `holdfast audit verify` does",
        look: journal,
    },
    Check {
        name: "daemon",
        purpose: "the daemon runs and all its parts are alive",
        owner: "supervisor",
        not: "does not start or restart anything",
        look: daemon,
    },
    Check {
        name: "index",
        purpose: "projections follow the journal",
        owner: "store",
        not: "does not compare them with the journal; `holdfast rebuild` makes them anew",
        look: index,
    },
    Check {
        name: "backups",
        purpose: "databases that are their own truth were copied lately",
        owner: "store",
        not: "does not restore a copy",
        look: backups,
    },
    Check {
        name: "disk",
        purpose: "the state fits its budget and the file system has room",
        owner: "holdfast",
        not: "does not remove anything",
        look: disk,
    },
    Check {
        name: "secrets",
        purpose: "every secret the configuration names can be found",
        owner: "credentials",
        not: "does not show or use them",
        look: secrets,
    },
    Check {
        name: "notices",
        purpose: "what people should know reaches them",
        owner: "notice",
        not: "does not send anything; `holdfast notice test` does",
        look: notices,
    },
    Check {
        name: "egress",
        purpose: "the daemon and the tripwire reach only what is declared",
        owner: "egress",
        not: "does not try to reach anything, and does not change the packet filter",
        look: egress,
    },
];

impl Scene {
    pub(crate) fn new(house: &House, overlay: &Overlay, clock: Arc<dyn Clock>, asked: Asked) -> Scene {
        Scene { house: house.clone(), overlay: overlay.clone(), clock, asked }
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Scene {
        let facts = crate::places::Facts { flag: Some("/nowhere".into()), ..Default::default() };
        let places = crate::places::Places::find(&facts).unwrap();
        let clock = Arc::new(holdfast_journal::SystemClock::new());
        Scene::new(&House { places }, &Overlay::default(), clock, Asked::Nobody)
    }

    fn config(&self) -> Result<Loaded, holdfast_config::Error> {
        settings::load(&self.house.places, &self.overlay)
    }

    /// The settings, or the defaults where the file is wrong: another check says so.
    fn config_or_default(&self) -> Config {
        self.config().map(|loaded| loaded.config).unwrap_or_default()
    }

    /// The daemon's own word.
    fn status<T>(&self, use_it: impl FnOnce(Result<&Status, Option<&Problem>>) -> T) -> T {
        match &self.asked {
            Asked::Nobody => use_it(Err(None)),
            Asked::Answered(status) => use_it(Ok(status)),
            Asked::Trouble(problem) => use_it(Err(Some(problem))),
            Asked::Later(answer) => {
                let asked = {
                    let mut answer = answer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    answer.get_or_insert_with(|| Arc::new(ask(&self.house))).clone()
                };
                match &*asked {
                    Asked::Answered(status) => use_it(Ok(status)),
                    Asked::Trouble(problem) => use_it(Err(Some(problem))),
                    Asked::Nobody | Asked::Later(_) => use_it(Err(None)),
                }
            }
        }
    }
}

/// A daemon that says nothing for so long does not answer. Well within the time of a round, so that the checks that
/// ask it can still say so.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(8);

fn ask(house: &House) -> Asked {
    use holdfast_control::{Answer, Request, connect_within};
    match connect_within(&house.places.socket(), SILENCE) {
        Ok(None) => Asked::Nobody,
        Err(problem) => Asked::Trouble(problem),
        Ok(Some(client)) => match client.ask(Request::Status {}, &mut |_| {}) {
            Ok(Answer::Status(status)) => Asked::Answered(status),
            Ok(_) => Asked::Nobody,
            Err(problem) => Asked::Trouble(problem),
        },
    }
}

/// Builds a finding.
struct Found {
    check: &'static str,
    looked_at: String,
    figures: Vec<(&'static str, f64)>,
}

impl Found {
    fn at(check: &'static str, looked_at: impl Into<String>) -> Found {
        Found { check, looked_at: looked_at.into(), figures: Vec::new() }
    }

    fn figure(mut self, name: &'static str, value: f64) -> Found {
        self.figures.push((name, value));
        self
    }

    fn healthy(self, said: impl Into<String>) -> Finding {
        self.with(State::Healthy, said.into(), None)
    }

    fn not_looked(self, said: impl Into<String>) -> Finding {
        self.with(State::NotLooked, said.into(), None)
    }

    fn state(self, state: State, said: impl Into<String>, hint: impl Into<String>) -> Finding {
        self.with(state, said.into(), Some(hint.into()))
    }

    /// Damage is a failure; what could not be read is unknown.
    fn problem(self, problem: &Problem) -> Finding {
        use holdfast_types::Exit;
        let state = match problem.exit {
            Exit::CouldNotCheck | Exit::Busy => State::Unknown,
            Exit::TimedOut => State::TimedOut,
            _ => State::Failed,
        };
        self.state(state, format!("{} {}", problem.code, problem.what), problem.hint.clone())
    }

    fn with(self, state: State, said: String, hint: Option<String>) -> Finding {
        let Found { check, looked_at, figures } = self;
        Finding { check, state, looked_at, said, hint, figures }
    }
}

fn home(scene: &Scene) -> Finding {
    let places = &scene.house.places;
    let found = Found::at("home", format!("{}, {}", places.etc.display(), places.state.display()));
    let open = |path: &Path| match path.metadata() {
        Ok(about) => about.permissions().mode() & 0o077 != 0,
        Err(_) => false,
    };
    if !places.etc.is_dir() || !places.state.is_dir() {
        return found.state(State::Failed, "there is no home here", "Run `holdfast init`.");
    }
    let private = [places.keys(), places.log_key(), places.vault(), places.state.clone()];
    let exposed: Vec<String> =
        private.iter().filter(|path| open(path)).map(|path| path.display().to_string()).collect();
    if exposed.is_empty() {
        return found.healthy("keys and state are for their owner alone");
    }
    let hint = format!("chmod go-rwx {}", exposed.join(" "));
    found.state(State::Failed, format!("others may read or write {}", exposed.join(", ")), hint)
}

fn configuration(scene: &Scene) -> Finding {
    let path = scene.house.places.config();
    let found = Found::at("configuration", path.display().to_string());
    match scene.config() {
        Ok(_) if !path.exists() => found.healthy("there is no file, so every setting has its default"),
        Ok(loaded) => {
            let set = loaded.rows().iter().filter(|row| row.layer != holdfast_config::Layer::Default).count();
            found.healthy(format!("right; {}", count(set as u64, "key is set", "keys are set")))
        }
        Err(e) => found.problem(&e.problem()),
    }
}

fn journal(scene: &Scene) -> Finding {
    let dir = scene.house.places.journal();
    let found = Found::at("journal", dir.display().to_string());
    match look_at_journal(scene) {
        Ok(seen) => {
            let warn = u64::from(scene.config_or_default().journal.warn_mib) * 1024 * 1024;
            let found =
                found.figure("size_mb", seen.bytes as f64 / 1e6).figure("entries", seen.entries as f64);
            let size = format!("{} entries, {}", number(seen.entries), bytes(seen.bytes));
            match seen {
                Seen { signed_by_us: false, .. } => found.state(
                    State::Failed,
                    "the newest checkpoint is not signed by a key of the trust set",
                    "Run `holdfast audit verify`; somebody may have put another history in its place.",
                ),
                Seen { future: Some(at), .. } => found.state(
                    State::Degraded,
                    format!(
                        "the newest entry was written at {at}, which is still to come: the clock went back"
                    ),
                    "Set the clock; until then nothing becomes due.",
                ),
                Seen { bytes, .. } if bytes >= warn => found.state(
                    State::Degraded,
                    format!("{size}: more than it should grow to"),
                    "Configure journal.archive so that old segments can leave, or raise journal.warn_mib.",
                ),
                _ => found.healthy(size),
            }
        }
        Err(Failure::Problem(problem)) => found.problem(&problem),
        Err(Failure::ReaderLeft) => found.state(State::Unknown, "it could not be looked at", "Try again."),
    }
}

struct Seen {
    entries: u64,
    bytes: u64,
    signed_by_us: bool,
    /// The time of the newest entry, when it lies more than a minute ahead.
    future: Option<holdfast_types::Timestamp>,
}

fn look_at_journal(scene: &Scene) -> Result<Seen> {
    let house = &scene.house;
    let view = house.view(&Default::default())?;
    let signed = view.latest_checkpoint()?;
    let note = holdfast_keys::note::Note::parse(signed.note.as_bytes())?;
    let signed_by_us = signer(&house.trust()?, &signed.checkpoint, &note).is_some();
    file::read_key(&house.places.log_key(), Role::Log)?;
    let entries = view.size()?;
    let newest = entries.checked_sub(1).map(|seq| view.entry(seq)?.parse()).transpose()?;
    let soon = scene.clock.now().plus(std::time::Duration::from_secs(60));
    let usage = measure(&house.places, 0, 0).map_err(|e| crate::house::reading(&house.places.state, e))?;
    let bytes = usage.parts.iter().find(|p| p.part == "journal").map_or(0, |p| p.bytes);
    Ok(Seen { entries, bytes, signed_by_us, future: newest.map(|e| e.at).filter(|at| *at > soon) })
}

/// By what the program that keeps to it last said.
fn egress(scene: &Scene) -> Finding {
    let places = &scene.house.places;
    let run = crate::commands::egress::world(places).run;
    let found = Found::at("egress", run.display().to_string());
    if places.home.is_some() {
        return found.healthy("this is not a system install, so nobody is bound here");
    }
    let status = match holdfast_egress::Status::read(&run) {
        Ok(Some(status)) => status,
        Ok(None) if !std::path::Path::new(TURNED_ON).is_symlink() => {
            return found.healthy(
                "somebody has turned the rules off, or an older release left them so: the users may reach anything; `systemctl enable --now holdfast-egress` keeps them to what is declared",
            );
        }
        Ok(None) => {
            return found.state(
                State::Degraded,
                "nobody keeps to the list since the machine started: the users may reach anything",
                SERVICE,
            );
        }
        Err(e) => return found.state(State::Unknown, format!("its status cannot be read: {e}"), SERVICE),
    };
    rules_kept(found, &status, scene.clock.now())
}

/// There when the service begins at boot.
const TURNED_ON: &str = "/etc/systemd/system/multi-user.target.wants/holdfast-egress.service";
const SERVICE: &str = "See `systemctl status holdfast-egress` and `holdfast egress check`.";

/// What a status comes to. What was refused is no fault of the rules, and somebody should know.
fn rules_kept(found: Found, status: &holdfast_egress::Status, now: holdfast_types::Timestamp) -> Finding {
    let refused: u64 = status.users.iter().map(|user| user.refused_packets).sum();
    let found = found
        .figure("refused_destinations", status.refusals.len() as f64)
        .figure("refused_packets", refused as f64);
    let silent = status.names.iter().filter(|name| name.trouble.is_some()).count();
    if status.is_stale(now) {
        let said = format!(
            "the program that keeps the rules true was last heard of at {}; the rules it gave stay",
            time(status.at)
        );
        found.state(State::Degraded, said, SERVICE)
    } else if !status.in_force {
        found.state(State::Failed, status.trouble.join("; "), SERVICE)
    } else if let Some(trouble) = status.trouble.first() {
        found.state(State::Degraded, trouble.clone(), SERVICE)
    } else if silent > 0 {
        let said =
            format!("the rules are in force; {} cannot be resolved", count(silent as u64, "name", "names"));
        found.state(
            State::Degraded,
            said,
            "See `holdfast egress check` for which; they keep the addresses they had.",
        )
    } else if !status.refusals.is_empty() {
        let refused = count(status.refusals.len() as u64, "destination", "destinations");
        let said = format!(
            "the rules are in force, and {refused} that nobody declared were refused in the last day"
        );
        found.state(
            State::Degraded,
            said,
            "See `holdfast egress refusals`; what is meant goes under `egress.also`.",
        )
    } else {
        let last = status
            .refreshed_at
            .map_or("no name to look up".to_owned(), |at| format!("names looked up at {}", time(at)));
        found.healthy(format!("the rules are in force, nothing was refused in the last day; {last}"))
    }
}

fn daemon(scene: &Scene) -> Finding {
    let found = Found::at("daemon", scene.house.places.socket().display().to_string());
    let held = || scene.house.view(&Default::default()).is_ok_and(|view| view.is_being_written());
    scene.status(|status| match status {
        Err(None) if held() => found.state(
            State::Degraded,
            "nobody answers at the socket, and another process has the journal open",
            "Its number is in the journal's LOCK file; a daemon that hangs is stopped with kill.",
        ),
        Err(None) => found.state(
            State::Degraded,
            "no daemon runs: nothing is watched, indexed or told",
            "Start it: `holdfast up`, or your service manager.",
        ),
        Err(Some(problem)) => {
            found.state(State::Failed, format!("{} {}", problem.code, problem.what), problem.hint.clone())
        }
        Ok(status) => parts(found, status),
    })
}

/// A daemon that is there and does not say: what only it knows is unknown, and that is never shown as good.
fn not_told(found: Found) -> Finding {
    found.state(
        State::Unknown,
        "the daemon, which looks after it, does not say",
        "See what is said of the daemon.",
    )
}

fn parts(found: Found, status: &Status) -> Finding {
    let silent = status.parts.iter().map(|p| p.silent_seconds).fold(0.0, f64::max);
    let found = found.figure("stalled_minutes", (silent / 60.0 * 10.0).round() / 10.0);
    // A part that was stopped was told to: the daemon is going down.
    let is_down = |part: &&PartLine| !matches!(part.state.as_str(), "running" | "stopped");
    let down: Vec<_> = status.parts.iter().filter(is_down).collect();
    let Some(worst) = down.iter().find(|part| part.safety).or(down.first()) else {
        let parts = count(status.parts.len() as u64, "part", "parts");
        let up = status.up_seconds.unwrap_or_default();
        return found.healthy(format!("running for {}, {parts} alive", crate::look::span(up)));
    };
    let state = if worst.safety { State::Failed } else { State::Degraded };
    let why = worst.why.as_deref().unwrap_or("it has not been heard of");
    found.state(
        state,
        format!("the part {} is {}: {why}", worst.name, worst.state),
        "Look at the daemon's log.",
    )
}

fn index(scene: &Scene) -> Finding {
    let path = scene.house.places.index();
    let found = Found::at("index", path.display().to_string());
    scene.status(|status| match status {
        Err(None) => {
            found.not_looked("only a running daemon knows; it is brought up to date when one starts")
        }
        Err(Some(_)) => not_told(found),
        Ok(status) => {
            let behind = status.projections.iter().map(|p| p.behind).max().unwrap_or(0);
            let found = found.figure("behind", behind as f64);
            if let Some(halted) = status.projections.iter().find(|p| p.halted.is_some()) {
                let why = halted.halted.as_deref().unwrap_or_default();
                return found.state(
                    State::Degraded,
                    format!(
                        "the projection {} stands still at entry {}: {why}",
                        halted.name, halted.next_seq
                    ),
                    "Use the newer holdfast that wrote the entry, then `holdfast rebuild`.",
                );
            }
            // A burst is caught up within seconds; this many take longer.
            if behind > 100_000 && status.up_seconds.is_none_or(|up| up > 120.0) {
                let said = format!("{} entries behind", number(behind));
                return found.state(State::Degraded, said, "Wait for it; it is catching up.");
            }
            let projections = count(status.projections.len() as u64, "projection", "projections");
            // A handful is always on its way.
            let said = if behind > 1_000 {
                format!("{} entries behind and catching up", number(behind))
            } else {
                "up to date".to_owned()
            };
            found.healthy(format!("{projections}, {said}"))
        }
    })
}

fn backups(scene: &Scene) -> Finding {
    let dir = scene.house.places.backups();
    let found = Found::at("backups", dir.display().to_string());
    let backup = scene.config_or_default().backup;
    if !backup.enabled {
        return found.state(State::Degraded, "they are switched off", "Set backup.enabled to true.");
    }
    scene.status(|status| {
        let status = match status {
            Ok(status) => status,
            Err(None) => {
                return found.not_looked("only a running daemon knows; `holdfast backup` makes one now");
            }
            Err(Some(_)) => return not_told(found),
        };
        let owed = std::time::Duration::from_secs(u64::from(backup.every_hours) * 2 * 3600);
        let now = scene.clock.now();
        // A new home has had no time to make one.
        let new = status.up_seconds.unwrap_or_default() < 3600.0;
        let late = status
            .databases
            .iter()
            .filter(|d| d.name != "index.db")
            .find(|database| database.last_backup.is_none_or(|last| now.since(last) > owed) && !new);
        match late {
            Some(database) => found.state(
                State::Degraded,
                format!("{} has no copy younger than {} h", database.name, backup.every_hours * 2),
                "Run `holdfast backup` and read what it says.",
            ),
            None => found.healthy("no database waits for a copy"),
        }
    })
}

fn disk(scene: &Scene) -> Finding {
    let places = &scene.house.places;
    let found = Found::at("disk", places.state.display().to_string());
    let config = scene.config_or_default();
    let cap = u64::from(config.journal.cap_mib) * 1024 * 1024;
    let usage = match measure(places, cap, u64::from(config.backup.keep)) {
        Ok(usage) => usage,
        Err(e) => {
            return found.state(State::Unknown, format!("it could not be measured: {e}"), "Check the mount.");
        }
    };
    let budget = Budget::from(&config.disk);
    let level = usage.level(budget);
    let said = format!(
        "{} of {} used, {} free on the file system",
        bytes(usage.used()),
        bytes(budget.bytes),
        bytes(usage.free)
    );
    let found = found.figure("used_mb", usage.used() as f64 / 1e6).figure("free_mb", usage.free as f64 / 1e6);
    let hint = "See `holdfast disk`; free space, raise disk.budget_mib, or configure journal.archive.";
    match level {
        Level::Roomy if usage.incomplete => found.state(
            State::Unknown,
            format!("{said}, as far as could be counted"),
            "Check who may read the state.",
        ),
        Level::Roomy => found.healthy(said),
        Level::Tight => found.state(State::Degraded, format!("{said}: {}", level.consequence()), hint),
        Level::Full => found.state(State::Failed, format!("{said}: {}", level.consequence()), hint),
    }
}

fn secrets(scene: &Scene) -> Finding {
    let config = scene.config_or_default();
    let mut names: Vec<&str> =
        settings::secrets_of_notifications(&config).into_iter().map(|s| s.name()).collect();
    names.sort_unstable();
    names.dedup();
    let sources: Vec<&str> = config.credentials.sources.iter().map(|source| source.word()).collect();
    let found = Found::at("secrets", sources.join(", "));
    if names.is_empty() {
        return found.healthy("the configuration names none");
    }
    // A source that hangs is ended by its own limit, within the round's: it must not outlive the check.
    let round = std::time::Duration::from_secs(u64::from(config.health.timeout_seconds));
    let each = round.mul_f64(0.8) / u32::try_from(names.len()).unwrap_or(1);
    let credentials = match settings::credentials_within(&config.credentials, each) {
        Ok(credentials) => credentials,
        Err(Failure::Problem(problem)) => return found.problem(&problem),
        Err(Failure::ReaderLeft) => {
            return found.state(State::Unknown, "they could not be looked for", "Try again.");
        }
    };
    for name in &names {
        let Ok(name) = name.parse() else { continue };
        if let Err(e) = credentials.find(&name) {
            return found.problem(&e.problem());
        }
    }
    found.healthy(format!("found {}", names.join(", ")))
}

fn notices(scene: &Scene) -> Finding {
    let found = Found::at("notices", scene.house.places.notices().display().to_string());
    let config = scene.config_or_default();
    if !config.notifications.enabled {
        return found.state(State::Degraded, "they are switched off", "Set notifications.enabled to true.");
    }
    scene.status(|status| {
        let notices = match status.map(|status| status.notices.as_ref()) {
            Ok(Some(notices)) => notices,
            Err(None) => {
                return found.not_looked("only a running daemon tells; what is raised meanwhile waits");
            }
            Ok(None) | Err(Some(_)) => return not_told(found),
        };
        let pending: u64 = notices.sinks.iter().map(|s| s.pending).sum();
        let found = found.figure("pending", pending as f64);
        let stuck = notices.sinks.iter().find(|s| s.pending > 0 && s.last_error.is_some());
        match stuck {
            Some(sink) => found.state(
                State::Degraded,
                format!(
                    "{} for {}: {}",
                    count(sink.pending, "notice waits", "notices wait"),
                    sink.sink,
                    sink.last_error.as_deref().unwrap_or_default()
                ),
                "Look at the receiver; delivery goes on by itself when it is back.",
            ),
            None => found.healthy(format!(
                "{}, nothing stuck",
                count(notices.sinks.len() as u64, "channel", "channels")
            )),
        }
    })
}

#[cfg(test)]
mod tests {
    use holdfast_egress::{Known, Protocol, Row, Status, UserStatus};
    use holdfast_types::Timestamp;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000 + seconds * 1_000_000).unwrap()
    }

    fn well() -> Status {
        let user = UserStatus { user: "holdfast".to_owned(), uid: 992, places: 3, refused_packets: 7 };
        Status {
            version: 1,
            at: at(0),
            in_force: true,
            loaded_at: Some(at(-90)),
            refreshed_at: Some(at(-5)),
            restored: 0,
            trouble: Vec::new(),
            users: vec![user],
            names: Vec::new(),
            refusals: Vec::new(),
            refusals_unlisted: 0,
            lent: Vec::new(),
        }
    }

    #[test]
    fn rules_that_are_not_kept_and_what_they_refused_are_told() {
        let refused = Row {
            user: "holdfast".to_owned(),
            protocol: Protocol::Tcp,
            address: "192.0.2.7".parse().unwrap(),
            port: 443,
            name: None,
            packets: 3,
            first: at(-9),
            last: at(-1),
        };
        let silent = Known {
            name: "a.example".to_owned(),
            addresses: Vec::new(),
            trouble: Some("no name server answers".to_owned()),
        };
        let trouble = vec!["the packet filter does not have the rules: nft refused".to_owned()];
        let cases = [
            (well(), State::Healthy, "nothing was refused in the last day; names looked up at"),
            (
                Status { refusals: vec![refused], ..well() },
                State::Degraded,
                "1 destination that nobody declared",
            ),
            (Status { names: vec![silent], ..well() }, State::Degraded, "1 name cannot be resolved"),
            (Status { at: at(-61), ..well() }, State::Degraded, "the rules it gave stay"),
            (Status { trouble: trouble.clone(), ..well() }, State::Degraded, "nft refused"),
            (Status { trouble, in_force: false, ..well() }, State::Failed, "nft refused"),
        ];
        for (status, state, said) in cases {
            let found = rules_kept(Found::at("egress", "/run"), &status, at(0));
            assert_eq!(found.state, state, "{said}");
            assert!(found.said.contains(said), "{}", found.said);
            assert!(found.figures.contains(&("refused_packets", 7.0)));
        }
    }
}
