//! How much is kept.

use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// Ages and sizes beyond which data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Observations as they came, and every figure of them.
    pub raw: Duration,
    pub hourly: Duration,
    /// Anomalies that are resolved.
    pub anomalies: Duration,
    /// Bytes in use within the file. Beyond this the oldest raw data goes first, then the oldest roll-ups.
    pub bytes_max: u64,
    /// Most metrics there are over all targets: a unit with a new name each minute would fill the disk.
    pub metrics_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            raw: 30 * DAY,
            hourly: 400 * DAY,
            anomalies: 400 * DAY,
            // Ten targets with five units each for the whole of both ages; see docs/formats/metrics.md.
            bytes_max: 1 << 30,
            metrics_max: 20_000,
        }
    }
}
