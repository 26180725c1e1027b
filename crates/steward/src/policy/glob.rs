//! A pattern in which `*` stands for any run of characters, and how a path is held against one.

/// Whether letters of different case count as the same. What loosens is matched exactly; what tightens in any case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Exact,
    Any,
}

/// Linear in practice: only the last `*` is ever gone back to.
pub(super) fn matches(pattern: &str, text: &str, case: Case) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let same = |a: u8, b: u8| a == b || (case == Case::Any && a.eq_ignore_ascii_case(&b));
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && same(pattern[p], text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// A path pattern counts from any folder on. One that ends in `/` means the folder and all below it.
pub(super) fn matches_path(pattern: &str, path: &str, case: Case) -> bool {
    let starts =
        std::iter::once(0).chain(path.bytes().enumerate().filter(|(_, b)| *b == b'/').map(|(i, _)| i + 1));
    starts.into_iter().any(|start| {
        let tail = &path[start..];
        match pattern.strip_suffix('/') {
            Some(folder) => {
                tail.split('/').count() >= folder.split('/').count() && is_below(folder, tail, case)
            }
            None => matches(pattern, tail, case),
        }
    })
}

fn is_below(folder: &str, path: &str, case: Case) -> bool {
    let depth = folder.split('/').count();
    folder.split('/').zip(path.split('/').take(depth)).all(|(want, have)| matches(want, have, case))
}

/// A path that can be read in one way only: relative, plain characters, no empty part, no climbing.
pub(super) fn is_plain_path(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= 512
        && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\' && b != b'%')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run() {
        for (pattern, text, expected) in [
            ("Exec*", "ExecStartPre", true),
            ("Exec*", "Exec", true),
            ("Exec*", "execStart", false),
            ("boot.*", "boot.loader.grub", true),
            ("boot.*", "reboot.x", false),
            ("*Keys*", "a.authorizedKeys.keys", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text, Case::Exact), expected, "{pattern} {text}");
        }
        assert!(matches("flake.lock", "Flake.LOCK", Case::Any));
    }

    #[test]
    fn a_folder_means_all_below_it_wherever_it_stands() {
        for (pattern, path, expected) in [
            ("secrets/", "secrets/a.age", true),
            ("secrets/", "secrets", true),
            ("secrets/", "x/secrets/a/b", true),
            ("secrets/", "mysecrets/a", false),
            (".github/workflows/", ".github/workflows/ci.yml", true),
            (".github/workflows/", ".github/dependabot.yml", false),
            ("flake.lock", "sub/flake.lock", true),
            ("flake.lock", "flake.lock.orig", false),
        ] {
            assert_eq!(matches_path(pattern, path, Case::Any), expected, "{pattern} {path}");
        }
    }
}
