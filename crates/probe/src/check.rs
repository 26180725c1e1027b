//! What to look at, as it stands in a file: `{"http": {"url": "https://example.org/health", "contains": "ok"}}`. What is wrong with it is
//! said when it is read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::address::{Address, Host, Malformed, Url};

/// More than a target has; a list of this length in a file is a mistake.
const ENDPOINTS_MAX: usize = 64;
const ENDPOINT_LEN_MAX: usize = 200;

/// One way to look at a host. `roots` is a file of PEM certificates to trust instead of the machine's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// Somebody takes connections there.
    Tcp { address: Address },
    /// A page answers with this status (without one: any from 200 to 399) and has this text in its first 64 KiB. Redirects are an
    /// answer and are not followed.
    Http {
        url: Url,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contains: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        roots: Option<PathBuf>,
    },
    /// The host proves to be `name` (without one: the host in the address) by a chain of certificates that is valid now and still in so
    /// many days.
    Tls {
        address: Address,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<Host>,
        #[serde(default)]
        days_left: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        roots: Option<PathBuf>,
    },
    /// The host echoes. Needs `net.ipv4.ping_group_range` to include this process's group, or CAP_NET_RAW; without either it is unknown.
    Icmp { host: Host },
    /// An SSH server greets. Nobody logs in.
    Ssh { address: Address },
    /// A Gatus monitor has seen each of these endpoints healthy, lately and since the trial began. An endpoint is named by its key
    /// (`group_name`), or by its name where only one has it.
    Gatus {
        url: Url,
        endpoints: Endpoints,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        roots: Option<PathBuf>,
    },
    /// Tailscale's coordination server believes the peer with this stable id (`ID` in `tailscale status --json`) to be online.
    Tailscale {
        id: String,
        /// The program to ask; without one, `tailscale` as found in PATH.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<PathBuf>,
    },
}

impl Check {
    /// Whether a failure of this check may count against a target on its own. What a coordination server believes of a peer lags behind, in
    /// both directions: a caller may show it and may ask for it before a trial, and never goes back for it alone.
    pub fn is_evidence(&self) -> bool {
        match self {
            Check::Tailscale { .. } => false,
            Check::Tcp { .. }
            | Check::Http { .. }
            | Check::Tls { .. }
            | Check::Icmp { .. }
            | Check::Ssh { .. }
            | Check::Gatus { .. } => true,
        }
    }
}

/// The endpoints of a target, by name; at least one. "All healthy" is true of none at all, so there is no empty list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Endpoints(Vec<String>);

impl Endpoints {
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Endpoints {
    type Error = Malformed;

    fn try_from(names: Vec<String>) -> Result<Endpoints, Malformed> {
        if names.is_empty() {
            return Err(Malformed("no endpoint is named, so none could be healthy"));
        }
        if names.len() > ENDPOINTS_MAX {
            return Err(Malformed("too many endpoints are named"));
        }
        if names.iter().any(|name| name.trim().is_empty() || name.len() > ENDPOINT_LEN_MAX) {
            return Err(Malformed("an endpoint's name is empty or too long"));
        }
        Ok(Endpoints(names))
    }
}

impl From<Endpoints> for Vec<String> {
    fn from(endpoints: Endpoints) -> Vec<String> {
        endpoints.0
    }
}
