//! Many sign-ins: they hold, stay bounded, and take no longer at the end than at the beginning.

use holdfast_testkit::rounds;

use crate::house::{House, ORIGIN, stranger};

/// Ten thousand in `make soak`, where they take a minute: each is two unoptimised signatures and a synced transaction.
#[test]
fn thousands_of_sign_ins_hold() {
    let (house, mut owner) = House::with_owner();
    let count = rounds(1_000, 10_000);
    let mut last = String::new();
    for n in 0..count {
        // Of one person more than a thousand in five minutes have to wait.
        house.clock.advance(std::time::Duration::from_secs(1));
        let holder = stranger(n % 500);
        let started = house.accounts.sign_in_start(holder).unwrap();
        let answer = owner.key.get(ORIGIN, &started.options);
        let done = house.finish_sign_in(holder, started.ceremony.reveal(), &answer).unwrap();
        last = done.session.cookie.reveal().to_owned();
        assert!(house.is_signed_in(&last), "{n}");
        // Begun and left alone.
        house.accounts.sign_in_start(stranger(n)).unwrap();
    }
    let house = house.reopened();
    assert!(house.is_signed_in(&last));
    let person = house.accounts.people().unwrap()[0].id;
    assert_eq!(house.accounts.sessions(person).unwrap().len(), 64);
    let bytes = std::fs::metadata(house.path()).unwrap().len();
    assert!(bytes < 4 << 20, "the database has {bytes} bytes");
}
