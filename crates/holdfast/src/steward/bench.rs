//! All workers of a daemon, and who is asked for one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_config::Driver;
use holdfast_control::{StewardDone, StewardOrder, StewardState, StewardTargetState};
use holdfast_lifeline::{Now, Sound, Steady};
use holdfast_steward::Steward;
use holdfast_types::{Actor, Trust};
use serde_json::{Map, json};

use super::lessons::Library;
use super::traces::Traces;
use super::verdicts::Verdicts;
use super::vitals::Guard;
use super::{Place, Seen, StewardError, Vitals, Worker, places_of, state_of};
use crate::kinds::{ORDERED, draft};
use crate::office::Office;
use crate::problem::Result;

/// The workers, by target.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    desks: Mutex<BTreeMap<String, Arc<Desk>>>,
    pub(super) library: Library,
    /// For memory, which takes them in its own time.
    pub(crate) verdicts: Verdicts,
}

/// Where one target is worked on. A worker is held for one turn or one order at a time; how things stood after the last turn can
/// always be read, also while a target takes its time to answer.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    worker: Mutex<Option<Worker>>,
    told: Mutex<Option<StewardTargetState>>,
    vitals: Mutex<Option<Vitals>>,
    traces: Traces,
}

impl Desk {
    /// Held for a turn. A worker that panicked in the middle of one is not to be believed, and is thrown away.
    pub(crate) fn worker(&self) -> MutexGuard<'_, Option<Worker>> {
        self.worker.lock().unwrap_or_else(|poisoned| {
            self.worker.clear_poison();
            let mut worker = poisoned.into_inner();
            *worker = None;
            worker
        })
    }

    pub(crate) fn tell(&self, state: StewardTargetState) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }

    /// It is begun with, and nothing was collected yet in this life of the daemon.
    pub(crate) fn begins(&self, place: &Place, now: Duration) {
        let mut vitals = self.vitals.lock().unwrap_or_else(PoisonError::into_inner);
        vitals.get_or_insert_with(|| Vitals {
            target: place.name.clone(),
            collected: now,
            failures: 1,
            breaker_open: false,
            open: None,
            overdue: 0,
            guard: Guard::NotNeeded,
        });
    }

    /// How it stands now, for whoever must not wait for anything. Before the first collection its age is counted from the beginning.
    pub(crate) fn note(&self, present: impl FnOnce(Duration) -> Vitals) {
        let mut vitals = self.vitals.lock().unwrap_or_else(PoisonError::into_inner);
        let collected = vitals.as_ref().map_or(Duration::ZERO, |before| before.collected);
        *vitals = Some(present(collected));
    }

    /// What was measured there lately.
    pub(crate) fn traces(&self) -> Traces {
        self.traces.clone()
    }

    fn vitals(&self) -> Option<Vitals> {
        self.vitals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Nobody can work on it yet.
    pub(crate) fn waits(&self, place: &Place, why: String) {
        self.tell(StewardTargetState { trouble: Some(why), ..nobody(place) });
    }

    fn state(&self, place: &Place) -> StewardTargetState {
        let present = if place.driver() == Driver::Sim {
            // A turn of a modelled host is over at once, and nobody tells of it meanwhile.
            self.worker().as_ref().map(Worker::state)
        } else {
            self.worker.try_lock().ok().and_then(|worker| worker.as_ref().map(Worker::state))
        };
        let told = || self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        present.or_else(told).unwrap_or_else(|| nobody(place))
    }
}

impl Bench {
    /// Where a target is worked on; nobody is there until somebody is put there.
    pub(crate) fn desk_of(&self, target: &str) -> Arc<Desk> {
        self.desks().entry(target.to_owned()).or_default().clone()
    }

    /// Everything worth keeping over a restart is stored, and connections are ended. Waits for turns that are under way.
    pub(crate) fn save(&self) {
        let desks: Vec<_> = self.desks().values().cloned().collect();
        for desk in desks {
            if let Some(at_work) = desk.worker().as_mut() {
                at_work.save();
                at_work.hang_up();
            }
        }
    }

    /// How each target stands, without waiting for a turn that is under way.
    pub(crate) fn vitals(&self) -> Vec<Vitals> {
        let desks: Vec<_> = self.desks().values().cloned().collect();
        desks.iter().filter_map(|desk| desk.vitals()).collect()
    }

    fn desks(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Desk>>> {
        // A map of places: nothing in it is ever half done.
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self, office: &Office) -> StewardState {
        let of = |place: &Place| self.desk_of(place.name.as_str()).state(place);
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
        let desk = self.desk_of(&name);
        let mut worker = desk.worker();
        let away = || StewardError::NotAtWork { target: name.clone(), why: "it is being started".to_owned() };
        let at_work = worker.as_mut().ok_or_else(away)?;
        // First what is due: the order is about how things stand now.
        let done = match at_work.turn(office) {
            Ok(_) if dry_run => at_work.order(order, actor, dry_run),
            Ok(_) => written_down(office, &name, order, actor, at_work)
                .and_then(|()| at_work.order(order, actor, dry_run)),
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

/// Who ordered what, before it is done; nothing of what would be refused, or is so already. Who asked for a cycle of planning
/// stands with its cause.
fn written_down(
    office: &Office,
    target: &str,
    order: &StewardOrder,
    actor: &Actor,
    at_work: &mut Worker,
) -> Result<()> {
    if *order == StewardOrder::Trigger || at_work.order(order, actor, true)?.repeated {
        return Ok(());
    }
    let mut body =
        Map::from_iter([("target".to_owned(), json!(target)), ("order".to_owned(), json!(in_a_word(order)))]);
    let about = match order {
        StewardOrder::Level { to } => Some(("to", json!(to))),
        StewardOrder::Review { episode } => Some(("episode", json!(episode))),
        StewardOrder::Rehearsed { tripwire } => Some(("tripwire", json!(tripwire))),
        StewardOrder::Trigger | StewardOrder::RollBack | StewardOrder::Accept | StewardOrder::Reset => None,
    };
    body.extend(about.map(|(name, value)| (name.to_owned(), value)));
    office.journal.append(&draft(&ORDERED, actor.clone(), Trust::Trusted, body)?.reserved())?;
    Ok(())
}

/// As the command is called.
const fn in_a_word(order: &StewardOrder) -> &'static str {
    match order {
        StewardOrder::Trigger => "trigger",
        StewardOrder::Level { .. } => "level",
        StewardOrder::RollBack => "rollback",
        StewardOrder::Accept => "accept",
        StewardOrder::Reset => "reset",
        StewardOrder::Review { .. } => "review",
        StewardOrder::Rehearsed { .. } => "rehearsed",
    }
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
