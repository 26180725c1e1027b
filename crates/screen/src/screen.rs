//! The journal's screen.

use std::sync::{Arc, PoisonError, RwLock};

use holdfast_journal::{Screen, Verdict};

use crate::rules::{Cleaned, Rules};

/// Screens with the rules in force. They can be changed while the journal is open.
#[derive(Debug)]
pub struct GuardScreen {
    rules: RwLock<Arc<Rules>>,
}

impl GuardScreen {
    pub fn new(rules: Arc<Rules>) -> GuardScreen {
        GuardScreen { rules: RwLock::new(rules) }
    }

    pub fn builtin() -> GuardScreen {
        GuardScreen::new(Arc::new(Rules::builtin()))
    }

    /// From now on these rules hold.
    pub fn take(&self, rules: Arc<Rules>) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    pub fn rules(&self) -> Arc<Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Screen for GuardScreen {
    fn screen(&self, text: &str) -> Verdict {
        verdict(text, self.rules().stored(text))
    }

    fn screen_named(&self, name: &str, text: &str) -> Verdict {
        verdict(text, self.rules().stored_under(name, text))
    }

    fn screen_envelope(&self, name: &str) -> Verdict {
        verdict(name, self.rules().enveloped(name))
    }
}

fn verdict(text: &str, cleaned: Cleaned<'_>) -> Verdict {
    match cleaned {
        Cleaned::Blocked(reason) => Verdict::Blocked { reason: reason.into() },
        Cleaned::Kept(clean) if clean == text => Verdict::Clean,
        Cleaned::Kept(clean) => Verdict::Redacted(clean.into_owned()),
    }
}
