//! What waits for a person. Nothing here approves: a verdict is signed elsewhere, by a key that no agent has, and handed in.

use holdfast_control::{ApprovalState, Request, VerdictTaken};

use super::{LOOK, control};
use crate::error::ApiError;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, ReplyForm, Route, Verb};
use crate::rule::{Field, Rule};
use crate::told::ApprovalList;
use crate::{shape, show};

/// Bytes of a signed document; approvals read no more.
const DOCUMENT_MAX: usize = 8 * 1024;

const ALL: Field = Field::otherwise("all", Rule::Flag, "Also what is decided, used or expired.", "false");

const ID: Field = Field::required("id", Rule::Text(&shape::APPROVAL), "The ask.", EXAMPLE_ID);

const EXAMPLE_ID: &str = r#""apr_01kc1yq8m0e3t6v9x2b5h8n1r4""#;
const EXAMPLE_TIME: &str = r#""2026-11-15T12:00:00.000000Z""#;
const EXAMPLE_END: &str = r#""2026-11-16T11:30:00.000000Z""#;

const PAYLOAD: &[Field] = &[
    Field::required("ask", Rule::Text(&shape::APPROVAL), "The ask it is for.", EXAMPLE_ID),
    Field::required(
        "digest",
        Rule::Text(&shape::DIGEST),
        "Of the exact action.",
        r#""sha256:43552a821a6f82d238754f38b9fa799c1e09506662d93c9f348584c29fc25e4d""#,
    ),
    Field::required("verdict", Rule::Word(&["approve", "reject"]), "What was decided.", r#""reject""#),
    Field::required("by", Rule::Text(&shape::ACTOR), "Who decided.", r#""ana""#),
    Field::optional("reason", Rule::Text(&shape::VERDICT_REASON), "Why.", r#""not on a Friday""#),
    Field::required(
        "issued_at",
        Rule::Text(&shape::TIME),
        "When; the same as in the signature.",
        EXAMPLE_TIME,
    ),
    Field::required(
        "expires_at",
        Rule::Text(&shape::TIME),
        "From when on it counts for nothing.",
        EXAMPLE_END,
    ),
    Field::required(
        "origin",
        Rule::Text(&shape::ORIGIN),
        "The log of the instance that asked.",
        r#""holdfast/web-1""#,
    ),
];

const SIGNATURE: Rule = Rule::Parts(&[
    Field::required("at", Rule::Text(&shape::TIME), "When it was signed.", EXAMPLE_TIME),
    Field::required("key", Rule::Text(&shape::SIGNER), "The key's id.", r#""ed25519:0000000000000000""#),
    Field::required("role", Rule::Word(&["approvals"]), "What the key is for.", r#""approvals""#),
    Field::required("sig", Rule::Text(&shape::SIGNATURE), "The signature.", EXAMPLE_SIGNATURE),
]);

/// Of nothing, by nobody.
const EXAMPLE_SIGNATURE: &str =
    r#""AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==""#;

const DOCUMENT: &[Field] = &[
    Field::required("format", Rule::Whole { least: 1, most: 1 }, "The form of the document.", "1"),
    Field::required(
        "payload",
        Rule::Parts(PAYLOAD),
        "What is signed, in canonical JSON.",
        concat!(
            r#"{"ask":"apr_01kc1yq8m0e3t6v9x2b5h8n1r4","digest":"sha256:43552a821a6f82d238754f38b9fa799c1e09506662d93c9f348584c29fc25e4d","#,
            r#""verdict":"reject","by":"ana","issued_at":"2026-11-15T12:00:00.000000Z","expires_at":"2026-11-16T11:30:00.000000Z","#,
            r#""origin":"holdfast/web-1"}"#
        ),
    ),
    Field::required(
        "signatures",
        Rule::Each { of: &SIGNATURE, least: 1, most: 1 },
        "Exactly one, by a key for approvals.",
        concat!(
            r#"[{"at":"2026-11-15T12:00:00.000000Z","key":"ed25519:0000000000000000","role":"approvals","#,
            r#""sig":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="}]"#
        ),
    ),
];

pub(super) const ROUTES: &[Route] = &[
    Route {
        id: "approvals.list",
        verb: Verb::Get,
        path: "/api/v1/approvals",
        summary: "What waits for a person",
        description: "The newest first.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[ALL],
        body: Body::Nothing,
        reply: ReplyForm::of::<ApprovalList>(),
        errors: &[],
        changes: false,
        build: |given, _| control(Request::Approvals { all: given.flag("all") }),
        show: show::approvals,
    },
    Route {
        id: "approvals.show",
        verb: Verb::Get,
        path: "/api/v1/approvals/{id}",
        summary: "One ask in full",
        description: "What exactly would be done, and what became of it.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[ID],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<ApprovalState>(),
        errors: LOOK,
        changes: false,
        build: |given, _| control(Request::Approval { id: given.parsed("id")? }),
        show: show::approval,
    },
    Route {
        id: "approvals.verdict",
        verb: Verb::Post,
        path: "/api/v1/approvals/verdict",
        summary: "Hand in a signed verdict",
        description: "The document that `holdfast approve --ask FILE --key FILE` prints. A token cannot approve or reject anything by itself: what counts is the \
                      signature of a key for approvals. The daemon has one, for what somebody confirmed with a passkey in the inbox, and signs nothing here \
                      with it. People approve in the inbox, or with `holdfast approve` on the machine.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Signed { fields: DOCUMENT, most: DOCUMENT_MAX },
        reply: ReplyForm::of::<VerdictTaken>(),
        errors: &[404, 409, 410, 422],
        changes: true,
        build: |given, _| {
            let document = given.document.clone();
            let document = document.ok_or_else(|| ApiError::Missing { field: "payload".to_owned() })?;
            control(Request::Verdict { document })
        },
        show: show::verdict,
    },
];
