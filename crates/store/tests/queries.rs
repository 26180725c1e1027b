//! Every question to the index, answered as reading the whole log would answer it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_journal::Entry;
use holdfast_store::{Filter, Index, Order, count_by_kind, find};
use holdfast_testkit::house::NOON;
use holdfast_testkit::{House, Seed, rounds};
use holdfast_types::Timestamp;
use shared::{draft, go_on, open_index};

/// Entries over several spans, with a clock that jumps back in the middle.
fn house_with_history() -> (House, Index, Vec<Entry>) {
    let house = House::new();
    let journal = house.open();
    for part in 0..30u64 {
        let drafts: Vec<_> = (part * 100..part * 100 + 100).map(|n| draft(&house, n * 31 % 977)).collect();
        journal.append_many(&drafts).unwrap();
        house.clock.advance(Duration::from_secs(60));
        if part == 20 {
            house.clock.set_wall(NOON.parse().unwrap());
        }
    }
    let index = open_index(&house);
    index.catch_up(&journal, &mut go_on).unwrap();
    let entries = journal.read(0).map(|raw| raw.unwrap().parse().unwrap()).collect();
    (house, index, entries)
}

fn fits(f: &Filter, e: &Entry) -> bool {
    f.kind.as_ref().is_none_or(|kind| *kind == e.kind)
        && f.room.as_ref().is_none_or(|room| *room == e.room)
        && f.actor.as_ref().is_none_or(|actor| *actor == e.actor)
        && f.subject.is_none_or(|subject| Some(subject) == e.subject)
        && f.run.is_none_or(|run| Some(run) == e.run)
        && f.from.is_none_or(|from| e.seq >= from)
        && f.to.is_none_or(|to| e.seq < to)
        && f.since.is_none_or(|since| e.at >= since)
        && f.until.is_none_or(|until| e.at < until)
}

#[track_caller]
fn check(index: &Index, entries: &[Entry], filter: &Filter, limit: usize) {
    let fitting = || entries.iter().filter(|e| fits(filter, e));
    let ask = |order| index.read(|conn| find(conn, filter, order, limit)).unwrap();
    let oldest: Vec<u64> = fitting().map(|e| e.seq).take(limit).collect();
    let newest: Vec<u64> = fitting().rev().map(|e| e.seq).take(limit).collect();
    assert_eq!(ask(Order::OldestFirst), oldest, "{filter:?}");
    assert_eq!(ask(Order::NewestFirst), newest, "{filter:?}");
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    fitting().for_each(|e| *counts.entry(e.kind.to_string()).or_default() += 1);
    let counted = index.read(|conn| count_by_kind(conn, filter)).unwrap();
    assert_eq!(counted, counts.into_iter().collect::<Vec<_>>(), "{filter:?}");
}

#[test]
fn every_combination_of_conditions_answers_as_reading_the_log_would() {
    let (_house, index, entries) = house_with_history();
    check(&index, &entries, &Filter::default(), 10);
    let mut rng = Seed::from_env_or(5).child("filters").rng();
    for _ in 0..rounds(300, 5000) {
        // Conditions of an entry that is there, so that most questions have an answer.
        let of = rng.pick(&entries).clone();
        let mut some = || rng.chance(0.3);
        let filter = Filter {
            kind: some().then(|| of.kind.clone()),
            room: some().then(|| of.room.clone()),
            actor: some().then(|| of.actor.clone()),
            subject: of.subject.filter(|_| some()),
            run: of.run.filter(|_| some()),
            from: some().then(|| of.seq.saturating_sub(500)),
            to: some().then_some(of.seq + 700),
            since: some().then_some(of.at),
            until: some().then(|| of.at.plus(Duration::from_secs(150))),
        };
        check(&index, &entries, &filter, rng.range(0..200) as usize);
    }
}

#[test]
fn what_is_in_no_entry_is_found_nowhere() {
    let (_house, index, entries) = house_with_history();
    let none = Filter::default;
    let long_ago: Timestamp = "2001-01-01T00:00:00.000000Z".parse().unwrap();
    for filter in [
        Filter { kind: Some("room_0.never.seen".parse().unwrap()), ..none() },
        Filter { room: Some("attic".parse().unwrap()), ..none() },
        Filter { actor: Some("nobody".parse().unwrap()), ..none() },
        Filter { until: Some(long_ago), ..none() },
        Filter { from: Some(u64::MAX), ..none() },
    ] {
        assert!(!entries.iter().any(|e| fits(&filter, e)));
        check(&index, &entries, &filter, 10);
    }
}

#[test]
fn no_question_sorts_or_scans_what_an_index_could_walk() {
    let (_house, index, entries) = house_with_history();
    let of = &entries[0];
    let (kind, actor) = (Some(of.kind.clone()), Some(of.actor.clone()));
    for (column, index_name) in [("run", "run"), ("subject", "subject"), ("kind", "kind"), ("actor", "actor")]
    {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT seq FROM entries WHERE {column} = 1 AND seq >= 5 AND +trust = 1 ORDER BY seq DESC LIMIT 9"
        );
        let plan: Vec<String> = index
            .read(|conn| {
                let mut rows = conn.prepare(&sql)?;
                Ok(rows.query_map([], |row| row.get(3))?.collect::<Result<_, _>>()?)
            })
            .unwrap();
        assert_eq!(plan.len(), 1, "{plan:?}");
        assert!(plan[0].contains(&format!("entries_by_{index_name}")), "{plan:?}");
    }
    check(&index, &entries, &Filter { kind, actor, ..Filter::default() }, 5);
}
