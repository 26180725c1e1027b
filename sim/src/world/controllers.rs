//! Controllers: processes that start, die, lose their disk and their clock, and carry out what their steward says.

use std::collections::BTreeSet;
use std::time::Duration;

use holdfast_lifeline::{Channel, Claim, Now, Owner, Sound, Steady, WindowRecord, WindowState};
use holdfast_steward::detect::{Detector, Direction};
use holdfast_steward::effect::{Answer, Compared, Effect, Fault, Input, Op, Tiding, Verb};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward::retrospective::{Reading, Span, Summary};
use holdfast_steward::sample::Sample;
use holdfast_steward::trigger::Cause;
use holdfast_steward::{Claimed, Settings};
use holdfast_steward_host::{Controller, MemoryLog, SimHost};
use holdfast_types::Timestamp;

use super::{Happening, Sender, World};
use crate::plan::{BEGIN, Plan};
use crate::setup;

const COLLECT_EVERY: Duration = Duration::from_secs(120);
/// A process whose log takes nothing is started again after this.
const RETRY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Process {
    settings: Settings,
    sound: Sound,
    core: Option<Controller<MemoryLog>>,
    /// The log while nobody runs on it.
    log: Option<MemoryLog>,
    pub(crate) life: u32,
    /// Steady time at its start, and when that was.
    base: Steady,
    started: u64,
    /// How fast its clock runs, in percent of true time.
    rate: u64,
    pub(crate) wall_off: i64,
    pub(crate) synced: bool,
    /// It dies at this effect.
    pub(crate) dies_at: Option<u32>,
    pub(crate) stays_dead_for: Duration,
    pending: BTreeSet<Op>,
    wakes: Option<u64>,
    detector: Detector,
    kills: u32,
    samples: Vec<(Steady, f64)>,
}

impl Process {
    pub(crate) fn new(which: usize, plan: &Plan, host: &SimHost, sound: Sound) -> Process {
        let settings = setup::settings(plan, which);
        let wall = Timestamp::from_micros(1_790_000_000_000_000).unwrap_or(Timestamp::EPOCH);
        let record = |event| Record { at: Steady(BEGIN), wall, synced: true, event };
        // People enrolled it and raised its level before the world began.
        let records = vec![
            record(Event::Enrolled { known_good: host.running() }),
            record(Event::LevelSet {
                from: Level::Observe,
                to: plan.level,
                by_person: true,
                why: "before".to_owned(),
            }),
        ];
        Process {
            settings,
            sound,
            core: None,
            log: Some(MemoryLog { records, room: None }),
            life: 0,
            base: Steady(BEGIN),
            started: BEGIN,
            rate: 100,
            wall_off: 0,
            synced: true,
            dies_at: None,
            stays_dead_for: Duration::from_secs(30),
            pending: BTreeSet::new(),
            wakes: None,
            detector: Detector::new(),
            kills: 0,
            samples: Vec::new(),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.core.is_some()
    }

    pub(crate) fn core(&self) -> Option<&Controller<MemoryLog>> {
        self.core.as_ref()
    }

    pub(crate) fn records(&self) -> &[Record] {
        match (&self.core, &self.log) {
            (Some(core), _) => &core.log().records,
            (None, Some(log)) => &log.records,
            (None, None) => &[],
        }
    }

    pub(crate) fn level(&self) -> Level {
        self.core.as_ref().map_or(Level::Observe, |core| core.steward().level())
    }

    /// Its moment: what it believes the time is.
    pub(crate) fn now(&self, truly: u64) -> Now {
        let steady = self.steady(truly);
        let wall = 1_790_000_000_000_000 + (truly as i64 - BEGIN as i64 + self.wall_off) * 1000;
        Now { steady, wall: Timestamp::from_micros(wall).unwrap_or(Timestamp::EPOCH), synced: self.synced }
    }

    /// When this steady moment truly is.
    fn truly(&self, steady: Steady) -> u64 {
        self.started + (steady.0.saturating_sub(self.base.0) * 100).div_ceil(self.rate)
    }

    /// A true moment on its own clock.
    pub(crate) fn steady(&self, truly: u64) -> Steady {
        match truly.checked_sub(self.started) {
            Some(since) => Steady(self.base.0 + since * self.rate / 100),
            None => Steady(self.base.0.saturating_sub(self.started - truly)),
        }
    }

    /// From now on its clock runs at another rate.
    pub(crate) fn set_rate(&mut self, truly: u64, rate: u64) {
        self.base = self.steady(truly);
        self.started = truly;
        self.rate = rate;
        self.wakes = None;
    }

    pub(crate) fn expect_brain(&mut self, op: Op) {
        self.pending.insert(op);
    }

    /// The phase it was in when it died, from what it had written down.
    pub(crate) fn last_phase(&self) -> &'static str {
        self.records()
            .iter()
            .rev()
            .find_map(|record| match &record.event {
                Event::Moved { phase, .. } => Some(phase.name()),
                Event::Scored { .. } => Some("verifying"),
                Event::Opened { .. } => Some("looking"),
                Event::Ended { .. } => Some("idle"),
                _ => None,
            })
            .unwrap_or("idle")
    }

    /// A claim with its times on the machine's clock, which the tripwire beside it reads.
    fn in_machine_time(&self, claim: Claim) -> Claim {
        let machine = |steady| Steady(self.truly(steady));
        match claim {
            Claim::Activate { since } => Claim::Activate { since: machine(since) },
            Claim::Keep { since } => Claim::Keep { since: machine(since) },
            Claim::Watch { until } => Claim::Watch { until: machine(until) },
            Claim::Undo { by } => Claim::Undo { by },
            Claim::Close { by } => Claim::Close { by },
        }
    }

    pub(crate) fn set_room(&mut self, room: Option<usize>) {
        if let Some(core) = &mut self.core {
            core.log_mut().room = room;
        }
        if let Some(log) = &mut self.log {
            log.room = room;
        }
    }
}

impl World {
    pub(crate) fn start(&mut self, which: usize) {
        let truly = self.now;
        self.coverage.resumed(&self.controllers[which]);
        let process = &mut self.controllers[which];
        let Some(log) = process.log.take() else { return };
        process.life += 1;
        process.base = log.records.last().map_or(Steady(BEGIN), |record| record.at);
        process.started = truly;
        process.pending.clear();
        process.wakes = None;
        let now = process.now(truly);
        if log.room == Some(0) {
            // What is decided at the start could not be kept: it waits for room.
            process.log = Some(log);
            return self.after(RETRY, Happening::Start { which });
        }
        let Ok(mut core) = Controller::open(process.settings.clone(), log, now, process.sound) else {
            return;
        };
        let resumed = core.resume(now);
        process.core = Some(core);
        let Ok(effects) = resumed else {
            self.heed_records(which);
            return self.die(which, RETRY);
        };
        self.say("controller", || format!("{which} starts"));
        self.heed_records(which);
        self.tell_pause(which);
        self.perform_all(which, effects);
    }

    pub(crate) fn die(&mut self, which: usize, back_after: Duration) {
        let process = &mut self.controllers[which];
        let Some(core) = process.core.take() else { return };
        process.log = Some(core.into_log());
        process.dies_at = None;
        self.coverage.died(&self.controllers[which]);
        self.say("controller", || format!("{which} dies"));
        self.after(back_after, Happening::Start { which });
    }

    pub(crate) fn feed(&mut self, which: usize, input: Input) {
        let truly = self.now;
        let process = &mut self.controllers[which];
        let now = process.now(truly);
        let Some(core) = &mut process.core else { return };
        self.coverage.step(core.steward(), &input, &self.trouble);
        match core.feed(now, input) {
            Ok(effects) => {
                self.heed_records(which);
                self.perform_all(which, effects);
                if let Some(core) = &mut self.controllers[which].core
                    && core.settle().is_ok()
                {
                    self.heed_records(which);
                }
            }
            Err(_) => {
                // What was kept of it before the disk was full counts.
                self.heed_records(which);
                self.die(which, RETRY);
            }
        }
    }

    fn perform_all(&mut self, which: usize, effects: Vec<Effect>) {
        for effect in effects {
            let process = &mut self.controllers[which];
            if process.core.is_none() {
                return;
            }
            if let Some(left) = &mut process.dies_at {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    let back_after = process.stays_dead_for;
                    return self.die(which, back_after);
                }
            }
            self.perform(which, effect);
        }
        self.schedule_wake(which);
    }

    fn schedule_wake(&mut self, which: usize) {
        let process = &self.controllers[which];
        let Some(core) = &process.core else { return };
        let Some(at) = core.steward().wakes_at().map(|at| process.truly(at).max(self.now)) else { return };
        if process.wakes.is_none_or(|wakes| at < wakes) {
            self.controllers[which].wakes = Some(at);
            self.at(at, Happening::Wake { which });
        }
    }

    pub(crate) fn wake(&mut self, which: usize) {
        let process = &mut self.controllers[which];
        if process.wakes != Some(self.now) {
            return;
        }
        process.wakes = None;
        self.feed(which, Input::Time);
        self.schedule_wake(which);
    }

    /// New records are checked against what is true, in the moment they are written.
    fn heed_records(&mut self, which: usize) {
        let facts = self.facts();
        let process = &self.controllers[which];
        let records = process.records();
        let from = self.checker.seen(which).min(records.len());
        for record in &records[from..] {
            self.story.record(self.now, which, record);
            self.checker.record(which, record, &records[..from], &facts, &self.host);
        }
        self.checker.saw(which, records.len());
    }

    fn perform(&mut self, which: usize, effect: Effect) {
        let life = self.controllers[which].life;
        let from = Sender::Controller { which, life };
        match effect {
            Effect::Call { op, over, verb, within } => {
                self.expect(which, op, within);
                self.check_order(which, &verb);
                self.send(from, op, over, verb);
            }
            Effect::Reboot { op, reset, within } => {
                self.expect(which, op, within);
                self.after(Duration::from_secs(2), Happening::Reboot { from, op, reset });
            }
            Effect::Look { op, look, within } => {
                self.controllers[which].pending.insert(op);
                self.send_look(from, op, look, within);
            }
            Effect::Ask { op, asking, full, within, .. } => self.ask_brain(which, op, asking, &full, within),
            Effect::OpenWindow { op, record } => self.open_window(which, op, record),
            Effect::ClaimWindow { op, episode, claim } => {
                let claimed = self.claim(which, &episode, self.controllers[which].in_machine_time(claim));
                self.feed(which, Input::Window { op, claimed });
            }
            Effect::AskApproval { episode, digest, .. } => self.ask_person(which, episode, digest),
            Effect::WithdrawApproval { .. } | Effect::Mark { .. } => {}
            Effect::Compare { op, switched, .. } => self.compare(which, op, switched),
            Effect::Rebase => self.controllers[which].detector.rebase(&setup::CALIBRATION),
            Effect::Tell(tiding) => self.told(which, &tiding),
        }
    }

    fn told(&mut self, which: usize, tiding: &Tiding) {
        self.say("notice", || format!("{tiding:?}"));
        match tiding {
            Tiding::Drifted => self.after(Duration::from_secs(40 * 60), Happening::Accept { which }),
            Tiding::LateHarm { episode } => self.checker.late_harm.push(episode.clone()),
            Tiding::BreakerOpened => {
                self.after(Duration::from_secs(2 * 3600), Happening::ResetBreaker { which })
            }
            _ => {}
        }
    }

    fn expect(&mut self, which: usize, op: Op, within: Duration) {
        let process = &mut self.controllers[which];
        process.pending.insert(op);
        let to = Sender::Controller { which, life: process.life };
        self.after(within, Happening::Late { to, op });
    }

    /// Whether somebody still waits for this answer; takes it off the list.
    pub(crate) fn awaited(&mut self, which: usize, life: u32, op: Op) -> bool {
        let process = &mut self.controllers[which];
        process.core.is_some() && process.life == life && process.pending.remove(&op)
    }

    fn open_window(&mut self, which: usize, op: Op, record: WindowRecord) {
        let open = self.records[which].as_ref().is_some_and(|old| old.state != WindowState::Closed);
        let same = self.records[which].as_ref().is_some_and(|old| old.episode == record.episode);
        let claimed = if open && !same { Claimed::Lost } else { Claimed::Won };
        if claimed == Claimed::Won {
            let deadline = Steady(self.controllers[which].truly(record.deadline));
            self.records[which] = Some(WindowRecord { deadline, ..record });
            self.watch(which);
        }
        self.feed(which, Input::Window { op, claimed });
    }

    pub(crate) fn claim(
        &mut self,
        which: usize,
        episode: &holdfast_lifeline::EpisodeId,
        claim: Claim,
    ) -> Claimed {
        let Some(record) = self.records[which].as_ref().filter(|record| record.episode == *episode) else {
            return Claimed::Lost;
        };
        match record.claimed(claim) {
            Some(next) => {
                self.records[which] = Some(next);
                Claimed::Won
            }
            None if record.state == (WindowState::Undoing { by: Owner::Tripwire }) => Claimed::Tripwire,
            None => Claimed::Lost,
        }
    }

    /// What is ordered must be what was claimed: one owner at a time.
    fn check_order(&mut self, which: usize, verb: &Verb) {
        let state = self.records[which].as_ref().map(|record| record.state);
        if let (Verb::Keep { .. }, Some(state)) = (verb, state)
            && !matches!(state, WindowState::Keeping { .. })
        {
            let what = format!("the controller keeps while the window record says {state:?}");
            self.checker.violate(self.now, "one owner", what);
        }
    }

    fn compare(&mut self, which: usize, op: Op, switched: Steady) {
        self.controllers[which].pending.insert(op);
        let life = self.controllers[which].life;
        let mut samples = setup::past(self.plan.seed, BEGIN);
        samples.extend_from_slice(&self.controllers[which].samples);
        let sum = |span: Span| Summary::of(samples.iter().copied(), span, &[]);
        let (before, after) = (sum(Span::before(switched)), sum(Span::after(switched)));
        let quiet = |summary: Option<Summary>| {
            summary.and_then(|summary| Summary::new(0.0, 0.0, summary.count()).ok())
        };
        let guards = self.controllers[which].settings.constitution.guards().iter();
        let guards = guards
            .map(|guard| Reading { metric: guard.metric.clone(), before: quiet(before), after: quiet(after) })
            .collect();
        let answer = Ok(Answer::Compared(Compared { before, after, guards }));
        let to = Sender::Controller { which, life };
        self.after(Duration::from_millis(10), Happening::Reply { to, op, answer });
    }

    /// The collector: every two minutes, over the same network as everything else.
    pub(crate) fn collect(&mut self, which: usize) {
        self.after(COLLECT_EVERY, Happening::Collect { which });
        let reaches =
            self.reaches(which, Channel::First) && self.host.answers() && !self.trouble.collection_stopped;
        if !reaches || !self.controllers[which].is_up() {
            return;
        }
        let (metric, workload) = (self.host.metric(), self.host.workload());
        let process = &mut self.controllers[which];
        let at = process.now(self.now).steady;
        process.samples.push((at, metric));
        let killed = workload.kills > process.kills;
        process.kills = workload.kills;
        let shift = process.detector.step(&setup::CALIBRATION, Sample::known(at, metric));
        self.checker.collected(which, self.now);
        self.feed(which, Input::Collected);
        if let Some(shift) = shift {
            debug_assert!(matches!(shift.direction, Direction::Up | Direction::Down));
            let cause = Cause::RegimeChange { metric: setup::metric(), direction: shift.direction };
            self.feed(which, Input::Trigger(cause));
        }
        if killed {
            self.feed(which, Input::Trigger(Cause::OutOfMemory { unit: setup::workload() }));
        }
    }

    pub(crate) fn answer(&mut self, which: usize, life: u32, op: Op, answer: Result<Answer, Fault>) {
        if self.awaited(which, life, op) {
            self.feed(which, Input::Answered { op, answer });
        }
    }
}
