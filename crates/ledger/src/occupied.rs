//! What the machine uses already, whoever it belongs to.

use std::fmt;
use std::io;

use crate::number::Number;
use crate::series::Space;

/// Looks at the machine, once per ask.
pub trait InUse: fmt::Debug + Send + Sync {
    /// What is in use of a space now. What cannot be seen is an error, not free.
    fn look(&self, space: Space) -> io::Result<Occupied>;
}

/// The stretches of a space that are in use: single numbers, or the addresses of a network. A network interface counts
/// by the number in its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupied {
    /// In order; none touches the next.
    spans: Vec<(u32, u32)>,
}

impl Occupied {
    /// From first and last of each stretch, in any order.
    pub fn new(spans: impl IntoIterator<Item = (u32, u32)>) -> Occupied {
        let mut all: Vec<(u32, u32)> = spans.into_iter().filter(|(first, last)| first <= last).collect();
        all.sort_unstable();
        let mut spans: Vec<(u32, u32)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match spans.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => spans.push((first, last)),
            }
        }
        Occupied { spans }
    }

    /// Whether any part of the number is in use.
    pub fn has(&self, number: Number) -> bool {
        let (first, last) = number.span();
        let next = self.spans.partition_point(|span| span.1 < first);
        self.spans.get(next).is_some_and(|span| span.0 <= last)
    }
}

impl FromIterator<u32> for Occupied {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Occupied {
        Occupied::new(numbers.into_iter().map(|number| (number, number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;
    use proptest::prelude::*;

    #[test]
    fn a_network_within_a_block_or_around_it_occupies_it() {
        let block = Number::parse(Series::Subnet24, "10.208.4.0/24").unwrap();
        let (first, last) = block.span();
        for (span, occupied) in [
            ((first, last), true),
            ((first + 16, first + 31), true),
            ((0, u32::MAX), true),
            ((last, last), true),
            ((0, first - 1), false),
            ((last + 1, u32::MAX), false),
        ] {
            assert_eq!(Occupied::new([span]).has(block), occupied, "{span:?}");
        }
    }

    proptest! {
        #[test]
        fn it_has_exactly_what_was_put_in(spans in prop::collection::vec((4001u32..4100, 0u32..9), 0..20)) {
            let spans = spans.into_iter().map(|(first, len)| (first, first + len)).collect::<Vec<_>>();
            let occupied = Occupied::new(spans.clone());
            for uid in 4001..4120 {
                let number = Number::new(Series::Uid, uid).unwrap();
                let expected = spans.iter().any(|(first, last)| (*first..=*last).contains(&uid));
                prop_assert_eq!(occupied.has(number), expected);
            }
        }
    }
}
