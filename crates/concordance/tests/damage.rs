//! Files that were damaged: noticed, and never a wrong answer.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::path::{Path, PathBuf};

use holdfast_concordance::{Bm25, Concordance, Error, Filter, Hit, Query};
use holdfast_testkit::files::{copy_tree, flip_bit, truncate};
use holdfast_testkit::{Seed, rounds};
use shared::{entry, open, sentence};

/// Three segments, and what some questions find in them.
struct Sound {
    folder: tempfile::TempDir,
    queries: Vec<Query>,
    answers: Vec<Vec<Hit>>,
}

fn sound() -> Sound {
    let folder = tempfile::tempdir().unwrap();
    let index = open(&folder.path().join("index"));
    let mut rng = Seed::new(21).rng();
    for seq in 0..240 {
        index.add(seq, &entry(&mut rng)).unwrap();
        if seq % 80 == 79 {
            index.flush().unwrap();
        }
    }
    let queries: Vec<Query> = (0..8).map(|_| Query::of(&sentence(&mut rng, 7))).collect();
    let answers = queries.iter().map(|query| index.search(query, 30, Filter::Every).unwrap()).collect();
    Sound { folder, queries, answers }
}

/// Opens a damaged copy and asks: every answer is the right one, or says that there is damage. Whether all were right.
fn ask(sound: &Sound, path: &Path) -> bool {
    let index = match Concordance::open(path, Bm25::default()) {
        Ok(index) => index,
        Err(e) => {
            assert!(e.is_cured_by_renewal() || matches!(e, Error::Newer { .. }), "{e}");
            return false;
        }
    };
    let mut all = true;
    for (query, answer) in sound.queries.iter().zip(&sound.answers) {
        match index.search(query, 30, Filter::Every) {
            Ok(hits) => assert_eq!(hits, *answer),
            Err(Error::Damaged { .. }) => all = false,
            Err(e) => panic!("{e}"),
        }
        let ids: Vec<u64> = answer.iter().map(|hit| hit.id).collect();
        all &= index.nearness(query, &ids).is_ok();
    }
    assert!(index.check().is_err() || all, "a check finds whatever a search finds");
    let checked = index.check().is_ok();
    let erased = index.erase(&[3, 90]);
    assert!(erased.is_ok() || !checked);
    checked
}

fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(path).unwrap().flatten().map(|file| file.path()).collect();
    files.retain(|file| !file.ends_with("LOCK"));
    files.sort();
    files
}

fn damaged_copy(sound: &Sound, number: u32) -> PathBuf {
    let copy = sound.folder.path().join(format!("copy-{number}"));
    copy_tree(sound.folder.path().join("index"), &copy);
    copy
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let sound = sound();
    let mut rng = Seed::from_env_or(22).rng();
    for round in 0..rounds(300, 20_000) {
        let copy = damaged_copy(&sound, round);
        let files = files(&copy);
        let file = rng.pick(&files);
        let at = rng.below(std::fs::metadata(file).unwrap().len());
        flip_bit(file, at, rng.below(8) as u8);
        assert!(!ask(&sound, &copy), "byte {at} of {file:?}");
        std::fs::remove_dir_all(copy).unwrap();
    }
}

#[test]
fn a_file_that_is_cut_short_or_missing_is_noticed() {
    let sound = sound();
    let mut rng = Seed::from_env_or(23).rng();
    for round in 0..rounds(60, 2000) {
        let copy = damaged_copy(&sound, round);
        let files = files(&copy);
        let file = rng.pick(&files);
        if rng.chance(0.2) {
            std::fs::remove_file(file).unwrap();
        } else {
            truncate(file, rng.below(std::fs::metadata(file).unwrap().len()));
        }
        assert!(!ask(&sound, &copy), "{file:?}");
        std::fs::remove_dir_all(copy).unwrap();
    }
}

#[test]
fn an_older_segment_in_the_place_of_a_newer_one_is_noticed() {
    let sound = sound();
    let copy = damaged_copy(&sound, 0);
    let segments: Vec<PathBuf> = files(&copy).into_iter().filter(|file| file.extension().is_some()).collect();
    std::fs::copy(&segments[0], &segments[2]).unwrap();
    assert!(!ask(&sound, &copy));
}

#[test]
fn an_index_of_another_analysis_is_refused_and_one_of_a_newer_format_is_left_untouched() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let manifest = folder.path().join("MANIFEST");
    let line = std::fs::read_to_string(&manifest).unwrap().lines().next().unwrap().to_owned();
    let write = |line: &str| {
        std::fs::write(&manifest, format!("{line}\n{:08x}\n", crc32c::crc32c(line.as_bytes()))).unwrap()
    };
    write(&line.replace("\"analysis\":1", "\"analysis\":7"));
    let e = Concordance::open(folder.path(), Bm25::default()).unwrap_err();
    assert!(matches!(e, Error::OtherAnalysis { found: 7, .. }) && e.is_cured_by_renewal(), "{e}");
    write(
        &line.replace("\"format\":1", "\"format\":2").replace("\"applied\"", "\"new_words\":[],\"applied\""),
    );
    let before = std::fs::read(&manifest).unwrap();
    let e = Concordance::open(folder.path(), Bm25::default()).unwrap_err();
    assert!(matches!(e, Error::Newer { found: 2, .. }) && !e.is_cured_by_renewal(), "{e}");
    assert_eq!(std::fs::read(&manifest).unwrap(), before);
    assert_eq!(Concordance::renew(folder.path(), Bm25::default()).unwrap().len(), 0);
}

#[test]
fn two_owners_at_once_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    assert!(matches!(Concordance::open(folder.path(), Bm25::default()), Err(Error::Busy { .. })));
    assert!(matches!(Concordance::renew(folder.path(), Bm25::default()), Err(Error::Busy { .. })));
    drop(first);
    open(folder.path());
}
