//! Which site this is, and how long things last.

use std::time::Duration;

use url::{Host, Url};

use crate::code::CodeCost;
use crate::error::{Error, Result};

/// What to do when the database was made for another relying-party id. Passkeys belong to the id they were made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpIdChange {
    /// Refuse to open where there are passkeys for the other id.
    Refuse,
    /// Take the new id: all passkeys and sessions go, people and their recovery codes stay.
    Migrate,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// Where browsers find us: `https://hold.example:9096`, or `http://localhost:9096` for this machine alone.
    pub origin: Url,
    /// The relying-party id: the origin's host, without port.
    pub rp_id: String,
    /// What authenticators call us.
    pub name: String,
    pub rp_id_change: RpIdChange,
    /// How long a session lasts without being used.
    pub session_idle: Duration,
    /// How long it lasts at most.
    pub session_life: Duration,
    /// How long a link can be used.
    pub link_life: Duration,
    pub code_cost: CodeCost,
}

impl Settings {
    pub fn new(origin: Url) -> Settings {
        const HOUR: Duration = Duration::from_secs(3_600);
        Settings {
            rp_id: origin.host_str().unwrap_or_default().to_owned(),
            origin,
            name: "Holdfast".into(),
            rp_id_change: RpIdChange::Refuse,
            // A working day: whoever signs in in the morning is not asked again after lunch.
            session_idle: 12 * HOUR,
            session_life: 30 * 24 * HOUR,
            // Long enough to fetch the phone, short enough that a forgotten terminal is no way in.
            link_life: Duration::from_secs(15 * 60),
            code_cost: CodeCost::default(),
        }
    }

    /// The site these settings describe, or what is wrong with them.
    pub fn site(&self) -> Result<Site> {
        let origin = &self.origin;
        let host = match origin.host() {
            Some(Host::Domain(name)) if !name.is_empty() => name.to_owned(),
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => {
                return Err(Error::AddressAsOrigin { host: origin.host_str().unwrap_or_default().into() });
            }
            _ => return Err(bad(origin, "it has no host name")),
        };
        let https = match origin.scheme() {
            "https" => true,
            "http" if is_loopback_name(&host) => false,
            "http" => {
                return Err(bad(origin, "plain http is for localhost alone, anything else needs https"));
            }
            _ => return Err(bad(origin, "it must begin with https:// or, for this machine alone, http://")),
        };
        let plain = origin.path() == "/" && origin.query().is_none() && origin.fragment().is_none();
        if !plain || !origin.username().is_empty() || origin.password().is_some() {
            return Err(bad(origin, "it is a scheme, a host and a port, and nothing else"));
        }
        if self.rp_id != host {
            return Err(bad(origin, "the relying-party id must be its host without the port"));
        }
        Ok(Site {
            origin: origin.origin().ascii_serialization(),
            authorities: authorities(origin, &host),
            https,
            port: origin.port_or_known_default().unwrap_or(if https { 443 } else { 80 }),
            host,
        })
    }
}

/// The site, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    origin: String,
    authorities: Vec<String>,
    https: bool,
    port: u16,
    host: String,
}

impl Site {
    /// As a browser writes it into `Origin`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub fn https(&self) -> bool {
        self.https
    }

    /// The host without its port: the relying-party id.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether a server of somebody else on this machine can be sent our cookies: they go to every port of a host, and
    /// anybody may listen on another port of localhost. Browsers take that name for safe, so `Secure` does not help.
    /// Where it is so, the anti-forgery word stands in no page: it is told once, at signing in, and kept where each port
    /// has its own place for it.
    pub fn shares_cookies(&self) -> bool {
        is_loopback_name(&self.host)
    }

    /// Whether a request that names this authority means us.
    pub fn is_authority(&self, authority: &str) -> bool {
        self.authorities.iter().any(|ours| ours.eq_ignore_ascii_case(authority))
    }
}

/// The names of the host and port that a client may write; the default port may be left out.
fn authorities(origin: &Url, host: &str) -> Vec<String> {
    match (origin.port(), origin.port_or_known_default()) {
        (Some(port), _) => vec![format!("{host}:{port}")],
        (None, Some(port)) => vec![host.to_owned(), format!("{host}:{port}")],
        (None, None) => vec![host.to_owned()],
    }
}

/// RFC 6761: these names never leave the machine.
fn is_loopback_name(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

fn bad(origin: &Url, why: &'static str) -> Error {
    Error::BadOrigin { origin: origin.to_string(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(origin: &str, expected: std::result::Result<(&str, bool), u16>) {
        let site = Settings::new(Url::parse(origin).unwrap()).site();
        let found = site.as_ref().map(|s| (s.origin(), s.https())).map_err(|e| e.problem().code.number);
        assert_eq!(found, expected, "{origin}");
    }

    // shows: GTW-031, GTW-068, GTW-069
    #[test]
    fn an_origin_is_https_or_this_machine() {
        check("https://hold.example", Ok(("https://hold.example", true)));
        check("https://hold.example:9096/", Ok(("https://hold.example:9096", true)));
        check("http://localhost:9096", Ok(("http://localhost:9096", false)));
        check("http://hold.localhost:9096", Ok(("http://hold.localhost:9096", false)));
        check("http://hold.example", Err(1));
        check("http://notlocalhost:9096", Err(1));
        check("ftp://hold.example", Err(1));
        check("https://hold.example/ui", Err(1));
        check("https://me@hold.example", Err(1));
        check("http://127.0.0.1:9096", Err(2));
        check("https://[::1]:9096", Err(2));
    }

    // shows: GTW-014
    #[test]
    fn the_relying_party_id_is_the_host() {
        let mut settings = Settings::new(Url::parse("https://hold.example:9096").unwrap());
        assert_eq!(settings.rp_id, "hold.example");
        settings.rp_id = "example".into();
        assert!(settings.site().is_err());
    }

    #[test]
    fn only_our_own_authority_is_ours() {
        let site = |origin| Settings::new(Url::parse(origin).unwrap()).site().unwrap();
        let default = site("https://hold.example");
        assert!(default.is_authority("hold.example") && default.is_authority("HOLD.example:443"));
        assert!(!default.is_authority("hold.example:9096") && !default.is_authority("hold.example.evil"));
        let port = site("http://localhost:9096");
        assert!(port.is_authority("localhost:9096") && !port.is_authority("localhost"));
    }
}
