//! The office: everything of one home, opened by the one process that may, and the answers it gives.
//!
//! The daemon keeps one open and answers through the socket; a command that finds no daemon opens one for a moment
//! and answers itself. Both go through [`Office::answer`], so that it makes no difference to the user. What only
//! a daemon has (its parts, its clients) is hung in when it starts ([`Office::staff`]).

mod answer;
pub(crate) mod approvals;
mod care;
mod gateway;
mod metrics;
mod reload;
mod status;
mod steward;
mod verified;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use holdfast_approval::{ApprovalProjection, Approvals};
use holdfast_config::{Config, Loaded};
use holdfast_journal::{Error as JournalError, Journal, Options, SystemClock};
use holdfast_keys::{Role, file};
use holdfast_metrics::Metrics;
use holdfast_notice::{Channel, NoticeProjection, Outbox};
use holdfast_screen::GuardScreen;
use holdfast_store::{EntriesProjection, Index, IndexOpened, Samples};
use holdfast_types::{Clock, Timestamp};
use tokio::sync::{Notify, watch};

use crate::autonomy::{Note, Standing, Switch};
use crate::disk::{Budget, Usage, measure};
use crate::house::{House, reading};
use crate::kinds::own_actor;
use crate::memory::Keeper;
use crate::problem::Result;
use crate::settings::{self, Overlay};
use crate::steward::Bench;

pub(crate) use answer::pause_state;
pub(crate) use approvals::HandedIn;
pub(crate) use care::due;
pub(crate) use status::status_without_daemon;

/// One home, open for work.
#[derive(Debug)]
pub(crate) struct Office {
    pub(crate) house: House,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) switch: Switch,
    pub(crate) overlay: Overlay,
    config: RwLock<Arc<Loaded>>,
    index: OnceLock<Arc<Index>>,
    index_opened: OnceLock<IndexOpened>,
    metrics: OnceLock<Metrics>,
    approvals: OnceLock<Approvals>,
    /// Who may come in by the gateway.
    pub(crate) accounts: OnceLock<Arc<holdfast_gateway::Accounts>>,
    /// The gateway's certificates while it runs; another one for each of its lives.
    pub(crate) certificates: Mutex<Option<Arc<holdfast_door::Keeper>>>,
    /// What every text passes before it is stored; the journal's own.
    pub(crate) screen: Arc<GuardScreen>,
    /// People have been told of what was asked before this entry.
    asks_told: AtomicU64,
    /// Held while the configuration is read again.
    reloading: Mutex<()>,
    /// Held while the switch is turned, so that journal and switch say the same.
    turning: Mutex<()>,
    /// The pause that the log knows of: since when, and the entry.
    recorded_pause: Mutex<Option<(Option<Timestamp>, u64)>>,
    /// Switch and journal agree. A daemon counts as paused until they do.
    settled: AtomicBool,
    /// Held while a rebuild or a backup runs: one at a time.
    one_at_a_time: Mutex<()>,
    /// The index is being made anew, so nobody feeds the old one meanwhile.
    pub(crate) rebuilding: AtomicBool,
    /// How many entries the index has applied.
    pub(crate) applied: watch::Sender<u64>,
    pub(crate) channels: watch::Sender<Vec<Channel>>,
    /// Wakes the health checks: what is looked for, or how often, has changed.
    pub(crate) look_again: Notify,
    staff: OnceLock<Staff>,
    /// The steward's workers; a daemon alone puts any there.
    pub(crate) bench: Bench,
    /// What is open of memory. Dropped before the journal, which it writes to.
    pub(crate) keeper: Keeper,
    /// The last, because fields are dropped in this order: whoever gets its lock finds the databases closed.
    pub(crate) journal: Journal,
}

/// What only a running daemon has.
#[derive(Debug)]
pub(crate) struct Staff {
    pub(crate) started: Timestamp,
    pub(crate) started_monotonic: std::time::Duration,
    pub(crate) board: holdfast_supervisor::Board,
    pub(crate) notices: Arc<Mutex<Option<holdfast_notice::Handle>>>,
    pub(crate) findings: Arc<Mutex<Vec<String>>>,
    pub(crate) stop: tokio_util::sync::CancellationToken,
    /// Where its doors are.
    pub(crate) listening: Vec<holdfast_control::Listening>,
    /// Applies settings that live outside the office: the log's level.
    pub(crate) apply: Box<dyn Apply>,
}

/// Something that follows the configuration while it runs.
pub(crate) trait Apply: Send + Sync + std::fmt::Debug {
    fn apply(&self, config: &Config);
}

impl Office {
    /// Opens the journal, and with it the right to everything else of this home.
    pub(crate) fn open(house: &House, overlay: &Overlay) -> Result<Office> {
        // First the journal: where there is none, nothing else is the news.
        house.view(&Default::default())?;
        let loaded = settings::load(&house.places, overlay)?;
        Office::with(house, overlay.clone(), loaded)
    }

    fn with(house: &House, overlay: Overlay, loaded: Loaded) -> Result<Office> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let (limits, archive) = settings::journal(&loaded.config.journal)?;
        let rules = settings::rules(&loaded.config.guard)?;
        let screen = Arc::new(GuardScreen::new(rules.clone()));
        crate::sieve::take(rules);
        let journal = Journal::open(Options {
            dir: house.places.journal(),
            signers: vec![file::read_key(&house.places.log_key(), Role::Log)?.key],
            screen: screen.clone(),
            clock: clock.clone(),
            vault: house.vault()?,
            archive,
            limits,
        })?;
        Ok(Office {
            switch: Switch::of(&house.places),
            house: house.clone(),
            journal,
            clock,
            overlay,
            config: RwLock::new(Arc::new(loaded)),
            index: OnceLock::new(),
            index_opened: OnceLock::new(),
            metrics: OnceLock::new(),
            approvals: OnceLock::new(),
            accounts: OnceLock::new(),
            certificates: Mutex::default(),
            screen,
            asks_told: AtomicU64::new(0),
            reloading: Mutex::default(),
            turning: Mutex::default(),
            recorded_pause: Mutex::default(),
            settled: AtomicBool::new(false),
            one_at_a_time: Mutex::default(),
            rebuilding: AtomicBool::new(false),
            applied: watch::Sender::new(0),
            channels: watch::Sender::new(Vec::new()),
            look_again: Notify::new(),
            staff: OnceLock::new(),
            bench: Bench::default(),
            keeper: Keeper::default(),
        })
    }

    /// Hangs in what only a daemon has.
    pub(crate) fn hire(&self, staff: Staff) {
        // Called once, by the daemon that made this office.
        let _ = self.staff.set(staff);
    }

    pub(crate) fn staff(&self) -> Option<&Staff> {
        self.staff.get()
    }

    pub(crate) fn config(&self) -> Arc<Loaded> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The index, opened when somebody first wants it.
    pub(crate) fn index(&self) -> Result<&Arc<Index>> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let projections: Vec<Box<dyn holdfast_store::Projection>> = vec![
            Box::new(EntriesProjection::new(self.journal.origin())),
            Box::new(NoticeProjection::new(self.journal.origin().clone())),
            Box::new(ApprovalProjection::new(self.journal.origin().clone())),
        ];
        let (index, opened) = Index::open(&self.house.places.index(), projections, self.clock.clone())?;
        let _ = self.index_opened.set(opened);
        Ok(self.index.get_or_init(|| Arc::new(index)))
    }

    /// What opening the index had to do.
    /// The index with all that the journal has. One that had to be made anew for it is written down.
    pub(crate) fn index_up_to_date(&self) -> Result<&Arc<Index>> {
        let index = self.index()?;
        let done = index.catch_up(&self.journal, &mut |_| ControlFlow::Continue(()))?;
        if let Some(why) = &done.rebuilt {
            self.note_rebuilt(why, done.progress.applied)?;
        }
        Ok(index)
    }

    /// The index with all that the journal has, or as much as a disk that takes no write lets it have: for looks, which are better about
    /// what was a moment ago than about nothing. What is decided is decided with [`Office::index_up_to_date`]; a verdict reads the rest from
    /// the journal.
    pub(crate) fn index_to_look_at(&self) -> Result<&Arc<Index>> {
        self.index_up_to_date().or_else(|failure| {
            tracing::debug!(why = ?failure, "a look at an index that could not be brought up to date");
            self.index()
        })
    }

    pub(crate) fn index_opened(&self) -> Option<&IndexOpened> {
        self.index_opened.get()
    }

    /// The daemon's own samples, and what was observed of targets, in one file.
    pub(crate) fn metrics(&self) -> Result<&Metrics> {
        if let Some(metrics) = self.metrics.get() {
            return Ok(metrics);
        }
        let (samples, _) = Samples::open(&self.house.places.metrics(), self.clock.as_ref())?;
        Ok(self.metrics.get_or_init(|| Metrics::over(samples, holdfast_metrics::Limits::default())))
    }

    /// A text that somebody else wrote, as it may be kept. What may not be kept at all is only said to have been there.
    pub(crate) fn screened(&self, text: &str) -> String {
        use holdfast_journal::{Screen as _, Verdict};
        match self.screen.screen(text) {
            Verdict::Clean => text.to_owned(),
            Verdict::Redacted(text) => text,
            Verdict::Blocked { .. } => "[a text that may not be kept]".to_owned(),
        }
    }

    pub(crate) fn samples(&self) -> Result<&Samples> {
        Ok(self.metrics()?.samples())
    }

    pub(crate) fn outbox(&self) -> Result<Outbox> {
        Ok(Outbox::new(self.index()?.clone()))
    }

    /// How much of the disk is used.
    pub(crate) fn usage(&self) -> Result<Usage> {
        let loaded = self.config();
        let cap = self.journal.status().limits.cap_bytes;
        let places = &self.house.places;
        let kept = u64::from(loaded.config.backup.keep);
        Ok(measure(places, cap, kept).map_err(|e| reading(&places.state, e))?)
    }

    pub(crate) fn budget(&self) -> Budget {
        Budget::from(&self.config().config.disk)
    }

    /// Whether autonomy is halted. A daemon that does not know yet what the journal says of it says *paused*.
    pub(crate) fn is_paused(&self) -> Standing {
        let standing = self.switch.standing();
        let unsure = self.staff().is_some() && !self.settled.load(Ordering::SeqCst);
        if unsure && !standing.is_paused() {
            let reason = "not known yet: the index is still being brought up to date";
            return Standing::Paused(Some(Note::new(self.clock.now(), own_actor(), Some(reason))));
        }
        standing
    }

    pub(crate) fn turning(&self) -> MutexGuard<'_, ()> {
        // It guards no value: a panic elsewhere leaves nothing half done that the next look would not see.
        self.turning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::SeqCst)
    }

    pub(crate) fn note_settled(&self) {
        self.settled.store(true, Ordering::SeqCst);
    }
}

/// Whether another process has the journal.
pub(crate) fn is_busy(e: &crate::problem::Failure) -> bool {
    let busy = JournalError::Busy { holder: String::new() }.problem().code;
    matches!(e, crate::problem::Failure::Problem(problem) if problem.code == busy)
}
