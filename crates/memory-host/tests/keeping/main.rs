//! What is done with memories besides finding them: packing, citing, sharing, growing old, records, notes, experience, and what must never be
//! stored.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

#[path = "../home/mod.rs"]
mod home;

mod context;
mod kinds;
mod learning;
mod notes;
mod secrets;
mod sharing;
