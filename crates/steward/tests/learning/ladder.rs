//! The autonomy ladder: one rung at a time, with evidence, and down at any moment.

use holdfast_steward::ladder::*;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::policy::Tier;
use holdfast_steward::time::Steady;
use proptest::prelude::*;

use super::*;

const MINUTE: u64 = 60_000;

fn evidence(facts: &[Fact]) -> Evidence {
    let mut evidence = Evidence::default();
    facts.iter().for_each(|fact| evidence.fold(fact));
    evidence
}

fn missing(level: Level, facts: &[Fact], now: u64) -> Vec<String> {
    match raise(level, &evidence(facts), at(now)) {
        Ok(_) => Vec::new(),
        Err(missing) => missing.iter().map(ToString::to_string).collect(),
    }
}

fn sampled(millis: u64) -> Fact {
    Fact::Sampled { at: at(millis).into() }
}

fn ended(number: u64, outcome: Outcome, let_by: LetBy, millis: u64) -> Fact {
    Fact::Ended { episode: episode(number), outcome, let_by, at: Steady(millis) }
}

// shows: STW-030
#[test]
fn what_each_level_permits() {
    let shown = |level: Level| {
        let cell = |tier| match may_try(level, tier, Approval::Absent) {
            Permission::NeedsApproval => {
                assert_eq!(may_try(level, tier, Approval::Given), Permission::Yes);
                "asks"
            }
            Permission::Yes => "yes",
            Permission::No => {
                assert_eq!(
                    may_try(level, tier, Approval::Given),
                    Permission::No,
                    "an approval does not open it"
                );
                "no"
            }
        };
        let plans = if may_plan(level) { "plans" } else { "-" };
        format!("{level:?} {plans} {} {} {}", cell(Tier::One), cell(Tier::Two), cell(Tier::Three))
            + " "
            + cell(Tier::Never)
    };
    insta::assert_snapshot!(Level::ALL.map(shown).join("\n"), @r"
    Observe - no no no no
    Plan plans no no no no
    ApproveEach plans asks no no no
    TierOne plans yes no no no
    TierTwo plans yes asks no no
    ");
    assert_eq!(Level::default(), Level::Observe, "a new target is only watched");
}

#[test]
fn planning_needs_a_week_of_metrics_without_a_gap() {
    let every =
        |minutes: u64, days: u64| (0..=days * 24 * 60 / minutes).map(move |n| sampled(n * minutes * MINUTE));
    let lacks = |facts: Vec<Fact>, now| missing(Level::Observe, &facts, now);
    assert_eq!(lacks(every(5, 7).collect(), 7 * DAY), Vec::<String>::new());
    assert_eq!(lacks(vec![], DAY), ["0 of 168 hours of metrics without a gap of more than 5 minutes"]);
    assert_eq!(
        lacks(every(5, 6).collect(), 6 * DAY),
        ["144 of 168 hours of metrics without a gap of more than 5 minutes"]
    );
    assert_eq!(lacks(every(6, 8).collect(), 8 * DAY).len(), 1, "six minutes are a gap each time");
    assert_eq!(lacks(every(5, 7).collect(), 7 * DAY + HOUR).len(), 1, "and so is silence until now");

    // A controller that was off for a day: steady time stood still, the wall clock did not.
    let mut facts: Vec<Fact> = every(5, 4).collect();
    facts.extend(every(5, 4).map(|fact| match fact {
        Fact::Sampled { mut at } => {
            at.steady = Steady(at.steady.0 + 4 * DAY);
            at.wall = super::at(at.steady.0 + DAY).wall;
            Fact::Sampled { at }
        }
        other => other,
    }));
    let now = Now { wall: at(9 * DAY).wall, ..at(8 * DAY) };
    assert!(raise(Level::Observe, &evidence(&facts), now).is_err());
}

#[test]
fn trials_need_valid_plans_and_a_person_who_read_them() {
    let plan = |n, valid| Fact::PlanEnded { episode: episode(n), valid };
    let read = |n| Fact::ProposalReviewed { episode: episode(n) };
    let plans = |valid: [bool; 5]| (0..5).zip(valid).map(|(n, valid)| plan(n, valid));
    let lacks = |facts: Vec<Fact>| missing(Level::Plan, &facts, DAY);
    let five_read = || (0..5).map(read);
    assert_eq!(
        lacks(plans([true, true, false, true, true]).chain(five_read()).collect()),
        Vec::<String>::new()
    );
    assert_eq!(
        lacks(plans([true, true, false, true, false]).chain((0..4).map(read)).collect()),
        ["3 of the last 5 plans were valid, 4 of 5 are needed", "4 of 5 proposals were read by a person"]
    );
    assert_eq!(
        lacks((0..4).map(|n| plan(n, true)).chain(five_read()).collect()).len(),
        1,
        "four plans are not five"
    );
    let one_five_times = std::iter::repeat_n(plan(1, true), 5).chain(std::iter::repeat_n(read(1), 5));
    assert_eq!(lacks(one_five_times.collect()).len(), 2, "told five times is not five");
    let refused_later = plans([true, true, false, true, true]).chain([plan(4, false)]).chain(five_read());
    assert_eq!(lacks(refused_later.collect()).len(), 1, "a plan that a later gate refused was none");
    let old_and_bad = plans([true; 5]).chain((10..12).map(|n| plan(n, false))).chain(five_read());
    assert_eq!(lacks(old_and_bad.collect()).len(), 1, "only the last five count");
}

fn ready_for_tier_one() -> Vec<Fact> {
    let mut facts =
        vec![Fact::RollbackRehearsed { at: Steady(DAY) }, Fact::TripwireShown { at: Steady(DAY) }];
    facts.extend((1..=3).map(|n| ended(n, Outcome::Kept, LetBy::Person, DAY)));
    facts
}

#[test]
fn autonomy_needs_a_way_back_that_was_seen_to_work() {
    let lacks = |facts: Vec<Fact>, now| missing(Level::ApproveEach, &facts, now);
    assert_eq!(lacks(ready_for_tier_one(), 2 * DAY), Vec::<String>::new());
    insta::assert_snapshot!(lacks(vec![Fact::BreakerOpened { at: Steady(0) }], DAY).join("\n"), @r"
    no rollback was rehearsed back to known-good within 30 days
    the tripwire was not shown to fire within 30 days
    0 of 3 approved changes were kept
    the breaker is open
    ");
    assert_eq!(lacks(ready_for_tier_one(), 40 * DAY).len(), 2, "a rehearsal of long ago shows nothing");
    let with = |fact: Fact| lacks([ready_for_tier_one(), vec![fact]].concat(), 2 * DAY);
    assert_eq!(
        with(ended(3, Outcome::DelayedNegative, LetBy::Person, 2 * DAY)),
        ["2 of 3 approved changes were kept"]
    );
    let reset =
        [ready_for_tier_one(), vec![Fact::BreakerOpened { at: Steady(DAY) }, Fact::BreakerReset]].concat();
    assert_eq!(
        lacks(reset, 2 * DAY),
        ["0 of 3 approved changes were kept"],
        "a reset alone restores no autonomy"
    );
}

fn ready_for_tier_two() -> Vec<Fact> {
    let mut facts = vec![Fact::LevelChanged { to: Level::TierOne, at: Steady(10 * DAY) }];
    facts.extend((1..=3).map(|n| ended(n, Outcome::Improved, LetBy::Steward, 12 * DAY)));
    facts
}

#[test]
fn larger_changes_need_a_quiet_week_of_small_ones_that_helped() {
    let lacks = |more: Vec<Fact>, now| missing(Level::TierOne, &[ready_for_tier_two(), more].concat(), now);
    assert_eq!(lacks(vec![], 17 * DAY), Vec::<String>::new());
    assert_eq!(lacks(vec![], 17 * DAY - 1), ["6 of 7 days at this level"]);
    let day_15 = Steady(15 * DAY);
    let cases = [
        (
            ended(4, Outcome::RolledBack, LetBy::Steward, 15 * DAY),
            "a change made alone was rolled back within 7 days",
        ),
        (Fact::TripwireSpurious { at: day_15 }, "the tripwire fired without cause within 7 days"),
        (
            ended(2, Outcome::DelayedNegative, LetBy::Steward, 15 * DAY),
            "2 of 3 changes made alone were seen to improve things",
        ),
    ];
    for (fact, expected) in cases {
        assert_eq!(lacks(vec![fact], 17 * DAY), [expected]);
    }
    let opened = vec![Fact::BreakerOpened { at: day_15 }, Fact::BreakerReset];
    assert_eq!(
        lacks(opened, 17 * DAY),
        [
            "0 of 3 changes made alone were seen to improve things",
            "the breaker is open or opened within 7 days"
        ]
    );
    let merely_kept = vec![
        Fact::LevelChanged { to: Level::TierOne, at: Steady(10 * DAY) },
        ended(9, Outcome::Kept, LetBy::Steward, 12 * DAY),
    ];
    assert_eq!(
        missing(Level::TierOne, &merely_kept, 17 * DAY),
        ["0 of 3 changes made alone were seen to improve things"]
    );
}

#[test]
fn what_a_person_approved_was_not_done_alone_on_whatever_rung_it_is_judged() {
    let facts = [
        ended(1, Outcome::Kept, LetBy::Person, 9 * DAY),
        Fact::LevelChanged { to: Level::TierOne, at: Steady(10 * DAY) },
        ended(1, Outcome::Improved, LetBy::Steward, 10 * DAY + HOUR),
        ended(2, Outcome::Improved, LetBy::Steward, 12 * DAY),
    ];
    assert_eq!(
        missing(Level::TierOne, &facts, 17 * DAY),
        ["1 of 3 changes made alone were seen to improve things"]
    );
}

#[test]
fn the_highest_level_has_no_next() {
    assert_eq!(missing(Level::TierTwo, &[], 0), ["this is the highest level"]);
}

// shows: STW-264
#[test]
fn every_rung_asks_for_something_and_says_where_that_comes_from() {
    for level in Level::ALL.into_iter().skip(1) {
        assert!(TABLE.iter().any(|row| row.to == level), "{level:?}");
    }
    assert!(TABLE.iter().all(|row| row.source.starts_with("STW-")));
}

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    let let_by = prop::sample::select(vec![LetBy::Person, LetBy::Steward]);
    let time = 0u64..60 * DAY;
    let fact = prop_oneof![
        time.clone().prop_map(sampled),
        (0u64..8, any::<bool>()).prop_map(|(n, valid)| Fact::PlanEnded { episode: episode(n), valid }),
        (0u64..8).prop_map(|n| Fact::ProposalReviewed { episode: episode(n) }),
        time.clone().prop_map(|at| Fact::RollbackRehearsed { at: Steady(at) }),
        time.clone().prop_map(|at| Fact::TripwireShown { at: Steady(at) }),
        (0u64..8, outcome, let_by, time.clone()).prop_map(|(n, outcome, by, at)| ended(n, outcome, by, at)),
        time.clone().prop_map(|at| Fact::BreakerOpened { at: Steady(at) }),
        Just(Fact::BreakerReset),
        (prop::sample::select(Level::ALL.to_vec()), time)
            .prop_map(|(to, at)| Fact::LevelChanged { to, at: Steady(at) }),
    ];
    prop::collection::vec(fact, 0..60)
}

proptest! {
    // shows: STW-264
    #[test]
    fn no_rung_is_ever_skipped(facts in facts(), now in 0u64..90 * DAY) {
        let told: Evidence = restarted(&evidence(&facts));
        for (index, level) in Level::ALL.into_iter().enumerate() {
            if let Ok(next) = raise(level, &told, at(now)) {
                prop_assert_eq!(Some(&next), Level::ALL.get(index + 1));
            }
            prop_assert_eq!(after_breaker(level), level.min(Level::ApproveEach));
        }
    }

    /// A step that is repeated after a crash tells the same fact again.
    #[test]
    fn a_fact_told_twice_is_told_once(facts in facts()) {
        let twice: Vec<Fact> = facts.iter().flat_map(|fact| [fact.clone(), fact.clone()]).collect();
        prop_assert_eq!(evidence(&twice), evidence(&facts));
    }
}
