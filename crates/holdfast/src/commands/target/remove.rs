//! `holdfast target remove`: the host is left as it was found, and nothing of it stays here.

use std::path::PathBuf;

use clap::Args;
use holdfast_types::Exit;
use serde_json::{Value, json};

use super::{told_of_the_way, written_down};
use crate::console::Console;
use crate::enrolment::hands::Hands;
use crate::enrolment::person::{Account, Person, here};
use crate::enrolment::record::{Record, Step};
use crate::enrolment::steps::{Site, forget, unconfigure};
use crate::enrolment::warrant::Warrant;
use crate::enrolment::{Aftermath, EnrolError, Fault, guard, interrupt};
use crate::house::House;
use crate::kinds::LET_GO;
use crate::look::Shape;
use crate::problem::Result;

/// Let a host go and leave it as it was found
///
/// What the steward has kept there is undone first, then everything of ours is taken away: the lines of the keys, the user, the program,
/// its memory. The connection is your own, over the account that took the host in.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: target, address, undone[], remains[], forgotten, recorded_as (the entry in the journal), dry_run.")]
pub(super) struct RemoveArgs {
    /// Which
    name: String,

    /// The private key of the account, if ssh would not find it
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,

    /// Another account than the one that took it in
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// Remove only what is here: the host is gone, or what is on it is to stay
    #[arg(long)]
    forget: bool,

    /// Do it without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Show what would go; change nothing
    #[arg(long)]
    dry_run: bool,
}

impl RemoveArgs {
    /// What root has said of the host: its name, and where that is config.yaml says.
    pub(super) fn warrant(&self) -> Warrant {
        let reason = format!("target remove {}", self.name);
        Warrant { target: self.name.clone(), reason, ..Warrant::default() }
    }
}

pub(super) fn run(args: &RemoveArgs, house: &House, mut hands: Hands, console: &mut Console) -> Result<Exit> {
    let mut record = Record::read(&house.places, &args.name)?;
    if !console.is_json() {
        console.aside(&plan(&record, args.forget));
    }
    if args.dry_run {
        return show(&record, args, &Aftermath::default(), None, console);
    }
    match (args.yes, console.asks(&format!("Do this to {}? [y/N] ", record.target))) {
        (true, _) | (false, Some(true)) => {}
        (false, Some(false)) => return Err(Fault::NotConfirmed.into()),
        (false, None) => return Err(Fault::NeedsYes.into()),
    }
    hands.look(console)?;
    if args.forget {
        return forgotten(record, args, house, hands, console);
    }
    let user = args.user.clone().unwrap_or_else(|| record.user.clone());
    let account = format!("{user}@{}", record.host);
    let account: Account = account.parse().map_err(|said| Fault::Here { what: account, said })?;
    record.is_root = if args.user.is_some() { user == "root" } else { record.is_root };
    let person = Person::new(
        account,
        record.named_port(),
        Some(record.address.clone()),
        args.identity.clone(),
        console.is_attended(),
        &record.target,
    )?;
    let pinned = Record::folder(&house.places, &record.target).join("known_hosts");
    person.pin(&std::fs::read_to_string(&pinned).map_err(here(&format!("reading {}", pinned.display())))?)?;
    interrupt::heed();
    told_of_the_way(&hands.lend(person.calls(), console)?, console);
    let mut site = Site { places: &house.places, person: &person, record, hands };
    console.progress(&format!("undoing what was done to {} …", site.record.target));
    let after = site.undo();
    console.progress("");
    if after.remains.is_empty() {
        let recorded_as = written_down(&LET_GO, entry(&site.record, args, &after), house, console);
        return show(&site.record, args, &after, recorded_as, console);
    }
    let Aftermath { undone, remains, .. } = after;
    let name = site.record.target.clone();
    let fault = Fault::NotGone { address: site.record.address.clone(), name, what: remains };
    Err(EnrolError { fault, after: Aftermath { undone, ..Aftermath::default() } }.into())
}

/// What is on the host stays there, and is told.
fn forgotten(
    mut record: Record,
    args: &RemoveArgs,
    house: &House,
    mut hands: Hands,
    console: &mut Console,
) -> Result<Exit> {
    let mut after = Aftermath::default();
    if guard::undo(&mut record, &house.places, &mut hands)? {
        after.undone.push(Step::Guard.what().to_owned());
        record.ended(Step::Guard);
        record.write(&house.places)?;
    }
    if unconfigure(&house.places, &record, &mut hands)? {
        after.undone.push(Step::Config.what().to_owned());
    }
    forget(&house.places, &record.target)?;
    after.undone.push(Step::Keys.what().to_owned());
    after.remains = [Step::Arrival, Step::Program]
        .into_iter()
        .filter(|step| record.begun.contains(step))
        .map(|step| step.what().to_owned())
        .collect();
    let recorded_as = written_down(&LET_GO, entry(&record, args, &after), house, console);
    show(&record, args, &after, recorded_as, console)
}

fn entry(record: &Record, args: &RemoveArgs, after: &Aftermath) -> Value {
    json!({
        "target": record.target,
        "address": record.address,
        "forgotten": args.forget,
        "undone": after.undone,
        "remains": after.remains,
    })
}

fn plan(record: &Record, forget: bool) -> String {
    let (address, steps) = (&record.address, record.begun.iter().rev());
    let here = |step: &Step| matches!(step, Step::Keys | Step::Config | Step::Guard);
    let lines: String = steps
        .filter(|step| !forget || here(step))
        .map(|step| match step {
            Step::Arrival => {
                "  · settings that were kept are undone; the lines of the keys, the user, the memory go\n"
                    .to_owned()
            }
            Step::Keys => "  · the keys here go\n".to_owned(),
            step => format!("  · {} goes\n", step.what()),
        })
        .collect();
    format!("\nwhat was made on {address} and here, in reverse\n{lines}\n")
}

fn show(
    record: &Record,
    args: &RemoveArgs,
    after: &Aftermath,
    recorded_as: Option<u64>,
    console: &mut Console,
) -> Result<Exit> {
    let Aftermath { undone, remains, .. } = after;
    if console.is_json() {
        console.json(&json!({
            "target": record.target,
            "address": record.address,
            "undone": undone,
            "remains": remains,
            "forgotten": args.forget,
            "recorded_as": recorded_as,
            "dry_run": args.dry_run,
        }))?;
        return Ok(Exit::Ok);
    }
    for what in undone {
        console.told(Shape::Undone, what);
    }
    let (shape, line) = match (args.dry_run, args.forget) {
        (true, _) => (Shape::Unknown, "nothing was changed, there or here".to_owned()),
        (false, false) => (
            Shape::Settled,
            format!("{} is let go, and {} is as it was found", record.target, record.address),
        ),
        (false, true) if remains.is_empty() => (Shape::Settled, format!("{} is forgotten", record.target)),
        (false, true) => (
            Shape::NeedsYou,
            format!(
                "{} is forgotten; on {} stays: {}. As root there: /usr/local/lib/holdfast/holdfast-doorman leave",
                record.target,
                record.address,
                remains.join(", ")
            ),
        ),
    };
    console.line(&format!("{} {line}", console.out_style.shape(shape)))?;
    Ok(Exit::Ok)
}
