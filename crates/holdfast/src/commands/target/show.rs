//! `holdfast target show`: the hosts that were taken in, and what they were on that day. Asks nobody.

use clap::Args;
use holdfast_api::{Target, Targets};
use holdfast_types::Exit;

use crate::console::Console;
use crate::enrolment::inventory::Inventory;
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
    let records = recorded(house, args.name.as_deref())?;
    if console.is_json() {
        console.told_as_json(&Targets { targets: records.iter().map(told).collect() })?;
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

fn recorded(house: &House, name: Option<&str>) -> Result<Vec<Record>> {
    let names = name.map_or_else(|| record::known(&house.places), |name| vec![name.to_owned()]);
    Ok(names.iter().map(|name| Record::read(&house.places, name)).collect::<Result<Vec<_>, _>>()?)
}

/// The hosts that were taken in, or the one of this name.
pub(crate) fn taken_in(house: &House, name: Option<&str>) -> Result<Vec<Target>> {
    Ok(recorded(house, name)?.iter().map(told).collect())
}

fn told(record: &Record) -> Target {
    Target {
        target: record.target.clone(),
        address: record.address.clone(),
        port: record.port,
        host_key: record.host_key.clone(),
        user: record.user.clone(),
        units: record.units.iter().map(ToString::to_string).collect(),
        endpoint: record.endpoint.clone(),
        since: record.began.clone(),
        finished: record.finished,
        guarded: record.is_guarded(),
        inventory: record.inventory.as_ref().map(Inventory::in_full),
    }
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
