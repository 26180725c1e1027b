//! Whether the installed safety parts are the ones that were installed: the programs and units whose digests root wrote down.
//!
//! The steward compares itself with its own file, which says little once both were exchanged. So root writes a manifest when the package is
//! set up, in the form of `sha256sum`, where nobody who plans can write; and the guard, a user of its own, compares it with what lies there.
//! While they differ the guard says so in its heartbeat, and nothing new is tried. What is tried already is watched and undone as ever.
//!
//! A file whose stamp is the one it had is not read again, so that a look costs a few calls.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::settings::is_safe;

/// Where the package puts it.
pub const MANIFEST: &str = "/etc/holdfast-tripwire/parts.sha256";

const BYTES_MAX: u64 = 64 << 10;
const PARTS_MAX: usize = 64;

/// The parts of one installation, with what was found of them.
#[derive(Debug)]
pub struct Parts {
    manifest: PathBuf,
    seen: BTreeMap<PathBuf, (Stamp, [u8; 32])>,
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Files by path, each with the digest it had when it was installed.
type Named = Vec<(PathBuf, [u8; 32])>;

impl Parts {
    /// What this manifest names.
    pub fn named_by(manifest: &Path) -> Parts {
        Parts { manifest: manifest.to_owned(), seen: BTreeMap::new() }
    }

    /// What is wrong with the parts, in a sentence; nothing where each is the one that is named, or where nothing was installed by a package.
    pub fn trouble(&mut self) -> Option<String> {
        let at = self.manifest.display().to_string();
        let named = match self.named() {
            Ok(None) => return None,
            Ok(Some(named)) => named,
            Err(why) => {
                return Some(format!("the manifest of the safety parts at {at} cannot be believed: {why}"));
            }
        };
        named.iter().find_map(|(path, wanted)| match self.digest_of(path) {
            Ok(found) if found == *wanted => None,
            Ok(_) => Some(format!("{} is not the one that was installed", path.display())),
            Err(e) => Some(format!("{} cannot be read: {e}", path.display())),
        })
    }

    fn named(&self) -> Result<Option<Named>, String> {
        let meta = match fs::symlink_metadata(&self.manifest) {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.to_string()),
        };
        if !meta.is_file() || !is_safe(meta.uid(), meta.mode(), rustix::process::geteuid().as_raw()) {
            return Err("others than root can write it".to_owned());
        }
        if meta.len() > BYTES_MAX {
            return Err("it is too long".to_owned());
        }
        let text = fs::read_to_string(&self.manifest).map_err(|e| e.to_string())?;
        let named: Vec<_> = text.lines().map(line).collect::<Option<_>>().ok_or("a line of it is none")?;
        if named.is_empty() || named.len() > PARTS_MAX {
            return Err(format!("it names {} parts", named.len()));
        }
        Ok(Some(named))
    }

    fn digest_of(&mut self, path: &Path) -> io::Result<[u8; 32]> {
        let stamp = Stamp::of(&fs::metadata(path)?);
        if let Some((_, digest)) = self.seen.get(path).filter(|(seen, _)| *seen == stamp) {
            return Ok(*digest);
        }
        let digest = digest(path)?;
        self.seen.insert(path.to_owned(), (stamp, digest));
        Ok(digest)
    }
}

/// A digest and a path, as `sha256sum` writes them. A path that leads nowhere definite is none.
fn line(text: &str) -> Option<(PathBuf, [u8; 32])> {
    let (hex, path) = text.split_once("  ")?;
    let path = PathBuf::from(path);
    let mut digest = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() || !path.is_absolute() {
        return None;
    }
    for (byte, at) in digest.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?;
    }
    Some((path, digest))
}

impl Stamp {
    pub fn of(meta: &Metadata) -> Stamp {
        Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    pub fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// The SHA-256 of a file, however long it is.
pub fn digest(path: &Path) -> io::Result<[u8; 32]> {
    let (mut file, mut hasher) = (File::open(path)?, Sha256::new());
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finalize().into()),
            read => hasher.update(&piece[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const NAMES: [&str; 4] =
        ["holdfast", "holdfast-tripwire", "holdfast-doorman", "holdfast-tripwire.service"];

    /// An installation as a package leaves it: its parts, and the manifest of them.
    struct Installed {
        folder: tempfile::TempDir,
    }

    impl Installed {
        fn new() -> Installed {
            let installed = Installed { folder: tempfile::tempdir().unwrap() };
            for name in NAMES {
                fs::write(installed.part(name), format!("the real {name}")).unwrap();
            }
            installed.write_manifest();
            installed
        }

        fn part(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn manifest(&self) -> PathBuf {
            self.part("parts.sha256")
        }

        fn write_manifest(&self) {
            let hex = |path: &Path| digest(path).unwrap().map(|byte| format!("{byte:02x}")).concat();
            let lines =
                NAMES.map(|name| format!("{}  {}\n", hex(&self.part(name)), self.part(name).display()));
            self.put(&lines.concat(), 0o644);
        }

        fn put(&self, text: &str, mode: u32) {
            fs::write(self.manifest(), text).unwrap();
            fs::set_permissions(self.manifest(), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    // shows: STW-354
    #[test]
    fn each_part_that_is_altered_exchanged_or_gone_is_named() {
        for name in NAMES {
            let installed = Installed::new();
            let mut parts = Parts::named_by(&installed.manifest());
            assert_eq!((parts.trouble(), parts.trouble()), (None, None), "{name}");
            let (path, real) = (installed.part(name), format!("the real {name}"));
            fs::write(&path, real.replace("real", "fake")).unwrap();
            let said = parts.trouble().unwrap();
            assert!(said.contains(name) && said.contains("not the one that was installed"), "{said}");
            fs::remove_file(&path).unwrap();
            assert!(parts.trouble().unwrap().contains("cannot be read"), "{name}");
            fs::write(&path, &real).unwrap();
            assert_eq!(parts.trouble(), None, "{name} is back");
            let other = installed.part("other");
            fs::write(&other, "lets all through").unwrap();
            fs::remove_file(&path).unwrap();
            holdfast_durable::move_to_new(&other, &path).unwrap();
            assert!(parts.trouble().unwrap().contains(name), "another in its place");
        }
    }

    #[test]
    fn a_manifest_that_others_may_write_or_that_says_nothing_is_not_believed() {
        let installed = Installed::new();
        let trouble = |text: &str, mode| {
            installed.put(text, mode);
            Parts::named_by(&installed.manifest()).trouble()
        };
        let good = fs::read_to_string(installed.manifest()).unwrap();
        assert_eq!(trouble(&good, 0o644), None);
        for mode in [0o666, 0o664] {
            assert!(trouble(&good, mode).unwrap().contains("others than root"), "{mode:o}");
        }
        let many = good.repeat(PARTS_MAX);
        let relative = good.replace("  /", "  ");
        let bad =
            ["", "nonsense\n", &good.replace("  ", " "), &relative, &good[2..], &many, &"x".repeat(70_000)];
        for text in bad {
            assert!(trouble(text, 0o644).is_some(), "{text:.80}");
        }
        fs::remove_file(installed.manifest()).unwrap();
        assert_eq!(Parts::named_by(&installed.manifest()).trouble(), None, "not set up by a package");
        std::os::unix::fs::symlink("/etc/hostname", installed.manifest()).unwrap();
        assert!(Parts::named_by(&installed.manifest()).trouble().is_some(), "one that leads elsewhere");
    }
}
