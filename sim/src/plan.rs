//! What a seed says: which world it is, and everything that will go wrong in it. Drawn once, before anything happens.

use std::fmt;
use std::time::Duration;

use holdfast_steward::ladder::Level;
use holdfast_steward_host::Quirk;

use crate::chance::Chance;

pub const SECOND: u64 = 1000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;
/// Where time begins: far enough from zero for a day of history before it.
pub const BEGIN: u64 = 48 * HOUR;

/// A world before it begins.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub ends: u64,
    /// From here on nothing goes wrong any more.
    pub last_fault: u64,
    pub level: Level,
    pub brain: Brain,
    /// How candidates behave, in the order they are staged; the last one for all that follow.
    pub quirks: Vec<Quirk>,
    pub person: Person,
    pub controllers: usize,
    pub second_route: bool,
    pub reboot: bool,
    pub no_endpoints: bool,
    /// The workload wants more memory than it may have, from the start.
    pub starving: bool,
    pub asks: Vec<u64>,
    /// When the pressure rises for good, and to what.
    pub shift: Option<(u64, f64)>,
    pub faults: Vec<Fault>,
}

/// What brains do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brain {
    /// One bounded change.
    Helps,
    /// The built-in rules.
    Rules,
    /// A setting that needs a person.
    TierTwo,
    /// A change that needs the unit to be started again.
    Restarts,
    /// Beyond every bound.
    Overreaches,
    /// Two settings that have nothing to do with each other.
    Doubles,
    /// Says that the old value is another one.
    Lies,
    /// A megabyte of nothing.
    Floods,
    Hangs,
    Garbles,
    /// Something else each time.
    Mixed,
}

/// What the person in the world does when asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    Approves,
    Rejects,
    Silent,
    /// Approves something else first, and the right thing later or never.
    Muddles,
}

/// One thing that goes wrong, from when, for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    pub at: u64,
    pub lasts: u64,
    pub kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    ControllerDies,
    /// Dies as it is about to carry out the effect with this number.
    ControllerDiesAtEffect(u32),
    TripwireDies,
    TripwireFreezes,
    HostCrashes,
    HostHangs,
    /// Messages are lost, so many of a hundred.
    Loses(u64),
    Doubles(u64),
    /// Late by up to so many seconds, and so out of order.
    Delays(u64),
    FirstRouteDown,
    /// The target answers nobody from outside; it is well.
    TargetCutOff,
    /// The controller's own network; whether the provider can still be reached.
    ControllerCutOff {
        provider: bool,
    },
    ProviderDown,
    /// Probes fail so many of a hundred times although all is well.
    Flaps(u64),
    MonitorFreezes,
    /// The next activation or restore stops half way.
    HalfDone,
    /// The next restore is accepted, and nothing comes of it.
    Lies,
    ControllerDiskFull,
    TargetDiskFull,
    /// The wall clock jumps by so many minutes.
    ClockJumps(i64),
    ClockUnsure,
    /// The controller's own clock runs at so many percent: a machine that is starved of time.
    ClockSlow(u64),
    /// Every probe fails for a few seconds.
    Blip,
    PersonDeploys,
    PersonEdits,
    PersonPauses,
    PersonRollsBack,
    PersonRaisesLevel,
    PersonLowersLevel,
    CollectionStops,
    RecordUnreadable,
    /// Activations take long, and the service takes its time to answer after each.
    SlowStarts,
    WorkInFlight,
}

impl FaultKind {
    /// What a trial that does no harm must survive: a world with nothing but these keeps what helps.
    pub fn is_tolerable(self) -> bool {
        matches!(
            self,
            FaultKind::Doubles(_)
                | FaultKind::ClockJumps(_)
                | FaultKind::ClockUnsure
                | FaultKind::SlowStarts
                | FaultKind::ProviderDown
                | FaultKind::Blip
        )
    }

    pub fn name(self) -> &'static str {
        match self {
            FaultKind::ControllerDies => "controller_dies",
            FaultKind::ControllerDiesAtEffect(_) => "controller_dies_at_effect",
            FaultKind::TripwireDies => "tripwire_dies",
            FaultKind::TripwireFreezes => "tripwire_freezes",
            FaultKind::HostCrashes => "host_crashes",
            FaultKind::HostHangs => "host_hangs",
            FaultKind::Loses(_) => "messages_lost",
            FaultKind::Doubles(_) => "messages_doubled",
            FaultKind::Delays(_) => "messages_delayed",
            FaultKind::FirstRouteDown => "first_route_down",
            FaultKind::TargetCutOff => "target_cut_off",
            FaultKind::ControllerCutOff { .. } => "controller_cut_off",
            FaultKind::ProviderDown => "provider_down",
            FaultKind::Flaps(_) => "probes_flap",
            FaultKind::MonitorFreezes => "monitor_freezes",
            FaultKind::HalfDone => "half_done",
            FaultKind::Lies => "target_lies",
            FaultKind::ControllerDiskFull => "controller_disk_full",
            FaultKind::TargetDiskFull => "target_disk_full",
            FaultKind::ClockJumps(_) => "clock_jumps",
            FaultKind::ClockUnsure => "clock_unsure",
            FaultKind::ClockSlow(_) => "clock_slow",
            FaultKind::Blip => "blip",
            FaultKind::PersonDeploys => "person_deploys",
            FaultKind::PersonEdits => "person_edits",
            FaultKind::PersonPauses => "person_pauses",
            FaultKind::PersonRollsBack => "person_rolls_back",
            FaultKind::PersonRaisesLevel => "person_raises_level",
            FaultKind::PersonLowersLevel => "person_lowers_level",
            FaultKind::CollectionStops => "collection_stops",
            FaultKind::RecordUnreadable => "record_unreadable",
            FaultKind::SlowStarts => "slow_starts",
            FaultKind::WorkInFlight => "work_in_flight",
        }
    }

    pub const NAMES: [&'static str; 33] = [
        "controller_dies",
        "controller_dies_at_effect",
        "tripwire_dies",
        "tripwire_freezes",
        "host_crashes",
        "host_hangs",
        "messages_lost",
        "messages_doubled",
        "messages_delayed",
        "first_route_down",
        "target_cut_off",
        "controller_cut_off",
        "provider_down",
        "probes_flap",
        "monitor_freezes",
        "half_done",
        "target_lies",
        "controller_disk_full",
        "target_disk_full",
        "clock_jumps",
        "clock_unsure",
        "clock_slow",
        "blip",
        "person_deploys",
        "person_edits",
        "person_pauses",
        "person_rolls_back",
        "person_raises_level",
        "person_lowers_level",
        "collection_stops",
        "record_unreadable",
        "slow_starts",
        "work_in_flight",
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} for {} s", self.kind, self.lasts / SECOND)
    }
}

impl Plan {
    pub fn draw(seed: u64) -> Plan {
        let mut chance = Chance::new(seed);
        let long = chance.percent(12);
        let busy = !long && chance.percent(15);
        let hours = if long {
            30
        } else if busy {
            16
        } else {
            5
        };
        let ends = BEGIN + hours * HOUR;
        let last_fault = if long { BEGIN + 27 * HOUR } else { ends - 2 * HOUR };
        let level = match chance.between(0, 100) {
            0..=74 => Level::TierOne,
            75..=84 => Level::ApproveEach,
            85..=93 => Level::TierTwo,
            94..=96 => Level::Plan,
            _ => Level::Observe,
        };
        let brain = match chance.between(0, 100) {
            0..=54 => Brain::Helps,
            55..=62 => Brain::Rules,
            63..=69 => Brain::Restarts,
            70..=76 => Brain::TierTwo,
            77..=80 => Brain::Overreaches,
            81..=84 => Brain::Doubles,
            85..=87 => Brain::Lies,
            88..=89 => Brain::Floods,
            90..=91 => Brain::Hangs,
            92..=93 => Brain::Garbles,
            _ => Brain::Mixed,
        };
        let quirks: Vec<Quirk> = (0..4).map(|_| draw_quirk(&mut chance, busy)).collect();
        // Where nobody can reset a host, nothing that hangs one can be undone by anybody.
        let reboot = chance.percent(85) || quirks.contains(&Quirk::HangsHost);
        let person = chance.pick(&[
            Person::Approves,
            Person::Approves,
            Person::Approves,
            Person::Rejects,
            Person::Silent,
            Person::Muddles,
        ]);
        let every = if busy { 35 * MINUTE } else { 4 * HOUR };
        let first = BEGIN + chance.between(5, 25) * MINUTE;
        let asks = (0..)
            .map(|n| first + n * every)
            .take_while(|at| *at + 100 * MINUTE < ends && !(long && *at > BEGIN + 6 * HOUR))
            .collect();
        let shift = chance.percent(30).then(|| (BEGIN + chance.between(10, 60) * MINUTE, 14.0));
        let controllers = if chance.percent(8) { 2 } else { 1 };
        let mut plan = Plan {
            seed,
            ends,
            last_fault,
            level,
            brain,
            quirks,
            person,
            controllers,
            second_route: chance.percent(70),
            reboot,
            no_endpoints: chance.percent(1),
            starving: chance.percent(10),
            asks,
            shift,
            faults: Vec::new(),
        };
        plan.faults = plan.draw_faults(&mut chance, first, busy);
        match chance.between(0, 100) {
            0..=4 => plan.make_desperate(&mut chance, first),
            5..=7 => plan.make_lonely(&mut chance, first),
            8..=9 => plan.make_deceptive(first),
            _ => {}
        }
        if long && chance.percent(50) {
            let at = BEGIN + chance.between(25 * HOUR, 27 * HOUR);
            plan.faults.push(Fault { at, lasts: 30 * SECOND, kind: FaultKind::ControllerDies });
        }
        plan
    }

    /// The controller dies after the commit, and what was kept makes the service ill: nobody but the tripwire is left, and
    /// its record cannot be read, or the target lies to it and it dies too.
    fn make_desperate(&mut self, chance: &mut Chance, first: u64) {
        let onset = chance.between(18, 40) * MINUTE;
        self.make_plain(Quirk::UnwellAfter(Duration::from_millis(onset)));
        let mut faults =
            vec![Fault { at: first + 15 * MINUTE, lasts: 100 * MINUTE, kind: FaultKind::ControllerDies }];
        if chance.percent(50) {
            faults.push(Fault {
                at: first + 14 * MINUTE,
                lasts: 100 * MINUTE,
                kind: FaultKind::RecordUnreadable,
            });
        } else {
            faults.push(Fault { at: first + 15 * MINUTE, lasts: 100 * MINUTE, kind: FaultKind::Lies });
            let at = first + onset + chance.between(60, 150) * SECOND;
            faults.push(Fault { at, lasts: chance.between(5, 60) * SECOND, kind: FaultKind::TripwireDies });
        }
        faults.sort_by_key(|fault| fault.at);
        self.faults = faults;
    }

    /// All is well but for the controller's own network.
    fn make_lonely(&mut self, chance: &mut Chance, first: u64) {
        self.make_plain(Quirk::Helps);
        let at = first + chance.between(2 * MINUTE, 10 * MINUTE);
        let lasts = chance.between(35, 300) * SECOND;
        self.faults =
            vec![Fault { at, lasts, kind: FaultKind::ControllerCutOff { provider: chance.percent(50) } }];
    }

    /// The service is down, and the monitor goes on saying that it was well.
    fn make_deceptive(&mut self, first: u64) {
        self.make_plain(Quirk::Unwell);
        self.faults =
            vec![Fault { at: first - 2 * MINUTE, lasts: 40 * MINUTE, kind: FaultKind::MonitorFreezes }];
    }

    fn make_plain(&mut self, quirk: Quirk) {
        self.quirks = vec![quirk];
        self.brain = Brain::Helps;
        self.level = Level::TierOne;
        self.starving = false;
        self.shift = None;
        self.controllers = 1;
        self.no_endpoints = false;
    }

    fn draw_faults(&self, chance: &mut Chance, first: u64, busy: bool) -> Vec<Fault> {
        // Calm worlds, worlds with one thing going wrong, and storms.
        let count = match chance.between(0, 100) {
            0..=11 => 0,
            12..=59 => 1,
            60..=84 => chance.between(2, 4),
            _ => chance.between(4, 9),
        };
        let only = chance.percent(14).then(|| draw_tolerable(chance));
        let mut faults: Vec<Fault> = (0..count)
            .map(|_| {
                let kind = only.unwrap_or_else(|| draw_kind(chance));
                // Mostly where it hurts: around the first trial. Else anywhere.
                let at = match chance.between(0, 100) {
                    0..=59 => first + chance.between(0, 20 * MINUTE),
                    60..=79 => first + chance.between(0, 3 * HOUR),
                    _ => chance.between(BEGIN, self.last_fault - HOUR / 2),
                };
                let lasts = draw_length(chance, kind).min(self.last_fault.saturating_sub(at));
                Fault { at, lasts, kind }
            })
            .filter(|fault| fault.at < self.last_fault)
            .collect();
        if busy && chance.percent(40) {
            let at = BEGIN + chance.between(6, 12) * HOUR;
            faults.push(Fault { at, lasts: 0, kind: FaultKind::ClockJumps(25 * 60) });
        }
        faults.sort_by_key(|fault| fault.at);
        faults
    }

    /// A world in which nothing goes wrong: one controller, a brain that helps, and changes that behave like this.
    pub fn calm(seed: u64, hours: u64, asks: Vec<u64>, quirk: Quirk) -> Plan {
        let mut plan = Plan::draw(seed);
        plan.make_plain(quirk);
        plan.ends = BEGIN + hours * HOUR;
        plan.last_fault = BEGIN;
        plan.asks = asks.into_iter().map(|minutes| BEGIN + minutes * MINUTE).collect();
        plan.faults = Vec::new();
        plan
    }

    /// Whether whatever goes wrong here says nothing about the change, which does no harm.
    pub fn is_blameless(&self) -> bool {
        let harmless = self.quirks.iter().all(|quirk| matches!(quirk, Quirk::Fine | Quirk::Helps));
        let is_elsewhere = |fault: &Fault| {
            matches!(
                fault.kind,
                FaultKind::ControllerDies
                    | FaultKind::ControllerDiesAtEffect(_)
                    | FaultKind::ControllerCutOff { .. }
                    | FaultKind::ControllerDiskFull
                    | FaultKind::TripwireDies
                    | FaultKind::TripwireFreezes
                    | FaultKind::ClockJumps(_)
                    | FaultKind::ClockUnsure
                    | FaultKind::MonitorFreezes
                    | FaultKind::CollectionStops
                    | FaultKind::RecordUnreadable
                    | FaultKind::PersonPauses
                    | FaultKind::PersonRollsBack
                    | FaultKind::PersonLowersLevel
                    | FaultKind::PersonRaisesLevel
                    | FaultKind::ProviderDown
            )
        };
        let faults = self.faults.iter().all(is_elsewhere);
        harmless && faults && self.shift.is_none() && !self.starving && self.controllers == 1
    }

    /// Whether nothing but what must be survived goes wrong here, and the trial itself does no harm.
    pub fn is_gentle(&self) -> bool {
        let faults = self.faults.iter().all(|fault| fault.kind.is_tolerable());
        let one = |kind| self.faults.iter().filter(|fault| fault.kind == kind).count() <= 1;
        let slow = self
            .faults
            .iter()
            .filter(|fault| matches!(fault.kind, FaultKind::SlowStarts | FaultKind::Blip))
            .count()
            <= 1
            && one(FaultKind::Blip);
        let harmless = matches!(self.quirks[0], Quirk::Fine | Quirk::Helps | Quirk::HarmsSlowly);
        let brain = self.brain == Brain::Helps || (self.brain == Brain::Restarts && !self.starving);
        let quiet = self.shift.is_none();
        faults
            && slow
            && harmless
            && brain
            && quiet
            && self.level >= Level::TierOne
            && self.controllers == 1
            && !self.no_endpoints
    }
}

fn draw_quirk(chance: &mut Chance, busy: bool) -> Quirk {
    let bad = if busy { 60 } else { 45 };
    if !chance.percent(bad) {
        return chance.pick(&[Quirk::Fine, Quirk::Helps, Quirk::Helps, Quirk::HarmsSlowly]);
    }
    match chance.between(0, 8) {
        0 | 1 => Quirk::CrashLoops,
        2 => Quirk::Starves,
        3 => Quirk::Unwell,
        4 => Quirk::CutsSsh,
        5 => Quirk::HangsHost,
        6 => Quirk::CrashesAfter(Duration::from_secs(chance.between(15 * 60, 90 * 60))),
        _ => Quirk::UnwellAfter(Duration::from_secs(chance.between(15 * 60, 90 * 60))),
    }
}

fn draw_kind(chance: &mut Chance) -> FaultKind {
    match chance.between(0, 38) {
        0 | 1 => FaultKind::ControllerDies,
        2..=4 => FaultKind::ControllerDiesAtEffect(chance.between(1, 60) as u32),
        5 => FaultKind::TripwireDies,
        6 => FaultKind::TripwireFreezes,
        7 | 8 => FaultKind::HostCrashes,
        9 => FaultKind::HostHangs,
        10 => FaultKind::Loses(chance.between(10, 60)),
        11 => FaultKind::Doubles(chance.between(20, 90)),
        12 => FaultKind::Delays(chance.between(2, 900)),
        13 => FaultKind::FirstRouteDown,
        14 => FaultKind::TargetCutOff,
        15 | 16 => FaultKind::ControllerCutOff { provider: chance.percent(40) },
        17 => FaultKind::ProviderDown,
        18 | 19 => FaultKind::Flaps(chance.between(3, 60)),
        20 => FaultKind::MonitorFreezes,
        21 => FaultKind::HalfDone,
        22 => FaultKind::Lies,
        23 => FaultKind::ControllerDiskFull,
        24 => FaultKind::TargetDiskFull,
        25 => FaultKind::ClockJumps(chance.pick(&[-600, -90, 90, 600, 1500])),
        26 => FaultKind::ClockUnsure,
        27 => FaultKind::PersonDeploys,
        28 => FaultKind::PersonEdits,
        29 => FaultKind::PersonPauses,
        30 => FaultKind::PersonRollsBack,
        31 => chance.pick(&[FaultKind::PersonRaisesLevel, FaultKind::PersonLowersLevel]),
        32 => FaultKind::CollectionStops,
        33 => FaultKind::RecordUnreadable,
        34 => FaultKind::SlowStarts,
        35 => FaultKind::ClockSlow(chance.between(40, 90)),
        36 => FaultKind::Blip,
        _ => FaultKind::WorkInFlight,
    }
}

fn draw_tolerable(chance: &mut Chance) -> FaultKind {
    chance.pick(&[
        FaultKind::SlowStarts,
        FaultKind::SlowStarts,
        FaultKind::Blip,
        FaultKind::Blip,
        FaultKind::Doubles(80),
        FaultKind::ClockJumps(1500),
        FaultKind::ProviderDown,
    ])
}

fn draw_length(chance: &mut Chance, kind: FaultKind) -> u64 {
    let short = chance.between(5, 120) * SECOND;
    let blip = chance.between(4, 16) * SECOND;
    let long = chance.between(2, 90) * MINUTE;
    match kind {
        FaultKind::Blip => blip,
        FaultKind::ClockSlow(_) => long,
        FaultKind::SlowStarts
        | FaultKind::CollectionStops
        | FaultKind::RecordUnreadable
        | FaultKind::MonitorFreezes => long,
        FaultKind::Doubles(_) | FaultKind::Delays(_) | FaultKind::Loses(_) | FaultKind::Flaps(_) => long,
        _ if chance.percent(50) => short,
        _ => long,
    }
}
