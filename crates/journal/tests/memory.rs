//! Reading, opening and verifying stream: memory does not grow with the log.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;

use holdfast_journal::Draft;
use holdfast_testkit::House;
use holdfast_testkit::crash::{self, Crash};

/// The child: goes through the whole log in every way there is, and says the most memory it ever had.
#[test]
fn visitor() {
    crash::child_main("visitor", |args, report| {
        let house = House::attach(Path::new(&args[0]), "test");
        assert!(house.verify().unwrap().is_good());
        let journal = house.open();
        assert_eq!(journal.read(0).filter(Result::is_ok).count() as u64, journal.size());
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        report.line(peak.trim().trim_end_matches(" kB"));
    });
}

fn peak_kib(megabytes: u64) -> u64 {
    let house = House::new();
    let journal = house.open();
    let batch: Vec<Draft> = (0..2_500).map(|n| house.note(n)).collect();
    for _ in 0..megabytes {
        assert!(journal.append_many(&batch).unwrap().iter().all(Result::is_ok));
    }
    drop(journal);
    let remains = Crash::new("visitor").arg(house.path().display()).spawn().unwrap().wait().unwrap();
    remains.lines[0].parse().unwrap()
}

#[test]
fn the_peak_for_a_log_ten_times_as_long_is_about_the_same() {
    let (small, large) = (peak_kib(4), peak_kib(40));
    assert!(large < small + 2048, "{small} KiB for 4 MB, {large} KiB for 40 MB");
}
