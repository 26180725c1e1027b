//! A host with systemd, reached over SSH: the doorman behind its keys does what is asked, and this asks.
//!
//! Every call is one program run by its argument list, over a connection that many share; it has a limit in time and in output.
//! The host proves who it is by a key that was pinned when it was taken in: another one stops everything.

use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use holdfast_doorman::ended_within;
use holdfast_doorman::wire::{Ask, REPLY_MAX, Reply, Role};
use holdfast_lifeline::{EpisodeId, Identity};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};

use crate::driver::Driver;

/// How a target is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    pub address: String,
    pub port: u16,
    /// The name under which its key is pinned.
    pub alias: String,
    pub known_hosts: PathBuf,
    /// The folder with one private key for each role, named like it.
    pub keys: PathBuf,
    /// The user without rights who looks, and the one who acts.
    pub observer: String,
    pub actor: String,
    /// Where shared connections are kept; a folder of our own.
    pub sockets: PathBuf,
}

/// What a shared connection may take to come up, and how long it stays without use.
const CONNECT_WITHIN: &str = "10";
const STAYS_FOR: &str = "120";
/// Beyond what the doorman itself waits for anything.
const DEED_WITHIN: Duration = Duration::from_secs(310);
const LOOK_WITHIN: Duration = Duration::from_secs(30);

/// Why a call has no reply.
#[derive(Debug, thiserror::Error)]
pub enum Unreached {
    #[error(
        "{alias} shows another host key than the one that was pinned: nothing is asked of it until a person has looked"
    )]
    AnotherKey { alias: String },
    #[error("{alias} did not answer: {said}")]
    NoAnswer { alias: String, said: String },
    #[error("{alias} did not answer within {} s", .within.as_secs())]
    TimedOut { alias: String, within: Duration },
    #[error("{alias} answered something that is no reply: {said}")]
    Garbled { alias: String, said: String },
    #[error("ssh could not be run: {0}")]
    NoSsh(#[from] std::io::Error),
}

impl Way {
    /// ssh with these options of its own, up to where the word goes.
    fn command(&self, role: Role, options: &[&str]) -> Command {
        let user = if role == Role::Observe { &self.observer } else { &self.actor };
        let mut command = Command::new("ssh");
        command.args(["-F", "none", "-T"]);
        let mut option = |text: String| {
            command.arg("-o").arg(text);
        };
        for fixed in
            ["BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "StrictHostKeyChecking=yes"]
        {
            option(fixed.to_owned());
        }
        option("GlobalKnownHostsFile=/dev/null".to_owned());
        option(format!("UserKnownHostsFile={}", self.known_hosts.display()));
        option(format!("HostKeyAlias={}", self.alias));
        option(format!("ConnectTimeout={CONNECT_WITHIN}"));
        option("ServerAliveInterval=5".to_owned());
        option("ServerAliveCountMax=3".to_owned());
        option("ControlMaster=auto".to_owned());
        option(format!("ControlPersist={STAYS_FOR}"));
        option(format!("ControlPath={}/{role}", self.sockets.display()));
        option("LogLevel=ERROR".to_owned());
        command.arg("-i").arg(self.keys.join(role.as_str()));
        command.args(["-p", &self.port.to_string(), "-l", user]).args(options).args(["--", &self.address]);
        command
    }

    /// One word with what belongs to it, and the reply.
    pub fn ask(&self, role: Role, ask: &Ask, within: Duration) -> Result<Reply, Unreached> {
        let alias = || self.alias.clone();
        let mut command = self.command(role, &[]);
        // The master stays behind and keeps what it was given, so it is given files and no pipes of ours.
        let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command
            .arg(ask.word().as_str())
            .stdin(Stdio::piped())
            .stdout(out.try_clone()?)
            .stderr(err.try_clone()?);
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            let text = serde_json::to_vec(ask).map_err(std::io::Error::other)?;
            // Who does not read it says why, and that is what is read.
            let _closed = input.write_all(&text);
        }
        let Some(_status) = ended_within(&mut child, within)? else {
            return Err(Unreached::TimedOut { alias: alias(), within });
        };
        let (said, complaint) = (contents(out)?, contents(err)?);
        if let Ok(reply) = serde_json::from_str(said.trim()) {
            return Ok(reply);
        }
        let is_changed = complaint.contains("HOST IDENTIFICATION HAS CHANGED")
            || complaint.contains("Host key verification failed");
        Err(match (is_changed, said.trim().is_empty()) {
            (true, _) => Unreached::AnotherKey { alias: alias() },
            (false, true) => Unreached::NoAnswer { alias: alias(), said: shown(&complaint) },
            (false, false) => Unreached::Garbled { alias: alias(), said: shown(&said) },
        })
    }

    /// Ends the shared connections.
    pub fn hang_up(&self) {
        for role in Role::ALL {
            let mut command = self.command(role, &["-O", "exit"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let _none_was_open = command.status();
        }
    }
}

fn shown(text: &str) -> String {
    holdfast_types::printable(text.trim()).chars().take(300).collect()
}

fn contents(mut file: std::fs::File) -> std::io::Result<String> {
    use std::io::Seek as _;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(REPLY_MAX as u64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The driver of such a host.
#[derive(Debug)]
pub struct SystemdHost {
    way: Way,
    /// How many seconds of the steward's time one of the target's is; more than one in tests alone.
    pace: u32,
    /// The last reason for which there was no reply, for people.
    trouble: Option<Unreached>,
}

impl SystemdHost {
    pub fn new(way: Way) -> SystemdHost {
        SystemdHost { way, pace: 1, trouble: None }
    }

    /// The same for a steward that lives faster: leases last as much shorter on the target.
    pub fn paced(way: Way, pace: u32) -> SystemdHost {
        SystemdHost { pace: pace.max(1), ..SystemdHost::new(way) }
    }

    pub fn way(&self) -> &Way {
        &self.way
    }

    pub fn trouble(&self) -> Option<&Unreached> {
        self.trouble.as_ref()
    }

    fn ask(&mut self, ask: &Ask, within: Duration) -> Result<Reply, Fault> {
        match self.way.ask(Role::Act, ask, within) {
            Ok(reply) => {
                self.trouble = None;
                Ok(reply)
            }
            Err(unreached) => {
                let fault = match unreached {
                    Unreached::TimedOut { .. } => Fault::TimedOut,
                    Unreached::Garbled { .. } => Fault::Broken,
                    Unreached::AnotherKey { .. } | Unreached::NoAnswer { .. } | Unreached::NoSsh(_) => {
                        Fault::Unreachable
                    }
                };
                self.trouble = Some(unreached);
                Err(fault)
            }
        }
    }

    fn paced_ask(&self, verb: &Verb) -> Ask {
        let shorter = |seconds: u64| (seconds / u64::from(self.pace)).max(1);
        match Ask::of(verb) {
            Ask::Arm { episode, known_good, candidate, lasts_seconds, cap_seconds } => Ask::Arm {
                episode,
                known_good,
                candidate,
                lasts_seconds: shorter(lasts_seconds),
                cap_seconds: shorter(cap_seconds),
            },
            other => other,
        }
    }
}

impl Driver for SystemdHost {
    fn kind(&self) -> &'static str {
        "systemd"
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        match self.ask(&self.paced_ask(verb), DEED_WITHIN)? {
            Reply::Checked(checked) => Ok(Answer::Checked(checked)),
            Reply::Staged(staged) => Ok(Answer::Staged(staged)),
            Reply::Armed(armed) => Ok(Answer::Armed(armed)),
            Reply::Accepted => Ok(Answer::Accepted),
            Reply::Activation(activation) => Ok(Answer::Activation(activation)),
            Reply::Refused(refused) => Err(Fault::Refused(refused)),
            Reply::Broken { .. }
            | Reply::NotAdmitted { .. }
            | Reply::Pong { .. }
            | Reply::Collected(_)
            | Reply::State(_)
            | Reply::Generations(_)
            | Reply::Cleaned { .. } => Err(Fault::Broken),
        }
    }

    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        let ask = Ask::State { full, renew: renew.cloned(), about: about.cloned() };
        match self.ask(&ask, LOOK_WITHIN)? {
            Reply::State(state) => Ok(*state),
            _ => Err(Fault::Broken),
        }
    }

    /// Nothing where it cannot be asked.
    fn generations(&self) -> Vec<Identity> {
        match self.way.ask(Role::Act, &Ask::List {}, LOOK_WITHIN) {
            Ok(Reply::Generations(all)) => all.into_iter().map(|generation| generation.identity).collect(),
            _ => Vec::new(),
        }
    }

    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        let keep = u32::try_from(keep).unwrap_or(u32::MAX);
        match self.ask(&Ask::Clean { keep }, LOOK_WITHIN)? {
            Reply::Cleaned { removed } => Ok(removed as usize),
            _ => Err(Fault::Broken),
        }
    }

    /// A doorman cannot start its own machine again; whoever provides it can.
    fn reboot(&mut self, _reset: bool) -> Result<(), Fault> {
        Err(Fault::Unreachable)
    }
}
