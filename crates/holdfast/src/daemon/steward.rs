//! The part that keeps the steward's workers at work: one task for each target.
//!
//! A worker whose records could not be kept is thrown away and the part ends with it, so that the supervisor starts it
//! again, later each time, from what was written down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast_supervisor::{Failed, Life};
use tokio::task::JoinSet;
use tracing::info;

use crate::office::Office;
use crate::steward::{Place, Worker, lock, places_of};

const BEAT: Duration = Duration::from_secs(20);
/// How often it is looked whether switch and journal agree, before anything is begun.
const UNSETTLED: Duration = Duration::from_millis(50);

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
    let worker = office.bench.place_of(place.name.as_str());
    // Whoever was there before is of an earlier life of this part.
    let mut fresh = true;
    loop {
        let (office, place, worker) = (office.clone(), place.clone(), worker.clone());
        let turn = tokio::task::spawn_blocking(move || one_turn(&office, &place, &worker, fresh));
        let nap = turn.await.map_err(|_| Failed("it panicked".into()))??;
        fresh = false;
        tokio::time::sleep(nap).await;
    }
}

fn one_turn(
    office: &Arc<Office>,
    place: &Place,
    worker: &Mutex<Option<Worker>>,
    fresh: bool,
) -> Result<Duration, Failed> {
    let mut worker = lock(worker);
    if fresh {
        *worker = None;
    }
    let at_work = match worker.take() {
        Some(at_work) => at_work,
        None => {
            let started = Worker::start(place, office).map_err(|e| Failed(e.to_string()))?;
            info!(target = %place.name, speed = place.speed, "the steward is at work");
            started
        }
    };
    // Taken out for the turn: one that fails is not put back.
    let mut at_work = at_work;
    let nap = at_work.turn(office).map_err(|e| Failed(e.to_string()))?;
    *worker = Some(at_work);
    Ok(nap)
}
