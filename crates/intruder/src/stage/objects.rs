//! System V objects and a message queue, which outlive whoever makes them unless they are removed.
#![allow(unsafe_code, reason = "there is no safe wrapper for them here")]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

/// One of each kind, with one key and one name, open to everyone.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) key: i32,
    pub(super) name: String,
    memory: i32,
    semaphores: i32,
    queue: i32,
}

impl Objects {
    pub(super) fn make() -> io::Result<Objects> {
        // Several stages may be there at once, in one process or in several.
        static NEXT: AtomicI32 = AtomicI32::new(0);
        let (process, nth) = (std::process::id().cast_signed(), NEXT.fetch_add(1, Ordering::Relaxed));
        let key = (process << 4 | nth) ^ 0x4000_0000;
        let name = format!("intruder-decoy-{process}-{nth}");
        // Anybody can put a link there.
        File::create_new(Path::new("/dev/shm").join(&name))?.write_all(b"of the host")?;
        let mode = libc::IPC_CREAT | libc::IPC_EXCL | 0o666;
        // SAFETY: these take numbers only.
        let (memory, semaphores, queue) =
            unsafe { (libc::shmget(key, 4096, mode), libc::semget(key, 1, mode), libc::msgget(key, mode)) };
        let objects = Objects { key, name, memory, semaphores, queue };
        if memory < 0 || semaphores < 0 || queue < 0 {
            return Err(io::Error::last_os_error());
        }
        let path = objects.path()?;
        let (flags, attributes) =
            (libc::O_CREAT | libc::O_EXCL | libc::O_RDWR, std::ptr::null::<libc::mq_attr>());
        // SAFETY: the name ends in zero and outlives the calls; no attributes are given; the descriptor is closed once.
        unsafe {
            let mask = libc::umask(0);
            let opened = libc::mq_open(path.as_ptr(), flags, 0o666 as libc::mode_t, attributes);
            libc::umask(mask);
            if opened < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::mq_close(opened);
        }
        Ok(objects)
    }

    fn path(&self) -> io::Result<CString> {
        CString::new(format!("/{}", self.name)).map_err(io::Error::other)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = fs::remove_file(Path::new("/dev/shm").join(&self.name));
        let Ok(path) = self.path() else { return };
        // SAFETY: removes what `make` made, by number and by a name that ends in zero.
        unsafe {
            libc::shmctl(self.memory, libc::IPC_RMID, std::ptr::null_mut());
            libc::semctl(self.semaphores, 0, libc::IPC_RMID);
            libc::msgctl(self.queue, libc::IPC_RMID, std::ptr::null_mut());
            libc::mq_unlink(path.as_ptr());
        }
    }
}
