//! Memory where no cgroup counts it: all of it is seen, wherever it is put, and none of it twice.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::time::Duration;

use holdfast_cage::amount::Bytes;
use holdfast_cage::wire::End;
use support::{Outcome, Trial, folder};

/// With 64 MB granted.
fn run(script: &str) -> Outcome {
    let work = folder();
    let trial = Trial::of("work", work.path()).limited(|limits| {
        limits.memory = Some(Bytes(64 << 20));
        limits.time = Some(Duration::from_secs(20));
    });
    trial.run(&["/usr/bin/python3", "-c", script])
}

fn is_ended_for(what: &str, script: &str) {
    let done = run(script);
    assert_eq!(done.evidence.ended.end, End::OutOfMemory, "{what}: {done:?}");
}

#[test]
fn memory_is_counted_when_the_first_thread_has_ended() {
    is_ended_for(
        "the memory of the other threads",
        r#"
import ctypes, os, threading, time
def state(): return open(f"/proc/self/task/{os.getpid()}/stat").read().split(")")[1].split()[0]
def eat():
    while state() != "Z": time.sleep(0.001)
    held = b"x" * (200 << 20)
    time.sleep(60)
threading.Thread(target=eat).start()
ctypes.CDLL(None).syscall(60, 0)
"#,
    );
}

#[test]
fn memory_the_kernel_needs_for_it_is_counted_too() {
    is_ended_for(
        "tables of pages, for memory that is only looked at",
        r#"
import mmap, time
much, step = 1 << 36, 2 << 20
seen = mmap.mmap(-1, much, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
for at in range(0, much, step): seen[at]
time.sleep(60)
"#,
    );
    is_ended_for(
        "files with nothing in them",
        r#"
import os, time
for n in range(80000): os.mknod(f"/tmp/{n}")
time.sleep(60)
"#,
    );
}

#[test]
fn what_is_there_once_is_counted_once() {
    // A child that has not become a program yet has its parent's memory: this one waits at a pipe for as long as it takes
    // to be seen. And a file in a temporary folder that is mapped is there once.
    let begun = run(r#"
import os, time
os.mkfifo("/tmp/wait")
if os.fork() == 0:
    time.sleep(0.5)
    open("/tmp/wait", "w")
    os._exit(0)
held = b"x" * (40 << 20)
child = os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/tmp/wait", os.O_RDONLY, 0)])
os.waitpid(child, 0)
print("begun")
"#);
    assert_eq!(begun.out, "begun\n", "{begun:?}");
    let mapped = |more: &str| {
        run(&format!(
            r#"
import mmap, time
def fill(m):
    for at in range(0, 36 << 20, 4096): m[at] = 1
    return m
f = open("/dev/shm/f", "w+b"); f.truncate(36 << 20)
held = fill(mmap.mmap(f.fileno(), 36 << 20))
{more}
time.sleep(0.4)
print("mapped")
"#
        ))
    };
    let once = mapped("");
    assert_eq!(once.out, "mapped\n", "{once:?}");
    let twice = mapped("more = fill(mmap.mmap(-1, 36 << 20))");
    assert_eq!(twice.evidence.ended.end, End::OutOfMemory, "{twice:?}");
}
