//! `holdfast target check`: every proof of the first day again, and the look around, held against what was found then. Nothing is changed.

use std::time::Duration;

use clap::Args;
use holdfast_api::{TargetChecked, TargetFinding};
use holdfast_doorman::wire::{Ask, Reply, Role};
use holdfast_line::shown;
use holdfast_probe::{Found as Answer, Terms};
use holdfast_steward_host::Way;
use holdfast_tripwire::charge::SETTINGS;
use holdfast_tripwire::heart::Heart;
use holdfast_types::Exit;

use super::{bad, seconds_now, told, way, word_of};
use crate::console::Console;
use crate::enrolment::guard::{self, Guarded};
use crate::enrolment::inventory::{Inventory, Managed};
use crate::enrolment::person;
use crate::enrolment::proof::{self, Rescue};
use crate::enrolment::record::Record;
use crate::enrolment::survey::{Doorman, Finding, Found, Verdict, Wanted};
use crate::house::{House, now};
use crate::look::{Shape, span};
use crate::problem::Result;
use crate::settings::{self, Overlay};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const LOOK_WITHIN: Duration = Duration::from_secs(120);
/// As the steward has it: three rounds of the guard.
const HEART_WITHIN: Duration = Duration::from_secs(30);

/// Check a host that was taken in; nothing is changed
///
/// Its keys are used as the steward would: each is let in and refused what is not its own, something is collected, a change is looked at
/// that is not made, and the way back is tried up to going it. Then the host is looked at as on the first day: its system, disks, clock
/// and units, and who listens where its endpoint is. What differs from that day is told.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: target, address, port, good, findings[] with what, verdict (good, noted or bad), inventory (what is there now, as in \
`holdfast target show`; null where nobody could look).")]
pub(super) struct CheckArgs {
    /// Which
    name: String,
}

pub(super) fn run(args: &CheckArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let record = Record::read(&house.places, &args.name)?;
    console.progress(&format!("asking {} …", record.target));
    let (found, inventory) = looked_again(&record, house)?;
    console.progress("");
    show(&record, &found, inventory.as_ref(), console)
}

/// Every proof of the first day again, for whoever is no terminal.
pub(crate) fn checked(house: &House, name: &str) -> Result<TargetChecked> {
    let record = Record::read(&house.places, name)?;
    let (found, inventory) = looked_again(&record, house)?;
    Ok(in_full(&record, &found, inventory.as_ref()))
}

fn looked_again(record: &Record, house: &House) -> Result<(Vec<Finding>, Option<Inventory>)> {
    let mut found = vec![of_the_record(record), of_the_configuration(record, house)];
    let sockets = tempfile::tempdir().map_err(person::here("a folder for connections"))?;
    let way = way(record, house, &sockets);
    let rescue = if record.is_guarded() { Rescue::WithAGuard } else { Rescue::Here };
    let proofs = proof::prove(&way, &record.units, rescue);
    found.extend(proofs.found);
    let (around, inventory) = if proofs.is_let_in { looked_at(&way, record) } else { (Vec::new(), None) };
    found.extend(around);
    way.hang_up();
    found.extend(guarded(record));
    found.extend(record.endpoint.as_deref().map(answers));
    Ok((found, inventory))
}

fn in_full(record: &Record, found: &[Finding], inventory: Option<&Inventory>) -> TargetChecked {
    let finding =
        |it: &Finding| TargetFinding { what: it.what.clone(), verdict: word_of(it.verdict).to_owned() };
    TargetChecked {
        target: record.target.clone(),
        address: record.address.clone(),
        port: record.port,
        good: bad(found).is_empty(),
        findings: found.iter().map(finding).collect(),
        inventory: inventory.map(Inventory::in_full),
    }
}

fn show(
    record: &Record,
    found: &[Finding],
    inventory: Option<&Inventory>,
    console: &mut Console,
) -> Result<Exit> {
    let wrong = bad(found).len();
    if console.is_json() {
        console.told_as_json(&in_full(record, found, inventory))?;
    } else {
        told(found, console);
        let (shape, word) = match wrong {
            0 => (Shape::Settled, "does what it has to".to_owned()),
            1 => (Shape::Failed, "needs you: one thing is wrong".to_owned()),
            many => (Shape::Failed, format!("needs you: {many} things are wrong")),
        };
        console.line(&format!("{} {} {word}", console.out_style.shape(shape), record.target))?;
    }
    Ok(if wrong == 0 { Exit::Ok } else { Exit::Negative })
}

/// Whether a guard lives, and which ways back he has tried.
fn guarded(record: &Record) -> Vec<Finding> {
    let Some(guard) = &record.guard else {
        let what = format!(
            "nobody guards it, so nothing is tried there: `holdfast target guard {}` gives it a guard",
            record.target
        );
        return vec![Finding::new(Verdict::Noted, what)];
    };
    if !guard.finished {
        let what =
            format!("having it guarded was cut off: say `holdfast target guard {}` again", record.target);
        return vec![Finding::new(Verdict::Bad, what)];
    }
    let heart = record.target.parse().ok().and_then(|name| Heart::read(&guard.hearts, &name));
    let nobody =
        |why: String| vec![Finding::new(Verdict::Bad, format!("its guard {why}: {}", starts(guard)))];
    match heart.as_ref().map(Heart::age) {
        None => nobody("does not run".to_owned()),
        Some(None) => nobody("has not run since this machine was started".to_owned()),
        Some(Some(age)) if age > HEART_WITHIN => {
            nobody(format!("was last heard of {} ago", span(age.as_secs_f64())))
        }
        Some(Some(_)) => heart.iter().flat_map(ways_back).collect(),
    }
}

fn ways_back(heart: &Heart) -> Vec<Finding> {
    let mut all: Vec<Finding> = heart
        .failing
        .iter()
        .map(|(way, why)| {
            Finding::new(
                Verdict::Bad,
                format!("its guard says that the {way} would not work: {}", shown(why)),
            )
        })
        .collect();
    let works: Vec<&str> =
        heart.rehearsed.keys().filter(|way| !heart.failing.contains_key(*way)).map(String::as_str).collect();
    match works.as_slice() {
        [] => all.push(Finding::new(Verdict::Bad, "its guard lives, and has tried no way back yet")),
        works => all.push(Finding::new(
            Verdict::Good,
            format!("its guard lives, and has tried the {}", works.join(" and the ")),
        )),
    }
    if heart.alone {
        all.push(Finding::new(Verdict::Noted, "its guard is cut off: no reference answers him"));
    }
    all
}

/// How a guard is started.
fn starts(guard: &Guarded) -> String {
    match guard.settings == std::path::Path::new(SETTINGS) {
        true => "systemctl start holdfast-tripwire".to_owned(),
        false => format!("holdfast-tripwire run {}", crate::places::quoted(&guard.settings)),
    }
}

/// The look of the first day again, behind the key that acts.
fn looked_at(way: &Way, record: &Record) -> (Vec<Finding>, Option<Inventory>) {
    let nobody =
        |why: String| (vec![Finding::new(Verdict::Bad, format!("nobody could look around: {why}"))], None);
    let found = match way.ask(Role::Act, &Ask::Survey {}, LOOK_WITHIN) {
        Ok(Reply::Surveyed { said }) => match Found::whole(&said) {
            Some(found) => found,
            None => return nobody("what was said is not whole".to_owned()),
        },
        Ok(Reply::NotAdmitted { why } | Reply::Broken { why }) => return nobody(shown(&why)),
        Ok(other) => return nobody(shown(&format!("{other:?}"))),
        Err(e) => return nobody(e.to_string()),
    };
    let inventory = found.inventory();
    let before = record.inventory.as_ref();
    let wanted = Wanted {
        doorman: Doorman::Stays,
        units: record.units.clone(),
        endpoint: record.endpoint.clone(),
        without_pressure: before.is_some_and(|before| !before.pressure),
        machine: before.map_or_else(|| inventory.machine.clone(), |before| before.machine.clone()),
        now: seconds_now(),
    };
    let mut all = found.judge(&wanted);
    let managed = Managed { units: &record.units, endpoint: record.endpoint.as_deref() };
    all.extend(before.map(|before| before.differs(&inventory, managed)).into_iter().flatten());
    (all, Some(inventory))
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

/// Whether somebody answers where the endpoint is, as the steward would look: an address takes a connection, a page is well.
fn answers(endpoint: &str) -> Finding {
    let terms = Terms { within: ANSWER_WITHIN, now: now(), not_before: None };
    let not = |why: &str| Finding::new(Verdict::Bad, format!("{endpoint} does not answer{why}"));
    match guard::look(endpoint).ok().map(|check| holdfast_probe::run(&check, &terms)) {
        Some(Answer::Passed { .. }) => Finding::new(Verdict::Good, format!("{endpoint} answers")),
        Some(Answer::Failed { why }) => not(&format!(": {}", shown(&why))),
        Some(Answer::TimedOut) | None => not(""),
        Some(Answer::Unknown { why }) => not(&format!(", or nobody can tell: {}", shown(&why))),
    }
}
