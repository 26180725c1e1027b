//! How text is cut into words here. Coarser than the lexical index's analysis on purpose: identifiers stay whole, and the index
//! takes them apart by its own rules when it is asked about one.

/// Longer runs are blobs and not words; nobody asks for them by name.
const WORD_BYTES_MAX: usize = 64;

/// A word as written, without the punctuation around it and without a possessive ending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) written: &'a str,
}

impl Word<'_> {
    pub(crate) fn lower(self) -> String {
        self.written.replace('’', "'").to_lowercase()
    }

    pub(crate) fn is_capitalised(self) -> bool {
        self.written.chars().next().is_some_and(char::is_uppercase)
    }
}

/// The words of a text in their order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '/' | ',' | ';' | '(' | ')' | '"' | '…' | '—'))
        .map(|run| without_possessive(run.trim_matches(|c: char| !c.is_alphanumeric())))
        .filter(|word| !word.is_empty() && word.len() <= WORD_BYTES_MAX)
        .map(|written| Word { written })
}

fn without_possessive(word: &str) -> &str {
    ["'s", "’s", "'S", "’S"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)
}

/// Words that carry the grammar of a question and not its subject. In notes and speech such words as "did" and "which" are rare
/// enough that an index takes them for telling; leaving them out was worth five points of recall at 10.
const ROTE: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "hers", "him", "his", "how", "i",
    "if", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "she", "should", "so",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "would",
    "you", "your",
];

pub(crate) fn is_rote(lower: &str) -> bool {
    ROTE.binary_search(&lower).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        words(text).map(Word::lower).collect()
    }

    #[test]
    fn identifiers_stay_whole_and_possessives_go() {
        assert_eq!(cut("Why is db-3's port 5433/tcp?"), ["why", "is", "db-3", "port", "5433", "tcp"]);
        assert_eq!(cut("Caroline’s \"LGBTQ+\" group…"), ["caroline", "lgbtq", "group"]);
    }

    #[test]
    fn nothing_and_blobs_give_no_words() {
        assert!(cut("").is_empty());
        assert!(cut(" ?! -- … ").is_empty());
        assert!(cut(&"x".repeat(65)).is_empty());
    }

    #[test]
    fn every_rote_word_is_found_in_the_list() {
        assert!(ROTE.is_sorted() && ROTE.iter().all(|word| is_rote(word)));
        assert!(!is_rote("backup"));
    }
}
