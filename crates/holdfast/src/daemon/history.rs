//! The part that writes what was applied into a git repository. Nothing waits for it.

use std::sync::Arc;
use std::time::Duration;

use holdfast_supervisor::{Failed, Life};
use tracing::info;

use super::index::failed;
use crate::office::Office;
use crate::steward::{Scribe, Turned};

const BEAT: Duration = Duration::from_secs(20);
/// How soon what was written down is in the repository.
const NAP: Duration = Duration::from_millis(250);

pub(crate) async fn run(office: Arc<Office>, life: Life) -> Result<(), Failed> {
    let mut scribe = None;
    loop {
        tokio::select! {
            // Both only wait.
            () = life.beat.while_waiting(BEAT, tokio::time::sleep(NAP)) => {}
            () = life.stop.cancelled() => return Ok(()),
        }
        if scribe.as_ref().is_some_and(|scribe: &Scribe| !scribe.is_due(&office)) {
            continue;
        }
        let (office, at_work) = (office.clone(), scribe.take());
        let turn = tokio::task::spawn_blocking(move || one_turn(&office, at_work));
        tokio::select! {
            // A turn that is left behind ends by itself, and the next start does it again from the beginning.
            turned = life.beat.while_waiting(BEAT, turn) => {
                scribe = turned.map_err(|_| Failed("it panicked".into()))??;
            }
            () = life.stop.cancelled() => return Ok(()),
        }
    }
}

fn one_turn(office: &Office, scribe: Option<Scribe>) -> Result<Option<Scribe>, Failed> {
    let mut scribe = scribe.unwrap_or_else(|| Scribe::begin(office));
    match scribe.turn(office).map_err(failed)? {
        Turned::Done => Ok(Some(scribe)),
        Turned::ReadAgain => {
            info!("the history of what was applied is made again from the journal");
            Ok(None)
        }
    }
}
