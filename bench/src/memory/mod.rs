//! Memory: how well it finds, how quick it is, and what it takes.
//!
//! How well: `quality.rs`, on conversations that `holdfast_testkit::locomo` reads. How quick: `capture.rs`, `embedding.rs`, `search.rs` and `consolidation.rs`, on homes of
//! `home.rs` filled with the texts of `texts.rs`; `near.rs` holds the index of vectors against another one. Spaces so large that filling them takes
//! minutes come from `space.rs`, which keeps them between runs. `peer.rs` speaks with programs that take part, here and in `peers/`.

pub(crate) mod capture;
pub(crate) mod consolidation;
pub(crate) mod embedding;
mod home;
pub(crate) mod near;
mod peer;
pub(crate) mod quality;
pub(crate) mod search;
mod space;
mod texts;

use std::path::Path;

use anyhow::Result;

pub(crate) use consolidation::{Consolidations, DURABLE};
pub(crate) use holdfast_testkit::locomo::Shape;
pub(crate) use near::{CHILD as NEAR_CHILD, child as near_child};
pub(crate) use search::{CHILD as SEARCH_CHILD, child as search_child};

use crate::step;
use capture::Captures;
use embedding::Embeddings;
use home::model_folder;
use near::Nears;
use quality::Examined;
use search::Searches;
use space::Space;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) quality: quality::Plan,
    pub(crate) capture: capture::Plan,
    pub(crate) embedding: embedding::Plan,
    /// Entries of the spaces that are searched.
    pub(crate) sizes: &'static [usize],
    pub(crate) search: search::Plan,
    pub(crate) near: near::Plan,
    pub(crate) consolidation: consolidation::Plan,
}

/// What came of it. What needs the model or a peer is absent where that is.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    pub(crate) examined: Option<Examined>,
    pub(crate) captured: Captures,
    pub(crate) embedded: Option<Embeddings>,
    pub(crate) searched: Vec<Searches>,
    pub(crate) near: Vec<Nears>,
    pub(crate) consolidated: Option<Consolidations>,
}

pub(crate) fn measure(run: &Path, cache: &Path, plan: Plan) -> Result<Remembered> {
    let model = model_folder();
    if model.is_none() {
        step("the model is not here (scripts/model.sh), so what needs it is left out");
    }
    let model = model.as_deref();
    let examined = model.map(|model| quality::measure(&run.join("quality"), model, plan.quality));
    let captured = capture::measure(&run.join("capture"), plan.capture)?;
    let embedded = model.map(|model| embedding::measure(model, plan.embedding)).transpose()?;
    let (mut searched, mut near) = (Vec::new(), Vec::new());
    for &entries in plan.sizes {
        let space = Space::prepare(cache, entries)?;
        searched.push(search::measure(&space, plan.search)?);
        // Fewer are looked through one by one, and there is no graph to hold against another.
        if entries > holdfast_vectors::EXACT_MAX {
            near.push(near::measure(&space, plan.near)?);
        }
    }
    let consolidated = model
        .map(|model| consolidation::measure(&run.join("consolidation"), model, plan.consolidation))
        .transpose()?;
    Ok(Remembered {
        examined: examined.transpose()?.flatten(),
        captured,
        embedded,
        searched,
        near,
        consolidated,
    })
}
