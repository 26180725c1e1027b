//! Finds secrets and personal data in text, and takes them out.
//!
//! Bytes in, findings out: no file, no clock, no network. [`Guard::find`] is the one engine; the redactor and the scanner
//! of files are what is done with its findings.

mod armour;
mod assign;
mod bigrams;
mod columns;
mod conversation;
mod custom;
mod decode;
mod disguise;
mod engine;
mod example;
mod finding;
mod hit;
mod judge;
mod keyname;
mod kind;
mod known;
mod line;
mod link;
mod pass;
mod pii;
mod placeholder;
mod redact;
mod rule;
mod scene;
mod shape;
mod stream;
mod tables;
mod value;
mod words;

pub use conversation::Conversation;
pub use custom::CustomPattern;
pub use engine::{Guard, Settings, Step};
pub use finding::{Confidence, Finding, Method};
pub use kind::{Action, Family, Kind};
pub use redact::{Redacted, Redaction, fingerprint, masked};
pub use rule::RuleError;
pub use scene::{FileKind, Looking, Scene};
pub use stream::{Stream, StreamEnd};
