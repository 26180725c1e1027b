//! A guard for a host that was taken in: its rescue key goes to the tripwire, the tripwire is told of it, every way back is tried, and
//! the daemon learns where the guard's heart beats. And all of it back again.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use holdfast_config as config;
use holdfast_doorman::wire::Role;
use holdfast_lifeline::TargetName;
use holdfast_probe::{Check, FORMS, Malformed};
use holdfast_tripwire::charge::{Answer, Request, Take};
use holdfast_tripwire::settings::Route;
use serde::{Deserialize, Serialize};

use super::Fault;
use super::configure::{self, Inserted};
use super::edit::Edit;
use super::hand::{Hand, Post};
use super::hands::Hands;
use super::person::here;
use super::record::{Record, Step, known};
use crate::places::Places;

/// What was done for it, in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guarded {
    pub(crate) settings: PathBuf,
    /// Where its heart beats.
    pub(crate) hearts: PathBuf,
    pub(crate) second: Option<Route>,
    /// What was put into config.yaml, where there was nothing.
    pub(crate) config: Option<Inserted>,
    /// All of it was done, and the key is no longer here.
    pub(crate) finished: bool,
}

/// What people said.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) second: Option<Route>,
    pub(crate) probes: Vec<Check>,
    pub(crate) references: Vec<Check>,
}

/// A host's name or number, and its port where it is not ssh's.
pub(crate) fn route(text: &str) -> Result<Route, String> {
    let (host, port) = match text.rsplit_once(':') {
        // One colon, or a number in brackets: what is after it is a port.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, port.parse().ok().filter(|port| *port > 0).ok_or("the port is a number from 1 to 65535")?)
        }
        _ => (text, 22),
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let plain = !address.is_empty()
        && !address.starts_with('-')
        && address.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:%".contains(&b));
    match plain {
        true => Ok(Route { address: address.to_owned(), port, user: "root".to_owned() }),
        false => Err("it is a host's name or number, and its port where that is not 22".to_owned()),
    }
}

/// A look at something, as it stands in the configuration; an address alone has to take connections.
pub(crate) fn look(text: &str) -> Result<Check, String> {
    let said = |e: Malformed| format!("{e}; it is ADDRESS:PORT, or one of {FORMS}");
    match text.contains("://") || text.starts_with("tailscale:") {
        true => text.parse().map_err(said),
        false => text.parse().map(|address| Check::Tcp { address }).map_err(said),
    }
}

/// Whom one could name as a reference: the name servers of this machine, by its resolv.conf, that are not itself and not the host.
pub(crate) fn suggested(resolv: &str, host: &str) -> Vec<String> {
    resolv
        .lines()
        .filter_map(|line| line.strip_prefix("nameserver")?.split_whitespace().next()?.parse::<IpAddr>().ok())
        .filter(|address| !address.is_loopback() && address.to_string() != host)
        .map(|address| match address {
            IpAddr::V4(address) => format!("{address}:53"),
            IpAddr::V6(address) => format!("[{address}]:53"),
        })
        .take(2)
        .collect()
}

/// What is handed over. The key is read here and nowhere else.
pub(crate) fn taking(record: &Record, wish: &Wish, post: &Post, places: &Places) -> Result<Take, Fault> {
    let folder = Record::folder(places, &record.target);
    let read =
        |path: PathBuf| std::fs::read_to_string(&path).map_err(here(&format!("reading {}", path.display())));
    Ok(Take {
        name: name(record)?,
        first: Route { address: record.address.clone(), port: record.port, user: "root".to_owned() },
        second: wish.second.clone(),
        probes: wish.probes.clone(),
        references: wish.references.clone(),
        key: read(folder.join(Role::Rescue.as_str()))?,
        known_hosts: read(folder.join("known_hosts"))?,
        places: (!post.is_system).then(|| post.work.clone()),
    })
}

fn name(record: &Record) -> Result<TargetName, Fault> {
    record.target.parse().map_err(|_| Fault::Here {
        what: record.target.clone(),
        said: "it is no name of a target".to_owned(),
    })
}

/// Puts the paths of the guard into config.yaml, unless they are there. Says whether they are.
pub(crate) fn configure(
    record: &mut Record,
    post: &Post,
    places: &Places,
    hands: &mut Hands,
) -> Result<bool, Fault> {
    let path = places.config();
    let reading = || here(&format!("reading {}", path.display()));
    let text = configure::read(&path).map_err(reading())?.unwrap_or_else(|| "version: 1\n".to_owned());
    let told = configure::steward_of(&text);
    let is_told = |steward: &config::Steward| {
        let (windows, hearts) = (&steward.tripwire.windows, &steward.tripwire.hearts);
        let same = |said: &Option<config::AbsolutePath>, is: &Path| {
            said.as_ref().is_some_and(|path| path.as_path() == is)
        };
        same(windows, &post.work.windows) && same(hearts, &post.work.run)
    };
    if told.as_ref().is_some_and(is_told) {
        return Ok(true);
    }
    let edit = Edit::Guard { windows: post.work.windows.clone(), hearts: post.work.run.clone() };
    let Some((with, Some(inserted))) = edit.applied(&text) else { return Ok(false) };
    if let Some(guard) = &mut record.guard {
        guard.config = Some(inserted);
    }
    record.begin(Step::Guard, places)?;
    hands.write(&path, &edit, &with)?;
    Ok(true)
}

/// Takes the host out of the tripwire's hands and the paths out of config.yaml. May be said again until nothing is left.
pub(crate) fn undo(record: &mut Record, places: &Places, hands: &mut Hands) -> Result<bool, Fault> {
    let Some(guard) = record.guard.clone() else { return Ok(false) };
    let post = Post { settings: guard.settings.clone(), ..Post::of(places, &config::Steward::default()) };
    let mut own = None;
    let hand = match &mut hands.guard {
        Some(hand) => hand,
        None => own.insert(Hand::own(&post)?),
    };
    let answer = hand.ask(&Request::Release { name: name(record)? })?;
    if !answer.done {
        return Err(refused(&answer));
    }
    unconfigure(record, &guard, places, hands)?;
    record.guard = None;
    Ok(true)
}

pub(crate) fn refused(answer: &Answer) -> Fault {
    Fault::Here {
        what: "holdfast-tripwire".to_owned(),
        said: answer.why.clone().unwrap_or_else(|| "it gave no reason".to_owned()),
    }
}

/// While another host is guarded the paths stay, and are its to take out.
fn unconfigure(record: &Record, guard: &Guarded, places: &Places, hands: &mut Hands) -> Result<(), Fault> {
    let Some(inserted) = &guard.config else { return Ok(()) };
    let others = known(places).into_iter().filter(|name| *name != record.target);
    let heir = others.filter_map(|name| Record::read(places, &name).ok()).find(|it| it.guard.is_some());
    if let Some(mut heir) = heir {
        if let Some(guard) = &mut heir.guard {
            guard.config = Some(inserted.clone());
        }
        return heir.write(places);
    }
    let path = places.config();
    let text = configure::read(&path).map_err(here(&format!("reading {}", path.display())))?;
    // What a person has written otherwise since is theirs.
    let edit = Edit::Unguard { inserted: inserted.clone() };
    let Some((without, _)) = text.and_then(|text| edit.applied(&text)) else { return Ok(()) };
    hands.write(&path, &edit, &without)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_a_host_and_perhaps_a_port_and_never_an_option() {
        let read = |text: &str| route(text).map(|it| (it.address, it.port)).ok();
        let pair = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(read("203.0.113.7"), pair("203.0.113.7", 22));
        assert_eq!(read("box-1.example:2222"), pair("box-1.example", 2222));
        assert_eq!(read("2001:db8::1"), pair("2001:db8::1", 22));
        assert_eq!(read("[2001:db8::1]:2222"), pair("2001:db8::1", 2222));
        for bad in ["", "-oProxyCommand=x", "a b", "box:0", "box:99999", "box:x", "root@box", "$(id)"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn name_servers_are_suggested_but_neither_this_machine_nor_the_host_itself() {
        let resolv = "# mine\nsearch lan\nnameserver 127.0.0.53\nnameserver 192.168.1.1\nnameserver 192.168.1.9\nnameserver 2001:db8::53\nnameserver x\n";
        assert_eq!(suggested(resolv, "192.168.1.9"), ["192.168.1.1:53", "[2001:db8::53]:53"]);
        assert!(suggested("", "box").is_empty());
    }
}
