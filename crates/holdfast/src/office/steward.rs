//! What the office says of the steward. Only a daemon has one at work; without it, whoever asks reads the journal.

use holdfast_control::{Answer, StewardOrder};
use holdfast_types::Actor;

use super::Office;
use crate::problem::{CliError, Result};

impl Office {
    pub(super) fn steward_state(&self) -> Result<Answer> {
        self.has_a_steward()?;
        Ok(Answer::Steward(Box::new(self.bench.state(self))))
    }

    pub(super) fn steward_order(
        &self,
        target: Option<&str>,
        order: &StewardOrder,
        actor: &Actor,
        dry_run: bool,
    ) -> Result<Answer> {
        self.has_a_steward()?;
        Ok(Answer::StewardDone(self.bench.order(self, target, order, actor, dry_run)?))
    }

    fn has_a_steward(&self) -> Result<()> {
        self.staff().map(drop).ok_or_else(|| CliError::NoDaemon.into())
    }
}
