//! The whole gateway against a real daemon: people who live with it, and people who should not get in.
//!
//! `house.rs` has the daemon, `browser.rs` a browser and the API's callers, `phone.rs` one over TLS, `markup.rs` reads pages. `living.rs` is what people do,
//! `rights.rs` who may do what on every route there is, `attacks.rs`, `guessing.rs`, `texts.rs`, `services.rs`, `lookups.rs` and `stolen.rs` what is tried against it, `ways_in.rs` what is told of new ways in and who waits for whom, `reserve.rs` how people share what a full log leaves them,
//! `secure.rs` the same over TLS, `front.rs` behind a real proxy (`nginx.rs`), `restarting.rs` a daemon that comes and goes under load, `formats.rs` the API as its document says it, `commands.rs` that it says what the commands say,
//! `machine.rs` what is done at the machine itself, `stopping.rs` a pause that somebody is in the way of.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

#[path = "daemon/fill.rs"]
mod fill;
mod home;
#[path = "daemon/running.rs"]
mod running;
#[path = "matrix/scene.rs"]
mod scene;
#[path = "matrix/table.rs"]
mod table;
#[path = "matrix/transcript.rs"]
mod transcript;

#[path = "gateway/addresses.rs"]
mod addresses;
#[path = "gateway/attacks.rs"]
mod attacks;
#[path = "gateway/browser.rs"]
mod browser;
#[path = "gateway/busy.rs"]
mod busy;
#[path = "gateway/commands.rs"]
mod commands;
#[path = "gateway/crowded.rs"]
mod crowded;
#[path = "gateway/flood.rs"]
mod flood;
#[path = "gateway/formats.rs"]
mod formats;
#[path = "gateway/front.rs"]
mod front;
#[path = "gateway/guessing.rs"]
mod guessing;
#[path = "gateway/halted.rs"]
mod halted;
#[path = "gateway/house.rs"]
mod house;
#[path = "gateway/impostors.rs"]
mod impostors;
#[path = "gateway/layers.rs"]
mod layers;
#[path = "gateway/living.rs"]
mod living;
#[path = "gateway/lookups.rs"]
mod lookups;
#[path = "gateway/machine.rs"]
mod machine;
#[path = "gateway/markup.rs"]
mod markup;
#[path = "gateway/nginx.rs"]
mod nginx;
#[path = "gateway/phone.rs"]
mod phone;
#[path = "gateway/reserve.rs"]
mod reserve;
#[path = "gateway/restarting.rs"]
mod restarting;
#[path = "gateway/rights.rs"]
mod rights;
#[path = "gateway/secure.rs"]
mod secure;
#[path = "gateway/services.rs"]
mod services;
#[path = "gateway/starved.rs"]
mod starved;
#[path = "gateway/states.rs"]
mod states;
#[path = "gateway/stolen.rs"]
mod stolen;
#[path = "gateway/stopping.rs"]
mod stopping;
#[path = "gateway/texts.rs"]
mod texts;

/// Whether everything is to be tried, however long it takes.
fn soak() -> bool {
    std::env::var_os("HOLDFAST_SOAK").is_some()
}
#[path = "gateway/ways_in.rs"]
mod ways_in;
