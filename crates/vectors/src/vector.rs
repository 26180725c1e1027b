//! A direction: as many finite numbers as the model gives, of length 1.

use crate::error::NoVector;

/// Numbers in a vector: what all-MiniLM-L6-v2 gives.
pub const WIDTH: usize = 384;

/// Bytes of a vector on the disk, every number a little-endian `f32`.
pub(crate) const VECTOR_BYTES: usize = WIDTH * 4;

/// How far from 1 the length of a stored vector may be: rounding alone leaves it a hundred times nearer.
const LENGTH_OFF_MAX: f64 = 1e-4;

/// A vector of length 1; the product of two is the cosine of their angle.
#[derive(Clone, PartialEq)]
pub struct Vector(Box<[f32; WIDTH]>);

impl Vector {
    /// Takes the direction of these numbers.
    pub fn new(numbers: &[f32]) -> Result<Vector, NoVector> {
        let mut own: Box<[f32; WIDTH]> =
            numbers.to_vec().into_boxed_slice().try_into().map_err(|_| NoVector::Width(numbers.len()))?;
        if let Some(place) = own.iter().position(|n| !n.is_finite()) {
            return Err(NoVector::NotFinite(place));
        }
        let length = length(&own);
        if length == 0.0 {
            return Err(NoVector::NoDirection);
        }
        own.iter_mut().for_each(|n| *n = (f64::from(*n) / length) as f32);
        Ok(Vector(own))
    }

    pub fn numbers(&self) -> &[f32; WIDTH] {
        &self.0
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    /// One that was written by [`Vector::to_bytes`]; `None` for what never was.
    pub(crate) fn from_bytes(bytes: &[u8; VECTOR_BYTES]) -> Option<Vector> {
        let mut numbers = Box::new([0.0; WIDTH]);
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *number = f32::from_le_bytes(*bytes);
        }
        // Not finite numbers have no length near 1 either.
        ((length(&numbers) - 1.0).abs() < LENGTH_OFF_MAX).then_some(Vector(numbers))
    }
}

/// A vector can reveal the text it was made of: it is not shown.
impl std::fmt::Debug for Vector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vector(..)")
    }
}

/// In doubles: neither the greatest nor the smallest numbers overflow or vanish when squared.
fn length(numbers: &[f32; WIDTH]) -> f64 {
    numbers.iter().map(|n| f64::from(*n) * f64::from(*n)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_has_no_direction_is_refused_and_says_why() {
        let with = |place: usize, number: f32| {
            let mut numbers = vec![0.0; WIDTH];
            numbers[place] = number;
            Vector::new(&numbers).map(|_| ())
        };
        assert_eq!(with(0, 0.0), Err(NoVector::NoDirection));
        assert_eq!(with(7, f32::NAN), Err(NoVector::NotFinite(7)));
        assert_eq!(with(383, f32::INFINITY), Err(NoVector::NotFinite(383)));
        assert_eq!(with(0, f32::NEG_INFINITY), Err(NoVector::NotFinite(0)));
        assert_eq!(Vector::new(&[1.0; 383]).map(|_| ()), Err(NoVector::Width(383)));
        assert_eq!(Vector::new(&[]).map(|_| ()), Err(NoVector::Width(0)));
        for number in [f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::from_bits(1)] {
            assert_eq!(with(5, number), Ok(()), "{number:e}");
        }
    }

    #[test]
    fn the_greatest_numbers_do_not_overflow() {
        let vector = Vector::new(&[f32::MAX; WIDTH]).unwrap();
        assert!((length(vector.numbers()) - 1.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn a_vector_comes_back_from_its_bytes_as_it_was(numbers in prop::collection::vec(-1e3_f32..1e3, WIDTH)) {
            prop_assume!(numbers.iter().any(|n| *n != 0.0));
            let vector = Vector::new(&numbers).unwrap();
            let bytes: [u8; VECTOR_BYTES] = vector.to_bytes().try_into().unwrap();
            prop_assert_eq!(Vector::from_bytes(&bytes), Some(vector));
        }
    }

    #[test]
    fn bytes_that_are_no_vector_are_none() {
        assert_eq!(Vector::from_bytes(&[0; VECTOR_BYTES]), None);
        assert_eq!(Vector::from_bytes(&[0xff; VECTOR_BYTES]), None);
        assert_eq!(Vector::from_bytes(&[0x40; VECTOR_BYTES]), None);
    }
}
