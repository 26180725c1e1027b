//! How many connections there are, in all and from one neighbourhood.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::client::Neighbourhood;

#[derive(Debug)]
pub(crate) struct Crowd {
    total_max: usize,
    each_max: usize,
    /// For this machine's own addresses together.
    from_here_max: usize,
    /// Has at most as many keys as there are connections.
    here: Mutex<Here>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Here {
    total: usize,
    each: HashMap<Neighbourhood, usize>,
}

/// Why a connection was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    House,
    Neighbourhood,
}

/// One connection's place; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    crowd: Arc<Crowd>,
    from: Option<Neighbourhood>,
}

impl Crowd {
    pub(crate) fn new(total_max: usize, each_max: usize, from_here_max: usize) -> Arc<Crowd> {
        Arc::new(Crowd { total_max, each_max, from_here_max, here: Mutex::default(), left: Notify::new() })
    }

    pub(crate) fn enter(self: &Arc<Crowd>, address: IpAddr) -> Result<Slot, Full> {
        self.enter_from(Some(Neighbourhood::of(address)))
    }

    /// Somebody who speaks for many is nobody's neighbour, and is held to the total alone.
    pub(crate) fn enter_from(self: &Arc<Crowd>, from: Option<Neighbourhood>) -> Result<Slot, Full> {
        let mut here = self.here();
        if here.total >= self.total_max {
            return Err(Full::House);
        }
        if let Some(from) = from {
            let max = if from == Neighbourhood::HERE { self.from_here_max } else { self.each_max };
            let each = here.each.entry(from).or_default();
            if *each >= max {
                return Err(Full::Neighbourhood);
            }
            *each += 1;
        }
        here.total += 1;
        Ok(Slot { crowd: self.clone(), from })
    }

    /// The same, for somebody for whom a place is being made.
    pub(crate) async fn enter_soon(
        self: &Arc<Crowd>,
        from: Option<Neighbourhood>,
        within: Duration,
    ) -> Result<Slot, Full> {
        let came = async {
            loop {
                let left = self.left.notified();
                if let Ok(slot) = self.enter_from(from) {
                    return slot;
                }
                left.await;
            }
        };
        match tokio::time::timeout(within, came).await {
            Ok(slot) => Ok(slot),
            Err(_) => self.enter_from(from),
        }
    }

    pub(crate) fn total(&self) -> usize {
        self.here().total
    }

    fn leave(&self, from: Option<Neighbourhood>) {
        let mut here = self.here();
        here.total -= 1;
        if let Some(from) = from {
            let each = here.each.entry(from).or_default();
            *each = each.saturating_sub(1);
            if *each == 0 {
                here.each.remove(&from);
            }
        }
        drop(here);
        self.left.notify_one();
    }

    fn here(&self) -> MutexGuard<'_, Here> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.crowd.leave(self.from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn no_neighbourhood_can_take_all_places_nor_can_this_machine() {
        let crowd = Crowd::new(6, 2, 3);
        let held: Vec<_> = ["10.0.0.1", "10.0.0.1"].map(|a| crowd.enter(at(a)).unwrap()).into();
        assert_eq!(crowd.enter(at("10.0.0.1")).unwrap_err(), Full::Neighbourhood);
        assert_eq!(
            crowd.enter(at("::ffff:10.0.0.1")).unwrap_err(),
            Full::Neighbourhood,
            "the same in another spelling"
        );
        let local: Vec<_> = ["127.0.0.1", "127.7.7.7", "::1"].map(|a| crowd.enter(at(a)).unwrap()).into();
        for another in ["127.0.0.1", "127.255.0.3", "::1", "::ffff:127.0.0.9"] {
            assert_eq!(crowd.enter(at(another)).unwrap_err(), Full::Neighbourhood, "{another}");
        }
        let other = crowd.enter(at("10.0.0.2")).unwrap();
        assert_eq!(crowd.enter(at("10.0.0.3")).unwrap_err(), Full::House);
        drop((held, other, local));
        assert_eq!(crowd.total(), 0);
        assert!(crowd.here().each.is_empty(), "nobody is remembered who has left");
    }

    #[test]
    fn a_whole_ipv6_household_counts_as_one() {
        let crowd = Crowd::new(9, 1, 9);
        let _held = crowd.enter(at("2001:db8:1:2::1")).unwrap();
        assert_eq!(crowd.enter(at("2001:db8:1:2:ffff::9")).unwrap_err(), Full::Neighbourhood);
        assert!(crowd.enter(at("2001:db8:1:3::1")).is_ok());
    }
}
