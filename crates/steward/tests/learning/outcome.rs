//! One record, one list of outcomes, and what a planner is shown of them.

use holdfast_steward::explore::Cycle;
use holdfast_steward::outcome::*;
use holdfast_steward::sample::Summary;
use holdfast_steward::time::Steady;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn subject() -> Subject {
    Subject { target: target(), setting: memory_max() }
}

fn context() -> Context {
    Context {
        episode: episode(900),
        target: target(),
        unit: "runner.service".parse().unwrap(),
        at: Steady(7),
        wall: at(0).wall,
    }
}

fn import(metadata: serde_json::Value) -> Record {
    Record::imported(serde_json::from_value(metadata).unwrap(), context()).unwrap()
}

fn shown(recalled: &[Recalled<'_>]) -> Vec<String> {
    recalled.iter().map(|r| r.record.episode.to_string()).collect()
}

fn book(records: impl IntoIterator<Item = Record>) -> Book {
    let mut book = Book::default();
    for record in records {
        book.add(record);
    }
    book
}

// shows: STW-219
#[test]
fn every_outcome_has_one_name_and_success_rollback_rejection_and_delayed_negative_are_among_them() {
    for outcome in Outcome::ALL {
        let name = serde_json::to_value(outcome).unwrap();
        assert_eq!(name, outcome.as_str());
        assert_eq!(serde_json::from_value::<Outcome>(name).unwrap(), outcome);
    }
    let old = [
        ("SUCCESS", Outcome::Kept),
        ("success", Outcome::Kept),
        ("ROLLBACK", Outcome::RolledBack),
        ("rollback", Outcome::RolledBack),
        ("GATE_REJECTED", Outcome::GateRejected),
        ("rejected", Outcome::GateRejected),
        ("delayed_negative", Outcome::DelayedNegative),
    ];
    for (name, outcome) in old {
        assert_eq!(serde_json::from_value::<Outcome>(json!(name)).unwrap(), outcome, "{name}");
    }
    assert!(serde_json::from_value::<Outcome>(json!("fine")).is_err());
}

// shows: STW-217
#[test]
fn a_record_is_prose_and_metadata() {
    let mut record = about(record(1, Outcome::Improved, 0), &memory_max(), "1536M", "2G");
    record.reason = "OOM restarts went from 2 a day to none.".into();
    record.measured = Some(Measured {
        metric: "psi_mem_full_avg60".parse().unwrap(),
        before: Summary::new(1.2, 0.3, 720).unwrap(),
        after: Summary::new(0.1, 0.05, 718).unwrap(),
    });
    insta::assert_snapshot!(record.content(), @"box-1: MemoryMax of runner.service from 1536M to 2G was kept, and a day later it had helped. psi_mem_full_avg60 went from 1.20 (720 samples) to 0.10 (718 samples). Reason: OOM restarts went from 2 a day to none.");
    insta::assert_json_snapshot!(record.metadata(), @r#"
    {
      "episode": "ep-1",
      "target_host": "box-1",
      "service": "runner.service",
      "option": "MemoryMax",
      "old_value": "1536M",
      "new_value": "2G",
      "outcome": "improved",
      "timestamp": "2025-11-15T08:00:00.000000Z",
      "reason": "OOM restarts went from 2 a day to none."
    }
    "#);
}

// shows: STW-218, STW-394
#[test]
fn a_rejection_is_the_same_record_and_the_old_names_of_both_are_read() {
    let rejection =
        import(json!({"outcome": "gate_rejected", "gate": "property_tests", "target_option": "MemoryMax",
        "proposed_value": "3200M", "rejection_reason": "the memory budget does not hold"}));
    assert_eq!(rejection.outcome, Outcome::GateRejected);
    assert_eq!(rejection.gate.as_deref(), Some("property_tests"));
    assert_eq!(rejection.change.as_ref().unwrap().to, Value::Bytes(3200 << 20));
    assert_eq!(rejection.change.as_ref().unwrap().setting, memory_max());
    assert_eq!(rejection.reason, "the memory budget does not hold");
    assert_eq!((rejection.episode.clone(), rejection.target.clone()), (episode(900), target()));

    let success = import(
        json!({"target_host": "target-1", "service": "openclaw-task-runner", "option": "MemoryMax",
        "old_value": "1536M", "new_value": "2048M", "outcome": "SUCCESS", "timestamp": "2025-03-01T10:00:00Z"}),
    );
    assert_eq!(success.outcome, Outcome::Kept);
    assert_eq!(success.target.as_str(), "target-1");
    assert_eq!(
        success.change.as_ref().unwrap().to_string(),
        "MemoryMax of openclaw-task-runner.service from 1536M to 2G"
    );
    assert_eq!(success.wall.to_string(), "2025-03-01T10:00:00.000000Z");

    for record in [rejection, success] {
        let written = serde_json::to_value(record.metadata()).unwrap();
        let keys: Vec<_> = written.as_object().unwrap().keys().cloned().collect();
        for key in ["target_host", "service", "option", "new_value", "outcome", "timestamp"] {
            assert!(keys.iter().any(|k| k == key), "{key} is missing from {keys:?}");
        }
        let old = ["target_option", "proposed_value", "rejection_reason", "delayed_negative"];
        assert!(!keys.iter().any(|key| old.contains(&key.as_str())), "{keys:?}");
        assert_eq!(import(written), record, "what is written is read back as it was");
    }
}

#[test]
fn what_an_old_record_says_in_other_words_is_kept_and_not_guessed() {
    let flagged =
        import(json!({"outcome": "SUCCESS", "delayed_negative": true, "option": "Nice", "new_value": "3"}));
    assert_eq!(flagged.outcome, Outcome::DelayedNegative);
    let unreadable = import(
        json!({"outcome": "ROLLBACK", "option": "swapDevices[].size", "old_value": "1G", "new_value": "2G"}),
    );
    assert_eq!(unreadable.change, None);
    assert!(unreadable.reason.contains("swapDevices[].size from 1G to 2G"), "{}", unreadable.reason);

    let refused = [
        (json!({"outcome": "SUCCESS", "option": "Nice", "service": "../x"}), "is no unit"),
        (json!({"outcome": "SUCCESS", "option": "rm -rf"}), "is no option"),
        (json!({"outcome": "SUCCESS", "timestamp": "yesterday"}), "is no UTC time"),
    ];
    for (metadata, expected) in refused {
        let error = Record::imported(serde_json::from_value(metadata).unwrap(), context()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn text_from_outside_is_cut_and_cannot_drive_a_terminal() {
    let mut long = record(1, Outcome::RolledBack, 0);
    long.reason = "\u{1b}[2J".repeat(1000);
    long.lesson = Some("x".repeat(5000));
    let book = book([long]);
    let kept = book.current().next().unwrap();
    assert!(kept.reason.chars().count() <= 1000 && !kept.content().contains('\u{1b}'));
    assert_eq!(kept.lesson.as_ref().unwrap().len(), 1000);
}

// shows: STW-215
#[test]
fn a_delayed_negative_overrides_the_success_of_its_episode_and_of_no_other() {
    let book = book([
        record(1, Outcome::Kept, 0),
        record(2, Outcome::Kept, HOUR),
        record(1, Outcome::DelayedNegative, DAY),
    ]);
    let recalled = book.for_planning(&subject(), Recall::Everything);
    let outcomes: Vec<_> =
        recalled.nearest.iter().map(|r| (r.record.episode.to_string(), r.record.outcome)).collect();
    assert_eq!(outcomes, [("ep-1".into(), Outcome::DelayedNegative), ("ep-2".into(), Outcome::Kept)]);
    assert_eq!(
        book.current().next().unwrap().superseded_by,
        Some(Outcome::DelayedNegative),
        "kept, and overridden"
    );
}

proptest! {
    #[test]
    fn one_verdict_stands_for_an_episode_in_whatever_order_and_however_often_they_come(
        order in Just(vec![0usize, 1, 2]).prop_shuffle(),
        repeats in prop::collection::vec(0usize..3, 0..6),
        kept_at in 0..4 * DAY,
    ) {
        let verdicts = [
            record(1, Outcome::Kept, kept_at), // imported ones carry the time of their import
            record(1, Outcome::Inconclusive, DAY),
            record(1, Outcome::DelayedNegative, 2 * DAY),
        ];
        let mut book = Book::default();
        for index in order.iter().chain(&repeats) {
            book.add(verdicts[*index].clone());
            book = restarted(&book);
        }
        let target = target();
        let standing: Vec<_> = book.standing(&target).map(|r| r.outcome).collect();
        prop_assert_eq!(standing, vec![Outcome::DelayedNegative]);
        prop_assert_eq!(book.current().count(), 3);
    }
}

#[test]
fn a_planner_sees_the_same_setting_first_then_the_same_unit_newest_first() {
    let high = setting("runner.service MemoryHigh");
    let other = setting("web.service MemoryMax");
    let mut elsewhere = record(9, Outcome::Kept, 9);
    elsewhere.target = "box-2".parse().unwrap();
    let book = book([
        record(1, Outcome::Kept, 1),
        about(record(2, Outcome::Kept, 2), &high, "1G", "2G"),
        about(record(3, Outcome::Kept, 3), &other, "1G", "2G"),
        record(4, Outcome::Neutral, 4),
        about(record(5, Outcome::Kept, 5), &high, "1G", "2G"),
        elsewhere,
    ]);
    let recalled = book.for_planning(&subject(), Recall::Everything);
    assert_eq!(
        shown(&recalled.nearest),
        ["ep-4", "ep-1", "ep-5", "ep-2"],
        "and nothing of another unit or target"
    );
    assert_eq!(book.for_planning(&subject(), Recall::Off), Recollection::default());
}

#[test]
fn the_second_half_of_a_pair_is_found_too() {
    let high = setting("runner.service MemoryHigh");
    let pair = Record { also: Some(change(&high, "1G", "2G")), ..record(1, Outcome::Kept, 1) };
    let book = book([pair, about(record(2, Outcome::Kept, 2), &setting("runner.service Nice"), "1", "2")]);
    let subject = Subject { target: target(), setting: high };
    assert_eq!(shown(&book.for_planning(&subject, Recall::Everything).nearest), ["ep-1", "ep-2"]);
}

#[test]
fn successes_never_hide_a_rollback_or_a_rejection() {
    let mut records = vec![record(1, Outcome::RolledBack, 1), record(2, Outcome::GateRejected, 2)];
    records.extend((3..40).map(|n| record(n, Outcome::Improved, n)));
    let book = book(records);
    let recalled = book.for_planning(&subject(), Recall::Everything);
    assert_eq!(shown(&recalled.nearest), ["ep-39", "ep-38", "ep-37", "ep-36", "ep-35"]);
    assert_eq!(shown(&recalled.warnings), ["ep-2", "ep-1"]);
}

#[test]
fn warnings_beyond_what_a_planner_can_read_are_counted() {
    let book = book((0..40).map(|n| record(n, Outcome::RolledBack, n)));
    let recalled = book.for_planning(&subject(), Recall::Everything);
    assert_eq!((recalled.nearest.len(), recalled.warnings.len(), recalled.warnings_left_off), (5, 20, 15));
}

// shows: STW-397
#[test]
fn an_exploration_sees_rollbacks_and_rejections_and_no_success_and_only_finished_cycles_count() {
    let book = book(Outcome::ALL.into_iter().zip(1..).map(|(outcome, n)| record(n, outcome, n)));
    let recalled = book.for_planning(&subject(), Cycle::Exploration.recall());
    let mut outcomes: Vec<_> =
        recalled.nearest.iter().chain(&recalled.warnings).map(|r| r.record.outcome).collect();
    outcomes.sort();
    assert_eq!(
        outcomes,
        [Outcome::DelayedNegative, Outcome::RolledBack, Outcome::GateRejected, Outcome::Refused]
    );

    let mut cycles = holdfast_steward::explore::Cycles::default();
    (1..=4).for_each(|n| assert!(cycles.finish(&episode(n), Steady(n))));
    let failed_cycles = 3;
    (0..failed_cycles).for_each(|_| assert_eq!(cycles.next(), Cycle::Exploration, "still the fifth"));
    assert!(cycles.finish(&episode(8), Steady(8)));
    assert_eq!(cycles.next(), Cycle::Routine);
}

#[test]
fn a_value_that_went_both_ways_is_marked() {
    let three = |n, outcome| about(record(n, outcome, n), &memory_max(), "2G", "3G");
    let book = book([
        record(1, Outcome::RolledBack, 1),
        record(2, Outcome::Improved, 2),
        three(3, Outcome::Kept),
        three(4, Outcome::Neutral),
    ]);
    let recalled = book.for_planning(&subject(), Recall::Everything);
    let marks: Vec<_> = recalled.nearest.iter().map(|r| r.contradicted).collect();
    assert_eq!(
        (shown(&recalled.nearest), marks),
        (["ep-4", "ep-3", "ep-2", "ep-1"].map(str::to_owned).to_vec(), vec![false, false, true, true],)
    );
}

#[test]
fn day_90_is_planned_with_and_day_91_is_archived() {
    let mut book = book([record(1, Outcome::Kept, 0), record(2, Outcome::RolledBack, DAY)]);
    assert_eq!(book.archive_old(Steady(90 * DAY)), 0);
    assert_eq!(book.archive_old(Steady(91 * DAY)), 1);
    assert_eq!(book.archive_old(Steady(91 * DAY)), 0, "once");
    assert_eq!(shown(&book.for_planning(&subject(), Recall::Everything).nearest), ["ep-2"]);
    assert_eq!(book.archived().count(), 1);
}

#[test]
fn the_book_is_bounded_and_keeps_the_newest() {
    let mut book = book((0..2005).map(|n| record(n, Outcome::Neutral, n)));
    assert_eq!((book.current().count(), book.archived().count()), (RECORDS_MAX, 5));
    assert_eq!(book.current().next_back().unwrap().episode, episode(2004));
    assert_eq!(book.add(record(0, Outcome::Neutral, 0)), Added::Known, "archived, and still known");
}

#[test]
fn a_lesson_is_kept_with_the_verdict_that_stands() {
    let mut book = book([record(1, Outcome::RolledBack, 0)]);
    assert!(book.attach_lesson(&episode(1), "The runner needs 2G to start."));
    assert!(!book.attach_lesson(&episode(2), "Nobody knows this one."));
    let recalled = book.for_planning(&subject(), Recall::WarningsOnly);
    assert!(recalled.nearest[0].record.content().ends_with("Lesson: The runner needs 2G to start."));
}
