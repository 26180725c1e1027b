//! Looks at the house and acts that run at once, and how many of them one person gets.
//!
//! Each look may read the disk, and the rest of the daemon wants it too. So there are few seats; and so that nobody who
//! asks for slow looks holds all of them, a person has a quarter at most. Within that each session and token has a share of its own: whoever has
//! stolen one takes nothing from its person's others. Acts have seats and lines of their own: a person who wants to halt everything waits
//! behind no look. Who waits is served in order.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holdfast_gateway::{By, Error, PersonId, SessionId, Signed, TokenId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many of something there are.
#[derive(Clone, Copy, Debug)]
struct Most {
    /// Together.
    all: usize,
    of_person: usize,
    /// Of one session or token.
    of_key: usize,
}

const LOOKS: Most = Most { all: 16, of_person: 4, of_key: 2 };

/// Beside the looks. One more of a person than of a session, so that a stolen one never holds all.
const ACTS: Most = Most { all: 12, of_person: 3, of_key: 2 };

/// Pages and streams that are kept open. All together are bounded elsewhere.
const STREAMS: Most = Most { all: usize::MAX, of_person: 2_048, of_key: 512 };

/// The threads that all of it may take.
pub(crate) const SEATS: usize = LOOKS.all + ACTS.all;

/// Looks of one session or token that wait, and as many acts: a few tabs and a script. Who asks for more is told to come again.
const WAITING_MAX: usize = 32;

/// People who are remembered while they have nothing under way: more than any house has.
const PEOPLE_MAX: usize = 512;

/// Sessions and tokens of a person that are remembered while they have nothing under way.
const KEYS_MAX: usize = 128;

/// Who asks, and what they came with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    person: PersonId,
    key: Key,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Session(SessionId),
    Token(TokenId),
}

impl From<&Signed> for Asker {
    fn from(who: &Signed) -> Asker {
        let key = match who.by {
            By::Session { id, .. } => Key::Session(id),
            By::Token { id, .. } => Key::Token(id),
        };
        Asker { person: who.person, key }
    }
}

#[derive(Debug)]
pub(crate) struct Shares {
    looks: Arc<Semaphore>,
    acts: Arc<Semaphore>,
    each: Mutex<HashMap<PersonId, Arc<Person>>>,
}

/// What one person has.
#[derive(Debug)]
struct Person {
    has: Share,
    keys: Mutex<HashMap<Key, Arc<Share>>>,
}

/// What a person has, or a session or token of theirs within that.
#[derive(Debug)]
struct Share {
    looks: Line,
    acts: Line,
    streams: Arc<Semaphore>,
    streams_max: usize,
}

/// Places for one kind of work, and those who wait for one.
#[derive(Debug)]
struct Line {
    places: Arc<Semaphore>,
    max: usize,
    /// Only those who can be refused.
    waiting: AtomicUsize,
}

/// Given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    _keys: OwnedSemaphorePermit,
    _persons: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// A stream's place, given back when dropped.
#[derive(Debug)]
pub(crate) struct StreamSeat {
    _keys: OwnedSemaphorePermit,
    _persons: OwnedSemaphorePermit,
}

/// What happens to a look when there are too many.
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
            looks: Arc::new(Semaphore::new(LOOKS.all)),
            acts: Arc::new(Semaphore::new(ACTS.all)),
            each: Mutex::default(),
        }
    }
}

impl Shares {
    pub(crate) async fn look(&self, who: Asker, patience: Patience) -> Result<Seat, Error> {
        let (person, key) = self.of(who);
        seat((&key.looks, patience), &person.has.looks, &self.looks).await
    }

    /// For something a person does.
    pub(crate) async fn act(&self, who: Asker) -> Result<Seat, Error> {
        let (person, key) = self.of(who);
        seat((&key.acts, Patience::Bounded), &person.has.acts, &self.acts).await
    }

    /// A place for one more stream of theirs, while there is one.
    pub(crate) fn stream(&self, who: Asker) -> Option<StreamSeat> {
        let (person, key) = self.of(who);
        let one = |places: &Arc<Semaphore>| places.clone().try_acquire_owned().ok();
        Some(StreamSeat { _keys: one(&key.streams)?, _persons: one(&person.has.streams)? })
    }

    fn of(&self, who: Asker) -> (Arc<Person>, Arc<Share>) {
        let person = one_of(&self.each, who.person, PEOPLE_MAX, |person: &Person| person.has.is_idle());
        let key = one_of(&person.keys, who.key, KEYS_MAX, Share::is_idle);
        (person, key)
    }
}

/// The one with this key. When there are too many, those are forgotten that nobody holds and that have nothing under way.
fn one_of<K: Eq + Hash, V: Default>(
    all: &Mutex<HashMap<K, Arc<V>>>,
    key: K,
    max: usize,
    is_idle: impl Fn(&V) -> bool,
) -> Arc<V> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= max && !all.contains_key(&key) {
        all.retain(|_, one| Arc::strong_count(one) > 1 || !is_idle(one));
    }
    all.entry(key).or_default().clone()
}

async fn seat(
    (key, patience): (&Line, Patience),
    person: &Line,
    all: &Arc<Semaphore>,
) -> Result<Seat, Error> {
    let waits = (patience == Patience::Bounded).then(|| Waits::new(key)).transpose()?;
    // The narrowest first: who waits for it holds nobody else up.
    let key = key.take().await?;
    let person = person.take().await?;
    let all = all.clone().acquire_owned().await.map_err(|_| Error::Interrupted)?;
    drop(waits);
    Ok(Seat { _keys: key, _persons: person, _all: all })
}

impl Line {
    fn new(max: usize) -> Line {
        Line { places: Arc::new(Semaphore::new(max)), max, waiting: AtomicUsize::new(0) }
    }

    async fn take(&self) -> Result<OwnedSemaphorePermit, Error> {
        self.places.clone().acquire_owned().await.map_err(|_| Error::Interrupted)
    }

    fn is_idle(&self) -> bool {
        self.places.available_permits() == self.max
    }
}

impl Default for Person {
    fn default() -> Person {
        let has = Share::new(LOOKS.of_person, ACTS.of_person, STREAMS.of_person);
        Person { has, keys: Mutex::default() }
    }
}

impl Default for Share {
    /// Of one session or token.
    fn default() -> Share {
        Share::new(LOOKS.of_key, ACTS.of_key, STREAMS.of_key)
    }
}

impl Share {
    fn new(looks: usize, acts: usize, streams: usize) -> Share {
        Share {
            looks: Line::new(looks),
            acts: Line::new(acts),
            streams: Arc::new(Semaphore::new(streams)),
            streams_max: streams,
        }
    }

    fn is_idle(&self) -> bool {
        self.looks.is_idle() && self.acts.is_idle() && self.streams.available_permits() == self.streams_max
    }
}

/// That somebody waits, until it is dropped.
struct Waits<'a>(&'a Line);

impl Waits<'_> {
    fn new(line: &Line) -> Result<Waits<'_>, Error> {
        let before = line.waiting.fetch_add(1, Ordering::AcqRel);
        let waits = Waits(line);
        if before >= WAITING_MAX { Err(Error::Busy) } else { Ok(waits) }
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
    use tokio::task::JoinHandle;

    /// A session of somebody.
    fn asker(person: u32, session: u32) -> Asker {
        Asker {
            person: format!("psn_{person:026}").parse().unwrap(),
            key: Key::Session(format!("ses_{session:026}").parse().unwrap()),
        }
    }

    fn polled<T>(work: impl Future<Output = T>) -> Option<T> {
        match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    /// Takes all that a session gets, and has as many more wait as may.
    async fn flooded(
        shares: &Arc<Shares>,
        who: Asker,
        patience: Patience,
    ) -> (Vec<Seat>, Vec<JoinHandle<bool>>) {
        let mut held = Vec::new();
        for _ in 0..LOOKS.of_key {
            held.push(polled(shares.look(who, patience)).unwrap().unwrap());
        }
        let mut waiting = Vec::new();
        for _ in 0..WAITING_MAX {
            let shares = shares.clone();
            waiting.push(tokio::spawn(async move { shares.look(who, patience).await.is_ok() }));
        }
        for _ in 0..10 * WAITING_MAX {
            tokio::task::yield_now().await;
        }
        (held, waiting)
    }

    #[tokio::test]
    async fn a_stolen_session_takes_its_own_share_of_the_looks_and_no_act() {
        let shares = Arc::new(Shares::default());
        let (stolen, own) = (asker(1, 1), asker(1, 2));
        let (held, waiting) = flooded(&shares, stolen, Patience::Bounded).await;
        let more = polled(shares.look(stolen, Patience::Bounded)).unwrap();
        assert!(matches!(more, Err(Error::Busy)), "whoever has too many is told to come again");
        assert!(polled(shares.look(stolen, Patience::Open)).is_none(), "an open page waits");
        // Its person acts, in that very session too, and looks in another.
        for who in [stolen, own] {
            assert!(polled(shares.act(who)).unwrap().is_ok());
        }
        assert!(polled(shares.look(own, Patience::Bounded)).unwrap().is_ok());
        drop(held);
        for one in waiting {
            assert!(one.await.unwrap());
        }
        assert!(shares.of(stolen).0.has.is_idle());
    }

    #[tokio::test]
    async fn open_pages_that_wait_refuse_nobody() {
        let shares = Arc::new(Shares::default());
        let (_held, waiting) = flooded(&shares, asker(1, 1), Patience::Open).await;
        assert!(polled(shares.look(asker(1, 1), Patience::Bounded)).is_none(), "it waits its turn");
        assert!(polled(shares.act(asker(1, 1))).unwrap().is_ok());
        waiting.iter().for_each(JoinHandle::abort);
    }

    #[tokio::test]
    async fn a_flood_of_acts_by_one_token_leaves_its_person_a_seat() {
        let shares = Arc::new(Shares::default());
        let token = Asker { key: Key::Token(format!("tok_{:026}", 1).parse().unwrap()), ..asker(1, 1) };
        let mut held = Vec::new();
        while let Some(seat) = polled(shares.act(token)) {
            held.push(seat.unwrap());
        }
        assert_eq!(held.len(), ACTS.of_key);
        assert!(polled(shares.act(asker(1, 1))).unwrap().is_ok());
    }

    #[tokio::test]
    async fn one_person_holds_a_quarter_and_another_sits_down_at_once() {
        let shares = Shares::default();
        let mut held = Vec::new();
        for session in 0..20 {
            while let Some(seat) = polled(shares.look(asker(1, session), Patience::Bounded)) {
                held.push(seat.unwrap());
            }
        }
        assert_eq!(held.len(), LOOKS.of_person);
        assert!(polled(shares.look(asker(2, 99), Patience::Bounded)).unwrap().is_ok());
    }

    #[test]
    fn one_session_keeps_only_so_many_streams_open() {
        let shares = Shares::default();
        let held: Vec<_> = std::iter::from_fn(|| shares.stream(asker(1, 1))).collect();
        assert_eq!(held.len(), STREAMS.of_key);
        assert!(shares.stream(asker(1, 2)).is_some());
    }

    #[test]
    fn who_has_nothing_under_way_is_forgotten() {
        let shares = Shares::default();
        let stream = shares.stream(asker(7, 7)).unwrap();
        for n in 0..10_000 {
            assert!(shares.stream(asker(n, n)).is_some());
            assert!(shares.stream(asker(7, n)).is_some());
        }
        assert!(shares.each.lock().unwrap().len() <= PEOPLE_MAX);
        let (person, session) = shares.of(asker(7, 7));
        assert!(person.keys.lock().unwrap().len() <= KEYS_MAX);
        assert_eq!(session.streams.available_permits(), STREAMS.of_key - 1);
        assert_eq!(person.has.streams.available_permits(), STREAMS.of_person - 1);
        drop(stream);
    }
}
