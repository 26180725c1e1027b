//! What is left of a child.

use std::borrow::Cow;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

/// Enough for a panic with its backtrace; a child that prints in a loop must not bury the test's own words.
const SHOWN_LEN_MAX: usize = 8 << 10;

/// A child that has ended and was reaped.
#[derive(Debug)]
#[must_use = "the remains are what a crash test is about"]
pub struct Remains {
    /// Every whole line it reported (a program: printed), in order.
    pub lines: Vec<String>,
    pub status: ExitStatus,
    pub output: Captured,
}

impl Remains {
    /// Ended by SIGKILL, as opposed to by itself before the kill came.
    pub fn was_killed(&self) -> bool {
        self.status.signal() == Some(Signal::KILL.as_raw())
    }
}

/// What a child printed. Shows itself on stderr when a failing test drops it.
pub struct Captured {
    pub child: String,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Captured {
    pub fn stdout(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    pub fn stderr(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }
}

impl Drop for Captured {
    #[expect(clippy::print_stderr, reason = "the person reading the failed test is the audience")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{self}");
        }
    }
}

impl fmt::Display for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Captured { child, stdout, stderr } = self;
        write!(f, "--- {child}, stdout:\n{}\n--- {child}, stderr:\n{}\n---", tail(stdout), tail(stderr))
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The end, because that is where the reason for the end stands.
fn tail(bytes: &[u8]) -> String {
    let skipped = bytes.len().saturating_sub(SHOWN_LEN_MAX);
    let shown = String::from_utf8_lossy(&bytes[skipped..]);
    match skipped {
        0 => shown.trim_end().to_owned(),
        _ => format!("[{skipped} bytes before this]\n{}", shown.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_is_shown_by_its_end() {
        let long = [&[b'a'; SHOWN_LEN_MAX][..], b"the end\n"].concat();
        let shown = tail(&long);
        assert!(shown.starts_with("[8 bytes before this]\naaa") && shown.ends_with("the end"), "{shown}");
        assert_eq!(tail(b"short\n"), "short");
    }
}
