//! The rules that come with the program: enough of them, each true to its own examples.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use holdfast_guard::{Family, Guard, Settings};

#[test]
fn every_rule_finds_what_it_says_and_keeps_what_it_says() {
    Guard::new(&Settings::default()).unwrap();
}

#[test]
fn more_than_two_hundred_kinds_of_provider_tokens_are_known() {
    let secrets = Guard::builtin().kinds().filter(|k| k.family == Family::Secret).count();
    assert!(secrets >= 220, "{secrets}");
}
