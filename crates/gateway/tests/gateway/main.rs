//! The gateway from outside: accounts through their own calls, requests through the router, with an authenticator in
//! software on the other side. `authenticator.rs`, `house.rs` and `browser.rs` are what the others share.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod attacks;
mod browser;
mod confirming;
mod diary;
mod ending;
mod flooding;
mod house;
mod links;
mod locating;
mod many;
mod people;
mod recording;
mod recovery;
mod registering;
mod requests;
mod sessions;
mod stolen;
mod tokens;
