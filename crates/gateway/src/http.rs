//! The requests by which people sign in, and the guard before all others.
//!
//! `gate.rs` is what they share; `stand.rs` the guard of pages, API and streams; `routes.rs` the table of `/auth/` with
//! what each takes; `call.rs` reads and checks such a call; `entry.rs`, `confirm.rs` and `account.rs` answer it.

mod account;
mod call;
mod confirm;
mod entry;
mod gate;
mod routes;
mod stand;

pub use call::AUTH_BODY_MAX;
pub use gate::{GATE_THREADS, Gate, GateState};
pub use routes::{AuthRoute, Need, ROUTES, router};
pub use stand::{Brought, guard};
