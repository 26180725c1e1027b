//! The house itself: how it is set up, what it looks at and may reach, who may come in, and what only an owner does to it. Stopping it is not
//! among it: that takes the machine.

use holdfast_control::{BackedUp, GatewayAsk, Rebuilt, Reloaded, Request};

use super::{CHANGE, control, look, looked};
use crate::call::Look;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, ReplyForm, Route, Verb, YAML};
use crate::rule::{Field, Rule};
use crate::told::{
    Disk, Doctor, Egress, EgressChecked, EgressRefusals, LinkList, Model, ModelVerified, PeopleList,
    Redacted, Settings, SettingsChecked, SettingsExample,
};
use crate::{shape, show};

/// As much as the daemon would read of its own file.
const SETTINGS_MAX: usize = 1024 * 1024;

/// The longest text with every character escaped twice over.
const TEXT_MAX: usize = 4 * 1024 * 1024;

const CHANGED: Field = Field::otherwise("changed", Rule::Flag, "Only what is not at its default.", "false");

const NFT: Field =
    Field::otherwise("nft", Rule::Flag, "Also the rules as the packet filter is given them.", "false");

const TEXT: Field = Field::required(
    "text",
    Rule::Text(&shape::ANY_TEXT),
    "The text.",
    r#""ask ana@example.org for the key""#,
);

const LOOKING: Field = Field::otherwise(
    "looking",
    Rule::Word(&["secrets", "people", "everything"]),
    "What is taken out: keys, tokens and passwords; also mail addresses, phone numbers, cards and ids; also web addresses.",
    r#""everything""#,
);

pub(super) const ROUTES: &[Route] = &[
    Route {
        summary: "Look at everything and say how it is",
        description: "One round of checks, within 30 seconds. The answer is 200 also when something is wrong: what is asked is answered.",
        ..look("house.doctor", "/api/v1/house/doctor", ReplyForm::of::<Doctor>(), |_, _| looked(Look::Doctor))
    },
    Route {
        summary: "The disk budget, and what happens when it runs short",
        ..look("house.disk", "/api/v1/house/disk", ReplyForm::of::<Disk>(), |_, _| looked(Look::Disk))
    },
    Route {
        query: &[CHANGED],
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        summary: "Every setting in force, and what set it",
        description: "Secrets are only ever named in it.",
        ..look("house.settings", "/api/v1/house/settings", ReplyForm::of::<Settings>(), |given, _| {
            looked(Look::Settings { changed: given.flag("changed") })
        })
    },
    Route {
        verb: Verb::Post,
        body: Body::Raw {
            media_type: YAML,
            most: SETTINGS_MAX,
            example: "version: 1\nlog:\n  level: debug\n",
        },
        summary: "Check a configuration without using it",
        description: "Every mistake with its place and what to write instead. It is neither kept nor applied.",
        ..look(
            "house.settings_check",
            "/api/v1/house/settings/check",
            ReplyForm::of::<SettingsChecked>(),
            |given, _| looked(Look::CheckSettings { text: given.raw.clone() }),
        )
    },
    Route {
        summary: "A config.yaml with every key, its default and its manual entry",
        ..look(
            "house.settings_example",
            "/api/v1/house/settings/example",
            ReplyForm::of::<SettingsExample>(),
            |_, _| looked(Look::SettingsExample),
        )
    },
    Route {
        summary: "The JSON Schema of config.yaml",
        ..look("house.settings_schema", "/api/v1/house/settings/schema", ReplyForm::AnyJson, |_, _| {
            looked(Look::SettingsSchema)
        })
    },
    Route {
        query: &[NFT],
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        summary: "What the daemon and the tripwire may reach",
        description: "What the settings say now, whether or not it is in force. 409 where the list cannot be made.",
        errors: &[409],
        ..look("house.egress", "/api/v1/house/egress", ReplyForm::of::<Egress>(), |given, _| {
            looked(Look::Egress { nft: given.flag("nft") })
        })
    },
    Route {
        summary: "Whether those rules are in force",
        ..look(
            "house.egress_check",
            "/api/v1/house/egress/check",
            ReplyForm::of::<EgressChecked>(),
            |_, _| looked(Look::EgressCheck),
        )
    },
    Route {
        summary: "What was refused in the last day",
        description: "409 where nobody has kept to the rules since the machine started.",
        errors: &[409],
        ..look(
            "house.egress_refusals",
            "/api/v1/house/egress/refusals",
            ReplyForm::of::<EgressRefusals>(),
            |_, _| looked(Look::EgressRefusals),
        )
    },
    Route {
        summary: "Which embedding model there is",
        ..look("house.model", "/api/v1/house/model", ReplyForm::of::<Model>(), |_, _| looked(Look::Model))
    },
    Route {
        verb: Verb::Post,
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        summary: "Check every byte of the model's files",
        description: "404 where there is none, 409 where a file is not the pinned one.",
        errors: CHANGE,
        ..look(
            "house.model_verify",
            "/api/v1/house/model/verify",
            ReplyForm::of::<ModelVerified>(),
            |_, _| looked(Look::VerifyModel),
        )
    },
    Route {
        verb: Verb::Post,
        body: Body::Fields { fields: &[TEXT, LOOKING], one_of: &[], most: TEXT_MAX },
        summary: "Take secrets and personal data out of a text",
        description: "By the rules of this house. The text is neither kept nor written down.",
        ..look("house.redact", "/api/v1/house/redact", ReplyForm::of::<Redacted>(), |given, _| {
            looked(Look::Redact { text: given.text("text")?, looking: given.text("looking")? })
        })
    },
    Route {
        least: Role::Owner,
        scope: Scope::Manage,
        passkey: Passkey::Never,
        summary: "Who may come in",
        description: "Inviting somebody and taking somebody's way in takes a person who is signed in.",
        show: show::people,
        ..look("house.people", "/api/v1/house/people", ReplyForm::of::<PeopleList>(), |_, _| {
            control(Request::Gateway { ask: GatewayAsk::People })
        })
    },
    Route {
        least: Role::Owner,
        scope: Scope::Manage,
        passkey: Passkey::Never,
        summary: "One-time links that are still open",
        description: "What stands in a link is nowhere. Revoking one takes a person who is signed in.",
        show: show::links,
        ..look("house.links", "/api/v1/house/links", ReplyForm::of::<LinkList>(), |_, _| {
            control(Request::Gateway { ask: GatewayAsk::Links })
        })
    },
    Route {
        id: "house.rebuild",
        verb: Verb::Post,
        path: "/api/v1/house/rebuild",
        summary: "Make the index anew from the journal",
        description: "The old one answers until the new one is whole. 409 while a rebuild or a backup is under way.",
        least: Role::Owner,
        scope: Scope::Manage,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<Rebuilt>(),
        errors: &[409],
        changes: true,
        build: |_, _| control(Request::Rebuild {}),
        show: show::rebuilt,
    },
    Route {
        id: "house.backup",
        verb: Verb::Post,
        path: "/api/v1/house/backup",
        summary: "Copy the databases that are their own truth",
        description: "While they are in use. 409 while a rebuild or a backup is under way.",
        least: Role::Owner,
        scope: Scope::Manage,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<BackedUp>(),
        errors: &[409],
        changes: true,
        build: |_, _| control(Request::Backup {}),
        show: show::backed_up,
    },
    Route {
        id: "house.reload",
        verb: Verb::Post,
        path: "/api/v1/house/reload",
        summary: "Read the configuration again",
        description: "A wrong one is refused with 409, and the settings in force stay in force.",
        least: Role::Owner,
        scope: Scope::Manage,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<Reloaded>(),
        errors: &[409],
        changes: true,
        build: |_, _| control(Request::Reload {}),
        show: show::reloaded,
    },
];
