//! The commonest words of English. They are indexed like all others, so that "no root" can be told from "root"; in a question they
//! weigh little, also in a small collection where by chance few entries have them.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::stem::stem;

/// Articles, pronouns, auxiliaries, prepositions, conjunctions and what a question begins with. Words that carry the sense of a short note
/// are not among them: on, off, up, down, before, after, over, under, all, any, more, only, same.
const WORDS: &str = "a about am an and are as at be because been being both but by can could did do does doing each for from had \
    has have having he her here hers him his how i if in into is it its itself just let me might must my myself of or our ours shall \
    she should so some such than that the their theirs them then there these they this those through to too us very was we were what \
    when where which while who whom whose why will with would you your yours yes also any ever get got go goes went tell said say says \
    like one ones thing things";

/// Negations belong to no list of words that matter little.
static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    WORDS
        .split_ascii_whitespace()
        .map(|word| {
            let mut word = word.to_owned();
            stem(&mut word);
            word
        })
        .collect()
});

/// Whether the term is the stem of one of them.
pub(crate) fn is_common(term: &str) -> bool {
    STEMS.contains(term)
}
