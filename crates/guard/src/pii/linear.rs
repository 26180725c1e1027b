//! What holds for any bytes: no panic, spans inside the text, nothing beyond the window, time in line with length.

use super::pass::scan;
use super::{AFTER_MAX, BEFORE_MAX, at_sign, double_colon, scheme, word, www};
use crate::hit::Known;
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Bytes that meet the detectors often: digits, what separates them, and words that announce them.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[0-9]{1,6}",
        4 => "[-+ ./:()@,x]",
        1 => "[0-9]{7,70}",
        1 => "[A-Za-z]{1,6}",
        1 => "[°′″é例\u{a0}\u{2011}€]",
        1 => prop::sample::select(vec![
            "phone ", "card ", "born ", "passport ", "BSN ", "lat ", "https://", "www.", "::", "@example.com", "GB82", "756.", "\n",
        ]).prop_map(str::to_owned),
    ];
    prop_oneof![
        3 => prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

proptest! {
    #[test]
    fn any_bytes_give_spans_inside_the_text_on_character_boundaries(text in texts()) {
        let hits = scan(&text);
        for hit in &hits {
            prop_assert!(hit.start < hit.end && hit.end <= text.len() && hit.confidence <= 100);
            if let Ok(text) = std::str::from_utf8(&text) {
                prop_assert!(text.is_char_boundary(hit.start) && text.is_char_boundary(hit.end), "{text:?} {hit:?}");
            }
        }
    }

    /// The same trigger amid the same window gives the same answer, whatever lies further away.
    #[test]
    fn nothing_beyond_the_window_is_looked_at(text in texts(), far in texts()) {
        for (at, trigger) in triggers(&text) {
            let (from, to) = (at.saturating_sub(BEFORE_MAX), text.len().min(at + AFTER_MAX));
            let noise: Vec<u8> = far.iter().chain(b" ").copied().cycle().take(60).collect();
            let head = if from == 0 { &[][..] } else { &noise };
            let tail = if to == text.len() { &[][..] } else { &noise };
            let moved = [head, &text[from..to], tail].concat();
            prop_assert_eq!(trigger.fire(&text, at), trigger.fire(&moved, head.len() + at - from));
        }
    }
}

/// A place where the engine calls.
#[derive(Clone, Copy, Debug)]
enum Trigger {
    Word(usize),
    AtSign,
    Scheme,
    Www,
    DoubleColon,
}

impl Trigger {
    /// What is found, and where it goes on, both counted from the trigger.
    fn fire(self, text: &[u8], at: usize) -> (Vec<(Known, isize, isize)>, usize) {
        let mut hits = Vec::new();
        let reached = match self {
            Trigger::Word(length) => word(text, at, at + length, &mut hits),
            Trigger::AtSign => {
                at_sign(text, at, &mut hits);
                at
            }
            Trigger::Scheme => scheme(text, at, &mut hits),
            Trigger::Www => www(text, at, &mut hits),
            Trigger::DoubleColon => double_colon(text, at, &mut hits),
        };
        let from_here = |place: usize| place as isize - at as isize;
        (hits.iter().map(|hit| (hit.known, from_here(hit.start), from_here(hit.end))).collect(), reached - at)
    }
}

fn triggers(text: &[u8]) -> Vec<(usize, Trigger)> {
    let word = |at: usize| text[at..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    let begins = |at: usize| at == 0 || !text[at - 1].is_ascii_alphanumeric();
    let trigger = |at: usize| match text[at] {
        b'@' => Some(Trigger::AtSign),
        b':' if text[at..].starts_with(b"://") => Some(Trigger::Scheme),
        b':' if text[at..].starts_with(b"::") => Some(Trigger::DoubleColon),
        b'w' if begins(at) && text[at..].starts_with(b"www.") => Some(Trigger::Www),
        // A run that fills the window is judged by its length alone.
        b if b.is_ascii_alphanumeric() && begins(at) => {
            Some(Trigger::Word(word(at))).filter(|_| word(at) < 100)
        }
        _ => None,
    };
    let digits = |trigger: &(usize, Trigger)| !matches!(trigger, (at, Trigger::Word(length)) if !text[*at..at + length].iter().any(u8::is_ascii_digit));
    (0..text.len()).filter_map(|at| trigger(at).map(|found| (at, found))).filter(digits).collect()
}

/// Long enough that a detector which looked back or ahead without bound would need minutes.
const LENGTH: usize = 1 << 17;

#[test]
fn time_is_in_line_with_length_whatever_the_text() {
    for piece in [
        "1",
        "1 ",
        "+",
        "(",
        "1-",
        "@",
        "a@",
        "1.",
        "::",
        "a:",
        "http://",
        "1:",
        "(1)",
        "+1 ",
        "www.",
        "a1",
        "1x",
        "ab12 ",
        "1/",
        "1.1.",
        "0 1",
        "12 34 56 ",
        "a@b.",
        "12345678 ",
        "\"@",
        "https://a.b/",
        "1°",
        "call 1 ",
        "AB 12 ",
    ] {
        let text = piece.repeat(LENGTH / piece.len());
        let begun = Instant::now();
        scan(text.as_bytes());
        assert!(begun.elapsed() < Duration::from_secs(5), "{piece:?} took {:?}", begun.elapsed());
    }
}
