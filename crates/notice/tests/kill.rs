//! Processes that tell people, killed at random moments: nothing is lost, nothing is out of order.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::http::{Answer, Receiver};
use common::{Home, channel, fast, notice, webhook};
use holdfast_notice::{Channel, LogFile, Notice, Pace, Severity};
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::{House, Seed, rounds};
use serde_json::Value;

fn channels(root: &Path, port: u16) -> Vec<Channel> {
    let log = Arc::new(LogFile::new(root.join("notices.jsonl")));
    let hook = Arc::new(webhook(port, Duration::from_secs(5)));
    // Repeats are held for a moment, so that a kill finds some that wait and some on their way.
    let pace = Pace { fold_window: Duration::from_millis(15), ..fast() };
    [channel("hook", hook), channel("log", log)].map(|c| Channel { pace, ..c }).into()
}

/// Every third stands for itself; the others are repeats of two kinds.
fn numbered(n: u64) -> Notice {
    let notice = notice(Severity::Warning, &format!("notice {n}"));
    match n % 3 {
        0 => notice,
        kind => notice.folding(format!("k{kind}")),
    }
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
                let seq = home.raise(&numbered(n));
                report.line(seq.to_string());
                // Now and then the receivers get the chance to catch up.
                if n % 24 == 23 {
                    running.all_told().await;
                    home.feed();
                }
            }
        });
    });
}

#[test]
fn killed_at_any_moment_each_notice_is_told_under_one_id_and_copies_are_the_same() {
    let root = tempfile::tempdir().unwrap();
    House::attach(root.path(), "test").create();
    // A receiver with moods: what it got and did not confirm comes again.
    let mut rng = Seed::from_env_or(11).child("moods").rng();
    let receiver = Receiver::start(move |_| match rng.below(10) {
        0 | 1 => Answer::Status(500),
        2 | 3 => Answer::HangUp,
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
    for sink in ["hook", "log"] {
        let mut covered: Vec<u64> = parcels(&home, sink).into_values().flatten().collect();
        covered.sort_unstable();
        assert_eq!(covered, written, "{sink}: each in one message and no more");
    }
    let got: Vec<Value> = receiver.got().iter().map(|r| r.json()).collect();
    check("the webhook", &copies_dropped(got), &parcels(&home, "hook"));
    let log = std::fs::read_to_string(root.path().join("notices.jsonl")).unwrap();
    let logged: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    check("the log", &logged, &parcels(&home, "log"));
}

/// What the journal says each message told a sink, by the seq its id has.
fn parcels(home: &Home, sink: &str) -> BTreeMap<u64, Vec<u64>> {
    let of_sink = |kind| home.entries(kind).into_iter().filter(|(_, body)| body["sink"] == sink);
    let gathered: BTreeMap<u64, Vec<u64>> = of_sink("notice.message.gathered")
        .map(|(_, body)| {
            let seqs: Vec<u64> = serde_json::from_value(body["notices"].clone()).unwrap();
            (seqs[0], seqs)
        })
        .collect();
    let delivered = of_sink("notice.message.delivered").map(|(_, body)| body["notice"].as_u64().unwrap());
    let mut parcels = BTreeMap::new();
    for notice in delivered {
        let seqs = gathered.get(&notice).cloned().unwrap_or_else(|| vec![notice]);
        assert!(parcels.insert(notice, seqs).is_none(), "{notice} was told {sink} twice");
    }
    parcels
}

/// What a receiver is left with that drops copies; they say the same to the byte.
fn copies_dropped(got: Vec<Value>) -> Vec<Value> {
    let mut seen = BTreeMap::<String, Value>::new();
    got.into_iter()
        .filter(|message| {
            let id = message["id"].as_str().unwrap().to_owned();
            let before = seen.insert(id, message.clone());
            assert!(before.as_ref().is_none_or(|before| before == message), "{before:?} {message}");
            before.is_none()
        })
        .collect()
}

/// Each message came once, says how many it tells, and those that stand for themselves are in order.
fn check(where_to: &str, told: &[Value], parcels: &BTreeMap<u64, Vec<u64>>) {
    let counts: BTreeMap<u64, u64> =
        told.iter().map(|m| (seq_of(m), m["folded"]["count"].as_u64().unwrap_or(1))).collect();
    assert_eq!(counts.len(), told.len(), "{where_to}: each id once");
    let expected: BTreeMap<u64, u64> = parcels.iter().map(|(seq, seqs)| (*seq, seqs.len() as u64)).collect();
    assert_eq!(counts, expected, "{where_to}");
    assert!(counts.values().any(|count| *count > 1), "{where_to}: some are folded");
    let order: Vec<u64> = told.iter().map(seq_of).collect();
    assert!(order.is_sorted(), "{where_to}: in the order of the first of each");
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

fn seq_of(message: &Value) -> u64 {
    message["id"].as_str().unwrap().strip_prefix("ntc_test_").unwrap().parse().unwrap()
}
