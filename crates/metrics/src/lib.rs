//! `metrics.db`: what is observed of targets, with retention. Its own truth; the journal has none of it.
//!
//! [`Metrics`] takes one [`Observation`] at a time and keeps it three ways: whole, as it came; as figures that can be drawn and
//! averaged, each a [`Metric`] with its [`Scope`], name and window; and as anomalies that are open until they are resolved. Raw
//! data stays 30 days, hourly roll-ups 400.
//!
//! In reading order: `metric.rs` (what can be measured), `observation.rs` (what is handed in), then the decisions, which touch no
//! database: `rate.rs`, `gap.rs`, `hour.rs`, `anomaly.rs`, `freshness.rs`, `report.rs`; then the database: `metrics.rs` (open,
//! size), `record.rs`, `look.rs`, `prune.rs`.
//!
//! What holds:
//! - the same observation twice is one;
//! - a figure that is no number, or a counter that does not fit, is left out and named; what was not read is absent and never 0;
//! - a counter that went down, or belongs to another boot or another start, begins a new run; no rate is made across;
//! - raw data goes only when its hour is rolled up;
//! - a file from a later version, or a damaged one, is refused untouched.
//!
//! Absent on purpose: episodes and probe results (the journal has them), a clock, threads. One writer; readers apart.

mod anomaly;
mod freshness;
mod gap;
mod hour;
mod limits;
mod look;
mod metric;
mod metrics;
mod observation;
mod prune;
mod rate;
mod record;
mod report;

pub use anomaly::{Anomaly, AnomalyKind, Sign};
pub use freshness::{Freshness, STALE_AFTER};
pub use gap::{GAP_OVER, Gap};
pub use hour::Hour;
pub use limits::Limits;
pub use look::{CounterPoint, Point};
pub use metric::{Metric, Name, NotAMetric, Resource, Scope, Share, Window};
pub use metrics::{Metrics, Size};
pub use observation::{Count, Endpoint, FAILED_MAX, Failed, Observation, Outcome, SNAPSHOT_MAX};
pub use prune::{Dropped, Pruned};
pub use rate::{Begun, Counted, Rated, rate_of};
pub use record::{LeftOut, Recorded, Stored};
pub use report::{Report, UnitReport};
