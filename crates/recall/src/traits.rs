//! What is noted of an entry once, when it is captured, so that ranking never reads its text: a few bytes.

use crate::facts::Marks;
use crate::word::{Word, words};

/// What the ranking needs to know of a text. Fixed size; the speaker's name is kept as a mark that can be compared, not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Who speaks, when the text begins with a label such as `Caroline:`.
    pub speaker: Marks,
    /// Words of the text, the label not counted; held at 65,535.
    pub words: u16,
    /// There is a question in it.
    pub asks: bool,
    /// Somebody speaks to somebody: first or second person, a greeting, a question.
    pub speech: bool,
    /// It says when: a day, a month, a season, "ago", "last week".
    pub tells_time: bool,
}

impl Traits {
    pub fn of(content: &str) -> Traits {
        let (label, body) = split_label(content);
        let mut traits = Traits {
            speaker: label.map(Marks::of).unwrap_or_default(),
            asks: body.contains(['?', '？']),
            ..Traits::default()
        };
        traits.speech = traits.asks;
        for word in words(body).map(Word::lower) {
            traits.words = traits.words.saturating_add(1);
            traits.speech |= is_speech(&word);
            traits.tells_time |= is_time(&word);
        }
        traits
    }
}

/// The text without its speaker's label: what is worth embedding, since a name in front pulls all of a speaker's vectors together.
pub fn spoken_part(content: &str) -> &str {
    split_label(content).1
}

/// A label is one to three capitalised words before a colon and a space, at the very beginning.
fn split_label(content: &str) -> (Option<&str>, &str) {
    const LABEL_BYTES_MAX: usize = 64;
    let text = content.trim_start();
    let Some((label, rest)) = text.split_once(':') else { return (None, content) };
    let body = rest.trim_start();
    let named = label.len() <= LABEL_BYTES_MAX
        && (1..=3).contains(&label.split_whitespace().count())
        && label.split_whitespace().all(|w| w.starts_with(char::is_uppercase));
    if named && rest.len() > body.len() && !body.is_empty() { (Some(label), body) } else { (None, content) }
}

const SPEECH: &[&str] = &[
    "hello", "hey", "hi", "i", "i'd", "i'll", "i'm", "i've", "me", "my", "thank", "thanks", "we", "we're",
    "we've", "wow", "yeah", "you", "you're", "you've", "your",
];

fn is_speech(lower: &str) -> bool {
    SPEECH.binary_search(&lower).is_ok()
}

const TIME: &[&str] = &[
    "ago",
    "april",
    "august",
    "autumn",
    "day",
    "days",
    "december",
    "evening",
    "fall",
    "february",
    "fri",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "may",
    "mon",
    "monday",
    "month",
    "months",
    "morning",
    "next",
    "night",
    "november",
    "october",
    "recently",
    "sat",
    "saturday",
    "september",
    "since",
    "soon",
    "spring",
    "summer",
    "sun",
    "sunday",
    "thu",
    "thur",
    "thurs",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tue",
    "tues",
    "tuesday",
    "wed",
    "wednesday",
    "week",
    "weekend",
    "weeks",
    "winter",
    "year",
    "years",
    "yesterday",
];

fn is_time(lower: &str) -> bool {
    TIME.binary_search(&lower).is_ok() || is_year(lower)
}

/// 1900 to 2199, the years people write about.
pub(crate) fn is_year(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()) && matches!(&word[..2], "19" | "20" | "21")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_the_speaker_and_is_not_part_of_what_is_said() {
        let traits = Traits::of("Mary Ann: I ran a race yesterday.");
        assert_eq!(traits.speaker, Marks::of("mary ann"));
        assert_eq!((traits.words, traits.asks, traits.speech, traits.tells_time), (5, false, true, true));
        assert_eq!(spoken_part("Mary Ann: I ran a race yesterday."), "I ran a race yesterday.");
    }

    #[test]
    fn what_only_looks_like_a_label_stays_text() {
        for text in [
            "see http://host/x",
            "note: lower case",
            "Four Words Are Many: no",
            "12:30 was late",
            "Name:",
            ":",
            "",
        ] {
            assert_eq!(Traits::of(text).speaker, Marks::default(), "{text}");
            assert_eq!(spoken_part(text), text);
        }
    }

    #[test]
    fn a_note_of_fact_is_not_speech() {
        assert!(!Traits::of("The backup of db-3 keeps 14 copies.").speech);
        assert!(Traits::of("Is the backup of db-3 done?").speech);
    }

    #[test]
    fn a_huge_text_is_counted_without_overflow() {
        assert_eq!(Traits::of(&"word ".repeat(70_000)).words, u16::MAX);
    }

    #[test]
    fn years_count_as_time_and_port_numbers_do_not() {
        assert!(Traits::of("moved in 2022").tells_time);
        assert!(!Traits::of("listens on 5433").tells_time);
    }

    #[test]
    fn the_lists_of_words_are_in_the_order_they_are_searched_in() {
        assert!(SPEECH.is_sorted() && TIME.is_sorted());
    }
}
