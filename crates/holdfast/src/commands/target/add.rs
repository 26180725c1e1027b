//! `holdfast target add`: a host is looked at, the plan is shown, and then it is taken in, step by step, each of which can be undone.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use holdfast_doorman::wire::Role;
use holdfast_doorman::{Enrolment, OBSERVER, Place};
use holdfast_lifeline::TargetName;
use holdfast_steward::setting::UnitName;
use holdfast_types::Exit;
use serde_json::{Value, json};

use super::{bad, listed, seconds_now, told, told_of_the_way, took, way, written_down};
use crate::console::Console;
use crate::enrolment::edit::New;
use crate::enrolment::hands::Hands;
use crate::enrolment::person::{Account, HostKey, Person, here};
use crate::enrolment::record::{self, Record};
use crate::enrolment::steps::{Site, doorman};
use crate::enrolment::survey::{self, Doorman, Finding, Found, Wanted};
use crate::enrolment::warrant::Warrant;
use crate::enrolment::{Aftermath, EnrolError, Fault, configure, interrupt, proof};
use crate::house::{House, now};
use crate::kinds::TAKEN_IN;
use crate::look::{Shape, time};
use crate::problem::{CliError, Result};
use crate::settings::{self, Overlay};

/// Take a host in: look at it, show the plan, do it, prove it
///
/// USER is root there, or may become it without a password (`sudo -n`). The connection is your own: your ssh's configuration, agent and
/// keys. What is made there is shown before it is made, and `holdfast target remove` takes all of it away again; so does a failure
/// in any step. The steward starts at the level observe.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: target, address, port, host_key, units[], level, dry_run, findings[] with what, verdict (good, noted or bad), inventory (as in \
`holdfast target show`), plan[], proofs[] with what, verdict, configured, snippet (what config.yaml has to hold), guarded (false), \
recorded_as (the entry in the journal).")]
pub(super) struct AddArgs {
    /// Whose account, and where
    #[arg(value_name = "USER@HOST")]
    account: Account,

    /// The port of its sshd [default: your ssh's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Where the steward reaches it straight, if you go through another host
    #[arg(long, value_name = "ADDRESS", value_parser = an_address)]
    address: Option<String>,

    /// What it is called here [default: the first part of HOST]
    #[arg(long, value_name = "NAME")]
    name: Option<TargetName>,

    /// A service that is looked after; the most important one first
    #[arg(long = "unit", value_name = "UNIT")]
    units: Vec<UnitName>,

    /// Where the first of them answers
    #[arg(long, value_name = "ADDRESS:PORT|PAGE")]
    endpoint: Option<String>,

    /// The fingerprint of the host's key, as `ssh-keygen -l` shows it there
    #[arg(long, value_name = "SHA256:…")]
    host_key: Option<String>,

    /// The private key of USER, if ssh would not find it
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,

    /// The doorman's program [default: the one that came with this]
    #[arg(long, value_name = "FILE")]
    doorman: Option<PathBuf>,

    /// Let the new keys count from this address alone
    #[arg(long, value_name = "ADDRESS")]
    from: Vec<IpAddr>,

    /// Take a host whose kernel does not measure pressure
    #[arg(long)]
    without_pressure: bool,

    /// Do it without asking; also take the host key that answers, unless --host-key names one
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Look and show the plan; change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What is known before anything is done.
struct Prepared {
    name: String,
    host_key: HostKey,
    found: Found,
    findings: Vec<Finding>,
    plan: Vec<String>,
    new: New,
    item: String,
    settings: Enrolment,
    program: PathBuf,
}

impl AddArgs {
    /// What root has said of the host.
    pub(super) fn warrant(&self) -> Result<Warrant> {
        let target = name(self)?;
        Ok(Warrant {
            reason: format!("target add {target}"),
            target,
            hosts: [&self.account.host].into_iter().chain(&self.address).cloned().collect(),
            endpoint: self.endpoint.clone(),
        })
    }
}

pub(super) fn run(args: &AddArgs, house: &House, mut hands: Hands, console: &mut Console) -> Result<Exit> {
    let name = name(args)?;
    is_free(&name, house)?;
    hands.look(console)?;
    let identity = args.identity.clone();
    let person = Person::new(
        args.account.clone(),
        args.port,
        args.address.clone(),
        identity,
        console.is_attended(),
        &name,
    )?;
    interrupt::heed();
    lent(&person, &mut hands, console)?;
    let prepared = prepared(args, name, &person, console)?;
    if args.dry_run {
        return show(args, &person, &prepared, &Done::default(), console);
    }
    match (args.yes, console.asks(&format!("Do this to {}? [y/N] ", person.address))) {
        (true, _) | (false, Some(true)) => {}
        (false, Some(false)) => return Err(Fault::NotConfirmed.into()),
        (false, None) => return Err(Fault::NeedsYes.into()),
    }
    let record = record_of(args, &person, &prepared);
    let mut site = Site { places: &house.places, person: &person, record, hands };
    match taken_in(&mut site, &prepared, house, console) {
        Ok((proofs, configured)) => {
            let recorded_as = written_down(&TAKEN_IN, entry(&site.record), house, console);
            show(args, &person, &prepared, &Done { proofs, configured, recorded_as }, console)
        }
        Err(fault) => {
            console.told(Shape::Undone, &format!("{fault}; undoing what was done"));
            let after = if site.record.begun.is_empty() { Aftermath::default() } else { site.undo() };
            Err(EnrolError { fault, after }.into())
        }
    }
}

/// Where the steward will go it has to be able to go, and the configuration to hold it.
fn lent(person: &Person, hands: &mut Hands, console: &Console) -> Result<(), Fault> {
    let refused = hands.lend(person.calls(), console)?;
    if let Some(place) = refused.iter().find(|place| place.host == person.address) {
        return Err(Fault::NotLent { address: place.host.clone(), port: place.port });
    }
    told_of_the_way(&refused, console);
    Ok(())
}

/// As a plain name or number: it goes into the configuration.
fn an_address(text: &str) -> Result<String, String> {
    format!("x@{text}").parse::<Account>().map(|account| account.host)
}

fn name(args: &AddArgs) -> Result<String> {
    if let Some(name) = &args.name {
        return Ok(name.to_string());
    }
    let host = args.account.host.to_ascii_lowercase();
    let first = match host.parse::<IpAddr>() {
        Ok(_) => host.replace(['.', ':'], "-").trim_matches('-').to_owned(),
        Err(_) => host.split('.').next().unwrap_or_default().to_owned(),
    };
    let usage =
        || CliError::Usage { message: format!("{first:?} is no name for a target: give one with --name") };
    Ok(first.parse::<TargetName>().map_err(|_| usage())?.to_string())
}

/// Nothing of that name, in the configuration or in the state directory.
fn is_free(name: &str, house: &House) -> Result<()> {
    let loaded = settings::load(&house.places, &Overlay::of_this_process(&[]))?;
    let taken = |what: String| Err(Fault::NameTaken { name: name.to_owned(), what }.into());
    if loaded.config.steward.targets.iter().any(|target| target.name == name) {
        return taken("config.yaml has one".to_owned());
    }
    let folder = Record::folder(&house.places, name);
    if folder.exists() {
        return taken(format!("{} is there", folder.display()));
    }
    Ok(())
}

// --- before anything is done

fn prepared(args: &AddArgs, name: String, person: &Person, console: &Console) -> Result<Prepared> {
    let host_key = person.scan()?;
    accepted(args, &host_key, person, console)?;
    person.pin(&host_key.line(&name))?;
    let began = Instant::now();
    console.progress(&format!("looking at {} …", person.address));
    let found = survey::look(person);
    console.progress("");
    let found = found?;
    console.told(Shape::Settled, &format!("what is there: {}{}", found.os(), took(began.elapsed())));
    if let Some(what) = found.there() {
        return Err(Fault::AlreadyThere { address: person.address.clone(), what }.into());
    }
    let wanted = Wanted {
        doorman: Doorman::Comes,
        units: args.units.clone(),
        endpoint: args.endpoint.clone(),
        without_pressure: args.without_pressure,
        // One that was named may be for any machine: whether it runs there is seen when it is there.
        machine: match &args.doorman {
            Some(_) => found.inventory().machine,
            None => std::env::consts::ARCH.to_owned(),
        },
        now: seconds_now(),
    };
    let findings = found.judge(&wanted);
    told(&findings, console);
    let wrong = bad(&findings);
    if !wrong.is_empty() {
        return Err(Fault::Unfit { address: person.address.clone(), what: wrong }.into());
    }
    if args.units.is_empty() {
        return Err(Fault::NoUnits { address: person.address.clone(), suggested: found.suggested() }.into());
    }
    let program = doorman(args.doorman.as_deref())?;
    let units: Vec<String> = args.units.iter().map(ToString::to_string).collect();
    let new = New {
        name: name.clone(),
        address: person.address.clone(),
        port: person.port,
        units,
        endpoint: args.endpoint.clone(),
    };
    let item = new.item();
    if configure::targets_of(&format!("version: 1\n{}", configure::snippet(&item))).is_none() {
        let message =
            "the address, a unit or the endpoint is none that a configuration could hold".to_owned();
        return Err(CliError::Usage { message }.into());
    }
    let settings = Enrolment {
        units: args.units.clone(),
        ssh: found.ssh().ok_or_else(|| Fault::Unfit { address: person.address.clone(), what: Vec::new() })?,
        vpn: found.vpn(),
        firewall: found.firewall(),
    };
    let plan = plan(&name, &settings, &args.from);
    if !console.is_json() {
        console.aside(&shown_plan(&person.address, &plan, &item));
    }
    Ok(Prepared { name, host_key, found, findings, plan, new, item, settings, program })
}

/// The key is the one that was named, or one that a person has compared.
fn accepted(args: &AddArgs, key: &HostKey, person: &Person, console: &Console) -> Result<()> {
    let (shown, address) = (key.fingerprint(), person.address.clone());
    if let Some(expected) = &args.host_key {
        if *expected != shown {
            return Err(Fault::OtherKey { address, shown, expected: expected.clone() }.into());
        }
        console.told(Shape::Settled, &format!("its host key is {shown}, as you said"));
        return Ok(());
    }
    console.told(Shape::Unknown, &format!("its host key is {shown}"));
    if args.yes {
        return Ok(());
    }
    let question =
        "  On the host: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub\n  Is it the same? [y/N] ";
    match console.asks(question) {
        Some(true) => Ok(()),
        Some(false) => Err(Fault::NotConfirmed.into()),
        // Looking without a terminal trusts nobody with anything.
        None if args.dry_run => Ok(()),
        None => Err(Fault::KeyNotSeen { address, shown }.into()),
    }
}

/// Everything that will be made there.
fn plan(name: &str, settings: &Enrolment, from: &[IpAddr]) -> Vec<String> {
    let place = Place::default();
    let from = match from {
        [] => String::new(),
        some => {
            format!(", from {} alone", some.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "))
        }
    };
    let units = settings.units.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let guarded = [Some(&settings.ssh), settings.vpn.as_ref(), settings.firewall.as_ref()];
    let guarded = guarded.into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let roles = [Role::Act, Role::Rescue].map(|role| format!("holdfast-{role}")).join(" and ");
    vec![
        format!("the program {}", place.program.display()),
        format!(
            "the user {OBSERVER} without rights, of the group systemd-journal; home /var/lib/{OBSERVER} with one line in authorized_keys"
        ),
        format!("two lines in root's authorized_keys, {roles}: forced commands of that program{from}"),
        format!("{}: {units} may be changed; it is reached by {guarded}", place.settings.display()),
        format!("{}: what it remembers, and generation 0, the host as it was found", place.state.display()),
        format!("here: three keys and its host key in state/steward/{name}, and a line in config.yaml"),
    ]
}

fn shown_plan(address: &str, plan: &[String], item: &str) -> String {
    let lines: String = plan.iter().map(|line| format!("  · {line}\n")).collect();
    format!(
        "\nwhat will be made on {address}; `holdfast target remove` takes all of it away\n{lines}\n  {item}\n\n"
    )
}

// --- doing it

fn record_of(args: &AddArgs, person: &Person, prepared: &Prepared) -> Record {
    Record {
        version: record::VERSION,
        target: prepared.name.clone(),
        user: person.account.user.clone(),
        host: person.account.host.clone(),
        address: person.address.clone(),
        port: person.port,
        is_root: prepared.found.is_root(),
        host_key: prepared.host_key.fingerprint(),
        units: args.units.clone(),
        endpoint: args.endpoint.clone(),
        from: args.from.clone(),
        os: prepared.found.os(),
        inventory: Some(prepared.found.inventory()),
        began: time(now()),
        begun: Vec::new(),
        finished: false,
        config: None,
        guard: None,
    }
}

/// What the journal is told: nothing of a key but the host's fingerprint.
fn entry(record: &Record) -> Value {
    json!({
        "target": record.target,
        "address": record.address,
        "port": record.port,
        "host_key": record.host_key,
        "user": record.user,
        "units": record.units,
        "endpoint": record.endpoint,
        "inventory": record.inventory,
    })
}

/// Every step, then the proofs. The configuration comes last: what it names works.
fn taken_in(
    site: &mut Site<'_>,
    prepared: &Prepared,
    house: &House,
    console: &Console,
) -> Result<(Vec<Finding>, bool), Fault> {
    let done = |text: &str, began: Instant| {
        console.progress("");
        console.told(Shape::Settled, &format!("{text}{}", took(began.elapsed())));
    };
    let began = Instant::now();
    site.make_keys(&prepared.host_key)?;
    done("three keys were made here", began);
    let began = Instant::now();
    console.progress("sending the program …");
    site.put_program(&prepared.program)?;
    done("the program is there", began);
    let began = Instant::now();
    console.progress("taking the doorman in …");
    site.arrive(prepared.settings.clone())?;
    done("the doorman is taken in, with generation 0", began);
    console.progress("proving it …");
    let sockets = tempfile::tempdir().map_err(here("a folder for connections"))?;
    let way = way(&site.record, house, &sockets);
    let proofs = proof::prove(&way, &prepared.settings.units, proof::Rescue::Here).found;
    way.hang_up();
    console.progress("");
    told(&proofs, console);
    if interrupt::has_left() {
        return Err(Fault::Interrupted { step: "it is proved".to_owned() });
    }
    let wrong = bad(&proofs);
    if !wrong.is_empty() {
        return Err(Fault::Unproved { address: site.person.address.clone(), what: wrong });
    }
    let configured = site.configure(&prepared.new)?;
    site.record.finished = true;
    site.record.write(site.places)?;
    Ok((proofs, configured))
}

/// What came of it.
#[derive(Default)]
struct Done {
    proofs: Vec<Finding>,
    configured: bool,
    recorded_as: Option<u64>,
}

fn show(
    args: &AddArgs,
    person: &Person,
    prepared: &Prepared,
    done: &Done,
    console: &mut Console,
) -> Result<Exit> {
    let (name, Done { proofs, configured, recorded_as }) = (&prepared.name, done);
    if console.is_json() {
        console.json(&json!({
            "target": name,
            "address": person.address,
            "port": person.port,
            "host_key": prepared.host_key.fingerprint(),
            "units": args.units.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "level": "observe",
            "dry_run": args.dry_run,
            "findings": listed(&prepared.findings),
            "inventory": prepared.found.inventory(),
            "plan": prepared.plan,
            "proofs": listed(proofs),
            "configured": configured,
            "snippet": configure::snippet(&prepared.item),
            "guarded": false,
            "recorded_as": recorded_as,
        }))?;
        return Ok(Exit::Ok);
    }
    if args.dry_run {
        let mark = console.out_style.shape(Shape::Unknown);
        console.line(&format!("{mark} nothing was changed, there or here"))?;
        return Ok(Exit::Ok);
    }
    if !*configured {
        console.warn("config.yaml is written in a way that nothing is added to by this program; add the target yourself:");
        console.line(&configure::snippet(&prepared.item))?;
    }
    let mark = console.out_style.shape(Shape::Settled);
    console.line(&format!(
        "{mark} {name} is taken in, at the level observe: it is looked at and nothing is changed"
    ))?;
    console.line("  a daemon that runs looks at it after `holdfast down` and `holdfast up`; then `holdfast steward status`")?;
    console.line(&format!(
        "  nobody guards it yet, so nothing is ever tried there: `holdfast target guard {name}` gives it one"
    ))?;
    console.line(&format!(
        "  `holdfast target check {name}` at any time; `holdfast target remove {name}` undoes all of this"
    ))?;
    Ok(Exit::Ok)
}
