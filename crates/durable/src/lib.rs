//! Files that are whole after a power cut.
//!
//! A file that is rewritten goes through [`replace`]: written aside, synced, renamed over the old one, and
//! the folder synced, so a reader sees the old bytes or the new ones and never a mixture. A file that must
//! not exist yet goes through [`create`]. [`replace_as`] gives it an owner and a mode, also where somebody else
//! rules the folder. [`replace_and_shred`] also overwrites the bytes it replaced, for
//! files whose old content must not be found again; [`shred`] does so for a file that goes altogether.
//!
//! A folder that others write too may hold anything under the name we look for: a pipe that is waited on for ever, a link to
//! somebody else's file, a file without end. [`read_bounded`] and [`open_to_lock`] take a plain file or refuse, and never wait.
//!
//! Every error names the path and what was being done to it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, OFlags, RenameFlags};
use rustix::io::Errno;

/// Permission bits of a file that is made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// 0600: only its owner.
    Private,
    /// 0644: anyone may read.
    Readable,
    /// 0660, whatever the usual mask is: two users of one group read and write it.
    Shared,
}

impl Mode {
    const fn bits(self) -> u32 {
        match self {
            Mode::Private => 0o600,
            Mode::Readable => 0o644,
            Mode::Shared => 0o660,
        }
    }
}

/// Between two tries to lock a file.
const LOCK_EVERY: Duration = Duration::from_millis(20);

/// Locks a file for whoever holds it open, and waits for that as long as is said; whether it was had. The system lets it go when the
/// file is closed, however that comes.
pub fn lock_within(file: &File, within: Duration) -> io::Result<bool> {
    let until = Instant::now() + within;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_EVERY),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(e)) => return Err(e),
        }
    }
}

/// The bytes of a plain file of at most `limit` bytes.
pub fn read_bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(path, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|e| while_doing("reading", path, e))?;
    if bytes.len() as u64 > limit {
        let why = io::Error::new(io::ErrorKind::InvalidData, format!("it is longer than {limit} bytes"));
        return Err(while_doing("reading", path, why));
    }
    Ok(bytes)
}

/// A plain file to lock, made where there is none.
pub fn open_to_lock(path: &Path, mode: Mode) -> io::Result<File> {
    open_plain(path, OpenOptions::new().write(true).create(true).truncate(false).mode(mode.bits()))
}

/// Opens without following a link, and without waiting for the other end of a pipe.
fn open_plain(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|e| while_doing("opening", path, e))?;
    if file.metadata().map_err(|e| while_doing("inspecting", path, e))?.is_file() {
        return Ok(file);
    }
    let why = io::Error::new(io::ErrorKind::InvalidData, "it is not a plain file");
    Err(while_doing("opening", path, why))
}

/// Puts `bytes` at `path`, whole or not at all, and returns when they are durable.
pub fn replace(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let aside = aside_of(path);
    let written = write_new(&aside, bytes, mode, Lasts::OverAPowerCut).and_then(|()| rename(&aside, path));
    if written.is_err() {
        // Where it cannot have its name, nothing is left aside.
        let _renamed_or_never_made = std::fs::remove_file(&aside);
    }
    written?;
    sync_parent(path)
}

/// Like [`replace`] for what need not outlive a power cut: a reader sees the old bytes or the new ones, and nothing waits for the disk.
pub fn replace_passing(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let aside = aside_of(path);
    write_new(&aside, bytes, mode, Lasts::WhileItRuns)?;
    rename(&aside, path)
}

/// Whose a file is, and what others may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Title {
    pub uid: u32,
    pub gid: u32,
    /// All bits, whatever the usual mask is.
    pub mode: u32,
}

/// Like [`replace`] for root in a folder where somebody else rules: the file is whose it is to be before it has its name, nothing is done to
/// a name that may lead elsewhere by then, and afterwards the name has to lead to what was written.
pub fn replace_as(path: &Path, bytes: &[u8], title: Title) -> io::Result<()> {
    let aside = own_aside_of(path);
    let placed = write_titled(&aside, bytes, title).and_then(|written| {
        rename(&aside, path)?;
        let there = path.symlink_metadata().map_err(|e| while_doing("looking at", path, e))?;
        let same = (there.dev(), there.ino()) == (written.dev(), written.ino());
        let other = || io::Error::other("somebody has put another file in its place");
        if same { sync_parent(path) } else { Err(while_doing("writing", path, other())) }
    });
    if placed.is_err() {
        let _renamed_or_never_made = std::fs::remove_file(&aside);
    }
    placed
}

fn write_titled(path: &Path, bytes: &[u8], title: Title) -> io::Result<std::fs::Metadata> {
    let write = || {
        // One that is there already was put there by somebody, and is not written to, nor what it leads to.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        std::os::unix::fs::fchown(&file, Some(title.uid), Some(title.gid))?;
        file.set_permissions(std::fs::Permissions::from_mode(title.mode))?;
        file.sync_all()?;
        file.metadata()
    };
    write().map_err(|e| while_doing("writing", path, e))
}

/// Like [`replace`], and afterwards overwrites the replaced bytes on the disk.
///
/// The old inode is held open across the rename, so exactly the bytes that were replaced are overwritten.
/// A copy that a snapshot, a journaling layer or a flash controller kept is out of reach.
pub fn replace_and_shred(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    Replacement::prepare(path, bytes, mode)?.place()
}

/// New content for a file, durable beside it as `<name>.new`. Putting it in place takes no room on the disk, so whatever must come first
/// can be done in between. The bytes that lose their place are overwritten: the old ones, or these when it is dropped unused.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    /// Taken when it is put in place.
    aside: Option<PathBuf>,
}

impl Replacement {
    /// Writes the new content. On failure nothing of it is left.
    pub fn prepare(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<Replacement> {
        let replacement = Replacement { path: path.to_owned(), aside: Some(aside_of(path)) };
        // When this fails, dropping it removes what there is.
        write_new(&aside_of(path), bytes, mode, Lasts::OverAPowerCut)?;
        Ok(replacement)
    }

    /// Takes charge of one that an earlier process left, if there is one.
    pub fn find(path: &Path) -> Option<Replacement> {
        let aside = aside_of(path);
        let there = aside.symlink_metadata().is_ok_and(|found| found.is_file());
        there.then(|| Replacement { path: path.to_owned(), aside: Some(aside) })
    }

    /// Where the new content is until it is put in place.
    pub fn aside(&self) -> PathBuf {
        aside_of(&self.path)
    }

    /// Puts it in place; durable on return, and the old bytes are overwritten.
    pub fn place(mut self) -> io::Result<()> {
        let path = &self.path;
        let old = match OpenOptions::new().write(true).open(path) {
            Ok(file) => Some(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(while_doing("opening", path, e)),
        };
        rename(&aside_of(path), path)?;
        self.aside = None;
        sync_parent(&self.path)?;
        match old {
            Some(mut file) => {
                overwrite(&mut file).map_err(|e| while_doing("overwriting the old content of", &self.path, e))
            }
            None => Ok(()),
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(aside) = self.aside.take() {
            // Whoever prepares the next one removes what is left of this one.
            let _ = shred(&aside);
        }
    }
}

/// Makes `path` with `bytes`, whole or not at all; fails with `AlreadyExists` when there is one.
///
/// The bytes are written under a name of their own and linked to `path` when they are durable, so that a full
/// disk or a power cut leaves no half-made file that stands in the way of the next try.
pub fn create(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let aside = own_aside_of(path);
    let made = write_new(&aside, bytes, mode, Lasts::OverAPowerCut).and_then(|()| move_to_new(&aside, path));
    if made.is_err() {
        // Whatever went wrong, nothing is left aside.
        let _ = std::fs::remove_file(&aside);
    }
    made
}

/// Removes what [`create`] leaves in a folder when it is killed half way. For whoever alone makes files there: another's, still being made,
/// would go too.
pub fn sweep(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir).map_err(|e| while_doing("listing", dir, e))?.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(is_aside) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// As [`own_aside_of`] names them: `META.new-4711-0`.
fn is_aside(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let ending = name.rsplit_once(".new-").and_then(|(_, ending)| ending.split_once('-'));
    ending.is_some_and(|(process, count)| number(process) && number(count))
}

/// Gives a durable file in the same directory a name that nobody has yet; durable on return.
pub fn move_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // A file system that cannot. A second name may take an inode, of which there may be none.
        Err(Errno::INVAL | Errno::NOSYS) => {
            std::fs::hard_link(from, to).map_err(|e| while_doing("making", to, e))?;
            std::fs::remove_file(from).map_err(|e| while_doing("removing", from, e))?;
        }
        Err(e) => return Err(while_doing("making", to, e.into())),
    }
    sync_parent(to)
}

/// Puts the directory `from` in the place of `to`. A power cut in between leaves `from` whole and `to` missing.
pub fn replace_dir(from: &Path, to: &Path) -> io::Result<()> {
    sync_dir(from)?;
    match std::fs::remove_dir_all(to) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(while_doing("removing", to, e)),
        _ => {}
    }
    rename(from, to)?;
    sync_parent(to)
}

/// Makes the directory and every missing one above it, private to the owner, and syncs what changed.
pub fn create_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        create_dir(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync_parent(path),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(e) => Err(while_doing("making the directory", path, e)),
    }
}

/// Removes a file and syncs its folder; one that is already gone is fine.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(while_doing("removing", path, e)),
    }
}

/// Overwrites a file's bytes on the disk and removes it; one that is already gone is fine. What [`replace_and_shred`] says of copies that
/// are out of reach holds here too. A link is removed, and what it leads to is left alone.
pub fn shred(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {
            let mut file =
                OpenOptions::new().write(true).open(path).map_err(|e| while_doing("opening", path, e))?;
            overwrite(&mut file).map_err(|e| while_doing("overwriting", path, e))?;
        }
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(while_doing("looking at", path, e)),
    }
    remove(path)
}

/// Takes blocks of the disk for bytes of a file that are not written yet, without making it longer. What is written there later needs no free
/// block, and nobody else can have them. The system gives them back when the file is cut or removed.
pub fn keep_blocks(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, from, bytes)?;
    // The blocks are the file's after a power cut only when its own record of them is on the disk.
    file.sync_all()
}

/// A file that lies ready beside its place. Putting it there takes no free block, no inode and no descriptor: for what must work when a disk
/// is full, or a process has no descriptor left.
#[derive(Debug)]
pub struct Standby {
    file: File,
    dir: File,
    aside: PathBuf,
    path: PathBuf,
    room: usize,
}

impl Standby {
    /// Lays a file of so many bytes ready at `aside`, in the same folder as `path`.
    pub fn new(path: &Path, aside: &Path, room: usize) -> io::Result<Standby> {
        let lay = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(Mode::Private.bits())
                .open(aside)?;
            file.write_all(&vec![b' '; room])?;
            file.sync_all()?;
            let dir = File::open(path.parent().unwrap_or(Path::new(".")))?;
            dir.sync_all()?;
            Ok(Standby { file, dir, aside: aside.to_owned(), path: path.to_owned(), room })
        };
        lay().map_err(|e| while_doing("laying ready", aside, e))
    }

    /// Puts it in its place with these bytes, filled up with spaces, and returns when that is durable.
    pub fn place(self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.room {
            return Err(while_doing("writing", &self.aside, io::ErrorKind::FileTooLarge.into()));
        }
        let mut text = bytes.to_vec();
        text.resize(self.room, b' ');
        let written = self.file.write_all_at(&text, 0).and_then(|()| self.file.sync_data());
        written.map_err(|e| while_doing("writing", &self.aside, e))?;
        rename(&self.aside, &self.path)?;
        self.dir.sync_all().map_err(|e| while_doing("syncing the directory of", &self.path, e))
    }
}

/// Makes the entries of a folder durable: a created, renamed or removed name is not until this returns.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(|e| while_doing("syncing the directory", dir, e))
}

/// The same error kind, with the path and the deed in its text.
pub fn while_doing(deed: &str, path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), Failed { deed: deed.to_owned(), path: path.to_owned(), source: e })
}

#[derive(Debug)]
struct Failed {
    deed: String,
    path: PathBuf,
    source: io::Error,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.deed, self.path.display(), self.source)
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// How long what is written has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasts {
    OverAPowerCut,
    WhileItRuns,
}

/// Writes a file that nobody else uses yet. One that an earlier try left is removed first, and so is a link that
/// somebody put there: what it leads to is not written to.
fn write_new(path: &Path, bytes: &[u8], mode: Mode, lasts: Lasts) -> io::Result<()> {
    let write = || {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode.bits()).open(path)?;
        if mode == Mode::Shared {
            file.set_permissions(std::fs::Permissions::from_mode(mode.bits()))?;
        }
        file.write_all(bytes)?;
        if lasts == Lasts::OverAPowerCut { file.sync_all() } else { Ok(()) }
    };
    write().map_err(|e| while_doing("writing", path, e))
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that renames, and it syncs the folder")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to).map_err(|e| while_doing("renaming into place", to, e))
}

fn overwrite(file: &mut File) -> io::Result<()> {
    const CHUNK: usize = 64 * 1024;
    let mut left = file.metadata()?.len();
    while left > 0 {
        let n = left.min(CHUNK as u64);
        file.write_all(&vec![0; n as usize])?;
        left -= n;
    }
    file.sync_all()
}

fn aside_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

/// A name aside that no other process or thread uses: several may try to create the same file, and only one of
/// them gets it.
fn own_aside_of(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name = aside_of(path).into_os_string();
    name.push(format!("-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    name.into()
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => sync_dir(dir),
        _ => sync_dir(Path::new(".")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_kept_past_the_end_of_a_file_that_stays_as_long_as_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"begins", 0).unwrap();
        keep_blocks(&file, 6, 64 << 10).unwrap();
        let about = file.metadata().unwrap();
        assert_eq!(about.len(), 6);
        assert!(about.blocks() * 512 >= 64 << 10, "{} blocks", about.blocks());
    }
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_a_killed_maker_left_is_swept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let left = ["META.new-4711-0", "00000000.jsonl.new-1-23"];
        let others = ["META", "META.new", "META.new-4711", "META.new-a-1", "00.torn-1-2", "x.new--1"];
        for name in left.iter().chain(&others) {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        sweep(folder.path()).unwrap();
        left.iter().for_each(|name| assert!(!folder.path().join(name).exists(), "{name}"));
        others.iter().for_each(|name| assert!(folder.path().join(name).exists(), "{name}"));
        let aside = own_aside_of(Path::new("META"));
        assert!(is_aside(aside.to_str().unwrap()), "{aside:?}");
    }

    #[test]
    fn a_lock_is_one_holder_s_until_its_file_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let (first, second) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        assert!(lock_within(&first, Duration::ZERO).unwrap());
        assert!(!lock_within(&second, LOCK_EVERY * 2).unwrap());
        let waits = std::thread::spawn(move || lock_within(&second, Duration::from_secs(60)).unwrap());
        drop(first);
        assert!(waits.join().unwrap());
    }

    // shows: STW-370
    #[test]
    fn replace_swaps_whole_files_and_leaves_nothing_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        replace(&path, b"old", Mode::Private).unwrap();
        let held = File::open(&path).unwrap();
        replace(&path, b"new", Mode::Private).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let before = std::io::read_to_string(held).unwrap();
        assert_eq!(
            before, "old",
            "whoever reads meanwhile has the old one whole, and nothing is written in place"
        );
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_link_planted_aside_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, prey) = (dir.path().join("f"), dir.path().join("prey"));
        std::fs::write(&prey, "precious").unwrap();
        std::os::unix::fs::symlink(&prey, aside_of(&path)).unwrap();
        replace(&path, b"new", Mode::Private).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read(&prey).unwrap(), b"precious");
    }

    #[test]
    fn a_file_of_root_s_has_its_mode_whatever_the_mask_and_an_old_one_goes_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let own = std::fs::metadata(dir.path()).unwrap();
        let title = Title { uid: own.uid(), gid: own.gid(), mode: 0o666 };
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        for text in ["old", "new"] {
            replace_as(&path, text.as_bytes(), title).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(std::fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777, 0o666);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
        assert!(replace_as(&dir.path().join("no/f"), b"", title).is_err());
    }

    #[test]
    fn many_that_create_the_same_file_leave_the_whole_one_of_the_winner() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = dir.path().join(format!("f{round}"));
            let won: Vec<u8> = std::thread::scope(|s| {
                let tries: Vec<_> = (0..4_u8)
                    .map(|n| {
                        let path = path.clone();
                        s.spawn(move || create(&path, &[n; 5000], Mode::Private).is_ok().then_some(n))
                    })
                    .collect();
                tries.into_iter().filter_map(|t| t.join().unwrap()).collect()
            });
            assert_eq!(won.len(), 1, "round {round}");
            assert_eq!(std::fs::read(&path).unwrap(), [won[0]; 5000]);
        }
    }

    #[test]
    fn shredding_overwrites_the_very_bytes_that_were_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("f"), dir.path().join("hard-link"));
        replace(&path, b"the old key", Mode::Private).unwrap();
        std::fs::hard_link(&path, &link).unwrap();
        replace_and_shred(&path, b"the new key", Mode::Private).unwrap();
        assert_eq!(std::fs::read(&link).unwrap(), [0; 11]);
        assert_eq!(std::fs::read(&path).unwrap(), b"the new key");
    }

    #[test]
    fn a_shredded_file_is_gone_and_so_are_its_bytes_and_what_a_link_leads_to_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let [path, twin, prey, link] = ["f", "hard-link", "prey", "link"].map(|name| dir.path().join(name));
        std::fs::write(&path, b"to be forgotten").unwrap();
        std::fs::hard_link(&path, &twin).unwrap();
        std::fs::write(&prey, b"precious").unwrap();
        std::os::unix::fs::symlink(&prey, &link).unwrap();
        [&path, &link].into_iter().for_each(|path| shred(path).unwrap());
        assert!(!path.exists() && !link.is_symlink());
        assert_eq!(std::fs::read(&twin).unwrap(), [0; 15]);
        assert_eq!(std::fs::read(&prey).unwrap(), b"precious");
        shred(&path).unwrap();
    }

    #[test]
    fn create_refuses_what_is_there_and_says_which() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        create(&path, b"1", Mode::Private).unwrap();
        let e = create(&path, b"2", Mode::Private).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::AlreadyExists);
        assert!(e.to_string().contains(&path.display().to_string()));
        assert_eq!(std::fs::read(&path).unwrap(), b"1");
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "nothing is left aside");
    }
}
