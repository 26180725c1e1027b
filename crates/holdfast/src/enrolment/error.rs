//! What goes wrong when a host is taken in or let go: what it was, what was undone, what to do.

use holdfast_types::{Exit, Problem, ProblemCode};

use crate::problem::Failure;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("nothing speaks SSH at {address} port {port}: {said}")]
    Unreachable { address: String, port: u16, said: String },
    #[error("{address} shows the host key {shown}, and not {expected}")]
    OtherKey { address: String, shown: String, expected: String },
    #[error("nobody has compared the host key {shown} of {address}")]
    KeyNotSeen { address: String, shown: String },
    #[error("{address} does not let {user} in: {said}")]
    NotLetIn { address: String, user: String, said: String },
    #[error("{address} gives {user} no shell: {said}")]
    NoShell { address: String, user: String, said: String },
    #[error("{user} is neither root on {address} nor may become it without a password: {said}")]
    NoRoot { address: String, user: String, said: String },
    #[error("{address} will not do: {}", what.join("; "))]
    Unfit { address: String, what: Vec<String> },
    #[error("no unit was named that is to be looked after on {address}")]
    NoUnits { address: String, suggested: Vec<String> },
    #[error("{address} is looked after already: {what} is there")]
    AlreadyThere { address: String, what: String },
    #[error("there is a target {name:?} already: {what}")]
    NameTaken { name: String, what: String },
    #[error("the doorman's program was not found: {looked}")]
    NoDoorman { looked: String },
    #[error("nothing is done to a host without --yes where there is no terminal to ask at")]
    NeedsYes,
    #[error("it was not confirmed")]
    NotConfirmed,
    #[error("while {step}, {address} said: {said}")]
    Failed { address: String, step: String, said: String },
    #[error("the connection to {address} was lost while {step}: {said}")]
    Lost { address: String, step: String, said: String },
    #[error("{address} was taken in, and does not do what it has to: {}", what.join("; "))]
    Unproved { address: String, what: Vec<String> },
    #[error("no host was taken in as {name:?}")]
    Unknown { name: String, known: Vec<String> },
    #[error("something of ours is still on {address}: {}", what.join("; "))]
    NotGone { address: String, name: String, what: Vec<String> },
    #[error("{what}: {said}")]
    Here { what: String, said: String },
    #[error("it was stopped while {step}")]
    Interrupted { step: String },
    #[error("{host} is reached through {via}, and the steward goes straight to a host")]
    Through { host: String, via: String },
    #[error("{name} was not taken in whole")]
    NotWhole { name: String },
    #[error("{name} is guarded already")]
    IsGuarded { name: String },
    #[error("nobody was named who has nothing to do with {name}")]
    NoReferences { name: String, suggested: Vec<String> },
    #[error("{name} would not be brought back: {}", what.join("; "))]
    NoWayBack { name: String, what: Vec<String> },
    #[error("what the tripwire of this machine is told is root's")]
    NotRoot,
    #[error("what the daemon may reach would not follow what is written: {why}")]
    NotRoots { why: String },
    #[error("{path} was not written: {why}")]
    NotWritten { path: String, why: String },
    #[error("{address} port {port} is not lent: it is no host that you named")]
    NotLent { address: String, port: u16 },
}

/// What became of what was done before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Aftermath {
    pub(crate) undone: Vec<String>,
    pub(crate) remains: Vec<String>,
    /// What takes the rest away.
    pub(crate) remedy: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnrolError {
    pub(crate) fault: Fault,
    pub(crate) after: Aftermath,
}

impl From<Fault> for EnrolError {
    fn from(fault: Fault) -> EnrolError {
        EnrolError { fault, after: Aftermath::default() }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        EnrolError::from(fault).problem().into()
    }
}

impl From<EnrolError> for Failure {
    fn from(error: EnrolError) -> Failure {
        error.problem().into()
    }
}

impl Aftermath {
    fn told(&self) -> String {
        match (self.undone.as_slice(), self.remains.as_slice()) {
            ([], []) => "Nothing was changed, there or here.".to_owned(),
            (undone, []) => format!("What was done is undone: {}.", undone.join(", ")),
            ([], remains) => format!("Not undone: {}.", remains.join("; ")),
            (undone, remains) => {
                format!("Undone: {}. Not undone: {}.", undone.join(", "), remains.join("; "))
            }
        }
    }
}

impl EnrolError {
    pub(crate) fn problem(&self) -> Problem {
        let (number, exit, hint) = self.fault.explain();
        let hint = match &self.after.remedy {
            Some(remedy) => format!("{hint} {remedy}"),
            None => hint,
        };
        let code = ProblemCode { room: "ENR", number };
        Problem { code, exit, what: self.fault.to_string(), untouched: self.after.told(), hint }
    }

    /// One of each.
    pub(crate) fn samples() -> Vec<EnrolError> {
        let text = |text: &str| text.to_owned();
        let (address, user) = (|| text("box-1.lan"), || text("ana"));
        let step = || text("the program is put there");
        let (shown, expected) = (text("SHA256:0o4CRjBzTDGf"), text("SHA256:9Xv2mP1qKsdW"));
        let undone = Aftermath {
            undone: vec![text("the program there"), text("the keys here")],
            ..Aftermath::default()
        };
        let remains = Aftermath {
            undone: vec![text("the target in config.yaml")],
            remains: vec![text("the program there: the host did not answer")],
            remedy: Some(remedy("box-1")),
        };
        let after = |fault, after: &Aftermath| EnrolError { fault, after: after.clone() };
        vec![
            Fault::Unreachable { address: address(), port: 22, said: text("Connection refused") }.into(),
            Fault::OtherKey { address: address(), shown: shown.clone(), expected }.into(),
            Fault::KeyNotSeen { address: address(), shown }.into(),
            Fault::NotLetIn { address: address(), user: user(), said: text("Permission denied (publickey)") }
                .into(),
            Fault::NoShell { address: address(), user: user(), said: text("This account is for backups") }
                .into(),
            Fault::NoRoot { address: address(), user: user(), said: text("sudo: a password is required") }
                .into(),
            Fault::Unfit { address: address(), what: vec![text("systemd 241 is there, and 249 is needed")] }
                .into(),
            Fault::NoUnits { address: address(), suggested: vec![text("web.service")] }.into(),
            Fault::AlreadyThere { address: address(), what: text("/etc/holdfast-doorman/settings.json") }
                .into(),
            Fault::NameTaken { name: text("box-1"), what: text("config.yaml has one") }.into(),
            Fault::NoDoorman { looked: text("/usr/lib/holdfast/holdfast-doorman is not there") }.into(),
            Fault::NeedsYes.into(),
            Fault::NotConfirmed.into(),
            after(
                Fault::Failed { address: address(), step: step(), said: text("No space left on device") },
                &undone,
            ),
            after(Fault::Lost { address: address(), step: step(), said: text("Broken pipe") }, &remains),
            after(
                Fault::Unproved { address: address(), what: vec![text("the key for act is not let in")] },
                &undone,
            ),
            Fault::Unknown { name: text("box-7"), known: vec![text("box-1")] }.into(),
            after(
                Fault::NotGone {
                    address: address(),
                    name: text("box-1"),
                    what: vec![text("the user who looks")],
                },
                &Aftermath { undone: vec![text("the program there")], ..Aftermath::default() },
            ),
            Fault::Here { what: text("keys could not be made"), said: text("ssh-keygen is not there") }
                .into(),
            after(Fault::Interrupted { step: step() }, &undone),
            Fault::Through { host: text("box-1"), via: text("bastion.example") }.into(),
            Fault::NotWhole { name: text("box-1") }.into(),
            Fault::IsGuarded { name: text("box-1") }.into(),
            Fault::NoReferences { name: text("box-1"), suggested: vec![text("192.168.1.1:53")] }.into(),
            after(
                Fault::NoWayBack {
                    name: text("box-1"),
                    what: vec![text("the second route would not work: box-1 did not answer within 20 s")],
                },
                &Aftermath { undone: vec![text("its guard")], ..Aftermath::default() },
            ),
            Fault::NotRoot.into(),
            Fault::NotRoots { why: text("/etc/holdfast/config.yaml does not belong to root") }.into(),
            after(
                Fault::NotWritten {
                    path: text("/etc/holdfast/config.yaml"),
                    why: text("it has changed since it was read"),
                },
                &undone,
            ),
            Fault::NotLent { address: text("192.0.2.7"), port: 22 }.into(),
        ]
    }
}

/// How what could not be undone is taken away later.
pub(crate) fn remedy(name: &str) -> String {
    format!("When the host is back, `holdfast target remove {name}` takes the rest away.")
}

impl Fault {
    fn explain(&self) -> (u16, Exit, String) {
        let text = |text: &str| text.to_owned();
        match self {
            Fault::Unreachable { address, port, .. } => (
                1,
                Exit::CouldNotCheck,
                format!(
                    "Check the address, that the host is on and that its sshd listens: ssh-keyscan -p {port} {address}"
                ),
            ),
            Fault::OtherKey { .. } => (
                2,
                Exit::Refused,
                text(
                    "On the host: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub. If it has not changed there, somebody is in between.",
                ),
            ),
            Fault::KeyNotSeen { shown, .. } => (
                3,
                Exit::Usage,
                format!(
                    "Compare it on the host: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub; then add --host-key {shown}, or --yes to take what answers."
                ),
            ),
            Fault::NotLetIn { address, user, .. } => (
                4,
                Exit::CouldNotCheck,
                format!(
                    "Try it by hand: ssh {user}@{address} true; name another account, or its key with --identity."
                ),
            ),
            Fault::NoShell { user, .. } => (
                5,
                Exit::Refused,
                format!(
                    "The key of {user} runs one command alone there, or the account has no shell: name an account that has one."
                ),
            ),
            Fault::NoRoot { user, .. } => (
                6,
                Exit::Refused,
                format!(
                    "Name root, or let {user} become root for as long as this takes: visudo -f /etc/sudoers.d/{user} with `{user} ALL=(ALL) NOPASSWD: ALL`."
                ),
            ),
            Fault::Unfit { .. } => (7, Exit::Negative, text("Put right what is listed, then say it again.")),
            Fault::NoUnits { suggested, .. } if suggested.is_empty() => (
                8,
                Exit::Usage,
                text("Name what is to be looked after: --unit NAME.service, the most important one first."),
            ),
            Fault::NoUnits { suggested, .. } => (
                8,
                Exit::Usage,
                format!(
                    "Name what is to be looked after, the most important one first. What runs there: {}.",
                    suggested.iter().map(|unit| format!("--unit {unit}")).collect::<Vec<_>>().join(" ")
                ),
            ),
            Fault::AlreadyThere { .. } => (
                9,
                Exit::Refused,
                text(
                    "Let it go from where it was taken in (`holdfast target remove`), or on the host as root: /usr/local/lib/holdfast/holdfast-doorman leave.",
                ),
            ),
            Fault::NameTaken { name, .. } => (
                10,
                Exit::Usage,
                format!(
                    "Choose another with --name, or let that one go first: holdfast target remove {name}"
                ),
            ),
            Fault::NoDoorman { .. } => (
                11,
                Exit::CouldNotCheck,
                text("Build it with `make doorman`, and name it with --doorman FILE."),
            ),
            Fault::NeedsYes => (
                12,
                Exit::Usage,
                text("Read the plan, which --dry-run shows too, then say it again with --yes."),
            ),
            Fault::NotConfirmed => (13, Exit::Negative, text("Say it again when you are sure.")),
            Fault::Failed { .. } => {
                (14, Exit::CouldNotCheck, text("Put right what it says, then say it again."))
            }
            Fault::Lost { .. } => {
                (15, Exit::CouldNotCheck, text("Check the way to the host, then say it again."))
            }
            Fault::Unproved { .. } => (
                16,
                Exit::Negative,
                text("Look at what sshd says there: journalctl -u ssh -n 50; then say it again."),
            ),
            Fault::Unknown { known, .. } if known.is_empty() => {
                (17, Exit::Negative, text("None is: `holdfast target add USER@HOST` takes one in."))
            }
            Fault::Unknown { known, .. } => (
                17,
                Exit::Negative,
                format!(
                    "These are: {}. One that was set up by hand is let go by hand (docs/real-hosts.md).",
                    known.join(", ")
                ),
            ),
            Fault::NotGone { name, .. } => (
                18,
                Exit::CouldNotCheck,
                format!(
                    "Put right what it says, then say it again; if the host is gone for good: holdfast target remove {name} --forget"
                ),
            ),
            Fault::Here { .. } => {
                (19, Exit::CouldNotCheck, text("Put right what it says, then say it again."))
            }
            Fault::Interrupted { .. } => {
                (20, Exit::CouldNotCheck, text("Say it again when you have the time."))
            }
            Fault::Through { .. } => (
                21,
                Exit::Refused,
                text(
                    "Name one that this machine reaches by itself, a VPN's for instance, with --address: what is set up goes your way, and the steward that one.",
                ),
            ),
            Fault::NotWhole { name } => (
                22,
                Exit::Refused,
                format!("Take away what is left, then take it in again: holdfast target remove {name}"),
            ),
            Fault::IsGuarded { name } => {
                (23, Exit::Usage, format!("Look how it fares: holdfast target check {name}"))
            }
            Fault::NoReferences { suggested, .. } => (
                24,
                Exit::Usage,
                format!(
                    "When nobody else answers either it is the guard that is cut off: name somebody with --reference ADDRESS:PORT, your router or a public name server{}.",
                    match suggested.as_slice() {
                        [] => String::new(),
                        some => format!(
                            "; the name servers of this machine are {}",
                            some.iter().map(|it| format!("--reference {it}")).collect::<Vec<_>>().join(" ")
                        ),
                    }
                ),
            ),
            Fault::NoWayBack { .. } => {
                (25, Exit::Negative, text("Put right what is listed, then say it again."))
            }
            Fault::NotRoot => (26, Exit::Refused, text("Say it as root.")),
            Fault::NotRoots { .. } => (
                27,
                Exit::Refused,
                text(
                    "Look at the file: the daemon's user may have written it. When it says what you mean, `chown root: /etc/holdfast/config.yaml`, and say it again.",
                ),
            ),
            Fault::NotWritten { path, .. } => (
                28,
                Exit::Refused,
                format!(
                    "Look at {path} and whose it is; when it says what you mean, `chown root: {path}`, and say it again. Nothing but what you asked for is put in."
                ),
            ),
            Fault::NotLent { address, .. } => (
                29,
                Exit::Refused,
                format!(
                    "Your ssh's configuration leads there: if that is the host, say so with --address {address}."
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_contiguous() {
        let numbers: Vec<u16> = EnrolError::samples().iter().map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, (1..=29).collect::<Vec<u16>>());
    }
}
