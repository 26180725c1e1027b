//! The command: what it prints, and what it exits with.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::process::{Command, Output};

fn sim(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdfast-sim")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_run_without_violations_exits_0_and_says_how_fast_it_was() {
    let out = sim(&["run", "--seeds", "0..200"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stdout));
    assert!(text(&out.stdout).contains("200 worlds") && text(&out.stdout).contains("seeds/s"));
}

#[test]
fn a_violation_exits_1_and_names_the_command_that_replays_it() {
    let out = sim(&["run", "--seeds", "0..400", "--mutant", "no-lease", "--first"]);
    assert_eq!(out.status.code(), Some(1));
    let said = text(&out.stdout);
    let command = said.lines().find(|line| line.contains("holdfast-sim replay")).unwrap();
    let args: Vec<&str> = command.split_whitespace().skip(1).filter(|arg| !arg.is_empty()).collect();
    let args: Vec<&str> = args.into_iter().take_while(|arg| *arg != "--faults").collect();
    let replayed = sim(&args);
    assert_eq!(replayed.status.code(), Some(1), "{command}");
    assert!(text(&replayed.stdout).contains("VIOLATED   leased"), "{}", text(&replayed.stdout));
}

#[test]
fn json_is_one_object_with_seeds_per_second_and_violations() {
    let out = sim(&["run", "--seeds", "0..300", "--mutant", "rollback-by-previous", "--json"]);
    assert_eq!(out.status.code(), Some(1));
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(value["seeds_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(value["mutant"], "rollback-by-previous");
    assert!(!value["violations"].as_array().unwrap().is_empty());
    assert!(value["unreached"]["events"].is_array());
}

#[test]
fn what_cannot_be_understood_exits_2() {
    for args in [["run", "--seeds", "9..3"], ["run", "--seeds", "few"], ["run", "--mutant", "none-such"]] {
        assert_eq!(sim(&args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn every_mutant_is_listed_with_what_it_is() {
    let said = text(&sim(&["mutants"]).stdout);
    assert_eq!(said.lines().count(), holdfast_lifeline::Flaw::ALL.len());
    assert!(said.contains("rollback-by-previous"), "{said}");
}
