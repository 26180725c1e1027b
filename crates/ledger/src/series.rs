//! The kinds of number: where each begins, how far it goes, and how its numbers are written.
//!
//! | series | base | first | last, unless declared otherwise | may ever be |
//! |---|---|---|---|---|
//! | `uid` | 4000 | 4001 | 59999 | 4001–59999: above people, below what systemd gives out |
//! | `vnc_port` | 5900 | 5901 | 5999 | 1024–32767: below the ports the kernel lends to whoever connects |
//! | `browser_port` | 9222 | 9222 | 9321 | the same |
//! | `port` | 20000 | 20000 | 29999 | the same |
//! | `subnet24` | 10.208.0.0 | 10.208.0.0/24 | 10.223.255.0/24 | private addresses of IPv4 |
//! | `subnet28` | 10.224.0.0 | 10.224.0.0/28 | 10.239.255.240/28 | the same |
//! | `mark` | 0x1000 | 0x1001 | 0x1fff | the same: bits 0 to 12, with bit 12 set |
//! | `interface` | 0 | hf1 | hf9999999 | the same |
//!
//! The base is what a number is counted from: VNC display 1 is port 5901.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a rule that matches on a mark of ours looks at. The other bits are left to whoever else marks packets: kubelet
/// (0x4000 and 0x8000), Tailscale (0xff0000). The marks that WireGuard's and other tools set as a whole have bit 12 clear.
pub const MARK_MASK: u32 = 0x1fff;

/// The ports of the house itself; see the decision on places and ports.
const OWN_PORTS: std::ops::RangeInclusive<u32> = 9095..=9097;

/// A kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Series {
    Uid,
    VncPort,
    BrowserPort,
    Port,
    /// A block of 256 addresses.
    Subnet24,
    /// A block of 16 addresses.
    Subnet28,
    Mark,
    Interface,
}

/// Where numbers can get in each other's way: a port is a port, whichever series it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    Uids,
    Ports,
    Subnets,
    Marks,
    Interfaces,
}

/// What a series is made of.
struct Terms {
    name: &'static str,
    space: Space,
    base: u32,
    first: u32,
    last: u32,
    /// How far it is from one number to the next.
    step: u32,
    rule: &'static str,
}

const PORT_RULE: &str = "ports are from 1024 to 32767, and 9095 to 9097 are Holdfast's own";
const SUBNET_RULE: &str = "subnets are whole blocks of private addresses";

impl Series {
    pub const ALL: [Series; 8] = [
        Series::Uid,
        Series::VncPort,
        Series::BrowserPort,
        Series::Port,
        Series::Subnet24,
        Series::Subnet28,
        Series::Mark,
        Series::Interface,
    ];

    fn terms(self) -> Terms {
        let terms =
            |name, space, base, first, last, step, rule| Terms { name, space, base, first, last, step, rule };
        let ports = |name, base, first, last| terms(name, Space::Ports, base, first, last, 1, PORT_RULE);
        let subnets = |name, first: [u8; 4], last: [u8; 4], step| {
            let (first, last) = (u32::from_be_bytes(first), u32::from_be_bytes(last));
            terms(name, Space::Subnets, first, first, last, step, SUBNET_RULE)
        };
        match self {
            Series::Uid => terms("uid", Space::Uids, 4000, 4001, 59_999, 1, "uids are from 4001 to 59999"),
            Series::VncPort => ports("vnc_port", 5900, 5901, 5999),
            Series::BrowserPort => ports("browser_port", 9222, 9222, 9321),
            Series::Port => ports("port", 20_000, 20_000, 29_999),
            // Away from what others take by default: services and pods of Kubernetes (10.96/12, 10.244/16), Podman
            // (10.88 and up, one by one), Docker (172.17 and up), and the zones of the fabric (10.100 to 10.150).
            Series::Subnet24 => subnets("subnet24", [10, 208, 0, 0], [10, 223, 255, 0], 256),
            Series::Subnet28 => subnets("subnet28", [10, 224, 0, 0], [10, 239, 255, 240], 16),
            Series::Mark => {
                terms("mark", Space::Marks, 0x1000, 0x1001, 0x1fff, 1, "marks are from 0x1001 to 0x1fff")
            }
            Series::Interface => {
                terms("interface", Space::Interfaces, 0, 1, 9_999_999, 1, "interfaces are from 1 to 9999999")
            }
        }
    }

    pub fn as_str(self) -> &'static str {
        self.terms().name
    }

    pub fn space(self) -> Space {
        self.terms().space
    }

    /// What its numbers are counted from.
    pub fn base(self) -> u32 {
        self.terms().base
    }

    /// How far it is from one number to the next: the addresses of a block, and else one.
    pub fn step(self) -> u32 {
        self.terms().step
    }

    /// The ends of the range it has of itself.
    pub(crate) fn ends(self) -> (u32, u32) {
        let Terms { first, last, .. } = self.terms();
        (first, last)
    }

    /// What [`Series::has`] goes by, in words.
    pub(crate) fn rule(self) -> &'static str {
        self.terms().rule
    }

    /// Whether this could ever be one of its numbers, in whatever range.
    pub(crate) fn has(self, raw: u32) -> bool {
        match self {
            Series::VncPort | Series::BrowserPort | Series::Port => {
                (1024..=32_767).contains(&raw) && !OWN_PORTS.contains(&raw)
            }
            // The private stretches begin and end where blocks do, so the first address speaks for all.
            Series::Subnet24 | Series::Subnet28 => {
                raw.is_multiple_of(self.step()) && Ipv4Addr::from_bits(raw).is_private()
            }
            Series::Uid | Series::Mark | Series::Interface => {
                let (first, last) = self.ends();
                (first..=last).contains(&raw)
            }
        }
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Series {
    type Err = String;

    fn from_str(text: &str) -> Result<Series, String> {
        let found = Series::ALL.into_iter().find(|series| series.as_str() == text);
        found.ok_or_else(|| format!("{:?} is no kind of number", text.chars().take(40).collect::<String>()))
    }
}

impl TryFrom<String> for Series {
    type Error = String;

    fn try_from(text: String) -> Result<Series, String> {
        text.parse()
    }
}

impl From<Series> for String {
    fn from(series: Series) -> String {
        series.as_str().to_owned()
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Uids => "uids",
            Space::Ports => "ports",
            Space::Subnets => "subnets",
            Space::Marks => "marks",
            Space::Interfaces => "interfaces",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_states_its_base_and_its_first_and_last_value() {
        let stated =
            |series: Series| format!("{series} {} {}..{}", series.base(), series.first(), series.last());
        let table: Vec<String> = Series::ALL.into_iter().map(stated).collect();
        assert_eq!(
            table,
            [
                "uid 4000 4001..59999",
                "vnc_port 5900 5901..5999",
                "browser_port 9222 9222..9321",
                "port 20000 20000..29999",
                "subnet24 181403648 10.208.0.0/24..10.223.255.0/24",
                "subnet28 182452224 10.224.0.0/28..10.239.255.240/28",
                "mark 4096 0x1001..0x1fff",
                "interface 0 hf1..hf9999999",
            ]
        );
        for series in Series::ALL {
            assert!(series.has(series.first().raw()) && series.has(series.last().raw()), "{series}");
            assert_eq!(series.as_str().parse(), Ok(series));
        }
        assert!("gid".parse::<Series>().is_err());
    }

    #[test]
    fn no_mark_touches_the_bits_of_others() {
        let (first, last) = (Series::Mark.first().raw(), Series::Mark.last().raw());
        for mark in first..=last {
            assert_eq!(mark & !MARK_MASK, 0);
            assert_eq!(mark & (0x4000 | 0x8000 | 0x00ff_0000), 0);
        }
        for foreign in [0xca6c, 0x6d6f_6c65, 0x4000, 0x8000, 0x4_0000, 0x8_0000, 0x100, 0xe00, 0xf00] {
            assert!(!(first..=last).contains(&(foreign & MARK_MASK)), "{foreign:#x}");
        }
    }
}
