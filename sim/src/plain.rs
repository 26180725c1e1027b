//! Plain episodes: one after the other on a host where nothing goes wrong, as fast as they go. For measuring, and to
//! show the runner at work.

use holdfast_lifeline::{Claim, EpisodeId, Now, Owner, Sound, Steady, WindowRecord, WindowState};
use holdfast_steward::brain::Failure;
use holdfast_steward::effect::{Compared, Full, Input, Looked, Person, Probe, TargetState, Tiding};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::invariant::Health;
use holdfast_steward::ladder::Level;
use holdfast_steward::limits::Limits;
use holdfast_steward::sample::Label;
use holdfast_steward::setting::{Property, Setting, Value};
use holdfast_steward::{Claimed, Settings};
use holdfast_steward_host::{LogFailed, MemoryLog, Outside, Quirk, Runner, SimHost};
use holdfast_types::Timestamp;

use crate::plan::{BEGIN, Plan};
use crate::setup;
use crate::world::brain::proposal;

/// Everything around the target, and all of it well.
#[derive(Debug, Default)]
struct Calm {
    window: Option<WindowRecord>,
    up: bool,
}

impl Outside for Calm {
    fn look(&mut self, now: Now, target: Option<TargetState>, ssh: Probe) -> Looked {
        let at = now.steady;
        let health = Health { healthy: true, at };
        Looked {
            ssh,
            endpoints: vec![(setup::ENDPOINT.to_owned(), Some(health))],
            references: true,
            vpn: None,
            heartbeat: Some(at),
            watched: self.window.as_ref().map(|window| window.episode.clone()),
            rehearsed: vec![("lease", Some(at)), ("first route", Some(at))],
            integrity: true,
            space_here: 20 << 30,
            target,
        }
    }

    /// Up a little and down again, so that no week has too much of it.
    fn ask(&mut self, exploration: bool, full: &Full) -> Result<String, Failure> {
        let setting = Setting { unit: setup::workload(), property: Property::CpuQuota };
        let from = full.com.value(&setting);
        self.up = !self.up;
        let to = if self.up { Value::Percent(110) } else { Value::Percent(100) };
        Ok(proposal(&setting.property, from, to, exploration))
    }

    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        self.window = Some(record);
        Claimed::Won
    }

    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        let Some(record) = self.window.as_ref().filter(|record| record.episode == *episode) else {
            return Claimed::Lost;
        };
        match record.claimed(claim) {
            Some(next) => {
                self.window = Some(next);
                Claimed::Won
            }
            None if record.state == (WindowState::Undoing { by: Owner::Tripwire }) => Claimed::Tripwire,
            None => Claimed::Lost,
        }
    }

    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {}
    fn withdraw_approval(&mut self, _: &EpisodeId) {}

    fn compare(&mut self, _: Steady) -> Compared {
        Compared { before: None, after: None, guards: Vec::new() }
    }

    fn rebase(&mut self) {}
    fn tell(&mut self, _: &Tiding) {}
}

fn at(millis: u64) -> Now {
    Now { steady: Steady(millis), wall: Timestamp::EPOCH, synced: true }
}

/// Runs so many episodes, each from the ask to the end of its probation. Gives the records.
pub fn episodes(count: u64) -> Result<Vec<Record>, LogFailed> {
    let plan = Plan::calm(1, 1, Vec::new(), Quirk::Fine);
    let limits = Limits { trials_per_day: u32::MAX, ..Limits::default() };
    let settings = Settings { limits, ..setup::settings(&plan, 0) };
    let mut host = SimHost::new(holdfast_steward_host::estate(), 1, Sound::YES);
    host.advance(Steady(BEGIN));
    let record = |event| Record { at: Steady(BEGIN), wall: Timestamp::EPOCH, synced: true, event };
    let why = "to measure".to_owned();
    let log = MemoryLog {
        records: vec![
            record(Event::Enrolled { known_good: host.running() }),
            record(Event::LevelSet { from: Level::Observe, to: Level::TierOne, by_person: true, why }),
        ],
        room: None,
    };
    let mut now = BEGIN;
    let mut runner = Runner::start(settings, log, host, Calm::default(), at(now))?;
    let by: Label = match "a person".parse() {
        Ok(by) => by,
        Err(_) => unreachable!("a good label"),
    };
    for _ in 0..count {
        now += 60_000;
        runner.driver().advance(Steady(now));
        runner.step(at(now), Input::Collected)?;
        runner.step(at(now), Input::Person(Person::Trigger { by: by.clone() }))?;
        let mut opened = false;
        while !opened || runner.steward().episode().is_some() {
            let Some(wakes) = runner.steward().wakes_at() else { break };
            now = wakes.0.max(now + 1);
            runner.driver().advance(Steady(now));
            runner.step(at(now), Input::Time)?;
            opened |= runner.steward().episode().is_some();
        }
    }
    Ok(runner.into_log().records)
}
