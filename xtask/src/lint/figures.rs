//! What reference implementations gave, as plain numbers: kept beside a README that says how it was made.

use super::Found;

/// Vectors of two hundred texts, and some more; a larger one is somebody's data.
const BYTES_MAX: usize = 512 * 1024;

/// `.f32` is 32-bit numbers, the lowest byte first; `.bin` is digests.
pub(super) fn is_one(path: &str) -> bool {
    path.contains("/tests/fixtures/") && (path.ends_with(".f32") || path.ends_with(".bin"))
}

pub(super) fn check(path: &str, bytes: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    if bytes.len() > BYTES_MAX {
        found.push((1, format!("{} bytes; such a file has at most {BYTES_MAX}", bytes.len())));
    }
    let (numbers, rest) = bytes.as_chunks::<4>();
    let odd = numbers.iter().any(|four| !f32::from_le_bytes(*four).is_finite());
    if path.ends_with(".f32") && (odd || !rest.is_empty()) {
        found.push((1, "not a row of 32-bit numbers".to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_numbers_of_a_bounded_count_in_their_folder() {
        assert!(is_one("crates/embed/tests/fixtures/vectors.f32"));
        assert!(!is_one("crates/embed/src/vectors.f32"));
        assert!(!is_one("crates/embed/tests/fixtures/README.md"));
        assert!(check("a.f32", &1.5_f32.to_le_bytes()).is_empty());
        assert_eq!(check("a.f32", &f32::NAN.to_le_bytes()).len(), 1);
        assert_eq!(check("a.f32", b"abc").len(), 1);
        assert!(check("a.bin", b"abc").is_empty());
        assert_eq!(check("a.bin", &vec![0; BYTES_MAX + 1]).len(), 1);
    }
}
