//! Everything that can be asked, in the order of the document.

mod approvals;
mod audit;
mod hosts;
mod house;
mod memory;
mod series;
mod status;
mod targets;

use std::sync::LazyLock;

use holdfast_control::Request;
use holdfast_types::Actor;

use crate::call::{Ask, Look};
use crate::error::ApiError;
use crate::given::Given;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, ReplyForm, Route, Verb};
use crate::rule::{Field, Rule};
use crate::{shape, show};

pub use audit::OWN_ROOMS;

static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let rooms = [
        status::ROUTES,
        hosts::ROUTES,
        targets::ROUTES,
        series::ROUTES,
        approvals::ROUTES,
        memory::ROUTES,
        audit::ROUTES,
        house::ROUTES,
    ];
    rooms.concat()
});

/// Every route there is.
pub fn routes() -> &'static [Route] {
    &ROUTES
}

type Asked = Result<Ask, ApiError>;

/// The statuses of a call that only looks at something that may not be there.
const LOOK: &[u16] = &[404];

/// Of one that changes something, which may be in a state that does not allow it.
const CHANGE: &[u16] = &[404, 409];

fn control(request: Request) -> Asked {
    Ok(Ask::Control(request))
}

fn looked(look: Look) -> Asked {
    Ok(Ask::Look(look))
}

/// What anybody who is signed in may look at, and that changes nothing. A row says what else it is.
const fn look(
    id: &'static str,
    path: &'static str,
    reply: ReplyForm,
    build: fn(&Given, &Actor) -> Asked,
) -> Route {
    Route {
        id,
        verb: Verb::Get,
        path,
        summary: "",
        description: "",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Nothing,
        reply,
        errors: &[],
        changes: false,
        build,
        show: show::elsewhere,
    }
}

const REASON: Field = Field::optional(
    "reason",
    Rule::Text(&shape::REASON),
    "Why, for whoever reads it later.",
    r#""looking into it""#,
);

const DRY_RUN: Field =
    Field::otherwise("dry_run", Rule::Flag, "Say whether it would be done, and do nothing.", "false");

fn reason(given: &Given) -> Option<String> {
    given.maybe_text("reason")
}
