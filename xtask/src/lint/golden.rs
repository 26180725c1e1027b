//! Databases of released versions, kept so that a test opens them for ever.

use super::Found;

/// How every SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Golden files hold a few rows; a larger one is somebody's data.
const BYTES_MAX: usize = 64 * 1024;

pub(super) fn is_one(path: &str) -> bool {
    path.ends_with(".db") && path.contains("/tests/golden/")
}

pub(super) fn check(bytes: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    if !bytes.starts_with(MAGIC) {
        found.push((1, "not a SQLite database".to_owned()));
    }
    if bytes.len() > BYTES_MAX {
        found.push((1, format!("{} bytes; a golden file has at most {BYTES_MAX}", bytes.len())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_golden_file_is_a_small_database_in_its_folder() {
        assert!(is_one("crates/store/tests/golden/metrics-v1.db"));
        assert!(!is_one("crates/store/src/metrics.db"));
        assert!(!is_one("crates/store/tests/golden/notes.md"));
        assert!(check(MAGIC).is_empty());
        assert_eq!(check(b"x").len(), 1);
        let large = [MAGIC, &vec![0; BYTES_MAX]].concat();
        assert_eq!(check(&large).len(), 1);
    }
}
