//! What analysis makes of texts.

use proptest::prelude::*;

use super::*;

/// The terms word by word; those that stand at one word are joined by a bar.
fn words(text: &str) -> Vec<String> {
    let found = analyse(text);
    let mut words: Vec<String> = vec![String::new(); found.words as usize];
    for token in found.tokens {
        let word = &mut words[token.word as usize];
        if !word.is_empty() {
            word.push('|');
        }
        word.push_str(&token.term);
    }
    words
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(words(text), expected, "{text:?}");
}

/// Whether one finds the other: they share a term.
fn meet(a: &str, b: &str) -> bool {
    let terms = |text| analyse(text).tokens.into_iter().map(|token| token.term).collect::<Vec<_>>();
    let other = terms(b);
    terms(a).iter().any(|term| other.contains(term))
}

#[test]
fn plain_sentences_are_words_in_lower_case_and_stemmed() {
    check("The servers were restarting, twice.", &["the", "server", "were", "restart", "twice"]);
    check("no root", &["no", "root"]);
    check("", &[]);
    check(" -- … \u{200b} !?", &[]);
}

#[test]
fn possessives_and_contractions_come_down_to_their_words() {
    check("Caroline's friends' dogs", &["carolin", "friend", "dog"]);
    check("Caroline’s", &["carolin"]);
    check("don't can't won't isn't", &["do", "not", "can", "not", "will", "not", "is", "not"]);
    check("they've I'm she'll", &["they", "i", "she"]);
    check("O'Brien", &["obrien|brien"]);
    check("l'eau", &["leau|eau"]);
}

#[test]
fn names_in_any_manner_of_writing_are_whole_and_in_parts() {
    check("max_retry_count", &["maxretrycount|max", "retri", "count"]);
    check("maxRetryCount", &["maxretrycount|max", "retri", "count"]);
    check("max-retry-count", &["maxretrycount|max", "retri", "count"]);
    check("HTTPServer2", &["httpserver2|http", "server", "2"]);
    check("MAX_CONNECTIONS", &["maxconnect|max", "connect"]);
    check("std::fs::rename", &["std:fs:rename|std", "fs", "renam"]);
    check("__init__", &["init"]);
    for (a, b) in [("log_file", "logfile"), ("e-mail", "email"), ("LogFile", "log-file"), ("Wi-Fi", "wifi")] {
        assert!(meet(a, b), "{a} {b}");
    }
}

#[test]
fn paths_addresses_and_versions_are_whole_and_in_parts() {
    check("/etc/nginx/nginx.conf", &["etc/nginx/nginx.conf|etc", "nginx", "nginx.conf|nginx", "conf"]);
    check("10.0.0.1:8080", &["10.0.0.1:8080|10.0.0.1|10", "0", "0", "1", "8080"]);
    check("v1.2.3", &["1.2.3|v1.2.3|v1|1", "2", "3"]);
    check("db-1.example.com", &["db1.example.com|db", "1", "exampl", "com"]);
    check("root@host", &["root@host|root", "host"]);
    check("https://a.io/x", &["https:a.io/x|https", "a.io|io", "x"]);
    for (a, b) in [
        ("nginx.conf", "see /etc/nginx/nginx.conf."),
        ("10.0.0.1", "bound to 10.0.0.1:8080"),
        ("port 8080", "10.0.0.1:8080"),
        ("1.2.3", "v1.2.3"),
        ("C:\\logs\\app.log", "c:/logs/app.log"),
        ("fd00::1", "[fd00::1]"),
    ] {
        assert!(meet(a, b), "{a} {b}");
    }
    assert!(!meet("1.23", "12.3"));
}

#[test]
fn numbers_units_codes_and_ids_are_kept() {
    check("512M 8384 E0308 1,000,000 3.14", &["512m|512", "8384", "e0308|0308", "1000000", "3.14|3", "14"]);
    check("2023-05-08", &["2023-05-08|2023", "05", "08"]);
    check("deadbeef0123", &["deadbee|deadbeef|deadbeef0123"]);
    assert!(meet("commit 45e7f79", "45e7f79aa01c2d3e4f5061728394a5b6c7d8e9f0"));
    check("C++ C# F# c", &["c++", "c#", "f#", "c"]);
    check("U.S.A. e.g.", &["usa", "eg"]);
}

#[test]
fn one_word_written_in_two_ways_is_one_word() {
    for (a, b) in [
        ("Café", "cafe"),
        ("Zürich", "ZURICH"),
        ("ﬁle", "file"),
        ("Ｄｏｃｋｅｒ", "docker"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        ("smørrebrød", "smorrebrod"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("re\u{ad}start", "restart"),
        ("e\u{301}cole", "école"),
        ("Москва", "МОСКВА"),
    ] {
        assert_eq!(words(a), words(b), "{a} {b}");
    }
}

#[test]
fn scripts_without_spaces_are_pairs_and_other_scripts_are_left_alone() {
    check("東京都庁", &["東京", "京都", "都庁"]);
    check("京", &["京"]);
    check("K8sクラスタ", &["k8s|8", "クラ", "ラス", "スタ"]);
    check("서버 재시작", &["서버", "재시", "시작"]);
    check("перезапуски серверов", &["перезапуски", "серверов"]);
    check("हिन्दी", &["हिन्दी"]);
    assert_ne!(words("かき"), words("がぎ"), "voicing tells words apart");
}

#[test]
fn what_is_too_long_is_shortened_and_still_told_apart() {
    let (a, b) = ("x".repeat(200), format!("{}y", "x".repeat(199)));
    let (first, second) = (words(&a), words(&b));
    assert_ne!(first, second);
    assert!(first.iter().chain(&second).all(|term| term.len() <= TERM_LEN_MAX));
}

#[test]
fn a_text_of_too_many_words_is_cut_and_says_so() {
    let found = analyse(&"word ".repeat(WORDS_MAX as usize));
    assert_eq!((found.words, found.cut), (WORDS_MAX, false));
    let found = analyse(&"word ".repeat(WORDS_MAX as usize + 1));
    assert_eq!((found.words, found.cut), (WORDS_MAX, true));
    let found = analyse(&"東".repeat(2 * WORDS_MAX as usize));
    assert_eq!((found.words, found.cut), (WORDS_MAX, true));
}

/// Every kind of text that has made somebody's tokeniser slow, a quarter of a megabyte of each: with a square in it this would not end.
#[test]
fn hostile_texts_cost_no_more_than_others() {
    let many = |piece: &str| piece.repeat((1 << 18) / piece.len());
    for text in [
        many("a"),
        many("a_"),
        many("a."),
        many("aB"),
        many("a1"),
        many("a'"),
        many("a/"),
        many("::"),
        many("\u{301}"),
        many("\u{5b0}\u{5bc}"),
        many("a\u{301}"),
        many("\u{200d}"),
        many("ﷺ"),
        many("1,000,"),
        many("東"),
        many("\u{1f1e9}"),
        many("\u{0}"),
        many("…’"),
    ] {
        let found = analyse(&text);
        assert!(
            found.words <= WORDS_MAX && found.tokens.len() <= 16 * WORDS_MAX as usize,
            "{:?}",
            &text[..8]
        );
    }
}

#[test]
fn the_stemmer_does_what_the_published_one_does() {
    let golden = include_str!("../../tests/golden/stems.txt");
    for line in golden.lines() {
        let (word, expected) = line.split_once(' ').unwrap();
        let mut stemmed = word.to_owned();
        stem::stem(&mut stemmed);
        assert_eq!(stemmed, expected, "{word}");
    }
    assert!(golden.lines().count() > 2000);
}

proptest! {
    #[test]
    fn any_text_has_bounded_terms_in_order(text in "\\PC{0,300}") {
        let found = analyse(&text);
        prop_assert!(found.tokens.iter().all(|token| !token.term.is_empty() && token.term.len() <= TERM_LEN_MAX));
        prop_assert!(found.tokens.is_sorted_by_key(|token| token.word));
        let words = found.tokens.last().map_or(0, |token| token.word + 1);
        prop_assert_eq!(found.words, words);
    }

    #[test]
    fn joints_and_letters_in_any_order_are_taken_apart(text in "[aB1_.:/'@,+# é’東-]{0,60}") {
        let found = analyse(&text);
        prop_assert!(found.tokens.iter().all(|token| token.term.chars().any(char::is_alphanumeric)));
        prop_assert_eq!(&analyse(&text), &found);
    }

    #[test]
    fn a_word_is_found_wherever_it_stands(before in "[a-z ,.!]{0,20}", word in "[a-z]{3,12}", after in "[ ,.!?;][a-z ,.!]{0,20}") {
        let alone = &analyse(&word).tokens[0].term;
        let text = format!("{before} {word}{after}");
        prop_assert!(analyse(&text).tokens.iter().any(|token| token.term == *alone), "{}", text);
    }
}
