//! Inside: the first process of the cage, and the program.

use std::convert::Infallible;
use std::fmt;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use holdfast_cage::layer::Layer;
use holdfast_cage::line;
use holdfast_cage::plan::{Net, Plan};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::Signal;

use crate::link::{self, Word};
use crate::sys::{self, Side};
use crate::{confine, view};

/// A step that did not succeed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) step: String,
    pub(crate) why: String,
}

/// Characters of a step, and of why it failed.
const LONGEST: usize = 300;

/// What is done, for whoever has to read that it failed.
pub(crate) trait Step<T> {
    fn step(self, what: impl fmt::Display) -> Result<T, Failed>;
}

impl<T, E: fmt::Display> Step<T> for Result<T, E> {
    fn step(self, what: impl fmt::Display) -> Result<T, Failed> {
        // A path may be as long as its caller likes; a word to the watcher may not.
        let short = |text: String| text.chars().take(LONGEST).collect();
        self.map_err(|e| Failed { step: short(what.to_string()), why: short(e.to_string()) })
    }
}

/// The first process of the cage. It does not return.
pub(crate) fn first(plan: &Plan, to_watcher: OwnedFd, stdin: OwnedFd) -> ! {
    match build(plan, &to_watcher) {
        Ok(()) => {}
        Err(failed) => fail(&to_watcher, failed),
    }
    let status = match begin(plan, &to_watcher, stdin) {
        Ok(status) => status,
        Err(failed) => fail(&to_watcher, failed),
    };
    let _ = link::say(&to_watcher, &Word::Status(status), &[]);
    sys::leave(0)
}

fn fail(to_watcher: &OwnedFd, failed: Failed) -> ! {
    let _ = link::say(to_watcher, &Word::Failed { step: failed.step, why: failed.why }, &[]);
    sys::leave(1)
}

/// Everything the program finds around it.
fn build(plan: &Plan, to_watcher: &OwnedFd) -> Result<(), Failed> {
    die_with_watcher(to_watcher)?;
    match link::hear(to_watcher).step("waiting for the maps of users")? {
        Some((Word::Go, _)) => {}
        _ => sys::leave(1),
    }
    // Only now: it has been taken into its own cgroup, which becomes the topmost it knows of.
    if !plan.off.contains(&Layer::CgroupNamespace) {
        sys::own_cgroups().step("parting the cage's cgroups from the machine's")?;
    }
    let viewed = !plan.off.contains(&Layer::View);
    let held = if viewed { Some(view::take(plan)?) } else { None };
    become_user(plan)?;
    // Changing who one is makes the kernel forget it.
    die_with_watcher(to_watcher)?;
    let _ = rustix::process::setsid();
    if !plan.off.contains(&Layer::UtsNamespace) {
        rustix::system::sethostname(b"cage").step("naming the host")?;
    }
    network(plan, to_watcher)?;
    if let Some(held) = held {
        let temporary = view::build(plan, held)?;
        let beside: Vec<BorrowedFd<'_>> = temporary.iter().map(AsFd::as_fd).collect();
        for some in beside.chunks(line::BESIDE_MAX) {
            link::say(to_watcher, &Word::Temporary, some).step("handing the temporary folders out")?;
        }
    }
    Ok(())
}

/// The kernel ends this process when the watcher ends; if it has ended already, so does this.
fn die_with_watcher(to_watcher: &OwnedFd) -> Result<(), Failed> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .step("tying the cage to its watcher")?;
    let mut poll = [PollFd::new(to_watcher, PollFlags::empty())];
    let _ = rustix::event::poll(&mut poll, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    if poll[0].revents().contains(PollFlags::HUP) {
        sys::leave(1);
    }
    Ok(())
}

fn become_user(plan: &Plan) -> Result<(), Failed> {
    let gid = rustix::process::Gid::from_raw(plan.identity.gid);
    let uid = rustix::process::Uid::from_raw(plan.identity.uid);
    rustix::thread::set_thread_res_gid(gid, gid, gid).step("taking on the group")?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).step("taking on the user")
}

fn network(plan: &Plan, to_watcher: &OwnedFd) -> Result<(), Failed> {
    let listen = match &plan.net {
        Net::Own { listen } => listen,
        // Entered before the cage was made, by whoever may.
        Net::Given { .. } | Net::Machine => return Ok(()),
    };
    let socket =
        rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).step("asking for a socket")?;
    sys::raise_loopback(&socket).step("raising the loopback")?;
    let listeners = listen
        .iter()
        .map(|port| {
            TcpListener::bind((Ipv4Addr::LOCALHOST, *port))
                .step(format!("listening on port {port} of the cage"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if !listeners.is_empty() {
        let beside: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
        link::say(to_watcher, &Word::Listening, &beside).step("handing the listening sockets out")?;
    }
    Ok(())
}

/// Starts the program, and collects everyone until it has ended.
fn begin(plan: &Plan, to_watcher: &OwnedFd, stdin: OwnedFd) -> Result<i32, Failed> {
    let (begun, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).step("making a pipe")?;
    let program = match sys::fork_into(0).step("making the program's process")? {
        Side::Child => {
            drop(begun);
            let Err(failed) = become_program(plan, to_watcher, stdin);
            let word = serde_json::to_vec(&(failed.step, failed.why)).unwrap_or_default();
            let _ = rustix::io::write(&tell, &word);
            sys::leave(127)
        }
        Side::Parent { child } => child,
    };
    drop((tell, stdin));
    // While the program has not begun: it is the same user's, and could hinder this.
    sys::hand_on_the_end().step("preparing for the end")?;
    // Nobody inside may look into this process, though it is the same user's.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .step("shutting the first process")?;
    let_output_go()?;
    // The pipe closes when the program begins.
    let mut space = [0; 4096];
    let length = rustix::io::retry_on_intr(|| rustix::io::read(&begun, &mut space))
        .step("waiting for the program to begin")?;
    if length > 0 {
        let (step, why) = serde_json::from_slice(&space[..length]).step("reading why it did not begin")?;
        return Err(Failed { step, why });
    }
    link::say(to_watcher, &Word::Running, &[]).step("saying that it runs")?;
    loop {
        match sys::wait(-1) {
            Ok(ended) if ended.pid == program => return Ok(ended.status),
            Ok(_) => {}
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => {}
            Err(e) => return Err(e).step("waiting for the program"),
        }
    }
}

/// What the program prints is between it and the caller: who holds the ends of its pipes open hides that it has ended.
pub(crate) fn let_output_go() -> Result<(), Failed> {
    let (_, nowhere) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).step("making a pipe")?;
    rustix::stdio::dup2_stdout(&nowhere).step("letting the output go")?;
    rustix::stdio::dup2_stderr(&nowhere).step("letting the output go")
}

/// Becomes the program; comes back only where that fails.
fn become_program(plan: &Plan, to_watcher: &OwnedFd, stdin: OwnedFd) -> Result<Infallible, Failed> {
    rustix::stdio::dup2_stdin(&stdin).step("giving the program its input")?;
    drop(stdin);
    let _ = rustix::process::setsid();
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    rustix::process::chdir(&plan.directory).step(format!("entering {}", plan.directory.display()))?;
    let (program, arguments) = plan.argv.split_first().ok_or("none is named").step("finding the program")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(plan.environment.iter().map(|(name, value)| (name, value)));
    confine::confine(plan, to_watcher)?;
    Err(command.exec()).step(format!("starting {program}"))
}
