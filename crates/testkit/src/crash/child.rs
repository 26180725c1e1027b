//! The child's side: finding out that it is one, and reporting to the parent.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use super::{ARGS_ENV, CHILD_ENV};

/// The first line of every child, so that a test that never got here is told apart from one that is slow.
pub(super) const HELLO: &str = "holdfast crash child is here";

/// What a child ends with when its parent is gone. Nobody is left to read it but a person with a tracer.
const EXIT_ORPHAN: i32 = 70;

/// Runs `body` when this process is the crash child of that name; otherwise returns at once.
#[track_caller]
pub fn child_main(name: &str, body: impl FnOnce(&[String], Report)) {
    if std::env::var(CHILD_ENV).is_ok_and(|child| child == name) {
        let args = args().unwrap_or_else(|e| panic!("{ARGS_ENV}: {e}"));
        let report = Report::connect().unwrap_or_else(|e| panic!("not started by Crash::spawn: {e}"));
        body(&args, report);
    }
}

/// The way to the parent. Clones share it; lines of several threads do not mix.
#[derive(Clone, Debug)]
pub struct Report(Arc<Mutex<UnixStream>>);

impl Report {
    /// Reports one line. When this returns the kernel has it, and the parent reads it even if this process is
    /// killed in the next instant.
    #[track_caller]
    pub fn line(&self, line: impl AsRef<str>) {
        let line = line.as_ref();
        assert!(!line.contains('\n'), "a report is one line: {line:?}");
        let whole = [line, "\n"].concat();
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stream.write_all(whole.as_bytes()).is_err() {
            std::process::exit(EXIT_ORPHAN);
        }
    }

    fn connect() -> io::Result<Report> {
        let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        // Fails unless it is a socket, so a terminal or a pipe is noticed here.
        stream.peer_addr()?;
        // What this process starts must not inherit the channel and hold it open.
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        end_with_parent(stream.try_clone()?)?;
        let report = Report(Arc::new(Mutex::new(stream)));
        report.line(HELLO);
        Ok(report)
    }
}

/// The parent never writes; its end closes when it dies, however it dies.
fn end_with_parent(mut stream: UnixStream) -> io::Result<()> {
    let wait = move || {
        while stream.read(&mut [0; 16]).is_ok_and(|n| n > 0) {}
        std::process::exit(EXIT_ORPHAN);
    };
    std::thread::Builder::new().name("crash-parent-watch".into()).spawn(wait)?;
    Ok(())
}

fn args() -> io::Result<Vec<String>> {
    let text = std::env::var(ARGS_ENV).map_err(io::Error::other)?;
    Ok(serde_json::from_str(&text)?)
}
