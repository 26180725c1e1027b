//! What is seen of a real host: what its doorman says of the inside, and how its service answers from outside.

use std::path::PathBuf;
use std::sync::Weak;
use std::time::Duration;

use holdfast_config::Driver;
use holdfast_doorman::wire::{Collected, Role};
use holdfast_lifeline::{Now, Steady};
use holdfast_metrics::{Endpoint, Observation, Outcome};
use holdfast_steward::invariant::REHEARSED_WITHIN;
use holdfast_steward::setting::UnitName;
use holdfast_steward::watch::Sighting;
use holdfast_steward_host::collect::{Seen, Source, observation};
use holdfast_steward_host::{Follow, Way};
use holdfast_tripwire::heart::{FIRST_ROUTE, Heart, PROVIDER, SECOND_ROUTE};
use holdfast_types::Timestamp;
use tracing::warn;

use super::around::PAST;
use super::eyes::{Outdoors, Watched};
use super::host::{is_ready, way};
use super::looks::{Looks, health};
use super::settings::{Place, Real};
use super::vitals::Guard;
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
    looks: Looks,
    office: Weak<Office>,
    follow: Follow,
    cursor: Option<String>,
    trouble: Option<String>,
    /// Of the last collection: reads that failed, and the endpoints with whether each was well.
    failures: u64,
    endpoints: Vec<(String, bool)>,
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
            looks: real.looks.clone(),
            office: office.clone(),
            follow: Follow::default(),
            cursor: None,
            trouble: None,
            failures: 0,
            endpoints: Vec::new(),
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
            let latency = self.looks.latency_kept(&snapshot["outside"]);
            past.push((steady, self.follow.next(steady, collected, &self.units, latency)));
        }
        past
    }

    /// Measures from inside and from outside, keeps all of it, and gives what is watched.
    pub(super) fn collect(&mut self, now: Now) -> Option<Sighting> {
        let outside = self.looks.measure(now.wall);
        let ready = self.way.as_ref().map_or(Ok(()), |way| is_ready(way, Role::Observe));
        let collected =
            ready.and_then(|()| self.source.collect(self.cursor.as_deref()).map_err(|e| e.to_string()));
        self.failures = self.record(now, collected.as_ref().map_err(String::as_str), &outside);
        self.endpoints = outside.iter().map(|it| (it.name.clone(), it.healthy)).collect();
        match collected {
            Ok(collected) => {
                self.trouble = None;
                self.cursor.clone_from(&collected.cursor);
                let latency = self.looks.latency(&outside);
                Some(self.follow.next(now.steady, collected, &self.units, latency))
            }
            Err(why) => {
                self.trouble = Some(why);
                None
            }
        }
    }

    /// Into `metrics.db`. One that cannot be written is said, and stops nothing. Gives how many reads failed, and says so.
    fn record(&self, now: Now, inside: Result<&Collected, &str>, outside: &[Endpoint]) -> u64 {
        let Some(office) = self.office.upgrade() else { return 0 };
        let seen = Seen { target: &self.target, at: now.wall, inside, outside, before: self.follow.last() };
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
        let failures = failures_of(&observation);
        if failures > 0 {
            warn!(target = self.target, failures, "a collection ended with reads that failed");
        }
        failures
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    pub(super) fn endpoints(&self) -> Vec<(String, bool)> {
        self.endpoints.clone()
    }

    /// Only what can be changed is guarded.
    pub(super) fn guard(&self) -> Guard {
        match self.source {
            Source::Doorman(_) => Guard::Beside { hearts: self.hearts.clone() },
            Source::Here { .. } | Source::Account { .. } => Guard::NotNeeded,
        }
    }

    pub(super) fn look(&mut self, now: Now, not_before: Option<Timestamp>) -> Outdoors {
        let round = self.looks.round(now.wall, not_before);
        // Without a guard beside this process nothing is tried here.
        let heart =
            self.hearts.as_ref().and_then(|folder| Heart::read(folder, self.target.parse().as_ref().ok()?));
        let ago = |span: Duration| Steady(now.steady.0.saturating_sub(span.as_millis() as u64));
        Outdoors {
            endpoints: round
                .found
                .into_iter()
                .map(|(name, found)| (name, health(&found, now.steady)))
                .collect(),
            // The guard asks others of its own.
            references: round.references && heart.as_ref().is_none_or(|heart| !heart.alone),
            vpn: round.vpn,
            heartbeat: heart.as_ref().and_then(Heart::age).map(ago),
            watched: Watched::Only(heart.as_ref().and_then(|heart| heart.watching.clone())),
            whole: heart.as_ref().is_none_or(|heart| heart.parts.is_none()),
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

/// One that was not reached at all is one failure, whatever could have been read.
fn failures_of(observation: &Observation) -> u64 {
    let unreached = observation.outcome == Outcome::Unreached;
    (observation.failed.len() as u64).max(u64::from(unreached))
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
            parts: None,
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
}
