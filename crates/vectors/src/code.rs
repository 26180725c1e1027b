//! A vector in a byte a number: what is looked at first, since it is a quarter of the memory.
//!
//! The numbers of a vector are divided by a scale of its own and rounded to -127..=127. A code keeps how far the rounding moved the
//! vector, so that from the product of two codes follows how much the true product can be at most and at least.

use crate::vector::{Vector, WIDTH};

/// Added to a code's numbers where they are stored: the instructions multiply bytes without sign by bytes with one.
pub(crate) const OFFSET: i32 = 128;

/// Covers what rounding of single-precision sums can add to a product of two unit vectors.
const ROUNDING: f32 = 1e-5;

/// A vector as it is stored for looking through.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Code {
    pub(crate) bytes: [u8; WIDTH],
    pub(crate) scale: f32,
    /// The distance between the vector and what the code says, never less than it is.
    pub(crate) error: f32,
}

impl Code {
    pub(crate) fn of(vector: &Vector) -> Code {
        let numbers = vector.numbers();
        let greatest = numbers.iter().fold(0.0_f32, |m, n| m.max(n.abs()));
        let scale = greatest / 127.0;
        let (mut bytes, mut moved) = ([0; WIDTH], 0.0_f64);
        for (byte, number) in bytes.iter_mut().zip(numbers) {
            let rounded = (number / scale).round_ties_even().clamp(-127.0, 127.0);
            *byte = (rounded as i32 + OFFSET) as u8;
            moved += (f64::from(*number) - f64::from(rounded) * f64::from(scale)).powi(2);
        }
        Code { bytes, scale, error: (moved.sqrt() * (1.0 + 1e-6)) as f32 }
    }
}

/// A code that others are compared with.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) signed: [i8; WIDTH],
    /// What the offset of the other's bytes adds to the sum of products.
    pub(crate) offset: i32,
    pub(crate) scale: f32,
    error: f32,
}

impl Probe {
    pub(crate) fn of(code: &Code) -> Probe {
        Probe { error: code.error, ..Probe::stored(&code.bytes, code.scale) }
    }

    /// Of a stored code, for comparing alone: it knows no bounds.
    pub(crate) fn stored(bytes: &[u8; WIDTH], scale: f32) -> Probe {
        let signed = bytes.map(|byte| (byte ^ 0x80) as i8);
        let sum: i32 = signed.iter().map(|n| i32::from(*n)).sum();
        Probe { signed, offset: OFFSET * sum, scale, error: 0.0 }
    }

    /// How far the true product of this vector and another may be from the product of their codes.
    pub(crate) fn slack(&self, error: f32) -> f32 {
        // |q·v − q̂·v̂| ≤ |q||v − v̂| + |v̂||q − q̂|, and |v̂| is at most 1 and its own error.
        error + (1.0 + error) * self.error + ROUNDING
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Means;
    use proptest::prelude::*;

    fn vectors() -> impl Strategy<Value = Vector> {
        prop::collection::vec(-1.0_f32..1.0, WIDTH)
            .prop_filter("a direction", |n| n.iter().any(|n| *n != 0.0))
            .prop_map(|n| Vector::new(&n).unwrap())
    }

    proptest! {
        #[test]
        fn the_true_product_is_within_the_slack_of_the_codes(a in vectors(), b in vectors()) {
            let (means, probe, code) = (Means::best(), Probe::of(&Code::of(&a)), Code::of(&b));
            let mut score = [0.0];
            means.scores_run(&probe, &code.bytes, &[code.scale], &mut score);
            let exact = means.dot(a.numbers(), b.numbers());
            prop_assert!((exact - score[0]).abs() <= probe.slack(code.error), "{exact} {}", score[0]);
        }
    }

    #[test]
    fn one_single_number_and_all_alike_are_coded() {
        let mut one = [0.0; WIDTH];
        one[3] = -1.0;
        let code = Code::of(&Vector::new(&one).unwrap());
        assert_eq!((code.bytes[3], code.bytes[0]), (1, 128));
        assert!(code.error < 1e-6);
        let alike = Code::of(&Vector::new(&[2.5; WIDTH]).unwrap());
        assert_eq!(alike.bytes, [255; WIDTH]);
    }
}
