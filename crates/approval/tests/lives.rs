//! Random lives of asks against a simple model: an action runs at most once per approval, and never without one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod desk;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use desk::{Desk, action, entries, steward};
use holdfast_approval::{Ledger, State, Word};
use holdfast_testkit::rounds;
use holdfast_types::{ApprovalId, Timestamp};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Deed {
    Ask(u64),
    Say(usize, Word),
    Withdraw(usize),
    /// Which ask, and how far the action tried with it is from the one that was asked for.
    Redeem(usize, u64),
    Expire,
    Wait(u64),
    /// The clock is set back by so many minutes.
    StepBack(u64),
    ClockIs(bool),
    Restart,
}

fn deed() -> impl Strategy<Value = Deed> {
    let word = prop_oneof![3 => Just(Word::Approve), 1 => Just(Word::Reject)];
    prop_oneof![
        4 => (0u64..3).prop_map(Deed::Ask),
        6 => (0usize..3, word).prop_map(|(n, word)| Deed::Say(n, word)),
        1 => (0usize..6).prop_map(Deed::Withdraw),
        8 => (0usize..3, prop_oneof![4 => Just(0u64), 1 => 1u64..3]).prop_map(|(n, off)| Deed::Redeem(n, off)),
        1 => Just(Deed::Expire),
        2 => (1u64..900).prop_map(Deed::Wait),
        // About as long as an ask lives.
        1 => (1_380u64..1_500).prop_map(Deed::Wait),
        1 => (1u64..90).prop_map(Deed::StepBack),
        1 => prop::bool::weighted(0.9).prop_map(Deed::ClockIs),
        1 => Just(Deed::Restart),
    ]
}

/// One ask as the rules tell it, written without looking at the code.
#[derive(Clone, Copy, Debug)]
struct Told {
    action: u64,
    asked_at: Timestamp,
    ends_at: Timestamp,
    approved_at: Option<Timestamp>,
    /// Rejected, withdrawn, or written down as expired.
    over: bool,
    used: bool,
}

/// What the skew allows.
const MINUTE: Duration = Duration::from_secs(60);

impl Told {
    fn can_be_used(&self, with: u64, at: Timestamp, good: bool) -> bool {
        let made = self.approved_at.map(|then| then.max(self.asked_at));
        good && with == self.action
            && !self.over
            && !self.used
            && at < self.ends_at
            && made.is_some_and(|made| at.plus(MINUTE) >= made)
    }
}

/// One of the asks there are, the later ones first.
fn some(asks: &mut [(ApprovalId, Told)], n: usize) -> Option<&mut (ApprovalId, Told)> {
    let len = asks.len().max(1);
    asks.iter_mut().rev().nth(n % len)
}

/// Lives one life; returns how many actions ran in it.
fn live(deeds: &[Deed]) -> u32 {
    let mut desk = Desk::new();
    let mut asks: Vec<(ApprovalId, Told)> = Vec::new();
    let mut runs: BTreeMap<ApprovalId, u32> = BTreeMap::new();
    for deed in deeds {
        let (at, good) = (desk.at(), desk.good);
        match *deed {
            Deed::Ask(n) => {
                let open = asks.iter().find(|(_, t)| t.action == n && !t.over && !t.used && at < t.ends_at);
                match desk.ask(&action(n)) {
                    Err(_) => assert!(!good),
                    Ok(asked) => {
                        assert!(good);
                        assert_eq!(asked.fresh, open.is_none());
                        if asked.fresh {
                            let ends_at = at.plus(Duration::from_secs(86_400));
                            let told = Told {
                                action: n,
                                asked_at: at,
                                ends_at,
                                approved_at: None,
                                over: false,
                                used: false,
                            };
                            asks.push((asked.life.ask.id, told));
                        }
                    }
                }
            }
            Deed::Say(n, word) => {
                let Some((id, told)) = some(&mut asks, n) else { continue };
                let life = desk.approvals().find_ask(*id).unwrap();
                if life.ask.expires_at <= at {
                    continue; // nothing that could be signed: it would end before it begins
                }
                let given = desk.give(&desk.signed(&desk.verdict(&life, word)));
                let is_open = !told.over && !told.used && told.approved_at.is_none();
                if let Ok(taken) = given
                    && !taken.repeated
                {
                    assert!(is_open);
                    match word {
                        Word::Approve => {
                            assert!(good && at >= told.asked_at);
                            told.approved_at = Some(at);
                        }
                        Word::Reject => told.over = true,
                    }
                }
            }
            Deed::Withdraw(n) => {
                let Some((id, told)) = some(&mut asks, n) else { continue };
                let can = !told.over && !told.used && told.approved_at.is_none();
                assert_eq!(desk.approvals().withdraw(*id, &steward(), None).is_ok(), can);
                told.over |= can;
            }
            Deed::Redeem(n, off) => {
                let Some((id, told)) = some(&mut asks, n) else { continue };
                let with = (told.action + off) % 3;
                let can = told.can_be_used(with, at, good);
                let redeemed = desk.redeem(*id, &action(with));
                assert_eq!(redeemed.is_ok(), can, "{told:?} with {with} at {at}: {redeemed:?}");
                if redeemed.is_ok() {
                    told.used = true;
                    *runs.entry(*id).or_default() += 1;
                }
            }
            Deed::Expire => {
                let due = |t: &Told| good && !t.over && !t.used && at >= t.ends_at;
                let count = asks.iter().filter(|(_, t)| due(t)).count() as u64;
                assert_eq!(desk.approvals().expire(&steward(), desk.now()).unwrap(), count);
                asks.iter_mut().filter(|(_, t)| due(t)).for_each(|(_, t)| t.over = true);
            }
            Deed::Wait(minutes) => desk.house.clock.advance(MINUTE * minutes as u32),
            Deed::StepBack(minutes) => {
                let back = i64::try_from(minutes * 60_000_000).unwrap();
                desk.house.clock.set_wall(Timestamp::from_micros(at.as_micros() - back).unwrap());
            }
            Deed::ClockIs(good) => desk.good = good,
            Deed::Restart => desk.restart(),
        }
    }
    assert!(runs.values().all(|n| *n == 1), "{runs:?}");
    the_log_says_the_same(&desk, &asks);
    runs.values().sum()
}

/// What was used stands in the log once, after its approval; and the tables are what the log folds to.
fn the_log_says_the_same(desk: &Desk, asks: &[(ApprovalId, Told)]) {
    let mut ledger = Ledger::new(desk.house.origin.clone());
    let all = entries(&desk.house);
    all.iter().for_each(|entry| ledger.apply(entry));
    let used = all.iter().filter(|entry| entry.kind.as_str() == "approval.ask.used").count();
    assert_eq!(used, asks.iter().filter(|(_, told)| told.used).count());
    for (id, told) in asks {
        let life = ledger.get(*id).unwrap();
        assert_eq!(life, &desk.approvals().find_ask(*id).unwrap());
        assert_eq!(life.state() == State::Used, told.used);
        if told.used {
            assert_eq!(life.given().unwrap().verdict.verdict, Word::Approve);
        }
    }
    let listed = desk.approvals().list(true).unwrap();
    assert_eq!(listed.iter().collect::<Vec<_>>(), ledger.lives());
}

#[test]
fn an_action_runs_at_most_once_per_approval_and_never_without_one() {
    let config = ProptestConfig { cases: rounds(16, 1_000), failure_persistence: None, ..Default::default() };
    let ran = AtomicU32::new(0);
    proptest!(config, |(deeds in prop::collection::vec(deed(), 20..80))| {
        ran.fetch_add(live(&deeds), Ordering::Relaxed);
    });
    assert!(ran.into_inner() > 0, "nothing ever ran: the lives are too short to show anything");
}
