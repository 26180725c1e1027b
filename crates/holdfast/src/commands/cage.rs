//! `holdfast cage`: runs somebody else's program with exactly the rights it is given. Needs neither a home nor a daemon.

mod explain;
mod told;

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Args, Subcommand};
use holdfast_cage::amount::{Bytes, duration};
use holdfast_cage::host::Host;
use holdfast_cage::{
    Access, CageError, Call, Destination, Evidence, Files, ForTerminal, Identity, Input, Launcher, Machine,
    Plan, Planting, Policy, Sinks, Variable,
};
use holdfast_types::Exit;
use serde_json::{Value, json};

use crate::console::Console;
use crate::problem::{CliError, Result};

/// Run a program in a cage, or try every wall of one
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct CageArgs {
    #[command(subcommand)]
    command: CageCommand,
}

#[derive(Debug, Subcommand)]
enum CageCommand {
    Run(RunArgs),
    Explain(ExplainArgs),
}

/// Run a program with exactly the rights it is given
///
/// Nothing is inherited: no descriptor, no variable, no file that is not granted, no network but what is named. When the
/// program ends, everything that came of it ends. The exit code is the program's own; 128 and the number of the signal that
/// ended it; 124 when its time was up; 137 when it took more than it was given.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: policy, end, code, wall_ms, user_ms, system_ms, memory, memory_of, killed, refused, refused_destinations, \
output_bytes, stdout, stderr, landlock, left_behind[] with path, what, set_aside; lacks[] with piece, means. With --dry-run: dry_run, policy, argv, directory, \
user, mounts[], network, variables[], limits, lacks[].")]
struct RunArgs {
    #[command(flatten)]
    what: What,

    /// Print on a terminal what the program prints as it is, and so let it do there what it likes
    ///
    /// Without this only text and colours reach a terminal; everything that would drive it is shown as it is written. What
    /// goes to a file or a pipe is never changed.
    #[arg(long)]
    let_it_drive_the_terminal: bool,

    /// Say what would be run and how, and run nothing
    #[arg(long)]
    dry_run: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", last = true, required = true)]
    argv: Vec<String>,
}

/// Try every wall of a cage from inside, and say what held
///
/// Sets up decoys (files, processes, sockets, shared memory), runs a program in the very cage that was asked for, and lets it
/// try to reach them in every way it knows. Aims at nothing but its own decoys. Only root can set up the decoys that are a
/// setuid program and a program with capabilities; root names with --user whose rights the cage has.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: policy, held, open, untried, attempts[] with name, group, what, layers[], outcome, how; lacks[] with piece, \
means.")]
struct ExplainArgs {
    #[command(flatten)]
    what: What,

    /// List every attempt, not only those that got through
    #[arg(long, short)]
    verbose: bool,

    /// The program it would be for; it is not run
    #[arg(value_name = "PROGRAM", last = true)]
    argv: Vec<String>,
}

#[derive(Debug, Args)]
struct What {
    /// A policy that comes with the program (quiet, work, online, model), or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "work")]
    policy: String,

    /// The folder it works in
    #[arg(long, value_name = "DIR", default_value = ".")]
    work: PathBuf,

    /// The user it runs as, by name or number; needed where root asks
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// Let it read this too
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,

    /// Let it change this too
    #[arg(long, value_name = "PATH")]
    write: Vec<PathBuf>,

    /// Leave git's hooks and configuration, and what shells and editors read, writable: whatever it puts there runs later,
    /// outside, with your rights
    #[arg(long)]
    let_planted_code_run_outside_later: bool,

    /// Let it reach this host through the proxy
    #[arg(long, value_name = "HOST:PORT")]
    reach: Vec<String>,

    /// Let it see this variable, as it is or with a value
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,

    /// At most this long
    #[arg(long, value_name = "TIME")]
    time: Option<String>,

    /// At most this much memory
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
}

/// A cage that could be built: what is asked for, on this machine.
struct Asked {
    launcher: Launcher,
    host: Host,
    policy: Policy,
    call: Call,
    plan: Plan,
}

pub(crate) fn run(args: &CageArgs, console: &mut Console) -> Result<u8> {
    match &args.command {
        CageCommand::Run(args) => start(args, console),
        CageCommand::Explain(args) => {
            let argv = if args.argv.is_empty() { vec!["true".to_owned()] } else { args.argv.clone() };
            explain::run(&asked(&args.what, argv)?, args.verbose, console).map(Exit::code)
        }
    }
}

fn start(args: &RunArgs, console: &mut Console) -> Result<u8> {
    let asked = asked(&args.what, args.argv.clone())?;
    if args.dry_run {
        told::plan(&asked, console)?;
        return Ok(Exit::Ok.code());
    }
    let (kept_out, kept_err) = (Kept::default(), Kept::default());
    let sinks = if console.is_json() {
        Sinks { output: Box::new(kept_out.clone()), errors: Box::new(kept_err.clone()) }
    } else {
        let raw = args.let_it_drive_the_terminal;
        Sinks { output: own_stream(&io::stdout(), raw)?, errors: own_stream(&io::stderr(), raw)? }
    };
    let input = io::stdin().as_fd().try_clone_to_owned().map_or(Input::Nothing, Input::From);
    console.flush()?;
    let evidence = asked.launcher.start(&asked.plan, &asked.policy, input, sinks)?.wait()?;
    if console.is_json() {
        console.json(&answer(&asked, &evidence, &kept_out, &kept_err))?;
    } else {
        told::end(&evidence, console);
    }
    Ok(evidence.code())
}

/// A stream of this program's, past its locks: the console holds them while the caged program prints.
/// A terminal is shown what only prints; a file or a pipe is given the bytes.
fn own_stream(stream: &(impl AsFd + IsTerminal), raw: bool) -> Result<Box<dyn Write + Send>> {
    let own = stream.as_fd().try_clone_to_owned().map_err(|source| CliError::Output { source })?;
    let own = std::fs::File::from(own);
    Ok(if stream.is_terminal() && !raw { Box::new(ForTerminal::new(own)) } else { Box::new(own) })
}

fn answer(asked: &Asked, evidence: &Evidence, out: &Kept, err: &Kept) -> Value {
    let ended = &evidence.ended;
    let end = serde_json::to_value(ended.end).unwrap_or_default();
    json!({
        "policy": asked.policy.name,
        "end": end["end"],
        "code": evidence.code(),
        "wall_ms": ended.wall.as_millis() as u64,
        "user_ms": ended.user.as_millis() as u64,
        "system_ms": ended.system.as_millis() as u64,
        "memory": ended.memory,
        "memory_of": ended.memory_of,
        "killed": ended.killed,
        "refused": ended.refused,
        "refused_destinations": evidence.refused_destinations,
        "output_bytes": evidence.output_bytes,
        "stdout": out.text(),
        "stderr": err.text(),
        "landlock": ended.landlock,
        "left_behind": ended.left_behind,
        "lacks": asked.plan.lacks,
    })
}

/// What a stream said, for an answer in one piece.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn asked(what: &What, argv: Vec<String>) -> Result<Asked> {
    let mut policy = policy(&what.policy)?;
    widen(&mut policy, what)?;
    let work = std::path::absolute(&what.work)
        .and_then(|path| path.canonicalize())
        .map_err(|source| CliError::Read { path: what.work.clone(), source })?;
    if work.to_str().is_none() {
        let message = format!("the name of {} has bytes that cannot be passed on", work.display());
        return Err(CliError::Usage { message }.into());
    }
    let identity = identity(what.user.as_deref())?;
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let call = Call { argv, work, identity, environment };
    let launcher = Launcher::beside_this_program()?;
    let host = launcher.host()?;
    let plan = Plan::of(&policy, &call, &host, &Machine).map_err(CageError::from)?;
    Ok(Asked { launcher, host, policy, call, plan })
}

/// One that comes with the program, or a file.
fn policy(named: &str) -> Result<Policy> {
    let from = named.to_owned();
    if Policy::builtin().any(|(name, _)| name == named) || !named.contains(['/', '.']) {
        return Policy::named(named).map_err(|source| CageError::Policy { from, source }.into());
    }
    let text = std::fs::read_to_string(named)
        .map_err(|source| CageError::Unreadable { from: from.clone(), source })?;
    Policy::parse(&text).map_err(|source| CageError::Policy { from, source }.into())
}

/// What is granted on the command line, for this one run.
fn widen(policy: &mut Policy, what: &What) -> Result<()> {
    const WHY: &str = "named on the command line";
    let usage = |message: String| CliError::Usage { message };
    for (paths, access) in [(&what.read, Access::Read), (&what.write, Access::Write)] {
        for path in paths {
            let whole =
                path.canonicalize().map_err(|source| CliError::Read { path: path.clone(), source })?;
            let path =
                whole.to_str().ok_or_else(|| usage(format!("{} cannot be passed on", whole.display())))?;
            let granted = policy.grant(Files::by_hand(path.to_owned(), access, true, false, WHY));
            granted.map_err(|e| usage(e.to_string()))?;
        }
    }
    if what.let_planted_code_run_outside_later {
        policy.planting = Planting::RunsOutsideLater;
    }
    for reach in &what.reach {
        let parsed = reach.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let (host, port) =
            parsed.ok_or_else(|| usage(format!("{reach} is no host and port like example.org:443")))?;
        // As it is written in an address of the web.
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        // Whoever names an address means it, wherever it is.
        let private = host.parse::<std::net::IpAddr>().is_ok() || host == "localhost";
        policy.destinations.push(Destination::by_hand(host.to_ascii_lowercase(), vec![port], private, WHY));
    }
    for variable in &what.env {
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (variable.as_str(), None),
        };
        policy.variables.retain(|grant| grant.name != name);
        policy.variables.push(Variable::by_hand(name.to_owned(), value, WHY));
    }
    if let Some(time) = &what.time {
        policy.limits.time =
            Some(duration(time).ok_or_else(|| usage(format!("{time} is no time like 90s or 10m")))?);
    }
    if let Some(memory) = &what.memory {
        policy.limits.memory =
            Some(Bytes::parse(memory).ok_or_else(|| usage(format!("{memory} is no size like 512M")))?);
    }
    Ok(())
}

/// Who it runs as: the one who asks, or another where root asks.
fn identity(named: Option<&str>) -> Result<Identity> {
    let own = Identity { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
    let Some(named) = named else { return Ok(own) };
    let message = |text: String| CliError::Usage { message: text };
    let found = match named.parse() {
        Ok(uid) => Identity { uid, gid: group_of(uid).unwrap_or(uid) },
        Err(_) => user(named).ok_or_else(|| message(format!("there is no user {named}")))?,
    };
    if own.uid != 0 && found.uid != own.uid {
        return Err(message("only root runs a program as somebody else".to_owned()).into());
    }
    Ok(found)
}

fn accounts() -> String {
    std::fs::read_to_string(Path::new("/etc/passwd")).unwrap_or_default()
}

fn user(named: &str) -> Option<Identity> {
    accounts().lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == named).then_some(())?;
        Some(Identity { uid: fields.nth(1)?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    })
}

fn group_of(uid: u32) -> Option<u32> {
    accounts().lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        (fields.next()?.parse::<u32>().ok()? == uid).then_some(())?;
        fields.next()?.parse().ok()
    })
}
