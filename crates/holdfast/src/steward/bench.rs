//! All workers of a daemon, and who is asked for one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdfast_control::{StewardDone, StewardOrder, StewardState, StewardTargetState};
use holdfast_lifeline::{Now, Sound, Steady};
use holdfast_steward::Steward;
use holdfast_types::Actor;

use super::lessons::Library;
use super::{Place, Seen, StewardError, Worker, places_of, state_of};
use crate::office::Office;
use crate::problem::Result;

/// The workers, by target. A worker is held for one turn or one order at a time.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    workers: Mutex<BTreeMap<String, Arc<Mutex<Option<Worker>>>>>,
    pub(super) library: Library,
}

impl Bench {
    /// The place of a target's worker; empty until somebody is put there.
    pub(crate) fn place_of(&self, target: &str) -> Arc<Mutex<Option<Worker>>> {
        self.workers().entry(target.to_owned()).or_default().clone()
    }

    /// Everything worth keeping over a restart is stored. Waits for turns that are under way.
    pub(crate) fn save(&self) {
        let workers: Vec<_> = self.workers().values().cloned().collect();
        for worker in workers {
            if let Some(at_work) = lock(&worker).as_mut() {
                at_work.save();
            }
        }
    }

    fn workers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Mutex<Option<Worker>>>>> {
        // A map of places: nothing in it is ever half done.
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self, office: &Office) -> StewardState {
        let of = |place: &Place| {
            let worker = self.place_of(place.name.as_str());
            let worker = lock(&worker);
            worker.as_ref().map_or_else(|| nobody(place), Worker::state)
        };
        let targets = targets(office).iter().map(of).collect();
        StewardState { source: "daemon".to_owned(), paused: office.is_paused().is_paused(), targets }
    }

    pub(crate) fn order(
        &self,
        office: &Office,
        target: Option<&str>,
        order: &StewardOrder,
        actor: &Actor,
        dry_run: bool,
    ) -> Result<StewardDone> {
        let name = which(&targets(office), target)?;
        let worker = self.place_of(&name);
        let mut worker = lock(&worker);
        let away = || StewardError::NotAtWork { target: name.clone(), why: "it is being started".to_owned() };
        let at_work = worker.as_mut().ok_or_else(away)?;
        // First what is due: the order is about how things stand now.
        let done = match at_work.turn(office) {
            Ok(_) => at_work.order(order, actor, dry_run),
            Err(e) => Err(StewardError::NotKept { why: e.why }.into()),
        };
        let not_kept = StewardError::NotKept { why: String::new() }.problem().code;
        if matches!(&done, Err(crate::problem::Failure::Problem(problem)) if problem.code == not_kept) {
            // A steward that decided what could not be written down is thrown away; the part reads it anew.
            *worker = None;
        }
        done
    }
}

/// Held for a turn. A worker that panicked in the middle of one is not to be believed, and is thrown away.
pub(crate) fn lock(worker: &Mutex<Option<Worker>>) -> MutexGuard<'_, Option<Worker>> {
    worker.lock().unwrap_or_else(|poisoned| {
        worker.clear_poison();
        let mut worker = poisoned.into_inner();
        *worker = None;
        worker
    })
}

fn targets(office: &Office) -> Vec<Place> {
    places_of(&office.config().config.steward, &office.journal.origin().to_string())
}

/// The target that is meant.
pub(crate) fn which(places: &[Place], target: Option<&str>) -> Result<String, StewardError> {
    let known: Vec<String> = places.iter().map(|place| place.name.to_string()).collect();
    match (target, known.as_slice()) {
        (Some(name), known) if known.iter().any(|one| one == name) => Ok(name.to_owned()),
        (Some(name), known) => {
            Err(StewardError::UnknownTarget { name: name.to_owned(), known: known.to_vec() })
        }
        (None, []) => Err(StewardError::NoTargets),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(StewardError::WhichTarget { known }),
    }
}

/// A target that nobody works on yet, or not at the moment.
fn nobody(place: &Place) -> StewardTargetState {
    let now = Now { steady: Steady(0), wall: holdfast_types::Timestamp::EPOCH, synced: false };
    let steward = Steward::new(place.settings.clone(), now, Sound::YES);
    let trouble = Some("it is being started".to_owned());
    StewardTargetState { trouble, ..state_of(place, &steward, &Seen::default()) }
}
