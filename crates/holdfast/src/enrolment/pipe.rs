//! A program that is asked over a pipe: a document on a line, an answer on a line. It ends when there is nothing more to read.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

const ANSWER_MAX: u64 = 256 << 10;

/// Reached out, and waiting to be asked. It is drawn back when this is dropped.
#[derive(Debug)]
pub(crate) struct Pipe {
    child: Child,
    to: Option<ChildStdin>,
    out: Option<ChildStdout>,
    from: Option<Receiver<String>>,
}

impl Pipe {
    pub(crate) fn open(mut command: Command) -> std::io::Result<Pipe> {
        // Whoever leaves with Ctrl-C leaves us, and what the program has begun it ends.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (to, out) = (child.stdin.take(), child.stdout.take());
        Ok(Pipe { child, to, out, from: None })
    }

    /// One request, one answer. What is asked may hold a key, and goes over the pipe alone.
    pub(crate) fn ask<A: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
        within: Duration,
    ) -> Result<A, &'static str> {
        let mut line = serde_json::to_vec(request).map_err(|_| "it could not be asked")?;
        line.push(b'\n');
        let to = self.to.as_mut().ok_or("it is gone")?;
        to.write_all(&line).and_then(|()| to.flush()).map_err(|_| "it is gone")?;
        let from = self.from.get_or_insert_with(|| listening(self.out.take()));
        let said = from.recv_timeout(within).map_err(|_| "it did not answer")?;
        serde_json::from_str(&said).map_err(|_| "it answered something else")
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.wait();
    }
}

/// A thread that ends with the program. It begins with the first question: by then this process is whoever it works as, and so is the thread.
fn listening(out: Option<ChildStdout>) -> Receiver<String> {
    let (answers, from) = channel();
    std::thread::spawn(move || {
        let Some(out) = out else { return };
        let mut out = BufReader::new(out);
        loop {
            let mut line = String::new();
            match out.by_ref().take(ANSWER_MAX).read_line(&mut line) {
                Ok(1..) if answers.send(line).is_ok() => {}
                _ => return,
            }
        }
    });
    from
}
