//! Text as words: what the gates, the comparison of texts and the experience library go by.

/// The words of a text in lower case, without the punctuation around them. Inner marks stay, so that `v2.4`,
/// `don't` and `/etc/hosts` are one word each; a sign before a number stays too. In scripts that are written without spaces,
/// two neighbouring characters count as a word.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for piece in text.split_whitespace() {
        let word = bare(piece);
        if word.is_empty() {
            continue;
        }
        if !word.is_ascii() && word.chars().any(is_unspaced) {
            pairs(word, &mut out)
        } else {
            out.push(lowered(word))
        }
    }
    out
}

/// A word as it stands in the text, without the punctuation around it.
pub(crate) fn bare(piece: &str) -> &str {
    let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
    let start = word.as_ptr() as usize - piece.as_ptr() as usize;
    let signed = word.starts_with(|c: char| c.is_ascii_digit()) && piece[..start].ends_with(['-', '−']);
    if signed && !word.contains('-') {
        let sign = piece[..start].chars().next_back().map_or(0, char::len_utf8);
        return &piece[start - sign..start + word.len()];
    }
    word
}

fn lowered(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            '’' | '‘' | 'ʼ' => out.push('\''),
            '−' => out.push('-'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

fn pairs(word: &str, out: &mut Vec<String>) {
    let chars: Vec<char> = word.chars().collect();
    if chars.len() == 1 {
        out.push(word.to_owned());
    }
    out.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
}

/// Han, kana, Thai, Lao, Khmer and Burmese are written without spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

/// Whether a token names something particular: a number, a path, a symbol, a host, an option.
pub(crate) fn is_specific(token: &str) -> bool {
    let inner = |c: char| token.trim_matches(c).contains(c);
    token.chars().any(|c| c.is_ascii_digit())
        || ['_', '/', '.', ':', '@', '='].into_iter().any(inner)
        || token.starts_with("--") && token.len() > 2
        || has_inner_capital(token)
}

/// `OrderTotal`, `macOS`, `API`; not `Hello`.
fn has_inner_capital(token: &str) -> bool {
    token.chars().skip(1).any(char::is_uppercase) && token.chars().any(char::is_alphabetic)
}

pub(crate) fn is_capitalised(token: &str) -> bool {
    token.chars().next().is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_goes_and_what_is_inside_a_word_stays() {
        assert_eq!(
            words("“Don’t” use (v2.4), see /etc/hosts!"),
            ["don't", "use", "v2.4", "see", "etc/hosts"]
        );
        assert_eq!(words("from -5 to 3-5, −2"), ["from", "-5", "to", "3-5", "-2"]);
        assert!(words(" … ?! — 👍").is_empty());
    }

    #[test]
    fn scripts_without_spaces_are_taken_in_pairs() {
        assert_eq!(words("数据库"), ["数据", "据库"]);
    }

    #[test]
    fn names_of_things_are_told_from_plain_words() {
        for name in ["8080", "web-1", "/etc/hosts", "parse_line", "OrderTotal", "--dry-run", "db.lan", "API"]
        {
            assert!(is_specific(name), "{name}");
        }
        for plain in ["Hello", "deployment", "well-known", "don't", "end."] {
            assert!(!is_specific(plain), "{plain}");
        }
    }
}
