//! What goes wrong on the command line itself, and how any problem is shown.
//!
//! The rooms have their own errors and turn them into a [`Problem`]; [`CliError`] holds what none of them
//! can know. [`Failure`] is what a command returns: a problem, or a reader that went away.

use std::io;
use std::path::PathBuf;

use holdfast_keys::CanonicalError;
use holdfast_types::{Exit, Origin, Problem, ProblemCode};
use serde_json::{Value, json};

use crate::look::{Shape, Style, printable};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{message}")]
    Usage { message: String },
    #[error("there is no place for Holdfast's files: neither HOLDFAST_HOME nor HOME is set")]
    NoHome,
    #[error("{} could not be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} could not be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the output could not be written: {source}")]
    Output { source: io::Error },
    #[error("the body cannot be written down: {source}")]
    Body { source: CanonicalError },
    #[error("the body is {found}, and an entry's body is a JSON object")]
    BodyNotObject { found: &'static str },
    #[error("{what} has more than {limit} bytes")]
    TooMuchInput { what: String, limit: u64 },
    #[error("this home is {found}, and --name asks for {asked}")]
    OtherInstance { found: Origin, asked: Origin },
    #[error("the journal is there, and {} is not", path.display())]
    KeyLost { path: PathBuf },
    #[error("erasing entry {seq} cannot be undone, and --yes was not given")]
    NeedsYes { seq: u64 },
    #[error("no key is known that signs for the log {origin}")]
    NoKeyFor { origin: String },
    #[error("there is nothing to prove from {old} to {new} entries")]
    NothingToProve { old: u64, new: u64 },
    #[error("there is something at {} already", path.display())]
    OutExists { path: PathBuf },
    #[error("this home is not a witness yet")]
    NotAWitness,
    #[error("this home is the witness {found}, and --name asks for {asked}")]
    OtherWitness { found: String, asked: String },
    #[error("there is no archive at {}", path.display())]
    NoArchive { path: PathBuf },
    #[error("entry {seq} has a body and no sealed text")]
    NoSealedText { seq: u64 },
    #[error("no daemon runs on this home")]
    NoDaemon,
    #[error("a daemon or another command has this home open")]
    DaemonRuns,
    #[error("the daemon, process {pid}, was told to stop and still runs")]
    StillRunning { pid: u32 },
    #[error("{address} cannot be listened on: {source}{held_by}")]
    Listen {
        address: std::net::SocketAddr,
        source: io::Error,
        /// Who stands in the way, in words.
        held_by: String,
    },
    #[error("{what} could not be set up: {source}")]
    Start { what: &'static str, source: io::Error },
    #[error("{what} was stopped before it was done")]
    Interrupted { what: &'static str },
    #[error("something that takes long is under way already, and one goes on at a time")]
    AlreadyAtIt,
    #[error("nothing is removed without --yes")]
    UninstallNeedsYes,
    #[error("there is no channel {name:?} in the configuration")]
    NoChannel { name: String },
    #[error("{} is not a home this can remove: {why}", path.display())]
    NotAHome { path: PathBuf, why: &'static str },
    #[error("{} could not be removed: {source}", path.display())]
    HalfRemoved { path: PathBuf, source: io::Error },
    #[error("this home was made before, and its journal is gone from {}", path.display())]
    JournalLost { path: PathBuf },
    #[error("this home was made before, and its trust set is gone from {}", path.display())]
    TrustLost { path: PathBuf },
    #[error("nothing is signed without --yes where there is no terminal to ask at")]
    VerdictNeedsYes,
    #[error("it was not confirmed")]
    NotConfirmed,
    #[error("{what} cannot be taken: {why}")]
    Input { what: String, why: String },
    #[error("{what} is not UTF-8, so no place in it can be told")]
    NotText { what: String },
    #[error("there is no such {what}")]
    NotThere { what: String },
    #[error("a test message did not arrive everywhere: {why}")]
    NoticesFailed { why: String },
    #[error("the gateway could not be set up: {why}")]
    Gateway { why: String },
    #[error("there is an owner already, so a link is for somebody by name")]
    WhichPerson,
    #[error("this house has no authority of its own")]
    NoAuthority,
}

/// How a command ends that does not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    Problem(Box<Problem>),
    /// Whoever read our output has left, as `head` does. That is no error.
    ReaderLeft,
}

impl Failure {
    pub(crate) fn problem(&self) -> Option<&Problem> {
        match self {
            Failure::Problem(problem) => Some(problem),
            Failure::ReaderLeft => None,
        }
    }
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl CliError {
    pub(crate) fn problem(&self) -> Problem {
        let (number, exit, untouched, hint) = self.explain();
        Problem {
            code: ProblemCode { room: "CLI", number },
            exit,
            what: self.to_string(),
            untouched: untouched.to_owned(),
            hint,
        }
    }

    fn explain(&self) -> (u16, Exit, &'static str, String) {
        use Exit::{CouldNotCheck, Damaged, Usage};
        const NOTHING: &str = "Nothing was written.";
        const HERE: &str = "What was there before is as it was.";
        match self {
            CliError::Usage { .. } => (1, Usage, NOTHING, "See `holdfast help`.".into()),
            CliError::NoHome => {
                (2, Usage, NOTHING, "Set HOLDFAST_HOME to a directory, or give --home DIR.".into())
            }
            CliError::Read { path, .. } => {
                let hint = format!("Check the path, and who may read it: ls -ld {}", path.display());
                (3, CouldNotCheck, NOTHING, hint)
            }
            CliError::Write { path, .. } => {
                let hint = format!(
                    "Check the owner, the mount options and the space: ls -ld {0}; df {0}",
                    path.parent().unwrap_or(path).display()
                );
                (4, CouldNotCheck, HERE, hint)
            }
            CliError::Output { .. } => (
                5,
                CouldNotCheck,
                "What the command did before is done.",
                "Check where the output goes, then ask again.".into(),
            ),
            CliError::Body { source } => (6, Usage, NOTHING, source.problem().hint),
            CliError::BodyNotObject { .. } => {
                (7, Usage, NOTHING, r#"Put it into a field: {"value": …}."#.into())
            }
            CliError::TooMuchInput { .. } => (8, Usage, NOTHING, "Split it, or check the path.".into()),
            CliError::OtherInstance { .. } => (
                9,
                Usage,
                HERE,
                "Leave --name out, or choose another home: a log's name never changes.".into(),
            ),
            CliError::KeyLost { .. } => (
                10,
                Damaged,
                HERE,
                "Put it back from your copy of etc/; a new one would not fit the journal.".into(),
            ),
            CliError::NeedsYes { .. } => (
                11,
                Usage,
                "Nothing was erased.",
                "Read the plan, which --dry-run shows too, then say it again with --yes.".into(),
            ),
            CliError::NoKeyFor { .. } => (
                12,
                CouldNotCheck,
                NOTHING,
                "Give the log's verifier key with --vkey; `holdfast init` prints it.".into(),
            ),
            CliError::NothingToProve { .. } => (
                13,
                Usage,
                NOTHING,
                "Begin at 1 or later, and end no earlier: every log continues the empty one.".into(),
            ),
            CliError::OutExists { .. } => {
                (14, Usage, HERE, "Choose a place where nothing is yet.".into())
            }
            CliError::NotAWitness => {
                (15, Usage, NOTHING, "Run `holdfast audit witness init --name NAME` first.".into())
            }
            CliError::OtherWitness { .. } => {
                (16, Usage, HERE, "Leave --name out: others know this witness by its name.".into())
            }
            CliError::NoArchive { .. } => {
                (17, Usage, NOTHING, "Give the directory that closed segments were moved to.".into())
            }
            CliError::NoSealedText { seq } => (
                18,
                Usage,
                NOTHING,
                format!("Its body is in the log: holdfast audit tail --from {seq} -n 1 --json"),
            ),
            CliError::NoDaemon => (19, CouldNotCheck, NOTHING, "Start one: `holdfast up`.".into()),
            CliError::DaemonRuns => {
                (20, Exit::Busy, "Nothing was removed.", "Stop it first: `holdfast down`.".into())
            }
            CliError::StillRunning { pid } => (
                21,
                Exit::TimedOut,
                HERE,
                format!("Look at its log; if it hangs: kill {pid}. Nothing acknowledged is lost by that."),
            ),
            CliError::Listen { address, .. } => (
                22,
                Exit::Busy,
                NOTHING,
                {
                    let both = match address.ip().is_loopback() {
                        true => "`localhost` leads to 127.0.0.1 and to [::1], so the daemon takes both. ",
                        false => "",
                    };
                    format!(
                        "{both}If that is not you, they could have shown people a page of theirs under this address: end it. `ss -ltnp 'sport = :{}'` as root \
                         names the process. Or set another address (gateway.listen, health.listen, approvals.webhook.listen).",
                        address.port()
                    )
                },
            ),
            CliError::Start { .. } => {
                (23, CouldNotCheck, NOTHING, "Check the limits of this process: ulimit -a".into())
            }
            CliError::Interrupted { .. } => (
                24,
                CouldNotCheck,
                "Everything is as it was before it began.",
                "Ask again when you have the time.".into(),
            ),
            CliError::AlreadyAtIt => (25, Exit::Busy, NOTHING, "Wait for it to end, then ask again.".into()),
            CliError::UninstallNeedsYes => (
                26,
                Usage,
                "Nothing was removed.",
                "Read the plan, which --dry-run shows too, then say it again with --yes.".into(),
            ),
            CliError::NoChannel { .. } => {
                (27, Usage, NOTHING, "See notifications.channels in `holdfast config show`.".into())
            }
            CliError::NotAHome { .. } => {
                (28, Exit::Refused, "Nothing was removed.", "Look at the path; remove by hand what is yours.".into())
            }
            CliError::HalfRemoved { .. } => (
                29,
                CouldNotCheck,
                "What stood before it in the plan is removed; it and the rest are still there.",
                "Put right what is in the way, then say it again.".into(),
            ),
            CliError::JournalLost { .. } => (
                30,
                Damaged,
                HERE,
                "Mount or restore the state directory. A new journal would be a second history under the same key."
                    .into(),
            ),
            CliError::TrustLost { path } => (
                39,
                Damaged,
                HERE,
                format!(
                    "Put {} back from your copy of etc/. A new one would believe keys again that were revoked; \
                     if there is no copy: holdfast init --lose-revocations",
                    path.display()
                ),
            ),
            CliError::VerdictNeedsYes => (
                31,
                Usage,
                "Nothing was signed, and nothing was decided.",
                "Read what it says, which --dry-run shows too, then say it again with --yes.".into(),
            ),
            CliError::NotConfirmed => (
                32,
                Exit::Negative,
                "Nothing was signed, and nothing was decided.",
                "Say it again when you are sure; until it expires it waits.".into(),
            ),
            CliError::Input { .. } => (
                33,
                CouldNotCheck,
                "What came before it is answered and printed.",
                "Mend it and give the rest again from there on.".into(),
            ),
            CliError::NotText { .. } => (
                40,
                CouldNotCheck,
                "Nothing was printed.",
                "Give it as UTF-8, or leave `--json` out: the plain form passes such bytes.".into(),
            ),
            CliError::NotThere { .. } => {
                (34, Usage, NOTHING, "Look at the list it should be in; it may be too old to be at hand.".into())
            }
            CliError::NoticesFailed { .. } => (
                35,
                Exit::Negative,
                "What the other channels were sent has arrived there.",
                "See `holdfast notice test` for what to do about each channel.".into(),
            ),
            CliError::WhichPerson => (
                36,
                Usage,
                "No link was made.",
                "See who there is with `holdfast gateway people`, then `holdfast gateway link NAME`.".into(),
            ),
            CliError::NoAuthority => (
                38,
                CouldNotCheck,
                NOTHING,
                "It makes one when a daemon starts with `gateway.tls.from: local`; with other certificates none is needed.".into(),
            ),
            CliError::Gateway { .. } => (
                37,
                CouldNotCheck,
                "Everything else of the daemon goes on.",
                "Mend what it says; the gateway is tried again by itself.".into(),
            ),
        }
    }

    /// One of each, for `docs/errors.md`.
    pub(crate) fn samples() -> Vec<CliError> {
        let path = || PathBuf::from("/srv/holdfast/state");
        let io = || io::Error::from(io::ErrorKind::PermissionDenied);
        let origin = |name: &str| -> Vec<Origin> { name.parse().into_iter().collect() };
        let mut all = vec![
            CliError::Usage { message: "unexpected argument '--frobnicate' found".into() },
            CliError::NoHome,
            CliError::Read { path: path(), source: io() },
            CliError::Write { path: path(), source: io() },
            CliError::Output { source: io() },
            CliError::Body { source: CanonicalError::NotUtf8 { offset: 7 } },
            CliError::BodyNotObject { found: "a list" },
            CliError::TooMuchInput { what: "the body".into(), limit: 1 << 20 },
        ];
        let names = origin("holdfast/web-1").into_iter().zip(origin("holdfast/web-2"));
        all.extend(names.map(|(found, asked)| CliError::OtherInstance { found, asked }));
        all.extend([
            CliError::KeyLost { path: path() },
            CliError::NeedsYes { seq: 41 },
            CliError::NoKeyFor { origin: "holdfast/web-1".into() },
            CliError::NothingToProve { old: 0, new: 41 },
            CliError::OutExists { path: path() },
            CliError::NotAWitness,
            CliError::OtherWitness { found: "witness.example/w1".into(), asked: "w2".into() },
            CliError::NoArchive { path: path() },
            CliError::NoSealedText { seq: 41 },
            CliError::NoDaemon,
            CliError::DaemonRuns,
            CliError::StillRunning { pid: 4711 },
            CliError::Listen {
                address: ([127, 0, 0, 1], 9095).into(),
                source: io::ErrorKind::AddrInUse.into(),
                held_by: "; [::1]:9095 is held by uid 1001 (scout)".into(),
            },
            CliError::Start { what: "the runtime", source: io::ErrorKind::WouldBlock.into() },
            CliError::Interrupted { what: "the rebuild" },
            CliError::AlreadyAtIt,
            CliError::UninstallNeedsYes,
            CliError::NoChannel { name: "pager".into() },
            CliError::NotAHome { path: path(), why: "there is no journal in it" },
            CliError::HalfRemoved { path: path(), source: io() },
            CliError::JournalLost { path: path() },
            CliError::VerdictNeedsYes,
            CliError::NotConfirmed,
            CliError::Input {
                what: "line 7 of the batch".into(),
                why: "it is not an object with an id and a text".into(),
            },
            CliError::NotThere { what: "episode".into() },
            CliError::NoticesFailed { why: "mail: the server did not answer in time".into() },
            CliError::WhichPerson,
            CliError::Gateway { why: "the certificate in /etc/ssl/hold.pem has expired".into() },
            CliError::NoAuthority,
            CliError::TrustLost { path: PathBuf::from("/srv/holdfast/etc/trust.json") },
            CliError::NotText { what: "standard input".into() },
        ]);
        all
    }
}

/// A problem as a person reads it: what, what was left alone, what to do.
pub(crate) fn shown(problem: &Problem, style: Style) -> String {
    let Problem { code, exit: _, what, untouched, hint } = problem;
    let mark = style.shape(Shape::Failed);
    let label = |text: &str| style.faint(text);
    // A message may quote what somebody else wrote, and the terminal obeys control characters.
    format!(
        "{mark} {code}  {}\n  {} {}\n  {} {}\n",
        printable(what),
        label("untouched:"),
        printable(&sentence(untouched)),
        label("next:"),
        printable(hint),
    )
}

pub(crate) fn json_of(problem: &Problem) -> Value {
    json!({"error": {
        "code": problem.code.to_string(),
        "message": problem.what,
        "untouched": problem.untouched,
        "hint": problem.hint,
        "exit": problem.exit.code(),
    }})
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with(['.', '?', '!']) || text.is_empty() { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Problem(Box::new(problem))
    }
}

macro_rules! failures {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                error.problem().into()
            }
        }
    )*};
}

failures!(
    CliError,
    holdfast_approval::Error,
    holdfast_cage::CageError,
    holdfast_config::Error,
    holdfast_control::Error,
    holdfast_credentials::Error,
    holdfast_gateway::Error,
    holdfast_journal::Error,
    holdfast_keys::FileError,
    holdfast_keys::KeyError,
    holdfast_keys::NoteError,
    holdfast_keys::TrustError,
    holdfast_ledger::Error,
    holdfast_notice::Error,
    holdfast_scan::Error,
    holdfast_store::Error,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_of_the_command_line_has_its_own_number_in_order() {
        let numbers: Vec<u16> = CliError::samples().iter().map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, (1..=40).collect::<Vec<u16>>());
    }

    #[test]
    fn a_problem_is_three_lines_that_can_be_acted_on() {
        let problem = CliError::NeedsYes { seq: 41 }.problem();
        insta::assert_snapshot!(shown(&problem, Style::plain()), @r"
        ✕ HF-CLI-011  erasing entry 41 cannot be undone, and --yes was not given
          untouched: Nothing was erased.
          next: Read the plan, which --dry-run shows too, then say it again with --yes.
        ");
    }

    #[test]
    fn a_message_cannot_drive_the_terminal() {
        let mut problem = CliError::NoHome.problem();
        problem.what = "a\u{1b}[2Jb\nc".into();
        let text = shown(&problem, Style::plain());
        assert!(text.starts_with("✕ HF-CLI-002  a\\u{1b}[2Jb\\nc\n"), "{text}");
    }
}
