//! What can go wrong, one variant per thing a caller could do differently. No message holds an address or a key.

use holdfast_types::{Exit, Problem, ProblemCode};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the notice could not be written to the journal: {0}")]
    Journal(#[from] holdfast_journal::Error),
    #[error("the outbox cannot be read: {0}")]
    View(#[from] holdfast_store::Error),
    #[error("{text:?} is not a name that can be used here")]
    Name { text: String },
    #[error("the address that notices should go to cannot be used: {why}")]
    Address { why: &'static str },
    #[error("the signing key of the webhook cannot be used: {why}")]
    Key { why: &'static str },
    #[error("no connection to anywhere can be made from this machine")]
    Client,
    #[error("the part that serves the sink {sink} ended by itself")]
    Ended { sink: String },
    #[error("{text:?} are not quiet hours")]
    Hours { text: String },
    #[error("the time zone {zone:?} is not known on this machine")]
    Zone { zone: String },
    #[error("an address of mail cannot be used")]
    Mailbox,
    #[error("the user, password or token for notices cannot be used: {why}")]
    Login { why: &'static str },
    #[error("the file of authorities for mail cannot be used: {why}")]
    Authorities { why: &'static str },
}

impl Error {
    /// What an operator is told.
    pub fn problem(&self) -> Problem {
        let (number, exit, untouched, hint) = self.explain();
        Problem {
            code: ProblemCode { room: "NTC", number },
            exit,
            what: self.to_string(),
            untouched: untouched.into(),
            hint: hint.into(),
        }
    }

    fn explain(&self) -> (u16, Exit, &'static str, &'static str) {
        const NOTHING_SENT: &str = "Nothing was sent, and no notice was lost.";
        match self {
            Error::Journal(_) => (
                1,
                Exit::CouldNotCheck,
                "Notices written down before are kept and will be sent.",
                "Look at the journal's own message above.",
            ),
            Error::View(_) => {
                (2, Exit::CouldNotCheck, NOTHING_SENT, "Run `holdfast rebuild`; the journal has everything.")
            }
            Error::Name { .. } => (
                3,
                Exit::Usage,
                NOTHING_SENT,
                "A sink is called by 1 to 32 of a-z 0-9 - _; a severity is info, warning or critical.",
            ),
            Error::Address { .. } => (
                4,
                Exit::Refused,
                NOTHING_SENT,
                "Use an https address, or put its host into allow_hosts if it is meant to be near.",
            ),
            Error::Key { .. } => (
                5,
                Exit::Usage,
                NOTHING_SENT,
                "Use `whsec_` and the base64 of at least 24 random bytes, here and at the receiver.",
            ),
            Error::Client => (
                6,
                Exit::CouldNotCheck,
                NOTHING_SENT,
                "Check that the machine has certificates of authorities.",
            ),
            Error::Ended { .. } => (
                7,
                Exit::CouldNotCheck,
                "What was not sent yet is in the journal and will be.",
                "It is started again; report this with the log around it.",
            ),
            Error::Hours { .. } => (
                8,
                Exit::Usage,
                NOTHING_SENT,
                "Write from when to when and where, such as `22:00-07:00 Europe/Brussels`; the two times differ.",
            ),
            Error::Zone { .. } => (
                9,
                Exit::Usage,
                NOTHING_SENT,
                "Use a name such as Europe/Brussels or UTC, and install the package tzdata where it is missing.",
            ),
            Error::Mailbox => (
                10,
                Exit::Usage,
                NOTHING_SENT,
                "Write one address such as `ops@example.org`, in ASCII, without a name or brackets.",
            ),
            Error::Login { .. } => (
                11,
                Exit::Usage,
                NOTHING_SENT,
                "Put the value into the secret again, on one line and without anything around it.",
            ),
            Error::Authorities { .. } => (
                12,
                Exit::Usage,
                NOTHING_SENT,
                "Name a file of certificates in the form of PEM that the daemon may read, or leave it out.",
            ),
        }
    }

    /// One of each, for the page that lists them.
    pub fn samples() -> Vec<Error> {
        vec![
            Error::Journal(holdfast_journal::Error::NoVault),
            Error::View(holdfast_store::Error::Missing { path: "/var/lib/holdfast/index.db".into() }),
            Error::Name { text: "My Sink".into() },
            Error::Address { why: "it is not a URL" },
            Error::Key { why: "it is shorter than 16 bytes" },
            Error::Client,
            Error::Ended { sink: "ops".into() },
            Error::Hours { text: "10 pm to 7 am".into() },
            Error::Zone { zone: "Europe/Atlantis".into() },
            Error::Mailbox,
            Error::Login { why: "the user or the password has a control character" },
            Error::Authorities { why: "it cannot be read" },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_contiguous_and_every_error_says_what_to_do() {
        let problems: Vec<Problem> = Error::samples().iter().map(Error::problem).collect();
        let numbers: Vec<u16> = problems.iter().map(|p| p.code.number).collect();
        assert_eq!(numbers, (1..=12).collect::<Vec<u16>>());
        for p in problems {
            assert!(p.what.len() > 10 && p.hint.len() > 10 && !p.untouched.is_empty(), "{p:?}");
        }
    }
}
