//! What can be asked over HTTP: every route with its role, its schema and the request it becomes.
//!
//! Begin with `table/`, the rows in the order of the document. `route.rs` says what a row is and finds that of a call, `rule.rs` and
//! `shape.rs` what a value has to be, `read.rs` takes the bytes apart, `call.rs` is what comes of it: a [`Call`] that asks for something
//! ([`Ask`]) in somebody's name. `show.rs` and `told.rs` have the answers, `reply.rs` the refusals, `events.rs` the stream, and `openapi.rs`
//! makes the document of all of it.
//!
//! What holds:
//! - what is refused and what the document says come from one rule, and cannot differ;
//! - every length, count and depth is bounded, and the bound stands in the document;
//! - who asks is never read from a call: [`Call::ask`] is told;
//! - a caller's mistake is never answered as a fault of the machine, and what is wrong with the machine is told by its code alone.
//!
//! A server uses it in this order: [`find`] the row; judge the rights ([`Route::allows`]); read no more of the body than
//! [`Body::most`]; [`Found::call`]; [`Call::ask`]; carry it out; [`Call::shown`]. A problem on the way becomes a [`Reply`].
//!
//! Absent on purpose: no server, no async, no I/O, no clock, no sessions. Nothing here approves anything, stops the daemon, makes a way in, reads a
//! sealed text, or takes the name of a folder of the machine: whoever wants something looked at sends it.

mod call;
mod error;
mod events;
mod given;
mod openapi;
mod read;
mod reply;
mod rights;
mod route;
mod rule;
mod shape;
mod show;
mod table;
mod told;

pub use call::{Ask, Calibrate, Call, Detect, EntriesAsk, EventsAsk, Look, Mine, Order, Parts, imported};
pub use error::ApiError;
pub use events::{LAST_EVENT_ID, RETRY_MS, entry, greeting, heartbeat, missed};
pub use openapi::openapi;
pub use reply::{Reply, status_of};
pub use rights::{Passkey, Role, Scope};
pub use route::{Body, Found, ReplyForm, Route, Verb, find};
pub use rule::{Field, Need, Rule};
pub use shape::Shape;
pub use table::{OWN_ROOMS, routes};
pub use told::*;

#[cfg(test)]
mod tests;
