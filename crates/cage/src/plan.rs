//! The plan: from a policy, a machine and a call to exactly what the launcher does.
//!
//! Pure: the machine is what was found out about it ([`Host`]), its files are asked through [`Tree`]. The launcher adds
//! nothing to a plan and leaves nothing out; what it cannot do, it does not start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::calls::Calls;
use crate::filter::Filter;
use crate::host::Host;
use crate::layer::Layer;
use crate::planted::{Cover, Ground, Guard, Laid, Over, Uncovered, given, written};
use crate::policy::{Access, DEVICES, Files, Lacking, Limits, Places, Planting, Policy, Without};
use crate::tree::{Entry, Tree};

/// Whose rights the program has: one user and one group, and nobody else's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Call {
    /// The program, by path or by name, and its arguments.
    pub argv: Vec<String>,
    /// The folder it begins in, and what `{work}` stands for.
    pub work: PathBuf,
    pub identity: Identity,
    /// The caller's environment, of which a policy may grant variables.
    pub environment: Vec<(String, String)>,
}

/// One step of building what the program sees, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mount", rename_all = "kebab-case")]
pub enum Mount {
    /// Something of the machine.
    Bind { from: PathBuf, at: PathBuf, folder: bool, writable: bool, run: bool },
    /// A symbolic link, as it is on the machine.
    Link { at: PathBuf, to: PathBuf },
    /// An empty folder of its own, this large at most.
    Temporary { at: PathBuf, bytes: u64, run: bool },
    /// A symbolic link that cannot be taken away.
    Same { at: PathBuf },
    /// Nothing where something would be.
    Hidden { at: PathBuf, folder: bool },
    /// A small file with this in it.
    File { at: PathBuf, content: String },
    /// The processes of the cage.
    Processes,
    /// The devices every program expects.
    Devices { names: Vec<String>, shared_memory: u64 },
}

/// The program's network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Net {
    /// One of its own, with nothing but a loopback; these ports on it are served from outside.
    Own { listen: Vec<u16> },
    /// One that is there already.
    Given { namespace: PathBuf },
    /// The machine's: only when a layer is switched off.
    Machine,
}

/// A path the second fence lets through, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    pub path: PathBuf,
    pub write: bool,
    pub run: bool,
}

/// A limit the kernel keeps per process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    Core,
    Processes,
    Descriptors,
    FileSize,
    Locked,
    Queues,
    RealTime,
    Nice,
}

/// A cgroup for the program, made before and removed after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub path: PathBuf,
    /// File and content, in order.
    pub settings: Vec<(String, String)>,
}

/// What the launcher watches itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    pub time: Option<Duration>,
    pub grace: Duration,
    /// Where no cgroup counts: what all processes together may hold.
    pub memory: Option<u64>,
    /// What the writable folders may grow by.
    pub disk: Option<u64>,
    pub writable: Vec<PathBuf>,
}

/// Exactly what is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub policy: String,
    pub argv: Vec<String>,
    pub directory: PathBuf,
    pub environment: Vec<(String, String)>,
    pub identity: Identity,
    pub mounts: Vec<Mount>,
    pub net: Net,
    pub openings: Option<Vec<Opening>>,
    pub filter: Option<Filter>,
    pub rlimits: Vec<(Resource, u64)>,
    pub group: Option<Group>,
    pub watch: Watch,
    /// What is kept from being planted for others to run.
    pub guard: Option<Guard>,
    /// What the caller counts.
    pub output: Option<u64>,
    /// What the machine lacks, and what that means.
    pub lacks: Vec<Lack>,
    /// Layers that are switched off, which only those who test the others do.
    pub off: BTreeSet<Layer>,
}

/// A piece the machine lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    pub piece: String,
    pub means: String,
}

/// Why nothing is run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("root's own rights are not handed to a caged program")]
    Root,
    #[error("this machine has no {piece}: {means}")]
    Lacks { piece: String, means: String },
    #[error("{path} is not there, and the policy grants it")]
    Missing { path: String },
    #[error("{path} cannot be the folder to work in: {why}")]
    Work { path: String, why: &'static str },
    #[error("no program is named")]
    NoProgram,
    #[error("{what} has a character that cannot be passed on")]
    Unspeakable { what: String },
    #[error("what git runs at {path} could not be kept from being planted: {why}")]
    Uncovered { path: String, why: String },
}

/// What locked memory and queues of messages come to for everyone.
const LOCKED: u64 = 64 << 10;
const QUEUES: u64 = 800 << 10;
const TEMPORARY: u64 = 1 << 30;
const GRACE: Duration = Duration::from_secs(2);
/// What is lacking where something that others run later could not be covered wholly.
pub const WHOLE_COVER: &str = "whole cover of what git and editors run";
/// The port inside at which the proxy listens.
pub const PROXY_PORT: u16 = 3128;

impl Plan {
    pub fn of(policy: &Policy, call: &Call, host: &Host, tree: &dyn Tree) -> Result<Plan, Refusal> {
        if call.identity.uid == 0 {
            return Err(Refusal::Root);
        }
        if call.argv.first().is_none_or(String::is_empty) {
            return Err(Refusal::NoProgram);
        }
        let mut lacks = lacks(&policy.lacking, &policy.limits, host)?;
        let places = Places::working_in(&call.work);
        let laid = laid(policy, &places, call, tree)?;
        let mounts = mounts(policy, &places, call, tree, laid.as_ref().map_or(&[], |laid| &laid.covers))?;
        lacks.extend(
            laid.iter()
                .flat_map(|laid| &laid.gaps)
                .map(|gap| Lack { piece: WHOLE_COVER.to_owned(), means: gap.clone() }),
        );
        let openings = host.landlock.filter(|abi| *abi > 0).map(|_| openings(&mounts));
        let plan = Plan {
            policy: policy.name.clone(),
            argv: call.argv.clone(),
            directory: directory(policy, &places),
            environment: environment(policy, call, &places),
            identity: call.identity,
            net: match &policy.namespace {
                Some(namespace) => Net::Given { namespace: namespace.clone() },
                None => Net::Own { listen: listen(policy) },
            },
            openings,
            filter: host.seccomp.then(|| filter(policy, host)),
            rlimits: rlimits(&policy.limits),
            group: group(&policy.limits, host),
            watch: watch(policy, &mounts, host),
            mounts,
            guard: laid.map(|laid| laid.guard),
            output: policy.limits.output.map(|bytes| bytes.0),
            lacks,
            off: BTreeSet::new(),
        };
        match plan.unspeakable() {
            None => Ok(plan),
            Some(what) => Err(Refusal::Unspeakable { what }),
        }
    }

    /// What cannot be passed on: to the launcher as text, or to the kernel because of a zero byte.
    fn unspeakable(&self) -> Option<String> {
        let cannot = |text: &str| text.contains('\0');
        let unnamed = |path: &&Path| path.to_str().is_none_or(cannot);
        let mounted = self.mounts.iter().flat_map(|mount| match mount {
            Mount::Bind { from, at, .. } => vec![from.as_path(), at],
            Mount::Link { at, to } => vec![at.as_path(), to],
            Mount::Temporary { at, .. }
            | Mount::Hidden { at, .. }
            | Mount::File { at, .. }
            | Mount::Same { at } => {
                vec![at.as_path()]
            }
            Mount::Processes | Mount::Devices { .. } => vec![],
        });
        let entered = match &self.net {
            Net::Given { namespace } => Some(namespace.as_path()),
            Net::Own { .. } | Net::Machine => None,
        };
        let guarded = self.guard.iter().flat_map(Guard::paths);
        let mut paths = mounted.chain(entered).chain(guarded).chain([self.directory.as_path()]);
        let variables = self.environment.iter().flat_map(|(name, value)| [name, value]);
        if self.argv.iter().chain(variables).any(|text| cannot(text)) {
            return Some("an argument or a variable".to_owned());
        }
        paths.find(unnamed).map(written)
    }

    /// The folder by which the program may change a file.
    pub fn may_change(&self, path: &Path) -> Option<&Path> {
        self.mounts.iter().rev().find_map(|mount| match mount {
            Mount::Bind { at, writable: true, .. } if path.starts_with(at) => Some(at.as_path()),
            _ => None,
        })
    }

    /// Without some of its layers, and those that cannot be without them: to see that each of them is what refuses.
    pub fn without(mut self, layers: &[Layer]) -> Plan {
        for layer in layers {
            match layer {
                Layer::Seccomp => self.filter = None,
                Layer::Landlock => self.openings = None,
                Layer::Limits => self.rlimits.clear(),
                Layer::NetNamespace => self.net = Net::Machine,
                // The view has the processes of the cage in it.
                Layer::PidNamespace => self = self.without(&[Layer::View]),
                // The kernel lets nobody be bound by either who could still gain privileges.
                Layer::NoNewPrivileges => self = self.without(&[Layer::Landlock, Layer::Seccomp]),
                _ => {}
            }
            self.off.insert(*layer);
        }
        self
    }
}

fn lacks(lacking: &Lacking, limits: &Limits, host: &Host) -> Result<Vec<Lack>, Refusal> {
    let mut all = Vec::new();
    let mut lack = |without: Without, piece: &str, means: &str| {
        let (piece, means) = (piece.to_owned(), means.to_owned());
        if without == Without::Refuse {
            return Err(Refusal::Lacks { piece, means });
        }
        all.push(Lack { piece, means });
        Ok(())
    };
    if !host.namespaces {
        lack(
            Without::Refuse,
            "user namespaces",
            host.namespaces_why.as_deref().unwrap_or("without them there is no cage"),
        )?;
    }
    if !host.seccomp {
        lack(lacking.seccomp, "filter of system calls", "every call of the kernel is open to the program")?;
    } else if !host.tells {
        lack(
            Without::Run,
            "way to be told of refused calls",
            "they are refused, and the evidence does not list them",
        )?;
    }
    match host.landlock {
        None | Some(0) => {
            lack(lacking.landlock, "Landlock", "what the program sees is the only fence around files")?
        }
        Some(abi) if abi < 6 => lack(
            Without::Run,
            "newer Landlock",
            "signals and nameless sockets are fenced by namespaces alone",
        )?,
        Some(_) => {}
    }
    let has = |controller: &str| {
        host.cgroup.as_ref().is_some_and(|group| group.controllers.iter().any(|has| has == controller))
    };
    let wanted = [
        (
            limits.memory.is_some(),
            "memory",
            "memory is watched instead of enforced, and what no process has mapped is not seen",
        ),
        (limits.cpu.is_some(), "cpu", "processor time is not limited"),
        (limits.processes.is_some(), "pids", "processes are counted per user of the cage"),
    ];
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|(limited, controller, _)| *limited && !has(controller))
        .map(|(.., means)| *means)
        .collect();
    if !missing.is_empty() {
        lack(lacking.cgroup, "cgroup with controllers", &missing.join("; "))?;
    }
    Ok(all)
}

/// The policy's files by where they are.
fn granted<'p>(policy: &'p Policy, places: &Places) -> Vec<(PathBuf, &'p Files)> {
    let mut grants: Vec<(PathBuf, &Files)> = Vec::new();
    for grant in &policy.files {
        let path = places.resolve(&grant.path);
        // The same place may be written in more than one way; the last word holds, in both fences.
        grants.retain(|(before, _)| *before != path);
        grants.push((path, grant));
    }
    grants
}

/// What is in the writable folders that others run by themselves, and how it is covered.
fn laid(policy: &Policy, places: &Places, call: &Call, tree: &dyn Tree) -> Result<Option<Laid>, Refusal> {
    if policy.planting == Planting::RunsOutsideLater {
        return Ok(None);
    }
    let grants = granted(policy, places);
    let writable = |(path, grant): &&(PathBuf, &Files)| {
        grant.access == Access::Write && tree.look(path) == Entry::Folder
    };
    let roots: Vec<PathBuf> = grants.iter().filter(writable).map(|(path, _)| path.clone()).collect();
    let named: BTreeSet<PathBuf> = grants.iter().map(|(path, _)| path.clone()).collect();
    let settings = settings_of_git(&call.environment, tree);
    let given = given(&call.environment).ok_or_else(|| Refusal::Uncovered {
        path: "GIT_CONFIG_PARAMETERS".to_owned(),
        why: "git's settings in it or in GIT_CONFIG_COUNT are not understood".to_owned(),
    })?;
    let ground = Ground {
        roots: &roots,
        granted: &named,
        uid: call.identity.uid,
        settings: &settings,
        given: &given,
        home: variable(&call.environment, "HOME").map(Path::new),
        tree,
    };
    let laid = Guard::of(&ground)
        .map_err(|Uncovered { path, why }| Refusal::Uncovered { path: written(&path), why })?;
    Ok(Some(laid))
}

fn variable<'c>(environment: &'c [(String, String)], name: &str) -> Option<&'c str> {
    environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The files that whoever asks has git's settings in, beside those of repositories.
fn settings_of_git(environment: &[(String, String)], tree: &dyn Tree) -> Vec<PathBuf> {
    let of = |name| variable(environment, name).map(PathBuf::from).filter(|path| path.is_absolute());
    let below_home = |path: &str| of("HOME").map(|home| home.join(path));
    let configured = of("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
    let mut all = match of("GIT_CONFIG_GLOBAL") {
        Some(named) => vec![named],
        None => {
            below_home(".gitconfig").into_iter().chain(configured.map(|at| at.join("git/config"))).collect()
        }
    };
    all.extend(of("GIT_CONFIG_SYSTEM"));
    // The machine's, for a git that belongs to it or lies elsewhere.
    all.extend(["/etc/gitconfig", "/usr/local/etc/gitconfig"].map(PathBuf::from));
    let folders = std::env::split_paths(variable(environment, "PATH").unwrap_or_default())
        .filter(|folder| folder.is_absolute() && tree.look(&folder.join("git")) != Entry::Missing);
    all.extend(folders.filter_map(|folder| Some(folder.parent()?.join("etc/gitconfig"))));
    all
}

/// Read-only where it is a file or folder; a link stays what it is.
fn cover(cover: &Cover, run: bool) -> Mount {
    let at = cover.at.clone();
    match cover.over {
        Over::Link => Mount::Same { at },
        over => Mount::Bind { from: at.clone(), at, folder: over == Over::Folder, writable: false, run },
    }
}

/// A step of the view: a grant, or a cover over what is in one.
enum Step<'p> {
    Grant(&'p Files),
    Cover(&'p Cover),
}

/// What the program sees, shallow before deep.
fn mounts(
    policy: &Policy,
    places: &Places,
    call: &Call,
    tree: &dyn Tree,
    covers: &[Cover],
) -> Result<Vec<Mount>, Refusal> {
    let grants = granted(policy, places).into_iter().map(|(path, grant)| (path, Step::Grant(grant)));
    let covers = covers.iter().map(|cover| (cover.at.clone(), Step::Cover(cover)));
    let mut steps: Vec<(PathBuf, Step<'_>)> = grants.chain(covers).collect();
    steps.sort_by_key(|(path, _)| path.components().count());
    // What is in them is in memory.
    let temporary = [policy.limits.disk, policy.limits.memory]
        .iter()
        .flatten()
        .map(|bytes| bytes.0)
        .min()
        .unwrap_or(TEMPORARY);
    let mut mounts = Mounts::default();
    mounts.push(Mount::Processes);
    mounts.push(Mount::Devices {
        names: DEVICES.iter().map(|name| (*name).to_owned()).collect(),
        shared_memory: temporary.min(256 << 20),
    });
    for (path, step) in steps {
        let grant = match step {
            Step::Grant(grant) => grant,
            Step::Cover(over) => {
                let run = mounts.writable_above(&path).is_some_and(|(_, run)| run);
                mounts.pin(&path);
                mounts.push(cover(over, run));
                continue;
            }
        };
        if grant.path.starts_with("{work}") {
            check_work(&path)?;
        }
        if let Some(mount) = mount(&path, grant, temporary, tree)? {
            mounts.pin(&path);
            mounts.push(mount);
        } else if grant.access == Access::Hidden && !grant.optional && mounts.writable_above(&path).is_some()
        {
            // It may have been moved away, and what was in it with it.
            return Err(Refusal::Missing { path: path.display().to_string() });
        }
    }
    let is_granted = |at: &Path| {
        policy.files.iter().any(|grant| {
            let root = places.resolve(&grant.path);
            at.starts_with(&root) && grant.access != Access::Temporary && tree.look(&root) != Entry::Missing
        })
    };
    let file = |at: &str, content: String| Mount::File { at: PathBuf::from(at), content };
    let (uid, gid) = (call.identity.uid, call.identity.gid);
    let mut own = Vec::new();
    own.push(file(
        "/etc/passwd",
        format!("cage:x:{uid}:{gid}:caged program:{}:/bin/sh\n", places.home.display()),
    ));
    own.push(file("/etc/group", format!("cage:x:{gid}:\n")));
    own.push(file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n".to_owned()));
    own.push(file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()));
    own.push(file("/etc/resolv.conf", String::new()));
    // Whoever grants the machine's has granted it.
    let own = own.into_iter().filter(|mount| !matches!(mount, Mount::File { at, .. } if is_granted(at)));
    Ok(mounts.all.into_iter().chain(own).collect())
}

/// Mounts that are being listed, shallow before deep.
#[derive(Default)]
struct Mounts {
    all: Vec<Mount>,
    /// The last one at each path that others could lie in.
    at: BTreeMap<PathBuf, usize>,
}

impl Mounts {
    fn push(&mut self, mount: Mount) {
        if let Mount::Bind { at, .. } | Mount::Temporary { at, .. } | Mount::Hidden { at, .. } = &mount {
            self.at.insert(at.clone(), self.all.len());
        }
        self.all.push(mount);
    }

    /// The writable folder of the machine a path lies in, and whether programs may be started from it. Only the nearest mount
    /// counts: what may be written further above is not seen through it.
    fn writable_above(&self, path: &Path) -> Option<(&Path, bool)> {
        let nearest = path.ancestors().skip(1).find_map(|above| self.at.get(above))?;
        match self.all.get(*nearest)? {
            Mount::Bind { at, folder: true, writable: true, run, .. } => Some((at.as_path(), *run)),
            _ => None,
        }
    }

    /// Every folder between a writable one and what is granted otherwise in it becomes a mount of its own: the kernel lets
    /// nobody rename one, and else the program could move what is hidden to where it is not.
    fn pin(&mut self, path: &Path) {
        let Some((root, run)) = self.writable_above(path).map(|(root, run)| (root.to_owned(), run)) else {
            return;
        };
        let between: Vec<PathBuf> =
            path.ancestors().skip(1).take_while(|folder| *folder != root).map(Path::to_owned).collect();
        for folder in between.into_iter().rev() {
            self.push(Mount::Bind { from: folder.clone(), at: folder, folder: true, writable: true, run });
        }
    }
}

fn check_work(path: &Path) -> Result<(), Refusal> {
    let wrong = |why| Err(Refusal::Work { path: path.display().to_string(), why });
    const SYSTEM: &[&str] =
        &["/usr", "/bin", "/lib", "/lib64", "/sbin", "/boot", "/sys", "/run", "/etc", "/proc", "/dev"];
    const SHARED: &[&str] = &["/", "/home", "/root", "/var", "/srv", "/opt", "/mnt", "/media", "/tmp"];
    if SYSTEM.iter().any(|root| path.starts_with(root)) {
        return wrong("it belongs to the system");
    }
    if SHARED.iter().any(|shared| path == Path::new(shared)) {
        return wrong("it holds what is not part of any work");
    }
    if path.parent() == Some(Path::new("/home")) {
        return wrong("it is somebody's home; name a folder in it");
    }
    Ok(())
}

fn mount(path: &Path, grant: &Files, temporary: u64, tree: &dyn Tree) -> Result<Option<Mount>, Refusal> {
    let at = path.to_owned();
    if grant.access == Access::Temporary {
        return Ok(Some(Mount::Temporary { at, bytes: temporary, run: grant.run }));
    }
    let entry = tree.look(path);
    let folder = match (&entry, grant.access) {
        (Entry::Missing | Entry::Shut, _) if grant.optional || grant.access == Access::Hidden => {
            return Ok(None);
        }
        (Entry::Missing | Entry::Shut, _) => return Err(Refusal::Missing { path: at.display().to_string() }),
        (Entry::Link(to), Access::Read) => return Ok(Some(Mount::Link { at, to: to.clone() })),
        // What is written to or hidden is so by its own name.
        (Entry::Link(_), _) => return Err(Refusal::Missing { path: at.display().to_string() }),
        (Entry::Folder, _) => true,
        (Entry::File, _) => false,
    };
    Ok(Some(match grant.access {
        Access::Hidden => Mount::Hidden { at, folder },
        access => {
            Mount::Bind { from: at.clone(), at, folder, writable: access == Access::Write, run: grant.run }
        }
    }))
}

/// The same grants, as the second fence knows them.
fn openings(mounts: &[Mount]) -> Vec<Opening> {
    let opening = |path: &Path, write: bool, run: bool| Opening { path: path.to_owned(), write, run };
    let mut all = Vec::new();
    for mount in mounts {
        match mount {
            Mount::Bind { at, writable, run, .. } => all.push(opening(at, *writable, *run)),
            Mount::Temporary { at, run, .. } => all.push(opening(at, true, *run)),
            Mount::Processes => all.push(opening(Path::new("/proc"), false, false)),
            Mount::Devices { names, .. } => {
                all.extend(names.iter().map(|name| opening(&Path::new("/dev").join(name), true, false)));
                all.push(opening(Path::new("/dev/shm"), true, false));
            }
            Mount::File { at, .. } => all.push(opening(at, false, false)),
            Mount::Link { .. } | Mount::Same { .. } | Mount::Hidden { .. } => {}
        }
    }
    all
}

fn directory(policy: &Policy, places: &Places) -> PathBuf {
    let has_work = policy.files.iter().any(|grant| grant.path == "{work}");
    if has_work { places.work.clone() } else { places.home.clone() }
}

fn environment(policy: &Policy, call: &Call, places: &Places) -> Vec<(String, String)> {
    let given = |name: &str| call.environment.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
    let home = places.home.display().to_string();
    let mut all = vec![
        ("HOME".to_owned(), home.clone()),
        ("USER".to_owned(), "cage".to_owned()),
        ("LOGNAME".to_owned(), "cage".to_owned()),
        ("TMPDIR".to_owned(), "/tmp".to_owned()),
        ("XDG_CACHE_HOME".to_owned(), format!("{home}/.cache")),
    ];
    if !policy.destinations.is_empty() {
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
            all.push((name.to_owned(), proxy.clone()));
        }
        all.push(("NO_PROXY".to_owned(), "127.0.0.1,localhost".to_owned()));
        all.push(("no_proxy".to_owned(), "127.0.0.1,localhost".to_owned()));
        all.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    }
    for variable in &policy.variables {
        let placed = |value: &String| {
            value.replace("{work}", &places.work.display().to_string()).replace("{home}", &home)
        };
        if let Some(value) = variable.value.as_ref().map(placed).or_else(|| given(&variable.name)) {
            all.retain(|(name, _)| *name != variable.name);
            all.push((variable.name.clone(), value));
        }
    }
    all
}

fn listen(policy: &Policy) -> Vec<u16> {
    let mut ports: Vec<u16> = policy.services.iter().map(|service| service.port).collect();
    if !policy.destinations.is_empty() {
        ports.push(PROXY_PORT);
    }
    ports
}

fn filter(policy: &Policy, host: &Host) -> Filter {
    let calls = Calls::builtin();
    let granted: BTreeSet<u32> =
        policy.calls.iter().filter_map(|grant| calls.group(&grant.group)).flatten().copied().collect();
    Filter::granting(&granted, calls, host.tells)
}

fn rlimits(limits: &Limits) -> Vec<(Resource, u64)> {
    // One byte, not none: a kernel that hands cores to a program does so unless the limit is one.
    let mut all = vec![(Resource::Core, 1), (Resource::Locked, LOCKED), (Resource::Queues, QUEUES)];
    // Whoever runs it may have the right to go before everyone else on the processor.
    all.extend([(Resource::RealTime, 0), (Resource::Nice, 0)]);
    all.extend(limits.processes.map(|count| (Resource::Processes, u64::from(count))));
    all.extend(limits.descriptors.map(|count| (Resource::Descriptors, u64::from(count))));
    all.extend(limits.disk.map(|bytes| (Resource::FileSize, bytes.0)));
    all
}

fn group(limits: &Limits, host: &Host) -> Option<Group> {
    let cgroup = host.cgroup.as_ref()?;
    let mut settings = Vec::new();
    let mut set = |controller: &str, file: &str, value: String| {
        if cgroup.controllers.iter().any(|has| has == controller) {
            settings.push((file.to_owned(), value));
        }
    };
    if let Some(memory) = limits.memory {
        set("memory", "memory.max", memory.0.to_string());
        set("memory", "memory.swap.max", "0".to_owned());
        // One process too many does not leave the others half alive.
        set("memory", "memory.oom.group", "1".to_owned());
    }
    if let Some(processes) = limits.processes {
        // The cage's own first process counts too.
        set("pids", "pids.max", (u64::from(processes) + 1).to_string());
    }
    if let Some(cpu) = limits.cpu {
        set("cpu", "cpu.max", format!("{} 100000", u64::from(cpu.0) * 1000));
    }
    Some(Group { path: cgroup.parent.clone(), settings })
}

fn watch(policy: &Policy, mounts: &[Mount], host: &Host) -> Watch {
    let limits = &policy.limits;
    let enforced = host.cgroup.as_ref().is_some_and(|group| group.controllers.iter().any(|c| c == "memory"));
    let writable = mounts.iter().filter_map(|mount| match mount {
        Mount::Bind { from, writable: true, folder: true, .. } => Some(from.clone()),
        _ => None,
    });
    Watch {
        time: limits.time,
        grace: limits.grace.unwrap_or(GRACE),
        memory: limits.memory.filter(|_| !enforced).map(|bytes| bytes.0),
        disk: limits.disk.map(|bytes| bytes.0),
        writable: writable.collect(),
    }
}

#[cfg(test)]
mod tests;
