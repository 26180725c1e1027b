//! Our cookies: the session, a browser's mark before it signs in, and the mark of a browser that signed in before.
//!
//! Browsers send a cookie to every port of its host. So the names carry the instance and the port: two houses on one
//! machine do not take each other's. That keeps nothing from a server on another port, which sees them all the same; what
//! such a server cannot do with them is decided elsewhere (`proof.rs`, and [`Site::shares_cookies`]).
//!
//! Over https all have the `__Host-` prefix, so that no other host, not even one below ours, can set or read them. The
//! session is `SameSite=Lax`: a link in a mail or a chat that leads to an approval has to find its reader signed in, and
//! nothing is changed by following one, since every change needs our own origin and the anti-forgery word. The others
//! are `Strict`, as nobody comes with them from elsewhere.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::secret::is_value;
use crate::settings::Site;

/// What they were called before they had the instance in their names. Cleared where they still come along.
const OUTDATED: [&str; 4] = ["holdfast", "holdfast-pre", "__Host-holdfast", "__Host-holdfast-pre"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieKind {
    Session,
    /// Before signing in: what a ceremony is bound to.
    Before,
    /// That somebody signed in with this browser before. Opens nothing: it only keeps a share of the door for it.
    Known,
}

impl CookieKind {
    fn ending(self) -> &'static str {
        match self {
            CookieKind::Session => "",
            CookieKind::Before => "-pre",
            CookieKind::Known => "-known",
        }
    }

    fn same_site(self) -> &'static str {
        match self {
            CookieKind::Session => "Lax",
            CookieKind::Before | CookieKind::Known => "Strict",
        }
    }
}

/// The cookies of one house at one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieNames {
    https: bool,
    /// `1f09ac37-9096`.
    house: String,
}

impl CookieNames {
    pub(crate) fn new(site: &Site, instance: &str) -> CookieNames {
        CookieNames { https: site.https(), house: format!("{instance}-{}", site.port()) }
    }

    /// The instance and the port, as they stand in every name.
    pub fn house(&self) -> &str {
        &self.house
    }

    pub fn name(&self, kind: CookieKind) -> String {
        let prefix = if self.https { "__Host-" } else { "" };
        format!("{prefix}holdfast-{}{}", self.house, kind.ending())
    }

    /// The header that sets it.
    pub(crate) fn set(&self, kind: CookieKind, value: &str, max_age_secs: u64) -> Option<HeaderValue> {
        set(&self.name(kind), value, kind.same_site(), max_age_secs, self.https)
    }

    pub(crate) fn clear(&self, kind: CookieKind) -> Option<HeaderValue> {
        self.set(kind, "", 0)
    }

    /// What a request brought along.
    pub fn read(&self, headers: &HeaderMap) -> Cookies {
        Cookies {
            session: only(headers, &self.name(CookieKind::Session)),
            before: only(headers, &self.name(CookieKind::Before)),
            known: only(headers, &self.name(CookieKind::Known)),
        }
    }

    /// The headers that take away what a request still brings under the old names.
    pub(crate) fn outdated(&self, headers: &HeaderMap) -> Vec<HeaderValue> {
        let brought = |name: &&str| pairs(headers).any(|(key, _)| key == *name);
        let gone = |name: &str| set(name, "", "Lax", 0, name.starts_with("__Host-"));
        OUTDATED.iter().filter(|name| brought(name)).filter_map(|name| gone(name)).collect()
    }
}

fn set(name: &str, value: &str, same_site: &str, max_age_secs: u64, https: bool) -> Option<HeaderValue> {
    let secure = if https { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={max_age_secs}{secure}");
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// What a request brought along.
#[derive(Clone, Default)]
pub struct Cookies {
    pub session: Option<String>,
    pub before: Option<String>,
    pub known: Option<String>,
}

impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cookies")
    }
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// The value of a cookie that is there once. Two that differ were set by two, and one of them not by us.
fn only(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut found = pairs(headers).filter(|(key, _)| *key == name).map(|(_, value)| value);
    let first = found.next().filter(|value| is_value(value))?;
    found.all(|value| value == first).then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn value(letter: &str) -> String {
        letter.repeat(43)
    }

    fn names(origin: &str, instance: &str) -> CookieNames {
        CookieNames::new(&Settings::new(origin.parse().unwrap()).site().unwrap(), instance)
    }

    fn secure() -> CookieNames {
        names("https://hold.example", "1f09ac37")
    }

    fn plain() -> CookieNames {
        names("http://localhost:9096", "1f09ac37")
    }

    fn headers(lines: &[String]) -> HeaderMap {
        lines.iter().map(|line| (COOKIE, line.parse().unwrap())).collect()
    }

    fn read(lines: &[String], names: &CookieNames) -> Option<String> {
        names.read(&headers(lines)).session
    }

    #[test]
    fn a_cookie_is_found_among_others_and_only_under_its_own_name() {
        let (a, b) = (value("a"), value("b"));
        let own = "__Host-holdfast-1f09ac37-443";
        assert_eq!(read(&[format!("x=1; {own}={a}; y=2")], &secure()), Some(a.clone()));
        assert_eq!(read(&["x=1".into(), format!("{own}={a}")], &secure()), Some(a.clone()));
        assert_eq!(
            read(&[format!("holdfast-1f09ac37-443={a}")], &secure()),
            None,
            "the plain name is not ours"
        );
        let own = "holdfast-1f09ac37-9096";
        assert_eq!(read(&[format!("{own}={a}")], &plain()), Some(a.clone()));
        assert_eq!(read(&[format!("{own}={a}; {own}={b}")], &plain()), None, "somebody else set one");
        assert_eq!(read(&[format!("{own}={a}; {own}={a}")], &plain()), Some(a.clone()));
        assert_eq!(read(&[format!("{own}=short")], &plain()), None);
        for other in ["holdfast", "holdfast-1f09ac37-9097", "holdfast-1f09ac38-9096"] {
            assert_eq!(read(&[format!("{other}={a}")], &plain()), None, "{other} is another house's");
        }
    }

    #[test]
    fn cookies_are_set_as_strictly_as_they_can_be() {
        let set = |names: CookieNames, kind| names.set(kind, "v", 60).unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            set(secure(), CookieKind::Session),
            "__Host-holdfast-1f09ac37-443=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure"
        );
        assert_eq!(
            set(secure(), CookieKind::Before),
            "__Host-holdfast-1f09ac37-443-pre=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure"
        );
        assert_eq!(
            set(plain(), CookieKind::Known),
            "holdfast-1f09ac37-9096-known=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=60"
        );
    }

    #[test]
    fn what_has_an_old_name_is_taken_away() {
        let brought = headers(&[format!("holdfast={}; x=1; __Host-holdfast-pre=y", value("a"))]);
        let gone: Vec<String> =
            secure().outdated(&brought).iter().map(|it| it.to_str().unwrap().to_owned()).collect();
        assert_eq!(gone.len(), 2, "{gone:?}");
        assert!(gone.iter().all(|line| line.contains("Max-Age=0")), "{gone:?}");
        assert!(gone[1].starts_with("__Host-holdfast-pre=;") && gone[1].ends_with("; Secure"), "{gone:?}");
        assert!(plain().outdated(&headers(&["holdfast-1f09ac37-9096=x".into()])).is_empty());
    }
}
