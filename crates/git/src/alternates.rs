//! The list of folders that a folder of objects borrows from (`info/alternates`).
//!
//! Git reads it leniently: a zero byte ends the list, text after a quoted path is the next entry, a broken quotation is a plain path. A list that another reader
//! could take for another list is refused, so that what is checked here is what git would read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::survey::ALTERNATES_MAX;

pub(crate) const TOO_MANY: &str = "it borrows from too many repositories";

/// The folders that this list names, seen from the folder of objects it belongs to, without links. Those that are not there are left out, as git does.
pub(crate) fn parse(objects: &Path, list: &[u8]) -> Result<Vec<PathBuf>, &'static str> {
    if list.contains(&0) {
        return Err("it has a zero byte in it");
    }
    let lines = || list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
    if lines().count() > ALTERNATES_MAX {
        return Err(TOO_MANY);
    }
    let mut folders = Vec::new();
    for line in lines() {
        let path = match line.strip_prefix(b"\"") {
            Some(rest) => unquoted(rest).ok_or("it has a quotation that is none of git's")?,
            None => line.to_vec(),
        };
        folders.extend(folder(objects, Path::new(OsStr::from_bytes(&path)))?);
    }
    Ok(folders)
}

/// What follows the first quotation mark, up to the last one, which ends the line.
fn unquoted(rest: &[u8]) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(rest.len());
    let mut bytes = rest.iter().copied();
    loop {
        let byte = match bytes.next()? {
            b'"' => break,
            b'\\' => escaped(&mut bytes)?,
            other => other,
        };
        path.push(byte);
    }
    bytes.next().is_none().then_some(path)
}

/// The escapes of git, but for the zero byte, at which git would end the path.
fn escaped(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    Some(match bytes.next()? {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        same @ (b'\\' | b'"') => same,
        first @ b'0'..=b'3' => {
            let mut digit =
                || bytes.next().filter(|byte| (b'0'..=b'7').contains(byte)).map(|byte| byte - b'0');
            let byte = ((first - b'0') << 6) | (digit()? << 3) | digit()?;
            Some(byte).filter(|byte| *byte != 0)?
        }
        _ => return None,
    })
}

/// Some releases of git take `..` out of the text of a path, others follow links first. A path for which that matters is refused.
fn folder(objects: &Path, entry: &Path) -> Result<Option<PathBuf>, &'static str> {
    let path = objects.canonicalize().unwrap_or_else(|_| objects.to_owned()).join(entry);
    let (by_links, by_text) = (path.canonicalize().ok(), by_text(&path).canonicalize().ok());
    match by_links == by_text {
        true => Ok(by_links),
        false => Err("it has a path with .. that leads to two places"),
    }
}

fn by_text(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_git_writes_it() {
        let all = tempfile::tempdir().unwrap();
        let root = all.path().canonicalize().unwrap();
        let odd = OsStr::from_bytes("q\"b\\\u{7}\u{8}\t\n\u{b}\u{c}\rü".as_bytes());
        let (objects, near, odd) = (root.join("objects"), root.join("ne ar\r"), root.join(odd));
        for folder in [&objects, &near, &odd] {
            std::fs::create_dir(folder).unwrap();
        }
        let odd_text = format!("\"{}/q\\\"b\\\\\\a\\b\\t\\n\\v\\f\\r\\303\\274\"", root.display());
        for (text, expected) in [
            (String::new(), vec![]),
            ("# /\n\n/there/is/none\n".to_owned(), vec![]),
            ("../ne ar\r\n".to_owned(), vec![&near]),
            (format!("{}\n../ne ar\r/.././objects/", near.display()), vec![&near, &objects]),
            (format!("{odd_text}\n../objects"), vec![&odd, &objects]),
        ] {
            assert_eq!(
                parse(&objects, text.as_bytes()),
                Ok(expected.into_iter().cloned().collect()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_list_that_can_be_read_in_two_ways_is_refused() {
        let all = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(all.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("a/b", all.path().join("link")).unwrap();
        let zero = "it has a zero byte in it";
        let quotation = "it has a quotation that is none of git's";
        for (text, why) in [
            ("/a\0x\n", zero),
            ("/a\n\0", zero),
            ("\"/nowhere\"X/a\n", quotation),
            ("\"/nowhere\" \n", quotation),
            ("\"/nowhere\n", quotation),
            ("\"/now\nhere\"\n", quotation),
            ("\"/nowhere\\\"\n", quotation),
            ("\"/\\x\"\n", quotation),
            ("\"/\\400\"\n", quotation),
            ("\"/\\18\"\n", quotation),
            ("\"/\\08a\"\n", quotation),
            ("\"/a\\000b\"\n", quotation),
            ("\"/a\\", quotation),
            ("\"", quotation),
            ("link/..\n", "it has a path with .. that leads to two places"),
        ] {
            assert_eq!(parse(all.path(), text.as_bytes()), Err(why), "{text:?}");
        }
    }
}
