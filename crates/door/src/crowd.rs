//! How many connections there are, in all and from one neighbourhood.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::client::Neighbourhood;

#[derive(Debug)]
pub(crate) struct Crowd {
    total_max: usize,
    each_max: usize,
    /// Has at most as many keys as there are connections.
    here: Mutex<Here>,
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
    pub(crate) fn new(total_max: usize, each_max: usize) -> Arc<Crowd> {
        Arc::new(Crowd { total_max, each_max, here: Mutex::default() })
    }

    pub(crate) fn enter(self: &Arc<Crowd>, address: IpAddr) -> Result<Slot, Full> {
        self.enter_from(Neighbourhood::of(address))
    }

    /// For somebody who speaks for many, and is held to the total alone.
    pub(crate) fn enter_for_others(self: &Arc<Crowd>) -> Result<Slot, Full> {
        self.enter_from(None)
    }

    fn enter_from(self: &Arc<Crowd>, from: Option<Neighbourhood>) -> Result<Slot, Full> {
        let mut here = self.here();
        if here.total >= self.total_max {
            return Err(Full::House);
        }
        if let Some(from) = from {
            let each = here.each.entry(from).or_default();
            if *each >= self.each_max {
                return Err(Full::Neighbourhood);
            }
            *each += 1;
        }
        here.total += 1;
        Ok(Slot { crowd: self.clone(), from })
    }

    pub(crate) fn total(&self) -> usize {
        self.here().total
    }

    fn leave(&self, from: Option<Neighbourhood>) {
        let mut here = self.here();
        here.total -= 1;
        let Some(from) = from else { return };
        let each = here.each.entry(from).or_default();
        *each = each.saturating_sub(1);
        if *each == 0 {
            here.each.remove(&from);
        }
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
    fn one_neighbourhood_cannot_take_all_places_and_loopback_can() {
        let crowd = Crowd::new(6, 2);
        let held: Vec<_> = ["10.0.0.1", "10.0.0.1"].map(|a| crowd.enter(at(a)).unwrap()).into();
        assert_eq!(crowd.enter(at("10.0.0.1")).unwrap_err(), Full::Neighbourhood);
        assert_eq!(
            crowd.enter(at("::ffff:10.0.0.1")).unwrap_err(),
            Full::Neighbourhood,
            "the same in another spelling"
        );
        let other = crowd.enter(at("10.0.0.2")).unwrap();
        let local: Vec<_> = (0..3).map(|_| crowd.enter(at("127.0.0.1")).unwrap()).collect();
        assert_eq!(crowd.enter(at("10.0.0.3")).unwrap_err(), Full::House);
        drop((held, other, local));
        assert_eq!(crowd.total(), 0);
        assert!(crowd.here().each.is_empty(), "nobody is remembered who has left");
    }

    #[test]
    fn a_whole_ipv6_household_counts_as_one() {
        let crowd = Crowd::new(9, 1);
        let _held = crowd.enter(at("2001:db8:1:2::1")).unwrap();
        assert_eq!(crowd.enter(at("2001:db8:1:2:ffff::9")).unwrap_err(), Full::Neighbourhood);
        assert!(crowd.enter(at("2001:db8:1:3::1")).is_ok());
    }
}
