//! What keeps two texts apart that are nearly equal: a number, a name, a "not", a word and its opposite.
//!
//! Sentence vectors and shared words both score such pairs as almost the same, and a correction would be swallowed by the error it
//! corrects. So likeness only makes a pair a candidate; [`difference`] decides whether it may be merged, and whether the two
//! contradict each other: the same is said of the same thing, with another value.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::similar::{Similarity, jaccard};
use crate::words::{bare, is_capitalised, is_specific, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    Numbers,
    Names,
    Negation,
    Opposites,
}

/// How two texts differ in what must not be merged away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    pub by: Difference,
    /// They speak of the same thing and cannot both be right.
    pub contradicts: bool,
}

/// What is compared of a text, computed once.
#[derive(Clone, Debug)]
pub struct Traits {
    words: Vec<String>,
    set: BTreeSet<String>,
    numbers: BTreeSet<String>,
    /// Names beyond doubt: symbols, paths, capitals within a sentence.
    names: BTreeSet<String>,
    /// Capitals that may only be the start of a sentence.
    heads: BTreeSet<String>,
    negated: bool,
}

impl Traits {
    pub fn of(text: &str) -> Traits {
        let words = words(text);
        let set: BTreeSet<String> = words.iter().cloned().collect();
        let (mut names, mut heads) = (BTreeSet::new(), BTreeSet::new());
        let mut starts = true;
        for piece in text.split_whitespace() {
            let token = bare(piece);
            let lower = token.to_lowercase();
            if token.is_empty() || SMALL.contains(&lower.as_str()) {
                starts &= token.is_empty();
            } else if is_specific(token) && !is_number(&lower) {
                names.insert(lower);
            } else if is_capitalised(token) {
                if starts {
                    heads.insert(lower)
                } else {
                    names.insert(lower)
                };
            }
            starts = piece.ends_with(['.', '!', '?', ':']) || starts && token.is_empty();
        }
        let numbers = words.iter().filter_map(|word| number(word)).collect();
        let negated = words.iter().any(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"));
        Traits { words, set, numbers, names, heads, negated }
    }

    /// The words that carry the statement: without what [`difference`] looks at.
    fn frame(&self) -> BTreeSet<String> {
        let carried = |word: &&String| {
            number(word).is_none()
                && !self.names.contains(*word)
                && !NEGATIONS.contains(&word.as_str())
                && !OPPOSITES.iter().any(|(a, b)| is_of(word, a) || is_of(word, b))
        };
        self.set.iter().filter(carried).cloned().collect()
    }

    pub fn set(&self) -> &BTreeSet<String> {
        &self.set
    }
}

/// How alike the statements are when numbers, names and negations are left out: near 1 for "the port is 8384" and "the
/// port is 8385", which share too few words to be candidates otherwise.
pub fn frame_similarity(a: &Traits, b: &Traits) -> Similarity {
    jaccard(&a.frame(), &b.frame())
}

/// Nothing when the two may be merged.
pub fn difference(a: &Traits, b: &Traits) -> Option<Apart> {
    let apart = |by, contradicts| Some(Apart { by, contradicts });
    if a.negated != b.negated {
        return apart(Difference::Negation, true);
    }
    if opposed(a, b) {
        return apart(Difference::Opposites, true);
    }
    if a.numbers != b.numbers {
        let swapped = !a.numbers.is_subset(&b.numbers) && !b.numbers.is_subset(&a.numbers);
        return apart(Difference::Numbers, swapped && !is_of_subject(a, b, &a.numbers, &b.numbers));
    }
    let (missing_b, missing_a) = (missing(&a.names, b), missing(&b.names, a));
    let heads = (missing(&a.heads, b), missing(&b.heads, a));
    // A capital at the head of a sentence is a name only where the other text has one in its place.
    let heads_swapped = !heads.0.is_empty() && !heads.1.is_empty();
    if heads_swapped {
        return apart(Difference::Names, false);
    }
    if missing_a.is_empty() && missing_b.is_empty() {
        return None;
    }
    let swapped = !missing_a.is_empty() && !missing_b.is_empty();
    apart(Difference::Names, swapped && !is_of_subject(a, b, &missing_b, &missing_a))
}

fn missing(names: &BTreeSet<String>, other: &Traits) -> BTreeSet<String> {
    names.iter().filter(|name| !other.set.contains(*name)).cloned().collect()
}

/// Whether what differs stands before the predicate in both: then they speak of two things, and both may be right.
fn is_of_subject(a: &Traits, b: &Traits, in_a: &BTreeSet<String>, in_b: &BTreeSet<String>) -> bool {
    let before = |traits: &Traits, differing: &BTreeSet<String>| {
        let verb = traits.words.iter().position(|word| PREDICATES.contains(&word.as_str()));
        let at = traits
            .words
            .iter()
            .position(|word| differing.contains(word) && !(in_a.contains(word) && in_b.contains(word)));
        matches!((at, verb), (Some(at), Some(verb)) if at < verb)
    };
    before(a, in_a) && before(b, in_b)
}

fn opposed(a: &Traits, b: &Traits) -> bool {
    let has = |traits: &Traits, stem: &str| traits.words.iter().any(|word| is_of(word, stem));
    let listed = OPPOSITES.iter().any(|(one, other)| {
        let here = (has(a, one), has(a, other));
        let there = (has(b, one), has(b, other));
        matches!((here, there), ((true, false), (false, true)) | ((false, true), (true, false)))
    });
    listed || turned(a, b) || turned(b, a)
}

/// `supported` here and `unsupported` there.
fn turned(a: &Traits, b: &Traits) -> bool {
    const TURNS: [&str; 8] = ["un", "in", "im", "ir", "dis", "non", "non-", "a"];
    a.set.iter().filter(|word| word.len() >= 4 && !b.set.contains(*word)).any(|word| {
        TURNS.iter().any(|turn| {
            let opposite = format!("{turn}{word}");
            b.set.contains(&opposite) && !a.set.contains(&opposite)
        })
    })
}

/// A listed word, or a form of it when the list says so with a star.
fn is_of(word: &str, stem: &str) -> bool {
    match stem.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => word == stem,
    }
}

fn is_number(word: &str) -> bool {
    word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
}

/// A number as it is compared. Words for small numbers count too.
fn number(word: &str) -> Option<String> {
    if word.chars().any(|c| c.is_ascii_digit()) {
        return Some(word.to_owned());
    }
    let spelled = SPELLED.iter().position(|forms| forms.contains(&word))?;
    Some(spelled.to_string())
}

/// English, German, French, Spanish; "one" and its like are articles as often as numbers, and stay out.
const SPELLED: [&[&str]; 13] = [
    &["zero", "null", "zéro", "cero"],
    &[],
    &["two", "zwei", "deux", "dos"],
    &["three", "drei", "trois", "tres"],
    &["four", "vier", "quatre", "cuatro"],
    &["five", "fünf", "cinq", "cinco"],
    &["six", "sechs", "seis"],
    &["seven", "sieben", "sept", "siete"],
    &["eight", "acht", "huit", "ocho"],
    &["nine", "neun", "neuf", "nueve"],
    &["ten", "zehn", "dix", "diez"],
    &["eleven", "elf", "onze", "once"],
    &["twelve", "zwölf", "douze", "doce"],
];

const NEGATIONS: [&str; 34] = [
    "no", "not", "never", "none", "nothing", "nobody", "without", "cannot", "neither", "nor", "nicht",
    "kein", "keine", "keinen", "keiner", "keinem", "nie", "niemals", "ohne", "pas", "jamais", "aucun",
    "aucune", "sans", "nunca", "ningún", "ninguna", "sin", "non", "mai", "senza", "não", "niet", "geen",
];

/// A star stands for any ending.
const OPPOSITES: [(&str, &str); 46] = [
    ("enabl*", "disabl*"),
    ("allow*", "den*"),
    ("allow*", "forbid*"),
    ("permit*", "forbid*"),
    ("on", "off"),
    ("true", "false"),
    ("yes", "no"),
    ("always", "never"),
    ("before", "after"),
    ("up", "down"),
    ("open*", "close*"),
    ("start*", "stop*"),
    ("accept*", "reject*"),
    ("include*", "exclude*"),
    ("required", "optional"),
    ("mandatory", "optional"),
    ("public*", "private*"),
    ("more", "less"),
    ("above", "below"),
    ("maximum", "minimum"),
    ("max", "min"),
    ("increas*", "decreas*"),
    ("add*", "remov*"),
    ("success*", "fail*"),
    ("pass*", "fail*"),
    ("inbound", "outbound"),
    ("incoming", "outgoing"),
    ("first", "last"),
    ("left", "right"),
    ("upper", "lower"),
    ("faster", "slower"),
    ("larger", "smaller"),
    ("higher", "lower"),
    ("safe", "dangerous"),
    ("local*", "remote*"),
    ("manual*", "automatic*"),
    ("primary", "secondary"),
    ("likes", "dislikes"),
    ("lock*", "unlock*"),
    ("aktiv*", "deaktiv*"),
    ("erlaub*", "verb*"),
    ("immer", "nie"),
    ("activ*", "désactiv*"),
    ("toujours", "jamais"),
    ("siempre", "nunca"),
    ("activad*", "desactivad*"),
];

/// Words after which the value stands.
const PREDICATES: [&str; 60] = [
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "uses",
    "use",
    "runs",
    "run",
    "listens",
    "lives",
    "prefers",
    "prefer",
    "wants",
    "needs",
    "requires",
    "must",
    "should",
    "can",
    "will",
    "keeps",
    "stores",
    "stays",
    "likes",
    "costs",
    "takes",
    "belongs",
    "reads",
    "owns",
    "maintains",
    "depends",
    "expires",
    "starts",
    "does",
    "ist",
    "sind",
    "hat",
    "läuft",
    "nutzt",
    "verwendet",
    "bevorzugt",
    "braucht",
    "liegt",
    "steht",
    "est",
    "sont",
    "utilise",
    "préfère",
    "doit",
    "es",
    "son",
    "usa",
    "tiene",
    "prefiere",
    "está",
    "è",
    "é",
    "heeft",
    "gebruikt",
];

/// Capitals of these at the start of a sentence name nothing.
const SMALL: [&str; 52] = [
    "the", "a", "an", "we", "i", "it", "this", "that", "these", "those", "in", "on", "at", "for", "with",
    "to", "of", "and", "or", "if", "when", "after", "before", "always", "never", "do", "don't", "use", "no",
    "not", "all", "every", "each", "der", "die", "das", "ein", "eine", "wir", "wenn", "le", "la", "les",
    "un", "une", "el", "los", "las", "una", "my", "our", "your",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn between(a: &str, b: &str) -> Option<Apart> {
        difference(&Traits::of(a), &Traits::of(b))
    }

    // shows: MEM-076, MEM-F36
    #[test]
    fn near_equal_texts_that_say_something_else_stay_apart() {
        use Difference::{Names, Negation, Numbers, Opposites};
        for (a, b, by, contradicts) in [
            ("Root login is enabled.", "Root login is disabled.", Opposites, true),
            ("The sidecar listens on port 8384.", "The sidecar listens on port 8385.", Numbers, true),
            ("no root login", "root login", Negation, true),
            ("The portal accepts XML.", "The portal doesn't accept XML.", Negation, true),
            ("Uploads are allowed.", "Uploads are denied.", Opposites, true),
            ("The light is on", "The light is off", Opposites, true),
            ("IPv6 is supported here", "IPv6 is unsupported here", Opposites, true),
            ("Billing uses PostgreSQL.", "Billing uses MongoDB.", Names, true),
            ("Alice prefers tabs.", "Bob prefers tabs.", Names, false),
            ("web-1 has 4 cores", "web-2 has 4 cores", Numbers, false),
            ("Backups run nightly.", "Backups run nightly in Helsinki.", Names, false),
            ("Keep two copies.", "Keep three copies.", Numbers, true),
            ("Der Zugriff ist erlaubt", "Der Zugriff ist nicht erlaubt", Negation, true),
            ("The limit is -5 degrees", "The limit is 5 degrees", Numbers, true),
            ("It takes 5 ms, at most 9.", "It takes 5 ms.", Numbers, false),
        ] {
            assert_eq!(between(a, b), Some(Apart { by, contradicts }), "{a} / {b}");
        }
    }

    #[test]
    fn rewordings_may_be_merged() {
        for (a, b) in [
            ("The user prefers dark mode.", "User prefers the dark mode"),
            ("Backups of web-1 run nightly.", "Nightly backups run for web-1"),
            ("The gateway listens on port 9096", "the gateway is listening on 9096, port"),
        ] {
            assert_eq!(between(a, b), None, "{a} / {b}");
        }
    }

    #[test]
    fn a_changed_value_leaves_the_frame_alike() {
        let (a, b) = (Traits::of("The port is 8384."), Traits::of("The port is 8385."));
        assert!(jaccard(a.set(), b.set()).get() < 0.8);
        assert_eq!(frame_similarity(&a, &b).get(), 1.0);
    }

    proptest! {
        #[test]
        fn a_difference_has_no_direction(a in "[a-zA-Z0-9 .!-]{0,60}", b in "[a-zA-Z0-9 .!-]{0,60}") {
            prop_assert_eq!(between(&a, &b), between(&b, &a));
            prop_assert_eq!(between(&a, &a), None);
        }
    }
}
