//! The hosts the steward looks after: how they stand, what was measured, what was tried, and orders.

use holdfast_control::{
    Request, StewardDone, StewardMetrics, StewardOrder, StewardState, StewardTargetState,
};
use holdfast_types::Actor;

use super::{Asked, CHANGE, DRY_RUN, LOOK, control};
use crate::call::Ask;
use crate::given::Given;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, ReplyForm, Route, Verb};
use crate::rule::{Field, Rule};
use crate::told::{EpisodeStory, Episodes};
use crate::{shape, show};

/// Hours are kept this many days.
const DAYS_MAX: u64 = 400;

/// Episodes of one answer.
const EPISODES_MAX: u64 = 200;

const TARGET: Field = Field::required(
    "target",
    Rule::Text(&shape::TARGET),
    "The target, by its name in the settings.",
    r#""box-1""#,
);

const DAYS: Field =
    Field::otherwise("days", Rule::Whole { least: 1, most: DAYS_MAX }, "Over so many days.", "7");

const LIMIT: Field =
    Field::otherwise("limit", Rule::Whole { least: 1, most: EPISODES_MAX }, "At most so many.", "20");

const ONLY_TARGET: Field =
    Field::optional("target", Rule::Text(&shape::TARGET), "Only those of this target.", r#""box-1""#);

const EPISODE: Field = Field::required(
    "episode",
    Rule::Text(&shape::EPISODE),
    "The episode; the beginning or the end of its id is enough.",
    r#""ep_00000000000010000000000001""#,
);

const LEVEL: Field = Field::required(
    "to",
    Rule::Word(&["observe", "plan", "approve-each", "tier-one", "tier-two"]),
    "observe measures only, plan proposes for people to read, approve-each tries what people approve, tier-one tries small changes by itself, \
     tier-two larger ones too, each approved.",
    r#""plan""#,
);

const WAY: Field = Field::required(
    "way",
    Rule::Word(&["rollback", "tripwire"]),
    "Which way back was seen to work.",
    r#""rollback""#,
);

/// An order: the row is the same but for what is ordered and who may.
const fn order(
    id: &'static str,
    path: &'static str,
    (summary, description): (&'static str, &'static str),
    (least, scope, passkey): (Role, Scope, Passkey),
    fields: &'static [Field],
    build: fn(&Given, &Actor) -> Asked,
) -> Route {
    Route {
        id,
        verb: Verb::Post,
        path,
        summary,
        description,
        least,
        scope,
        passkey,
        within: &[TARGET],
        query: &[],
        body: Body::fields(fields),
        reply: ReplyForm::of::<StewardDone>(),
        errors: CHANGE,
        changes: true,
        build,
        show: show::ordered,
    }
}

fn ordered(given: &Given, actor: &Actor, order: StewardOrder) -> Asked {
    let (target, dry_run) = (Some(given.text("target")?), given.flag("dry_run"));
    control(Request::StewardOrder { target, order, actor: actor.clone(), dry_run })
}

pub(super) const ROUTES: &[Route] = &[
    Route {
        id: "hosts.list",
        verb: Verb::Get,
        path: "/api/v1/hosts",
        summary: "How the steward's targets stand",
        description: "",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<StewardState>(),
        errors: &[],
        changes: false,
        build: |_, _| control(Request::Steward {}),
        show: show::hosts,
    },
    Route {
        id: "hosts.show",
        verb: Verb::Get,
        path: "/api/v1/hosts/{target}",
        summary: "How one target stands",
        description: "",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[TARGET],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<StewardTargetState>(),
        errors: LOOK,
        changes: false,
        build: |_, _| control(Request::Steward {}),
        show: show::host,
    },
    Route {
        id: "hosts.metrics",
        verb: Verb::Get,
        path: "/api/v1/hosts/{target}/metrics",
        summary: "What was collected of a target",
        description: "Means by unit, gaps, and what is wrong. A figure that was not measured is null and never 0.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[TARGET],
        query: &[DAYS],
        body: Body::Nothing,
        reply: ReplyForm::of::<StewardMetrics>(),
        errors: LOOK,
        changes: false,
        build: |given, _| {
            control(Request::StewardMetrics {
                target: Some(given.text("target")?),
                days: given.small("days")?,
            })
        },
        show: show::metrics,
    },
    order(
        "hosts.trigger",
        "/api/v1/hosts/{target}/trigger",
        (
            "Plan now",
            "A cycle of planning begins a moment later, unless the level, a pause, an open breaker or drift forbids it.",
        ),
        (Role::Operator, Scope::Act, Passkey::Never),
        &[DRY_RUN],
        |given, actor| ordered(given, actor, StewardOrder::Trigger),
    ),
    order(
        "hosts.rollback",
        "/api/v1/hosts/{target}/rollback",
        (
            "Undo what is on trial",
            "Or what was kept last while it is on probation. What is only planned is ended; what waits for a person is taken back.",
        ),
        (Role::Operator, Scope::Act, Passkey::Never),
        &[DRY_RUN],
        |given, actor| ordered(given, actor, StewardOrder::RollBack),
    ),
    order(
        "hosts.accept",
        "/api/v1/hosts/{target}/accept",
        ("Say that what runs on a target is good", "After somebody else changed it."),
        (Role::Operator, Scope::Manage, Passkey::Always),
        &[DRY_RUN],
        |given, actor| ordered(given, actor, StewardOrder::Accept),
    ),
    order(
        "hosts.reset",
        "/api/v1/hosts/{target}/reset",
        (
            "Close the breaker again",
            "After too many trials in a row were undone. The level stays where the breaker left it.",
        ),
        (Role::Operator, Scope::Manage, Passkey::Always),
        &[DRY_RUN],
        |given, actor| ordered(given, actor, StewardOrder::Reset),
    ),
    order(
        "hosts.review",
        "/api/v1/hosts/{target}/review",
        (
            "Say that a person has read what an episode proposed",
            "A level above plan asks for proposals that people have read.",
        ),
        (Role::Operator, Scope::Manage, Passkey::Always),
        &[EPISODE, DRY_RUN],
        |given, actor| ordered(given, actor, StewardOrder::Review { episode: given.text("episode")? }),
    ),
    order(
        "hosts.rehearsed",
        "/api/v1/hosts/{target}/rehearsed",
        (
            "Say that a person has seen a way back work",
            "A level above approve-each asks for it; each counts for 30 days.",
        ),
        (Role::Owner, Scope::Manage, Passkey::Always),
        &[WAY, DRY_RUN],
        |given, actor| {
            let tripwire = given.text("way")? == "tripwire";
            ordered(given, actor, StewardOrder::Rehearsed { tripwire })
        },
    ),
    order(
        "hosts.level",
        "/api/v1/hosts/{target}/level",
        (
            "Set how far a target trusts the steward",
            "Down at once. Up one level at a time, when the evidence for it is there; what is missing is listed in the answer.",
        ),
        (Role::Owner, Scope::Manage, Passkey::Unless { field: "to", is: "observe" }),
        &[LEVEL, DRY_RUN],
        |given, actor| ordered(given, actor, StewardOrder::Level { to: given.text("to")? }),
    ),
    Route {
        id: "episodes.list",
        verb: Verb::Get,
        path: "/api/v1/episodes",
        summary: "What the steward planned and tried",
        description: "The newest first, from the journal.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[ONLY_TARGET, LIMIT],
        body: Body::Nothing,
        reply: ReplyForm::of::<Episodes>(),
        errors: LOOK,
        changes: false,
        build: |given, _| {
            Ok(Ask::Episodes { target: given.maybe_text("target"), limit: given.small("limit")? })
        },
        show: show::elsewhere,
    },
    Route {
        id: "episodes.show",
        verb: Verb::Get,
        path: "/api/v1/episodes/{episode}",
        summary: "An episode from beginning to end",
        description: "Each line names the entry that proves it. 409 where the piece of an id stands for several.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[EPISODE],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<EpisodeStory>(),
        errors: CHANGE,
        changes: false,
        build: |given, _| Ok(Ask::Episode { id: given.text("episode")? }),
        show: show::elsewhere,
    },
];
