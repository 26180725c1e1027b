//! Looks at a host from outside: is a port open, does a page answer, how long does a certificate last, what does a monitor say.
//!
//! Begin with [`Check`] (what to look at, as it stands in a file), [`run()`] and [`all`] (look now) and [`Found`] (what was seen). [`http()`]
//! is one call to somebody's interface: a provider's, a webhook. In reading order: `check.rs` with
//! `text.rs` (checks on one line), `found.rs`, `run.rs`; then what a look is made of:
//! `until.rs` (the time it may take), `address.rs`, `look_up.rs`, `line.rs` (a connection under a deadline), `tls.rs`, `http.rs` with
//! `http/answer.rs`; then the looks: `ssh.rs`, `icmp.rs`, `gatus.rs`, `tailscale.rs` with `program.rs`.
//!
//! What holds:
//! - a look ends in the time it was given, whatever the other side or a name server does;
//! - what is read of the other side is bounded, and what is shown of it is short and cannot drive a terminal;
//! - [`Found::Failed`] is said only of what was seen of the host itself. A monitor that does not answer, a name that cannot be looked up, no
//!   network here: those are [`Found::Unknown`], and never a pass;
//! - nobody is logged in to, no redirect is followed, and no message has a header's value or a URL's query in it.
//!
//! Threads: [`all`] starts a few and waits for them; a name is looked up in a thread of its own, which stays behind when the name
//! server is slow. Absent on purpose: an async runtime, a clock (the time is handed in), a shell, anything kept between two looks: it is
//! for the tripwire, which has to be small and live without the rest of the house.

mod address;
mod check;
mod found;
mod gatus;
mod http;
mod icmp;
mod line;
mod look_up;
mod program;
mod run;
mod ssh;
mod tailscale;
mod text;
mod tls;
mod until;

pub use address::{Address, Host, Malformed, Url};
pub use check::{Check, Endpoints};
pub use found::Found;
pub use http::{Answer, HttpError, Method, Plain, Request, http};
pub use run::{Terms, all, run};
pub use text::FORMS;
