//! What is left of somebody's ways in after each way of ending them: one table.

use holdfast_gateway::{Accounts, DeviceId, Label, Role, Scope, Tokens};
use holdfast_testkit::authenticator::Key;

use crate::house::{House, Member, label, number, stranger};

/// Everything there can be of one person: two sessions, two devices, links, tokens and a known browser.
struct Everything {
    house: House,
    owner: Member,
    /// Ben, an owner too, by the session that acts.
    ben: Member,
    other: String,
    /// The second passkey, and the token made with it.
    phone: DeviceId,
    by_phone: String,
    token: String,
    device_link: String,
    invitation: String,
    mark: String,
}

fn everything() -> Everything {
    let (house, owner) = House::with_owner();
    let mut ben = house.invited(&owner, "Ben", Role::Owner);
    let accounts = &house.accounts;
    house.clock.advance(crate::house::MINUTE);
    let link = accounts.device_link(&house.signed(&ben), None).unwrap();
    house.join(&link, Key::new());
    let other = house.sign_in(&mut ben.key).unwrap().session.cookie.reveal().to_owned();
    let by = house.signed(&ben);
    let devices = accounts.devices(by.person).unwrap();
    let (first, phone) = (devices[0].id, devices[1].id);
    let token = |device, name: &str| {
        let made = accounts.make_token(&by, Some(device), &label(name), Scope::Manage, 9).unwrap();
        made.token.reveal().to_owned()
    };
    let (token, by_phone) = (token(first, "script"), token(phone, "made by the phone"));
    let device_link = accounts.device_link(&by, Some(first)).unwrap().token.reveal().to_owned();
    let invitation = accounts.invite(&by, Some(first), &"Eve".parse().unwrap(), Role::Owner).unwrap();
    let invitation = invitation.token.reveal().to_owned();
    let mark = accounts.know_browser(None, by.person, first).unwrap().unwrap().reveal().to_owned();
    Everything { house, owner, ben, other, phone, by_phone, token, device_link, invitation, mark }
}

impl Everything {
    fn left(&self) -> String {
        let accounts = &self.house.accounts;
        let word = |alive: bool| if alive { "stays" } else { "ends" };
        let session = |cookie: &str| word(accounts.signed(cookie).unwrap().is_some());
        let link = |token: &str| word(accounts.register_start(stranger(9), token, &label("x")).is_ok());
        let token = |token: &str| word(accounts.signed_by_token(token).unwrap().is_some());
        let devices = |accounts: &Accounts| {
            let ben = accounts.person_named("Ben").ok();
            ben.map_or(0, |ben| accounts.devices(ben.id).unwrap().len())
        };
        [
            session(&self.ben.cookie).to_owned(),
            session(&self.other).to_owned(),
            devices(accounts).to_string(),
            link(&self.device_link).to_owned(),
            link(&self.invitation).to_owned(),
            token(&self.token).to_owned(),
            token(&self.by_phone).to_owned(),
            word(accounts.is_known_browser(&self.mark)).to_owned(),
        ]
        .map(|cell| format!("{cell:>10}"))
        .concat()
    }
}

/// A way of ending something, and what is left afterwards.
fn after(way: &str, end: impl FnOnce(Everything) -> Everything) -> String {
    let it = end(everything());
    format!("{way:<28}{}", it.left())
}

#[test]
fn what_is_left_after_each_way_of_ending_it() {
    let columns = ["this", "other", "devices", "dev.link", "invites", "token", "by phone", "browser"]
        .map(|it| format!("{it:>10}"));
    let mut table = vec![format!("{:<28}{}", "", columns.concat())];
    let with = |do_it: fn(&Everything)| {
        move |it: Everything| {
            do_it(&it);
            it
        }
    };
    let mut row = |way: &str, end: Box<dyn FnOnce(Everything) -> Everything>| table.push(after(way, end));
    row("nothing", Box::new(|it| it));
    row("a restart", Box::new(|it| Everything { house: it.house.reopened(), ..it }));
    row("sign out", Box::new(with(|it| it.house.accounts.end(&it.house.signed(&it.ben)).unwrap())));
    row(
        "end one session",
        Box::new(with(|it| {
            let other = it.house.accounts.signed(&it.other).unwrap().unwrap().session().unwrap();
            it.house.accounts.end_session(&it.house.signed(&it.ben), other, Tokens::End).unwrap();
        })),
    );
    row(
        "end the others",
        Box::new(with(|it| {
            let by = it.house.signed(&it.ben);
            let ended = it.house.accounts.end_other_sessions(&by, Tokens::End).unwrap();
            assert_eq!((ended.sessions, ended.links, ended.tokens), (2, 2, 2));
        })),
    );
    row(
        "end the others, keep tokens",
        Box::new(with(|it| {
            let by = it.house.signed(&it.ben);
            it.house.accounts.end_other_sessions(&by, Tokens::Stay).unwrap();
        })),
    );
    row(
        "end all",
        Box::new(with(|it| {
            let ben = it.house.signed(&it.ben).person;
            it.house.accounts.end_all_sessions(ben, Tokens::End).unwrap();
        })),
    );
    row(
        "remove the phone",
        Box::new(with(|it| {
            drop(it.house.accounts.remove_device(&it.house.signed(&it.ben), it.phone).unwrap())
        })),
    );
    row(
        "make them an operator",
        Box::new(with(|it| {
            let (by, ben) = (it.house.signed(&it.owner), it.house.signed(&it.ben).person);
            it.house.accounts.set_role(&by, ben, Role::Operator).unwrap();
            // And back: nothing of it comes back with the role.
            it.house.accounts.set_role(&by, ben, Role::Owner).unwrap();
        })),
    );
    row(
        "remove them",
        Box::new(with(|it| {
            let (by, ben) = (it.house.signed(&it.owner), it.house.signed(&it.ben).person);
            it.house.accounts.remove_person(&by, ben).unwrap();
        })),
    );
    row(
        "a recovery code",
        Box::new(with(|it| {
            let code = it.ben.codes[0].clone();
            let link = it.house.accounts.recover(&code, |_, _| Ok(())).unwrap().link;
            assert!(it.house.is_signed_in(&it.other), "nothing ends before a device is registered");
            it.house.join(&link, Key::new());
        })),
    );
    row(
        "a link of the machine",
        Box::new(with(|it| {
            let link = it.house.accounts.recovery_link(it.house.signed(&it.ben).person).unwrap();
            assert!(it.house.is_signed_in(&it.other), "nothing ends before a device is registered");
            it.house.join(&link, Key::new());
        })),
    );
    row(
        "new codes",
        Box::new(with(|it| drop(it.house.accounts.renew_codes(&it.house.signed(&it.ben)).unwrap()))),
    );
    row(
        "revoke the token",
        Box::new(with(|it| {
            let by = it.house.signed(&it.ben);
            let all = it.house.accounts.tokens_of(by.person).unwrap();
            let script = all.iter().find(|token| token.name.as_str() == "script").unwrap();
            it.house.accounts.revoke_token(&by, script.id).unwrap();
        })),
    );
    row(
        "revoke the device link",
        Box::new(with(|it| {
            let by = it.house.signed(&it.ben);
            let open = it.house.accounts.open_links().unwrap();
            let own = open.iter().find(|link| link.person == by.person).unwrap();
            it.house.accounts.revoke_link(&by, own.id).unwrap();
        })),
    );
    row("use the device link", Box::new(with(|it| assert_eq!(use_link(it), 3))));
    row("a quarter of an hour", Box::new(with(|it| it.house.clock.advance(15 * crate::house::MINUTE))));
    row("thirty days", Box::new(with(|it| it.house.clock.advance(30 * crate::house::DAY))));
    row(
        "a year and a bit",
        Box::new(with(|it| {
            it.house.clock.advance(401 * crate::house::DAY);
            it.house.accounts.sweep().unwrap();
        })),
    );
    insta::assert_snapshot!(table.join("\n"));
}

fn use_link(it: &Everything) -> usize {
    let (holder, accounts) = (stranger(3), &it.house.accounts);
    let started = accounts.register_start(holder, &it.device_link, &label("tablet")).unwrap();
    let answer = Key::new().create(crate::house::ORIGIN, &started.options);
    it.house.finish_registration(holder, started.ceremony.reveal(), &answer).unwrap();
    accounts.devices(it.house.signed(&it.ben).person).unwrap().len()
}

#[test]
fn a_link_is_revoked_by_its_maker_its_person_or_an_owner_and_nobody_else() {
    let it = everything();
    let (accounts, guest) = (&it.house.accounts, it.house.invited(&it.owner, "Gus", Role::Operator));
    let open = accounts.open_links().unwrap();
    let invitation = open.iter().find(|link| link.name.as_str() == "Eve").unwrap().id;
    let gus = it.house.signed(&guest);
    assert_eq!(number(accounts.revoke_link(&gus, invitation)), 30);
    accounts.revoke_link(&it.house.signed(&it.owner), invitation).unwrap();
    assert_eq!(number(accounts.revoke_link(&it.house.signed(&it.owner), invitation)), 30);
    assert_eq!(number(accounts.register_start(stranger(9), &it.invitation, &label("x"))), 9);
}

#[test]
fn what_was_made_in_somebodys_name_is_told_to_their_other_sessions_until_they_know() {
    let it = everything();
    let (accounts, ben) = (&it.house.accounts, it.house.signed(&it.ben));
    let told = |who: &holdfast_gateway::Signed| -> Vec<String> {
        let news = accounts.news(who).unwrap();
        news.iter().map(|one| format!("{} {}", one.kind.as_str(), one.name)).collect()
    };
    assert_eq!(told(&ben), ["passkey a key"], "what this session did itself is no news to it");
    let other = accounts.signed(&it.other).unwrap().unwrap();
    let all = told(&other);
    for wanted in [
        "passkey a key",
        "token script",
        "token made by the phone",
        "link device for Ben",
        "link invitation for Eve",
    ] {
        assert!(all.iter().any(|line| line == wanted), "{wanted}: {all:?}");
    }
    assert!(told(&it.house.signed(&it.owner)).iter().all(|line| line.starts_with("link ")), "her own");
    accounts.news_known(&ben, i64::MAX).unwrap();
    assert!(told(&other).is_empty());
    for n in 0..100 {
        accounts.device_link(&ben, None).map(drop).unwrap_or_default();
        let made = accounts.make_token(&ben, None, &Label::near(&format!("t{n}"), "t"), Scope::Read, 1);
        made.map(drop).unwrap_or_default();
    }
    assert!(told(&other).len() <= 32, "bounded");
}
