//! The modelled host obeys the laws, and each mistake that a driver or its desk can make breaks the law that is about it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use holdfast_laws::{NotHere, Subject, laws, obeys};
use holdfast_lifeline::{EpisodeId, Flaw, Identity, Sound, Steady};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};
use holdfast_steward::setting::{Property, Setting, Value};
use holdfast_steward_host::{Driver, SimHost, estate, workload};

const MIB: u64 = 1 << 20;

/// What a driver of its own may do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// Staging already applies.
    StagingRuns,
    /// What is tried is booted into.
    TrialBoots,
    /// An identity tells when, and not what.
    IdentityCounts,
    /// Two looks differ.
    LooksWaver,
    /// What is booted into is collected.
    GarbageTakesAll,
    /// More is evaluated than was asked for.
    ChangesMore,
    /// A line that is cut still answers.
    AnswersWhenCut,
}

struct Modelled {
    host: SimHost,
    now: Steady,
    cut: bool,
    mistake: Mistake,
    looks: u64,
    collected: bool,
}

impl Modelled {
    fn new(sound: Sound, mistake: Mistake) -> Modelled {
        let host = SimHost::new(estate(), 1, sound);
        Modelled { host, now: Steady(0), cut: false, mistake, looks: 0, collected: false }
    }

    fn is_cut(&self) -> bool {
        self.cut && self.mistake != Mistake::AnswersWhenCut
    }
}

/// The line to the host, and what is wrong with it.
impl Driver for Modelled {
    fn kind(&self) -> &'static str {
        "sim"
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        if self.is_cut() {
            return Err(Fault::Unreachable);
        }
        let mut answer = self.host.call(verb);
        match (self.mistake, verb, &mut answer) {
            (Mistake::StagingRuns, Verb::Stage { .. }, _) => self.host.deploy(),
            (Mistake::IdentityCounts, Verb::Stage { .. }, Ok(Answer::Staged(Ok(staged)))) => {
                self.looks += 1;
                staged.identity = Identity([u8::try_from(self.looks).unwrap(); 32]);
            }
            (Mistake::ChangesMore, Verb::Stage { .. }, Ok(Answer::Staged(Ok(staged)))) => {
                staged.com.swap = false
            }
            _ => {}
        }
        answer
    }

    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        if self.is_cut() {
            return Err(Fault::Unreachable);
        }
        let mut state = self.host.state(full, renew, about)?;
        self.looks += 1;
        match self.mistake {
            Mistake::LooksWaver => state.people = self.looks,
            Mistake::TrialBoots => state.boots_into = state.running,
            _ => {}
        }
        Ok(state)
    }

    fn generations(&self) -> Vec<Identity> {
        let needed = self.host.boots_into();
        let hides = self.collected && self.mistake == Mistake::GarbageTakesAll;
        self.host.generations().into_iter().filter(|it| !hides || *it != needed).collect()
    }

    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        let before = self.generations().len();
        self.host.collect_garbage(keep)?;
        self.collected = true;
        Ok(before - self.generations().len())
    }

    fn reboot(&mut self, reset: bool) -> Result<(), Fault> {
        self.host.reboot(reset)
    }
}

impl Subject for Modelled {
    fn driver(&mut self) -> &mut dyn Driver {
        self
    }

    fn clock(&mut self) -> Duration {
        Duration::from_millis(self.now.0)
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.plus(span);
        self.host.advance(self.now);
    }

    fn setting(&self) -> Setting {
        Setting { unit: workload(), property: Property::MemoryMax }
    }

    fn value(&self, number: u32) -> Value {
        Value::Bytes((1100 + u64::from(number) * 10) * MIB)
    }

    fn durable(&mut self) -> String {
        format!("{:?} {}", self.host.boots_into(), self.host.base().canonical_text())
    }

    fn cut(&mut self) {
        self.cut = true;
    }

    fn join(&mut self) {
        self.cut = false;
    }

    fn boot(&mut self) -> Result<(), NotHere> {
        self.host.reboot(true).unwrap();
        self.pass(Duration::from_secs(60));
        Ok(())
    }
}

// shows: STW-265, STW-266, STW-273, STW-274, STW-287, STW-292, STW-293, STW-410
#[test]
fn the_modelled_host_obeys_every_law() {
    let report = obeys(&mut Modelled::new(Sound::YES, Mistake::None)).unwrap();
    assert_eq!(report.held, laws());
    assert_eq!(report.not_asked, []);
}

/// Which law notices it, by the beginning of its name.
#[track_caller]
fn breaks(sound: Sound, mistake: Mistake, law: &str) {
    match obeys(&mut Modelled::new(sound, mistake)) {
        Err(broken) => assert!(broken.law.starts_with(law), "{sound:?} {mistake:?}: {broken}"),
        Ok(report) => panic!("nobody noticed {sound:?} {mistake:?}: {report:?}"),
    }
}

#[test]
fn each_mistake_of_a_desk_breaks_the_law_that_is_about_it() {
    for (flaw, law) in [
        (Flaw::DriftIgnored, "what is built on something else"),
        (Flaw::CommitWhatIsStaged, "keeping takes"),
        (Flaw::NoLease, "keeping takes"),
        (Flaw::DisarmBeforeCommit, "keeping takes"),
        (Flaw::CommitLeavesLease, "keeping takes"),
        (Flaw::LeaseWithoutCap, "a lease is renewed up to its cap"),
        (Flaw::NoFence, "a lease is renewed"),
        (Flaw::RollbackByPrevious, "one episode at a time"),
    ] {
        breaks(Sound::but_for(flaw), Mistake::None, law);
    }
}

// shows: STW-265, STW-346
#[test]
fn each_mistake_of_a_driver_breaks_the_law_that_is_about_it() {
    for (mistake, law) in [
        (Mistake::StagingRuns, "checking and staging"),
        (Mistake::TrialBoots, "a trial runs"),
        (Mistake::IdentityCounts, "checking and staging"),
        (Mistake::LooksWaver, "looking"),
        (Mistake::GarbageTakesAll, "garbage"),
        (Mistake::ChangesMore, "checking and staging"),
        (Mistake::AnswersWhenCut, "a lease is renewed"),
    ] {
        breaks(Sound::YES, mistake, law);
    }
}
