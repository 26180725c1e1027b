//! What the gateway's services are made of: programs of this machine that people reach through it.

use std::net::SocketAddr;

use serde_json::json;

use crate::diagnostic::Code;
use crate::forms::HostName;
use crate::member::Item;
use crate::scalar::{Meaning, written};
use crate::tree::{Kind, Node};
use crate::value::{Mismatch, Shape, Value, choice, single, text};

choice! {
    /// Who may use a service.
    pub enum ServiceRole {
        Viewer = "viewer",
        Operator = "operator",
        Owner = "owner",
    }
}

/// Where a service answers, always on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceAt {
    Port(SocketAddr),
    Socket(String),
}

/// A program of this machine that is reached through the gateway, under a host name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayService {
    pub name: String,
    pub host: HostName,
    pub to: ServiceAt,
    pub role: ServiceRole,
    /// Whose program it is, by name or number.
    pub user: Option<String>,
}

const ITEM: Item = Item {
    word: "service",
    words: "a service as `{ name, host, to, role, user }`, of which role and user may be left out",
};
const KEYS: [&str; 5] = ["name", "host", "to", "role", "user"];
const NAME: &str = "a name of 1 to 32 characters of a-z 0-9 -, the first a letter";
const TO: &str = "an address of this machine like `127.0.0.1:3000`, or the absolute path of a socket";
const USER: &str = "the name of a user of this machine, or its number";
const USER_PATTERN: &str = "^([a-z_][a-z0-9_-]{0,31}|[0-9]{1,9})$";
const NAME_PATTERN: &str = "^[a-z][a-z0-9-]{0,31}$";

impl Value for GatewayService {
    type Rule = ();

    fn read(node: &Node, (): &()) -> Result<GatewayService, Mismatch> {
        let Kind::Map(entries) = &node.kind else {
            return Err(ITEM.wrong("this is something else"));
        };
        let (mut name, mut host, mut to, mut role, mut user) = (None, None, None, ServiceRole::Owner, None);
        for entry in entries {
            let value = &entry.value;
            match entry.key.as_str() {
                "name" => name = Some(ITEM.part(entry, name_of(value))?),
                "host" => host = Some(ITEM.part(entry, HostName::read(value, &()))?),
                "to" => to = Some(ITEM.part(entry, place_of(value))?),
                "role" => role = ITEM.part(entry, ServiceRole::read(value, &()))?,
                "user" => user = Some(ITEM.part(entry, user_of(value))?),
                _ => return Err(ITEM.unknown(entry, &KEYS)),
            }
        }
        Ok(GatewayService {
            name: name.ok_or_else(|| ITEM.wrong("this has no name"))?,
            host: host.ok_or_else(|| ITEM.wrong("this has no host"))?,
            to: to.ok_or_else(|| ITEM.wrong("this does not say where it answers"))?,
            role,
            user,
        })
    }

    /// What is as it would be anyway is left out.
    fn shown(&self) -> String {
        let to = match &self.to {
            ServiceAt::Port(address) => address.to_string(),
            ServiceAt::Socket(path) => path.clone(),
        };
        let mut parts = vec![
            format!("name: {}", written(&self.name)),
            format!("host: {}", self.host.shown()),
            format!("to: {}", written(&to)),
        ];
        parts.extend((self.role != ServiceRole::Owner).then(|| format!("role: {}", self.role.shown())));
        parts.extend(self.user.as_deref().map(|user| format!("user: {}", written(user))));
        format!("{{ {} }}", parts.join(", "))
    }

    fn shape((): &()) -> Shape {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "pattern": NAME_PATTERN },
                "host": HostName::shape(&()).schema,
                "to": { "type": "string", "pattern": r"^(/[^\u0000-\u001f]+|127\.[0-9.]+:[0-9]{1,5}|\[::1\]:[0-9]{1,5})$" },
                "role": ServiceRole::shape(&()).schema,
                "user": { "type": ["string", "integer"], "pattern": USER_PATTERN, "minimum": 0, "maximum": 999_999_999 },
            },
            "required": ["name", "host", "to"],
            "additionalProperties": false,
        });
        let examples = [
            "{ name: prometheus, host: prometheus.localhost, to: 127.0.0.1:9090, user: prometheus }",
            "{ name: scout, host: scout.hold.example, to: /run/scout/web.sock, role: viewer }",
        ];
        let shape = Shape::new(ITEM.words, schema, examples.map(str::to_owned).to_vec());
        Shape { words_known: KEYS.map(str::to_owned).to_vec(), ..shape }
    }
}

fn wrong(words: &str) -> Mismatch {
    Mismatch::new(Code::WrongValue, format!("takes {words}, and this is something else"))
}

fn name_of(node: &Node) -> Result<String, Mismatch> {
    let found = text(node, NAME)?;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let good = (1..=32).contains(&found.len())
        && found.bytes().all(plain)
        && found.starts_with(|c: char| c.is_ascii_lowercase());
    good.then(|| found.to_owned()).ok_or_else(|| wrong(NAME))
}

/// As in /etc/passwd. A number may stand there bare.
fn user_of(node: &Node) -> Result<String, Mismatch> {
    let found = match single(node, USER)? {
        Meaning::Whole(number) => number.to_string(),
        _ => text(node, USER)?.to_owned(),
    };
    let is_number = (1..=9).contains(&found.len()) && found.bytes().all(|b| b.is_ascii_digit());
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b);
    let is_name = (1..=32).contains(&found.len())
        && found.bytes().all(plain)
        && found.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    (is_number || is_name).then_some(found).ok_or_else(|| wrong(USER))
}

/// Nothing of another machine: the gateway is a door of this one.
fn place_of(node: &Node) -> Result<ServiceAt, Mismatch> {
    let found = text(node, TO)?;
    if found.starts_with('/')
        && !found.split('/').any(|part| part == "..")
        && !found.contains(char::is_control)
    {
        return Ok(ServiceAt::Socket(found.to_owned()));
    }
    let address: Option<SocketAddr> = found.parse().ok();
    let here = address.filter(|address| address.ip().is_loopback() && address.port() > 0);
    here.map(ServiceAt::Port).ok_or_else(|| wrong(TO))
}
