//! What is seen of a real host: what its doorman says of the inside, and how its service answers from outside.

use std::path::PathBuf;
use std::sync::Weak;
use std::time::Duration;

use holdfast_config::Driver;
use holdfast_doorman::wire::{Collected, Role};
use holdfast_lifeline::{Now, Steady};
use holdfast_metrics::Endpoint;
use holdfast_probe::{Check, Found, Terms};
use holdfast_steward::effect::Probe;
use holdfast_steward::invariant::{Health, REHEARSED_WITHIN};
use holdfast_steward::setting::UnitName;
use holdfast_steward::watch::Sighting;
use holdfast_steward_host::collect::{Seen, Source, observation};
use holdfast_steward_host::{Follow, Way};
use holdfast_tripwire::heart::{FIRST_ROUTE, Heart, PROVIDER, SECOND_ROUTE};
use holdfast_types::Timestamp;
use tracing::warn;

use super::around::PAST;
use super::eyes::{Outdoors, PROBE_WITHIN, Watched};
use super::host::{is_ready, way};
use super::settings::{Place, Real, endpoint_name};
use crate::office::Office;
use crate::places::Places;

/// As many collections as the past has.
const PAST_MAX: usize = 3 * 720;

/// Where a host's figures come from.
fn source(place: &Place, real: &Real, places: &Places) -> Source {
    let units = place.units().to_vec();
    let way = way(place, real, places);
    match real.driver {
        Driver::Local => Source::Here { units },
        Driver::Agentless => Source::Account { line: way.line(Role::Observe), units },
        Driver::Systemd | Driver::Sim => Source::Doorman(way),
    }
}

#[derive(Debug)]
pub(super) struct RealEyes {
    target: String,
    units: Vec<UnitName>,
    source: Source,
    /// Of one that is reached over SSH.
    way: Option<Way>,
    endpoint: Option<String>,
    office: Weak<Office>,
    follow: Follow,
    cursor: Option<String>,
    trouble: Option<String>,
    /// Where the heart of whoever guards it beats.
    hearts: Option<PathBuf>,
}

impl RealEyes {
    pub(super) fn of(
        place: &Place,
        real: &Real,
        places: &Places,
        office: &Weak<Office>,
        hearts: Option<PathBuf>,
    ) -> RealEyes {
        RealEyes {
            target: place.name.to_string(),
            units: place.units().to_vec(),
            source: source(place, real, places),
            way: (real.driver != Driver::Local).then(|| way(place, real, places)),
            endpoint: real.endpoint.clone(),
            office: office.clone(),
            follow: Follow::default(),
            cursor: None,
            trouble: None,
            hearts,
        }
    }

    /// What was measured before, up to a moment of the target's time, so that a start does not begin with nothing. Where it
    /// cannot be read the target is watched from now on.
    pub(super) fn past(&mut self, until: Steady, wall: Timestamp) -> Vec<(Steady, Sighting)> {
        let Some(office) = self.office.upgrade() else { return Vec::new() };
        let from = wall.as_micros().saturating_sub(PAST.as_micros() as i64);
        let from = Timestamp::from_micros(from).unwrap_or(Timestamp::EPOCH);
        let read = office.metrics().map_err(|e| format!("{e:?}")).and_then(|metrics| {
            metrics.snapshots(&self.target, from..wall, PAST_MAX).map_err(|e| e.to_string())
        });
        match read {
            Ok(found) => self.followed(&found, until),
            Err(why) => {
                warn!(target = self.target, why, "what was observed before cannot be read");
                Vec::new()
            }
        }
    }

    /// The last of them was seen at that moment, and the others as long before as the clock says.
    fn followed(
        &mut self,
        found: &[(Timestamp, serde_json::Value)],
        until: Steady,
    ) -> Vec<(Steady, Sighting)> {
        let Some((last, _)) = found.last() else { return Vec::new() };
        let mut past = Vec::new();
        for (at, snapshot) in found {
            let Ok(collected) = serde_json::from_value::<Collected>(snapshot["inside"].clone()) else {
                continue;
            };
            let steady = Steady(until.0.saturating_sub(last.since(*at).as_millis() as u64));
            self.cursor.clone_from(&collected.cursor);
            let latency = snapshot["outside"][0]["latency_ms"].as_f64();
            past.push((steady, self.follow.next(steady, collected, &self.units, latency)));
        }
        past
    }

    /// Measures from inside and from outside, keeps all of it, and gives what is watched.
    pub(super) fn collect(&mut self, now: Now) -> Option<Sighting> {
        let answered = self.endpoint.as_deref().map(|endpoint| answers_in(endpoint, now.wall));
        let ready = self.way.as_ref().map_or(Ok(()), |way| is_ready(way, Role::Observe));
        let collected =
            ready.and_then(|()| self.source.collect(self.cursor.as_deref()).map_err(|e| e.to_string()));
        self.record(now, collected.as_ref().map_err(String::as_str), answered);
        match collected {
            Ok(collected) => {
                self.trouble = None;
                self.cursor.clone_from(&collected.cursor);
                let latency = answered.flatten().map(|took| took.as_secs_f64() * 1000.0);
                Some(self.follow.next(now.steady, collected, &self.units, latency))
            }
            Err(why) => {
                self.trouble = Some(why);
                None
            }
        }
    }

    /// Into `metrics.db`. One that cannot be written is said, and stops nothing.
    fn record(&self, now: Now, inside: Result<&Collected, &str>, answered: Option<Option<Duration>>) {
        let Some(office) = self.office.upgrade() else { return };
        let outside = self.outside(answered);
        let seen = Seen {
            target: &self.target,
            at: now.wall,
            inside,
            outside: &outside,
            before: self.follow.last(),
        };
        let observation = observation(seen, &|text| office.screened(text));
        let kept = office.metrics().map_err(|e| format!("{e:?}")).and_then(|metrics| {
            metrics
                .record(&observation)
                .and_then(|_| metrics.note_freshness(&self.target, now.wall))
                .map_err(|e| e.to_string())
        });
        if let Err(why) = kept {
            warn!(target = self.target, why, "what was observed could not be kept");
        }
    }

    fn outside(&self, answered: Option<Option<Duration>>) -> Vec<Endpoint> {
        let endpoint = |took: Option<Duration>| {
            Some(Endpoint {
                name: endpoint_name(self.endpoint.as_deref()?),
                healthy: took.is_some(),
                latency_ms: took.map(|took| took.as_millis() as u64),
            })
        };
        answered.and_then(endpoint).into_iter().collect()
    }

    pub(super) fn look(&mut self, now: Now, _ssh: Probe) -> Outdoors {
        let health =
            |endpoint: &str| Health { healthy: answers_in(endpoint, now.wall).is_some(), at: now.steady };
        let endpoint = self.endpoint.as_deref();
        // Without a guard beside this process nothing is tried here.
        let heart =
            self.hearts.as_ref().and_then(|folder| Heart::read(folder, self.target.parse().as_ref().ok()?));
        let ago = |span: Duration| Steady(now.steady.0.saturating_sub(span.as_millis() as u64));
        Outdoors {
            endpoints: endpoint.map(|it| (endpoint_name(it), Some(health(it)))).into_iter().collect(),
            references: heart.as_ref().is_none_or(|heart| !heart.alone),
            heartbeat: heart.as_ref().and_then(Heart::age).map(ago),
            watched: Watched::Only(heart.as_ref().and_then(|heart| heart.watching.clone())),
            rehearsed: heart.map_or_else(Vec::new, |heart| ways_back(&heart, now, ago)),
        }
    }

    pub(super) fn hang_up(&self) {
        if let Some(way) = &self.way {
            way.hang_up();
        }
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }
}

/// The lease is armed, and confirmed, before each trial, and counts as one that works now.
fn ways_back(
    heart: &Heart,
    now: Now,
    ago: impl Fn(Duration) -> Steady,
) -> Vec<(&'static str, Option<Steady>)> {
    let guarded = [FIRST_ROUTE, SECOND_ROUTE, PROVIDER].map(|way| {
        let span = heart.rehearsed_ago(way, now.wall).filter(|span| *span <= REHEARSED_WITHIN);
        (way, span.filter(|_| !heart.failing.contains_key(way)).map(&ago))
    });
    std::iter::once(("lease", Some(now.steady))).chain(guarded).collect()
}

/// How long an endpoint takes to answer; nothing when it does not in time, or is not well. An address has to take a connection, a page to
/// answer with a status below 400.
fn answers_in(endpoint: &str, now: Timestamp) -> Option<Duration> {
    let check = match endpoint.contains("://") {
        true => Check::Http { url: endpoint.parse().ok()?, status: None, contains: None, roots: None },
        false => Check::Tcp { address: endpoint.parse().ok()? },
    };
    let terms = Terms { within: PROBE_WITHIN, now, not_before: None };
    match holdfast_probe::run(&check, &terms) {
        Found::Passed { took } => Some(took),
        Found::Failed { .. } | Found::TimedOut | Found::Unknown { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_back_counts_while_it_was_rehearsed_within_a_day_and_worked() {
        let hour = |n: i64| Timestamp::from_micros(n * 3_600_000_000).unwrap();
        let rehearsed = [(FIRST_ROUTE, 99), (SECOND_ROUTE, 74), (PROVIDER, 98)];
        let heart = Heart {
            boot: holdfast_tripwire::clock::this_boot(),
            beat_ms: holdfast_tripwire::clock::since_boot_ms(),
            watching: None,
            undoing: false,
            alone: false,
            rehearsed: rehearsed.map(|(way, at)| (way.to_owned(), hour(at))).into(),
            failing: [(PROVIDER.to_owned(), "its token is refused".to_owned())].into(),
        };
        let now = Now { steady: Steady(90_000_000), wall: hour(100), synced: true };
        let ago = |span: Duration| Steady(now.steady.0 - span.as_millis() as u64);
        let ways = ways_back(&heart, now, ago);
        let an_hour_ago = Some(Steady(90_000_000 - 3_600_000));
        assert_eq!(
            ways,
            [("lease", Some(now.steady)), (FIRST_ROUTE, an_hour_ago), (SECOND_ROUTE, None), (PROVIDER, None)]
        );
    }

    #[test]
    fn an_endpoint_answers_or_it_does_not() {
        let now = Timestamp::from_micros(1_700_000_000_000_000).unwrap();
        let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = open.local_addr().unwrap().to_string();
        assert!(answers_in(&address, now).is_some());
        // Somebody takes connections, and no page is there.
        let page = format!("http://{address}/health");
        let answered = std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            for status in [200, 503] {
                // The connection of the look above has said nothing.
                let mut heard = [0; 1024];
                let stream = std::iter::from_fn(|| open.accept().ok())
                    .find_map(|(mut stream, _)| (stream.read(&mut heard).ok()? > 0).then_some(stream));
                let said = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                stream.unwrap().write_all(said.as_bytes()).unwrap();
            }
        });
        assert!(answers_in(&page, now).is_some());
        assert_eq!(answers_in(&page, now), None, "it is there, and not well");
        answered.join().unwrap();
        assert_eq!(answers_in(&address, now), None);
        assert_eq!(endpoint_name(&page), address);
        assert_eq!(endpoint_name("https://[fd00::1]/x"), "fd00::1:443");
    }
}
