//! What a cage costs: starting a program in one, beside the bare program and bubblewrap, and what each system call costs
//! the program inside.
//!
//! The program does nothing, so that what is measured is the starting. Bubblewrap is given the same: its own namespaces of
//! every kind, the system's programs to read, a folder to write, its own `/proc`, `/dev` and `/tmp`. It is not given a
//! filter of calls, Landlock or limits, which ours always has.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use holdfast_cage::{Call, Identity, Input, Launcher, Machine, Plan as CagePlan, Policy, Sinks};

use crate::step;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) starts: usize,
    pub(crate) calls: usize,
    pub(crate) call_rounds: usize,
}

/// Milliseconds from before a process is made until it has been waited for, round by round; and nanoseconds per call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caged {
    pub(crate) bare_ms: Vec<f64>,
    pub(crate) bubblewrap_ms: Vec<f64>,
    pub(crate) ours_ms: Vec<f64>,
    /// The same through `holdfast cage run`, which also finds out what the machine can do.
    pub(crate) command_ms: Vec<f64>,
    pub(crate) with_group: bool,
    pub(crate) bare_call_ns: Vec<f64>,
    pub(crate) caged_call_ns: Vec<f64>,
}

/// Nobody on the machine has it: root's measurements need a user to be.
const USER: u32 = 48_211;

struct Ready {
    launcher: Launcher,
    policy: Policy,
    identity: Identity,
    work: PathBuf,
    host: holdfast_cage::host::Host,
    holdfast: PathBuf,
}

pub(crate) fn measure(dir: &Path, target: &Path, plan: Plan) -> Result<Caged> {
    step("starting programs in cages");
    let ready = Ready::make(dir, target)?;
    let mut caged = Caged { with_group: ready.host.cgroup.is_some(), ..Caged::default() };
    for _ in 0..plan.starts {
        caged.bare_ms.push(timed(|| succeed(Command::new("/bin/true")))?);
        caged.bubblewrap_ms.push(timed(|| succeed(ready.bubblewrap()))?);
        caged.ours_ms.push(timed(|| ready.run(&["/bin/true"]))?);
        caged.command_ms.push(timed(|| succeed(ready.command()))?);
    }
    step("making calls inside a cage");
    // A byte is read and written at a time: two calls each.
    let count = format!("count={}", plan.calls);
    let copy = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", count.as_str(), "status=none"];
    let per_call = |ms: f64| ms * 1e6 / (plan.calls * 2) as f64;
    for _ in 0..plan.call_rounds {
        let mut bare = Command::new(copy[0]);
        bare.args(&copy[1..]);
        caged.bare_call_ns.push(per_call(timed(|| succeed(bare))?));
        caged.caged_call_ns.push(per_call(timed(|| ready.run(&copy))?));
    }
    Ok(caged)
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

fn succeed(mut command: Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().context("starting a program")?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

impl Ready {
    fn make(dir: &Path, target: &Path) -> Result<Ready> {
        let work = dir.join("cage");
        std::fs::create_dir_all(&work)?;
        let own = rustix::process::geteuid();
        let identity = if own.is_root() {
            std::os::unix::fs::chown(&work, Some(USER), Some(USER))?;
            Identity { uid: USER, gid: USER }
        } else {
            Identity { uid: own.as_raw(), gid: rustix::process::getegid().as_raw() }
        };
        let launcher = Launcher::at(target.join("release/holdfast-cage"));
        let host = launcher.host()?;
        let policy = Policy::named("work").context("the policy")?;
        Ok(Ready { launcher, policy, identity, work, host, holdfast: target.join("release/holdfast") })
    }

    fn run(&self, argv: &[&str]) -> Result<()> {
        let argv = argv.iter().map(|a| (*a).to_owned()).collect();
        let call = Call { argv, work: self.work.clone(), identity: self.identity, environment: vec![] };
        let plan = CagePlan::of(&self.policy, &call, &self.host, &Machine)?;
        let sinks = Sinks { output: Box::new(std::io::sink()), errors: Box::new(std::io::sink()) };
        let evidence = self.launcher.start(&plan, &self.policy, Input::Nothing, sinks)?.wait()?;
        ensure!(evidence.code() == 0, "{}", evidence.end());
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.holdfast);
        command.args(["cage", "run", "--user"]).arg(self.identity.uid.to_string());
        command.arg("--work").arg(&self.work).args(["--", "/bin/true"]);
        command
    }

    fn bubblewrap(&self) -> Command {
        let mut command = Command::new("bwrap");
        command.args([
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
        ]);
        command.args(["--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr"]);
        for link in ["bin", "sbin", "lib", "lib64"] {
            if let Ok(to) = std::fs::read_link(Path::new("/").join(link)) {
                command.arg("--symlink").arg(to).arg(Path::new("/").join(link));
            }
        }
        command.arg("--bind").arg(&self.work).arg(&self.work).arg("/bin/true");
        command
    }
}
