//! Many episodes become one pattern, and nothing is lost on the way.

use holdfast_steward::consolidate::{archive_covered, is_due, plan};
use holdfast_steward::outcome::{Book, Outcome, Recall, Subject};
use holdfast_steward::time::Steady;
use proptest::prelude::*;

use super::*;

const LATER: Steady = Steady(60 * DAY);

fn book(records: impl IntoIterator<Item = Record>) -> Book {
    let mut book = Book::default();
    for record in records {
        book.add(record);
    }
    book
}

fn consolidated(book: &mut Book) -> usize {
    for pattern in plan(book, LATER) {
        assert!(book.add_pattern(pattern));
    }
    archive_covered(book)
}

// shows: STW-224
#[test]
fn every_week_outcomes_are_grouped_by_unit_and_option() {
    for (last, now, expected) in
        [(None, 0, true), (Some(DAY), 8 * DAY - 1, false), (Some(DAY), 8 * DAY, true)]
    {
        assert_eq!(is_due(last.map(Steady), Steady(now)), expected, "{last:?} {now}");
    }
    let others = [setting("runner.service MemoryHigh"), setting("web.service MemoryMax")];
    let mut records: Vec<_> = (0..7).map(|n| record(n, Outcome::Improved, n)).collect();
    for (index, other) in others.iter().enumerate() {
        let first = 10 * (index as u64 + 1);
        records.extend((first..first + 6).map(|n| about(record(n, Outcome::Neutral, n), other, "1G", "2G")));
    }
    let found = plan(&book(records), LATER);
    let mut groups: Vec<_> = found.iter().map(|p| (p.setting.to_string(), p.episode_count())).collect();
    groups.sort();
    assert_eq!(
        groups,
        [
            ("MemoryHigh of runner.service".to_owned(), 6),
            ("MemoryMax of runner.service".to_owned(), 7),
            ("MemoryMax of web.service".to_owned(), 6),
        ]
    );
}

// shows: STW-225
#[test]
fn five_stay_and_six_become_one() {
    for (episodes, archived) in [(5, 0), (6, 6)] {
        let mut book = book((0..episodes).map(|n| record(n, Outcome::Improved, n)));
        assert_eq!(consolidated(&mut book), archived, "{episodes} episodes");
        assert_eq!(book.patterns().count(), usize::from(archived > 0));
        assert_eq!(book.archived().count(), archived, "the originals are kept");
    }
}

// shows: STW-225, STW-227
#[test]
fn a_pattern_tells_counted_figures_and_marks_what_went_both_ways() {
    let to = |n, outcome, value: &str| about(record(n, outcome, n), &memory_max(), "1G", value);
    let mut book = book([
        to(1, Outcome::RolledBack, "2G"),
        to(2, Outcome::Improved, "2G"),
        to(3, Outcome::Kept, "2G"),
        to(4, Outcome::Improved, "1536M"),
        to(5, Outcome::Neutral, "1536M"),
        to(6, Outcome::RolledBack, "3G"),
        to(7, Outcome::GateRejected, "3200M"),
    ]);
    assert_eq!(consolidated(&mut book), 4);
    let pattern = book.patterns().next().unwrap().clone();
    insta::assert_snapshot!(pattern.content(), @"box-1: MemoryMax of runner.service, 7 episodes. 1536M: 1 improved, 1 neutral. 2G: 1 kept, 1 improved, 1 rolled back; contradicted, most recently kept. 3G: 1 rolled back. 3200M: 1 gate rejected.");
    insta::assert_json_snapshot!(pattern.metadata(), @r#"
    {
      "consolidated": true,
      "contradicted": true,
      "episode_count": 7,
      "option": "MemoryMax",
      "service": "runner.service",
      "target_host": "box-1"
    }
    "#);
    let said = pattern.clone().with_sentence("Above 2G little is gained.\u{1b}[2J");
    assert!(said.is_same(&pattern) && said.values == pattern.values, "a brain's words change no figure");
    assert!(said.content().ends_with("Remark of a brain: Above 2G little is gained.\\u{1b}[2J"));

    let subject = Subject { target: target(), setting: memory_max() };
    let recalled = book.for_planning(&subject, Recall::Everything);
    let mut visible: Vec<_> = recalled.nearest.iter().map(|r| r.record.episode.to_string()).collect();
    visible.sort();
    assert_eq!(visible, ["ep-1", "ep-6", "ep-7"], "rollbacks and rejections stay in planning");
    assert_eq!(recalled.patterns, [&pattern]);
}

#[test]
fn a_change_that_may_still_be_judged_is_not_counted_yet() {
    let mut records: Vec<_> = (0..5).map(|n| record(n, Outcome::Improved, n)).collect();
    records.push(record(6, Outcome::Kept, 59 * DAY));
    assert_eq!(plan(&book(records.clone()), LATER), []);
    assert_eq!(plan(&book(records), Steady(67 * DAY)).len(), 1);
}

#[test]
fn summaries_are_not_summarised_again() {
    let mut book = book((0..6).map(|n| record(n, Outcome::RolledBack, n)));
    consolidated(&mut book);
    assert_eq!(plan(&book, LATER), [], "rollbacks stay single and are not counted twice");
    for n in 10..16 {
        book.add(record(n, Outcome::Neutral, n));
    }
    let second = plan(&book, LATER);
    assert_eq!(second.iter().map(|p| p.episode_count()).collect::<Vec<_>>(), [6], "the new ones only");
}

#[test]
fn a_verdict_that_comes_after_the_pattern_stays_visible() {
    let mut book = book((0..6).map(|n| record(n, Outcome::Kept, n)));
    assert_eq!(consolidated(&mut book), 6);
    book.add(record(3, Outcome::DelayedNegative, 50 * DAY));
    assert_eq!(archive_covered(&mut book), 0, "the pattern does not tell this verdict");
    let subject = Subject { target: target(), setting: memory_max() };
    assert_eq!(
        book.for_planning(&subject, Recall::Everything).nearest[0].record.outcome,
        Outcome::DelayedNegative
    );
}

/// All a book tells, in an order that does not depend on when things were put away.
fn told(book: &Book) -> [Vec<String>; 3] {
    let mut told = [
        book.patterns().map(|pattern| format!("{pattern:?}")).collect::<Vec<_>>(),
        book.current().map(|record| format!("{record:?}")).collect(),
        book.archived().map(|record| format!("{record:?}")).collect(),
    ];
    told.iter_mut().for_each(|part| part.sort());
    told
}

proptest! {
    /// Cuts the two steps at any place, restarts, and repeats them until they are done.
    // shows: STW-396
    #[test]
    fn a_crash_anywhere_loses_nothing_and_doubles_nothing(
        outcomes in prop::collection::vec((prop::sample::select(Outcome::ALL.to_vec()), 0usize..3), 0..60),
        cuts in prop::collection::vec(0usize..4, 0..6),
    ) {
        let settings = [memory_max(), setting("runner.service MemoryHigh"), setting("web.service MemoryMax")];
        let records = outcomes.iter().zip(0..);
        let start = book(records.map(|((outcome, which), n)| about(record(n, *outcome, n), &settings[*which], "1G", "2G")));
        let mut whole = start.clone();
        consolidated(&mut whole);

        let mut cut = start.clone();
        for patterns_added in cuts {
            let missing = plan(&cut, LATER);
            for pattern in missing.iter().take(patterns_added) {
                // The step before the crash, and again after it.
                cut.add_pattern(pattern.clone());
                prop_assert!(!cut.add_pattern(pattern.clone()));
            }
            if patterns_added == 3 {
                archive_covered(&mut cut);
            }
            cut = restarted(&cut);
        }
        consolidated(&mut cut);
        prop_assert_eq!(told(&cut), told(&whole));
        let visible = |book: &Book| book.current().filter(|r| r.outcome.is_warning()).count();
        prop_assert_eq!(visible(&cut), visible(&start), "no warning left planning");
        prop_assert_eq!(cut.current().count() + cut.archived().count(), start.current().count());
    }
}
