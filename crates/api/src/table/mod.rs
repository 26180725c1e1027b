//! Everything that can be asked, in the order of the document.

mod approvals;
mod audit;
mod hosts;
mod house;
mod memory;
mod status;

use std::sync::LazyLock;

use holdfast_control::Request;

use crate::call::Ask;
use crate::error::ApiError;
use crate::given::Given;
use crate::route::Route;
use crate::rule::{Field, Rule};
use crate::shape;

pub use audit::OWN_ROOMS;

static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let rooms =
        [status::ROUTES, hosts::ROUTES, approvals::ROUTES, memory::ROUTES, audit::ROUTES, house::ROUTES];
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
