//! What some bytes are, judged by their first ones and by the name: text, an archive, a key store, nothing to read.

use crate::found::Why;
use crate::keystore::{self, Keystore};

/// How much of a content is looked at to tell what it is.
pub(crate) const HEAD: usize = 8 * 1024;

/// What to do with a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text,
    Notebook,
    /// UTF-16 with a byte order mark.
    Wide(Order),
    Zip,
    Gzip,
    Tar,
    Keystore(Keystore),
    Unread(Why),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

/// Tells what a content is. `bytes` may be only the beginning of it.
pub(crate) fn of(name: &str, bytes: &[u8]) -> Content {
    if let Some(keystore) = keystore::of(name, bytes) {
        return Content::Keystore(keystore);
    }
    if let Some(content) = by_magic(bytes) {
        return content;
    }
    let head = &bytes[..bytes.len().min(HEAD)];
    if memchr::memchr(0, head).is_some() {
        return Content::Unread(Why::Binary);
    }
    let is_notebook = has_ending(name, ".ipynb") && head.trim_ascii_start().starts_with(b"{");
    if is_notebook { Content::Notebook } else { Content::Text }
}

fn by_magic(bytes: &[u8]) -> Option<Content> {
    let packing = |name| Content::Unread(Why::Packing(name));
    let content = match bytes {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Content::Zip,
        [0x1f, 0x8b, 8, ..] => Content::Gzip,
        [0xff, 0xfe, 0, 0, ..] => Content::Unread(Why::Binary),
        [0xff, 0xfe, ..] => Content::Wide(Order::Little),
        [0xfe, 0xff, ..] => Content::Wide(Order::Big),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => packing("xz"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => packing("zstd"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..] => packing("bzip2"),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => packing("7-Zip"),
        [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => packing("RAR"),
        [0x04, 0x22, 0x4d, 0x18, ..] => packing("LZ4"),
        _ if bytes.starts_with(b"SQLite format 3\0") => Content::Unread(Why::Database),
        _ if is_tar(bytes) => Content::Tar,
        _ => return None,
    };
    Some(content)
}

pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// Whether the name ends so, upper or lower case.
pub(crate) fn has_ending(name: &str, ending: &str) -> bool {
    let (name, ending) = (name.as_bytes(), ending.as_bytes());
    name.len() >= ending.len() && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending)
}

/// UTF-16 as UTF-8. What is no character becomes the sign for that; lines and columns stay.
pub(crate) fn narrowed(bytes: &[u8], order: Order) -> String {
    let unit = |pair: &[u8]| match order {
        Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
        Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
    };
    let body = bytes.get(2..).unwrap_or_default();
    let units = body.chunks_exact(2).map(unit);
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_apart() {
        let mut tar = vec![b'a'; 600];
        tar[257..262].copy_from_slice(b"ustar");
        let table: &[(&str, &[u8], Content)] = &[
            ("a.txt", b"hello", Content::Text),
            ("a.txt", b"", Content::Text),
            ("a.txt", b"he\0llo", Content::Unread(Why::Binary)),
            ("a.db", b"SQLite format 3\0...", Content::Unread(Why::Database)),
            ("a.docx", b"PK\x03\x04rest", Content::Zip),
            ("a.bin", b"\x1f\x8b\x08rest", Content::Gzip),
            ("a", &tar, Content::Tar),
            ("a.IPYNB", b"\n {}", Content::Notebook),
            ("a.ipynb", b"version https://git-lfs", Content::Text),
            ("a.reg", b"\xff\xfeW\0", Content::Wide(Order::Little)),
            ("a.reg", b"\xfe\xff\0W", Content::Wide(Order::Big)),
            ("a.zst", b"\x28\xb5\x2f\xfd..", Content::Unread(Why::Packing("zstd"))),
        ];
        for (name, bytes, expected) in table {
            assert_eq!(of(name, bytes), *expected, "{name}");
        }
        let late: Vec<u8> = std::iter::repeat_n(b'a', HEAD).chain([0]).collect();
        assert_eq!(of("a", &late), Content::Text, "a zero far inside does not make it binary");
    }

    #[test]
    fn wide_text_is_narrowed() {
        let wide: Vec<u8> = "\u{feff}aß\n𝄞".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(narrowed(&wide, Order::Little), "aß\n𝄞");
        assert_eq!(narrowed(b"\xfe\xff\0a\xd8", Order::Big), "a");
    }
}
