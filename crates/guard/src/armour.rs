//! Private keys in armour: PEM, OpenSSH, PGP and their relatives.

/// How far behind the first line of a key its bytes must begin, and how far its last line is looked for.
const BODY_WITHIN: usize = 96;
const LONGEST_KEY: usize = 32 * 1024;
/// A last line this near says that a key was meant, whatever stands between.
const LAST_LINE_WITHIN: usize = 2048;
/// The longest label: `BEGIN SSH2 ENCRYPTED PRIVATE KEY`.
const LONGEST_LABEL: usize = 64;

/// A private key, from its first line to its last, or as far as its bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Armoured {
    pub(crate) end: usize,
    /// Whether enough of a key follows the first line for it to be one, not a mention of one.
    pub(crate) has_body: bool,
    pub(crate) has_last_line: bool,
}

/// Looks at a run of dashes that begins at `at`.
pub(crate) fn private_key(text: &[u8], at: usize) -> Option<Armoured> {
    let dashes = text[at..].iter().take(8).take_while(|b| **b == b'-').count();
    if !(4..=5).contains(&dashes) {
        return None;
    }
    let mut label = at + dashes;
    while text.get(label) == Some(&b' ') && label < at + dashes + 2 {
        label += 1;
    }
    if !text[label..].starts_with(b"BEGIN ") {
        return None;
    }
    let line = &text[label..text.len().min(label + LONGEST_LABEL + 8)];
    let close = memchr::memmem::find(line, b"----")?;
    let name = &line[..close];
    let private = memchr::memmem::find(name, b"PRIVATE KEY").is_some()
        || memchr::memmem::find(name, b"OpenVPN Static key").is_some();
    if !private || !name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b' ') {
        return None;
    }
    let dashes = line[close..].iter().take_while(|b| **b == b'-').count();
    let body = label + close + dashes;
    let limit = text.len().min(body + LONGEST_KEY);
    let last =
        memchr::memmem::find(&text[body..text.len().min(body + LONGEST_KEY)], b"-END ").map(|p| body + p);
    let last = last.filter(|end| {
        memchr::memmem::find(&text[*end..text.len().min(end + LONGEST_LABEL)], &name[6.min(name.len())..])
            .is_some()
    });
    let end = match last {
        Some(last) => {
            let line = text[last + 1..text.len().min(last + LONGEST_LABEL + 8)].iter().enumerate();
            let mut end = last + 1;
            let mut closing = 0;
            for (i, byte) in line {
                if *byte == b'\n' || (closing >= 5 && *byte != b'-') {
                    break;
                }
                closing = if *byte == b'-' { closing + 1 } else { 0 };
                end = last + 1 + i + 1;
            }
            end
        }
        None => body_end(text, body, limit),
    };
    let has_last_line = last.is_some_and(|at| at < body + LAST_LINE_WITHIN);
    Some(Armoured { end, has_body: has_body(text, body, last.unwrap_or(limit)), has_last_line })
}

/// Sixteen characters of base64 in one piece are the first thing behind the first line, whatever line ends, quotes or
/// headers stand between. A program that looks for keys has the first line as text, and then goes on with something else.
fn has_body(text: &[u8], from: usize, limit: usize) -> bool {
    let within = text.len().min(limit).min(from + BODY_WITHIN + 400);
    let mut at = from;
    let mut skipped = 0;
    while at < within && skipped <= BODY_WITHIN {
        let byte = text[at];
        // The n of an escaped line end is no part of the key.
        if byte == b'\\' && matches!(text.get(at + 1), Some(b'n' | b'r' | b't')) {
            at += 2;
            skipped += 1;
            continue;
        }
        if !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'/') {
            at += 1;
            skipped += 1;
            continue;
        }
        let run = text[at..within]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
            .count();
        let header = [&b"Proc"[..], b"DEK", b"Version", b"Comment", b"Hash", b"Key", b"Subject", b"2"]
            .iter()
            .any(|h| text[at..].starts_with(h))
            && run < 16;
        if header {
            // To the end of the line, written out or escaped.
            let line =
                text[at..within].iter().position(|b| matches!(b, b'\n' | b'\\')).unwrap_or(within - at);
            at += line.max(1);
            continue;
        }
        let piece = &text[at..at + run];
        // A plus between two strings of a program is no body yet.
        if run < 4 && piece.iter().all(|b| matches!(b, b'+' | b'/')) {
            at += run;
            skipped += run;
            continue;
        }
        return run >= 16 && crate::judge::Look::at(piece).distinct >= 6;
    }
    false
}

/// Where the bytes of a key without a last line end.
fn body_end(text: &[u8], from: usize, limit: usize) -> usize {
    let mut end = from;
    let mut quiet = 0;
    for (i, byte) in text[from..limit].iter().enumerate() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-') {
            end = from + i + 1;
            quiet = 0;
        } else if matches!(byte, b'\n' | b'\r' | b' ' | b'\t' | b'\\' | b'"' | b'\'' | b',' | b':')
            && quiet < 24
        {
            quiet += 1;
        } else {
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(label: &str, body: &str, last: bool) -> String {
        let tail = if last { format!("-----END {label}-----") } else { String::new() };
        format!("-----BEGIN {label}-----\n{body}\n{tail}")
    }

    #[test]
    fn every_kind_of_private_key_is_seen_from_its_first_to_its_last_line() {
        let body = "MIIEpAIBAAKCAQEA7bq2".repeat(6);
        for label in [
            "PRIVATE KEY",
            "RSA PRIVATE KEY",
            "EC PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "DSA PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        ] {
            let text = key(label, &body, true);
            let found = private_key(text.as_bytes(), 0).unwrap();
            assert_eq!((found.end, found.has_body, found.has_last_line), (text.len(), true, true), "{label}");
            let cut = key(label, &body, false);
            let found = private_key(cut.as_bytes(), 0).unwrap();
            assert!(found.has_body && found.end >= cut.len() - 1, "{label} without a last line");
        }
    }

    #[test]
    fn a_public_key_a_certificate_and_a_mention_are_none() {
        let body = "MIIEpAIBAAKCAQEA7bq2".repeat(6);
        for label in ["PUBLIC KEY", "CERTIFICATE", "PGP MESSAGE"] {
            assert_eq!(private_key(key(label, &body, true).as_bytes(), 0), None, "{label}");
        }
        let code = b"-----BEGIN PRIVATE KEY-----\" { return Kind::Pkcs8 } else if line == \"x\"";
        assert!(!private_key(code, 0).unwrap().has_body);
    }
}
