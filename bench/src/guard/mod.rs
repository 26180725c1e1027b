//! The guard against other scanners: who finds what in the same tree, and how long it takes; and what it costs to take
//! secrets out of text.
//!
//! Begin with [`quality`] for what is found and [`speed`] for how fast; `peers.rs` knows how each tool is called and what
//! its answer looks like.

mod peers;
pub(crate) mod quality;
pub(crate) mod speed;

use std::path::Path;

use anyhow::Result;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) quality: quality::Plan,
    pub(crate) speed: speed::Plan,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guarded {
    pub(crate) examined: quality::Examined,
    pub(crate) sped: speed::Sped,
}

pub(crate) fn measure(dir: &Path, target: &Path, plan: Plan) -> Result<Guarded> {
    let dir = dir.join("guard");
    let examined = quality::measure(&dir, target, plan.quality)?;
    let sped = speed::measure(&dir, target, plan.speed)?;
    Ok(Guarded { examined, sped })
}
