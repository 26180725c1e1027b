//! What Tailscale believes of a peer.
//!
//! `tailscale status --json` has the peers in a map by node key, which changes when a key is renewed; the stable id is the field `ID` of
//! each. Whether a peer is online is the coordination server's view and lags, so who is offline here has not been shown to be down: see
//! [`crate::Check::is_evidence`].

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use serde::Deserialize;

use crate::found::{Trouble, shown};
use crate::program;
use crate::until::Until;

/// About a kilobyte for each peer.
const SAID_MAX: usize = 1024 * 1024;

pub(crate) fn look(id: &str, program: Option<&Path>, until: Until) -> Result<(), Trouble> {
    let program = program.map_or(OsStr::new("tailscale"), Path::as_os_str);
    let said = program::said(program, &["status", "--json"], SAID_MAX, until)
        .map_err(|trouble| trouble.of_a_witness("tailscale"))?;
    judge(&said, id)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Status {
    backend_state: Option<String>,
    #[serde(rename = "Self")]
    own: Option<Peer>,
    peer: Option<HashMap<String, Peer>>,
}

#[derive(Deserialize)]
struct Peer {
    #[serde(rename = "ID")]
    id: Option<String>,
    #[serde(rename = "Online")]
    online: Option<bool>,
}

fn judge(said: &[u8], id: &str) -> Result<(), Trouble> {
    let status: Status =
        serde_json::from_slice(said).map_err(|_| Trouble::ours("tailscale: its status cannot be read"))?;
    if let Some(state) = status.backend_state.filter(|state| state != "Running") {
        return Err(Trouble::Ours(format!("tailscale is not running here: {}", shown(state.as_bytes()))));
    }
    // Who is cut off from the coordination server keeps telling what it heard last.
    if status.own.is_some_and(|own| own.online == Some(false)) {
        return Err(Trouble::ours("tailscale: this machine itself is offline"));
    }
    let peers = status.peer.unwrap_or_default();
    let mut named = peers.values().filter(|peer| peer.id.as_deref() == Some(id));
    let peer = named.next().ok_or_else(|| Trouble::ours("tailscale knows no peer with this id"))?;
    if named.next().is_some() {
        return Err(Trouble::ours("tailscale knows several peers with this id"));
    }
    match peer.online {
        Some(true) => Ok(()),
        Some(false) => Err(Trouble::theirs("tailscale reports it offline")),
        None => Err(Trouble::ours("tailscale does not say whether it is online")),
    }
}
