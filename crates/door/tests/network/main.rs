//! The door over real sockets: real clients in front of it, a real service behind it.
//!
//! `house.rs` opens a door for a test, `origin.rs` is the service behind it, `raw.rs` a client that sends any bytes at all.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod acme;
mod attacks;
mod certificates;
mod crowded;
mod floods;
mod front;
mod house;
mod impostors;
mod limits;
mod lookups;
mod origin;
mod proxy;
mod raw;
mod restart;
mod streams;
mod tunnels;
