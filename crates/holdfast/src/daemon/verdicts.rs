//! The door for verdicts that were signed elsewhere: `POST /approvals/verdict`, only where the configuration opens it.
//!
//! What is handed in is the very document that `holdfast approve` makes. Who brings it counts for nothing and is not asked: the
//! signature does, by a key that the trust set has for approvals, and it fits one ask of one instance and one action. So neither
//! a proxy nor an agent under another user can make a verdict, and one that is handed in twice is the same one. This code has no
//! such key; the daemon's user can read the home's own two (`docs/approvals.md`, "Whose word counts").
//!
//! Each attempt is bounded: the head and the document in size, the whole in time, how many at once, and how many a minute
//! (`pace.rs`). What a head may say is in `letter.rs`. An attempt that does not count costs the same whatever was wrong with
//! it: one document of at most 8 KiB, at most one signature checked. It is counted, and logged without a word of what it said.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_approval::{DOCUMENT_BYTES_MAX, Error, Refusal};
use holdfast_door::Listening;
use holdfast_supervisor::{Failed, Life};
use holdfast_types::Problem;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{debug, info, warn};

use super::http::{HEAD_MAX, Page};
use super::letter::{self, Announced, CUT_SHORT, HEAD_TOO_LARGE, TOO_MUCH, TOO_SLOW, Unread};
use super::pace::Pace;
use super::parts::Shared;
use crate::office::{HandedIn, Office};
use crate::problem::{Failure, Result, json_of};

/// More people than answer at the same moment.
const CLIENTS_MAX: usize = 16;
/// From the first byte to the last: a document has some 800 bytes.
const COMES_WITHIN: Duration = Duration::from_secs(5);
/// Writing it down takes a disk; one that hangs is not waited for. Whoever sends it again is told what became of it.
const TAKEN_WITHIN: Duration = Duration::from_secs(20);
const TOLD_WITHIN: Duration = Duration::from_secs(5);
/// What a sender still has on its way is read for a moment, or its system would throw our answer away.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 64 * 1024;

/// What became of an attempt, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Taken,
    /// The same verdict was there before.
    Repeated,
    /// It is a verdict, and does not count.
    Refused,
    /// It is no verdict, or not in a form that is read here.
    Malformed,
    /// Too many attempts.
    Limited,
    /// It could not be judged or written down.
    Failed,
}

impl Outcome {
    pub(super) const ALL: [Outcome; 6] = [
        Outcome::Taken,
        Outcome::Repeated,
        Outcome::Refused,
        Outcome::Malformed,
        Outcome::Limited,
        Outcome::Failed,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Outcome::Taken => "taken",
            Outcome::Repeated => "repeated",
            Outcome::Refused => "refused",
            Outcome::Malformed => "malformed",
            Outcome::Limited => "limited",
            Outcome::Failed => "failed",
        }
    }
}

/// The answer to an attempt, and what is counted and logged of it.
struct Reply {
    page: Page,
    outcome: Outcome,
    code: Option<String>,
}

pub(crate) async fn run(shared: Shared, listening: Arc<Listening>, life: Life) -> Result<(), Failed> {
    let permits = Arc::new(Semaphore::new(CLIENTS_MAX));
    let office = &shared.office;
    let per_minute = office.config().config.approvals.webhook.per_minute;
    let pace = Arc::new(Mutex::new(Pace::new(per_minute, office.clock.monotonic())));
    loop {
        life.beat.now();
        tokio::select! {
            // An accepted client is handed on at once; dropping the others loses nothing.
            () = life.stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(20)) => {}
            accepted = listening.accept() => {
                let (stream, from) = match accepted {
                    Err(e) if super::give_spare(&e) => continue,
                    accepted => accepted?,
                };
                let Ok(permit) = permits.clone().try_acquire_owned() else { continue };
                tokio::spawn(talk(stream, from, shared.clone(), pace.clone(), permit));
            }
        }
    }
}

async fn talk(
    mut stream: TcpStream,
    from: SocketAddr,
    shared: Shared,
    pace: Arc<Mutex<Pace>>,
    permit: OwnedSemaphorePermit,
) {
    let now = shared.office.clock.monotonic();
    let allowed = pace.lock().unwrap_or_else(PoisonError::into_inner).attempt(from.ip(), now);
    let reply = match allowed {
        Err(after) => limited(after),
        Ok(()) => match tokio::time::timeout(COMES_WITHIN, receive(&mut stream)).await {
            Ok(Ok(Ok(document))) => take(&shared, document, permit).await,
            Ok(Ok(Err(unread))) => not_read(unread),
            Err(_) => not_read(TOO_SLOW),
            // Nobody is left to be told anything.
            Ok(Err(e)) => return debug!(error = %e, "a client of the door for verdicts left early"),
        },
    };
    let Reply { page, outcome, code } = reply;
    shared.metrics.note_verdict(outcome);
    match outcome {
        Outcome::Taken | Outcome::Repeated => {}
        // As many as anybody likes, so they are only counted.
        Outcome::Limited => debug!(from = %from.ip(), "too many verdicts are handed in"),
        Outcome::Refused | Outcome::Malformed | Outcome::Failed => warn!(
            from = %from.ip(),
            status = page.status,
            code = code.as_deref().unwrap_or("none"),
            "what was handed in as a verdict does not count"
        ),
    }
    if let Ok(Err(e)) | Err(e) =
        tokio::time::timeout(TOLD_WITHIN, tell(&mut stream, page)).await.map_err(std::io::Error::from)
    {
        debug!(error = %e, "whoever handed a verdict in left before the answer");
    }
}

/// The document, or why it is not read.
async fn receive(stream: &mut TcpStream) -> std::io::Result<Result<Vec<u8>, Unread>> {
    let mut came = Vec::with_capacity(1024);
    let head = loop {
        if let Some(end) = came.windows(4).position(|w| w == b"\r\n\r\n") {
            break end;
        }
        if came.len() >= HEAD_MAX {
            return Ok(Err(HEAD_TOO_LARGE));
        }
        if read_some(stream, &mut came).await? == 0 {
            return Ok(Err(CUT_SHORT));
        }
    };
    let Announced { length, waits } =
        match letter::judge(came.get(..head).unwrap_or_default(), DOCUMENT_BYTES_MAX) {
            Ok(announced) => announced,
            Err(unread) => return Ok(Err(unread)),
        };
    let mut document = came.split_off(head + 4);
    if waits && document.is_empty() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    while document.len() < length {
        if read_some(stream, &mut document).await? == 0 {
            return Ok(Err(CUT_SHORT));
        }
    }
    Ok(if document.len() == length { Ok(document) } else { Err(TOO_MUCH) })
}

async fn read_some(stream: &mut TcpStream, into: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut chunk = [0; 2048];
    let read = stream.read(&mut chunk).await?;
    into.extend_from_slice(chunk.get(..read).unwrap_or_default());
    Ok(read)
}

/// The permit goes with the thread: a disk that hangs must not collect threads without end.
async fn take(shared: &Shared, document: Vec<u8>, permit: OwnedSemaphorePermit) -> Reply {
    let office = shared.office.clone();
    let work = tokio::task::spawn_blocking(move || {
        let reply = judged(&office, &document);
        drop(permit);
        reply
    });
    match tokio::time::timeout(TAKEN_WITHIN, work).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(_)) | Err(_) => failed("what became of it is not known; send it again"),
    }
}

fn judged(office: &Office, document: &[u8]) -> Reply {
    match office.hand_in(document) {
        Ok(HandedIn::Taken(taken)) => {
            info!(ask = %taken.id, state = taken.state, repeated = taken.repeated, "a verdict was handed in");
            let outcome = if taken.repeated { Outcome::Repeated } else { Outcome::Taken };
            Reply { page: page("200 OK", &json!(taken)), outcome, code: None }
        }
        Ok(HandedIn::Refused(error)) => match verdict_on(&error) {
            Some((status, outcome)) => told(status, outcome, &error.problem()),
            None => ours(&error.problem()),
        },
        Err(Failure::Problem(problem)) => ours(&problem),
        Err(Failure::ReaderLeft) => failed("it could not be judged; send it again"),
    }
}

/// Something is wrong here and not with what was handed in. Who asks is not known, so the log has it and the answer does not.
fn ours(problem: &Problem) -> Reply {
    warn!(code = %problem.code, why = problem.what, "a verdict that was handed in could not be judged or written down");
    let why = "it could not be judged or written down; the log of the daemon says why";
    let body = json!({"error": {"code": problem.code.to_string(), "message": why}});
    Reply { page: page(UNAVAILABLE, &body), outcome: Outcome::Failed, code: Some(problem.code.to_string()) }
}

const UNAVAILABLE: &str = "503 Service Unavailable";

/// The status that says what is wrong with a verdict; nothing where something else is wrong.
fn verdict_on(error: &Error) -> Option<(&'static str, Outcome)> {
    let refused = |status| (status, Outcome::Refused);
    Some(match error {
        Error::Refused(refusal) => match refusal {
            Refusal::UnknownAsk { .. } => refused("404 Not Found"),
            Refusal::ChangedAction { .. }
            | Refusal::AlreadyDecided { .. }
            | Refusal::NotApproved { .. }
            | Refusal::Rejected { .. }
            | Refusal::SecondUse { .. } => refused("409 Conflict"),
            Refusal::Withdrawn { .. } | Refusal::Late { .. } => refused("410 Gone"),
            Refusal::Malformed { .. } => (letter::BAD, Outcome::Malformed),
            Refusal::UnknownKey { .. }
            | Refusal::WrongRole { .. }
            | Refusal::KeyNotValid { .. }
            | Refusal::KeyRevoked { .. }
            | Refusal::DoesNotFit { .. }
            | Refusal::ForeignOrigin { .. } => refused("403 Forbidden"),
            Refusal::ClockUnsure { .. } | Refusal::ClockBehind { .. } => (UNAVAILABLE, Outcome::Failed),
        },
        Error::Secret => refused("422 Unprocessable Content"),
        _ => return None,
    })
}

fn not_read(unread: Unread) -> Reply {
    let problem = Error::from(Refusal::Malformed { why: unread.why.to_owned() }).problem();
    told(unread.status, Outcome::Malformed, &problem)
}

fn limited(after: Duration) -> Reply {
    let seconds = after.as_secs().saturating_add(1);
    let why = "too many verdicts were handed in from there; `holdfast approve` on the machine itself is not limited";
    let page = Page { retry_after: Some(seconds), ..page("429 Too Many Requests", &unnumbered(why)) };
    Reply { page, outcome: Outcome::Limited, code: None }
}

fn failed(why: &str) -> Reply {
    Reply { page: page(UNAVAILABLE, &unnumbered(why)), outcome: Outcome::Failed, code: None }
}

/// What has no code of its own.
fn unnumbered(why: &str) -> Value {
    json!({"error": {"message": why}})
}

/// The same words that a command would end with.
fn told(status: &'static str, outcome: Outcome, problem: &Problem) -> Reply {
    let body = json_of(problem);
    Reply { page: page(status, &body), outcome, code: Some(problem.code.to_string()) }
}

fn page(status: &'static str, body: &Value) -> Page {
    Page { status, kind: "application/json", retry_after: None, body: format!("{body}\n") }
}

async fn tell(stream: &mut TcpStream, page: Page) -> std::io::Result<()> {
    page.send(stream).await?;
    let mut rest = [0; 4096];
    let mut left = LINGER_BYTES;
    let linger = async {
        while let Ok(read @ 1..) = stream.read(&mut rest).await {
            left = left.saturating_sub(read);
            if left == 0 {
                return;
            }
        }
    };
    // Whether it ended or not, nothing more is said.
    let _ = tokio::time::timeout(LINGER, linger).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_status_that_tells_the_sender_whose_move_it_is() {
        for error in Error::samples() {
            let code = error.problem().code.number;
            let Some((status, outcome)) = verdict_on(&error) else {
                assert!(code > 17 && code != 20, "{code}");
                continue;
            };
            let expected = match code {
                1 => "404",
                2..=4 | 7 | 8 => "409",
                5 | 6 => "410",
                9 => "400",
                10..=15 => "403",
                20 => "422",
                _ => "503",
            };
            assert!(status.starts_with(expected), "{code}: {status}");
            let ours = matches!(outcome, Outcome::Failed);
            assert_eq!(ours, status.starts_with("503"), "{code}: what the sender can do nothing about");
        }
    }

    #[test]
    fn whoever_tries_too_often_is_told_when_to_come_back() {
        let reply = limited(Duration::from_millis(1_900));
        assert_eq!((reply.page.retry_after, reply.outcome), (Some(2), Outcome::Limited));
    }
}
