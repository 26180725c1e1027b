//! Where everything lies, and which files are believed. The configuration decides what its reader's own users may reach, so it is believed only
//! when none of them can have written it: it belongs to root, nobody else can write it, and it is no link to anything.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use holdfast_config::{Config, Layers};
use holdfast_probe::Url;
use holdfast_tripwire::clock::since_boot_ms;
use holdfast_tripwire::settings::Settings;
use rustix::fs::OFlags;

use crate::destination::{Destination, Host};
use crate::lent::{Loan, loans};
use crate::machine::{NotBound, Resolvers, Uids, hosts};
use crate::wanted::{Told, Wanted, place_of};

const CONFIG_BYTES_MAX: u64 = holdfast_config::BYTES_MAX as u64;
const MACHINE_BYTES_MAX: u64 = 4 << 20;
const SECRET_BYTES_MAX: u64 = 8 << 10;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The files that say what is to hold, and the folders that say what does.
#[derive(Clone, Debug)]
pub struct World {
    pub config: PathBuf,
    pub tripwire: PathBuf,
    passwd: PathBuf,
    hosts: PathBuf,
    resolv: PathBuf,
    /// What the next life of the program goes on from, and its log.
    pub state: PathBuf,
    /// Where others read how it is.
    pub run: PathBuf,
}

/// Everything those files say.
#[derive(Clone, Debug)]
pub struct Seen {
    pub wanted: Wanted,
    pub resolvers: Resolvers,
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
}

/// Why a file is not believed, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("there is no {}", path.display())]
    Missing { path: PathBuf },
    #[error("{} is not a plain file of one name", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} does not belong to root, so one of those it binds may have written it: look at it with `holdfast egress show`, then `chown root: {}`", path.display(), path.display())]
    NotRoots { path: PathBuf },
    #[error("{} can be written by others than root", path.display())]
    Writable { path: PathBuf },
    #[error("{} is larger than it may be", path.display())]
    TooLarge { path: PathBuf },
    /// The sentence names the file.
    #[error("{why}")]
    Wrong { why: String },
    #[error(transparent)]
    Users(#[from] NotBound),
}

/// What changes when a file does.
pub(crate) type Stamp = Option<(u64, u64, u64, i64, i64, i64, i64)>;

impl World {
    /// Of a system install.
    pub fn of_system() -> World {
        World {
            config: "/etc/holdfast/config.yaml".into(),
            tripwire: "/etc/holdfast-tripwire/tripwire.json".into(),
            passwd: "/etc/passwd".into(),
            hosts: "/etc/hosts".into(),
            resolv: "/etc/resolv.conf".into(),
            state: "/var/lib/holdfast-egress".into(),
            run: "/run/holdfast-egress".into(),
        }
    }

    /// Of a home: all of it below one folder, the machine's own files too, so that nothing there is about this machine.
    pub fn of_home(etc: &Path, state: &Path, run: &Path) -> World {
        World {
            config: etc.join("config.yaml"),
            tripwire: etc.join("tripwire.json"),
            passwd: etc.join("passwd"),
            hosts: etc.join("hosts"),
            resolv: etc.join("resolv.conf"),
            state: state.join("egress"),
            run: run.join("egress"),
        }
    }

    /// The list, where only root can have written what it is made of; with the configuration's text, for the day it cannot be read.
    pub fn look(&self) -> Result<(Seen, String), Unread> {
        let bytes = read_of_root(&self.config)?;
        let bytes = bytes.ok_or_else(|| Unread::Missing { path: self.config.clone() })?;
        let seen = self.seen(&self.parsed(&bytes)?, self.read_tripwire()?.as_ref());
        Ok((seen, String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The same for a person who looks: whoever wrote it, and without a file the defaults.
    pub fn look_at_any(&self) -> Result<Seen, Unread> {
        let config = match trusted(&self.config, Trust::Anybody)? {
            Some(bytes) => self.parsed(&bytes)?,
            None => Config::default(),
        };
        Ok(self.seen(&config, self.read_tripwire()?.as_ref()))
    }

    /// What holds where that cannot be read: what was last believed, and nothing else.
    pub(crate) fn least(&self, remembered: Option<&str>) -> Seen {
        let config = remembered.and_then(|text| self.parsed(text.as_bytes()).ok()).unwrap_or_default();
        self.seen(&config, self.read_tripwire().ok().flatten().as_ref())
    }

    fn seen(&self, config: &Config, told: Option<&Told>) -> Seen {
        let text = |path: &Path| read(path, MACHINE_BYTES_MAX).ok().flatten().unwrap_or_default();
        Seen {
            wanted: Wanted::of(config, told),
            resolvers: Resolvers::read(&text(&self.resolv)),
            hosts: hosts(&text(&self.hosts)),
        }
    }

    /// What is lent now, as far as it is believed.
    pub fn loans(&self) -> Vec<Loan> {
        let now_ms = since_boot_ms();
        let all = loans(&self.run, now_ms).0.into_iter().map(|(_, loan)| loan);
        all.filter(|loan| !loan.is_over(now_ms)).collect()
    }

    pub fn uids(&self) -> Result<Uids, Unread> {
        let passwd = read(&self.passwd, MACHINE_BYTES_MAX)?.unwrap_or_default();
        Ok(Uids::read(&passwd)?)
    }

    /// By which one sees that something has changed.
    pub(crate) fn stamps(&self) -> Vec<Stamp> {
        let webhook = self.read_tripwire().ok().flatten().and_then(|told| told.settings.webhook);
        let files = [&self.config, &self.tripwire, &self.passwd, &self.hosts, &self.resolv];
        files.into_iter().chain(webhook.as_ref()).map(|path| stamp(path)).collect()
    }

    fn parsed(&self, bytes: &[u8]) -> Result<Config, Unread> {
        let path = &self.config;
        let wrong = |e: holdfast_config::Error| Unread::Wrong {
            why: format!("{}; `holdfast config check` shows where", first_line(&e.to_string())),
        };
        // The environment and flags of a daemon are not seen here: what they alone name is not reachable.
        Config::read(Layers { file: Some((path, bytes)), ..Layers::default() })
            .map(|loaded| loaded.config)
            .map_err(wrong)
    }

    fn read_tripwire(&self) -> Result<Option<Told>, Unread> {
        let path = &self.tripwire;
        match path.symlink_metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Unread::Unreadable { path: path.clone(), source }),
            Ok(_) => {}
        }
        let wrong = |why: String| Unread::Wrong { why: first_line(&why) };
        let settings = Settings::read(path).map_err(|e| wrong(e.to_string()))?;
        let webhook = settings.webhook.as_deref().and_then(webhook);
        Ok(Some(Told { settings, webhook }))
    }
}

/// Who may have written a file that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    RootAlone,
    Anybody,
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    holdfast_types::printable(line).chars().take(300).collect()
}

/// The bytes of a file that only root can have written; nothing where there is none.
pub fn read_of_root(path: &Path) -> Result<Option<Vec<u8>>, Unread> {
    trusted(path, Trust::RootAlone)
}

fn trusted(path: &Path, trust: Trust) -> Result<Option<Vec<u8>>, Unread> {
    let unreadable = |source| Unread::Unreadable { path: path.to_owned(), source };
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) if path.is_symlink() => return Err(Unread::NotAFile { path: path.to_owned() }),
        Err(e) => return Err(unreadable(e)),
    };
    let about = file.metadata().map_err(unreadable)?;
    // A second name may lie where somebody else rules.
    if !about.is_file() || (trust == Trust::RootAlone && about.nlink() != 1) {
        return Err(Unread::NotAFile { path: path.to_owned() });
    }
    if trust == Trust::RootAlone && about.uid() != 0 {
        return Err(Unread::NotRoots { path: path.to_owned() });
    }
    if about.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(Unread::Writable { path: path.to_owned() });
    }
    bounded(file, CONFIG_BYTES_MAX, path).map(Some)
}

fn bounded(file: File, max: u64, path: &Path) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    let read = file.take(max + 1).read_to_end(&mut bytes);
    read.map_err(|source| Unread::Unreadable { path: path.to_owned(), source })?;
    if bytes.len() as u64 > max {
        return Err(Unread::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

/// A file of the machine's own; nothing where there is none.
fn read(path: &Path, max: u64) -> Result<Option<String>, Unread> {
    match File::open(path) {
        Ok(file) => Ok(Some(String::from_utf8_lossy(&bounded(file, max, path)?).into_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Unread::Unreadable { path: path.to_owned(), source }),
    }
}

/// Where a webhook is, and nothing else of its address.
fn webhook(file: &Path) -> Option<Destination> {
    let url: Url = read(file, SECRET_BYTES_MAX).ok()??.trim().parse().ok()?;
    let (host, port) = place_of(&url.address().to_string())?;
    Some(Destination::tcp(Host::read(&host)?, port))
}

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok()?;
    Some((
        about.dev(),
        about.ino(),
        about.size(),
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec(),
    ))
}
