//! Shared memory, semaphores and message queues of the host, by their names and keys.

use std::ffi::CString;
use std::path::Path;

use crate::files::{open, read_some};
use crate::judge::{could_not, done, refused, through};
use crate::raw::{NOWHERE, ask};

attempts! { SharedMemory:
    "open-shared-memory" [View] HARMLESS
    "Opens shared memory of the host by its name."
    => |d| open(Path::new("/dev/shm").join(d.shared_memory()?));

    "open-shared-memory-by-key" [IpcNamespace] HARMLESS
    "Asks for shared memory of the host by its key."
    => |d| done(ask!(SHMGET, *d.shared_memory_key()?, 0, 0), "it is there");

    "open-semaphores-by-key" [IpcNamespace] HARMLESS
    "Asks for semaphores of the host by their key."
    => |d| done(ask!(SEMGET, *d.semaphore_key()?, 0, 0), "they are there");

    "open-queue-by-key" [IpcNamespace] HARMLESS
    "Asks for a message queue of the host by its key."
    => |d| done(ask!(MSGGET, *d.queue_key()?, 0), "it is there");

    "open-queue-by-name" [IpcNamespace Landlock] HARMLESS
    "Opens a message queue of the host by its name."
    => |d| {
        let name = CString::new(d.queue_name()?.as_str()).map_err(|_| could_not("the name holds a zero byte"))?;
        done(ask!(MQ_OPEN, &name, libc::O_RDONLY | libc::O_NONBLOCK, 0, NOWHERE), "it is open")
    };

    "open-queue-by-path" [View IpcNamespace Landlock Kernel] HARMLESS
    "Opens a message queue of the host by its path."
    => |d| open(Path::new("/dev/mqueue").join(d.queue_name()?));

    "list-shared-memory" [IpcNamespace] HARMLESS
    "Looks for shared memory of the host in the kernel's list."
    => |d| {
        let key = d.shared_memory_key()?.to_string();
        let listed = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.lines().any(|line| line.split_whitespace().next() == Some(key.as_str()))
        };
        Ok(match read_some("/proc/sysvipc/shm") {
            Ok(bytes) if listed(&bytes) => through("it is listed"),
            Ok(_) => refused("it is not listed"),
            Err(e) => refused(e.to_string()),
        })
    };
}
