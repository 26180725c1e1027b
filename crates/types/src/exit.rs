//! Exit codes: one public table for every command.

use serde::{Deserialize, Serialize};

/// What a command's exit code says. `docs/exit-codes.md` prints this table for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
#[repr(u8)]
pub enum Exit {
    /// Done, or the verdict is good.
    Ok = 0,
    /// The check ran and the verdict is negative: findings, unhealthy, refused by a check.
    Negative = 1,
    /// The command line was wrong; for `doctor`, degraded.
    Usage = 2,
    /// The check could not be made, so there is no verdict.
    CouldNotCheck = 3,
    /// Refused by policy.
    Refused = 4,
    /// Needs an approval that is not there.
    NeedsApproval = 5,
    /// Someone else holds it: busy or locked.
    Busy = 6,
    /// Stored state is damaged.
    Damaged = 7,
    /// Ran out of time.
    TimedOut = 124,
}

impl Exit {
    pub const ALL: [Exit; 9] = [
        Exit::Ok,
        Exit::Negative,
        Exit::Usage,
        Exit::CouldNotCheck,
        Exit::Refused,
        Exit::NeedsApproval,
        Exit::Busy,
        Exit::Damaged,
        Exit::TimedOut,
    ];

    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The row of the public table.
    pub const fn meaning(self) -> &'static str {
        match self {
            Exit::Ok => "done, or the verdict is good",
            Exit::Negative => "negative verdict: findings, unhealthy, or refused by a check",
            Exit::Usage => "wrong usage; for `doctor`, degraded",
            Exit::CouldNotCheck => "could not check, so there is no verdict",
            Exit::Refused => "refused by policy",
            Exit::NeedsApproval => "needs an approval that is not there",
            Exit::Busy => "busy, or locked by another process",
            Exit::Damaged => "stored state is damaged",
            Exit::TimedOut => "ran out of time",
        }
    }
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> u8 {
        exit.code()
    }
}

impl TryFrom<u8> for Exit {
    type Error = String;

    fn try_from(code: u8) -> Result<Exit, String> {
        let found = Exit::ALL.into_iter().find(|exit| exit.code() == code);
        found.ok_or_else(|| format!("{code} is not an exit code of this program"))
    }
}
