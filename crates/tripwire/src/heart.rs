//! The guard's heartbeat: a small file per target that says when it last did a whole round, what it watches, and which ways back were
//! rehearsed when. The steward reads it and tries nothing where it is missing, old, or knows nothing of the episode.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_lifeline::{BootId, EpisodeId, TargetName};
use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::clock;

const BYTES_MAX: u64 = 16 << 10;

/// A way back, as people read it and as it is told to the steward.
pub const FIRST_ROUTE: &str = "first route";
pub const SECOND_ROUTE: &str = "second route";
pub const PROVIDER: &str = "provider";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heart {
    pub boot: BootId,
    /// When a whole round ended, on this machine's clock since boot.
    pub beat_ms: u64,
    pub watching: Option<EpisodeId>,
    pub undoing: bool,
    /// When it last looked, nobody answered who has nothing to do with the target: it is cut off itself.
    pub alone: bool,
    /// Why the installed safety parts are not the ones their manifest names; nothing where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<String>,
    pub rehearsed: BTreeMap<String, Timestamp>,
    /// Ways back that failed when they were last rehearsed, and why.
    pub failing: BTreeMap<String, String>,
}

impl Heart {
    pub fn file(folder: &Path, target: &TargetName) -> PathBuf {
        folder.join(format!("{target}.heart.json"))
    }

    /// Not synced: after a power cut there is none, which is the truth.
    pub fn write(&self, folder: &Path, target: &TargetName) -> io::Result<()> {
        let bytes = serde_json::to_vec(self).map_err(io::Error::other)?;
        holdfast_durable::replace_passing(
            &Heart::file(folder, target),
            &bytes,
            holdfast_durable::Mode::Readable,
        )
    }

    /// Nothing where there is none that can be read.
    pub fn read(folder: &Path, target: &TargetName) -> Option<Heart> {
        let path = Heart::file(folder, target);
        serde_json::from_slice(&holdfast_durable::read_bounded(&path, BYTES_MAX).ok()?).ok()
    }

    /// How long ago it beat; nothing when that was before this machine was started, or is still to come.
    pub fn age(&self) -> Option<Duration> {
        let now = clock::since_boot_ms();
        (self.boot == clock::this_boot()).then_some(())?;
        now.checked_sub(self.beat_ms).map(Duration::from_millis)
    }

    /// How long ago a way back was rehearsed; nothing when never, or when the clock has gone back since.
    pub fn rehearsed_ago(&self, way: &str, now: Timestamp) -> Option<Duration> {
        let at = *self.rehearsed.get(way)?;
        (now >= at).then(|| now.since(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heart_is_read_back_and_one_of_another_boot_has_no_age() {
        let folder = tempfile::tempdir().unwrap();
        let target: TargetName = "box-1".parse().unwrap();
        assert_eq!(Heart::read(folder.path(), &target), None);
        let at = Timestamp::from_micros(1_000_000).unwrap();
        let heart = Heart {
            boot: clock::this_boot(),
            beat_ms: clock::since_boot_ms(),
            watching: Some("ep_1".parse().unwrap()),
            undoing: false,
            alone: false,
            parts: None,
            rehearsed: [(FIRST_ROUTE.to_owned(), at)].into(),
            failing: BTreeMap::new(),
        };
        heart.write(folder.path(), &target).unwrap();
        let read = Heart::read(folder.path(), &target).unwrap();
        assert_eq!(read, heart);
        assert!(read.age().unwrap() < Duration::from_secs(60));
        let later = Timestamp::from_micros(3_000_000).unwrap();
        assert_eq!(read.rehearsed_ago(FIRST_ROUTE, later), Some(Duration::from_secs(2)));
        assert_eq!(read.rehearsed_ago(FIRST_ROUTE, Timestamp::EPOCH), None, "the clock went back");
        assert_eq!(read.rehearsed_ago(PROVIDER, later), None);
        let old = Heart { boot: BootId(0), ..heart.clone() };
        assert_eq!(old.age(), None);
        let to_come = Heart { beat_ms: u64::MAX, ..heart };
        assert_eq!(to_come.age(), None);
        let path = Heart::file(folder.path(), &target);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Heart::read(folder.path(), &target), None);
        // A pipe in its place is not waited on.
        std::fs::remove_file(&path).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert_eq!(Heart::read(folder.path(), &target), None);
    }
}
