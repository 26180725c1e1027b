//! The part that calls somebody outside every few minutes. Nothing that is gone can say so itself: whoever is called notices when the calls stop.
//!
//! It calls while every safety part is alive, and keeps silent otherwise. The address is a secret and appears nowhere.

use std::time::Duration;

use holdfast_notice::{Notice, Severity};
use holdfast_probe::{Method, Request, http};
use holdfast_supervisor::{Failed, Life};
use tracing::{info, warn};

use super::parts::Shared;
use crate::kinds::own_actor;
use crate::office::Office;
use crate::settings;

/// How soon a changed configuration is heeded where nobody is called.
const LOOK: Duration = Duration::from_secs(60);
const BEAT: Duration = Duration::from_secs(20);
const WITHIN: Duration = Duration::from_secs(10);
/// Calls in a row that fail before people are told: networks have moments.
const TOLD_AFTER: u32 = 3;

pub(crate) async fn run(shared: Shared, life: Life) -> Result<(), Failed> {
    shared.opened().await;
    let mut failed = 0;
    loop {
        let office = shared.office.clone();
        let call = tokio::task::spawn_blocking(move || call(&office));
        let called =
            life.beat.while_waiting(BEAT, call).await.map_err(|_| Failed("a call panicked".into()))?;
        let every = called.every;
        failed = heeded(&shared.office, called, failed);
        tokio::select! {
            () = life.beat.while_waiting(BEAT, tokio::time::sleep(every)) => {}
            () = life.stop.cancelled() => return Ok(()),
        }
    }
}

struct Called {
    /// Nothing where nobody is to be called, or the house is not well enough to say so.
    done: Option<Result<(), String>>,
    every: Duration,
}

fn call(office: &Office) -> Called {
    let loaded = office.config();
    let notifications = &loaded.config.notifications;
    let alive = &notifications.alive;
    let every = Duration::from_secs(u64::from(alive.every_minutes) * 60);
    let url = alive.url.as_ref().filter(|_| notifications.enabled);
    let Some(url) = url else { return Called { done: None, every: LOOK } };
    if !office.staff().is_some_and(|staff| staff.board.is_safe()) {
        return Called { done: None, every: LOOK };
    }
    let done = settings::address(url, &loaded.config.credentials).and_then(|url| {
        match http(&Request::new(Method::Get, url), WITHIN, office.clock.now()) {
            Ok(answer) if answer.status < 300 => Ok(()),
            Ok(answer) => Err(format!("it answered with status {}", answer.status)),
            Err(e) => Err(e.to_string()),
        }
    });
    Called { done: Some(done), every }
}

/// How many calls in a row have failed now.
fn heeded(office: &Office, called: Called, before: u32) -> u32 {
    match called.done {
        None => before,
        Some(Ok(())) => {
            if before > 0 {
                info!("whoever is told that this daemon is alive is reached again");
            }
            0
        }
        Some(Err(why)) => {
            warn!(why, "nobody could be told that this daemon is alive");
            if before + 1 == TOLD_AFTER {
                let said = format!(
                    "Whoever is called so that they notice when this daemon is gone was not reached {TOLD_AFTER} times: {why}."
                );
                let notice = Notice::new(Severity::Warning, own_actor(), said).folding("alive".to_owned());
                if let Err(e) = holdfast_notice::raise(&office.journal, &notice) {
                    warn!(error = %e, "people could not be told");
                }
            }
            before.saturating_add(1)
        }
    }
}
