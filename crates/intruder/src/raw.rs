//! System calls that no safe wrapper offers, and `fork`.
//!
//! This is the only module with `unsafe`. It needs it because the intruder has to ask for exactly what the fences
//! forbid, often with arguments that no wrapper would let pass. [`make_call`] keeps them safe: it makes only calls
//! from the list in `calls`, whose memory is what is handed over here; calls that would follow pointers within
//! structures, map memory or return twice have functions of their own.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};

use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

use crate::Outcome;
use crate::calls::Call;
use crate::errno::Errno;
use crate::judge::could_not;

/// Room that is given to the kernel for one answer. No call in the list writes more: the structures are smaller,
/// and where a call takes a length it is never told a larger one.
pub(crate) const ROOM: usize = 4096;

/// The null pointer, where a call takes one.
pub(crate) const NOWHERE: i64 = 0;

/// One argument of a system call.
#[derive(Debug)]
pub(crate) enum Arg<'a> {
    /// A number, a flag, a descriptor, or [`NOWHERE`].
    Number(i64),
    /// A text that the kernel reads.
    Text(&'a CStr),
    /// A structure that the kernel reads.
    Bytes(&'a [u8]),
    /// A structure that the kernel reads and writes.
    Filled(&'a [u8]),
    /// Zeroed room that the kernel writes to.
    Room,
}

macro_rules! numbers {
    ($($kind:ty),+) => {
        $(impl From<$kind> for Arg<'_> {
            fn from(number: $kind) -> Self {
                Arg::Number(number as i64)
            }
        })+
    };
}
numbers!(i32, u32, i64, u64, usize);

impl<'a> From<&'a CStr> for Arg<'a> {
    fn from(text: &'a CStr) -> Self {
        Arg::Text(text)
    }
}

impl<'a> From<&'a CString> for Arg<'a> {
    fn from(text: &'a CString) -> Self {
        Arg::Text(text)
    }
}

impl<'a> From<&'a Vec<u8>> for Arg<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Arg::Bytes(bytes)
    }
}

/// What a call returned, and what the kernel wrote to the rooms.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) value: i64,
    rooms: Vec<[u8; ROOM]>,
}

impl Answer {
    /// The value as a descriptor.
    pub(crate) fn descriptor(&self) -> i32 {
        i32::try_from(self.value).unwrap_or(-1)
    }

    /// What was written to the nth room.
    pub(crate) fn room(&self, nth: usize) -> &[u8] {
        self.rooms.get(nth).map_or(&[], |room| &room[..])
    }

    /// Four bytes of the nth room.
    pub(crate) fn word32(&self, nth: usize, at: usize) -> u32 {
        self.room(nth).get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }
}

/// Whether the kernel gave this process more, when it was started, than its caller has.
pub(crate) fn is_secure() -> bool {
    // SAFETY: it takes a number and gives one.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// `ask!(MOUNT, c"none", &path, 0)` makes the call with the arguments turned into [`Arg`]s.
macro_rules! ask {
    ($call:ident $(, $arg:expr)* $(,)?) => {
        $crate::raw::make_call($crate::calls::Call::$call, [$($crate::raw::Arg::from($arg)),*])
    };
}
pub(crate) use ask;

/// Makes a system call of the list.
pub(crate) fn make_call<const N: usize>(call: Call, args: [Arg<'_>; N]) -> Result<Answer, Errno> {
    // Filled beforehand and never grown afterwards: the kernel is given the addresses.
    let mut rooms: Vec<[u8; ROOM]> = args.iter().filter_map(Arg::room).collect();
    let mut next_room = rooms.iter_mut();
    let mut registers = [0 as libc::c_long; 6];
    for (register, arg) in registers.iter_mut().zip(&args) {
        *register = match arg {
            Arg::Number(number) => *number as libc::c_long,
            Arg::Text(text) => text.as_ptr() as libc::c_long,
            Arg::Bytes(bytes) => bytes.as_ptr() as libc::c_long,
            Arg::Filled(_) | Arg::Room => {
                next_room.next().map_or(0, |room| room.as_mut_ptr() as libc::c_long)
            }
        };
    }
    let [a, b, c, d, e, f] = registers;
    // SAFETY: the calls of the list read and write memory only through their pointer arguments. Those are texts
    // that end in zero, structures of the size the call takes, rooms of `ROOM` bytes (see there), or null, which
    // the kernel checks. All of them outlive the call. None of the calls changes this process's memory or
    // descriptors in a way that Rust relies on.
    let value = unsafe { libc::syscall(call.number(), a, b, c, d, e, f) };
    if value == -1 { Err(last_error()) } else { Ok(Answer { value: value as i64, rooms }) }
}

impl Arg<'_> {
    fn room(&self) -> Option<[u8; ROOM]> {
        let mut room = [0; ROOM];
        match self {
            Arg::Room => Some(room),
            Arg::Filled(bytes) => {
                let len = bytes.len().min(ROOM);
                room[..len].copy_from_slice(&bytes[..len]);
                Some(room)
            }
            _ => None,
        }
    }
}

/// Words of 64 bits as the bytes of a structure.
pub(crate) fn words64(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Words of 32 bits as the bytes of a structure.
pub(crate) fn words32(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The two sides of a fork.
pub(crate) enum Side {
    Parent(Pid),
    Child,
}

/// Splits the process. The caller has to have a single thread: the child would find the locks of the others held.
pub(crate) fn fork() -> Result<Side, Errno> {
    // SAFETY: the intruder has a single thread, so the child is a whole copy.
    match unsafe { libc::fork() } {
        -1 => Err(last_error()),
        0 => Ok(Side::Child),
        pid => Pid::from_raw(pid).map(Side::Parent).ok_or(Errno(libc::ECHILD)),
    }
}

/// Ends the process at once: no buffers are written and no destructors run, which belong to the parent.
pub(crate) fn end(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Runs `act` in a child and says how that ended.
pub(crate) fn in_child(act: impl FnOnce() -> i32) -> Result<WaitStatus, Outcome> {
    match fork() {
        Ok(Side::Child) => {
            let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
            end(act())
        }
        Ok(Side::Parent(child)) => match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => Ok(status),
            _ => Err(could_not("waiting for a child failed")),
        },
        Err(e) => Err(could_not(format!("making a child: {e}"))),
    }
}

/// `clone` with `flags`, like a fork. The child ends at once; the parent gets its number and waits for it.
pub(crate) fn clone_briefly(flags: i32) -> Result<(), Errno> {
    let flags = i64::from(flags) | i64::from(libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with no stack given, the child is a copy of this process as after a fork; the
    // null pointers are not used with these flags.
    born(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })
}

/// `clone3` with `flags`, in the same way.
pub(crate) fn clone3_briefly(flags: u64) -> Result<(), Errno> {
    // Flags, then pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls.
    let args = [flags, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    // SAFETY: `args` is the first version of the structure, 64 bytes, and outlives the call. Without CLONE_VM and
    // with no stack given, the child is a copy of this process as after a fork.
    born(unsafe { libc::syscall(libc::SYS_clone3, args.as_ptr(), size_of_val(&args)) })
}

fn born(number: libc::c_long) -> Result<(), Errno> {
    match number {
        -1 => Err(last_error()),
        0 => end(0),
        // In a process namespace of its own making the number may not be known here; then there is nobody to wait
        // for.
        number => {
            let child = i32::try_from(number).ok().and_then(Pid::from_raw);
            let _ = child.map(|child| waitpid(Some(child), WaitOptions::empty()));
            Ok(())
        }
    }
}

/// Which way memory of another process is copied.
#[derive(Clone, Copy)]
pub(crate) enum Copy {
    Read,
    Write,
}

/// Asks to copy eight bytes from or to an address of process `pid` at which nothing can be mapped.
pub(crate) fn copy_memory(pid: i32, way: Copy) -> Result<i64, Errno> {
    let mut here = [0_u8; 8];
    let near = libc::iovec { iov_base: here.as_mut_ptr().cast(), iov_len: here.len() };
    let far = libc::iovec { iov_base: std::ptr::without_provenance_mut(8), iov_len: here.len() };
    // SAFETY: the near vector names `here`, which outlives the call; the far one is an address in the other
    // process, below the lowest that can be mapped.
    let copied = unsafe {
        match way {
            Copy::Read => libc::process_vm_readv(pid, &near, 1, &far, 1, 0),
            Copy::Write => libc::process_vm_writev(pid, &near, 1, &far, 1, 0),
        }
    };
    if copied == -1 { Err(last_error()) } else { Ok(copied as i64) }
}

/// Puts a filter on this process that allows everything.
pub(crate) fn allow_every_call() -> Result<(), Errno> {
    // BPF_RET | BPF_K with SECCOMP_RET_ALLOW.
    let mut allow = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x7fff_0000 }];
    let program = libc::sock_fprog { len: 1, filter: allow.as_mut_ptr() };
    let mode = libc::SECCOMP_SET_MODE_FILTER as libc::c_long;
    // SAFETY: `program` names one instruction; the kernel copies it before the call returns.
    let put = unsafe { libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program) };
    if put == -1 { Err(last_error()) } else { Ok(()) }
}

/// Maps `bytes` of fresh memory and pins it. The mapping stays until the process ends.
pub(crate) fn pin_memory(bytes: usize) -> Result<(), Errno> {
    let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new anonymous mapping at an address of the kernel's choice; no reference into it is made.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(last_error());
    }
    // SAFETY: pins exactly that mapping.
    if unsafe { libc::mlock(start, bytes) } == -1 { Err(last_error()) } else { Ok(()) }
}

/// `getpid` by the 32-bit entry. It kills the process where the kernel has no such entry.
#[cfg(target_arch = "x86_64")]
pub(crate) fn getpid_by_old_entry() -> i64 {
    let mut value: i64 = 20;
    // SAFETY: call 20 of the 32-bit table takes no argument and touches no memory; the registers that old kernels
    // clear are named.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") value,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    value
}

/// There is no such entry on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn getpid_by_old_entry() -> i64 {
    -i64::from(libc::ENOSYS)
}

fn last_error() -> Errno {
    std::io::Error::last_os_error().into()
}
