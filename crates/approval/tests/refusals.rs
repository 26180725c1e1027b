//! Every way an approval does not count, one by one; and what is written down of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod desk;

use std::time::Duration;

use desk::{Desk, action, steward};
use holdfast_approval::{
    ASKS_PER_HOUR_MAX, Action, Error, LIFETIME_MAX, LIFETIME_MIN, Ledger, Life, NewAsk, OPEN_PER_ACTOR_MAX,
    Refusal, State, Verdict, Word, refuse_reserved, sign,
};
use holdfast_journal::{Draft, Limits, Stored};
use holdfast_keys::{KeyName, Role, SecretKey, TrustedKey, document};
use holdfast_types::{ApprovalId, Exit, Timestamp};
use serde_json::json;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// The only caller of `redeem` in a table: prepares an approved ask, changes something, and says how it was refused.
#[track_caller]
fn redeemed_after(change: impl FnOnce(&mut Desk, &Life) -> Action) -> Refusal {
    let mut desk = Desk::new();
    let life = desk.approved(&action(1));
    let action = change(&mut desk, &life);
    let before = desk.entries().len();
    let refused = refusal(desk.redeem(life.ask.id, &action));
    assert_eq!(desk.entries().len(), before, "nothing is used up by a refusal");
    refused
}

// shows: CON-092
#[test]
fn a_changed_action_a_late_use_and_a_second_use_are_refused() {
    let changed = redeemed_after(|_, _| action(2));
    assert!(matches!(changed, Refusal::ChangedAction { .. }), "{changed}");
    let late = redeemed_after(|desk, _| {
        desk.house.clock.advance(DAY);
        action(1)
    });
    assert!(matches!(late, Refusal::Late { .. }), "{late}");
    let second = redeemed_after(|desk, life| {
        let first = desk.redeem(life.ask.id, &action(1)).unwrap();
        assert_eq!((first.ask(), first.digest()), (life.ask.id, action(1).digest()));
        action(1)
    });
    assert!(matches!(second, Refusal::SecondUse { .. }), "{second}");
    // One moment before the end it still counts.
    let desk = Desk::new();
    let life = desk.approved(&action(1));
    desk.house.clock.advance(DAY - Duration::from_micros(1));
    assert_eq!(desk.redeem(life.ask.id, &action(1)).unwrap().approved_by().as_str(), "uid:1000");
}

#[test]
fn a_restart_forgets_no_use() {
    let second = redeemed_after(|desk, life| {
        let _used = desk.redeem(life.ask.id, &action(1)).unwrap();
        desk.restart();
        std::fs::remove_file(desk.house.state().join("index.db")).unwrap();
        desk.restart();
        action(1)
    });
    assert!(matches!(second, Refusal::SecondUse { .. }), "{second}");
}

#[test]
fn a_key_that_is_revoked_ended_or_gone_after_the_approval_counts_for_nothing() {
    let revoked = redeemed_after(|desk, _| {
        let at = desk.at();
        desk.trust.revoke(desk.key.id(), at, "the laptop was stolen").unwrap();
        action(1)
    });
    assert!(matches!(revoked, Refusal::KeyRevoked { .. }), "{revoked}");
    let gone = redeemed_after(|desk, _| {
        desk.trust = desk.house.trust();
        action(1)
    });
    assert!(matches!(gone, Refusal::UnknownKey { .. }), "{gone}");
    let later = redeemed_after(|desk, _| {
        desk.trust = desk.house.trust();
        let (name, from) = (KeyName::from(&desk.house.origin), desk.at().plus(HOUR));
        desk.trust.add(TrustedKey::new(desk.key.public(), Role::Approvals, name, from)).unwrap();
        action(1)
    });
    assert!(matches!(later, Refusal::KeyNotValid { .. }), "{later}");
}

#[test]
fn a_clock_that_is_unsure_or_behind_redeems_nothing() {
    let unsure = redeemed_after(|desk, _| {
        desk.good = false;
        action(1)
    });
    assert!(matches!(unsure, Refusal::ClockUnsure { .. }), "{unsure}");
    let behind = redeemed_after(|desk, _| {
        desk.house.clock.set_wall(Timestamp::EPOCH);
        action(1)
    });
    assert!(matches!(behind, Refusal::ClockBehind { .. }), "{behind}");
}

#[test]
fn an_expiry_that_was_written_down_is_not_undone_by_a_clock_that_goes_back() {
    let late = redeemed_after(|desk, _| {
        let then = desk.at();
        desk.house.clock.advance(DAY);
        assert_eq!(desk.approvals().expire(&steward(), desk.now()).unwrap(), 1);
        assert_eq!(desk.approvals().expire(&steward(), desk.now()).unwrap(), 0);
        desk.house.clock.set_wall(then);
        action(1)
    });
    assert!(matches!(late, Refusal::Late { .. }), "{late}");
}

#[test]
fn nothing_expires_while_the_clock_is_unsure() {
    let mut desk = Desk::new();
    let life = desk.asked(&action(1));
    desk.house.clock.advance(DAY * 30);
    desk.good = false;
    assert_eq!(desk.approvals().expire(&steward(), desk.now()).unwrap(), 0);
    let found = desk.approvals().find_ask(life.ask.id).unwrap();
    assert_eq!((found.state(), found.state_at(desk.now())), (State::Asked, State::Asked));
    desk.good = true;
    assert_eq!(found.state_at(desk.now()), State::Expired);
}

#[test]
fn what_was_not_approved_needs_approval_and_what_was_rejected_or_withdrawn_stays_so() {
    let desk = Desk::new();
    let life = desk.asked(&action(1));
    let waiting = desk.redeem(life.ask.id, &action(1)).unwrap_err();
    assert_eq!(waiting.problem().exit, Exit::NeedsApproval);
    desk.give(&desk.signed(&desk.verdict(&life, Word::Reject))).unwrap();
    assert!(matches!(refusal(desk.redeem(life.ask.id, &action(1))), Refusal::Rejected { .. }));
    assert!(matches!(refusal(desk.approve(&life)), Refusal::AlreadyDecided { state: State::Rejected, .. }));

    let life = desk.asked(&action(2));
    let stranger = desk.approvals().withdraw(life.ask.id, &"agent-9".parse().unwrap(), None);
    assert!(matches!(stranger, Err(Error::NotYours { .. })), "{stranger:?}");
    desk.approvals().withdraw(life.ask.id, &steward(), Some("the load went away")).unwrap();
    assert!(matches!(refusal(desk.redeem(life.ask.id, &action(2))), Refusal::Withdrawn { .. }));
    assert!(matches!(refusal(desk.approve(&life)), Refusal::Withdrawn { .. }));
    assert!(matches!(
        refusal(desk.approvals().withdraw(life.ask.id, &steward(), None)),
        Refusal::Withdrawn { .. }
    ));

    let unknown = ApprovalId::from(ulid_like());
    assert!(matches!(refusal(desk.redeem(unknown, &action(1))), Refusal::UnknownAsk { .. }));
}

fn ulid_like() -> ulid::Ulid {
    ulid::Ulid(99)
}

/// The only caller of `give` in a table: what is handed in instead of a good approval, and how it is refused.
#[track_caller]
fn given(made: impl FnOnce(&mut Desk, Verdict) -> Vec<u8>) -> Refusal {
    let mut desk = Desk::new();
    let life = desk.asked(&action(1));
    let verdict = desk.verdict(&life, Word::Approve);
    let document = made(&mut desk, verdict);
    let refused = refusal(desk.give(&document));
    desk.good = true;
    let waiting = desk.approvals().find_ask(life.ask.id).unwrap();
    assert_eq!(waiting.state(), State::Asked, "{refused}");
    assert_eq!(desk.kinds().last().unwrap(), "approval.verdict.refused", "{refused}");
    refused
}

#[test]
fn only_the_key_for_approvals_approves_and_every_other_attempt_is_written_down() {
    let signed_by =
        |key: SecretKey| given(move |_, verdict| sign(&verdict, &key).unwrap().to_bytes().unwrap());
    // What an agent can make by itself, and what the daemon has at hand.
    assert!(matches!(signed_by(SecretKey::generate().unwrap()), Refusal::UnknownKey { .. }));
    let log_key = Desk::new().house.key();
    assert!(matches!(signed_by(log_key), Refusal::WrongRole { found: Role::Log, .. }));
    let in_another_role = given(|desk, verdict| {
        let payload = holdfast_keys::canonical::from_serialize(&verdict).unwrap();
        let purpose = holdfast_approval::PURPOSE;
        document::sign(purpose, payload, &desk.key, Role::Policy, verdict.issued_at).to_bytes().unwrap()
    });
    assert!(matches!(in_another_role, Refusal::WrongRole { found: Role::Policy, .. }));
    let for_another_purpose = given(|desk, verdict| {
        let payload = holdfast_keys::canonical::from_serialize(&verdict).unwrap();
        let purpose = holdfast_keys::Purpose::new("manifest");
        document::sign(purpose, payload, &desk.key, Role::Approvals, verdict.issued_at).to_bytes().unwrap()
    });
    assert!(matches!(for_another_purpose, Refusal::DoesNotFit { .. }));
    let signed_at_another_time = given(|desk, verdict| {
        let payload = holdfast_keys::canonical::from_serialize(&verdict).unwrap();
        let (purpose, at) = (holdfast_approval::PURPOSE, verdict.issued_at.plus(Duration::from_secs(1)));
        document::sign(purpose, payload, &desk.key, Role::Approvals, at).to_bytes().unwrap()
    });
    assert!(matches!(signed_at_another_time, Refusal::Malformed { .. }));
    let unsigned = given(|_, verdict| {
        json!({"format": 1, "payload": verdict, "signatures": []}).to_string().into_bytes()
    });
    assert!(matches!(unsigned, Refusal::Malformed { .. }));
}

/// A verdict that was signed well and says something that does not fit.
#[track_caller]
fn saying(change: impl FnOnce(&Desk, &mut Verdict)) -> Refusal {
    given(|desk, mut verdict| {
        change(desk, &mut verdict);
        desk.signed(&verdict)
    })
}

#[test]
fn a_verdict_that_does_not_fit_its_ask_is_refused() {
    let other = saying(|_, v| v.digest = action(2).digest());
    assert!(matches!(other, Refusal::ChangedAction { .. }), "{other}");
    let foreign = saying(|_, v| v.origin = "holdfast/elsewhere".parse().unwrap());
    assert!(matches!(foreign, Refusal::ForeignOrigin { .. }), "{foreign}");
    let unknown = saying(|_, v| v.ask = ulid_like().into());
    assert!(matches!(unknown, Refusal::UnknownAsk { .. }), "{unknown}");
    let longer = saying(|_, v| v.expires_at = v.expires_at.plus(HOUR));
    assert!(matches!(longer, Refusal::Malformed { .. }), "{longer}");
    let from_the_future = saying(|_, v| v.issued_at = v.issued_at.plus(HOUR));
    assert!(matches!(from_the_future, Refusal::ClockBehind { .. }), "{from_the_future}");
    let late = given(|desk, verdict| {
        let document = desk.signed(&verdict);
        desk.house.clock.advance(DAY);
        document
    });
    assert!(matches!(late, Refusal::Late { .. }), "{late}");
    let too_long = given(|_, _| vec![b' '; 9 * 1024]);
    assert!(matches!(too_long, Refusal::Malformed { .. }), "{too_long}");
    let unsure = given(|desk, verdict| {
        desk.good = false;
        desk.signed(&verdict)
    });
    assert!(matches!(unsure, Refusal::ClockUnsure { .. }), "{unsure}");
    let backdated = given(|desk, verdict| {
        // The key has ended meanwhile; whoever still has it claims an earlier time.
        desk.house.clock.advance(HOUR);
        let (next, now) = (SecretKey::from_seed(&[43; 32]), desk.at());
        let next = TrustedKey::new(next.public(), Role::Approvals, KeyName::from(&desk.house.origin), now);
        desk.trust.rotate(desk.key.id(), next, now, Duration::from_secs(1)).unwrap();
        desk.house.clock.advance(HOUR);
        desk.signed(&verdict)
    });
    assert!(matches!(backdated, Refusal::KeyNotValid { .. }), "{backdated}");
}

#[test]
fn a_rejection_needs_no_good_clock_and_a_repeated_verdict_is_the_first_one() {
    let mut desk = Desk::new();
    let life = desk.asked(&action(1));
    desk.good = false;
    let document = desk.signed(&desk.verdict(&life, Word::Reject));
    let first = desk.give(&document).unwrap();
    let again = desk.give(&document).unwrap();
    assert!(!first.repeated && again.repeated);
    assert_eq!(first.seq, again.seq);
}

#[test]
fn refused_attempts_do_not_fill_the_journal() {
    let desk = Desk::new();
    for _ in 0..40 {
        refusal(desk.give(b"{}"));
    }
    let written = |desk: &Desk| desk.kinds().iter().filter(|k| *k == "approval.verdict.refused").count();
    assert_eq!(written(&desk), 30);
    desk.house.clock.advance(HOUR);
    refusal(desk.give(b"{}"));
    assert_eq!(written(&desk), 31);
}

#[test]
fn the_same_action_is_asked_for_once_and_a_flood_is_refused() {
    let desk = Desk::new();
    let first = desk.ask(&action(0)).unwrap();
    let again = desk.ask(&action(0)).unwrap();
    assert!(first.fresh && !again.fresh);
    assert_eq!(first.life, again.life);
    for n in 1..OPEN_PER_ACTOR_MAX {
        desk.ask(&action(n)).unwrap();
    }
    assert!(matches!(desk.ask(&action(99)), Err(Error::TooManyOpen { .. })));
    // Somebody else is not held up by it.
    let other = NewAsk::new(action(99), "agent-2".parse().unwrap(), "Something else.");
    assert!(desk.approvals().ask(other, desk.now()).unwrap().fresh);
    // What has expired takes no room, and what was asked within the hour still counts.
    desk.house.clock.advance(DAY);
    for n in 0..ASKS_PER_HOUR_MAX {
        let life = desk.asked(&action(1_000 + n));
        desk.approvals().withdraw(life.ask.id, &steward(), None).unwrap();
    }
    assert!(matches!(desk.ask(&action(99)), Err(Error::TooOften { .. })));
}

#[test]
fn an_ask_is_bounded_and_holds_no_secret() {
    let desk = Desk::new();
    let good = || NewAsk::new(action(1), steward(), "Raise swap.");
    let check = |ask: NewAsk, said: &str| {
        let refused = desk.approvals().ask(ask, desk.now()).unwrap_err();
        assert!(refused.to_string().contains(said), "{refused}");
    };
    check(NewAsk { lifetime: LIFETIME_MIN - Duration::from_secs(1), ..good() }, "at least a minute");
    check(NewAsk { lifetime: LIFETIME_MAX + Duration::from_secs(1), ..good() }, "at most seven days");
    check(NewAsk { summary: vec![], ..good() }, "at least one line");
    check(NewAsk { summary: vec!["x".into(); 21], ..good() }, "at most 20 lines");
    check(NewAsk { evidence: vec!["x".repeat(9_000)], ..good() }, "8 KiB");
    check(NewAsk { summary: vec!["a\u{1b}[2Jb".into()], ..good() }, "control characters");
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let secret = Action::new("a.b".parse().unwrap(), "t".parse().unwrap(), &json!({"token": token})).unwrap();
    check(NewAsk { action: secret, ..good() }, "looks like a secret");
    assert!(desk.entries().is_empty(), "nothing was written");
    // In the summary it is only taken out.
    let asked = desk.approvals().ask(NewAsk { summary: vec![format!("use {token}")], ..good() }, desk.now());
    let life = asked.unwrap().life;
    assert!(!life.ask.summary[0].contains("ghp_a1B2"), "{:?}", life.ask.summary);
    desk.approve(&life).unwrap();
    assert_eq!(desk.redeem(life.ask.id, &action(1)).unwrap().ask(), life.ask.id);
}

#[test]
fn the_largest_ask_fits_a_line_of_the_journal() {
    let desk = Desk::new();
    let what = json!({"text": "\\".repeat(8_000)});
    let action = Action::new("a.b".parse().unwrap(), "t".parse().unwrap(), &what).unwrap();
    let lines = vec!["\"".repeat(400); 20];
    let ask = NewAsk {
        action,
        summary: lines.clone(),
        evidence: lines,
        ..NewAsk::new(desk::action(1), steward(), "x")
    };
    assert!(desk.approvals().ask(ask, desk.now()).unwrap().fresh);
}

#[test]
fn what_cannot_be_written_down_does_not_happen() {
    let mut desk = Desk::new();
    let life = desk.approved(&action(1));
    let waiting = desk.asked(&action(2));
    let verdict = desk.signed(&desk.verdict(&waiting, Word::Approve));
    // The journal has more than 4 KiB, and from now on takes nothing beyond that.
    (10..20).for_each(|n| drop(desk.asked(&action(n))));
    desk.house.limits = Limits {
        segment_bytes: 4096,
        keep_segments: 1,
        warn_bytes: 4096,
        cap_bytes: 4097,
        ..Limits::default()
    };
    desk.restart();
    let full = |e: Error| assert!(matches!(e, Error::Journal(_)), "{e:?}");
    full(desk.redeem(life.ask.id, &action(1)).unwrap_err());
    full(desk.give(&verdict).unwrap_err());
    full(desk.ask(&action(3)).unwrap_err());
    full(desk.approvals().withdraw(waiting.ask.id, &steward(), None).unwrap_err());
    desk.house.limits = Limits::default();
    desk.restart();
    assert_eq!(desk.approvals().find_ask(waiting.ask.id).unwrap().state(), State::Asked);
    assert_eq!(desk.redeem(life.ask.id, &action(1)).unwrap().ask(), life.ask.id);
}

#[test]
fn entries_of_this_room_are_taken_from_nobody_else() {
    let kind = |text: &str| text.parse().unwrap();
    assert!(matches!(refuse_reserved(&kind("approval.ask.used"), None), Err(Error::Reserved { .. })));
    assert!(matches!(refuse_reserved(&kind("approval.other.thing"), None), Err(Error::Reserved { .. })));
    let key = "approval-used:apr_1".parse().unwrap();
    assert!(matches!(refuse_reserved(&kind("a.b.c"), Some(&key)), Err(Error::ReservedKey { .. })));
    assert!(refuse_reserved(&kind("a.b.c"), Some(&"mine".parse().unwrap())).is_ok());
}

#[test]
fn a_forged_entry_approves_nothing() {
    let mut desk = Desk::new();
    let life = desk.asked(&action(1));
    let stranger = SecretKey::from_seed(&[9; 32]);
    let document = sign(&desk.verdict(&life, Word::Approve), &stranger).unwrap().to_bytes().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    let serde_json::Value::Object(body) = json!({"ask": life.ask.id, "document": document}) else { panic!() };
    let forged = Draft::new(
        "approval.verdict.given".parse().unwrap(),
        "uid:1000".parse().unwrap(),
        holdfast_types::Trust::Admin,
        body,
    );
    desk.close();
    desk.house.open().append(&forged).unwrap();
    desk.restart();
    assert!(matches!(refusal(desk.redeem(life.ask.id, &action(1))), Refusal::UnknownKey { .. }));
}

#[test]
fn an_ask_whose_digest_is_not_that_of_its_action_is_none() {
    let mut desk = Desk::new();
    let made = desk.asked(&action(1));
    let Stored::Body(mut body) = desk.entries().pop().unwrap().content else { panic!("a body") };
    body.insert("ask".into(), json!(ApprovalId::from(ulid_like())));
    body.insert("digest".into(), json!(action(2).digest()));
    desk.close();
    let kind = "approval.ask.made".parse().unwrap();
    desk.house.open().append(&Draft::new(kind, steward(), holdfast_types::Trust::Trusted, body)).unwrap();
    desk.restart();
    let found = desk.approvals().find_ask(ulid_like().into());
    assert!(matches!(refusal(found), Refusal::UnknownAsk { .. }));
    assert_eq!(desk.approvals().list(true).unwrap(), [made]);
}

#[test]
fn entries_that_were_taken_over_from_another_log_count_for_nothing() {
    let mut desk = Desk::new();
    desk.approved(&action(1));
    let elsewhere: holdfast_types::Origin = "holdfast/elsewhere".parse().unwrap();
    let mut ledger = Ledger::new(elsewhere.clone());
    desk.entries().iter().for_each(|entry| ledger.apply(entry));
    assert!(ledger.lives().is_empty());
    desk.close();
    let journal = desk.house.open();
    assert!(desk.further_of(elsewhere, &journal).list(true).unwrap().is_empty());
}

#[test]
fn a_newer_version_of_an_entry_stops_the_inbox_and_approves_nothing() {
    let mut desk = Desk::new();
    let life = desk.approved(&action(1));
    let body = serde_json::Map::from_iter([("ask".to_owned(), json!(life.ask.id))]);
    let newer = Draft {
        version: 2,
        ..Draft::new(
            "approval.ask.withdrawn".parse().unwrap(),
            steward(),
            holdfast_types::Trust::Trusted,
            body,
        )
    };
    desk.close();
    desk.house.open().append(&newer).unwrap();
    desk.restart();
    let refused = desk.redeem(life.ask.id, &action(1)).unwrap_err();
    assert!(matches!(refused, Error::Behind { .. }), "{refused:?}");
}
