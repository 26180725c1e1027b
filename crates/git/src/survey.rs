//! Looks at what git would open before git does. A pipe or a device where it expects a file would make it wait for ever: git opens what has the right name and
//! asks later. A link may lead to what belongs to somebody else.

use std::collections::HashSet;
use std::fs::FileType;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::place::{Place, read_plain};
use crate::run::NotDone;
use crate::{alternates, owner};

/// Git follows no longer chain of alternates.
const ALTERNATES_DEEP_MAX: usize = 5;
/// A repository that borrows does so from one other, as a rule.
pub(crate) const ALTERNATES_MAX: usize = 100;
const ALTERNATES_BYTES_MAX: u64 = 1 << 20;
/// Folders that are looked into as a whole; of all others but the objects, git reads nothing that a scan asks for.
const FOLDERS: [&str; 4] = ["info", "refs", "reftable", "worktrees"];
/// Git packs loose objects when there are some thousands, and references too if it is let.
const ENTRIES_MAX: usize = 4 << 20;
const WITHIN: Duration = Duration::from_secs(60);

/// Everything that git reads of a repository.
pub(crate) fn whole(place: &Place) -> Result<(), NotDone> {
    let mut survey = Survey::new();
    let mut roots = vec![&place.git_dir];
    roots.extend((place.common_dir != place.git_dir).then_some(&place.common_dir));
    for root in roots {
        survey.folder(root, Depth::This)?;
        FOLDERS.iter().try_for_each(|name| survey.folder(&root.join(name), Depth::All))?;
    }
    if let Some(top) = &place.work_tree {
        survey.path(&top.join(".gitattributes"))?;
    }
    survey.store(&place.common_dir.join("objects"), 0)
}

/// A folder of objects and those it borrows from, each once and without links on the way.
pub(crate) fn stores(objects: &Path) -> Result<Vec<PathBuf>, NotDone> {
    let mut survey = Survey::new();
    survey.store(objects, 0)?;
    Ok(survey.stores)
}

/// The parts of a folder of objects that hold some: `pack`, and a folder for each first byte of a name. A `pack` that is not there yet may come.
pub(crate) fn parts(store: &Path) -> Vec<PathBuf> {
    // Asked for one by one, since nobody knows how much else is there.
    let by_byte = (0..=u8::MAX).map(|byte| PathBuf::from(format!("{byte:02x}")));
    let there = by_byte.filter(|part| std::fs::symlink_metadata(store.join(part)).is_ok());
    there.chain([PathBuf::from("pack")]).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    This,
    All,
}

struct Survey {
    /// Folders that were reached by a link: they may lead in circles.
    linked: HashSet<(u64, u64)>,
    stores: Vec<PathBuf>,
    entries_left: usize,
    until: Instant,
}

impl Survey {
    fn new() -> Survey {
        Survey {
            linked: HashSet::new(),
            stores: Vec::new(),
            entries_left: ENTRIES_MAX,
            until: Instant::now() + WITHIN,
        }
    }

    /// One that is not there, or that cannot be read, git does not read either.
    fn folder(&mut self, folder: &Path, depth: Depth) -> Result<(), NotDone> {
        let mut left = vec![folder.to_owned()];
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                self.count(&folder)?;
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_file() {
                    continue;
                }
                let path = entry.path();
                let goes_on = if kind.is_symlink() { self.link(&path)? } else { kind.is_dir() };
                can_be_read(&path, kind)?;
                if goes_on && depth == Depth::All {
                    left.push(path);
                }
            }
        }
        Ok(())
    }

    /// Whoever wrote the folder could have us look for ever.
    fn count(&mut self, folder: &Path) -> Result<(), NotDone> {
        let odd = |why| Err(NotDone::Odd { path: folder.to_owned(), why });
        let Some(left) = self.entries_left.checked_sub(1) else {
            return odd("its repository has more files than are looked at");
        };
        self.entries_left = left;
        match Instant::now() < self.until {
            true => Ok(()),
            false => odd("its repository takes too long to look through"),
        }
    }

    /// Whether it leads to a folder that was not seen before.
    fn link(&mut self, path: &Path) -> Result<bool, NotDone> {
        let Ok(meta) = std::fs::metadata(path) else { return Ok(false) };
        can_be_read(path, meta.file_type())?;
        owner::check_leads(path, path)?;
        Ok(meta.is_dir() && self.linked.insert((meta.dev(), meta.ino())))
    }

    fn path(&mut self, path: &Path) -> Result<(), NotDone> {
        std::fs::metadata(path).map_or(Ok(()), |meta| can_be_read(path, meta.file_type()))
    }

    /// A folder of objects: what git opens in it, and where it borrows from.
    fn store(&mut self, objects: &Path, deep: usize) -> Result<(), NotDone> {
        let Ok(real) = objects.canonicalize() else { return Ok(()) };
        if !real.is_dir() || self.stores.contains(&real) {
            return Ok(());
        }
        for part in parts(objects).into_iter().chain([PathBuf::from("info")]) {
            let part = objects.join(part);
            if part.is_symlink() {
                self.link(&part)?;
            }
            self.folder(&part, Depth::This)?;
        }
        self.stores.push(real);
        self.alternates(objects, deep)
    }

    fn alternates(&mut self, objects: &Path, deep: usize) -> Result<(), NotDone> {
        let list = objects.join("info/alternates");
        if deep >= ALTERNATES_DEEP_MAX || !list.exists() {
            return Ok(());
        }
        let odd = |why| NotDone::Odd { path: list.clone(), why };
        for folder in alternates::parse(objects, &read_plain(&list, ALTERNATES_BYTES_MAX)?).map_err(odd)? {
            if self.stores.len() > ALTERNATES_MAX {
                return Err(odd(alternates::TOO_MANY));
            }
            owner::check_leads(&list, &folder)?;
            self.store(&folder, deep + 1)?;
        }
        Ok(())
    }
}

/// A socket cannot be opened as a file, and so holds up nobody: git's own monitor has one.
fn can_be_read(path: &Path, kind: FileType) -> Result<(), NotDone> {
    let kind = if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        return Ok(());
    };
    Err(NotDone::Waits { path: path.to_owned(), kind })
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};

    use super::*;

    fn pipe(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        mknodat(CWD, path, Kind::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    }

    fn kinds(found: Result<(), NotDone>) -> String {
        match found {
            Ok(()) => "nothing".to_owned(),
            Err(NotDone::Waits { kind, .. }) => kind.to_owned(),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn a_pipe_is_found_wherever_git_would_open_it() {
        let elsewhere = tempfile::tempdir().unwrap();
        pipe(&elsewhere.path().join("ab/cd"));
        for name in
            ["HEAD", "index", "refs/heads/deep/main", "objects/ab/cd", "info/attributes", "link", "far"]
        {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().to_owned();
            std::fs::create_dir_all(root.join("objects/info")).unwrap();
            let place = Place { git_dir: root.clone(), common_dir: root.clone(), work_tree: None };
            assert_eq!(kinds(whole(&place)), "nothing", "{name}");
            match name {
                "link" => {
                    std::os::unix::fs::symlink(elsewhere.path().join("ab"), root.join("objects/ef")).unwrap()
                }
                "far" => {
                    let text = format!("# near\n\"{}\"\n", elsewhere.path().display());
                    std::fs::write(root.join("objects/info/alternates"), text).unwrap();
                }
                name => pipe(&root.join(name)),
            }
            assert_eq!(kinds(whole(&place)), "a named pipe", "{name}");
        }
    }

    #[test]
    fn what_leads_in_circles_ends() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("info")).unwrap();
        std::os::unix::fs::symlink("..", root.join("info/up")).unwrap();
        std::fs::write(root.join("info/alternates"), "info/up\n.\ninfo/..\n").unwrap();
        assert_eq!(kinds(stores(root).map(drop)), "nothing");
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for n in 0..20 {
            let part = root.join(format!("{n:02x}"));
            std::fs::create_dir(&part).unwrap();
            (0..20).for_each(|n| std::fs::write(part.join(n.to_string()), "").unwrap());
        }
        let check = |survey: &mut Survey, expected: &str| match survey.store(root, 0) {
            Ok(()) => assert_eq!(expected, "nothing"),
            Err(NotDone::Odd { why, .. }) => assert_eq!(why, expected),
            Err(other) => panic!("{other}"),
        };
        check(&mut Survey { entries_left: 400, ..Survey::new() }, "nothing");
        let why = "its repository has more files than are looked at";
        check(&mut Survey { entries_left: 399, ..Survey::new() }, why);
        let why = "its repository takes too long to look through";
        check(&mut Survey { until: Instant::now(), ..Survey::new() }, why);
        // Git opens nothing below a folder of objects.
        std::fs::create_dir_all(root.join("00/deep/deeper")).unwrap();
        std::fs::create_dir_all(root.join("other/deep")).unwrap();
        check(&mut Survey { entries_left: 401, ..Survey::new() }, "nothing");
    }

    #[test]
    fn only_so_many_stores_are_borrowed_from() {
        let all = tempfile::tempdir().unwrap();
        let root = all.path().join("objects");
        let borrow = |count: usize| {
            std::fs::create_dir_all(root.join("info")).unwrap();
            (0..count).for_each(|n| std::fs::create_dir_all(all.path().join(n.to_string())).unwrap());
            let list: String = (0..count).map(|n| format!("../{n}\n")).collect();
            std::fs::write(root.join("info/alternates"), list).unwrap();
            stores(&root).map(|stores| stores.len())
        };
        assert_eq!(borrow(ALTERNATES_MAX).unwrap(), ALTERNATES_MAX + 1);
        assert!(borrow(ALTERNATES_MAX + 1).is_err());
    }
}
