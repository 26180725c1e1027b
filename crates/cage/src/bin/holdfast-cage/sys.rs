//! The calls nothing safe exists for. Each takes and gives what Rust understands, and is as small as it can be.
#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use holdfast_cage::filter::Instruction;

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Which side of a fork one is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Parent { child: i32 },
    Child,
}

/// Forks, with new namespaces for the child.
pub(crate) fn fork_into(namespaces: libc::c_int) -> io::Result<Side> {
    let flags = namespaces | libc::SIGCHLD;
    // SAFETY: without CLONE_VM this is a fork: the child has its own copy of everything. This program has one thread, so
    // nothing the child uses can be locked by one that is not there.
    let child = checked(unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0) })?;
    Ok(if child == 0 { Side::Child } else { Side::Parent { child: child as i32 } })
}

/// The same, with the child in a cgroup from its first moment. To move a process makes the kernel wait for all others, which
/// takes longer than the rest of a cage.
pub(crate) fn fork_into_group(namespaces: libc::c_int, group: BorrowedFd<'_>) -> io::Result<Side> {
    const INTO_CGROUP: u64 = 1 << 33;
    // SAFETY: zeros are valid arguments: no stack, no places to write to.
    let mut wanted: libc::clone_args = unsafe { zeroed() };
    wanted.flags = namespaces as u64 | INTO_CGROUP;
    wanted.exit_signal = libc::SIGCHLD as u64;
    wanted.cgroup = group.as_raw_fd() as u64;
    // SAFETY: as above, without CLONE_VM this is a fork; the arguments live through the call.
    let child = checked(unsafe {
        libc::syscall(libc::SYS_clone3, &raw const wanted, size_of::<libc::clone_args>())
    })?;
    Ok(if child == 0 { Side::Child } else { Side::Parent { child: child as i32 } })
}

/// How a process ended, and what it and those it waited for used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) pid: i32,
    pub(crate) status: i32,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    /// Bytes of its largest process.
    pub(crate) memory: u64,
}

/// Waits for a child; any for -1.
pub(crate) fn wait(pid: i32) -> io::Result<Waited> {
    let mut status = 0;
    // SAFETY: zeros are a valid `rusage`; both pointers are to live places of the right type.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = zeroed();
        (checked(libc::c_long::from(libc::wait4(pid, &raw mut status, 0, &raw mut usage)))?, usage)
    };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Ok(Waited {
        pid: pid as i32,
        status,
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        memory: usage.ru_maxrss as u64 * 1024,
    })
}

/// Closes every descriptor from one on.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: it takes numbers. What is closed is nothing this program owns: it is called before it opens anything, and
    // right before the program begins.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first as libc::c_uint, libc::c_uint::MAX, 0) })
        .map(drop)
}

/// Ends every process of the cage that can be ended so, when the first process is told to end.
pub(crate) fn hand_on_the_end() -> io::Result<()> {
    extern "C" fn hand_on(_: libc::c_int) {
        // SAFETY: `kill` may be called in a handler. From the first process of a cage it reaches the others in it only.
        unsafe { libc::kill(-1, libc::SIGTERM) };
    }
    // SAFETY: zeros are a valid `sigaction`, and the handler does only what a handler may do.
    let result = unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = hand_on as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut())
    };
    checked(libc::c_long::from(result)).map(drop)
}

/// Gives every signal back its ordinary meaning: what a caller ignores, the programs it starts ignore too.
pub(crate) fn forget_signals() {
    for signal in 1..=64 {
        // SAFETY: the ordinary meaning runs nothing of this program's. Those that cannot be changed are refused, which is as
        // good.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Whether two processes have one memory, as those have that are about to become another program. Where the kernel does not
/// say, they have not.
pub(crate) fn is_one_memory(one: i32, other: i32) -> bool {
    const MEMORY: libc::c_int = 1;
    // SAFETY: it takes numbers and gives one.
    other > 0 && unsafe { libc::syscall(libc::SYS_kcmp, one, other, MEMORY, 0, 0) } == 0
}

/// Leaves the tree of cgroups above one's own out of sight.
pub(crate) fn own_cgroups() -> io::Result<()> {
    // SAFETY: it takes a number; what is parted is nothing this program holds on to.
    checked(libc::c_long::from(unsafe { libc::unshare(libc::CLONE_NEWCGROUP) })).map(drop)
}

/// What a mount may not do.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    namespace: u64,
}

pub(crate) const READ_ONLY: u64 = 1;
pub(crate) const NO_SETUID: u64 = 2;
pub(crate) const NO_DEVICES: u64 = 4;
pub(crate) const NO_PROGRAMS: u64 = 8;

/// Sets what a mount, and with `all` everything mounted below it, may not do.
pub(crate) fn restrict_mount(mount: BorrowedFd<'_>, restrictions: u64, all: bool) -> io::Result<()> {
    let attributes = MountAttributes { set: restrictions, clear: 0, propagation: 0, namespace: 0 };
    let flags = libc::AT_EMPTY_PATH | if all { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, the attributes are of the kernel's layout and live through the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    })
    .map(drop)
}

/// Which Landlock the kernel has.
pub(crate) fn landlock_version() -> Option<u32> {
    // SAFETY: with no attributes and this flag the call only answers a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
    u32::try_from(version).ok()
}

/// Whether the kernel knows an action of the filter.
pub(crate) fn filter_knows(action: u32) -> bool {
    const GET_ACTION_AVAIL: libc::c_long = 2;
    // SAFETY: the kernel reads one number from a live place.
    unsafe { libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAIL, 0, &raw const action) == 0 }
}

/// Puts the filter up for this process and all it becomes. With `told`, gives the descriptor refused calls are read from.
pub(crate) fn filter(program: &[Instruction], told: bool) -> io::Result<Option<OwnedFd>> {
    const SET_MODE_FILTER: libc::c_long = 1;
    const NEW_LISTENER: libc::c_long = 8;
    const WAIT_KILLABLE: libc::c_long = 32;
    let mut program: Vec<libc::sock_filter> = program
        .iter()
        .map(|step| libc::sock_filter { code: step.code, jt: step.then, jf: step.otherwise, k: step.value })
        .collect();
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    let put_up = |flags: libc::c_long| {
        // SAFETY: the program lives through the call, and the kernel checks it and copies it.
        checked(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) })
    };
    let made = if told {
        // Before Linux 5.19 a signal can come between a call and its refusal, and the call is made anew.
        put_up(NEW_LISTENER | WAIT_KILLABLE).or_else(|_| put_up(NEW_LISTENER))?
    } else {
        put_up(0)?
    };
    // SAFETY: with this flag the kernel gives a new descriptor that is nobody else's.
    Ok(told.then(|| unsafe { OwnedFd::from_raw_fd(made as RawFd) }))
}

/// A refused call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    id: u64,
    pub(crate) number: u32,
}

/// Takes the next refused call; nothing where the one who made it is gone.
pub(crate) fn next_refused(listener: BorrowedFd<'_>) -> io::Result<Option<Asked>> {
    // SAFETY: zeros are a valid notification, as the kernel wants it.
    let mut asked: libc::seccomp_notif = unsafe { zeroed() };
    // SAFETY: the request takes a pointer to a notification of the kernel's layout, which lives through the call.
    let result =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut asked) };
    match checked(libc::c_long::from(result)) {
        Ok(_) => Ok(Some(Asked { id: asked.id, number: asked.data.nr as u32 })),
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Refuses it.
pub(crate) fn refuse(listener: BorrowedFd<'_>, asked: Asked, error: i32) {
    let answer = libc::seccomp_notif_resp { id: asked.id, val: 0, error: -error, flags: 0 };
    // SAFETY: the request takes a pointer to an answer of the kernel's layout. It fails where the asker is gone, which is
    // as good.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw const answer) };
}

/// Brings the cage's own loopback up.
pub(crate) fn raise_loopback(socket: impl AsFd) -> io::Result<()> {
    // SAFETY: zeros are a valid request, and the name is shorter than its place.
    let request = unsafe {
        let mut request: libc::ifreq = zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        request
    };
    // SAFETY: the request takes a pointer to such a structure, which lives through the call.
    let result =
        unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    checked(libc::c_long::from(result)).map(drop)
}

/// Ends this process at once, without anything the library would do at an end.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(code) }
}
