//! Recovery codes, and the way back for whoever lost everything.

use std::sync::{Arc, Barrier};

use holdfast_testkit::files::find_bytes;

use crate::house::{House, Member, number};
use holdfast_testkit::authenticator::Key;

#[test]
fn a_code_is_good_once_and_only_for_a_new_passkey() {
    let (house, owner) = House::with_owner();
    let person = house.signed(&owner).person;
    let done = house.accounts.recover(&owner.codes[3], |_, _| Ok(())).unwrap();
    assert_eq!((done.person, done.left), (person, 9));
    assert_eq!(number(house.accounts.recover(&owner.codes[3], |_, _| Ok(()))), 17);
    let mut phone = Key::new();
    let back = house.register(&done.link, &mut phone).unwrap();
    assert_eq!((back.person, back.codes.is_none()), (person, true));
    assert_eq!(number(house.register(&done.link, &mut Key::new())), 11);
    assert!(house.sign_in(&mut phone).is_ok());
}

#[test]
fn of_many_who_use_one_code_at_once_one_gets_a_link() {
    let (house, owner) = House::with_owner();
    let gate = Arc::new(Barrier::new(16));
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let (accounts, gate, code) = (house.accounts.clone(), gate.clone(), owner.codes[0].clone());
            std::thread::spawn(move || {
                gate.wait();
                accounts.recover(&code, |_, _| Ok(())).is_ok()
            })
        })
        .collect();
    let won = threads.into_iter().map(|t| t.join().unwrap()).filter(|won| *won).count();
    assert_eq!(won, 1);
    assert_eq!(house.accounts.codes_left(house.signed(&owner).person).unwrap(), 9);
}

#[test]
fn renewing_replaces_all_codes() {
    let (house, owner) = House::with_owner();
    let fresh = house.accounts.renew_codes(&house.signed(&owner)).unwrap();
    assert_eq!(fresh.len(), 10);
    for code in &owner.codes {
        assert_eq!(number(house.accounts.recover(code, |_, _| Ok(()))), 17);
    }
    assert!(house.accounts.recover(&fresh[9].to_lowercase(), |_, _| Ok(())).is_ok());
}

// shows: GTW-F09
#[test]
fn a_thousand_wrong_codes_cost_next_to_nothing() {
    let (house, owner) = House::with_owner();
    let before = house.accounts.hashes_computed();
    let alphabet: Vec<char> = "0123456789ABCDEFGHJKMNPQRSTVWXYZ".chars().collect();
    for n in 0..1_000u64 {
        let letter = |at: u64| alphabet[((n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (at % 59)) % 32) as usize];
        let code: String = (0..20).map(letter).collect();
        assert_eq!(number(house.accounts.recover(&code, |_, _| Ok(()))), 17);
    }
    assert!(house.accounts.hashes_computed() - before <= 2, "only a prefix that fits is worth a hash");
    // One that fits: a hash each, and still refused.
    let right_prefix = format!("{}{}", &owner.codes[0][..4], "0".repeat(16));
    let at = house.accounts.hashes_computed();
    assert_eq!(number(house.accounts.recover(&right_prefix, |_, _| Ok(()))), 17);
    assert_eq!(house.accounts.hashes_computed() - at, 1);
}

#[test]
fn who_lost_everything_gets_a_link_from_local_root() {
    let (house, owner) = House::with_owner();
    let person = house.accounts.person_named("ANA").unwrap();
    assert_eq!(person.id, house.signed(&owner).person);
    let link = house.accounts.recovery_link(person.id).unwrap();
    assert!(link.path().starts_with("/register#"));
    let mut key = Key::new();
    assert_eq!(house.register(&link, &mut key).unwrap().person, person.id);
    assert!(house.sign_in(&mut key).is_ok());
}

// shows: GTW-021
#[test]
fn the_database_holds_nothing_that_lets_anybody_in() {
    let (house, owner) = House::with_owner();
    let signed = house.signed(&owner);
    let link = house.accounts.device_link(&signed, None).unwrap();
    let token = house
        .accounts
        .make_token(&signed, None, &"backup".parse().unwrap(), holdfast_gateway::Scope::Read, 7)
        .unwrap();
    let Member { cookie, codes, .. } = &owner;
    let csrf = signed.csrf().unwrap().reveal().to_owned();
    let mut secrets =
        vec![cookie.clone(), link.token.reveal().to_owned(), token.token.reveal().to_owned(), csrf];
    secrets.push(token.token.reveal()[4..].to_owned());
    for code in codes {
        secrets.extend([code.clone(), code.replace('-', ""), code.replace('-', "")[4..].to_owned()]);
    }
    // The write-ahead log is there too, and the person's name shows that the search finds what is there.
    assert!(!find_bytes(house.dir.path(), b"Ana").is_empty());
    for secret in secrets {
        assert!(find_bytes(house.dir.path(), secret.as_bytes()).is_empty(), "{} characters", secret.len());
    }
}
