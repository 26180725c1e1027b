//! From a host's name to its addresses, in bounded time.
//!
//! The system's resolver has no limit that a caller could set, and a call to it cannot be ended. So it is made in a thread that is left
//! behind when the time is over; and only so many may be left behind, for each holds memory until its name server gives up.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

use crate::address::{Host, Known};
use crate::found::Trouble;
use crate::until::Until;

/// Twice what [`crate::all`] runs at once: one slow round does not block the next. A resolver gives up after about ten seconds.
const AT_ONCE_MAX: usize = 32;
/// A name with more addresses than this is not tried to its end.
const ADDRESSES_MAX: usize = 8;
/// What the C library's resolver needs with its modules, several times over.
const STACK: usize = 512 * 1024;

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// The addresses of a host, at least one. A name without any says nothing about the host.
pub(crate) fn addresses(host: &Host, port: u16, until: Until) -> Result<Vec<SocketAddr>, Trouble> {
    match host.known() {
        Known::ByIp(ip) => Ok(vec![SocketAddr::new(*ip, port)]),
        Known::ByName(name) => {
            let name = name.clone();
            asked(&UNDER_WAY, until, move || {
                Ok((name.as_str(), port).to_socket_addrs()?.take(ADDRESSES_MAX).collect())
            })
        }
    }
}

/// A place among those under way, given back when the thread ends, however late.
struct Place(&'static AtomicUsize);

impl Place {
    fn take(under_way: &'static AtomicUsize) -> Option<Place> {
        let more = |count: usize| (count < AT_ONCE_MAX).then_some(count + 1);
        under_way.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Place(under_way))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn asked(
    under_way: &'static AtomicUsize,
    until: Until,
    resolve: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> Result<Vec<SocketAddr>, Trouble> {
    let place = Place::take(under_way)
        .ok_or_else(|| Trouble::ours("too many names are being looked up; the name server is slow"))?;
    let (tell, told) = sync_channel(1);
    let look = move || {
        let found = resolve();
        drop(place);
        let _nobody_waits_any_more = tell.send(found);
    };
    let thread = thread::Builder::new().name("look-up".into()).stack_size(STACK);
    thread.spawn(look).map_err(|_| Trouble::ours("no thread could be started to look up the name"))?;
    match told.recv_timeout(until.left()?) {
        Ok(Ok(addresses)) if addresses.is_empty() => Err(Trouble::ours("the name has no address")),
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
            Err(Trouble::ours("the name could not be looked up"))
        }
        Err(RecvTimeoutError::Timeout) => Err(Trouble::ours("the name was not looked up in time")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_slow_name_server_is_left_behind_and_only_so_often() {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let began = Instant::now();
        let mut holds = Vec::new();
        for _ in 0..AT_ONCE_MAX {
            let (hold, held) = channel::<()>();
            holds.push(hold);
            let slow = move || {
                let _ended = held.recv();
                Ok(vec![])
            };
            let refused = asked(&COUNT, Until::after(Duration::from_millis(5)), slow).unwrap_err();
            assert_eq!(refused, Trouble::ours("the name was not looked up in time"));
        }
        let one_more = asked(&COUNT, Until::after(Duration::from_secs(5)), || Ok(vec![])).unwrap_err();
        assert!(matches!(one_more, Trouble::Ours(why) if why.contains("too many")));
        assert!(began.elapsed() < Duration::from_secs(4), "nobody waited for them");
        // When the name server gives up at last, there is room again.
        drop(holds);
        let until = Instant::now() + Duration::from_secs(5);
        while COUNT.load(Ordering::Relaxed) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        let here = "192.0.2.7:1".parse().unwrap();
        assert_eq!(
            asked(&COUNT, Until::after(Duration::from_secs(5)), move || Ok(vec![here])),
            Ok(vec![here])
        );
    }

    #[test]
    fn a_resolver_that_fails_or_panics_says_nothing_about_the_host() {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let until = Until::after(Duration::from_secs(5));
        let fails = asked(&COUNT, until, || Err(io::ErrorKind::NotFound.into()));
        let panics = asked(&COUNT, until, || panic!("on purpose"));
        let empty = asked(&COUNT, until, || Ok(vec![]));
        for found in [fails, panics, empty] {
            assert!(matches!(found, Err(Trouble::Ours(_))), "{found:?}");
        }
        assert_eq!(COUNT.load(Ordering::Relaxed), 0);
    }
}
