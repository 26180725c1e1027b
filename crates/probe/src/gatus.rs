//! What a Gatus monitor says of named endpoints.
//!
//! A monitor measures at times of its own and keeps telling the last it knows, also when it has stopped measuring. So only a result counts that
//! was measured after the trial went live and lately; everything else is unknown, and so is a monitor that does not answer.
//! The times are the monitor's: a clock there that is ahead would make old results look new, so results from the future count for nothing.

use std::path::PathBuf;
use std::time::Duration;

use holdfast_types::Timestamp;
use serde::Deserialize;

use crate::address::Url;
use crate::check::Endpoints;
use crate::found::{Trouble, shown};
use crate::http;
use crate::run::Terms;
use crate::until::Until;

/// Three of the intervals people usually set; also what the steward's own rule allows.
const FRESH_FOR: Duration = Duration::from_secs(180);
/// Clocks kept by NTP agree far better.
const AHEAD_MAX: Duration = Duration::from_secs(5);
/// One result of a few hundred bytes for each endpoint, and some monitors have thousands.
const SAID_MAX: usize = 1024 * 1024;

pub(crate) fn look(
    url: &Url,
    endpoints: &Endpoints,
    roots: Option<&PathBuf>,
    terms: &Terms,
    until: Until,
) -> Result<(), Trouble> {
    let of_monitor = |trouble: Trouble| trouble.of_a_witness("the monitor");
    // The first page has the newest results.
    let url = url.below("api/v1/endpoints/statuses", "page=1&pageSize=1");
    let answer = http::get(url, roots.cloned(), SAID_MAX, until, terms.now).map_err(of_monitor)?;
    if answer.status != 200 {
        return Err(Trouble::Ours(format!("the monitor: it answered with status {}", answer.status)));
    }
    if !answer.whole {
        return Err(Trouble::ours("the monitor: its answer is too long"));
    }
    judge(&answer.body, endpoints, terms)
}

#[derive(Deserialize)]
struct Endpoint {
    key: Option<String>,
    name: Option<String>,
    results: Option<Vec<Measured>>,
}

#[derive(Deserialize)]
struct Measured {
    success: Option<bool>,
    timestamp: Option<String>,
}

impl Measured {
    /// RFC 3339, with nanoseconds and with the offset of wherever the monitor is.
    fn at(&self) -> Option<Timestamp> {
        let at: jiff::Timestamp = self.timestamp.as_deref()?.parse().ok()?;
        Timestamp::from_micros(at.as_microsecond()).ok()
    }
}

/// An endpoint that surely is not healthy outweighs those of which nothing is known.
fn judge(said: &[u8], endpoints: &Endpoints, terms: &Terms) -> Result<(), Trouble> {
    let known: Vec<Endpoint> = serde_json::from_slice(said)
        .map_err(|_| Trouble::ours("the monitor: its answer is not a list of endpoints"))?;
    let mut worst = Ok(());
    for name in endpoints.names() {
        if let Err(trouble) = one(&known, name, terms) {
            worst = Err(match worst {
                Ok(()) => trouble,
                Err(before) => Trouble::more_telling(before, trouble),
            });
        }
    }
    worst
}

fn one(known: &[Endpoint], wanted: &str, terms: &Terms) -> Result<(), Trouble> {
    let unsure = |why: &str| Trouble::Ours(format!("endpoint {} {why}", shown(wanted.as_bytes())));
    let is_wanted = |text: &Option<String>| text.as_deref() == Some(wanted);
    let mut named = known.iter().filter(|it| is_wanted(&it.key) || is_wanted(&it.name));
    let endpoint = named.next().ok_or_else(|| unsure("is not known to the monitor"))?;
    if named.next().is_some() {
        return Err(unsure("is the name of several: use the key"));
    }
    let results = endpoint.results.as_deref().unwrap_or_default();
    if results.iter().any(|result| result.at().is_none()) {
        return Err(unsure("has a result without a time"));
    }
    let newest = results.iter().max_by_key(|result| result.at());
    let newest = newest.ok_or_else(|| unsure("has no result yet"))?;
    let at = newest.at().ok_or_else(|| unsure("has a result without a time"))?;
    if terms.not_before.is_some_and(|activation| at <= activation) {
        return Err(unsure("was last looked at before the trial"));
    }
    if terms.now.since(at) > FRESH_FOR {
        return Err(unsure("was not looked at lately"));
    }
    if at.since(terms.now) > AHEAD_MAX {
        return Err(unsure("was looked at in the future: the clocks differ"));
    }
    match newest.success {
        Some(true) => Ok(()),
        Some(false) => Err(Trouble::Theirs(format!("endpoint {} is not healthy", shown(wanted.as_bytes())))),
        None => Err(unsure("has a result that says nothing")),
    }
}
