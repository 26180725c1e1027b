//! What a trial is judged by, what is kept of it, and what becomes of a change that did nothing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use holdfast_lifeline::{Claim, EpisodeId, Now, Steady, WindowRecord};
use holdfast_sim::plain::{self, Between, Calm, Through, Timed};
use holdfast_steward::brain::Failure;
use holdfast_steward::constitution::{Constitution, OnNeutral, Settings as Law};
use holdfast_steward::effect::{
    Answer, Asking, Compared, Fault, Full, Input, Looked, Person, Probe, TargetState, Tiding, Verb,
};
use holdfast_steward::episode::{Ending, Phase};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::invariant::Moment;
use holdfast_steward::ladder::Level;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::prediction::Came;
use holdfast_steward::retrospective::{Summary, Verdict};
use holdfast_steward::setting::{Change, Property, Setting, Value};
use holdfast_steward::trigger::Cause;
use holdfast_steward::{Claimed, Settings};
use holdfast_steward_host::{Driver, MemoryLog, Outside, Runner, SimHost, workload};
use holdfast_types::Timestamp;
use serde_json::json;

fn at(millis: u64) -> Now {
    Now { steady: Steady(millis), wall: Timestamp::EPOCH, synced: true }
}

fn by_a_person() -> Input {
    Input::Person(Person::Trigger { by: "a person".parse().unwrap() })
}

fn endings(records: &[Record]) -> Vec<Ending> {
    let ended = |record: &Record| match &record.event {
        Event::Ended { ending, .. } => Some(ending.clone()),
        _ => None,
    };
    records.iter().filter_map(ended).collect()
}

// shows: STW-073
#[test]
fn every_probe_of_the_window_is_kept_with_its_episode() {
    let mut settings = plain::settings();
    settings.rules.endpoints.truncate(1);
    let alone = Calm::but(Moment::Window, |looked| looked.endpoints.truncate(1));
    let runner = plain::run(1, settings, plain::host(), alone).unwrap();
    let records = &runner.log().records;
    let opened = records.iter().find_map(|record| match &record.event {
        Event::Opened { episode } => Some(episode.id.clone()),
        _ => None,
    });
    let kept: Vec<(String, Option<Probe>)> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Scored { episode, probes, .. } if Some(episode) == opened.as_ref() => Some(probes),
            _ => None,
        })
        .flatten()
        .map(|probe| (probe.what.clone(), probe.came))
        .collect();
    assert_eq!(kept.len(), 40, "20 cycles of two probes: {kept:?}");
    for pair in kept.chunks(2) {
        let wanted = [("ssh", Probe::Passed), ("box-1-task-runner", Probe::Passed)];
        assert_eq!(pair, wanted.map(|(what, came)| (what.to_owned(), Some(came))));
    }
    // They are there again after a restart, as they came out.
    let silent = Calm::but(Moment::Window, |looked| {
        looked.ssh = Probe::TimedOut;
        looked.endpoints[0].1 = None;
    });
    let records = plain::episodes_in(1, silent).unwrap();
    let scored = records.iter().find(|record| matches!(record.event, Event::Scored { .. })).unwrap();
    let read: Record = serde_json::from_str(&serde_json::to_string(scored).unwrap()).unwrap();
    let Event::Scored { probes, .. } = &read.event else { panic!("{read:?}") };
    let came: Vec<_> = probes.iter().map(|probe| probe.came).collect();
    assert_eq!(came, [Some(Probe::TimedOut), None, Some(Probe::Passed)]);
}

fn proposing(option: &str, old: &str, new: &str) -> String {
    json!({
        "hypothesis": "more room",
        "target_service": workload(),
        "target_option": option,
        "old_value": old,
        "new_value": new,
        "rationale": "seen",
        "verification_checks": [],
        "expected_outcome": {"metric": "psi_mem_some_avg60", "direction": "minimize", "relative_change": -0.1},
    })
    .to_string()
}

fn runner_at<O: Outside>(level: Level, settings: Settings, outside: O) -> Runner<SimHost, MemoryLog, O> {
    let host = plain::host();
    let log = plain::trusted_with(host.running(), level);
    Runner::start(settings, log, host, outside, at(BEGIN)).unwrap()
}

const BEGIN: u64 = 30 * 24 * 3_600_000;

// shows: STW-123
#[test]
fn what_a_proposal_foretells_is_written_down_and_decides_where_most_is_allowed() {
    // A tenth less is foretold, and half of that has to be there.
    let cases = [
        (Level::TierTwo, 10.0, 8.0, Came::True, Outcome::Kept),
        (Level::TierTwo, 10.0, 9.4, Came::True, Outcome::Kept),
        (Level::TierTwo, 10.0, 9.8, Came::Missed, Outcome::RolledBack),
        (Level::TierOne, 10.0, 9.8, Came::Missed, Outcome::Kept),
        (Level::TierTwo, 2.0, 2.0, Came::Untold, Outcome::Kept),
    ];
    for (level, before, meanwhile, came, outcome) in cases {
        let calm = Calm::measuring(|_| Ok(proposing("CPUQuota", "100%", "110%")), before, meanwhile);
        let mut runner = runner_at(level, plain::settings(), calm);
        plain::go_on(&mut runner, BEGIN, by_a_person, 1, |_| false).unwrap();
        let records = &runner.log().records;
        let said: Vec<_> = records
            .iter()
            .filter_map(|record| match &record.event {
                Event::Foretold { prediction, .. } => Some(prediction.clone()),
                _ => None,
            })
            .collect();
        let what = format!("{level:?}, from {before} to {meanwhile}");
        assert_eq!(said.iter().map(|one| one.came).collect::<Vec<_>>(), [came], "{what}");
        assert_eq!((said[0].before, said[0].foretold), (Some(before), -0.1), "{what}");
        let ended = endings(records);
        assert_eq!(ended.iter().map(|one| one.outcome).collect::<Vec<_>>(), [outcome], "{what}: {ended:?}");
        if outcome == Outcome::RolledBack {
            assert!(ended[0].reason.contains("did not do what it was said to do"), "{ended:?}");
            let known_good = runner.steward().known_good();
            assert_eq!(Some(runner.driver_seen().running()), known_good, "it runs what it ran before");
        }
        let story: Vec<String> = holdfast_steward_host::story::episodes(&runner.log().records)
            .iter()
            .flat_map(|one| holdfast_steward_host::story::tell(&runner.log().records, &one.episode))
            .map(|line| line.what)
            .collect();
        assert!(story.iter().any(|line| line.contains("would change by -10 %")), "{what}: {story:#?}");
    }
}

// shows: STW-262
#[test]
fn a_change_of_the_second_tier_is_tried_with_a_person_s_yes_and_held_to_what_it_foretells() {
    for (meanwhile, outcome) in [(8.0, Outcome::Kept), (9.9, Outcome::RolledBack)] {
        // A weight has never been set on it: giving one is for people to allow.
        let calm = Calm::measuring(|_| Ok(proposing("CPUWeight", "unset", "200")), 10.0, meanwhile);
        let mut runner = runner_at(Level::TierTwo, plain::settings(), calm);
        let waits = |event: &Event| matches!(event, Event::Moved { phase, .. } if matches!(**phase, Phase::Waiting { .. }));
        let now = plain::go_on(&mut runner, BEGIN, by_a_person, 1, waits).unwrap();
        let steward = runner.steward();
        let open = steward.episode().map(|episode| (episode.id.clone(), episode.phase.name()));
        let (episode, phase) = open.unwrap_or_else(|| panic!("{:?}", endings(&runner.log().records)));
        assert_eq!(phase, "waiting");
        let digest = steward.approval_wanted().unwrap();
        assert_eq!(runner.driver_seen().running(), steward.known_good().unwrap(), "nothing before the yes");
        runner.step(at(now + 1), Input::Approval { episode, digest, allowed: true }).unwrap();
        live_until_it_ends(&mut runner, now + 1);
        let ended = endings(&runner.log().records);
        assert_eq!(ended.last().map(|one| one.outcome), Some(outcome), "{meanwhile}: {ended:?}");
    }
}

/// Wakes it whenever it wants to be, until nothing is open.
fn live_until_it_ends<D: Driver + Timed, O: Outside>(runner: &mut Runner<D, MemoryLog, O>, from: u64) {
    let mut now = from;
    while runner.steward().episode().is_some() {
        now = runner.steward().wakes_at().unwrap().0.max(now + 1);
        runner.driver().advance(Steady(now));
        runner.step(at(now), Input::Time).unwrap();
    }
}

/// A target does what it is told while the connection dies over it, and nobody reaches it for a while after.
struct Cut {
    now: Steady,
    word: &'static str,
    /// Whether the connection has died, and until when nobody gets through.
    died: Option<Steady>,
}

impl Cut {
    fn is_away(&self) -> bool {
        self.died.is_some_and(|until| self.now < until)
    }
}

impl Between for Cut {
    fn advance(&mut self, host: &mut SimHost, to: Steady) {
        self.now = self.now.max(to);
        host.advance(self.now);
    }

    fn call(&mut self, host: &mut SimHost, verb: &Verb) -> Result<Answer, Fault> {
        if self.is_away() {
            return Err(Fault::Unreachable);
        }
        let answer = host.call(verb);
        if verb.name() == self.word && self.died.is_none() {
            self.died = Some(self.now.plus(Duration::from_secs(20)));
            return Err(Fault::Unreachable);
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
        if self.is_away() { Err(Fault::Unreachable) } else { host.state(full, renew, about) }
    }
}

// shows: STW-164, STW-281
#[test]
fn what_was_begun_is_finished_although_the_connection_died_over_it() {
    let ill = || Calm::but(Moment::Window, |looked| looked.endpoints.iter_mut().for_each(|it| it.1 = None));
    let cases = [
        ("try", Calm::default(), Outcome::Kept),
        ("keep", Calm::default(), Outcome::Kept),
        ("restore", ill(), Outcome::RolledBack),
    ];
    for (word, calm, outcome) in cases {
        let cut = Through::of(Cut { now: Steady(0), word, died: None });
        let before = cut.host.running();
        let runner = plain::run(1, plain::settings(), cut, calm).unwrap();
        let ended: Vec<_> = endings(&runner.log().records).into_iter().map(|one| one.outcome).collect();
        assert!(runner.driver_seen().between.died.is_some(), "{word}: the connection was never cut");
        let interrupted = outcome == Outcome::RolledBack && ended == [Outcome::Interrupted];
        assert!(ended == [outcome] || interrupted, "{word}: {ended:?}");
        let runs = runner.driver_seen().host.running();
        assert_eq!(runs == before, outcome == Outcome::RolledBack, "{word}");
        assert_eq!(runner.steward().known_good(), Some(runs), "{word}: and it is known");
    }
}

// shows: STW-176
#[test]
fn a_window_that_fails_is_undone_remembered_and_told() {
    let unhealthy: fn(&mut Looked) = |looked| {
        for (_, health) in &mut looked.endpoints {
            if let Some(health) = health {
                health.healthy = false;
            }
        }
    };
    let told = Rc::new(RefCell::new(Vec::new()));
    let outside = Calm::but(Moment::Window, unhealthy).heard_by(&told);
    let host = plain::host();
    let before = host.running();
    let runner = plain::run(1, plain::settings(), host, outside).unwrap();
    let records = &runner.log().records;
    let restored = records
        .iter()
        .filter(|record| matches!(&record.event, Event::Restored { identity, .. } if *identity == before));
    assert_eq!(restored.count(), 1, "what was known to be good was seen running again");
    assert_eq!(runner.driver_seen().running(), before);
    // The next cycle is told what was tried, and that and why it was undone.
    let book = runner.steward().book();
    let record = book.standing(&runner.steward().settings().target).next().unwrap();
    assert_eq!((record.outcome, record.changes().count()), (Outcome::RolledBack, 1));
    assert!(record.content().contains(&record.reason) && !record.reason.is_empty(), "{record:?}");
    let told = told.borrow();
    assert!(
        matches!(&told[..], [Tiding::RolledBack { episode, why }] if *episode == record.episode && *why == record.reason),
        "{told:?}"
    );
    // Nothing of it was ever pushed, so there is no branch elsewhere to delete.
    assert!(!records.iter().any(|record| matches!(record.event, Event::Kept { .. })));
}

fn quota(from: u32, to: u32) -> Change {
    let setting = Setting { unit: workload(), property: Property::CpuQuota };
    Change { setting, from: Value::Percent(from), to: Value::Percent(to) }
}

/// A brain that goes back where that is asked for, and otherwise does what it was told to once.
struct GoesBack {
    calm: Calm,
    first: Option<String>,
    asked: Rc<RefCell<Vec<Vec<Vec<Change>>>>>,
    /// How the metric compares a day later: nothing has changed.
    level: f64,
}

impl Outside for GoesBack {
    fn look(&mut self, now: Now, reached: Option<TargetState>, ssh: Probe) -> Looked {
        self.calm.look(now, reached, ssh)
    }
    fn ask(&mut self, asking: Asking, _: &Full) -> Result<String, Failure> {
        self.asked.borrow_mut().push(asking.take_back.clone());
        let back = asking.take_back.first().and_then(|back| back.first());
        let answer = back.map(|change| {
            let (old, new) = (change.from.to_string(), change.to.to_string());
            proposing("CPUQuota", &old, &new)
        });
        let nothing = || json!({"no_action": "nothing is wrong"}).to_string();
        Ok(self.first.take().or(answer).unwrap_or_else(nothing))
    }
    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        self.calm.open_window(record)
    }
    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        self.calm.claim(episode, claim)
    }
    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {}
    fn withdraw_approval(&mut self, _: &EpisodeId) {}
    fn compare(&mut self, _: Steady) -> Compared {
        let day = || Summary::of_values((0..720).map(|n| self.level + f64::from(n % 3) / 10.0));
        let law = Constitution::default();
        let guards = law.guards().iter().map(|guard| holdfast_steward::retrospective::Reading {
            metric: guard.metric.clone(),
            before: Summary::of_values((0..720).map(|_| 0.0)),
            after: Summary::of_values((0..720).map(|_| 0.0)),
        });
        Compared { before: day(), after: day(), guards: guards.collect() }
    }
    fn rebase(&mut self) {}
    fn tell(&mut self, _: &Tiding) {}
}

// shows: STW-393
#[test]
fn what_had_no_effect_is_neutral_and_goes_back_once_as_people_set_it() {
    let day = 25 * 3_600_000;
    for (on_neutral, tries) in [(OnNeutral::Keep, 1), (OnNeutral::Revert, 2), (OnNeutral::ProposeRevert, 2)] {
        let law = Law { on_neutral, ..Law::default() };
        let settings = Settings { constitution: Constitution::try_from(law).unwrap(), ..plain::settings() };
        let asked = Rc::new(RefCell::new(Vec::new()));
        // A quarter less, so that the way back is a third more: further than a change may go by itself.
        let first = Some(proposing("CPUQuota", "100%", "75%"));
        let outside = GoesBack { calm: Calm::default(), first, asked: Rc::clone(&asked), level: 1.0 };
        let mut runner = runner_at(Level::TierOne, settings, outside);
        let mut now = BEGIN;
        for _ in 0..6 {
            now = plain::go_on(&mut runner, now, by_a_person, 1, |_| false).unwrap() + day;
            runner.driver().advance(Steady(now));
            runner.step(at(now), Input::Collected).unwrap();
            runner.step(at(now), Input::Time).unwrap();
        }
        let records = &runner.log().records;
        let verdicts: Vec<_> = records
            .iter()
            .filter_map(|record| match &record.event {
                Event::Retrospected { verdict, .. } => Some(verdict.clone()),
                _ => None,
            })
            .collect();
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Neutral), "{on_neutral:?}: {verdicts:?}");
        let kept: Vec<Vec<Change>> = records
            .iter()
            .filter_map(|record| match &record.event {
                Event::Kept { changes, .. } => Some(changes.clone()),
                _ => None,
            })
            .collect();
        let there_and_back = [vec![quota(100, 75)], vec![quota(75, 100)]];
        assert_eq!(kept, there_and_back[..tries], "{on_neutral:?}: {:?}", endings(records));
        let proposed = asked.borrow().iter().filter(|ways| !ways.is_empty()).count();
        let wanted = usize::from(on_neutral == OnNeutral::ProposeRevert);
        assert_eq!(proposed, wanted, "{on_neutral:?}: the way back is asked for once");
        let neutral = runner.steward().book().standing(&runner.steward().settings().target);
        assert_eq!(neutral.filter(|record| record.outcome == Outcome::Neutral).count(), tries);
        assert!(!Outcome::Neutral.is_success());
    }
}

// shows: STW-082
#[test]
fn a_failing_endpoint_and_a_kill_each_begin_a_cycle_alone() {
    let endpoint = "box-1-web".parse().unwrap();
    for cause in [Cause::MonitorFailure { endpoint }, Cause::OutOfMemory { unit: workload() }] {
        let reason = || Input::Trigger(cause.clone());
        let runner =
            plain::run_for(reason, 1, plain::settings(), plain::host(), Calm::default(), |_| false).unwrap();
        let opened: Vec<_> = runner
            .log()
            .records
            .iter()
            .filter_map(|record| match &record.event {
                Event::Opened { episode } => Some(episode.causes.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(opened, [vec![cause.clone()]]);
    }
}

/// A target fails at one word, or at what it says of itself.
struct Fails {
    at: &'static str,
    how: fn() -> Result<Answer, Fault>,
}

impl Between for Fails {
    fn call(&mut self, host: &mut SimHost, verb: &Verb) -> Result<Answer, Fault> {
        if verb.name() == self.at { (self.how)() } else { host.call(verb) }
    }

    fn state(
        &mut self,
        host: &mut SimHost,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        if self.at == "look" { Err(Fault::Unreachable) } else { host.state(full, renew, about) }
    }
}

// shows: STW-352
#[test]
fn a_step_that_fails_has_an_outcome_leaves_nothing_behind_and_is_remembered() {
    use Outcome::{Failed, GateRejected, Interrupted, RolledBack};
    type How = fn() -> Result<Answer, Fault>;
    type Around = fn() -> Calm;
    let calm: Around = || Calm::saying(|_| Ok(proposing("CPUQuota", "100%", "110%")));
    let unreachable: How = || Err(Fault::Unreachable);
    let broken: How = || Err(Fault::Broken);
    let refused: How = || Err(Fault::Refused(holdfast_lifeline::Refused::NotKnownGood));
    // Each step in its order: what fails at it, what the episode ends as, and whether anything was on the target.
    let steps: [(&str, &str, How, Around, Outcome, bool); 16] = [
        ("the first look", "look", unreachable, calm, Failed, false),
        ("the brain", "", broken, || Calm::saying(|_| Err(Failure::Network)), Failed, false),
        ("the schema", "", broken, || Calm::saying(|_| Ok("{".to_owned())), GateRejected, false),
        (
            "the policy",
            "",
            broken,
            || Calm::saying(|_| Ok(proposing("CPUQuota", "100%", "399%"))),
            GateRejected,
            false,
        ),
        ("the check, unanswered", "check", unreachable, calm, Failed, false),
        (
            "the check, refused",
            "check",
            || Ok(Answer::Checked(Err("it does not fit".to_owned()))),
            calm,
            GateRejected,
            false,
        ),
        (
            "the preflight",
            "",
            broken,
            || Calm::but(Moment::Preflight, |looked| looked.integrity = false),
            Failed,
            false,
        ),
        ("the build, unanswered", "stage", broken, calm, Failed, false),
        (
            "the build, refused",
            "stage",
            || Ok(Answer::Staged(Err("it does not build".to_owned()))),
            calm,
            GateRejected,
            false,
        ),
        ("the lease, refused", "arm", refused, calm, Failed, false),
        ("the lease, unanswered", "arm", unreachable, calm, Failed, false),
        ("the trial, refused", "try", refused, calm, Interrupted, true),
        ("the activation, unseen", "poll", unreachable, calm, Interrupted, true),
        (
            "the activation, failed",
            "poll",
            || Ok(Answer::Activation(holdfast_steward::effect::Activation::Failed)),
            calm,
            RolledBack,
            true,
        ),
        (
            "the window",
            "",
            broken,
            || {
                Calm::but(Moment::Window, |looked| {
                    looked
                        .endpoints
                        .iter_mut()
                        .filter_map(|it| it.1.as_mut())
                        .for_each(|it| it.healthy = false);
                })
            },
            RolledBack,
            true,
        ),
        ("the keeping", "keep", refused, calm, Interrupted, true),
    ];
    for (step, at, how, around, outcome, tried) in steps {
        let host = Through::of(Fails { at, how });
        let before = host.host.running();
        let mut runner = plain::run(1, plain::settings(), host, around()).unwrap();
        let ended = endings(&runner.log().records);
        let came: Vec<_> = ended.iter().map(|one| (one.outcome, one.tried)).collect();
        assert_eq!(came, [(outcome, tried)], "{step}: {ended:?}");
        assert!(!ended[0].reason.is_empty(), "{step}");
        // Nothing is left of it: no episode, no lease, nothing else running or booted into.
        assert!(runner.steward().episode().is_none(), "{step}");
        let state = runner.driver().host.state(false, None, None).unwrap();
        assert_eq!((state.running, state.boots_into, state.leased), (before, before, false), "{step}");
        // And it is remembered, with why.
        let book = runner.steward().book();
        let told: Vec<_> = book
            .standing(&runner.steward().settings().target)
            .map(|record| (record.outcome, record.reason.clone()))
            .collect();
        assert_eq!(told, [(outcome, ended[0].reason.clone())], "{step}");
    }
}
