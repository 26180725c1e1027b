//! Tells people: a durable outbox over the journal, with a log and a signed webhook as its sinks.
//!
//! A notice goes [`Notice`] → [`raise`], which appends it to the journal → the view (`view.rs`, fed by the store
//! through [`NoticeProjection`]) → one courier per sink (`courier.rs`) → the sink → an entry saying that it was
//! told. Begin with `notice.rs`, then `plan.rs` (what is told next) and `retry.rs` (what follows a failure), which
//! are pure; `deliver.rs` runs the couriers. A further kind of sink implements [`Sink`] and nothing else.
//!
//! What holds:
//! - what is raised is told to every open sink, in order, however long a receiver is down and however often this
//!   process is killed; a message may come twice, and then under the same id;
//! - one sink that is slow, down or refuses everything does not hold up another;
//! - repeats are told as one message that counts them; the rate delays and drops nothing; a critical notice is
//!   not delayed;
//! - no address, key or answer of a receiver is in a log, an error or a debug form;
//! - a webhook reaches this machine or its neighbours only where that host was explicitly allowed.
//!
//! Absent on purpose: no queue in memory, no polling, no proxy, no redirects. Tasks: one per sink, owned by
//! [`Deliverer::run`] and ended with it.

mod courier;
mod deliver;
mod destination;
mod error;
mod kinds;
mod log;
mod message;
mod notice;
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
pub use outlook::{Handle, Outlook};
pub use projection::NoticeProjection;
pub use retry::Pace;
pub use sink::{Channel, Outcome, Sink, SinkName, Trouble};
pub use view::Outbox;
pub use webhook::Webhook;
