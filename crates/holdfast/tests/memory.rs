//! Memory as people have it: real commands, with a daemon and without one, with a model and without.
//!
//! `memory/place.rs` is a home in either state; every other file there is one subject.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared by the subjects, and a test stops where it cannot go on"
)]

mod home;

#[path = "memory/forgetting.rs"]
mod forgetting;
#[path = "memory/importing.rs"]
mod importing;
#[path = "memory/life.rs"]
mod life;
#[path = "memory/measured.rs"]
mod measured;
#[path = "memory/model.rs"]
mod model;
#[path = "memory/place.rs"]
mod place;
#[path = "memory/reading.rs"]
mod reading;
#[path = "daemon/running.rs"]
mod running;
#[path = "memory/using.rs"]
mod using;
