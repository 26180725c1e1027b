//! How everything is: status, autonomy, notices, events, and the document itself.

use holdfast_control::{Appended, NoticesState, PauseState, Request, Severity, Status};

use super::{Asked, LOOK, REASON, control, reason};
use crate::call::{Ask, EventsAsk};
use crate::given::Given;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, ReplyForm, Route, Verb};
use crate::rule::{Field, Rule, SEQ};
use crate::told::{Health, NoticesTried};
use crate::{shape, show};

const SEVERITY: Field = Field::otherwise(
    "severity",
    Rule::Word(&["info", "warning", "critical"]),
    "How much it matters.",
    r#""warning""#,
);

const MESSAGE: Field = Field::required(
    "message",
    Rule::Text(&shape::MESSAGE),
    "The sentence. It is written down before it is sent.",
    r#""The backup of web-1 took twice as long as usual.""#,
);

const CHANNEL: Field = Field::optional(
    "channel",
    Rule::Word(&["log", "webhook", "slack", "discord", "ntfy", "mail"]),
    "Only this channel; all that are configured where nobody says.",
    r#""log""#,
);

const AFTER: Field = Field::optional(
    "after",
    SEQ,
    "Tell the entries after this one first. The header Last-Event-ID, which a browser sends by itself, counts for more.",
    "0",
);

const KIND: Field = Field::optional(
    "kind",
    Rule::Text(&shape::KIND_BEGINNING),
    "Only kinds that begin so, in whole words: a room, a room and a noun, or a whole kind.",
    r#""holdfast""#,
);

pub(super) const ROUTES: &[Route] = &[
    Route {
        id: "status.show",
        verb: Verb::Get,
        path: "/api/v1/status",
        summary: "How everything is",
        description: "What `holdfast status` tells: parts, journal, projections, databases, autonomy, notices and disk.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<Status>(),
        errors: &[],
        changes: false,
        build: |_, _| control(Request::Status {}),
        show: show::status,
    },
    Route {
        id: "status.health",
        verb: Verb::Get,
        path: "/api/v1/health",
        summary: "Does anything need me?",
        description: "The short form of the status. The answer is 200 also when something needs a person: what is asked is answered.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<Health>(),
        errors: &[],
        changes: false,
        build: |_, _| control(Request::Status {}),
        show: show::health,
    },
    Route {
        id: "status.openapi",
        verb: Verb::Get,
        path: "/api/v1/openapi.json",
        summary: "This document",
        description: "Made from the same table that decides what is taken.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::AnyJson,
        errors: &[],
        changes: false,
        build: |_, _| Ok(Ask::OpenApi),
        show: show::elsewhere,
    },
    Route {
        id: "events.follow",
        verb: Verb::Get,
        path: "/api/v1/events",
        summary: "Follow what happens",
        description: "Server-sent events, one for each entry of the log: `id` is its place, `event` its kind, `data` its line. Whoever comes back with \
                      Last-Event-ID misses nothing; where entries are no longer here, an event `missed` says from where on they are.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[AFTER, KIND],
        body: Body::Nothing,
        reply: ReplyForm::Events,
        errors: &[],
        changes: false,
        build: |given, _| {
            Ok(Ask::Events(EventsAsk { after: given.maybe_number("after"), kind: given.maybe_text("kind") }))
        },
        show: show::elsewhere,
    },
    Route {
        id: "autonomy.show",
        verb: Verb::Get,
        path: "/api/v1/autonomy",
        summary: "Whether autonomy is halted",
        description: "",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<PauseState>(),
        errors: &[],
        changes: false,
        build: |_, _| control(Request::Status {}),
        show: show::autonomy,
    },
    Route {
        id: "autonomy.pause",
        verb: Verb::Post,
        path: "/api/v1/autonomy/pause",
        summary: "Halt all autonomy at once",
        description: "Nothing that acts by itself begins anything until it is resumed, also after a restart; what is on trial is taken back.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[REASON]),
        reply: ReplyForm::of::<PauseState>(),
        errors: &[],
        changes: true,
        build: |given, actor| Ok(Ask::Pause { actor: actor.clone(), reason: reason(given) }),
        show: show::paused,
    },
    Route {
        id: "autonomy.resume",
        verb: Verb::Post,
        path: "/api/v1/autonomy/resume",
        summary: "Let autonomy go on",
        description: "",
        least: Role::Operator,
        scope: Scope::Manage,
        passkey: Passkey::Always,
        within: &[],
        query: &[],
        body: Body::fields(&[REASON]),
        reply: ReplyForm::of::<PauseState>(),
        errors: &[],
        changes: true,
        build: |given, actor| control(Request::Resume { actor: actor.clone(), reason: reason(given) }),
        show: show::paused,
    },
    Route {
        id: "notices.list",
        verb: Verb::Get,
        path: "/api/v1/notices",
        summary: "How each channel of notices is doing",
        description: "",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<NoticesState>(),
        errors: &[],
        changes: false,
        build: |_, _| control(Request::Notices {}),
        show: show::notices,
    },
    Route {
        id: "notices.raise",
        verb: Verb::Post,
        path: "/api/v1/notices",
        summary: "Tell people something",
        description: "Through every channel. It is written down before it is sent, so it survives a restart and a receiver that is down.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[SEVERITY, MESSAGE]),
        reply: ReplyForm::of::<Appended>(),
        errors: &[],
        changes: true,
        build: raise,
        show: show::appended,
    },
    Route {
        id: "notices.test",
        verb: Verb::Post,
        path: "/api/v1/notices/test",
        summary: "Try a channel of notices",
        description: "Sends a test message now, past the outbox; quiet hours and the least severity do not hold it back. The answer is 200 also where it did not arrive.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[CHANNEL]),
        reply: ReplyForm::of::<NoticesTried>(),
        errors: LOOK,
        changes: true,
        build: |given, _| Ok(Ask::TestNotices { channel: given.maybe_text("channel") }),
        show: show::elsewhere,
    },
];

fn raise(given: &Given, actor: &holdfast_types::Actor) -> Asked {
    let severity = match given.text("severity")?.as_str() {
        "info" => Severity::Info,
        "critical" => Severity::Critical,
        _ => Severity::Warning,
    };
    control(Request::Raise { severity, message: given.text("message")?, actor: actor.clone() })
}
