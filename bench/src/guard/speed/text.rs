//! Texts to take secrets out of: plain sentences, messages with a secret each, and what an enemy would send. Equal seeds
//! give equal texts; but for the data set, which is read where it is there, everything is made here.

use std::path::Path;

use holdfast_planter::chat;
use serde_json::Value;

/// The largest entry of the journal.
pub(super) const ENTRY_MAX: usize = 64 * 1024;
/// An entry of lines ends with a whole one, so this much is asked for.
const NEARLY: usize = ENTRY_MAX / 8 * 7;
/// How long a message of a conversation with an agent is, put generously.
pub(super) const MESSAGE: usize = 2048;
/// Where the conversations of LoCoMo lie for whoever has them: beside the checkout.
const LOCOMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/locomo-dev.json");

const PEOPLE: [&str; 12] =
    ["Ana", "Ben", "Chidi", "Dora", "Emre", "Fatou", "Goran", "Hana", "Ivo", "Jun", "Kira", "Luis"];
const THINGS: [&str; 12] = [
    "the report",
    "the second draft",
    "our budget",
    "the garden fence",
    "the backup of the old server",
    "the train tickets",
    "that recipe",
    "the release notes",
    "the school play",
    "the new printer",
    "the rota for March",
    "the minutes",
];
const DEEDS: [&str; 12] = [
    "asked about",
    "is still waiting for",
    "sent me",
    "has not finished",
    "would like to see",
    "forgot",
    "printed",
    "was happy with",
    "wants to talk about",
    "has moved",
    "put away",
    "paid for",
];
const ENDS: [&str; 10] = [
    "I will look at it tomorrow.",
    "Can you remind me on Friday?",
    "It took longer than we thought, but the weather was fine.",
    "There is no hurry.",
    "We could meet for lunch and go through it together!",
    "Please keep a copy.",
    "Nobody has complained so far.",
    "The numbers are a little better than last year.",
    "Let me know what you think of it.",
    "Otherwise all is well here.",
];

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// Sentences as people write them, with names, times and numbers, and no secret: so many bytes, in pieces that are no
/// longer than `piece`.
pub(super) fn sentences(seed: u64, bytes: usize, piece: usize) -> Vec<String> {
    let mut draw = Draw(seed);
    let (mut pieces, mut done) = (vec![String::new()], 0);
    while done < bytes {
        let line = line(&mut draw);
        if pieces.last().is_some_and(|last| last.len() + line.len() > piece) {
            pieces.push(String::new());
        }
        done += line.len();
        pieces.iter_mut().last().into_iter().for_each(|last| last.push_str(&line));
    }
    pieces
}

fn line(draw: &mut Draw) -> String {
    let (hour, minute, count) = (draw.below(24), draw.below(60), 2 + draw.below(400));
    let (speaker, other) = (draw.of(&PEOPLE), draw.of(&PEOPLE));
    let (deed, thing, end) = (draw.of(&DEEDS), draw.of(&THINGS), draw.of(&ENDS));
    match draw.below(3) {
        0 => format!("[{hour:02}:{minute:02}] {speaker}: {other} {deed} {thing}. {end}\n"),
        1 => format!(
            "{speaker} said at {hour}:{minute:02} that {other} {deed} {thing}, all {count} pages of it. {end}\n"
        ),
        _ => {
            format!("{end} By the way, {other} {deed} {thing}, which cost {count}.{minute:02} in the end.\n")
        }
    }
}

/// Messages that hold a secret each: so many bytes.
pub(super) fn messages_with_secrets(seed: u64, bytes: usize) -> Vec<String> {
    let (mut all, mut done) = (Vec::new(), 0);
    for batch in 0.. {
        let messages = chat(seed.wrapping_add(batch), 2000).into_iter().filter(|m| !m.planted.is_empty());
        for message in messages {
            if done >= bytes {
                return all;
            }
            done += message.text.len();
            all.push(message.text);
        }
    }
    all
}

/// Messages of the usual length, every other one with a secret in its middle.
pub(super) fn mixed_messages(seed: u64, count: usize) -> Vec<String> {
    let secrets = messages_with_secrets(seed, 500_000);
    let clean = sentences(seed, count * MESSAGE, MESSAGE);
    let mut messages: Vec<String> = clean.into_iter().take(count).collect();
    for (number, message) in messages.iter_mut().enumerate().filter(|(number, _)| number % 2 == 1) {
        let secret = &secrets[number % secrets.len()];
        let keep = MESSAGE.saturating_sub(secret.len());
        message.truncate(message.floor_char_boundary(keep));
        let middle = message[..message.len() / 2].rfind('\n').map_or(0, |at| at + 1);
        message.insert_str(middle, &format!("{secret}\n"));
    }
    messages
}

/// What was said in the conversations of LoCoMo, over and over until there is enough; none where it is not there.
pub(super) fn locomo(bytes: usize) -> Option<Vec<String>> {
    let read: Value = serde_json::from_slice(&std::fs::read(Path::new(LOCOMO)).ok()?).ok()?;
    let mut said = Vec::new();
    collect_said(&read, &mut said);
    let once = said.join("\n");
    if once.is_empty() {
        return None;
    }
    let whole: String = once.lines().map(|line| format!("{line}\n")).collect();
    let mut pieces = Vec::new();
    let mut rest = whole.as_str();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(ENTRY_MAX));
        pieces.push(piece.to_owned());
        rest = behind;
    }
    let times = bytes.div_ceil(whole.len());
    Some(std::iter::repeat_n(pieces, times).flatten().collect())
}

/// Every string under the name `text`.
fn collect_said<'a>(value: &'a Value, said: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match value {
            Value::String(text) if name == "text" => said.push(text),
            value => collect_said(value, said),
        }),
        Value::Array(values) => values.iter().for_each(|value| collect_said(value, said)),
        _ => {}
    }
}

/// Entries as large as the journal takes: one as people write, and those that are made to take long.
pub(super) fn hostile(seed: u64) -> Vec<(&'static str, String)> {
    let mut draw = Draw(seed);
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let mut draw_of = |from: &[char]| -> String {
        std::iter::repeat_with(|| from[draw.below(from.len())]).take(ENTRY_MAX).collect()
    };
    let base64 = draw_of(&alphabet);
    let digits = draw_of(&('0'..='9').collect::<Vec<_>>());
    let over_and_over = |piece: &str| piece.repeat(ENTRY_MAX / piece.len());
    vec![
        ("sentences", sentences(seed, NEARLY, ENTRY_MAX).concat()),
        ("messages with a secret each", messages_with_secrets(seed, NEARLY).join("\n")),
        ("one letter", over_and_over("a")),
        ("dashes", over_and_over("-")),
        ("`password=` over and over", over_and_over("password=")),
        ("`http://a:` over and over", over_and_over("http://a:")),
        ("base64 without an end", base64),
        ("digits without an end", digits),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_as_much_as_asked_in_pieces_that_fit() {
        let pieces = sentences(1, 100_000, MESSAGE);
        assert!(pieces.iter().map(String::len).sum::<usize>() >= 100_000);
        assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= MESSAGE));
        assert_eq!(pieces, sentences(1, 100_000, MESSAGE));
        assert_ne!(pieces, sentences(2, 100_000, MESSAGE));
    }

    #[test]
    fn no_sentence_holds_a_secret_and_every_other_message_does() {
        let guard = holdfast_guard::Guard::builtin();
        assert!(sentences(3, 200_000, ENTRY_MAX).iter().all(|text| guard.redact(text).is_untouched()));
        let messages = mixed_messages(3, 200);
        assert_eq!(messages.len(), 200);
        let untouched: Vec<bool> = messages.iter().map(|text| guard.redact(text).is_untouched()).collect();
        assert!(untouched.iter().step_by(2).all(|untouched| *untouched));
        let taken = untouched.iter().skip(1).step_by(2).filter(|untouched| !**untouched).count();
        assert!(taken >= 90, "{taken} of 100");
    }

    #[test]
    fn no_hostile_text_is_larger_than_an_entry_and_none_is_small() {
        for (what, text) in hostile(4) {
            assert!((NEARLY..=ENTRY_MAX).contains(&text.len()), "{what}: {}", text.len());
        }
    }

    #[test]
    fn of_a_data_set_what_was_said_is_taken() {
        let read =
            serde_json::json!([{"a": [{"text": "hello", "n": 1}], "b": {"text": "you"}, "c": "not this"}]);
        let mut said = Vec::new();
        collect_said(&read, &mut said);
        assert_eq!(said, ["hello", "you"]);
    }
}
