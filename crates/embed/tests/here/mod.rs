//! Where the model is that tests use.

use std::path::PathBuf;

use holdfast_embed::MODEL_ID;

/// The folder `scripts/model.sh` fills, or the one `HOLDFAST_MODEL` names.
pub(crate) fn model() -> PathBuf {
    let folder = std::env::var_os("HOLDFAST_MODEL").map_or_else(default, PathBuf::from);
    assert!(
        folder.join("model.safetensors").is_file(),
        "the model is not in {}: run scripts/model.sh (`make lab` does), or set HOLDFAST_MODEL",
        folder.display()
    );
    folder
}

fn default() -> PathBuf {
    let tools = std::env::var_os("HOLDFAST_TOOLS").map(PathBuf::from);
    let tools = tools.unwrap_or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        std::env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from).join("holdfast/tools")
    });
    tools.join("models").join(MODEL_ID)
}
