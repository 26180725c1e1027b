//! A healthy host is left alone: thousands of days of open windows in which sshd is restarted, the monitor has gaps, a VPN's hearsay is
//! wrong, and the guard's own network fails for moments and for hours. Looks are judged by the real judgement and the real decision; only
//! what is seen is made up, from when which of these lasted.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use holdfast_lifeline::{
    Identity, PERIOD, Sight, Sound, Steady, Tripwire, TripwireEffect, TripwireInput, Watch, WindowRecord,
    WindowState,
};
use holdfast_probe::Found;
use holdfast_testkit::{Rng, Seed, rounds};
use holdfast_tripwire::look::Seen;

const DAY: u64 = 86_400_000;
/// When in a look what is done, and in milliseconds.
const ENTRY_AFTER: u64 = 50;
const AGAIN_AFTER: u64 = 400;

/// What can be wrong without the target being ill, how often in a day, and how long it lasts in seconds.
struct Nuisance {
    a_day: u64,
    seconds: std::ops::Range<u64>,
}

const RESTARTS: Nuisance = Nuisance { a_day: 12, seconds: 5..11 };
const GAPS: Nuisance = Nuisance { a_day: 6, seconds: 30..7200 };
const HEARSAY: Nuisance = Nuisance { a_day: 3, seconds: 60..14_400 };
const OUTAGES: Nuisance = Nuisance { a_day: 4, seconds: 20..5400 };
const BLIPS: Nuisance = Nuisance { a_day: 10, seconds: 1..8 };

type Spells = Vec<(u64, u64)>;

fn spells(nuisance: &Nuisance, chance: &mut Rng) -> Spells {
    let mut all: Spells = (0..nuisance.a_day)
        .map(|_| {
            let from = chance.below(DAY);
            (from, from + 1000 * chance.range(nuisance.seconds.clone()))
        })
        .collect();
    all.sort_unstable();
    all
}

fn lasts(spells: &Spells, at: u64) -> bool {
    spells.iter().any(|(from, until)| (*from..*until).contains(&at))
}

struct Day {
    restarts: Spells,
    gaps: Spells,
    hearsay: Spells,
    cut_off: Spells,
}

impl Day {
    fn new(chance: &mut Rng) -> Day {
        let mut cut_off = spells(&OUTAGES, chance);
        cut_off.extend(spells(&BLIPS, chance));
        Day {
            restarts: spells(&RESTARTS, chance),
            gaps: spells(&GAPS, chance),
            hearsay: spells(&HEARSAY, chance),
            cut_off,
        }
    }

    fn look(&self, at: u64) -> Seen {
        let passed = || Found::Passed { took: Duration::from_millis(20) };
        let entry_at = at + ENTRY_AFTER;
        let away = lasts(&self.cut_off, entry_at);
        let entry = match () {
            () if away => Found::TimedOut,
            () if lasts(&self.restarts, entry_at) => Found::Failed { why: "refused".to_owned() },
            () => passed(),
        };
        let monitor = match () {
            () if away || lasts(&self.gaps, entry_at) => Found::Unknown { why: "no result".to_owned() },
            () => passed(),
        };
        let page = if away { Found::TimedOut } else { passed() };
        let vpn = if lasts(&self.hearsay, entry_at) {
            Found::Failed { why: "offline".to_owned() }
        } else {
            passed()
        };
        Seen {
            entry,
            probes: vec![(true, monitor), (true, page), (false, vpn)],
            answered_before: !lasts(&self.cut_off, at),
            answered_after: !lasts(&self.cut_off, at + AGAIN_AFTER),
        }
    }

    /// Whether anything is the matter around that moment. Looks at a host that is well need not be made one by one.
    fn is_eventful(&self, at: u64) -> bool {
        let near =
            |spells: &Spells| spells.iter().any(|(from, until)| at + 60_000 >= *from && at <= until + 60_000);
        near(&self.restarts) || near(&self.cut_off) || near(&self.gaps) || near(&self.hearsay)
    }
}

// shows: STW-336
#[test]
fn a_healthy_host_is_left_alone_for_thousands_of_days() {
    let days = rounds(2_000, 10_000);
    let seed = Seed::from_env_or(9);
    let mut chance = seed.rng();
    let (mut looks, mut bad, mut unsure) = (0_u64, 0_u64, 0_u64);
    let mut tripwire = Tripwire::new(true, true, Sound::YES);
    let record = WindowRecord {
        episode: "ep_1".parse().unwrap(),
        known_good: Identity([1; 32]),
        candidate: Identity([2; 32]),
        state: WindowState::Active { since: Steady(0) },
        deadline: Steady(u64::MAX),
    };
    for day in 1..=u64::from(days) {
        let today = Day::new(&mut chance);
        let step = PERIOD.as_millis() as u64;
        let offset = chance.below(step);
        for at in (offset..DAY).step_by(step as usize).filter(|at| today.is_eventful(*at)) {
            let sight = today.look(at).sight();
            looks += 1;
            bad += u64::from(sight == Sight::Bad);
            unsure += u64::from(sight == Sight::Unsure);
            let watch = Watch::Record(record.clone());
            let effects = tripwire.step(Steady(day * DAY + at), TripwireInput::Looked { watch, sight });
            let fired = effects.iter().any(|effect| matches!(effect, TripwireEffect::Claim(_)));
            assert!(!fired, "day {day}, {} s: {seed:?}", at / 1000);
        }
    }
    eprintln!("{days} days, {looks} looks, {bad} of them bad and {unsure} unsure");
    // Otherwise nothing was shown.
    assert!(bad > u64::from(days) && unsure > u64::from(days));
}
