//! The part that keeps the steward's workers at work: one task for each target.
//!
//! A worker whose records could not be kept is thrown away and the part ends with it, so that the supervisor starts it
//! again, later each time, from what was written down.

use std::sync::Arc;
use std::time::Duration;

use holdfast_config::Driver;
use holdfast_supervisor::{Failed, Life};
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::office::Office;
use crate::steward::{Desk, NotStarted, Place, Worker, places_of};

const BEAT: Duration = Duration::from_secs(20);
/// How often it is looked whether switch and journal agree, before anything is begun.
const UNSETTLED: Duration = Duration::from_millis(50);
/// A target that has to be asked something before work begins, and did not answer, is asked again after this.
const ASK_AGAIN: Duration = Duration::from_secs(30);

pub(crate) async fn run(office: Arc<Office>, life: Life) -> Result<(), Failed> {
    let work = async {
        // Whether autonomy is paused must be known first: what is in the middle is treated differently.
        while !office.is_settled() {
            tokio::time::sleep(UNSETTLED).await;
        }
        keep_at_work(&office).await
    };
    tokio::select! {
        // Both only wait: a turn under way ends by itself, and is whole.
        ended = life.beat.while_waiting(BEAT, work) => return ended,
        () = life.stop.cancelled() => {}
    }
    let bench = office.clone();
    let saved = tokio::task::spawn_blocking(move || bench.bench.save());
    saved.await.map_err(|_| Failed("what was learnt could not be stored".into()))
}

async fn keep_at_work(office: &Arc<Office>) -> Result<(), Failed> {
    let places = places_of(&office.config().config.steward, &office.journal.origin().to_string());
    let mut tasks = JoinSet::new();
    for place in places {
        tasks.spawn(look_after(office.clone(), place));
    }
    match tasks.join_next().await {
        Some(Ok(ended)) => ended,
        Some(Err(_)) => Err(Failed("it panicked".into())),
        // Nothing to look after, until a restart.
        None => std::future::pending().await,
    }
}

async fn look_after(office: Arc<Office>, place: Place) -> Result<(), Failed> {
    let desk = office.bench.desk_of(place.name.as_str());
    // Whoever was there before is of an earlier life of this part.
    let mut fresh = true;
    loop {
        let (office, place, desk) = (office.clone(), place.clone(), desk.clone());
        let turn = tokio::task::spawn_blocking(move || one_turn(&office, &place, &desk, fresh));
        let nap = turn.await.map_err(|_| Failed("it panicked".into()))??;
        fresh = false;
        tokio::time::sleep(nap).await;
    }
}

fn one_turn(office: &Arc<Office>, place: &Place, desk: &Desk, fresh: bool) -> Result<Duration, Failed> {
    desk.begins(place, office.clock.monotonic());
    let mut worker = desk.worker();
    if fresh {
        *worker = None;
    }
    let at_work = match worker.take() {
        Some(at_work) => at_work,
        None => match Worker::start(place, office) {
            Ok(started) => {
                info!(target = %place.name, driver = place.driver().word(), speed = place.speed, "the steward is at work");
                started
            }
            Err(NotStarted::Log(e)) => return Err(Failed(e.to_string())),
            Err(NotStarted::NotYet { why }) => {
                warn!(target = %place.name, why, "the steward waits for the target to answer");
                desk.waits(place, why);
                return Ok(ASK_AGAIN);
            }
        },
    };
    // Taken out for the turn: one that fails is not put back.
    let mut at_work = at_work;
    let nap = at_work.turn(office).map_err(|e| Failed(e.to_string()))?;
    desk.note(|collected| at_work.vitals(collected));
    // One that takes its time to answer is told of meanwhile as it was seen last; a modelled host answers at once.
    if place.driver() != Driver::Sim {
        desk.tell(at_work.state());
    }
    *worker = Some(at_work);
    Ok(nap)
}
