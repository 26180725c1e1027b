//! What holds of the redactor for every text.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use holdfast_guard::{Guard, Looking, Scene};
use proptest::prelude::*;

/// Pieces of text that the detectors care about, so that random texts are full of near misses.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "password",
        "=",
        ":",
        " ",
        "\n",
        "\"",
        "'",
        "ghp_",
        "sk-proj-",
        "AKIA",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "://",
        "@",
        "user:",
        "http",
        "https://a.example/",
        "token",
        "secret",
        "Bearer ",
        "Authorization: ",
        "eyJ",
        ".",
        "-",
        "_",
        "/",
        "+",
        "%3D",
        "%20",
        "\\n",
        "\u{200b}",
        "р",
        "ｇ",
        "é",
        "🙂",
        "4111 1111 1111 1111",
        "078-05-1120",
        "+44 20 7946 0958",
        "10.1.2.3",
        "::",
        "fe80::1",
        "is ",
        "for ",
        "the ",
        "pw ",
        "key",
        "community ",
        "connect(",
        "auth = (",
        "Basic ",
        " | chpasswd",
        "echo ",
        "oracle:thin:",
        "@tcp(",
        "variable \"db_password\" {",
        "default = ",
        "== ",
        "dragon.hammer.granite",
        "kX9#mQ2$vL",
        "|",
        "\t",
        "<password>",
        "</password>",
        "value=",
        "name=",
        "[REDACTED_PASSWORD]",
        "[REDACTED_EMAIL]",
        "www.",
        "ann@example.org",
        "$6$",
        "{SSHA}",
        "*",
        "--token ",
        "-p",
        "curl -u ",
        "mysql ",
        ";",
        "&",
        ",",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "$",
        "aws_secret_access_key",
        "GB82 WEST 1234 5698 7654 32",
        "born ",
        "1980-01-02",
        "48.85837, 2.29448",
    ]);
    prop_oneof![
        6 => fixed.prop_map(str::to_owned),
        3 => "[A-Za-z0-9]{1,40}",
        1 => "[a-f0-9]{32,64}",
        1 => "[0-9]{1,20}",
        1 => "[A-Za-z0-9+/]{20,80}={0,2}",
        1 => "\\PC{1,8}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

fn looking() -> impl Strategy<Value = Looking> {
    prop::sample::select(vec![Looking::Secrets, Looking::SecretsAndPeople, Looking::Everything])
}

/// Names of files that are read in different ways; none for a text.
fn file_name() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![
        None,
        Some(".env"),
        Some("a.yaml"),
        Some("a.json"),
        Some("a.xml"),
        Some("a.rs"),
        Some("a.sh"),
        Some("a.sql"),
        Some("Cargo.lock"),
        Some("a.css"),
        Some("a.txt"),
        Some("a.csv"),
        Some(".pgpass"),
        Some("chap-secrets"),
        Some("sasl_passwd"),
        Some("ipsec.secrets"),
        Some("master.key"),
        Some("unknown"),
    ])
}

fn config(share: u32) -> ProptestConfig {
    ProptestConfig {
        cases: holdfast_testkit::rounds(2000, 20_000) as u32 / share,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(1))]

    // shows: HRD-014
    #[test]
    fn redacting_twice_is_redacting_once(text in text(), looking in looking()) {
        let once = Guard::builtin().redact_for(&text, looking);
        let twice = Guard::builtin().redact_for(&once.content, looking);
        prop_assert_eq!(&twice.content, &once.content);
        prop_assert!(twice.redactions.is_empty(), "{:?} in {:?}", twice.redactions, once.content);
    }

    // shows: HRD-012, HRD-F07
    #[test]
    fn every_reported_span_is_gone_and_all_else_is_there(text in text(), looking in looking()) {
        let done = Guard::builtin().redact_for(&text, looking);
        if done.blocked { return Ok(()); }
        let mut rebuilt = String::new();
        let mut copied = 0;
        for redaction in &done.redactions {
            prop_assert!(redaction.span.start >= copied && redaction.span.end <= text.len() && !redaction.span.is_empty());
            rebuilt.push_str(&text[copied..redaction.span.start]);
            rebuilt.push_str(&redaction.replacement);
            copied = redaction.span.end;
        }
        rebuilt.push_str(&text[copied..]);
        prop_assert_eq!(rebuilt, done.content);
    }

    #[test]
    fn any_bytes_are_looked_at_and_spans_are_in_order(noise in prop::collection::vec(any::<u8>(), 0..200), text in text(), name in file_name()) {
        let bytes = [text.as_bytes(), &noise, text.as_bytes()].concat();
        let scene = name.map_or(Scene::text(Looking::Everything), |name| Scene::file(name, &bytes));
        let found = Guard::builtin().find(&bytes, &scene);
        let mut last = 0;
        for finding in &found {
            prop_assert!(finding.span.start >= last && finding.span.end <= bytes.len() && !finding.span.is_empty());
            last = finding.span.end;
        }
    }

    #[test]
    fn a_planted_token_never_comes_out(before in text(), after in text(), tail in "[A-Za-z0-9]{36}") {
        let token = format!("ghp_{tail}");
        let done = Guard::builtin().redact(&format!("{before} {token} {after}"));
        prop_assert!(!done.content.contains(&token));
        let records = format!("{:?}", done.redactions);
        prop_assert!(!records.contains(&tail));
    }
}

proptest! {
    // Texts long enough that a stream has to cut cost more; there are fewer of them.
    #![proptest_config(config(20))]

    #[test]
    fn chunking_does_not_change_the_result(texts in prop::collection::vec(text(), 1..24), cuts in prop::collection::vec(1usize..3000, 1..40), looking in looking()) {
        // Longer than what a stream holds back, so that it really has to cut.
        let text = texts.join(" Lorem ipsum dolor sit amet, and so on for a while.\n");
        let text = text.repeat(1 + 12_000 / text.len().max(1));
        let whole = Guard::builtin().redact_for(&text, looking);
        let mut stream = Guard::builtin().stream(looking);
        let mut out = Vec::new();
        let mut rest = text.as_bytes();
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            out.extend(stream.push(piece));
            rest = after;
            if rest.is_empty() { break; }
        }
        let end = stream.finish();
        prop_assert_eq!(end.blocked, whole.blocked);
        if !whole.blocked {
            out.extend(end.rest);
            prop_assert_eq!(String::from_utf8(out).unwrap(), whole.content);
            prop_assert_eq!(end.redactions, whole.redactions);
        }
    }
}
