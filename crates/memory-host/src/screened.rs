//! The journal's screen as the redactor of captures: what may not be stored there is not remembered either.

use std::borrow::Cow;
use std::sync::Arc;

use holdfast_journal::{Screen, Verdict};
use holdfast_memory::{Redaction, Redactor};

/// Redacts by a screen.
#[derive(Clone, Debug)]
pub struct Screened(pub Arc<dyn Screen>);

impl Redactor for Screened {
    fn redact(&self, text: &str) -> Redaction {
        match self.0.screen(text) {
            Verdict::Clean => Redaction::Unchanged,
            Verdict::Redacted(text) => Redaction::Rewritten(text),
            Verdict::Blocked { reason: Cow::Borrowed(reason) } => Redaction::Blocked { reason },
            Verdict::Blocked { reason: Cow::Owned(_) } => Redaction::Blocked { reason: "it may not be kept" },
        }
    }
}
