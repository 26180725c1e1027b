//! A passkey used for one thing.

use holdfast_gateway::Role;

use crate::house::{House, MINUTE, ORIGIN, number};

const THIS: [u8; 32] = [7; 32];

#[test]
fn what_is_confirmed_comes_back_once_and_as_it_was() {
    let (house, mut owner) = House::with_owner();
    house.clock.advance(11 * MINUTE);
    let signed = house.signed(&owner);
    let started = house.accounts.confirm_start(&signed, "approve:apr_1", THIS, None).unwrap();
    assert_eq!(started.options["userVerification"], "required");
    assert_eq!(started.options["allowCredentials"].as_array().unwrap().len(), 1);
    let answer = owner.key.get(ORIGIN, &started.options);
    let answer = serde_json::from_value(answer).unwrap();
    let finish = || house.accounts.confirm_finish(&signed, started.ceremony.reveal(), &answer);
    let confirmed = finish().unwrap();
    assert_eq!((confirmed.what(), confirmed.digest()), ("approve:apr_1", THIS));
    assert_eq!(number(finish()), 12, "once");
}

#[test]
fn nobody_confirms_for_somebody_else_or_with_a_removed_key() {
    let (house, mut owner) = House::with_owner();
    let mut guest = house.invited(&owner, "Ben", Role::Operator);
    let (ana, ben) = (house.signed(&owner), house.signed(&guest));
    let started = house.accounts.confirm_start(&ana, "x", THIS, None).unwrap();
    let read = |answer| serde_json::from_value(answer).unwrap();
    // Ben's key does not even know it; with the list taken away it answers, and is refused.
    assert!(guest.key.try_get(ORIGIN, &started.options).is_err());
    let mut open = started.options.clone();
    open["allowCredentials"] = serde_json::json!([]);
    let by_ben = read(guest.key.get(ORIGIN, &open));
    assert_eq!(number(house.accounts.confirm_finish(&ana, started.ceremony.reveal(), &by_ben)), 13);
    // In another session it is not there at all.
    let started = house.accounts.confirm_start(&ana, "x", THIS, None).unwrap();
    let good = read(owner.key.get(ORIGIN, &started.options));
    assert_eq!(number(house.accounts.confirm_finish(&ben, started.ceremony.reveal(), &good)), 12);
    assert!(house.accounts.confirm_finish(&ana, started.ceremony.reveal(), &good).is_ok());
    // A key that is removed between the two.
    house.clock.advance(MINUTE);
    let link = house.accounts.device_link(&ana, None).unwrap();
    let mut phone = house.join(&link, holdfast_testkit::authenticator::Key::new());
    let started = house.accounts.confirm_start(&ana, "x", THIS, None).unwrap();
    let mut only_phone = started.options.clone();
    only_phone["allowCredentials"] = serde_json::json!([]);
    let by_phone = read(phone.key.get(ORIGIN, &only_phone));
    let device = house.accounts.devices(ana.person).unwrap()[1].id;
    house.accounts.remove_device(&ana, device).unwrap();
    assert_eq!(number(house.accounts.confirm_finish(&ana, started.ceremony.reveal(), &by_phone)), 13);
}

#[test]
fn a_sign_in_is_no_confirmation_and_the_other_way_round() {
    let (house, mut owner) = House::with_owner();
    let signed = house.signed(&owner);
    let started = house.accounts.confirm_start(&signed, "x", THIS, None).unwrap();
    let answer = owner.key.get(ORIGIN, &started.options);
    let holder = holdfast_gateway::Holder::of_session(signed.session().unwrap());
    assert_eq!(number(house.finish_sign_in(holder, started.ceremony.reveal(), &answer)), 12);
    let begun = house.accounts.sign_in_start(holder).unwrap();
    let answer = serde_json::from_value(owner.key.get(ORIGIN, &begun.options)).unwrap();
    assert_eq!(number(house.accounts.confirm_finish(&signed, begun.ceremony.reveal(), &answer)), 12);
}
