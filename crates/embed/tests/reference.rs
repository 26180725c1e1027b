//! Ours beside the reference: the same tokens at the same bytes, and the same vectors, on every set of instructions.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test stops where it cannot go on")]

mod here;

use holdfast_embed::{Instructions, Model, Token, WIDTH, WordPiece};
use sha2::{Digest as _, Sha256};

const TEXTS: &str = include_str!("fixtures/texts.json");
const TOKENS: &str = include_str!("fixtures/tokens.json");
const BLOCKS: &str = include_str!("fixtures/blocks.json");
const GENERATED: &[u8] = include_bytes!("fixtures/generated.bin");
const CHARACTERS: &[u8] = include_bytes!("fixtures/characters.bin");
const VECTORS: &[u8] = include_bytes!("fixtures/vectors.f32");

fn texts() -> Vec<String> {
    serde_json::from_str(TEXTS).unwrap()
}

#[test]
fn tokens_of_texts_in_many_scripts_are_the_reference_s() {
    let tokenizer = WordPiece::open(&here::model()).unwrap();
    let expected: Vec<Vec<u32>> = serde_json::from_str(TOKENS).unwrap();
    assert_eq!(expected.len(), 200);
    for (text, expected) in texts().iter().zip(expected) {
        let ids: Vec<u32> = tokenizer.tokens(text).iter().map(|it| it.id).collect();
        assert_eq!(ids, expected, "{text:?}");
    }
}

#[test]
fn tokens_and_their_bytes_of_twelve_thousand_generated_texts_are_the_reference_s() {
    let folder = here::model();
    let tokenizer = WordPiece::open(&folder).unwrap();
    let vocabulary = std::fs::read_to_string(folder.join("vocab.txt")).unwrap();
    let vocabulary: Vec<&str> = vocabulary.lines().collect();
    let blocks: Vec<(u64, u64)> = serde_json::from_str(BLOCKS).unwrap();
    let expected = GENERATED.as_chunks::<4>().0;
    assert_eq!(expected.len(), 12_000);
    for (seed, expected) in (0..).zip(expected) {
        let text = generated(seed, &vocabulary, &blocks);
        let tokens = tokenizer.tokens(&text);
        assert_eq!(digest([&tokens]), *expected, "text {seed}: {text:?} gave {tokens:?}");
    }
}

#[test]
fn every_character_there_is_gives_the_reference_s_tokens() {
    let tokenizer = WordPiece::open(&here::model()).unwrap();
    for (block, expected) in (0_u32..).step_by(256).zip(CHARACTERS.as_chunks::<4>().0) {
        let texts = (block..block + 256).filter_map(char::from_u32).map(|c| format!("a{c}b"));
        let tokens: Vec<Vec<Token>> = texts.map(|it| tokenizer.tokens(&it)).collect();
        assert_eq!(digest(&tokens), *expected, "characters from {block:#x} on gave {tokens:?}");
    }
}

// shows: MEM-068
#[test]
fn vectors_are_the_reference_s_with_every_set_of_instructions() {
    let texts = texts();
    let expected: Vec<f32> = VECTORS.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
    assert_eq!(expected.len(), texts.len() * WIDTH);
    let here = Instructions::ALL.into_iter().filter(|it| it.are_here());
    for instructions in here {
        let model = Model::open_with(&here::model(), instructions).unwrap();
        let some: Vec<usize> = (0..texts.len()).step_by(every(instructions)).collect();
        let embedded = model.embed(&some.iter().map(|it| &texts[*it]).collect::<Vec<_>>()).unwrap();
        for (it, embedded) in some.into_iter().zip(&embedded) {
            let (text, expected) = (&texts[it], &expected[it * WIDTH..(it + 1) * WIDTH]);
            // The reference reads no further than the first chunk.
            let cosine: f64 =
                embedded.chunks[0].vector.iter().zip(expected).map(|(a, b)| f64::from(a * b)).sum();
            assert!(cosine >= 0.99999, "{instructions:?}: {cosine} for {text:?}");
        }
    }
}

/// All texts by the best instructions; `make soak` has them all by all, which takes minutes.
fn every(instructions: Instructions) -> usize {
    let all = instructions == Instructions::best() || std::env::var_os("HOLDFAST_SOAK").is_some();
    if all { 1 } else { 10 }
}

#[test]
fn avx2_and_avx_512_give_the_same_bits() {
    if !Instructions::Avx512.are_here() {
        eprintln!("not shown: this processor has no AVX-512");
        return;
    }
    let texts: Vec<_> = texts().into_iter().step_by(every(Instructions::Avx2)).collect();
    let vectors =
        |instructions| Model::open_with(&here::model(), instructions).unwrap().embed(&texts).unwrap();
    assert!(vectors(Instructions::Avx512) == vectors(Instructions::Avx2));
}

/// Four bytes of the SHA-256 of all tokens: number, first byte, byte after the last.
fn digest<'a>(texts: impl IntoIterator<Item = &'a Vec<Token>>) -> [u8; 4] {
    let mut state = Sha256::new();
    for token in texts.into_iter().flatten() {
        [token.id, token.start, token.end].iter().for_each(|it| state.update(it.to_le_bytes()));
    }
    let digest = state.finalize();
    [digest[0], digest[1], digest[2], digest[3]]
}

/// SplitMix64, as in `fixtures/make.py`.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// As `generated` in `fixtures/make.py`.
fn generated(seed: u64, vocabulary: &[&str], blocks: &[(u64, u64)]) -> String {
    let (mut dice, mut text) = (Dice(seed), String::new());
    for _ in 0..1 + dice.below(20) {
        match dice.below(8) {
            0..3 => {
                let word = dice.of(vocabulary);
                text += word.strip_prefix("##").unwrap_or(word);
            }
            3 => {
                text += dice.of(&[
                    "\t", "\n", ".", ", ", "-", "'", "\u{a0}", "\u{301}", "\u{200d}", "\0", "[SEP]", "中",
                ])
            }
            4..6 => {
                let (first, last) = dice.of(blocks);
                for _ in 0..1 + dice.below(12) {
                    text.push(char(first + dice.below(last + 1 - first)));
                }
            }
            6 => text.push(char(dice.below(0x11_0000))),
            _ => {
                let c = dice.of(&["A", "É", "a", "é", "ß"]);
                text += &c.repeat(dice.below(130) as usize);
            }
        }
        if dice.below(2) == 0 {
            text.push(' ');
        }
    }
    text
}

fn char(code: u64) -> char {
    char::from_u32(code as u32).unwrap_or('x')
}
