//! What a holder gets, keeps, gives back and takes along.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod counter;

use counter::{Counter, code, fabric, named, number, purpose, wish};
use holdfast_ledger::{
    Ask, Error, HELD_PER_HOLDER_MAX, InterfaceName, Range, SKIPPED_MAX, Series, Space, Standing, Value,
};

// shows: AGT-170
#[test]
fn the_first_agent_gets_the_first_numbers_and_an_occupied_port_is_skipped_once_and_then_fixed() {
    let mut counter = Counter::new();
    let first = [
        (Series::Uid, "4001"),
        (Series::VncPort, "5901"),
        (Series::BrowserPort, "9222"),
        (Series::Port, "20000"),
        (Series::Subnet24, "10.208.0.0/24"),
        (Series::Subnet28, "10.224.0.0/28"),
        (Series::Mark, "0x1001"),
        (Series::Interface, "hf1"),
    ];
    for (series, value) in first {
        assert_eq!(counter.give(series, "agent/researcher"), value);
    }
    // Somebody's own screen and browser, and a user.
    counter.machine.uses(Space::Ports, &[5902, 5903, 9223]);
    counter.machine.uses(Space::Uids, &[0, 1000, 4002]);
    let second = [(Series::Uid, "4003"), (Series::VncPort, "5904"), (Series::BrowserPort, "9224")];
    for (series, value) in second {
        assert_eq!(counter.give(series, "agent/coder"), value);
    }
    // They go, and what was given stays; those who come later do not get it either.
    counter.machine.uses(Space::Ports, &[]);
    counter.machine.uses(Space::Uids, &[]);
    counter.restart();
    for (series, value) in second {
        assert_eq!(counter.give(series, "agent/coder"), value);
    }
    let skipped = counter.state().line(number(Series::VncPort, "5902")).unwrap().clone();
    assert_eq!(skipped.standing, Standing::InUse);
    assert_eq!(counter.give(Series::VncPort, "agent/third"), "5905");
    // The agents listen themselves now, and nothing moves.
    counter.machine.uses(Space::Ports, &[5901, 5904, 5905]);
    assert_eq!(counter.give(Series::VncPort, "agent/researcher"), "5901");
    assert_eq!(counter.give(Series::VncPort, "agent/coder"), "5904");
}

#[test]
fn asking_again_gives_the_same_number_and_writes_nothing() {
    let counter = Counter::new();
    let ask = wish(Series::Uid, "agent/a");
    let given = counter.ask(&ask).unwrap();
    assert!(given.fresh);
    let again = counter.ask(&ask).unwrap();
    assert!(!again.fresh);
    assert_eq!((again.number, again.seq), (given.number, given.seq));
    let other = Ask { purpose: "browser".parse().unwrap(), ..ask };
    assert_ne!(counter.ask(&other).unwrap().number, given.number);
    assert_eq!(counter.kinds().len(), 2);
}

// shows: AGT-161
#[test]
fn an_agent_with_a_name_of_thirty_characters_has_a_valid_and_stable_interface() {
    let mut counter = Counter::new();
    let long = format!("agent/{}", "a-name-of-just-30-characters--".replace("--", "xx"));
    assert_eq!(long.len(), "agent/".len() + 30);
    let value = counter.ask(&wish(Series::Interface, &long)).unwrap().number.value();
    let Value::Interface(name) = value.clone() else { panic!("{value:?}") };
    assert!(name.as_str().len() <= 15 && name.as_str().parse::<InterfaceName>().is_ok(), "{name}");
    // What the name was made of before is refused where a name is made.
    assert!(format!("tailscale-{long}").parse::<InterfaceName>().is_err());
    assert_eq!(counter.give(Series::Interface, "agent/b"), "hf2");
    counter.rename(&long, "agent/b2").unwrap();
    counter.restart();
    assert_eq!(counter.ask(&wish(Series::Interface, "agent/b2")).unwrap().number.value(), value);
}

// shows: AGT-169
#[test]
fn whoever_is_deleted_and_added_again_gets_another_uid() {
    let mut counter = Counter::new();
    let uid = counter.give(Series::Uid, "agent/a");
    let port = counter.give(Series::VncPort, "agent/a");
    let released = counter.ledger().release_all(&named("agent/a"), &fabric()).unwrap();
    assert_eq!(released.len(), 2);
    counter.restart();
    assert_ne!(counter.give(Series::Uid, "agent/a"), uid);
    assert_ne!(counter.give(Series::Uid, "agent/b"), uid);
    assert_ne!(counter.give(Series::VncPort, "agent/a"), port);
    // The files of the old one may be there for ever: only proof that there are none frees its uid.
    let tombstone = counter.state().line(number(Series::Uid, &uid)).unwrap().clone();
    let Standing::Released { holder, .. } = tombstone.standing else { panic!("{tombstone:?}") };
    assert_eq!(holder, named("agent/a"));
    counter.machine.uses(Space::Uids, &[4001]);
    assert_eq!(code(counter.reclaim(Series::Uid, &uid)), "HF-LDG-009");
    counter.machine.uses(Space::Uids, &[]);
    counter.reclaim(Series::Uid, &uid).unwrap();
    let entries = counter.entries();
    let reclaimed = entries.iter().find(|e| e.kind.as_str() == "ledger.number.reclaimed").unwrap();
    let holdfast_journal::Stored::Body(body) = &reclaimed.content else { panic!("a body") };
    assert_eq!(body["evidence"], "find on every disk shows no file of it");
    let only = Range::new(number(Series::Uid, &uid), number(Series::Uid, &uid)).unwrap();
    let given = counter.ask(&Ask::within(only, named("agent/c"), purpose())).unwrap();
    assert_eq!(given.number.to_string(), uid);
}

#[test]
fn releasing_twice_is_releasing_once_and_only_what_is_held_can_be() {
    let counter = Counter::new();
    assert_eq!(code(counter.release(Series::Uid, "agent/a")), "HF-LDG-006");
    counter.give(Series::Uid, "agent/a");
    assert_eq!(code(counter.release(Series::Mark, "agent/a")), "HF-LDG-006");
    let tombstone = counter.release(Series::Uid, "agent/a").unwrap();
    assert_eq!(counter.release(Series::Uid, "agent/a").unwrap(), tombstone);
    assert_eq!(counter.kinds(), ["ledger.number.given", "ledger.number.released"]);
    assert_eq!(counter.ledger().release_all(&named("agent/a"), &fabric()).unwrap(), []);
}

#[test]
fn only_what_is_idle_can_be_reclaimed_and_once_is_enough() {
    let counter = Counter::new();
    assert_eq!(code(counter.reclaim(Series::Uid, "4001")), "HF-LDG-007");
    counter.give(Series::VncPort, "agent/a");
    assert_eq!(code(counter.reclaim(Series::VncPort, "5901")), "HF-LDG-008");
    // The same port under the name of another kind is another thing to say, and is not believed.
    assert_eq!(code(counter.reclaim(Series::Port, "5901")), "HF-LDG-007");
    counter.machine.uses(Space::Ports, &[5902]);
    assert_eq!(counter.give(Series::VncPort, "agent/b"), "5903");
    counter.machine.uses(Space::Ports, &[]);
    let reclaimed = counter.reclaim(Series::VncPort, "5902").unwrap();
    assert_eq!(counter.reclaim(Series::VncPort, "5902").unwrap(), reclaimed);
}

#[test]
fn a_rename_keeps_every_number_and_is_safe_to_repeat() {
    let mut counter = Counter::new();
    let all = |counter: &Counter, holder: &str| Series::ALL.map(|series| counter.give(series, holder));
    let before = all(&counter, "domain/work");
    let other = all(&counter, "domain/other");
    let renamed = counter.rename("domain/work", "domain/office").unwrap();
    assert_eq!((renamed.numbers.len(), renamed.repeated), (Series::ALL.len(), false));
    assert!(counter.rename("domain/work", "domain/office").unwrap().repeated);
    counter.restart();
    assert_eq!(all(&counter, "domain/office"), before);
    assert_eq!(all(&counter, "domain/other"), other);
    // Somebody new under the old name begins anew, and the plan that still tells of the rename changes nothing.
    let anew = all(&counter, "domain/work");
    assert!(anew.iter().all(|value| !before.contains(value)));
    assert!(counter.rename("domain/work", "domain/office").unwrap().repeated);
    assert_eq!(all(&counter, "domain/work"), anew);
    assert_eq!(code(counter.rename("domain/work", "domain/other")), "HF-LDG-011");
    assert_eq!(code(counter.rename("domain/never", "domain/else")), "HF-LDG-010");
}

#[test]
fn a_range_declared_otherwise_moves_nothing_that_was_given() {
    let counter = Counter::new();
    let within = |first: &str, last: &str, holder: &str| {
        let range = Range::new(number(Series::Subnet24, first), number(Series::Subnet24, last)).unwrap();
        counter.ask(&Ask::within(range, named(holder), purpose())).unwrap().number.to_string()
    };
    assert_eq!(within("10.120.0.0/24", "10.120.255.0/24", "domain/a"), "10.120.0.0/24");
    assert_eq!(within("10.120.0.0/24", "10.120.255.0/24", "domain/b"), "10.120.1.0/24");
    assert_eq!(within("192.168.0.0/24", "192.168.9.0/24", "domain/a"), "10.120.0.0/24");
    assert_eq!(within("192.168.0.0/24", "192.168.9.0/24", "domain/c"), "192.168.0.0/24");
    assert_eq!(within("10.120.0.0/24", "10.120.255.0/24", "domain/d"), "10.120.2.0/24");
    // A small block within a large one that somebody has is not given.
    let small = |value| number(Series::Subnet28, value);
    let range = Range::new(small("10.120.1.240/28"), small("10.120.4.0/28")).unwrap();
    let given = counter.ask(&Ask::within(range, named("domain/e"), purpose())).unwrap();
    assert_eq!(given.number.to_string(), "10.120.3.0/28");
    assert_eq!(within("10.120.0.0/24", "10.120.255.0/24", "domain/f"), "10.120.4.0/24");
}

#[test]
fn a_port_of_one_kind_is_not_given_as_another() {
    let counter = Counter::new();
    assert_eq!(counter.give(Series::VncPort, "agent/a"), "5901");
    let port = |value| number(Series::Port, value);
    let range = Range::new(port("5901"), port("5902")).unwrap();
    let given = counter.ask(&Ask::within(range, named("agent/b"), purpose())).unwrap();
    assert_eq!(given.number.to_string(), "5902");
    assert_eq!(counter.give(Series::VncPort, "agent/b"), "5903");
}

#[test]
fn a_range_that_is_used_up_says_so_and_a_wider_one_helps() {
    let counter = Counter::new();
    let uid = |value: &str| number(Series::Uid, value);
    let ask = |last: &str, holder: &str| {
        counter.ask(&Ask::within(Range::new(uid("5000"), uid(last)).unwrap(), named(holder), purpose()))
    };
    counter.machine.uses(Space::Uids, &[5001]);
    ask("5001", "agent/a").unwrap();
    counter.release(Series::Uid, "agent/a").unwrap();
    let written = counter.kinds();
    let Err(refused) = ask("5001", "agent/b") else { panic!("it is used up") };
    assert!(matches!(refused, Error::Exhausted { in_use: 1, .. }), "{refused}");
    let problem = refused.problem();
    assert!(problem.hint.contains("wider range") && problem.hint.contains("reclaim"), "{problem:?}");
    assert_eq!(counter.kinds(), written);
    assert_eq!(ask("5009", "agent/b").unwrap().number.to_string(), "5002");
}

#[test]
fn a_machine_that_cannot_be_looked_at_or_is_full_gives_nothing_new() {
    let counter = Counter::new();
    let crowd: Vec<u32> = (4001..=4001 + SKIPPED_MAX as u32).collect();
    counter.machine.uses(Space::Uids, &crowd);
    assert_eq!(code(counter.ask(&wish(Series::Uid, "agent/a"))), "HF-LDG-003");
    counter.machine.uses(Space::Uids, &crowd[1..]);
    assert_eq!(counter.give(Series::Uid, "agent/a"), "4001");
    // As many as may be, in one entry.
    let next = 4002 + SKIPPED_MAX as u32;
    assert_eq!(counter.give(Series::Uid, "agent/b"), next.to_string());
    counter.machine.goes_blind();
    assert_eq!(code(counter.ask(&wish(Series::Uid, "agent/c"))), "HF-LDG-005");
    assert_eq!(counter.give(Series::Uid, "agent/a"), "4001");
}

#[test]
fn one_holder_cannot_use_up_a_series() {
    let counter = Counter::new();
    let ask = |n: usize| Ask { purpose: format!("p{n}").parse().unwrap(), ..wish(Series::Uid, "agent/a") };
    for n in 0..HELD_PER_HOLDER_MAX {
        counter.ask(&ask(n)).unwrap();
    }
    assert_eq!(code(counter.ask(&ask(HELD_PER_HOLDER_MAX))), "HF-LDG-004");
    assert!(!counter.ask(&ask(0)).unwrap().fresh);
    assert_eq!(counter.give(Series::Uid, "agent/b"), (4001 + HELD_PER_HOLDER_MAX).to_string());
}
