//! The loop step by step, on a modelled host: what a world is too coarse to ask.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Now, Sound, Steady};
use holdfast_sim::plain::{self, Between, Calm, Through};
use holdfast_sim::{Plan, World};
use holdfast_steward::detect::Direction;
use holdfast_steward::effect::{Answer, Effect, Fault, Input, Looked, Op, Probe, TargetState, Verb};
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::invariant::Health;
use holdfast_steward::ladder::Level;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::sample::Metric;
use holdfast_steward::trigger::Cause;
use holdfast_steward::{Settings, Step, Steward};
use holdfast_steward_host::{Driver, Quirk, SimHost};
use holdfast_types::Timestamp;

const HOUR: u64 = 3_600_000;

fn at(millis: u64) -> Now {
    Now { steady: Steady(millis), wall: Timestamp::EPOCH, synced: true }
}

fn settings() -> Settings {
    let verdict = World::new(Plan::calm(1, 1, vec![], Quirk::Fine), Sound::YES, false).run();
    verdict.stewards[0].as_ref().unwrap().settings().clone()
}

fn host() -> SimHost {
    SimHost::new(holdfast_steward_host::estate(), 1, Sound::YES)
}

/// Records of a target that may do small things alone.
fn trusted(host: &SimHost) -> Vec<Record> {
    let record = |event| Record { at: Steady(0), wall: Timestamp::EPOCH, synced: true, event };
    let why = "before".to_owned();
    vec![
        record(Event::Enrolled { known_good: host.running() }),
        record(Event::LevelSet { from: Level::Observe, to: Level::TierOne, by_person: true, why }),
    ]
}

fn steward(settings: &Settings, host: &SimHost) -> Steward {
    Steward::replay(settings.clone(), &trusted(host), at(0), Sound::YES)
}

fn looked(host: &mut SimHost, now: Steady) -> Box<Looked> {
    host.advance(now);
    let health = Health { healthy: true, at: now };
    Box::new(Looked {
        ssh: Probe::Passed,
        endpoints: vec![("box-1-task-runner".to_owned(), Some(health))],
        references: true,
        vpn: None,
        heartbeat: Some(now),
        watched: None,
        rehearsed: vec![("lease", Some(now)), ("first route", Some(now))],
        integrity: true,
        space_here: 20 << 30,
        figures: Vec::new(),
        target: host.state(true, None, None).ok(),
    })
}

fn look_of(step: &Step) -> Option<Op> {
    step.effects.iter().find_map(|effect| match effect {
        Effect::Look { op, .. } => Some(*op),
        _ => None,
    })
}

// shows: STW-084, STW-206
#[test]
fn triggers_at_the_same_instant_give_one_planner_run_a_thousand_times() {
    let (settings, mut host) = (settings(), host());
    let unit = settings.rules.workload.clone();
    for round in 0..1000_u64 {
        let mut steward = steward(&settings, &host);
        let now = HOUR + round * 7;
        steward.step(at(now - 10), Input::Collected);
        let mut causes = vec![
            Cause::RegimeChange { metric: Metric::primary(), direction: Direction::Up },
            Cause::OutOfMemory { unit: unit.clone() },
            Cause::CrashLoop { unit: unit.clone() },
        ];
        causes.rotate_left((round % 3) as usize);
        if round % 2 == 0 {
            causes.swap(0, 1);
        }
        let mut steps: Vec<Step> =
            causes.into_iter().map(|cause| steward.step(at(now), Input::Trigger(cause))).collect();
        // Somebody may look at the clock in between, or not.
        steps.extend((round % 4 != 0).then(|| steward.step(at(now + 1), Input::Time)));
        steps.push(steward.step(at(now + 2_500), Input::Time));
        let op = steps.iter().find_map(look_of).unwrap();
        steps.push(
            steward
                .step(at(now + 2_600), Input::Looked { op, looked: looked(&mut host, Steady(now + 2_600)) }),
        );
        steps.push(steward.step(at(now + 60_000), Input::Time));
        let asked = steps
            .iter()
            .flat_map(|step| &step.effects)
            .filter(|effect| matches!(effect, Effect::Ask { .. }))
            .count();
        let opened: Vec<usize> = steps
            .iter()
            .flat_map(|step| &step.records)
            .filter_map(|record| match &record.event {
                Event::Opened { episode } => Some(episode.causes.len()),
                _ => None,
            })
            .collect();
        assert_eq!((asked, opened), (1, vec![3]), "round {round}");
    }
}

fn proposal(steward: &mut Steward, host: &mut SimHost, collected: u64, asked: u64) -> (bool, Vec<Record>) {
    steward.step(at(collected), Input::Collected);
    let by = "a person".parse().unwrap();
    steward.step(at(asked - 3_000), Input::Person(holdfast_steward::effect::Person::Trigger { by }));
    let opened = steward.step(at(asked - 500), Input::Time);
    let op = look_of(&opened).unwrap();
    let seen = looked(host, Steady(asked));
    let asking = steward.step(at(asked), Input::Looked { op, looked: seen });
    // The brain is told how old the data is; the gates do not rely on it.
    let (op, fresh) = asking
        .effects
        .iter()
        .find_map(|effect| match effect {
            Effect::Ask { op, asking, .. } => Some((*op, asking.fresh)),
            _ => None,
        })
        .unwrap();
    let text = r#"{"hypothesis":"more room","target_service":"task-runner.service","target_option":"MemoryMax","old_value":"1G",
        "new_value":"1126M","rationale":"seen","verification_checks":[],
        "expected_outcome":{"metric":"psi_mem_some_avg60","direction":"minimize","relative_change":-0.1}}"#;
    let step = steward.step(at(asked + 1_000), Input::Brain { op, said: Ok(text.to_owned()) });
    (fresh, step.records)
}

// shows: STW-204, STW-386, STW-066
#[test]
fn data_older_than_ten_minutes_forces_no_action_whatever_the_brain_says() {
    let (settings, mut host) = (settings(), host());
    for (age, fresh) in [(600_000, true), (600_001, false), (3_600_000, false)] {
        let mut steward = steward(&settings, &host);
        let (seen, records) = proposal(&mut steward, &mut host, 5 * HOUR, 5 * HOUR + age);
        assert_eq!(seen, fresh, "{age}");
        let refused = records.iter().any(|record| {
            matches!(&record.event, Event::Ended { ending, .. } if ending.outcome == Outcome::GateRejected && ending.reason.contains("10 minutes"))
        });
        assert_eq!(refused, !fresh, "{age}: {records:?}");
    }
}

// shows: STW-086
#[test]
fn nothing_is_queued_with_an_open_circuit_at_the_lowest_level_or_while_paused() {
    let (settings, host) = (settings(), host());
    let cause = || Cause::OutOfMemory { unit: settings.rules.workload.clone() };
    let mut free = steward(&settings, &host);
    assert_ne!(free.step(at(HOUR), Input::Trigger(cause())).records, []);
    let mut paused = steward(&settings, &host);
    paused.step(at(HOUR), Input::Paused(true));
    assert_eq!(paused.step(at(HOUR), Input::Trigger(cause())).records, []);
    let mut new = Steward::new(settings.clone(), at(0), Sound::YES);
    new.enrol(at(0), host.running());
    assert_eq!(new.level(), Level::Observe);
    assert_eq!(new.step(at(HOUR), Input::Trigger(cause())).records, []);
    let mut records = trusted(&host);
    for serial in 0..3 {
        records.extend(ended_quota(serial, serial * HOUR, 100, 101, Outcome::RolledBack));
    }
    let mut broken = Steward::replay(settings.clone(), &records, at(9 * HOUR), Sound::YES);
    assert!(broken.breaker_is_open());
    assert_eq!(broken.step(at(9 * HOUR), Input::Trigger(cause())).records, []);
    broken.step(at(9 * HOUR), Input::Person(holdfast_steward::effect::Person::ResetBreaker));
    assert_ne!(broken.step(at(9 * HOUR), Input::Trigger(cause())).records, []);
}

/// A new target cannot be talked up the ladder.
// shows: STW-264
#[test]
fn a_level_goes_up_with_evidence_and_down_at_once() {
    let (settings, host) = (settings(), host());
    let mut new = Steward::new(settings.clone(), at(0), Sound::YES);
    new.enrol(at(0), host.running());
    for to in [Level::Plan, Level::TierOne, Level::TierTwo] {
        new.step(at(HOUR), Input::Person(holdfast_steward::effect::Person::SetLevel { to }));
        assert_eq!(new.level(), Level::Observe, "{to:?}");
    }
    // A week of collections without a gap is what the first rung asks for.
    for sample in 0..7 * 24 * 30 + 2 {
        new.step(at(HOUR + sample * 120_000), Input::Collected);
    }
    let later = HOUR + (7 * 24 * 30 + 2) * 120_000;
    new.step(at(later), Input::Person(holdfast_steward::effect::Person::SetLevel { to: Level::TierOne }));
    assert_eq!(new.level(), Level::Observe, "no rung is skipped");
    new.step(at(later), Input::Person(holdfast_steward::effect::Person::SetLevel { to: Level::Plan }));
    assert_eq!(new.level(), Level::Plan);
    new.step(at(later), Input::Person(holdfast_steward::effect::Person::SetLevel { to: Level::Observe }));
    assert_eq!(new.level(), Level::Observe);
}

/// The runner, on a host where nothing goes wrong: every episode is kept, and its story can be told from its records.
#[test]
fn plain_episodes_are_kept_one_after_the_other() {
    let records = holdfast_sim::plain::episodes(40).unwrap();
    let episodes = holdfast_steward_host::story::episodes(&records);
    assert_eq!(episodes.len(), 40);
    for episode in &episodes {
        assert!(matches!(episode.outcome, Some(Outcome::Kept | Outcome::Inconclusive)), "{episode:?}");
    }
    let story = holdfast_steward_host::story::tell(&records, &episodes[0].episode);
    let said: Vec<&str> = story.iter().map(|line| line.what.as_str()).collect();
    for part in [
        "opened because a person asked",
        "arms the lease",
        "cycle 20 of 20 passed",
        "read back from the target",
        "ended as kept",
    ] {
        assert!(said.iter().any(|line| line.contains(part)), "{part} is not in {said:#?}");
    }
}

/// Remembers for how long at most a host was armed.
struct Armed {
    caps: Rc<RefCell<Vec<Duration>>>,
}

impl Between for Armed {
    fn call(&mut self, host: &mut SimHost, verb: &Verb) -> Result<Answer, Fault> {
        if let Verb::Arm { cap, .. } = verb {
            self.caps.borrow_mut().push(*cap);
        }
        host.call(verb)
    }
}

/// A host takes its time to say all of itself, and a word to say that it is there.
struct Slow {
    took: Rc<Cell<u64>>,
    is_heard: bool,
}

impl Between for Slow {
    fn advance(&mut self, host: &mut SimHost, to: Steady) {
        self.took.set(0);
        host.advance(to);
    }

    fn call(&mut self, host: &mut SimHost, verb: &Verb) -> Result<Answer, Fault> {
        self.took.set(0);
        host.call(verb)
    }

    fn state(
        &mut self,
        host: &mut SimHost,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        self.took.set(if full { 6_000 } else { 0 });
        host.state(full, renew, about)
    }

    fn is_heard(&mut self, within: Duration) -> Result<(), Fault> {
        assert_eq!(within, Duration::from_secs(5), "one answer decides");
        if self.is_heard { Ok(()) } else { Err(Fault::TimedOut) }
    }
}

// shows: STW-283
#[test]
fn a_host_that_is_slow_to_say_everything_is_reached_when_it_answers_a_word() {
    for (is_heard, outcome) in [(true, Outcome::Kept), (false, Outcome::Failed)] {
        let took = Rc::new(Cell::new(0));
        let slow = Through::of(Slow { took: Rc::clone(&took), is_heard });
        let runner = plain::run(1, plain::settings(), slow, Calm::with_time(&took)).unwrap();
        let endings = runner.log().records.iter().filter_map(|record| match &record.event {
            Event::Ended { ending, .. } => Some((ending.outcome, ending.reason.as_str())),
            _ => None,
        });
        let endings: Vec<_> = endings.collect();
        assert!(matches!(&endings[..], [(ended, _)] if *ended == outcome), "{is_heard}: {endings:?}");
    }
}

/// The service of a host is started again so many times once something was tried.
struct Restless {
    now: Steady,
    tried: Option<Steady>,
    /// Until so long after it was tried.
    until: Duration,
}

impl Between for Restless {
    fn advance(&mut self, host: &mut SimHost, to: Steady) {
        self.now = to;
        host.advance(to);
    }

    fn call(&mut self, host: &mut SimHost, verb: &Verb) -> Result<Answer, Fault> {
        let answer = host.call(verb);
        if matches!(answer, Ok(Answer::Activation(_))) {
            self.tried.get_or_insert(self.now);
        }
        answer
    }

    fn state(
        &mut self,
        host: &mut SimHost,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        let mut state = host.state(full, renew, about)?;
        let since = self.tried.map_or(Duration::ZERO, |tried| self.now.since(tried)).min(self.until);
        let deaths = u32::from(self.tried.is_some()) + u32::try_from(since.as_secs() / 5).unwrap();
        state.workload.restarts += deaths;
        state.workload.kills += deaths;
        Ok(state)
    }
}

#[test]
fn who_was_being_killed_may_be_started_again_until_the_grace_is_over_and_nobody_else() {
    let killed = || Input::Trigger(Cause::OutOfMemory { unit: holdfast_steward_host::workload() });
    let noticed = || Input::Trigger(Cause::Routine);
    let (at_once, for_long) = (Duration::ZERO, Duration::from_secs(45));
    type Why = fn() -> Input;
    let cases: [(Why, Duration, Outcome); 3] = [
        (killed, at_once, Outcome::Kept),
        (killed, for_long, Outcome::RolledBack),
        (noticed, at_once, Outcome::RolledBack),
    ];
    for (why, until, outcome) in cases {
        let host = Through::of(Restless { now: Steady(0), tried: None, until });
        let runner = plain::run_for(why, 1, plain::settings(), host, Calm::default(), |_| false).unwrap();
        let ended = runner.log().records.iter().find_map(|record| match &record.event {
            Event::Ended { ending, .. } => Some(ending.outcome),
            _ => None,
        });
        assert_eq!(ended, Some(outcome), "{:?} for {until:?}", why());
    }
}

// shows: STW-310
#[test]
fn a_lease_outlasts_the_longest_window_by_two_minutes() {
    let caps = Rc::new(RefCell::new(Vec::new()));
    let armed = Through::of(Armed { caps: Rc::clone(&caps) });
    plain::run(1, plain::settings(), armed, Calm::default()).unwrap();
    // Ten minutes, and five cycles more after a lone failure.
    let longest = Duration::from_secs(600 + 5 * 30);
    assert_eq!(*caps.borrow(), [longest + Duration::from_secs(120)]);
}

fn kept_quota(serial: u64, at: u64, from: u32, to: u32) -> Vec<Record> {
    ended_quota(serial, at, from, to, Outcome::Kept)
}

/// Records of an episode that changed the quota of the service and ended like this.
fn ended_quota(serial: u64, at: u64, from: u32, to: u32, outcome: Outcome) -> Vec<Record> {
    use holdfast_steward::episode::{Cleared, Ending, Episode};
    use holdfast_steward::policy::Tier;
    use holdfast_steward::setting::{Change, Property, Setting, Value};
    let id: holdfast_lifeline::EpisodeId = format!("ep_{serial}").parse().unwrap();
    let setting = Setting { unit: holdfast_steward_host::workload(), property: Property::CpuQuota };
    let change = Change { setting, from: Value::Percent(from), to: Value::Percent(to) };
    let (hypothesis, tier) = ("more".to_owned(), Tier::One);
    let cleared = Cleared { changes: vec![change], tier, hypothesis, people: 0, expected: None };
    let phase = Phase::Looking { op: Op(serial), until: Steady(at) };
    let episode = Episode {
        id: id.clone(),
        causes: vec![Cause::Routine],
        exploration: false,
        reverts: None,
        opened: Steady(at),
        cleared: None,
        proposed: Vec::new(),
        refused_by: None,
        approved: false,
        phase,
    };
    let ending = Ending { outcome, reason: "seen".to_owned(), tried: true };
    let events = [
        Event::Opened { episode: Box::new(episode) },
        Event::Judged {
            episode: id.clone(),
            results: Vec::new(),
            cleared: Some(Box::new(cleared)),
            proposed: Vec::new(),
        },
        Event::Ended { episode: id, ending },
    ];
    events.map(|event| Record { at: Steady(at), wall: Timestamp::EPOCH, synced: true, event }).to_vec()
}

const DAY: u64 = 24 * HOUR;

// shows: STW-203, STW-231, STW-233, STW-263
#[test]
fn a_bound_that_is_pushed_at_gives_a_draft_and_nothing_that_could_apply_it() {
    use holdfast_steward::setting::{Change, Property, Setting, Value};
    let (settings, mut host) = (settings(), host());
    // 25 to 400: 250 % is 60 % of the way, and 251 % is more.
    for (last, drafted) in [(250, false), (251, true)] {
        let mut records = trusted(&host);
        records.extend(kept_quota(1, DAY, 200, 230));
        records.extend(kept_quota(2, 2 * DAY, 230, last));
        let now = 10 * DAY;
        let mut steward = Steward::replay(settings.clone(), &records, at(now), Sound::YES);
        steward.step(at(now), Input::Collected);
        let by = "a person".parse().unwrap();
        steward.step(at(now), Input::Person(holdfast_steward::effect::Person::Trigger { by }));
        let op = look_of(&steward.step(at(now + 3_000), Input::Time)).unwrap();
        let mut seen = looked(&mut host, Steady(now + 3_000));
        let setting = Setting { unit: holdfast_steward_host::workload(), property: Property::CpuQuota };
        let full = seen.target.as_mut().unwrap().full.as_mut().unwrap();
        let from = full.com.value(&setting);
        full.com = full.com.with(&Change { setting, from, to: Value::Percent(last) });
        let step = steward.step(at(now + 3_000), Input::Looked { op, looked: seen });
        let told = step
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Tell(holdfast_steward::effect::Tiding::Draft { .. })));
        let drawn = step.records.iter().find_map(|record| match &record.event {
            Event::Drawn { drafts } => Some(drafts.len()),
            _ => None,
        });
        assert_eq!((told, drawn), (drafted, Some(usize::from(drafted))), "{last} %");
        // Whoever plans is told too.
        let told = step.effects.iter().find_map(|effect| match effect {
            Effect::Ask { asking, .. } => Some(asking.pressed.clone()),
            _ => None,
        });
        let line = "CPUQuota of task-runner.service: 60.2 % of the way to its upper bound (25% to 400%). Warning: above 60 %; a draft is already open.";
        assert_eq!(told.unwrap(), if drafted { vec![line] } else { vec![] }, "{last} %");
        // What follows is the ordinary ask; the draft is a text and goes nowhere near the target.
        assert!(
            !step.effects.iter().any(|effect| matches!(effect, Effect::Call { .. })),
            "{:?}",
            step.effects
        );
    }
}

// shows: STW-225
#[test]
fn six_outcomes_of_one_setting_become_a_pattern_and_five_do_not() {
    let (settings, host) = (settings(), host());
    for (count, patterns) in [(5, 0), (6, 1)] {
        let enrolled = Event::Enrolled { known_good: host.running() };
        let mut records =
            vec![Record { at: Steady(0), wall: Timestamp::EPOCH, synced: true, event: enrolled }];
        for serial in 0..count {
            records.extend(kept_quota(serial, DAY + serial * DAY, 100 + serial as u32, 101 + serial as u32));
        }
        let mut steward = Steward::replay(settings.clone(), &records, at(20 * DAY), Sound::YES);
        let step = steward.step(at(20 * DAY), Input::Collected);
        assert!(
            step.records.iter().any(|record| record.event == Event::Consolidated { patterns }),
            "{:?}",
            step.records
        );
        assert_eq!(steward.book().patterns().count(), patterns);
        // The day after, nothing is due; and a restart finds the same pattern.
        assert_eq!(steward.step(at(21 * DAY), Input::Collected).records, []);
        records.extend(step.records);
        let again = Steward::replay(settings.clone(), &records, at(21 * DAY), Sound::YES);
        assert_eq!(again.book(), steward.book());
    }
}

/// A record that was opened and came to nothing is closed, whatever ends the episode: else it would bar every trial after it.
#[test]
fn an_opened_window_is_closed_whatever_ends_the_episode() {
    use holdfast_lifeline::Claim;
    use holdfast_steward::effect::{Answer, Person, Staged};
    let ends = [
        ("a restart", Input::Resumed, 0),
        ("a pause", Input::Paused(true), 0),
        ("a person", Input::Person(Person::RollBack), 0),
        ("the clock", Input::Time, 60_000),
    ];
    for (what, end, later) in ends {
        let (settings, mut host) = (settings(), host());
        let mut steward = steward(&settings, &host);
        proposal(&mut steward, &mut host, 5 * HOUR, 5 * HOUR + 60_000);
        let mut now = 5 * HOUR + 62_000;
        while !matches!(steward.episode().unwrap().phase, Phase::Opening { .. }) {
            let op = steward.episode().unwrap().phase.op().unwrap();
            let input = match &steward.episode().unwrap().phase {
                Phase::Checking { .. } => Input::Answered { op, answer: Ok(Answer::Checked(Ok(()))) },
                Phase::Staging { .. } => {
                    let changes = steward.episode().unwrap().cleared.clone().unwrap().changes;
                    let com =
                        changes.iter().fold(holdfast_steward_host::estate(), |com, change| com.with(change));
                    let staged =
                        Staged { identity: holdfast_lifeline::Identity([7; 32]), com: Box::new(com) };
                    Input::Answered { op, answer: Ok(Answer::Staged(Ok(staged))) }
                }
                Phase::Preflight { .. } => Input::Looked { op, looked: looked(&mut host, Steady(now)) },
                other => panic!("{what}: {}", other.name()),
            };
            now += 1_000;
            steward.step(at(now), input);
        }
        let step = steward.step(at(now + later), end);
        let closed = step
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::ClaimWindow { claim: Claim::Close { .. }, .. }));
        assert!(closed && steward.episode().is_none(), "{what}: {:?}", step.effects);
    }
}
