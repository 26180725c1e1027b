//! What was changed shortly before the program began: by its time alone it cannot be told from what the program changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Guard, LOOKED_AT_MAX};
use crate::tree::{Entry, Tree};

/// File systems write times by a clock that stands still for this long at most, in nanoseconds. Two changes within it can have one time.
const TICK: i64 = 20_000_000;

/// Files and folders that shells and editors read, and that were changed shortly before the program began, as they were then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recent(BTreeMap<PathBuf, Mark>);

/// A file that has the same mark has not been changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    inode: u64,
    changed: i64,
}

impl Mark {
    fn of(path: &Path, tree: &dyn Tree) -> Option<Mark> {
        Some(Mark { inode: tree.inode(path)?, changed: tree.changed(path)? })
    }
}

impl Recent {
    /// To be called before the program begins: what has changed since the moment from which on changes are taken for its own. What changed just
    /// now is left out, since a change by the program could have the same time.
    pub fn of(guard: &Guard, tree: &dyn Tree, since: i64, now: i64) -> Recent {
        let mut recent = Recent::default();
        for at in guard.before.iter().filter(|at| !guard.covered.contains(*at)) {
            let mut left = vec![at.clone()];
            let mut seen = 0;
            while let Some(at) = left.pop() {
                seen += 1;
                if seen > LOOKED_AT_MAX {
                    break;
                }
                if tree.look(&at) == Entry::Folder {
                    left.extend(tree.list(&at).unwrap_or_default().iter().map(|(name, _)| at.join(name)));
                }
                let mark = Mark::of(&at, tree);
                if let Some(mark) =
                    mark.filter(|mark| (since..now.saturating_sub(TICK)).contains(&mark.changed))
                {
                    recent.0.insert(at, mark);
                }
            }
        }
        recent
    }

    /// Whether it is as it was, where that is known.
    pub(super) fn is_as_it_was(&self, path: &Path, tree: &dyn Tree) -> bool {
        self.0.get(path).is_some_and(|before| Mark::of(path, tree) == Some(*before))
    }
}
