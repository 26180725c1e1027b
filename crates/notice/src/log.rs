//! The log sink: one JSON line per message in a file of its own, for people who look at files.
//!
//! A line is durable before the message counts as told. After a crash the last line says which message was
//! written last, so none stands there twice; an unfinished line is taken off first.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;

use crate::message::Message;
use crate::sink::{Outcome, Sink, Trouble};

/// Where a new file is begun.
const FILE_BYTES: u64 = 5 * 1024 * 1024;
/// How many old files stay.
const OLD_FILES: u32 = 3;
/// More than the longest line: a message has at most some 30 KiB with everything escaped.
const TAIL_BYTES: u64 = 64 * 1024;

#[derive(Clone, Debug)]
pub struct LogFile {
    writer: Arc<Mutex<Writer>>,
}

#[derive(Debug)]
struct Writer {
    path: PathBuf,
    file_bytes: u64,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    len: u64,
    last_id: Option<String>,
}

impl LogFile {
    /// Nothing is opened before the first message.
    pub fn new(path: impl Into<PathBuf>) -> LogFile {
        LogFile::with_size(path, FILE_BYTES)
    }

    fn with_size(path: impl Into<PathBuf>, file_bytes: u64) -> LogFile {
        LogFile { writer: Arc::new(Mutex::new(Writer { path: path.into(), file_bytes, open: None })) }
    }

    fn write(&self, message: &Message) -> io::Result<()> {
        // A panic in here leaves at worst an unfinished line, and opening again takes that off.
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let written = writer.write(message);
        if written.is_err() {
            writer.open = None;
        }
        written
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
}

impl Writer {
    fn write(&mut self, message: &Message) -> io::Result<()> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open::at(&self.path)?,
        };
        if open.last_id.as_deref() == Some(&message.id) {
            self.open = Some(open);
            return Ok(());
        }
        if open.len >= self.file_bytes {
            rotate(&self.path)?;
            open = Open::at(&self.path)?;
        }
        open.append(message)?;
        self.open = Some(open);
        Ok(())
    }
}

impl Open {
    fn at(path: &Path) -> io::Result<Open> {
        let made = !path.exists();
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        if made && let Some(folder) = path.parent() {
            holdfast_durable::sync_dir(folder)?;
        }
        let (len, last_id) = whole_lines(&file)?;
        file.set_len(len)?;
        Ok(Open { file, len, last_id })
    }

    fn append(&mut self, message: &Message) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.file.seek(SeekFrom::Start(self.len))?;
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        self.len += line.len() as u64;
        self.last_id = Some(message.id.clone());
        Ok(())
    }
}

/// How far whole lines go, and the id in the last of them.
fn whole_lines(file: &File) -> io::Result<(u64, Option<String>)> {
    #[derive(Deserialize)]
    struct Line {
        id: String,
    }
    let len = file.metadata()?.len();
    let from = len.saturating_sub(TAIL_BYTES);
    let mut tail = Vec::new();
    ReadFrom { file, at: from }.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let Some(end) = tail.iter().rposition(|b| *b == b'\n') else {
        // No line end in so much text: these are not our lines, and nothing of them is cut away.
        return Ok((if from == 0 { 0 } else { len }, None));
    };
    let start = tail[..end].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let id = serde_json::from_slice::<Line>(&tail[start..end]).ok().map(|line| line.id);
    Ok((from + end as u64 + 1, id))
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

    #[test]
    fn a_full_file_is_put_aside_and_three_old_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notices.jsonl");
        let log = LogFile::with_size(&path, 300);
        (1..=40).for_each(|n| log.write(&message(n)).unwrap());
        let mut names: Vec<_> =
            std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["notices.jsonl", "notices.jsonl.1", "notices.jsonl.2", "notices.jsonl.3"]);
        let all: Vec<String> = names.iter().rev().flat_map(|name| ids(&dir.path().join(name))).collect();
        let last: Vec<String> = (41 - all.len()..=40).map(|n| format!("ntc_test_{n}")).collect();
        assert_eq!(all, last);
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
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(&text));
    }
}
