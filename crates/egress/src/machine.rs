//! What the machine's own files say: who the users are, who is asked for names, and which names it knows by itself. Pure readers of texts.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use crate::destination::is_name;
use crate::wanted::Who;

/// As many as the C library asks.
const RESOLVERS_MAX: usize = 3;
const SEARCH_MAX: usize = 6;
const NDOTS_MAX: usize = 15;
/// systemd gives these numbers to services for as long as they run, and then to others.
const DYNAMIC: std::ops::RangeInclusive<u32> = 61_184..=65_519;
const NOBODY: u32 = 65_534;
/// What stands where a login shell would, when nobody can log in.
const NO_SHELLS: [&str; 4] = ["/usr/sbin/nologin", "/sbin/nologin", "/bin/false", "/usr/bin/false"];

/// Why no rule can be about a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBound {
    #[error("there is no user {0} on this machine: install the package, or make it with systemd-sysusers")]
    Missing(&'static str),
    #[error("the user {0} has the number 0: rules about it would bind the whole machine")]
    Root(&'static str),
    #[error(
        "the user {0} has the number {1}, which the system gives to others for a while: give it one of its own"
    )]
    Passing(&'static str, u32),
    #[error("the user {0} has the number {1}, and so has {2}: rules about one would bind both")]
    Shared(&'static str, u32, String),
    #[error("somebody can log in as {0} (its shell is {1}): rules about it would bind a person")]
    Login(&'static str, String),
}

/// The numbers of the two users, by what /etc/passwd says. Numbers are what the filter matches, so they have to be these users' alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uids {
    pub daemon: u32,
    pub tripwire: u32,
}

impl Uids {
    pub fn read(passwd: &str) -> Result<Uids, NotBound> {
        Ok(Uids { daemon: uid_of(passwd, Who::Daemon)?, tripwire: uid_of(passwd, Who::Tripwire)? })
    }

    pub fn of(self, who: Who) -> u32 {
        match who {
            Who::Daemon => self.daemon,
            Who::Tripwire => self.tripwire,
        }
    }
}

struct Account<'a> {
    name: &'a str,
    uid: u32,
    shell: &'a str,
}

fn accounts(passwd: &str) -> impl Iterator<Item = Account<'_>> {
    passwd.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, _, _, _, shell] = fields.as_slice() else { return None };
        Some(Account { name, uid: uid.parse().ok()?, shell })
    })
}

fn uid_of(passwd: &str, who: Who) -> Result<u32, NotBound> {
    let user = who.user();
    let account = accounts(passwd).find(|account| account.name == user).ok_or(NotBound::Missing(user))?;
    let uid = account.uid;
    if uid == 0 {
        return Err(NotBound::Root(user));
    }
    if uid == NOBODY || DYNAMIC.contains(&uid) {
        return Err(NotBound::Passing(user, uid));
    }
    if let Some(other) = accounts(passwd).find(|account| account.uid == uid && account.name != user) {
        return Err(NotBound::Shared(user, uid, plain(other.name)));
    }
    if !NO_SHELLS.contains(&account.shell) {
        return Err(NotBound::Login(user, plain(account.shell)));
    }
    Ok(uid)
}

fn plain(text: &str) -> String {
    holdfast_types::printable(text).chars().take(80).collect()
}

/// Who is asked for names, and how short ones are completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolvers {
    pub servers: Vec<IpAddr>,
    search: Vec<String>,
    ndots: usize,
}

impl Resolvers {
    /// As the C library reads resolv.conf; without any server it asks this machine.
    pub fn read(resolv: &str) -> Resolvers {
        let mut found = Resolvers { servers: Vec::new(), search: Vec::new(), ndots: 1 };
        for line in resolv.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => found.servers.extend(words.next().and_then(address)),
                Some("search" | "domain") => {
                    let named = words.map(|name| name.trim_end_matches('.').to_ascii_lowercase());
                    found.search = named.filter(|name| is_name(name)).take(SEARCH_MAX).collect();
                }
                Some("options") => {
                    let ndots =
                        words.filter_map(|word| word.strip_prefix("ndots:")?.parse().ok()).next_back();
                    found.ndots = ndots.unwrap_or(found.ndots).min(NDOTS_MAX);
                }
                _ => {}
            }
        }
        found.servers.truncate(RESOLVERS_MAX);
        if found.servers.is_empty() {
            found.servers.push(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        found
    }

    /// The full names to ask for, in order.
    pub fn candidates(&self, name: &str) -> Vec<String> {
        let below = self.search.iter().map(|domain| format!("{name}.{domain}")).filter(|name| is_name(name));
        let as_it_is = std::iter::once(name.to_owned());
        if name.matches('.').count() >= self.ndots {
            as_it_is.chain(below).collect()
        } else {
            below.chain(as_it_is).collect()
        }
    }
}

fn address(text: &str) -> Option<IpAddr> {
    let bare = text.split_once('%').map_or(text, |(address, _)| address);
    bare.parse().ok().map(|ip: IpAddr| ip.to_canonical())
}

/// The names in /etc/hosts.
pub(crate) fn hosts(text: &str) -> BTreeMap<String, Vec<IpAddr>> {
    let mut found: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
    for line in text.lines() {
        let line = line.split_once('#').map_or(line, |(before, _)| before);
        let mut words = line.split_whitespace();
        let Some(ip) = words.next().and_then(address) else { continue };
        for name in words.map(|name| name.trim_end_matches('.').to_ascii_lowercase()) {
            if is_name(&name) {
                found.entry(name).or_default().push(ip);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "root:x:0:0:root:/root:/bin/bash\nholdfast:x:992:992::/var/lib/holdfast:/usr/sbin/nologin\n\
        holdfast-tripwire:x:991:991::/:/usr/sbin/nologin\nana:x:1000:1000::/home/ana:/bin/bash\n";

    #[test]
    fn only_users_with_a_number_of_their_own_are_bound() {
        assert_eq!(Uids::read(GOOD), Ok(Uids { daemon: 992, tripwire: 991 }));
        let with = |from: &str, to: &str| Uids::read(&GOOD.replace(from, to)).unwrap_err().to_string();
        assert!(with("holdfast:x:992", "other:x:992").contains("there is no user holdfast on this machine"));
        assert!(with("holdfast:x:992", "holdfast:x:0").contains("would bind the whole machine"));
        assert!(with("holdfast:x:992", "holdfast:x:1000").contains("and so has ana"));
        assert!(with("holdfast:x:992", "holdfast:x:61184").contains("gives to others for a while"));
        assert!(with("holdfast:x:992", "holdfast:x:65534").contains("gives to others for a while"));
        assert!(with("/:/usr/sbin/nologin", "/:/bin/sh").contains("log in as holdfast-tripwire"));
        assert!(with("holdfast-tripwire:x:991", "holdfast-tripwire:x:992").contains("and so has"));
        assert!(with("holdfast:x:992:", "holdfast:x:9x:").contains("there is no user holdfast"));
        assert!(Uids::read("").is_err());
    }

    #[test]
    fn resolvers_are_those_of_the_machine() {
        let found = Resolvers::read(
            "# made\nnameserver 192.0.2.53\nnameserver fe80::1%eth0\nsearch Lan. a;b\noptions rotate ndots:2\nnameserver nonsense",
        );
        assert_eq!(
            found.servers.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["192.0.2.53", "fe80::1"]
        );
        assert_eq!(found.candidates("box-1"), ["box-1.lan", "box-1"]);
        assert_eq!(found.candidates("a.b.c"), ["a.b.c", "a.b.c.lan"]);
        let none = Resolvers::read("");
        assert_eq!(none.servers, [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
        assert_eq!(none.candidates("a.b"), ["a.b"]);
    }

    #[test]
    fn names_the_machine_knows_are_read() {
        let known =
            hosts("127.0.0.1 localhost # x\n192.0.2.7 Box-1.lan box-1\n\n2001:db8::7 box-1\nbad line\n");
        assert_eq!(known["box-1"].len(), 2);
        assert_eq!(known["box-1.lan"].len(), 1);
        assert!(!known.contains_key("line"));
    }
}
