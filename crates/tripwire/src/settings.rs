//! What the guard is told: one JSON file that root writes and nobody who plans can.
//!
//! Everything in it is checked when it is read, so that a guard that runs is one that can act. The words are in `docs/formats/tripwire.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holdfast_lifeline::TargetName;
use holdfast_line::Line;
use holdfast_probe::Check;
use serde::{Deserialize, Serialize};

use crate::provider::Provider;

const BYTES_MAX: u64 = 1 << 20;
const TARGETS_MAX: usize = 256;
const CHECKS_MAX: usize = 16;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the window records lie.
    pub windows: PathBuf,
    /// Its own state and log.
    pub state: PathBuf,
    /// Where its heart beats: gone after a boot.
    pub run: PathBuf,
    /// A file that holds the address of a webhook, which is a secret.
    #[serde(default)]
    pub webhook: Option<PathBuf>,
    /// More than one in a lab alone: its waits are so many times shorter.
    #[serde(default = "one")]
    pub pace: u32,
    /// The manifest of the safety parts.
    #[serde(default = "manifest")]
    pub parts: PathBuf,
    pub targets: Vec<Target>,
}

fn one() -> u32 {
    1
}

fn manifest() -> PathBuf {
    PathBuf::from(crate::parts::MANIFEST)
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub name: TargetName,
    pub first: Route,
    #[serde(default)]
    pub second: Option<Route>,
    /// The private key of its role, which undoes and does nothing else.
    pub key: PathBuf,
    /// The target's own key, pinned under its name.
    pub known_hosts: PathBuf,
    #[serde(default)]
    pub provider: Option<Provider>,
    /// What has to be well on the target, besides that somebody gets in.
    #[serde(default)]
    pub probes: Vec<Check>,
    /// Hosts that have nothing to do with the target. When none of them answers it is the guard that is cut off.
    pub references: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub address: String,
    #[serde(default = "ssh")]
    pub port: u16,
    #[serde(default = "root")]
    pub user: String,
}

fn ssh() -> u16 {
    22
}

fn root() -> String {
    "root".to_owned()
}

/// Why there is no guard with these settings.
#[derive(Debug, thiserror::Error)]
pub enum NotSet {
    #[error("the guard's settings at {} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the guard's settings at {} are not what they should be: {why}", path.display())]
    Wrong { path: PathBuf, why: String },
    #[error("{} can be written by others than root and this guard: whoever plans could change what is undone", path.display())]
    Open { path: PathBuf },
}

impl Settings {
    pub fn read(path: &Path) -> Result<Settings, NotSet> {
        use std::os::unix::fs::MetadataExt as _;
        let unreadable = |source| NotSet::Unreadable { path: path.to_owned(), source };
        let wrong = |why: String| NotSet::Wrong { path: path.to_owned(), why };
        let meta = std::fs::metadata(path).map_err(unreadable)?;
        if !is_safe(meta.uid(), meta.mode(), rustix::process::geteuid().as_raw()) {
            return Err(NotSet::Open { path: path.to_owned() });
        }
        if meta.len() > BYTES_MAX {
            return Err(wrong(format!("it is longer than {BYTES_MAX} bytes")));
        }
        Settings::of(&std::fs::read(path).map_err(unreadable)?).map_err(wrong)
    }

    /// What these bytes say, if a guard that runs with it could act.
    pub(crate) fn of(bytes: &[u8]) -> Result<Settings, String> {
        let settings: Settings = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        settings.sound()?;
        Ok(settings)
    }

    /// What the guard keeps about one target, wherever it is: gone with the target.
    pub(crate) fn files_of(&self, name: &TargetName) -> Vec<PathBuf> {
        let of = |folder: &Path, ending: &str| folder.join(format!("{name}.{ending}"));
        vec![
            of(&self.run, "heart.json"),
            of(&self.state, "guard.json"),
            of(&self.state, "acknowledged"),
            of(&self.windows, "window.json"),
            of(&self.windows, "window.lock"),
        ]
    }

    fn sound(&self) -> Result<(), String> {
        if !(1..=TARGETS_MAX).contains(&self.targets.len()) {
            return Err(format!("`targets` has {}, and 1 to {TARGETS_MAX} are watched", self.targets.len()));
        }
        let mut names = BTreeSet::new();
        for target in &self.targets {
            if !names.insert(&target.name) {
                return Err(format!("two targets are named {}", target.name));
            }
            target.sound().map_err(|why| format!("{}: {why}", target.name))?;
        }
        Ok(())
    }
}

/// Whether nobody but root, or whoever reads it, can have written it.
pub(crate) fn is_safe(owner: u32, mode: u32, me: u32) -> bool {
    (owner == 0 || owner == me) && mode & 0o022 == 0
}

impl Target {
    fn sound(&self) -> Result<(), String> {
        if self.references.is_empty() {
            return Err("`references` is empty: without a host that has nothing to do with the target nobody can tell whose network is down".to_owned());
        }
        if self.probes.len() > CHECKS_MAX || self.references.len() > CHECKS_MAX {
            return Err(format!("more than {CHECKS_MAX} probes or references"));
        }
        [Some(&self.first), self.second.as_ref()].into_iter().flatten().try_for_each(Route::sound)
    }

    /// How a route is taken: each call over a connection of its own, since one that is open already says nothing about who gets in.
    pub fn line(&self, route: &Route) -> Line {
        Line {
            address: route.address.clone(),
            port: route.port,
            alias: self.name.to_string(),
            known_hosts: self.known_hosts.clone(),
            key: self.key.clone(),
            user: route.user.clone(),
            socket: PathBuf::new(),
        }
    }
}

impl Route {
    /// ssh is run by its argument list; what begins with a dash would still be an option to it.
    fn sound(&self) -> Result<(), String> {
        let plain = |text: &str| {
            !text.is_empty()
                && text.len() <= 255
                && !text.starts_with('-')
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:%".contains(&b))
        };
        match (plain(&self.address), plain(&self.user)) {
            (true, true) => Ok(()),
            (false, _) => Err("an address is a host's name or number".to_owned()),
            (_, false) => Err("a user is a plain name".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o640)).unwrap();
        Settings::read(file.path()).map_err(|e| e.to_string())
    }

    const GOOD: &str = r#"{"windows":"/w","state":"/s","run":"/r","targets":[{"name":"box-1","first":{"address":"box-1.lan"},
        "key":"/k","known_hosts":"/h","references":[{"tcp":{"address":"192.0.2.1:53"}}]}]}"#;

    #[test]
    fn settings_are_read_whole_and_what_is_missing_is_usual() {
        let settings = read(GOOD).unwrap();
        assert_eq!(settings.pace, 1);
        let target = &settings.targets[0];
        assert_eq!(
            target.first,
            Route { address: "box-1.lan".to_owned(), port: 22, user: "root".to_owned() }
        );
        assert!(target.second.is_none() && target.provider.is_none() && target.probes.is_empty());
    }

    #[test]
    fn settings_that_would_not_guard_are_refused_with_the_reason() {
        let without = |from: &str, to: &str| read(&GOOD.replace(from, to)).unwrap_err();
        assert!(without(r#"[{"tcp":{"address":"192.0.2.1:53"}}]"#, "[]").contains("whose network is down"));
        assert!(without("box-1.lan", "-oProxyCommand=x").contains("an address is a host's name"));
        assert!(without(r#""run":"/r","#, r#""run":"/r","surprise":1,"#).contains("surprise"));
        assert!(read(&GOOD.replace("\"targets\":[", "\"targets\":[],\"x\":[")).is_err());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), GOOD).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o660)).unwrap();
        let said = Settings::read(file.path()).unwrap_err().to_string();
        assert!(said.contains("can be written by others"), "{said}");
        assert!(is_safe(0, 0o640, 7) && is_safe(7, 0o600, 7));
        assert!(!is_safe(8, 0o600, 7) && !is_safe(0, 0o662, 7) && !is_safe(7, 0o620, 7));
    }
}
