//! What this machine can do for a cage, by trying.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holdfast_cage::host::{Cgroup, Host};

use crate::group::OWN;
use crate::sys::{self, Side};

const TELL: u32 = 0x7fc0_0000;
const ERROR: u32 = 0x0005_0000;

pub(crate) fn say() -> ExitCode {
    let tried = try_namespaces();
    let host = Host {
        namespaces: tried.is_ok(),
        namespaces_why: tried.err(),
        landlock: sys::landlock_version(),
        seccomp: sys::filter_knows(ERROR),
        tells: sys::filter_knows(TELL),
        cgroup: cgroup(),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
    };
    let said = serde_json::to_vec(&host).map(|text| std::io::stdout().write_all(&text));
    if matches!(said, Ok(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::from(3) }
}

/// Makes an empty cage and lets it go.
fn try_namespaces() -> Result<(), String> {
    let all = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    match sys::fork_into(all) {
        Ok(Side::Child) => sys::leave(0),
        Ok(Side::Parent { child }) => sys::wait(child).map(drop).map_err(|e| e.to_string()),
        Err(e) => Err(format!("they cannot be made here: {e}{}", hint())),
    }
}

/// What usually forbids it.
fn hint() -> &'static str {
    let is = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "; the setting kernel.unprivileged_userns_clone is 0"
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "; the setting kernel.apparmor_restrict_unprivileged_userns is 1"
    } else if is("/proc/sys/user/max_user_namespaces", "0") {
        "; the setting user.max_user_namespaces is 0"
    } else {
        ""
    }
}

const ROOT: &str = "/sys/fs/cgroup";
const WANTED: [&str; 3] = ["memory", "pids", "cpu"];

/// A cgroup of the second kind in which others can be made: one that was handed over, or for root one of Holdfast's own.
fn cgroup() -> Option<Cgroup> {
    if !Path::new(ROOT).join("cgroup.controllers").exists() {
        return None;
    }
    // Root makes its own when a cage is built, with what the machine has; nobody else's tree is touched for a question.
    let (parent, list) = if rustix::process::geteuid().is_root() {
        (Path::new(ROOT).join(OWN), Path::new(ROOT).join("cgroup.controllers"))
    } else {
        let parent = handed_over()?;
        let list = parent.join("cgroup.subtree_control");
        (parent, list)
    };
    let controllers: Vec<String> =
        std::fs::read_to_string(list).ok()?.split_ascii_whitespace().map(str::to_owned).collect();
    let useful = WANTED.iter().any(|wanted| controllers.iter().any(|has| has == wanted));
    useful.then_some(Cgroup { parent, controllers })
}

/// The nearest cgroup above this process's own that it may make others in.
fn handed_over() -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = Path::new(ROOT).join(own.trim_start_matches('/'));
    let may = |path: &Path| {
        rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
            && rustix::fs::access(path.join("cgroup.procs"), rustix::fs::Access::WRITE_OK).is_ok()
            && std::fs::read_to_string(path.join("cgroup.subtree_control"))
                .is_ok_and(|c| !c.trim().is_empty())
    };
    own.ancestors()
        .skip(1)
        .take_while(|path| path.starts_with(ROOT))
        .find(|path| may(path))
        .map(Path::to_owned)
}
