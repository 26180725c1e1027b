//! A known history gives a known review; bounds are pressed above 60 % and never moved.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::outcome::{Book, Outcome};
use holdfast_steward::policy::{self, TargetRules};
use holdfast_steward::review::*;
use holdfast_steward::setting::UnitName;

use super::*;

const GATES: [&str; 4] = ["schema", "policy", "property_tests", "build"];

struct Case {
    book: Book,
    open: BTreeSet<Setting>,
    current: Option<Com>,
    rules: TargetRules,
}

impl Case {
    fn new(records: impl IntoIterator<Item = Record>) -> Case {
        let mut book = Book::default();
        for record in records {
            book.add(record);
        }
        let runner: UnitName = "runner.service".parse().unwrap();
        let rules = TargetRules {
            services: vec![runner.clone()],
            workload: runner.clone(),
            critical: vec![],
            memory_budget: 16 << 30,
            endpoints: vec![],
            probe_hosts: vec![],
        };
        let current = Com {
            memory_total: 32 << 30,
            swap: true,
            ssh_enabled: true,
            vpn_enabled: None,
            firewall_enabled: true,
            units: BTreeMap::from([(runner, UnitModel { enabled: true, ..UnitModel::default() })]),
            rest: String::new(),
            own_configuration: String::new(),
        };
        Case { book, open: BTreeSet::new(), current: Some(current), rules }
    }

    fn review(&self) -> Review {
        let disk = Disk { size: 80_000_000_000, used_then: 20_000_000_000, used_now: 26_000_000_000 };
        review(&Input {
            target: &target(),
            now: at(60 * DAY),
            book: &self.book,
            gates: &GATES,
            disk: Some(disk),
            open_drafts: &self.open,
            current: self.current.as_ref(),
            rules: &self.rules,
        })
    }
}

fn rejected(number: u64, gate: &str) -> Record {
    Record { gate: Some(gate.into()), ..record(number, Outcome::GateRejected, 50 * DAY) }
}

fn moved(number: u64, setting: &Setting, from: &str, to: &str) -> Record {
    about(record(number, Outcome::Improved, 50 * DAY + number), setting, from, to)
}

fn known_history() -> Vec<Record> {
    let quota = setting("runner.service CPUQuota");
    vec![
        record(1, Outcome::RolledBack, 29 * DAY), // 31 days ago
        rejected(2, "policy"),
        rejected(3, "property_tests"),
        rejected(4, "a gate of long ago"),
        record(5, Outcome::NoAction, 50 * DAY),
        record(6, Outcome::Planned, 50 * DAY),
        record(7, Outcome::Refused, 50 * DAY),
        record(8, Outcome::RolledBack, 51 * DAY),
        moved(9, &memory_max(), "1536M", "1792M"),
        record(10, Outcome::Kept, 52 * DAY),
        record(10, Outcome::DelayedNegative, 53 * DAY),
        moved(11, &memory_max(), "1792M", "2G"),
        moved(12, &quota, "100%", "125%"),
    ]
}

// shows: STW-228
#[test]
fn a_known_history_gives_known_figures() {
    let review = Case::new(known_history()).review();
    let figures: Vec<_> = review.gates.iter().map(|g| g.passed.map(|rate| (rate.hits, rate.of))).collect();
    assert_eq!(figures, [Some((9, 9)), Some((8, 9)), Some((7, 8)), Some((7, 7))]);
    assert_eq!(review.rolled_back.map(|rate| (rate.hits, rate.of)), Some((1, 5)));
    let changed: Vec<_> = review.changed.iter().map(|(s, n)| (s.property.to_string(), *n)).collect();
    assert_eq!(changed, [("MemoryMax".to_owned(), 4), ("CPUQuota".to_owned(), 1)]);
    assert_eq!(
        review.disk.map(|disk| (disk.used_then, disk.used_now)),
        Some((20_000_000_000, 26_000_000_000))
    );
    insta::assert_snapshot!(review.markdown());
}

#[test]
fn a_month_without_anything_is_a_short_report() {
    let mut review = Case::new([]).review();
    review.disk = None;
    insta::assert_snapshot!(review.markdown());
}

/// What is said of `CPUQuota` within 25 to 400 %.
fn quota(moves: &[(&str, &str)]) -> Option<(Push, u32, Pressed)> {
    let setting = setting("runner.service CPUQuota");
    let records = moves.iter().zip(1..).map(|((from, to), n)| moved(n, &setting, from, to));
    let review = Case::new(records).review();
    review.saturation.into_iter().next().map(|found| (found.push, found.basis_points, found.pressed))
}

// shows: STW-389
#[test]
fn saturation_is_the_way_gone_towards_the_bound_that_is_pushed_at() {
    assert_eq!(quota(&[]), None, "no accepted change, no figure");
    assert_eq!(quota(&[("200%", "250%")]), Some((Push::Up, 6000, Pressed::No)), "at 60 %");
    assert_eq!(quota(&[("200%", "251%")]), Some((Push::Up, 6026, Pressed::Drafted)), "above 60 %");
    assert_eq!(
        quota(&[("200%", "100%")]),
        Some((Push::Down, 8000, Pressed::Drafted)),
        "near the least, pushed down"
    );
    assert_eq!(quota(&[("50%", "100%")]), Some((Push::Up, 2000, Pressed::No)), "near the least, pushed up");
    assert_eq!(
        quota(&[("200%", "300%"), ("300%", "220%")]),
        Some((Push::Up, 5200, Pressed::No)),
        "pulled back"
    );
    assert_eq!(quota(&[("200%", "300%"), ("300%", "200%")]), None, "they cancel out");

    // The sample of an earlier design: 2048M within 256M to 3G is 63.6 %.
    let case = Case::new([moved(1, &memory_max(), "1792M", "2G")]);
    assert_eq!(case.review().saturation[0].basis_points, 6363);

    // Only accepted proposals count, and only those of 30 days.
    let spoiled = [
        about(record(1, Outcome::RolledBack, 50 * DAY), &memory_max(), "2G", "3G"),
        about(record(2, Outcome::GateRejected, 50 * DAY), &memory_max(), "2G", "3G"),
        about(record(3, Outcome::Kept, 29 * DAY), &memory_max(), "2G", "3G"),
    ];
    assert_eq!(Case::new(spoiled).review().saturation, []);

    // One open draft per option.
    let mut case = Case::new([moved(1, &memory_max(), "2G", "2560M")]);
    assert_eq!(case.review().drafts.len(), 1);
    case.open.insert(memory_max());
    let again = case.review();
    assert_eq!((again.drafts.len(), &again.saturation[0].pressed), (0, &Pressed::DraftOpen));

    // A draft passes the property tests or is none.
    let mut case = Case::new([moved(1, &memory_max(), "2G", "2560M")]);
    case.rules.memory_budget = (3264 << 20) + 1;
    assert_eq!(case.review().drafts[0].wider.max, Value::Bytes(3264 << 20), "half the usual step holds");
    case.rules.memory_budget = 3 << 30;
    let none = case.review();
    assert_eq!((none.drafts.len(), &none.saturation[0].pressed), (0, &Pressed::NoRoom));
    case.current = None;
    assert_eq!(case.review().drafts, [], "what the target is like is not known");
}

// shows: STW-234
#[test]
fn the_steward_speaks_of_bounds_of_tier_one_and_of_nothing_that_judges_it() {
    // At the end of its range, again and again: a setting of a higher tier, and one nobody knows.
    let far = |n, name: &str| {
        let change = Change { setting: setting(name), from: Value::Number(1), to: Value::Number(10_000) };
        Record { change: Some(change), ..record(n, Outcome::Improved, 50 * DAY + n) }
    };
    let mut records = vec![far(1, "runner.service CPUWeight"), far(2, "runner.service OOMScoreAdjust")];
    records.push(moved(3, &memory_max(), "2G", "2560M"));
    let review = Case::new(records).review();
    let about: Vec<_> = review.drafts.iter().map(|draft| draft.setting.clone()).collect();
    assert_eq!((about, review.saturation.len()), (vec![memory_max()], 1));
    let alone = policy::alone(&memory_max().property).unwrap().range();
    assert_eq!(review.drafts[0].bound, alone, "as the policy has it");
    for own in [
        "modules/services/steward.nix",
        "src/constitution.rs",
        "src/invariant_checker.rs",
        "src/auditor.rs",
        "hosts/controller-1/configuration.nix",
    ] {
        let rule = policy::path_rule(own);
        assert!(rule.own && rule.tier == policy::Tier::Three, "{own}");
    }
}

// shows: STW-263
#[test]
fn a_draft_says_all_a_person_needs_to_decide() {
    let case = Case::new([moved(1, &memory_max(), "1792M", "2G"), moved(2, &memory_max(), "2G", "2560M")]);
    insta::assert_snapshot!(case.review().drafts[0].body);
}

#[test]
fn a_bound_pushed_down_is_widened_downwards_and_never_below_what_can_be() {
    let nice = setting("runner.service Nice");
    let case = Case::new([moved(1, &nice, "0", "-4")]);
    let draft = &case.review().drafts[0];
    assert_eq!((draft.wider.min, draft.wider.max), (Value::Number(-9), Value::Number(19)));

    let case = Case::new([moved(1, &memory_max(), "1G", "512M")]);
    let found = case.review();
    assert_eq!(
        found.drafts[0].wider.min,
        Value::Bytes(64 << 20),
        "a smaller step where the usual one ends below zero"
    );
}
