//! Other programs: by argument list, without a shell, with an environment of our own, and with a limit in time and output.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("{program} could not be run: {source}")]
    NotRun { program: &'static str, source: io::Error },
    #[error("{program} took longer than {} s", .within.as_secs())]
    TooLong { program: &'static str, within: Duration },
    #[error("{program} ended with {code}: {said}")]
    Failed { program: &'static str, code: String, said: String },
    #[error("{what}: {source}")]
    File { what: String, source: io::Error },
    #[error("{0}")]
    Odd(String),
}

impl Trouble {
    pub(crate) fn file(what: impl Into<String>) -> impl FnOnce(io::Error) -> Trouble {
        let what = what.into();
        move |source| Trouble::File { what, source }
    }

    /// The disk is full, or what may be used of it.
    pub(crate) fn is_for_want_of_room(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Trouble::File { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }
}

/// Nothing of what a caller has set reaches a program: not a locale, not a pager, not a bus address.
const ENVIRONMENT: [(&str, &str); 3] =
    [("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C.UTF-8"), ("SYSTEMD_PAGER", "")];
const OUTPUT_MAX: u64 = 8 << 20;
const SAID_MAX: usize = 300;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Runs a program to its end and gives what it printed.
pub(crate) fn run(program: &'static str, args: &[&str], within: Duration) -> Result<String, Trouble> {
    run_with(program, args, Vec::new(), within)
}

/// The same, with something on its standard input.
pub(crate) fn run_with(
    program: &'static str,
    args: &[&str],
    input: Vec<u8>,
    within: Duration,
) -> Result<String, Trouble> {
    let (text, error, ok, code) = run_whatever(program, args, input, within)?;
    if ok {
        return Ok(text);
    }
    let said: String = holdfast_types::printable(error.trim()).chars().take(SAID_MAX).collect();
    Err(Trouble::Failed { program, code, said })
}

/// The same, whatever it ends with: what it printed, what it complained of, and how it ended.
pub(crate) fn run_whatever(
    program: &'static str,
    args: &[&str],
    input: Vec<u8>,
    within: Duration,
) -> Result<(String, String, bool, String), Trouble> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(ENVIRONMENT).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| Trouble::NotRun { program, source })?;
    feed(child.stdin.take(), input);
    let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let status = ended_within(&mut child, within).map_err(|source| Trouble::NotRun { program, source })?;
    let status = status.ok_or(Trouble::TooLong { program, within })?;
    let text = |handle: thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&handle.join().unwrap_or_default()).into_owned()
    };
    Ok((text(out), text(err), status.success(), status.to_string()))
}

/// Ends the program's input after these bytes. Who does not read them is not waited for.
fn feed(pipe: Option<std::process::ChildStdin>, input: Vec<u8>) {
    if let Some(mut pipe) = pipe.filter(|_| !input.is_empty()) {
        thread::spawn(move || pipe.write_all(&input));
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(OUTPUT_MAX).read_to_end(&mut bytes);
            // What is beyond is read and dropped, or the program would wait for ever.
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        bytes
    })
}

/// How a program ended, or nothing when it did not within that time; then it is killed.
pub fn ended_within(child: &mut Child, within: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let until = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}
