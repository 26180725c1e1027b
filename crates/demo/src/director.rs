//! The director: carries shown time through the script, and time there with it.

use std::time::Duration;

use holdfast_steward_host::LogFailed;

use crate::chronicle::Facts;
use crate::scene::{self, Scene};
use crate::script::{ACTS, Act, Beat, Does, Gates, Pace, Until};
use crate::world::World;

/// Shown time goes on in steps of this: what ends a beat is seen within one of them.
pub const TICK: Duration = Duration::from_millis(50);
/// What a caption needs to be read.
const SHORTEST: Duration = Duration::from_millis(1000);

/// The demo under way: which act, which beat, how far into it, and the worlds of the acts so far.
#[derive(Debug)]
pub struct Director {
    act: usize,
    beat: usize,
    into_beat: Duration,
    shown: Duration,
    worlds: Vec<World>,
    over: bool,
}

impl Director {
    /// At the beginning of the first act.
    pub fn new() -> Result<Director, LogFailed> {
        let mut director = Director {
            act: 0,
            beat: 0,
            into_beat: Duration::ZERO,
            shown: Duration::ZERO,
            worlds: Vec::new(),
            over: false,
        };
        director.raise_curtain()?;
        Ok(director)
    }

    /// Shown time goes on by one tick. Says whether there is more to see.
    pub fn tick(&mut self) -> Result<bool, LogFailed> {
        let Some((_, beat)) = self.current().filter(|_| !self.over) else { return Ok(false) };
        let Pace(pace) = self.pace(beat);
        if let Some(world) = self.worlds.last_mut() {
            world.run_to(world.now().plus(TICK * pace))?;
        }
        self.into_beat += TICK;
        self.shown += TICK;
        let longest = Duration::from_millis(beat.shown_ms);
        let ended = self.into_beat >= longest || self.is_met(beat.until) && self.into_beat >= SHORTEST;
        if ended {
            self.next_beat()?;
        }
        Ok(!self.over)
    }

    /// How long was shown so far.
    pub fn shown(&self) -> Duration {
        self.shown
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Which act this is, and which beat of it; the first of each is 0.
    pub fn place(&self) -> (usize, usize) {
        (self.act, self.beat)
    }

    /// What is to be seen now.
    pub fn scene(&self) -> Option<Scene> {
        let (act, beat) = self.current()?;
        let world = self.worlds.last()?;
        let part = self.into_beat.as_secs_f64() / Duration::from_millis(beat.shown_ms.max(1)).as_secs_f64();
        let gates_open = match beat.gates {
            Gates::Shut | Gates::Proposed => 0,
            // The last one stays in sight for a moment before the beat is over.
            Gates::ReadOut => (part * (world.facts.gates.len() + 2) as f64) as usize,
            Gates::All => usize::MAX,
        };
        Some(scene::of(world, (self.act, act), (beat, self.pace(beat)), gates_open))
    }

    /// The acts so far: the host, who proposed there, and what is known about it.
    pub fn acts(&self) -> impl Iterator<Item = (&'static str, &'static str, &Facts)> {
        self.worlds.iter().map(|world| (world.cast().host, world.cast().brain.name(), &world.facts))
    }

    pub(crate) fn titled(&self) -> impl Iterator<Item = (&'static str, &World)> {
        ACTS.iter().map(|act| act.title).zip(&self.worlds)
    }

    fn current(&self) -> Option<(&'static Act, &'static Beat)> {
        let act = ACTS.get(self.act)?;
        Some((act, act.beats.get(self.beat)?))
    }

    /// How fast time there goes now: not at all once what the beat is about has happened.
    fn pace(&self, beat: &Beat) -> Pace {
        if self.is_met(beat.until) { Pace(0) } else { beat.pace }
    }

    fn is_met(&self, until: Until) -> bool {
        let Some(World { facts, .. }) = self.worlds.last() else { return false };
        match until {
            Until::Over => false,
            Until::Noticed => facts.noticed.is_some(),
            Until::Tried => facts.tried.is_some(),
            Until::Scored(cycles) => facts.cycles.len() >= cycles,
            Until::Back => facts.back.is_some(),
            Until::Settled => facts.settled.is_some(),
        }
    }

    fn next_beat(&mut self) -> Result<(), LogFailed> {
        self.into_beat = Duration::ZERO;
        let last_act = self.act + 1 >= ACTS.len();
        let more = ACTS.get(self.act).is_some_and(|act| self.beat + 1 < act.beats.len());
        match (more, last_act) {
            (true, _) => {
                self.beat += 1;
                self.begin_beat()
            }
            (false, false) => {
                self.act += 1;
                self.beat = 0;
                self.raise_curtain()
            }
            (false, true) => {
                self.over = true;
                Ok(())
            }
        }
    }

    fn raise_curtain(&mut self) -> Result<(), LogFailed> {
        if let Some(act) = ACTS.get(self.act) {
            self.worlds.push(World::new(act.cast)?);
        }
        self.begin_beat()
    }

    fn begin_beat(&mut self) -> Result<(), LogFailed> {
        let Some((_, beat)) = self.current() else { return Ok(()) };
        let Some(world) = self.worlds.last_mut() else { return Ok(()) };
        match beat.does {
            Does::Nothing => {}
            Does::Spike => world.spike(),
            Does::ShiftLoad => world.shift_load(),
            Does::Ask => world.ask()?,
            Does::Kill => world.kill(),
            Does::StartAnew => world.start_anew()?,
        }
        Ok(())
    }
}

/// The whole demo at once, without waiting.
pub fn whole() -> Result<Director, LogFailed> {
    let mut director = Director::new()?;
    while director.tick()? {}
    Ok(director)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_beat_waits_for_happens_in_its_time() {
        let mut director = Director::new().unwrap();
        let mut waited = 0;
        while !director.is_over() {
            let (place, until) = (director.place(), director.current().unwrap().1.until);
            let was_met = director.is_met(until);
            director.tick().unwrap();
            let left = director.is_over() || director.place() != place;
            if left && until != Until::Over {
                waited += 1;
                assert!(was_met || director.is_met(until), "act and beat {place:?}: {until:?}");
            }
        }
        assert!(waited >= 9);
    }

    #[test]
    fn the_script_alone_is_shorter_than_a_minute() {
        let longest: u64 = ACTS.iter().flat_map(|act| act.beats).map(|beat| beat.shown_ms).sum();
        assert!(longest < 60_000, "{longest} ms, even if nothing ended sooner");
    }
}
