//! What a browser enters a service with: a knock, a ticket that fits it, and in the end a cookie. All are signed or random, so nothing is kept
//! but which tickets were used, and a restart changes nothing.
//!
//! Whoever comes to a service without its cookie is given a random one there, the knock, and takes a hash of it along to the gateway. The ticket
//! that comes back is signed over that hash and taken only beside the knock: a ticket that was given to somebody else, and sent on to this
//! browser so that it acts in their name, opens nothing. The hash can be seen in an address; what it is a hash of never is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use hmac::{Hmac, KeyInit as _, Mac as _};
use holdfast_gateway::SessionId;
use holdfast_types::Clock;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};

/// From one page to the next.
const TICKET_FOR: Duration = Duration::from_secs(60);
/// Long enough to find a passkey on the way; whoever takes longer knocks again.
const KNOCK_FOR: Duration = Duration::from_secs(600);
/// Tickets of a minute that are remembered: more than people open services.
const USED_MAX: usize = 4_096;

/// Signs and recognises what services are entered with.
pub(super) struct Tickets {
    root: [u8; 32],
    https: bool,
    clock: Arc<dyn Clock>,
    /// Tickets that somebody came with, until they would have ended by themselves.
    used: Mutex<HashMap<String, i64>>,
}

/// The two that a service's origin has of ours.
#[derive(Clone, Copy, Debug)]
enum Cookie {
    Service,
    Knock,
}

/// What is known of a browser's knock outside that browser: the hash of it, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Knock(String);

/// Of a cookie in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Brought<T> {
    /// None, or none that could be ours.
    Nothing,
    One(T),
    /// Two that differ were set by two, and one of them not by us. Setting another does not help: both stay.
    Differing,
}

impl Knock {
    /// As it stands in an address.
    pub(super) fn parse(text: &str) -> Option<Knock> {
        let is_hash = BASE64URL.decode(text).is_ok_and(|bytes| bytes.len() == 32);
        is_hash.then(|| Knock(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn of(value: &str) -> Knock {
        Knock(BASE64URL.encode(Sha256::digest(value)))
    }
}

impl Tickets {
    pub(super) fn new(root: [u8; 32], https: bool, clock: Arc<dyn Clock>) -> Tickets {
        Tickets { root, https, clock, used: Mutex::default() }
    }

    /// For a session to enter a service with, in the browser that has this knock.
    pub(super) fn ticket(&self, service: &str, session: SessionId, knock: &Knock) -> String {
        let (session, until) =
            (session.to_string(), self.clock.now().plus(TICKET_FOR).as_micros().to_string());
        let signature = self.signature(&["ticket", service, &session, &until, knock.as_str()]);
        format!("{session}.{until}.{}", BASE64URL.encode(signature))
    }

    /// The session of a ticket that was signed for this service and this knock, is not over, and comes for the first time.
    pub(super) fn by_ticket(&self, service: &str, ticket: &str, knock: &Knock) -> Option<SessionId> {
        let (rest, signature) = ticket.rsplit_once('.')?;
        let (session, until) = rest.split_once('.')?;
        let wanted = self.signature(&["ticket", service, session, until, knock.as_str()]);
        is_same(&wanted, signature).then_some(())?;
        let (until, now): (i64, i64) = (until.parse().ok()?, self.clock.now().as_micros());
        let session = session.parse().ok()?;
        (now < until && self.first_use(ticket, until, now)).then_some(session)
    }

    /// Whether nobody came with this ticket before. One that is refused for that costs its holder a way by the gateway, no more.
    fn first_use(&self, ticket: &str, until: i64, now: i64) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, until| *until > now);
        used.len() < USED_MAX && used.insert(ticket.to_owned(), until).is_none()
    }

    /// The cookie by which a service's visitors are known.
    pub(super) fn cookie(&self, service: &str, session: SessionId) -> Option<HeaderValue> {
        let session = session.to_string();
        let signature = BASE64URL.encode(self.signature(&["cookie", service, &session, ""]));
        self.set(self.name(Cookie::Service), &format!("{session}.{signature}"), "")
    }

    pub(super) fn by_cookie(&self, service: &str, headers: &HeaderMap) -> Brought<SessionId> {
        let session_of = |value: &str| {
            let (session, signature) = value.split_once('.')?;
            let wanted = self.signature(&["cookie", service, session, ""]);
            is_same(&wanted, signature).then(|| session.parse().ok()).flatten()
        };
        brought(headers, self.name(Cookie::Service), session_of)
    }

    /// The knock that a browser has.
    pub(super) fn knock(&self, headers: &HeaderMap) -> Brought<Knock> {
        // Whatever it holds is hashed; what is not as long as ours was not set by us.
        let knock_of = |value: &str| (value.len() == 43).then(|| Knock::of(value));
        brought(headers, self.name(Cookie::Knock), knock_of)
    }

    /// A knock for a browser that has none, and the cookie that makes it.
    pub(super) fn new_knock(&self) -> Option<(Knock, HeaderValue)> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        let value = BASE64URL.encode(bytes);
        let life = format!("; Max-Age={}", KNOCK_FOR.as_secs());
        Some((Knock::of(&value), self.set(self.name(Cookie::Knock), &value, &life)?))
    }

    fn name(&self, cookie: Cookie) -> &'static str {
        match (cookie, self.https) {
            (Cookie::Service, true) => "__Host-holdfast-service",
            (Cookie::Service, false) => "holdfast-service",
            (Cookie::Knock, true) => "__Host-holdfast-knock",
            (Cookie::Knock, false) => "holdfast-knock",
        }
    }

    fn set(&self, name: &str, value: &str, life: &str) -> Option<HeaderValue> {
        let secure = if self.https { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{life}{secure}");
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    /// Of what it is for and whom it is about, each with its length, so that no two lists read the same.
    fn signature(&self, parts: &[&str]) -> Vec<u8> {
        // A key of any length is taken.
        let Ok(mut mac) = <Hmac<Sha256>>::new_from_slice(&self.root) else { return Vec::new() };
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.finalize().into_bytes().to_vec()
    }
}

/// Without telling by the time it takes how much of it was right.
fn is_same(wanted: &[u8], given: &str) -> bool {
    let Ok(given) = BASE64URL.decode(given) else { return false };
    !wanted.is_empty() && bool::from(subtle::ConstantTimeEq::ct_eq(wanted, given.as_slice()))
}

fn brought<T>(headers: &HeaderMap, name: &str, read: impl Fn(&str) -> Option<T>) -> Brought<T> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    let Some(first) = values.next() else { return Brought::Nothing };
    if values.any(|other| other != first) {
        return Brought::Differing;
    }
    read(first).map_or(Brought::Nothing, Brought::One)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_testkit::TestClock;

    const NOW: &str = "2026-11-18T08:00:00.000000Z";

    fn tickets(https: bool) -> (Tickets, TestClock) {
        let clock = TestClock::at(NOW);
        (Tickets::new([7; 32], https, Arc::new(clock.clone())), clock)
    }

    fn session() -> SessionId {
        format!("{}_{}", SessionId::PREFIX, "0".repeat(26)).parse().unwrap()
    }

    fn headers(lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (COOKIE, line.parse().unwrap())).collect()
    }

    /// As a browser sends back what was set.
    fn kept(cookie: &HeaderValue) -> HeaderMap {
        headers(&[cookie.to_str().unwrap().split(';').next().unwrap()])
    }

    // shows: GTW-F07
    #[test]
    fn a_ticket_is_good_once_for_a_minute_at_one_service_in_one_browser() {
        let (tickets, clock) = tickets(true);
        let (knock, _) = tickets.new_knock().unwrap();
        let (other, _) = tickets.new_knock().unwrap();
        let ticket = tickets.ticket("echo", session(), &knock);
        assert_eq!(tickets.by_ticket("echo", &ticket, &other), None, "somebody else's browser");
        assert_eq!(tickets.by_ticket("sock", &ticket, &knock), None, "another service");
        assert_eq!(tickets.by_ticket("echo", &ticket, &knock), Some(session()));
        assert_eq!(tickets.by_ticket("echo", &ticket, &knock), None, "a second time");
        let late = tickets.ticket("echo", session(), &knock);
        clock.advance(TICKET_FOR);
        assert_eq!(tickets.by_ticket("echo", &late, &knock), None, "too late");
    }

    #[test]
    fn a_restart_changes_nothing() {
        let ((before, _), (after, _)) = (tickets(true), tickets(true));
        let (knock, cookie) = before.new_knock().unwrap();
        assert_eq!(after.knock(&kept(&cookie)), Brought::One(knock.clone()));
        let ticket = before.ticket("echo", session(), &knock);
        assert_eq!(after.by_ticket("echo", &ticket, &knock), Some(session()));
        let cookie = before.cookie("echo", session()).unwrap();
        assert_eq!(after.by_cookie("echo", &kept(&cookie)), Brought::One(session()));
        assert_eq!(after.by_cookie("sock", &kept(&cookie)), Brought::Nothing);
    }

    #[test]
    fn cookies_are_for_this_host_alone_and_out_of_reach_of_scripts() {
        for (https, prefix) in [(true, "__Host-holdfast-"), (false, "holdfast-")] {
            let (tickets, _) = tickets(https);
            let knock = tickets.new_knock().unwrap().1;
            for cookie in [knock, tickets.cookie("echo", session()).unwrap()] {
                let text = cookie.to_str().unwrap();
                assert!(text.starts_with(prefix), "{text}");
                assert!(
                    text.contains("; Path=/; HttpOnly; SameSite=Lax") && !text.contains("Domain"),
                    "{text}"
                );
                assert_eq!(text.ends_with("; Secure"), https, "{text}");
            }
        }
    }

    #[test]
    fn a_cookie_that_is_there_in_two_versions_is_nobodys() {
        let (tickets, _) = tickets(false);
        let value = |letter: &str| format!("holdfast-knock={}", letter.repeat(43));
        let (a, b) = (value("a"), value("b"));
        let of = |lines: &[&str]| tickets.knock(&headers(lines));
        assert_eq!(of(&[]), Brought::Nothing);
        assert_eq!(of(&["holdfast-knock=short"]), Brought::Nothing);
        assert_eq!(of(&[&a, &b]), Brought::Differing);
        assert_eq!(of(&[&format!("theme=dark; {a}")]), of(&[&a, &a]));
        assert!(matches!(of(&[&a]), Brought::One(_)));
    }

    #[test]
    fn only_a_hash_is_taken_for_one_in_an_address() {
        assert!(Knock::parse(Knock::of("x").as_str()).is_some());
        for text in ["", "x", &"a".repeat(44), &"!".repeat(43), &format!("{}=", "a".repeat(43))] {
            assert_eq!(Knock::parse(text), None, "{text}");
        }
    }
}
