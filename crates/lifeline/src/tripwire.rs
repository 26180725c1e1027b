//! The tripwire: looks at the target every few seconds while a window is open, and undoes it when nobody else can.
//!
//! It knows nothing of the steward. It reads the window record, looks from outside, and after three bad looks in a row
//! claims the record and runs the cascade, as often as it takes. What it is doing is durable, so a restart goes on.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cascade::{Cascade, CascadeEnd, CascadeInput, CascadeStep, Order};
use crate::flaw::{Flaw, Sound};
use crate::identity::{EpisodeId, Identity};
use crate::time::Steady;
use crate::window::{Claim, Owner, WindowRecord, WindowState};

/// How often it looks.
pub const PERIOD: Duration = Duration::from_secs(10);
/// The first seconds after an activation, in which services may come up again.
pub const GRACE: Duration = Duration::from_secs(30);
/// Bad looks in a row before it acts.
const DEBOUNCE: u8 = 3;
/// How long a claim may take. Later it counts as lost; if it was won after all, the record says so.
const CLAIM_WITHIN: Duration = Duration::from_secs(20);
/// How long a controller may take to settle what it decided to keep.
const KEEPING_WITHIN: Duration = Duration::from_secs(180);

/// What one look from outside gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    Well,
    /// The target does not answer, or an endpoint on it is down, while hosts that have nothing to do with it answer.
    Bad,
    /// Nothing answers, or what answered is too old to count: nobody can tell.
    Unsure,
}

/// The window record as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// There is none, or it is closed.
    Nothing,
    Record(WindowRecord),
    /// It cannot be read. That means open: what is known of it is what was read last.
    Unreadable,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TripwireInput {
    /// A look at record and target, every [`PERIOD`].
    Looked {
        watch: Watch,
        sight: Sight,
    },
    /// How a claim of the record went.
    Claimed(bool),
    Cascade(CascadeInput),
    /// It starts, or starts again.
    Started,
    /// A person takes care of what it is undoing.
    Acknowledged,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TripwireEffect {
    /// Of the record that was read in this step, and of no other: a record that was replaced meanwhile is not claimed.
    Claim(Claim),
    Order {
        episode: EpisodeId,
        wanted: Identity,
        order: Order,
    },
    /// The target is back; write it down and tell people.
    Undone {
        episode: EpisodeId,
        end: CascadeEnd,
    },
}

/// Its state. Durable but for the count of bad looks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tripwire {
    /// The last record that could be read.
    known: Option<WindowRecord>,
    bad: u8,
    /// What it wants to undo, and until when the claim of it may be answered.
    claiming: Option<Claiming>,
    cascade: Option<Cascade>,
    /// The last episode it undid: it never starts over with one.
    undone: Option<EpisodeId>,
    second_route: bool,
    reboot: bool,
    #[serde(skip)]
    sound: Sound,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Claiming {
    episode: EpisodeId,
    known_good: Identity,
    candidate: Identity,
    until: Steady,
}

impl Tripwire {
    pub fn new(second_route: bool, reboot: bool, sound: Sound) -> Tripwire {
        Tripwire {
            known: None,
            bad: 0,
            claiming: None,
            cascade: None,
            undone: None,
            second_route,
            reboot,
            sound,
        }
    }

    /// Whether it has anything to look at; while not, nobody need wake it.
    pub fn is_watching(&self) -> bool {
        self.cascade.is_some() || self.known.is_some()
    }

    /// The episode whose window it has read, and would undo. Told with its heartbeat: a trial is not verified while the
    /// tripwire does not know of it.
    pub fn watching(&self) -> Option<&EpisodeId> {
        self.known.as_ref().map(|record| &record.episode)
    }

    /// The episode it is undoing.
    pub fn undoing(&self) -> Option<&EpisodeId> {
        self.cascade.as_ref().map(|cascade| &cascade.episode)
    }

    /// The same with the ways back there are now: an undo that begins from here on knows them.
    pub fn with_channels(self, second_route: bool, reboot: bool) -> Tripwire {
        Tripwire { second_route, reboot, ..self }
    }

    pub fn is_undoing(&self) -> bool {
        self.cascade.is_some()
    }

    /// When its cascade wants to be asked again.
    pub fn wakes_at(&self) -> Option<Steady> {
        self.cascade.as_ref().and_then(Cascade::wakes_at)
    }

    pub fn step(&mut self, now: Steady, input: TripwireInput) -> Vec<TripwireEffect> {
        match input {
            TripwireInput::Started => self.started(now),
            TripwireInput::Acknowledged => self.acknowledged(),
            TripwireInput::Looked { watch, sight } => self.looked(now, watch, sight),
            TripwireInput::Claimed(won) => self.claimed(now, won),
            TripwireInput::Cascade(input) => self.cascade(now, input),
        }
    }

    /// After a restart the cascade begins again: every order of it may be given twice.
    fn started(&mut self, now: Steady) -> Vec<TripwireEffect> {
        self.bad = 0;
        self.claiming = None;
        match self.cascade.take() {
            Some(old) if !self.sound.has(Flaw::TripwireForgets) => {
                self.undo(now, old.episode, old.wanted, old.candidate)
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// It is left to them, and the record closed so that work can go on when they are done.
    fn acknowledged(&mut self) -> Vec<TripwireEffect> {
        let Some(cascade) = self.cascade.take() else { return Vec::new() };
        self.known = None;
        self.undone = Some(cascade.episode);
        vec![TripwireEffect::Claim(Claim::Close { by: Owner::Tripwire })]
    }

    fn looked(&mut self, now: Steady, watch: Watch, sight: Sight) -> Vec<TripwireEffect> {
        self.read(watch);
        if self.claiming.as_ref().is_some_and(|claiming| now >= claiming.until) {
            self.claiming = None;
            self.bad = 0;
        }
        // Another episode is open: what this one was undoing is settled, whoever did it.
        let is_over =
            |cascade: &Cascade| self.known.as_ref().is_some_and(|record| record.episode != cascade.episode);
        if self.cascade.as_ref().is_some_and(is_over) {
            self.undone = self.cascade.take().map(|cascade| cascade.episode);
        }
        if self.cascade.is_some() || self.claiming.is_some() {
            return Vec::new();
        }
        let Some(record) = self.known.clone() else {
            self.bad = 0;
            return Vec::new();
        };
        let is_claimed = record.state == (WindowState::Undoing { by: Owner::Tripwire });
        match (is_claimed, self.undone.as_ref() == Some(&record.episode)) {
            // Its closing was lost.
            (true, true) => vec![TripwireEffect::Claim(Claim::Close { by: Owner::Tripwire })],
            // A claim that was won just before a restart.
            (true, false) if self.sound.has(Flaw::TripwireForgets) => Vec::new(),
            (true, false) => self.undo(now, record.episode, record.known_good, record.candidate),
            (false, true) => Vec::new(),
            (false, false) => self.judge(now, record, sight),
        }
    }

    fn read(&mut self, watch: Watch) {
        let before = self.known.as_ref().map(|record| record.episode.clone());
        match watch {
            Watch::Record(record) if record.state != WindowState::Closed => self.known = Some(record),
            Watch::Record(_) | Watch::Nothing => self.known = None,
            Watch::Unreadable if self.sound.has(Flaw::UnreadableIsClosed) => self.known = None,
            Watch::Unreadable => {}
        }
        // What was bad about one episode says nothing about the next.
        if self.known.as_ref().map(|record| &record.episode) != before.as_ref() {
            self.bad = 0;
        }
    }

    fn judge(&mut self, now: Steady, record: WindowRecord, sight: Sight) -> Vec<TripwireEffect> {
        if !self.may_judge(&record, now) {
            self.bad = 0;
            return Vec::new();
        }
        match sight {
            // Three in a row, and not three in hours of which nobody could tell anything.
            Sight::Well | Sight::Unsure => self.bad = 0,
            Sight::Bad => self.bad = self.bad.saturating_add(1),
        }
        let needed = if self.sound.has(Flaw::NoDebounce) { 1 } else { DEBOUNCE };
        if self.bad < needed {
            return Vec::new();
        }
        let WindowRecord { episode, known_good, candidate, .. } = record;
        self.claiming = Some(Claiming { episode, known_good, candidate, until: now.plus(CLAIM_WITHIN) });
        vec![TripwireEffect::Claim(Claim::Undo { by: Owner::Tripwire })]
    }

    fn may_judge(&self, record: &WindowRecord, now: Steady) -> bool {
        let no_grace = self.sound.has(Flaw::TripwireNoGrace);
        match record.state {
            // Being activated: an activation that never ends is undone by the lease.
            WindowState::Open => no_grace || now > record.deadline,
            WindowState::Active { since } => no_grace || now >= since.plus(GRACE),
            WindowState::Keeping { since } => now >= since.plus(KEEPING_WITHIN),
            WindowState::Probation { until } => now < until,
            // The controller undoes it; if it died, the target's lease or its next start does.
            WindowState::Undoing { .. } | WindowState::Closed => false,
        }
    }

    /// What is undone is what was claimed, whatever was read since. An answer that no claim waits for changes nothing.
    fn claimed(&mut self, now: Steady, won: bool) -> Vec<TripwireEffect> {
        let Some(claiming) = self.claiming.take() else { return Vec::new() };
        self.bad = 0;
        if won || self.sound.has(Flaw::BothOwnersAct) {
            return self.undo(now, claiming.episode, claiming.known_good, claiming.candidate);
        }
        Vec::new()
    }

    fn undo(
        &mut self,
        now: Steady,
        episode: EpisodeId,
        wanted: Identity,
        candidate: Identity,
    ) -> Vec<TripwireEffect> {
        let (cascade, order) = Cascade::begin(
            episode.clone(),
            wanted,
            candidate,
            self.second_route,
            self.reboot,
            now,
            self.sound,
        );
        self.cascade = Some(cascade);
        vec![TripwireEffect::Order { episode, wanted, order }]
    }

    fn cascade(&mut self, now: Steady, input: CascadeInput) -> Vec<TripwireEffect> {
        let Some(cascade) = &mut self.cascade else { return Vec::new() };
        let (episode, wanted) = (cascade.episode.clone(), cascade.wanted);
        match cascade.step(now, input) {
            CascadeStep::Nothing => Vec::new(),
            CascadeStep::Do(order) => vec![TripwireEffect::Order { episode, wanted, order }],
            CascadeStep::Ended(end) => {
                self.cascade = None;
                self.known = None;
                self.undone = Some(episode.clone());
                vec![
                    TripwireEffect::Undone { episode, end },
                    TripwireEffect::Claim(Claim::Close { by: Owner::Tripwire }),
                ]
            }
        }
    }
}

#[cfg(test)]
mod tests;
