//! What can go wrong, one variant per thing a caller could do differently; what a person is told, and the status of the
//! answer.

use std::time::Duration;

use holdfast_types::{Exit, Problem, ProblemCode, with_causes};
use http::StatusCode;

use crate::role::Role;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{origin} cannot be the address of this site: {why}")]
    BadOrigin { origin: String, why: &'static str },
    #[error("{host} is an address, and passkeys belong to names")]
    AddressAsOrigin { host: String },
    #[error(
        "this database has passkeys for {stored}, and the settings name {wanted}: `gateway.address` has to name {stored} again"
    )]
    OtherRpId { stored: String, wanted: String },
    #[error("the cost of hashing recovery codes is not possible")]
    BadCost,
    #[error("the system gave no random bytes")]
    NoRandomness,
    #[error("you are not signed in")]
    NotSignedIn,
    #[error("this takes the role {least}")]
    NotAllowed { least: Role },
    #[error("this takes your passkey, for exactly this")]
    NotFresh,
    #[error("this link is not one of ours")]
    LinkUnknown,
    #[error("this link has expired")]
    LinkExpired,
    #[error("this link has been used")]
    LinkUsed,
    #[error("this attempt is over, or was begun in another browser")]
    CeremonyGone,
    #[error("the passkey was not accepted")]
    CredentialRefused,
    #[error("the passkey's counter went backwards: there may be a copy of it")]
    CounterWentBack,
    #[error("the passkey cannot be found by the authenticator itself")]
    NotDiscoverable,
    #[error("this passkey is registered already")]
    AlreadyRegistered,
    #[error("the code was not accepted")]
    CodeRefused,
    #[error("too much of this is being done at once")]
    Busy,
    #[error("too many tries")]
    TooManyTries { again_in: Duration },
    #[error("the request is not for this host")]
    WrongHost,
    #[error("the request comes from another site")]
    WrongOrigin,
    #[error("the page this came from is too old")]
    WrongCsrf,
    #[error("a token is not accepted here")]
    TokenNotHere,
    #[error("the token was not accepted")]
    TokenRefused,
    #[error("the request cannot be understood: {why}")]
    BadRequest { why: String },
    #[error("the request is too long")]
    TooLong,
    #[error("the request has a kind of content that is not understood here")]
    WrongContent,
    #[error("the last owner stays")]
    LastOwner,
    #[error("the last device stays")]
    LastDevice,
    #[error("there is no such {what}")]
    NotFound { what: &'static str },
    #[error("somebody has that name already")]
    NameTaken,
    #[error("there are {max} {what} already")]
    Full { what: &'static str, max: usize },
    #[error("there is an owner already")]
    OwnerExists,
    #[error("the work was not finished")]
    Interrupted,
    #[error("it has changed since it was shown")]
    Altered,
    #[error("this way to the service is over, or was begun in another browser")]
    TicketRefused,
    #[error("this browser keeps no cookies for {host}, and without one nobody is known there")]
    CookieNotKept { host: String },
    #[error("it could not be recorded, so it was not done: {why}")]
    NotRecorded { why: String },
    /// What a port answered.
    #[error("{}", .0.what)]
    Elsewhere(Box<Problem>),
    #[error(transparent)]
    Store(#[from] holdfast_store::Error),
}

impl From<rusqlite::Error> for Error {
    fn from(e: rusqlite::Error) -> Error {
        Error::Store(e.into())
    }
}

impl Error {
    /// What a person is told.
    pub fn problem(&self) -> Problem {
        let (number, exit, untouched, hint) = match self {
            Error::Store(e) => return e.problem(),
            Error::Elsewhere(problem) => return (**problem).clone(),
            other => other.explain(),
        };
        let code = ProblemCode { room: "GTW", number };
        Problem { code, exit, what: with_causes(self), untouched: untouched.into(), hint: hint.into() }
    }

    fn explain(&self) -> (u16, Exit, &'static str, &'static str) {
        use Exit::{Busy, CouldNotCheck, Refused, Usage};
        const NOTHING: &str = "Nothing was changed.";
        const OUT: &str = "Nobody was signed in.";
        const LINK: &str =
            "Ask an owner for a new link, or on the machine itself run `holdfast gateway link`.";
        match self {
            Error::BadOrigin { .. } => (
                1,
                Usage,
                NOTHING,
                "Set the origin to https://your.name, or to http://localhost with the port.",
            ),
            Error::AddressAsOrigin { .. } => {
                (2, Usage, NOTHING, "Use a name: localhost on this machine, or one that your network knows.")
            }
            Error::OtherRpId { .. } => (
                3,
                Refused,
                "The database was not touched.",
                "Set `gateway.address` back to that name; without it the name is localhost. To begin anew under the other name, stop the daemon and move `state/gateway.db` away, and with `gateway.tls.from: local` also `state/gateway/certificates`: all accounts end, and `holdfast gateway link` lets the first owner in.",
            ),
            Error::BadCost => (4, Usage, NOTHING, "Leave the cost as it is by default."),
            Error::NoRandomness => {
                (5, CouldNotCheck, NOTHING, "See whether getrandom(2) is allowed for this process.")
            }
            Error::NotSignedIn => (6, Refused, NOTHING, "Sign in, and try again."),
            Error::NotAllowed { .. } => {
                (7, Refused, NOTHING, "Ask an owner to do it, or to change your role.")
            }
            Error::NotFresh => (
                8,
                Refused,
                NOTHING,
                "Do it on its page, in a browser that runs our scripts: it asks for the passkey. On the machine itself the command line does it.",
            ),
            Error::LinkUnknown => (9, Refused, OUT, LINK),
            Error::LinkExpired => (10, Refused, OUT, LINK),
            Error::LinkUsed => (11, Refused, OUT, LINK),
            Error::CeremonyGone => (12, Refused, NOTHING, "Begin again on this page, in this browser."),
            Error::CredentialRefused => {
                (13, Refused, NOTHING, "Try another passkey, or come back with a recovery code.")
            }
            Error::CounterWentBack => (
                14,
                Refused,
                "Nobody was signed in, and the device is marked.",
                "Sign in with another device, remove this one, and register it anew.",
            ),
            Error::NotDiscoverable => {
                (15, Refused, NOTHING, "Use a device or a security key that can keep passkeys itself.")
            }
            Error::AlreadyRegistered => (16, Refused, NOTHING, "Sign in with it, or choose another device."),
            Error::CodeRefused => (
                17,
                Refused,
                OUT,
                "Try another code of yours: each is good once. Without any, run `holdfast gateway link` on the machine.",
            ),
            Error::Busy => (18, Busy, NOTHING, "Try again in a few seconds."),
            Error::TooManyTries { .. } => (19, Refused, NOTHING, "Wait a little, and try again."),
            Error::WrongHost => (20, Refused, NOTHING, "Use the address that `holdfast status` shows."),
            Error::WrongOrigin => {
                (21, Refused, NOTHING, "Open the page from its own address, and try there.")
            }
            Error::WrongCsrf => (
                22,
                Refused,
                NOTHING,
                "Load the page again, and repeat it there; if that does not help, sign in again.",
            ),
            Error::TokenNotHere => {
                (23, Refused, NOTHING, "Tokens are for the API; here you sign in with a passkey.")
            }
            Error::TokenRefused => {
                (24, Refused, NOTHING, "Make a new one under Settings; it may have ended.")
            }
            Error::BadRequest { .. } => (25, Usage, NOTHING, "Correct what is named, and send it again."),
            Error::TooLong => (26, Usage, NOTHING, "Send less at once."),
            Error::WrongContent => (27, Usage, NOTHING, "Send JSON or a form."),
            Error::LastOwner => (28, Refused, NOTHING, "Make somebody else an owner first."),
            Error::LastDevice => (29, Refused, NOTHING, "Add another device first, then remove this one."),
            Error::NotFound { .. } => (30, Usage, NOTHING, "Load the page again to see what there is."),
            Error::NameTaken => (31, Usage, NOTHING, "Choose another name."),
            Error::Full { .. } => (32, Refused, NOTHING, "Remove some that are not needed."),
            Error::OwnerExists => (
                33,
                Refused,
                NOTHING,
                "An owner invites people under Settings; who lost every device gets a recovery link.",
            ),
            Error::Interrupted => {
                (34, CouldNotCheck, NOTHING, "Try again; if it stays, see `holdfast status`.")
            }
            Error::Altered => {
                (35, Refused, "It was not carried out.", "Look at it again, and confirm it as it is now.")
            }
            Error::TicketRefused => (36, Refused, OUT, "Open the service from the overview."),
            Error::CookieNotKept { .. } => (
                37,
                Refused,
                OUT,
                "Allow cookies for that name in your browser, or remove those it has; then open the service again.",
            ),
            Error::NotRecorded { .. } => (
                38,
                CouldNotCheck,
                NOTHING,
                "Make room for the log, then try again: see `holdfast status`. `holdfast pause --all` works all the same.",
            ),
            // Told by whoever they came from; see `problem`.
            Error::Elsewhere(_) | Error::Store(_) => (0, CouldNotCheck, "", ""),
        }
    }

    /// The status an answer over HTTP has.
    pub fn status(&self) -> StatusCode {
        match self {
            Error::NotSignedIn | Error::TokenRefused | Error::CredentialRefused | Error::CodeRefused => {
                StatusCode::UNAUTHORIZED
            }
            Error::NotAllowed { .. }
            | Error::NotFresh
            | Error::CounterWentBack
            | Error::WrongOrigin
            | Error::WrongCsrf
            | Error::TokenNotHere
            | Error::TicketRefused
            | Error::CookieNotKept { .. } => StatusCode::FORBIDDEN,
            Error::LinkUnknown | Error::NotFound { .. } => StatusCode::NOT_FOUND,
            Error::LinkExpired | Error::LinkUsed | Error::CeremonyGone => StatusCode::GONE,
            Error::NotDiscoverable | Error::BadRequest { .. } => StatusCode::BAD_REQUEST,
            Error::AlreadyRegistered
            | Error::LastOwner
            | Error::LastDevice
            | Error::NameTaken
            | Error::Full { .. }
            | Error::OwnerExists
            | Error::Altered => StatusCode::CONFLICT,
            Error::TooManyTries { .. } => StatusCode::TOO_MANY_REQUESTS,
            Error::WrongHost => StatusCode::MISDIRECTED_REQUEST,
            Error::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Error::WrongContent => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Error::Busy
            | Error::NotRecorded { .. }
            | Error::Store(_)
            | Error::Interrupted
            | Error::NoRandomness => StatusCode::SERVICE_UNAVAILABLE,
            Error::BadOrigin { .. }
            | Error::AddressAsOrigin { .. }
            | Error::OtherRpId { .. }
            | Error::BadCost => StatusCode::INTERNAL_SERVER_ERROR,
            Error::Elsewhere(problem) => status_of(problem.exit),
        }
    }

    /// Whole seconds until it is worth trying again.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Error::TooManyTries { again_in } => Some(again_in.as_secs().max(1)),
            Error::Busy => Some(2),
            Error::NotRecorded { .. } => Some(30),
            _ => None,
        }
    }

    /// One of each, for `docs/errors.md`.
    pub fn samples() -> Vec<Error> {
        vec![
            Error::BadOrigin {
                origin: "http://hold.example/".into(),
                why: "plain http is for localhost alone",
            },
            Error::AddressAsOrigin { host: "127.0.0.1".into() },
            Error::OtherRpId { stored: "hold.example".into(), wanted: "other.example".into() },
            Error::BadCost,
            Error::NoRandomness,
            Error::NotSignedIn,
            Error::NotAllowed { least: Role::Owner },
            Error::NotFresh,
            Error::LinkUnknown,
            Error::LinkExpired,
            Error::LinkUsed,
            Error::CeremonyGone,
            Error::CredentialRefused,
            Error::CounterWentBack,
            Error::NotDiscoverable,
            Error::AlreadyRegistered,
            Error::CodeRefused,
            Error::Busy,
            Error::TooManyTries { again_in: Duration::from_secs(30) },
            Error::WrongHost,
            Error::WrongOrigin,
            Error::WrongCsrf,
            Error::TokenNotHere,
            Error::TokenRefused,
            Error::BadRequest { why: "`role` is not a role".into() },
            Error::TooLong,
            Error::WrongContent,
            Error::LastOwner,
            Error::LastDevice,
            Error::NotFound { what: "device" },
            Error::NameTaken,
            Error::Full { what: "people", max: 256 },
            Error::OwnerExists,
            Error::Interrupted,
            Error::Altered,
            Error::TicketRefused,
            Error::CookieNotKept { host: "scout.hold.example".into() },
            Error::NotRecorded { why: "the disk is full".into() },
        ]
    }
}

fn status_of(exit: Exit) -> StatusCode {
    match exit {
        Exit::Usage => StatusCode::BAD_REQUEST,
        Exit::Refused | Exit::NeedsApproval => StatusCode::FORBIDDEN,
        Exit::Negative => StatusCode::CONFLICT,
        Exit::Ok | Exit::CouldNotCheck | Exit::Busy | Exit::Damaged | Exit::TimedOut => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_contiguous_and_every_error_says_what_to_do() {
        let problems: Vec<Problem> = Error::samples().iter().map(Error::problem).collect();
        let numbers: Vec<u16> = problems.iter().map(|p| p.code.number).collect();
        assert_eq!(numbers, (1..=38).collect::<Vec<u16>>());
        for p in problems {
            assert!(p.what.len() > 10 && p.hint.len() > 10 && !p.untouched.is_empty(), "{p:?}");
            assert_ne!(p.exit, Exit::Ok, "{p:?}");
        }
    }

    #[test]
    fn no_refusal_of_a_person_is_a_failure_of_ours() {
        let ours = Error::samples().into_iter().filter(|e| e.status().is_server_error());
        let numbers: Vec<u16> = ours.map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 18, 34, 38]);
    }
}
