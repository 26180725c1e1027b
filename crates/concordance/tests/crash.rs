//! Real processes, killed while they add, write, merge and erase.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use holdfast_concordance::{Filter, Query};
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::files::tree_bytes;
use holdfast_testkit::{Rng, Seed, rounds};
use shared::{Plain, entry, ids_of, open, sentence};

/// The text of the journal entry: the same whoever asks, and with one word that no other has.
fn text_of(seq: u64) -> String {
    let mut rng = Seed::new(seq).rng();
    format!("{} {}", entry(&mut rng), own_word(seq))
}

/// Consonants in no order: one term, which no rule shortens, and which shares little of its beginning with any other.
fn own_word(seq: u64) -> String {
    let mut rng = Seed::new(seq).child("own word").rng();
    (0..14).map(|_| *rng.pick(&['b', 'c', 'f', 'j', 'k', 'm', 'p', 'q', 'v', 'z'])).collect()
}

/// Every seventh entry is erased some time after it was added; which ones is the same whoever asks.
fn erased_at(seq: u64) -> Option<u64> {
    seq.checked_sub(40).filter(|old| old % 7 == 3)
}

/// The child: goes on where the index is, in the order of the journal. As when something is forgotten, the text is destroyed first.
#[test]
fn keeper() {
    crash::child_main("keeper", |args, report| {
        let index = open(Path::new(&args[0]));
        let mut rng = Seed::new(args[1].parse().unwrap()).rng();
        let destroyed = |seq: u64| Path::new(&args[0]).join(format!("../destroyed-{seq}"));
        for seq in index.applied().. {
            if destroyed(seq).exists() {
                index.advance(seq + 1);
            } else {
                index.add(seq, &text_of(seq)).unwrap();
            }
            if let Some(old) = erased_at(seq) {
                std::fs::write(destroyed(old), "").unwrap();
                index.erase(&[old]).unwrap();
                report.line(format!("erased {old}"));
            }
            if rng.chance(0.1) {
                index.flush().unwrap();
                report.line(format!("kept {}", seq + 1));
            }
            index.tend().unwrap();
        }
    });
}

#[test]
fn a_kill_at_any_moment_leaves_a_whole_prefix_and_nothing_that_was_erased_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let (mut kept, mut reached) = (0, 0);
    let mut erased = BTreeSet::new();
    crash::run_kills(
        Seed::from_env_or(31),
        rounds(40, 600),
        Duration::from_millis(1)..Duration::from_millis(90),
        |round| Crash::new("keeper").arg(index.display()).arg(round),
        |round, remains| {
            for line in &remains.lines {
                match line.split_once(' ').unwrap() {
                    ("kept", upto) => kept = upto.parse().unwrap(),
                    ("erased", id) => drop(erased.insert(id.parse::<u64>().unwrap())),
                    other => panic!("{other:?}"),
                }
            }
            check_remains(&index, kept, &erased, &mut Seed::new(round.into()).rng());
            reached = reached.max(kept);
        },
    );
    assert!(reached > 100 && erased.len() > 10, "{reached} kept, {} erased", erased.len());
}

fn check_remains(path: &Path, kept: u64, erased: &BTreeSet<u64>, rng: &mut Rng) {
    let index = open(path);
    index.check().unwrap();
    let applied = index.applied();
    assert!(applied >= kept, "what was written stays: {applied} of {kept}");
    // The index is what the journal gives up to where it says it is; erasures after that point may have happened too.
    let mut plain = Plain::new(Default::default());
    for seq in 0..applied {
        plain.add(seq, &text_of(seq));
    }
    let gone: Vec<u64> = (0..applied).filter(|seq| !index.contains(*seq).unwrap()).collect();
    plain.erase(&gone);
    assert!(gone.iter().all(|seq| seq % 7 == 3), "only what was erased is missing: {gone:?}");
    let due = (0..applied).filter_map(erased_at);
    assert!(due.clone().all(|old| gone.contains(&old)), "every erasure up to there was done");
    assert!(
        erased.iter().filter(|id| **id < applied).all(|id| gone.contains(id)),
        "an erasure that was acknowledged holds"
    );
    for _ in 0..5 {
        let query = Query::of(&sentence(rng, 6));
        let hits = index.search(&query, 40, Filter::Every).unwrap();
        assert_eq!(ids_of(&hits), plain.ranked(&query).into_iter().take(40).collect::<Vec<_>>());
    }
    assert_no_word_of(path, &gone);
}

/// A dictionary leaves out the beginning that a word shares with the one before it, so its end is looked for.
fn assert_no_word_of(path: &Path, gone: &[u64]) {
    const END: usize = 8;
    let ends: BTreeSet<Vec<u8>> =
        gone.iter().map(|seq| own_word(*seq).into_bytes()[14 - END..].to_vec()).collect();
    for (file, bytes) in tree_bytes(path) {
        let left = bytes.windows(END).find(|window| ends.contains(*window));
        assert_eq!(left.map(String::from_utf8_lossy), None, "in {file:?}");
    }
}
