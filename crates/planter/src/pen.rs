//! Writes templates out: sections in their order, slots filled, secrets and decoys marked.
//!
//! A slot stands between `«` and `»` and may hold slots itself:
//! - `«word»`, `«word:argument»`: something drawn; `«word#a»` is drawn once a file and the same wherever `#a` stands.
//! - `«one|two|three»`: one of these.
//! - `«!kind=word»`, `«!kind:text»`: a secret of that kind.
//! - `«?kind=word»`, `«?kind:text»`: a decoy of that kind.
//! - `«~=word»`, `«~:text»`: on this line nobody is counted.
//! - `«token.ENV»` and its like draw a token and give the name it goes by; `«!token»` is that token,
//!   and `«token»` its text alone, for a secret of another kind.
//!
//! A slot of several lines that stands alone behind spaces is indented as its first line is.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::ink::{Ink, Mark, Spot};
use crate::kinds;
use crate::rng::Rng;
use crate::template::{Section, Template};
use crate::tokens::{Deck, Token};
use crate::{hashes, keys, passwords, shapes, words};

/// Sections that say `any` are written this often, in percent.
const ANY_PERCENT: usize = 60;

#[derive(Debug)]
pub(crate) struct Pen<'a> {
    rng: Rng,
    ink: Ink,
    deck: &'a mut Deck,
    token: Option<Token>,
    remembered: BTreeMap<String, String>,
    any_percent: usize,
}

impl<'a> Pen<'a> {
    pub(crate) fn new(rng: Rng, deck: &'a mut Deck) -> Pen<'a> {
        Pen {
            rng,
            ink: Ink::default(),
            deck,
            token: None,
            remembered: BTreeMap::new(),
            any_percent: ANY_PERCENT,
        }
    }

    /// Leaves no section out: so the first file of a template shows all it has.
    #[must_use]
    pub(crate) fn in_full(self) -> Pen<'a> {
        Pen { any_percent: 100, ..self }
    }

    /// The text, with what is marked in it. Takes the pen: its marks belong to this one text.
    pub(crate) fn write(mut self, template: &Template<'_>) -> (String, Vec<Spot>) {
        let mut text = String::new();
        for section in self.order(&template.sections) {
            if section.any && !self.rng.percent(self.any_percent) {
                continue;
            }
            for _ in 0..self.rng.within(section.times.clone()) {
                text.push_str(&self.fill(section.text));
            }
        }
        self.ink.dry(&text)
    }

    /// Fills a text that holds neither secrets nor decoys, such as a path.
    pub(crate) fn plain(&mut self, text: &str) -> String {
        self.fill(text)
    }

    /// Neighbours that may change places do.
    fn order<'t>(&mut self, sections: &'t [Section<'t>]) -> Vec<&'t Section<'t>> {
        let mut order: Vec<&Section<'_>> = sections.iter().collect();
        for run in order.chunk_by_mut(|a, b| a.mix && b.mix) {
            self.rng.shuffle(run);
        }
        order
    }

    fn fill(&mut self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, slot, after)) = next_slot(rest) {
            out.push_str(before);
            let filled = self.slot(slot);
            push_indented(&mut out, &filled);
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn slot(&mut self, slot: &str) -> String {
        let (first, rest) = slot.split_at(slot.chars().next().map_or(0, char::len_utf8));
        match first {
            "!" if rest == "token" => self.plant_token(),
            "!" => {
                let (kind, value) = self.marked(rest);
                self.ink.mark(Mark::Secret(kinds::secret(kind)), &value)
            }
            "?" => {
                let (kind, value) = self.marked(rest);
                self.ink.mark(Mark::Decoy(kinds::decoy(kind)), &value)
            }
            "~" => {
                let (_, value) = self.marked(rest);
                self.ink.mark(Mark::Aside, &value)
            }
            _ => self.choice_or_word(slot),
        }
    }

    /// `kind=word` or `kind:text`.
    fn marked<'t>(&mut self, slot: &'t str) -> (&'t str, String) {
        let at = slot.find([':', '=']).unwrap_or_else(|| panic!("«{slot}» says not what to write"));
        let (kind, rest) = (&slot[..at], &slot[at + 1..]);
        let value = if slot[at..].starts_with(':') { self.fill(rest) } else { self.choice_or_word(rest) };
        (kind, value)
    }

    fn choice_or_word(&mut self, slot: &str) -> String {
        let choices = split_outside(slot, '|');
        if choices.len() > 1 {
            let choice = choices[self.rng.below(choices.len())];
            return self.fill(choice);
        }
        match slot.rsplit_once('#').filter(|(_, tag)| tag.len() == 1) {
            Some((word, _)) => self.remember(slot, word),
            None => self.word(slot),
        }
    }

    fn remember(&mut self, slot: &str, word: &str) -> String {
        if let Some(known) = self.remembered.get(slot) {
            return known.clone();
        }
        let value = self.word(word);
        self.remembered.insert(slot.to_owned(), value.clone());
        value
    }

    fn word(&mut self, slot: &str) -> String {
        let (word, argument) = match slot.split_once(':') {
            Some((word, argument)) => (word, self.fill(argument)),
            None => (slot, String::new()),
        };
        if let Some(case) = word.strip_prefix("token.") {
            return self.name_token(case);
        }
        if word == "token" {
            return self.borrow_token();
        }
        encoded(word, &argument)
            .or_else(|| self.like(word, &argument))
            .or_else(|| shapes::draw(&mut self.rng, word, &argument))
            .or_else(|| passwords::draw(&mut self.rng, word))
            .or_else(|| keys::draw(&mut self.rng, word))
            .or_else(|| hashes::draw(&mut self.rng, word))
            .or_else(|| words::draw(&mut self.rng, word, &argument))
            .unwrap_or_else(|| panic!("nobody knows how to write «{slot}»"))
    }

    /// A token of one named kind, whatever the deck has on top.
    fn like(&mut self, word: &str, kind: &str) -> Option<String> {
        (word == "like").then(|| {
            let token = Token::of(kind).unwrap_or_else(|| panic!("there is no token {kind:?}"));
            self.fill(token.shape)
        })
    }

    fn name_token(&mut self, case: &str) -> String {
        let token = self.deck.deal(&mut self.rng);
        let name = *self.rng.pick(token.names);
        self.token = Some(token);
        words::in_case(name, case).unwrap_or_else(|| panic!("no name is written {case:?}"))
    }

    fn plant_token(&mut self) -> String {
        let token = self.take_token();
        let value = self.fill(token.shape);
        self.ink.mark(Mark::Secret(token.kind), &value)
    }

    /// The text of a token, for a secret that goes by another kind. Its own kind still has its turn to come.
    fn borrow_token(&mut self) -> String {
        let token = self.take_token();
        self.deck.put_back(token);
        self.fill(token.shape)
    }

    /// The token named last, or another one.
    fn take_token(&mut self) -> Token {
        match self.token.take() {
            Some(token) => token,
            None => self.deck.deal(&mut self.rng),
        }
    }
}

/// Ways to write one text as another.
fn encoded(word: &str, text: &str) -> Option<String> {
    Some(match word {
        "base64" => BASE64_STANDARD.encode(text),
        "escaped" => text.trim_end().replace('\n', "\\n"),
        "upper" => text.to_uppercase(),
        _ => return None,
    })
}

/// The text before the next slot, the slot, and the text behind it.
fn next_slot(text: &str) -> Option<(&str, &str, &str)> {
    let begin = text.find('«')?;
    let mut depth = 0_usize;
    for (at, c) in text[begin..].char_indices() {
        match c {
            '«' => depth += 1,
            '»' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let inside = &text[begin + '«'.len_utf8()..begin + at];
            return Some((&text[..begin], inside, &text[begin + at + c.len_utf8()..]));
        }
    }
    panic!("a slot is never closed: {text:?}")
}

/// Splits where `mark` stands outside of any slot.
fn split_outside(text: &str, mark: char) -> Vec<&str> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '«' => depth += 1,
            '»' => depth = depth.saturating_sub(1),
            c if c == mark && depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

fn push_indented(out: &mut String, value: &str) {
    let line = out.rsplit('\n').next().unwrap_or("");
    if value.contains('\n') && !line.is_empty() && line.chars().all(|c| c == ' ' || c == '\t') {
        let indented = value.replace('\n', &format!("\n{line}"));
        out.push_str(&indented);
    } else {
        out.push_str(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::templates;

    fn written(body: &str) -> (String, Vec<Spot>) {
        let mut deck = Deck::new(Rng::new(1));
        let file = format!("==== x\n{body}");
        Pen::new(Rng::new(1), &mut deck).write(&templates(&file)[0])
    }

    #[test]
    fn slots_nest_and_what_is_marked_is_found_again() {
        let (text, spots) = written("a = «!env_password:x«y|y»z»; b = «?placeholder:${«B|B»}»\n");
        assert_eq!(text, "a = xyz; b = ${B}\n");
        let marked: Vec<_> = spots.iter().map(|s| (s.mark, &text[s.range.clone()])).collect();
        assert_eq!(marked, [(Mark::Secret("env_password"), "xyz"), (Mark::Decoy("placeholder"), "${B}")]);
    }

    #[test]
    fn a_tag_makes_a_word_the_same_everywhere() {
        let (text, _) = written("«hex:20#a» «hex:20#a» «hex:20#b»");
        let words: Vec<&str> = text.split(' ').collect();
        assert_eq!(words[0], words[1]);
        assert_ne!(words[0], words[2]);
    }

    #[test]
    fn several_lines_are_indented_as_the_first_is() {
        let (text, _) = written("key: |\n  «pem.ec»\nend");
        assert!(text.lines().all(|l| l == "key: |" || l == "end" || l.starts_with("  ")), "{text}");
        assert!(text.lines().count() > 4);
    }

    #[test]
    fn a_token_follows_its_name() {
        let (text, spots) = written("«token.ENV»=«!token»\n");
        let Mark::Secret(kind) = spots[0].mark else { panic!("{spots:?}") };
        let name = text.split('=').next().unwrap();
        assert!(Token::of(kind).unwrap().names.iter().any(|n| n.eq_ignore_ascii_case(name)), "{kind} {name}");
    }
}
