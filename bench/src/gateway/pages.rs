//! Every page, as a browser asks for it: what its first load brings over the wire, and how long the server takes for it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::site::Site;
use super::talk::Talk;
use crate::weather::{Rounds, calm_rounds_beside};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Requests for each page in a round.
    pub(crate) each: usize,
    pub(crate) time_max: Duration,
}

/// One page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// The path, with words in place of what has a name of its own.
    pub(crate) shown: String,
    pub(crate) path: String,
    /// Compressed, with its head.
    pub(crate) html_bytes: usize,
    /// With everything it links.
    pub(crate) first_bytes: usize,
    pub(crate) server_ms: Vec<f64>,
}

/// Where somebody is who has not signed in.
const OUTSIDE: [&str; 3] = ["/login", "/register", "/recovery"];
const PLACES: [&str; 13] = [
    "/",
    "/hosts",
    "/hosts/web-1",
    "/inbox",
    "/memory",
    "/memory?q=which+ferry+was+moved",
    "/audit",
    "/settings",
    "/settings/people",
    "/settings/tokens",
    "/settings/notices",
    "/settings/house",
    "/pause",
];
/// What leads on to pages of single things, what they are called here, and how their paths begin.
const LEADS: [(&str, &str, &str); 4] = [
    ("/hosts/web-1", "/episodes/…", "/episodes/"),
    ("/inbox", "/inbox/…", "/inbox/"),
    ("/memory?q=which+ferry+was+moved", "/memory/…", "/memory/"),
    ("/audit", "/audit/…", "/audit/"),
];

/// Loads every page once, each as if it were the first.
pub(super) fn load_all(site: &Site) -> Result<Vec<Page>> {
    let mut talk = site.talk()?;
    let mut wanted: Vec<(String, String)> =
        OUTSIDE.iter().chain(&PLACES).map(|path| ((*path).to_owned(), (*path).to_owned())).collect();
    for (from, shown, begins) in LEADS {
        let html = talk.get(from, &[("cookie", &site.cookie)])?.text();
        // A house may have nothing to decide.
        wanted.extend(linked(&html, begins).into_iter().next().map(|path| (shown.to_owned(), path)));
    }
    wanted.into_iter().map(|(shown, path)| load(&mut talk, site, shown, path)).collect()
}

fn load(talk: &mut Talk, site: &Site, shown: String, path: String) -> Result<Page> {
    let plain = talk.get(&path, &headers(site, &path)[..1])?;
    ensure!(plain.status == 200, "{path} was answered with {}", plain.status);
    let html_bytes = talk.get(&path, &headers(site, &path))?.wire;
    let mut first_bytes = html_bytes;
    for asset in linked(&plain.text(), "/assets/") {
        let got = talk.get(&asset, &[("accept-encoding", "gzip")])?;
        ensure!(got.status == 200, "{asset} was answered with {}", got.status);
        first_bytes += got.wire;
    }
    Ok(Page { shown, path, html_bytes, first_bytes, server_ms: Vec::new() })
}

/// What a browser says: who it is, where it is known, and that it can take a page compressed.
fn headers<'a>(site: &'a Site, path: &str) -> [(&'static str, &'a str); 2] {
    let cookie = if OUTSIDE.contains(&path) { "nobody=1" } else { site.cookie.as_str() };
    [("cookie", cookie), ("accept-encoding", "gzip")]
}

/// The paths of this house in a page that begin so, each once.
fn linked(html: &str, begins: &str) -> BTreeSet<String> {
    let values = html.split('"').skip(1).step_by(2);
    let fits = |value: &&str| {
        value.strip_prefix(begins).is_some_and(|rest| !rest.is_empty() && rest != "checkpoint")
    };
    values.filter(fits).map(|value| value.replace("&amp;", "&")).collect()
}

/// From the question to the last byte of the answer, one client on one connection, the pages in turns.
pub(super) fn time_all(site: &Site, pages: &mut [Page], plan: Plan) -> Result<Rounds> {
    let mut talk = site.talk()?;
    let beside = [site.daemon.pid()];
    let (measured, rounds) = calm_rounds_beside(&beside, plan.rounds, plan.time_max, |_| {
        pages.iter().map(|page| time(&mut talk, site, &page.path, plan.each)).collect::<Result<Vec<_>>>()
    })?;
    for round in measured {
        pages.iter_mut().zip(round).for_each(|(page, ms)| page.server_ms.extend(ms));
    }
    Ok(rounds)
}

fn time(talk: &mut Talk, site: &Site, path: &str, times: usize) -> Result<Vec<f64>> {
    let headers = headers(site, path);
    (0..times)
        .map(|_| {
            let began = Instant::now();
            let reply = talk.get(path, &headers)?;
            let took = began.elapsed();
            ensure!(reply.status == 200, "{path} was answered with {}", reply.status);
            Ok(took.as_secs_f64() * 1e3)
        })
        .collect::<Result<_>>()
        .with_context(|| format!("timing {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_page_are_found_once_and_only_where_they_lead() {
        let html = r#"<link href="/assets/a.css"><a href="/audit">all</a><a href="/audit/7">7</a><a href="/audit/7">7</a>
            <a href="/audit/checkpoint">it</a><script src="/assets/b.js">"/assets/ in text"</script>"#;
        assert_eq!(linked(html, "/audit/"), BTreeSet::from(["/audit/7".to_owned()]));
        assert!(linked(html, "/assets/").contains("/assets/b.js"));
        assert!(linked(html, "/inbox/").is_empty());
    }
}
