//! The outbox as tables: a view over the journal that can be thrown away and rebuilt.
//!
//! `notice_messages` holds what was raised and is not yet done with everywhere, `notice_sinks` how far each open
//! sink is, `notice_done` what a sink is done with beyond its cursor, and `notice_parcels` the messages a sink is
//! being told, where they may tell several notices: one that quiet hours interrupted, and one that is critical. All of it follows from the entries alone, so a restart, a reload
//! and a rebuild come to the same. Writing happens in [`apply`], inside the transaction of whoever replays the
//! journal; reading in `outbox.rs`.
//!
//! What no open sink will be told is not kept: a sink that is opened later is told what is raised after that.

use holdfast_journal::{Entry, Stored};
use holdfast_types::{Origin, Timestamp, Trust};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value, json};

use crate::kinds;
use crate::message::{self, Raised};
use crate::notice::Severity;

/// The tables, for a database that has none of them. `not_to` names the one sink a notice is not for; `least` is
/// missing for a sink that was opened before severities were written down.
pub(crate) const SCHEMA: &str = "
CREATE TABLE notice_messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    severity INTEGER NOT NULL,
    message TEXT NOT NULL,
    context TEXT NOT NULL,
    source TEXT NOT NULL,
    fold TEXT,
    not_to TEXT
) STRICT;
CREATE INDEX notice_messages_severity ON notice_messages (severity, seq);
CREATE TABLE notice_sinks (
    name TEXT PRIMARY KEY,
    cursor INTEGER NOT NULL,
    least INTEGER,
    delivered INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    last_delivered INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE notice_done (
    sink TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (sink, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE notice_parcels (
    sink TEXT NOT NULL,
    first INTEGER NOT NULL,
    seqs TEXT NOT NULL,
    PRIMARY KEY (sink, first)
) STRICT, WITHOUT ROWID;
";

/// Whether [`apply`] does anything with entries of this kind.
pub(crate) fn wants(kind: &str) -> bool {
    kinds::KINDS.iter().any(|def| def.name == kind)
}

/// Whether an entry cannot be passed over and cannot be understood. A notice never halts the view, or one odd entry,
/// perhaps of another log, would silence all that come after it.
pub(crate) fn halts(kind: &str, version: u16, foreign: bool) -> bool {
    let known = kinds::KINDS.iter().find(|def| def.name == kind).map_or(u16::MAX, |def| def.version);
    version > known && kind != kinds::RAISED.name && !foreign
}

/// Takes one entry into the view. Entries that were taken in from another log are told like our own if that log
/// trusts them like a part of the house; what it says of its own sinks is not about ours.
pub(crate) fn apply(db: &Connection, own: &Origin, entry: &Entry) -> rusqlite::Result<()> {
    let foreign = entry.origin != *own;
    let nothing = Map::new();
    let body = match &entry.content {
        Stored::Body(body) => body,
        Stored::Blob(_) => &nothing,
    };
    let kind = entry.kind.as_str();
    if kind == kinds::RAISED.name {
        if foreign && entry.trust < Trust::Trusted {
            return Ok(());
        }
        let newer = entry.version > kinds::RAISED.version;
        let read = if newer { message::of_newer } else { message::of_body };
        keep(db, read(&entry.origin, entry.seq, entry.at, body), None)?;
    } else if foreign {
        return Ok(());
    } else if kind == kinds::OPENED.name {
        opened(db, entry.seq, body)?;
    } else if kind == kinds::CHANGED.name {
        changed(db, body)?;
    } else if kind == kinds::GATHERED.name {
        gathered(db, body)?;
    } else if kind == kinds::DELIVERED.name {
        handled(db, body, Some(entry.at))?;
    } else if kind == kinds::ABANDONED.name {
        abandoned(db, entry, body)?;
    } else if kind == kinds::CLOSED.name {
        closed(db, body)?;
    }
    advance(db, entry.seq)
}

/// Keeps a notice if an open sink will be told it.
fn keep(db: &Connection, raised: Raised, not_to: Option<&str>) -> rusqlite::Result<()> {
    let Raised { seq, fold, message: m } = raised;
    let wanted = "SELECT 1 FROM notice_sinks WHERE coalesce(least, 0) <= ?1 AND name IS NOT ?2";
    if !db.prepare_cached(wanted)?.exists(params![m.severity.rank(), not_to])? {
        return Ok(());
    }
    let context = Value::Object(m.context).to_string();
    db.prepare_cached("INSERT INTO notice_messages VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?.execute(
        params![
            seq.cast_signed(),
            m.id,
            m.timestamp.as_micros(),
            m.severity.rank(),
            m.message,
            context,
            m.source,
            fold,
            not_to
        ],
    )?;
    Ok(())
}

fn opened(db: &Connection, seq: u64, body: &Map<String, Value>) -> rusqlite::Result<()> {
    let insert = "INSERT OR IGNORE INTO notice_sinks VALUES (?1, ?2, ?3, 0, 0, NULL)";
    db.prepare_cached(insert)?.execute(params![sink(body), seq.cast_signed(), least(body)])?;
    Ok(())
}

/// What mattered too little before, or does now, is done with: a change is about what comes after it.
fn changed(db: &Connection, body: &Map<String, Value>) -> rusqlite::Result<()> {
    let pass_over = "INSERT OR IGNORE INTO notice_done SELECT s.name, m.seq
        FROM notice_sinks s CROSS JOIN notice_messages m
        WHERE s.name = ?1 AND m.seq > s.cursor AND m.severity < max(coalesce(s.least, ?2), ?2)";
    let fields = params![sink(body), least(body).unwrap_or(0)];
    db.prepare_cached(pass_over)?.execute(fields)?;
    db.prepare_cached("UPDATE notice_sinks SET least = ?2 WHERE name = ?1")?.execute(fields)?;
    Ok(())
}

fn gathered(db: &Connection, body: &Map<String, Value>) -> rusqlite::Result<()> {
    let insert = "INSERT OR REPLACE INTO notice_parcels VALUES (?1, ?2, ?3)";
    let notices = body.get("notices").and_then(Value::as_array);
    let first = notices.and_then(|seqs| seqs.first()).and_then(Value::as_i64);
    if let Some(first) = first {
        db.prepare_cached(insert)?.execute(params![sink(body), first, json!(notices).to_string()])?;
    }
    Ok(())
}

fn handled(db: &Connection, body: &Map<String, Value>, delivered: Option<Timestamp>) -> rusqlite::Result<()> {
    let number = |name: &str| body.get(name).and_then(Value::as_i64).unwrap_or(0);
    let (sink, notice) = (sink(body), number("notice"));
    // What stands in the parcel, if this is about that one.
    let done = "INSERT OR IGNORE INTO notice_done SELECT s.name, d.seq FROM notice_sinks s CROSS JOIN
        (SELECT ?2 AS seq UNION SELECT e.value FROM notice_parcels p, json_each(p.seqs) e
            WHERE p.sink = ?1 AND p.first = ?2 AND e.type = 'integer') d
        WHERE s.name = ?1";
    db.prepare_cached(done)?.execute(params![sink, notice])?;
    let delete = "DELETE FROM notice_parcels WHERE sink = ?1 AND first = ?2";
    db.prepare_cached(delete)?.execute(params![sink, notice])?;
    let (at, abandoned) = (delivered.map(Timestamp::as_micros), i64::from(delivered.is_none()));
    // The first version had a cursor and no parcels.
    let update = "UPDATE notice_sinks SET cursor = max(cursor, ?2), delivered = delivered + ?3,
        abandoned = abandoned + ?4, last_delivered = coalesce(?5, last_delivered) WHERE name = ?1";
    let fields = params![sink, number("cursor"), 1 - abandoned, abandoned, at];
    db.prepare_cached(update)?.execute(fields)?;
    Ok(())
}

/// The other sinks are told that one was not. That this is not told either is not told to anybody: two sinks that
/// refuse would otherwise have no end of each other.
fn abandoned(db: &Connection, entry: &Entry, body: &Map<String, Value>) -> rusqlite::Result<()> {
    let (sink, notice) = (sink(body), body.get("notice").and_then(Value::as_i64));
    let about_another: Option<bool> = db
        .prepare_cached("SELECT not_to IS NOT NULL FROM notice_messages WHERE seq = ?1")?
        .query_row([notice], |row| row.get(0))
        .optional()?;
    handled(db, body, None)?;
    // The first version promised this to nobody.
    if about_another.unwrap_or(false) || entry.version < kinds::ABANDONED.version {
        return Ok(());
    }
    let facts = json!({
        "severity": Severity::Warning,
        "message": format!("A notice could not be told at {sink}: its receiver refused it again and again."),
        "context": {"sink": sink, "notice": notice, "why": body.get("why")},
        "fold": format!("notice-abandoned {sink}"),
    });
    let facts = facts.as_object().cloned().unwrap_or_default();
    keep(db, message::of_body(&entry.origin, entry.seq, entry.at, &facts), Some(sink))
}

fn closed(db: &Connection, body: &Map<String, Value>) -> rusqlite::Result<()> {
    for table in ["notice_sinks WHERE name", "notice_parcels WHERE sink", "notice_done WHERE sink"] {
        db.prepare_cached(&format!("DELETE FROM {table} = ?1"))?.execute([sink(body)])?;
    }
    Ok(())
}

/// Moves every sink on past what it is done with or was never to be told, and lets go of what every open sink is
/// done with; the journal keeps it. `seq` is that of the entry just applied.
fn advance(db: &Connection, seq: u64) -> rusqlite::Result<()> {
    let cursors = "UPDATE notice_sinks SET cursor = max(cursor, coalesce(
        (SELECT m.seq - 1 FROM notice_messages m WHERE m.seq > notice_sinks.cursor
            AND m.severity >= coalesce(notice_sinks.least, 0) AND m.not_to IS NOT notice_sinks.name
            AND NOT EXISTS (SELECT 1 FROM notice_done d WHERE d.sink = notice_sinks.name AND d.seq = m.seq)
            ORDER BY m.seq LIMIT 1), ?1))";
    db.prepare_cached(cursors)?.execute([seq.cast_signed()])?;
    let passed = "DELETE FROM notice_done WHERE (sink, seq) IN (SELECT d.sink, d.seq
        FROM notice_sinks s CROSS JOIN notice_done d WHERE d.sink = s.name AND d.seq <= s.cursor)";
    db.prepare_cached(passed)?.execute([])?;
    let parcels = "DELETE FROM notice_parcels WHERE first <=
        coalesce((SELECT s.cursor FROM notice_sinks s WHERE s.name = notice_parcels.sink), first)";
    db.prepare_cached(parcels)?.execute([])?;
    let let_go = "DELETE FROM notice_messages
        WHERE seq <= coalesce((SELECT min(cursor) FROM notice_sinks), ?1)";
    db.prepare_cached(let_go)?.execute([seq.cast_signed()])?;
    Ok(())
}

fn sink(body: &Map<String, Value>) -> &str {
    body.get("sink").and_then(Value::as_str).unwrap_or_default()
}

fn least(body: &Map<String, Value>) -> Option<i64> {
    let severity: Severity = body.get("min_severity")?.as_str()?.parse().ok()?;
    Some(severity.rank())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::{Handled, Looker, pending};

    const OWN: &str = "web.lan";

    fn entry_of(seq: u64, instance: &str, kind: &str, version: u16, trust: &str, body: &str) -> Entry {
        let line = format!(
            "{{\"seq\":{seq},\"v\":{version},\"at\":\"2026-11-15T08:00:00.000000Z\",\"origin\":\"holdfast/{instance}\",\"room\":\"notice\",\"kind\":\"{kind}\",\"actor\":\"x\",\"trust\":\"{trust}\",\"body\":{body}}}"
        );
        Entry::parse(line.as_bytes()).unwrap()
    }

    fn entry(seq: u64, instance: &str, kind: &str, body: &str) -> Entry {
        let version = kinds::KINDS.iter().find(|def| def.name == kind).unwrap().version;
        entry_of(seq, instance, kind, version, "trusted", body)
    }

    fn own(seq: u64, kind: &str, body: &str) -> Entry {
        entry(seq, OWN, kind, body)
    }

    fn opened(seq: u64, sink: &str, least: &str) -> Entry {
        own(seq, kinds::OPENED.name, &format!("{{\"sink\":\"{sink}\",\"min_severity\":\"{least}\"}}"))
    }

    fn changed(seq: u64, sink: &str, least: &str) -> Entry {
        own(seq, kinds::CHANGED.name, &format!("{{\"sink\":\"{sink}\",\"min_severity\":\"{least}\"}}"))
    }

    fn raised(seq: u64, severity: &str) -> Entry {
        own(seq, kinds::RAISED.name, &format!("{{\"severity\":\"{severity}\",\"message\":\"m\"}}"))
    }

    fn told(seq: u64, sink: &str, notice: u64) -> Entry {
        own(seq, kinds::DELIVERED.name, &format!("{{\"sink\":\"{sink}\",\"notice\":{notice}}}"))
    }

    fn applied(entries: &[Entry]) -> Connection {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(SCHEMA).unwrap();
        let own = format!("holdfast/{OWN}").parse().unwrap();
        entries.iter().for_each(|entry| apply(&db, &own, entry).unwrap());
        db
    }

    fn before(db: &Connection, sink: &str) -> Vec<Raised> {
        let looker =
            Looker { sink: sink.parse().unwrap(), least: Severity::Info, handled: Handled::default() };
        pending(db, &looker, 100).unwrap()
    }

    fn seqs(db: &Connection, sink: &str) -> Vec<u64> {
        before(db, sink).iter().map(|raised| raised.seq).collect()
    }

    fn rows(db: &Connection, table: &str) -> i64 {
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get(0)).unwrap()
    }

    #[test]
    fn another_logs_notices_are_told_and_its_sinks_are_not_ours() {
        let db = applied(&[
            opened(1, "ops", "info"),
            entry(
                2,
                "tripwire",
                kinds::RAISED.name,
                r#"{"severity":"critical","message":"m\u001b[2J\u202e","source":"web.lan","context":{"a\u0007":"b\u200b"}}"#,
            ),
            entry(3, "tripwire", kinds::DELIVERED.name, r#"{"sink":"ops","notice":2,"cursor":900}"#),
            entry(4, "tripwire", kinds::OPENED.name, r#"{"sink":"theirs"}"#),
            entry(5, "tripwire", kinds::CLOSED.name, r#"{"sink":"ops"}"#),
        ]);
        let told = before(&db, "ops");
        assert_eq!(told.iter().map(|r| r.message.id.as_str()).collect::<Vec<_>>(), ["ntc_tripwire_2"]);
        // It is cleaned, and speaks in its own name only.
        let message = &told[0].message;
        assert_eq!((message.message.as_str(), message.source.as_str()), ("m[2J", "tripwire"));
        assert_eq!(Value::Object(message.context.clone()), json!({"a": "b"}));
        let sinks: (String, i64) = db
            .query_row("SELECT group_concat(name), max(cursor) FROM notice_sinks", [], |r| {
                Ok((r.get(0)?, r.get(1)?))
            })
            .unwrap();
        assert_eq!(sinks, ("ops".to_owned(), 1));
    }

    #[test]
    fn of_another_log_only_what_it_trusts_is_told() {
        let body = r#"{"severity":"critical","message":"m"}"#;
        let mut log = vec![opened(1, "ops", "info")];
        for (seq, trust) in Trust::ALL.into_iter().enumerate() {
            let seq = seq as u64 + 2;
            log.push(entry_of(seq, "sandbox", kinds::RAISED.name, 1, trust.as_str(), body));
        }
        assert_eq!(seqs(&applied(&log), "ops"), [5, 6]);
    }

    #[test]
    fn a_notice_of_a_newer_version_is_told_as_such_and_silences_nothing() {
        for instance in [OWN, "tripwire"] {
            let newer = r#"{"severity":"warning","message":{"de":"m"}}"#;
            let db = applied(&[
                opened(1, "ops", "info"),
                entry_of(2, instance, kinds::RAISED.name, 9, "trusted", newer),
                entry_of(3, instance, kinds::RAISED.name, 9, "trusted", "{}"),
                raised(4, "info"),
            ]);
            let told = before(&db, "ops");
            let texts: Vec<&str> = told.iter().map(|r| r.message.message.as_str()).collect();
            assert!(texts[0].contains("newer version") && texts[0].ends_with("see entry 2."), "{texts:?}");
            assert_eq!((told.len(), texts[2]), (3, "m"));
            let severities = [Severity::Warning, Severity::Critical, Severity::Info];
            assert_eq!([0, 1, 2].map(|i: usize| told[i].message.severity), severities);
        }
    }

    #[test]
    fn only_newer_entries_about_our_own_sinks_halt_the_view() {
        for def in kinds::KINDS {
            let is_notice = def.name == kinds::RAISED.name;
            assert!(!halts(def.name, def.version, false), "{}", def.name);
            assert_eq!(halts(def.name, def.version + 1, false), !is_notice, "{}", def.name);
            assert!(!halts(def.name, def.version + 1, true), "{}", def.name);
        }
    }

    #[test]
    fn an_odd_notice_is_told_rather_than_lost() {
        let odd = r#"{"severity":7,"message":[1],"context":{"n":{"a":1}},"fold":2}"#;
        let db = applied(&[
            opened(1, "ops", "critical"),
            own(2, kinds::RAISED.name, "{}"),
            own(3, kinds::RAISED.name, odd),
        ]);
        let told = before(&db, "ops");
        assert_eq!(told.len(), 2);
        assert_eq!(
            (told[0].message.id.as_str(), told[0].message.source.as_str()),
            ("ntc_web_lan_2", "web.lan")
        );
        assert_eq!(told[1].message.context["n"], "{\"a\":1}");
    }

    #[test]
    fn what_every_sink_is_done_with_leaves_the_view() {
        let mut log =
            vec![opened(1, "a", "info"), opened(2, "b", "info"), raised(3, "info"), raised(4, "info")];
        log.extend([raised(5, "info"), told(6, "a", 3), told(7, "a", 4), told(8, "a", 5)]);
        assert_eq!(rows(&applied(&log), "notice_messages"), 3);
        log.extend([told(9, "b", 3), told(10, "b", 4)]);
        assert_eq!(rows(&applied(&log), "notice_messages"), 1);
        log.push(own(11, kinds::CLOSED.name, r#"{"sink":"b"}"#));
        let db = applied(&log);
        assert_eq!((rows(&db, "notice_messages"), rows(&db, "notice_done")), (0, 0));
    }

    #[test]
    fn what_no_open_sink_will_be_told_is_not_kept() {
        let mut log: Vec<Entry> = (1..=50).map(|seq| raised(seq, "critical")).collect();
        assert_eq!(rows(&applied(&log), "notice_messages"), 0, "without a sink");
        log.push(opened(51, "a", "warning"));
        log.extend((52..=99).map(|seq| raised(seq, "info")));
        assert_eq!(rows(&applied(&log), "notice_messages"), 0);
        // A sink that is told everything does not keep them waiting for one that is told little.
        log.push(opened(100, "b", "info"));
        log.extend([raised(101, "info"), raised(102, "info"), told(103, "b", 101), told(104, "b", 102)]);
        assert_eq!(rows(&applied(&log), "notice_messages"), 0);
    }

    #[test]
    fn another_least_severity_is_about_what_comes_after_it() {
        let start =
            [opened(1, "a", "warning"), opened(2, "b", "info"), raised(3, "info"), raised(4, "warning")];
        let lower = [changed(5, "a", "info"), raised(6, "info")];
        let higher = [changed(5, "a", "critical"), raised(6, "warning"), raised(7, "critical")];
        assert_eq!(seqs(&applied(&[&start[..], &lower].concat()), "a"), [4, 6]);
        let db = applied(&[&start[..], &higher, &[changed(8, "a", "info"), raised(9, "info")]].concat());
        assert_eq!(seqs(&db, "a"), [7, 9], "what was passed over once does not come back");
        assert_eq!(seqs(&db, "b"), [3, 4, 6, 7, 9]);
    }

    #[test]
    fn what_one_message_told_is_done_with_also_beyond_the_cursor() {
        let mut log = vec![opened(1, "a", "info")];
        log.extend((2..=6).map(|seq| raised(seq, "warning")));
        log.push(own(7, kinds::GATHERED.name, r#"{"sink":"a","notices":[3,5]}"#));
        assert_eq!(seqs(&applied(&log), "a"), [2, 3, 4, 5, 6]);
        log.push(told(8, "a", 3));
        assert_eq!(seqs(&applied(&log), "a"), [2, 4, 6]);
        log.push(told(9, "a", 2));
        let db = applied(&log);
        assert_eq!((seqs(&db, "a"), rows(&db, "notice_parcels")), (vec![4, 6], 0));
    }

    #[test]
    fn a_message_that_was_put_off_is_not_forgotten_for_one_that_came_between() {
        let mut log = vec![opened(1, "a", "info")];
        log.extend((2..=5).map(|seq| raised(seq, "warning")));
        log.push(own(6, kinds::GATHERED.name, r#"{"sink":"a","notices":[2,4]}"#));
        log.push(own(7, kinds::GATHERED.name, r#"{"sink":"a","notices":[3,5]}"#));
        for (first, left) in [(2, vec![3, 5]), (3, vec![2, 4])] {
            let db = applied(&[&log[..], &[told(8, "a", first)]].concat());
            assert_eq!((seqs(&db, "a"), rows(&db, "notice_parcels")), (left, 1), "{first}");
        }
        log.extend([told(8, "a", 3), told(9, "a", 2)]);
        let db = applied(&log);
        assert_eq!((seqs(&db, "a"), rows(&db, "notice_parcels")), (vec![], 0));
    }

    #[test]
    fn a_message_that_will_not_be_told_any_more_leaves_nothing() {
        let mut log = vec![opened(1, "a", "info"), raised(2, "info"), raised(3, "info")];
        log.push(own(4, kinds::GATHERED.name, r#"{"sink":"a","notices":[2,3]}"#));
        log.push(own(5, kinds::GATHERED.name, r#"{"sink":"a","notices":[]}"#));
        assert_eq!(rows(&applied(&log), "notice_parcels"), 1);
        log.push(changed(6, "a", "critical"));
        assert_eq!(rows(&applied(&log), "notice_parcels"), 0);
    }

    #[test]
    fn entries_of_the_first_version_move_the_cursor() {
        let first = r#"{"sink":"a","notice":4,"count":3,"attempts":1,"cursor":4}"#;
        let mut log = vec![own(1, kinds::OPENED.name, r#"{"sink":"a"}"#)];
        log.extend((2..=5).map(|seq| raised(seq, "info")));
        log.push(entry_of(6, OWN, kinds::DELIVERED.name, 1, "trusted", first));
        assert_eq!(seqs(&applied(&log), "a"), [5]);
        log.push(changed(7, "a", "warning"));
        assert!(seqs(&applied(&log), "a").is_empty());
    }

    #[test]
    fn a_notice_given_up_is_told_to_the_other_sinks_and_that_has_an_end() {
        let given_up = |seq, sink: &str, notice: u64| {
            let body = format!("{{\"sink\":\"{sink}\",\"notice\":{notice},\"why\":\"status-400\"}}");
            own(seq, kinds::ABANDONED.name, &body)
        };
        let mut log = vec![opened(1, "a", "info"), opened(2, "b", "warning"), raised(3, "info")];
        log.push(given_up(4, "a", 3));
        let db = applied(&log);
        assert!(seqs(&db, "a").is_empty());
        let about = before(&db, "b").remove(0);
        assert_eq!((about.seq, about.message.severity), (4, Severity::Warning));
        assert!(about.message.message.contains("could not be told at a"), "{}", about.message.message);
        assert_eq!(about.message.context["why"], "status-400");
        // Refused there as well, it is not told back.
        log.push(given_up(5, "b", 4));
        let db = applied(&log);
        assert_eq!((seqs(&db, "a"), seqs(&db, "b")), (vec![], vec![]));
    }
}
