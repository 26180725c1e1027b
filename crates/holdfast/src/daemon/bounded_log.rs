//! A file of JSON lines without secrets that does not grow for ever: beyond its limit it becomes the old one, and the one before goes.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::sieve;

/// Months of health checks.
const LIMIT: u64 = 2 * 1024 * 1024;

/// Appends one line.
pub(crate) fn append(path: &Path, line: &str) -> io::Result<()> {
    append_within(path, line, LIMIT)
}

fn append_within(path: &Path, line: &str, limit: u64) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        holdfast_durable::create_dir(dir)?;
    }
    if path.metadata().is_ok_and(|about| about.len() >= limit) {
        let old = path.with_extension("old.jsonl");
        holdfast_durable::remove(&old)?;
        holdfast_durable::move_to_new(path, &old)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    // One write, so that a line is never interleaved with another.
    file.write_all(format!("{}\n", sieve::sieved_json(line)).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: HRD-120
    #[test]
    fn the_log_keeps_two_files_of_bounded_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log/health.jsonl");
        for n in 0..1000 {
            append_within(&path, &format!("{{\"line\":{n}}}"), 1000).unwrap();
        }
        let sizes: Vec<u64> = std::fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|e| e.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), 2);
        assert!(sizes.iter().all(|size| *size < 1100), "{sizes:?}");
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("{\"line\":999}\n"));
    }
}
