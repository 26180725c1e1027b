//! Reads config.yaml, the control plane's own settings: typed, located, every unknown key refused, every value knowing
//! where it came from.
//!
//! Begin with `sections.rs`: each key is defined there once, by its type, default, range and manual entry. From
//! that `section.rs` makes the structs, the reading, and the [`outline`](fn@outline) of all keys, and from the outline
//! come the [`schema`], the [`reference`](fn@reference) page and the [`example`]. [`load`](fn@load) is the whole way from a path;
//! [`Config::read`] is the same without a disk.
//!
//! For any YAML file, not only this one: [`Source`] (a text and what of it may be repeated), [`tree`] (YAML with
//! places), [`Diagnostic`] (what is wrong, where, and what to write).
//!
//! What holds:
//! - a file either gives a whole configuration or everything that is wrong with it, in the order it is written;
//! - a key that is not set has its default, whatever else its section sets;
//! - secrets are only named, and no message, row or debug form repeats what was written where a name belongs;
//! - a file that others than root and we could have changed is not read;
//! - any bytes end in an answer, in bounded time and space.
//!
//! Absent on purpose: no network, no environment of its own, no writing, no knowledge of what the settings do.

mod combinations;
mod diagnostic;
mod error;
mod forms;
mod layers;
mod load;
mod loaded;
mod member;
mod nearest;
mod outlet;
mod outline;
mod pages;
mod pattern;
mod quote;
mod reach;
mod read;
mod reader;
mod scalar;
mod section;
mod sections;
mod service;
mod source;
mod syntax;
mod target;
pub mod tree;
mod unknown;
mod value;
mod walk;

pub use diagnostic::{Code, Diagnostic, Diagnostics, Related, RelatedPlace, SHOWN_MAX, Sink};
pub use error::Error;
pub use forms::{
    AbsolutePath, Argument, BranchName, ChatChannel, HostName, MailAddress, ProxyAddress, QuietHours,
    RemoteUrl, SecretRef, ServerUrl, VariablePrefix,
};
pub use layers::{Layer, Layers, variable_of};
pub use load::load;
pub use loaded::{Change, Exact, Loaded, Row, changes};
pub use outlet::{Outlet, OutletProtocol, OutletUser};
pub use outline::{Descriptor, Outline, SectionDescriptor, outline};
pub use pages::{example, reference, schema};
pub use pattern::{Pattern, Tenths};
pub use read::VERSION;
pub use scalar::{Meaning, Scalar};
pub use section::Takes;
pub use sections::{
    Approvals, Backup, CertificateFrom, Channel, Config, Control, Credentials, Discord, Disk, Egress, Forge,
    Format, Gateway, GatewayTls, Guard, Health, History, Journal, Level, Log, Mail, MailSecurity, Memory,
    Notifications, Ntfy, PersonalData, SecretSource, Severity, Shutdown, Slack, Steward, VerdictDoor, Verify,
    Webhook,
};
pub use service::{GatewayService, ServiceAt, ServiceRole};
pub use source::{BYTES_MAX, Place, Reveal, Snippet, Source, SourceKind, Vocabulary};
pub use target::{Autonomy, Detector, Driver, Reach, StewardLimits, StewardTarget, Trouble, WithoutEffect};
