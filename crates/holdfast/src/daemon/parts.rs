//! The daemon's parts, and what they share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdfast_control::{Answer, Desk, Peer, Request, Server, Watch};
use holdfast_door::Listening;
use holdfast_notice::Deliverer;
use holdfast_supervisor::{Failed, Importance, Life, Part, Wave};
use holdfast_types::Problem;
use tokio::sync::watch;

use super::metrics::Metrics;
use super::{Bound, Doors, Findings, care, checks, history, http, index, memory, pulse, steward, verdicts};
use crate::disk::Level;
use crate::doctor::Verdict;
use crate::office::Office;
use crate::problem::{CliError, Result};

/// Longest silence of a part that only waits. They beat every third of it.
const STALE: Duration = Duration::from_secs(60);

/// The index may have to be made anew, and the indexes of its tables are built in one step without a word.
const INDEX_STALE: Duration = Duration::from_secs(600);

/// A consolidation of many memories says nothing until it is over.
const MEMORY_STALE: Duration = Duration::from_secs(600);

/// What the parts share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) office: Arc<Office>,
    pub(crate) server: Arc<Server>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) notices: Arc<Mutex<Option<holdfast_notice::Handle>>>,
    pub(crate) findings: Findings,
    /// How much space there was when it was last looked.
    pub(crate) disk: Arc<Mutex<Option<Level>>>,
    /// What the last round of checks came to; outlives the part, so that a lasting fault is told once.
    pub(crate) verdict: Arc<Mutex<Option<Verdict>>>,
    /// No door opens before everything behind it is in place.
    open: watch::Sender<bool>,
}

impl Shared {
    pub(crate) fn new(office: Arc<Office>, server: Arc<Server>) -> Shared {
        Shared {
            office,
            server,
            metrics: Arc::default(),
            notices: Arc::default(),
            findings: Arc::default(),
            disk: Arc::default(),
            verdict: Arc::default(),
            open: watch::Sender::new(false),
        }
    }

    pub(crate) fn open_the_doors(&self) {
        self.open.send_replace(true);
    }

    pub(crate) async fn opened(&self) {
        // The sender is part of `self`, so it is there.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}

/// Every part, work before doors.
pub(crate) fn all(shared: &Shared, doors: Doors) -> Result<Vec<Part>> {
    use Importance::{Safety, Service};
    let part = |name, importance, wave, stale_after, begin: fn(Shared, Life) -> Running| {
        let shared = shared.clone();
        Part::new(name, importance, wave, stale_after, move |life| begin(shared.clone(), life))
    };
    let work = Wave::Work;
    let mut parts = vec![
        part("index", Safety, work, INDEX_STALE, |s, life| Box::pin(index::run(s.office, life))),
        part("checks", Safety, work, checks::STALE, |s, life| Box::pin(looking_around(s, life))),
        part("notices", Service, work, STALE, |s, life| Box::pin(notices(s, life))),
        part("care", Service, work, STALE, |s, life| Box::pin(care::run(s, life))),
        part("pulse", Service, work, STALE, |s, life| Box::pin(pulse::run(s, life))),
        part("steward", Service, work, STALE, |s, life| Box::pin(steward::run(s.office, life))),
        part("history", Service, work, STALE, |s, life| Box::pin(history::run(s.office, life))),
        part("memory", Service, work, MEMORY_STALE, |s, life| Box::pin(memory::run(s.office, life))),
        part("control", Safety, Wave::Door, STALE, |s, life| Box::pin(control(s, life))),
    ];
    let Doors { health, verdicts, gateway, idle: _ } = doors;
    parts.push(door(shared, health, |s, listening, life| Box::pin(http::run(s, listening, life)))?);
    if let Some(bound) = verdicts {
        let begin: Answering = |s, listening, life| Box::pin(verdicts::run(s, listening, life));
        parts.push(door(shared, bound, begin)?);
    }
    if let Some(bound) = gateway {
        parts.push(the_gateway(shared, bound));
    }
    Ok(parts)
}

type Answering = fn(Shared, Arc<Listening>, Life) -> Running;

/// A part that answers at an address, once everything behind it is in place.
fn door(shared: &Shared, bound: Bound, answering: Answering) -> Result<Part> {
    let on_runtime = |source| CliError::Start { what: "a door", source };
    let listening = Arc::new(Listening::from_std(bound.listeners).map_err(on_runtime)?);
    let shared = shared.clone();
    Ok(Part::new(bound.name, Importance::Service, Wave::Door, STALE, move |life| {
        let (shared, listening) = (shared.clone(), listening.clone());
        async move {
            shared.opened().await;
            answering(shared, listening, life).await
        }
    }))
}

/// The gateway. It listens by itself: each of its lives has handles of its own on the same listeners.
fn the_gateway(shared: &Shared, bound: Bound) -> Part {
    let (shared, bound) = (shared.clone(), Arc::new(bound));
    Part::new(bound.name, Importance::Service, Wave::Door, STALE, move |life| {
        let (shared, bound) = (shared.clone(), bound.clone());
        async move {
            shared.opened().await;
            let listeners = bound.listeners.iter().map(std::net::TcpListener::try_clone);
            crate::gateway::run(shared, listeners.collect::<Result<_, _>>()?, life).await
        }
    })
}

type Running = std::pin::Pin<Box<dyn Future<Output = Result<(), Failed>> + Send>>;

/// Answers the local socket.
async fn control(shared: Shared, life: Life) -> Result<(), Failed> {
    shared.opened().await;
    let desk: Arc<dyn Desk> =
        Arc::new(Counted { office: shared.office.clone(), metrics: shared.metrics.clone() });
    let beat = life.beat.clone();
    shared.server.serve(desk, &life.stop, move || beat.now(), super::give_spare).await;
    Ok(())
}

/// Looks at everything, once everything is there to be looked at.
async fn looking_around(shared: Shared, life: Life) -> Result<(), Failed> {
    shared.opened().await;
    checks::run(shared, life).await
}

/// Counts and times every request.
struct Counted {
    office: Arc<Office>,
    metrics: Arc<Metrics>,
}

impl Desk for Counted {
    fn answer(&self, peer: Peer, request: Request, watch: &mut Watch<'_>) -> Result<Answer, Problem> {
        let (name, began) = (request.name(), Instant::now());
        let answer = self.office.answer(peer, request, watch);
        self.metrics.note_request(name, answer.is_ok(), began.elapsed());
        if name == (Request::Reload {}).name() {
            self.metrics.note_reload(answer.is_ok());
        }
        answer
    }
}

/// Tells people.
async fn notices(shared: Shared, life: Life) -> Result<(), Failed> {
    let office = &shared.office;
    let outbox = office.outbox().map_err(index::failed)?;
    let (deliverer, handle) = Deliverer::new(
        office.journal.clone(),
        outbox,
        office.clock.clone(),
        office.channels.subscribe(),
        office.applied.subscribe(),
    );
    *shared.notices.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
    life.beat.while_waiting(STALE / 3, deliverer.run(life.stop.clone())).await?;
    Ok(())
}
