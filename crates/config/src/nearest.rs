//! Which word somebody probably meant.

/// The known word nearest to what was written, if it is near enough to be worth saying.
pub(crate) fn nearest<'a>(found: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if found.len() > 64 {
        return None;
    }
    let found = snake(found);
    let known: Vec<&str> = known.collect();
    // The unit was left out: `interval` for `interval_minutes`.
    let whole =
        |word: &&str| found.len() >= 4 && word.strip_prefix(&found).is_some_and(|unit| unit.starts_with('_'));
    if let Some(word) = known.iter().copied().find(whole) {
        return Some(word);
    }
    let scored = known.into_iter().map(|word| (strsim::damerau_levenshtein(&found, word), word));
    let (distance, word) = scored.min()?;
    // A third of the word may be wrong: `helth` is health, `port` is not host.
    (distance <= 1.max(word.len().min(found.len()) / 3)).then_some(word)
}

/// `intervalMinutes` and `interval-minutes` as they are written here: `interval_minutes`.
pub(crate) fn snake(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 4);
    let mut before = '_';
    for c in word.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            out.push('_');
        }
        out.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_found_and_a_far_one_is_not() {
        let known = ["health", "interval_minutes", "timeout_seconds", "log"];
        let check = |found: &str, expected: Option<&str>| {
            assert_eq!(nearest(found, known.into_iter()), expected, "{found}");
        };
        check("helth", Some("health"));
        check("Health", Some("health"));
        check("intervalMinutes", Some("interval_minutes"));
        check("interval-minutes", Some("interval_minutes"));
        check("timeout_second", Some("timeout_seconds"));
        check("lgo", Some("log"));
        check("HEALTH", Some("health"));
        check("interval", Some("interval_minutes"));
        check("colour", None);
        check("", None);
    }
}
