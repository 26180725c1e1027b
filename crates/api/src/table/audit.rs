//! The log: its entries, proofs of them, checkpoints and witnesses.

use holdfast_control::{Append, Appended, Checkpoint, Content, Cosigned, Request, Subject, WitnessRequest};
use holdfast_types::{Actor, Kind, Trust};

use super::{Asked, CHANGE, LOOK, control, look, looked};
use crate::call::{Ask, EntriesAsk, Look, Order};
use crate::error::ApiError;
use crate::given::Given;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, ReplyForm, Route, Verb};
use crate::rule::{Field, Rule, SAFE_MAX, SEQ};
use crate::told::{Entries, Entry, LogVerified, Proof, Witnesses};
use crate::{shape, show};

/// Entries of one page. A line has at most 64 KiB.
const PAGE_MAX: u64 = 500;

/// A sealed text of half a mebibyte in base64, and its envelope. What is larger is logged on the machine.
const APPEND_MAX: usize = 1024 * 1024;

/// A signed note with every character escaped, so that one that is too long is told so by its name.
const NOTE_BODY_MAX: usize = 1024 * 1024;

/// Rooms whose entries the program writes and believes. Over HTTP nobody else writes there.
pub const OWN_ROOMS: &[&str] = &[
    "api", "approval", "cage", "choir", "detector", "doorman", "door", "egress", "gateway", "guard",
    "history", "holdfast", "journal", "ledger", "memory", "notice", "people", "steward", "tripwire",
];

/// What a key that came over HTTP begins with: parts of the program know what they wrote by keys of their own.
const KEY_PREFIX: &str = "api:";

const PLACE: Field = Field::required("seq", SEQ, "The entry's place in the log.", "0");

const FROM: Field =
    Field::optional("from", SEQ, "Begin at this entry; at the newest or the oldest where nobody says.", "0");

const LIMIT: Field =
    Field::otherwise("limit", Rule::Whole { least: 1, most: PAGE_MAX }, "At most so many.", "50");

const ORDER: Field = Field::otherwise(
    "order",
    Rule::Word(&["newest", "oldest"]),
    "Which come first. From an entry on, newest goes back in the log and oldest goes forward.",
    r#""newest""#,
);

const KIND_BEGINNING: Field = Field::optional(
    "kind",
    Rule::Text(&shape::KIND_BEGINNING),
    "Only kinds that begin so, in whole words.",
    r#""holdfast""#,
);

const BY: Field =
    Field::optional("actor", Rule::Text(&shape::ACTOR), "Only what this actor did.", r#""holdfast""#);

const SIZE: Field = Field::optional(
    "size",
    Rule::Whole { least: 1, most: SAFE_MAX },
    "The size of the log to prove it in; that of the newest checkpoint where nobody says.",
    "1",
);

const OLD: Field =
    Field::required("old", Rule::Whole { least: 1, most: SAFE_MAX }, "How many entries the log had.", "1");

const APPEND: &[Field] = &[
    Field::required(
        "kind",
        Rule::Text(&shape::KIND),
        "What happened, in a room of your own.",
        r#""captain.watch.started""#,
    ),
    Field::optional(
        "about",
        Rule::Text(&shape::ABOUT),
        "The agent or the target it is about.",
        r#""agt_01arz3ndektsv4rrffq69g5fav""#,
    ),
    Field::optional(
        "run",
        Rule::Text(&shape::RUN),
        "The run it belongs to.",
        r#""run_01arz3ndektsv4rrffq69g5fav""#,
    ),
    Field::optional("cause", SEQ, "The entry that led to this one.", "0"),
    Field::optional(
        "key",
        Rule::Text(&shape::KEY),
        "A second time with the same key writes nothing. Kept with api: before it.",
        r#""watch-7""#,
    ),
    TRUST,
    Field::optional(
        "body",
        Rule::Anything,
        "What is to be said, readable in the log for ever.",
        r#"{"generation":7}"#,
    ),
    Field::optional(
        "blob",
        Rule::Text(&shape::BLOB),
        "Base64 of a text that is sealed and can be erased later.",
        r#""aGVsbG8=""#,
    ),
];

/// The person who owns the machines says so on the machine.
pub(super) const TRUST: Field = Field::otherwise(
    "trust",
    Rule::Word(&["disposable", "untrusted", "semi-trusted", "trusted"]),
    "How far it is trusted.",
    r#""semi-trusted""#,
);

const EVERY_SIGNATURE: Field = Field::otherwise(
    "every_signature",
    Rule::Flag,
    "Also the signatures inside segments, which later ones cover.",
    "false",
);

const WITNESS: Field = Field::required(
    "witness",
    Rule::Text(&shape::WITNESS),
    "The witness's name, as in its verifier key.",
    r#""witness.example/w1""#,
);

const NOTE: Field = Field::required(
    "note",
    Rule::Text(&shape::NOTE),
    "The cosigned checkpoint: a C2SP signed note.",
    r#""holdfast/web-1\n1\nAAAA\n""#,
);

pub(super) const ROUTES: &[Route] = &[
    Route {
        id: "audit.list",
        verb: Verb::Get,
        path: "/api/v1/audit/entries",
        summary: "Entries of the log, a page at a time",
        description: "Each exactly as it stands in the log. `next` is where to go on with `from`, in the same order.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[FROM, LIMIT, ORDER, KIND_BEGINNING, BY],
        body: Body::Nothing,
        reply: ReplyForm::of::<Entries>(),
        errors: &[404, 410],
        changes: false,
        build: entries,
        show: show::elsewhere,
    },
    Route {
        id: "audit.append",
        verb: Verb::Post,
        path: "/api/v1/audit/entries",
        summary: "Write one entry",
        description: "It is on the disk when the answer comes. Secrets are taken out first; a text with a key that cannot be taken out is refused with 422. \
                      Rooms of the program's own are refused with 403. Who wrote it is whoever is signed in.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Fields { fields: APPEND, one_of: &["body", "blob"], most: APPEND_MAX },
        reply: ReplyForm::of::<Appended>(),
        errors: &[404, 409, 422],
        changes: true,
        build: append,
        show: show::appended,
    },
    Route {
        id: "audit.show",
        verb: Verb::Get,
        path: "/api/v1/audit/entries/{seq}",
        summary: "One entry",
        description: "Exactly as it stands in the log; its bytes are a leaf of the tree. 410 where it was moved to an archive.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[PLACE],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<Entry>(),
        errors: &[404, 410],
        changes: false,
        build: |given, _| Ok(Ask::Entry { seq: given.number("seq")? }),
        show: show::elsewhere,
    },
    Route {
        id: "audit.proof",
        verb: Verb::Get,
        path: "/api/v1/audit/entries/{seq}/proof",
        summary: "Prove that an entry is in the log",
        description: "With the checkpoint it leads to; it can be checked elsewhere and offline.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[PLACE],
        query: &[SIZE],
        body: Body::Nothing,
        reply: ReplyForm::of::<Proof>(),
        errors: &[404, 410],
        changes: false,
        build: |given, _| Ok(Ask::Proof { seq: given.number("seq")?, size: given.maybe_number("size") }),
        show: show::elsewhere,
    },
    Route {
        id: "audit.erase",
        verb: Verb::Delete,
        path: "/api/v1/audit/entries/{seq}/text",
        summary: "Make a sealed text unreadable for ever",
        description: "By destroying its key; in every copy of the log, too. The entry stays, and with it the proof that there was a text. 409 where the entry has none.",
        least: Role::Owner,
        scope: Scope::Manage,
        passkey: Passkey::Always,
        within: &[PLACE],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<Appended>(),
        errors: &[404, 409, 410],
        changes: true,
        build: |given, actor| control(Request::Erase { seq: given.number("seq")?, actor: actor.clone() }),
        show: show::appended,
    },
    Route {
        id: "audit.consistency",
        verb: Verb::Get,
        path: "/api/v1/audit/consistency",
        summary: "Prove that the log only grew",
        description: "That the log of the newest checkpoint continues the one of so many entries.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[OLD],
        body: Body::Nothing,
        reply: ReplyForm::of::<Proof>(),
        errors: LOOK,
        changes: false,
        build: |given, _| Ok(Ask::Consistency { old: given.number("old")? }),
        show: show::elsewhere,
    },
    Route {
        id: "audit.checkpoint",
        verb: Verb::Get,
        path: "/api/v1/audit/checkpoint",
        summary: "The newest signed checkpoint",
        description: "A C2SP signed note: origin, size and root of the log, and its signatures.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<Checkpoint>(),
        errors: &[],
        changes: false,
        build: |_, _| Ok(Ask::Checkpoint),
        show: show::checkpoint,
    },
    Route {
        id: "audit.sign",
        verb: Verb::Post,
        path: "/api/v1/audit/checkpoint",
        summary: "Sign a checkpoint now",
        description: "Over everything there is.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<Checkpoint>(),
        errors: &[],
        changes: true,
        build: |_, _| control(Request::Checkpoint {}),
        show: show::checkpoint,
    },
    Route {
        id: "audit.verify",
        verb: Verb::Post,
        path: "/api/v1/audit/verify",
        summary: "Check every entry, hash, checkpoint, signature and sealed text",
        description: "What was found is written down. The answer is 200 also when it is damaged: what is asked is answered. 409 while a check, a rebuild or a backup is under way.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[EVERY_SIGNATURE]),
        reply: ReplyForm::of::<LogVerified>(),
        errors: &[409],
        changes: true,
        build: |given, _| looked(Look::VerifyLog { every_signature: given.flag("every_signature") }),
        show: show::elsewhere,
    },
    Route {
        summary: "Whom this house believes about logs",
        description: "Witnesses with what each saw last, and logs that are witnessed for here.",
        ..look("audit.witnesses", "/api/v1/audit/witnesses", ReplyForm::of::<Witnesses>(), |_, _| {
            looked(Look::Witnesses)
        })
    },
    Route {
        id: "audit.witness_request",
        verb: Verb::Post,
        path: "/api/v1/audit/witness/request",
        summary: "What a witness needs to cosign the log",
        description: "Signs a checkpoint first.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[WITNESS]),
        reply: ReplyForm::of::<WitnessRequest>(),
        errors: &[],
        changes: true,
        build: |given, _| control(Request::WitnessRequest { witness: given.text("witness")? }),
        show: show::witness_request,
    },
    Route {
        id: "audit.witness_accept",
        verb: Verb::Post,
        path: "/api/v1/audit/witness/accept",
        summary: "Take in a checkpoint that a trusted witness has cosigned",
        description: "403 where it is not signed by a trusted witness or does not continue what was seen.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Fields { fields: &[NOTE], one_of: &[], most: NOTE_BODY_MAX },
        reply: ReplyForm::of::<Cosigned>(),
        errors: CHANGE,
        changes: true,
        build: |given, _| control(Request::AcceptCosigned { note: given.text("note")? }),
        show: show::cosigned,
    },
];

fn entries(given: &Given, _: &Actor) -> Asked {
    let order = match given.text("order")?.as_str() {
        "oldest" => Order::OldestFirst,
        _ => Order::NewestFirst,
    };
    Ok(Ask::Entries(EntriesAsk {
        from: given.maybe_number("from"),
        limit: given.small("limit")?,
        order,
        kind: given.maybe_text("kind"),
        actor: given.maybe_parsed("actor")?,
    }))
}

fn append(given: &Given, actor: &Actor) -> Asked {
    let kind: Kind = given.parsed("kind")?;
    let room = kind.room();
    if OWN_ROOMS.contains(&room.as_str()) {
        return Err(ApiError::Reserved { room: room.to_string() });
    }
    let content = match (given.object("body"), given.maybe_text("blob")) {
        (Some(body), None) => Content::Body(body),
        (None, Some(blob)) => Content::Blob(blob),
        _ => return Err(ApiError::OneOf { of: &["body", "blob"] }),
    };
    control(Request::Append(Box::new(Append {
        kind,
        actor: actor.clone(),
        subject: subject(given)?,
        run: given.maybe_parsed("run")?,
        cause: given.maybe_number("cause"),
        key: key(given)?,
        trust: given.parsed::<Trust>("trust")?,
        content,
    })))
}

fn subject(given: &Given) -> Result<Option<Subject>, ApiError> {
    match given.maybe_text("about") {
        Some(id) if id.starts_with("agt_") => Ok(given.maybe_parsed("about")?.map(Subject::Agent)),
        _ => Ok(given.maybe_parsed("about")?.map(Subject::Target)),
    }
}

pub(super) fn key(given: &Given) -> Result<Option<holdfast_types::Key>, ApiError> {
    let parse = |text: String| {
        let wrong = |_| ApiError::Wrong { field: "key".to_owned(), why: shape::KEY.said.to_owned() };
        format!("{KEY_PREFIX}{text}").parse().map_err(wrong)
    };
    given.maybe_text("key").map(parse).transpose()
}
