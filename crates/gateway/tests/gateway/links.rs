//! One-time links: whoever makes many takes away nobody's way in.

use holdfast_gateway::{LinkPurpose, Role};
use holdfast_testkit::authenticator::Key;
use http::StatusCode;
use serde_json::json;

use crate::browser::Site;
use crate::house::{House, label, number, stranger};

#[tokio::test]
async fn whoever_makes_links_without_end_takes_away_nobody_elses_way_back() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let codes = site.house.accounts.renew_codes(&site.signed(&owner)).unwrap();
    let mut viewer = site.invited(&mut owner, "Ben", Role::Viewer).await;
    let mut made = 0;
    for _ in 0..70 {
        site.house.clock.advance(std::time::Duration::from_secs(3));
        let reply = viewer.post("/auth/devices/link", json!({})).await;
        match reply.status {
            StatusCode::OK => made += 1,
            _ => assert_eq!((reply.status.as_u16(), reply.code()), (409, "HF-GTW-032"), "{}", reply.text),
        }
    }
    assert_eq!(made, 8, "as many as one person may have open");
    let recovered = site.browser().post("/auth/recover", json!({ "code": codes[0] })).await;
    assert_eq!(recovered.status, 200, "{}", recovered.text);
    let invited = owner.post("/auth/people/invite", json!({ "name": "Eve", "role": "viewer" })).await;
    assert_eq!(invited.status, 200, "{}", invited.text);
    let added = owner.post("/auth/devices/link", json!({})).await;
    assert_eq!(added.status, 200, "{}", added.text);
    for person in site.house.accounts.people().unwrap() {
        site.house.accounts.recovery_link(person.id).unwrap();
    }
}

#[test]
fn a_newer_way_back_takes_the_place_of_the_older_one_of_its_kind() {
    let (house, owner) = House::with_owner();
    let (accounts, person) = (&house.accounts, house.signed(&owner).person);
    let by_code = |n: usize| accounts.recover(&owner.codes[n], |_, _| Ok(())).unwrap().link;
    let (first, second) = (by_code(0), by_code(1));
    let machine: Vec<_> = (0..70).map(|_| accounts.recovery_link(person).unwrap()).collect();
    assert!(!machine[0].replaced && machine[1..].iter().all(|link| link.replaced));
    let open = accounts.open_links().unwrap();
    assert!(open.iter().all(|link| link.purpose == LinkPurpose::Recovered) && open.len() == 2, "{open:?}");
    let begin = |link: &holdfast_gateway::NewLink| {
        accounts.register_start(stranger(9), link.token.reveal(), &label("x")).map(drop)
    };
    assert_eq!(number(begin(&first)), 9);
    assert_eq!(number(begin(&machine[68])), 9);
    // Who has codes of a person takes away no link that was made at the machine.
    begin(&second).unwrap();
    house.register(&machine[69], &mut Key::new()).unwrap();
    assert!(!accounts.recovery_link(person).unwrap().replaced, "one that was used is not replaced");
    house.clock.advance(std::time::Duration::from_secs(3_600));
    assert!(!accounts.recovery_link(person).unwrap().replaced, "nor one that has expired");
}

#[test]
fn a_second_first_link_says_that_the_first_one_is_replaced() {
    let house = House::new();
    let first = |name: &str| house.accounts.first_link(&name.parse().unwrap()).unwrap();
    assert!(!first("Ana").replaced);
    assert!(first("Ben").replaced, "there is one first owner");
}
