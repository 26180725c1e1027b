//! `holdfast backup`: copies the databases that are their own truth.

use clap::Args;
use holdfast_control::{Answer, Request};
use holdfast_types::Exit;
use serde_json::json;

use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::House;
use crate::look::{Shape, bytes, count, table};
use crate::problem::Result;

/// Copy the databases that are their own truth, while they are in use
///
/// The index is not copied, because `holdfast rebuild` makes it from the journal; the journal itself is exported
/// with `holdfast export`. A copy has its name only when it is whole and was checked.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: copies[] with database, path, bytes, digest; removed[] (older copies that went), dry_run.")]
pub(crate) struct BackupArgs {
    /// Say what would be copied where, and copy nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &BackupArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if args.dry_run {
        return dry_run(house, console);
    }
    let done = match ask(house, &Request::Backup {}, console)? {
        Answer::BackedUp(done) => done,
        other => return Err(unexpected(&other)),
    };
    if console.is_json() {
        console.json(&json!({"copies": done.copies, "removed": done.removed, "dry_run": false}))?;
        return Ok(Exit::Ok);
    }
    let row = |c: &holdfast_control::Backup| {
        (c.database.clone(), format!("{}  {}", house.places.shown(&c.path), bytes(c.bytes)))
    };
    let rows: Vec<_> = done.copies.iter().map(row).collect();
    let text = table(&rows, console.out_style);
    console.write(text.as_bytes())?;
    let mark = console.out_style.shape(Shape::Settled);
    let copies = count(rows.len() as u64, "database copied and checked", "databases copied and checked");
    let gone = match done.removed.len() {
        0 => String::new(),
        n => format!(", {} removed", count(n as u64, "older copy", "older copies")),
    };
    console.line(&format!("{mark} {copies}{gone}"))?;
    Ok(Exit::Ok)
}

fn dry_run(house: &House, console: &mut Console) -> Result<Exit> {
    house.view(&Default::default())?;
    let dir = house.places.backups();
    if console.is_json() {
        console.json(&json!({"copies": [], "removed": [], "dry_run": true}))?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        console.line(&format!("{mark} would copy metrics.db to {}", house.places.shown(&dir)))?;
    }
    Ok(Exit::Ok)
}
