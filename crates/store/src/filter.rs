//! Asking the `entries` projection: which entries, in which order, how many of each kind.
//!
//! The most selective of the conditions walks its index in order of seq; the others are checked on the way. Which
//! one that is is decided here and not by SQLite's planner, so the same question always runs the same way.

use holdfast_journal::Subject;
use holdfast_types::{Actor, Kind, Room, RunId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::entries::SPAN;
use crate::error::Result;
use crate::seen::subject_text;

/// Most seqs that one answer holds; who wants more asks again from where it ended.
pub const QUERY_MAX: usize = 100_000;

/// What entries have in common. An empty filter is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub kind: Option<Kind>,
    pub room: Option<Room>,
    pub actor: Option<Actor>,
    pub subject: Option<Subject>,
    pub run: Option<RunId>,
    /// The first seq.
    pub from: Option<u64>,
    /// The seq after the last.
    pub to: Option<u64>,
    /// Written at this time or later.
    pub since: Option<Timestamp>,
    /// Written before this time.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    OldestFirst,
    NewestFirst,
}

/// The seqs of at most `limit` entries, in order.
pub fn find(conn: &Connection, filter: &Filter, order: Order, limit: usize) -> Result<Vec<u64>> {
    let limit = limit.min(QUERY_MAX);
    let Some(plan) = plan(conn, filter)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    // The first so many of all walks together are among the first so many of each.
    for walk in &plan.walks {
        found.extend(walk_in_order(conn, walk, &plan, order, limit)?);
    }
    match order {
        Order::OldestFirst => found.sort_unstable(),
        Order::NewestFirst => found.sort_unstable_by(|a, b| b.cmp(a)),
    }
    found.truncate(limit);
    Ok(found)
}

/// How many entries of each kind there are, by the kind's name.
pub fn count_by_kind(conn: &Connection, filter: &Filter) -> Result<Vec<(String, u64)>> {
    let Some(plan) = plan(conn, filter)? else { return Ok(Vec::new()) };
    let mut counts = std::collections::BTreeMap::new();
    for walk in &plan.walks {
        let sql = format!("SELECT kind, count(*) FROM entries WHERE {} GROUP BY kind", plan.conditions(walk));
        let mut rows = conn.prepare_cached(&sql)?;
        let rows =
            rows.query_map(params_from_iter(plan.values(walk)), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            let (kind, count): (i64, u64) = row?;
            *counts.entry(kind).or_insert(0) += count;
        }
    }
    let mut name = conn.prepare_cached("SELECT kind FROM entries_kinds WHERE id = ?1")?;
    let mut named = counts
        .into_iter()
        .map(|(kind, count)| Ok((name.query_row([kind], |row| row.get(0))?, count)))
        .collect::<Result<Vec<(String, u64)>>>()?;
    named.sort();
    Ok(named)
}

/// A question with its texts as numbers.
#[derive(Debug)]
struct Plan {
    /// Each walks one index, or the table itself.
    walks: Vec<Walk>,
    /// Checked on every row of a walk.
    checks: Vec<(&'static str, i64)>,
}

#[derive(Clone, Copy, Debug)]
enum Walk {
    Column(&'static str, i64),
    Table,
}

impl Plan {
    fn conditions(&self, walk: &Walk) -> String {
        let mut parts = match walk {
            Walk::Column(column, _) => vec![format!("{column} = ?")],
            Walk::Table => Vec::new(),
        };
        parts.extend(self.checks.iter().map(|(check, _)| (*check).to_owned()));
        if parts.is_empty() { "true".to_owned() } else { parts.join(" AND ") }
    }

    fn values(&self, walk: &Walk) -> Vec<i64> {
        let walked = match walk {
            Walk::Column(_, value) => Some(*value),
            Walk::Table => None,
        };
        walked.into_iter().chain(self.checks.iter().map(|(_, value)| *value)).collect()
    }
}

fn walk_in_order(
    conn: &Connection,
    walk: &Walk,
    plan: &Plan,
    order: Order,
    limit: usize,
) -> Result<Vec<u64>> {
    let direction = match order {
        Order::OldestFirst => "ASC",
        Order::NewestFirst => "DESC",
    };
    let conditions = plan.conditions(walk);
    let sql = format!("SELECT seq FROM entries WHERE {conditions} ORDER BY seq {direction} LIMIT ?");
    let mut rows = conn.prepare_cached(&sql)?;
    let values = plan.values(walk).into_iter().chain([i64::try_from(limit).unwrap_or(i64::MAX)]);
    let rows = rows.query_map(params_from_iter(values), |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// `None` when something asked for appears in no entry.
fn plan(conn: &Connection, filter: &Filter) -> Result<Option<Plan>> {
    let Some(range) = seq_range(conn, filter)? else { return Ok(None) };
    let mut checks = range;
    let micros = |t: &Timestamp| t.as_micros();
    checks.extend(filter.since.as_ref().map(|t| ("at >= ?", micros(t))));
    checks.extend(filter.until.as_ref().map(|t| ("at < ?", micros(t))));

    // Most selective first. The plus sign keeps SQLite from walking the index of a column that is only checked.
    let (run, subject) = (filter.run.map(|r| r.to_string()), filter.subject.map(subject_text));
    let named = [
        ("run", "+run = ?", run.as_deref()),
        ("subject", "+subject = ?", subject.as_deref()),
        ("kind", "+kind = ?", filter.kind.as_ref().map(Kind::as_str)),
        ("actor", "+actor = ?", filter.actor.as_ref().map(Actor::as_str)),
    ];
    let mut walk = None;
    for (column, check, text) in named.into_iter().filter_map(|(c, k, text)| text.map(|t| (c, k, t))) {
        let Some(id) = id_of(conn, column, text)? else { return Ok(None) };
        match walk {
            None => walk = Some(Walk::Column(column, id)),
            Some(_) => checks.push((check, id)),
        }
    }
    with_room(conn, filter, walk, checks)
}

/// A room is the kinds it defines: where nothing else leads, each of them is walked.
fn with_room(
    conn: &Connection,
    filter: &Filter,
    walk: Option<Walk>,
    mut checks: Vec<(&'static str, i64)>,
) -> Result<Option<Plan>> {
    let Some(room) = &filter.room else {
        return Ok(Some(Plan { walks: vec![walk.unwrap_or(Walk::Table)], checks }));
    };
    let mut kinds = conn.prepare_cached("SELECT id FROM entries_kinds WHERE room = ?1 ORDER BY id")?;
    let kinds: Vec<i64> =
        kinds.query_map([room.as_str()], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let Some(any) = kinds.first().copied() else { return Ok(None) };
    let walks = match walk {
        None => kinds.into_iter().map(|kind| Walk::Column("kind", kind)).collect(),
        Some(walk) => {
            // All kinds of the room, told by one of them: a check has one value.
            let of_room = "+kind IN (SELECT id FROM entries_kinds WHERE room = \
                           (SELECT room FROM entries_kinds WHERE id = ?))";
            checks.push((of_room, any));
            vec![walk]
        }
    };
    Ok(Some(Plan { walks, checks }))
}

/// The seqs that can be meant, as checks. A time window narrows them by the spans it touches.
fn seq_range(conn: &Connection, filter: &Filter) -> Result<Option<Vec<(&'static str, i64)>>> {
    let number = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
    let (mut from, mut to) = (filter.from.map(number), filter.to.map(number));
    if filter.since.is_some() || filter.until.is_some() {
        let since = filter.since.map_or(i64::MIN, Timestamp::as_micros);
        let until = filter.until.map_or(i64::MAX, Timestamp::as_micros);
        let sql = "SELECT min(span), max(span) FROM entries_spans WHERE latest >= ?1 AND earliest < ?2";
        let spans: (Option<i64>, Option<i64>) =
            conn.prepare_cached(sql)?.query_row([since, until], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(first), Some(last)) = spans else { return Ok(None) };
        let span = number(SPAN);
        from = Some(from.unwrap_or(0).max(first * span));
        to = Some(to.unwrap_or(i64::MAX).min((last + 1) * span));
    }
    let mut checks = Vec::new();
    checks.extend(from.map(|from| ("seq >= ?", from)));
    checks.extend(to.map(|to| ("seq < ?", to)));
    Ok(Some(checks))
}

fn id_of(conn: &Connection, column: &str, text: &str) -> Result<Option<i64>> {
    let sql = match column {
        "kind" => "SELECT id FROM entries_kinds WHERE kind = ?1",
        _ => "SELECT id FROM entries_names WHERE name = ?1",
    };
    Ok(conn.prepare_cached(sql)?.query_row([text], |row| row.get(0)).optional()?)
}
