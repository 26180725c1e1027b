//! The part that does what is due now and then: copies of the databases, the full check of the journal.

use std::sync::Arc;
use std::time::Duration;

use holdfast_journal::{VerifyOptions, verify};
use holdfast_notice::{Notice, Severity};
use holdfast_store::{Filter, Order, find};
use holdfast_supervisor::{Failed, Life};
use holdfast_types::Timestamp;
use serde_json::json;
use tracing::{info, warn};

use super::index::failed;
use super::parts::Shared;
use crate::disk::Level;
use crate::kinds::{VERIFIED, own_actor, own_draft};
use crate::office::{Office, due};
use crate::problem::Result;

/// How often the part looks whether something is due.
const LOOK: Duration = Duration::from_secs(60);
const BEAT: Duration = Duration::from_secs(20);

pub(crate) async fn run(shared: Shared, life: Life) -> Result<(), Failed> {
    loop {
        tokio::select! {
            // Both only wait.
            () = life.beat.while_waiting(BEAT, tokio::time::sleep(LOOK)) => {}
            () = life.stop.cancelled() => return Ok(()),
        }
        let work = {
            let shared = shared.clone();
            tokio::task::spawn_blocking(move || what_is_due(&shared))
        };
        tokio::select! {
            // The full check reads only and may be left behind; a copy that is not whole has another name.
            done = life.beat.while_waiting(BEAT, work) => {
                done.map_err(|_| Failed("it panicked".into()))?.map_err(failed)?;
            }
            () = life.stop.cancelled() => return Ok(()),
        }
    }
}

fn what_is_due(shared: &Shared) -> Result<()> {
    let office = &shared.office;
    let (loaded, now) = (office.config(), office.clock.now());
    let backup = &loaded.config.backup;
    let hours = |n: u32| Duration::from_secs(u64::from(n) * 3600);
    let roomy = office.usage()?.level(office.budget()) == Level::Roomy;
    if backup.enabled && roomy && due(office.last_backup("metrics.db"), hours(backup.every_hours), now) {
        let done = office.back_up(&mut |_| std::ops::ControlFlow::Continue(()))?;
        info!(copies = done.copies.len(), removed = done.removed.len(), "databases copied");
    }
    let every = loaded.config.verify.every_hours;
    if every > 0 && due(last_verified(office)?, hours(every), now) {
        full_check(shared)?;
    }
    Ok(())
}

fn last_verified(office: &Office) -> Result<Option<Timestamp>> {
    let filter = Filter { kind: VERIFIED.name.parse().ok(), ..Filter::default() };
    let found = office.index()?.read(|conn| find(conn, &filter, Order::NewestFirst, 1))?;
    let Some(seq) = found.first() else { return Ok(None) };
    Ok(Some(office.journal.entry(*seq)?.parse()?.at))
}

fn full_check(shared: &Shared) -> Result<()> {
    let office: &Arc<Office> = &shared.office;
    let trust = office.house.trust()?;
    let vault = office.house.vault()?;
    let (_, archive) = crate::settings::journal(&office.config().config.journal)?;
    let options = VerifyOptions {
        trust: Some(&trust),
        vault: vault.as_ref(),
        archive,
        every_signature: false,
        progress: &mut |_| {},
    };
    let found = verify(&office.house.places.journal(), options)?;
    let findings = found.findings.len() as u64 + found.findings_left_out;
    let first = found.findings.first().map(|finding| format!("{finding:?}"));
    shared.metrics.note_verified(findings, office.clock.now());
    let body = json!({"size": found.size, "findings": findings, "first_finding": first});
    office.journal.append(&own_draft(&VERIFIED, body)?)?;
    if findings == 0 {
        info!(entries = found.size, "the whole journal was checked");
        return Ok(());
    }
    warn!(findings, "the journal is damaged");
    let text = "The journal is damaged. Nothing was changed; run `holdfast audit verify` for the whole list.";
    let notice = Notice::new(Severity::Critical, own_actor(), text).with("findings", findings);
    holdfast_notice::raise(&office.journal, &notice.folding("journal-damaged"))?;
    Ok(())
}
