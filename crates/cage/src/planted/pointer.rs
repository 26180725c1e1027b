//! The two files by which git is led to another folder, read to the byte as git reads them: a blank at the end is part of
//! a name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Where a file named `.git` leads; nothing where git would not follow it, or it cannot be said where to.
pub(super) fn of_git_file(bytes: &[u8], folder: &Path) -> Option<PathBuf> {
    let path = bytes.strip_prefix(b"gitdir: ")?;
    named(path, folder)
}

/// Where `commondir` leads.
pub(super) fn of_commondir(bytes: &[u8], git: &Path) -> Option<PathBuf> {
    named(bytes, git)
}

/// Git takes line ends off, and nothing else. What stands behind a zero byte it does not see; nobody writes one.
fn named(path: &[u8], from: &Path) -> Option<PathBuf> {
    let length = path.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let path = &path[..length];
    (!path.contains(&0)).then(|| from.join(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_as_git_takes_them() {
        let file = |text: &[u8]| of_git_file(text, Path::new("/a"));
        let led = |path: &str| Some(PathBuf::from(path));
        assert_eq!(file(b"gitdir: ../b\n"), led("/a/../b"));
        assert_eq!(file(b"gitdir: ../b\r\n\n"), led("/a/../b"));
        assert_eq!(file(b"gitdir: ../b \n"), led("/a/../b "));
        assert_eq!(file(b"gitdir:  b"), led("/a/ b"));
        assert_eq!(file(b"gitdir: b\t"), led("/a/b\t"));
        assert_eq!(file(b"gitdir: b\nc\n"), led("/a/b\nc"));
        for not in [&b"gitdir:b\n"[..], b"\xef\xbb\xbfgitdir: b\n", b"gitdir: b\0c\n", b""] {
            assert_eq!(file(not), None);
        }
        assert_eq!(of_commondir(b"../.. \n", Path::new("/a")), led("/a/../.. "));
        assert_eq!(of_commondir(b"\n", Path::new("/a")), led("/a/"));
    }
}
