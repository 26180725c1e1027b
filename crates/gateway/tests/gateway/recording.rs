//! What cannot be recorded is not done, unless it only takes power away: then it is done and owed to the log.

use std::time::Duration;

use holdfast_gateway::{Acting, Error, Event, LockedOut, Result, Role, Scope, Signed, Tokens};
use rusqlite::Connection;

use crate::house::{House, Member, label, number, stranger};

/// All that is stored, so that a change of any row shows.
fn stored(house: &House) -> String {
    let conn = Connection::open(house.path()).unwrap();
    let mut out = String::new();
    for table in ["people", "passkeys", "links", "codes", "sessions", "tokens", "browsers", "news", "owed"] {
        let mut rows = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<_> = (0..columns).map(|n| format!("{:?}", row.get_ref(n).unwrap())).collect();
            out += &format!("{table} {}\n", values.join(" "));
        }
    }
    out
}

/// An owner with a second device and a second session, a guest, and a token.
struct Scene {
    house: House,
    owner: Member,
    guest: Member,
    token: holdfast_gateway::TokenId,
}

impl Scene {
    fn new() -> Scene {
        let (house, mut owner) = House::with_owner();
        let guest = house.invited(&owner, "Ben", Role::Operator);
        let link = house.accounts.device_link(&house.signed(&owner), None).unwrap();
        house.register(&link, &mut holdfast_testkit::authenticator::Key::new()).unwrap();
        house.sign_in(&mut owner.key).unwrap();
        let by = house.signed(&owner);
        let token = house.accounts.make_token(&by, None, &label("script"), Scope::Read, 1).unwrap().id;
        house.accounts.device_link(&by, None).unwrap();
        house.diary.take();
        Scene { house, owner, guest, token }
    }

    fn by(&self) -> Signed {
        self.house.signed(&self.owner)
    }
}

type Act = fn(&mut Scene) -> Result<()>;

fn accounts(scene: &Scene) -> Acting {
    scene.house.accounts.clone()
}

/// Acts that let somebody do more, or as much in another way.
const WIDENS: [(&str, Act); 11] = [
    ("sign in", |s| s.house.sign_in(&mut s.owner.key).map(drop)),
    ("recover", |s| accounts(s).recover(&s.owner.codes[0], |_, _| Ok(())).map(drop)),
    ("renew codes", |s| accounts(s).renew_codes(&s.by()).map(drop)),
    ("invite", |s| accounts(s).invite(&s.by(), None, &"Eve".parse().unwrap(), Role::Owner).map(drop)),
    ("change a role", |s| {
        let guest = s.house.signed(&s.guest).person;
        accounts(s).set_role(&s.by(), guest, Role::Owner).map(drop)
    }),
    ("make a token", |s| accounts(s).make_token(&s.by(), None, &label("t"), Scope::Manage, 366).map(drop)),
    ("link a device", |s| accounts(s).device_link(&s.by(), None).map(drop)),
    ("a link of the machine", |s| accounts(s).recovery_link(s.by().person).map(drop)),
    ("know of news", |s| accounts(s).news_known(&s.by(), i64::MAX)),
    ("rename a device", |s| {
        let device = accounts(s).devices(s.by().person)?[0].id;
        accounts(s).rename_device(&s.by(), device, &label("other"))
    }),
    ("confirm", |s| {
        let by = s.by();
        let started = accounts(s).confirm_start(&by, "thing", [1; 32], None)?;
        let answer = s.owner.key.get(crate::house::ORIGIN, &started.options);
        let answer = serde_json::from_value(answer).unwrap();
        accounts(s).confirm_finish(&by, started.ceremony.reveal(), &answer).map(drop)
    }),
];

/// Acts that only take away.
const NARROWS: [(&str, Act); 7] = [
    ("sign out", |s| accounts(s).end(&s.house.signed(&s.guest))),
    ("end other sessions", |s| accounts(s).end_other_sessions(&s.by(), Tokens::Stay).map(drop)),
    ("end all sessions of one", |s| {
        let guest = s.house.signed(&s.guest).person;
        accounts(s).end_all_sessions(guest, Tokens::Stay).map(drop)
    }),
    ("remove a device", |s| {
        let last = accounts(s).devices(s.by().person)?.pop().unwrap().id;
        accounts(s).remove_device(&s.by(), last).map(drop)
    }),
    ("revoke a link", |s| {
        let open = accounts(s).open_links()?[0].id;
        accounts(s).revoke_link(&s.by(), open)
    }),
    ("revoke a token", |s| accounts(s).revoke_token(&s.by(), s.token)),
    ("remove a person", |s| {
        let guest = s.house.signed(&s.guest).person;
        accounts(s).remove_person(&s.by(), guest).map(drop)
    }),
];

#[test]
fn what_cannot_be_recorded_is_refused_and_changes_nothing() {
    for (name, act) in WIDENS {
        let mut scene = Scene::new();
        scene.house.clock.advance(Duration::from_secs(1));
        scene.house.diary.fill(true);
        let before = stored(&scene.house);
        let refused = act(&mut scene);
        assert!(matches!(refused, Err(Error::NotRecorded { .. })), "{name}: {refused:?}");
        assert!(stored(&scene.house) == before, "{name}: nothing was changed");
        assert_eq!(number(refused), 38, "{name}");
        scene.house.diary.fill(false);
        act(&mut scene).unwrap_or_else(|e| panic!("{name}, with room again: {e}"));
        assert!(stored(&scene.house) != before, "{name}");
        assert_eq!(scene.house.diary.take().len(), 1, "{name}: recorded once");
    }
}

#[test]
fn registering_with_a_full_log_leaves_the_link_as_it_was() {
    let (house, owner) = House::with_owner();
    let link =
        house.accounts.invite(&house.signed(&owner), None, &"Eve".parse().unwrap(), Role::Owner).unwrap();
    let mut key = holdfast_testkit::authenticator::Key::new();
    house.diary.fill(true);
    let before = stored(&house);
    assert_eq!(number(house.register(&link, &mut key)), 38);
    assert!(stored(&house) == before);
    house.diary.fill(false);
    house.diary.take();
    house.register(&link, &mut key).unwrap();
    let kinds: Vec<_> = house.diary.take().iter().map(Event::kind).collect();
    assert_eq!(kinds, ["gateway.device.registered", "gateway.session.started"]);
    assert!(house.accounts.sign_in_start(stranger(7)).is_ok());
}

#[test]
fn nobody_is_kept_from_locking_an_intruder_out_and_it_is_recorded_when_there_is_room() {
    for (name, act) in NARROWS {
        let mut scene = Scene::new();
        scene.house.clock.advance(Duration::from_secs(1));
        scene.house.diary.fill(true);
        let (before, at) = (stored(&scene.house), holdfast_types::Clock::now(&scene.house.clock));
        act(&mut scene).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(stored(&scene.house) != before, "{name}");
        let Scene { house, .. } = scene;
        assert_eq!((house.diary.take(), house.accounts.owed().unwrap().len()), (vec![], 1), "{name}");
        assert_eq!(house.accounts.settle_owed(&*house.diary).unwrap(), 0, "{name}: still no room");
        // It is still owed after a restart, and recorded once, with the time it was done.
        let (house, diary) = (house.reopened(), crate::diary::Diary::default());
        house.clock.advance(Duration::from_secs(3_600));
        assert_eq!(house.accounts.settle_owed(&diary).unwrap(), 1, "{name}");
        assert_eq!(house.accounts.settle_owed(&diary).unwrap(), 0, "{name}");
        let late = diary.take_late();
        assert_eq!((late.len(), late[0].at), (1, at), "{name}");
        assert!(late[0].event["event"].is_string() && late[0].kind.starts_with("gateway."), "{name}");
    }
}

#[test]
fn what_changed_nothing_is_not_recorded() {
    let scene = Scene::new();
    let by = scene.by();
    scene.house.accounts.end_other_sessions(&by, Tokens::Stay).unwrap();
    scene.house.diary.take();
    assert_eq!(scene.house.accounts.end_other_sessions(&by, Tokens::Stay).unwrap(), LockedOut::default());
    let others = scene.house.signed(&scene.guest);
    assert_eq!(number(scene.house.accounts.revoke_token(&others, scene.token)), 30);
    assert_eq!(scene.house.diary.take(), []);
}
