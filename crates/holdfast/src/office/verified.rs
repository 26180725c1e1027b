//! What the last check of the whole journal found.

use holdfast_api::LogVerified;
use holdfast_journal::{Finding, Stored, Verification};
use holdfast_notice::{Notice, Severity};
use holdfast_store::{Filter, Order, find};
use holdfast_types::Timestamp;
use serde_json::{Value, json};
use tracing::{info, warn};

use super::Office;
use crate::audit::Checked;
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
    pub(crate) fn verify_whole_journal(&self, every_signature: bool) -> Result<LogVerified> {
        let _one = self.one_at_a_time.try_lock().map_err(|_| CliError::AlreadyAtIt)?;
        let checked = self.look_at_every_byte(every_signature)?;
        self.verdict_written(&checked.found)?;
        Ok(checked.told())
    }

    /// The same for the daemon's own round: nothing is written once it stops. How much was found.
    pub(crate) fn checked_whole(&self, stopped: &dyn Fn() -> bool) -> Result<Option<u64>> {
        let checked = self.look_at_every_byte(false)?;
        if stopped() {
            // The daemon has written its last word; the next start checks again.
            return Ok(None);
        }
        self.verdict_written(&checked.found).map(Some)
    }

    fn look_at_every_byte(&self, every_signature: bool) -> Result<Checked> {
        // Without a trust set no signature can be checked, and what is written down would say less than it seems to.
        self.house.trust()?;
        let (_, archive) = crate::settings::journal(&self.config().config.journal)?;
        crate::audit::checked(&self.house, archive, every_signature, &mut |_| {})
    }

    /// Writes down what was found, and tells people when it is damage. How much was found.
    fn verdict_written(&self, found: &Verification) -> Result<u64> {
        let findings = found.findings.len() as u64 + found.findings_left_out;
        let first = found.findings.first().map(sentence);
        let body = json!({"size": found.size, "findings": findings, "first_finding": first});
        self.journal.append(&own_draft(&VERIFIED, body)?)?;
        if findings == 0 {
            info!(entries = found.size, "the whole journal was checked");
            return Ok(findings);
        }
        warn!(findings, "the journal is damaged");
        let text =
            "The journal is damaged. Nothing was changed; run `holdfast audit verify` for the whole list.";
        let notice = Notice::new(Severity::Critical, own_actor(), text).with("findings", findings);
        holdfast_notice::raise(&self.journal, &notice.folding("journal-damaged"))?;
        Ok(findings)
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

/// Where, and what is wrong there.
fn sentence(finding: &Finding) -> String {
    let (Finding::Torn(damage) | Finding::Damaged(damage)) = finding;
    format!("{} at byte {}: {}", damage.file, damage.offset, damage.what)
}
