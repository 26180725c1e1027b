//! Reading the configuration again.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use holdfast_config::{Change, Config, Layers, Loaded, changes};
use holdfast_control::{Reloaded, ReloadedKey};
use holdfast_notice::{Notice, Severity};
use holdfast_types::Digest;
use serde_json::{Value, json};
use tracing::warn;

use super::Office;
use crate::kinds::{CONFIG_CHANGED, own_actor, own_draft};
use crate::problem::Result;
use crate::settings;

impl Office {
    /// Reads config.yaml again. A wrong one changes nothing: the settings in force stay in force.
    pub(crate) fn reload(&self) -> Result<Reloaded> {
        // One after the other: of two that read the file, the later one must have the last word.
        let _one = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let new = settings::load(&self.house.places, &self.overlay)?;
        let old = self.config();
        let changes = changes(&old.config, &new.config);
        let (live, needs_restart): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(|c| c.live);
        let in_force = in_force(&old, &live)?;
        // Before anything is in force: a webhook whose secret is missing is a wrong configuration too.
        let channels = settings::channels(&in_force.config, &self.house.places, &self.clock)?;
        let rules = settings::rules(&in_force.config.guard)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(in_force);
        self.screen.take(rules.clone());
        crate::sieve::take(rules);
        // Also when no key has changed: the secret behind one may have.
        self.channels.send_replace(channels);
        if let Some(staff) = self.staff() {
            staff.apply.apply(&self.config().config);
        }
        self.look_again.notify_one();
        // The settings hold; that they could not be written down does not make it otherwise.
        if let Err(failure) = self.write_down(&live, &needs_restart) {
            let crate::problem::Failure::Problem(problem) = failure else {
                return Ok(Reloaded { live: keys(live), needs_restart: keys(needs_restart) });
            };
            warn!(code = %problem.code, why = problem.what, "the change of settings could not be written down");
        }
        Ok(Reloaded { live: keys(live), needs_restart: keys(needs_restart) })
    }

    fn write_down(&self, live: &[Change], needs_restart: &[Change]) -> Result<()> {
        if live.is_empty() && needs_restart.is_empty() {
            return Ok(());
        }
        let list = |changes: &[Change]| -> Vec<_> { changes.iter().map(written_down).collect() };
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

/// A change as it is recorded. Where both values are told alike, a digest says that and to what it changed.
fn written_down(change: &Change) -> Value {
    let Change { path, before, after, exact, live: _ } = change;
    let digest = || Digest::blake3(*blake3::hash(exact.as_flag().as_bytes()).as_bytes()).to_string();
    match before == after {
        true => json!({"key": path, "before": before, "after": after, "digest": digest()}),
        false => json!({"key": path, "before": before, "after": after}),
    }
}

/// What holds from now on: the settings as they were, with those changed that can change while it runs. What needs a
/// restart stays as it was started, and is told again by the next reload.
fn in_force(old: &Loaded, live: &[Change]) -> Result<Loaded> {
    let text = old.effective_text();
    let sets: Vec<String> = live.iter().map(|change| change.exact.as_flag().to_owned()).collect();
    let file = Some((Path::new("the settings in force"), text.as_bytes()));
    Ok(Config::read(Layers { file, environment: &[], sets: &sets })?)
}

fn keys(changes: Vec<Change>) -> Vec<ReloadedKey> {
    let key = |c: Change| ReloadedKey { key: c.path, before: c.before, after: c.after };
    changes.into_iter().map(key).collect()
}
