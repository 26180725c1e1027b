//! Runs a program of this machine for what it prints, in bounded time and with bounded output.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::found::{Trouble, shown};
use crate::until::Until;

/// A program that has closed its output ends within moments.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const BURY_WITHIN: Duration = Duration::from_millis(100);

/// What it printed, when it ended well. Its errors are not read, and it sees none of our variables. It is a name, or an absolute path.
pub(crate) fn said(program: &OsStr, words: &[&str], max: usize, until: Until) -> Result<Vec<u8>, Trouble> {
    let found = match program.to_str().filter(|name| !name.contains('/')) {
        Some(name) => holdfast_subprocess::command(name),
        None => holdfast_subprocess::isolated(Path::new(program)),
    };
    let mut command = found.map_err(|e| Trouble::Ours(shown(e.to_string().as_bytes())))?;
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::null());
    // A group of its own, so that what it starts ends with it.
    command.process_group(0);
    let started = command.spawn().map_err(|e| Trouble::Ours(shown(e.to_string().as_bytes())))?;
    let mut running = Running { child: started, is_waited_for: false };
    let said = running.output(max, until)?;
    match running.end(until)? {
        status if status.success() => Ok(said),
        status => Err(Trouble::Ours(format!("it ended with {status}"))),
    }
}

/// A program that ends when this is dropped, and everything of its group with it.
struct Running {
    child: Child,
    /// Its number may be anybody's by now.
    is_waited_for: bool,
}

impl Running {
    fn output(&mut self, max: usize, until: Until) -> Result<Vec<u8>, Trouble> {
        let pipe = self.child.stdout.as_mut().ok_or_else(|| Trouble::ours("its output cannot be read"))?;
        let (mut said, mut part) = (Vec::new(), [0; 8192]);
        loop {
            let left = Timespec::try_from(until.left()?).map_err(|_| Trouble::Late)?;
            match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&left)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(e) => return Err(io::Error::from(e).into()),
            }
            match pipe.read(&mut part)? {
                0 => return Ok(said),
                len if said.len() + len > max => return Err(Trouble::ours("it printed too much")),
                len => said.extend_from_slice(&part[..len]),
            }
        }
    }

    /// How it ended, when it does by then.
    fn end(&mut self, until: Until) -> Result<ExitStatus, Trouble> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.is_waited_for = true;
                return Ok(status);
            }
            std::thread::sleep(until.left()?.min(LOOK_EVERY));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_waited_for {
            return;
        }
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _it_may_be_gone = kill_process_group(group, Signal::KILL);
        }
        // One that hangs in the kernel is not waited for any longer.
        let _it_was_killed = self.end(Until::after(BURY_WITHIN));
    }
}
