//! Processes that tell people, killed at random moments: nothing is lost, nothing is out of order.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::http::{Answer, Receiver};
use common::{Home, channel, fast, notice, webhook};
use holdfast_notice::{Channel, LogFile, Severity};
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::{House, Seed, rounds};

fn channels(root: &Path, port: u16) -> Vec<Channel> {
    let log = Arc::new(LogFile::new(root.join("notices.jsonl")));
    let hook = Arc::new(webhook(port, Duration::from_secs(5)));
    [channel("hook", hook), channel("log", log)].map(|c| Channel { pace: fast(), ..c }).into()
}

/// The child: raises notices while two sinks are told, and says which were raised.
#[test]
fn teller() {
    crash::child_main("teller", |args, report| {
        let (root, port) = (Path::new(&args[0]), args[1].parse().unwrap());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::attach(root);
            let running = home.open(channels(root, port)).await;
            for n in 0u64.. {
                let seq = home.raise(&notice(Severity::Warning, &format!("notice {n}")));
                report.line(seq.to_string());
                // Now and then the receivers get the chance to catch up.
                if n % 8 == 7 {
                    running.all_told().await;
                    home.feed();
                }
            }
        });
    });
}

#[test]
fn killed_at_any_moment_everything_raised_is_told_in_order_and_copies_have_the_same_id() {
    let root = tempfile::tempdir().unwrap();
    House::attach(root.path(), "test").create();
    // A receiver with moods: what it got and did not confirm comes again.
    let mut rng = Seed::from_env_or(11).child("moods").rng();
    let receiver = Receiver::start(move |_| match rng.below(10) {
        0 => Answer::Status(500),
        1 => Answer::HangUp,
        _ => Answer::Status(204),
    });
    let mut raised = BTreeSet::new();
    crash::run_kills(
        Seed::from_env_or(11),
        rounds(20, 100),
        Duration::from_millis(5)..Duration::from_millis(160),
        |_| Crash::new("teller").arg(root.path().display()).arg(receiver.port),
        |_, remains| raised.extend(remains.lines.iter().map(|line| line.parse::<u64>().unwrap())),
    );
    finish(root.path(), receiver.port);
    let home = Home::attach(root.path());
    let written: Vec<u64> =
        home.entries("notice.message.raised").iter().map(|(entry, _)| entry.seq).collect();
    assert!(raised.iter().all(|seq| written.binary_search(seq).is_ok()));
    let got = receiver.got();
    assert_eq!(in_order_of_first(got.iter().map(|r| seq_of(r.id()))), written, "the webhook");
    assert!(got.iter().all(|r| r.json()["id"] == r.id()));
    let log = std::fs::read_to_string(root.path().join("notices.jsonl")).unwrap();
    let id = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let logged: Vec<u64> = log.lines().map(|line| seq_of(&id(line))).collect();
    assert_eq!(logged, written, "the log has each exactly once");
}

/// One run that is not killed, with something of its own to tell.
fn finish(root: &Path, port: u16) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let home = Home::attach(root);
        let running = home.open(channels(root, port)).await;
        home.warn("the last one");
        running.all_told().await;
        running.stop().await;
    });
}

fn seq_of(id: &str) -> u64 {
    id.strip_prefix("ntc_test_").unwrap().parse().unwrap()
}

/// What a receiver is left with that drops copies.
fn in_order_of_first(seqs: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    seqs.filter(|seq| seen.insert(*seq)).collect()
}
