//! What a question asks for: the words that bear on it, the names in it, whether it asks for a time, the time it speaks of.

use holdfast_types::Timestamp;

use crate::facts::mark;
use crate::period::{Period, Token, period};
use crate::word::{is_rote, words};

/// Longer questions are cut: each word costs a look at the index. People's have 5 to 15.
const TERMS_MAX: usize = 24;

/// How much of a pasted text is read as a question at all.
const TOKENS_MAX: usize = 256;

/// A question, analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    terms: Vec<Term>,
    pub(crate) asks_when: bool,
    pub(crate) period: Option<Period>,
    pub(crate) now: Option<Timestamp>,
}

/// A word that bears on the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Lower case, identifiers whole; the lexical index analyses it by its own rules.
    pub word: String,
    /// Written large within the sentence: somebody's or something's name.
    pub(crate) is_name: bool,
    pub(crate) mark: u64,
}

impl Query {
    /// `now` gives "yesterday" and "last month" their meaning and lets newer entries win among equals; without it they are ordinary
    /// words and age does not count.
    pub fn of(text: &str, now: Option<Timestamp>) -> Query {
        let tokens: Vec<Token> = words(text)
            .take(TOKENS_MAX)
            .map(|w| Token { lower: w.lower(), capitalised: w.is_capitalised() })
            .collect();
        Query { terms: terms(&tokens), asks_when: asks_when(&tokens), period: period(&tokens, now), now }
    }

    /// The words to look for, each once, in the order of the question.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
}

/// Without its rote words; a question of nothing else ("who am I?") keeps them all.
fn terms(tokens: &[Token]) -> Vec<Term> {
    let bearing = distinct(tokens, |token| !is_rote(&token.lower));
    if bearing.is_empty() { distinct(tokens, |_| true) } else { bearing }
}

fn distinct(tokens: &[Token], wanted: impl Fn(&Token) -> bool) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for (place, token) in tokens.iter().enumerate().filter(|(_, token)| wanted(token)) {
        let is_name = token.capitalised && place > 0;
        match terms.iter().position(|term| term.word == token.lower) {
            Some(known) => terms[known].is_name |= is_name,
            None if terms.len() < TERMS_MAX => {
                terms.push(Term { mark: mark(&token.lower), word: token.lower.clone(), is_name });
            }
            None => break,
        }
    }
    terms
}

fn asks_when(tokens: &[Token]) -> bool {
    let word = |i: usize| tokens.get(i).map_or("", |t: &Token| t.lower.as_str());
    match (word(0), word(1)) {
        ("when", _) | (_, "when") => true,
        ("how", "long" | "recently") => true,
        ("what" | "which", "day" | "date" | "week" | "month" | "year" | "time") => true,
        ("in" | "on", "what" | "which") => matches!(word(2), "day" | "date" | "week" | "month" | "year"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearing(text: &str) -> Vec<String> {
        Query::of(text, None).terms.into_iter().map(|t| t.word).collect()
    }

    #[test]
    fn what_bears_on_a_question_are_its_words_without_the_grammar() {
        assert_eq!(
            bearing("When did Caroline go to the support group?"),
            ["caroline", "go", "support", "group"]
        );
        assert_eq!(bearing("who am I?"), ["who", "am", "i"]);
        assert!(bearing("?!").is_empty());
    }

    #[test]
    fn a_word_counts_once_and_a_name_is_one_wherever_it_is_written_large() {
        let query = Query::of("melanie and the dog of Melanie", None);
        let names: Vec<_> = query.terms().iter().map(|t| (t.word.as_str(), t.is_name)).collect();
        assert_eq!(names, [("melanie", true), ("dog", false)]);
    }

    #[test]
    fn questions_for_a_time_are_known() {
        for text in [
            "When did it fail?",
            "Since when is it up?",
            "How long did it take?",
            "In which month was it?",
            "What year?",
        ] {
            assert!(Query::of(text, None).asks_when, "{text}");
        }
        for text in ["What failed?", "How many?", "Which host?", "", "What did he do when it failed?"] {
            assert!(!Query::of(text, None).asks_when, "{text}");
        }
    }

    #[test]
    fn a_pasted_book_is_a_bounded_question() {
        let book: String = (0..100_000).map(|n| format!("word{n} ")).collect();
        assert_eq!(Query::of(&book, None).terms().len(), TERMS_MAX);
    }
}
