//! How it stands with the gateway's certificate, for whoever should know: a sentence in the status while something is wrong, and a notice
//! when it begins and when it is over.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use holdfast_door::{Keeper, Standing, Status};
use holdfast_notice::{Notice, Severity};
use holdfast_types::Timestamp;
use tracing::warn;

use crate::kinds::own_actor;
use crate::look::time;
use crate::office::Office;

/// How often it is looked whether there is something to tell.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// What is tried again by itself may be over before anybody has read of it: a network that comes up after the daemon does.
const PATIENCE: Duration = Duration::from_secs(30);
/// A good word is no repeat of a bad one.
const FOLDED_BAD: &str = "gateway-certificate";
const FOLDED_GOOD: &str = "gateway-certificate-good";

impl Office {
    /// Hangs in the certificates of the gateway's present life, or takes away those of the last.
    pub(super) fn keep_certificates(&self, keeper: Option<Arc<Keeper>>) {
        *self.certificates.lock().unwrap_or_else(PoisonError::into_inner) = keeper;
    }

    /// What a person has to know of the gateway's certificate.
    pub(crate) fn certificate_trouble(&self) -> Option<String> {
        let keeper = self.certificates.lock().unwrap_or_else(PoisonError::into_inner).clone();
        trouble(&keeper?.status(), self.clock.now())
    }
}

/// Tells people when trouble begins and when it is over. Never returns; dropped, it only stops looking.
pub(super) async fn watch(office: &Arc<Office>, keeper: &Keeper) {
    let mut teller = Teller::default();
    loop {
        let (status, now) = (keeper.status(), office.clock.now());
        let trouble = trouble(&status, now);
        let patience = if status.next_try.is_some() { PATIENCE } else { Duration::ZERO };
        if let Some(notice) = teller.look(trouble, patience, office.clock.monotonic()) {
            tell(office, notice).await;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn tell(office: &Arc<Office>, notice: Notice) {
    let office = office.clone();
    let told = tokio::task::spawn_blocking(move || {
        if let Err(e) = holdfast_notice::raise(&office.journal, &notice) {
            warn!(error = %e, "nobody could be told of the gateway's certificate");
        }
    });
    // It does not panic, and if it did there is nobody to tell.
    let _ = told.await;
}

/// In a sentence, or nothing where all is well or still under way for the first time.
fn trouble(status: &Status, now: Timestamp) -> Option<String> {
    let again = status.next_try.map_or_else(String::new, |next| format!("; tried again at {}", time(next)));
    match (&status.standing, &status.trouble) {
        (Standing::Plain, _) | (Standing::Missing, None) => None,
        (Standing::Missing, Some(why)) => {
            Some(format!("The gateway has no certificate, so nobody comes in: {why}{again}"))
        }
        (Standing::InUse { not_after, .. }, why) if *not_after <= now => {
            let why = why.as_deref().unwrap_or("nobody has renewed it");
            Some(format!("The gateway's certificate ended at {}: {why}{again}", time(*not_after)))
        }
        (Standing::InUse { not_after, .. }, Some(why)) => {
            let until = time(*not_after);
            Some(format!("The gateway's certificate stays the old one, good until {until}: {why}{again}"))
        }
        (Standing::InUse { uncovered, .. }, None) if !uncovered.is_empty() => {
            let names: Vec<&str> = uncovered.iter().map(|name| name.as_str()).collect();
            Some(format!("The gateway's certificate does not speak for {}", names.join(", ")))
        }
        (Standing::InUse { .. }, None) => None,
    }
}

/// Remembers what was told.
#[derive(Debug, Default)]
struct Teller {
    /// Since when there is trouble, on the clock that only goes on.
    since: Option<Duration>,
    told: bool,
}

impl Teller {
    /// What to tell now that it stands like this: each trouble once, however its words change.
    fn look(&mut self, trouble: Option<String>, patience: Duration, now: Duration) -> Option<Notice> {
        let Some(trouble) = trouble else {
            let was_told = std::mem::take(self).told;
            let text = "The gateway's certificate is good again.";
            return was_told.then(|| Notice::new(Severity::Info, own_actor(), text).folding(FOLDED_GOOD));
        };
        let since = *self.since.get_or_insert(now);
        if self.told || now.saturating_sub(since) < patience {
            return None;
        }
        self.told = true;
        Some(Notice::new(Severity::Warning, own_actor(), trouble).folding(FOLDED_BAD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn in_use(trouble: Option<&str>, uncovered: &[&str]) -> Status {
        Status {
            standing: Standing::InUse {
                not_before: at("2026-11-01T00:00:00.000000Z"),
                not_after: at("2026-12-01T00:00:00.000000Z"),
                renews_at: None,
                uncovered: uncovered.iter().map(|name| name.parse().unwrap()).collect(),
            },
            trouble: trouble.map(str::to_owned),
            next_try: None,
        }
    }

    #[test]
    fn a_sentence_says_what_is_wrong_and_what_holds_meanwhile() {
        let check = |status: &Status, now: &str, wanted: Option<&str>| {
            let found = trouble(status, at(now));
            assert_eq!(found.is_some(), wanted.is_some(), "{found:?}");
            assert!(wanted.is_none_or(|wanted| found.as_deref().unwrap().contains(wanted)), "{found:?}");
        };
        let (during, after) = ("2026-11-18T00:00:00.000000Z", "2026-12-02T00:00:00.000000Z");
        check(&in_use(None, &[]), during, None);
        check(
            &in_use(Some("it is no PEM"), &[]),
            during,
            Some("good until 2026-12-01 00:00:00Z: it is no PEM"),
        );
        check(&in_use(None, &[]), after, Some("ended at 2026-12-01 00:00:00Z: nobody has renewed it"));
        check(&in_use(None, &["app.example"]), during, Some("does not speak for app.example"));
        let next_try = Some(at("2026-11-18T00:01:00.000000Z"));
        let missing = |why: Option<&str>| Status {
            standing: Standing::Missing,
            trouble: why.map(str::to_owned),
            next_try: next_try.filter(|_| why.is_some()),
        };
        check(&missing(None), during, None);
        check(
            &missing(Some("refused")),
            during,
            Some("nobody comes in: refused; tried again at 2026-11-18 00:01:00Z"),
        );
        check(&Status { standing: Standing::Plain, ..in_use(Some("x"), &[]) }, during, None);
    }

    #[test]
    fn trouble_is_told_once_and_not_before_it_has_lasted_and_so_is_its_end() {
        let mut teller = Teller::default();
        let mut look = |trouble: Option<&str>, patience, now| {
            let told = teller.look(
                trouble.map(str::to_owned),
                Duration::from_secs(patience),
                Duration::from_secs(now),
            );
            told.map(|notice| notice.severity)
        };
        assert_eq!(look(None, 30, 0), None);
        assert_eq!(look(Some("away"), 30, 10), None);
        assert_eq!(look(None, 30, 12), None, "it was over before anybody heard of it");
        assert_eq!(look(Some("away"), 30, 20), None);
        assert_eq!(look(Some("away"), 30, 50), Some(Severity::Warning));
        assert_eq!(look(Some("away still"), 30, 90), None);
        assert_eq!(look(None, 30, 91), Some(Severity::Info));
        assert_eq!(look(Some("no PEM"), 0, 92), Some(Severity::Warning), "nobody else mends that");
    }
}
