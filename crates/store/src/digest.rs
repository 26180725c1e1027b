//! What is in the tables, as one digest each: equal rows, equal digest.

use std::collections::BTreeMap;

use holdfast_types::Digest;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// The store's own tables, which say when and how far and not what.
const BOOKKEEPING: [&str; 3] = ["holdfast", "migrations", "progress"];

/// Every table's rows in the order of its primary key. Virtual tables and their shadows are left out: their bytes
/// depend on how they were filled.
pub(crate) fn tables(conn: &Connection) -> rusqlite::Result<BTreeMap<String, Digest>> {
    let mut list = conn.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
    )?;
    let names: Vec<String> = list.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let ours = names.into_iter().filter(|name| !BOOKKEEPING.contains(&name.as_str()));
    ours.map(|name| table(conn, &name).map(|digest| (name, digest))).collect()
}

fn table(conn: &Connection, name: &str) -> rusqlite::Result<Digest> {
    let order = key_of(conn, name)?;
    let mut rows = conn.prepare(&format!("SELECT * FROM {} ORDER BY {order}", quoted(name)))?;
    let mut hasher = blake3::Hasher::new();
    for column in rows.column_names() {
        value(&mut hasher, ValueRef::Text(column.as_bytes()));
    }
    let width = rows.column_count();
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        for column in 0..width {
            value(&mut hasher, row.get_ref(column)?);
        }
    }
    Ok(Digest::blake3(*hasher.finalize().as_bytes()))
}

fn key_of(conn: &Connection, name: &str) -> rusqlite::Result<String> {
    let mut columns = conn.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?;
    let columns: Vec<String> =
        columns.query_map([name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let quoted: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    Ok(if quoted.is_empty() { "rowid".to_owned() } else { quoted.join(", ") })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A value with its type and length before it, so that no two lists of values hash alike.
fn value(hasher: &mut blake3::Hasher, value: ValueRef<'_>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        hasher.update(&[tag]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    match value {
        ValueRef::Null => tagged(0, &[]),
        ValueRef::Integer(n) => tagged(1, &n.to_le_bytes()),
        ValueRef::Real(x) => tagged(2, &x.to_bits().to_le_bytes()),
        ValueRef::Text(text) => tagged(3, text),
        ValueRef::Blob(bytes) => tagged(4, bytes),
    }
}
