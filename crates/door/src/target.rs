//! What a request may be aimed at: which method, which form of address, which path.
//!
//! A path that a service, a cache or a framework could decode into another one is refused, since what was allowed would not be
//! what is done.

use http::{HeaderMap, Method, Uri, Version, header};

/// Why a request goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Confusing;

/// The one host a request is for: its `Host` field or `:authority`, which must not contradict each other.
pub(crate) fn authority<'a>(
    uri: &'a Uri,
    headers: &'a HeaderMap,
    version: Version,
) -> Result<&'a str, Confusing> {
    let mut fields = headers.get_all(header::HOST).iter();
    let field = fields.next().map(|value| value.to_str().map_err(|_| Confusing)).transpose()?;
    if fields.next().is_some() {
        return Err(Confusing);
    }
    let aimed = uri.authority().map(http::uri::Authority::as_str);
    let scheme_is_ours = matches!(uri.scheme_str(), None | Some("http" | "https"));
    match (aimed, field) {
        _ if !scheme_is_ours => Err(Confusing),
        (Some(aimed), Some(field)) if aimed.eq_ignore_ascii_case(field) => Ok(field),
        (Some(aimed), None) if version == Version::HTTP_2 => Ok(aimed),
        (None, Some(field)) => Ok(field),
        _ => Err(Confusing),
    }
}

/// Methods that would make a tunnel or an echo of headers are nobody's here.
pub(crate) fn method_is_served(method: &Method) -> bool {
    *method != Method::CONNECT && *method != Method::TRACE
}

pub(crate) fn check_path(path: &str) -> Result<(), Confusing> {
    let bytes = path.as_bytes();
    // Two slashes in front would be read as another host where a path is put into a `Location`.
    if bytes.first() != Some(&b'/') || bytes.get(1) == Some(&b'/') {
        return Err(Confusing);
    }
    // Nearly every path has none of these and is done after one look.
    if !bytes.iter().any(|b| matches!(b, b'%' | b'\\' | b'.') || !b.is_ascii_graphic()) {
        return Ok(());
    }
    if bytes.iter().any(|b| *b == b'\\' || !b.is_ascii_graphic()) {
        return Err(Confusing);
    }
    // Some programs decode once too often: what comes of that must be harmless too.
    let once = decoded(bytes, Stray::Wrong)?;
    let twice = decoded(&once, Stray::Plain)?;
    let has_dots = |path: &[u8]| path.split(|b| *b == b'/').any(is_dots);
    if has_dots(&once) || has_dots(&twice) { Err(Confusing) } else { Ok(()) }
}

/// What a `%` means that no two digits follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stray {
    Wrong,
    /// In what was decoded already it is just a sign.
    Plain,
}

/// A path without its escapes, unless one hides a separator or a control character.
fn decoded(bytes: &[u8], stray: Stray) -> Result<Vec<u8>, Confusing> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let escape = if *first == b'%' { escaped(after) } else { None };
        rest = match escape {
            Some(b'/' | b'\\' | 0x7f | 0..=0x1f) => return Err(Confusing),
            Some(byte) => {
                plain.push(byte);
                &after[2..]
            }
            None if *first == b'%' && stray == Stray::Wrong => return Err(Confusing),
            None => {
                plain.push(*first);
                after
            }
        };
    }
    Ok(plain)
}

fn escaped(digits: &[u8]) -> Option<u8> {
    let digit = |n: usize| char::from(*digits.get(n)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// `.` and `..`, also with parameters behind a semicolon, which some servers cut off first.
fn is_dots(segment: &[u8]) -> bool {
    let bare = segment.split(|b| *b == b';').next().unwrap_or(segment);
    bare == b"." || bare == b".."
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_paths_pass() {
        for path in [
            "/",
            "/a/b.c",
            "/a//b",
            "/...",
            "/.well-known/x",
            "/a%20b",
            "/%C3%A4",
            "/a/..b/c..",
            "/%25x",
            "/a;v=1/b",
            "/~ana/@x:y",
        ] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn a_path_that_could_become_another_one_is_refused() {
        for path in [
            "",
            "a",
            "*",
            "//evil.example/x",
            "/..",
            "/a/../b",
            "/a/..",
            "/./a",
            "/%2e%2e/a",
            "/%2E./a",
            "/a/.%2e",
            "/..;/a",
            "/..;x=1/a",
            "/..%3bx/a",
            "/a%2fb",
            "/a%2Fb",
            "/a%5cb",
            "/a\\b",
            "/a%00",
            "/a%0d%0aX:y",
            "/a%7f",
            "/a%",
            "/a%2",
            "/a%zz",
            "/%252e%252e/a",
            "/%252fa",
            "/%25%32%65%252e/a",
            "/a b",
            "/\u{e9}",
        ] {
            assert_eq!(check_path(path), Err(Confusing), "{path}");
        }
    }

    #[test]
    fn a_request_is_for_one_host() {
        let with = |uri: &str, hosts: &[&'static str], version| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, http::HeaderValue::from_static(host));
            }
            authority(&uri.parse().unwrap(), &headers, version).map(str::to_owned)
        };
        let one = Version::HTTP_11;
        assert_eq!(with("/", &["a"], one).as_deref(), Ok("a"));
        assert_eq!(with("http://A/", &["a"], one).as_deref(), Ok("a"));
        assert_eq!(with("https://a/", &[], Version::HTTP_2).as_deref(), Ok("a"));
        for (uri, hosts, version) in [
            ("/", &[][..], one),
            ("/", &["a", "a"][..], one),
            ("http://b/", &["a"][..], one),
            ("http://b/", &[][..], one),
            ("https://b/", &["a"][..], Version::HTTP_2),
            ("ftp://a/", &["a"][..], one),
        ] {
            assert!(with(uri, hosts, version).is_err(), "{uri} {hosts:?}");
        }
    }

    proptest! {
        #[test]
        fn what_passes_stays_below_the_root_however_often_it_is_decoded(path in "/[a./%;2eEfF5cC3b6]{0,24}") {
            if check_path(&path).is_ok() {
                let mut text = path.into_bytes();
                for _ in 0..3 {
                    prop_assert!(!text.split(|b| *b == b'/').any(|s| s == b".." || s == b"."), "{:?}", text);
                    text = decoded(&text, Stray::Plain).unwrap_or_default();
                }
            }
        }
    }
}
