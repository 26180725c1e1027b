//! What the program sees: a root of its own, and in it exactly what the plan names.
//!
//! Everything that is taken from the machine is taken hold of first, by descriptor; then the new root is filled, without
//! following a link, and becomes the root; then the old one is let go.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use holdfast_cage::plan::{Mount, Plan};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags,
};

use crate::inner::{Failed, Step as _};
use crate::sys::{self, NO_DEVICES, NO_PROGRAMS, NO_SETUID, READ_ONLY};

/// What of the machine's processes and kernel nobody in a cage needs to read.
const MASKED: &[&str] = &[
    "kcore",
    "keys",
    "key-users",
    "kallsyms",
    "kmsg",
    "sysrq-trigger",
    "timer_list",
    "sched_debug",
    "kpagecount",
    "kpageflags",
    "config.gz",
    "slabinfo",
    "vmallocinfo",
    "iomem",
    "ioports",
];

/// What is taken from the machine, mount by mount of the plan.
pub(crate) struct Held(Vec<Vec<OwnedFd>>);

/// Takes hold of everything the plan names. This is done as whoever asked, so that a folder can be granted whose parents
/// stay shut; what is in it is read with the program's own rights.
pub(crate) fn take(plan: &Plan) -> Result<Held, Failed> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .step("parting the cage's mounts from the machine's")?;
    plan.mounts.iter().map(take_hold).collect::<Result<_, _>>().map(Held)
}

/// Fills the new root and enters it. Gives the temporary folders, so that what is in them can be counted.
pub(crate) fn build(plan: &Plan, held: Held) -> Result<Vec<OwnedFd>, Failed> {
    let mut root = Root::make()?;
    for (mount, held) in plan.mounts.iter().zip(held.0) {
        root.put(mount, held)?;
    }
    root.enter()
}

/// Something of the machine, apart from the machine's tree.
fn held(path: &Path, restrictions: u64) -> Result<OwnedFd, Errno> {
    // By its own name, every part of it: a link could be somebody's who may not grant what it leads to.
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let found = rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let held = rustix::mount::open_tree(&found, "", flags)?;
    restrict(&held, restrictions, true)?;
    Ok(held)
}

/// A symbolic link itself. Mounted over itself, it leads where it led and can be neither removed nor replaced.
fn same_link(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let found = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?;
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    rustix::mount::open_tree(&found, "", flags)
}

/// What covers a file. The machine's root is still there while the new one is filled.
fn nothing() -> Result<OwnedFd, Errno> {
    held(Path::new("/dev/null"), NO_SETUID | NO_PROGRAMS)
}

fn restrict(mount: &OwnedFd, restrictions: u64, all: bool) -> Result<(), Errno> {
    sys::restrict_mount(mount.as_fd(), restrictions, all)
        .map_err(|e| e.raw_os_error().map_or(Errno::INVAL, Errno::from_raw_os_error))
}

fn take_hold(mount: &Mount) -> Result<Vec<OwnedFd>, Failed> {
    match mount {
        Mount::Bind { from, writable, run, .. } => {
            let mut restrictions = NO_SETUID | NO_DEVICES;
            if !writable {
                restrictions |= READ_ONLY;
            }
            if !run {
                restrictions |= NO_PROGRAMS;
            }
            Ok(vec![held(from, restrictions).step(format!("taking hold of {}", from.display()))?])
        }
        Mount::Same { at } => Ok(vec![same_link(at).step(format!("taking hold of {}", at.display()))?]),
        Mount::Devices { names, .. } => names
            .iter()
            .map(|name| {
                held(&Path::new("/dev").join(name), NO_SETUID | NO_PROGRAMS)
                    .step(format!("taking hold of /dev/{name}"))
            })
            .collect(),
        _ => Ok(Vec::new()),
    }
}

/// A file system of its own.
fn made(kind: &str, options: &[(&str, String)], restrictions: u64) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        rustix::mount::fsconfig_set_string(&context, *name, value.as_str())?;
    }
    rustix::mount::fsconfig_create(&context)?;
    let mount = rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    restrict(&mount, restrictions, false)?;
    Ok(mount)
}

/// The root that is being filled.
struct Root {
    descriptor: OwnedFd,
    /// The file systems that are the cage's own.
    own: Vec<u64>,
    temporary: Vec<OwnedFd>,
}

impl Root {
    fn make() -> Result<Root, Failed> {
        let options = [("mode", "0755".to_owned()), ("size", "4m".to_owned())];
        let mount = made("tmpfs", &options, NO_SETUID | NO_DEVICES).step("making the cage's root")?;
        // Any folder will do: the machine's other mounts are out of sight soon.
        let over = ["/usr", "/tmp"]
            .iter()
            .find(|path| Path::new(path).is_dir())
            .ok_or("there is no folder")
            .step("placing the cage's root")?;
        attach(&mount, CWD, over).step("placing the cage's root")?;
        let descriptor =
            rustix::fs::open(*over, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .step("entering the cage's root")?;
        let own = vec![rustix::fs::fstat(&descriptor).step("entering the cage's root")?.st_dev];
        Ok(Root { descriptor, own, temporary: Vec::new() })
    }

    fn put(&mut self, mount: &Mount, held: Vec<OwnedFd>) -> Result<(), Failed> {
        match mount {
            Mount::Bind { at, folder, .. } => {
                let place = self.place(at, *folder)?;
                held.iter().try_for_each(|held| attach_at(held, &place)).step(shown(at))
            }
            Mount::Link { at, to } => self.link(at, to),
            Mount::Temporary { at, bytes, run } => {
                let restrictions = NO_SETUID | NO_DEVICES | if *run { 0 } else { NO_PROGRAMS };
                self.temporary(at, *bytes, restrictions)
            }
            Mount::Hidden { at, folder: true } => {
                let place = self.place(at, true)?;
                let options = [("mode", "0".to_owned()), ("size", "4k".to_owned())];
                let restrictions = NO_SETUID | NO_DEVICES | NO_PROGRAMS | READ_ONLY;
                made("tmpfs", &options, restrictions)
                    .and_then(|made| attach_at(&made, &place))
                    .step(shown(at))
            }
            Mount::Hidden { at, folder: false } => self.cover(at, &nothing().step(shown(at))?),
            Mount::Same { at } => held.iter().try_for_each(|held| self.cover(at, held)),
            Mount::File { at, content } => self.file(at, content),
            Mount::Processes => self.processes(),
            Mount::Devices { names, shared_memory } => self.devices(names, &held, *shared_memory),
        }
    }

    /// A link, unless what is granted around it has it already.
    fn link(&self, at: &Path, to: &Path) -> Result<(), Failed> {
        let (folder, name) = self.parent(at)?;
        let there = rustix::fs::readlinkat(&folder, &name, Vec::new());
        if there.is_ok_and(|there| there.to_bytes() == to.as_os_str().as_bytes()) {
            return Ok(());
        }
        self.may_make_in(&folder).step(shown(at))?;
        rustix::fs::symlinkat(to, &folder, &name).step(shown(at))
    }

    /// Over a file or a link, nothing or the link itself.
    fn cover(&self, at: &Path, with: &OwnedFd) -> Result<(), Failed> {
        // Where it is a link, the link is covered, and not what it leads to.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let place = rustix::fs::openat2(&self.descriptor, relative(at), flags, Mode::empty(), resolve);
        attach_at(with, &place.step(shown(at))?).step(shown(at))
    }

    fn file(&self, at: &Path, content: &str) -> Result<(), Failed> {
        let (folder, name) = self.parent(at)?;
        self.may_make_in(&folder).step(shown(at))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &name, flags, Mode::from_raw_mode(0o644)).step(shown(at))?;
        rustix::io::write(&file, content.as_bytes()).step(shown(at)).map(drop)
    }

    fn processes(&self) -> Result<(), Failed> {
        let proc = Path::new("/proc");
        let place = self.place(proc, true)?;
        made("proc", &[], NO_SETUID | NO_DEVICES | NO_PROGRAMS)
            .and_then(|made| attach_at(&made, &place))
            .step(shown(proc))?;
        for name in MASKED {
            let at = proc.join(name);
            // Kernels differ in what they have.
            if let Ok(place) = self.open(&at, false) {
                nothing().and_then(|nothing| attach_at(&nothing, &place)).step(shown(&at))?;
            }
        }
        Ok(())
    }

    fn devices(&mut self, names: &[String], held: &[OwnedFd], shared_memory: u64) -> Result<(), Failed> {
        let dev = Path::new("/dev");
        for (name, held) in names.iter().zip(held) {
            let at = dev.join(name);
            let place = self.place(&at, false)?;
            attach_at(held, &place).step(shown(&at))?;
        }
        for (name, to) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            let (folder, name) = self.parent(&dev.join(name))?;
            rustix::fs::symlinkat(to, &folder, &name).step(shown(dev))?;
        }
        self.temporary(&dev.join("shm"), shared_memory, NO_SETUID | NO_DEVICES | NO_PROGRAMS)
    }

    /// An empty folder of its own.
    fn temporary(&mut self, at: &Path, bytes: u64, restrictions: u64) -> Result<(), Failed> {
        let place = self.place(at, true)?;
        let options =
            [("mode", "0700".to_owned()), ("size", bytes.to_string()), ("nr_inodes", "1000000".to_owned())];
        let made = made("tmpfs", &options, restrictions).step(shown(at))?;
        attach_at(&made, &place).step(shown(at))?;
        self.own.push(rustix::fs::fstat(&made).step(shown(at))?.st_dev);
        self.temporary.push(made);
        Ok(())
    }

    /// What is there, without following a link and without leaving the root.
    fn open(&self, at: &Path, folder: bool) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | if folder { OFlags::DIRECTORY } else { OFlags::empty() };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.descriptor, relative(at), flags, Mode::empty(), resolve)
    }

    /// A place to mount at: what is there, or an empty folder or file made for it.
    fn place(&self, at: &Path, folder: bool) -> Result<OwnedFd, Failed> {
        match self.open(at, folder) {
            Err(Errno::NOENT) => {}
            other => return other.step(shown(at)),
        }
        let (parent, name) = self.parent(at)?;
        self.may_make_in(&parent).step(shown(at))?;
        if folder {
            rustix::fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o755)).step(shown(at))?;
        } else {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&parent, &name, flags, Mode::from_raw_mode(0o644)).step(shown(at))?;
        }
        self.open(at, folder).step(shown(at))
    }

    /// The folder something is in, made where it is missing, and its name.
    fn parent(&self, at: &Path) -> Result<(OwnedFd, PathBuf), Failed> {
        let name = at.file_name().ok_or("the root is no place for it").step(shown(at))?;
        let parent = at.parent().unwrap_or(Path::new("/"));
        let mut folder = self.descriptor.try_clone().step(shown(parent))?;
        let mut so_far = PathBuf::from("/");
        for part in parent.components() {
            let Component::Normal(part) = part else { continue };
            so_far.push(part);
            folder = match self.open(&so_far, true) {
                Err(Errno::NOENT) => {
                    self.may_make_in(&folder).step(shown(&so_far))?;
                    rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755)).step(shown(&so_far))?;
                    self.open(&so_far, true).step(shown(&so_far))?
                }
                other => other.step(shown(&so_far))?,
            };
        }
        Ok((folder, PathBuf::from(name)))
    }

    /// Nothing is made in what belongs to the machine.
    fn may_make_in(&self, folder: &OwnedFd) -> Result<(), String> {
        let found = rustix::fs::fstat(folder).map_err(|e| e.to_string())?;
        if self.own.contains(&found.st_dev) {
            Ok(())
        } else {
            Err("it is not there, and nothing is made in what is granted".to_owned())
        }
    }

    /// Makes it the root, unchangeable, and lets the old one go.
    fn enter(self) -> Result<Vec<OwnedFd>, Failed> {
        sys::restrict_mount(self.descriptor.as_fd(), READ_ONLY | NO_SETUID | NO_DEVICES, false)
            .step("closing the cage's root")?;
        rustix::process::fchdir(&self.descriptor).step("entering the cage's root")?;
        rustix::process::pivot_root(".", ".").step("changing the root")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH).step("letting the old root go")?;
        rustix::process::chdir("/").step("entering the new root")?;
        Ok(self.temporary)
    }
}

fn shown(at: &Path) -> String {
    format!("putting {} into the cage", at.display())
}

fn relative(at: &Path) -> &Path {
    at.strip_prefix("/").unwrap_or(at)
}

fn attach(mount: &OwnedFd, folder: BorrowedFd<'_>, at: &str) -> Result<(), Errno> {
    rustix::mount::move_mount(mount, "", folder, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn attach_at(mount: &OwnedFd, place: &OwnedFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, "", place, "", flags)
}
