//! What can be asked. The HTTP API asks the same.

use holdfast_types::{Actor, AgentId, ApprovalId, Key, Kind, RunId, TargetId, Timestamp, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::memory::MemoryAsk;

/// One question or order to the control plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// How everything is.
    Status {},
    /// Write one entry.
    Append(Box<Append>),
    /// Sign a checkpoint over everything there is.
    Checkpoint {},
    /// What a witness needs to cosign everything there is.
    WitnessRequest { witness: String },
    /// Take in a checkpoint that a trusted witness cosigned.
    AcceptCosigned { note: String },
    /// Destroy the key of a sealed text.
    Erase { seq: u64, actor: Actor },
    /// Halt all autonomy, since then. Whoever asks has turned the switch already where that can be done; this writes it down.
    Pause { since: Timestamp, actor: Actor, reason: Option<String> },
    /// Let autonomy go on.
    Resume { actor: Actor, reason: Option<String> },
    /// Make the index anew from the journal.
    Rebuild {},
    /// Copy the databases that are their own truth.
    Backup {},
    /// Read the configuration again and apply what can change live.
    Reload {},
    /// What has been told to people, and what waits.
    Notices {},
    /// Tell people something.
    Raise { severity: Severity, message: String, actor: Actor },
    /// What waits for a person to allow it; all of it that ever did, if so asked.
    Approvals { all: bool },
    /// One ask in full.
    Approval { id: ApprovalId },
    /// Take in what a person decided: a signed approval, as text. Whoever answers verifies it and cannot make one.
    Verdict { document: String },
    /// What the steward looks after, and how that stands.
    Steward {},
    /// Have the steward do something on a target, or, in a dry run, say whether it would. Without a target the only one
    /// is meant.
    StewardOrder { target: Option<String>, order: StewardOrder, actor: Actor, dry_run: bool },
    /// What was collected of a target over so many days, and how fresh that is. Without a target the only one is meant.
    StewardMetrics { target: Option<String>, days: u32 },
    /// A way in for somebody who has none: asked for at the machine itself.
    Gateway { ask: GatewayAsk },
    /// Something of memory.
    Memory { ask: MemoryAsk },
    /// Stop the daemon.
    Stop {},
}

impl Request {
    /// The request's name, as metrics and logs say it.
    pub const fn name(&self) -> &'static str {
        match self {
            Request::Status {} => "status",
            Request::Append(_) => "append",
            Request::Checkpoint {} => "checkpoint",
            Request::WitnessRequest { .. } => "witness_request",
            Request::AcceptCosigned { .. } => "accept_cosigned",
            Request::Erase { .. } => "erase",
            Request::Pause { .. } => "pause",
            Request::Resume { .. } => "resume",
            Request::Rebuild {} => "rebuild",
            Request::Backup {} => "backup",
            Request::Reload {} => "reload",
            Request::Notices {} => "notices",
            Request::Raise { .. } => "raise",
            Request::Approvals { .. } => "approvals",
            Request::Approval { .. } => "approval",
            Request::Verdict { .. } => "verdict",
            Request::Steward {} => "steward",
            Request::StewardOrder { .. } => "steward_order",
            Request::StewardMetrics { .. } => "steward_metrics",
            Request::Gateway { .. } => "gateway",
            Request::Memory { .. } => "memory",
            Request::Stop {} => "stop",
        }
    }
}

/// What can be asked of the gateway's accounts by whoever has the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GatewayAsk {
    /// Who may come in.
    People,
    /// One-time links that are still to be used.
    Links,
    /// A one-time link: for the first owner, or for somebody by name who lost every device.
    Link { person: Option<String>, actor: Actor },
}

/// What a person wants of the steward, besides approving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StewardOrder {
    /// Plan now.
    Trigger,
    /// Another level of autonomy, by its name.
    Level { to: String },
    /// Undo what is tried, or what was kept last while it is on probation.
    RollBack,
    /// What runs on the target is good.
    Accept,
    /// Close the circuit again.
    Reset,
    /// A person has read what an episode proposed.
    Review { episode: String },
    /// A person caused a rollback on purpose and saw it come back, or made the tripwire fire and saw it undo.
    Rehearsed { tripwire: bool },
}

/// An entry to be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Append {
    pub kind: Kind,
    pub actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    pub trust: Trust,
    pub content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Agent(AgentId),
    Target(TargetId),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Body(Map<String, Value>),
    /// Base64 of the text that is to be sealed.
    Blob(String),
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Critical,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_its_name_and_refuses_what_it_does_not_know() {
        let resume: Request = serde_json::from_str(r#"{"do":"resume","actor":"ana","reason":null}"#).unwrap();
        assert_eq!(resume.name(), "resume");
        for text in [
            r#"{"do":"resume"}"#,
            r#"{"do":"resume","actor":"ana","force":true}"#,
            r#"{"do":"dance"}"#,
            r#"{"do":"resume","actor":"a\nb"}"#,
            "[]",
            "null",
        ] {
            assert!(serde_json::from_str::<Request>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_request_round_trips_under_its_name() {
        let actor: Actor = "ana".parse().unwrap();
        let append = Append {
            kind: "a.b.c".parse().unwrap(),
            actor: actor.clone(),
            subject: None,
            run: None,
            cause: Some(4),
            key: None,
            trust: Trust::Trusted,
            content: Content::Blob("aGk=".into()),
        };
        let all = [
            Request::Status {},
            Request::Append(Box::new(append)),
            Request::Checkpoint {},
            Request::WitnessRequest { witness: "w".into() },
            Request::AcceptCosigned { note: "n".into() },
            Request::Erase { seq: 1, actor: actor.clone() },
            Request::Pause { since: Timestamp::EPOCH, actor: actor.clone(), reason: None },
            Request::Resume { actor: actor.clone(), reason: Some("r".into()) },
            Request::Rebuild {},
            Request::Backup {},
            Request::Reload {},
            Request::Notices {},
            Request::Raise { severity: Severity::Info, message: "m".into(), actor },
            Request::Approvals { all: true },
            Request::Approval { id: "apr_01arz3ndektsv4rrffq69g5fav".parse().unwrap() },
            Request::Verdict { document: "{}".into() },
            Request::Steward {},
            Request::StewardOrder {
                target: Some("box-1".into()),
                order: StewardOrder::Level { to: "plan".into() },
                actor: "ana".parse().unwrap(),
                dry_run: true,
            },
            Request::StewardMetrics { target: None, days: 7 },
            Request::Gateway { ask: GatewayAsk::Link { person: None, actor: "ana".parse().unwrap() } },
            Request::Memory { ask: MemoryAsk::Stats { agent: None } },
            Request::Stop {},
        ];
        for request in all {
            let text = serde_json::to_string(&request).unwrap();
            assert!(text.starts_with(&format!("{{\"do\":\"{}\"", request.name())), "{text}");
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        }
    }
}
