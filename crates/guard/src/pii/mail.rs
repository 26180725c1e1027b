//! Mail addresses, read outwards from the at sign.
//!
//! Kept: user and host of a remote (`git@example.com:owner/repo`), whatever stands inside the authority of a URL (the
//! detector of passwords in URLs looks there), package names with versions, names of pictures and of units.

use super::BEFORE_MAX;
use super::cluster::escaped;
use crate::hit::{Hit, Known};

const LOCAL_MAX: usize = 64;
const DOMAIN_MAX: usize = 100;

/// Endings of files and units, none of them a domain, that follow an at sign in other names.
const FILES: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "scss", "js", "mjs", "cjs", "ts", "tsx", "jsx",
    "json", "html", "htm", "txt", "pdf", "xml", "yaml", "yml", "toml", "lock", "tgz", "tar", "gz", "whl",
    "jar", "dll", "exe", "service", "socket", "timer", "target", "mount", "slice", "device", "path", "swap",
    "conf", "log", "bak",
];

/// `text[at]` is an at sign.
pub(crate) fn at_sign(text: &[u8], at: usize, out: &mut Vec<Hit>) {
    let Some(start) = local_start(text, at) else { return };
    let Some(end) = domain_end(text, at + 1) else { return };
    if remote(text, start, at, end) || in_authority(text, start) {
        return;
    }
    out.push(Hit {
        known: Known::Email,
        start,
        end,
        confidence: 95,
        reason: "a name, an at sign and a domain",
    });
}

/// Where the part before the at sign begins.
fn local_start(text: &[u8], at: usize) -> Option<usize> {
    if text[..at].last() == Some(&b'"') {
        return quoted_start(text, at - 1);
    }
    let floor = at.saturating_sub(LOCAL_MAX);
    let mut start = at;
    while start > floor {
        match of_local(&text[floor..start]) {
            0 => break,
            width => start -= width,
        }
    }
    start += usize::from(escaped(text, start + 1));
    // Quotes and points before a name belong to the sentence.
    while start < at
        && !(text[start].is_ascii_alphanumeric() || matches!(text[start], b'_' | b'+') || text[start] >= 0x80)
    {
        start += 1;
    }
    let plain = start < at && text[at - 1] != b'.';
    (plain && !text[..start].ends_with(b"@")).then_some(start)
}

/// How wide the last character is, if it may stand in a name: letters of alphabets written with spaces, digits, marks.
fn of_local(head: &[u8]) -> usize {
    match head {
        [.., b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'%' | b'+' | b'-' | b'\''] => 1,
        [.., 0xC3..=0xD3, 0x80..=0xBF] => 2,
        _ => 0,
    }
}

/// `"a name"@example.com`.
fn quoted_start(text: &[u8], closing: usize) -> Option<usize> {
    let floor = closing.saturating_sub(LOCAL_MAX);
    let inner = &text[floor..closing];
    let opening = floor + inner.iter().rposition(|b| matches!(b, b'"' | b'\n' | b'<' | b'>'))?;
    let bounded = text[..opening].last().is_none_or(|b| !b.is_ascii_alphanumeric());
    (text[opening] == b'"' && closing - opening > 1 && bounded).then_some(opening)
}

/// Where the domain ends: at least two labels, the last of two letters or more.
fn domain_end(text: &[u8], start: usize) -> Option<usize> {
    let limit = text.len().min(start + DOMAIN_MAX);
    let (mut at, mut labels, mut end) = (start, 0, None);
    loop {
        let label = label(&text[at..limit]);
        if label == 0 {
            break;
        }
        labels += 1;
        if labels > 1 {
            let top = top_level(&text[at..at + label]);
            end = top.map(|length| at + length).or(end);
        }
        at += label;
        if text.get(at) != Some(&b'.') || at >= limit {
            break;
        }
        at += 1;
    }
    // A label that goes on past the limit is no label.
    let cut = at >= limit && limit < text.len() && end == Some(at);
    end.filter(|_| !cut)
}

/// How long the label is that begins here; letters beyond ASCII count where a label may hold them.
fn label(rest: &[u8]) -> usize {
    if rest.first() == Some(&b'-') {
        return 0;
    }
    let mut length = 0;
    loop {
        length += match &rest[length..] {
            [b, ..] if b.is_ascii_alphanumeric() || *b == b'-' => 1,
            [0xC3..=0xD3, 0x80..=0xBF, ..] => 2,
            [0xE3..=0xE9, 0x80..=0xBF, 0x80..=0xBF, ..] if length == 0 || rest[length - 1] >= 0x80 => 3,
            _ => return length,
        }
    }
}

/// How much of the label is a top level: `com` of `com-office`.
fn top_level(label: &[u8]) -> Option<usize> {
    if label.get(..4).is_some_and(|head| head.eq_ignore_ascii_case(b"xn--")) {
        return Some(label.len());
    }
    let length = label.iter().take_while(|b| b.is_ascii_alphabetic() || **b >= 0x80).count();
    let name = &label[..length];
    let file = FILES.iter().any(|file| name.eq_ignore_ascii_case(file.as_bytes()));
    let whole = length == label.len() || label[length] == b'-';
    (whole && (2..=24).contains(&length) && !file).then_some(length)
}

/// A remote of git or scp: a colon right after the host, then a path.
fn remote(text: &[u8], start: usize, at: usize, end: usize) -> bool {
    if text[start..at].eq_ignore_ascii_case(b"git") {
        return true;
    }
    let Some((b':', rest)) = text[end..].split_first() else { return false };
    let path =
        rest.iter().take(40).take_while(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b',' | b';'));
    let path = &rest[..path.count()];
    path.starts_with(b"~") || path.contains(&b'/')
}

/// Between `://` and the first slash after it stands the name this address would begin with.
fn in_authority(text: &[u8], start: usize) -> bool {
    let window = &text[start.saturating_sub(BEFORE_MAX - LOCAL_MAX)..start];
    let from = window.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
    let word = &window[from..];
    let Some(scheme) = word.windows(3).rposition(|three| three == b"://") else { return false };
    let authority = &word[scheme + 3..];
    !authority.contains(&b'/') && !queried(authority)
}

/// A host, then a question: `example.com?mail=`. A password may hold `?` and `#`, but then a colon stands before them.
fn queried(authority: &[u8]) -> bool {
    authority
        .iter()
        .position(|b| matches!(b, b'?' | b'#'))
        .is_some_and(|at| !authority[..at].contains(&b':') && authority[..at].contains(&b'.'))
}

#[cfg(test)]
mod tests {
    use super::super::pass::{check, found};

    #[test]
    fn addresses_of_many_forms_are_taken_whole() {
        for address in [
            "jo@example.com",
            "jo.bloggs+news@mail.example.co.uk",
            "JO_BLOGGS@EXAMPLE.ORG",
            "o'neil@example.com",
            "jo-b%x@example.museum",
            "josé.garcía@example.es",
            "jo@müller.example",
            "jo@xn--mller-kva.example",
            "\"jo bloggs\"@example.com",
            "1234@example.com",
            "jo@例え.jp",
        ] {
            check(&format!("write to {address}."), &[("email", address)]);
            check(&format!("<{address}>"), &[("email", address)]);
        }
    }

    #[test]
    fn only_the_address_is_taken() {
        check("mail:\\njo@example.com\\nbye", &[("email", "jo@example.com")]);
        check("'jo@example.com'", &[("email", "jo@example.com")]);
        check("mailto:jo@example.com?subject=x", &[("email", "jo@example.com")]);
        check("邮箱jo@example.com。", &[("email", "jo@example.com")]);
        check("jo@example.com-Office", &[("email", "jo@example.com")]);
        check("...jo@example.com...", &[("email", "jo@example.com")]);
        check("jo@example.com: hello/there", &[("email", "jo@example.com")]);
        check("a@example.com,b@example.com", &[("email", "a@example.com"), ("email", "b@example.com")]);
    }

    #[test]
    fn what_only_looks_like_an_address_is_kept() {
        for text in [
            "git@github.com:owner/repo.git",
            "deploy@host.example.com:/srv/app",
            "user@host",
            "@scope/pkg",
            "@app.route",
            "pkg@1.2.3",
            "logo@2x.png",
            "getty@tty1.service",
            "a@b",
            "@@example.com",
            "jo@.com",
            "jo@example.",
            "jo@example.c",
            "jo @example.com",
        ] {
            assert!(found(text).iter().all(|(id, _)| *id != "email"), "{text:?}");
        }
    }

    #[test]
    fn the_authority_of_a_url_is_left_to_another() {
        for text in [
            "https://user:p!ss#word@host.example",
            "ssh://git@host.example/x",
            "https://user:a?b@host.example/",
        ] {
            assert!(found(text).iter().all(|(id, _)| *id != "email"), "{text:?}");
        }
        assert!(found("https://host.example/?mail=jo@example.com").contains(&("email", "jo@example.com")));
        assert!(found("https://host.example?mail=jo@example.com").contains(&("email", "jo@example.com")));
    }
}
