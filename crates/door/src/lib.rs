//! The side that faces the network: who may connect, what counts as a request, and where it goes.
//!
//! The wiring binds a listener, opens a [`Door`] over the gateway's own app (any tower service, an axum router fits) and an
//! [`Admit`] that says who may pass to a service, and lets it serve until a token is cancelled. A request comes in through
//! `door.rs` (listening, draining), `crowd.rs` and `activity.rs` (how many, and who makes room), `wire.rs` over `framing.rs` (what HTTP/1 may look like, and how
//! long it may take) and `frames.rs` (what is too much over HTTP/2), `entrance.rs` over `target.rs` (which host, which path), and goes to the own app or, by `relay.rs`, to a
//! service. `client.rs` and `owner.rs` find out whose program is at the other end (`sockets.rs`), `hygiene.rs` decides about every header both ways, `lane.rs` keeps connections to services, `tunnel.rs` is what an
//! upgrade becomes, `identity.rs` the signed word about a person. Certificates come from [`Keeper`] (`certificates/`).
//!
//! What holds:
//! - plain HTTP is spoken on loopback only, and to a proxy in front that was declared (`front.rs`);
//! - a request that two programs could read in two ways is refused before anything of it is forwarded;
//! - no cookie and no token of ours reaches a service, and no service sets a cookie of ours or one for another host;
//! - what a service is told about a person was said here: forged headers of that kind do not pass;
//! - a request that may have been performed is never sent a second time, unless repeating it is harmless by its method and
//!   nothing was heard back;
//! - streams and sockets to services end with the session they belong to;
//! - every length, count and wait is bounded, and bodies are never held whole;
//! - a certificate that cannot be renewed or read leaves the old one in use, and the status says so.
//!
//! The gateway's security headers are not put on a service's answers: the service has an origin of its own and knows what it
//! frames and loads. Nothing of ours is weakened by that, since `frame-ancestors` and the rest are sent by the own app for its
//! own origin, and a service cannot answer for it.
//!
//! Absent on purpose: who people are, sessions, pages, the API. WebSockets over HTTP/2 (RFC 8441) are not offered: browsers
//! then open an HTTP/1.1 connection by themselves. Nobody but a declared proxy is believed an `X-Forwarded-For`.

mod activity;
mod answer;
mod body;
mod certificates;
mod client;
mod connection;
mod crowd;
mod door;
mod entrance;
mod error;
mod frames;
mod framing;
mod frequent;
mod front;
mod host;
mod hygiene;
mod identity;
mod lane;
mod listening;
mod owner;
mod redirect;
mod relay;
mod service;
mod settings;
pub mod sockets;
mod tally;
mod target;
mod tunnel;
mod turned;
mod wire;

pub use body::{Inbound, InboundError, Outgoing};
pub use certificates::{Acme, AuthorityCertificate, Certificates, Challenge, Keeper, Standing, Status};
pub use client::{Client, ClientFinder, ClientHost};
pub use door::{Door, Drained, Listeners};
pub use error::{Error, Result};
pub use frequent::{Counted, Frequent, household, household_text};
pub use front::{Front, Network};
pub use host::HostName;
pub use identity::{IDENTITY_LIFE, Identity, IdentityError, IdentityKey};
pub use listening::Listening;
pub use owner::OWNER_THREADS;
pub use relay::Impostor;
pub use service::{Admit, Admitting, Pass, RunBy, Service, To, Verdict};
pub use settings::{
    CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, Limits, STREAMS_MAX, Settings, TARGET_BYTES_MAX,
};
pub use tally::Counts;
pub use turned::TurnedAway;
