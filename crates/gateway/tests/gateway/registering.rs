//! Links, ceremonies and passkeys, without HTTP.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Barrier};

use holdfast_gateway::{Accounts, Error, NewLink, Role, RpIdChange, Settings};
use serde_json::{Value, json};

use crate::house::{House, MINUTE, ORIGIN, label, number, settings, stranger};
use holdfast_testkit::authenticator::Key;

// shows: GTW-011, GTW-012
#[test]
fn a_link_becomes_a_person_who_is_signed_in_and_can_come_back() {
    let house = House::new();
    assert!(!house.accounts.has_owner().unwrap());
    let mut owner = house.first_owner();
    assert!(house.is_signed_in(&owner.cookie));
    let signed = house.signed(&owner);
    assert_eq!((signed.name.as_str(), signed.role), ("Ana", Role::Owner));
    let mut distinct = owner.codes.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 10);
    house.accounts.end(&signed).unwrap();
    assert!(!house.is_signed_in(&owner.cookie));
    let again = house.sign_in(&mut owner.key).unwrap();
    assert_eq!(again.person, signed.person);
    assert!(house.is_signed_in(again.session.cookie.reveal()));
}

// shows: GTW-F10
#[test]
fn nobody_registers_without_a_link() {
    let house = House::new();
    let nonsense = "x".repeat(43);
    for link in ["", "nonsense", &nonsense, &"x".repeat(100_000)] {
        assert_eq!(
            number(house.accounts.register_start(stranger(1), link, &label("a key"))),
            9,
            "{}",
            link.len()
        );
    }
    assert!(house.accounts.people().unwrap().is_empty());
}

#[test]
fn the_options_ask_for_a_passkey_that_is_kept_and_a_verified_user() {
    let (house, owner) = House::with_owner();
    let started = house.accounts.add_device_start(&house.signed(&owner), &label("phone")).unwrap();
    let chosen = &started.options["authenticatorSelection"];
    assert_eq!(chosen["residentKey"], "required");
    assert_eq!(chosen["requireResidentKey"], true);
    assert_eq!(chosen["userVerification"], "required");
    assert_eq!(started.options["rp"], json!({ "id": "hold.example", "name": "Holdfast" }));
    let excluded: Vec<Value> = started.options["excludeCredentials"].as_array().unwrap().clone();
    assert_eq!(excluded.len(), 1, "the device that is there already");
    let sign_in = house.accounts.sign_in_start(stranger(1)).unwrap().options;
    assert_eq!(
        (&sign_in["userVerification"], &sign_in["allowCredentials"]),
        (&json!("required"), &json!([]))
    );
}

#[test]
fn a_passkey_that_says_it_is_not_kept_is_refused() {
    let house = House::new();
    let link = house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let started = house.accounts.register_start(stranger(1), link.token.reveal(), &label("a key")).unwrap();
    let mut answer = Key::new().create(ORIGIN, &started.options);
    answer["clientExtensionResults"] = json!({ "credProps": { "rk": false } });
    assert_eq!(number(house.finish_registration(stranger(1), started.ceremony.reveal(), &answer)), 15);
    assert!(!house.accounts.has_owner().unwrap());
}

#[test]
fn a_link_expires_and_is_used_once() {
    let house = House::new();
    let name = "Ana".parse().unwrap();
    let late = house.accounts.first_link(&name).unwrap();
    house.clock.advance(15 * MINUTE);
    assert_eq!(number(house.register(&late, &mut Key::new())), 10);
    let link = house.accounts.first_link(&name).unwrap();
    // Begun in time, finished too late.
    let started = house.accounts.register_start(stranger(1), link.token.reveal(), &label("a key")).unwrap();
    let answer = Key::new().create(ORIGIN, &started.options);
    house.clock.advance(4 * MINUTE);
    house.clock.advance(10 * MINUTE);
    assert_eq!(number(house.finish_registration(stranger(1), started.ceremony.reveal(), &answer)), 12);
    house.register(&link, &mut Key::new()).unwrap();
    assert_eq!(number(house.register(&link, &mut Key::new())), 11);
    assert_eq!(number(house.accounts.first_link(&"Eve".parse().unwrap())), 33);
}

#[test]
fn a_clock_set_back_does_not_bring_a_link_back() {
    let house = House::new();
    let link = house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    house.clock.set_wall("2026-11-14T08:00:00.000000Z".parse().unwrap());
    assert_eq!(number(house.register(&link, &mut Key::new())), 10);
}

#[test]
fn a_newer_first_link_replaces_the_older_one() {
    let house = House::new();
    let older = house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let newer = house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    assert_eq!(number(house.register(&older, &mut Key::new())), 9);
    assert_eq!(house.accounts.open_links().unwrap().len(), 1);
    house.register(&newer, &mut Key::new()).unwrap();
    assert!(house.accounts.open_links().unwrap().is_empty());
}

#[test]
fn of_fifty_who_use_one_link_at_once_one_gets_in() {
    let house = House::new();
    // Hashing codes is for two at once, so most of these are told to come again.
    let first = house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let numbers = all_at_once(&house, &first);
    assert_eq!(numbers.iter().filter(|n| **n == 0).count(), 1);
    assert!(numbers.iter().all(|n| [0, 11, 18].contains(n)), "{numbers:?}");
    assert_eq!(house.accounts.people().unwrap().len(), 1);
    // With codes already there nothing is hashed, and all of them reach the link.
    let person = house.accounts.people().unwrap()[0].id;
    let numbers = all_at_once(&house, &house.accounts.recovery_link(person).unwrap());
    assert_eq!(numbers.iter().filter(|n| **n == 0).count(), 1);
    assert_eq!(numbers.iter().filter(|n| **n == 11).count(), 49);
    assert_eq!(house.accounts.devices(person).unwrap().len(), 2);
}

/// The numbers of the problems that fifty browsers have with one link; 0 for none.
fn all_at_once(house: &House, link: &NewLink) -> Vec<u16> {
    let attempts: Vec<_> = (0..50)
        .map(|n| {
            let holder = stranger(n);
            let started =
                house.accounts.register_start(holder, link.token.reveal(), &label("a key")).unwrap();
            let answer = Key::new().create(ORIGIN, &started.options);
            (holder, started.ceremony, serde_json::from_value(answer).unwrap())
        })
        .collect();
    let gate = Arc::new(Barrier::new(attempts.len()));
    let threads: Vec<_> = attempts
        .into_iter()
        .map(|(holder, ceremony, answer)| {
            let (accounts, gate) = (house.accounts.clone(), gate.clone());
            std::thread::spawn(move || {
                gate.wait();
                accounts.register_finish(holder, ceremony.reveal(), &answer, &label("a browser"), None)
            })
        })
        .collect();
    let number = |done: Result<_, Error>| done.map_or_else(|e| e.problem().code.number, |_| 0);
    threads.into_iter().map(|thread| number(thread.join().unwrap())).collect()
}

#[test]
fn a_ceremony_is_good_once_and_only_in_its_own_browser() {
    let (house, mut owner) = House::with_owner();
    let started = house.accounts.sign_in_start(stranger(1)).unwrap();
    let (ceremony, answer) = (started.ceremony.reveal(), owner.key.get(ORIGIN, &started.options));
    assert_eq!(number(house.finish_sign_in(stranger(2), ceremony, &answer)), 12);
    assert!(house.finish_sign_in(stranger(1), ceremony, &answer).is_ok());
    assert_eq!(number(house.finish_sign_in(stranger(1), ceremony, &answer)), 12);
}

// shows: GTW-014
#[test]
fn a_replayed_a_foreign_and_an_altered_answer_are_refused() {
    let (house, mut owner) = House::with_owner();
    let first = house.accounts.sign_in_start(stranger(1)).unwrap();
    let answer = owner.key.get(ORIGIN, &first.options);
    house.finish_sign_in(stranger(1), first.ceremony.reveal(), &answer).unwrap();
    let check = |alter: &dyn Fn(&mut Value)| {
        let started = house.accounts.sign_in_start(stranger(1)).unwrap();
        let mut good = owner.key.clone().get(ORIGIN, &started.options);
        alter(&mut good);
        number(house.finish_sign_in(stranger(1), started.ceremony.reveal(), &good))
    };
    let replayed = answer.clone();
    assert_eq!(check(&|good| *good = replayed.clone()), 13);
    assert_eq!(check(&|good| good["response"]["userHandle"] = Value::Null), 13);
    assert_eq!(check(&|good| good["response"]["userHandle"] = json!("AAAAAAAAAAAAAAAAAAAAAA")), 13);
    assert_eq!(check(&|good| good["rawId"] = json!("AAAAAAAAAAAAAAAAAAAAAA")), 13);
    let elsewhere = |good: &mut Value, origin: &str, framed: &str| {
        let data = format!(
            "{{\"type\":\"webauthn.get\",\"challenge\":{},\"origin\":\"{origin}\"{framed}}}",
            client_data(good)["challenge"]
        );
        good["response"]["clientDataJSON"] = json!(base64url(data.as_bytes()));
    };
    assert_eq!(check(&|good| elsewhere(good, "https://evil.example", "")), 13);
    assert_eq!(check(&|good| elsewhere(good, ORIGIN, ",\"crossOrigin\":true")), 13);
    assert_eq!(house.accounts.sessions(house.signed(&owner).person).unwrap().len(), 2);
}

fn client_data(answer: &Value) -> Value {
    use base64::Engine as _;
    let text = answer["response"]["clientDataJSON"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn base64url(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

#[test]
fn a_key_that_nobody_registered_signs_nobody_in() {
    let (house, _) = House::with_owner();
    let other = House::new();
    let mut unknown = other.first_owner();
    assert_eq!(number(house.sign_in(&mut unknown.key)), 13);
}

// shows: GTW-F11
#[test]
fn a_second_device_signs_in_and_a_removed_one_does_not() {
    let (house, mut owner) = House::with_owner();
    let signed = house.signed(&owner);
    let mut phone = Key::new();
    house.clock.advance(MINUTE);
    let started = house.accounts.add_device_start(&signed, &label("phone")).unwrap();
    let holder = holdfast_gateway::Holder::of_session(signed.session().unwrap());
    let answer = phone.create(ORIGIN, &started.options);
    let done = house.finish_registration(holder, started.ceremony.reveal(), &answer).unwrap();
    assert!(done.session.is_none() && done.codes.is_none());
    let on_phone = house.sign_in(&mut phone).unwrap();
    assert_eq!(on_phone.device, done.device);
    let devices = house.accounts.devices(signed.person).unwrap();
    assert_eq!(devices.iter().map(|d| d.label.as_str()).collect::<Vec<_>>(), ["a key", "phone"]);
    // What the removed device signed in with ends, and it does not come back.
    house.accounts.remove_device(&signed, done.device).unwrap();
    assert!(!house.is_signed_in(on_phone.session.cookie.reveal()));
    assert!(house.is_signed_in(&owner.cookie));
    assert_eq!(number(house.sign_in(&mut phone)), 13);
    assert_eq!(number(house.accounts.remove_device(&signed, devices[0].id)), 29, "the last one stays");
    assert!(house.sign_in(&mut owner.key).is_ok());
}

#[test]
fn a_device_link_adds_a_device_elsewhere_and_another_person_cannot_touch_it() {
    let (house, owner) = House::with_owner();
    let link = house.accounts.device_link(&house.signed(&owner), None).unwrap();
    let mut tablet = Key::new();
    let done = house.register(&link, &mut tablet).unwrap();
    assert_eq!(done.person, house.signed(&owner).person);
    assert!(done.session.is_some() && done.codes.is_none(), "signed in there, codes as they were");
    let guest = house.invited(&owner, "Ben", Role::Operator);
    assert_eq!(number(house.accounts.remove_device(&house.signed(&guest), done.device)), 30);
    assert_eq!(number(house.accounts.rename_device(&house.signed(&guest), done.device, &label("mine"))), 30);
    house.accounts.rename_device(&house.signed(&owner), done.device, &label("tablet")).unwrap();
}

#[test]
fn one_passkey_is_registered_once() {
    let (house, owner) = House::with_owner();
    let by = house.signed(&owner);
    let mut key = Key::new();
    let (one, two) = (stranger(5), stranger(6));
    let first = house.accounts.invite(&by, None, &"Ben".parse().unwrap(), Role::Viewer).unwrap();
    let begun = house.accounts.register_start(one, first.token.reveal(), &label("a key")).unwrap();
    let answer = key.create(ORIGIN, &begun.options);
    house.finish_registration(one, begun.ceremony.reveal(), &answer).unwrap();
    // The same credential id, answered to another challenge: a key that lies about being new.
    let second = house.accounts.invite(&by, None, &"Cleo".parse().unwrap(), Role::Viewer).unwrap();
    let begun = house.accounts.register_start(two, second.token.reveal(), &label("a key")).unwrap();
    let mut lie = Key::new().create(ORIGIN, &begun.options);
    graft_credential_id(&mut lie, &answer);
    assert_eq!(number(house.finish_registration(two, begun.ceremony.reveal(), &lie)), 16);
    assert_eq!(house.accounts.people().unwrap().len(), 2, "the link was not used up, and nobody was made");
    assert!(house.register(&second, &mut Key::new()).is_ok());
}

/// Writes the credential id of `from` into an attestation without signature.
fn graft_credential_id(into: &mut Value, from: &Value) {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let decode = |value: &Value| engine.decode(value.as_str().unwrap()).unwrap();
    let (old, new) = (decode(&into["rawId"]), decode(&from["rawId"]));
    let mut object = decode(&into["response"]["attestationObject"]);
    let at = object.windows(old.len()).position(|window| window == old).unwrap();
    object[at..at + new.len()].copy_from_slice(&new);
    into["rawId"] = from["rawId"].clone();
    into["id"] = from["id"].clone();
    into["response"]["attestationObject"] = json!(engine.encode(object));
}

#[test]
fn a_counter_that_went_back_is_refused_and_marked() {
    let house = House::new();
    let link = house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let mut owner = house.join(&link, Key::counting());
    let mut copy = owner.key.clone();
    for _ in 0..3 {
        house.sign_in(&mut owner.key).unwrap();
    }
    let person = house.signed(&owner).person;
    assert_eq!(house.accounts.devices(person).unwrap()[0].doubted, None);
    assert_eq!(number(house.sign_in(&mut copy)), 14);
    assert_eq!(house.accounts.devices(person).unwrap()[0].doubted, Some(house.clock.now()));
    assert!(house.sign_in(&mut owner.key).is_ok(), "the one that is ahead goes on");
}

// shows: GTW-010, GTW-028
#[test]
fn the_database_is_made_private_and_has_no_passwords() {
    let (house, _) = House::with_owner();
    let mode = std::fs::metadata(house.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let tables: Vec<String> = house
        .accounts
        .database()
        .read(|conn| {
            let mut rows = conn.prepare("SELECT sql FROM sqlite_schema WHERE type = 'table'")?;
            Ok(rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
        })
        .unwrap();
    assert!(tables.iter().any(|sql| sql.contains("sessions")));
    assert!(!tables.iter().any(|sql| sql.to_lowercase().contains("password")), "{tables:?}");
}

// shows: GTW-F24
#[test]
fn a_backup_taken_while_open_lets_everybody_in_elsewhere() {
    let (house, mut owner) = House::with_owner();
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("gateway.db");
    let go_on = &mut |_| std::ops::ControlFlow::Continue(());
    assert!(house.accounts.database().backup(&copy, go_on).unwrap().is_some());
    let mode = std::fs::metadata(&copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let restored = Accounts::open(&copy, settings(ORIGIN), Arc::new(house.clock.clone())).unwrap();
    let restored = crate::house::acting(restored);
    assert!(restored.signed(&owner.cookie).unwrap().is_some());
    let started = restored.sign_in_start(stranger(1)).unwrap();
    let answer = serde_json::from_value(owner.key.get(ORIGIN, &started.options)).unwrap();
    let done = restored.sign_in_finish(stranger(1), started.ceremony.reveal(), &answer, &label("b"), None);
    assert_eq!(done.unwrap().person, house.signed(&owner).person);
}

// shows: GTW-F22
#[test]
fn another_relying_party_id_is_refused_with_guidance_or_migrated_on_request() {
    let (house, mut owner) = House::with_owner();
    let (path, clock) = (house.path(), Arc::new(house.clock.clone()));
    let House { dir, accounts, .. } = house;
    let shared = accounts.accounts().clone();
    drop(accounts);
    drop(Arc::into_inner(shared).unwrap());
    let moved = settings("https://new.example:9096");
    let refused = Accounts::open(&path, moved.clone(), clock.clone()).unwrap_err().problem();
    assert_eq!(refused.code.number, 3);
    assert!(refused.what.contains("hold.example"), "{refused:?}");
    assert!(refused.hint.contains("`gateway.address`"), "it names what a person can do: {refused:?}");
    let moved = Settings { rp_id_change: RpIdChange::Migrate, ..moved };
    let accounts = crate::house::acting(Accounts::open(&path, moved, clock.clone()).unwrap());
    assert!(accounts.signed(&owner.cookie).unwrap().is_none());
    let person = accounts.people().unwrap()[0].clone();
    assert_eq!((person.devices, accounts.codes_left(person.id).unwrap()), (0, 10));
    // Back in with a code: the first passkey here, so there are new codes.
    let link = accounts.recover(&owner.codes.remove(0), |_, _| Ok(())).unwrap().link;
    let started = accounts.register_start(stranger(1), link.token.reveal(), &label("a key")).unwrap();
    let answer = Key::new().create("https://new.example:9096", &started.options);
    let answer = serde_json::from_value(answer).unwrap();
    let done =
        accounts.register_finish(stranger(1), started.ceremony.reveal(), &answer, &label("b"), None).unwrap();
    assert_eq!(done.codes.unwrap().len(), 10);
    drop(dir);
}

#[test]
fn before_the_first_passkey_another_name_is_taken_and_a_link_stays_good() {
    let house = House::new();
    let link = house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let (path, clock) = (house.path(), Arc::new(house.clock.clone()));
    let House { dir, accounts, .. } = house;
    let shared = accounts.accounts().clone();
    drop(accounts);
    drop(Arc::into_inner(shared).unwrap());
    let moved = "https://new.example:9096";
    let accounts = crate::house::acting(Accounts::open(&path, settings(moved), clock.clone()).unwrap());
    let started = accounts.register_start(stranger(1), link.token.reveal(), &label("a key")).unwrap();
    let answer = serde_json::from_value(Key::new().create(moved, &started.options)).unwrap();
    let ceremony = started.ceremony.reveal();
    accounts.register_finish(stranger(1), ceremony, &answer, &label("b"), None).unwrap();
    let shared = accounts.accounts().clone();
    drop(accounts);
    drop(Arc::into_inner(shared).unwrap());
    // Now there is one, and it belongs to that name.
    assert_eq!(Accounts::open(&path, settings(ORIGIN), clock.clone()).unwrap_err().problem().code.number, 3);
    Accounts::open(&path, settings(moved), clock).unwrap();
    drop(dir);
}

#[test]
fn invitations_end_with_their_makers_right_to_invite() {
    let (house, owner) = House::with_owner();
    let second = house.invited(&owner, "Ben", Role::Owner);
    let by_ben =
        house.accounts.invite(&house.signed(&second), None, &"Cleo".parse().unwrap(), Role::Owner).unwrap();
    let ben = house.signed(&second).person;
    house.accounts.set_role(&house.signed(&owner), ben, Role::Viewer).unwrap();
    assert_eq!(number(house.register(&by_ben, &mut Key::new())), 9);
}
