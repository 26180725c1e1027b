//! Damaged files, kept beside the new one as `index.db.damaged-<n>` for a person to look at.

use std::io;
use std::path::{Path, PathBuf};

use holdfast_durable::while_doing;

use crate::files::{folder_of, put_in_place, remove_companions, remove_database, with_suffix};

/// How many are kept.
const DAMAGED_KEPT: usize = 3;

/// Moves a damaged database that nobody has open out of the way, and its log with it. The newest three are kept.
pub(crate) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let to = next_damaged(path)?;
    // A log without its file is damage too.
    if path.exists() {
        put_in_place(path, &to)?;
    }
    let (log, log_to) = (with_suffix(path, "-wal"), with_suffix(&to, "-wal"));
    if log.exists() {
        put_in_place(&log, &log_to)?;
    }
    remove_companions(path)?;
    Ok(to)
}

/// Gives a damaged index that is about to be replaced a second name: at no moment is there none.
pub(crate) fn keep_damaged(path: &Path) -> io::Result<()> {
    let to = next_damaged(path)?;
    std::fs::hard_link(path, &to).map_err(|e| while_doing("making", &to, e))
}

/// The name for the next damaged file; the oldest go to make room for it.
fn next_damaged(path: &Path) -> io::Result<PathBuf> {
    let kept = damaged_files(path)?;
    for old in &kept[..kept.len().saturating_sub(DAMAGED_KEPT - 1)] {
        remove_database(&with_suffix(path, &format!(".damaged-{old}")))?;
    }
    let next = kept.last().map_or(1, |n| n + 1);
    Ok(with_suffix(path, &format!(".damaged-{next}")))
}

/// The numbers of those that are kept, in order.
fn damaged_files(path: &Path) -> io::Result<Vec<u64>> {
    let prefix = format!("{}.damaged-", path.file_name().unwrap_or_default().to_string_lossy());
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder_of(path))? {
        let name = entry?.file_name();
        numbers.extend(name.to_string_lossy().strip_prefix(&prefix).and_then(|n| n.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}
