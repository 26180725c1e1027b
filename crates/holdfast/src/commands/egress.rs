//! `holdfast egress`: what the daemon and the tripwire may reach, whether that is so, and what was refused. It only looks: the program that
//! keeps to it is `holdfast-egress`.

use clap::{Args, Subcommand};
use holdfast_api::{
    Egress, EgressChecked, EgressDestination, EgressFinding, EgressGap, EgressPackets, EgressRefusal,
    EgressRefusals, EgressUser,
};
use holdfast_egress::{
    Destination, Gap, Known, Protocol, Row, Rules, Seen, Status, Uids, Unread, Who, World,
};
use holdfast_journal::SystemClock;
use holdfast_tripwire::clock::since_boot_ms;
use holdfast_types::{Clock as _, Exit, Problem, ProblemCode};

use crate::console::Console;
use crate::look::{Shape, Style, count, padded, time};
use crate::places::Places;
use crate::problem::{Failure, Result};

/// What the daemon and the tripwire may reach, and what was refused
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct EgressArgs {
    #[command(subcommand)]
    command: EgressCommand,
}

#[derive(Debug, Subcommand)]
enum EgressCommand {
    Show(ShowArgs),
    Check(CheckArgs),
    Refusals(RefusalsArgs),
}

/// Every destination that is declared, and which setting wants it
///
/// It is what the settings say now and what root lends, whether or not it is in force; `check` says that.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: users[] with user, uid, destinations[], serves[]; resolvers[], unknown[] with user, setting, why; only when --nft is given: nft. \
A destination has host, port, protocol, for.")]
struct ShowArgs {
    /// The rules as the packet filter is given them, with the addresses of names
    #[arg(long)]
    nft: bool,
}

/// Whether the rules are in force and every destination is known
///
/// Exit code 0: all is as declared, 1: something is not, 3: nobody keeps to it, so nothing is known.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: verdict, findings[] with what, state, message.")]
struct CheckArgs {}

/// What was refused in the last day
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: at, refusals[] with user, protocol, address, port, name, packets, first, last; unlisted, refused_packets[] with user, packets.")]
struct RefusalsArgs {}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    #[error("the list cannot be made: {why}")]
    NoList { why: String },
    #[error("nobody has kept to the list since this machine started")]
    NeverRan,
    #[error("how the rules are cannot be read: {why}")]
    NoStatus { why: String },
}

impl EgressError {
    pub(crate) fn problem(&self) -> Problem {
        const NOTHING: &str = "Nothing was changed; the rules in force stay.";
        const SERVICE: &str = "On a system install see `systemctl status holdfast-egress`.";
        let (number, hint) = match self {
            EgressError::NoList { .. } => {
                (1, "Look with root's rights, and check the settings with `holdfast config check`.")
            }
            EgressError::NeverRan => (2, SERVICE),
            EgressError::NoStatus { .. } => (3, SERVICE),
        };
        let code = ProblemCode { room: "EGR", number };
        let (what, untouched) = (self.to_string(), NOTHING.to_owned());
        Problem { code, exit: Exit::CouldNotCheck, what, untouched, hint: hint.to_owned() }
    }

    /// One of each.
    pub(crate) fn samples() -> Vec<EgressError> {
        vec![
            EgressError::NoList {
                why: "/etc/holdfast-tripwire/tripwire.json cannot be read: permission denied".to_owned(),
            },
            EgressError::NeverRan,
            EgressError::NoStatus { why: "permission denied".to_owned() },
        ]
    }
}

impl From<EgressError> for Failure {
    fn from(e: EgressError) -> Failure {
        Failure::Problem(Box::new(e.problem()))
    }
}

impl From<Unread> for EgressError {
    fn from(e: Unread) -> EgressError {
        EgressError::NoList { why: e.to_string() }
    }
}

pub(crate) fn run(args: &EgressArgs, places: &Places, console: &mut Console) -> Result<Exit> {
    let world = world(places);
    match &args.command {
        EgressCommand::Show(args) => show(args, &world, console),
        EgressCommand::Check(_) => check(&world, places, console),
        EgressCommand::Refusals(_) => refusals(&world, console),
    }
}

/// Where it all lies. A home has everything below it, so that nothing there is about the machine.
pub(crate) fn world(places: &Places) -> World {
    match places.home {
        None => World::of_system(),
        Some(_) => World::of_home(&places.etc, &places.state, &places.run),
    }
}

fn show(args: &ShowArgs, world: &World, console: &mut Console) -> Result<Exit> {
    let seen = declared(world)?;
    let nft = args.nft.then(|| rules(world, &seen)).transpose()?;
    let uids = world.uids();
    if console.is_json() {
        console.told_as_json(&listed(&seen, uids.as_ref().ok(), nft))?;
    } else {
        let text = nft.unwrap_or_else(|| told(&seen, uids.as_ref().ok(), console.out_style));
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// Every destination that is declared, and the rules that come of it where they are asked for.
pub(crate) fn reachable(places: &Places, nft: bool) -> Result<Egress> {
    let world = world(places);
    let seen = declared(&world)?;
    let nft = nft.then(|| rules(&world, &seen)).transpose()?;
    Ok(listed(&seen, world.uids().ok().as_ref(), nft))
}

/// What the settings say now, and what root lends.
fn declared(world: &World) -> Result<Seen> {
    let mut seen = world.look_at_any().map_err(EgressError::from)?;
    for loan in world.loans() {
        let until = loan.until(SystemClock::new().now(), since_boot_ms());
        let says = format!("lent to enrolment until {} ({})", time(until), loan.reason);
        seen.wanted.lend(&loan, &says);
    }
    Ok(seen)
}

fn rules(world: &World, seen: &Seen) -> Result<String> {
    let known = Status::read(&world.run).ok().flatten().map(|status| status.names).unwrap_or_default();
    let uids = world.uids().map_err(EgressError::from)?;
    let book = holdfast_egress::resolved(seen, known);
    Ok(Rules::of(&seen.wanted, uids, &seen.resolvers, &book).table())
}

fn listed(seen: &Seen, uids: Option<&Uids>, nft: Option<String>) -> Egress {
    let destination = |(it, wants): (&Destination, &std::collections::BTreeSet<String>)| EgressDestination {
        host: it.host.to_string(),
        port: (it.protocol != Protocol::Icmp).then_some(it.port),
        protocol: it.protocol.word().to_owned(),
        wanted_by: wants.iter().cloned().collect(),
    };
    let user = |who: Who| {
        let reachable = seen.wanted.reachable(who);
        EgressUser {
            user: who.user().to_owned(),
            uid: uids.map(|uids| uids.of(who)),
            serves: reachable.serves.iter().copied().collect(),
            destinations: reachable.destinations.iter().map(destination).collect(),
        }
    };
    let gap = |gap: &Gap| EgressGap {
        user: gap.who.user().to_owned(),
        setting: gap.setting.to_string(),
        why: gap.why.to_string(),
    };
    Egress {
        users: Who::ALL.map(user).into(),
        resolvers: seen.resolvers.servers.iter().map(ToString::to_string).collect(),
        unknown: seen.wanted.gaps.iter().map(gap).collect(),
        nft,
    }
}

fn told(seen: &Seen, uids: Option<&Uids>, style: Style) -> String {
    let mut out = String::new();
    for who in Who::ALL {
        let reachable = seen.wanted.reachable(who);
        let uid = uids.map(|uids| format!(" (uid {})", uids.of(who))).unwrap_or_default();
        out.push_str(&format!("{}{}\n", who.user(), style.faint(&uid)));
        let shown: Vec<(String, &str, String)> = reachable
            .destinations
            .iter()
            .map(|(it, wants)| {
                let wants = wants.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
                (it.to_string(), it.protocol.word(), wants)
            })
            .collect();
        if shown.is_empty() {
            out.push_str(&format!("  {}\n", style.faint("nothing is declared")));
        }
        let width = shown.iter().map(|(to, _, _)| to.len()).max().unwrap_or(0).min(48);
        for (to, protocol, wants) in shown {
            out.push_str(&format!(
                "  {}  {}  {}\n",
                padded(&to, width),
                padded(protocol, 4),
                style.faint(&wants)
            ));
        }
        for port in &reachable.serves {
            out.push_str(&format!("  answers whoever calls port {port}\n"));
        }
        out.push('\n');
    }
    let servers: Vec<String> = seen.resolvers.servers.iter().map(ToString::to_string).collect();
    out.push_str(&format!("Both reach this machine itself and its name servers ({}).\n", servers.join(", ")));
    for gap in &seen.wanted.gaps {
        let mark = style.shape(Shape::NeedsYou);
        out.push_str(&format!("{mark} {} of {}: {}\n", gap.setting, gap.who.user(), gap.why));
    }
    out
}

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Good,
    Wrong,
    Unknown,
}

impl Is {
    fn word(self) -> &'static str {
        match self {
            Is::Good => "good",
            Is::Wrong => "wrong",
            Is::Unknown => "unknown",
        }
    }

    fn shape(self) -> Shape {
        match self {
            Is::Good => Shape::Settled,
            Is::Wrong => Shape::NeedsYou,
            Is::Unknown => Shape::Unknown,
        }
    }
}

type Finding = (&'static str, Is, String);

fn check(world: &World, places: &Places, console: &mut Console) -> Result<Exit> {
    let found = findings(world, places);
    let (verdict, exit) = judged(&found);
    if console.is_json() {
        console.told_as_json(&checked(&found, verdict))?;
        return Ok(exit);
    }
    for (what, is, said) in &found {
        let mark = console.out_style.shape(is.shape());
        console.line(&format!("{mark} {}  {said}", padded(what, 8)))?;
    }
    Ok(exit)
}

/// Whether the rules are in force and every destination is known.
pub(crate) fn kept(places: &Places) -> EgressChecked {
    let found = findings(&world(places), places);
    checked(&found, judged(&found).0)
}

fn checked(found: &[Finding], verdict: Is) -> EgressChecked {
    let finding = |(what, is, said): &Finding| EgressFinding {
        what: (*what).to_owned(),
        state: is.word().to_owned(),
        message: said.clone(),
    };
    EgressChecked { verdict: verdict.word().to_owned(), findings: found.iter().map(finding).collect() }
}

fn judged(found: &[Finding]) -> (Is, Exit) {
    let is = |is| found.iter().any(|(_, state, _)| *state == is);
    match (is(Is::Wrong), is(Is::Unknown)) {
        (true, _) => (Is::Wrong, Exit::Negative),
        (_, true) => (Is::Unknown, Exit::CouldNotCheck),
        _ => (Is::Good, Exit::Ok),
    }
}

fn findings(world: &World, places: &Places) -> Vec<Finding> {
    let mut found = Vec::new();
    // In a home of one's own there is nobody else who could have written it.
    let seen = match places.home {
        None => world.look().map(|(seen, _)| seen),
        Some(_) => world.look_at_any(),
    };
    found.extend(settings(seen.as_ref()));
    found.push(match world.uids() {
        Ok(uids) => {
            ("users", Is::Good, format!("bound by their numbers {} and {}", uids.daemon, uids.tripwire))
        }
        Err(e) => ("users", Is::Wrong, e.to_string()),
    });
    match Status::read(&world.run) {
        Ok(Some(status)) => found.extend(in_force(&status)),
        Ok(None) => found.push(("rules", Is::Unknown, EgressError::NeverRan.to_string())),
        Err(e) => found.push(("rules", Is::Unknown, format!("how they are cannot be read: {e}"))),
    }
    found
}

fn settings(seen: Result<&Seen, &Unread>) -> Vec<Finding> {
    let seen = match seen {
        Ok(seen) => seen,
        Err(e) => return vec![("settings", Is::Wrong, e.to_string())],
    };
    let number = |who: Who| seen.wanted.reachable(who).destinations.len() as u64;
    let declared = count(number(Who::Daemon) + number(Who::Tripwire), "destination", "destinations");
    let mut found = vec![("settings", Is::Good, format!("{declared} declared"))];
    found.extend(
        seen.wanted.gaps.iter().map(|gap| {
            ("settings", Is::Wrong, format!("{} of {}: {}", gap.setting, gap.who.user(), gap.why))
        }),
    );
    found
}

fn in_force(status: &Status) -> Vec<Finding> {
    let mut found = Vec::new();
    if status.is_stale(SystemClock::new().now()) {
        let said = format!("last heard of at {}; what was given to the packet filter stays", time(status.at));
        return vec![("rules", Is::Unknown, said)];
    }
    found.push(match status.in_force {
        true => ("rules", Is::Good, "in force".to_owned()),
        false => ("rules", Is::Wrong, "not in force".to_owned()),
    });
    found.extend(status.trouble.iter().map(|said| ("rules", Is::Wrong, said.clone())));
    let silent = status.names.iter().filter_map(|Known { name, addresses, trouble }| {
        let kept = count(addresses.len() as u64, "address", "addresses");
        Some(("names", Is::Wrong, format!("{name}: {}; it keeps {kept}", trouble.as_ref()?)))
    });
    found.extend(silent);
    found
}

fn refusals(world: &World, console: &mut Console) -> Result<Exit> {
    let status = last_status(world)?;
    if console.is_json() {
        console.told_as_json(&refused_lately(&status))?;
    } else {
        let text = refused(&status, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn last_status(world: &World) -> Result<Status, EgressError> {
    let status = Status::read(&world.run).map_err(|e| EgressError::NoStatus { why: e.to_string() })?;
    status.ok_or(EgressError::NeverRan)
}

/// What was refused in the last day.
pub(crate) fn refusals_of(places: &Places) -> Result<EgressRefusals> {
    Ok(refused_lately(&last_status(&world(places))?))
}

fn refused_lately(status: &Status) -> EgressRefusals {
    let packets = |it: &holdfast_egress::UserStatus| EgressPackets {
        user: it.user.to_string(),
        packets: it.refused_packets,
    };
    EgressRefusals {
        at: status.at,
        refusals: status.refusals.iter().map(refusal).collect(),
        unlisted: status.refusals_unlisted,
        refused_packets: status.users.iter().map(packets).collect(),
    }
}

fn refusal(row: &Row) -> EgressRefusal {
    let Row { user, protocol, address, port, name, packets, first, last } = row;
    EgressRefusal {
        user: user.to_string(),
        protocol: protocol.word().to_owned(),
        address: address.to_string(),
        port: *port,
        name: name.as_ref().map(ToString::to_string),
        packets: *packets,
        first: *first,
        last: *last,
    }
}

fn refused(status: &Status, style: Style) -> String {
    if status.refusals.is_empty() {
        return format!("{} nothing was refused in the last day\n", style.shape(Shape::Settled));
    }
    let place = |row: &Row| match (row.port, row.address) {
        (0, address) => address.to_string(),
        (port, std::net::IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
        (port, address) => format!("{address}:{port}"),
    };
    let width = status.refusals.iter().map(|row| place(row).len()).max().unwrap_or(0);
    let mut out = String::new();
    for row in &status.refusals {
        let name = row
            .name
            .as_ref()
            .map(|name| format!("  declared as {name} for something else"))
            .unwrap_or_default();
        out.push_str(&format!(
            "  {}  {}  {}  {:>6}  {}{}\n",
            padded(&row.user, 17),
            padded(&place(row), width),
            padded(row.protocol.word(), 5),
            row.packets,
            style.faint(&time(row.last)),
            style.faint(&name),
        ));
    }
    if status.refusals_unlisted > 0 {
        let more = count(status.refusals_unlisted, "packet", "packets");
        out.push_str(&format!("  and {more} more, to destinations that are not listed\n"));
    }
    let all: u64 = status.users.iter().map(|user| user.refused_packets).sum();
    out.push_str(&format!(
        "\n{} {} refused since the rules are kept; what is meant goes under `egress.also` in config.yaml\n",
        style.shape(Shape::NeedsYou),
        count(all, "packet", "packets"),
    ));
    out
}
