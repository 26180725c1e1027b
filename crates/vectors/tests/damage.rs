//! Damaged files: refused when they are opened, or by the first answer that would rely on what is damaged. Never another answer.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::path::{Path, PathBuf};

use holdfast_testkit::Seed;
use holdfast_testkit::files::{copy_tree, flip_bit, truncate};
use holdfast_vectors::{Answer, Effort, Error, Index, Model, Query, Vector};
use shared::{MODEL, exactly, key, keyed, open, vectors, with_graph};

const BASE_ROWS: usize = 130;
const TAIL_ROWS: usize = 12;

/// An index with everything in it: base with graph, log with all kinds of record.
fn whole(folder: &Path) -> Vec<Vector> {
    let all = vectors(BASE_ROWS + TAIL_ROWS, 1);
    let mut index = with_graph(folder, &all[..BASE_ROWS]);
    index.put(&keyed(&all)[BASE_ROWS..]).unwrap();
    index.forget(&[key(3), key(BASE_ROWS as u64 + 2)]).unwrap();
    index.put(&[(key(5), all[0].clone())]).unwrap();
    index.set_applied(77).unwrap();
    all
}

fn file(folder: &Path, kind: &str) -> PathBuf {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == kind)).collect();
    assert_eq!(paths.len(), 1);
    paths.remove(0)
}

fn answers(index: &Index, asked: &[Vector]) -> Result<Vec<Answer>, Error> {
    let ways = [Effort::Usual, Effort::Exact];
    let of = |vector| ways.map(|effort| index.search(&Query { effort, ..Query::nearest(vector, 10) }));
    asked.iter().flat_map(of).collect()
}

/// Opens, verifies and asks; what all of it says.
fn looked_at(folder: &Path, asked: &[Vector]) -> Result<Vec<Answer>, Error> {
    let index = Index::open(folder, MODEL)?;
    let found = answers(&index, asked)?;
    index.verify()?;
    Ok(found)
}

fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Damaged { .. } | Error::Newer { .. } | Error::OtherModel)
}

#[test]
fn a_flipped_bit_is_refused_or_changes_no_answer() {
    let root = tempfile::tempdir().unwrap();
    let pristine = root.path().join("whole");
    let asked = whole(&pristine)[..4].to_vec();
    let before = looked_at(&pristine, &asked).unwrap();
    let mut rng = Seed::from_env_or(5).rng();
    let (mut refused, mut tried) = (0, 0);
    for (kind, every) in [("base", 4001), ("log", 61)] {
        let len = file(&pristine, kind).metadata().unwrap().len();
        // The headers whole, then all over: with an odd step that meets every section and every field of the records.
        let places = (0..100).chain((100..len).step_by(every)).chain(len.saturating_sub(40)..len);
        for at in places.filter(|at| *at < len) {
            let copy = root.path().join("copy");
            copy_tree(&pristine, &copy);
            flip_bit(file(&copy, kind), at, rng.below(8) as u8);
            match looked_at(&copy, &asked) {
                Err(e) => {
                    assert!(is_damage(&e), "{kind} {at}: {e}");
                    refused += 1;
                }
                // Padding, or bytes of what no longer counts.
                Ok(after) => assert_eq!(after, before, "{kind} {at}"),
            }
            tried += 1;
            std::fs::remove_dir_all(&copy).unwrap();
        }
    }
    assert!(refused * 10 > tried * 8, "{refused} of {tried}");
}

#[test]
fn a_base_that_is_cut_anywhere_is_refused_when_it_is_opened() {
    let root = tempfile::tempdir().unwrap();
    let pristine = root.path().join("whole");
    whole(&pristine);
    let len = file(&pristine, "base").metadata().unwrap().len();
    for cut in [0, 1, 7, 8, 4095, 4096, 4097, 8192, len / 2, len - 4096, len - 1]
        .into_iter()
        .chain((0..len).step_by(7919))
    {
        let copy = root.path().join("copy");
        copy_tree(&pristine, &copy);
        truncate(file(&copy, "base"), cut);
        let opened = Index::open(&copy, MODEL);
        assert!(matches!(&opened, Err(Error::Damaged { .. })), "{cut}: {opened:?}");
        std::fs::remove_dir_all(&copy).unwrap();
    }
    for kind in ["base", "log"] {
        let copy = root.path().join(kind);
        copy_tree(&pristine, &copy);
        std::fs::remove_file(file(&copy, kind)).unwrap();
        let opened = Index::open(&copy, MODEL);
        assert!(matches!(&opened, Err(Error::Damaged { .. })), "{kind}: {opened:?}");
    }
}

#[test]
fn a_log_that_is_cut_anywhere_opens_with_a_prefix_and_nothing_forgotten_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let pristine = root.path().join("whole");
    let all = whole(&pristine);
    let len = file(&pristine, "log").metadata().unwrap().len();
    let mut lens = std::collections::BTreeSet::new();
    for cut in (0..len).step_by(97).chain(len - 70..len).chain([31, 32, 33, 63, 64, 65, 32 + 1568, 32 + 1569])
    {
        let copy = root.path().join("copy");
        copy_tree(&pristine, &copy);
        truncate(file(&copy, "log"), cut);
        match Index::open(&copy, MODEL) {
            Ok(index) => {
                lens.insert(index.len());
                for entry in [3, BASE_ROWS as u64 + 2] {
                    let found = index.vector(key(entry));
                    assert!(matches!(found, Ok(None) | Err(Error::Damaged { .. })), "{cut}: {found:?}");
                }
                // What is there is as it was put in, and more can be put in and is there afterwards.
                drop(index);
                let mut index = open(&copy);
                index.put(&[(key(9000), all[0].clone())]).unwrap();
                drop(index);
                assert_eq!(open(&copy).vector(key(9000)).unwrap(), Some(all[0].clone()));
            }
            // Without the record that forgot it, a wiped vector is damage.
            Err(e) => assert!(matches!(e, Error::Damaged { .. }), "{cut}: {e}"),
        }
        std::fs::remove_dir_all(&copy).unwrap();
    }
    assert!(lens.len() > 2, "{lens:?}");
}

#[test]
fn zeros_after_the_end_of_a_log_are_no_damage_but_anything_else_is() {
    let root = tempfile::tempdir().unwrap();
    let pristine = root.path().join("whole");
    whole(&pristine);
    for (added, opens) in
        [(vec![0; 5000], true), (vec![0; 31], true), (vec![1; 31], true), (vec![1; 32], false)]
    {
        let copy = root.path().join("copy");
        copy_tree(&pristine, &copy);
        let mut bytes = std::fs::read(file(&copy, "log")).unwrap();
        let len = bytes.len() as u64;
        bytes.extend(&added);
        std::fs::write(file(&copy, "log"), bytes).unwrap();
        assert_eq!(Index::open(&copy, MODEL).is_ok(), opens, "{} of {}", added.len(), added[0]);
        if opens {
            assert_eq!(file(&copy, "log").metadata().unwrap().len(), len, "taken away");
        }
        std::fs::remove_dir_all(&copy).unwrap();
    }
}

// shows: MEM-019
#[test]
fn an_index_of_another_model_a_second_owner_and_a_lost_current_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("index");
    whole(&folder);
    assert!(matches!(Index::open(&folder, Model([1; 32])), Err(Error::OtherModel)));
    let held = open(&folder);
    assert!(matches!(Index::open(&folder, MODEL), Err(Error::InUse { .. })));
    drop(held);
    std::fs::remove_file(folder.join("CURRENT")).unwrap();
    assert!(matches!(Index::open(&folder, MODEL), Err(Error::Damaged { .. })));
}

#[test]
fn a_log_of_another_generation_and_a_base_of_another_index_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let (ours, theirs) = (root.path().join("ours"), root.path().join("theirs"));
    whole(&ours);
    let all = vectors(40, 9);
    let mut index = open(&theirs);
    index.put(&keyed(&all)).unwrap();
    drop(index);
    let foreign = std::fs::read(file(&theirs, "log")).unwrap();
    std::fs::write(file(&ours, "log"), foreign).unwrap();
    assert!(matches!(Index::open(&ours, MODEL), Err(Error::Damaged { .. })));
}

#[test]
fn what_a_damaged_index_holds_can_be_made_again_in_its_place() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("index");
    let all = whole(&folder);
    truncate(file(&folder, "base"), 100);
    assert!(matches!(Index::open(&folder, MODEL), Err(Error::Damaged { .. })));
    holdfast_vectors::Index::discard(&folder).unwrap();
    let mut index = open(&folder);
    assert!(index.is_empty() && index.applied().is_none());
    index.put(&keyed(&all)).unwrap();
    assert_eq!(exactly(&index, &all[9], 1).hits[0].key, key(9));
}
