//! The log sink: one JSON line per message in a file of its own, for people who look at files.
//!
//! A line is durable before the message counts as told. After a crash the last lines say which messages were
//! written, so none stands there twice; an unfinished line is taken off first. Several processes may write to the
//! file (the daemon, and a person who tries whether it works): each holds a lock while it looks and writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::message::Message;
use crate::sink::{Identity, Outcome, Sink, Trouble};

/// Where a new file is begun.
const FILE_BYTES: u64 = 5 * 1024 * 1024;
/// How many old files stay.
const OLD_FILES: u32 = 3;
/// More than the longest line: a message has at most some 30 KiB with everything escaped.
const TAIL_BYTES: u64 = 64 * 1024;

/// How long another writer of the same file is waited for.
const LOCK_LIMIT: Duration = Duration::from_secs(2);
const LOCK_STEP: Duration = Duration::from_millis(5);

/// Nothing is kept between two messages: another process may have written, put aside or removed the file meanwhile.
#[derive(Clone, Debug)]
pub struct LogFile {
    path: PathBuf,
    file_bytes: u64,
}

impl LogFile {
    /// Nothing is opened before the first message.
    pub fn new(path: impl Into<PathBuf>) -> LogFile {
        LogFile::with_size(path, FILE_BYTES)
    }

    fn with_size(path: impl Into<PathBuf>, file_bytes: u64) -> LogFile {
        LogFile { path: path.into(), file_bytes }
    }

    fn write(&self, message: &Message) -> io::Result<()> {
        let mut file = locked(&self.path)?;
        let mut tail = Tail::of(&file)?;
        if tail.holds(&message.id) {
            return Ok(());
        }
        if tail.end >= self.file_bytes {
            rotate(&self.path)?;
            // The lock on the old file goes only after the new one is locked.
            let fresh = locked(&self.path)?;
            tail = Tail::of(&fresh)?;
            file = fresh;
        }
        file.set_len(tail.end)?;
        let mut line = if tail.in_a_line { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut line, message)?;
        line.push(b'\n');
        file.write_all(&line)?;
        file.sync_data()
    }
}

impl Sink for LogFile {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        let (log, message) = (self.clone(), message.clone());
        Box::pin(async move {
            match tokio::task::spawn_blocking(move || log.write(&message)).await {
                Ok(Ok(())) => Outcome::Delivered,
                _ => Outcome::Unavailable { why: Trouble::Disk, retry_after: None },
            }
        })
    }

    fn identity(&self) -> Option<Identity> {
        let (path, bytes) = (self.path.as_os_str().as_bytes(), self.file_bytes.to_le_bytes());
        Some(Identity::of([b"log", path, &bytes]))
    }
}

/// The file that stands under this name, with nobody else writing to it until it is dropped.
fn locked(path: &Path) -> io::Result<File> {
    let began = Instant::now();
    loop {
        let made = !path.exists();
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        if made && let Some(folder) = path.parent() {
            holdfast_durable::sync_dir(folder)?;
        }
        let is_ours = match file.try_lock() {
            // Whoever had the lock may have put the file aside.
            Ok(()) => is_at(&file, path)?,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(e)) => return Err(e),
        };
        if is_ours {
            return Ok(file);
        }
        if began.elapsed() > LOCK_LIMIT {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        std::thread::sleep(LOCK_STEP);
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// The last lines of a file.
struct Tail {
    text: Vec<u8>,
    /// How far the file goes without an unfinished line.
    end: u64,
    /// That end is not the end of a line: the text there is somebody else's.
    in_a_line: bool,
}

impl Tail {
    fn of(file: &File) -> io::Result<Tail> {
        let len = file.metadata()?.len();
        let from = len.saturating_sub(TAIL_BYTES);
        let mut text = Vec::new();
        ReadFrom { file, at: from }.take(TAIL_BYTES).read_to_end(&mut text)?;
        let Some(last) = text.iter().rposition(|b| *b == b'\n') else {
            // No line end in so much text: these are not our lines, and nothing of them is cut away.
            let end = if from == 0 { 0 } else { len };
            return Ok(Tail { text: Vec::new(), end, in_a_line: end > 0 });
        };
        text.truncate(last + 1);
        Ok(Tail { end: from + text.len() as u64, text, in_a_line: false })
    }

    /// Whether a message stands there already: written, and then nobody came to say so.
    fn holds(&self, id: &str) -> bool {
        #[derive(Deserialize)]
        struct Line {
            id: String,
        }
        let lines = self.text.split(|b| *b == b'\n');
        lines.rev().any(|line| serde_json::from_slice::<Line>(line).is_ok_and(|line| line.id == id))
    }
}

struct ReadFrom<'a> {
    file: &'a File,
    at: u64,
}

impl Read for ReadFrom<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(into, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

/// `notices.jsonl` becomes `notices.jsonl.1`, that one `.2`, and the oldest goes. A crash in between leaves a file
/// under two names, which the next rotation mends.
fn rotate(path: &Path) -> io::Result<()> {
    let old = |n: u32| {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{n}"));
        path.with_file_name(name)
    };
    holdfast_durable::remove(&old(OLD_FILES))?;
    for n in (1..OLD_FILES).rev().filter(|n| old(*n).exists()) {
        holdfast_durable::move_to_new(&old(n), &old(n + 1))?;
    }
    holdfast_durable::move_to_new(path, &old(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::Severity;
    use holdfast_types::Timestamp;
    use std::os::unix::fs::PermissionsExt;

    fn message(n: u64) -> Message {
        Message {
            id: format!("ntc_test_{n}"),
            timestamp: Timestamp::EPOCH,
            severity: Severity::Info,
            message: format!("message {n}\n"),
            context: serde_json::Map::new(),
            source: "test".into(),
            folded: None,
            digest: Vec::new(),
        }
    }

    fn ids(path: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let id = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
        };
        text.lines().map(id).collect()
    }

    #[test]
    fn each_message_is_one_line_in_a_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notices.jsonl");
        let log = LogFile::new(&path);
        (1..=3).for_each(|n| log.write(&message(n)).unwrap());
        assert_eq!(ids(&path), ["ntc_test_1", "ntc_test_2", "ntc_test_3"]);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn after_a_crash_at_any_byte_each_message_stands_there_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notices.jsonl");
        (1..=2).for_each(|n| LogFile::new(&path).write(&message(n)).unwrap());
        let whole = std::fs::read(&path).unwrap();
        let first = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        for cut in (first..whole.len()).step_by(5).chain([whole.len() - 1, whole.len()]) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            // The outbox does not know whether message 2 was written, and sends it again.
            let log = LogFile::new(&path);
            log.write(&message(2)).unwrap();
            log.write(&message(3)).unwrap();
            assert_eq!(ids(&path), ["ntc_test_1", "ntc_test_2", "ntc_test_3"], "cut at {cut}");
        }
    }

    /// The files of a folder, oldest text first, and the ids in all of them.
    fn files(dir: &Path) -> (Vec<String>, Vec<String>) {
        let mut names: Vec<_> =
            std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_by(|a, b| b.cmp(a));
        let all = names.iter().flat_map(|name| ids(&dir.join(name))).collect();
        (names, all)
    }

    #[test]
    fn a_full_file_is_put_aside_and_three_old_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notices.jsonl");
        // Three lines to a file.
        let line = serde_json::to_vec(&message(10)).unwrap().len() as u64 + 1;
        let log = LogFile::with_size(&path, 3 * line);
        let four = ["notices.jsonl.3", "notices.jsonl.2", "notices.jsonl.1", "notices.jsonl"];
        for n in 10..60 {
            log.write(&message(n)).unwrap();
            let (names, all) = files(dir.path());
            assert!(four.ends_with(&names.iter().map(String::as_str).collect::<Vec<_>>()), "{names:?}");
            // Nothing goes before the fourth file is full.
            let first = 10 + 3 * ((n - 10) / 3).saturating_sub(3);
            assert_eq!(all, (first..=n).map(|n| format!("ntc_test_{n}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn writers_of_the_same_file_do_not_get_into_each_others_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notices.jsonl");
        let write = |writer: u64| {
            let log = LogFile::with_size(&path, 5_000);
            (0..25).for_each(|n| log.write(&message(writer * 100 + n)).unwrap());
        };
        std::thread::scope(|scope| {
            (1..=4).for_each(|writer| drop(scope.spawn(move || write(writer))));
        });
        let (names, mut all) = files(dir.path());
        assert!(names.len() > 1, "it was put aside on the way: {names:?}");
        all.sort();
        let written =
            (1..=4).flat_map(|writer| (0..25).map(move |n| format!("ntc_test_{}", writer * 100 + n)));
        assert_eq!(all, written.collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_was_removed_or_put_aside_by_others_is_begun_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, aside) = (dir.path().join("notices.jsonl"), dir.path().join("aside"));
        let log = LogFile::new(&path);
        log.write(&message(1)).unwrap();
        std::fs::remove_file(&path).unwrap();
        log.write(&message(2)).unwrap();
        assert_eq!(ids(&path), ["ntc_test_2"]);
        holdfast_durable::move_to_new(&path, &aside).unwrap();
        log.write(&message(3)).unwrap();
        assert_eq!((ids(&aside), ids(&path)), (vec!["ntc_test_2".into()], vec!["ntc_test_3".into()]));
    }

    #[test]
    fn a_crash_in_the_middle_of_putting_aside_is_mended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notices.jsonl");
        let log = LogFile::with_size(&path, 1);
        (1..=4).for_each(|n| log.write(&message(n)).unwrap());
        std::fs::hard_link(&path, dir.path().join("notices.jsonl.link")).unwrap();
        std::fs::remove_file(dir.path().join("notices.jsonl.1")).unwrap();
        std::fs::hard_link(dir.path().join("notices.jsonl.link"), dir.path().join("notices.jsonl.1"))
            .unwrap();
        let log = LogFile::with_size(&path, 1);
        (4..=6).for_each(|n| log.write(&message(n)).unwrap());
        assert_eq!(ids(&path), ["ntc_test_6"]);
    }

    #[test]
    fn somebody_elses_text_is_not_cut_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notices.jsonl");
        let text = "x".repeat(TAIL_BYTES as usize + 10);
        std::fs::write(&path, &text).unwrap();
        LogFile::new(&path).write(&message(1)).unwrap();
        let now = std::fs::read_to_string(&path).unwrap();
        assert!(
            now.starts_with(&format!("{text}\n{{\"id\"")) && now.ends_with("}\n"),
            "{}",
            &now[text.len()..]
        );
    }
}
