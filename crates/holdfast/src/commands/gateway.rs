//! `holdfast gateway …`: who may come in by the gateway, and a way in for somebody who has none.
//!
//! Whoever can run this has the machine, and so everything on it: it is how the first owner comes in, and how one comes back who lost every device.

use clap::{Args, Subcommand};
use holdfast_control::{Answer, GatewayAnswer, GatewayAsk, GatewayLink, Request};
use holdfast_door::AuthorityCertificate;
use holdfast_types::{Actor, Exit};
use serde_json::json;

use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::{House, this_user};
use crate::look::{Shape, count, time};
use crate::problem::{CliError, Result};

/// See who may come in by the gateway, and make a one-time link
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    command: GatewayCommand,
}

#[derive(Debug, Subcommand)]
enum GatewayCommand {
    Link(LinkArgs),
    People(PeopleArgs),
    Links(LinksArgs),
    Authority(AuthorityArgs),
}

/// Make a link by which somebody comes in, once, within a quarter of an hour
///
/// Without an owner it is for the first one. With one it is for somebody by name, to register a device with: also for an owner
/// who lost every device. The daemon need not run.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast gateway link
  holdfast gateway link ana

JSON fields: name, url (null in a dry run), expires (null in a dry run), replaced (an older link for that person was open and \
opens nothing any more; null in a dry run), dry_run.")]
struct LinkArgs {
    /// For whom; the first owner is called `owner` where nothing is said
    name: Option<String>,

    /// Who makes it [default: uid:<number of the user>]
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,

    /// Say for whom it would be and make none
    #[arg(long)]
    dry_run: bool,
}

/// List who may come in
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: people[] with id, name, role (viewer, operator or owner), created, devices, sessions.")]
struct PeopleArgs {}

/// List the one-time links that are still open
///
/// Each lets somebody in until it is used or ends. An owner revokes one under Settings, People.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: links[] with id, purpose (first, invitation, device or recovered), name, role, created, expires.")]
struct LinksArgs {}

/// Print the certificate of this house's own authority
///
/// Where `gateway.tls.from` is `local`, phones and laptops have to be told of it once; the page /authority offers it too. Compare the fingerprint.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: name, fingerprint (SHA-256), pem.")]
struct AuthorityArgs {}

pub(crate) fn run(args: GatewayArgs, house: &House, console: &mut Console) -> Result<Exit> {
    match args.command {
        GatewayCommand::Link(args) => link(&args, house, console),
        GatewayCommand::People(PeopleArgs {}) => people(house, console),
        GatewayCommand::Links(LinksArgs {}) => links(house, console),
        GatewayCommand::Authority(AuthorityArgs {}) => authority(house, console),
    }
}

fn link(args: &LinkArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if args.dry_run {
        let name = args.name.as_deref().unwrap_or("the first owner");
        if console.is_json() {
            console.json(
                &json!({"name": name, "url": null, "expires": null, "replaced": null, "dry_run": true}),
            )?;
        } else {
            let mark = console.out_style.shape(Shape::Unknown);
            console.line(&format!("{mark} would make a one-time link for {name}"))?;
        }
        return Ok(Exit::Ok);
    }
    let actor = args.actor.clone().map_or_else(this_user, Ok)?;
    let wanted = GatewayAsk::Link { person: args.name.clone(), actor };
    let made = match ask(house, &Request::Gateway { ask: wanted }, console)? {
        Answer::Gateway(GatewayAnswer::Link(made)) => made,
        other => return Err(unexpected(&other)),
    };
    if console.is_json() {
        let GatewayLink { name, url, expires, replaced } = &made;
        console.json(&json!({
            "name": name, "url": url, "expires": expires, "replaced": replaced, "dry_run": false,
        }))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        console.line(&format!("{mark} for {}, once, until {}:", made.name, time(made.expires)))?;
        console.line(&format!("  {}", made.url))?;
        if made.replaced {
            console.line("  The older link for this person opens nothing any more.")?;
        }
    }
    Ok(Exit::Ok)
}

fn authority(house: &House, console: &mut Console) -> Result<Exit> {
    let found = AuthorityCertificate::at(&house.places.gateway_certificates());
    let made = found.map_err(|_| CliError::NoAuthority)?;
    if console.is_json() {
        console.json(&json!({"name": made.name, "fingerprint": made.fingerprint(), "pem": made.pem}))?;
    } else {
        console.aside(&format!("{}\n  SHA-256  {}\n", made.name, made.fingerprint()));
        console.write(made.pem.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn people(house: &House, console: &mut Console) -> Result<Exit> {
    let people = match ask(house, &Request::Gateway { ask: GatewayAsk::People }, console)? {
        Answer::Gateway(GatewayAnswer::People(people)) => people,
        other => return Err(unexpected(&other)),
    };
    if console.is_json() {
        console.json(&json!({"people": people}))?;
        return Ok(Exit::Ok);
    }
    if people.is_empty() {
        let mark = console.out_style.shape(Shape::NeedsYou);
        console.line(&format!(
            "{mark} nobody yet: `{} gateway link` lets the first owner in",
            house.places.program()
        ))?;
        return Ok(Exit::Ok);
    }
    for person in people {
        let mark = console.out_style.shape(Shape::Settled);
        let devices = count(u64::from(person.devices), "device", "devices");
        let sessions = count(u64::from(person.sessions), "session", "sessions");
        console.line(&format!("{mark} {}  {}  {devices}, {sessions}", person.name, person.role))?;
    }
    Ok(Exit::Ok)
}

fn links(house: &House, console: &mut Console) -> Result<Exit> {
    let links = match ask(house, &Request::Gateway { ask: GatewayAsk::Links }, console)? {
        Answer::Gateway(GatewayAnswer::Links(links)) => links,
        other => return Err(unexpected(&other)),
    };
    if console.is_json() {
        console.json(&json!({"links": links}))?;
        return Ok(Exit::Ok);
    }
    if links.is_empty() {
        console.line(&format!("{} none is open", console.out_style.shape(Shape::Settled)))?;
    }
    for link in links {
        let mark = console.out_style.shape(Shape::Unknown);
        let line = format!(
            "{mark} {}  {} for {}, {}  until {}",
            link.id,
            link.purpose,
            link.name,
            link.role,
            time(link.expires)
        );
        console.line(&line)?;
    }
    Ok(Exit::Ok)
}
