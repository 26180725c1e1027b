//! The desk under every order of messages: two controllers with two episodes each, messages lost, doubled, late and wrong,
//! a timer that comes late, boots, and a person who does something else.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::testing::{at, episode, identity};

const LASTS: Duration = Duration::from_secs(5);
const CAP: Duration = Duration::from_secs(12);

/// What each episode wants: those of `a` follow each other, those of `b` compete with them.
const PLANS: [Plan; 4] = [
    Plan { episode: "a1", known_good: 0, candidate: 1 },
    Plan { episode: "a2", known_good: 1, candidate: 2 },
    Plan { episode: "b1", known_good: 0, candidate: 2 },
    Plan { episode: "b2", known_good: 1, candidate: 0 },
];

#[derive(Clone, Copy)]
struct Plan {
    episode: &'static str,
    known_good: u8,
    candidate: u8,
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A message of a plan arrives; the number, where there is one, names a state that is not the plan's.
    Arm(usize, Option<u8>),
    Try(usize, Option<u8>),
    Renew(usize),
    Keep(usize, Option<u8>),
    Restore(usize, Option<u8>),
    Cancel(usize),
    /// The target's own timer looks. It may be late.
    Timer,
    Boot,
    Person(u8),
    Seconds(u64),
}

fn happenings(longest: usize) -> impl Strategy<Value = Vec<Happening>> {
    let wrong = || prop_oneof![9 => Just(None), 1 => (0..4u8).prop_map(Some)];
    let plan = || 0..PLANS.len();
    vec(
        prop_oneof![
            5 => (plan(), wrong()).prop_map(|(plan, wrong)| Happening::Arm(plan, wrong)),
            5 => (plan(), wrong()).prop_map(|(plan, wrong)| Happening::Try(plan, wrong)),
            2 => plan().prop_map(Happening::Renew),
            5 => (plan(), wrong()).prop_map(|(plan, wrong)| Happening::Keep(plan, wrong)),
            2 => (plan(), wrong()).prop_map(|(plan, wrong)| Happening::Restore(plan, wrong)),
            1 => plan().prop_map(Happening::Cancel),
            1 => Just(Happening::Timer),
            1 => Just(Happening::Boot),
            1 => (0..4u8).prop_map(Happening::Person),
            3 => (0..4u64).prop_map(Happening::Seconds),
        ],
        0..longest,
    )
}

/// A target that does at once what its desk says.
#[derive(Clone, Debug)]
struct Target {
    desk: Desk,
    running: Identity,
    now: Steady,
}

/// What a message was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Taken,
    Refused(Refused),
    Restored(Restored),
}

impl Target {
    fn new() -> Target {
        Target { desk: Desk::new(identity(0), Sound::YES), running: identity(0), now: at(100) }
    }

    fn arm(&mut self, plan: Plan) -> Result<Armed, Refused> {
        let lease = Lease {
            episode: episode(plan.episode),
            known_good: identity(plan.known_good),
            candidate: identity(plan.candidate),
            lasts: LASTS,
            expires: self.now.plus(LASTS),
            cap: self.now.plus(CAP),
        };
        self.desk.arm(lease, self.running)
    }

    fn attempt(&mut self, id: &EpisodeId, candidate: Identity) -> Result<(), Refused> {
        self.desk.may_try(id, candidate, self.now)?;
        self.running = candidate;
        Ok(())
    }

    fn keep(&mut self, id: &EpisodeId, candidate: Identity) -> Result<(), Refused> {
        self.desk.keep(id, candidate, self.running, self.now)
    }

    fn restore(&mut self, id: &EpisodeId, wanted: Identity) -> Result<Restored, Refused> {
        let restored = self.desk.restore(id, wanted)?;
        if let Restored::Trial(identity) | Restored::Kept(identity) = restored {
            self.running = identity;
        }
        Ok(restored)
    }

    fn timer(&mut self) {
        if let Some(identity) = self.desk.expire(self.now) {
            self.running = identity;
        }
    }

    fn take(&mut self, happening: Happening) -> Answer {
        let taken = |answer: Result<(), Refused>| answer.map_or_else(Answer::Refused, |()| Answer::Taken);
        match happening {
            Happening::Arm(at, wrong) => {
                let plan = Plan { candidate: wrong.unwrap_or(PLANS[at].candidate), ..PLANS[at] };
                taken(self.arm(plan).map(drop))
            }
            Happening::Try(at, wrong) => {
                taken(self.attempt(&id(at), identity(wrong.unwrap_or(PLANS[at].candidate))))
            }
            Happening::Renew(at) => taken(self.desk.renew(&id(at), self.now).map(drop)),
            Happening::Keep(at, wrong) => {
                taken(self.keep(&id(at), identity(wrong.unwrap_or(PLANS[at].candidate))))
            }
            Happening::Restore(at, wrong) => self
                .restore(&id(at), identity(wrong.unwrap_or(PLANS[at].known_good)))
                .map_or_else(Answer::Refused, Answer::Restored),
            Happening::Cancel(at) => {
                self.desk.cancel(&id(at));
                Answer::Taken
            }
            Happening::Timer => {
                self.timer();
                Answer::Taken
            }
            Happening::Boot => {
                self.running = self.desk.boot();
                Answer::Taken
            }
            Happening::Person(number) => {
                self.desk.overtaken(identity(number));
                self.running = identity(number);
                Answer::Taken
            }
            Happening::Seconds(seconds) => {
                self.now = self.now.plus(Duration::from_secs(seconds));
                Answer::Taken
            }
        }
    }
}

fn id(plan: usize) -> EpisodeId {
    episode(PLANS[plan].episode)
}

/// The only three ways in which what is booted into changes.
fn check_boots_into(before: &Target, happening: Happening, answer: Answer, after: &Target) {
    let (was, is) = (before.desk.boots_into, after.desk.boots_into);
    match (happening, answer) {
        (Happening::Keep(plan, _), Answer::Taken) => {
            let lease = before.desk.lease.as_ref().filter(|lease| lease.episode == id(plan));
            match lease {
                Some(lease) => {
                    assert!(lease.expires > before.now, "kept on a lease that had run out");
                    assert_eq!((is, before.running), (lease.candidate, lease.candidate));
                    assert_eq!(was, lease.known_good);
                    assert!(after.desk.lease.is_none());
                }
                None => {
                    assert_eq!(before.desk.ending(&id(plan)), Some(Ended::Kept));
                    assert_eq!(before.desk, after.desk, "a doubled keep changed something");
                }
            }
        }
        (Happening::Restore(plan, _), Answer::Restored(Restored::Kept(to))) => {
            let kept = before.desk.kept.as_ref().unwrap();
            assert_eq!((&kept.episode, kept.replaced), (&id(plan), to));
            assert_eq!(is, to);
            assert!(after.desk.lease.is_none(), "a trial goes on over what was taken back");
        }
        (Happening::Person(number), _) => assert_eq!(is, identity(number)),
        _ => assert_eq!(was, is, "{happening:?} changed what is booted into"),
    }
}

/// No step of an episode that has ended here does anything but take back what was kept.
fn check_ended(before: &Target, happening: Happening, answer: Answer, after: &Target) {
    let (Happening::Arm(plan, _)
    | Happening::Try(plan, _)
    | Happening::Renew(plan)
    | Happening::Keep(plan, _)
    | Happening::Restore(plan, _)
    | Happening::Cancel(plan)) = happening
    else {
        return;
    };
    let Some(ended) = before.desk.ending(&id(plan)) else { return };
    match (happening, ended) {
        (Happening::Keep(..), Ended::Kept) if answer == Answer::Taken => {}
        (Happening::Restore(..), Ended::Kept) => {
            assert!(matches!(answer, Answer::Restored(Restored::Kept(_)) | Answer::Refused(Refused::Stale)));
            return;
        }
        (Happening::Restore(..), _) => assert_eq!(answer, Answer::Restored(Restored::Already(ended))),
        (Happening::Cancel(_), _) => {}
        _ => assert_eq!(answer, Answer::Refused(Refused::HasEnded(ended))),
    }
    assert_eq!(before.desk, after.desk, "{happening:?} of an ended episode changed something");
}

/// An ending stays, but that what was kept may be taken back or overtaken.
fn check_endings_stay(before: &Desk, after: &Desk) {
    for (id, ended) in &before.endings {
        let now = after.ending(id);
        let moved_on = *ended == Ended::Kept && matches!(now, Some(Ended::Restored | Ended::Overtaken));
        assert!(now == Some(*ended) || moved_on, "{id} was {ended:?} and is {now:?}");
    }
}

fn check_restored_twice(happening: Happening, answer: Answer, after: &Target) {
    let Happening::Restore(..) = happening else { return };
    let mut again = after.clone();
    let second = again.take(happening);
    assert_eq!((&again.desk, again.running), (&after.desk, after.running));
    let expected = match answer {
        Answer::Restored(Restored::Trial(_) | Restored::Kept(_)) => {
            Answer::Restored(Restored::Already(Ended::Restored))
        }
        Answer::Restored(Restored::Already(_)) | Answer::Refused(_) | Answer::Taken => answer,
    };
    assert_eq!(second, expected);
}

/// Whatever runs without being booted into has a lease, and a lease that the timer ends in time.
fn check_leased(after: &Target) {
    let Some(lease) = &after.desk.lease else {
        assert_eq!(after.running, after.desk.boots_into, "a trial goes on without a lease");
        return;
    };
    assert!(lease.expires <= lease.cap);
    assert!(after.desk.ending(&lease.episode).is_none(), "an ended episode has a lease");
    assert_eq!(lease.known_good, after.desk.boots_into);
    let mut late = after.clone();
    late.now = late.now.plus(CAP);
    late.timer();
    assert!(late.desk.lease.is_none());
    assert_eq!((late.running, late.desk.boots_into), (after.desk.boots_into, after.desk.boots_into));
}

fn read_back(desk: &Desk) -> Desk {
    serde_json::from_str(&serde_json::to_string(desk).unwrap()).unwrap()
}

fn check_story(happenings: &[Happening]) -> Target {
    let mut target = Target::new();
    for happening in happenings {
        let before = target.clone();
        let answer = target.take(*happening);
        check_boots_into(&before, *happening, answer, &target);
        check_ended(&before, *happening, answer, &target);
        check_endings_stay(&before.desk, &target.desk);
        check_restored_twice(*happening, answer, &target);
        check_leased(&target);
        let read = read_back(&target.desk);
        assert_eq!(read, target.desk);
        target.desk = read;
    }
    target
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // shows: STW-358
    #[test]
    fn no_order_of_messages_breaks_the_desk(happenings in happenings(48)) {
        check_story(&happenings);
    }
}

/// What happens to one episode while another is in the way, told one by one.
fn armed_and_tried() -> Target {
    let mut target = Target::new();
    target.arm(PLANS[0]).unwrap();
    target.attempt(&id(0), identity(1)).unwrap();
    target
}

fn kept() -> Target {
    let mut target = armed_and_tried();
    target.keep(&id(0), identity(1)).unwrap();
    target
}

#[test]
fn what_was_tried_can_be_kept_once_and_taken_back_once() {
    let mut target = kept();
    assert_eq!(target.keep(&id(0), identity(1)), Ok(()), "the answer was lost, and it is asked again");
    assert_eq!((target.desk.boots_into(), target.desk.lease()), (identity(1), None));
    assert_eq!(target.restore(&id(0), identity(0)), Ok(Restored::Kept(identity(0))));
    assert_eq!(target.keep(&id(0), identity(1)), Err(Refused::HasEnded(Ended::Restored)));
    assert_eq!(target.desk.boots_into(), identity(0));
}

#[test]
fn at_the_very_moment_a_lease_runs_out_it_is_too_late_to_keep() {
    let mut target = armed_and_tried();
    target.now = target.desk.lease().unwrap().expires;
    assert_eq!(target.keep(&id(0), identity(1)), Err(Refused::NotArmed));
    assert_eq!(target.desk.renew(&id(0), target.now), Err(Refused::NotArmed));
    assert_eq!(target.desk.expire(target.now), Some(identity(0)));
    assert_eq!(target.keep(&id(0), identity(1)), Err(Refused::HasEnded(Ended::Expired)));
}

#[test]
fn a_moment_before_a_lease_runs_out_it_can_be_kept() {
    let mut target = armed_and_tried();
    target.now = Steady(target.desk.lease().unwrap().expires.0 - 1);
    assert_eq!(target.desk.expire(target.now), None);
    assert_eq!(target.keep(&id(0), identity(1)), Ok(()));
}

#[test]
fn only_what_runs_and_was_leased_is_kept() {
    let mut target = armed_and_tried();
    assert_eq!(target.keep(&id(0), identity(2)), Err(Refused::NotTheCandidate));
    target.running = identity(0);
    assert_eq!(target.keep(&id(0), identity(1)), Err(Refused::NotTheCandidate));
    assert_eq!(target.desk.boots_into(), identity(0));
}

#[test]
fn renewals_go_on_until_the_cap_and_no_further() {
    let mut target = armed_and_tried();
    let cap = target.desk.lease().unwrap().cap;
    for _ in 0..20 {
        target.now = target.now.plus(Duration::from_secs(2));
        match target.desk.renew(&id(0), target.now) {
            Ok(armed) => assert_eq!(armed.expires, target.now.plus(LASTS).min(cap)),
            Err(refused) => assert_eq!((refused, target.now >= cap), (Refused::NotArmed, true)),
        }
    }
    assert_eq!(target.desk.expire(cap), Some(identity(0)));
}

#[test]
fn a_lease_longer_than_its_cap_is_cut_to_it() {
    let mut desk = Desk::new(identity(0), Sound::YES);
    let lease = Lease {
        episode: id(0),
        known_good: identity(0),
        candidate: identity(1),
        lasts: CAP * 2,
        expires: at(50),
        cap: at(20),
    };
    assert_eq!(desk.arm(lease, identity(0)), Ok(Armed { expires: at(20) }));
}

#[test]
fn an_arm_is_confirmed_only_for_what_is_armed() {
    let mut target = Target::new();
    let armed = target.arm(PLANS[0]).unwrap();
    target.now = target.now.plus(Duration::from_secs(1));
    assert_eq!(target.arm(PLANS[0]), Ok(armed), "a doubled arm prolongs nothing");
    assert_eq!(target.arm(Plan { candidate: 2, ..PLANS[0] }), Err(Refused::NotTheCandidate));
    assert_eq!(target.arm(PLANS[2]), Err(Refused::Busy));
    assert_eq!(target.attempt(&id(2), identity(2)), Err(Refused::NotArmed));
}

#[test]
fn nothing_is_armed_on_a_target_that_is_not_as_the_controller_thinks() {
    let mut target = Target::new();
    assert_eq!(target.arm(PLANS[1]), Err(Refused::NotKnownGood));
    target.running = identity(3);
    assert_eq!(target.arm(PLANS[0]), Err(Refused::NotKnownGood));
}

#[test]
fn a_restore_that_overtakes_its_own_arm_fences_it_off() {
    let mut target = Target::new();
    assert_eq!(target.restore(&id(0), identity(0)), Ok(Restored::Trial(identity(0))));
    assert_eq!(target.arm(PLANS[0]), Err(Refused::HasEnded(Ended::Restored)));
    assert_eq!(target.attempt(&id(0), identity(1)), Err(Refused::HasEnded(Ended::Restored)));
}

#[test]
fn a_restore_of_an_episode_not_heard_of_leaves_the_trial_of_another_alone() {
    let mut target = armed_and_tried();
    assert_eq!(target.restore(&id(2), identity(0)), Ok(Restored::Already(Ended::Restored)));
    assert_eq!(target.running, identity(1));
    assert_eq!(target.keep(&id(0), identity(1)), Ok(()));
    assert_eq!(target.arm(PLANS[2]), Err(Refused::HasEnded(Ended::Restored)));
}

#[test]
fn what_was_kept_before_the_last_cannot_be_taken_back() {
    let mut target = kept();
    target.arm(PLANS[1]).unwrap();
    target.attempt(&id(1), identity(2)).unwrap();
    target.keep(&id(1), identity(2)).unwrap();
    for wanted in 0..3 {
        assert_eq!(target.restore(&id(0), identity(wanted)), Err(Refused::Stale));
    }
    assert_eq!(target.desk.boots_into(), identity(2));
    assert_eq!(target.restore(&id(1), identity(0)), Err(Refused::Stale), "and only to what it replaced");
    assert_eq!(target.restore(&id(1), identity(1)), Ok(Restored::Kept(identity(1))));
}

#[test]
fn taking_back_what_was_kept_ends_the_trial_built_on_it() {
    let mut target = kept();
    target.arm(PLANS[1]).unwrap();
    target.attempt(&id(1), identity(2)).unwrap();
    assert_eq!(target.restore(&id(0), identity(0)), Ok(Restored::Kept(identity(0))));
    assert_eq!(
        (target.running, target.desk.boots_into(), target.desk.lease()),
        (identity(0), identity(0), None)
    );
    assert_eq!(target.keep(&id(1), identity(2)), Err(Refused::HasEnded(Ended::Restored)));
    assert_eq!(target.desk.expire(at(10_000)), None);
}

#[test]
fn a_cancel_after_the_try_goes_back_at_the_next_tick_of_the_timer() {
    let mut target = armed_and_tried();
    target.desk.cancel(&id(0));
    assert_eq!(target.keep(&id(0), identity(1)), Err(Refused::NotArmed));
    assert_eq!(target.attempt(&id(0), identity(1)), Err(Refused::NotArmed));
    target.timer();
    assert_eq!((target.running, target.desk.lease()), (identity(0), None));
    assert_eq!(target.arm(PLANS[0]), Err(Refused::HasEnded(Ended::Expired)));
}

#[test]
fn a_cancel_that_overtakes_its_arm_fences_it_off() {
    let mut target = Target::new();
    target.desk.cancel(&id(0));
    assert_eq!(target.arm(PLANS[0]), Err(Refused::HasEnded(Ended::Restored)));
}

#[test]
fn a_boot_ends_the_trial_and_keeps_what_was_kept() {
    let mut target = armed_and_tried();
    assert_eq!(target.desk.boot(), identity(0));
    assert_eq!(target.keep(&id(0), identity(1)), Err(Refused::HasEnded(Ended::LostAtBoot)));
    assert_eq!(kept().desk.boot(), identity(1));
}

#[test]
fn what_a_person_did_is_not_restored_over() {
    let mut target = kept();
    target.arm(PLANS[1]).unwrap();
    // The same state as was kept, but theirs now.
    target.take(Happening::Person(1));
    for (plan, wanted) in [(0, 0), (1, 1)] {
        assert_eq!(target.restore(&id(plan), identity(wanted)), Ok(Restored::Already(Ended::Overtaken)));
    }
    assert_eq!((target.running, target.desk.boots_into()), (identity(1), identity(1)));
}

#[test]
fn endings_are_bounded_and_what_was_kept_last_is_not_forgotten() {
    let mut target = kept();
    for number in 0..1000 {
        target.desk.restore(&episode(&format!("late-{number}")), identity(1)).unwrap();
        assert!(target.desk.endings.len() <= ENDINGS_KEPT);
    }
    assert_eq!(target.desk.ending(&episode("late-900")), None);
    assert_eq!(target.desk.ending(&episode("late-999")), Some(Ended::Restored));
    assert_eq!(target.restore(&id(0), identity(0)), Ok(Restored::Kept(identity(0))));
}
