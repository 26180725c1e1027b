//! English words brought to their stem, by the rules of Martin Porter's second stemmer ("Porter2", the Snowball project's *english*).
//!
//! The word is ASCII letters in lower case without apostrophes: what is possessive was taken off before. A `y` that sounds as a consonant is
//! written `Y` while the rules run, as in the published description.
//!
//! Two regions matter: R1 begins after the first consonant that follows a vowel, R2 is R1 of R1. A rule takes an ending off only where it lies
//! in its region, so that short words keep what makes them a word.

/// Longer letters in a row are no English word, and the rules would only gnaw at their end.
const WORD_LEN_MAX: usize = 40;

/// Replaces the word by its stem. Words of one or two letters, and what is not made of `a..=z`, stay as they are.
pub(crate) fn stem(word: &mut String) {
    if word.len() <= 2 || word.len() > WORD_LEN_MAX || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return;
    }
    if let Some(known) = irregular(word) {
        known.clone_into(word);
        return;
    }
    let mut stemmed = Word::of(word);
    stemmed.steps();
    word.clear();
    word.extend(stemmed.letters.iter().map(|b| char::from(b.to_ascii_lowercase())));
}

/// Words the rules would get wrong, before any of them.
fn irregular(word: &str) -> Option<&'static str> {
    Some(match word {
        "skis" => "ski",
        "skies" => "sky",
        "dying" => "die",
        "lying" => "lie",
        "tying" => "tie",
        "idly" => "idl",
        "gently" => "gentl",
        "ugly" => "ugli",
        "early" => "earli",
        "only" => "onli",
        "singly" => "singl",
        "sky" => "sky",
        "news" => "news",
        "howe" => "howe",
        "atlas" => "atlas",
        "cosmos" => "cosmos",
        "bias" => "bias",
        "andes" => "andes",
        _ => return None,
    })
}

/// Words that are left alone once a plural `s` is off.
const SETTLED: [&[u8]; 8] =
    [b"inning", b"outing", b"canning", b"herring", b"earring", b"proceed", b"exceed", b"succeed"];

/// Beginnings after which R1 starts, wherever the vowels are.
const PREFIXES: [&[u8]; 3] = [b"gener", b"commun", b"arsen"];

const DOUBLES: [&[u8]; 9] = [b"bb", b"dd", b"ff", b"gg", b"mm", b"nn", b"pp", b"rr", b"tt"];

/// What an ending becomes, and what else has to hold for it.
type Rule = (&'static [u8], &'static [u8], Condition);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Always,
    AfterL,
    /// After one of the letters that may stand before `li`.
    AfterLiEnding,
    AfterSOrT,
    InR2,
}

use Condition::{AfterL, AfterLiEnding, AfterSOrT, Always, InR2};

// Of the endings that fit the longest counts, so each table has the longer of two that share an end first.
const STEP_2: [Rule; 24] = [
    (b"ational", b"ate", Always),
    (b"ization", b"ize", Always),
    (b"fulness", b"ful", Always),
    (b"ousness", b"ous", Always),
    (b"iveness", b"ive", Always),
    (b"tional", b"tion", Always),
    (b"biliti", b"ble", Always),
    (b"lessli", b"less", Always),
    (b"ation", b"ate", Always),
    (b"alism", b"al", Always),
    (b"aliti", b"al", Always),
    (b"ousli", b"ous", Always),
    (b"iviti", b"ive", Always),
    (b"fulli", b"ful", Always),
    (b"entli", b"ent", Always),
    (b"enci", b"ence", Always),
    (b"anci", b"ance", Always),
    (b"abli", b"able", Always),
    (b"izer", b"ize", Always),
    (b"ator", b"ate", Always),
    (b"alli", b"al", Always),
    (b"bli", b"ble", Always),
    (b"ogi", b"og", AfterL),
    (b"li", b"", AfterLiEnding),
];

const STEP_3: [Rule; 9] = [
    (b"ational", b"ate", Always),
    (b"tional", b"tion", Always),
    (b"alize", b"al", Always),
    (b"icate", b"ic", Always),
    (b"iciti", b"ic", Always),
    (b"ative", b"", InR2),
    (b"ical", b"ic", Always),
    (b"ness", b"", Always),
    (b"ful", b"", Always),
];

const STEP_4: [Rule; 18] = [
    (b"ement", b"", Always),
    (b"ance", b"", Always),
    (b"ence", b"", Always),
    (b"able", b"", Always),
    (b"ible", b"", Always),
    (b"ment", b"", Always),
    (b"ant", b"", Always),
    (b"ent", b"", Always),
    (b"ism", b"", Always),
    (b"ate", b"", Always),
    (b"iti", b"", Always),
    (b"ous", b"", Always),
    (b"ive", b"", Always),
    (b"ize", b"", Always),
    (b"ion", b"", AfterSOrT),
    (b"al", b"", Always),
    (b"er", b"", Always),
    (b"ic", b"", Always),
];

#[derive(Clone, Copy)]
enum Region {
    R1,
    R2,
}

struct Word {
    letters: Vec<u8>,
    /// Where R1 and R2 begin; they do not move while endings are taken off.
    r1: usize,
    r2: usize,
}

impl Word {
    fn of(word: &str) -> Word {
        let letters = with_marked_y(word.as_bytes());
        let r1 = PREFIXES
            .iter()
            .find(|prefix| letters.starts_with(prefix))
            .map_or_else(|| after_vowel_and_consonant(&letters, 0), |prefix| prefix.len());
        let r2 = after_vowel_and_consonant(&letters, r1);
        Word { letters, r1, r2 }
    }

    fn steps(&mut self) {
        self.plural();
        if SETTLED.contains(&self.letters.as_slice()) {
            return;
        }
        self.past_and_gerund();
        self.final_y();
        self.apply(&STEP_2, Region::R1);
        self.apply(&STEP_3, Region::R1);
        self.apply(&STEP_4, Region::R2);
        self.final_e_or_l();
    }

    /// Step 1a.
    fn plural(&mut self) {
        let len = self.letters.len();
        if self.ends_with(b"sses") {
            self.letters.truncate(len - 2);
        } else if self.ends_with(b"ied") || self.ends_with(b"ies") {
            self.letters.truncate(if len > 4 { len - 2 } else { len - 1 });
        } else if self.ends_with(b"us") || self.ends_with(b"ss") {
        } else if self.ends_with(b"s") && self.letters[..len - 2].iter().any(|b| is_vowel(*b)) {
            self.letters.truncate(len - 1);
        }
    }

    /// Step 1b.
    fn past_and_gerund(&mut self) {
        if let Some(ending) = self.longest(&[b"eedly", b"eed"]) {
            if self.in_region(ending, Region::R1) {
                self.put(ending, b"ee");
            }
            return;
        }
        let Some(ending) = self.longest(&[b"ingly", b"edly", b"ing", b"ed"]) else { return };
        if !self.letters[..self.letters.len() - ending].iter().any(|b| is_vowel(*b)) {
            return;
        }
        self.put(ending, b"");
        if self.longest(&[b"at", b"bl", b"iz"]).is_some() {
            self.letters.push(b'e');
        } else if DOUBLES.iter().any(|double| self.ends_with(double)) {
            self.letters.pop();
        } else if self.is_short() {
            self.letters.push(b'e');
        }
    }

    /// Step 1c.
    fn final_y(&mut self) {
        let len = self.letters.len();
        if len > 2 && matches!(self.letters[len - 1], b'y' | b'Y') && !is_vowel(self.letters[len - 2]) {
            self.letters[len - 1] = b'i';
        }
    }

    /// Steps 2, 3 and 4: the longest ending that fits decides, also when its region or condition then forbids it.
    fn apply(&mut self, rules: &[Rule], region: Region) {
        let Some((ending, becomes, condition)) = rules.iter().find(|(ending, ..)| self.ends_with(ending))
        else {
            return;
        };
        if self.in_region(ending.len(), region) && self.holds(*condition, ending.len()) {
            self.put(ending.len(), becomes);
        }
    }

    fn holds(&self, condition: Condition, ending: usize) -> bool {
        let before = self.letters.len().checked_sub(ending + 1).map(|at| self.letters[at]);
        match condition {
            Always => true,
            AfterL => before == Some(b'l'),
            AfterLiEnding => before.is_some_and(|b| b"cdeghkmnrt".contains(&b)),
            AfterSOrT => matches!(before, Some(b's' | b't')),
            InR2 => self.in_region(ending, Region::R2),
        }
    }

    /// Step 5.
    fn final_e_or_l(&mut self) {
        let len = self.letters.len();
        let goes = match self.letters.last() {
            Some(b'e') => {
                self.in_region(1, Region::R2)
                    || self.in_region(1, Region::R1) && !ends_in_short_syllable(&self.letters[..len - 1])
            }
            Some(b'l') => self.in_region(1, Region::R2) && len >= 2 && self.letters[len - 2] == b'l',
            _ => false,
        };
        if goes {
            self.letters.pop();
        }
    }

    fn is_short(&self) -> bool {
        self.r1 >= self.letters.len() && ends_in_short_syllable(&self.letters)
    }

    fn ends_with(&self, ending: &[u8]) -> bool {
        self.letters.ends_with(ending)
    }

    /// The length of the first of these that the word ends with.
    fn longest(&self, endings: &[&[u8]]) -> Option<usize> {
        endings.iter().find(|ending| self.ends_with(ending)).map(|ending| ending.len())
    }

    fn in_region(&self, ending: usize, region: Region) -> bool {
        let begins = match region {
            Region::R1 => self.r1,
            Region::R2 => self.r2,
        };
        self.letters.len() >= begins + ending
    }

    fn put(&mut self, ending: usize, becomes: &[u8]) {
        self.letters.truncate(self.letters.len() - ending);
        self.letters.extend_from_slice(becomes);
    }
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

fn with_marked_y(word: &[u8]) -> Vec<u8> {
    let mut letters = word.to_vec();
    for at in 0..letters.len() {
        if letters[at] == b'y' && (at == 0 || is_vowel(letters[at - 1])) {
            letters[at] = b'Y';
        }
    }
    letters
}

/// Where the region after the first consonant that follows a vowel begins; the word's end when there is none.
fn after_vowel_and_consonant(letters: &[u8], from: usize) -> usize {
    letters[from..]
        .windows(2)
        .position(|pair| is_vowel(pair[0]) && !is_vowel(pair[1]))
        .map_or(letters.len(), |at| from + at + 2)
}

/// A vowel between two consonants, of which the second is not `w`, `x` or `Y`; or a vowel and a consonant that are the whole.
fn ends_in_short_syllable(letters: &[u8]) -> bool {
    match letters {
        [vowel, end] => is_vowel(*vowel) && !is_vowel(*end),
        [.., before, vowel, end] => {
            !is_vowel(*before) && is_vowel(*vowel) && !is_vowel(*end) && !matches!(end, b'w' | b'x' | b'Y')
        }
        _ => false,
    }
}
