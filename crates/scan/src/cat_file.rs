//! Reads objects out of a repository, one after the other, through one `git cat-file --batch`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::git::Repository;

/// A header is an id, a type and a size; a longer line is none.
const HEADER_MAX: u64 = 256;
/// Of a blob that a partial clone has left out.
pub(crate) const NOT_HERE: &str = "it is not in this partial clone, and nothing is fetched to scan it";

/// Git that says nothing for so long may be waiting for us.
const SILENT_FOR: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A `git cat-file` that waits for the next id. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Objects<'a> {
    repository: &'a Repository,
    child: Child,
    talk: BufReader<Talk>,
}

/// Both ends of the talk. An object may say that it is longer than it is: then git has said all of it and waits for the next id, and we wait for the rest.
/// So after a silence nothing more is asked. Git that was only slow goes on, git that waited ends, and another is started for the next id.
#[derive(Debug)]
struct Talk {
    /// `None` when nothing more is asked.
    asks: Option<ChildStdin>,
    answers: ChildStdout,
}

impl Read for Talk {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.asks.is_some() {
            match poll(&mut [PollFd::new(&self.answers, PollFlags::IN)], Some(&SILENT_FOR)) {
                Ok(0) => self.asks = None,
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        self.answers.read(buffer)
    }
}

impl<'a> Objects<'a> {
    pub(crate) fn of(repository: &'a Repository) -> Result<Objects<'a>> {
        let mut child = repository.start("what objects hold", &["cat-file", "--batch"], Stdio::piped())?;
        if let Some(mut complaints) = child.stderr.take() {
            // It says of each object that is not there that it was not fetched.
            std::thread::spawn(move || io::copy(&mut complaints, &mut io::sink()));
        }
        let asks = child.stdin.take();
        let answers =
            child.stdout.take().ok_or_else(|| Error::NoGit { source: io::ErrorKind::BrokenPipe.into() })?;
        let talk = BufReader::with_capacity(64 << 10, Talk { asks, answers });
        Ok(Objects { repository, child, talk })
    }

    /// Hands the content of a blob to `reader`. What it leaves unread is passed over. Nothing where a partial clone does not have it.
    pub(crate) fn read<T>(&mut self, id: &str, reader: impl FnOnce(&mut dyn Read) -> T) -> Result<Option<T>> {
        let failed = |why: &str| Error::Object { id: id.to_owned(), why: why.to_owned() };
        let broken = |e: io::Error| failed(&e.to_string());
        if self.talk.get_ref().asks.is_none() {
            *self = Objects::of(self.repository)?;
        }
        let asks = self.talk.get_mut().asks.as_mut().ok_or_else(|| failed("git has ended"))?;
        writeln!(asks, "{id}").and_then(|()| asks.flush()).map_err(broken)?;
        let mut header = Vec::new();
        self.talk.by_ref().take(HEADER_MAX).read_until(b'\n', &mut header).map_err(broken)?;
        let header = String::from_utf8_lossy(&header).into_owned();
        let size = match header.trim_end().split(' ').collect::<Vec<_>>()[..] {
            [_, "blob", size] => size.parse::<u64>().map_err(|_| failed("git gave it no size"))?,
            [_, "missing"] if self.repository.is_partial() => return Ok(None),
            [_, "missing"] => return Err(failed("git has no such object")),
            [_, kind, _] => return Err(failed(&format!("it is a {kind}"))),
            _ => return Err(failed("git cannot read it")),
        };
        let mut content = self.talk.by_ref().take(size);
        let answer = reader(&mut content);
        io::copy(&mut content, &mut io::sink()).map_err(broken)?;
        let mut feed = [0];
        let whole = content.limit() == 0 && self.talk.read_exact(&mut feed).is_ok() && feed == *b"\n";
        if whole { Ok(Some(answer)) } else { Err(failed("git ended in the middle of it")) }
    }
}

impl Drop for Objects<'_> {
    fn drop(&mut self) {
        // At the end of its input it ends by itself; what it still writes is not waited for.
        self.talk.get_mut().asks = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
