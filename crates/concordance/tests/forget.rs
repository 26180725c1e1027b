//! What was erased is in no file, in no form.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::path::Path;

use holdfast_concordance::{Filter, Query};
use holdfast_testkit::files::tree_bytes;
use holdfast_testkit::{Seed, rounds, with_seeds};
use shared::{Plain, entry, ids_of, open, put, sentence};

/// Words that stand nowhere else: whole ones, and parts that a dictionary would share with its neighbours.
const RARE: [&str; 4] = ["xylozanthium", "Quorvath-Lenz", "zq9f41c07be2aa10", "/srv/veshniak.cfg"];

/// No file has a piece of a rare word. A dictionary leaves out the beginning that a word shares with the one before it, so the ends are looked for.
fn assert_nothing_is_left(dir: &Path) {
    let ends: [&[u8]; 8] =
        [b"ozanthi", b"orvath", b"vathlenz", b"41c07be2", b"shniak", b"9f41", b"niak.cfg", b"lozan"];
    for (path, bytes) in tree_bytes(dir) {
        let lower = bytes.to_ascii_lowercase();
        for end in ends {
            assert!(
                !lower.windows(end.len()).any(|window| window == end),
                "{} in {path:?}",
                String::from_utf8_lossy(end)
            );
        }
    }
}

fn has_something(dir: &Path) -> bool {
    tree_bytes(dir).values().any(|bytes| bytes.windows(7).any(|window| window == b"ozanthi"))
}

#[test]
fn what_is_erased_is_in_no_file_and_the_rest_is_as_if_it_had_never_been() {
    with_seeds(rounds(6, 100), |seed| {
        let mut rng = seed.rng();
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [index, never] = folders.each_ref().map(|folder| open(folder.path()));
        let secret = RARE.join(" and ");
        let planted: Vec<u64> = (0..3).map(|_| rng.below(900)).collect();
        let mut plain = Plain::new(Default::default());
        for seq in 0..900 {
            let text = entry(&mut rng);
            if planted.contains(&seq) {
                index.add(seq, &format!("{text} {secret}")).unwrap();
            } else {
                [&index, &never].into_iter().for_each(|index| put(index, seq, &text));
                plain.add(seq, &text);
            }
            if seq % 100 == 50 {
                [&index, &never].into_iter().for_each(|index| index.flush().unwrap());
            }
        }
        never.advance(900);
        index.tend().unwrap();
        assert!(has_something(folders[0].path()) || planted.iter().all(|seq| *seq > 850), "it was there");
        let mut distinct = planted.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(index.erase(&planted).unwrap(), distinct.len());
        assert_nothing_is_left(folders[0].path());
        [&index, &never].into_iter().for_each(|index| index.flush().unwrap());
        while !index.tend().unwrap().is_idle() {}
        assert_nothing_is_left(folders[0].path());
        assert!(RARE.iter().all(|word| planted.iter().all(|id| {
            let hits = index.search(&Query::of(word), 1000, Filter::Every).unwrap();
            hits.iter().all(|hit| hit.id != *id)
        })));
        for _ in 0..10 {
            let query = Query::of(&sentence(&mut rng, 8));
            let hits = [&index, &never].map(|index| index.search(&query, 50, Filter::Every).unwrap());
            assert_eq!(hits[0], hits[1], "the same scores: nothing that was erased is counted");
            assert_eq!(ids_of(&hits[0]), plain.ranked(&query).into_iter().take(50).collect::<Vec<_>>());
        }
        assert_eq!(index.erase(&planted).unwrap(), 0, "once is enough");
    });
}

#[test]
fn a_word_that_others_have_too_stays_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    index.add(1, "xylozanthium one").unwrap();
    index.add(2, "xylozanthium two").unwrap();
    index.flush().unwrap();
    index.erase(&[1]).unwrap();
    let found = |word: &str| {
        index.search(&Query::of(word), 9, Filter::Every).unwrap().iter().map(|hit| hit.id).collect::<Vec<_>>()
    };
    assert_eq!((found("xylozanthium"), found("one"), index.len()), (vec![2], vec![], 1));
}

#[test]
fn everything_may_be_erased_and_the_index_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    (0..50).for_each(|seq| put(&index, seq, "xylozanthium"));
    index.flush().unwrap();
    (50..60).for_each(|seq| put(&index, seq, "xylozanthium"));
    assert_eq!(index.erase(&(0..100).collect::<Vec<_>>()).unwrap(), 60);
    assert_nothing_is_left(folder.path());
    assert_eq!((index.len(), index.applied()), (0, 60));
    index.add(60, "a new beginning").unwrap();
    index.flush().unwrap();
    drop(index);
    let index = open(folder.path());
    assert_eq!((index.len(), index.kept()), (1, 61));
}

#[test]
fn files_that_are_replaced_are_overwritten_and_not_only_removed() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    for seq in 0..8 {
        index.add(seq, "xylozanthium").unwrap();
        index.flush().unwrap();
    }
    // A second name keeps the bytes of a file that is only removed.
    let kept = tempfile::tempdir_in(folder.path().parent().unwrap()).unwrap();
    let mut twins = 0;
    for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
        if file.path().extension().is_some_and(|ending| ending == "seg") {
            std::fs::hard_link(file.path(), kept.path().join(file.file_name())).unwrap();
            twins += 1;
        }
    }
    assert_eq!((twins, index.tend().unwrap().merged), (8, 8));
    assert_nothing_is_left(kept.path());
    assert!(has_something(folder.path()));
    index.erase(&(0..8).collect::<Vec<_>>()).unwrap();
    assert_nothing_is_left(folder.path());
}

#[test]
fn what_a_crash_left_of_a_replaced_file_is_destroyed_at_the_next_opening() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    index.add(1, "xylozanthium").unwrap();
    index.add(2, "others").unwrap();
    index.flush().unwrap();
    let old = std::fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .find(|file| file.path().extension().is_some())
        .unwrap();
    let copy = std::fs::read(old.path()).unwrap();
    index.erase(&[1]).unwrap();
    drop(index);
    let leftovers = [
        old.path(),
        folder.path().join("00000000000000aa.seg.new-17-3"),
        folder.path().join("00000000000000ab.seg.new"),
    ];
    leftovers.iter().for_each(|path| std::fs::write(path, &copy).unwrap());
    std::fs::write(folder.path().join("note.txt"), "somebody's").unwrap();
    let index = open(folder.path());
    assert_eq!(index.len(), 1);
    leftovers.iter().for_each(|path| assert!(!path.exists(), "{path:?}"));
    assert_nothing_is_left(folder.path());
    assert!(folder.path().join("note.txt").exists(), "what is not ours is left alone");
}

#[test]
fn a_renewed_index_has_nothing_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path());
    index.add(1, "xylozanthium").unwrap();
    index.flush().unwrap();
    drop(index);
    let index = holdfast_concordance::Concordance::renew(folder.path(), Default::default()).unwrap();
    assert_eq!((index.len(), index.applied()), (0, 0));
    assert_nothing_is_left(folder.path());
    let seed = Seed::new(1);
    index.add(1, &entry(&mut seed.rng())).unwrap();
}
