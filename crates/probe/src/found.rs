//! What a look came to, and what can be in its way.

use std::io;
use std::time::Duration;

/// As much of somebody's text as helps a reader.
const SHOWN_MAX: usize = 120;

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Passed {
        took: Duration,
    },
    /// The host was seen not to be as it should.
    Failed {
        why: String,
    },
    /// The host did not answer in the time there was.
    TimedOut,
    /// It could not be told; this says nothing about the host.
    Unknown {
        why: String,
    },
}

/// Why a look did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is not for the host that this did not work.
    Ours(String),
    Late,
    /// The host's fault, as far as can be seen from here.
    Theirs(String),
}

impl Trouble {
    pub(crate) fn ours(why: impl Into<String>) -> Trouble {
        Trouble::Ours(why.into())
    }

    pub(crate) fn theirs(why: impl Into<String>) -> Trouble {
        Trouble::Theirs(why.into())
    }

    /// Of two addresses of one host, what is worth telling: what was seen before what was not.
    pub(crate) fn more_telling(self, other: Trouble) -> Trouble {
        let weight = |it: &Trouble| match it {
            Trouble::Ours(_) => 0,
            Trouble::Late => 1,
            Trouble::Theirs(_) => 2,
        };
        if weight(&other) > weight(&self) { other } else { self }
    }

    /// The same when it was not the target that was asked but somebody about it.
    pub(crate) fn of_a_witness(self, who: &str) -> Trouble {
        match self {
            Trouble::Late => Trouble::Ours(format!("{who} did not answer in time")),
            Trouble::Ours(why) | Trouble::Theirs(why) => Trouble::Ours(format!("{who}: {why}")),
        }
    }
}

impl From<Trouble> for Found {
    fn from(trouble: Trouble) -> Found {
        match trouble {
            Trouble::Late => Found::TimedOut,
            Trouble::Theirs(why) => Found::Failed { why },
            Trouble::Ours(why) => Found::Unknown { why },
        }
    }
}

/// Only what the other side surely did is its fault. No network, no descriptors and a firewall of ours also fail a call.
impl From<io::Error> for Trouble {
    fn from(e: io::Error) -> Trouble {
        match e.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Trouble::Late,
            io::ErrorKind::ConnectionRefused => Trouble::theirs("it refuses connections"),
            io::ErrorKind::HostUnreachable => Trouble::theirs("the host is unreachable"),
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => Trouble::theirs("it ended the connection early"),
            io::ErrorKind::InvalidData => Trouble::Theirs(shown(e.to_string().as_bytes())),
            _ => Trouble::Ours(shown(e.to_string().as_bytes())),
        }
    }
}

/// What somebody else said, short and safe to show.
pub(crate) fn shown(said: &[u8]) -> String {
    // Cut first: a character becomes at most ten when spelled out.
    let head = said.get(..4 * SHOWN_MAX).unwrap_or(said);
    holdfast_types::printable(String::from_utf8_lossy(head).trim()).chars().take(SHOWN_MAX).collect()
}
