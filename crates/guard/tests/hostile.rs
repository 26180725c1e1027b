//! Texts made to hurt: nothing panics, nothing takes longer than its length, and secrets in them are still found.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::{Duration, Instant};

use base64::Engine as _;
use holdfast_guard::{Guard, Looking, Scene};

/// Far above what a megabyte takes, far below what anything quadratic would.
const GENEROUS: Duration = Duration::from_secs(4);

fn scenes() -> [Scene; 4] {
    [
        Scene::text(Looking::Everything),
        Scene::file("a.env", b""),
        Scene::file("a.rs", b""),
        Scene::file("a.txt", b""),
    ]
}

fn in_time(name: &str, text: &[u8]) {
    for scene in scenes() {
        let began = Instant::now();
        let found = Guard::builtin().find(text, &scene);
        assert!(began.elapsed() < GENEROUS, "{name}: {:?}, {} findings", began.elapsed(), found.len());
    }
}

fn token() -> String {
    format!("ghp_{}", "Zq3Xw8Rt5Yb1Nc7Md2Ks9Lp4Jh6Gf0DvAeUi")
}

// shows: HRD-F17
#[test]
fn a_megabyte_of_anything_takes_no_longer_than_its_length() {
    // One character a whole megabyte; what costs more a place, a quarter of it here and all of it in the long run.
    let size = |piece: &str| {
        if piece.len() == 1 || std::env::var_os("HOLDFAST_SOAK").is_some() { 1 << 20 } else { 1 << 18 }
    };
    let pieces = [
        "a",
        "A",
        "0",
        "-",
        "/",
        "=",
        ".",
        "_",
        ":",
        "@",
        "\"",
        "'",
        "%",
        "$",
        "{",
        "*",
        "~",
        "\\",
        " ",
        "\n",
        "\u{200b}",
        "é",
        "р",
        "%41",
        "\\n",
        "ghp_",
        "sk-proj-",
        "-----BEGIN RSA PRIVATE KEY-----",
        "eyJ",
        "eyJhbGciOiJ9.",
        "password=",
        "password: \"",
        "secret is ",
        "token ",
        "://",
        "http://a:",
        "a@b.",
        "http://a:b@",
        "xoxb-1",
        "AKIA",
        "aws ",
        "datadog ",
        "1-",
        "1 ",
        "1.",
        "+1",
        "::",
        "a:",
        "key=(",
        "connect(\"",
        "<password>",
        "| a | password |\n",
        "a,password,b\n",
        "[REDACTED_PASSWORD]",
        // holdfast: allow named_password — a name and half a placeholder, no value
        "password=[REDACTED_",
        "Basic ",
        "curl -u ",
        "echo x | chpasswd ",
        "$6$",
        "vp4r ",
        "deadbeef",
        "0123456789abcdef",
    ];
    for piece in pieces {
        in_time(&format!("{piece:?} over and over"), piece.repeat(size(piece) / piece.len()).as_bytes());
    }
}

#[test]
fn base64_in_base64_is_unwrapped_so_far_and_no_further() {
    let mut text = format!("password = {}", token());
    for depth in 0..24 {
        in_time(&format!("wrapped {depth} times"), text.as_bytes());
        if depth <= 2 {
            assert!(!Guard::builtin().redact(&text).redactions.is_empty(), "{depth}");
        }
        text = base64::engine::general_purpose::STANDARD.encode(&text);
        if text.len() > 1 << 20 {
            break;
        }
    }
}

#[test]
fn invalid_text_is_looked_at_all_the_same() {
    let token = token();
    for noise in [&b"\xff\xfe"[..], b"\xc3", b"\xe2\x82", b"\xf0\x9f\x92", b"\x80\x80\x80", b"\0"] {
        let text = [noise, b" ", token.as_bytes(), b" ", noise].concat();
        let found = Guard::builtin().find(&text, &Scene::text(Looking::Secrets));
        assert_eq!(found.len(), 1, "{noise:?}");
        assert_eq!(&text[found[0].span.clone()], token.as_bytes(), "{noise:?}");
    }
}

#[test]
fn a_token_behind_a_long_line_is_found_where_it_stands() {
    let size = holdfast_testkit::rounds(10, 100) as usize * 1_000_000;
    let token = token();
    let mut text = b"{\"data\":\"".to_vec();
    text.resize(size, b'x');
    text.extend_from_slice(format!("\", \"next\": \"{token}\"}}").as_bytes());
    let began = Instant::now();
    let found = Guard::builtin().find(&text, &Scene::file("a.json", b"{"));
    assert!(began.elapsed() < GENEROUS * 4, "{:?}", began.elapsed());
    assert_eq!(found.len(), 1);
    assert_eq!(&text[found[0].span.clone()], token.as_bytes());
}

#[test]
fn every_beginning_of_a_token_followed_by_noise_is_harmless() {
    let mut text = String::new();
    for kind in Guard::builtin().kinds() {
        text.push_str(&kind.id);
        text.push_str("=\"");
        text.push_str(&kind.replacement);
        text.push_str("\" ");
    }
    in_time("the names of all kinds", text.repeat(1 + (1 << 20) / text.len()).as_bytes());
}
