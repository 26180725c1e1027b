//! Paths of our own: every link and every form leads to one of these, whatever the names in it are.

/// Bytes of a name in a path: ids and names are far shorter, and an address stays one that every proxy takes.
const PART_MAX: usize = 512;

/// `/hosts/web-1`: the first part is ours, the others are names from elsewhere.
pub(crate) fn path(parts: &[&str]) -> String {
    let mut out = String::new();
    for part in parts {
        out.push('/');
        // A browser takes dots apart even when they are encoded. No name of ours is such, or longer than an address may be.
        if part.is_empty() || part.len() > PART_MAX || part.chars().all(|c| c == '.') {
            out.push('_');
        } else {
            encode(part, &mut out);
        }
    }
    out
}

/// `/audit?before=7&room=steward`: pairs without a value are left out.
pub(crate) fn query(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut out = path.to_owned();
    let mut mark = '?';
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        out.push(mark);
        out.push_str(name);
        out.push('=');
        encode(value, &mut out);
        mark = '&';
    }
    out
}

/// Where an entry of the journal is shown.
pub(crate) fn entry(seq: u64) -> String {
    format!("/audit/{seq}")
}

/// A path somebody handed in, if it is one of this origin: `//elsewhere` and `/\elsewhere` are not.
pub(crate) fn local(path: &str) -> Option<&str> {
    let rest = path.strip_prefix('/')?;
    let strange = rest.starts_with(['/', '\\']) || path.chars().any(|c| c.is_control() || c == '\\');
    (!strange).then_some(path)
}

fn encode(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_anywhere_else() {
        for (name, expected) in [
            ("web-1", "/hosts/web-1"),
            ("a/b", "/hosts/a%2Fb"),
            ("..", "/hosts/_"),
            ("", "/hosts/_"),
            ("?x=1#y", "/hosts/%3Fx%3D1%23y"),
            ("日", "/hosts/%E6%97%A5"),
        ] {
            assert_eq!(path(&["hosts", name]), expected);
        }
    }

    #[test]
    fn only_paths_of_this_origin_are_local() {
        for good in ["/", "/hosts/web-1", "/audit?before=7"] {
            assert_eq!(local(good), Some(good));
        }
        for bad in
            ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "", "/a\nb"]
        {
            assert_eq!(local(bad), None, "{bad}");
        }
    }

    #[test]
    fn pairs_without_a_value_are_left_out() {
        assert_eq!(
            query("/audit", &[("room", ""), ("kind", "a b"), ("actor", "ana")]),
            "/audit?kind=a%20b&actor=ana"
        );
        assert_eq!(query("/audit", &[]), "/audit");
    }
}
