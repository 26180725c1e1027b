//! Tokens: what they may do, and when they stop.

use axum::body::Body;
use holdfast_gateway::{By, Role, Scope};
use http::Request;

use crate::browser::Site;
use crate::house::{DAY, House, MINUTE, label, number};

#[test]
fn a_token_never_does_more_than_its_scope_or_its_maker() {
    let (house, owner) = House::with_owner();
    let guest = house.invited(&owner, "Ben", Role::Operator);
    let (by, ben) = (house.signed(&owner), house.signed(&guest));
    assert_eq!(number(house.accounts.make_token(&ben, None, &label("x"), Scope::Manage, 1)), 7);
    let made = house.accounts.make_token(&ben, None, &label("deploy"), Scope::Act, 30).unwrap();
    assert!(made.token.reveal().starts_with("hft_"));
    let used = || house.accounts.signed_by_token(made.token.reveal()).unwrap();
    let signed = used().unwrap();
    assert_eq!((signed.role, signed.person), (Role::Operator, ben.person));
    assert!(matches!(signed.by, By::Token { scope: Scope::Act, .. }));
    assert!(signed.session().is_none() && signed.csrf().is_none());
    house.accounts.set_role(&by, ben.person, Role::Viewer).unwrap();
    assert!(used().is_none(), "its maker may less than it");
    house.accounts.set_role(&by, ben.person, Role::Owner).unwrap();
    assert!(used().is_none(), "it does not come back with the role");
    assert_eq!(
        number(house.accounts.make_token(&signed, None, &label("x"), Scope::Read, 1)),
        23,
        "not by a token"
    );
}

#[test]
fn a_token_ends_by_time_and_by_hand() {
    let (house, owner) = House::with_owner();
    let guest = house.invited(&owner, "Ben", Role::Operator);
    let (by, ben) = (house.signed(&owner), house.signed(&guest));
    for days in [0, 367, u32::MAX] {
        assert_eq!(number(house.accounts.make_token(&by, None, &label("x"), Scope::Read, days)), 25);
    }
    let (short, long) = (
        house.accounts.make_token(&by, None, &label("short"), Scope::Read, 1).unwrap(),
        house.accounts.make_token(&by, None, &label("long"), Scope::Read, 30).unwrap(),
    );
    let good = |token: &holdfast_gateway::NewToken| {
        let signed = house.accounts.signed_by_token(token.token.reveal()).unwrap();
        if let Some(signed) = signed.as_ref().filter(|signed| house.accounts.touch_is_due(signed)) {
            house.accounts.touch(signed).unwrap();
        }
        signed.is_some()
    };
    assert!(good(&short) && good(&long));
    let seen = house.accounts.tokens_of(by.person).unwrap();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|token| token.used == Some(house.clock.now())));
    house.clock.advance(DAY);
    assert!(!good(&short) && good(&long));
    assert_eq!(number(house.accounts.revoke_token(&ben, long.id)), 30, "somebody else's");
    house.accounts.revoke_token(&by, long.id).unwrap();
    assert!(!good(&long));
    assert_eq!(house.accounts.tokens().unwrap().len(), 2, "still listed");
    house.clock.advance(100 * DAY);
    house.accounts.sweep().unwrap();
    assert!(house.accounts.tokens().unwrap().is_empty());
}

#[test]
fn an_owner_revokes_anybodys_and_there_is_a_limit() {
    let (house, owner) = House::with_owner();
    let guest = house.invited(&owner, "Ben", Role::Viewer);
    let (by, ben) = (house.signed(&owner), house.signed(&guest));
    let made = house.accounts.make_token(&ben, None, &label("script"), Scope::Read, 1).unwrap();
    house.accounts.revoke_token(&by, made.id).unwrap();
    assert!(house.accounts.signed_by_token(made.token.reveal()).unwrap().is_none());
    for n in 0..32 {
        house.accounts.make_token(&by, None, &label(&format!("t{n}")), Scope::Read, 1).unwrap();
    }
    assert_eq!(number(house.accounts.make_token(&by, None, &label("one more"), Scope::Read, 1)), 32);
}

#[tokio::test]
async fn a_token_acts_where_the_accounts_take_no_write() {
    let site = Site::new();
    let owner = site.owner().await;
    let accounts = &site.house.accounts;
    let token = accounts.make_token(&site.signed(&owner), None, &label("stop"), Scope::Act, 1).unwrap();
    let pause = async || {
        let request = Request::post("/api/v1/pause")
            .header("host", "hold.example:9096")
            .header("authorization", format!("Bearer {}", token.token.reveal()));
        site.send(request.body(Body::empty()).unwrap()).await.status.as_u16()
    };
    let used = || accounts.tokens().unwrap()[0].used;
    assert_eq!(pause().await, 200);
    while used().is_none() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let conn = rusqlite::Connection::open(site.house.path()).unwrap();
    let broken = "CREATE TRIGGER broken BEFORE UPDATE ON tokens BEGIN SELECT RAISE(FAIL, 'the disk takes no write'); END";
    conn.execute(broken, []).unwrap();
    let before = used();
    site.house.clock.advance(MINUTE);
    assert_eq!(pause().await, 200);
    site.house.clock.advance(MINUTE);
    assert_eq!((pause().await, used()), (200, before), "its use is all that is missing");
}
