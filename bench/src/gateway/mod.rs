//! The gateway: how much passes through it to a service, what thousands of viewers cost, how heavy and how quick its pages are.
//!
//! `site.rs` makes a home with much in it and signs somebody in with a passkey of the tests' authenticator. `pages.rs` loads and times every page,
//! `viewers.rs` opens thousands of streams and sockets, `proxy.rs` races nginx to the service of `origin.rs`, and `browser.rs` opens the pages in
//! Chromium. `talk.rs` is the connection they ask over. A peer that is not here is said, and the rest is measured all the same.

pub(crate) mod browser;
mod origin;
pub(crate) mod pages;
pub(crate) mod proxy;
pub(crate) mod site;
mod talk;
pub(crate) mod viewers;

use std::path::Path;

use anyhow::Result;

use crate::step;
use crate::weather::Rounds;
use browser::Loaded;
use origin::Origin;
use pages::Page;
use proxy::Raced;
use site::Site;
use viewers::Viewed;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) site: site::Plan,
    pub(crate) pages: pages::Plan,
    pub(crate) viewers: viewers::Plan,
    pub(crate) proxy: proxy::Plan,
    pub(crate) browser: browser::Plan,
}

/// What came of it. What needs a peer says why it is missing.
#[derive(Clone, Debug)]
pub(crate) struct Gated {
    pub(crate) entries: u64,
    pub(crate) samples: usize,
    pub(crate) episodes: u64,
    pub(crate) pages: Vec<Page>,
    pub(crate) timed: Rounds,
    pub(crate) viewed: Viewed,
    pub(crate) raced: Result<Raced, String>,
    pub(crate) loaded: Result<Loaded, String>,
}

pub(crate) fn measure(dir: &Path, target: &Path, plan: Plan) -> Result<Gated> {
    std::fs::create_dir_all(dir)?;
    viewers::raise_files(plan.viewers.viewers)?;
    step("making a home with much in it, and signing in");
    let origin = Origin::start()?;
    let site = Site::open(dir, target, origin.address, plan.site)?;
    step("loading every page");
    let mut pages = pages::load_all(&site)?;
    step("thousands of viewers");
    let viewed = viewers::measure(&site, plan.viewers)?;
    step("timing every page");
    let timed = pages::time_all(&site, &mut pages, plan.pages)?;
    step("through the gateway and through nginx");
    let raced = proxy::measure(dir, &site, &origin, plan.proxy).map_err(|e| format!("{e:#}"));
    step("every page in a slow browser");
    let loaded = browser::measure(dir, &site, &pages, plan.browser).map_err(|e| format!("{e:#}"));
    site.daemon.stop()?;
    let site::Plan { entries, samples, episodes, .. } = plan.site;
    Ok(Gated { entries, samples, episodes, pages, timed, viewed, raced, loaded })
}
