//! Roles, and that there is always an owner.

use holdfast_gateway::Role;

use crate::house::{House, number};

#[test]
fn the_last_owner_stays_an_owner_and_stays() {
    let (house, owner) = House::with_owner();
    let by = house.signed(&owner);
    assert_eq!(number(house.accounts.set_role(&by, by.person, Role::Operator)), 28);
    assert_eq!(number(house.accounts.remove_person(&by, by.person)), 28);
    let second = house.invited(&owner, "Ben", Role::Owner);
    house.accounts.set_role(&by, by.person, Role::Viewer).unwrap();
    assert_eq!(house.signed(&owner).role, Role::Viewer, "at once, in the session that is open");
    let ben = house.signed(&second);
    assert_eq!(number(house.accounts.remove_person(&ben, ben.person)), 28);
}

#[test]
fn only_an_owner_changes_people_even_with_an_older_look_at_themselves() {
    let (house, owner) = House::with_owner();
    let by = house.signed(&owner);
    for role in [Role::Viewer, Role::Operator] {
        let member = house.invited(&owner, role.as_str(), role);
        let signed = house.signed(&member);
        assert_eq!(number(house.accounts.invite(&signed, None, &"Eve".parse().unwrap(), Role::Viewer)), 7);
        assert_eq!(number(house.accounts.set_role(&signed, signed.person, Role::Owner)), 7);
        assert_eq!(number(house.accounts.remove_person(&signed, by.person)), 7);
    }
    let second = house.invited(&owner, "Ben", Role::Owner);
    let stale = house.signed(&second);
    house.accounts.set_role(&by, stale.person, Role::Viewer).unwrap();
    assert_eq!(stale.role, Role::Owner, "what it was when it was let in");
    assert_eq!(number(house.accounts.set_role(&stale, stale.person, Role::Owner)), 7);
}

#[test]
fn a_person_that_goes_takes_everything_along() {
    let (house, owner) = House::with_owner();
    let mut guest = house.invited(&owner, "Ben", Role::Operator);
    let (by, ben) = (house.signed(&owner), house.signed(&guest));
    let token = house
        .accounts
        .make_token(&ben, None, &"script".parse().unwrap(), holdfast_gateway::Scope::Act, 30)
        .unwrap();
    let link = house.accounts.device_link(&ben, None).unwrap();
    house.accounts.remove_person(&by, ben.person).unwrap();
    assert!(!house.is_signed_in(&guest.cookie));
    assert_eq!(number(house.sign_in(&mut guest.key)), 13);
    assert!(house.accounts.signed_by_token(token.token.reveal()).unwrap().is_none());
    assert_eq!(number(house.accounts.recover(&guest.codes[0], |_, _| Ok(()))), 17);
    assert_eq!(number(house.register(&link, &mut holdfast_testkit::authenticator::Key::new())), 9);
    assert_eq!(house.accounts.people().unwrap().len(), 1);
}

#[test]
fn names_are_unique_whatever_their_case_width_spaces_and_alphabet() {
    let (house, owner) = House::with_owner();
    let by = house.signed(&owner);
    let capa = house.invited(&owner, "Capa", Role::Viewer);
    assert!(house.is_signed_in(&capa.cookie));
    let other_alphabet = "\u{421}\u{430}\u{440}\u{430}";
    for alike in ["ANA", "ana", "A na", "\u{ff21}na", "\u{1d400}na", other_alphabet] {
        let name = alike.parse().unwrap();
        assert_eq!(number(house.accounts.invite(&by, None, &name, Role::Viewer)), 31, "{alike}");
    }
    // Two open invitations may have the same name; the second to come is told.
    let one = house.accounts.invite(&by, None, &"Ben".parse().unwrap(), Role::Viewer).unwrap();
    let two = house.accounts.invite(&by, None, &"ben".parse().unwrap(), Role::Viewer).unwrap();
    house.join(&one, holdfast_testkit::authenticator::Key::new());
    assert_eq!(number(house.register(&two, &mut holdfast_testkit::authenticator::Key::new())), 31);
}

#[test]
fn names_that_were_stored_before_they_looked_alike_stay_and_each_is_found_by_its_own() {
    let (house, owner) = House::with_owner();
    let (alice, mut other) =
        (house.invited(&owner, "Alice", Role::Viewer), house.invited(&owner, "Bob", Role::Viewer));
    // As a version before stored them, which told the two apart.
    let conn = rusqlite::Connection::open(house.path()).unwrap();
    for (was, name, key) in [("Alice", "Alice", "alice"), ("Bob", "AIice", "aiice")] {
        let sql = "UPDATE people SET name = ?2, name_key = ?3 WHERE name = ?1";
        assert_eq!(conn.execute(sql, [was, name, key]).unwrap(), 1);
    }
    drop(conn);
    let house = house.reopened();
    for name in ["Alice", "AIice"] {
        assert_eq!(house.accounts.person_named(name).unwrap().name.as_str(), name);
    }
    assert!(house.is_signed_in(&alice.cookie) && house.is_signed_in(&other.cookie));
    house.sign_in(&mut other.key).unwrap();
    // Somebody new gets neither of them.
    let by = house.signed(&owner);
    for name in ["A1ice", "AIICE", "alice"] {
        let refused = house.accounts.invite(&by, None, &name.parse().unwrap(), Role::Viewer);
        assert_eq!(number(refused), 31, "{name}");
    }
}
