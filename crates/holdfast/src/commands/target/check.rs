//! `holdfast target check`: every proof of the first day again. Nothing is changed.

use std::time::Duration;

use clap::Args;
use holdfast_types::Exit;
use serde_json::json;

use super::{bad, listed, told, way};
use crate::console::Console;
use crate::enrolment::person;
use crate::enrolment::proof;
use crate::enrolment::record::Record;
use crate::enrolment::survey::{self, Finding, Verdict};
use crate::house::House;
use crate::look::Shape;
use crate::problem::Result;
use crate::settings::{self, Overlay};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Check a host that was taken in; nothing is changed
///
/// Its keys are used as the steward would: each is let in and refused what is not its own, something is collected, a change is looked at
/// that is not made, and the way back is tried up to going it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: target, address, port, good, findings[] with what, verdict (good, noted or bad).")]
pub(super) struct CheckArgs {
    /// Which
    name: String,
}

pub(super) fn run(args: &CheckArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let record = Record::read(&house.places, &args.name)?;
    let mut found = vec![of_the_record(&record), of_the_configuration(&record, house)];
    let sockets = tempfile::tempdir().map_err(person::here("a folder for connections"))?;
    console.progress(&format!("asking {} …", record.target));
    found.extend(proof::prove(&way(&record, house, &sockets), &record.units));
    found.extend(record.endpoint.as_deref().map(answers));
    console.progress("");
    let wrong = bad(&found).len();
    if console.is_json() {
        console.json(&json!({
            "target": record.target,
            "address": record.address,
            "port": record.port,
            "good": wrong == 0,
            "findings": listed(&found),
        }))?;
    } else {
        told(&found, console);
        let (shape, word) = match wrong {
            0 => (Shape::Settled, "does what it has to".to_owned()),
            1 => (Shape::Failed, "needs you: one thing is wrong".to_owned()),
            many => (Shape::Failed, format!("needs you: {many} things are wrong")),
        };
        console.line(&format!("{} {} {word}", console.out_style.shape(shape), record.target))?;
    }
    Ok(if wrong == 0 { Exit::Ok } else { Exit::Negative })
}

fn of_the_record(record: &Record) -> Finding {
    match record.finished {
        true => Finding::new(Verdict::Good, format!("it was taken in by {}, {}", record.user, record.began)),
        false => Finding::new(
            Verdict::Bad,
            format!(
                "taking it in was cut off: holdfast target remove {} takes away what is left",
                record.target
            ),
        ),
    }
}

fn of_the_configuration(record: &Record, house: &House) -> Finding {
    let loaded = settings::load(&house.places, &Overlay::of_this_process(&[]));
    let Ok(loaded) = loaded else {
        return Finding::new(Verdict::Bad, "config.yaml cannot be read: holdfast config check");
    };
    match loaded.config.steward.targets.iter().find(|target| target.name == record.target) {
        Some(target)
            if target.reach.address == record.address && target.reach.port == u32::from(record.port) =>
        {
            Finding::new(Verdict::Good, "the configuration has it")
        }
        Some(_) => Finding::new(Verdict::Bad, "the configuration has another address or port for it"),
        None => Finding::new(Verdict::Bad, "the configuration does not have it: nothing looks after it"),
    }
}

/// Whether somebody answers where the endpoint is.
fn answers(endpoint: &str) -> Finding {
    use std::net::{TcpStream, ToSocketAddrs as _};
    let place = survey::authority(endpoint).unwrap_or_default();
    let addresses = place.to_socket_addrs().map(|all| all.take(4).collect::<Vec<_>>()).unwrap_or_default();
    match addresses.iter().any(|address| TcpStream::connect_timeout(address, ANSWER_WITHIN).is_ok()) {
        true => Finding::new(Verdict::Good, format!("{endpoint} answers")),
        false => Finding::new(Verdict::Bad, format!("{endpoint} does not answer")),
    }
}
