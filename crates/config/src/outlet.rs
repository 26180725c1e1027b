//! What the egress section is made of: destinations that no other setting names.

use std::ops::RangeInclusive;

use serde_json::json;

use crate::member::Item;
use crate::reach::{ADDRESS, REASON};
use crate::scalar::written;
use crate::tree::{Kind, Node};
use crate::value::{Mismatch, Shape, Value, choice};

choice! {
    /// Who may reach a destination.
    pub enum OutletUser {
        /// The daemon's user.
        Daemon = "daemon",
        /// The tripwire's user.
        Tripwire = "tripwire",
    }
}

choice! {
    /// How a destination is spoken to.
    pub enum OutletProtocol {
        Tcp = "tcp",
        Udp = "udp",
        /// Echoes alone; it has no port.
        Icmp = "icmp",
    }
}

/// A destination that is declared by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    pub host: String,
    /// 0 where the protocol has none.
    pub port: u16,
    pub protocol: OutletProtocol,
    pub user: OutletUser,
    /// What wants it: a setting whose own value is a secret, or a few words.
    pub reason: String,
}

const ITEM: Item = Item {
    word: "destination",
    words: "a destination as `{ host, port, for, protocol, user }`, of which host and for must be there, and port unless it is icmp",
};
const KEYS: [&str; 5] = ["host", "port", "for", "protocol", "user"];
const PORT: RangeInclusive<u32> = 1..=65_535;

impl Value for Outlet {
    type Rule = ();

    fn read(node: &Node, (): &()) -> Result<Outlet, Mismatch> {
        let wrong = |what: &str| ITEM.wrong(what);
        let Kind::Map(entries) = &node.kind else {
            return Err(wrong("this is something else"));
        };
        let (mut host, mut port, mut reason) = (None, None, None);
        let (mut protocol, mut user) = (OutletProtocol::Tcp, OutletUser::Daemon);
        for entry in entries {
            let value = &entry.value;
            match entry.key.as_str() {
                "host" => host = Some(ITEM.part(entry, ADDRESS.read(value))?),
                "port" => port = Some(ITEM.part(entry, u32::read(value, &PORT))?),
                "for" => reason = Some(ITEM.part(entry, REASON.read(value))?),
                "protocol" => protocol = ITEM.part(entry, OutletProtocol::read(value, &()))?,
                "user" => user = ITEM.part(entry, OutletUser::read(value, &()))?,
                _ => return Err(ITEM.unknown(entry, &KEYS)),
            }
        }
        let host = host.ok_or_else(|| wrong("this has no host"))?;
        let reason = reason.ok_or_else(|| wrong("this does not say what it is for"))?;
        let port = match (protocol, port) {
            (OutletProtocol::Icmp, None) => 0,
            (OutletProtocol::Icmp, Some(_)) => return Err(wrong("this has a port, which icmp has not")),
            (_, None) => return Err(wrong("this has no port")),
            // The range has been looked at.
            (_, Some(port)) => u16::try_from(port).unwrap_or(u16::MAX),
        };
        Ok(Outlet { host, port, protocol, user, reason })
    }

    /// What is as it would be anyway is left out.
    fn shown(&self) -> String {
        let Outlet { host, port, protocol, user, reason } = self;
        let mut parts = vec![format!("host: {}", written(host))];
        parts.extend((*port != 0).then(|| format!("port: {port}")));
        parts.push(format!("for: {}", written(reason)));
        parts.extend((*protocol != OutletProtocol::Tcp).then(|| format!("protocol: {}", protocol.shown())));
        parts.extend((*user != OutletUser::Daemon).then(|| format!("user: {}", user.shown())));
        format!("{{ {} }}", parts.join(", "))
    }

    fn shape((): &()) -> Shape {
        let schema = json!({
            "type": "object",
            "properties": {
                "host": ADDRESS.schema(),
                "port": u32::shape(&PORT).schema,
                "for": REASON.schema(),
                "protocol": OutletProtocol::shape(&()).schema,
                "user": OutletUser::shape(&()).schema,
            },
            "required": ["host", "for"],
            "if": { "properties": { "protocol": { "const": "icmp" } }, "required": ["protocol"] },
            "then": { "properties": { "port": false } },
            "else": { "required": ["port"] },
            "additionalProperties": false,
        });
        let examples = [
            "{ host: hooks.example.org, port: 443, for: notifications.webhook.url }",
            "{ host: 192.0.2.1, for: router, protocol: icmp, user: tripwire }",
        ];
        let shape = Shape::new(ITEM.words, schema, examples.map(str::to_owned).to_vec());
        Shape { words_known: KEYS.map(str::to_owned).to_vec(), ..shape }
    }
}
