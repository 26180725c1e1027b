//! Our two cookies: the session, and a browser's mark before it signs in.
//!
//! Over https both have the `__Host-` prefix, so that no other host, not even one below ours, can set or read them. The
//! session is `SameSite=Lax`: a link in a mail or a chat that leads to an approval has to find its reader signed in, and
//! nothing is changed by following one, since every change needs our own origin and the anti-forgery word. The other one
//! is `Strict`, as nobody comes with it from elsewhere.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::secret::is_value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieKind {
    Session,
    /// Before signing in: what a ceremony is bound to.
    Before,
}

impl CookieKind {
    pub fn name(self, https: bool) -> &'static str {
        match (self, https) {
            (CookieKind::Session, true) => "__Host-holdfast",
            (CookieKind::Session, false) => "holdfast",
            (CookieKind::Before, true) => "__Host-holdfast-pre",
            (CookieKind::Before, false) => "holdfast-pre",
        }
    }

    fn same_site(self) -> &'static str {
        match self {
            CookieKind::Session => "Lax",
            CookieKind::Before => "Strict",
        }
    }

    /// The header that sets it.
    pub(crate) fn set(self, value: &str, https: bool, max_age_secs: u64) -> Option<HeaderValue> {
        let secure = if https { "; Secure" } else { "" };
        let (name, same_site) = (self.name(https), self.same_site());
        let text =
            format!("{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={max_age_secs}{secure}");
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    pub(crate) fn clear(self, https: bool) -> Option<HeaderValue> {
        self.set("", https, 0)
    }
}

/// What a request brought along.
#[derive(Clone, Default)]
pub struct Cookies {
    pub session: Option<String>,
    pub before: Option<String>,
}

impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cookies")
    }
}

impl Cookies {
    pub fn read(headers: &HeaderMap, https: bool) -> Cookies {
        Cookies {
            session: only(headers, CookieKind::Session.name(https)),
            before: only(headers, CookieKind::Before.name(https)),
        }
    }
}

/// The value of a cookie that is there once. Two that differ were set by two, and one of them not by us.
fn only(headers: &HeaderMap, name: &str) -> Option<String> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = pairs.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    let first = found.next().filter(|value| is_value(value))?;
    found.all(|value| value == first).then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(letter: &str) -> String {
        letter.repeat(43)
    }

    fn read(lines: &[String], https: bool) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, line.parse().unwrap());
        }
        Cookies::read(&headers, https).session
    }

    #[test]
    fn a_cookie_is_found_among_others_and_only_under_its_own_name() {
        let (a, b) = (value("a"), value("b"));
        assert_eq!(read(&[format!("x=1; __Host-holdfast={a}; y=2")], true), Some(a.clone()));
        assert_eq!(read(&["x=1".into(), format!("__Host-holdfast={a}")], true), Some(a.clone()));
        assert_eq!(read(&[format!("holdfast={a}")], true), None, "the plain name is not ours over https");
        assert_eq!(read(&[format!("holdfast={a}")], false), Some(a.clone()));
        assert_eq!(read(&[format!("holdfast={a}; holdfast={b}")], false), None, "somebody else set one");
        assert_eq!(read(&[format!("holdfast={a}; holdfast={a}")], false), Some(a));
        assert_eq!(read(&["holdfast=short".into()], false), None);
    }

    #[test]
    fn cookies_are_set_as_strictly_as_they_can_be() {
        let set = |kind: CookieKind, https| kind.set("v", https, 60).unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            set(CookieKind::Session, true),
            "__Host-holdfast=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure"
        );
        assert_eq!(
            set(CookieKind::Before, true),
            "__Host-holdfast-pre=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure"
        );
        assert_eq!(set(CookieKind::Session, false), "holdfast=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60");
    }
}
