//! A database in a folder of its own, and observations that name only what matters.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses its part, and stops where it cannot go on"
)]

use std::path::PathBuf;
use std::time::Duration;

use holdfast_metrics::{Count, Limits, Metric, Metrics, Observation, Outcome};
use holdfast_testkit::TestClock;
use holdfast_testkit::house::NOON;
use holdfast_types::Timestamp;
use tempfile::TempDir;

pub(crate) const TARGET: &str = "web-1";

pub(crate) struct Kept {
    pub(crate) metrics: Metrics,
    pub(crate) folder: TempDir,
}

impl Kept {
    pub(crate) fn new(limits: Limits) -> Kept {
        let folder = tempfile::tempdir().unwrap();
        let (metrics, opened) = Metrics::open(&folder.path().join("metrics.db"), limits, &clock()).unwrap();
        assert!(opened.created);
        Kept { metrics, folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("metrics.db")
    }

    /// One number from the file, read as any other program would.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        let number = |conn: &rusqlite::Connection| Ok(conn.query_row(sql, [], |row| row.get(0))?);
        self.metrics.samples().database().read(number).unwrap()
    }
}

pub(crate) fn clock() -> TestClock {
    TestClock::at(NOON)
}

/// So many seconds after noon, or before.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(clock().now().as_micros() + seconds * 1_000_000).unwrap()
}

pub(crate) fn all() -> std::ops::Range<Timestamp> {
    Timestamp::EPOCH..at(0).plus(Duration::from_secs(1000 * 86_400))
}

pub(crate) fn metric(text: &str) -> Metric {
    text.parse().unwrap()
}

/// An observation that succeeded, of the boot `a`.
pub(crate) fn seen(seconds: i64) -> Observation {
    Observation {
        outcome: Outcome::Whole,
        boot: Some("a".to_owned()),
        failed: Vec::new(),
        signs: Vec::new(),
        snapshot: serde_json::json!({ "at": seconds }),
        ..Observation::unreached(TARGET, at(seconds), "")
    }
}

pub(crate) fn count(value: u64) -> Count {
    Count { value, since: Some(5) }
}
