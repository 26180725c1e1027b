//! The hosts that were taken in, and what was applied to them. Taking one in, having it guarded and letting it go stay with the command line:
//! they go by the keys of whoever does it.

use super::{CHANGE, LOOK, look, looked};
use crate::call::Look;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, ReplyForm, Route, Verb};
use crate::rule::{Field, Rule};
use crate::told::{History, Reports, Target, TargetChecked, Targets};
use crate::{shape, show};

const NAME: Field = Field::required("target", Rule::Text(&shape::TARGET), "The target's name.", r#""web-1""#);

const ONLY: Field = Field::optional("target", Rule::Text(&shape::TARGET), "Only this target.", r#""web-1""#);

const LIMIT: Field =
    Field::otherwise("limit", Rule::Whole { least: 1, most: 500 }, "At most so many of each target.", "20");

pub(super) const ROUTES: &[Route] = &[
    Route {
        summary: "The hosts that were taken in",
        description: "With what was found there on that day. Nobody is asked.",
        ..look("targets.list", "/api/v1/targets", ReplyForm::of::<Targets>(), |_, _| looked(Look::Targets))
    },
    Route {
        within: &[NAME],
        summary: "A host that was taken in",
        errors: LOOK,
        ..look("targets.show", "/api/v1/targets/{target}", ReplyForm::of::<Target>(), |given, _| {
            looked(Look::Target { name: given.text("target")? })
        })
    },
    Route {
        id: "targets.check",
        verb: Verb::Post,
        path: "/api/v1/targets/{target}/check",
        summary: "Every proof of the first day again",
        description: "The host is asked as the steward would ask it, and looked at as on the day it was taken in; what differs is told. Nothing is changed. Takes up to \
                      minutes; 409 while another check of a host is under way.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[NAME],
        query: &[],
        body: Body::Nothing,
        reply: ReplyForm::of::<TargetChecked>(),
        errors: CHANGE,
        changes: false,
        build: |given, _| looked(Look::CheckTarget { name: given.text("target")? }),
        show: show::elsewhere,
    },
    Route {
        query: &[ONLY, LIMIT],
        summary: "What was applied to the targets",
        description: "The newest first, from the journal; and whether the git repository of it has everything.",
        errors: LOOK,
        ..look("history.list", "/api/v1/history", ReplyForm::of::<History>(), |given, _| {
            looked(Look::History { target: given.maybe_text("target"), limit: given.small("limit")? })
        })
    },
    Route {
        query: &[ONLY],
        summary: "The steward's review of its own work",
        description: "Over the last 30 days of the target, as Markdown: how often gates passed and trials held, what was changed, which bounds are pressed.",
        errors: LOOK,
        ..look("history.report", "/api/v1/history/report", ReplyForm::of::<Reports>(), |given, _| {
            looked(Look::Report { target: given.maybe_text("target") })
        })
    },
];
