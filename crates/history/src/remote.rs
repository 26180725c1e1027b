//! A repository elsewhere: what is there, and moving it on. The token goes by the environment of the one process that needs it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdfast_credentials::Secret;
use holdfast_git::{Ask, Network, NotDone};
use holdfast_probe::Url;

use crate::book::Refs;
use crate::repository::Repository;
use crate::settle::Move;

/// A forge on the other side of the world, and a few kilobytes.
const WITHIN: Duration = Duration::from_secs(120);

/// Where it is: `https://forge.example/owner/name.git`, or a folder of this machine as `file:///…`. Without encryption only on this
/// machine. It never holds a user or a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    Web(Url),
    Folder(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no address of a repository: expected https://host/owner/name.git, or file:///folder for one on this machine"
)]
pub struct NotAnAddress;

impl Address {
    /// The server, and the repository's name on it as `owner/name`.
    pub(crate) fn on_the_web(&self) -> Option<(&Url, String)> {
        let Kind::Web(url) = &self.0 else { return None };
        let text = url.to_string();
        let path = text.splitn(4, '/').nth(3).unwrap_or_default();
        Some((url, path.trim_end_matches('/').trim_end_matches(".git").to_owned()))
    }
}

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Address, NotAnAddress> {
        let is_plain =
            |text: &str| text.len() <= 500 && !text.chars().any(|c| c.is_control() || c.is_whitespace());
        if let Some(folder) = text.strip_prefix("file://").filter(|it| it.starts_with('/') && is_plain(it)) {
            return Ok(Address(Kind::Folder(folder.to_owned())));
        }
        let url: Url = text.parse().map_err(|_| NotAnAddress)?;
        let local = ["http://127.0.0.1:", "http://[::1]:", "http://localhost:"];
        let safe = text.starts_with("https://") || local.iter().any(|it| text.starts_with(it));
        let named = text
            .splitn(4, '/')
            .nth(3)
            .is_some_and(|path| path.contains('/') && !path.contains(['?', '#', '@']));
        if safe && named && is_plain(text) { Ok(Address(Kind::Web(url))) } else { Err(NotAnAddress) }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Web(url) => write!(f, "{url}"),
            Kind::Folder(path) => write!(f, "file://{path}"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[derive(Debug)]
pub struct Remote {
    address: Address,
    token: Option<Secret>,
}

impl Remote {
    pub fn new(address: Address, token: Option<Secret>) -> Remote {
        Remote { address, token }
    }

    /// Every branch and note that is there.
    pub fn look(&self, from: &Repository) -> Result<Refs, NotDone> {
        let address = self.address.to_string();
        let args = ["ls-remote", "--refs", "--quiet", &address, "refs/heads/*", "refs/notes/*"];
        let said = from.git().ask(self.ask("look at the repository elsewhere", &args))?;
        let read = |line: &str| {
            let (id, name) = line.split_once('\t')?;
            Some((name.to_owned(), id.parse().ok()?))
        };
        Ok(said.lines().filter_map(read).collect())
    }

    /// Moves references there, each from where it was seen.
    pub fn push(&self, from: &Repository, moves: &[Move]) -> Result<(), NotDone> {
        if moves.is_empty() {
            return Ok(());
        }
        let address = self.address.to_string();
        let lease = |it: &Move| {
            let seen = it.from.map(|id| id.to_string()).unwrap_or_default();
            format!("--force-with-lease={}:{seen}", it.name)
        };
        let spec = |it: &Move| format!("{}:{}", it.to.map(|id| id.to_string()).unwrap_or_default(), it.name);
        let leases: Vec<String> = moves.iter().map(lease).collect();
        let specs: Vec<String> = moves.iter().map(spec).collect();
        let mut args = vec!["push", "--quiet", "--no-follow-tags"];
        args.extend(leases.iter().map(String::as_str));
        args.extend(["--", &address]);
        args.extend(specs.iter().map(String::as_str));
        from.git().ask(self.ask("push to the repository elsewhere", &args)).map(drop)
    }

    /// With the token, where there is one and where it may go.
    fn ask<'a>(&'a self, what: &'static str, args: &[&'a str]) -> Ask<'a> {
        let network = match &self.address.0 {
            Kind::Web(_) => Network::Web,
            Kind::Folder(folder) => Network::Folder(Path::new(folder)),
        };
        let mut ask = Ask { within: WITHIN, network, ..Ask::new(what, args) };
        let server = self.address.on_the_web().map(|(url, _)| {
            let text = url.to_string();
            text.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")
        });
        if let (Some(token), Some(server)) = (&self.token, server) {
            let basic = STANDARD.encode(format!("x-access-token:{}", token.expose()));
            ask.environment = vec![
                ("GIT_CONFIG_COUNT".to_owned(), "1".to_owned()),
                ("GIT_CONFIG_KEY_0".to_owned(), format!("http.{server}/.extraHeader")),
                ("GIT_CONFIG_VALUE_0".to_owned(), format!("Authorization: Basic {basic}")),
            ];
        }
        ask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_encrypted_or_of_this_machine_and_has_no_password() {
        for (text, good) in [
            ("https://forge.example/ana/applied.git", true),
            ("https://forge.example/ana/applied", true),
            ("http://127.0.0.1:3000/ana/applied.git", true),
            ("file:///srv/git/applied.git", true),
            ("http://forge.example/ana/applied.git", false),
            ("http://127.0.0.1.example/ana/applied.git", false),
            ("https://ana@forge.example/ana/applied.git", false),
            ("https://forge.example/applied", false),
            ("https://forge.example/ana/applied?x=1", false),
            ("ssh://git@forge.example/ana/applied.git", false),
            ("ext::sh -c id", false),
            ("--upload-pack=id", false),
            ("file://../x", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<Address>().is_ok(), good, "{text}");
        }
        let address: Address = "https://forge.example/ana/applied.git".parse().unwrap();
        assert_eq!(address.on_the_web().map(|(_, name)| name).as_deref(), Some("ana/applied"));
        assert_eq!(address.to_string(), "https://forge.example/ana/applied.git");
    }
}
