//! Texts with a form of their own: addresses, paths, names. Each is parsed once, here; what holds one needs no check.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::diagnostic::Code;
use crate::quote::quoted;
use crate::scalar::written;
use crate::tree::{Kind, Node};
use crate::value::{Mismatch, Shape, Value, text};

/// A path from the root, without `..` and without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsolutePath(String);

/// A host as it stands in a URL: letters, digits, dots and dashes, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

/// The beginning of the names of environment variables that hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariablePrefix(String);

/// One word of a command line. Its debug form is redacted: people write tokens into arguments.
#[derive(Clone, PartialEq, Eq)]
pub struct Argument(String);

/// Where a git repository lies: on the web, or in a folder of this machine. Without a user, a password or a token. Its debug form is
/// redacted all the same.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteUrl(String);

/// A branch of a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchName(String);

/// From when to when it is quiet, and by the clock of which place: `22:00-07:00 Europe/Brussels`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietHours(String);

/// A mailbox: `ops@example.org`. Its debug form is redacted: it is somebody's.
#[derive(Clone, PartialEq, Eq)]
pub struct MailAddress(String);

/// A channel of a chat: `#ops`, or its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatChannel(String);

/// The address of a server, without a user, a query or a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(String);

/// An address, or a network as `10.0.0.0/24`, from which somebody else's proxy connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyAddress(String);

/// The name of a secret. The secret itself is never in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretRef(String);

impl AbsolutePath {
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    pub fn to_path_buf(&self) -> PathBuf {
        PathBuf::from(&self.0)
    }
}

impl HostName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RemoteUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a server's, and not a folder.
    pub(crate) fn is_on_the_web(&self) -> bool {
        self.0.starts_with("http")
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteUrl(…)")
    }
}

impl BranchName {
    pub fn main() -> BranchName {
        BranchName("main".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl QuietHours {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl MailAddress {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for MailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MailAddress(…)")
    }
}

impl ChatChannel {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ProxyAddress {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ServerUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl VariablePrefix {
    /// What the program's own secrets begin with. No setting's variable does.
    pub const OWN: &str = "HOLDFAST_SECRET_";

    pub fn own() -> VariablePrefix {
        VariablePrefix(VariablePrefix::OWN.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Argument {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Argument(…)")
    }
}

impl SecretRef {
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{ secret: {} }}", written(&self.0))
    }
}

/// Refuses text of the wrong form, saying what form it has to have.
fn form(found: &str, words: &str, good: bool) -> Result<String, Mismatch> {
    if good {
        return Ok(found.to_owned());
    }
    Err(Mismatch::new(Code::WrongValue, format!("takes {words}, and this is the text {}", quoted(found))))
}

/// Gives a text type its [`Value`]: the words for it, its pattern, its longest length, examples, whether a list may
/// have it twice, whether a wrong value may be repeated, what no pattern says, and how a list of it is told.
macro_rules! text_form {
    ($name:ident, $words:literal, $pattern:literal, $max:literal, [$($example:literal),+], $repeat:ident, $wrong:ident, $good:expr $(, $told_all:expr)?) => {
        impl Value for $name {
            type Rule = ();
            const MAY_REPEAT: bool = text_form!(@is $repeat);

            fn read(node: &Node, (): &()) -> Result<$name, Mismatch> {
                let said = |wrong: Mismatch| match text_form!(@is $wrong) {
                    true => wrong,
                    // What helps is in words of our own.
                    false => Mismatch { help: wrong.help, ..Mismatch::unsaid(wrong.code, $words) },
                };
                let good: fn(&str) -> bool = $good;
                let found = text(node, $words).map_err(said)?;
                let bounded = !found.is_empty() && found.len() <= $max && !found.chars().any(char::is_control);
                form(found, $words, bounded && good(found)).map($name).map_err(said)
            }

            fn shown(&self) -> String {
                written(&self.0)
            }

            $(
                fn told_all(items: &[$name]) -> String {
                    let told_all: fn(&[$name]) -> String = $told_all;
                    told_all(items)
                }
            )?

            fn shape((): &()) -> Shape {
                let schema = json!({ "type": "string", "pattern": $pattern, "minLength": 1, "maxLength": $max });
                let shape = Shape::new($words, schema, vec![$( written($example), )+]);
                Shape { secret: !text_form!(@is $wrong), ..shape }
            }
        }
    };
    (@is once) => { false };
    (@is repeated) => { true };
    (@is unsaid) => { false };
}

// Whoever misreads `credentials.age_identity` writes the key itself here, and not the path of its file.
text_form!(
    AbsolutePath,
    "an absolute path without `..`",
    "^/[^\\u0000-\\u001f]*$",
    4096,
    ["/srv/holdfast/one", "/srv/holdfast/two"],
    once,
    unsaid,
    |text| text.starts_with('/') && !text.split('/').any(|part| part == "..")
);
// Whoever misreads the key writes the URL of a webhook here, and that is often its password.
text_form!(
    HostName,
    "a host name in lower case, without port or path",
    "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
    253,
    ["hooks.example", "192.0.2.7"],
    once,
    unsaid,
    |text| {
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        text.split('.').all(label)
    }
);
// A variable must never be both a secret and a setting. A secret may be written here instead of its variable's name.
text_form!(
    VariablePrefix,
    "capital letters, digits and `_`, not beginning as a setting's variable does",
    "^[A-Z][A-Z0-9_]*$",
    64,
    ["MY_SECRET_", "APP_"],
    once,
    unsaid,
    |text| {
        text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            && (text.starts_with(VariablePrefix::OWN)
                || !(text.starts_with("HOLDFAST_") || "HOLDFAST_".starts_with(text)))
    }
);
text_form!(
    Argument,
    "a text of at most 4096 bytes without control characters",
    "^[^\\u0000-\\u001f]*$",
    4096,
    ["/usr/bin/pass", "show", "{name}"],
    repeated,
    unsaid,
    |_| true,
    |items| {
        let program = items.first().filter(|program| program.0.starts_with('/')).map(Argument::shown);
        let arguments = items.len() - usize::from(program.is_some());
        let counted = (arguments > 0).then(|| match arguments {
            1 => "… 1 argument".to_owned(),
            more => format!("… {more} arguments"),
        });
        format!("[{}]", program.into_iter().chain(counted).collect::<Vec<_>>().join(", "))
    }
);

// A token may be written into the address, which then is a secret.
text_form!(
    RemoteUrl,
    "`https://host/owner/name.git`, or `file:///folder` for one on this machine",
    "^(https://|http://(127\\.0\\.0\\.1|localhost|\\[::1\\]):|file:///)[^@?#\\s\\u0000-\\u001f]+$",
    500,
    ["https://forge.example/ana/applied.git", "file:///srv/git/applied.git"],
    once,
    unsaid,
    |text| {
        let starts = ["https://", "http://127.0.0.1:", "http://localhost:", "http://[::1]:", "file:///"];
        starts.iter().any(|start| text.len() > start.len() && text.starts_with(start))
            && !text.contains(['@', '?', '#', '\\'])
            && !text.contains(char::is_whitespace)
            && text.splitn(4, '/').nth(3).is_some_and(|path| text.starts_with("file") || path.contains('/'))
    }
);
// A network of more than a house would make everybody a proxy.
text_form!(
    ProxyAddress,
    "an address like `127.0.0.1`, or a network like `10.0.0.0/24`, at least /8, or /32 of IPv6",
    "^[0-9a-f.:]+(/[0-9]{1,3})?$",
    60,
    ["127.0.0.1", "172.18.0.0/16"],
    once,
    repeated,
    |text| {
        let (address, same) =
            text.split_once('/').map_or((text, None), |(address, same)| (address, Some(same)));
        let fits = |least: u8, most: u8| match same {
            None => true,
            Some(same) => same.parse().is_ok_and(|same: u8| (least..=most).contains(&same)),
        };
        match address.parse() {
            Ok(std::net::IpAddr::V4(_)) => fits(8, 32),
            Ok(std::net::IpAddr::V6(_)) => fits(32, 128),
            Err(_) => false,
        }
    }
);
text_form!(
    BranchName,
    "the name of a branch: letters, digits, `.`, `_`, `-` and `/`",
    "^[A-Za-z0-9][A-Za-z0-9._/-]*$",
    100,
    ["main", "trunk"],
    once,
    repeated,
    |text| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._/-".contains(&b))
            && !text.contains("..")
            && !text.contains("//")
            && !text.ends_with(['/', '.'])
            && !text.ends_with(".lock")
    }
);

text_form!(
    QuietHours,
    "from when to when and where, as `22:00-07:00 Europe/Brussels`",
    "^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9] [A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z][A-Za-z0-9_+-]*)*$",
    80,
    ["22:00-07:00 Europe/Brussels", "12:30-13:15 UTC"],
    once,
    repeated,
    |text| {
        let time = |text: &str| {
            let digits = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
            text.split_once(':')
                .is_some_and(|(hour, minute)| digits(hour) && digits(minute) && hour < "24" && minute < "60")
        };
        let zone = |zone: &str| {
            zone.split('/').all(|part| {
                part.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
                    && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'-'))
            })
        };
        text.split_once(' ').is_some_and(|(hours, place)| {
            let span = hours.split_once('-');
            span.is_some_and(|(from, until)| time(from) && time(until) && from != until) && zone(place)
        })
    }
);
// Whoever misreads the key writes a password beside it.
text_form!(
    MailAddress,
    "an address of mail such as `ops@example.org`, in ASCII and without a name",
    "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+$",
    254,
    ["ops@example.org", "ana@mail.example.net"],
    once,
    unsaid,
    |text| {
        let local = |part: &str| {
            let sign = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&b);
            !part.is_empty() && part.bytes().all(sign)
        };
        let label = |part: &str| {
            (1..=63).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        text.split_once('@').is_some_and(|(name, domain)| {
            name.len() <= 64 && name.split('.').all(local) && domain.split('.').all(label)
        })
    }
);
text_form!(
    ChatChannel,
    "a channel such as `#ops`, or its id",
    "^#?[A-Za-z0-9][A-Za-z0-9._-]*$",
    80,
    ["#ops", "C024BE91L"],
    once,
    unsaid,
    |text| {
        let name = text.strip_prefix('#').unwrap_or(text);
        name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    }
);
// A token or a topic may be written into the address, which then is a secret.
text_form!(
    ServerUrl,
    "`https://host`, or `http://host:port` for one of your own network, without a user or a query",
    "^https?://[^@?#\\s\\u0000-\\u001f]+$",
    500,
    ["https://ntfy.example.org", "http://192.168.1.9:8080"],
    once,
    unsaid,
    |text| {
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && !host.starts_with(['/', ':']))
            && !text.contains(['@', '?', '#', '\\'])
            && !text.contains(char::is_whitespace)
    }
);

impl Value for SocketAddr {
    type Rule = ();

    fn read(node: &Node, (): &()) -> Result<SocketAddr, Mismatch> {
        const WORDS: &str = "an address with a port";
        const HELP: &str = "for example `127.0.0.1:9095`, or `\"[::1]:9095\"` with its quotes";
        let found = text(node, WORDS).map_err(|wrong| wrong.help(HELP))?;
        let good: Option<SocketAddr> = found.parse().ok().filter(|address: &SocketAddr| address.port() > 0);
        good.ok_or_else(|| match form(found, WORDS, false) {
            Err(wrong) => wrong.help(HELP),
            Ok(_) => Mismatch::wrong_type(node, WORDS),
        })
    }

    fn shown(&self) -> String {
        written(&self.to_string())
    }

    fn shape((): &()) -> Shape {
        let pattern = r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}$";
        let schema = json!({ "type": "string", "pattern": pattern });
        let examples = vec!["127.0.0.1:9195".to_owned(), written("[::1]:9095")];
        Shape::new("an address with a port", schema, examples)
    }
}

impl SecretRef {
    const WORDS: &str = "the name of a secret as `{ secret: name }`";

    fn good(name: &str) -> bool {
        let sign = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        (1..=64).contains(&name.len())
            && name.bytes().next().is_some_and(sign)
            && name.bytes().all(|b| sign(b) || matches!(b, b'_' | b'-'))
    }
}

/// What was written here instead of a name may be the secret itself, so no message repeats it.
impl Value for SecretRef {
    type Rule = ();

    fn read(node: &Node, (): &()) -> Result<SecretRef, Mismatch> {
        let wrong = |code, what: &str| {
            Mismatch::new(code, format!("takes {}, and {what}", SecretRef::WORDS))
                .help("keep the secret in a credential source and write its name here")
        };
        let Kind::Map(entries) = &node.kind else {
            let code = if matches!(node.kind, Kind::Scalar(_)) { Code::PlainSecret } else { Code::WrongType };
            return Err(wrong(code, &format!("this is {}", node.found_unsaid())));
        };
        let [entry] = entries.as_slice() else {
            return Err(wrong(Code::WrongType, "this is a map with other keys"));
        };
        if entry.key != "secret" {
            return Err(wrong(Code::WrongType, "this is a map with another key"));
        }
        let name = match &entry.value.kind {
            Kind::Scalar(scalar) if scalar.is_text() && SecretRef::good(scalar.text()) => scalar.text(),
            _ => {
                let form =
                    "this name is not one: 1 to 64 of a-z, 0-9, `_` and `-`, the first a letter or digit";
                return Err(wrong(Code::WrongValue, form));
            }
        };
        Ok(SecretRef(name.to_owned()))
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn shape((): &()) -> Shape {
        let schema = json!({
            "type": "object",
            "properties": { "secret": { "type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$" } },
            "required": ["secret"],
            "additionalProperties": false,
        });
        let examples = vec!["{ secret: webhook-one }".to_owned(), "{ secret: webhook-two }".to_owned()];
        Shape { secret: true, ..Shape::new(SecretRef::WORDS, schema, examples) }
    }
}
