//! Several metrics, one account.

use super::*;

fn finding(began: u64, sure: f64) -> Finding {
    let direction = Some(Direction::Up);
    let (at, began) = (Steady(began + 90_000), Steady(began));
    Finding { kind: Kind::Shift, direction, at, began, before: 1.0, now: 2.0, sure, surprise: 12.0 }
}

fn named(findings: &[(&str, u64, f64)]) -> Vec<(String, Finding)> {
    findings.iter().map(|&(what, began, sure)| (what.to_owned(), finding(began, sure))).collect()
}

const WINDOW: Duration = Duration::from_secs(600);

#[test]
fn what_moved_first_is_told_first_and_what_is_far_off_is_left_out() {
    let account = together(
        &named(&[("Latency", 130_000, 0.9), ("Memory pressure", 100_000, 0.9), ("Disk use", 900_000, 0.9)]),
        WINDOW,
    )
    .unwrap();
    assert_eq!(account.began, Steady(100_000));
    assert_eq!(account.first().unwrap().0, "Memory pressure");
    assert_eq!(
        account.sentence("web-1", |_| "03:14".to_owned()),
        "On web-1 Memory pressure rose first, at 03:14; Latency rose 30 s later (almost certain)."
    );
}

#[test]
fn several_weak_signals_count_more_than_one_and_one_counts_as_itself() {
    let alone = together(&named(&[("Latency", 0, 0.6)]), WINDOW).unwrap();
    let two = together(&named(&[("Latency", 0, 0.6), ("Memory", 0, 0.6)]), WINDOW).unwrap();
    let three =
        together(&named(&[("Latency", 0, 0.6), ("Memory", 0, 0.6), ("Restarts", 0, 0.6)]), WINDOW).unwrap();
    assert!((alone.sure - 0.6).abs() < 1e-9);
    assert!(two.sure > 0.8 && three.sure > two.sure && three.sure < 1.0, "{} {}", two.sure, three.sure);
}

#[test]
fn one_metric_found_twice_is_no_company() {
    let twice = together(&named(&[("Latency", 0, 0.6), ("Latency", 60_000, 0.6)]), WINDOW).unwrap();
    assert!((twice.sure - 0.6).abs() < 1e-9);
}

#[test]
fn nothing_found_gives_no_account() {
    assert_eq!(together(&[], WINDOW), None);
}

#[test]
fn an_account_is_bounded() {
    let many: Vec<(String, Finding)> =
        (0..100).map(|index| (format!("metric {index}"), finding(index, 0.9))).collect();
    let account = together(&many, WINDOW).unwrap();
    assert_eq!(account.findings.len(), TOLD_MAX);
    assert!(account.sure <= 1.0);
}
