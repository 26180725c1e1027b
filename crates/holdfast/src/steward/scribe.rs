//! Writes what was applied into a git repository: follows the journal, folds the steward's records, and brings the repository to them.
//!
//! What was kept is then shown in a repository elsewhere, where one is set: pushed, asked about, tidied.
//!
//! It stands beside the workers and nobody waits for it. Whatever is wrong with the repository delays the story alone, is told, and is
//! tried again, later each time.

use std::time::Duration;

use holdfast_history::{
    Also, Book, Event, KeySigner, Look, Outward, Repository, Told, Trouble, address, keep, round,
};
use holdfast_journal::{Entries, RawEntry, Stored};
use holdfast_keys::{Role, SecretKey, ssh};
use holdfast_notice::{Notice, Severity};
use holdfast_steward_host::record_of;
use holdfast_types::Trust;
use tracing::{info, warn};

use crate::init::key_at;
use crate::kinds::{draft, own_actor};
use crate::office::Office;
use crate::places::Places;
use crate::problem::Result;
use crate::settings;

/// How often every object is read.
const CHECK_EVERY: Duration = Duration::from_secs(24 * 3600);
/// How often it is looked whether it stands as it should although nothing was written.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// How often people are asked what they said to requests.
const ASK_EVERY: Duration = Duration::from_secs(3600);
/// How soon it is noticed that a repository elsewhere was set.
const SETTINGS_EVERY: Duration = Duration::from_secs(60);
const LONGEST_AWAY: Duration = Duration::from_secs(3600);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// Passes in a row that fail before people are told: disks have moments, and so has whoever reads it with git.
const TOLD_AFTER: u32 = 3;

/// What follows from records, as far as the journal was read.
#[derive(Debug)]
pub(crate) struct Scribe {
    entries: Entries,
    /// Only where there is something to write: a house that looks after nothing has neither key nor repository.
    pen: Option<Pen>,
    /// By the monotonic clock.
    checked_at: Option<Duration>,
    looked_at: Option<Duration>,
    again_at: Option<Duration>,
    failed: u32,
    /// Something was read that is not in the repository yet.
    behind: bool,
    away: Away,
}

/// How it stands with the repository elsewhere.
#[derive(Debug, Default)]
struct Away {
    outward: Outward,
    /// When to go there next, by the monotonic clock; at once where nothing is said.
    at: Option<Duration>,
    failed: u32,
    asked_at: Option<Duration>,
    cleaned_at: Option<Duration>,
}

#[derive(Debug)]
struct Pen {
    book: Book,
    repository: Repository,
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    Done,
    /// What was written before is lost: everything is read again.
    ReadAgain,
}

impl Scribe {
    /// At the beginning of the journal.
    pub(crate) fn begin(office: &Office) -> Scribe {
        let entries = office.journal.read(0);
        let (checked_at, looked_at, again_at) = (None, None, None);
        let away = Away::default();
        Scribe { entries, pen: None, checked_at, looked_at, again_at, failed: 0, behind: true, away }
    }

    /// Whether a turn would do anything.
    pub(crate) fn is_due(&self, office: &Office) -> bool {
        let now = office.clock.monotonic();
        let is_over = |since: Option<Duration>, span| since.is_none_or(|at| now.saturating_sub(at) >= span);
        if let Some(again_at) = self.again_at {
            return now >= again_at;
        }
        self.behind
            || self.entries.position() < office.journal.size()
            || is_over(self.looked_at, LOOK_EVERY)
            || is_over(self.checked_at, CHECK_EVERY)
            || self.pen.is_some() && self.away.at.is_none_or(|at| now >= at)
    }

    /// Reads what was written since, and brings the repository to it.
    pub(crate) fn turn(&mut self, office: &Office) -> Result<Turned> {
        self.read(office)?;
        let now = office.clock.monotonic();
        let whole = self.checked_at.is_none_or(|at| now.saturating_sub(at) >= CHECK_EVERY);
        let lapsed = self.looked_at.is_none_or(|at| now.saturating_sub(at) >= LOOK_EVERY);
        if !self.behind && !whole && !lapsed {
            self.go_there(office);
            return Ok(Turned::Done);
        }
        let look = if whole { Look::Whole } else { Look::Shallow };
        let kept = match &mut self.pen {
            Some(Pen { book, repository }) => keep(repository, book, look, office.clock.now()),
            None => Ok(Told::default()),
        };
        match kept {
            Ok(told) => {
                self.well(office, &told, whole);
                self.go_there(office);
            }
            Err(Trouble::Behind) => return Ok(Turned::ReadAgain),
            Err(trouble) => self.ill(office, &trouble),
        }
        Ok(Turned::Done)
    }

    fn read(&mut self, office: &Office) -> Result<()> {
        while let Some(raw) = self.entries.next_raw()? {
            self.behind |= self.take(&raw, office)?;
        }
        Ok(())
    }

    fn take(&mut self, raw: &RawEntry, office: &Office) -> Result<bool> {
        // Most entries are somebody else's, and parsing is what takes long. What only mentions a room is parsed too.
        let line = String::from_utf8_lossy(&raw.line);
        if ![r#""room":"steward""#, r#""room":"history""#].iter().any(|room| line.contains(room)) {
            return Ok(false);
        }
        let entry = raw.parse()?;
        if let Stored::Body(body) = &entry.content
            && let Some(event) = Event::read(&entry.kind.to_string(), entry.version, body)
        {
            self.away.outward.take(&event, entry.at);
            return Ok(false);
        }
        // What a later version wrote is not told here; the worker of its target says so.
        let Ok(Some((target, record))) = record_of(&entry) else { return Ok(false) };
        let pen = match &mut self.pen {
            Some(pen) => pen,
            empty => empty.insert(Pen::of(office)?),
        };
        pen.book.take(entry.seq, &target, &record);
        Ok(true)
    }

    fn well(&mut self, office: &Office, told: &Told, whole: bool) {
        let now = office.clock.monotonic();
        if self.failed >= TOLD_AFTER {
            info!("the history of what was applied is written again");
        }
        let daily = whole && self.checked_at.is_some();
        // Nothing depends on how it is packed.
        let tidied = self.pen.as_ref().filter(|_| daily).map(|pen| pen.repository.tidy());
        if let Some(Err(trouble)) = tidied {
            warn!(error = %trouble, "the history of what was applied could not be tidied");
        }
        (self.failed, self.again_at, self.looked_at, self.behind) = (0, None, Some(now), false);
        if told.moved > 0 && self.away.failed == 0 {
            self.away.at = None;
        }
        if whole {
            self.checked_at = Some(now);
        }
        sentences(told).into_iter().for_each(|said| raise(office, Severity::Warning, &said));
    }

    fn ill(&mut self, office: &Office, trouble: &Trouble) {
        self.failed = self.failed.saturating_add(1);
        let wait = FIRST_WAIT.saturating_mul(1 << self.failed.min(16)).min(LONGEST_WAIT);
        self.again_at = Some(office.clock.monotonic() + wait);
        warn!(error = %trouble, "the history of what was applied could not be written");
        if self.failed == TOLD_AFTER {
            let said = format!(
                "The history of what was applied cannot be written: {trouble}. Nothing else waits for it, and it is tried again."
            );
            raise(office, Severity::Warning, &said);
        }
    }
}

/// What is done elsewhere. An outage there delays only that.
impl Scribe {
    fn go_there(&mut self, office: &Office) {
        let now = office.clock.monotonic();
        let (Some(pen), true) = (&self.pen, self.away.at.is_none_or(|at| now >= at)) else { return };
        let is_over = |since: Option<Duration>, span| since.is_none_or(|at| now.saturating_sub(at) >= span);
        let also = Also {
            ask: is_over(self.away.asked_at, ASK_EVERY),
            clean: is_over(self.away.cleaned_at, CHECK_EVERY),
        };
        let went = match settings::elsewhere(&office.config().config) {
            Ok(None) => {
                // It may be set later.
                self.away.at = Some(now + LOOK_EVERY.min(SETTINGS_EVERY));
                return;
            }
            Ok(Some(place)) => {
                let mut note = |event: &Event| written_down(office, event);
                let (outward, wall) = (&mut self.away.outward, office.clock.now());
                round(&place, &pen.repository, &pen.book, outward, also, wall, &mut note)
                    .map_err(|e| e.to_string())
            }
            Err(why) => Err(why),
        };
        match went {
            Ok(told) => self.was_there(office, &told, also),
            Err(why) => self.not_there(office, &why),
        }
    }

    fn was_there(&mut self, office: &Office, told: &[String], also: Also) {
        let now = office.clock.monotonic();
        if self.away.failed > 0 {
            info!("the repository elsewhere is reached again");
        }
        (self.away.failed, self.away.at) = (0, Some(now + LOOK_EVERY));
        if also.ask {
            self.away.asked_at = Some(now);
        }
        if also.clean {
            self.away.cleaned_at = Some(now);
        }
        told.iter().for_each(|said| raise(office, Severity::Warning, said));
    }

    fn not_there(&mut self, office: &Office, why: &str) {
        self.away.failed = self.away.failed.saturating_add(1);
        let wait = FIRST_WAIT.saturating_mul(1 << self.away.failed.min(16)).min(LONGEST_AWAY);
        self.away.at = Some(office.clock.monotonic() + wait);
        warn!(why, "the repository elsewhere has to wait");
        if self.away.failed == TOLD_AFTER {
            let said = format!(
                "What was applied cannot be shown in the repository elsewhere: {why}. Nothing else waits for it, and it is tried again."
            );
            raise(office, Severity::Warning, &said);
        }
    }
}

fn written_down(office: &Office, event: &Event) -> std::result::Result<(), String> {
    let draft = draft(event.kind(), own_actor(), Trust::Trusted, event.body()).map_err(|e| e.to_string())?;
    office.journal.append(&draft).map(drop).map_err(|e| e.to_string())
}

impl Pen {
    fn of(office: &Office) -> Result<Pen> {
        let places = &office.house.places;
        if let Some(folder) = places.history_key().parent() {
            holdfast_durable::create_dir(folder).map_err(|e| crate::house::writing(folder, e))?;
        }
        let key = key_at(&places.history_key(), Role::History)?;
        let instance = instance_of(office.journal.origin().as_str()).to_owned();
        let repository = repository_of(places, &instance, &key);
        Ok(Pen { book: Book::new(&instance, Some(Box::new(KeySigner(key)))), repository })
    }
}

/// What a pass found that a person should know.
fn sentences(told: &Told) -> Vec<String> {
    let mut said = Vec::new();
    if let Some((aside, why)) = &told.put_aside {
        said.push(format!(
            "The history of what was applied was damaged ({why}) and is made again from the journal; the damaged one is kept in {}.",
            aside.display()
        ));
    }
    if told.settings_restored {
        let kept = "what was there is kept as config.aside";
        said.push(format!(
            "Somebody changed the settings of the history of what was applied: they are put back, {kept}."
        ));
    }
    if !told.foreign.is_empty() {
        let names: Vec<&str> =
            told.foreign.iter().map(|name| name.trim_start_matches("refs/heads/")).collect();
        said.push(format!(
            "Somebody moved {} in the history of what was applied: it is put back, and what they put there is kept below refs/aside.",
            names.join(", ")
        ));
    }
    said
}

fn raise(office: &Office, severity: Severity, said: &str) {
    warn!(said, "people are told");
    let notice = Notice::new(severity, own_actor(), said).folding("steward-history");
    if let Err(e) = holdfast_notice::raise(&office.journal, &notice) {
        warn!(error = %e, "people could not be told");
    }
}

/// The house's own name.
pub(crate) fn instance_of(origin: &str) -> &str {
    origin.strip_prefix("holdfast/").unwrap_or(origin)
}

fn repository_of(places: &Places, instance: &str, key: &SecretKey) -> Repository {
    let signers = format!("{} {}\n", address(instance), ssh::public_line(&key.public()));
    Repository::at(&places.history(), &signers)
}
