//! Runs a plan, through the launcher.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::fs::FileType;

use crate::error::CageError;
use crate::evidence::Evidence;
use crate::host::Host;
use crate::line;
use crate::plan::{Net, PROXY_PORT, Plan};
use crate::policy::Policy;
use crate::proxy::{Door, Doors};
use crate::wire::{Order, Report, Stop};

/// The program that builds cages.
#[derive(Clone, Debug)]
pub struct Launcher {
    path: PathBuf,
}

/// What the program reads. It gets the end of a pipe and never the thing itself: a folder, a file or a terminal that is
/// open is a way to others, and to its settings.
#[derive(Debug)]
pub enum Input {
    Nothing,
    From(OwnedFd),
}

/// Where what it prints goes.
pub struct Sinks {
    pub output: Box<dyn Write + Send>,
    pub errors: Box<dyn Write + Send>,
}

impl std::fmt::Debug for Sinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sinks")
    }
}

/// The launcher's file name.
const NAME: &str = "holdfast-cage";
/// How long the rest of the output may take to arrive when the program has ended, and the launcher to end it.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Launcher {
    pub fn at(path: impl Into<PathBuf>) -> Launcher {
        Launcher { path: path.into() }
    }

    /// The one that lies beside this program.
    pub fn beside_this_program() -> Result<Launcher, CageError> {
        let lost = |source| CageError::Launcher { path: PathBuf::from(NAME), source };
        let own = std::env::current_exe().map_err(lost)?;
        let beside =
            own.ancestors().skip(1).take(2).map(|folder| folder.join(NAME)).find(|path| path.is_file());
        beside.map(Launcher::at).ok_or_else(|| lost(io::ErrorKind::NotFound.into()))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What this machine can do for a cage.
    pub fn host(&self) -> Result<Host, CageError> {
        let mut launcher = Command::new(&self.path)
            .arg("host")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| self.lost(source))?;
        let said = launcher.stdout.take().map(serde_json::from_reader);
        // Whoever ignores that its children end cannot wait for them; what was said is enough.
        let _ = launcher.wait();
        said.and_then(Result::ok).ok_or(CageError::Silent)
    }

    fn lost(&self, source: io::Error) -> CageError {
        CageError::Launcher { path: self.path.clone(), source }
    }

    /// Starts the program of a plan made from this policy; it runs when this returns.
    pub fn start(
        &self,
        plan: &Plan,
        policy: &Policy,
        input: Input,
        sinks: Sinks,
    ) -> Result<Running, CageError> {
        let stdin = input.descriptor().map_err(|source| CageError::Input { source })?;
        let (ours, theirs) = UnixStream::pair().map_err(|source| self.lost(source))?;
        let mut launcher = Command::new(&self.path)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| self.lost(source))?;
        let control = Control(ours);
        let order = Order::Run(Box::new(plan.clone()));
        let begun = line::say(&control.0, &order, &[stdin.as_fd()]).map_err(|source| match source.kind() {
            io::ErrorKind::FileTooLarge => CageError::TooMuch,
            _ => self.lost(source),
        });
        drop(stdin);
        let listeners = match begun.and_then(|()| control.running()) {
            Ok(listeners) => listeners,
            Err(e) => {
                let _ = launcher.kill();
                let _ = launcher.wait();
                return Err(e);
            }
        };
        let control = Arc::new(control);
        let printed = Arc::new(Printed { limit: plan.output.unwrap_or(u64::MAX), so_far: AtomicU64::new(0) });
        let (done, relays) = mpsc::channel();
        let streams: [(Option<Box<dyn Read + Send>>, _); 2] = [
            (launcher.stdout.take().map(|s| Box::new(s) as _), sinks.output),
            (launcher.stderr.take().map(|s| Box::new(s) as _), sinks.errors),
        ];
        for (from, to) in streams {
            if let Some(from) = from {
                let (printed, control, done) = (Arc::clone(&printed), Arc::clone(&control), done.clone());
                std::thread::spawn(move || {
                    printed.relay(from, to, &control);
                    let _ = done.send(());
                });
            }
        }
        let mut running = Running { launcher, control, printed, relays, doors: Doors::none() };
        // Where they cannot be opened, the program is ended.
        running.doors = doors(plan, policy, listeners).map_err(|source| self.lost(source))?;
        Ok(running)
    }
}

/// What listens inside, and who serves it.
fn doors(plan: &Plan, policy: &Policy, listeners: Vec<TcpListener>) -> io::Result<Doors> {
    let Net::Own { listen } = &plan.net else { return Ok(Doors::none()) };
    if listen.len() != listeners.len() {
        return Err(io::Error::other("not all of the cage's ports were handed over"));
    }
    let door = |port: u16| match policy.services.iter().find(|service| service.port == port) {
        Some(service) => Some(Door::Service(service.to.clone())),
        None => (port == PROXY_PORT).then(|| Door::Proxy(policy.destinations.clone())),
    };
    let pairs = listen.iter().zip(listeners).filter_map(|(port, listener)| Some((listener, door(*port)?)));
    Doors::open(pairs.collect())
}

impl Input {
    fn descriptor(self) -> io::Result<OwnedFd> {
        let from = match self {
            Input::Nothing => return File::open("/dev/null").map(OwnedFd::from),
            Input::From(descriptor) => descriptor,
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&from)?.st_mode);
        match kind {
            FileType::Fifo => return Ok(from),
            FileType::Directory => return Err(io::Error::other("a folder cannot be a program's input")),
            _ => {}
        }
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // Ends when either end does; whoever waits at a terminal is not waited for.
        std::thread::spawn(move || io::copy(&mut File::from(from), &mut File::from(write)));
        Ok(read)
    }
}

/// What was printed so far, on both streams together.
#[derive(Debug)]
struct Printed {
    limit: u64,
    so_far: AtomicU64,
}

impl Printed {
    /// Passes on what is within the limit; reads on after it, so that nobody waits for ever to be rid of the rest.
    fn relay(&self, mut from: Box<dyn Read + Send>, mut to: Box<dyn Write + Send>, control: &Control) {
        let mut space = vec![0; 64 << 10];
        let mut listened_to = true;
        loop {
            let length = match from.read(&mut space) {
                Ok(0) => break,
                Ok(length) => length,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let before = self.so_far.fetch_add(length as u64, Ordering::Relaxed);
            let within = self.limit.saturating_sub(before).min(length as u64) as usize;
            if within < length {
                control.stop(Stop::Output);
            }
            listened_to = listened_to && to.write_all(&space[..within]).and_then(|()| to.flush()).is_ok();
        }
    }
}

/// The line to the launcher.
#[derive(Debug)]
struct Control(UnixStream);

impl Control {
    fn stop(&self, why: Stop) {
        // A launcher that is gone has ended the program.
        let _ = line::say(&self.0, &Order::Stop { why }, &[]);
    }

    fn report(&self) -> Result<(Report, Vec<OwnedFd>), CageError> {
        line::hear(&self.0).ok().flatten().ok_or(CageError::Silent)
    }

    fn running(&self) -> Result<Vec<TcpListener>, CageError> {
        match self.report()? {
            (Report::Running, beside) => Ok(beside.into_iter().map(TcpListener::from).collect()),
            (Report::NotStarted { step, why }, _) => Err(CageError::NotStarted { step, why }),
            (Report::Ended(_), _) => Err(CageError::Silent),
        }
    }
}

/// A program that runs. When this is dropped, it is ended.
#[derive(Debug)]
pub struct Running {
    launcher: Child,
    control: Arc<Control>,
    printed: Arc<Printed>,
    relays: Receiver<()>,
    doors: Doors,
}

impl Running {
    /// Asks the program to end; it is ended by force when it does not.
    pub fn stop(&self) {
        self.control.stop(Stop::Asked);
    }

    /// Waits for the end.
    pub fn wait(mut self) -> Result<Evidence, CageError> {
        let report = self.control.report();
        // The launcher says its word when nothing of the cage is left, so the streams end too; unless the program gave its
        // output to somebody who is still there. That is nobody's output any more.
        let until = Instant::now() + LAST_WORDS;
        while let Ok(()) = self.relays.recv_timeout(until.saturating_duration_since(Instant::now())) {}
        let _ = self.launcher.wait();
        let refused_destinations: BTreeMap<String, u64> = self.doors.close();
        match report? {
            (Report::Ended(ended), _) => Ok(Evidence {
                ended,
                output_bytes: self.printed.so_far.load(Ordering::Relaxed),
                refused_destinations,
            }),
            (Report::NotStarted { step, why }, _) => Err(CageError::NotStarted { step, why }),
            (Report::Running, _) => Err(CageError::Silent),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A launcher whose caller is gone ends the cage, and goes when nothing of it is left. One that does not is killed,
        // which ends the cage too; one that has been waited for is gone already.
        let _ = self.control.0.shutdown(Shutdown::Both);
        let until = Instant::now() + LAST_WORDS;
        while let Ok(None) = self.launcher.try_wait() {
            if Instant::now() >= until {
                let _ = self.launcher.kill();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.doors.close();
    }
}
