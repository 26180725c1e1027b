//! The packet filter's rules, as `nft` reads them. Pure.
//!
//! Nothing of a setting becomes a word here: numbers, addresses and the words of this file are all there is, so no name can say anything to
//! the filter. All of it lies in one table of our own; a transaction replaces it, or what its sets hold, as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::book::Book;
use crate::destination::{Host, Protocol};
use crate::machine::{Resolvers, Uids};
use crate::wanted::{Wanted, Who};

pub const TABLE: &str = "holdfast_egress";
/// Where refused packets are told of. Groups are few and nobody gives them out; this one is our port's number.
pub(crate) const LOG_GROUP: u16 = 9095;
/// So much of a packet says where it was to go.
pub(crate) const LOG_BYTES: u32 = 96;
/// So many refused packets a second are told of, for each user; all of them are counted.
const LOG_RATE: u32 = 50;
const LOG_BURST: u32 = 100;
const DNS_PORT: u16 = 53;
/// More than this the filter is not given: something is wrong with whoever gave us addresses.
const ELEMENTS_MAX: usize = 65_536;

/// Everything the filter is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    uids: Uids,
    daemon: Sets,
    tripwire: Sets,
}

/// What one user may reach, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sets {
    places4: BTreeSet<(Ipv4Addr, Protocol, u16)>,
    places6: BTreeSet<(Ipv6Addr, Protocol, u16)>,
    echo4: BTreeSet<Ipv4Addr>,
    echo6: BTreeSet<Ipv6Addr>,
    serves: BTreeSet<u16>,
}

impl Rules {
    /// The list with its names as numbers, and the machine's name servers.
    pub fn of(wanted: &Wanted, uids: Uids, resolvers: &Resolvers, book: &Book) -> Rules {
        let sets = |who: Who| {
            let mut sets = Sets { serves: wanted.reachable(who).serves.clone(), ..Sets::default() };
            for server in &resolvers.servers {
                sets.add(*server, Protocol::Udp, DNS_PORT);
                sets.add(*server, Protocol::Tcp, DNS_PORT);
            }
            for destination in wanted.reachable(who).destinations.keys() {
                match &destination.host {
                    Host::Ip(ip) => sets.add(*ip, destination.protocol, destination.port),
                    Host::Name(name) => {
                        book.addresses(name)
                            .for_each(|ip| sets.add(ip, destination.protocol, destination.port));
                    }
                }
            }
            sets
        };
        Rules { uids, daemon: sets(Who::Daemon), tripwire: sets(Who::Tripwire) }
    }

    fn sets(&self, who: Who) -> &Sets {
        match who {
            Who::Daemon => &self.daemon,
            Who::Tripwire => &self.tripwire,
        }
    }

    /// How many places a user may reach, by number.
    pub fn count(&self, who: Who) -> usize {
        self.sets(who).count()
    }

    /// Whether the way from one to the other is an exchange of what the sets hold.
    pub fn differ_in_sets_alone(&self, other: &Rules) -> bool {
        self.uids == other.uids
            && Who::ALL.iter().all(|who| self.sets(*who).serves == other.sets(*who).serves)
    }

    /// One transaction that puts all of it in the place of whatever is there of ours.
    pub fn whole(&self) -> String {
        let mut text = format!("add table inet {TABLE}\ndelete table inet {TABLE}\n");
        text.push_str(&self.table());
        text
    }

    /// The table alone.
    pub fn table(&self) -> String {
        let mut text = format!("table inet {TABLE} {{\n");
        for who in Who::ALL {
            self.sets(who).declare(who, &mut text);
        }
        for who in Who::ALL {
            self.sets(who).chain(who, &mut text);
        }
        text.push_str("\tchain out {\n\t\ttype filter hook output priority 0; policy accept;\n");
        for who in Who::ALL {
            let _ = writeln!(text, "\t\tmeta skuid {} goto {}", self.uids.of(who), who.word());
        }
        text.push_str("\t}\n}\n");
        text
    }

    /// One transaction that changes what the sets hold, and nothing else.
    pub fn exchange(&self) -> String {
        let mut text = String::new();
        for who in Who::ALL {
            for (name, elements) in self.sets(who).elements(who) {
                let _ = writeln!(text, "flush set inet {TABLE} {name}");
                if !elements.is_empty() {
                    let _ = writeln!(text, "add element inet {TABLE} {name} {{ {} }}", elements.join(", "));
                }
            }
        }
        text
    }
}

impl Sets {
    fn count(&self) -> usize {
        self.places4.len() + self.places6.len() + self.echo4.len() + self.echo6.len()
    }

    fn add(&mut self, ip: IpAddr, protocol: Protocol, port: u16) {
        if self.count() >= ELEMENTS_MAX {
            return;
        }
        let _new = match (ip.to_canonical(), protocol) {
            (IpAddr::V4(ip), Protocol::Tcp | Protocol::Udp) => self.places4.insert((ip, protocol, port)),
            (IpAddr::V6(ip), Protocol::Tcp | Protocol::Udp) => self.places6.insert((ip, protocol, port)),
            (IpAddr::V4(ip), Protocol::Icmp) => self.echo4.insert(ip),
            (IpAddr::V6(ip), Protocol::Icmp) => self.echo6.insert(ip),
            (_, Protocol::Other) => false,
        };
    }

    /// Each set by its name, with what it holds.
    fn elements(&self, who: Who) -> BTreeMap<String, Vec<String>> {
        let word = who.word();
        let place = |ip: &dyn std::fmt::Display, protocol: Protocol, port: u16| {
            format!("{ip} . {} . {port}", protocol.word())
        };
        let places4 = self.places4.iter().map(|(ip, protocol, port)| place(ip, *protocol, *port));
        let places6 = self.places6.iter().map(|(ip, protocol, port)| place(ip, *protocol, *port));
        BTreeMap::from([
            (format!("{word}_places4"), places4.collect()),
            (format!("{word}_places6"), places6.collect()),
            (format!("{word}_echo4"), self.echo4.iter().map(ToString::to_string).collect()),
            (format!("{word}_echo6"), self.echo6.iter().map(ToString::to_string).collect()),
        ])
    }

    fn declare(&self, who: Who, text: &mut String) {
        let _ = writeln!(text, "\tcounter {}_refused {{ }}", who.word());
        for (name, elements) in self.elements(who) {
            let kind = match name.strip_prefix(who.word()) {
                Some("_places4") => "ipv4_addr . inet_proto . inet_service",
                Some("_places6") => "ipv6_addr . inet_proto . inet_service",
                Some("_echo4") => "ipv4_addr",
                _ => "ipv6_addr",
            };
            let _ = write!(text, "\tset {name} {{ type {kind};");
            if !elements.is_empty() {
                let _ = write!(text, " elements = {{ {} }};", elements.join(", "));
            }
            text.push_str(" }\n");
        }
    }

    /// What is not declared is counted, told of, and dropped: whoever tries again in a second may find it open by then.
    fn chain(&self, who: Who, text: &mut String) {
        let word = who.word();
        let _ = writeln!(
            text,
            "\tchain {word} {{\n\
             \t\toifname \"lo\" accept\n\
             \t\tip daddr . meta l4proto . th dport @{word}_places4 accept\n\
             \t\tip6 daddr . meta l4proto . th dport @{word}_places6 accept\n\
             \t\ticmp type echo-request ip daddr @{word}_echo4 accept\n\
             \t\ticmpv6 type echo-request ip6 daddr @{word}_echo6 accept"
        );
        for port in &self.serves {
            // Not the first packet of a connection: only whoever calls us is answered.
            let _ = writeln!(text, "\t\ttcp sport {port} tcp flags & (fin | syn | rst | ack) != syn accept");
        }
        let _ = writeln!(
            text,
            "\t\tcounter name {word}_refused\n\
             \t\tlimit rate {LOG_RATE}/second burst {LOG_BURST} packets log prefix \"{word}\" group {LOG_GROUP} snaplen {LOG_BYTES}\n\
             \t\tdrop\n\t}}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::Destination;

    const UIDS: Uids = Uids { daemon: 992, tripwire: 991 };

    fn wanted(hosts: &[(&str, Protocol, u16)]) -> Wanted {
        let mut wanted = Wanted::default();
        for (host, protocol, port) in hosts {
            let host = Host::read(host).unwrap();
            let destination = Destination { host, protocol: *protocol, port: *port };
            wanted.daemon.destinations.insert(destination, BTreeSet::from(["test".to_owned()]));
        }
        wanted
    }

    #[test]
    fn the_rules_are_these() {
        let mut wanted = wanted(&[
            ("192.0.2.7", Protocol::Tcp, 22),
            ("2001:db8::7", Protocol::Udp, 500),
            ("192.0.2.1", Protocol::Icmp, 0),
            ("not-resolved.example", Protocol::Tcp, 443),
        ]);
        wanted.daemon.serves.insert(9095);
        let resolvers = Resolvers::read("nameserver 192.0.2.53\n");
        let rules = Rules::of(&wanted, UIDS, &resolvers, &Book::at_pace(1));
        insta::assert_snapshot!(format!("{}--- exchange\n{}", rules.whole(), rules.exchange()));
        assert_eq!(rules.count(Who::Daemon), 5);
        assert_eq!(rules.count(Who::Tripwire), 2);
    }

    #[test]
    fn a_change_of_addresses_is_an_exchange_and_one_of_users_or_ports_is_not() {
        let resolvers = Resolvers::read("");
        let book = Book::at_pace(1);
        let rules = |wanted: &Wanted, uids| Rules::of(wanted, uids, &resolvers, &book);
        let before = rules(&wanted(&[]), UIDS);
        assert!(before.differ_in_sets_alone(&rules(&wanted(&[("192.0.2.7", Protocol::Tcp, 22)]), UIDS)));
        assert!(!before.differ_in_sets_alone(&rules(&wanted(&[]), Uids { daemon: 5, ..UIDS })));
        let mut serving = wanted(&[]);
        serving.daemon.serves.insert(1);
        assert!(!before.differ_in_sets_alone(&rules(&serving, UIDS)));
    }

    proptest::proptest! {
        /// Whatever settings, hosts files and name servers hold, the filter hears only words of this file, numbers and addresses.
        #[test]
        fn nothing_of_a_setting_is_a_word_to_the_filter(hosts in proptest::collection::vec("[ -~\\n]{0,30}", 0..8), ip in proptest::num::u128::ANY) {
            let mut wanted = Wanted::default();
            let mut book = Book::at_pace(1);
            for text in &hosts {
                let known = crate::book::Known { name: text.clone(), addresses: vec![Ipv6Addr::from(ip).into()], trouble: None };
                book.remember(vec![known], std::time::Duration::ZERO);
                if let Some(host) = Host::read(text) {
                    wanted.daemon.destinations.insert(Destination::tcp(host, 1), BTreeSet::from([text.clone()]));
                }
            }
            let resolvers = Resolvers::read(&hosts.join("\n"));
            let rules = Rules::of(&wanted, UIDS, &resolvers, &book);
            let empty = Rules::of(&Wanted::default(), UIDS, &Resolvers::read(""), &Book::at_pace(1));
            let words = |text: &str| -> BTreeSet<String> {
                text.split(|c: char| c.is_whitespace() || c == ',').map(str::to_owned).collect()
            };
            let known = words(&empty.whole());
            for word in words(&rules.whole()) {
                assert!(known.contains(&word) || word.parse::<IpAddr>().is_ok() || word.parse::<u16>().is_ok(), "{word:?}");
            }
        }
    }
}
