//! What the last check of the whole journal found.

use holdfast_journal::{Stored, VerifyOptions, verify};
use holdfast_notice::{Notice, Severity};
use holdfast_store::{Filter, Order, find};
use holdfast_types::Timestamp;
use serde_json::{Value, json};
use tracing::{info, warn};

use super::Office;
use crate::kinds::{VERIFIED, own_actor, own_draft};
use crate::problem::{CliError, Result};

/// A check of the whole journal, as it was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastCheck {
    pub(crate) at: Timestamp,
    pub(crate) findings: u64,
    /// The first of them.
    pub(crate) first: Option<String>,
}

impl Office {
    /// Checks every byte of the journal now, and writes down what was found. One at a time.
    pub(crate) fn verify_whole_journal(&self) -> Result<()> {
        let _one = self.one_at_a_time.try_lock().map_err(|_| CliError::AlreadyAtIt)?;
        self.checked_whole(&|| false).map(drop)
    }

    /// The same for the daemon's own round: nothing is written once it stops. How much was found.
    pub(crate) fn checked_whole(&self, stopped: &dyn Fn() -> bool) -> Result<Option<u64>> {
        let (trust, vault) = (self.house.trust()?, self.house.vault()?);
        let (_, archive) = crate::settings::journal(&self.config().config.journal)?;
        let options = VerifyOptions {
            trust: Some(&trust),
            vault: vault.as_ref(),
            archive,
            every_signature: false,
            progress: &mut |_| {},
        };
        let found = verify(&self.house.places.journal(), options)?;
        if stopped() {
            // The daemon has written its last word; the next start checks again.
            return Ok(None);
        }
        let findings = found.findings.len() as u64 + found.findings_left_out;
        let first = found.findings.first().map(|finding| format!("{finding:?}"));
        let body = json!({"size": found.size, "findings": findings, "first_finding": first});
        self.journal.append(&own_draft(&VERIFIED, body)?)?;
        if findings == 0 {
            info!(entries = found.size, "the whole journal was checked");
            return Ok(Some(findings));
        }
        warn!(findings, "the journal is damaged");
        let text =
            "The journal is damaged. Nothing was changed; run `holdfast audit verify` for the whole list.";
        let notice = Notice::new(Severity::Critical, own_actor(), text).with("findings", findings);
        holdfast_notice::raise(&self.journal, &notice.folding("journal-damaged"))?;
        Ok(Some(findings))
    }

    pub(crate) fn last_verified(&self) -> Result<Option<LastCheck>> {
        let filter = Filter { kind: VERIFIED.name.parse().ok(), ..Filter::default() };
        let found = self.index()?.read(|conn| find(conn, &filter, Order::NewestFirst, 1))?;
        let Some(seq) = found.first() else { return Ok(None) };
        let entry = self.journal.entry(*seq)?.parse()?;
        let said = |name: &str| match &entry.content {
            Stored::Body(body) => body.get(name).cloned(),
            Stored::Blob(_) => None,
        };
        Ok(Some(LastCheck {
            at: entry.at,
            findings: said("findings").and_then(|it| it.as_u64()).unwrap_or_default(),
            first: said("first_finding").as_ref().and_then(Value::as_str).map(str::to_owned),
        }))
    }
}
