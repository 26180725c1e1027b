//! Tells people: a durable outbox over the journal, with a log and a signed webhook as its sinks.
//!
//! A notice goes [`Notice`] → [`raise`], which appends it to the journal → the view (`view.rs`, fed by the store
//! through [`NoticeProjection`], read by `outbox.rs`) → one courier per sink (`courier.rs`) → the sink → an entry saying
//! that it was told. Begin with `notice.rs`, then `plan.rs` (what is told next) and `retry.rs` (what follows a failure),
//! which are pure; `deliver.rs` runs the couriers with `crew.rs`. A further kind of sink implements [`Sink`] and nothing else.
//!
//! What holds:
//! - what is raised is told to every open sink, in order, however long a receiver is down, whatever it answers
//!   meanwhile and however often this process is killed; only a message that a receiver calls faulty again and again
//!   is given up, and then the other sinks are told that;
//! - each notice is told by one message under one id; that message may come twice, and then it is the same;
//! - one sink that is slow, down, broken or refuses everything does not hold up another, and reading the same settings
//!   again changes nothing at any;
//! - repeats that matter as much are told as one message that counts them; the rate delays and drops nothing; a
//!   critical notice is neither held nor delayed;
//! - no entry of another log, and no notice of a newer version, keeps the rest from being told;
//! - no address, key or answer of a receiver is in a log, a trace, an error or a debug form;
//! - a webhook reaches this machine or its neighbours only where that host was explicitly allowed, nothing leaves the
//!   neighbourhood without encryption, and no metadata service is ever called.
//!
//! Absent on purpose: no queue in memory, no polling, no proxy, no redirects. Tasks: one per sink, owned by
//! [`Deliverer::run`] and ended with it.

mod courier;
mod crew;
mod deliver;
mod destination;
mod error;
mod kinds;
mod log;
mod message;
mod notice;
mod outbox;
mod outlook;
mod plan;
mod projection;
mod retry;
mod sign;
mod sink;
mod text;
mod view;
mod webhook;

pub use deliver::{Deliverer, test};
pub use destination::AllowHosts;
pub use error::{Error, Result};
pub use kinds::KINDS;
pub use log::LogFile;
pub use message::{Folded, Message};
pub use notice::{Notice, Severity, raise};
pub use outbox::Outbox;
pub use outlook::{Handle, Outlook};
pub use projection::NoticeProjection;
pub use retry::Pace;
pub use sink::{Channel, Identity, Outcome, Sink, SinkName, Trouble};
pub use webhook::Webhook;
