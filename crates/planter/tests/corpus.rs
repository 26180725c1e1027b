//! The corpus is what it says: repeatable, whole, and true about itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeMap, BTreeSet};

use holdfast_planter::{
    Corpus, FILES_FOR_EVERY_KIND, Finding, chat, corpus, decoy_kinds, group_of, score, secret_kinds,
};
use holdfast_testkit::rounds;
use proptest::prelude::*;

fn texts(corpus: &Corpus) -> BTreeMap<&str, &str> {
    corpus.files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect()
}

/// Where the secret stands, in bytes, by line and column alone.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    before + text[before..].chars().take(column - 1).map(char::len_utf8).sum::<usize>()
}

fn check_truth(corpus: &Corpus) {
    let texts = texts(corpus);
    for planted in &corpus.planted {
        let text = texts[planted.file.as_str()];
        let at = offset(text, planted.first_line, planted.column);
        assert!(text[at..].starts_with(&planted.secret), "{planted:?}");
        assert_eq!(
            planted.last_line - planted.first_line,
            planted.secret.matches('\n').count(),
            "{planted:?}"
        );
        assert!(planted.secret.len() >= 6, "{planted:?}");
        assert_eq!(group_of(planted.kind), Some(planted.group));
    }
    let lines = |file: &str| texts[file].lines().count();
    for decoy in &corpus.decoys {
        assert!((1..=lines(&decoy.file)).contains(&decoy.line), "{decoy:?}");
    }
    for aside in &corpus.asides {
        assert!((1..=lines(&aside.file)).contains(&aside.line), "{aside:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_a_larger_corpus_begins_with_a_smaller() {
    let (one, two, larger) = (corpus(11, 60), corpus(11, 60), corpus(11, 90));
    assert_eq!(one, two);
    assert_eq!(one.files, larger.files[..60]);
}

#[test]
fn every_kind_is_there_whatever_the_seed() {
    for seed in 1..=u64::from(rounds(3, 60)) {
        let corpus = corpus(seed, FILES_FOR_EVERY_KIND);
        let planted: BTreeSet<&str> = corpus.planted.iter().map(|p| p.kind).collect();
        let decoys: BTreeSet<&str> = corpus.decoys.iter().map(|d| d.kind).collect();
        let missing: Vec<_> =
            secret_kinds().into_iter().filter(|(kind, _)| !planted.contains(kind)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let missing: Vec<_> = decoy_kinds().into_iter().filter(|kind| !decoys.contains(kind)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        check_truth(&corpus);
    }
}

#[test]
fn no_two_seeds_share_a_secret() {
    let random = |seed| -> BTreeSet<String> {
        // What people think up may well be thought up twice.
        let long = corpus(seed, 150).planted.into_iter().map(|p| p.secret).filter(|s| s.len() >= 20);
        long.collect()
    };
    let (one, two) = (random(1), random(2));
    assert!(one.len() > 100);
    assert_eq!(one.intersection(&two).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn most_lines_are_innocent_and_no_marks_are_left() {
    let corpus = corpus(5, FILES_FOR_EVERY_KIND);
    let lines: usize = corpus.files.iter().map(|file| file.text.lines().count()).sum();
    let planted: BTreeSet<_> = corpus
        .planted
        .iter()
        .flat_map(|p| (p.first_line..=p.last_line).map(move |line| (p.file.as_str(), line)))
        .collect();
    assert!(planted.len() * 4 < lines, "{} of {lines}", planted.len());
    for file in &corpus.files {
        let odd = |c: char| c == '«' || c == '»' || ('\u{E000}'..='\u{F8FF}').contains(&c);
        assert!(!file.text.contains(odd) && !file.path.contains(odd), "{}\n{}", file.path, file.text);
        assert!(!file.text.lines().any(|line| line.starts_with("%%")), "{}", file.path);
    }
}

#[test]
fn paths_are_relative_and_no_two_files_share_one() {
    let corpus = corpus(6, FILES_FOR_EVERY_KIND);
    let paths: BTreeSet<&str> = corpus.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths.len(), FILES_FOR_EVERY_KIND);
    for path in paths {
        assert!(
            !path.starts_with('/') && path.split('/').all(|part| !part.is_empty() && part != ".."),
            "{path}"
        );
    }
}

#[test]
fn a_written_tree_holds_the_same_bytes() {
    let corpus = corpus(8, 40);
    let dir = tempfile::tempdir().unwrap();
    corpus.write_to(dir.path()).unwrap();
    for file in &corpus.files {
        assert_eq!(std::fs::read_to_string(dir.path().join(&file.path)).unwrap(), file.text, "{}", file.path);
    }
}

#[test]
fn who_points_at_every_secret_and_nothing_else_has_full_marks() {
    let corpus = corpus(9, 120);
    let findings: Vec<Finding> =
        corpus.planted.iter().map(|p| Finding { file: p.file.clone(), line: p.first_line }).collect();
    let marks = score(&corpus, &findings);
    assert_eq!((marks.recall(), marks.precision(), marks.f1()), (1.0, 1.0, 1.0));
}

#[test]
fn messages_have_their_secrets_where_they_say_and_many_have_none() {
    let messages = chat(3, 400);
    assert_eq!(messages, chat(3, 400));
    assert_ne!(messages, chat(4, 400));
    for message in &messages {
        for range in &message.planted {
            let secret = message.text.get(range.clone()).unwrap();
            assert!(secret.len() >= 6 && secret.trim() == secret, "{message:?}");
        }
        assert!(message.planted.windows(2).all(|two| two[0].end <= two[1].start), "{message:?}");
        assert!(
            !message.text.contains(|c: char| c == '«' || ('\u{E000}'..='\u{F8FF}').contains(&c)),
            "{message:?}"
        );
    }
    let with = messages.iter().filter(|message| !message.planted.is_empty()).count();
    assert!((100..350).contains(&with), "{with}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(12, 400), ..ProptestConfig::default() })]

    #[test]
    fn the_truth_holds_for_any_seed(seed: u64, files in 1_usize..40) {
        check_truth(&corpus(seed, files));
    }
}
