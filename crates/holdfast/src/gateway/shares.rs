//! Looks at the house that run at once, and how many of them one person gets.
//!
//! Each look may read the disk, and the rest of the daemon wants it too. So there are few seats; and so that nobody who
//! asks for slow looks holds all of them, a person has a quarter at most. Who waits is served in order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holdfast_gateway::{Error, PersonId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All looks together.
const LOOKS_MAX: usize = 16;

/// Looks of one person, by session or token.
const ONES_LOOKS: usize = 4;

/// All acts together, beside the looks: a person who wants to halt everything does not wait behind slow looks.
const ACTS_MAX: usize = 8;

/// Acts of one person.
const ONES_ACTS: usize = 2;

/// The threads that all of it may take.
pub(crate) const SEATS: usize = LOOKS_MAX + ACTS_MAX;

/// Looks of one person that wait: a few tabs and a script. Who asks for more is told to come again.
const WAITING_MAX: usize = 32;

/// People who are remembered while they have nothing under way: more than any house has.
const PEOPLE_MAX: usize = 512;

/// Pages and streams that one person keeps open, of all that there can be.
const STREAMS_MAX: usize = 2_048;

#[derive(Debug)]
pub(crate) struct Shares {
    looks: Arc<Semaphore>,
    acts: Arc<Semaphore>,
    each: Mutex<HashMap<PersonId, Arc<Share>>>,
}

#[derive(Debug)]
struct Share {
    looks: Arc<Semaphore>,
    acts: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// What happens to a look when its person has too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It is refused.
    Bounded,
    /// It waits. For open pages, of which there are only so many.
    Open,
}

impl Default for Shares {
    fn default() -> Shares {
        Shares {
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
            acts: Arc::new(Semaphore::new(ACTS_MAX)),
            each: Mutex::default(),
        }
    }
}

impl Shares {
    pub(crate) async fn seat(&self, person: PersonId, patience: Patience) -> Result<Seat, Error> {
        let share = self.of(person);
        seated(&share, patience, &share.looks, &self.looks).await
    }

    /// For something a person does.
    pub(crate) async fn act(&self, person: PersonId) -> Result<Seat, Error> {
        let share = self.of(person);
        seated(&share, Patience::Bounded, &share.acts, &self.acts).await
    }

    /// A place for one more stream of theirs, while there is one.
    pub(crate) fn stream(&self, person: PersonId) -> Option<OwnedSemaphorePermit> {
        self.of(person).streams.clone().try_acquire_owned().ok()
    }

    fn of(&self, person: PersonId) -> Arc<Share> {
        let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        if each.len() >= PEOPLE_MAX {
            each.retain(|_, share| !share.is_idle());
        }
        each.entry(person).or_default().clone()
    }
}

async fn seated(
    share: &Share,
    patience: Patience,
    own: &Arc<Semaphore>,
    all: &Arc<Semaphore>,
) -> Result<Seat, Error> {
    let waits = Waits::new(share, patience)?;
    // Their own first: who waits for it holds nobody else up.
    let own = own.clone().acquire_owned().await.map_err(|_| Error::Interrupted)?;
    let all = all.clone().acquire_owned().await.map_err(|_| Error::Interrupted)?;
    drop(waits);
    Ok(Seat { _own: own, _all: all })
}

impl Default for Share {
    fn default() -> Share {
        Share {
            looks: Arc::new(Semaphore::new(ONES_LOOKS)),
            acts: Arc::new(Semaphore::new(ONES_ACTS)),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            waiting: AtomicUsize::new(0),
        }
    }
}

impl Share {
    fn is_idle(&self) -> bool {
        self.looks.available_permits() == ONES_LOOKS
            && self.acts.available_permits() == ONES_ACTS
            && self.streams.available_permits() == STREAMS_MAX
            && self.waiting.load(Ordering::Acquire) == 0
    }
}

/// That somebody waits, until it is dropped.
struct Waits<'a>(&'a Share);

impl Waits<'_> {
    fn new(share: &Share, patience: Patience) -> Result<Waits<'_>, Error> {
        let before = share.waiting.fetch_add(1, Ordering::AcqRel);
        let waits = Waits(share);
        if patience == Patience::Bounded && before >= WAITING_MAX { Err(Error::Busy) } else { Ok(waits) }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn person(n: u32) -> PersonId {
        format!("psn_{n:026}").parse().unwrap()
    }

    fn polled<T>(work: impl Future<Output = T>) -> Option<T> {
        match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn one_person_holds_a_quarter_and_another_sits_down_at_once() {
        let shares = Arc::new(Shares::default());
        let mut held = Vec::new();
        for _ in 0..ONES_LOOKS {
            held.push(shares.seat(person(1), Patience::Bounded).await.unwrap());
        }
        // A hundred more of theirs: some wait, the rest are told to come again.
        let mut waiting = Vec::new();
        for _ in 0..WAITING_MAX {
            let shares = shares.clone();
            waiting
                .push(tokio::spawn(async move { shares.seat(person(1), Patience::Bounded).await.is_ok() }));
        }
        while shares.of(person(1)).waiting.load(Ordering::Acquire) < WAITING_MAX {
            tokio::task::yield_now().await;
        }
        let more = polled(shares.seat(person(1), Patience::Bounded)).unwrap();
        assert!(matches!(more, Err(Error::Busy)));
        assert!(polled(shares.seat(person(1), Patience::Open)).is_none(), "an open page waits");
        // Somebody else does not.
        assert!(polled(shares.seat(person(2), Patience::Bounded)).unwrap().is_ok());
        drop(held);
        for one in waiting {
            assert!(one.await.unwrap());
        }
        assert!(shares.of(person(1)).is_idle());
    }

    #[test]
    fn who_has_nothing_under_way_is_forgotten() {
        let shares = Shares::default();
        let stream = shares.stream(person(7)).unwrap();
        for n in 0..10_000 {
            assert!(shares.stream(person(n)).is_some());
        }
        assert!(shares.each.lock().unwrap().len() <= PEOPLE_MAX);
        assert_eq!(shares.of(person(7)).streams.available_permits(), STREAMS_MAX - 1);
        drop(stream);
    }
}
