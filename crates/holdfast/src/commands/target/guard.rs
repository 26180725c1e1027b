//! `holdfast target guard`: a host that was taken in gets a guard, so that something may be tried on it.

use clap::Args;
use holdfast_config::Steward;
use holdfast_doorman::wire::Role;
use holdfast_probe::Check;
use holdfast_tripwire::charge::{Answer, Request};
use holdfast_tripwire::settings::Route;
use holdfast_types::Exit;
use serde_json::json;

use super::{told_of_the_way, written_down};
use crate::console::Console;
use crate::enrolment::guard::{self, Guarded, Wish};
use crate::enrolment::hand::{Hand, Post};
use crate::enrolment::hands::Hands;
use crate::enrolment::person::{HostKey, here, scan};
use crate::enrolment::record::{Record, Step};
use crate::enrolment::warrant::{Place, Warrant};
use crate::enrolment::{Aftermath, EnrolError, Fault};
use crate::house::House;
use crate::kinds::GUARDED;
use crate::look::Shape;
use crate::places::quoted;
use crate::problem::{CliError, Result};
use crate::settings::{self, Overlay};

const RESOLV: &str = "/etc/resolv.conf";

/// Give a host a guard, without which nothing is tried on it
///
/// The tripwire gets the key that undoes, and the daemon has it no longer. Every way back is tried up to going it; where one would not
/// work, nothing is changed. A second route goes to another address of the same host, which has to show the same key. References are
/// hosts that have nothing to do with it. In a system install this takes root. `holdfast target remove` undoes it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: target, plan[], ways[] with way, trouble (null when it works), settings (what the tripwire reads), hearts, service (what became of \
the tripwire's own; null where it is started by hand), configured, snippet (what config.yaml has to hold), recorded_as (the entry in the \
journal), dry_run.")]
pub(super) struct GuardArgs {
    /// Which
    name: String,

    /// Another address of the host, which leads there when the first does not
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = guard::route)]
    second: Option<Route>,

    /// Who has nothing to do with it and answers as a rule: your router, a public name server [default: the target's `references`]
    #[arg(long = "reference", value_name = "ADDRESS:PORT|LOOK", value_parser = guard::look)]
    references: Vec<Check>,

    /// Do it without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Show the plan; change nothing
    #[arg(long)]
    dry_run: bool,
}

impl GuardArgs {
    /// What root has said of the host.
    pub(super) fn warrant(&self) -> Warrant {
        Warrant {
            target: self.name.clone(),
            hosts: self.second.iter().map(|route| route.address.clone()).collect(),
            endpoint: None,
            reason: format!("target guard {}", self.name),
        }
    }
}

pub(super) fn run(args: &GuardArgs, house: &House, mut hands: Hands, console: &mut Console) -> Result<Exit> {
    let mut record = Record::read(&house.places, &args.name)?;
    let loaded = settings::load(&house.places, &Overlay::of_this_process(&[]))?;
    let wish = wish(&record, args, &loaded.config.steward)?;
    may_be(&record, &wish)?;
    let post = Post::of(&house.places, &loaded.config.steward);
    let plan = plan(&record, &wish, &post);
    if !console.is_json() {
        let lines: String = plan.iter().map(|line| format!("  · {line}\n")).collect();
        console.aside(&format!("\nhow {} will be guarded\n{lines}\n", record.target));
    }
    if args.dry_run {
        return show(args, &record, &post, &plan, &Done::default(), console);
    }
    match (args.yes, console.asks(&format!("Have {} guarded? [y/N] ", record.target))) {
        (true, _) | (false, Some(true)) => {}
        (false, Some(false)) => return Err(Fault::NotConfirmed.into()),
        (false, None) => return Err(Fault::NeedsYes.into()),
    }
    hands.look(console)?;
    if let Some(second) = &wish.second {
        let place = Place { host: second.address.clone(), port: second.port };
        told_of_the_way(&hands.lend(vec![place], console)?, console);
    }
    shows_its_key(&record, &wish, house)?;
    if hands.guard.is_none() {
        hands.guard = Some(Hand::own(&post)?);
    }
    // One that was cut off begins anew.
    guard::undo(&mut record, &house.places, &mut hands)?;
    console.progress("trying every way back …");
    let done = guarded(&mut record, &wish, house, &post, &mut hands);
    console.progress("");
    let mut done = match done {
        Ok(done) => done,
        Err(fault) => return Err(undone(record, fault, house, &mut hands).into()),
    };
    let body = json!({
        "target": record.target,
        "settings": post.settings,
        "second": args.second,
        "ways": done.answer.ways.iter().map(|way| way.way.as_str()).collect::<Vec<_>>(),
    });
    done.recorded_as = written_down(&GUARDED, body, house, console);
    show(args, &record, &post, &plan, &done, console)
}

/// What came of it.
#[derive(Default)]
struct Done {
    answer: Answer,
    configured: bool,
    recorded_as: Option<u64>,
}

/// What was said, and what the configuration says of the target: its endpoint and its probes have to be well, and its references are his.
fn wish(record: &Record, args: &GuardArgs, steward: &Steward) -> Result<Wish> {
    let target = steward.targets.iter().find(|target| target.name == record.target);
    let looks = |lines: Vec<&String>| -> Result<Vec<Check>> {
        let read = lines.into_iter().map(|line| guard::look(line)).collect::<Result<Vec<_>, String>>();
        Ok(read.map_err(|message| CliError::Usage { message })?)
    };
    let probes = record.endpoint.iter().chain(target.into_iter().flat_map(|it| &it.probes)).collect();
    let references = match args.references.as_slice() {
        [] => looks(target.into_iter().flat_map(|it| &it.references).collect())?,
        said => said.to_vec(),
    };
    Ok(Wish { second: args.second.clone(), probes: looks(probes)?, references })
}

fn may_be(record: &Record, wish: &Wish) -> Result<(), Fault> {
    let name = record.target.clone();
    if !record.finished {
        return Err(Fault::NotWhole { name });
    }
    if record.is_guarded() {
        return Err(Fault::IsGuarded { name });
    }
    if wish.references.is_empty() {
        let resolv = std::fs::read_to_string(RESOLV).unwrap_or_default();
        return Err(Fault::NoReferences { name, suggested: guard::suggested(&resolv, &record.address) });
    }
    Ok(())
}

fn plan(record: &Record, wish: &Wish, post: &Post) -> Vec<String> {
    let folder = post.settings.with_file_name(&record.target);
    let place = |route: &Route| format!("{} port {}", route.address, route.port);
    let second = wish
        .second
        .as_ref()
        .map(|route| format!(", and over {}, which has to show the same key", place(route)));
    let probes = record.endpoint.as_ref().map(|it| format!("; {it} has to answer")).unwrap_or_default();
    vec![
        format!(
            "its key for going back moves to {}; the daemon has it no longer",
            folder.join("rescue").display()
        ),
        format!("{}: {} is in the tripwire's charge{probes}", post.settings.display(), record.target),
        format!("it is reached at {} port {}{}", record.address, record.port, second.unwrap_or_default()),
        "every way back is tried up to going it; where one would not work, nothing of this is done"
            .to_owned(),
        format!("config.yaml: the guard's heart beats in {}", post.work.run.display()),
    ]
}

/// The second address leads to the same host: it has to show the key that was pinned.
fn shows_its_key(record: &Record, wish: &Wish, house: &House) -> Result<(), Fault> {
    let Some(second) = &wish.second else { return Ok(()) };
    let path = Record::folder(&house.places, &record.target).join("known_hosts");
    let text = std::fs::read_to_string(&path).map_err(here(&format!("reading {}", path.display())))?;
    let pinned = HostKey::pinned(&text).ok_or_else(|| Fault::Here {
        what: path.display().to_string(),
        said: "no host key is pinned there".to_owned(),
    })?;
    let shown = scan(&second.address, second.port, pinned.scanned_as())?;
    let (address, expected) = (second.address.clone(), pinned.fingerprint());
    match shown == pinned {
        true => Ok(()),
        false => Err(Fault::OtherKey { address, shown: shown.fingerprint(), expected }),
    }
}

/// Each step stands in the record before it is done.
fn guarded(
    record: &mut Record,
    wish: &Wish,
    house: &House,
    post: &Post,
    hands: &mut Hands,
) -> Result<Done, Fault> {
    let places = &house.places;
    let take = guard::taking(record, wish, post, places)?;
    record.guard = Some(Guarded {
        settings: post.settings.clone(),
        hearts: post.work.run.clone(),
        second: wish.second.clone(),
        config: None,
        finished: false,
    });
    record.begin(Step::Guard, places)?;
    let hand = hands.guard.as_mut().ok_or(Fault::NotRoot)?;
    let answer = hand.ask(&Request::Take(Box::new(take)))?;
    let failing: Vec<String> = answer.ways.iter().filter_map(|way| way.complaint()).collect();
    if !failing.is_empty() {
        return Err(Fault::NoWayBack { name: record.target.clone(), what: failing });
    }
    if !answer.done {
        return Err(guard::refused(&answer));
    }
    let configured = guard::configure(record, post, places, hands)?;
    let key = Record::folder(places, &record.target).join(Role::Rescue.as_str());
    if let Some(guard) = &mut record.guard {
        guard.finished = true;
    }
    record.write(places)?;
    // The last step: until here all of it can be undone.
    holdfast_durable::remove(&key).map_err(here("the key that was handed over"))?;
    Ok(Done { answer, configured, recorded_as: None })
}

/// The guard alone is taken back; the host stays as it was taken in.
fn undone(mut record: Record, fault: Fault, house: &House, hands: &mut Hands) -> EnrolError {
    let mut after = Aftermath::default();
    let took_back = guard::undo(&mut record, &house.places, hands).and_then(|undone| {
        record.ended(Step::Guard);
        record.write(&house.places).map(|()| undone)
    });
    match took_back {
        Ok(true) => after.undone.push(Step::Guard.what().to_owned()),
        Ok(false) => {}
        Err(e) => {
            after.remains.push(format!("{}: {e}", Step::Guard.what()));
            after.remedy = Some(crate::enrolment::remedy(&record.target));
        }
    }
    EnrolError { fault, after }
}

fn show(
    args: &GuardArgs,
    record: &Record,
    post: &Post,
    plan: &[String],
    done: &Done,
    console: &mut Console,
) -> Result<Exit> {
    let snippet = format!(
        "steward:\n  tripwire: {{ windows: {}, hearts: {} }}\n",
        json!(post.work.windows),
        json!(post.work.run)
    );
    let Done { answer, configured, recorded_as } = done;
    if console.is_json() {
        console.json(&json!({
            "target": record.target,
            "plan": plan,
            "ways": answer.ways,
            "settings": post.settings,
            "hearts": post.work.run,
            "service": answer.service,
            "configured": configured,
            "snippet": snippet,
            "recorded_as": recorded_as,
            "dry_run": args.dry_run,
        }))?;
        return Ok(Exit::Ok);
    }
    if args.dry_run {
        let mark = console.out_style.shape(Shape::Unknown);
        console.line(&format!("{mark} nothing was changed, there or here"))?;
        return Ok(Exit::Ok);
    }
    for way in &answer.ways {
        console.told(
            Shape::Settled,
            &format!("the {} would work", way.way).replace("references would work", "references answer"),
        );
    }
    if !*configured {
        console.warn(
            "config.yaml is written in a way that nothing is added to by this program; add this yourself:",
        );
        console.line(&snippet)?;
    }
    let mark = console.out_style.shape(Shape::Settled);
    console
        .line(&format!("{mark} {} is guarded; it stays at its level until you raise it", record.target))?;
    match &answer.service {
        Some(service) => console.line(&format!("  {service}"))?,
        None => console.line(&format!(
            "  the guard is a process of its own, which you start: holdfast-tripwire run {}",
            quoted(&post.settings)
        ))?,
    }
    console.line("  a daemon that runs reads it after `holdfast down` and `holdfast up`")?;
    Ok(Exit::Ok)
}
