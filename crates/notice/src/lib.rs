//! Tells people: a durable outbox over the journal. Its sinks are a log, a signed webhook, Slack, Discord, ntfy and mail.
//!
//! A notice goes [`Notice`] → [`raise`], which appends it to the journal → the view (`view.rs`, fed by the store
//! through [`NoticeProjection`], read by `outbox.rs`) → one courier per sink (`courier.rs`) → the sink → an entry saying
//! that it was told. Begin with `notice.rs`, then `plan.rs` (what is told next), `quiet.rs` (when to be quiet), `digest.rs`
//! (what is told afterwards) and `retry.rs` (what follows a failure), which are pure; `deliver.rs` runs the couriers with
//! `crew.rs`. A further kind of sink implements [`Sink`] and nothing else: `telling.rs` has the words for people, `call.rs`
//! the one way to make an HTTP request. `mail.rs` speaks through `smtp.rs` and hands in what `letter.rs` writes.
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
//! - in a sink's quiet hours it is told only what is critical, also after a restart or a reload; what waited is told
//!   afterwards by one message that counts and lists it;
//! - nothing in a notice is markup, a call to people or a header at a receiver, and every message fits its limits;
//! - no entry of another log, and no notice of a newer version, keeps the rest from being told;
//! - no address, key or answer of a receiver is in a log, a trace, an error or a debug form;
//! - a sink reaches this machine or its neighbours only where that host was explicitly allowed or named, nothing leaves
//!   the neighbourhood without encryption, mail not even this machine, and no metadata service is ever called.
//!
//! Absent on purpose: no queue in memory, no polling, no proxy, no redirects, no words of a receiver. Tasks: one per sink, owned by
//! [`Deliverer::run`] and ended with it.

mod call;
mod courier;
mod crew;
mod deliver;
mod destination;
mod digest;
mod discord;
mod error;
mod kinds;
mod letter;
mod log;
mod mail;
mod message;
mod notice;
mod ntfy;
mod outbox;
mod outlook;
mod plan;
mod projection;
mod quiet;
mod retry;
mod sign;
mod sink;
mod slack;
mod smtp;
mod telling;
mod text;
mod view;
mod webhook;

pub use deliver::{Deliverer, test};
pub use destination::AllowHosts;
pub use digest::DigestLine;
pub use discord::Discord;
pub use error::{Error, Result};
pub use kinds::KINDS;
pub use letter::Mailbox;
pub use log::LogFile;
pub use mail::{Login, Mail, MailSettings, Security};
pub use message::{Folded, Message};
pub use notice::{Notice, Severity, raise};
pub use ntfy::Ntfy;
pub use outbox::Outbox;
pub use outlook::{Handle, Outlook};
pub use projection::NoticeProjection;
pub use quiet::QuietHours;
pub use retry::Pace;
pub use sink::{Channel, Identity, Outcome, Sink, SinkName, Trouble};
pub use slack::Slack;
pub use webhook::Webhook;
