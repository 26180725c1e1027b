//! Sessions: how they begin, last and end.

use std::time::Duration;

use holdfast_gateway::{Ended, Previous, Role, Tokens, Watch};

use crate::house::{DAY, HOUR, House, MINUTE, ORIGIN, label, number, stranger};

// shows: GTW-027, GTW-F05
#[test]
fn sessions_survive_a_restart() {
    let (house, owner) = House::with_owner();
    let house = house.reopened();
    assert!(house.is_signed_in(&owner.cookie));
    assert!(!house.is_signed_in(&owner.cookie.to_uppercase()), "an altered cookie names nobody");
}

// shows: GTW-030
#[test]
fn an_altered_cookie_is_nobodys() {
    let (house, owner) = House::with_owner();
    for at in 0..owner.cookie.len() {
        let mut bytes = owner.cookie.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(bytes).unwrap();
        assert!(!house.is_signed_in(&altered), "{at}");
    }
}

// shows: GTW-F12
#[test]
fn a_session_ends_when_it_is_idle_and_when_it_is_old() {
    let (house, owner) = House::with_owner();
    house.clock.advance(12 * HOUR);
    assert!(!house.is_signed_in(&owner.cookie));
    let (house, owner) = House::with_owner();
    for _ in 0..(30 * 24 / 10) {
        assert!(house.is_signed_in(&owner.cookie));
        house.clock.advance(10 * HOUR);
        let signed = house.accounts.signed(&owner.cookie).unwrap();
        let Some(signed) = signed else { break };
        if house.accounts.touch_is_due(&signed) {
            house.accounts.touch(&signed).unwrap();
        }
    }
    assert!(!house.is_signed_in(&owner.cookie), "used all the time, and over after thirty days");
    house.accounts.sweep().unwrap();
    assert_eq!(house.clock.now().to_string(), "2026-12-15T08:00:00.000000Z");
}

#[test]
fn looking_is_written_down_once_a_minute_and_kept_over_a_restart() {
    let (house, owner) = House::with_owner();
    let signed = house.signed(&owner);
    assert!(!house.accounts.touch_is_due(&signed));
    house.clock.advance(MINUTE);
    assert!(house.accounts.touch_is_due(&signed));
    assert!(!house.accounts.touch_is_due(&signed));
    house.accounts.touch(&signed).unwrap();
    let seen = house.accounts.sessions(signed.person).unwrap()[0].seen;
    assert_eq!(seen, house.clock.now());
    let house = house.reopened();
    assert_eq!(house.accounts.sessions(signed.person).unwrap()[0].seen, seen);
}

#[test]
fn every_sign_in_has_a_new_name_and_ends_the_one_before_in_that_browser() {
    let (house, mut owner) = House::with_owner();
    let before = house.signed(&owner);
    let previous = Previous { who: before.clone(), has_word: false };
    let started = house.accounts.sign_in_start(stranger(1)).unwrap();
    let answer = owner.key.get(ORIGIN, &started.options);
    let answer = serde_json::from_value(answer).unwrap();
    let done = house
        .accounts
        .sign_in_finish(stranger(1), started.ceremony.reveal(), &answer, &label("b"), Some(&previous))
        .unwrap();
    assert_ne!(done.session.cookie.reveal(), owner.cookie);
    assert_ne!(Some(done.session.id), before.session());
    assert!(!house.is_signed_in(&owner.cookie));
    assert!(house.is_signed_in(done.session.cookie.reveal()));
}

#[test]
fn one_others_or_all_sessions_can_be_ended() {
    let (house, mut owner) = House::with_owner();
    let signed = house.signed(&owner);
    let cookies: Vec<String> =
        (0..3).map(|_| house.sign_in(&mut owner.key).unwrap().session.cookie.reveal().to_owned()).collect();
    let alive = || cookies.iter().filter(|cookie| house.is_signed_in(cookie)).count();
    let one = house.accounts.signed(&cookies[0]).unwrap().unwrap();
    house.accounts.end_session(&signed, one.session().unwrap(), Tokens::End).unwrap();
    assert_eq!(alive(), 2);
    let guest = house.invited(&owner, "Ben", Role::Owner);
    let others = house.accounts.signed(&cookies[1]).unwrap().unwrap().session().unwrap();
    assert_eq!(
        number(house.accounts.end_session(&house.signed(&guest), others, Tokens::End)),
        30,
        "not theirs to end"
    );
    assert_eq!(house.accounts.end_other_sessions(&signed, Tokens::Stay).unwrap().sessions, 2);
    assert_eq!(alive(), 0);
    assert!(house.is_signed_in(&owner.cookie) && house.is_signed_in(&guest.cookie));
    house.accounts.end_all_sessions(signed.person, Tokens::End).unwrap();
    assert!(!house.is_signed_in(&owner.cookie) && house.is_signed_in(&guest.cookie));
}

#[test]
fn one_person_has_a_bounded_number_of_sessions_and_the_unused_give_way() {
    let (house, mut owner) = House::with_owner();
    let person = house.signed(&owner).person;
    for _ in 0..70 {
        house.clock.advance(Duration::from_secs(1));
        house.sign_in(&mut owner.key).unwrap();
    }
    assert_eq!(house.accounts.sessions(person).unwrap().len(), 64);
    assert!(!house.is_signed_in(&owner.cookie), "the oldest went");
}

#[test]
fn the_anti_forgery_word_does_not_come_from_the_cookie() {
    let (house, mut owner) = House::with_owner();
    let word = |cookie: &str| {
        let signed = house.accounts.signed(cookie).unwrap().unwrap();
        signed.csrf().unwrap().reveal().to_owned()
    };
    let first = word(&owner.cookie);
    // What it was made of before, and what anybody can compute who has the cookie.
    use base64::Engine as _;
    let url = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    for context in ["holdfast gateway 2026-11 anti-forgery word", "holdfast gateway 2026-11 session"] {
        let made = blake3::derive_key(context, owner.cookie.as_bytes());
        assert_ne!(first, url.encode(made), "{context}");
    }
    // Another house with the same cookie in its database has another word.
    let again = house.sign_in(&mut owner.key).unwrap().session;
    assert_eq!(word(again.cookie.reveal()), again.word.reveal());
    assert_ne!(first, again.word.reveal());
    let stored = std::fs::read(house.path()).unwrap();
    let text = String::from_utf8_lossy(&stored);
    assert!(!text.contains(&first) && !text.contains(&owner.cookie), "neither is stored");
    let house = house.reopened();
    assert_eq!(house.signed(&owner).csrf().unwrap().reveal(), first, "a restart changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_stream_hears_within_seconds_that_its_session_is_over() {
    let (house, mut owner) = House::with_owner();
    let begun = tokio::time::Instant::now();
    let other = house.sign_in(&mut owner.key).unwrap().session.cookie.reveal().to_owned();
    let signed = house.accounts.signed(&other).unwrap().unwrap();
    let mut watch = Watch::new(house.accounts.accounts().clone(), &signed);
    let early = tokio::time::timeout(Duration::from_secs(60), watch.over()).await;
    assert!(early.is_err(), "it goes on while the session does");
    let ended_at = tokio::time::Instant::now();
    house.accounts.end_other_sessions(&house.signed(&owner), Tokens::Stay).unwrap();
    assert_eq!(watch.over().await, Ended::Gone);
    assert!(ended_at.elapsed() <= Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn who_is_passed_on_to_a_service_is_known_by_the_session_and_only_while_it_lasts() {
    let (house, owner) = House::with_owner();
    let signed = house.signed(&owner);
    let session = signed.session().unwrap();
    let passing = house.accounts.passing(session).unwrap().unwrap();
    assert_eq!((passing.person, passing.role), (signed.person, Role::Owner));
    let mut watch = Watch::of_passing(house.accounts.accounts().clone(), &passing);
    house.accounts.end(&signed).unwrap();
    assert!(house.accounts.passing(session).unwrap().is_none());
    assert_eq!(watch.over().await, Ended::Gone);
}

#[tokio::test(start_paused = true)]
async fn a_stream_hears_of_expiry_of_another_role_and_of_a_revoked_token() {
    let (house, owner) = House::with_owner();
    let guest = house.invited(&owner, "Ben", Role::Operator);
    let (by, ben) = (house.signed(&owner), house.signed(&guest));
    let mut watch = Watch::new(house.accounts.accounts().clone(), &ben);
    house.accounts.set_role(&by, ben.person, Role::Viewer).unwrap();
    assert_eq!(watch.over().await, Ended::OtherRole);
    let token =
        house.accounts.make_token(&by, None, &label("script"), holdfast_gateway::Scope::Read, 1).unwrap();
    let by_token = house.accounts.signed_by_token(token.token.reveal()).unwrap().unwrap();
    let mut watch = Watch::new(house.accounts.accounts().clone(), &by_token);
    house.accounts.revoke_token(&by, token.id).unwrap();
    assert_eq!(watch.over().await, Ended::Gone);
    let mut watch = Watch::new(house.accounts.accounts().clone(), &by);
    house.clock.advance(DAY);
    assert_eq!(watch.over().await, Ended::Gone);
}
