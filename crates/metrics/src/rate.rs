//! Counters to rates. Pure.

/// What a counter belongs to: the same counter goes on only within the same boot and the same start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub boot: Option<String>,
    pub since: Option<u64>,
}

/// A counter as it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Microseconds; of one clock.
    pub at: i64,
    pub value: u64,
    pub begun: Begun,
}

/// What two readings in a row come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rated {
    /// It begins again: there is nothing to compare with.
    Begins,
    /// It went on at so much a second.
    GoesOn { per_second: f64 },
}

/// The rate between two readings. A decrease, another boot, another start, or a clock that did not move on begins anew.
pub fn rate_of(before: Option<&Counted>, now: &Counted) -> Rated {
    let Some(before) = before else { return Rated::Begins };
    let (grown, micros) = (now.value.checked_sub(before.value), now.at.saturating_sub(before.at));
    match grown {
        Some(grown) if micros > 0 && before.begun == now.begun => {
            Rated::GoesOn { per_second: grown as f64 / (micros as f64 / 1e6) }
        }
        _ => Rated::Begins,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted(at: i64, value: u64, boot: &str, since: u64) -> Counted {
        Counted { at, value, begun: Begun { boot: Some(boot.to_owned()), since: Some(since) } }
    }

    #[test]
    fn a_counter_has_a_rate_only_while_it_goes_on() {
        let first = counted(0, 1000, "a", 7);
        let rated = |now: Counted| rate_of(Some(&first), &now);
        assert_eq!(rate_of(None, &first), Rated::Begins);
        assert_eq!(rated(counted(2_000_000, 3000, "a", 7)), Rated::GoesOn { per_second: 1000.0 });
        assert_eq!(rated(counted(2_000_000, 1000, "a", 7)), Rated::GoesOn { per_second: 0.0 });
        for begins in [
            counted(2_000_000, 999, "a", 7),
            counted(2_000_000, 3000, "b", 7),
            counted(2_000_000, 3000, "a", 8),
            counted(0, 3000, "a", 7),
            counted(-5, 3000, "a", 7),
        ] {
            assert_eq!(rated(begins.clone()), Rated::Begins, "{begins:?}");
        }
    }

    proptest! {
        #[test]
        fn a_rate_is_never_negative_nor_infinite(from: (i64, u64), to: (i64, u64)) {
            let rated = rate_of(Some(&counted(from.0, from.1, "a", 0)), &counted(to.0, to.1, "a", 0));
            if let Rated::GoesOn { per_second } = rated {
                prop_assert!(per_second.is_finite() && per_second >= 0.0);
            }
        }
    }
}
