//! Policies: what a caged program may do, as data that explains itself.
//!
//! A policy is TOML and grants nothing it does not name. Every grant says why it is there, and brings examples of what it
//! lets through and of what is still refused; they are checked when the policy is loaded, so that a grant that is wider or
//! narrower than its author meant is found before anything runs.

mod deed;
mod read;

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

pub use deed::Deed;
pub use read::PolicyError;

use crate::amount::{Bytes, Percent, read_duration};

/// What a caged program may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub name: String,
    pub why: String,
    pub files: Vec<Files>,
    pub services: Vec<Service>,
    pub destinations: Vec<Destination>,
    /// A network namespace that is there already, instead of one of its own.
    pub namespace: Option<PathBuf>,
    pub variables: Vec<Variable>,
    pub calls: Vec<CallGroup>,
    pub limits: Limits,
    pub lacking: Lacking,
    pub planting: Planting,
}

/// Whether the program may change what others run outside by themselves: git's hooks and configuration, and what shells and
/// editors read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planting {
    #[default]
    Prevented,
    /// Everything it writes there runs later with the rights of whoever works in that folder.
    RunsOutsideLater,
}

/// A grant: its own fields, why it is there, and what shows its edges. Written out in each, because a field nobody knows
/// must be refused.
macro_rules! grant {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$of:meta])* pub $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$of])* pub $field: $kind,)*
            pub why: String,
            #[serde(default)]
            pub allowed: Vec<String>,
            #[serde(default)]
            pub refused: Vec<String>,
            /// Its refusals were shown in the policy it comes from; one that extends it may grant more.
            #[serde(skip)]
            pub shown: bool,
        }

        impl $name {
            /// One that is granted by hand, for one run: with a reason, and without examples.
            pub fn by_hand($($field: $kind,)* why: &str) -> $name {
                let (allowed, refused) = (Vec::new(), Vec::new());
                $name { $($field,)* why: why.to_owned(), allowed, refused, shown: true }
            }

            pub(crate) fn reason(&self) -> Reason<'_> {
                Reason { why: &self.why, allowed: &self.allowed, refused: &self.refused, shown: self.shown }
            }
        }
    };
}

/// Why a grant is there, and what shows its edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason<'g> {
    pub(crate) why: &'g str,
    pub(crate) allowed: &'g [String],
    pub(crate) refused: &'g [String],
    pub(crate) shown: bool,
}

/// What the program sees at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// As it is, unchangeable.
    Read,
    /// As it is, to be changed.
    Write,
    /// Nothing, though what is around it can be seen.
    Hidden,
    /// An empty folder of its own that is gone afterwards.
    Temporary,
}

grant! {
    /// Files and folders.
    pub struct Files {
        /// Absolute, or beginning with `{work}` or `{home}`.
        pub path: String,
        pub access: Access,
        /// Programs may be started from it.
        #[serde(default)]
        pub run: bool,
        /// Whether it may be missing on this machine.
        #[serde(default)]
        pub optional: bool,
    }
}

grant! {
    /// Something that listens outside and is reached on the cage's own loopback.
    pub struct Service {
        /// The port inside.
        pub port: u16,
        /// Where it is handed on to: `127.0.0.1:9097`, or the path of a socket.
        pub to: String,
    }
}

grant! {
    /// A host that is reached through the proxy.
    pub struct Destination {
        /// A name, or `*.` and a name for everything below it, or an address.
        pub host: String,
        pub ports: Vec<u16>,
        /// Addresses of one's own networks count too; else a name that leads there is refused.
        #[serde(default)]
        pub private: bool,
    }
}

grant! {
    /// A variable of the environment.
    pub struct Variable {
        pub name: String,
        /// As it is outside where no value is given.
        pub value: Option<String>,
    }
}

grant! {
    /// A group of system calls.
    pub struct CallGroup {
        pub group: String,
    }
}

/// How much of everything. Where none is given there is no limit of the cage's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    #[serde(default, deserialize_with = "read_duration")]
    pub time: Option<Duration>,
    /// How long a program that is told to end may take over it.
    #[serde(default, deserialize_with = "read_duration")]
    pub grace: Option<Duration>,
    pub memory: Option<Bytes>,
    pub cpu: Option<Percent>,
    pub processes: Option<u32>,
    /// What may be written, per file, into each temporary folder, and into all writable folders together.
    pub disk: Option<Bytes>,
    /// What may be printed.
    pub output: Option<Bytes>,
    /// Open descriptors per process.
    pub descriptors: Option<u32>,
}

/// What to do where the machine lacks a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Without {
    Refuse,
    Run,
}

/// Whether to run where the machine lacks a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lacking {
    pub landlock: Without,
    pub seccomp: Without,
    pub cgroup: Without,
}

impl Default for Lacking {
    /// The view and the namespaces hold without Landlock, and limits are watched where no cgroup enforces them. Nothing
    /// stands in for the filter of system calls.
    fn default() -> Lacking {
        Lacking { landlock: Without::Run, seccomp: Without::Refuse, cgroup: Without::Run }
    }
}

/// What `{work}` and `{home}` stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub work: PathBuf,
    pub home: PathBuf,
}

/// Where the home of a caged program is, whoever it runs as.
pub const HOME: &str = "/home/cage";

impl Places {
    pub fn working_in(work: &Path) -> Places {
        Places { work: normal(work), home: PathBuf::from(HOME) }
    }

    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        let under = |rest: &str, root: &Path| normal(&root.join(rest.trim_start_matches('/')));
        match (path.strip_prefix("{work}"), path.strip_prefix("{home}")) {
            (Some(rest), _) => under(rest, &self.work),
            (_, Some(rest)) => under(rest, &self.home),
            _ => normal(Path::new(path)),
        }
    }
}

/// A path without `.` and `..`, by its words alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::from("/"), |mut so_far, part| {
        match part {
            Component::Normal(name) => so_far.push(name),
            Component::ParentDir => {
                so_far.pop();
            }
            _ => {}
        }
        so_far
    })
}

/// The files every cage has of its own.
const MADE: &[&str] = &["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf"];

/// The devices every cage has.
pub(crate) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

impl Policy {
    /// Grants a path more. Whoever does so by hand needs no examples; the path is checked all the same.
    pub fn grant(&mut self, grant: Files) -> Result<(), PolicyError> {
        Policy::check_path(&grant)?;
        self.files.retain(|old| old.path != grant.path);
        self.files.push(grant);
        Ok(())
    }

    /// Whether a deed is granted.
    pub fn permits(&self, deed: &Deed, places: &Places) -> bool {
        match deed {
            Deed::Read(path) => self.access(path, places).is_some_and(|(access, _)| access != Access::Hidden),
            Deed::Write(path) => match self.grant_at(path, places) {
                Some((root, Access::Write, _)) => !self.keeps(&root, path, places),
                Some((_, access, _)) => access == Access::Temporary,
                None => false,
            },
            Deed::Run(path) => {
                self.access(path, places).is_some_and(|(access, run)| run && access != Access::Hidden)
            }
            Deed::Reach(host, port) => self.reaches(host, *port),
            Deed::Call(number) => self.calls.iter().any(|grant| {
                let group = crate::calls::Calls::builtin().group(&grant.group);
                group.is_some_and(|numbers| numbers.contains(number))
            }),
            Deed::See(name) => self.variables.iter().any(|variable| variable.name == *name),
        }
    }

    /// Whether a path in a writable folder is kept from being planted in; what is granted by its own name is not.
    fn keeps(&self, root: &Path, path: &Path, places: &Places) -> bool {
        let path = normal(&places.resolve(&path.to_string_lossy()));
        let below = path.strip_prefix(root).unwrap_or(Path::new(""));
        self.planting == Planting::Prevented && crate::planted::is_kept(below)
    }

    fn access(&self, path: &Path, places: &Places) -> Option<(Access, bool)> {
        self.grant_at(path, places).map(|(_, access, run)| (access, run))
    }

    /// What is granted at a path, and from where on: by the longest grant that holds it, or by what every cage has.
    fn grant_at(&self, path: &Path, places: &Places) -> Option<(PathBuf, Access, bool)> {
        let path = normal(&places.resolve(&path.to_string_lossy()));
        let device = path.strip_prefix("/dev").ok().and_then(Path::to_str);
        if device.is_some_and(|name| DEVICES.contains(&name)) {
            return Some((path, Access::Write, false));
        }
        if path.starts_with("/dev/shm") {
            return Some((path, Access::Temporary, false));
        }
        if path.starts_with("/proc") || MADE.iter().any(|made| path == Path::new(made)) {
            return Some((path, Access::Read, false));
        }
        self.files
            .iter()
            .map(|grant| (places.resolve(&grant.path), grant))
            .filter(|(root, _)| path.starts_with(root))
            .max_by_key(|(root, _)| root.components().count())
            .map(|(root, grant)| (root, grant.access, grant.run))
    }

    fn reaches(&self, host: &str, port: u16) -> bool {
        let loopback = matches!(host, "127.0.0.1" | "localhost");
        (loopback && self.services.iter().any(|service| service.port == port))
            || self.destinations.iter().any(|destination| destination.is(host, port))
    }
}

impl Destination {
    /// Whether this is the one.
    pub fn is(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let named = match self.host.strip_prefix("*.") {
            Some(domain) => {
                host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            None => host == self.host,
        };
        named && self.ports.contains(&port)
    }
}
