//! Any bytes end in an answer: never a panic, never a long wait, never a message that drives a terminal.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::FULL;
use holdfast_config::tree::{self, DEPTH_MAX, NODES_MAX};
use holdfast_config::{
    BYTES_MAX, Code, Config, Diagnostics, Error, Layers, Source, SourceKind, Vocabulary, outline,
};
use holdfast_testkit::{Rng, rounds, with_seeds};
use proptest::prelude::*;

/// Far above what the worst input takes, also on a busy machine with an unoptimised build.
const LONG: Duration = Duration::from_secs(5);

/// Reads and renders; looks at what every answer must keep to.
fn answer(bytes: &[u8]) -> Option<Error> {
    let began = Instant::now();
    let read = Config::read(Layers { file: Some((Path::new("config.yaml"), bytes)), ..Layers::default() });
    if let Err(Error::Wrong(all)) = &read {
        check(all, bytes);
    }
    if let Ok(loaded) = &read {
        let again = Config::read(Layers {
            file: Some((Path::new("again.yaml"), loaded.effective_text().as_bytes())),
            ..Layers::default()
        });
        assert_eq!(again.unwrap().config, loaded.config, "{}", bytes.escape_ascii());
    }
    assert!(began.elapsed() < LONG, "{:?} for {}", began.elapsed(), bytes.escape_ascii());
    read.err()
}

fn check(all: &Diagnostics, bytes: &[u8]) {
    assert!(!all.first().is_empty());
    let text = all.render();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.len() < 100_000, "{}", bytes.escape_ascii());
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    for one in all.first() {
        assert!((1..=lines).contains(&one.place.line), "{text} {}", bytes.escape_ascii());
        assert!(one.place.column >= 1 && one.place.len >= 1);
    }
    all.json();
}

/// Cuts, doubles, swaps and damages a text that was right.
fn mutated(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = FULL.as_bytes().to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let len = (rng.below(40) as usize).min(bytes.len() - at);
        match rng.below(6) {
            0 => drop(bytes.drain(at..at + len)),
            1 => bytes = [&bytes[..at], &bytes[at..at + len], &bytes[at..]].concat(),
            2 => bytes = [&bytes[..at], *rng.pick(TOKENS), &bytes[at..]].concat(),
            3 => bytes.truncate(at),
            4 if at < bytes.len() => bytes[at] = rng.next_u64() as u8,
            _ => bytes = [&bytes[at..], &bytes[..at]].concat(),
        }
    }
    bytes
}

const TOKENS: &[&[u8]] = &[
    b"version",
    b": ",
    b":",
    b"1",
    b"\n",
    b"\n  ",
    b"\n    ",
    b"\t",
    b"- ",
    b"-",
    b"? ",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"&a ",
    b"*a",
    b"!!str ",
    b"!",
    b"|\n",
    b">-\n",
    b"\"",
    b"'",
    b"\\",
    b"# ",
    b"---\n",
    b"...\n",
    b"%YAML 1.2\n",
    b"<<",
    b"null",
    b"true",
    b"~",
    b"log",
    b"level",
    b"info",
    b"health",
    b"listen",
    b"\r\n",
    b"\r",
    b"\0",
    b"\xEF\xBB\xBF",
    b"\xff",
    "é".as_bytes(),
    "\u{2028}".as_bytes(),
    b"notifications",
    b"webhook",
    b"url",
    b"secret",
    b"99999999999999999999",
    b"-1",
    b"1e9",
    b"@",
    b"`",
    b"=",
];

fn soup(rng: &mut Rng) -> Vec<u8> {
    let count = rng.below(60);
    let mut bytes = if rng.chance(0.5) { b"version: 1\n".to_vec() } else { Vec::new() };
    (0..count).for_each(|_| bytes.extend_from_slice(rng.pick::<&[u8]>(TOKENS)));
    bytes
}

#[test]
fn damaged_files_get_an_answer() {
    let mut answers = [0u32; 2];
    with_seeds(rounds(700, 50_000), |seed| {
        answers[usize::from(answer(&mutated(&mut seed.rng())).is_some())] += 1;
    });
    // Some damage is harmless; a test where all is refused at the first byte would show little.
    assert!(answers.iter().all(|count| *count > 10), "{answers:?}");
}

#[test]
fn soup_of_tokens_gets_an_answer() {
    with_seeds(rounds(1000, 50_000), |seed| drop(answer(&soup(&mut seed.rng()))));
}

#[test]
fn soup_in_a_variable_or_a_flag_gets_an_answer() {
    with_seeds(rounds(300, 20_000), |seed| {
        let mut rng = seed.rng();
        let key = rng.pick(&outline().keys).path.clone();
        let value = String::from_utf8_lossy(&soup(&mut rng)).into_owned();
        let environment = [(holdfast_config::variable_of(&key), value.clone())];
        let sets = [format!("{key}={value}"), value];
        let read = Config::read(Layers { file: None, environment: &environment, sets: &sets });
        if let Err(Error::Wrong(all)) = read {
            let text = all.render();
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        }
    });
}

fn cases(make_test: u32, soak: u32) -> ProptestConfig {
    ProptestConfig { cases: rounds(make_test, soak), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(300, 20_000))]

    #[test]
    fn random_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        answer(&bytes);
    }

    #[test]
    fn random_text_gets_an_answer(text in "(version: 1\n)?\\PC{0,80}") {
        answer(text.as_bytes());
    }
}

proptest! {
    #![proptest_config(cases(60, 5_000))]

    #[test]
    fn a_path_of_any_text_is_read_back_as_written(text in "/[^\\p{C}\u{2028}\u{2029}]{0,40}") {
        prop_assume!(!text.split('/').any(|part| part == ".."));
        let quoted = serde_json::Value::from(text.clone()).to_string();
        let loaded = common::good(&format!("version: 1\njournal:\n  archive: {quoted}\n"));
        prop_assert_eq!(loaded.config.journal.archive.as_ref().unwrap().as_path(), Path::new(&text));
        prop_assert_eq!(common::good(&loaded.effective_text()).config, loaded.config);
    }
}

/// One token put anywhere into a file that has a secret where its name belongs.
#[test]
fn no_single_mistake_more_brings_a_secret_out() {
    const FILE: &str = "version: 1\nnotifications:\n  channels: [log]\n  webhook:\n    url: sKr1tWORD\n    timeout_seconds: 5\nlog: {}\n";
    let secret = FILE.find("sKr1tWORD").unwrap();
    let step = rounds(23, 1) as usize;
    let places = (0..=FILE.len()).filter(|at| !(secret + 1..secret + 9).contains(at));
    let all = places.flat_map(|at| TOKENS.iter().map(move |token| (at, token)));
    for (at, token) in all.step_by(step) {
        let bytes = [&FILE.as_bytes()[..at], token, &FILE.as_bytes()[at..]].concat();
        let Some(error) = answer(&bytes) else { continue };
        let json = error.diagnostics().map(|all| all.json().to_string()).unwrap_or_default();
        let said = format!("{}{json}{error:?}{:?}", common::said(&error), error.problem());
        assert!(!said.contains("sKr1t") && !said.contains("WORD"), "{}\n{said}", bytes.escape_ascii());
    }
}

fn refused_as(bytes: &[u8], code: Code) {
    let Some(Error::Wrong(all)) = answer(bytes) else { panic!("taken: {} bytes", bytes.len()) };
    assert!(all.first().iter().any(|one| one.code == code), "{}", all.render());
}

#[test]
fn bounds_hold_at_their_edge() {
    let nested = |depth: usize| format!("version: 1\nx: {}{}\n", "[".repeat(depth), "]".repeat(depth));
    let parse = |text: &str| {
        let source = Source::read("t", SourceKind::File, 0, text.as_bytes(), &Vocabulary::new()).unwrap();
        tree::parse(&source)
    };
    // The map around it is the first level.
    assert!(parse(&nested(DEPTH_MAX - 1)).found.is_empty());
    assert!(!parse(&nested(DEPTH_MAX)).found.is_empty());
    refused_as(nested(DEPTH_MAX).as_bytes(), Code::TooLarge);
    let items = |count: usize| format!("[{}]", vec!["x"; count].join(","));
    assert!(parse(&items(NODES_MAX - 1)).found.is_empty());
    assert!(!parse(&items(NODES_MAX)).found.is_empty());
}

#[test]
fn hostile_files_are_answered_quickly() {
    // An unoptimised parser takes a while for as much as is read of some of these; the soak has the time.
    let size = rounds(64 * 1024, BYTES_MAX as u32) as usize;
    let full = |part: &str| part.repeat(size / part.len());
    let keys: String = (0..9000).map(|n| format!("unknown_key_{n}: 1\n")).collect();
    let same = "same: 1\n".repeat(5000);
    let deep: String = (0..700).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    let files = [
        full("["),
        full("{"),
        full("- "),
        full("? "),
        full("a"),
        full("\""),
        full(": "),
        full("&a "),
        full("!a "),
        full("a: "),
        full("[a,"),
        full("\n"),
        full("#"),
        full("%"),
        full("é"),
        format!("[{}", full("a,")),
        format!("{{{}", full("a: 1,")),
        format!("a: |\n{}", full(" x\n")),
        format!("\"{}\"", full("a\n\n")),
        format!("version: 1\nlog: {{ level: {} }}", "x".repeat(BYTES_MAX - 100)),
        keys,
        same,
        deep,
    ];
    for file in &files {
        let bytes = &file.as_bytes()[..file.len().min(BYTES_MAX)];
        assert!(answer(bytes).is_some() || bytes.iter().all(|byte| b"\n#".contains(byte)));
    }
    refused_as(&vec![b'#'; BYTES_MAX + 1], Code::TooLarge);
}

#[test]
fn a_line_of_nothing_but_marks_costs_no_more_than_its_length() {
    // As many nodes as are read, each with a tag and an anchor, all in one line.
    let file = format!("[{}]", vec!["!t &a x"; NODES_MAX - 1].join(", "));
    let began = Instant::now();
    let Some(Error::Wrong(all)) = answer(file.as_bytes()) else { panic!("taken") };
    // The first is about the file, which is a list.
    assert_eq!((all.first()[1].place.column, all.first()[2].place.column), (2, 5));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn commas_and_brackets_are_counted_before_anything_is_parsed() {
    let commas = |count: usize| format!("version: 1 # {}\n", ",".repeat(count));
    assert!(answer(commas(20_000).as_bytes()).is_none());
    refused_as(commas(20_001).as_bytes(), Code::TooLarge);
    for part in ["[", "{", "[a,"] {
        refused_as(part.repeat(20_001).as_bytes(), Code::TooLarge);
    }
}
