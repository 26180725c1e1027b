//! The next segment, filled ahead while the present one is still being written.
//!
//! Filling space in the segment being written makes every tenth busy batch wait for the file to grow. So once a
//! segment is half full by size, which a quiet host never reaches before its hour is over, a thread of its own
//! fills a spare file, and rotation gives it the new segment's name. Where there is none in time, the segment
//! grows by steps as before.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::segment::{Ready, STEP};

#[derive(Debug)]
pub(crate) struct Spare {
    path: PathBuf,
    filling: Option<JoinHandle<io::Result<()>>>,
    /// Tells the thread to leave off.
    stop: Arc<AtomicBool>,
}

impl Spare {
    /// Takes charge of the name `path`, and of the one beside it; what an earlier process left there is removed.
    pub(crate) fn new(path: PathBuf) -> io::Result<Spare> {
        let spare = Spare { path, filling: None, stop: Arc::default() };
        holdfast_durable::remove(&spare.path)?;
        holdfast_durable::remove(&spare.short())?;
        Ok(spare)
    }

    /// Where the next segment is made when no spare is ready: another name, since one may be being filled.
    pub(crate) fn short(&self) -> PathBuf {
        self.path.with_extension("short")
    }

    /// Begins to fill a spare of this length, unless that was begun before. Failing is no harm: then there is none.
    pub(crate) fn begin(&mut self, len: u64) {
        if self.filling.is_none() {
            let (path, stop) = (self.path.clone(), self.stop.clone());
            let fill = move || fill(&path, len, &stop);
            self.filling = std::thread::Builder::new().name("holdfast-filler".into()).spawn(fill).ok();
        }
    }

    /// The spare, when it is ready: filled and durable under its own name.
    pub(crate) fn take(&mut self) -> Option<&Path> {
        self.filling.take_if(|thread| thread.is_finished())?.join().ok()?.ok()?;
        Some(&self.path)
    }

    /// The file of the next segment, filled ahead where there was time for it.
    pub(crate) fn ready(&mut self) -> io::Result<Ready> {
        let short = self.short();
        Ready::at(self.take().unwrap_or(&short))
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.filling.take() {
            let _ = thread.join();
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Fills in steps, each made durable for itself, so that the disk is never taken for long.
fn fill(path: &Path, len: u64, stop: &AtomicBool) -> io::Result<()> {
    let filled = fill_file(path, len, stop);
    if filled.is_err() {
        // Half a spare is only in the way: of the disk's last room, perhaps.
        let _ = std::fs::remove_file(path);
    }
    filled
}

fn fill_file(path: &Path, len: u64, stop: &AtomicBool) -> io::Result<()> {
    let file: File =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let newlines = vec![b'\n'; STEP as usize];
    for offset in (0..len).step_by(STEP as usize) {
        if stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("the journal is closing"));
        }
        let step = (len - offset).min(STEP) as usize;
        file.write_all_at(&newlines[..step], offset)?;
        file.sync_data()?;
    }
    file.sync_all()
}
