//! A host with systemd, reached over SSH: the doorman behind its keys does what is asked, and this asks.
//!
//! Every call is one program run by its argument list, over a connection that many share; it has a limit in time and in output.
//! The host proves who it is by a key that was pinned when it was taken in: another one stops everything.

use std::path::PathBuf;
use std::time::Duration;

use holdfast_doorman::wire::{Ask, Reply, Role};
use holdfast_lifeline::{EpisodeId, Identity};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};

use holdfast_line::{Line, Purpose, Unreached, shown};

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

/// Beyond what the doorman itself waits for anything.
const DEED_WITHIN: Duration = Duration::from_secs(310);
const LOOK_WITHIN: Duration = Duration::from_secs(30);
/// The newest generations that stay however old they are.
pub const GENERATIONS_KEPT: u32 = 3;

impl Way {
    /// The line for this role: its user, its key, its shared connection.
    pub fn line(&self, role: Role) -> Line {
        Line {
            address: self.address.clone(),
            port: self.port,
            alias: self.alias.clone(),
            known_hosts: self.known_hosts.clone(),
            key: self.keys.join(role.as_str()),
            user: if role == Role::Observe { &self.observer } else { &self.actor }.clone(),
            socket: self.sockets.join(role.as_str()),
        }
    }

    /// One word with what belongs to it, and the reply.
    pub fn ask(&self, role: Role, ask: &Ask, within: Duration) -> Result<Reply, Unreached> {
        let input = serde_json::to_vec(ask).map_err(std::io::Error::other)?;
        let purpose = if role == Role::Observe { Purpose::Looking } else { Purpose::Acting };
        let said = self.line(role).exchange(purpose, &[ask.word().as_str()], input, within)?;
        serde_json::from_str(said.trim())
            .map_err(|_| Unreached::Garbled { alias: self.alias.clone(), said: shown(&said) })
    }

    /// Ends the shared connections.
    pub fn hang_up(&self) {
        for role in Role::ALL {
            self.line(role).hang_up();
        }
    }
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

    /// What was kept longer ago than this and is none of the newest few goes, unless it is needed.
    pub fn tidy(&mut self, older_than: Duration) -> Result<usize, Fault> {
        self.cleaned(GENERATIONS_KEPT, older_than)
    }

    fn cleaned(&mut self, keep: u32, older_than: Duration) -> Result<usize, Fault> {
        match self.ask(&Ask::Clean { keep, older_seconds: older_than.as_secs() }, LOOK_WITHIN)? {
            Reply::Cleaned { removed } => Ok(removed as usize),
            Reply::Refused(refused) => Err(Fault::Refused(refused)),
            _ => Err(Fault::Broken),
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
            | Reply::Surveyed { .. }
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

    fn is_heard(&mut self, within: Duration) -> Result<(), Fault> {
        match self.ask(&Ask::Ping {}, within)? {
            Reply::Pong { .. } => Ok(()),
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
        self.cleaned(keep, Duration::ZERO)
    }

    /// A doorman cannot start its own machine again; whoever provides it can.
    fn reboot(&mut self, _reset: bool) -> Result<(), Fault> {
        Err(Fault::Unreachable)
    }
}
