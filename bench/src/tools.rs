//! Where the scripts put what they install, as they have it.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// The folder of all of it.
pub(crate) fn tools_dir() -> Result<PathBuf> {
    let var = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let tools = var("HOLDFAST_TOOLS")
        .or_else(|| Some(var("XDG_CACHE_HOME")?.join("holdfast/tools")))
        .or_else(|| Some(var("HOME")?.join(".cache/holdfast/tools")));
    tools.context("no HOME is set, so nothing that was installed can be found")
}

/// What `scripts/peers.sh` installs.
pub(crate) fn peers_dir() -> Result<PathBuf> {
    Ok(tools_dir()?.join("peers"))
}
