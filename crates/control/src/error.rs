//! What can go wrong between a client and the daemon.

use std::io;
use std::path::PathBuf;

use holdfast_types::{Exit, Problem, ProblemCode};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the daemon refuses user {uid}: it answers root and the user it runs as")]
    NotYou { uid: u32 },
    #[error("the daemon speaks protocol {theirs}, and this program speaks {ours}")]
    OtherProtocol { ours: u32, theirs: u32 },
    #[error("the daemon did not say anything for {seconds} seconds")]
    Silent { seconds: u64 },
    #[error("what came through the socket is not a line of this protocol: {why}")]
    Garbled { why: String },
    #[error("the connection to the daemon ended before its answer")]
    Cut,
    #[error("the question is {len} bytes long, and one may have {max}")]
    TooLong { len: usize, max: usize },
    #[error("the socket {} could not be used: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("another daemon listens at {}", path.display())]
    Taken { path: PathBuf },
}

impl Error {
    pub fn problem(&self) -> Problem {
        let (number, exit, untouched, hint) = self.explain();
        Problem {
            code: ProblemCode { room: "CTL", number },
            exit,
            what: self.to_string(),
            untouched: untouched.to_owned(),
            hint: hint.to_owned(),
        }
    }

    fn explain(&self) -> (u16, Exit, &'static str, &'static str) {
        const NOTHING: &str = "Nothing was done.";
        const UNKNOWN: &str = "Whether the daemon carried it out is not known.";
        match self {
            Error::NotYou { .. } => {
                (1, Exit::Refused, NOTHING, "Run the command as the user the daemon runs as, or as root.")
            }
            Error::OtherProtocol { .. } => (
                2,
                Exit::Refused,
                NOTHING,
                "Restart the daemon, so that both are of the same version: `holdfast down`, then `holdfast up`.",
            ),
            Error::Silent { .. } => (
                3,
                Exit::TimedOut,
                UNKNOWN,
                "Look at the daemon's log and at `holdfast audit tail`; `holdfast pause --all` works without it.",
            ),
            Error::Garbled { .. } => {
                (4, Exit::CouldNotCheck, UNKNOWN, "Check that it is a holdfast daemon that listens there.")
            }
            Error::Cut => (
                5,
                Exit::CouldNotCheck,
                UNKNOWN,
                "The daemon stopped or died meanwhile; look with `holdfast status`, then ask again.",
            ),
            Error::TooLong { .. } => (6, Exit::Usage, NOTHING, "Split it."),
            Error::Socket { .. } => {
                (7, Exit::CouldNotCheck, NOTHING, "Check the owner and the mode of the run directory.")
            }
            Error::Taken { .. } => {
                (8, Exit::Busy, NOTHING, "Use the one that runs, or stop it first: `holdfast down`.")
            }
        }
    }

    /// One of each, for `docs/errors.md`.
    pub fn samples() -> Vec<Error> {
        let path = || PathBuf::from("/srv/holdfast/run/holdfast.sock");
        vec![
            Error::NotYou { uid: 1001 },
            Error::OtherProtocol { ours: 1, theirs: 2 },
            Error::Silent { seconds: 30 },
            Error::Garbled { why: "expected value at line 1 column 1".into() },
            Error::Cut,
            Error::TooLong { len: 30_000_000, max: 25_165_824 },
            Error::Socket { path: path(), source: io::ErrorKind::PermissionDenied.into() },
            Error::Taken { path: path() },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_own_number_in_order() {
        let numbers: Vec<u16> = Error::samples().iter().map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, (1..=8).collect::<Vec<u16>>());
    }
}
