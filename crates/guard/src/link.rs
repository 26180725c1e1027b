//! Passwords in addresses: `scheme://user:password@host`.

use std::ops::Range;

/// The longest authority that is looked at.
pub(crate) const LONGEST: usize = 512;

/// What stands before the host in an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Range<usize>,
    /// Absent where only a name or a token stands there.
    pub(crate) password: Option<Range<usize>>,
    pub(crate) host: Range<usize>,
}

/// Looks at the address whose `://` begins at `colon`. Everything found lies within one address: blanks and quotation
/// marks end it. A password may hold any other sign but a slash, also the ones a strict reader would end at.
pub(crate) fn credentials(text: &[u8], colon: usize) -> Option<Credentials> {
    let start = colon + 3;
    let rest = &text[start.min(text.len())..text.len().min(start + LONGEST)];
    memchr::memchr(b'@', rest)?;
    let end = rest.iter().position(|b| {
        b.is_ascii_whitespace()
            || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'/' | b'\\' | b'|')
            || *b < 0x20
    });
    let end = end.unwrap_or(rest.len());
    credentials_in(rest, end, start).or_else(|| slash_in_password(rest, start))
}

fn credentials_in(rest: &[u8], end: usize, start: usize) -> Option<Credentials> {
    let at = rest[..end].iter().rposition(|b| *b == b'@')?;
    let host = rest[at + 1..]
        .iter()
        .take_while(|b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'.' | b'-' | b'_' | b'[' | b':' | b']' | b'$' | b'{' | b'}' | b'%')
        })
        .count();
    if host == 0 || at == 0 {
        return None;
    }
    let colon = rest[..at].iter().position(|b| *b == b':');
    let user = start..start + colon.unwrap_or(at);
    let password = colon.map(|c| start + c + 1..start + at).filter(|p| !p.is_empty());
    Some(Credentials { user, password, host: start + at + 1..start + at + 1 + host })
}

/// `user:pa/ss@host`: a colon before the slash, no port behind it, and an `@` with a host after it.
fn slash_in_password(rest: &[u8], start: usize) -> Option<Credentials> {
    let end = rest
        .iter()
        .position(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>'))
        .unwrap_or(rest.len());
    let slash = rest[..end].iter().position(|b| *b == b'/')?;
    let colon = rest[..slash].iter().position(|b| *b == b':')?;
    let port = rest[colon + 1..slash].iter().all(u8::is_ascii_digit);
    let at = rest[slash..end].iter().position(|b| *b == b'@')? + slash;
    if port || rest[..colon].contains(&b'.') || rest[slash..at].contains(&b'?') {
        return None;
    }
    credentials_in(&rest[..end], at + 1 + rest[at + 1..end].iter().take_while(|b| **b != b'/').count(), start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Option<&str> {
        let colon = text.find("://").unwrap();
        let found = credentials(format!("{text} ").as_bytes(), colon)?.password?;
        Some(&text[found])
    }

    #[test]
    fn the_password_is_what_stands_between_the_first_colon_and_the_last_at_sign() {
        assert_eq!(password("postgres://user:p!ss#word@host.tld/db"), Some("p!ss#word"));
        assert_eq!(password("postgres://user:p@ss@host.tld/db"), Some("p@ss"));
        assert_eq!(password("redis://:hush@localhost:6379/0"), Some("hush"));
        assert_eq!(password("amqp://u:a/b+c@rabbit.example:5672/v"), Some("a/b+c"));
        assert_eq!(password("https://host.tld/@user:name"), None);
        assert_eq!(password("https://host.tld:8080/a@b"), None);
        assert_eq!(password("see https://host.tld/ and mail a:b@c"), None);
        assert_eq!(password("https://user@host.tld/"), None);
    }
}
