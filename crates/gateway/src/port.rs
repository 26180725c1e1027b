//! What this room needs of others. The wiring plugs them in.

use std::fmt;
use std::sync::Arc;

use holdfast_types::Problem;

use crate::accounts::Owed;
use crate::event::Event;
use crate::proof::Act;
use crate::role::Role;
use crate::signed::Signed;

/// Writes down what happened and what is about to be done.
pub trait Recorder: Send + Sync {
    /// For what changes nothing, such as a refusal. Must not block, and does not fail the request: what it cannot write it says itself.
    fn note(&self, event: Event);

    /// For what is about to be done; all of it is durable when this returns. Called on a thread that may block.
    fn record(&self, events: &[Event]) -> Result<Recorded, Unrecorded>;

    /// What was recorded did not come about after all.
    fn take_back(&self, recorded: Recorded);

    /// Records what was done before it could be recorded. May be called again for the same one, and then writes nothing. What cannot be read is
    /// recorded as that: when this returns, the accounts forget it.
    fn record_late(&self, owed: &Owed) -> Result<(), Unrecorded>;
}

/// The entries that say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded(pub Vec<u64>);

/// Why it could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecorded(pub Problem);

/// Something a person can confirm with a passkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmable {
    /// Of exactly what is confirmed.
    pub digest: [u8; 32],
    /// The sentence shown before the passkey is asked for.
    pub shown: String,
    /// Who may.
    pub least: Role,
}

/// Knows what can be confirmed, and carries it out. Called on a thread that may block.
pub trait Confirm: Send + Sync {
    /// What `what` stands for now.
    fn look_up(&self, who: &Signed, what: &str) -> Result<Confirmable, Problem>;

    /// What an act is, whose confirming takes a passkey: the sentence, and who may. The digest is the gate's.
    fn act(&self, who: &Signed, act: &Act) -> Result<(String, Role), Problem>;

    /// Does it, when it is still what `digest` was made of; says where to go next. Called at most once for each
    /// passkey ceremony.
    fn carry_out(
        &self,
        who: &Signed,
        what: &str,
        digest: [u8; 32],
        reason: Option<&str>,
    ) -> Result<String, Problem>;
}

/// What a refusal looks like to somebody who is looking at a page.
pub trait Faces: Send + Sync {
    /// A whole HTML page.
    fn problem(&self, problem: &Problem, who: Option<&Signed>) -> String;
}

/// The plainest page there is, for tests and until there are others.
#[derive(Clone, Copy, Debug)]
pub struct PlainFaces;

impl Faces for PlainFaces {
    fn problem(&self, problem: &Problem, _who: Option<&Signed>) -> String {
        let text =
            [&problem.what, &problem.untouched, &problem.hint].map(|text| escaped(text)).join("</p><p>");
        format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{code}</title><h1>{code}</h1><p>{text}</p></html>",
            code = problem.code
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// All of them.
#[derive(Clone)]
pub struct Ports {
    pub recorder: Arc<dyn Recorder>,
    pub confirm: Arc<dyn Confirm>,
    pub faces: Arc<dyn Faces>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ports")
    }
}
