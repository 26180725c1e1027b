//! Reading the configuration again.

use std::sync::{Arc, PoisonError};

use holdfast_config::{Change, changes};
use holdfast_control::{Reloaded, ReloadedKey};
use holdfast_notice::{Notice, Severity};
use serde_json::json;

use super::Office;
use crate::kinds::{CONFIG_CHANGED, own_actor, own_draft};
use crate::problem::Result;
use crate::settings;

impl Office {
    /// Reads config.yaml again. A wrong one changes nothing: the settings in force stay in force.
    pub(crate) fn reload(&self) -> Result<Reloaded> {
        let new = settings::load(&self.house.places, &self.overlay)?;
        let old = self.config();
        let changes = changes(&old.config, &new.config);
        let (live, needs_restart): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(|c| c.live);
        // Before anything is in force: a webhook whose secret is missing is a wrong configuration too.
        let channels = settings::channels(&new.config, &self.house.places, &self.clock)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        let touched = live.iter().any(|change| change.path.starts_with("notifications."));
        if touched || self.channels.borrow().len() != channels.len() {
            self.channels.send_replace(channels);
        }
        if let Some(staff) = self.staff() {
            staff.apply.apply(&self.config().config);
        }
        self.write_down(&live, &needs_restart)?;
        Ok(Reloaded { live: keys(live), needs_restart: keys(needs_restart) })
    }

    fn write_down(&self, live: &[Change], needs_restart: &[Change]) -> Result<()> {
        if live.is_empty() && needs_restart.is_empty() {
            return Ok(());
        }
        let list = |changes: &[Change]| -> Vec<_> {
            changes.iter().map(|c| json!({"key": c.path, "before": c.before, "after": c.after})).collect()
        };
        let body = json!({"live": list(live), "needs_restart": list(needs_restart)});
        self.journal.append(&own_draft(&CONFIG_CHANGED, body)?)?;
        self.tell(live, needs_restart)
    }

    /// Whoever runs this should hear of changed settings from the program, and not find them.
    fn tell(&self, live: &[Change], needs_restart: &[Change]) -> Result<()> {
        let keys: Vec<&str> = live.iter().chain(needs_restart).map(|change| change.path.as_str()).collect();
        let message = format!("The configuration was read again and has changed: {}.", keys.join(", "));
        let notice = Notice::new(Severity::Warning, own_actor(), message);
        holdfast_notice::raise(&self.journal, &notice.with("needs_restart", needs_restart.len()))?;
        Ok(())
    }
}

fn keys(changes: Vec<Change>) -> Vec<ReloadedKey> {
    let key = |c: Change| ReloadedKey { key: c.path, before: c.before, after: c.after };
    changes.into_iter().map(key).collect()
}
