//! What each connection is doing, so that the one that is missed least can be closed when there are too many.
//!
//! A connection that waits for its client (nothing asked, half a head, half a body, an answer that is not taken) costs a place and gives
//! nobody anything. When places run out those are closed, the one that has waited longest first, so that whoever comes now gets in. A request that
//! is being answered, a stream, and a tunnel are never closed for that.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::client::{Client, Neighbourhood};

/// Whoever came or was answered so lately is closed only when there is nobody else: a request follows its connection within a round trip.
const GRACE: Duration = Duration::from_secs(1);
/// Of all connections, so many are closed at once: looking through all of them for each newcomer would cost what a flood wants it to.
const SHARE: usize = 32;

/// One connection.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(crate) client: Client,
    began: Instant,
    /// Requests that have no complete answer yet.
    in_flight: AtomicU32,
    /// Of these, the ones whose body has not come yet.
    uploading: AtomicU32,
    /// Set before a 101 is written: what is read afterwards is another protocol.
    upgraded: AtomicBool,
    /// Milliseconds after `began` at which something was last asked or answered.
    stirred: AtomicU64,
    /// Milliseconds after `began` since which the client takes nothing, and one; 0 while it does.
    stalled: AtomicU64,
    /// Cancelled when its place is needed.
    pub(crate) cut: CancellationToken,
}

/// How little a connection is missed: the first are closed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Missed {
    Idle,
    Stuck,
    IdleOfLate,
    StuckOfLate,
}

impl Activity {
    pub(crate) fn new(client: Client) -> Activity {
        Activity {
            client,
            began: Instant::now(),
            in_flight: AtomicU32::new(0),
            uploading: AtomicU32::new(0),
            upgraded: AtomicBool::new(false),
            stirred: AtomicU64::new(0),
            stalled: AtomicU64::new(0),
            cut: CancellationToken::new(),
        }
    }

    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        self.stir();
    }

    pub(crate) fn end(&self) {
        self.stir();
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) > 0
    }

    pub(crate) fn upgrade(&self) {
        self.upgraded.store(true, Ordering::Release);
    }

    pub(crate) fn is_upgraded(&self) -> bool {
        self.upgraded.load(Ordering::Acquire)
    }

    pub(crate) fn stir(&self) {
        self.stirred.store(self.millis(), Ordering::Relaxed);
    }

    /// Since anything was last asked or answered.
    pub(crate) fn quiet_for(&self) -> Duration {
        let stirred = Duration::from_millis(self.stirred.load(Ordering::Relaxed));
        self.age().saturating_sub(stirred)
    }

    /// The client takes nothing of what is ready for it.
    pub(crate) fn stall(&self) {
        let now = self.millis().saturating_add(1);
        let _ = self.stalled.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn flow(&self) {
        self.stalled.store(0, Ordering::Relaxed);
    }

    /// Held while the body of a request has not wholly come.
    pub(crate) fn uploading(self: &Arc<Activity>) -> Uploading {
        self.uploading.fetch_add(1, Ordering::AcqRel);
        Uploading(self.clone())
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.age().as_millis()).unwrap_or(u64::MAX)
    }

    fn stalled_for(&self) -> Option<Duration> {
        let since = self.stalled.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.age().saturating_sub(Duration::from_millis(since)))
    }

    /// How little it is missed, and for how long it has waited for its client; `None` while it does not.
    fn missed(&self) -> Option<(Missed, Duration)> {
        if self.is_upgraded() || self.cut.is_cancelled() {
            return None;
        }
        let quiet = self.quiet_for();
        let of_late = |waited: Duration, long: Missed, short: Missed| {
            Some((if waited < GRACE { short } else { long }, waited))
        };
        let in_flight = self.in_flight.load(Ordering::Acquire);
        match self.stalled_for() {
            _ if in_flight == 0 => of_late(quiet, Missed::Idle, Missed::IdleOfLate),
            Some(stalled) => of_late(stalled, Missed::Stuck, Missed::StuckOfLate),
            // Nothing is answered: every request waits for the rest of its body.
            None if self.uploading.load(Ordering::Acquire) >= in_flight => {
                of_late(quiet, Missed::Stuck, Missed::StuckOfLate)
            }
            None => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Uploading(Arc<Activity>);

impl Drop for Uploading {
    fn drop(&mut self) {
        self.0.uploading.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Every connection there is.
#[derive(Debug, Default)]
pub(crate) struct Roll {
    /// Has at most as many entries as there are places.
    all: Mutex<Listed>,
}

#[derive(Debug, Default)]
struct Listed {
    next: u64,
    all: HashMap<u64, Arc<Activity>>,
}

/// A connection's line in the roll; struck out when it is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    roll: Arc<Roll>,
    number: u64,
}

impl Roll {
    pub(crate) fn enter(self: &Arc<Roll>, activity: Arc<Activity>) -> Entry {
        let mut listed = self.listed();
        let number = listed.next;
        listed.next += 1;
        listed.all.insert(number, activity);
        Entry { roll: self.clone(), number }
    }

    /// Closes those that are missed least, of one neighbourhood or of all, and says which. Their places are free a moment later.
    pub(crate) fn shed(&self, of: Option<Neighbourhood>) -> Vec<Arc<Activity>> {
        let listed = self.listed();
        let among = |activity: &&Arc<Activity>| of.is_none_or(|of| of == activity.client.neighbourhood());
        let mut spare: Vec<_> = listed
            .all
            .values()
            .filter(among)
            .filter_map(|it| Some((it.missed()?, it)))
            .map(|((missed, waited), it)| ((missed, std::cmp::Reverse(waited)), it))
            .collect();
        let many = (spare.len() / SHARE).max(1).min(spare.len());
        if many == 0 {
            return Vec::new();
        }
        spare.select_nth_unstable_by_key(many - 1, |(order, _)| *order);
        let shed: Vec<_> = spare.into_iter().take(many).map(|(_, it)| it.clone()).collect();
        shed.iter().for_each(|it| it.cut.cancel());
        shed
    }

    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.roll.listed().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Client {
        Client { address: format!("{address}:1").parse().unwrap(), to: None, https: false }
    }

    /// Connections in the order in which they came, two seconds apart.
    async fn came(roll: &Arc<Roll>, addresses: &[&str]) -> Vec<(Arc<Activity>, Entry)> {
        let mut all = Vec::new();
        for address in addresses {
            let activity = Arc::new(Activity::new(client(address)));
            all.push((activity.clone(), roll.enter(activity)));
            tokio::time::advance(2 * GRACE).await;
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_has_waited_longest_goes_first_and_whoever_is_answered_never() {
        let roll = Arc::default();
        let all = came(&roll, &["10.0.0.1"; 6]).await;
        all[0].0.begin();
        all[1].0.upgrade();
        all[2].0.begin();
        let _half_a_body = all[2].0.uploading();
        tokio::time::advance(GRACE / 2).await;
        all[3].0.begin();
        all[3].0.stall();
        // A late request: it waits for the next one since then.
        all[4].0.begin();
        all[4].0.end();
        tokio::time::advance(2 * GRACE).await;
        let mut order = Vec::new();
        loop {
            let shed = roll.shed(None);
            let Some(first) = shed.first() else { break };
            order.push(all.iter().position(|(it, _)| Arc::ptr_eq(it, first)).unwrap());
        }
        assert_eq!(order, [5, 4, 2, 3], "idle ones, then those that are stuck; streams and answers stay");
        drop(all);
        assert!(roll.listed().all.is_empty(), "nobody is remembered who has left");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_came_this_moment_stays_while_anybody_has_waited() {
        let roll: Arc<Roll> = Arc::default();
        let _old = came(&roll, &["10.0.0.1", "10.0.0.1"]).await;
        let new = Arc::new(Activity::new(client("10.0.0.1")));
        let _entry = roll.enter(new.clone());
        assert!(!Arc::ptr_eq(&roll.shed(None)[0], &new) && !Arc::ptr_eq(&roll.shed(None)[0], &new));
        assert!(Arc::ptr_eq(&roll.shed(None)[0], &new), "and then it is the only one");
    }

    #[tokio::test(start_paused = true)]
    async fn a_neighbourhood_makes_room_among_its_own() {
        let roll: Arc<Roll> = Arc::default();
        let all = came(&roll, &["10.0.0.1", "127.0.0.1", "127.9.9.9"]).await;
        let here = Neighbourhood::of("127.0.0.5".parse().unwrap());
        assert!(Arc::ptr_eq(&roll.shed(Some(here))[0], &all[1].0));
        assert!(Arc::ptr_eq(&roll.shed(Some(here))[0], &all[2].0));
        assert!(roll.shed(Some(here)).is_empty());
    }
}
