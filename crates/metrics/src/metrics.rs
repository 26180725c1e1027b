//! The open database.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use holdfast_store::{Error, Opened, Result, Samples};
use holdfast_types::Clock;
use rusqlite::Connection;

use crate::limits::Limits;
use crate::metric::Metric;

/// `metrics.db`, with all that is in it. One owner; hand out references.
#[derive(Debug)]
pub struct Metrics {
    pub(crate) samples: Samples,
    pub(crate) limits: Limits,
    /// Numbers of the metrics that were used, by target.
    pub(crate) known: Mutex<HashMap<(i64, Metric), i64>>,
}

/// How large it is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// What holds data. The bound is for this: pages that became free are used again before the file grows.
    pub used: u64,
    /// The file itself.
    pub file: u64,
}

impl Metrics {
    /// Opens `metrics.db`, makes it where there is none, migrates an older one after a backup. One from a later version and one that is
    /// damaged are refused untouched.
    pub fn open(path: &Path, limits: Limits, clock: &dyn Clock) -> Result<(Metrics, Opened)> {
        let (samples, opened) = Samples::open(path, clock)?;
        Ok((Metrics::over(samples, limits), opened))
    }

    /// The same file, opened already for the daemon's own samples.
    pub fn over(samples: Samples, limits: Limits) -> Metrics {
        Metrics { samples, limits, known: Mutex::default() }
    }

    /// The daemon's own samples, which lie in the same file.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    pub fn size(&self) -> Result<Size> {
        let database = self.samples.database();
        let used = database.read(used)?;
        let file = std::fs::metadata(database.path()).map_err(Error::Io)?.len();
        Ok(Size { used, file })
    }
}

/// Bytes in pages that hold something.
pub(crate) fn used(conn: &Connection) -> Result<u64> {
    let number = |name| conn.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    let (pages, free, each) = (number("page_count")?, number("freelist_count")?, number("page_size")?);
    Ok(pages.saturating_sub(free).saturating_mul(each))
}
