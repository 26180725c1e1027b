//! What the acts come to: facts from the loop's records, the host and the detector.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use holdfast_demo::{Director, Facts, Settled, UndoneBy, document, whole};
use holdfast_plot::{GateState, Probe};

fn acts() -> Vec<Facts> {
    whole().unwrap().acts().map(|(_, _, facts)| facts.clone()).collect()
}

#[test]
fn the_first_act_notices_a_shift_and_keeps_what_helped() {
    let [first, ..] = &acts()[..] else { panic!("there is a first act") };
    let noticed = first.noticed.as_ref().unwrap();
    let took = noticed.at.since(noticed.began);
    assert!(took <= Duration::from_secs(180), "noticed within three minutes");
    assert!(took >= Duration::from_secs(30), "and not by one sample alone: it stayed");
    assert!(noticed.sure > 0.5 && noticed.to > noticed.from);
    assert!(first.gates.iter().all(|gate| gate.state == GateState::Passed));
    assert_eq!(first.cycles.len(), 20);
    assert!(first.cycles.iter().skip(1).all(|probe| *probe == Probe::Pass));
    assert_eq!(first.settled, Some(Settled::Kept { identity: first.tried.unwrap() }));
    assert_eq!(first.outcome.as_deref(), Some("kept"));
}

#[test]
fn the_lone_spike_is_seen_and_left_alone() {
    let mut director = Director::new().unwrap();
    while director.place() != (0, 2) {
        director.tick().unwrap();
    }
    let figure = director.scene().unwrap().figure;
    let normal = figure.band.unwrap();
    let beyond = figure.series[0].points.iter().filter(|point| point.value.unwrap() > normal.high).count();
    assert_eq!(beyond, 1, "one sample is out of what is normal here");
    let (_, _, facts) = director.acts().next().unwrap();
    assert_eq!((&facts.noticed, &facts.opened), (&None, &None));
}

#[test]
fn a_dead_controller_sees_nothing_and_remembers_nothing() {
    let mut director = Director::new().unwrap();
    let dead = |director: &Director| !director.scene().unwrap().controller_lives;
    let seen = |director: &Director| director.scene().unwrap().figure.series[0].points.len();
    while !dead(&director) {
        director.tick().unwrap();
    }
    let (before, mut time) = (seen(&director), String::new());
    while dead(&director) {
        assert_eq!(seen(&director), before, "nobody takes samples");
        time = director.scene().unwrap().time;
        director.tick().unwrap();
    }
    let story: Vec<String> =
        director.acts().last().unwrap().2.story.iter().map(|said| said.what.clone()).collect();
    let killed = story.iter().position(|what| what.starts_with("The controller is killed")).unwrap();
    assert!(story[killed + 1].starts_with("Nobody renewed the lease"), "{time}: {story:?}");
    assert!(story[killed + 2].starts_with("A new controller reads the"), "{story:?}");
}

#[test]
fn the_second_act_is_undone_by_the_controller_to_the_same_identity() {
    let director = whole().unwrap();
    let acts: Vec<&Facts> = director.acts().map(|(_, _, facts)| facts).collect();
    let second = acts[1];
    assert!(second.gates.iter().all(|gate| gate.state == GateState::Passed), "the gates let it through");
    assert_eq!(second.cycles.last(), Some(&Probe::Fail));
    assert!(matches!(&second.settled, Some(Settled::Undone { by: UndoneBy::Controller, .. })));
    assert_eq!(second.outcome.as_deref(), Some("rolled_back"));
    let identity = &document(&director)["acts"][1]["identity"];
    assert_eq!(identity["before"], identity["after"]);
    assert_eq!(identity["before"], identity["boots_into"]);
    assert_ne!(identity["before"], identity["tried"]);
}

#[test]
fn the_third_act_is_undone_by_the_lease_and_settled_by_a_new_controller() {
    let director = whole().unwrap();
    let acts: Vec<&Facts> = director.acts().map(|(_, _, facts)| facts).collect();
    let third = acts[2];
    let (back, by) = third.back.unwrap();
    assert_eq!(by, UndoneBy::Lease);
    assert!(third.killed_at.unwrap() < back, "the controller was dead when the host went back");
    assert!(back <= third.started_anew_at.unwrap(), "and nobody was there yet");
    assert!(third.started_anew_at.unwrap() <= third.settled_at.unwrap());
    assert!(matches!(&third.settled, Some(Settled::Undone { by: UndoneBy::Lease, .. })));
    assert_eq!(third.outcome.as_deref(), Some("interrupted"));
    let identity = &document(&director)["acts"][2]["identity"];
    assert_eq!(identity["before"], identity["after"]);
}

#[test]
fn it_takes_less_than_a_minute() {
    let shown = whole().unwrap().shown();
    assert!(shown < Duration::from_secs(60), "{shown:?}");
    assert!(shown > Duration::from_secs(30), "{shown:?}: too fast to be read");
}

#[test]
fn it_is_the_same_on_every_run() {
    assert_eq!(document(&whole().unwrap()), document(&whole().unwrap()));
}

#[test]
fn the_document_has_the_fields_it_promises() {
    let document = document(&whole().unwrap());
    assert_eq!(document["demo"], 1);
    assert_eq!(document["accelerated"], true);
    let acts = document["acts"].as_array().unwrap();
    assert_eq!(acts.len(), 3);
    for act in acts {
        for text in ["title", "host", "brain", "cause", "episode", "change", "hypothesis", "outcome"] {
            assert!(act[text].is_string(), "{text}: {}", act[text]);
        }
        for number in ["act", "score", "took_seconds", "records"] {
            assert!(act[number].is_number(), "{number}: {}", act[number]);
        }
        assert_eq!(act["gates"].as_array().unwrap().len(), 8);
        assert!(act["cycles"].as_array().unwrap().len() >= 4);
        assert!(["kept", "undone"].contains(&act["settled"]["as"].as_str().unwrap()));
        assert!(["controller", "lease"].contains(&act["settled"]["by"].as_str().unwrap()));
        for identity in ["before", "tried", "after", "boots_into"] {
            assert_eq!(act["identity"][identity].as_str().unwrap().len(), 64);
        }
        for line in act["story"].as_array().unwrap() {
            assert!(line["at"].is_number() && line["time"].is_string());
            assert!(line["state"].is_string() && line["what"].is_string());
        }
    }
    insta::assert_json_snapshot!(document["acts"][2]);
}
