//! One target under guard: every few seconds the record is read, the target looked at where something is open, and what follows is done.
//!
//! All of it happens on one thread, one thing after the other, each with a limit in time. What the decision remembers is written down
//! whenever it changed, and read again at a start.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use holdfast_durable::{Mode, replace};
use holdfast_lifeline::{
    CascadeInput, Channel, Claim, EpisodeId, Order, PERIOD, Sight, Sound, Steady, Tripwire, TripwireEffect,
    TripwireInput, Watch, WindowRecord, WindowState,
};
use holdfast_logbook::{KindDef, Logbook};
use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::clock::{Clock, Moment, since_boot_ms, this_boot, wall};
use crate::heart::{FIRST_ROUTE, Heart, PROVIDER, SECOND_ROUTE};
use crate::look::{is_cut_off, look};
use crate::parts::Parts;
use crate::provider::Wish;
use crate::rescue::{Missed, Rescue};
use crate::settings::{Settings, Target};
use crate::tell::{Severity, Teller};
use crate::window::{Found, Granted, Sheet, WindowFile};

/// How long one order may take, connection included.
const ORDER_WITHIN: Duration = Duration::from_secs(20);
/// Each way back is tried out daily, without doing anything; one that failed is tried again sooner.
const REHEARSE_EVERY: Duration = Duration::from_secs(24 * 3600);
const REHEARSE_AGAIN: Duration = Duration::from_secs(15 * 60);
/// As long as setting up a package may take.
const PARTS_TOLD_AFTER: Duration = Duration::from_secs(300);

pub const SEEN: KindDef = KindDef {
    name: "tripwire.window.seen",
    version: 1,
    when: "The guard has read that a window is open, and watches it.",
    fields: &[("target", "the target"), ("episode", "whose window it is")],
};
pub const LOST: KindDef = KindDef {
    name: "tripwire.window.lost",
    version: 1,
    when: "Three looks in a row found the target ill while others answered: the guard undoes the episode.",
    fields: &[
        ("target", "the target"),
        ("episode", "what is undone"),
        ("claimed", "won, lost to the steward, or unknown when the record could not be claimed"),
        ("why", "what the last look found"),
    ],
};
pub const ORDERED: KindDef = KindDef {
    name: "tripwire.order.answered",
    version: 1,
    when: "An order of the cascade was given, and answered.",
    fields: &[
        ("target", "the target"),
        ("episode", "what is undone"),
        ("order", "restore, reboot or reset"),
        ("over", "first, second or provider"),
        ("answer", "accepted, failed or cut off"),
        ("why", "the reason, when it was not accepted"),
    ],
};
pub const UNDONE: KindDef = KindDef {
    name: "tripwire.episode.undone",
    version: 1,
    when: "What was known to be good was seen running again, or somebody else had put something else there.",
    fields: &[
        ("target", "the target"),
        ("episode", "what was undone"),
        ("end", "by which way, or overtaken"),
    ],
};
pub const ALARM: KindDef = KindDef {
    name: "tripwire.alarm.raised",
    version: 1,
    when: "No way back worked this time; it is tried again after a pause, for ever.",
    fields: &[("target", "the target"), ("episode", "what is not undone yet")],
};
pub const ACKNOWLEDGED: KindDef = KindDef {
    name: "tripwire.episode.acknowledged",
    version: 1,
    when: "A person said that they have taken care of it: the guard stops undoing it.",
    fields: &[("target", "the target"), ("episode", "what is left to them")],
};
pub const REHEARSED: KindDef = KindDef {
    name: "tripwire.way.rehearsed",
    version: 1,
    when: "A way back was tried out without doing anything.",
    fields: &[
        ("target", "the target"),
        ("way", "which one"),
        ("trouble", "why it would not work, if it would not"),
    ],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[SEEN, LOST, ORDERED, UNDONE, ALARM, ACKNOWLEDGED, REHEARSED];

/// What outlives the process.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    at: Moment,
    tripwire: Tripwire,
    rehearsed: BTreeMap<String, Timestamp>,
}

/// A guard of one target.
#[derive(Debug)]
pub struct Keeper {
    target: Target,
    clock: Clock,
    window: WindowFile,
    run: PathBuf,
    saved: PathBuf,
    acknowledged: PathBuf,
    logbook: Logbook,
    teller: Teller,
    tripwire: Tripwire,
    first: Rescue,
    second: Option<Rescue>,
    /// The record as it was read last, and how far its count is behind ours: kept, so that the same record reads the same.
    frame: Option<(Moment, u64, bool)>,
    /// The episode of the record that was read last.
    episode: Option<EpisodeId>,
    rehearsed: BTreeMap<String, Timestamp>,
    failing: BTreeMap<String, String>,
    rehearse_at: Instant,
    /// What is on the disk; nothing where it could not be written.
    written: Option<Vec<u8>>,
    complaint: Option<String>,
    /// Whether no reference answered at the last look.
    alone: bool,
    parts: Parts,
    /// What is wrong with the safety parts, since when, and whether people were told.
    altered: Option<String>,
    altered_at: Instant,
    altered_told: bool,
    next_look: Instant,
}

impl Keeper {
    /// Reads what an earlier life left, and goes on with it.
    pub fn start(settings: &Settings, target: &Target, logbook: Logbook) -> Keeper {
        let named = |ending: &str| settings.state.join(format!("{}.{ending}", target.name));
        let saved_at = named("guard.json");
        let saved: Option<Saved> =
            std::fs::read(&saved_at).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let fresh = || Tripwire::new(target.second.is_some(), target.provider.is_some(), Sound::YES);
        let (at, tripwire, rehearsed) = match saved {
            Some(saved) => (Some(saved.at), saved.tripwire, saved.rehearsed),
            None => (None, fresh(), BTreeMap::new()),
        };
        // Should the record be unreadable from now on, this is still what would be claimed.
        let watched = tripwire.watching().cloned();
        let mut keeper = Keeper {
            clock: Clock::from(at, settings.pace),
            window: WindowFile::of(&settings.windows, &target.name),
            run: settings.run.clone(),
            saved: saved_at,
            acknowledged: named("acknowledged"),
            logbook,
            teller: Teller::new(settings.webhook.clone()),
            tripwire: tripwire.with_channels(target.second.is_some(), target.provider.is_some()),
            first: Rescue::over(target.line(&target.first)),
            second: target.second.as_ref().map(|route| Rescue::over(target.line(route))),
            target: target.clone(),
            frame: None,
            episode: watched,
            rehearsed,
            failing: BTreeMap::new(),
            rehearse_at: Instant::now(),
            written: None,
            complaint: None,
            alone: false,
            parts: Parts::named_by(&settings.parts),
            altered: None,
            altered_at: Instant::now(),
            altered_told: false,
            next_look: Instant::now(),
        };
        keeper.step(TripwireInput::Started);
        keeper
    }

    /// Does what is due, beats the heart, and says how long nothing will be.
    pub fn round(&mut self) -> Duration {
        self.heed_people();
        if Instant::now() >= self.next_look {
            // From when it was due, so that what a look takes does not make the period longer.
            self.next_look = (self.next_look + PERIOD).max(Instant::now());
            self.look_at_the_parts();
            let watch = self.read();
            let sight = self.sight(&watch);
            self.step(TripwireInput::Looked { watch, sight });
        }
        if self.tripwire.wakes_at().is_some_and(|at| at <= self.clock.now()) {
            self.step(TripwireInput::Cascade(CascadeInput::Time));
        }
        self.beat();
        if !self.tripwire.is_watching() && Instant::now() >= self.rehearse_at {
            self.rehearse();
            self.beat();
        }
        let wakes = self.tripwire.wakes_at().map(|at| self.clock.until(at));
        let look = self.next_look.saturating_duration_since(Instant::now());
        wakes.map_or(look, |wakes| wakes.min(look)).max(Duration::from_millis(10))
    }

    /// The heartbeat says it at once. People are told when it lasts: an upgrade exchanges the parts before it writes what they are.
    fn look_at_the_parts(&mut self) {
        let trouble = self.parts.trouble();
        if trouble != self.altered {
            (self.altered_at, self.altered_told) = (Instant::now(), false);
            self.altered = trouble;
        }
        let Some(why) = self.altered.as_ref().filter(|_| !self.altered_told) else { return };
        if self.altered_at.elapsed() >= PARTS_TOLD_AFTER {
            let name = &self.target.name;
            let line = format!("{name}: {why}; nothing new is tried there until it is put right");
            self.teller.tell(Severity::Critical, "parts_altered", name.as_str(), &line);
            self.altered_told = true;
        }
    }

    /// The record in our own count of time.
    fn read(&mut self) -> Watch {
        let watch = match self.window.read() {
            Found::Nothing => Watch::Nothing,
            Found::Unreadable => Watch::Unreadable,
            Found::Record(sheet) => Watch::Record(self.shifted(sheet)),
        };
        match &watch {
            Watch::Record(record) if record.state != WindowState::Closed => {
                if self.episode.as_ref() != Some(&record.episode) {
                    let episode = record.episode.clone();
                    self.log(&SEEN, &episode, json!({}));
                    self.episode = Some(episode);
                }
            }
            Watch::Record(_) | Watch::Nothing => self.episode = None,
            Watch::Unreadable => {}
        }
        watch
    }

    fn shifted(&mut self, sheet: Sheet) -> WindowRecord {
        // Nothing says when it was written: everything in it counts from now.
        let from = match sheet.record.state {
            WindowState::Active { since } | WindowState::Keeping { since } => since,
            _ => Steady(0),
        };
        let written = sheet.written.unwrap_or_else(|| self.frame.map_or(Moment::now(from), |(of, ..)| of));
        let (ours, theirs) = (self.clock.now().0, written.reckoned(this_boot(), since_boot_ms()).0);
        let (by, later) = match self.frame {
            Some((of, by, later)) if of == written => (by, later),
            _ => (ours.abs_diff(theirs), ours >= theirs),
        };
        self.frame = Some((written, by, later));
        let shift =
            |at: Steady| Steady(if later { at.0.saturating_add(by) } else { at.0.saturating_sub(by) });
        sheet.record.moved(shift)
    }

    /// Looks only where something is open and not yet being undone: whoever undoes looks by itself.
    fn sight(&mut self, watch: &Watch) -> Sight {
        let open = match watch {
            Watch::Record(record) => record.state != WindowState::Closed,
            Watch::Unreadable => self.tripwire.is_watching(),
            Watch::Nothing => false,
        };
        if !open || self.tripwire.is_undoing() {
            self.alone = false;
            return Sight::Unsure;
        }
        let seen = look(&self.target, &self.first);
        self.alone = seen.is_alone();
        let complaint = seen.complaint();
        if complaint != self.complaint {
            let name = &self.target.name;
            match &complaint {
                Some(why) => Teller::note(Severity::Warning, &format!("{name}: {why}")),
                None => Teller::note(Severity::Info, &format!("{name} is well again")),
            }
            self.complaint = complaint;
        }
        seen.sight()
    }

    /// Steps, and carries out what follows until nothing does. What is decided is written down before it is done.
    fn step(&mut self, input: TripwireInput) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let effects = self.tripwire.step(self.clock.now(), input);
            self.save();
            for effect in effects {
                inputs.extend(self.perform(effect));
            }
            // A way back takes a while, and whoever watches it sees that it goes on.
            self.beat();
        }
    }

    fn perform(&mut self, effect: TripwireEffect) -> Option<TripwireInput> {
        match effect {
            TripwireEffect::Claim(claim) => self.claim(claim),
            TripwireEffect::Order { episode, wanted, order } => {
                let answer = match order {
                    Order::Restore { over } => {
                        let done = self.route(over).map(|way| way.restore(&episode, wanted, ORDER_WITHIN));
                        Some(self.answered(&episode, "restore", named(over), done))
                    }
                    Order::Look { over } => {
                        let seen = self.route(over).map(|way| way.see(Some(&episode), ORDER_WITHIN));
                        Some(match seen {
                            Some(Ok(seen)) => CascadeInput::Saw(seen),
                            Some(Err(_)) | None => self.missed().0,
                        })
                    }
                    Order::Reboot { reset } => {
                        let wish = if reset { Wish::Reset } else { Wish::Reboot };
                        let name = if reset { "reset" } else { "reboot" };
                        let done = self.target.provider.as_ref().map(|it| it.ask(wish, ORDER_WITHIN));
                        let line = format!(
                            "{}: its provider is asked for a {name}, to undo {episode}",
                            self.target.name
                        );
                        self.teller.tell(Severity::Critical, "rollback", self.target.name.as_str(), &line);
                        Some(self.answered(&episode, name, "provider", done))
                    }
                    Order::Alarm => {
                        let line = format!(
                            "{}: no way back worked, and {episode} is not undone; it is tried again after a pause",
                            self.target.name
                        );
                        self.teller.tell(
                            Severity::Emergency,
                            "rollback_failed",
                            self.target.name.as_str(),
                            &line,
                        );
                        self.log(&ALARM, &episode, json!({}));
                        None
                    }
                };
                answer.map(TripwireInput::Cascade)
            }
            TripwireEffect::Undone { episode, end } => {
                let line = format!("{}: {episode} is undone: {end:?}", self.target.name);
                self.teller.tell(Severity::Critical, "rollback", self.target.name.as_str(), &line);
                self.log(&UNDONE, &episode, json!({ "end": end }));
                self.episode = Some(episode);
                None
            }
        }
    }

    /// Who cannot claim because nobody can write acts all the same: going back names what to go back to, and the target itself settles who
    /// came first there.
    fn claim(&mut self, claim: Claim) -> Option<TripwireInput> {
        let episode = self.episode.clone()?;
        let granted = self.window.claim(&episode, claim, None);
        if matches!(claim, Claim::Close { .. }) {
            if let Granted::Unknown(e) = granted {
                self.complain("the window record could not be closed", &e);
            }
            return None;
        }
        let (won, word) = match &granted {
            Granted::Won => (true, "won"),
            Granted::Lost(_) => (false, "lost"),
            Granted::Unknown(e) => {
                self.complain(
                    "the window record could not be claimed, and what is open is undone all the same",
                    e,
                );
                (true, "unknown")
            }
        };
        let why = self.complaint.clone();
        let line =
            format!("{}: {episode} is lost ({})", self.target.name, why.as_deref().unwrap_or("it is ill"));
        self.teller.tell(Severity::Critical, "rollback", self.target.name.as_str(), &line);
        self.log(&LOST, &episode, json!({ "claimed": word, "why": why }));
        Some(TripwireInput::Claimed(won))
    }

    fn route(&self, over: Channel) -> Option<&Rescue> {
        match over {
            Channel::Second => self.second.as_ref(),
            Channel::First | Channel::Reboot | Channel::Reset => Some(&self.first),
        }
    }

    fn answered<E: ToString>(
        &mut self,
        episode: &EpisodeId,
        order: &str,
        over: &str,
        done: Option<Result<(), E>>,
    ) -> CascadeInput {
        let (input, word, why) = match done {
            Some(Ok(())) => (CascadeInput::Accepted, "accepted", None),
            Some(Err(e)) => {
                let (input, word) = self.missed();
                (input, word, Some(e.to_string()))
            }
            None => (CascadeInput::Failed, "failed", Some("there is no such way".to_owned())),
        };
        self.log(&ORDERED, episode, json!({ "order": order, "over": over, "answer": word, "why": why }));
        let because = why.map_or_else(String::new, |why| format!(": {why}"));
        Teller::note(
            Severity::Warning,
            &format!("{}: {order} over {over} {word}{because}", self.target.name),
        );
        input
    }

    /// Nobody answered: whose fault that is, the references say.
    fn missed(&self) -> (CascadeInput, &'static str) {
        match is_cut_off(&self.target.references) {
            true => (CascadeInput::CutOff, "cut off"),
            false => (CascadeInput::Failed, "failed"),
        }
    }

    /// A person says that they take care of it by leaving a file, which `holdfast-tripwire acknowledge` does.
    fn heed_people(&mut self) {
        if !self.acknowledged.exists() {
            return;
        }
        if self.tripwire.is_undoing() {
            if let Some(episode) = self.tripwire.undoing().cloned() {
                self.log(&ACKNOWLEDGED, &episode, json!({}));
                self.episode = Some(episode);
            }
            self.step(TripwireInput::Acknowledged);
        }
        if let Err(e) = holdfast_durable::remove(&self.acknowledged) {
            self.complain("what a person has said could not be taken away", &e);
        }
    }

    /// Every way back, side by side with nothing: what it takes to use it is there, and nothing is done.
    fn rehearse(&mut self) {
        let said = |done: Result<_, Missed>| done.map(drop).map_err(|e| e.to_string());
        let mut ways = vec![(FIRST_ROUTE, said(self.first.see(None, ORDER_WITHIN)))];
        ways.extend(self.second.as_ref().map(|way| (SECOND_ROUTE, said(way.see(None, ORDER_WITHIN)))));
        let provider = self.target.provider.as_ref();
        ways.extend(provider.map(|provider| (PROVIDER, provider.ask(Wish::Check, ORDER_WITHIN))));
        self.failing.clear();
        for (way, done) in ways {
            let trouble = done.err();
            match &trouble {
                None => drop(self.rehearsed.insert(way.to_owned(), wall())),
                Some(why) => {
                    let line = format!("{}: the {way} would not work: {why}", self.target.name);
                    self.teller.tell(Severity::Warning, "rehearsal_failed", self.target.name.as_str(), &line);
                    self.failing.insert(way.to_owned(), why.clone());
                }
            }
            let body = json!({ "target": self.target.name, "way": way, "trouble": trouble });
            self.write_log(&REHEARSED, body);
        }
        let again = if self.failing.is_empty() { REHEARSE_EVERY } else { REHEARSE_AGAIN };
        self.rehearse_at = Instant::now() + again;
        self.save();
    }

    /// A whole round is over.
    fn beat(&mut self) {
        let heart = Heart {
            boot: this_boot(),
            beat_ms: since_boot_ms(),
            watching: self.tripwire.watching().cloned(),
            undoing: self.tripwire.is_undoing(),
            alone: self.alone,
            parts: self.altered.clone(),
            rehearsed: self.rehearsed.clone(),
            failing: self.failing.clone(),
        };
        if let Err(e) = heart.write(&self.run, &self.target.name) {
            self.complain("the heartbeat could not be written", &e);
        }
    }

    /// Written when it says something else than what is there. A disk that is full stops nothing.
    fn save(&mut self) {
        let state = serde_json::to_vec(&(&self.tripwire, &self.rehearsed)).unwrap_or_default();
        if self.written.as_ref() == Some(&state) {
            return;
        }
        let saved = json!({ "at": Moment::now(self.clock.now()), "tripwire": self.tripwire, "rehearsed": self.rehearsed });
        match replace(&self.saved, saved.to_string().as_bytes(), Mode::Private) {
            Ok(()) => self.written = Some(state),
            Err(e) => {
                self.written = None;
                self.complain("what the guard is doing could not be written down", &e);
            }
        }
    }

    fn log(&self, kind: &KindDef, episode: &EpisodeId, mut body: serde_json::Value) {
        body["target"] = json!(self.target.name);
        body["episode"] = json!(episode);
        self.write_log(kind, body);
    }

    fn write_log(&self, kind: &KindDef, body: serde_json::Value) {
        if let Err(e) = self.logbook.write(kind, body) {
            Teller::note(Severity::Warning, &format!("{}: the guard's log: {e}", self.target.name));
        }
    }

    fn complain(&self, what: &str, e: &io::Error) {
        Teller::note(Severity::Warning, &format!("{}: {what}: {e}", self.target.name));
    }
}

fn named(over: Channel) -> &'static str {
    match over {
        Channel::First => "first",
        Channel::Second => "second",
        Channel::Reboot | Channel::Reset => "provider",
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::provider::Provider;
    use holdfast_lifeline::Identity;

    /// A target behind a port at which nobody is, and a reference that answers.
    struct Site {
        folder: tempfile::TempDir,
        settings: Settings,
        _reference: TcpListener,
    }

    impl Site {
        fn new() -> Site {
            let folder = tempfile::tempdir().unwrap();
            let reference = TcpListener::bind("127.0.0.1:0").unwrap();
            let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let place = |name: &str| folder.path().join(name);
            for name in ["windows", "state", "run"] {
                std::fs::create_dir(place(name)).unwrap();
            }
            let settings: Settings = serde_json::from_value(json!({
                "windows": place("windows"), "state": place("state"), "run": place("run"),
                "targets": [{
                    "name": "box-1", "first": {"address": "127.0.0.1", "port": nobody}, "key": "/nowhere", "known_hosts": "/nowhere",
                    "references": [{"tcp": {"address": reference.local_addr().unwrap().to_string()}}],
                }]
            }))
            .unwrap();
            Site { folder, settings, _reference: reference }
        }

        fn keeper(&self) -> Keeper {
            let logbook = Logbook::of("tripwire", self.settings.state.clone());
            logbook.begin().unwrap();
            Keeper::start(&self.settings, &self.settings.targets[0], logbook)
        }

        fn record(&self) -> PathBuf {
            self.folder.path().join("windows/box-1.window.json")
        }

        fn opens(&self) {
            let record = WindowRecord {
                episode: "ep_1".parse().unwrap(),
                known_good: Identity([1; 32]),
                candidate: Identity([2; 32]),
                state: WindowState::Active { since: Steady(0) },
                deadline: Steady(3_600_000),
            };
            let file = WindowFile::of(&self.settings.windows, &"box-1".parse().unwrap());
            assert!(matches!(file.open(&record, Moment::now(Steady(600_000))), Granted::Won));
        }
    }

    /// Without waiting for the time between two.
    fn looks(keeper: &mut Keeper, times: usize) {
        for _ in 0..times {
            keeper.next_look = Instant::now();
            keeper.round();
        }
    }

    #[test]
    fn a_guard_that_starts_again_over_a_destroyed_record_still_undoes_what_it_had_read() {
        let site = Site::new();
        site.opens();
        let mut keeper = site.keeper();
        looks(&mut keeper, 1);
        assert_eq!(keeper.tripwire.watching(), Some(&"ep_1".parse().unwrap()));
        drop(keeper);
        std::fs::write(site.record(), "{").unwrap();
        let mut keeper = site.keeper();
        looks(&mut keeper, 2);
        assert!(!keeper.tripwire.is_undoing(), "two are not three");
        looks(&mut keeper, 1);
        assert!(keeper.tripwire.is_undoing(), "{:?}", keeper.tripwire);
        // And so does the next one, without any look.
        let keeper = site.keeper();
        assert_eq!(keeper.tripwire.undoing(), Some(&"ep_1".parse().unwrap()));
    }

    #[test]
    fn nothing_open_is_nothing_looked_at_and_a_way_back_that_would_not_work_is_told() {
        let site = Site::new();
        let mut keeper = site.keeper();
        looks(&mut keeper, 5);
        assert_eq!((keeper.tripwire.is_watching(), &keeper.complaint), (false, &None));
        let heart = Heart::read(&site.settings.run, &"box-1".parse().unwrap()).unwrap();
        assert!(heart.age().unwrap() < Duration::from_secs(60) && heart.watching.is_none());
        assert!(heart.rehearsed.is_empty() && heart.failing.contains_key(FIRST_ROUTE), "{heart:?}");
    }

    #[test]
    fn what_a_person_takes_care_of_is_given_up() {
        let site = Site::new();
        site.opens();
        let mut keeper = site.keeper();
        looks(&mut keeper, 3);
        assert!(keeper.tripwire.is_undoing());
        std::fs::write(site.folder.path().join("state/box-1.acknowledged"), "").unwrap();
        keeper.round();
        assert!(!keeper.tripwire.is_undoing());
        let Found::Record(sheet) = keeper.window.read() else { panic!() };
        assert_eq!(sheet.record.state, WindowState::Closed);
        assert!(!site.folder.path().join("state/box-1.acknowledged").exists());
    }

    #[test]
    fn a_provider_is_asked_nothing_by_one_that_is_cut_off() {
        let mut site = Site::new();
        let program =
            |name: &str| vec!["touch".to_owned(), site.folder.path().join(name).display().to_string()];
        site.settings.targets[0].provider = Some(Provider::Command {
            reboot: program("reboot"),
            reset: program("reset"),
            check: program("check"),
        });
        site.settings.targets[0].references =
            serde_json::from_value(json!([{"tcp": {"address": "127.0.0.1:1"}}])).unwrap();
        site.opens();
        let mut keeper = site.keeper();
        looks(&mut keeper, 6);
        assert!(keeper.alone && !keeper.tripwire.is_undoing());
        assert!(!site.folder.path().join("reboot").exists());
    }
}
