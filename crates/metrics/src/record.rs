//! Writing one observation down: all of it in one transaction, once.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::PoisonError;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use holdfast_store::{Error, Result};
use holdfast_types::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};

use crate::anomaly::{AnomalyKind, Change, Sign, bounded, judge};
use crate::freshness::Freshness;
use crate::hour::hour_of;
use crate::limits::Limits;
use crate::look;
use crate::metric::{Metric, Scope};
use crate::metrics::Metrics;
use crate::observation::{Count, FAILED_MAX, Failed, Observation, Outcome, SNAPSHOT_MAX};
use crate::rate::{Begun, Counted, Rated, rate_of};

/// A target's name has 1 to 128 characters, none of them a control character.
const TARGET_MAX: usize = 128;
const ENDPOINTS_MAX: usize = 1000;
/// What was left out is named so many times.
const LEFT_OUT_MAX: usize = 50;
const WHY_MAX: usize = 300;

/// What became of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    New,
    /// There is one of this target at this moment; it stays as it is.
    Already,
    /// It is from before what is kept raw; nothing was written.
    TooOld,
}

/// A figure that was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub what: String,
    pub why: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub stored: Stored,
    /// At most fifty, by name.
    pub left_out: Vec<LeftOut>,
    /// The one before was recorded with a later time: the clock went back.
    pub clock_went_back: bool,
    pub anomalies_opened: u32,
    pub anomalies_resolved: u32,
}

impl Recorded {
    fn nothing(stored: Stored) -> Recorded {
        Recorded {
            stored,
            left_out: Vec::new(),
            clock_went_back: false,
            anomalies_opened: 0,
            anomalies_resolved: 0,
        }
    }

    fn leaves_out(&mut self, what: &dyn std::fmt::Display, why: &'static str) {
        if self.left_out.len() < LEFT_OUT_MAX {
            self.left_out.push(LeftOut { what: bounded(&what.to_string()), why });
        }
    }
}

impl Metrics {
    /// Records an observation; durable on return. The same one again changes nothing.
    pub fn record(&self, observation: &Observation) -> Result<Recorded> {
        let recorded = self.record_all(std::slice::from_ref(observation))?;
        Ok(recorded.into_iter().next().unwrap_or_else(|| Recorded::nothing(Stored::Already)))
    }

    /// Records several, in this order, in one transaction: all of them or none.
    pub fn record_all(&self, observations: &[Observation]) -> Result<Vec<Recorded>> {
        let mut ready = Vec::with_capacity(observations.len());
        for observation in observations {
            checked_target(&observation.target)?;
            ready.push((observation, Packed::of(&observation.snapshot)?));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = self.samples.database().write(|tx| {
            let mut writing = Writing { tx, known: &mut known, limits: self.limits };
            ready.iter().map(|(it, snapshot)| writing.observation(it, snapshot)).collect()
        });
        if recorded.is_err() {
            // Numbers given out in a transaction that did not happen.
            known.clear();
        }
        recorded
    }

    /// How fresh what is known of a target is; that it is stale is kept as an anomaly until it is fresh again.
    pub fn note_freshness(&self, target: &str, now: Timestamp) -> Result<Freshness> {
        checked_target(target)?;
        self.samples.database().write(|tx| {
            let id = target_number(tx, target)?;
            let freshness = look::freshness(tx, target, now)?;
            let message = match freshness {
                Freshness::Fresh { .. } => None,
                Freshness::Never => Some("nothing was collected yet".to_owned()),
                Freshness::Stale { last } => Some(format!("nothing was collected since {last}")),
                Freshness::Unknown { last } => {
                    Some(format!("the last collection is of {last}, which is still to come"))
                }
            };
            let stale = (AnomalyKind::Stale, Scope::Host);
            let signs = message.map(|message| Sign { kind: stale.0, scope: Scope::Host, message });
            let well = if signs.is_none() { vec![stale] } else { Vec::new() };
            let signs: Vec<Sign> = signs.into_iter().collect();
            note_anomalies(tx, id, None, &signs, &well, now)?;
            Ok(freshness)
        })
    }
}

fn checked_target(name: &str) -> Result<()> {
    if (1..=TARGET_MAX).contains(&name.len()) && !name.chars().any(holdfast_types::drives_a_terminal) {
        return Ok(());
    }
    let why =
        format!("a target has a name of 1 to {TARGET_MAX} characters, none of them a control character");
    Err(Error::BadSample { why })
}

/// A snapshot as it is stored: zlib, with its length, which `sqlar_uncompress` of the `sqlite3` tool reads.
struct Packed {
    bytes: Vec<u8>,
    len: usize,
}

impl Packed {
    fn of(snapshot: &serde_json::Value) -> Result<Packed> {
        let odd = |e: &dyn std::fmt::Display| Error::BadSample { why: format!("the snapshot: {e}") };
        let mut text = serde_json::to_vec(snapshot).map_err(|e| odd(&e))?;
        if text.len() > SNAPSHOT_MAX {
            text = serde_json::to_vec(&serde_json::json!({ "left_out_bytes": text.len() }))
                .map_err(|e| odd(&e))?;
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).map_err(|e| odd(&e))?;
        Ok(Packed { bytes: encoder.finish().map_err(|e| odd(&e))?, len: text.len() })
    }
}

struct Writing<'a> {
    tx: &'a Transaction<'a>,
    known: &'a mut HashMap<(i64, Metric), i64>,
    limits: Limits,
}

impl Writing<'_> {
    fn observation(&mut self, it: &Observation, snapshot: &Packed) -> Result<Recorded> {
        let target = target_number(self.tx, &it.target)?;
        let (last, raw_from): (Option<i64>, i64) = self.tx.query_row(
            "SELECT last_collected_at, raw_from FROM targets WHERE id = ?1",
            [target],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        if it.at.as_micros() < raw_from {
            return Ok(Recorded::nothing(Stored::TooOld));
        }
        let Some(id) = self.row(target, it, snapshot)? else {
            return Ok(Recorded::nothing(Stored::Already));
        };
        let mut recorded = Recorded::nothing(Stored::New);
        recorded.clock_went_back = last.is_some_and(|last| last > it.at.as_micros());
        for (metric, value) in &it.gauges {
            self.gauge(target, metric, *value, it.at, &mut recorded)?;
        }
        for (metric, count) in &it.counters {
            self.counter(target, metric, *count, it, &mut recorded)?;
        }
        self.endpoints(target, it, &mut recorded)?;
        self.tx
            .prepare_cached("INSERT OR IGNORE INTO hours_due VALUES (?1, ?2)")?
            .execute([target, hour_of(it.at)])?;
        let mut well = it.well.clone();
        if it.outcome == Outcome::Whole {
            well.push((AnomalyKind::Stale, Scope::Host));
        }
        let (opened, resolved) = note_anomalies(self.tx, target, Some(id), &it.signs, &well, it.at)?;
        (recorded.anomalies_opened, recorded.anomalies_resolved) = (opened, resolved);
        Ok(recorded)
    }

    /// The observation itself, and what is known last of its target. Nothing when there is one of that moment.
    fn row(&self, target: i64, it: &Observation, snapshot: &Packed) -> Result<Option<i64>> {
        let (failures, failed) = (it.failed.len() as i64, failed_text(&it.failed)?);
        let generation = it.generation.and_then(|number| i64::try_from(number).ok());
        let short = |text: &Option<String>| text.as_deref().map(bounded);
        let (running, boot, at) = (short(&it.running), short(&it.boot), it.at.as_micros());
        let inserted = self
            .tx
            .prepare_cached(
                "INSERT INTO observations (target, collected_at, outcome, generation, running, boot, failures, failed, data, data_len)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                target, at, it.outcome.as_str(), generation, running, boot, failures, failed, snapshot.bytes,
                snapshot.len as i64
            ])?;
        if inserted == 0 {
            return Ok(None);
        }
        let id = self.tx.last_insert_rowid();
        let success = (it.outcome == Outcome::Whole).then_some(at);
        self.tx
            .prepare_cached(
                "UPDATE targets SET last_collected_at = ?2, last_boot = coalesce(?3, last_boot),
                 last_successful_collection = coalesce(?4, last_successful_collection),
                 last_collect_failures = ?5, last_failed = ?6 WHERE id = ?1",
            )?
            .execute(params![target, at, boot, success, failures, failed])?;
        Ok(Some(id))
    }

    fn gauge(
        &mut self,
        target: i64,
        metric: &Metric,
        value: f64,
        at: Timestamp,
        recorded: &mut Recorded,
    ) -> Result<()> {
        if !value.is_finite() {
            recorded.leaves_out(metric, "it is not a number");
        } else if metric.name().is_counter() {
            recorded.leaves_out(metric, "it is a counter");
        } else if let Some(number) = self.metric_number(target, metric)? {
            let insert = "INSERT OR IGNORE INTO gauges VALUES (?1, ?2, ?3)";
            let stored = self.tx.prepare_cached(insert)?.execute(params![number, at.as_micros(), value])?;
            if stored == 0 {
                recorded.leaves_out(metric, "it was given twice");
            }
        } else {
            recorded.leaves_out(metric, "there are too many metrics");
        }
        Ok(())
    }

    fn counter(
        &mut self,
        target: i64,
        metric: &Metric,
        count: Count,
        it: &Observation,
        recorded: &mut Recorded,
    ) -> Result<()> {
        if !metric.name().is_counter() {
            recorded.leaves_out(metric, "it is no counter");
            return Ok(());
        }
        let (Ok(value), Ok(since)) = (i64::try_from(count.value), count.since.map(i64::try_from).transpose())
        else {
            recorded.leaves_out(metric, "it is larger than any counter");
            return Ok(());
        };
        let Some(number) = self.metric_number(target, metric)? else {
            recorded.leaves_out(metric, "there are too many metrics");
            return Ok(());
        };
        let at = it.at.as_micros();
        let begun = Begun { boot: it.boot.as_deref().map(bounded), since: count.since };
        let now = Counted { at, value: count.value, begun };
        let before = self.last_run(number)?;
        let (run, rate) = match (rate_of(before.as_ref().map(|(_, it)| it), &now), &before) {
            (Rated::GoesOn { per_second }, Some((run, _))) => (*run, Some(per_second)),
            (_, before) => (before.as_ref().map_or(0, |(run, _)| run + 1), None),
        };
        let stored = self
            .tx
            .prepare_cached("INSERT OR IGNORE INTO counters VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![number, at, run, value, rate])?;
        if stored == 0 {
            recorded.leaves_out(metric, "it was given twice");
            return Ok(());
        }
        self.tx
            .prepare_cached(
                "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?3, ?6)
                 ON CONFLICT DO UPDATE SET last_at = excluded.last_at, last_value = excluded.last_value",
            )?
            .execute(params![number, run, at, now.begun.boot, since, value])?;
        Ok(())
    }

    /// How the counter stood last, in the order in which it was recorded: a clock that went back does not change that.
    fn last_run(&self, metric: i64) -> Result<Option<(i64, Counted)>> {
        let last = self
            .tx
            .prepare_cached(
                "SELECT number, boot, since, last_at, last_value FROM runs WHERE metric = ?1 ORDER BY number DESC LIMIT 1",
            )?
            .query_row([metric], |row| {
                let begun = Begun { boot: row.get(1)?, since: row.get(2)? };
                Ok((row.get(0)?, Counted { at: row.get(3)?, value: row.get(4)?, begun }))
            })
            .optional()?;
        Ok(last)
    }

    fn endpoints(&self, target: i64, it: &Observation, recorded: &mut Recorded) -> Result<()> {
        let mut insert =
            self.tx.prepare_cached("INSERT OR IGNORE INTO endpoints VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for (n, endpoint) in it.endpoints.iter().enumerate() {
            if n >= ENDPOINTS_MAX {
                recorded.leaves_out(&endpoint.name, "there are too many endpoints");
                continue;
            }
            let latency = endpoint.latency_ms.and_then(|ms| i64::try_from(ms).ok());
            let at = it.at.as_micros();
            insert.execute(params![target, bounded(&endpoint.name), at, endpoint.healthy, latency])?;
        }
        Ok(())
    }

    /// The number of a metric, given out now if it is new and there is room.
    fn metric_number(&mut self, target: i64, metric: &Metric) -> Result<Option<i64>> {
        let key = (target, metric.clone());
        if let Some(number) = self.known.get(&key) {
            return Ok(Some(*number));
        }
        let mut found = look::metric_number(self.tx, target, metric)?;
        if found.is_none() {
            let kind = if metric.name().is_counter() { "counter" } else { "gauge" };
            let (name, window) = (metric.name().stem(), metric.name().window_seconds());
            let made = self
                .tx
                .prepare_cached(
                    "INSERT INTO metrics (target, scope, name, window, kind)
                     SELECT ?1, ?2, ?3, ?4, ?5 WHERE (SELECT count(*) FROM metrics) < ?6",
                )?
                .execute(params![
                    target,
                    metric.scope().to_string(),
                    name,
                    window,
                    kind,
                    self.limits.metrics_max as i64
                ])?;
            found = (made == 1).then(|| self.tx.last_insert_rowid());
        }
        self.known.extend(found.map(|number| (key, number)));
        Ok(found)
    }
}

fn target_number(tx: &Transaction<'_>, name: &str) -> Result<i64> {
    if let Some(found) = look::target_number(tx, name)? {
        return Ok(found);
    }
    tx.execute("INSERT INTO targets (name, raw_from) VALUES (?1, ?2)", params![name, i64::MIN])?;
    Ok(tx.last_insert_rowid())
}

fn failed_text(failed: &[Failed]) -> Result<String> {
    let short = |text: &str| holdfast_types::printable(text).chars().take(WHY_MAX).collect::<String>();
    let named: Vec<Failed> = failed
        .iter()
        .take(FAILED_MAX)
        .map(|it| Failed { label: short(&it.label), why: short(&it.why) })
        .collect();
    serde_json::to_string(&named).map_err(|e| Error::BadSample { why: e.to_string() })
}

/// How many were opened and resolved.
fn note_anomalies(
    tx: &Transaction<'_>,
    target: i64,
    observation: Option<i64>,
    signs: &[Sign],
    well: &[(AnomalyKind, Scope)],
    at: Timestamp,
) -> Result<(u32, u32)> {
    let open = look::anomalies(tx, target, look::Which::Open)?;
    let micros = at.as_micros();
    let (mut opened, mut resolved) = (0, 0);
    for change in judge(&open, signs, well, at) {
        match change {
            Change::Opens { kind, scope, message, times } => {
                let insert = "INSERT INTO anomalies (target, detected_at, observation, scope, anomaly_type, message, times, last_seen)
                              VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?2)";
                let (scope, kind) = (scope.to_string(), kind.as_str());
                tx.prepare_cached(insert)?.execute(params![
                    target,
                    micros,
                    observation,
                    scope,
                    kind,
                    message,
                    times as i64
                ])?;
                opened += 1;
            }
            Change::Again { id, message, times } => {
                let update =
                    "UPDATE anomalies SET message = ?2, times = times + ?3, last_seen = ?4 WHERE id = ?1";
                tx.prepare_cached(update)?.execute(params![id, message, times as i64, micros])?;
            }
            Change::Resolves { id } => {
                tx.prepare_cached("UPDATE anomalies SET resolved_at = ?2 WHERE id = ?1")?
                    .execute([id, micros])?;
                resolved += 1;
            }
        }
    }
    Ok((opened, resolved))
}
