//! Lives of small ledgers without a journal, held against another way of counting.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::event::{Misfit, Step};
use crate::state::Took;
use holdfast_testkit::rounds;
use proptest::prelude::*;

/// Something that happens to the ledger, by small numbers that pick from small sets.
#[derive(Clone, Debug)]
enum Deed {
    /// Which range, holder and purpose, and which numbers of the range are in use.
    Ask(usize, usize, usize, Vec<usize>),
    Release(usize, usize, usize),
    /// Which of the lines there are.
    Reclaim(usize),
    Rename(usize, usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let busy = prop::collection::vec(0usize..5, 0..3);
    prop_oneof![
        10 => (0..RANGES, 0usize..6, 0usize..2, busy).prop_map(|(r, h, p, b)| Deed::Ask(r, h, p, b)),
        4 => (0..RANGES, 0usize..6, 0usize..2).prop_map(|(r, h, p)| Deed::Release(r, h, p)),
        3 => (0usize..60).prop_map(Deed::Reclaim),
        2 => (0usize..6, 0usize..6).prop_map(|(from, to)| Deed::Rename(from, to)),
    ]
}

/// Small, so that they run out; those of ports overlap, and so do those of subnets.
const RANGES: usize = 9;

fn range(n: usize) -> Range {
    let (series, first, last) = [
        (Series::Uid, "4001", "4012"),
        (Series::Uid, "4009", "4020"),
        (Series::VncPort, "5901", "5908"),
        (Series::BrowserPort, "5905", "5912"),
        (Series::Port, "9090", "9100"),
        (Series::Subnet24, "10.208.0.0/24", "10.208.4.0/24"),
        (Series::Subnet28, "10.208.0.240/28", "10.208.1.48/28"),
        (Series::Mark, "0x1001", "0x100c"),
        (Series::Interface, "hf1", "hf12"),
    ][n % RANGES];
    let number = |text| Number::parse(series, text).unwrap();
    Range::new(number(first), number(last)).unwrap()
}

fn holder(n: usize) -> Holder {
    format!("agent/{}", ["ada", "bo", "coder", "dan", "eve", "researcher"][n % 6]).parse().unwrap()
}

fn purpose(n: usize) -> Purpose {
    ["home", "screen"][n % 2].parse().unwrap()
}

type Held = BTreeMap<(Holder, Series, Purpose), Number>;

fn held(state: &State) -> Held {
    let held = state.lines().filter_map(|line| match &line.standing {
        Standing::Held { holder, purpose } => {
            Some(((holder.clone(), line.number.series(), purpose.clone()), line.number))
        }
        Standing::Released { .. } | Standing::InUse | Standing::Reclaimed { .. } => None,
    });
    held.collect()
}

/// A ledger without a journal, and what must be true of it by another way of counting.
#[derive(Default)]
struct Life {
    state: State,
    steps: Vec<Step>,
    /// Parts of spaces that belong to somebody or did; single addresses, so that overlaps show.
    spent: BTreeSet<(crate::Space, u32)>,
    gave: u32,
}

fn parts(number: Number) -> impl Iterator<Item = (crate::Space, u32)> {
    let (first, last) = number.span();
    (first..=last).map(move |part| (number.series().space(), part))
}

impl Life {
    fn write(&mut self, event: Event) {
        let step = Step { turn: self.state.turns(), event };
        let seq = self.steps.len() as u64;
        assert_eq!(self.state.apply(&step, seq), Ok(Took::Counted), "{step:?}");
        self.steps.push(step);
    }

    fn live(&mut self, deed: &Deed) {
        let mut expected = held(&self.state);
        match deed {
            Deed::Ask(r, h, p, busy) => {
                let ask = Ask::within(range(*r), holder(*h), purpose(*p));
                let key = (ask.holder.clone(), ask.series(), ask.purpose.clone());
                if expected.contains_key(&key) {
                    return; // has it already, whatever the range
                }
                let busy: Vec<Number> = busy.iter().filter_map(|n| ask.range.numbers().nth(*n)).collect();
                let occupied = Occupied::new(busy.iter().map(|number| number.span()));
                match give(&self.state, &ask, &occupied) {
                    Ok(event) => {
                        expected.insert(key, self.given(&event, &busy));
                        self.write(event);
                    }
                    Err(Error::Exhausted { .. }) => {
                        let free =
                            |n: &Number| !busy.contains(n) && parts(*n).all(|p| !self.spent.contains(&p));
                        assert_eq!(ask.range.numbers().find(free), None);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            Deed::Release(r, h, p) => {
                let (series, holder, purpose) = (range(*r).series(), holder(*h), purpose(*p));
                let removed = expected.remove(&(holder.clone(), series, purpose.clone()));
                match release(&self.state, series, &holder, &purpose) {
                    Ok(Decision::Write(event)) => self.write(event),
                    Ok(Decision::Already) | Err(_) => assert_eq!(removed, None),
                }
            }
            Deed::Reclaim(n) => {
                let Some(line) = self.state.lines().nth(*n).cloned() else { return };
                let evidence = "nothing has it".parse().unwrap();
                match reclaim(&self.state, line.number, &evidence, &Occupied::default()) {
                    Ok(Decision::Write(event)) => {
                        self.write(event);
                        self.spent.retain(|part| !parts(line.number).any(|freed| freed == *part));
                    }
                    Ok(Decision::Already) => {}
                    Err(_) => assert!(expected.values().any(|number| *number == line.number)),
                }
            }
            Deed::Rename(from, to) => {
                let (from, to) = (holder(*from), holder(*to));
                if let Ok(Decision::Write(event)) = rename(&self.state, &from, &to) {
                    self.write(event);
                    let renamed = |((h, s, p), n)| ((if h == from { to.clone() } else { h }, s, p), n);
                    let before = expected.len();
                    expected = expected.into_iter().map(renamed).collect();
                    assert_eq!(expected.len(), before);
                }
            }
        }
        assert_eq!(held(&self.state), expected, "{deed:?}");
    }

    /// What a gift gives: nothing that anybody had, nothing that is in use.
    fn given(&mut self, event: &Event, busy: &[Number]) -> Number {
        let Event::Given { number, skipped, .. } = event else { panic!("{event:?}") };
        assert!(!busy.contains(number) && skipped.iter().all(|number| busy.contains(number)));
        for number in skipped.iter().chain([number]) {
            for part in parts(*number) {
                assert!(self.spent.insert(part), "{number:?} was given before");
            }
        }
        self.gave += 1;
        *number
    }
}

fn replay<'s>(steps: impl Iterator<Item = (u64, &'s Step)>) -> Result<State, Misfit> {
    let mut state = State::default();
    for (seq, step) in steps {
        state.apply(step, seq)?;
    }
    Ok(state)
}

// shows: AGT-168, FAB-163
#[test]
fn whoever_comes_goes_or_is_renamed_moves_no_number_of_anybody_else() {
    let config =
        ProptestConfig { cases: rounds(128, 20_000), failure_persistence: None, ..Default::default() };
    let gave = std::cell::Cell::new(0);
    proptest!(config, |(deeds in prop::collection::vec(deed(), 1..120))| {
        let mut life = Life::default();
        deeds.iter().for_each(|deed| life.live(deed));
        gave.set(gave.get() + life.gave);
        let numbered = || (0u64..).zip(&life.steps);
        prop_assert_eq!(&replay(numbered()).unwrap(), &life.state);
        // Each once more behind itself, as of somebody who came too late.
        let doubled = numbered().flat_map(|(seq, step)| [(seq, step), (seq + 1_000, step)]);
        prop_assert_eq!(&replay(doubled).unwrap(), &life.state);
    });
    assert!(gave.get() > 1_000, "too little was given to show anything");
}

#[test]
fn an_entry_that_is_missing_or_stands_elsewhere_is_a_contradiction() {
    let mut life = Life::default();
    for h in 0..4 {
        life.live(&Deed::Ask(0, h, 0, vec![]));
    }
    let numbered: Vec<(u64, &Step)> = (0u64..).zip(&life.steps).collect();
    for without in 0..3 {
        let rest = numbered.iter().copied().filter(|(seq, _)| *seq != without);
        assert!(matches!(replay(rest), Err(Misfit::Contradiction { .. })), "{without}");
    }
}

#[test]
fn what_nobody_could_have_decided_is_a_contradiction_and_changes_nothing() {
    let mut life = Life::default();
    life.live(&Deed::Ask(0, 0, 0, vec![0]));
    life.live(&Deed::Ask(0, 1, 0, vec![]));
    life.live(&Deed::Ask(5, 1, 0, vec![]));
    let uid = |raw| Number::new(Series::Uid, raw).unwrap();
    let subnet = |text| Number::parse(Series::Subnet28, text).unwrap();
    let given = |number, h, p, skipped: &[Number]| Event::Given {
        number,
        holder: holder(h),
        purpose: purpose(p),
        skipped: skipped.to_vec(),
    };
    let evidence: Evidence = "none".parse().unwrap();
    for event in [
        given(uid(4002), 3, 0, &[]),
        given(uid(4001), 3, 0, &[]),
        given(uid(4009), 3, 0, &[uid(4003)]),
        given(uid(4009), 3, 0, &[uid(4009)]),
        given(uid(4009), 0, 0, &[]),
        given(subnet("10.208.0.240/28"), 3, 0, &[]),
        Event::Released { number: uid(4002), holder: holder(1), purpose: purpose(0) },
        Event::Released { number: uid(4002), holder: holder(0), purpose: purpose(1) },
        Event::Released { number: uid(4009), holder: holder(0), purpose: purpose(0) },
        Event::Reclaimed { number: uid(4002), evidence: evidence.clone() },
        Event::Reclaimed { number: uid(4009), evidence },
        Event::Renamed { from: holder(4), to: holder(5) },
        Event::Renamed { from: holder(0), to: holder(1) },
        Event::Renamed { from: holder(0), to: holder(0) },
    ] {
        let (before, step) = (life.state.clone(), Step { turn: life.state.turns(), event });
        let applied = life.state.apply(&step, 99);
        assert!(matches!(applied, Err(Misfit::Contradiction { .. })), "{step:?}: {applied:?}");
        assert_eq!(life.state, before);
    }
}

#[test]
fn fresh_numbers_go_before_reclaimed_ones() {
    let mut life = Life::default();
    life.live(&Deed::Ask(8, 0, 0, vec![]));
    life.live(&Deed::Release(8, 0, 0));
    life.live(&Deed::Reclaim(0));
    let next = |state: &State, h| {
        let ask = Ask::within(range(8), holder(h), purpose(1));
        let Event::Given { number, .. } = give(state, &ask, &Occupied::default()).unwrap() else {
            panic!("a gift")
        };
        number.to_string()
    };
    assert_eq!(next(&life.state, 1), "hf2");
    for n in 0..11 {
        life.live(&Deed::Ask(8, n / 2, n % 2, vec![]));
    }
    assert_eq!(next(&life.state, 5), "hf1");
}

#[test]
fn a_rename_that_was_done_is_done_whoever_has_the_old_name_now() {
    let mut life = Life::default();
    let (a, b, c) = (holder(0), holder(1), holder(2));
    let decided = |state: &State, from: &Holder, to: &Holder| match rename(state, from, to) {
        Ok(Decision::Write(_)) => "write",
        Ok(Decision::Already) => "already",
        Err(Error::BothHold { .. }) => "both",
        Err(Error::HoldsNothing { .. }) => "nothing",
        Err(other) => panic!("{other}"),
    };
    assert_eq!(decided(&life.state, &a, &b), "nothing");
    life.live(&Deed::Ask(0, 0, 0, vec![]));
    assert_eq!(decided(&life.state, &a, &a), "already");
    life.live(&Deed::Rename(0, 1));
    assert_eq!(decided(&life.state, &a, &b), "already");
    life.live(&Deed::Ask(0, 0, 0, vec![]));
    assert_eq!(decided(&life.state, &a, &b), "already");
    assert_eq!(decided(&life.state, &b, &a), "both");
    life.live(&Deed::Rename(1, 2));
    assert_eq!(decided(&life.state, &a, &c), "already");
    assert_eq!(decided(&life.state, &b, &c), "already");
    // The name is free again: this is another rename.
    assert_eq!(decided(&life.state, &a, &b), "write");
    life.live(&Deed::Release(0, 2, 0));
    assert_eq!(decided(&life.state, &a, &c), "write");
}
