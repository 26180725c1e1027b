//! What only an owner does to the house itself. Stopping it is not among it: that takes the machine.

use holdfast_control::{BackedUp, Rebuilt, Reloaded, Request};

use super::control;
use crate::rights::{Role, Scope};
use crate::route::{Body, ReplyForm, Route, Verb};
use crate::show;

pub(super) const ROUTES: &[Route] = &[
    Route {
        id: "house.rebuild",
        verb: Verb::Post,
        path: "/api/v1/house/rebuild",
        summary: "Make the index anew from the journal",
        description: "The old one answers until the new one is whole. 409 while a rebuild or a backup is under way.",
        least: Role::Owner,
        scope: Scope::Manage,
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
