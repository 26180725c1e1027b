//! Several at once, and processes that are killed: never the same number twice, and none that was told is lost.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod counter;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use counter::{Counter, fabric, named, number, purpose, wish};
use holdfast_journal::Stored;
use holdfast_ledger::{Ledger, Series, Standing};
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::{House, Rng, rounds, with_seeds};

#[test]
fn several_threads_and_ledgers_over_one_journal_never_give_a_number_twice() {
    const THREADS: usize = 6;
    for _ in 0..rounds(2, 60) {
        let counter = Counter::new();
        let journal = counter.journal().clone();
        let ledgers: Vec<Ledger> =
            ["one.db", "two.db", "three.db"].map(|name| counter.further(&journal, name)).into();
        let told: Vec<(String, String)> = std::thread::scope(|s| {
            let threads: Vec<_> = (0..THREADS)
                .map(|t| {
                    let ledger = &ledgers[t % ledgers.len()];
                    // Every other one asks for the same holders.
                    s.spawn(move || {
                        (0..8).map(|n| ask(ledger, &format!("agent/{}-{n}", t / 2))).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(told.len(), THREADS * 8);
        let by_holder: BTreeSet<&(String, String)> = told.iter().collect();
        let holders: BTreeSet<&String> = told.iter().map(|(holder, _)| holder).collect();
        let values: BTreeSet<&String> = told.iter().map(|(_, value)| value).collect();
        assert_eq!((by_holder.len(), holders.len(), values.len()), (24, 24, 24), "{told:?}");
        // All of them in a row: nobody skipped any because somebody else was faster.
        let expected: BTreeSet<String> = (4001..4025).map(|uid: u32| uid.to_string()).collect();
        assert_eq!(values, expected.iter().collect());
        for ledger in &ledgers {
            assert_eq!(ledger.state().unwrap(), counter.folded());
        }
        // Nobody's entry was passed over: the key kept it out.
        assert_eq!(counter.kinds().len(), 24);
    }
}

fn ask(ledger: &Ledger, holder: &str) -> (String, String) {
    let given = ledger.give(&wish(Series::Uid, holder), &fabric()).unwrap();
    (holder.to_owned(), given.number.to_string())
}

/// Those that do not run out within a few rounds.
const WIDE: [Series; 6] =
    [Series::Uid, Series::Port, Series::Subnet24, Series::Subnet28, Series::Mark, Series::Interface];

/// The child: gives, releases and renames as fast as it can, and tells the parent what it was told.
#[test]
fn clerk() {
    crash::child_main("clerk", |args, report| {
        let counter = Counter::attach(Path::new(&args[0]));
        report.line("open");
        for n in 0u32.. {
            let holder = format!("agent/r{}-{n}", args[1]);
            let series = WIDE[n as usize % WIDE.len()];
            let value = counter.give(series, &holder);
            report.line(format!("given {series} {value} {holder}"));
            if n % 5 == 3 {
                counter.release(series, &holder).unwrap();
                report.line(format!("released {series} {value} {holder}"));
            }
            if n % 5 == 4 {
                counter.rename(&holder, &format!("{holder}-new")).unwrap();
                report.line(format!("renamed {series} {value} {holder}-new"));
            }
        }
    });
}

#[test]
fn every_number_that_was_told_survives_a_kill_and_none_is_there_twice() {
    let mut acknowledged = 0;
    with_seeds(1, |seed| {
        let mut rng = seed.child("kills").rng();
        let (mut house, mut told) = (House::new(), Told::new());
        for round in 0..rounds(40, 200) {
            // Begin afresh now and then: the ledger grows, and checking all of it is what takes long.
            if round % 10 == 9 {
                (house, told) = (House::new(), Told::new());
            }
            let lines = killed(house.path(), round, &mut rng);
            acknowledged += remember(&mut told, &lines);
            check(house.path(), &told, round);
        }
    });
    assert!(acknowledged >= 10, "only {acknowledged} numbers were told: the children need more time");
}

/// What a clerk told before it was killed: most are while they write, some while they open the home. On a busy machine none would get
/// far in a given time, so half of them are given until their first number.
fn killed(root: &Path, round: u32, rng: &mut Rng) -> Vec<String> {
    let child = Crash::new("clerk").arg(root.display()).arg(round).spawn().unwrap();
    if let Some(line) = [None, Some("open"), Some("given"), Some("given")][rng.range(0..4) as usize] {
        child.wait_line(line, Duration::from_secs(20)).unwrap();
    }
    let remains = child.kill_after(Duration::from_micros(rng.range(0..20_000))).unwrap();
    assert!(remains.was_killed(), "round {round}: it ended by itself, {}", remains.status);
    remains.lines
}

/// By number, the last word about it and whom it was about.
type Told = BTreeMap<(Series, String), (String, String)>;

/// Gives how many numbers were told.
fn remember(told: &mut Told, lines: &[String]) -> usize {
    let before = told.len();
    for line in lines.iter().filter(|line| *line != "open") {
        let [word, series, value, holder] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let key = (series.parse().unwrap(), value.to_owned());
        let before = told.insert(key, (word.to_owned(), holder.to_owned()));
        assert!(word != "given" || before.is_none(), "{line}, after {before:?}");
    }
    told.len() - before
}

fn check(root: &Path, told: &Told, round: u32) {
    let counter = Counter::attach(root);
    let state = counter.state();
    assert_eq!(state, counter.folded());
    for ((series, value), (word, holder)) in told {
        let line = state.line(number(*series, value)).unwrap();
        match (&line.standing, word.as_str()) {
            // What came after the last word may be there without having been told.
            (Standing::Held { holder: found, .. } | Standing::Released { holder: found, .. }, "given") => {
                assert!(found.as_str().starts_with(holder.as_str()), "{line:?} {word} {holder}");
            }
            (Standing::Held { holder: found, .. }, "renamed") => assert_eq!(found.as_str(), holder),
            (Standing::Released { holder: found, .. }, "released") => assert_eq!(found.as_str(), holder),
            other => panic!("round {round}: {value} is {other:?}"),
        }
    }
    let mut given = BTreeSet::new();
    for entry in counter.entries().iter().filter(|e| e.kind.as_str() == "ledger.number.given") {
        let Stored::Body(body) = &entry.content else { panic!("a body") };
        assert!(given.insert((body["series"].clone().to_string(), body["value"].to_string())), "{body:?}");
    }
    // And it goes on: whoever asks again gets what the log has, and whoever is new gets another.
    let some = state.lines().find_map(|line| match &line.standing {
        Standing::Held { holder, .. } => Some((line.number, holder.clone())),
        _ => None,
    });
    if let Some((held, holder)) = some {
        let ask = holdfast_ledger::Ask::new(held.series(), holder, purpose());
        assert_eq!(counter.ask(&ask).unwrap().number, held);
        let fresh = counter.ask(&wish(held.series(), &format!("agent/after-{round}"))).unwrap();
        assert!(fresh.fresh && state.line(fresh.number).is_none());
        counter.ledger().release_all(&named(&format!("agent/after-{round}")), &fabric()).unwrap();
    }
}
