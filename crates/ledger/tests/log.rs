//! The ledger is what its entries fold to; what cannot be followed stops it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod counter;

use counter::{Counter, code, fabric, wish};
use holdfast_journal::{Content, Draft};
use holdfast_ledger::{Error, Evidence, KINDS, Series, State, refuse_reserved};
use holdfast_types::{Key, Kind, Trust};
use serde_json::{Value, json};

/// A ledger with something of everything in it.
fn filled() -> Counter {
    let counter = Counter::new();
    counter.machine.uses(holdfast_ledger::Space::Ports, &[5901, 9222]);
    for series in Series::ALL {
        for holder in ["agent/a", "agent/b", "domain/c"] {
            counter.give(series, holder);
        }
    }
    counter.rename("agent/b", "agent/d").unwrap();
    counter.release(Series::Uid, "agent/a").unwrap();
    counter.release(Series::VncPort, "agent/a").unwrap();
    counter.reclaim(Series::Uid, "4001").unwrap();
    counter
}

fn entry(kind: &str, version: u16, body: Value) -> Draft {
    let Value::Object(body) = body else { panic!("an object") };
    let draft = Draft::new(kind.parse().unwrap(), fabric(), Trust::Trusted, body);
    Draft { version, ..draft }
}

#[test]
fn the_journal_alone_gives_back_the_identical_ledger() {
    let mut counter = filled();
    let state = counter.state();
    assert_eq!(counter.folded(), state);
    counter.restart();
    assert_eq!(counter.state(), state);
    counter.restart_from_the_journal();
    assert_eq!(counter.state(), state);
    let further = counter.further(counter.journal(), "further.db");
    assert_eq!(further.state().unwrap(), state);
    assert!(counter.house.verify().unwrap().is_good());
}

#[test]
fn every_entry_is_of_a_kind_that_is_told() {
    let kinds = filled().kinds();
    assert!(KINDS.iter().all(|def| kinds.iter().any(|kind| kind == def.name)), "{kinds:?}");
    assert!(kinds.iter().all(|kind| KINDS.iter().any(|def| kind == def.name)), "{kinds:?}");
}

#[test]
fn an_entry_that_cannot_be_followed_stops_the_ledger_and_is_named() {
    let given = json!({"turn": 1, "series": "uid", "value": "4002", "holder": "agent/b", "purpose": "main"});
    let with = |field: &str, value: Value| {
        let mut body = given.clone();
        body[field] = value;
        body
    };
    let cases = [
        (entry("ledger.number.given", 2, given.clone()), "version 2"),
        (entry("ledger.number.lent", 1, given.clone()), "does not know"),
        (entry("ledger.number.given", 1, json!({"turn": 1})), "no ledger.number.given"),
        (entry("ledger.number.given", 1, with("value", json!("0"))), "cannot be given as uid"),
        (entry("ledger.number.given", 1, with("series", json!("gid"))), "no kind of number"),
        (entry("ledger.number.given", 1, with("holder", json!("Agent B"))), "holder"),
        (entry("ledger.number.given", 1, with("value", json!("4001"))), "not free"),
        (entry("ledger.number.given", 1, with("turn", json!(2))), "turn 2"),
        (entry("ledger.number.released", 1, given.clone()), "does not have"),
        (
            Draft {
                content: Content::Blob(b"{}".to_vec()),
                ..entry("ledger.number.given", 1, given.clone())
            },
            "sealed",
        ),
    ];
    for (draft, why) in cases {
        let mut counter = Counter::new();
        counter.give(Series::Uid, "agent/a");
        let seq = counter.journal().append(&draft).unwrap().seq;
        for _ in 0..2 {
            let refused = counter.ask(&wish(Series::Uid, "agent/a")).unwrap_err();
            let Error::Behind { why: told } = &refused else { panic!("{refused:?}") };
            assert!(told.contains(why) && told.contains(&format!("entry {seq}")), "{told}");
            assert_eq!(code(counter.rename("agent/a", "agent/c")), "HF-LDG-015");
            counter.restart();
        }
        let entries = counter.entries();
        assert!(State::fold(&counter.house.origin, &entries).is_err(), "{why}");
    }
}

#[test]
fn entries_of_other_logs_count_for_nothing() {
    let counter = filled();
    let other = "holdfast/other".parse().unwrap();
    assert_eq!(State::fold(&other, &counter.entries()).unwrap(), State::default());
    let stranger = entry("ledger.number.lent", 1, json!({}));
    counter.journal().append(&stranger).unwrap();
    assert_eq!(State::fold(&other, &counter.entries()).unwrap(), State::default());
    assert!(State::fold(&counter.house.origin, &counter.entries()).is_err());
}

#[test]
fn an_entry_that_came_too_late_for_its_turn_counts_for_nothing() {
    let counter = Counter::new();
    counter.give(Series::Uid, "agent/a");
    let late = json!({"turn": 0, "series": "uid", "value": "4001", "holder": "agent/b", "purpose": "main"});
    counter.journal().append(&entry("ledger.number.given", 1, late)).unwrap();
    assert_eq!(counter.give(Series::Uid, "agent/b"), "4002");
    assert_eq!(counter.folded(), counter.state());
}

#[test]
fn a_key_that_somebody_else_used_does_not_keep_anybody_out() {
    let counter = Counter::new();
    let foreign = entry("demo.thing.noted", 1, json!({}));
    let key = Some("ledger-turn:0".parse::<Key>().unwrap());
    counter.journal().append(&Draft { key, ..foreign }).unwrap();
    assert_eq!(counter.give(Series::Uid, "agent/a"), "4001");
    assert_eq!(counter.give(Series::Uid, "agent/b"), "4002");
}

#[test]
fn only_the_ledger_writes_what_is_of_the_ledger() {
    let kind = |text: &str| text.parse::<Kind>().unwrap();
    let key = |text: &str| text.parse::<Key>().unwrap();
    for def in KINDS {
        assert!(matches!(refuse_reserved(&kind(def.name), None), Err(Error::Reserved { .. })));
    }
    assert!(matches!(refuse_reserved(&kind("ledger.other.done"), None), Err(Error::Reserved { .. })));
    let taken = refuse_reserved(&kind("a.b.c"), Some(&key("ledger-turn:9")));
    assert!(matches!(taken, Err(Error::ReservedKey { .. })));
    assert!(refuse_reserved(&kind("a.b.c"), Some(&key("mine"))).is_ok());
}

#[test]
fn what_looks_like_a_secret_is_not_written_and_not_changed() {
    let counter = Counter::new();
    counter.give(Series::Uid, "agent/a");
    counter.release(Series::Uid, "agent/a").unwrap();
    let written = counter.kinds();
    let evidence: Evidence =
        format!("looked with the token ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a").parse().unwrap();
    let number = counter::number(Series::Uid, "4001");
    assert_eq!(code(counter.ledger().reclaim(number, &evidence, &fabric())), "HF-LDG-012");
    assert_eq!(counter.kinds(), written);
}
