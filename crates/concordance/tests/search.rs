//! What is found, and in which order: held against a plain search that looks at every entry.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::collections::BTreeMap;

use holdfast_concordance::{Added, Bm25, Concordance, Filter, IdSet, Query, analyse};
use holdfast_testkit::{Rng, Seed, rounds, with_seeds};
use shared::{Plain, entry, ids_of, open, put, sentence};

/// Adds, flushes, merges and erases at random, and asks at every turn.
#[test]
fn a_search_finds_exactly_what_looking_at_everything_finds() {
    with_seeds(rounds(12, 400), |seed| {
        let mut rng = seed.rng();
        let folder = tempfile::tempdir().unwrap();
        let bm25 = Bm25::new(
            [0.0, 0.9, 1.2, 3.0][rng.below(4) as usize],
            [0.0, 0.4, 0.75, 1.0][rng.below(4) as usize],
            0.3,
        );
        let index = Concordance::open(folder.path(), bm25).unwrap();
        let mut plain = Plain::new(bm25);
        let mut seq = 0;
        for _ in 0..rng.range(3..10) {
            for _ in 0..rng.below(400) {
                seq += 1 + rng.below(3);
                let text = entry(&mut rng);
                index.add(seq, &text).unwrap();
                plain.add(seq, &text);
            }
            if rng.chance(0.6) {
                index.flush().unwrap();
            }
            if rng.chance(0.3) {
                while !index.tend().unwrap().is_idle() {}
            }
            if rng.chance(0.3) && seq > 0 {
                let goes: Vec<u64> = (0..rng.below(20)).map(|_| rng.below(seq + 1)).collect();
                index.erase(&goes).unwrap();
                plain.erase(&goes);
            }
            compare(&index, &plain, &mut rng);
        }
    });
}

fn compare(index: &Concordance, plain: &Plain, rng: &mut Rng) {
    assert_eq!(index.len(), plain.len());
    for _ in 0..6 {
        let len = rng.range(1..14);
        let query = Query::of(&sentence(rng, len)).also("zzz", 0.5);
        let top = [1, 3, 10, 100, 5000][rng.below(5) as usize];
        let all = plain.ranked(&query);
        let first: Vec<(u64, f64)> = all.iter().take(top).copied().collect();
        assert_eq!(ids_of(&index.search(&query, top, Filter::Every).unwrap()), first);
        let few: IdSet = all.iter().map(|(id, _)| *id).filter(|_| rng.chance(0.02)).collect();
        let many: IdSet = all.iter().map(|(id, _)| *id).filter(|_| rng.chance(0.5)).collect();
        let odd = |id: u64| id % 2 == 1;
        for (filter, allows) in [
            (Filter::Among(&few), &(|id| few.contains(id)) as &dyn Fn(u64) -> bool),
            (Filter::Among(&many), &|id| many.contains(id)),
            (Filter::Where(&odd), &odd),
        ] {
            let expected: Vec<(u64, f64)> =
                all.iter().filter(|(id, _)| allows(*id)).take(top).copied().collect();
            assert_eq!(ids_of(&index.search(&query, top, filter).unwrap()), expected);
        }
        let by_id: BTreeMap<u64, f64> = all.iter().copied().collect();
        let asked: Vec<u64> = (0..50).map(|_| rng.below(3000)).collect();
        let scores = index.scores(&query, &asked).unwrap();
        for (id, score) in asked.iter().zip(scores) {
            assert_eq!(score.is_some(), plain.contains(*id), "{id}");
            assert_eq!(score.map_or(0.0, |score| score.as_f64()), by_id.get(id).copied().unwrap_or(0.0));
            assert_eq!(index.contains(*id).unwrap(), plain.contains(*id));
        }
    }
}

#[test]
fn segments_merged_and_not_merged_give_the_same_answers() {
    let mut rng = Seed::from_env_or(5).rng();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [split, whole] = folders.each_ref().map(|folder| open(folder.path()));
    for seq in 0..3000 {
        let text = entry(&mut rng);
        split.add(seq, &text).unwrap();
        whole.add(seq, &text).unwrap();
        if seq % 150 == 149 {
            split.flush().unwrap();
        }
    }
    let mut merged = 0;
    loop {
        let query = Query::of(&sentence(&mut rng, 9));
        let answers = [&split, &whole].map(|index| index.search(&query, 100, Filter::Every).unwrap());
        assert_eq!(answers[0], answers[1]);
        let near =
            [&split, &whole].map(|index| index.nearness(&query, &(0..3000).collect::<Vec<_>>()).unwrap());
        assert_eq!(near[0], near[1]);
        match split.tend().unwrap() {
            done if done.is_idle() => break,
            done => merged += done.merged,
        }
    }
    assert!(merged >= 16, "{merged} segments were merged");
}

#[test]
fn an_entry_is_found_the_moment_it_is_added_and_never_twice() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    assert_eq!(index.add(7, "The proxy listens on port 8384.").unwrap(), Added::Found);
    let found = |text: &str| index.search(&Query::of(text), 10, Filter::Every).unwrap().len();
    assert_eq!((found("which port for the proxies?"), found("8384"), found("8385")), (1, 1, 0));
    assert_eq!(index.add(7, "The proxy listens on port 8384.").unwrap(), Added::Before);
    assert_eq!(index.add(3, "before").unwrap(), Added::Before);
    assert_eq!(index.add(9, " … ").unwrap(), Added::NoWords);
    assert_eq!(index.add(10, &"long ".repeat(40_000)).unwrap(), Added::FoundByFirstWords);
    assert_eq!((index.len(), index.applied(), index.kept()), (2, 11, 0));
    index.advance(20);
    index.flush().unwrap();
    assert_eq!((index.len(), index.applied(), index.kept()), (2, 20, 20));
}

#[test]
fn rows_and_progress_come_back_together() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    (0..10).for_each(|seq| put(&index, seq, "kept words"));
    index.flush().unwrap();
    (10..15).for_each(|seq| put(&index, seq, "lost words"));
    assert_eq!((index.len(), index.applied(), index.kept()), (15, 15, 10));
    drop(index);
    let index = open(folder.path());
    assert_eq!((index.len(), index.applied()), (10, 10));
    (0..15).for_each(|seq| put(&index, seq, "words again"));
    assert_eq!(index.len(), 15, "a replay adds what was missing, once");
}

#[test]
fn equal_scores_are_in_the_order_of_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    for seq in 0..5000 {
        index.add(seq, if seq % 3 == 0 { "the same words" } else { "others" }).unwrap();
        if seq == 2500 {
            index.flush().unwrap();
        }
    }
    let hits = index.search(&Query::of("same words"), 10, Filter::Every).unwrap();
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), (0..10).map(|n| n * 3).collect::<Vec<_>>());
}

#[test]
fn words_that_stand_together_are_nearer_than_words_that_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    let texts = [
        "The container runs with no root.",
        "No password for the root account.",
        "Root: no.",
        "Nothing of the kind.",
        "no one has ever seen such a large root",
    ];
    (0..).zip(texts).for_each(|(seq, text)| put(&index, seq, text));
    let ids: Vec<u64> = (0..6).collect();
    let near = |index: &Concordance| index.nearness(&Query::of("no root"), &ids).unwrap();
    let fresh = near(&index);
    index.flush().unwrap();
    assert_eq!(near(&index), fresh, "also from the file");
    let near: Vec<f64> = fresh.iter().map(|near| near.map_or(-1.0, |near| near.as_f64())).collect();
    assert!(near[0] > near[1] && near[1] > 0.0, "{near:?}");
    assert_eq!(near[2..], [0.0, 0.0, 0.0, -1.0]);
}

#[test]
fn common_words_weigh_little_and_are_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    index.add(0, "What is it that the and of").unwrap();
    index.add(1, "A backup of postgres runs at night").unwrap();
    let best = |text: &str| index.search(&Query::of(text), 1, Filter::Every).unwrap()[0].id;
    assert_eq!(best("is it that backup"), 1);
    assert_eq!(best("that"), 0);
}

#[test]
fn what_is_empty_or_without_bounds_has_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    let every = |query: &Query, top| index.search(query, top, Filter::Every).unwrap().len();
    assert_eq!(every(&Query::of("nothing here"), 10), 0);
    index.add(u64::MAX - 1, "the last there is").unwrap();
    assert_eq!(index.add(u64::MAX, "beyond").unwrap(), Added::Before);
    index.flush().unwrap();
    assert_eq!(
        (every(&Query::of("last"), usize::MAX), every(&Query::of("last"), 0), every(&Query::of(""), 5)),
        (1, 0, 0)
    );
    let whole_page: String = (0..5000).map(|n| format!("first{n} ")).collect();
    assert_eq!(every(&Query::of(&whole_page), 5), 0);
    assert_eq!(index.scores(&Query::default(), &[u64::MAX - 1, 3]).unwrap().iter().flatten().count(), 1);
}

/// Ids far apart are written wide.
#[test]
fn ids_may_be_any_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    let ids = [0, 1, 1 << 31, 1 << 33, 1 << 52, u64::MAX - 7];
    ids.iter().for_each(|id| put(&index, *id, "somewhere"));
    index.flush().unwrap();
    drop(index);
    let index = open(folder.path());
    let hits = index.search(&Query::of("somewhere"), 10, Filter::Every).unwrap();
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), ids);
}

/// Files are overwritten under searches all the time; none of them notices.
#[test]
fn searches_go_on_while_segments_are_merged_and_erased() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut rng = Seed::from_env_or(8).rng();
    let texts: Vec<String> = (0..1500).map(|_| entry(&mut rng)).collect();
    std::thread::scope(|scope| {
        for n in 0..2 {
            let (index, done) = (&index, &done);
            scope.spawn(move || {
                let mut rng = Seed::new(n).rng();
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let query = Query::of(&sentence(&mut rng, 6));
                    let hits = index.search(&query, 20, Filter::Every).unwrap();
                    assert!(hits.is_sorted_by(|a, b| (b.score, a.id) <= (a.score, b.id)));
                    index.nearness(&query, &hits.iter().map(|hit| hit.id).collect::<Vec<_>>()).unwrap();
                }
            });
        }
        for (seq, text) in (0..).zip(&texts) {
            index.add(seq, text).unwrap();
            if seq % 40 == 39 {
                index.flush().unwrap();
                index.tend().unwrap();
            }
            if seq % 90 == 89 {
                index.erase(&[seq - 20, seq - 60]).unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let erased = |seq: u64| (89..1500).step_by(90).any(|at| seq == at - 20 || seq == at - 60);
    let stays = (0..).zip(&texts).filter(|(seq, text)| !erased(*seq) && analyse(text).words > 0).count();
    assert_eq!(index.len(), stays);
    index.check().unwrap();
}
