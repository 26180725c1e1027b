//! What is answered when something is in the way: a status that says whose move it is, and the words a command would end with.
//!
//! What is wrong with the call or stands against it is told in full. What is wrong with the machine is told by its code alone: who asks
//! over HTTP is not owed the paths and causes that the daemon's log has.

use holdfast_types::{Exit, Problem};
use serde_json::Value;

use crate::error::ApiError;
use crate::told::{Refusal, Refused};

/// After so many seconds it is worth asking again.
const RETRY_AFTER_SECONDS: u32 = 2;

/// An answer that says no.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    /// For the header Retry-After.
    pub retry_after: Option<u32>,
    /// For the header Allow.
    pub allow: Option<String>,
    pub body: Value,
}

impl From<&ApiError> for Reply {
    fn from(error: &ApiError) -> Reply {
        let allow = match error {
            ApiError::WrongMethod { allowed } => Some(allowed.join(", ")),
            _ => None,
        };
        Reply { allow, ..reply(error.status(), &error.problem(), error.field()) }
    }
}

impl From<&Problem> for Reply {
    fn from(problem: &Problem) -> Reply {
        reply(status_of(problem), problem, None)
    }
}

fn reply(status: u16, problem: &Problem, field: Option<&str>) -> Reply {
    let ours = status >= 500;
    let message = if ours { ours_to_mend(status).to_owned() } else { problem.what.clone() };
    let hint = if ours {
        "Ask again, or look in the daemon's log for this code.".to_owned()
    } else {
        problem.hint.clone()
    };
    let error = Refused {
        code: problem.code.to_string(),
        message,
        untouched: problem.untouched.clone(),
        hint,
        exit: problem.exit,
        field: field.map(str::to_owned),
    };
    // It has string keys and no failing parts.
    let body = serde_json::to_value(Refusal { error }).unwrap_or_default();
    let retry_after = (status == 503 || is_at_it(problem)).then_some(RETRY_AFTER_SECONDS);
    Reply { status, retry_after, allow: None, body }
}

const fn ours_to_mend(status: u16) -> &'static str {
    match status {
        503 => "it cannot be done at the moment",
        _ => "something is wrong here; the daemon's log says what",
    }
}

/// What the status of an answer is that tells this problem.
///
/// By the code where a room's own words say more than the exit code does, which was made for commands: a thing that is not there, a
/// state that does not allow it, a body that is too long. Otherwise by the exit code.
pub fn status_of(problem: &Problem) -> u16 {
    let by_code = match (problem.code.room, problem.code.number) {
        ("API", number) => {
            return ApiError::samples().get(usize::from(number) - 1).map_or(500, ApiError::status);
        }
        ("APR", number) => approvals(number),
        ("STW", number) => steward(number),
        ("MEM", number) => memory(number),
        ("JRN", number) => journal(number),
        // The settings on the disk are wrong, and not the call that wants them read.
        ("CFG", 1..=6) => Some(409),
        ("CLI", 8) | ("CTL", 6) => Some(413),
        ("CLI", 18) => Some(409),
        // Somebody else's rebuild or backup: no fault of this machine.
        ("CLI", 25) => Some(409),
        // Also a size that the log has not come to.
        ("CLI", 13 | 27 | 34) => Some(404),
        ("CLI", 35) => Some(409),
        // Nobody keeps to the rules here, or not so that it can be told: how it stands, and no fault.
        ("EGR", 1..=3) => Some(409),
        // No host of that name was taken in.
        ("ENR", 17) => Some(404),
        // A note or a document that is not one.
        ("KEY", 1..=11 | 13 | 70..=73 | 80..=88 | 91) => Some(400),
        _ => None,
    };
    by_code.unwrap_or_else(|| by_exit(problem.exit))
}

/// Somebody is at it already, and will have done soon.
fn is_at_it(problem: &Problem) -> bool {
    matches!((problem.code.room, problem.code.number), ("CLI", 25) | ("STW", 11))
}

const fn by_exit(exit: Exit) -> u16 {
    match exit {
        Exit::Usage => 400,
        Exit::Refused => 403,
        Exit::Negative | Exit::NeedsApproval => 409,
        Exit::CouldNotCheck | Exit::Busy | Exit::TimedOut => 503,
        // A problem that ends well is none.
        Exit::Damaged | Exit::Ok => 500,
    }
}

/// As the webhook that takes verdicts answers them, but for one whose parts contradict each other: its form was seen to before, so it is
/// a verdict that does not count.
const fn approvals(number: u16) -> Option<u16> {
    Some(match number {
        1 => 404,
        2..=4 | 7 | 8 => 409,
        5 | 6 => 410,
        9..=15 => 403,
        20 => 422,
        _ => return None,
    })
}

const fn steward(number: u16) -> Option<u16> {
    Some(match number {
        // No such target, none at all, no such episode.
        3 | 4 | 6 => 404,
        // The evidence is not there, several episodes, nothing asked, held, nothing to undo, nobody at work: how it stands does not allow it.
        1 | 7..=11 => 409,
        // What was sent is no series.
        15 => 422,
        _ => return None,
    })
}

const fn memory(number: u16) -> Option<u16> {
    Some(match number {
        // Nobody of that name remembers anything, no such memory, an id that no day has, and no model.
        1 | 2 | 11 | 17 => 404,
        3 => 410,
        // Not shown any more; its own memories.
        20 | 21 => 409,
        // What was sent is no history.
        23 => 422,
        _ => return None,
    })
}

const fn journal(number: u16) -> Option<u16> {
    Some(match number {
        // It is full, and that is not the caller's doing.
        7 => 503,
        9 | 10 => 413,
        11 => 422,
        13 | 15 => 410,
        14 => 404,
        // An entry without a sealed text.
        21 => 409,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_types::ProblemCode;

    fn problem(code: &str, exit: Exit) -> Problem {
        let code: ProblemCode = code.parse().unwrap();
        let text = |text: &str| text.to_owned();
        Problem {
            code,
            exit,
            what: text("/srv/holdfast/state could not be read"),
            untouched: text("Nothing was written."),
            hint: text("ls -ld /srv/holdfast"),
        }
    }

    fn check(code: &str, exit: Exit, status: u16) {
        let reply = Reply::from(&problem(code, exit));
        assert_eq!(reply.status, status, "{code}");
        let told = reply.body.to_string();
        assert_eq!(told.contains("/srv"), status < 500, "{code}: {told}");
        assert!(told.contains(code), "{told}");
        assert_eq!(reply.body["error"]["exit"], exit.code());
    }

    #[test]
    fn a_thing_that_is_not_there_is_not_found() {
        for code in ["HF-STW-003", "HF-STW-004", "HF-STW-006", "HF-MEM-001", "HF-MEM-002"] {
            check(code, Exit::Negative, 404);
        }
        for code in ["HF-APR-001", "HF-JRN-014", "HF-MEM-011", "HF-CLI-027"] {
            check(code, Exit::Usage, 404);
        }
    }

    #[test]
    fn what_is_gone_is_gone_and_what_does_not_go_now_is_a_conflict() {
        for (code, exit) in [
            ("HF-JRN-013", Exit::CouldNotCheck),
            ("HF-JRN-015", Exit::Negative),
            ("HF-MEM-003", Exit::Negative),
            ("HF-APR-006", Exit::Negative),
        ] {
            check(code, exit, 410);
        }
        for (code, exit) in [
            ("HF-STW-001", Exit::Refused),
            ("HF-STW-009", Exit::Refused),
            ("HF-STW-010", Exit::Negative),
            ("HF-STW-011", Exit::CouldNotCheck),
            ("HF-MEM-020", Exit::Negative),
            ("HF-MEM-021", Exit::Usage),
            ("HF-JRN-021", Exit::Usage),
            ("HF-CLI-025", Exit::Busy),
            ("HF-CFG-001", Exit::Usage),
            ("HF-APR-003", Exit::NeedsApproval),
        ] {
            check(code, exit, 409);
        }
    }

    #[test]
    fn what_a_caller_did_wrong_is_never_told_as_a_fault_of_the_machine() {
        for (code, exit, status) in [
            ("HF-CLI-001", Exit::Usage, 400),
            ("HF-MEM-004", Exit::Usage, 400),
            ("HF-MEM-009", Exit::Usage, 400),
            ("HF-MEM-010", Exit::Usage, 400),
            ("HF-KEY-087", Exit::Negative, 400),
            ("HF-JRN-009", Exit::Usage, 413),
            ("HF-JRN-010", Exit::Usage, 413),
            ("HF-JRN-011", Exit::Refused, 422),
            ("HF-JRN-019", Exit::Refused, 403),
            ("HF-APR-009", Exit::Negative, 403),
            ("HF-APR-010", Exit::Refused, 403),
            ("HF-APR-020", Exit::Refused, 422),
            ("HF-APR-025", Exit::Refused, 403),
            ("HF-LDG-013", Exit::Refused, 403),
            ("HF-STW-014", Exit::Refused, 403),
            ("HF-MEM-014", Exit::Refused, 403),
        ] {
            check(code, exit, status);
        }
    }

    #[test]
    fn what_is_wrong_here_is_told_by_its_code_and_when_to_come_back() {
        for (code, exit, status) in [
            ("HF-JRN-001", Exit::Busy, 503),
            ("HF-JRN-006", Exit::CouldNotCheck, 503),
            ("HF-JRN-007", Exit::Refused, 503),
            ("HF-APR-016", Exit::CouldNotCheck, 503),
            ("HF-CTL-003", Exit::TimedOut, 503),
            ("HF-JRN-005", Exit::Damaged, 500),
            ("HF-STW-012", Exit::Damaged, 500),
        ] {
            check(code, exit, status);
            let retry = Reply::from(&problem(code, exit)).retry_after;
            assert_eq!(retry.is_some(), status == 503, "{code}");
        }
        assert!(Reply::from(&problem("HF-CLI-025", Exit::Busy)).retry_after.is_some());
        assert!(Reply::from(&problem("HF-STW-010", Exit::Negative)).retry_after.is_none());
    }

    #[test]
    fn every_error_of_a_call_is_answered_alike_by_itself_and_as_a_problem() {
        for error in ApiError::samples() {
            let (told, by_problem) = (Reply::from(&error), Reply::from(&error.problem()));
            assert_eq!(told.status, by_problem.status, "{error}");
            assert_eq!(told.body["error"]["message"], by_problem.body["error"]["message"]);
            let field = told.body["error"]["field"].as_str();
            assert_eq!(field, error.field(), "{error}");
        }
        let wrong = ApiError::WrongMethod { allowed: vec!["GET", "HEAD"] };
        assert_eq!(Reply::from(&wrong).allow.as_deref(), Some("GET, HEAD"));
    }
}
