//! What a page loads: one stylesheet, one module, one icon. Their paths carry a digest of their bytes, so that a browser
//! may keep them for ever and never shows an old one.

use std::sync::LazyLock;

/// A file that pages refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// `/assets/holdfast-1a2b3c4d.css`.
    pub path: String,
    pub content_type: &'static str,
    pub bytes: &'static [u8],
}

const CSS: usize = 0;
const JS: usize = 1;
const ICON: usize = 2;

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        asset("css", "text/css; charset=utf-8", include_bytes!("../assets/holdfast.css")),
        asset("js", "text/javascript; charset=utf-8", include_bytes!("../assets/holdfast.js")),
        asset("svg", "image/svg+xml", include_bytes!("../assets/holdfast.svg")),
    ]
});

/// Everything a page loads.
pub fn assets() -> &'static [Asset] {
    ASSETS.as_slice()
}

pub(crate) fn css() -> &'static str {
    &ASSETS[CSS].path
}

pub(crate) fn js() -> &'static str {
    &ASSETS[JS].path
}

pub(crate) fn icon() -> &'static str {
    &ASSETS[ICON].path
}

fn asset(ending: &str, content_type: &'static str, bytes: &'static [u8]) -> Asset {
    let digest = blake3::hash(bytes).to_hex();
    Asset { path: format!("/assets/holdfast-{}.{ending}", &digest[..8]), content_type, bytes }
}
