//! Rolling up and letting go, in steps that a writer beside it does not wait for long.

use std::sync::PoisonError;
use std::time::Duration;

use holdfast_store::Result;
use holdfast_types::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};

use crate::hour::{HOUR_MICROS, hour_of};
use crate::limits::Limits;
use crate::metrics::{Metrics, used};

/// Hours of a target that one step rolls up.
const HOURS_STEP: i64 = 48;
/// Hours of raw data that one step removes: a few hundred observations.
const RAW_STEP: i64 = 6 * HOUR_MICROS;
/// Hours of roll-ups that one step removes.
const ROLLED_STEP: i64 = 48;
const ANOMALIES_STEP: i64 = 1000;
/// Chunks that one step removes for want of space.
const SIZE_STEP: usize = 4;
/// An hour is rolled up when it is over for this long: what is under way comes in before.
const LATE: Duration = Duration::from_secs(600);

/// Raw data that had to go before its age, because the database was too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    pub target: String,
    pub from: Timestamp,
    pub to: Timestamp,
    pub observations: u64,
}

/// What one step did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Hours of targets that were rolled up.
    pub hours: u64,
    /// Observations that had their age.
    pub observations: u64,
    pub rolled_up: u64,
    pub anomalies: u64,
    /// To be told: these are gone before their time. Their hours are rolled up.
    pub dropped_for_size: Vec<Dropped>,
    /// To be told: even roll-ups had to go before their time.
    pub rolled_up_dropped_for_size: u64,
    /// Nothing is left to drop, and it is still too large.
    pub still_too_large: bool,
    /// There is more to do: call again.
    pub more: bool,
}

impl Metrics {
    /// One step. Call again while there is more. Ages go by the wall clock: call it only while that is known to be right.
    pub fn prune(&self, now: Timestamp) -> Result<Pruned> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let pruned = self.samples.database().write(|tx| Pruning { tx, limits: self.limits, now }.step());
        known.clear();
        pruned
    }
}

struct Pruning<'a> {
    tx: &'a Transaction<'a>,
    limits: Limits,
    now: Timestamp,
}

impl Pruning<'_> {
    fn step(&self) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        self.roll_up_due(&mut pruned)?;
        self.raw_by_age(&mut pruned)?;
        self.rolled_by_age(&mut pruned)?;
        self.anomalies_by_age(&mut pruned)?;
        self.by_size(&mut pruned)?;
        if pruned.rolled_up > 0 {
            self.forget_metrics()?;
        }
        Ok(pruned)
    }

    fn roll_up_due(&self, pruned: &mut Pruned) -> Result<()> {
        let before = hour_of(minus(self.now, LATE));
        let mut due = self.tx.prepare_cached(
            "SELECT target, hour FROM hours_due WHERE hour < ?1 ORDER BY target, hour LIMIT ?2",
        )?;
        let due = due.query_map([before, HOURS_STEP], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let due: Vec<(i64, i64)> = due.collect::<rusqlite::Result<_>>()?;
        for (target, hour) in &due {
            self.roll_up(*target, *hour)?;
        }
        pruned.hours = due.len() as u64;
        pruned.more |= due.len() as i64 == HOURS_STEP;
        Ok(())
    }

    /// Done again it comes to the same, as long as the raw data is there.
    fn roll_up(&self, target: i64, hour: i64) -> Result<()> {
        for (table, value) in [("gauges", "value"), ("counters", "rate")] {
            let sql = format!(
                "INSERT OR REPLACE INTO hourly (metric, hour, count, min, max, mean)
                 SELECT metric, ?2, count({value}), min({value}), max({value}), avg({value}) FROM {table}
                 WHERE metric IN (SELECT id FROM metrics WHERE target = ?1) AND at >= ?3 AND at < ?4 AND {value} IS NOT NULL
                 GROUP BY metric"
            );
            let (from, to) = (hour * HOUR_MICROS, (hour + 1) * HOUR_MICROS);
            self.tx.prepare_cached(&sql)?.execute([target, hour, from, to])?;
        }
        let done = "DELETE FROM hours_due WHERE target = ?1 AND hour = ?2";
        self.tx.prepare_cached(done)?.execute([target, hour])?;
        Ok(())
    }

    fn raw_by_age(&self, pruned: &mut Pruned) -> Result<()> {
        let mut targets = self.tx.prepare_cached(
            "SELECT id, last_collected_at FROM targets WHERE last_collected_at IS NOT NULL",
        )?;
        let targets = targets.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let targets: Vec<(i64, i64)> = targets.collect::<rusqlite::Result<_>>()?;
        for (target, last) in targets {
            // Ages count from the last observation: what is there is not thrown away before there is something newer.
            let last = Timestamp::from_micros(last).unwrap_or(self.now).min(self.now);
            let cutoff = hour_of(minus(last, self.limits.raw)) * HOUR_MICROS;
            let Some(oldest) = self.oldest(target)?.filter(|oldest| *oldest < cutoff) else { continue };
            let bound = cutoff.min(floor(oldest).saturating_add(RAW_STEP));
            pruned.observations += self.drop_raw(target, bound)?;
            pruned.more |= bound < cutoff;
        }
        Ok(())
    }

    fn oldest(&self, target: i64) -> Result<Option<i64>> {
        let sql = "SELECT min(collected_at) FROM observations WHERE target = ?1";
        Ok(self.tx.prepare_cached(sql)?.query_row([target], |row| row.get(0))?)
    }

    /// Removes everything raw of a target before a full hour, after rolling it up.
    fn drop_raw(&self, target: i64, bound: i64) -> Result<u64> {
        let mut due = self.tx.prepare_cached("SELECT hour FROM hours_due WHERE target = ?1 AND hour < ?2")?;
        let due = due.query_map([target, bound.div_euclid(HOUR_MICROS)], |row| row.get(0))?;
        for hour in due.collect::<rusqlite::Result<Vec<i64>>>()? {
            self.roll_up(target, hour)?;
        }
        for sql in [
            "DELETE FROM gauges WHERE metric IN (SELECT id FROM metrics WHERE target = ?1) AND at < ?2",
            "DELETE FROM counters WHERE metric IN (SELECT id FROM metrics WHERE target = ?1) AND at < ?2",
            "DELETE FROM endpoints WHERE target = ?1 AND at < ?2",
            // The last run stays: the next reading is compared with it.
            "DELETE FROM runs WHERE metric IN (SELECT id FROM metrics WHERE target = ?1) AND last_at < ?2
             AND number < (SELECT max(number) FROM runs AS r WHERE r.metric = runs.metric)",
            "UPDATE targets SET raw_from = max(raw_from, ?2) WHERE id = ?1",
        ] {
            self.tx.prepare_cached(sql)?.execute([target, bound])?;
        }
        let sql = "DELETE FROM observations WHERE target = ?1 AND collected_at < ?2";
        Ok(self.tx.prepare_cached(sql)?.execute([target, bound])? as u64)
    }

    fn rolled_by_age(&self, pruned: &mut Pruned) -> Result<()> {
        let cutoff = hour_of(minus(self.now, self.limits.hourly));
        let Some(oldest) = self.oldest_rolled()?.filter(|oldest| *oldest < cutoff) else { return Ok(()) };
        let bound = cutoff.min(oldest.saturating_add(ROLLED_STEP));
        pruned.rolled_up += self.drop_rolled(bound)?;
        pruned.more |= bound < cutoff;
        Ok(())
    }

    fn oldest_rolled(&self) -> Result<Option<i64>> {
        let sql = "SELECT min(h) FROM (SELECT (SELECT min(hour) FROM hourly WHERE metric = m.id) AS h FROM metrics m)";
        Ok(self.tx.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    fn drop_rolled(&self, bound: i64) -> Result<u64> {
        let sql = "DELETE FROM hourly WHERE metric IN (SELECT id FROM metrics) AND hour < ?1";
        Ok(self.tx.prepare_cached(sql)?.execute([bound])? as u64)
    }

    fn anomalies_by_age(&self, pruned: &mut Pruned) -> Result<()> {
        let sql =
            "DELETE FROM anomalies WHERE id IN (SELECT id FROM anomalies WHERE resolved_at < ?1 LIMIT ?2)";
        let before = minus(self.now, self.limits.anomalies).as_micros();
        let removed = self.tx.prepare_cached(sql)?.execute([before, ANOMALIES_STEP])?;
        pruned.anomalies = removed as u64;
        pruned.more |= removed as i64 == ANOMALIES_STEP;
        Ok(())
    }

    fn by_size(&self, pruned: &mut Pruned) -> Result<()> {
        for _ in 0..SIZE_STEP {
            if used(self.tx)? <= self.limits.bytes_max {
                return Ok(());
            }
            if let Some(dropped) = self.drop_oldest_raw()? {
                merge(&mut pruned.dropped_for_size, dropped);
            } else if let Some(oldest) = self.oldest_rolled()? {
                let removed = self.drop_rolled(oldest.saturating_add(ROLLED_STEP))?;
                pruned.rolled_up += removed;
                pruned.rolled_up_dropped_for_size += removed;
            } else {
                pruned.still_too_large = true;
                return Ok(());
            }
        }
        pruned.more = true;
        Ok(())
    }

    /// The oldest raw data of all targets; never that of an hour that is not over.
    fn drop_oldest_raw(&self) -> Result<Option<Dropped>> {
        let oldest = self
            .tx
            .prepare_cached(
                "SELECT t.id, t.name, (SELECT min(collected_at) FROM observations WHERE target = t.id) AS oldest
                 FROM targets t WHERE oldest IS NOT NULL ORDER BY oldest LIMIT 1",
            )?
            .query_row([], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
            })
            .optional()?;
        let Some((target, name, oldest)) = oldest else { return Ok(None) };
        let over = floor(self.now.as_micros());
        let bound = floor(oldest).saturating_add(RAW_STEP).min(over);
        if bound <= oldest {
            return Ok(None);
        }
        let observations = self.drop_raw(target, bound)?;
        let at = |micros| Timestamp::from_micros(micros).unwrap_or(self.now);
        Ok(Some(Dropped { target: name, from: at(oldest), to: at(bound), observations }))
    }

    /// Metrics with nothing left, of units that are long gone.
    fn forget_metrics(&self) -> Result<()> {
        let unused = "SELECT id FROM metrics m WHERE NOT EXISTS (SELECT 1 FROM gauges WHERE metric = m.id)
            AND NOT EXISTS (SELECT 1 FROM counters WHERE metric = m.id)
            AND NOT EXISTS (SELECT 1 FROM hourly WHERE metric = m.id)";
        self.tx.execute(&format!("DELETE FROM runs WHERE metric IN ({unused})"), params![])?;
        self.tx.execute(&format!("DELETE FROM metrics WHERE id IN ({unused})"), params![])?;
        Ok(())
    }
}

/// Chunks in a row of one target are one thing to tell.
fn merge(all: &mut Vec<Dropped>, dropped: Dropped) {
    match all.iter_mut().find(|it| it.target == dropped.target) {
        Some(it) => {
            it.to = it.to.max(dropped.to);
            it.observations += dropped.observations;
        }
        None => all.push(dropped),
    }
}

fn floor(micros: i64) -> i64 {
    micros.div_euclid(HOUR_MICROS) * HOUR_MICROS
}

fn minus(at: Timestamp, span: Duration) -> Timestamp {
    let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.as_micros().saturating_sub(micros)).unwrap_or(Timestamp::EPOCH)
}
