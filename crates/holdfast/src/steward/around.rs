//! Everything around a steward that is not its target: what is seen from outside, the brain, the window record, people.

use std::path::PathBuf;
use std::sync::Weak;
use std::time::{Duration, Instant};

use holdfast_lifeline::{Claim, EpisodeId, Now, Steady, WindowRecord};
use holdfast_notice::{Notice, Severity};
use holdfast_steward::Claimed;
use holdfast_steward::brain::{Bounds, Earlier, Failure, HostView, UnitView, View, propose};
use holdfast_steward::com::Com;
use holdfast_steward::constitution::Measure;
use holdfast_steward::detect::Direction;
use holdfast_steward::effect::{Asking, Compared, Full, Looked, Probe, TargetState, Tiding};
use holdfast_steward::invariant::Health;
use holdfast_steward::outcome::Book;
use holdfast_steward::retrospective::{Reading, Span, Summary};
use holdfast_steward::setting::Value;
use holdfast_steward_host::Outside;
use tracing::warn;

use super::asks::{self, Wanted, Word};
use super::model::{Model, PAST, workload};
use super::parts::Parts;
use super::sense::Sense;
use super::settings::{Place, endpoint_of};
use super::window::WindowFile;
use crate::kinds::own_actor;
use crate::office::Office;
use crate::problem::Failure as Trouble;
use holdfast_types::ApprovalId;

/// Over which time the brain is told the mean pressure: short enough that a shift which was just noticed shows in it.
const LATELY: Duration = Duration::from_secs(180);

/// How long an inbox that could not be asked is let alone.
const INBOX_AGAIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Around {
    place: Place,
    model: Model,
    office: Weak<Office>,
    window: WindowFile,
    /// Nothing where this program's file cannot be named: then nothing is tried.
    parts: Option<Parts>,
    /// Counts from its start.
    stopwatch: Instant,
    /// Where this house keeps its state: what must not run out of space.
    state: PathBuf,
    samples: Vec<(Steady, f64)>,
    sense: Sense,
    now: Steady,
    kills: u32,
    /// Kills since the steward was last asked to plan.
    kills_since: u32,
    /// What became of earlier changes, for the brain.
    outcomes: Vec<Earlier>,
    /// The episode that waits for a person, and what it asked.
    asked: Option<(EpisodeId, ApprovalId)>,
    /// The inbox could not be asked, and is let alone until then.
    inbox_again: Option<Instant>,
}

/// What a collection gave.
#[derive(Debug)]
pub(super) struct Collected {
    /// Where to the metric has changed for good.
    pub(super) shift: Option<Direction>,
    pub(super) killed: bool,
}

impl Around {
    pub(super) fn new(
        place: &Place,
        model: Model,
        samples: Vec<(Steady, f64)>,
        office: &Weak<Office>,
        state: PathBuf,
    ) -> Around {
        let kills = model.sight().kills;
        let sense = Sense::of(place, &state, &samples);
        Around {
            window: WindowFile::of(&state.join("steward"), &place.name),
            parts: Parts::of_this_program().ok(),
            stopwatch: Instant::now(),
            place: place.clone(),
            model,
            office: office.clone(),
            state,
            samples,
            sense,
            now: Steady(0),
            kills,
            kills_since: 0,
            outcomes: Vec::new(),
            asked: None,
            inbox_again: None,
        }
    }

    /// Measures; nothing when the host does not answer.
    pub(super) fn collect(&mut self, now: Steady, book: &Book) -> Option<Collected> {
        self.now = now;
        let sight = self.model.sight();
        if !sight.answers {
            return None;
        }
        self.remember(book);
        let oldest = Steady(now.0.saturating_sub(PAST.as_millis() as u64));
        self.samples.retain(|(at, _)| *at >= oldest && *at < now);
        self.samples.push((now, sight.metric));
        let killed = sight.kills > self.kills;
        self.kills_since += sight.kills.saturating_sub(self.kills);
        self.kills = sight.kills;
        Some(Collected { shift: self.sense.step(&self.samples), killed })
    }

    fn remember(&mut self, book: &Book) {
        let of = |record: &holdfast_steward::outcome::Record| {
            let (outcome, changes) = (record.outcome, record.changes().cloned().collect::<Vec<_>>());
            let age = Some(self.now.since(record.at));
            changes.into_iter().map(move |change| Earlier { change, outcome, age })
        };
        self.outcomes = book.standing(&self.place.name).flat_map(of).collect();
    }

    /// Why nothing is noticed.
    pub(super) fn trouble(&self) -> Option<String> {
        self.sense.trouble()
    }

    fn pressure(&self) -> Option<f64> {
        let from = Steady(self.now.0.saturating_sub(LATELY.as_millis() as u64));
        let lately: Vec<f64> =
            self.samples.iter().filter(|(at, _)| *at >= from).map(|(_, value)| *value).collect();
        (!lately.is_empty()).then(|| lately.iter().sum::<f64>() / lately.len() as f64)
    }

    /// What a person has said to what the steward waits for, and what it was asked with.
    pub(super) fn word(&mut self, waits_for: Wanted) -> Option<(String, bool)> {
        let office = self.office.upgrade()?;
        if self.inbox_again.is_some_and(|again| Instant::now() < again) {
            return None;
        }
        let known = self.asked.take().filter(|(of, _)| *of == waits_for.episode).map(|(_, ask)| ask);
        let answer = known
            .map_or_else(|| asks::ask(&office, &self.place.name, &waits_for, self.place.speed), Ok)
            .and_then(|ask| Ok((ask, asks::word(&office, &self.place.name, &waits_for, ask)?)));
        match answer {
            Ok((ask, Word::NotYet)) => {
                self.asked = Some((waits_for.episode, ask));
                None
            }
            Ok((_, word)) => Some((waits_for.digest, word == Word::Allowed)),
            Err(failure) => {
                warn_of(&failure, "the inbox of approvals could not be asked");
                self.inbox_again = Some(Instant::now() + INBOX_AGAIN);
                None
            }
        }
    }

    fn raise(&self, severity: Severity, message: String, about: &str) {
        let Some(office) = self.office.upgrade() else { return };
        let target = &self.place.name;
        let notice = Notice::new(severity, own_actor(), message)
            .with("target", target)
            .folding(format!("steward-{about}-{target}"));
        if let Err(e) = holdfast_notice::raise(&office.journal, &notice) {
            warn!(error = %e, "people could not be told");
        }
    }
}

impl Outside for Around {
    fn look(&mut self, now: Now, reached: Option<TargetState>, ssh: Probe) -> Looked {
        let sight = self.model.sight();
        let health = Health { healthy: sight.healthy, at: now.steady };
        Looked {
            ssh,
            endpoints: vec![(endpoint_of(&self.place.name), Some(health))],
            references: true,
            vpn: None,
            // A modelled host has no tripwire beside it, so its heartbeat is always fresh and it has read whatever window
            // is open. A driver of a real host gets the word of a real tripwire here; without one nothing is tried.
            heartbeat: Some(now.steady),
            watched: self.window.episode(),
            // The ways back of a modelled host are calls inside this process; there is nothing about them to rehearse.
            rehearsed: vec![("lease", Some(now.steady)), ("first route", Some(now.steady))],
            integrity: self.parts.as_mut().is_some_and(Parts::are_as_started),
            space_here: rustix::fs::statvfs(&self.state)
                .map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize)),
            target: reached,
        }
    }

    fn ask(&mut self, asking: Asking, full: &Full) -> Result<String, Failure> {
        let kills = std::mem::take(&mut self.kills_since);
        let unit = unit_view(&full.com, kills, &self.place);
        let used = match unit.memory_max {
            Value::Bytes(bytes) => bytes,
            _ => 0,
        };
        let Ok(host) = self.place.name.as_str().parse() else { return Err(Failure::InvalidOutput) };
        Ok(propose(&View {
            units: [(workload(), unit)].into(),
            pressure: self.pressure(),
            headroom: self.place.settings.rules.memory_budget.saturating_sub(used),
            outcomes: self.outcomes.clone(),
            experience: Vec::new(),
            on_host: HostView::default(),
            bounds: Bounds::default(),
            exploration: asking.exploration,
            spent_today: false,
            stale: !asking.fresh,
            host,
        }))
    }

    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        self.window.open(&record)
    }

    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        self.window.claim(episode, claim)
    }

    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {
        // Put into the inbox by the next look at it (`word`), which also does so when this process dies in between.
    }

    fn withdraw_approval(&mut self, episode: &EpisodeId) {
        let Some((_, ask)) = self.asked.take().filter(|(of, _)| of == episode) else { return };
        let Some(office) = self.office.upgrade() else { return };
        if let Err(failure) = asks::withdraw(&office, ask, "the episode is over") {
            warn_of(&failure, "an ask could not be taken back");
        }
    }

    fn compare(&mut self, switched: Steady) -> Compared {
        let sum = |span: Span| Summary::of(self.samples.iter().copied(), span, &[]);
        let (before, after) = (sum(Span::before(switched)), sum(Span::after(switched)));
        // The model has one metric; what guards it is quiet by construction, and says so with as many samples.
        let quiet = |summary: Option<Summary>| summary.and_then(|s| Summary::new(0.0, 0.0, s.count()).ok());
        let guard = |guard: &Measure| Reading {
            metric: guard.metric.clone(),
            before: quiet(before),
            after: quiet(after),
        };
        Compared {
            before,
            after,
            guards: self.place.settings.constitution.guards().iter().map(guard).collect(),
        }
    }

    fn rebase(&mut self) {
        self.sense.rebase(self.now);
    }

    fn tell(&mut self, tiding: &Tiding) {
        let target = &self.place.name;
        let (severity, about, message) = match tiding {
            // Whoever looks after the inbox tells of everything in it.
            Tiding::ApprovalAsked { .. } => return,
            Tiding::Kept { episode } => {
                (Severity::Info, "kept", format!("The change of {episode} on {target} was kept."))
            }
            Tiding::RolledBack { episode, why } => (
                Severity::Warning,
                "undone",
                format!("The change of {episode} on {target} was undone: {why}."),
            ),
            Tiding::RollbackFails { episode } => (
                Severity::Critical,
                "stuck",
                format!("The change of {episode} on {target} cannot be undone, and is tried again."),
            ),
            Tiding::BreakerOpened => (
                Severity::Warning,
                "breaker",
                format!(
                    "Too many trials in a row were undone on {target}: nothing is tried there until `holdfast steward reset {target}`."
                ),
            ),
            Tiding::Drifted => (
                Severity::Warning,
                "drift",
                format!(
                    "{target} is not what the steward left it as: nothing is tried there until `holdfast steward accept {target}`."
                ),
            ),
            Tiding::LateHarm { episode } => (
                Severity::Warning,
                "late-harm",
                format!("The change of {episode} on {target} did harm over the day."),
            ),
            Tiding::AuthExpired => (
                Severity::Warning,
                "brain",
                format!("The brain that plans for {target} was refused its credential."),
            ),
            Tiding::Draft { what } => {
                (Severity::Info, "draft", format!("Something on {target} is for you to decide: {what}."))
            }
        };
        self.raise(severity, message, about);
    }

    fn stopwatch(&self) -> u64 {
        self.stopwatch.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }
}

fn unit_view(com: &Com, kills: u32, place: &Place) -> UnitView {
    UnitView {
        oom_kills: u64::from(kills),
        restarts: u64::from(kills),
        endpoint: endpoint_of(&place.name).parse().ok(),
        ..UnitView::of(com, &workload())
    }
}

fn warn_of(failure: &Trouble, what: &str) {
    match failure {
        Trouble::Problem(problem) => warn!(code = %problem.code, why = problem.what, "{what}"),
        Trouble::ReaderLeft => warn!("{what}"),
    }
}
