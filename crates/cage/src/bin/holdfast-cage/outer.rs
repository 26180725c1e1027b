//! Outside: makes the cage, watches it, and says what came of it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use holdfast_cage::layer::Layer;
use holdfast_cage::line;
use holdfast_cage::plan::{Net, Plan};
use holdfast_cage::wire::{Counted, End, Ended, Order, Report, Stop};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::group::Group;
use crate::inner::{self, Failed, Step as _};
use crate::link::{self, Word};
use crate::notify::Refusals;
use crate::settle::Settlement;
use crate::sys::{self, Side};
use crate::usage::{Disk, Memory};

/// How often memory is looked at where nothing enforces it, and how often everything else is.
const MEMORY_TICK: Duration = Duration::from_millis(20);
const TICK: Duration = Duration::from_millis(250);
/// How long building a cage may take.
const BUILDING: Duration = Duration::from_secs(30);
/// Refused calls that are answered before anything else is looked at.
const ANSWERS: usize = 64;

pub(crate) fn run() -> ExitCode {
    // Whoever started this may have left descriptors open; they are nobody's here.
    if sys::close_from(3).is_err() {
        return ExitCode::from(3);
    }
    // What a terminal tells its programs to do is for the caller to decide.
    let _ = rustix::process::setsid();
    let caller = Caller;
    let (mut plan, stdin) = match caller.plan() {
        Ok(read) => read,
        Err(_) => return ExitCode::from(2),
    };
    let ran = Settlement::prepare(&mut plan).and_then(|mut settlement| {
        let mut report = start(&plan, stdin, &mut settlement)?.watch(&caller);
        let left_behind = settlement.finish();
        if let Report::Ended(ended) = &mut report {
            ended.left_behind = left_behind;
        }
        Ok(report)
    });
    match ran {
        Ok(report) => {
            caller.say(&report, &[]);
            ExitCode::SUCCESS
        }
        Err(failed) => {
            caller.say(&Report::NotStarted { step: failed.step, why: failed.why }, &[]);
            ExitCode::from(3)
        }
    }
}

/// The one who wants the program run, at the other end of the standard input.
struct Caller;

impl Caller {
    fn plan(&self) -> io::Result<(Plan, OwnedFd)> {
        let (order, mut beside) = self.order()?.ok_or_else(|| io::Error::other("nothing was asked for"))?;
        match (order, beside.pop()) {
            (Order::Run(plan), Some(stdin)) => Ok((*plan, stdin)),
            _ => Err(io::Error::other("no plan")),
        }
    }

    /// The next order; nothing where the caller is gone.
    fn order(&self) -> io::Result<Option<(Order, Vec<OwnedFd>)>> {
        line::hear(rustix::stdio::stdin())
    }

    /// Nobody may be there to hear it.
    fn say(&self, report: &Report, beside: &[BorrowedFd<'_>]) {
        let _ = line::say(rustix::stdio::stdin(), report, beside);
    }
}

/// A cage that is being watched.
struct Cage<'p> {
    plan: &'p Plan,
    first: i32,
    alive: OwnedFd,
    inside: OwnedFd,
    group: Option<Group>,
    disk: Option<Disk>,
    began: Instant,
    refusals: Refusals,
    listeners: Vec<OwnedFd>,
    running: bool,
    failed: Option<Failed>,
    status: Option<i32>,
    landlock: String,
    memory: Memory,
    next_memory: Instant,
    /// Why it is to end, since when, and whether it has been killed for it.
    ending: Option<(End, Instant)>,
    killed: bool,
}

fn start<'p>(plan: &'p Plan, stdin: OwnedFd, settlement: &mut Settlement) -> Result<Cage<'p>, Failed> {
    if rustix::process::geteuid().is_root() {
        rustix::thread::set_thread_groups(&[]).step("leaving root's groups")?;
    }
    if let Net::Given { namespace } = &plan.net {
        enter_network(namespace)?;
    }
    let (inside, theirs) = link::pair().step("making a socket")?;
    let group = plan.group.as_ref().map(Group::make).transpose()?;
    // In its cgroup from the beginning where that can be; else it is moved there.
    let born_in_group = group.as_ref().and_then(|group| group.fork(namespaces(plan)).ok());
    let to_be_moved = born_in_group.is_none();
    let side = born_in_group.map_or_else(|| sys::fork_into(namespaces(plan)), Ok);
    let first = match side.step("making the cage's first process")? {
        Side::Child => {
            drop(inside);
            settlement.leave_to_the_watcher();
            // The caller's end would keep it from hearing that this launcher is gone.
            let _ = rustix::stdio::dup2_stdin(&stdin);
            inner::first(plan, theirs, stdin)
        }
        Side::Parent { child } => child,
    };
    drop((theirs, stdin));
    let pid = Pid::from_raw(first).ok_or("it has no number").step("making the cage's first process")?;
    let alive = rustix::process::pidfd_open(pid, PidfdFlags::empty()).step("watching the cage")?;
    let mut cage = Cage {
        plan,
        first,
        alive,
        inside,
        group,
        disk: plan.watch.disk.map(|limit| Disk::begin(limit, &plan.watch.writable)),
        began: Instant::now(),
        refusals: Refusals::default(),
        listeners: Vec::new(),
        running: false,
        failed: None,
        status: None,
        landlock: "not asked for".to_owned(),
        memory: Memory::default(),
        next_memory: Instant::now(),
        ending: None,
        killed: false,
    };
    if let Err(failed) = cage.let_go(to_be_moved) {
        cage.kill();
        let _ = sys::wait(first);
        return Err(failed);
    }
    inner::let_output_go()?;
    Ok(cage)
}

fn enter_network(namespace: &std::path::Path) -> Result<(), Failed> {
    let descriptor = rustix::fs::open(
        namespace,
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )
    .step(format!("opening {}", namespace.display()))?;
    rustix::thread::move_into_link_name_space(
        descriptor.as_fd(),
        Some(rustix::thread::LinkNameSpaceType::Network),
    )
    .step(format!("entering the network {}", namespace.display()))
}

fn namespaces(plan: &Plan) -> libc::c_int {
    let mut all = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
    let mut own = |layer: Layer, flag: libc::c_int| {
        if !plan.off.contains(&layer) {
            all |= flag;
        }
    };
    own(Layer::PidNamespace, libc::CLONE_NEWPID);
    own(Layer::IpcNamespace, libc::CLONE_NEWIPC);
    own(Layer::UtsNamespace, libc::CLONE_NEWUTS);
    if matches!(plan.net, Net::Own { .. }) {
        all |= libc::CLONE_NEWNET;
    }
    all
}

impl Cage<'_> {
    /// One user and one group exist inside, and their rights outside are those of the same numbers.
    fn let_go(&mut self, to_be_moved: bool) -> Result<(), Failed> {
        let own = |name: &str| format!("/proc/{}/{name}", self.first);
        let (uid, gid) = (self.plan.identity.uid, self.plan.identity.gid);
        std::fs::write(own("setgroups"), "deny").step("refusing more groups")?;
        std::fs::write(own("uid_map"), format!("{uid} {uid} 1\n")).step("mapping the user")?;
        std::fs::write(own("gid_map"), format!("{gid} {gid} 1\n")).step("mapping the group")?;
        if let Some(group) = self.group.as_ref().filter(|_| to_be_moved) {
            group.take_in(self.first)?;
        }
        link::say(&self.inside, &Word::Go, &[]).step("letting the cage go on")
    }

    fn kill(&mut self) {
        let _ = rustix::process::pidfd_send_signal(&self.alive, Signal::KILL);
        if let Some(group) = &self.group {
            group.kill();
        }
    }

    fn watch(mut self, caller: &Caller) -> Report {
        loop {
            let timeout = self.next_look();
            let ready = self.poll(timeout);
            if ready.inside {
                self.hear(caller);
            }
            if ready.refusals {
                self.refusals.answer_some(ANSWERS);
            }
            if ready.caller {
                match caller.order() {
                    Ok(Some((Order::Stop { why: Stop::Output }, _))) => self.end(End::TooMuchOutput),
                    Ok(Some((Order::Stop { why: Stop::Asked }, _))) => self.end(End::Stopped),
                    Ok(Some((Order::Run(_), _))) => {}
                    Ok(None) | Err(_) => self.end_by_force(End::Abandoned),
                }
            }
            if ready.gone {
                return self.gone(caller);
            }
            self.look();
        }
    }

    fn poll(&self, timeout: Duration) -> Ready {
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        let abandoned = matches!(self.ending, Some((End::Abandoned, _)));
        let stdin = rustix::stdio::stdin();
        let mut all = vec![PollFd::new(&self.alive, PollFlags::IN), PollFd::new(&self.inside, PollFlags::IN)];
        if !abandoned {
            all.push(PollFd::new(&stdin, PollFlags::IN));
        }
        let listener = self.refusals.listener();
        if let Some(listener) = listener {
            all.push(PollFd::new(listener, PollFlags::IN));
        }
        let _ = rustix::event::poll(&mut all, Some(&timeout));
        let any = |at: usize| all.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let next = 2 + usize::from(!abandoned);
        Ready {
            gone: any(0),
            inside: all[1].revents().contains(PollFlags::IN),
            caller: !abandoned && any(2),
            refusals: listener.is_some()
                && all.get(next).is_some_and(|fd| fd.revents().contains(PollFlags::IN)),
        }
    }

    /// Takes the next word from inside; whether there was one.
    fn hear(&mut self, caller: &Caller) -> bool {
        let Ok(Some((word, mut beside))) = link::hear(&self.inside) else { return false };
        match word {
            Word::Go => {}
            Word::Listening => self.listeners = beside,
            Word::Temporary => self.memory.also_in(beside),
            Word::Refusals => self.refusals.listen(beside.pop()),
            Word::Landlock(came_to) => self.landlock = came_to,
            Word::Running => {
                self.running = true;
                self.began = Instant::now();
                let listeners: Vec<BorrowedFd<'_>> = self.listeners.iter().map(AsFd::as_fd).collect();
                caller.say(&Report::Running, &listeners);
                self.listeners.clear();
            }
            Word::Failed { step, why } => self.failed = Some(Failed { step, why }),
            Word::Status(status) => self.status = Some(status),
        }
        true
    }

    /// Until something has to be looked at again.
    fn next_look(&self) -> Duration {
        let watch = &self.plan.watch;
        if self.killed {
            return TICK;
        }
        let deadline = match self.ending {
            _ if !self.running => self.began.checked_add(BUILDING),
            Some((_, since)) => since.checked_add(watch.grace),
            None => watch.time.and_then(|time| self.began.checked_add(time)),
        };
        let tick = if watch.memory.is_some() { MEMORY_TICK } else { TICK };
        deadline.map_or(tick, |deadline| tick.min(deadline.saturating_duration_since(Instant::now())))
    }

    fn look(&mut self) {
        if self.running {
            self.look_at_limits();
        } else if self.began.elapsed() >= BUILDING {
            self.failed.get_or_insert(Failed {
                step: "building the cage".to_owned(),
                why: format!("it took more than {} s", BUILDING.as_secs()),
            });
            self.kill();
        }
    }

    /// They are the program's: what is built before it begins has a time of its own.
    fn look_at_limits(&mut self) {
        let watch = &self.plan.watch;
        if let Some(limit) = watch.memory
            && Instant::now() >= self.next_memory
        {
            self.next_memory = Instant::now() + MEMORY_TICK;
            if self.memory.is_beyond(limit, self.first) {
                // Asking a program that eats memory to end gives it time to eat more.
                self.end_by_force(End::OutOfMemory);
            }
        }
        if self.disk.as_mut().is_some_and(Disk::is_full) {
            self.end_by_force(End::DiskFull);
        }
        if watch.time.is_some_and(|time| self.began.elapsed() >= time) {
            self.end(End::TimeUp);
        }
        if let Some((why, since)) = self.ending
            && since.elapsed() >= watch.grace
            && !self.killed
        {
            self.end_by_force(why);
        }
    }

    fn end_by_force(&mut self, why: End) {
        self.end(why);
        self.killed = true;
        self.kill();
    }

    /// Asks the program to end, once; the first reason stands.
    fn end(&mut self, why: End) {
        if self.ending.is_none() {
            self.ending = Some((why, Instant::now()));
            let _ = rustix::process::pidfd_send_signal(&self.alive, Signal::TERM);
        }
    }

    /// The first process has ended, and with it all others.
    fn gone(mut self, caller: &Caller) -> Report {
        // What it said last may not have been heard yet.
        while self.poll(Duration::ZERO).inside && self.hear(caller) {}
        self.refusals.answer_some(ANSWERS);
        let wall = self.began.elapsed();
        let used = sys::wait(self.first).ok();
        let of_group = self.group.as_ref().and_then(Group::memory_peak);
        let starved = self.group.as_ref().is_some_and(Group::was_starved);
        let counted = self.group.as_ref().and_then(Group::processor_time);
        let (user, system) =
            counted.unwrap_or_else(|| used.map_or_else(Default::default, |u| (u.user, u.system)));
        drop(self.group.take());
        if let Some(failed) = self.failed.take() {
            return Report::NotStarted { step: failed.step, why: failed.why };
        }
        if !self.running && self.ending.is_none() {
            let why = match starved {
                true => "it takes more memory than was granted",
                false => "its first process was ended",
            };
            return Report::NotStarted { step: "building the cage".to_owned(), why: why.to_owned() };
        }
        let (memory, memory_of) = match of_group {
            Some(peak) => (peak, Counted::Cgroup),
            None if self.plan.watch.memory.is_some() => {
                (self.memory.most.max(used.map_or(0, |u| u.memory)), Counted::Watched)
            }
            None => (used.map_or(0, |u| u.memory), Counted::LargestProcess),
        };
        Report::Ended(Ended {
            end: self.how_it_ended(starved),
            wall,
            user,
            system,
            memory,
            memory_of,
            refused: std::mem::take(&mut self.refusals.counted),
            killed: self.killed,
            landlock: std::mem::take(&mut self.landlock),
            left_behind: Vec::new(),
        })
    }

    fn how_it_ended(&self, starved: bool) -> End {
        if let Some((why, _)) = self.ending {
            return why;
        }
        if starved {
            return End::OutOfMemory;
        }
        match self.status {
            Some(status) if libc::WIFEXITED(status) => End::Exited { code: libc::WEXITSTATUS(status) },
            // The kernel's word for a file that grew beyond its limit.
            Some(status) if libc::WTERMSIG(status) == libc::SIGXFSZ => End::DiskFull,
            Some(status) => End::Signalled { signal: libc::WTERMSIG(status) },
            None => End::Signalled { signal: libc::SIGKILL },
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Ready {
    gone: bool,
    inside: bool,
    caller: bool,
    refusals: bool,
}
