//! Texts made up for measuring, of a seed: turns of a conversation whose words are as unevenly common as people's, and plain facts.

use holdfast_testkit::{Rng, Seed};
use serde_json::{Value, json};

/// Words there are, the first ones the commonest.
const WORDS: u64 = 50_000;
const SPEAKERS: [&str; 6] = ["Ana", "Boris", "Chidi", "Dora", "Emil", "Farah"];
/// Turns of one conversation, all of one moment and source.
const TURNS: u64 = 20;
const SYLLABLES: [&str; 20] = [
    "ka", "lo", "mi", "ren", "to", "va", "shi", "ber", "no", "du", "pel", "tra", "gi", "sol", "wen", "fa",
    "ru", "cho", "zet", "lim",
];

/// Makes turns one after another.
#[derive(Debug)]
pub(super) struct Turns {
    rng: Rng,
    turn: u64,
}

impl Turns {
    pub(super) fn new(seed: u64) -> Turns {
        Turns { rng: Seed::new(seed).rng(), turn: 0 }
    }

    fn text(&mut self) -> String {
        let speaker = *self.rng.pick(&SPEAKERS);
        let count = self.rng.range(8..24);
        let words: Vec<String> = (0..count).map(|_| word(common(&mut self.rng))).collect();
        format!("{speaker}: {}.", words.join(" "))
    }
}

/// A turn as it is imported.
impl Iterator for Turns {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let conversation = self.turn / TURNS;
        self.turn += 1;
        // A conversation a day, over and over the same years.
        let (year, month, day) =
            (2010 + conversation / 336 % 16, conversation / 28 % 12 + 1, conversation % 28 + 1);
        let at = format!("{year}-{month:02}-{day:02}T09:00:00Z");
        Some(json!({"content": self.text(), "at": at, "source": format!("talk-{conversation}")}))
    }
}

/// Questions of a seed: a few words that may stand together or not, some of them rare.
pub(super) fn questions(seed: u64, count: usize) -> Vec<String> {
    let mut rng = Seed::new(seed).rng();
    let question = |_| {
        let speaker = *rng.pick(&SPEAKERS);
        let words: Vec<String> = (0..4).map(|_| word(common(&mut rng))).collect();
        format!("What did {speaker} say about {}?", words.join(" "))
    };
    (0..count).map(question).collect()
}

/// The rank of a word, by Zipf's law: as likely among the first ten as among the next ninety, and so on.
fn common(rng: &mut Rng) -> u64 {
    let unit = rng.below(1 << 53) as f64 / (1_u64 << 53) as f64;
    ((WORDS as f64).powf(unit) as u64).min(WORDS - 1)
}

/// A word that no other rank has: the rank's digits, as syllables.
fn word(rank: u64) -> String {
    let base = SYLLABLES.len() as u64;
    let (mut rest, mut word) = (rank + base, String::new());
    while rest > 0 {
        word.push_str(SYLLABLES[(rest % base) as usize]);
        rest /= base;
    }
    word
}

const PLACES: [&str; 8] =
    ["staging", "billing", "search", "archive", "payments", "reporting", "mailing", "inventory"];
const FACTS: [&str; 10] = [
    "The gateway of the {place} cluster {name} listens on port {number}.",
    "Backups of the {place} database {name} are kept for {number} days.",
    "The {place} team deploys {name} every {number} hours from the release branch.",
    "The certificate of {name} in {place} is renewed {number} days before it ends.",
    "Requests to {name} time out after {number} seconds behind the {place} proxy.",
    "The {place} queue {name} holds at most {number} messages before it refuses more.",
    "Host {name} runs the {place} workers with {number} gigabytes of memory.",
    "The {place} dashboard {name} shows the last {number} minutes.",
    "Logs of {name} are rotated after {number} megabytes on the {place} disk.",
    "The {place} cache {name} was moved to rack {number} after the outage.",
];

/// A fact, and every eighth time one that was said before with other words around it.
pub(super) fn fact(number: u64) -> String {
    match number % 8 {
        7 => format!("As a reminder: {}", plain_fact(number - 7)),
        _ => plain_fact(number),
    }
}

fn plain_fact(number: u64) -> String {
    let mut rng = Seed::new(number).rng();
    let (name, place) = (word(1000 + number), *rng.pick(&PLACES));
    rng.pick(&FACTS)
        .replace("{place}", place)
        .replace("{name}", &name)
        .replace("{number}", &rng.range(2..9000).to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_are_told_apart_and_the_first_are_the_commonest() {
        let words: BTreeSet<String> = (0..WORDS).map(word).collect();
        assert_eq!(words.len() as u64, WORDS);
        let mut rng = Seed::new(1).rng();
        let drawn: Vec<u64> = (0..20_000).map(|_| common(&mut rng)).collect();
        let within = |from: u64, to: u64| drawn.iter().filter(|rank| (from..to).contains(rank)).count();
        assert!(within(1, 10).abs_diff(within(10, 100)) < 400, "{} {}", within(1, 10), within(10, 100));
    }

    #[test]
    fn a_seed_gives_the_same_texts_and_turns_of_a_conversation_stay_together() {
        let turns: Vec<Value> = Turns::new(3).take(21).collect();
        assert_eq!(turns, Turns::new(3).take(21).collect::<Vec<_>>());
        assert_eq!(turns[0]["source"], turns[19]["source"]);
        assert_ne!(turns[0]["source"], turns[20]["source"]);
        assert_eq!(questions(5, 3), questions(5, 3));
    }

    #[test]
    fn every_eighth_fact_was_said_before() {
        assert_eq!(fact(7), format!("As a reminder: {}", fact(0)));
        let facts: BTreeSet<String> = (0..1000).map(fact).collect();
        assert_eq!(facts.len(), 1000);
    }
}
