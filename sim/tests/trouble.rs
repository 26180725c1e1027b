//! The built-in rules on hosts in trouble: how many get well, what is done in vain, and that nothing is made worse.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use holdfast_sim::trouble::report::{self, HEALED_PERCENT_MIN, Pass, Report};
use holdfast_sim::trouble::{Host, Kind, heal, possible};

/// A fifth of what the command plays.
const HOSTS: u64 = 400;

fn check(name: &str, pass: &Pass) {
    let all = pass.sums(|_| true);
    let healed = all.healed.unwrap();
    assert!(healed.share() * 100.0 >= HEALED_PERCENT_MIN, "{name}: healed {healed:?}");
    assert_eq!(all.harm_kept, 0, "{name}: harm was kept");
    assert_eq!(all.rejected, 0, "{name}: a gate refused what the rules proposed");
    let healthy = pass.sums(|kind| kind == Kind::Healthy);
    assert!(
        healthy.hosts > 0 && healthy.touched == 0,
        "{name}: {} healthy hosts were touched",
        healthy.touched
    );
}

#[test]
fn where_a_small_change_can_heal_it_heals_and_nothing_is_made_worse() {
    let pass = report::pass(HOSTS, 11, &[]).unwrap();
    check("without experience", &pass);
    let leaks = pass.sums(|kind| kind == Kind::Leak);
    assert_eq!(leaks.healable, 0, "memory heals no leak");
}

// shows: STW-398
#[test]
fn with_the_experience_of_others_the_same_hosts_are_healed_sooner() {
    let first = report::pass(150, 21, &[]).unwrap();
    let second = report::pass(150, 22, &first.experience()).unwrap();
    let control = report::pass(150, 22, &[]).unwrap();
    for (name, pass) in [("first", &first), ("with experience", &second), ("without", &control)] {
        assert_eq!(pass.sums(|_| true).harm_kept, 0, "{name}: harm was kept");
    }
    let report = Report { first, second, control };
    let (with, without) = report.changes();
    let cycles = |pass: &Pass| pass.hosts.iter().map(|(told, _)| told.cycles).sum::<u32>();
    assert!(cycles(&report.second) >= 200 && cycles(&report.control) >= 200, "enough cycles on either side");
    let (mean, low, high) = report.sooner();
    assert!(low > 0.0, "{mean:.2} hours sooner, {low:.2} to {high:.2}");
    assert!(with < without, "{with} changes instead of {without}");
}

/// Hosts with two managed units, on which weight for the one once cost the other a tenth of its answer time later in the day.
const ONCE_HARMED: [u64; 9] = [
    2_001_594,
    3_000_992,
    7_000_188,
    7_000_299,
    7_000_339,
    42_000_204,
    12_345_038_609,
    20_261_176_784_586,
    23_849_065_547_955,
];

#[test]
fn what_one_managed_unit_is_given_another_does_not_pay_for() {
    for seed in ONCE_HARMED {
        let host = Host::draw(seed);
        assert_eq!(host.managed.len(), 2, "host {seed}");
        let told = heal::live(&host, &[]).unwrap();
        assert!(!told.harm_kept, "host {seed} was harmed: {:#?}", told.story);
    }
}

#[test]
fn the_same_seed_gives_the_same_host_and_the_same_end() {
    let host = Host::of_kind(5, Kind::MemoryStarved);
    let (once, twice) = (heal::live(&host, &[]).unwrap(), heal::live(&host, &[]).unwrap());
    assert!(once.touched);
    assert_eq!(
        (once.healed_after, once.changes, once.story),
        (twice.healed_after, twice.changes, twice.story)
    );
}

#[test]
fn what_cannot_be_healed_is_said_so() {
    let said = |kind: Kind, words: &str| {
        let hosts =
            (0..20).map(|seed| Host::of_kind(seed, kind)).filter(|host| !possible::can_be_healed(host));
        let told = hosts.take(4).map(|host| heal::live(&host, &[]).unwrap());
        told.filter(|told| told.said.iter().any(|why| why.contains(words))).count()
    };
    assert!(said(Kind::Leak, "grows for as long as it runs") >= 3);
    assert!(said(Kind::Neighbour, "which is not in scope") >= 2);
}

/// Every cycle is asked to explore, on hosts in trouble and on healthy ones.
#[test]
fn exploring_harms_nobody() {
    let mut explored = 0;
    for seed in 0..160 {
        let host = Host::draw(seed);
        let told = heal::explore(&host).unwrap();
        explored += told.changes.explored;
        assert!(!told.harm_kept, "{:?} of seed {seed} was harmed: {:#?}", told.kind, told.story);
    }
    assert!(explored > 0, "a test in which nothing is explored shows nothing");
}
