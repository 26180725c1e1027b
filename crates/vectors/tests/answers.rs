//! What a search finds: exactly, by walks, through filters, at a pinned moment; and that it finds the same every time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use holdfast_testkit::files::tree_bytes;
use holdfast_vectors::{Among, Effort, How, Key, LIMIT_MAX, Query, Vector, WIDTH};
use shared::{Truth, assert_same, exactly, key, keyed, open, plainly, rebuild, threads, vectors, with_graph};

/// Enough that a walk sees a small part of them.
const MANY: usize = 6000;

fn truth(vectors: &[Vector]) -> Truth {
    keyed(vectors).into_iter().collect()
}

#[test]
fn an_exact_search_finds_what_a_plain_one_finds_in_the_log_and_in_the_base() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(2000, 1));
    let (kept, asked) = all.split_at(1950);
    let mut index = open(folder.path());
    index.put(&keyed(kept)).unwrap();
    for graph_beyond in [None, Some(usize::MAX), Some(0)] {
        if let Some(beyond) = graph_beyond {
            rebuild(&mut index, beyond);
        }
        for vector in asked {
            let answer = exactly(&index, vector, 10);
            assert_eq!(answer.how, How::Exact);
            assert_same(&answer.hits, &plainly(&truth(kept), vector, 10, |_| true));
        }
    }
}

#[test]
fn a_walk_finds_nearly_all_and_says_that_it_may_have_missed_some() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(MANY + 100, 2));
    let (kept, asked) = all.split_at(MANY);
    let index = with_graph(folder.path(), kept);
    let mut found = 0;
    for vector in asked {
        let (walked, exact) =
            (index.search(&Query::nearest(vector, 10)).unwrap(), exactly(&index, vector, 10));
        assert_eq!(walked.how, How::Approximate);
        found += walked.hits.iter().filter(|hit| exact.hits.contains(hit)).count();
    }
    assert!(found >= 990, "{found} of 1000");
}

#[test]
fn every_vector_is_found_by_itself_even_when_most_are_copies() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = vectors(1500, 3);
    // Copies of a few, thousands of them, in between.
    let copies: Vec<Vector> = (0..3000).map(|n| all[n % 3].clone()).collect();
    all.splice(700..700, copies);
    let index = with_graph(folder.path(), &all);
    for entry in (0..all.len()).step_by(7) {
        let answer = index.search(&Query::nearest(&all[entry], 1)).unwrap();
        assert!(answer.hits[0].score > 0.999_999, "{entry}: {answer:?}");
    }
    // Of the copies all are there, whatever a filter asks for.
    let some: Vec<u64> = (1000..3000).collect();
    let query = Query { among: Among::These(&some), ..Query::nearest(&all[0], 500) };
    assert!(index.search(&query).unwrap().hits.iter().all(|hit| hit.score > 0.999_999));
}

#[test]
fn of_equally_near_ones_the_smaller_keys_come_first() {
    let (folder, one) = (tempfile::tempdir().unwrap(), vectors(1, 4).remove(0));
    let mut index = open(folder.path());
    let keys: Vec<Key> =
        [(9, 1), (3, 7), (9, 0), (3, 2), (1 << 40, 0)].map(|(entry, chunk)| Key { entry, chunk }).into();
    let put: Vec<_> = keys.iter().map(|key| (*key, one.clone())).collect();
    index.put(&put).unwrap();
    let mut sorted = keys.clone();
    sorted.sort();
    for _ in 0..2 {
        let found = |limit| index.search(&Query::nearest(&one, limit)).unwrap().hits;
        assert_eq!(found(9).iter().map(|hit| hit.key).collect::<Vec<_>>(), sorted);
        assert_eq!(found(2).iter().map(|hit| hit.key).collect::<Vec<_>>(), sorted[..2]);
        let ranked = index.rank(&one, &keys, None).unwrap();
        assert_eq!(ranked.iter().map(|hit| hit.key).collect::<Vec<_>>(), sorted);
        rebuild(&mut index, 0);
    }
}

#[test]
fn filters_narrow_and_wide_leave_out_what_they_should_and_nothing_else() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(MANY + 20, 5));
    let (kept, asked) = all.split_at(MANY);
    let mut index = with_graph(folder.path(), kept);
    // Some in the tail as well.
    let late: Vec<_> =
        asked.iter().zip(MANY as u64..).map(|(vector, entry)| (key(entry), vector.clone())).collect();
    index.put(&late).unwrap();
    let truth = truth(&all);
    for (every, least) in [(1, 10), (2, 10), (5, 10), (30, 10), (2500, 3), (100_000, 1)] {
        let counts = |key: Key| key.entry.is_multiple_of(every);
        let these: Vec<u64> = (0..all.len() as u64).filter(|entry| entry.is_multiple_of(every)).collect();
        for vector in asked {
            let plain = plainly(&truth, vector, 10, counts);
            assert!(plain.len() >= least);
            for among in [Among::Where(&counts), Among::These(&these)] {
                let answer = index.search(&Query { among, ..Query::nearest(vector, 10) }).unwrap();
                assert!(answer.hits.iter().all(|hit| counts(hit.key)));
                if answer.how == How::Exact {
                    assert_same(&answer.hits, &plain);
                }
                assert_eq!(answer.how == How::Exact, every > 10, "every {every}");
                assert_eq!(answer.hits.len(), plain.len());
                assert!((f64::from(answer.hits[0].score) - plain[0].1).abs() < 0.05, "{answer:?} {plain:?}");
            }
        }
    }
    let none =
        index.search(&Query { among: Among::Where(&|_| false), ..Query::nearest(&asked[0], 10) }).unwrap();
    assert_eq!((none.hits.len(), none.how), (0, How::Exact));
    assert_eq!(
        index.search(&Query { among: Among::These(&[]), ..Query::nearest(&asked[0], 10) }).unwrap().hits,
        []
    );
}

// shows: DOC-F01
#[test]
fn at_a_pinned_moment_what_came_later_changes_neither_answer_nor_order() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(MANY, 6));
    let pin = MANY as u64 / 2;
    let mut index = with_graph(folder.path(), &all[..=MANY / 2]);
    let pinned = |index: &holdfast_vectors::Index, vector: &Vector| {
        let query = Query { upto: Some(pin), effort: Effort::Exact, ..Query::nearest(vector, 20) };
        let hits = index.search(&query).unwrap().hits;
        // Candidates by whatever way, then ranked.
        let near = index.search(&Query { upto: None, ..Query::nearest(vector, 40) }).unwrap().hits;
        let keys: Vec<Key> = near.iter().map(|hit| hit.key).chain(hits.iter().map(|hit| hit.key)).collect();
        let ranked = index.rank(vector, &keys, Some(pin)).unwrap();
        (hits.clone(), ranked[..20].to_vec())
    };
    let asked = [&all[0], &all[77], &all[MANY - 1]];
    let before: Vec<_> = asked.iter().map(|vector| pinned(&index, vector)).collect();
    assert!(before.iter().all(|(hits, ranked)| hits == ranked && hits.len() == 20));
    index.put(&keyed(&all)[MANY / 2 + 1..]).unwrap();
    assert_eq!(asked.map(|vector| pinned(&index, vector)).to_vec(), before);
    rebuild(&mut index, 0);
    assert_eq!(asked.map(|vector| pinned(&index, vector)).to_vec(), before);
}

#[test]
fn what_is_put_again_is_found_as_it_is_now_alone() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(300, 7));
    let mut index = with_graph(folder.path(), &all[..200]);
    // One of the base, then of the tail, then again of the base.
    for (round, changed) in [5, 5, 150].into_iter().enumerate() {
        let vector = &all[290 + round];
        index.put(&[(key(changed), vector.clone())]).unwrap();
        assert_eq!(index.len(), 200);
        let first = index.search(&Query::nearest(vector, 1)).unwrap().hits[0];
        assert_eq!((first.key, index.vector(key(changed)).unwrap().as_ref()), (key(changed), Some(vector)));
        let old = exactly(&index, &all[changed as usize], 200).hits;
        let same: Vec<_> = old.iter().filter(|hit| hit.key == key(changed)).collect();
        assert!(same.len() == 1 && same[0].score < 0.999, "{same:?}");
    }
    drop(index);
    let index = open(folder.path());
    assert_eq!((index.len(), index.vector(key(5)).unwrap()), (200, Some(all[291].clone())));
}

#[test]
fn the_same_operations_give_the_same_files_and_answers_whatever_the_threads() {
    let all = vectors(MANY, 8);
    let run = |count: usize| {
        let folder = tempfile::tempdir().unwrap();
        let mut index = open(folder.path());
        for part in keyed(&all[..5000]).chunks(1700) {
            index.put(part).unwrap();
        }
        for round in 0..2 {
            index.forget(&[key(17), key(4000)]).unwrap();
            let rebuild = index.begin_rebuild().unwrap().with_graph_beyond(0);
            let rebuilt = rebuild.run(threads(count), &|| true).unwrap();
            index.adopt(rebuilt).unwrap().shred().unwrap();
            index.put(&keyed(&all)[5000 + round * 400..5400 + round * 400]).unwrap();
        }
        let answers: Vec<_> =
            all[5900..].iter().map(|vector| index.search(&Query::nearest(vector, 10)).unwrap()).collect();
        drop(index);
        (tree_bytes(folder.path()), answers)
    };
    let (files, answers) = run(1);
    assert!(answers.iter().all(|answer| answer.how == How::Approximate));
    for count in [2, 5] {
        let (others, other_answers) = run(count);
        assert_eq!(other_answers, answers);
        assert!(others == files, "{count} threads wrote other bytes");
    }
}

#[test]
fn a_rebuild_takes_known_links_over_and_finds_as_much_as_one_from_nothing() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(MANY, 9));
    let (kept, asked) = all.split_at(MANY - 100);
    let mut index = with_graph(folder.path(), &kept[..4000]);
    let forgotten: Vec<Key> = (0..4000).step_by(9).map(key).collect();
    index.forget(&forgotten).unwrap();
    index.put(&keyed(kept)[4000..]).unwrap();
    rebuild(&mut index, 0);
    assert_eq!(index.len(), kept.len() - forgotten.len());
    let mut found = 0;
    for vector in asked {
        let (walked, exact) =
            (index.search(&Query::nearest(vector, 10)).unwrap(), exactly(&index, vector, 10));
        assert_eq!(walked.how, How::Approximate);
        found += walked.hits.iter().filter(|hit| exact.hits.contains(hit)).count();
    }
    assert!(found >= 985, "{found} of 1000");
}

#[test]
fn limits_from_none_to_more_than_there_are() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(50, 10));
    let mut index = open(folder.path());
    assert_eq!(index.search(&Query::nearest(&all[0], 10)).unwrap().hits, []);
    assert!(index.is_empty() && index.rank(&all[0], &[key(1)], None).unwrap().is_empty());
    rebuild(&mut index, 0);
    assert_eq!(index.search(&Query::nearest(&all[0], 10)).unwrap().hits, []);
    index.put(&keyed(&all)).unwrap();
    for limit in [0, 1, 50, 51, LIMIT_MAX, usize::MAX] {
        assert_eq!(index.search(&Query::nearest(&all[0], limit)).unwrap().hits.len(), limit.min(50));
    }
    rebuild(&mut index, 0);
    for limit in [0, 1, 50, 51, LIMIT_MAX, usize::MAX] {
        assert_eq!(index.search(&Query::nearest(&all[0], limit)).unwrap().hits.len(), limit.min(50));
    }
}

// shows: MEM-084
#[test]
fn opposite_and_lone_directions_have_scores_and_never_nan() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = open(folder.path());
    let lone = |place: usize, sign: f32| {
        let mut numbers = [0.0; WIDTH];
        numbers[place] = sign;
        Vector::new(&numbers).unwrap()
    };
    index.put(&[(key(0), lone(0, 1.0)), (key(1), lone(0, -1.0)), (key(2), lone(1, 1.0))]).unwrap();
    rebuild(&mut index, 0);
    let scores: Vec<_> =
        exactly(&index, &lone(0, 1.0), 3).hits.iter().map(|hit| (hit.key.entry, hit.score)).collect();
    assert_eq!(scores, [(0, 1.0), (2, 0.0), (1, -1.0)]);
}
