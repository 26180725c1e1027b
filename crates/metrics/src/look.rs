//! Reading: series, the last collection, anomalies, reports. None of it changes anything.

use std::io::Read as _;
use std::ops::Range;

use flate2::read::ZlibDecoder;
use holdfast_store::{Error, Result};
use holdfast_types::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use crate::anomaly::{Anomaly, AnomalyKind};
use crate::freshness::Freshness;
use crate::gap::gaps;
use crate::hour::{HOUR_MICROS, Hour};
use crate::metric::{Metric, Name, Scope};
use crate::metrics::Metrics;
use crate::observation::{Endpoint, Failed, SNAPSHOT_MAX};
use crate::report::{Found, PRESSURE, Part, Report, report};

/// Most values that one answer holds; who wants more asks again from where it ended.
const POINTS_MAX: i64 = 100_000;
const ANOMALIES_MAX: i64 = 10_000;

/// One value at one time. Of a counter it is the rate a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub at: Timestamp,
    pub value: f64,
}

/// A counter as it was read, and the run it belongs to: within a run it only grows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterPoint {
    pub at: Timestamp,
    pub run: u64,
    pub value: u64,
    pub rate: Option<f64>,
}

/// Which anomalies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Open,
    DetectedSince(Timestamp),
}

impl Metrics {
    fn look<T>(&self, look: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.samples.database().read(look)
    }

    /// The values of a metric in a half-open span, oldest first, at most 100,000.
    pub fn series(&self, target: &str, metric: &Metric, span: Range<Timestamp>) -> Result<Vec<Point>> {
        let sql = if metric.name().is_counter() {
            "SELECT at, rate FROM counters WHERE metric = ?1 AND at >= ?2 AND at < ?3 AND rate IS NOT NULL ORDER BY at LIMIT ?4"
        } else {
            "SELECT at, value FROM gauges WHERE metric = ?1 AND at >= ?2 AND at < ?3 ORDER BY at LIMIT ?4"
        };
        self.rows_of(sql, target, metric, micros(&span), |row| {
            Ok(Point { at: time(row, 0)?, value: row.get(1)? })
        })
    }

    /// A counter as it was read.
    pub fn counts(&self, target: &str, metric: &Metric, span: Range<Timestamp>) -> Result<Vec<CounterPoint>> {
        let sql = "SELECT at, run, value, rate FROM counters WHERE metric = ?1 AND at >= ?2 AND at < ?3 ORDER BY at LIMIT ?4";
        self.rows_of(sql, target, metric, micros(&span), |row| {
            Ok(CounterPoint { at: time(row, 0)?, run: row.get(1)?, value: row.get(2)?, rate: row.get(3)? })
        })
    }

    /// The roll-ups of the hours that begin in a span.
    pub fn hourly(&self, target: &str, metric: &Metric, span: Range<Timestamp>) -> Result<Vec<Hour>> {
        let sql = "SELECT hour * 3600000000, count, min, max, mean FROM hourly WHERE metric = ?1 AND hour >= ?2 AND hour < ?3 ORDER BY hour LIMIT ?4";
        let up = |at: Timestamp| at.as_micros().saturating_add(HOUR_MICROS - 1).div_euclid(HOUR_MICROS);
        self.rows_of(sql, target, metric, (up(span.start), up(span.end)), |row| {
            let (count, min, max, mean) = (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
            Ok(Hour { from: time(row, 0)?, count, min, max, mean })
        })
    }

    fn rows_of<T>(
        &self,
        sql: &str,
        target: &str,
        metric: &Metric,
        (from, to): (i64, i64),
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.look(|conn| {
            let number = target_number(conn, target)?.map(|target| metric_number(conn, target, metric));
            let Some(number) = number.transpose()?.flatten() else { return Ok(Vec::new()) };
            let mut rows = conn.prepare_cached(sql)?;
            let rows = rows.query_map(params![number, from, to, POINTS_MAX], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub fn targets(&self) -> Result<Vec<String>> {
        self.look(|conn| {
            let mut rows = conn.prepare_cached("SELECT name FROM targets ORDER BY name")?;
            Ok(rows.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// What there is of a target.
    pub fn metrics_of(&self, target: &str) -> Result<Vec<Metric>> {
        self.look(|conn| {
            let mut rows = conn.prepare_cached(
                "SELECT scope, name, window FROM metrics WHERE target = (SELECT id FROM targets WHERE name = ?1)
                 ORDER BY scope, name, window",
            )?;
            let rows = rows.query_map([target], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let found: Vec<(String, String, u32)> = rows.collect::<rusqlite::Result<_>>()?;
            Ok(found.into_iter().filter_map(|(scope, name, window)| metric(&scope, &name, window)).collect())
        })
    }

    /// When everything that has to be read was read last.
    pub fn last_success(&self, target: &str) -> Result<Option<Timestamp>> {
        self.look(|conn| last_success(conn, target))
    }

    /// How many reads of the last collection failed, and which, by name as far as they are named. Nothing when there was none.
    pub fn failures_of_last(&self, target: &str) -> Result<Option<(u64, Vec<Failed>)>> {
        self.look(|conn| {
            let sql = "SELECT last_collect_failures, last_failed FROM targets WHERE name = ?1";
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let found: Option<(Option<u64>, Option<String>)> =
                conn.prepare_cached(sql)?.query_row([target], row).optional()?;
            Ok(found.and_then(|(count, failed)| {
                Some((count?, serde_json::from_str(&failed?).unwrap_or_default()))
            }))
        })
    }

    /// How fresh what is known of a target is: more than ten minutes is stale.
    pub fn staleness(&self, target: &str, now: Timestamp) -> Result<Freshness> {
        self.look(|conn| freshness(conn, target, now))
    }

    /// The snapshot of the observation at or last before a moment, with its time.
    pub fn snapshot(&self, target: &str, at: Timestamp) -> Result<Option<(Timestamp, serde_json::Value)>> {
        let found = self.look(|conn| {
            let sql = "SELECT collected_at, data, data_len FROM observations
                       WHERE target = (SELECT id FROM targets WHERE name = ?1) AND collected_at <= ?2
                       ORDER BY collected_at DESC LIMIT 1";
            let read = |row: &Row<'_>| Ok((time(row, 0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, u64>(2)?));
            Ok(conn.prepare_cached(sql)?.query_row(params![target, at.as_micros()], read).optional()?)
        })?;
        found.map(|(at, packed, len)| self.unpacked(at, &packed, len)).transpose()
    }

    /// The snapshots of a span, oldest first; the newest so many where there are more.
    pub fn snapshots(
        &self,
        target: &str,
        span: Range<Timestamp>,
        most: usize,
    ) -> Result<Vec<(Timestamp, serde_json::Value)>> {
        let (from, to) = micros(&span);
        let mut found = self.look(|conn| {
            let sql = "SELECT collected_at, data, data_len FROM observations
                       WHERE target = (SELECT id FROM targets WHERE name = ?1) AND collected_at >= ?2 AND collected_at < ?3
                       ORDER BY collected_at DESC LIMIT ?4";
            let read = |row: &Row<'_>| Ok((time(row, 0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, u64>(2)?));
            let most = i64::try_from(most).unwrap_or(POINTS_MAX).min(POINTS_MAX);
            let mut rows = conn.prepare_cached(sql)?;
            let rows = rows.query_map(params![target, from, to, most], read)?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })?;
        found.reverse();
        found.into_iter().map(|(at, packed, len)| self.unpacked(at, &packed, len)).collect()
    }

    fn unpacked(&self, at: Timestamp, packed: &[u8], len: u64) -> Result<(Timestamp, serde_json::Value)> {
        let damaged = |what: String| Error::Damaged { path: self.samples.database().path().to_owned(), what };
        let mut text = Vec::new();
        // Bounded, whatever the file says: it may unpack to anything.
        let read = ZlibDecoder::new(packed).take(SNAPSHOT_MAX as u64 + 1).read_to_end(&mut text);
        read.map_err(|e| damaged(format!("the snapshot of {at}: {e}")))?;
        if text.len() as u64 != len {
            return Err(damaged(format!("the snapshot of {at} is not as long as it was")));
        }
        let value =
            serde_json::from_slice(&text).map_err(|e| damaged(format!("the snapshot of {at}: {e}")))?;
        Ok((at, value))
    }

    /// The anomalies of a target that are open, oldest first.
    pub fn open_anomalies(&self, target: &str) -> Result<Vec<Anomaly>> {
        self.anomalies(target, Which::Open)
    }

    /// Those that were detected since a moment, resolved or not.
    pub fn anomalies_since(&self, target: &str, since: Timestamp) -> Result<Vec<Anomaly>> {
        self.anomalies(target, Which::DetectedSince(since))
    }

    fn anomalies(&self, target: &str, which: Which) -> Result<Vec<Anomaly>> {
        self.look(|conn| match target_number(conn, target)? {
            Some(target) => anomalies(conn, target, which),
            None => Ok(Vec::new()),
        })
    }

    /// How a place answered, oldest first.
    pub fn endpoint(
        &self,
        target: &str,
        endpoint: &str,
        span: Range<Timestamp>,
    ) -> Result<Vec<(Timestamp, Endpoint)>> {
        self.look(|conn| {
            let mut rows = conn.prepare_cached(
                "SELECT at, healthy, latency_ms FROM endpoints
                 WHERE target = (SELECT id FROM targets WHERE name = ?1) AND endpoint = ?2 AND at >= ?3 AND at < ?4
                 ORDER BY at LIMIT ?5",
            )?;
            let (from, to) = micros(&span);
            let rows = rows.query_map(params![target, endpoint, from, to, POINTS_MAX], |row| {
                let (healthy, latency_ms) = (row.get(1)?, row.get(2)?);
                Ok((time(row, 0)?, Endpoint { name: endpoint.to_owned(), healthy, latency_ms }))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// What a span came to: per unit the mean memory, processor time and memory pressure, and the gaps.
    pub fn report(&self, target: &str, span: Range<Timestamp>) -> Result<Report> {
        let found = self.look(|conn| found(conn, target, &span))?;
        Ok(report(target, &span, found))
    }
}

fn found(conn: &Connection, target: &str, span: &Range<Timestamp>) -> Result<Found> {
    let nothing =
        || Found { parts: Vec::new(), observations: 0, gaps: gaps(span, []), gaps_known_from: None };
    let Some(target) = target_number(conn, target)? else { return Ok(nothing()) };
    let (from, to) = micros(span);
    let raw_from: i64 =
        conn.query_row("SELECT raw_from FROM targets WHERE id = ?1", [target], |row| row.get(0))?;
    let mut parts = parts(conn, RAW, params![target, from.max(raw_from), to])?;
    if from < raw_from {
        let first = from.saturating_add(HOUR_MICROS - 1).div_euclid(HOUR_MICROS);
        let last = raw_from.min(to).div_euclid(HOUR_MICROS);
        parts.extend(self::parts(conn, HOURLY, params![target, first, last])?);
    }
    let mut times = conn.prepare_cached(
        "SELECT collected_at FROM observations WHERE target = ?1 AND collected_at >= ?2 AND collected_at < ?3
         AND outcome <> 'unreached' ORDER BY collected_at",
    )?;
    let times: Vec<Timestamp> =
        times.query_map(params![target, from, to], |row| time(row, 0))?.collect::<rusqlite::Result<_>>()?;
    let known_from = (from < raw_from).then(|| Timestamp::from_micros(raw_from.min(to)).unwrap_or(span.end));
    let watched = known_from.unwrap_or(span.start)..span.end;
    let observations = times.len() as u64;
    Ok(Found { parts, observations, gaps: gaps(&watched, times), gaps_known_from: known_from })
}

const RAW: &str = "SELECT m.scope, m.name, m.window, count(*), avg(g.value) FROM metrics m JOIN gauges g ON g.metric = m.id
    WHERE m.target = ?1 AND m.name IN ('memory', 'psi_mem_some') AND m.window IN (0, 60) AND g.at >= ?2 AND g.at < ?3
    GROUP BY m.id
    UNION ALL
    SELECT m.scope, m.name, m.window, count(c.rate), avg(c.rate) FROM metrics m JOIN counters c ON c.metric = m.id
    WHERE m.target = ?1 AND m.name = 'cpu' AND c.at >= ?2 AND c.at < ?3 AND c.rate IS NOT NULL
    GROUP BY m.id";

const HOURLY: &str = "SELECT m.scope, m.name, m.window, sum(h.count), sum(h.count * h.mean) / sum(h.count)
    FROM metrics m JOIN hourly h ON h.metric = m.id
    WHERE m.target = ?1 AND m.name IN ('memory', 'psi_mem_some', 'cpu') AND m.window IN (0, 60)
    AND h.hour >= ?2 AND h.hour < ?3 GROUP BY m.id";

fn parts(conn: &Connection, sql: &str, with: impl rusqlite::Params) -> Result<Vec<Part>> {
    let mut rows = conn.prepare_cached(sql)?;
    let mut rows = rows.query(with)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (scope, name, window): (String, String, u32) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if let Some(metric) = metric(&scope, &name, window).filter(|it| is_reported(it.name())) {
            let (scope, name) = (metric.scope().clone(), metric.name());
            found.push(Part { scope, name, count: row.get(3)?, mean: row.get(4)? });
        }
    }
    Ok(found)
}

fn is_reported(name: Name) -> bool {
    matches!(name, Name::Memory | Name::Cpu) || name == PRESSURE
}

/// What a file that somebody edited calls otherwise is passed over.
fn metric(scope: &str, name: &str, window: u32) -> Option<Metric> {
    let known = Name::all().find(|it| it.stem() == name && it.window_seconds() == window)?;
    Metric::new(scope.parse::<Scope>().ok()?, known).ok()
}

fn micros(span: &Range<Timestamp>) -> (i64, i64) {
    (span.start.as_micros(), span.end.as_micros())
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    let micros: i64 = row.get(column)?;
    let odd = |_| rusqlite::Error::IntegralValueOutOfRange(column, micros);
    Timestamp::from_micros(micros).map_err(odd)
}

pub(crate) fn target_number(conn: &Connection, name: &str) -> Result<Option<i64>> {
    let sql = "SELECT id FROM targets WHERE name = ?1";
    Ok(conn.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?)
}

pub(crate) fn metric_number(conn: &Connection, target: i64, metric: &Metric) -> Result<Option<i64>> {
    let sql = "SELECT id FROM metrics WHERE target = ?1 AND scope = ?2 AND name = ?3 AND window = ?4";
    let (name, window) = (metric.name().stem(), metric.name().window_seconds());
    let with = params![target, metric.scope().to_string(), name, window];
    Ok(conn.prepare_cached(sql)?.query_row(with, |row| row.get(0)).optional()?)
}

fn last_success(conn: &Connection, target: &str) -> Result<Option<Timestamp>> {
    let sql = "SELECT last_successful_collection FROM targets WHERE name = ?1 AND last_successful_collection IS NOT NULL";
    Ok(conn.prepare_cached(sql)?.query_row([target], |row| time(row, 0)).optional()?)
}

pub(crate) fn freshness(conn: &Connection, target: &str, now: Timestamp) -> Result<Freshness> {
    Ok(Freshness::of(last_success(conn, target)?, now))
}

pub(crate) fn anomalies(conn: &Connection, target: i64, which: Which) -> Result<Vec<Anomaly>> {
    let wanted = match which {
        Which::Open => "resolved_at IS NULL AND ?2 IS NULL",
        Which::DetectedSince(_) => "detected_at >= ?2",
    };
    let since = match which {
        Which::Open => None,
        Which::DetectedSince(at) => Some(at.as_micros()),
    };
    let sql = format!(
        "SELECT id, anomaly_type, scope, message, detected_at, last_seen, times, resolved_at FROM anomalies
         WHERE target = ?1 AND {wanted} ORDER BY detected_at, id LIMIT ?3"
    );
    let mut rows = conn.prepare_cached(&sql)?;
    let rows = rows.query_map(params![target, since, ANOMALIES_MAX], |row| {
        let (kind, scope): (String, String) = (row.get(1)?, row.get(2)?);
        let odd = || rusqlite::Error::InvalidColumnName(kind.clone());
        Ok(Anomaly {
            id: row.get(0)?,
            kind: AnomalyKind::named(&kind).ok_or_else(odd)?,
            scope: scope.parse().map_err(|_| odd())?,
            message: row.get(3)?,
            detected_at: time(row, 4)?,
            last_seen: time(row, 5)?,
            times: row.get(6)?,
            resolved_at: row.get::<_, Option<i64>>(7)?.map(|_| time(row, 7)).transpose()?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
