//! Answers as JSON: the fields of the command that asks the same, without the name of the answer around them.

use holdfast_control::{Answer, GatewayAnswer, MemoryAnswer};
use serde::Serialize;
use serde_json::Value;

use crate::error::ApiError;
use crate::given::Given;
use crate::told::{ApprovalList, FoundMany, Health, LinkList, MatchList, NotesWritten, PeopleList, RunList};

type Shown = Result<Value, ApiError>;

fn json(told: &impl Serialize) -> Shown {
    serde_json::to_value(told).map_err(|_| ApiError::Unexpected)
}

/// A line each: what shows, and which answer it shows how. Any other answer is none to what was asked.
macro_rules! shows {
    ($($name:ident: $answer:pat => $told:expr;)*) => {$(
        pub(crate) fn $name(_: &Given, answer: Answer) -> Shown {
            match answer {
                $answer => json(&$told),
                _ => Err(ApiError::Unexpected),
            }
        }
    )*};
}

shows! {
    status: Answer::Status(it) => it;
    autonomy: Answer::Status(it) => it.pause;
    appended: Answer::Appended(it) => it;
    checkpoint: Answer::Checkpoint(it) => it;
    witness_request: Answer::WitnessRequest(it) => it;
    cosigned: Answer::Cosigned(it) => it;
    paused: Answer::Paused(it) => it;
    rebuilt: Answer::Rebuilt(it) => it;
    backed_up: Answer::BackedUp(it) => it;
    reloaded: Answer::Reloaded(it) => it;
    notices: Answer::Notices(it) => it;
    approvals: Answer::Approvals(approvals) => ApprovalList { approvals };
    approval: Answer::Approval(it) => it;
    verdict: Answer::Verdict(it) => it;
    hosts: Answer::Steward(it) => it;
    ordered: Answer::StewardDone(it) => it;
    metrics: Answer::StewardMetrics(it) => it;
    people: Answer::Gateway(GatewayAnswer::People(people)) => PeopleList { people };
    links: Answer::Gateway(GatewayAnswer::Links(links)) => LinkList { links };
}

pub(crate) fn health(_: &Given, answer: Answer) -> Shown {
    let Answer::Status(status) = answer else { return Err(ApiError::Unexpected) };
    json(&Health {
        healthy: status.healthy,
        needs_you: status.needs_you,
        paused: status.pause.paused,
        version: status.version,
        entries: status.journal.entries,
    })
}

/// One target of all there are.
pub(crate) fn host(given: &Given, answer: Answer) -> Shown {
    let Answer::Steward(all) = answer else { return Err(ApiError::Unexpected) };
    let name = given.text("target")?;
    match all.targets.iter().find(|target| target.target == name) {
        Some(target) => json(target),
        None => Err(ApiError::NotThere { what: "target", name }),
    }
}

/// The same for what memory answers.
macro_rules! shows_memory {
    ($($name:ident: $answer:pat => $told:expr;)*) => {$(
        pub(crate) fn $name(_: &Given, answer: Answer) -> Shown {
            let Answer::Memory(answer) = answer else { return Err(ApiError::Unexpected) };
            match *answer {
                $answer => json(&$told),
                _ => Err(ApiError::Unexpected),
            }
        }
    )*};
}

shows_memory! {
    added: MemoryAnswer::Added(it) => it;
    imported: MemoryAnswer::Imported(it) => it;
    found: MemoryAnswer::Found(it) => it;
    found_many: MemoryAnswer::FoundMany(answers) => FoundMany { answers };
    memory: MemoryAnswer::Shown(it) => it;
    embedded: MemoryAnswer::Embedded(it) => it;
    consolidated: MemoryAnswer::Consolidated(runs) => RunList { runs };
    stats: MemoryAnswer::Stats(it) => it;
    forgotten: MemoryAnswer::Forgotten(it) => it;
    proof: MemoryAnswer::Proof(it) => it;
    page: MemoryAnswer::Page(it) => it;
    packed: MemoryAnswer::Packed(it) => it;
    matched: MemoryAnswer::Matched(matches) => MatchList { matches };
    cited: MemoryAnswer::Cited(it) => it;
    shared: MemoryAnswer::Shared(it) => it;
    taken_in: MemoryAnswer::Read(it) => it;
    notes: MemoryAnswer::Notes(it) => NotesWritten::from(it);
}

/// For what somebody else than the control plane answers: whoever does hands out its own form.
pub(crate) fn elsewhere(_: &Given, _: Answer) -> Shown {
    Err(ApiError::Unexpected)
}
