//! Settings that whoever asks has in variables: git takes them in every repository too.

use super::Setting;

/// What the environment sets; nothing where git would stop at it, or it is not understood.
pub(crate) fn given(environment: &[(String, String)]) -> Option<Vec<Setting>> {
    let variable = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let mut all = Vec::new();
    if let Some(count) = variable("GIT_CONFIG_COUNT").filter(|count| !count.is_empty()) {
        let count: usize = count.parse().ok().filter(|count| *count <= environment.len())?;
        for nth in 0..count {
            let key = variable(&format!("GIT_CONFIG_KEY_{nth}"))?;
            all.push(setting(key.as_bytes(), variable(&format!("GIT_CONFIG_VALUE_{nth}"))?.as_bytes())?);
        }
    }
    if let Some(parameters) = variable("GIT_CONFIG_PARAMETERS") {
        all.extend(parameters_of(parameters.as_bytes())?);
    }
    Some(all)
}

/// `section.name` or `section.any thing.name`.
fn setting(key: &[u8], value: &[u8]) -> Option<Setting> {
    let first = key.iter().position(|byte| *byte == b'.')?;
    let last = key.iter().rposition(|byte| *byte == b'.')?;
    let part = |bytes: &[u8]| Some(std::str::from_utf8(bytes).ok()?.to_ascii_lowercase());
    let key = format!("{}.{}", part(&key[..first])?, part(&key[last + 1..])?);
    Some(Setting { key, value: value.to_owned() })
}

/// As `git -c` hands settings on: `'key'='value'`, and before git 2.31 `'key=value'`.
fn parameters_of(text: &[u8]) -> Option<Vec<Setting>> {
    let mut all = Vec::new();
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        let (word, after) = unquoted(rest)?;
        rest = after;
        let ends = |rest: &[u8]| rest.first().is_none_or(u8::is_ascii_whitespace);
        all.push(if ends(rest) {
            let mut parts = word.splitn(2, |byte| *byte == b'=');
            setting(parts.next()?, parts.next().unwrap_or(b"true"))?
        } else {
            rest = rest.strip_prefix(b"=")?;
            let mut value = b"true".to_vec();
            if !ends(rest) {
                (value, rest) = unquoted(rest)?;
            }
            setting(&word, &value)?
        });
        if !ends(rest) {
            return None;
        }
        rest = rest.trim_ascii_start();
    }
    Some(all)
}

/// A word in quotes as a shell takes it, in which `'\''` and `'\!'` are one character; and what follows.
fn unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"'")?;
    let mut word = Vec::new();
    loop {
        let end = rest.iter().position(|byte| *byte == b'\'')?;
        word.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest {
            [b'\\', byte @ (b'\'' | b'!'), b'\'', further @ ..] => {
                word.push(*byte);
                rest = further;
            }
            _ => return Some((word, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(environment: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        let environment: Vec<(String, String)> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let all = given(&environment)?;
        Some(all.into_iter().map(|s| (s.key, String::from_utf8_lossy(&s.value).into_owned())).collect())
    }

    fn one(key: &str, value: &str) -> Option<Vec<(String, String)>> {
        Some(vec![(key.to_owned(), value.to_owned())])
    }

    #[test]
    fn settings_in_variables_are_read_as_git_reads_them() {
        assert_eq!(said(&[("HOME", "/x")]), Some(vec![]));
        let counted = |key, value| {
            said(&[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", key), ("GIT_CONFIG_VALUE_0", value)])
        };
        assert_eq!(counted("core.hooksPath", ".gh"), one("core.hookspath", ".gh"));
        assert_eq!(counted("filter.A.b.Clean", "x y"), one("filter.clean", "x y"));
        for (text, key, value) in [
            ("'core.hooksPath'='a b'", "core.hookspath", "a b"),
            (" 'core.hooksPath=a'", "core.hookspath", "a"),
            ("'alias.x'='it'\\''s'", "alias.x", "it's"),
            ("'core.bare'=", "core.bare", "true"),
            ("'core.bare'", "core.bare", "true"),
        ] {
            assert_eq!(said(&[("GIT_CONFIG_PARAMETERS", text)]), one(key, value), "{text}");
        }
        let two = said(&[("GIT_CONFIG_PARAMETERS", "'a.b'='c' 'd.e=f'")]);
        assert_eq!(two.map(|all| all.len()), Some(2));
        for text in ["core.x=y", "'core.x", "'x'='y'", "'a.b'='c'd"] {
            assert_eq!(said(&[("GIT_CONFIG_PARAMETERS", text)]), None, "{text}");
        }
        assert_eq!(said(&[("GIT_CONFIG_COUNT", "2")]), None);
    }
}
