//! Random lives of a journal against the simplest thing that could be right: a list.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdfast_journal::{Content, DirArchive, Draft, Error, Journal, Limits, Stored};
use holdfast_testkit::House;
use holdfast_testkit::house::long;
use holdfast_testkit::{Seed, rounds, with_seeds};

/// What the log should hold.
#[derive(Default)]
struct Model {
    entries: Vec<Expected>,
    keys: BTreeMap<String, u64>,
    erased: BTreeSet<u64>,
}

#[derive(Clone)]
enum Expected {
    Body(String),
    Blob(String),
    /// Something the journal wrote down for itself.
    Own(&'static str),
}

#[test]
fn a_random_life_leaves_what_a_list_would() {
    with_seeds(rounds(20, 400), live);
}

fn live(seed: Seed) {
    let archive = tempfile::tempdir().unwrap();
    let mut rng = seed.rng();
    let mut house = House::new();
    house.limits = Limits {
        segment_bytes: *rng.pick(&[4096, 10_000, 100_000]),
        checkpoint_every: *rng.pick(&[1, 7, 100]),
        keep_segments: 1 + rng.below(4) as usize,
        ..Limits::default()
    };
    if rng.chance(0.5) {
        house.archive = Some(Arc::new(DirArchive::new(archive.path()).unwrap()));
    }
    let mut model = Model::default();
    let mut journal = house.open();
    for step in 0..120u64 {
        match rng.below(20) {
            0..8 => append(&journal, &mut model, vec![body(&house, format!("{step}"))]),
            8..11 => {
                let batch = (0..rng.below(60)).map(|n| body(&house, format!("{step}.{n}"))).collect();
                append(&journal, &mut model, batch);
            }
            11..13 => keyed(&journal, &house, &mut model, format!("key:{}", rng.below(10))),
            13..15 => append(&journal, &mut model, vec![blob(&house, format!("text {step}"))]),
            15 => {
                let seq = rng.below(model.entries.len() as u64 + 1);
                erase(&journal, &mut model, seq);
            }
            16 => journal.rotate().unwrap(),
            17 => assert_eq!(journal.checkpoint().unwrap().checkpoint.size, model.entries.len() as u64),
            18 => {
                drop(journal);
                journal = house.open();
            }
            _ => check(&journal, &model, rng.below(model.entries.len() as u64 + 1)),
        }
    }
    check(&journal, &model, 0);
    drop(journal);
    let found = house.verify().unwrap();
    assert!(found.is_good(), "{:?}", found.findings);
    assert_eq!(found.size, model.entries.len() as u64);
}

fn body(house: &House, text: String) -> (Draft, Expected) {
    let body = [("text".to_owned(), text.clone().into())].into_iter().collect();
    (Draft { content: Content::Body(body), ..house.note(0) }, Expected::Body(text))
}

fn blob(house: &House, text: String) -> (Draft, Expected) {
    // Some in the line, some in the pack.
    let text = if text.len().is_multiple_of(3) { long(&text) } else { text };
    (house.blob(&text), Expected::Blob(text))
}

fn append(journal: &Journal, model: &mut Model, batch: Vec<(Draft, Expected)>) {
    let drafts: Vec<Draft> = batch.iter().map(|(draft, _)| draft.clone()).collect();
    for (result, (_, expected)) in journal.append_many(&drafts).unwrap().into_iter().zip(batch) {
        assert_eq!(result.unwrap().seq, model.entries.len() as u64);
        model.entries.push(expected);
    }
}

fn keyed(journal: &Journal, house: &House, model: &mut Model, key: String) {
    let (draft, expected) = body(house, key.clone());
    let appended = journal.append(&Draft { key: Some(key.parse().unwrap()), ..draft }).unwrap();
    let next = model.entries.len() as u64;
    let first = *model.keys.entry(key).or_insert(next);
    assert_eq!((appended.seq, appended.repeated), (first, first != next));
    if first == next {
        model.entries.push(expected);
    }
}

fn erase(journal: &Journal, model: &mut Model, seq: u64) {
    let result = journal.erase(seq, &"ana".parse().unwrap());
    match model.entries.get(seq as usize) {
        Some(Expected::Blob(_)) => {
            let repeated = !model.erased.insert(seq);
            assert_eq!(result.unwrap().repeated, repeated);
            if !repeated {
                model.entries.push(Expected::Own("journal.blob.erased"));
            }
        }
        _ => assert!(result.is_err()),
    }
}

fn check(journal: &Journal, model: &Model, from: u64) {
    let mut next = from;
    for raw in journal.read(from) {
        let entry = raw.unwrap().parse().unwrap();
        assert_eq!(entry.seq, next);
        match (&model.entries[next as usize], &entry.content) {
            (Expected::Body(text), Stored::Body(body)) => {
                assert_eq!(body["text"].as_str(), Some(text.as_str()))
            }
            (Expected::Own(kind), Stored::Body(_)) => assert_eq!(entry.kind.as_str(), *kind),
            (Expected::Blob(text), Stored::Blob(_)) => match journal.text(next) {
                Ok(found) => assert!(found == text.as_bytes() && !model.erased.contains(&next)),
                Err(Error::Erased { .. }) => assert!(model.erased.contains(&next)),
                Err(e) => panic!("{e}"),
            },
            _ => panic!("entry {next} is of the wrong sort"),
        }
        next += 1;
    }
    assert_eq!(next, model.entries.len() as u64);
}
