//! `holdfast target show`: the hosts that were taken in, and what they were on that day. Asks nobody.

use clap::Args;
use holdfast_types::Exit;
use serde_json::{Value, json};

use crate::console::Console;
use crate::enrolment::record::{self, Record};
use crate::house::House;
use crate::look::Shape;
use crate::problem::Result;

/// Show the hosts that were taken in, and what was found there
///
/// What is shown is what was recorded on the day a host was taken in; `holdfast target check` looks again and says what differs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: targets[] with target, address, port, host_key, user, units[], endpoint, since, finished, guarded, inventory with os, kernel, \
machine, systemd, pressure, reached_by[], services[] with unit, ports[], and tools[].")]
pub(super) struct ShowArgs {
    /// Which [default: all]
    name: Option<String>,
}

pub(super) fn run(args: &ShowArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let names = args.name.clone().map_or_else(|| record::known(&house.places), |name| vec![name]);
    let records =
        names.iter().map(|name| Record::read(&house.places, name)).collect::<Result<Vec<_>, _>>()?;
    if console.is_json() {
        let targets: Vec<Value> = records.iter().map(in_json).collect();
        console.json(&json!({ "targets": targets }))?;
        return Ok(Exit::Ok);
    }
    if records.is_empty() {
        console.line("no host was taken in yet: `holdfast target add USER@HOST` takes one in")?;
    }
    for record in &records {
        for line in lines(record, console) {
            console.line(&line)?;
        }
    }
    Ok(Exit::Ok)
}

fn in_json(record: &Record) -> Value {
    json!({
        "target": record.target,
        "address": record.address,
        "port": record.port,
        "host_key": record.host_key,
        "user": record.user,
        "units": record.units,
        "endpoint": record.endpoint,
        "since": record.began,
        "finished": record.finished,
        "guarded": record.is_guarded(),
        "inventory": record.inventory,
    })
}

fn lines(record: &Record, console: &Console) -> Vec<String> {
    let (shape, word) = match (record.finished, record.is_guarded()) {
        (false, _) => (Shape::Failed, "was not taken in whole"),
        (true, true) => (Shape::Settled, "is guarded"),
        (true, false) => (Shape::Settled, "is looked at; nobody guards it, so nothing is tried there"),
    };
    let mark = console.out_style.shape(shape);
    let Record { target, address, port, .. } = record;
    let mut all = vec![format!("{mark} {target} at {address} port {port}, since {}, {word}", record.began)];
    let units = record.units.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let endpoint = record.endpoint.as_ref().map(|it| format!(", answering at {it}")).unwrap_or_default();
    all.push(format!("  looked after {units}{endpoint}"));
    all.extend(record.inventory.iter().flat_map(|it| it.told()).map(|line| format!("  {line}")));
    all
}
