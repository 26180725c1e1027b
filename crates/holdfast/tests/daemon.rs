//! The daemon as its users meet it: a real process, asked through the command line, its socket and its health
//! page; stopped, killed, crowded, broken.
//!
//! `daemon/running.rs` starts one and asks it; every other file there is one subject.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared by the subjects, and a test stops where it cannot go on"
)]

mod home;

#[path = "daemon/crowd.rs"]
mod crowd;
#[path = "daemon/doctor.rs"]
mod doctor;
#[path = "daemon/fill.rs"]
mod fill;
#[path = "daemon/health.rs"]
mod health;
#[path = "daemon/keeping.rs"]
mod keeping;
#[path = "daemon/kills.rs"]
mod kills;
#[path = "daemon/leaving.rs"]
mod leaving;
#[path = "daemon/lifecycle.rs"]
mod lifecycle;
#[path = "daemon/metrics.rs"]
mod metrics;
#[path = "daemon/pausing.rs"]
mod pausing;
#[path = "daemon/pulse.rs"]
mod pulse;
#[path = "daemon/receiver.rs"]
mod receiver;
#[path = "daemon/reloading.rs"]
mod reloading;
#[path = "daemon/running.rs"]
mod running;
#[path = "daemon/telling.rs"]
mod telling;
