//! A sink: somewhere people look. The seam further kinds are added at.

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::message::Message;
use crate::notice::Severity;
use crate::quiet::QuietHours;
use crate::retry::Pace;

/// Tells one message. An implementation keeps its own time limit, and neither retries nor logs.
pub trait Sink: Send + Sync + fmt::Debug {
    /// May be dropped before it is done; the message then comes again, under the same id.
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

    /// The same for two sinks that were made from the same settings, so that reading the configuration again
    /// leaves alone what has not changed. Without one a sink is the same only as itself.
    fn identity(&self) -> Option<Identity> {
        None
    }
}

/// What a sink was made from, as a digest: settings may hold secrets. It is compared and never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Identity([u8; 32]);

impl Identity {
    /// Of all the settings; the kind of sink should be the first of them.
    pub fn of<T: AsRef<[u8]>>(settings: impl IntoIterator<Item = T>) -> Identity {
        let mut digest = Sha256::new();
        for setting in settings {
            let setting = setting.as_ref();
            digest.update((setting.len() as u64).to_le_bytes());
            digest.update(setting);
        }
        Identity(digest.finalize().into())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(…)")
    }
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has it.
    Delivered,
    /// Nobody could take it just now: try again.
    Unavailable { why: Trouble, retry_after: Option<Duration> },
    /// The receiver does not want this message.
    Refused { why: Trouble },
}

/// The class of a failure: what may be shown and written down. Holds no address, no key, no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The receiver could not be reached, or hung up.
    Network,
    TimedOut,
    /// The address is one that may not be called.
    Destination,
    /// The receiver answered with this status.
    Status(u16),
    /// The receiver's answer is not one that this kind of receiver gives.
    Answer,
    /// The receiver does not encrypt, or did not prove to be who it should be.
    Encryption,
    /// The receiver does not let us in with this user and password, or asks for them in a way we do not speak.
    Login,
    /// The file could not be written.
    Disk,
    /// The journal or its view cannot be used, or the part that serves the sink broke, so nothing is sent just now.
    Outbox,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Network => f.write_str("network"),
            Trouble::TimedOut => f.write_str("timed-out"),
            Trouble::Destination => f.write_str("destination-not-allowed"),
            Trouble::Status(status) => write!(f, "status-{status}"),
            Trouble::Answer => f.write_str("answer-not-understood"),
            Trouble::Encryption => f.write_str("no-encryption"),
            Trouble::Login => f.write_str("login-refused"),
            Trouble::Disk => f.write_str("disk"),
            Trouble::Outbox => f.write_str("outbox"),
        }
    }
}

/// What a sink is called: in the configuration, the journal and the status.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SinkName(String);

impl SinkName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SinkName {
    type Err = Error;

    fn from_str(text: &str) -> Result<SinkName> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        if (1..=32).contains(&text.len()) && text.bytes().all(fits) {
            return Ok(SinkName(text.to_owned()));
        }
        Err(Error::Name { text: text.chars().take(40).collect() })
    }
}

impl fmt::Display for SinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A configured sink. A channel that is not enabled is simply not in the list.
#[derive(Clone, Debug)]
pub struct Channel {
    pub name: SinkName,
    /// What matters less than this is not told here.
    pub min_severity: Severity,
    pub pace: Pace,
    /// When only what is critical is told.
    pub quiet: Option<QuietHours>,
    pub sink: Arc<dyn Sink>,
}

impl Channel {
    /// A channel at the usual pace that tells warnings and worse, at all hours.
    pub fn new(name: SinkName, sink: Arc<dyn Sink>) -> Channel {
        Channel { name, min_severity: Severity::Warning, pace: Pace::default(), quiet: None, sink }
    }

    /// Whether it says and does the same as another.
    pub(crate) fn is_same(&self, other: &Channel) -> bool {
        let same_sink = || {
            Arc::ptr_eq(&self.sink, &other.sink)
                || self.sink.identity().is_some_and(|own| other.sink.identity() == Some(own))
        };
        self.name == other.name
            && self.min_severity == other.min_severity
            && self.pace == other.pace
            && self.quiet == other.quiet
            && same_sink()
    }
}
