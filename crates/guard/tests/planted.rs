//! How much of what somebody else planted is found, and how much is found that nobody planted.
//!
//! The planting generator has its own list of formats and knows nothing of the rules. The comparison with other scanners
//! on the same trees is in the benchmarks; this is the part that must not get worse unseen.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::print_stdout, reason = "the figures are what one wants to read")]

use std::collections::BTreeMap;

use holdfast_guard::{Guard, Looking, Scene};
use holdfast_planter::{Corpus, FILES_FOR_EVERY_KIND, Finding, Group, score};

fn findings(corpus: &Corpus) -> Vec<Finding> {
    let mut all = Vec::new();
    for file in &corpus.files {
        let bytes = file.text.as_bytes();
        let scene = Scene::file(&file.path, &bytes[..bytes.len().min(2048)]);
        for found in Guard::builtin().find(bytes, &scene) {
            let line = bytes[..found.span.start].iter().filter(|b| **b == b'\n').count() + 1;
            all.push(Finding { file: file.path.clone(), line });
        }
    }
    all
}

// shows: HRD-040
#[test]
fn planted_secrets_are_found_and_decoys_are_left_alone() {
    let (mut planted, mut found, mut false_alarms, mut right) = (0, 0, 0, 0);
    let mut groups: BTreeMap<Group, (usize, usize)> = BTreeMap::new();
    let seeds = holdfast_testkit::rounds(2, 12) as u64;
    for seed in 100..100 + seeds {
        let corpus = holdfast_planter::corpus(seed, FILES_FOR_EVERY_KIND);
        let marks = score(&corpus, &findings(&corpus));
        for (secret, hit) in corpus.planted.iter().zip(&marks.found) {
            let group = groups.entry(secret.group).or_default();
            group.0 += usize::from(*hit);
            group.1 += 1;
            found += usize::from(*hit);
            planted += 1;
        }
        false_alarms += marks.false_alarms;
        right += marks.right;
        for (kind, count) in &marks.fooled_by {
            println!("seed {seed}: fooled {count} times by {kind}");
        }
    }
    let recall = found as f64 / planted as f64;
    let precision = right as f64 / (right + false_alarms) as f64;
    println!("recall {recall:.4} of {planted}, precision {precision:.4}, {false_alarms} false alarms");
    for (group, (hit, all)) in &groups {
        println!("  {:<18} {hit}/{all}", group.name());
    }
    assert!(recall >= 0.95, "{recall}");
    assert!(precision >= 0.995, "{precision}");
    let share = |group: Group| groups[&group].0 as f64 / groups[&group].1 as f64;
    assert!(
        share(Group::ProviderToken) >= 0.99 && share(Group::PrivateKey) >= 0.99 && share(Group::Hash) >= 0.97
    );
}

#[test]
fn what_people_say_to_each_other_comes_out_without_its_secrets() {
    let (mut planted, mut gone, mut innocent, mut touched) = (0, 0, 0, 0);
    for message in holdfast_planter::chat(7, 3000) {
        let done = Guard::builtin().redact_for(&message.text, Looking::Secrets);
        if message.planted.is_empty() {
            innocent += 1;
            touched += usize::from(!done.is_untouched());
        }
        for range in &message.planted {
            planted += 1;
            gone += usize::from(done.blocked || !done.content.contains(&message.text[range.clone()]));
        }
    }
    let recall = gone as f64 / planted as f64;
    println!(
        "{gone} of {planted} secrets gone ({recall:.3}); {touched} of {innocent} innocent messages touched"
    );
    assert!(recall >= 0.9, "{recall}");
    assert!(touched * 100 <= innocent, "{touched} of {innocent}");
}
