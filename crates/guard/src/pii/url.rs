//! Web addresses: `http`, `https` and `ftp` URLs, and names that begin with `www.`.
//!
//! An address longer than the window is taken as far as the window goes. Kept: hosts without a point and loopback, which
//! lead nowhere from outside, and URLs that carry a password, which another detector takes apart.

use super::AFTER_MAX;
use super::address::impersonal;
use super::cluster::escaped;
use crate::hit::{Hit, Known};
use std::net::{Ipv4Addr, Ipv6Addr};

const SCHEMES: &[&[u8]] = &[b"https", b"http", b"ftp", b"ftps", b"sftp"];

/// `text[colon..]` starts with `://`. The text within a URL is looked at too, so it goes on right behind this.
pub(crate) fn scheme(text: &[u8], colon: usize, out: &mut Vec<Hit>) -> usize {
    let next = colon + 3;
    let letters = text[..colon].iter().rev().take(6).take_while(|b| b.is_ascii_alphabetic()).count();
    let start = colon - letters + usize::from(letters > 0 && escaped(text, colon - letters + 1));
    if !SCHEMES.iter().any(|scheme| text[start..colon].eq_ignore_ascii_case(scheme)) {
        return next;
    }
    let token = token(text, next, colon + AFTER_MAX);
    if let Some(host) = host(token)
        && worth(host)
    {
        let end = next + trimmed(token);
        out.push(Hit { known: Known::Url, start, end, confidence: 95, reason: "a scheme and a host" });
    }
    next
}

/// `text[at..]` starts with `www.` at the start of a word.
pub(crate) fn www(text: &[u8], at: usize, out: &mut Vec<Hit>) -> usize {
    let next = at + 4;
    if matches!(text[..at], [.., b'/' | b'@' | b'.' | b'-' | b'_' | b'=']) && !text[..at].ends_with(b"=") {
        return next;
    }
    let token = token(text, at, at + AFTER_MAX);
    if let Some(host) = host(token)
        && named(host.get(4..).unwrap_or_default())
    {
        let end = at + trimmed(token);
        out.push(Hit {
            known: Known::Url,
            start: at,
            end,
            confidence: 90,
            reason: "a name beginning with www",
        });
    }
    next
}

/// From `start` to the first byte no address holds, on a character boundary.
fn token(text: &[u8], start: usize, limit: usize) -> &[u8] {
    let rest = &text[start..text.len().min(limit)];
    let ended = |b: &u8| {
        b.is_ascii_whitespace()
            || b.is_ascii_control()
            || matches!(b, b'<' | b'>' | b'"' | b'`' | b'{' | b'}' | b'|' | b'\\' | b'^')
    };
    let mut length = rest.iter().position(ended).unwrap_or(rest.len());
    if let Some(wide) = wide_stop(&rest[..length]) {
        length = wide;
    }
    while start + length < text.len() && length > 0 && text[start + length] & 0xC0 == 0x80 {
        length -= 1;
    }
    &rest[..length]
}

/// Typographic quotes, spaces and full stops of other scripts end an address too.
fn wide_stop(token: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < token.len() {
        match &token[at..] {
            [0xE2, 0x80, ..] | [0xE3, 0x80, ..] | [0xEF, 0xBC, ..] | [0xC2, 0xA0 | 0xBB | 0xAB, ..] => {
                return Some(at);
            }
            _ => at += 1,
        }
    }
    None
}

/// How much remains without the punctuation of the sentence. A closing bracket stays if its opening one is inside.
fn trimmed(token: &[u8]) -> usize {
    let mut length = token.len();
    while let Some(last) = token[..length].last() {
        let closes = |open: u8, close: u8| {
            let count = |wanted: u8| token[..length].iter().filter(|b| **b == wanted).count();
            *last == close && count(close) > count(open)
        };
        let stop = matches!(last, b'.' | b',' | b';' | b':' | b'!' | b'?' | b'\'' | b'*' | b'_' | b'~')
            || closes(b'(', b')')
            || closes(b'[', b']');
        if !stop {
            break;
        }
        length -= 1;
    }
    length
}

/// The host of the authority the token begins with; none where a password stands before it.
fn host(token: &[u8]) -> Option<&[u8]> {
    let authority =
        &token[..token.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(token.len())];
    let (user, host) = match authority.iter().rposition(|b| *b == b'@') {
        Some(at) => (&authority[..at], &authority[at + 1..]),
        None => (&authority[..0], authority),
    };
    if user.contains(&b':') {
        return None;
    }
    if host.first() == Some(&b'[') {
        return host.get(1..host.iter().position(|b| *b == b']')?);
    }
    match host.iter().position(|b| *b == b':') {
        None => Some(&host[..trimmed(host)]),
        // Past a colon stands a port; anything else is a password with a mark in it that ends an authority.
        Some(colon) => {
            let port = &host[colon + 1..];
            let digits = port.iter().take_while(|b| b.is_ascii_digit()).count();
            (digits <= 5 && trimmed(&port[digits..]) == 0).then_some(&host[..colon])
        }
    }
}

fn worth(host: &[u8]) -> bool {
    let text = std::str::from_utf8(host).unwrap_or_default();
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return !impersonal(address);
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return !address.is_loopback() && !address.is_unspecified();
    }
    named(host)
}

/// A name with a point in it whose last label is letters.
fn named(host: &[u8]) -> bool {
    let Some(point) = host.iter().rposition(|b| *b == b'.') else { return false };
    let top = &host[point + 1..];
    let letters = top.len() >= 2 && top.iter().all(|b| b.is_ascii_alphabetic() || *b >= 0x80);
    let coded = top.get(..4).is_some_and(|head| head.eq_ignore_ascii_case(b"xn--"));
    let labels =
        host.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_') || *b >= 0x80);
    let local = host.eq_ignore_ascii_case(b"localhost.localdomain");
    point > 0 && labels && (letters || coded) && !local
}

#[cfg(test)]
mod tests {
    use super::super::pass::{check, found};

    #[test]
    fn addresses_are_taken_without_the_sentence_around_them() {
        for url in [
            "http://example.com",
            "https://www.example.com/",
            "HTTPS://Example.COM/a/b?c=d#e",
            "ftp://files.example.org/x",
            "https://example.com:8443/a",
            "https://example.com/a_(b)",
            "https://user@example.com/",
            "http://[2001:db8::1]/x",
            "http://203.0.113.7/x",
            "https://müller.example/straße",
            "https://example.com?a=b",
        ] {
            for text in [
                format!("see {url}."),
                format!("({url})"),
                format!("\"{url}\","),
                format!("“{url}”"),
                format!("<a href='{url}'>"),
            ] {
                assert_eq!(found(&text).first(), Some(&("url", url)), "{text:?}");
            }
        }
        check("see:\\nhttps://example.com/a", &[("url", "https://example.com/a")]);
        check("go to www.example.com/a, now", &[("url", "www.example.com/a")]);
    }

    #[test]
    fn what_leads_nowhere_or_is_another_s_is_kept() {
        for text in [
            "http://localhost:8080/x",
            "http://127.0.0.1/",
            "http://[::1]/",
            "http://db/",
            "https://user:pass@example.com/",
            "file:///etc/hosts",
            "https://user:p!ss#word@host.example",
            "http://",
            "www.",
            "www.example",
            "ssh://example.com",
            "xhttp//example.com",
            "www..com",
        ] {
            assert!(found(text).iter().all(|(id, _)| *id != "url"), "{text:?}");
        }
    }

    #[test]
    fn an_address_longer_than_the_window_is_taken_as_far_as_that() {
        let text = format!("https://example.com/{}", "é".repeat(200));
        let hits = found(&text);
        assert_eq!(hits.len(), 1);
        assert!(hits[0].1.len() > 140 && text.starts_with(hits[0].1));
    }
}
