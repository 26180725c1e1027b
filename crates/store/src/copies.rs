//! The copies of databases in a folder: their names, which of them go, and what killed ones left.
//!
//! Copies stand in the order they were made, whatever the clock said: a copy is marked as modified later than
//! every other one of its database (`mark_newest`), and the order goes by that mark. A clock that ran ahead and was
//! put right would otherwise make every new copy look like the oldest. Copies made before a migration have names of
//! their own, so that neither they nor the regular ones push the others out.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use holdfast_types::Timestamp;

use crate::error::{Error, Result};
use crate::files::{folder_of, is_database_or_companion, remove_database};

pub(crate) const PARTIAL: &str = ".partial";

/// Copies made before migrations of one version that are kept: more come only from starts that were killed again
/// and again.
const BEFORE_KEPT: usize = 3;

/// Stands in the name of a copy that was made before a migration.
const BEFORE: &str = "before-";

/// Long enough to be seen on file systems that keep whole seconds.
const LATER: Duration = Duration::from_secs(1);

/// `<name>-v<version>-<time>.db`: what [`prune_backups`] recognises.
pub fn backup_name(name: &str, version: u32, at: Timestamp) -> String {
    format!("{name}-v{version}-{}.db", compact(at))
}

/// `<name>-v<version>-before-<time>.db`: what is made before a migration, and pruned after it only.
pub(crate) fn before_name(name: &str, version: u32, at: Timestamp) -> String {
    format!("{name}-v{version}-{BEFORE}{}.db", compact(at))
}

fn compact(at: Timestamp) -> String {
    at.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

/// Removes all but the `keep` newest backups of each database in `dir`, and tells which. At least one is kept;
/// copies made before migrations and files of other names are not touched.
pub fn prune_backups(dir: &Path, keep: usize) -> Result<Vec<PathBuf>> {
    let regular = |stamp: &Stamp| (stamp.made == Made::Regularly).then(|| stamp.name.clone());
    prune(dir, keep, regular).map_err(|e| Error::from(e).at(dir))
}

/// Removes older copies made before migrations of the same version as `newest`, which stays whatever happens.
pub(crate) fn prune_before(newest: &Path) -> io::Result<()> {
    let Some(wanted) = newest.file_name().and_then(|name| stamp_of(name.to_str()?)) else { return Ok(()) };
    let older = |stamp: &Stamp| {
        let same = (stamp.made, stamp.version, &stamp.name) == (wanted.made, wanted.version, &wanted.name);
        (same && *stamp != wanted).then_some(())
    };
    prune(folder_of(newest), BEFORE_KEPT - 1, older).map(drop)
}

/// Marks a file that is about to get the name `to` as later than every copy of the same database beside it.
pub(crate) fn mark_newest(file: &File, to: &Path) -> io::Result<()> {
    let Some(own) = to.file_name().and_then(|name| stamp_of(name.to_str()?)) else { return Ok(()) };
    let others = copies_in(folder_of(to))?.into_iter().filter(|copy| copy.stamp.name == own.name);
    let Some(newest) = others.map(|copy| copy.modified).max() else { return Ok(()) };
    if file.metadata()?.modified()? > newest {
        return Ok(());
    }
    // Beyond the end of time the name has to do.
    let Some(later) = newest.checked_add(LATER) else { return Ok(()) };
    file.set_modified(later)?;
    file.sync_all()
}

/// Removes what killed backups left in a folder, and what one to this very place left.
pub(crate) fn clear_partials(to: &Path) -> io::Result<()> {
    let dir = folder_of(to);
    let own = to.file_name().and_then(|name| name.to_str());
    for name in names_in(dir)? {
        let Some(copy) = partial_of(&name).filter(|copy| Some(*copy) == own || stamp_of(copy).is_some())
        else {
            continue;
        };
        let path = dir.join(format!("{copy}{PARTIAL}"));
        match File::open(&path) {
            // Another backup is at work on it.
            Ok(file) if file.try_lock().is_err() => {}
            Ok(_) => remove_database(&path)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => remove_database(&path)?,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The name of the copy that a file is an unfinished one of, or belongs to an unfinished one of.
fn partial_of(file: &str) -> Option<&str> {
    let (copy, rest) = file.rsplit_once(PARTIAL)?;
    is_database_or_companion(rest).then_some(copy)
}

/// What a copy's name says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    name: String,
    version: u32,
    made: Made,
    time: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Regularly,
    BeforeMigration,
}

fn stamp_of(file: &str) -> Option<Stamp> {
    let (rest, time) = file.strip_suffix(".db")?.rsplit_once('-')?;
    let (rest, made) = match rest.strip_suffix(BEFORE.trim_end_matches('-')).and_then(|r| r.strip_suffix('-'))
    {
        Some(rest) => (rest, Made::BeforeMigration),
        None => (rest, Made::Regularly),
    };
    let (name, version) = rest.rsplit_once("-v")?;
    let version = version.parse().ok()?;
    is_time(time).then(|| Stamp { name: name.to_owned(), version, made, time: time.to_owned() })
}

/// Whether a text is a time as [`compact`] writes it.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"00000000T000000.000000Z";
    text.len() == FORM.len()
        && text.bytes().zip(FORM).all(|(b, form)| if *form == b'0' { b.is_ascii_digit() } else { b == *form })
}

struct Copy {
    path: PathBuf,
    stamp: Stamp,
    modified: SystemTime,
}

fn copies_in(dir: &Path) -> io::Result<Vec<Copy>> {
    let mut copies = Vec::new();
    for name in names_in(dir)? {
        let Some(stamp) = stamp_of(&name) else { continue };
        let path = dir.join(name);
        match path.symlink_metadata() {
            Ok(about) => copies.push(Copy { path, stamp, modified: about.modified()? }),
            // Somebody else removed it meanwhile.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(copies)
}

/// Keeps the newest of each group; what has no group is none of its business.
fn prune<G: Ord>(dir: &Path, keep: usize, group: impl Fn(&Stamp) -> Option<G>) -> io::Result<Vec<PathBuf>> {
    let grouped = copies_in(dir)?.into_iter().filter_map(|copy| Some((group(&copy.stamp)?, copy)));
    let mut copies: Vec<(G, Copy)> = grouped.collect();
    // Equal marks are of files that were brought here from elsewhere; then the name has to do.
    let age = |copy: &Copy| (copy.modified, copy.stamp.time.clone(), copy.stamp.version);
    copies.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| age(other).cmp(&age(one))));
    let mut removed = Vec::new();
    for same in copies.chunk_by(|(a, _), (b, _)| a == b) {
        for (_, copy) in same.iter().skip(keep.max(1)) {
            holdfast_durable::remove(&copy.path)?;
            removed.push(copy.path.clone());
        }
    }
    Ok(removed)
}

/// Names that are text; ours all are. A folder that is not there has none.
fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    let listing = match std::fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing?,
    };
    listing.map(|entry| Ok(entry?.file_name().into_string().ok())).filter_map(io::Result::transpose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::create_private;

    const TIME: &str = "20261115T081716.000000Z";

    #[test]
    fn a_copys_name_tells_what_it_is_and_others_are_left_alone() {
        let at: Timestamp = "2026-11-15T08:17:16.000000Z".parse().unwrap();
        let check = |name: String, expected: &str, made| {
            assert_eq!(name, expected);
            let stamp = Stamp { name: "metrics".into(), version: 3, made, time: TIME.into() };
            assert_eq!(stamp_of(&name), Some(stamp));
        };
        check(backup_name("metrics", 3, at), &format!("metrics-v3-{TIME}.db"), Made::Regularly);
        check(before_name("metrics", 3, at), &format!("metrics-v3-before-{TIME}.db"), Made::BeforeMigration);
        let strange = ["metrics.db", "metrics-v3.db", "notes.txt", "metrics-v3-20261115T08171x.000000Z.db"];
        for other in strange.map(str::to_owned).into_iter().chain([format!("metrics-vx-{TIME}.db")]) {
            assert_eq!(stamp_of(&other), None, "{other}");
        }
    }

    fn touch(dir: &Path, name: &str) {
        drop(create_private(&dir.join(name)).unwrap());
    }

    fn left(dir: &Path) -> Vec<String> {
        let mut left = names_in(dir).unwrap();
        left.sort();
        left
    }

    #[test]
    fn pruning_keeps_the_newest_of_each_database_and_all_made_before_migrations() {
        let dir = tempfile::tempdir().unwrap();
        for day in 1..=4 {
            touch(dir.path(), &format!("metrics-v1-2026110{day}T000000.000000Z.db"));
            touch(dir.path(), &format!("metrics-v1-before-2026110{day}T000000.000000Z.db"));
        }
        touch(dir.path(), "gateway-v9-20260101T000000.000000Z.db");
        touch(dir.path(), "keep-me.db");
        let removed = prune_backups(dir.path(), 2).unwrap();
        assert_eq!(removed.len(), 2);
        prune_backups(dir.path(), 0).unwrap();
        let mut expected = vec!["gateway-v9-20260101T000000.000000Z.db".to_owned(), "keep-me.db".to_owned()];
        expected.push("metrics-v1-20261104T000000.000000Z.db".to_owned());
        expected.extend((1..=4).map(|day| format!("metrics-v1-before-2026110{day}T000000.000000Z.db")));
        assert_eq!(left(dir.path()), expected);
        assert_eq!(prune_backups(&dir.path().join("nowhere"), 1).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn only_unfinished_copies_of_ours_are_cleared_away() {
        let dir = tempfile::tempdir().unwrap();
        let ours =
            [format!("metrics-v1-{TIME}.db.partial"), format!("metrics-v1-before-{TIME}.db.partial-wal")];
        let to_this_place = ["copy.db.partial", "copy.db.partial-journal"];
        let strange = ["film.mkv.partial", "notes.partial-draft", "other.db.partial", "x.partial.txt"];
        let all = ours.iter().map(String::as_str).chain(to_this_place).chain(strange);
        all.for_each(|name| touch(dir.path(), name));
        clear_partials(&dir.path().join("copy.db")).unwrap();
        let mut expected = strange.map(str::to_owned).to_vec();
        expected.sort();
        assert_eq!(left(dir.path()), expected);
    }
}
