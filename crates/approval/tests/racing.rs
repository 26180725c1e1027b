//! Real processes: several that want to use the same approval, and one that is killed between use and action.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod desk;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use desk::{Desk, action, entries, steward};
use holdfast_approval::{Error, Redeemed, Refusal};
use holdfast_journal::Stored;
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::{House, Seed, rounds};
use holdfast_types::ApprovalId;

/// The child: waits for its turn at the journal, tries to redeem, and says how it went.
#[test]
fn racer() {
    crash::child_main("racer", |args, report| {
        let ask: ApprovalId = args[1].parse().unwrap();
        let desk = Desk::attach(Path::new(&args[0]));
        match desk.redeem(ask, &action(1)) {
            Ok(_) => report.line("redeemed"),
            Err(Error::Refused(Refusal::SecondUse { .. })) => report.line("second"),
            Err(other) => report.line(format!("{other:?}")),
        }
    });
}

#[test]
fn of_several_processes_one_uses_the_approval() {
    for _ in 0..rounds(2, 50) {
        let mut desk = Desk::new();
        let life = desk.approved(&action(1));
        desk.close();
        let racer = || Crash::new("racer").arg(desk.house.path().display()).arg(life.ask.id).spawn().unwrap();
        let racers: Vec<_> = (0..4).map(|_| racer()).collect();
        let mut said: Vec<String> =
            racers.into_iter().flat_map(|racer| racer.wait().unwrap().lines).collect();
        said.sort();
        assert_eq!(said, ["redeemed", "second", "second", "second"]);
    }
}

#[test]
fn of_several_threads_and_inboxes_over_one_journal_one_uses_the_approval() {
    let mut desk = Desk::new();
    for n in 0..u64::from(rounds(6, 500)) {
        let life = desk.approved(&action(n));
        desk.close();
        let journal = desk.house.open();
        let inboxes = [desk.further(&journal, "one.db"), desk.further(&journal, "two.db")];
        let won: usize = std::thread::scope(|s| {
            let threads: Vec<_> = (0..6)
                .map(|t| {
                    let (inbox, desk, ask) = (&inboxes[t % 2], &desk, life.ask.id);
                    s.spawn(move || {
                        inbox.redeem(ask, &action(n), &steward(), &desk.trust, desk.now()).is_ok()
                    })
                })
                .collect();
            threads.into_iter().map(|t| usize::from(t.join().unwrap())).sum()
        });
        assert_eq!(won, 1);
        drop((inboxes, journal));
        desk.restart();
        // Nobody may ask more often than once a minute for long.
        desk.house.clock.advance(Duration::from_secs(61));
    }
}

/// The child: uses an approval, and never comes to the action.
#[test]
fn halted() {
    crash::child_main("halted", |args, report| {
        let desk = Desk::attach(Path::new(&args[0]));
        let redeemed = desk.redeem(args[1].parse().unwrap(), &action(1)).unwrap();
        report.line(format!("redeemed {}", redeemed.seq()));
        loop {
            std::thread::park();
        }
    });
}

#[test]
fn an_approval_whose_action_a_crash_cut_off_is_used_up() {
    let mut desk = Desk::new();
    let life = desk.approved(&action(1));
    desk.close();
    let child = Crash::new("halted").arg(desk.house.path().display()).arg(life.ask.id).spawn().unwrap();
    let remains = child.kill_when(|lines| !lines.is_empty()).unwrap();
    assert!(remains.was_killed());
    let seq: u64 = remains.lines[0].strip_prefix("redeemed ").unwrap().parse().unwrap();
    desk.restart();
    let again = desk.redeem(life.ask.id, &action(1));
    assert!(
        matches!(again, Err(Error::Refused(Refusal::SecondUse { seq: found, .. })) if found == seq),
        "{again:?}"
    );
}

/// The child: redeems one ask after the other and carries each out.
#[test]
fn worker() {
    crash::child_main("worker", |args, report| {
        let root = Path::new(&args[0]);
        let desk = Desk::attach(root);
        for (n, ask) in args[1..].iter().enumerate() {
            let redeemed = desk.redeem(ask.parse().unwrap(), &action(n as u64)).unwrap();
            carry_out(root, &redeemed);
            report.line(ask);
        }
    });
}

/// The action itself: outside the journal, and without any care of its own.
fn carry_out(root: &Path, redeemed: &Redeemed) {
    let path = root.join("actions");
    let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{} {}\n", redeemed.ask(), redeemed.seq()).as_bytes()).unwrap();
}

#[test]
fn a_crash_between_use_and_action_never_runs_it_twice() {
    let place: RefCell<Option<(Desk, Vec<ApprovalId>)>> = RefCell::new(None);
    let prepared = |_| {
        let mut desk = Desk::new();
        let asks: Vec<ApprovalId> = (0..12).map(|n| desk.approved(&action(n)).ask.id).collect();
        desk.close();
        let worker = Crash::new("worker").arg(desk.house.path().display());
        let worker = asks.iter().fold(worker, |worker, ask| worker.arg(ask));
        place.replace(Some((desk, asks)));
        worker
    };
    crash::run_kills(
        Seed::from_env_or(4),
        rounds(8, 300),
        Duration::from_millis(1)..Duration::from_millis(30),
        prepared,
        |_, remains| {
            let (mut desk, asks) = place.take().unwrap();
            desk.restart();
            // Whoever comes after begins again with the first.
            for (n, ask) in asks.iter().enumerate() {
                if let Ok(redeemed) = desk.redeem(*ask, &action(n as u64)) {
                    carry_out(desk.house.path(), &redeemed);
                }
            }
            check(&desk.house, &asks, &remains.lines);
        },
    );
}

/// Every approval is used once; every action ran once, after its use; at most the one that the kill cut off never ran.
fn check(house: &House, asks: &[ApprovalId], acknowledged: &[String]) {
    let used: BTreeMap<String, u64> = entries(house)
        .into_iter()
        .filter(|entry| entry.kind.as_str() == "approval.ask.used")
        .map(|entry| match entry.content {
            Stored::Body(body) => (body["ask"].as_str().unwrap().to_owned(), entry.seq),
            Stored::Blob(_) => panic!("a body"),
        })
        .collect();
    assert_eq!(used.len(), asks.len());
    let ran = std::fs::read_to_string(house.path().join("actions")).unwrap_or_default();
    let mut runs: BTreeMap<&str, u32> = BTreeMap::new();
    for line in ran.lines() {
        let (ask, seq) = line.split_once(' ').unwrap();
        *runs.entry(ask).or_default() += 1;
        assert_eq!(used.get(ask), Some(&seq.parse().unwrap()), "its use stands in the log");
    }
    assert!(runs.values().all(|n| *n == 1), "{runs:?}");
    assert!(runs.len() + 1 >= asks.len(), "{runs:?}");
    assert!(acknowledged.iter().all(|ask| runs.contains_key(ask.as_str())), "{acknowledged:?}");
}
