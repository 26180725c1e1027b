//! The way of one proposal, from the brain's answer to what is kept: every step in its place, and every gate failed in turn.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::cell::RefCell;
use std::rc::Rc;

use holdfast_lifeline::{Claim, EpisodeId, Now, Steady, WindowRecord};
use holdfast_sim::plain::{self, Between, Calm, Through};
use holdfast_steward::brain::Failure;
use holdfast_steward::com::Com;
use holdfast_steward::effect::{
    Answer, Asking, Compared, Fault, Full, Looked, Probe, Staged, TargetState, Tiding, Verb,
};
use holdfast_steward::episode::Ending;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::gates::{Gate, GateResult};
use holdfast_steward::outcome::{Outcome, Recall, Subject};
use holdfast_steward::properties::{PREDICATES, Predicate};
use holdfast_steward::setting::{Property, Setting};
use holdfast_steward::{Claimed, Settings, Steward};
use holdfast_steward_host::{Driver, Outside, Runner, SimHost, story};
use serde_json::json;

/// What was done, in order, whoever did it.
type Done = Rc<RefCell<Vec<String>>>;

/// What a test has the brain say.
type Says = Box<dyn FnMut(&Full) -> Result<String, Failure>>;

/// Changes what the target answers to a word.
type Answers = fn(&Verb, Answer) -> Answer;

/// What is asked of the modelled host is written down.
struct Watched {
    now: Steady,
    done: Done,
    answers: Answers,
    look_takes: u64,
    /// The time that passed while it was asked.
    slow: Rc<RefCell<u64>>,
}

impl Watched {
    fn takes(&mut self, host: &mut SimHost, millis: u64) {
        *self.slow.borrow_mut() += millis;
        self.advance(host, Steady(self.now.0 + millis));
    }
}

const CHECK_TAKES: u64 = 40_000;
const BUILD_TAKES: u64 = 400_000;

impl Between for Watched {
    fn advance(&mut self, host: &mut SimHost, to: Steady) {
        self.now = self.now.max(to);
        host.advance(self.now);
    }

    fn call(&mut self, host: &mut SimHost, verb: &Verb) -> Result<Answer, Fault> {
        let (word, takes) = match verb {
            Verb::Check { .. } => ("check", CHECK_TAKES),
            Verb::Stage { .. } => ("build", BUILD_TAKES),
            Verb::Arm { .. } => ("arm", 0),
            Verb::Try { .. } => ("try", 0),
            Verb::Poll { .. } => ("poll", 0),
            Verb::Keep { .. } => ("keep", 0),
            Verb::Restore { .. } => ("restore", 0),
            Verb::Cancel { .. } => ("cancel", 0),
        };
        self.takes(host, takes);
        note(&self.done, word);
        host.call(verb).map(|answer| (self.answers)(verb, answer))
    }

    fn state(
        &mut self,
        host: &mut SimHost,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        self.takes(host, self.look_takes);
        note(&self.done, if full { "look at everything" } else { "look" });
        host.state(full, renew, about)
    }
}

/// All is well around it, and the brain says what a test has it say.
struct Scripted {
    calm: Calm,
    done: Done,
    says: Says,
    told: Vec<Tiding>,
    slow: Rc<RefCell<u64>>,
    /// How long SSH and the service are away after an activation, and since when.
    away: (u64, Option<Steady>),
}

impl Outside for Scripted {
    fn look(&mut self, now: Now, reached: Option<TargetState>, ssh: Probe) -> Looked {
        let mut looked = self.calm.look(now, reached, ssh);
        if self.done.borrow().iter().any(|word| word == "claim: activate") {
            let since = *self.away.1.get_or_insert(now.steady);
            if now.steady.since(since).as_millis() < u128::from(self.away.0) {
                (looked.ssh, looked.target) = (Probe::Failed, None);
                looked.endpoints.iter_mut().flat_map(|(_, health)| health).for_each(|it| it.healthy = false);
            }
        }
        looked
    }
    fn ask(&mut self, _: Asking, full: &Full) -> Result<String, Failure> {
        note(&self.done, "ask");
        (self.says)(full)
    }
    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        note(&self.done, "open the window");
        self.calm.open_window(record)
    }
    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        let word = format!("{claim:?}");
        note(&self.done, &format!("claim: {}", word.split([' ', '{']).next().unwrap().to_lowercase()));
        self.calm.claim(episode, claim)
    }
    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {}
    fn withdraw_approval(&mut self, _: &EpisodeId) {}
    fn compare(&mut self, switched: Steady) -> Compared {
        self.calm.compare(switched)
    }
    fn rebase(&mut self) {}
    fn tell(&mut self, tiding: &Tiding) {
        self.told.push(tiding.clone());
    }
    fn now(&mut self, began: Now) -> Now {
        let took = std::mem::take(&mut *self.slow.borrow_mut());
        Now { steady: Steady(began.steady.0 + took), ..began }
    }
    fn stopwatch(&self) -> u64 {
        let count = self.done.borrow().len() as u64;
        note(&self.done, "gate");
        // Each gate takes longer than the one before; the last of the six far longer than it should.
        (0..=count).map(|step| step * step).sum()
    }
}

/// Writes a step down once, however often it is repeated.
fn note(done: &Done, word: &str) {
    let mut done = done.borrow_mut();
    if done.last().is_none_or(|last| last != word || word == "gate") {
        done.push(word.to_owned());
    }
}

type Ran = Runner<Through<Watched>, holdfast_steward_host::MemoryLog, Scripted>;

/// One way an episode may go. A test names what is different.
struct Script {
    settings: Settings,
    episodes: u64,
    answers: Answers,
    away: u64,
    look_takes: u64,
}

impl Default for Script {
    fn default() -> Script {
        Script { settings: plain::settings(), episodes: 1, answers: honest, away: 0, look_takes: 0 }
    }
}

impl Script {
    fn run(self, says: impl FnMut(&Full) -> Result<String, Failure> + 'static) -> Ran {
        let (done, slow) = (Done::default(), Rc::default());
        let driver = Through::of(Watched {
            now: Steady(0),
            done: Rc::clone(&done),
            answers: self.answers,
            look_takes: self.look_takes,
            slow: Rc::clone(&slow),
        });
        let says = Box::new(says);
        let outside =
            Scripted { calm: Calm::default(), done, says, told: Vec::new(), slow, away: (self.away, None) };
        plain::run(self.episodes, self.settings, driver, outside).unwrap()
    }
}

fn honest(_: &Verb, answer: Answer) -> Answer {
    answer
}

fn proposing(option: &str, old: &str, new: &str) -> String {
    json!({
        "hypothesis": "more room",
        "target_service": holdfast_steward_host::workload(),
        "target_option": option,
        "old_value": old,
        "new_value": new,
        "rationale": "seen",
        "verification_checks": [],
        "expected_outcome": {"metric": "psi_mem_some_avg60", "direction": "minimize", "relative_change": -0.1},
    })
    .to_string()
}

fn good() -> String {
    proposing("CPUQuota", "100%", "110%")
}

fn ending(records: &[Record]) -> Ending {
    let ended = |record: &Record| match &record.event {
        Event::Ended { ending, .. } => Some(ending.clone()),
        _ => None,
    };
    records.iter().find_map(ended).unwrap()
}

/// Everything any gate said, in order.
fn results(records: &[Record]) -> Vec<GateResult> {
    let said = |record: &Record| match &record.event {
        Event::Judged { results, .. } => results.clone(),
        Event::Gated { result, .. } => vec![result.clone()],
        _ => Vec::new(),
    };
    records.iter().flat_map(said).collect()
}

// shows: STW-001, STW-007, STW-124
#[test]
fn the_steps_come_in_their_one_order() {
    let ran = Script::default().run(|_| Ok(good()));
    assert_eq!(ending(&ran.log().records).outcome, Outcome::Kept);
    let done = ran.outside_seen().done.borrow().clone();
    let expected = [
        // What is true before, and what to do about it.
        "look at everything",
        "ask",
        // Schema, parse, type, policy, auditor, properties: the clock is read once before and once after each.
        "gate",
        "gate",
        "gate",
        "gate",
        "gate",
        "gate",
        "gate",
        // The two gates of the target, on the candidate as it would be.
        "check",
        "build",
        // Again, right before the trial: building may have taken minutes, and a person a day.
        "look at everything",
        "open the window",
        "arm",
        "try",
        "poll",
        "claim: activate",
    ];
    let begins: Vec<&str> =
        done.iter().map(String::as_str).skip_while(|word| *word != "look at everything").collect();
    assert_eq!(begins[..expected.len()], expected, "{done:#?}");
    // Then the window, and only then what makes it permanent.
    let rest = &begins[expected.len()..];
    let place =
        |word: &str| rest.iter().position(|it| *it == word).unwrap_or_else(|| panic!("{word}: {rest:?}"));
    assert!(place("look") < place("claim: keep"), "{rest:?}");
    assert!(place("claim: keep") < place("keep"), "{rest:?}");
    assert_eq!(rest.iter().filter(|word| ["try", "arm", "check", "build"].contains(*word)).count(), 0);
}

// shows: STW-143, STW-127, STW-128, STW-129, STW-130, STW-131, STW-133, STW-270, STW-271, STW-273
#[test]
fn a_gate_that_fails_ends_the_episode_and_is_remembered_with_option_value_and_reason() {
    fn whole(verb: &Verb, answer: Answer) -> Answer {
        if matches!(verb, Verb::Check { .. }) {
            Answer::Checked(Err("two units want it".into()))
        } else {
            answer
        }
    }
    fn build(verb: &Verb, answer: Answer) -> Answer {
        if matches!(verb, Verb::Stage { .. }) { Answer::Staged(Err("no such file".into())) } else { answer }
    }
    let no_quota = Predicate {
        name: "quota_is_left_alone",
        why: "it was the cause of an incident",
        holds: |before, after, _| {
            let setting = Setting { unit: holdfast_steward_host::workload(), property: Property::CpuQuota };
            (before.value(&setting) == after.value(&setting)).then_some(()).ok_or("the quota moves".into())
        },
    };
    let more: &'static [Predicate] = Box::leak([PREDICATES, &[no_quota]].concat().into_boxed_slice());
    type Case = (Gate, String, Answers, &'static [Predicate], &'static str, Option<&'static str>);
    let quota = Some("110%");
    let table: Vec<Case> = vec![
        (Gate::Schema, "{".into(), honest, PREDICATES, "", None),
        (Gate::Parse, proposing("CPU Quota", "100%", "110%"), honest, PREDICATES, "CPU Quota", None),
        (Gate::Type, proposing("CPUQuota", "100%", "1G"), honest, PREDICATES, "1G", None),
        (
            Gate::Policy,
            proposing("CPUQuota", "100%", "190%"),
            honest,
            PREDICATES,
            "25 % in one step",
            Some("190%"),
        ),
        // The auditor reads the table the policy reads, so nothing passes the one and fails the other.
        (Gate::Properties, good(), honest, more, "quota_is_left_alone", quota),
        (Gate::Whole, good(), whole, PREDICATES, "two units want it", quota),
        (Gate::Build, good(), build, PREDICATES, "no such file", quota),
    ];
    for (gate, text, answers, predicates, reason, value) in table {
        let settings = Settings { predicates, ..plain::settings() };
        let script = Script { settings, answers, ..Script::default() };
        let ran = script.run(move |_| Ok(text.clone()));
        let records = &ran.log().records;
        let end = ending(records);
        assert_eq!((end.outcome, end.tried), (Outcome::GateRejected, false), "{gate}: {}", end.reason);
        let results = results(records);
        let (last, before) = results.split_last().unwrap();
        assert_eq!((last.gate, last.passed), (gate, false), "{results:?}");
        assert!(before.iter().all(|result| result.passed), "{gate}: {before:?}");
        assert!(last.reason.contains(reason), "{gate}: {}", last.reason);
        // Nothing was armed or tried, and what was built is not what runs.
        let done = ran.outside_seen().done.borrow().clone();
        assert!(
            !done.iter().any(|word| ["arm", "try", "keep", "open the window"].contains(&word.as_str())),
            "{gate}: {done:?}"
        );
        // It is remembered, with what it was about where that could be read.
        let book = ran.steward().book();
        let target = "box-1".parse().unwrap();
        let kept = book.standing(&target).next().unwrap();
        assert_eq!(
            (kept.outcome, kept.gate.as_deref()),
            (Outcome::GateRejected, Some(gate.to_string().as_str()))
        );
        assert_eq!(kept.reason, end.reason);
        assert_eq!(kept.change.as_ref().map(|change| change.to.to_string()).as_deref(), value, "{gate}");
        if value.is_some() {
            assert_eq!(last.value.as_deref(), value, "{gate}");
            assert_eq!(last.option.as_deref(), Some("CPUQuota of task-runner.service"), "{gate}");
        }
    }
}

// shows: STW-149, STW-274, STW-276, STW-340, STW-346
#[test]
fn what_the_target_makes_of_a_change_is_judged_and_not_what_was_said() {
    fn altered(alter: fn(&mut Com)) -> impl Fn(&Verb, Answer) -> Answer {
        move |verb, answer| match (verb, answer) {
            (Verb::Stage { .. }, Answer::Staged(Ok(Staged { identity, mut com }))) => {
                alter(&mut com);
                Answer::Staged(Ok(Staged { identity, com }))
            }
            (_, answer) => answer,
        }
    }
    fn firewall(verb: &Verb, answer: Answer) -> Answer {
        altered(|com| com.firewall_enabled = false)(verb, answer)
    }
    fn ssh(verb: &Verb, answer: Answer) -> Answer {
        altered(|com| com.ssh_enabled = false)(verb, answer)
    }
    fn vpn(verb: &Verb, answer: Answer) -> Answer {
        altered(|com| com.vpn_enabled = Some(false))(verb, answer)
    }
    fn unit(verb: &Verb, answer: Answer) -> Answer {
        altered(|com| {
            let critical = &holdfast_steward_host::critical()[0];
            com.units.get_mut(critical).unwrap().enabled = false;
        })(verb, answer)
    }
    fn nothing(verb: &Verb, answer: Answer) -> Answer {
        altered(|com| *com = holdfast_steward_host::estate())(verb, answer)
    }
    let table: [(&str, Answers, &str); 5] = [
        ("firewall", firewall, "the firewall is not enabled"),
        ("ssh", ssh, "the SSH daemon is not enabled"),
        ("vpn", vpn, "VPN"),
        ("a critical unit", unit, "is not enabled"),
        ("nothing of it", nothing, "does not hold what was proposed"),
    ];
    for (what, answers, reason) in table {
        let ran = Script { answers, ..Script::default() }.run(|_| Ok(good()));
        let end = ending(&ran.log().records);
        assert_eq!((end.outcome, end.tried), (Outcome::GateRejected, false), "{what}: {}", end.reason);
        assert!(end.reason.starts_with("build: ") && end.reason.contains(reason), "{what}: {}", end.reason);
    }
}

// shows: STW-134
#[test]
fn how_long_each_gate_took_is_recorded_and_one_that_took_far_too_long_is_named() {
    let ran = Script::default().run(|_| Ok(good()));
    let records = &ran.log().records;
    let results = results(records);
    let asked: Vec<Gate> = results.iter().map(|result| result.gate).collect();
    assert_eq!(asked, Gate::ORDER);
    let took: Vec<u64> = results.iter().map(|result| result.millis).collect();
    assert!(took[..6].is_sorted() && took[0] > 0, "{took:?}");
    assert_eq!(took[6..], [CHECK_TAKES, BUILD_TAKES]);
    let slow: Vec<Gate> = results.iter().filter(|it| it.slower_than().is_some()).map(|it| it.gate).collect();
    assert!(slow.contains(&Gate::Whole) && !slow.contains(&Gate::Build), "{slow:?}: {took:?}");
    let episode = story::episodes(records)[0].episode.clone();
    let told: Vec<String> = story::tell(records, &episode).into_iter().map(|line| line.what).collect();
    for part in ["gate whole passed (whole took 40.0 s, usually 10.0 s)", "gate build passed"] {
        assert!(told.iter().any(|line| line == part), "{part}: {told:#?}");
    }
}

// shows: STW-199
#[test]
fn what_a_gate_refused_is_found_by_the_next_cycle() {
    let mut asked = 0;
    let ran = Script { episodes: 2, ..Script::default() }.run(move |_| {
        asked += 1;
        Ok(if asked == 1 { proposing("CPUQuota", "100%", "190%") } else { good() })
    });
    let setting = |property| Setting { unit: holdfast_steward_host::workload(), property };
    let recalled = |steward: &Steward, property| {
        let subject = Subject { target: "box-1".parse().unwrap(), setting: setting(property) };
        let recollection = steward.book().for_planning(&subject, Recall::WarningsOnly);
        let all = recollection.nearest.iter().chain(&recollection.warnings);
        all.map(|recalled| recalled.record.content()).collect::<Vec<_>>()
    };
    for similar in [Property::CpuQuota, Property::Nice] {
        let found = recalled(ran.steward(), similar);
        let told = found.iter().find(|text| text.contains("was rejected by policy"));
        let told = told.unwrap_or_else(|| panic!("{found:?}"));
        assert!(told.contains("190%") && told.contains("25 % in one step"), "{told}");
    }
    // A start later it is still known: it is in the records.
    let again = Steward::replay(
        plain::settings(),
        &ran.log().records,
        Now { steady: Steady(u64::MAX / 2), wall: holdfast_types::Timestamp::EPOCH, synced: true },
        holdfast_lifeline::Sound::YES,
    );
    assert_eq!(recalled(&again, Property::CpuQuota), recalled(ran.steward(), Property::CpuQuota));
}

// shows: STW-121
#[test]
fn that_nothing_is_to_be_done_is_an_answer_that_is_kept() {
    let ran = Script::default().run(|_| Ok(json!({"no_action": "all is well"}).to_string()));
    let end = ending(&ran.log().records);
    assert_eq!((end.outcome, end.reason.as_str(), end.tried), (Outcome::NoAction, "all is well", false));
    let done = ran.outside_seen().done.borrow().clone();
    assert!(!done.iter().any(|word| ["check", "build", "arm", "try"].contains(&word.as_str())), "{done:?}");
    assert_eq!(ran.steward().book().standing(&"box-1".parse().unwrap()).count(), 1);
}

// shows: STW-207, STW-108
#[test]
fn a_login_that_ran_out_is_told_and_opens_no_circuit() {
    let ran = Script { episodes: 12, ..Script::default() }.run(|_| Err(Failure::Auth));
    let told = ran.outside_seen().told.iter().filter(|it| **it == Tiding::AuthExpired).count();
    assert_eq!(told, 12);
    assert!(!ran.steward().breaker_is_open());
    let ended = |record: &&Record| matches!(&record.event, Event::Ended { ending, .. } if ending.outcome == Outcome::Failed);
    assert_eq!(ran.log().records.iter().filter(ended).count(), 12);
}

// shows: STW-201, STW-282
#[test]
fn what_comes_up_again_within_half_a_minute_of_an_activation_is_not_held_against_it() {
    for (away, outcome) in
        [(0, Outcome::Kept), (10_000, Outcome::Kept), (29_000, Outcome::Kept), (95_000, Outcome::RolledBack)]
    {
        let ran = Script { away, ..Script::default() }.run(|_| Ok(good()));
        let end = ending(&ran.log().records);
        assert_eq!(end.outcome, outcome, "away for {away} ms: {}", end.reason);
    }
}

// shows: STW-156
#[test]
fn ssh_that_answers_after_more_than_five_seconds_does_not_answer() {
    let taking =
        |look_takes| ending(&Script { look_takes, ..Script::default() }.run(|_| Ok(good())).log().records);
    assert_eq!(taking(5_000).outcome, Outcome::Kept);
    let late = taking(5_001);
    assert_eq!((late.outcome, late.tried), (Outcome::Failed, false));
    assert!(late.reason.contains("does not answer over SSH"), "{}", late.reason);
}
