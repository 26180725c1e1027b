//! Where to go next: only ever a page of ours.

use url::Url;

/// Longest path that is followed after signing in.
const PATH_MAX: usize = 512;

/// The path when it stays on this site, else `/`. Browsers drop tabs and line ends, and read a backslash as a slash, so
/// nothing of that is followed; neither is what would ask to sign in again.
pub fn local_path(wanted: &str) -> &str {
    if is_local(wanted) { wanted } else { "/" }
}

fn is_local(path: &str) -> bool {
    let bytes = path.as_bytes();
    let plain = path.len() <= PATH_MAX
        && bytes.first() == Some(&b'/')
        && bytes.get(1) != Some(&b'/')
        && bytes.iter().all(|b| b.is_ascii_graphic() && *b != b'\\');
    plain && stays(path) && !["/auth/", "/login"].iter().any(|p| path.starts_with(p))
}

/// What a browser makes of it, asked of the same rules.
fn stays(path: &str) -> bool {
    Url::parse("https://here.invalid").and_then(|base| base.join(path)).is_ok_and(|url| {
        url.host_str() == Some("here.invalid") && url.scheme() == "https" && !url.path().starts_with("//")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_page_of_ours_is_followed() {
        for good in ["/", "/hosts", "/hosts/web-1?days=7", "/audit/41#proof", "/a//b", "/%2f%2fevil.example"]
        {
            assert_eq!(local_path(good), good);
        }
        for bad in [
            "",
            "hosts",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "\t//evil.example",
            " //evil.example",
            "https://evil.example",
            "https:evil.example",
            "javascript:alert(1)",
            "data:text/html,x",
            "//evil.example@here",
            "/.//evil.example",
            "/..//evil.example",
            "/%0d%0aSet-Cookie:x\r\n",
            "/ä",
            "/auth/logout",
            "/login?next=/login",
            &format!("/{}", "x".repeat(600)),
        ] {
            assert_eq!(local_path(bad), "/", "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_followed_stays_here(text in "[/\\\\a-z.:@\\t%0-9?#]{0,24}") {
            let to = Url::parse("https://hold.example:9096").unwrap().join(local_path(&text)).unwrap();
            prop_assert_eq!(to.origin().ascii_serialization(), "https://hold.example:9096");
        }
    }
}
