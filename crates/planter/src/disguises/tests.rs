//! What holds of the disguises: names, families, and that a consumer gets the secret back.

use super::*;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use std::collections::BTreeSet;

/// Put together here: a whole token stands in no source.
fn secrets() -> Vec<String> {
    let body = "MIIEpAIBAAKCAQEAx3Vb7mQ0sYt+9aLk/2cW8dJrPfNhGz5oXuEiTv4yRnKq\n1BmCwSgZ0lHj6DpUe8aFxOtMbQ+==";
    vec![
        ["ghp", "_Zx9Qw3ErTy7UiOpAsDf5GhJkLzXcVbNm1aB2"].concat(),
        ["sk-", "proj-h4Kd_93jfLs-Qp0xYcEe7sK"].concat(),
        ["AKIA", "QW3ERTYUIOP5ASDF"].concat(),
        ["c0ffee", "d00d5eed1234567890abcdefabad1dea"].concat(),
        "Passw0rd".to_owned(),
        format!("-----BEGIN {0} KEY-----\n{body}\n-----END {0} KEY-----", "PRIVATE"),
    ]
}

#[test]
fn names_are_not_shared() {
    let all: Vec<Disguise> = all().into_iter().chain(held_out()).collect();
    let names: BTreeSet<&str> = all.iter().map(|d| d.name).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn the_held_out_family_is_in_no_other() {
    let known: BTreeSet<&str> = all().iter().map(|d| d.family).collect();
    assert!(held_out().len() >= 6 && held_out().iter().all(|d| !known.contains(d.family)));
}

#[test]
fn each_changes_its_input_and_does_so_alike() {
    for secret in secrets() {
        for disguise in all().into_iter().chain(held_out()) {
            let out = (disguise.put_on)(&secret);
            assert!(!out.contains(&secret), "{}: {out:?}", disguise.name);
            assert_eq!(out, (disguise.put_on)(&secret), "{}", disguise.name);
        }
    }
}

/// What a consumer makes of it; `None` where no decoder is at hand here.
fn undone(disguise: Disguise, out: &str) -> Option<Vec<String>> {
    let again = |undo: fn(&str) -> String| {
        (0..4).scan(out.to_owned(), |text, _| Some(std::mem::replace(text, undo(text)))).collect::<Vec<_>>()
    };
    Some(match (disguise.family, disguise.name) {
        ("direction", "right-to-left override over the letters turned around")
        | ("carried", _)
        | ("marked", "acute on all, in one piece where there is one")
        | ("compatibility" | "look-alike" | "layered" | "document", _) => return None,
        ("invisible" | "direction" | "marked", _) => vec![out.chars().filter(char::is_ascii).collect()],
        ("escape", "octal with a leading zero, as echo has it, all") => {
            vec![undo::escapes(&out.replace("\\0", "\\"))]
        }
        ("escape", "backslashes JavaScript takes away") => vec![out.replace('\\', "")],
        ("escape", name)
            if !name.contains("\\N") && !name.contains("SQL") && !name.contains("PowerShell") =>
        {
            again(undo::escapes)
        }
        ("reference", _) => again(|t| undo::references(t).chars().filter(char::is_ascii).collect()),
        ("markup", name) if !name.contains("declared") => vec![undo::references(&undo::tags(out))],
        ("percent", "zero-width space as percent in the middle") => {
            vec![undo::signed(out, "%").replace('\u{200b}', "")]
        }
        ("percent", name) => {
            again(if name.starts_with("%u") { |t| undo::signed(t, "%u00") } else { |t| undo::signed(t, "%") })
        }
        ("mail", name) if name.starts_with("quoted") || name.starts_with("soft") => {
            let lines = out.replace("= \t\r\n", "").replace("=\r\n", "").replace("=\n", "");
            vec![undo::signed(&lines, "=")]
        }
        ("hex", name) if !name.contains("0x") && name.starts_with("hex") && !name.contains("dump") => {
            vec![undo::hex(out), undo::hex(&undo::hex(out))]
        }
        ("base64", name) if name.starts_with("base64") && !name.contains("pieces") => {
            let mut text = out.to_owned();
            let mut all = Vec::new();
            for _ in 0..3 {
                let inner = text.split("DATA-----\n").nth(1).unwrap_or(&text).split("\n-----").next();
                let plain = inner.unwrap_or_default().replace('-', "+").replace('_', "/");
                let plain: String = plain.chars().filter(|c| !"| \r\n=".contains(*c)).collect();
                let Ok(bytes) = base64::prelude::BASE64_STANDARD_NO_PAD.decode(plain) else { break };
                text = String::from_utf8_lossy(&bytes).into_owned();
                all.push(text.clone());
            }
            all
        }
        ("wide", _) => vec![out.replace('\0', "")],
        ("control", "wrong letter and delete between every third") => vec![out.replace("x\u{7f}", "")],
        ("control" | "sequence", _) => vec![undo::screen(out)],
        _ => return None,
    })
}

#[test]
fn a_consumer_gets_the_secret_back() {
    let mut checked = BTreeSet::new();
    for secret in secrets().into_iter().filter(|s| s.is_ascii() && !s.contains('\n')) {
        for disguise in all() {
            let out = (disguise.put_on)(&secret);
            let Some(made) = undone(disguise, &out) else { continue };
            assert!(made.iter().any(|m| m.contains(&secret)), "{}: {out:?} {made:?}", disguise.name);
            checked.insert(disguise.name);
        }
    }
    assert!(checked.len() * 5 > all().len() * 2, "{} of {}", checked.len(), all().len());
}

fn put_on(name: &str, secret: &str) -> String {
    (all().into_iter().find(|d| d.name == name).unwrap().put_on)(secret)
}

#[test]
fn forms_are_those_of_unicode() {
    for (name, form) in [
        ("full-width, all", "ｋｅｙ＿Ｂ７"),
        ("bold, all", "𝐤𝐞𝐲_𝐁𝟕"),
        ("italic, all", "𝑘𝑒𝑦_𝐵7"),
        ("script, all", "𝓀ℯ𝓎_ℬ7"),
        ("fraktur, all", "𝔨𝔢𝔶_𝔅7"),
        ("double-struck, all", "𝕜𝕖𝕪_𝔹𝟟"),
        ("monospace, all", "𝚔𝚎𝚢_𝙱𝟽"),
        ("circled, all", "ⓚⓔⓨ_Ⓑ⑦"),
        ("superscripts, all", "ᵏᵉʸ_ᴮ⁷"),
        ("squared capitals", "key_🄱7"),
        ("Cyrillic, all that have one", "k\u{435}\u{443}_\u{412}7"),
        ("Lisu capitals", "key_\u{a4d0}7"),
    ] {
        assert_eq!(put_on(name, "key_B7"), form, "{name}");
    }
}

#[test]
fn carried_text_comes_out_again() {
    let secret = "key_B7\n";
    let untagged = |out: String| -> String {
        out.chars().filter_map(|c| char::from_u32(u32::from(c).checked_sub(0xe0000)?)).collect()
    };
    assert_eq!(untagged(put_on("all in tag characters", secret)), secret);
    assert_eq!(untagged(put_on("tag characters inside a word", secret)), secret);
    let selected = |out: String| -> String {
        let byte = |c: char| match u32::from(c) {
            low @ 0xfe00..=0xfe0f => Some(low - 0xfe00),
            high @ 0xe0100..=0xe01ef => Some(high - 0xe0100 + 16),
            _ => None,
        };
        out.chars().filter_map(byte).filter_map(char::from_u32).collect()
    };
    assert_eq!(selected(put_on("variation selectors behind an emoji", secret)), secret);
    assert_eq!(selected(put_on("variation selectors, one behind each letter of a sentence", secret)), secret);
    let bits = put_on("bits as zero-width space and non-joiner", "k");
    assert_eq!(bits.chars().map(|c| u32::from(c) - 0x200b).fold(0, |n, bit| n * 2 + bit), 0x6b);
}

#[test]
fn dumps_look_like_the_tools() {
    let dump = put_on("hexdump -C", "key_B7+Z");
    let first =
        "00000000  6d 79 20 74 6f 6b 65 6e  20 69 73 20 6b 65 79 5f  |my token is key_|\n00000010  42 37 ";
    assert!(dump.starts_with(first) && dump.ends_with("|B7+Z|"), "{dump}");
    let xxd = put_on("xxd", "key_B7+Z");
    let first = "00000000: 6d79 2074 6f6b 656e 2069 7320 6b65 795f  my token is key_\n00000010: 4237 2b5a ";
    assert!(xxd.starts_with(first) && xxd.ends_with(" B7+Z"), "{xxd}");
    assert!(put_on("hexdump in words, low byte first", "0123").starts_with("0000000 3130 3332"));
}

#[test]
fn one_in_the_middle_is_one() {
    assert_eq!(put_on("zero-width space in the middle", "key_B7"), "key\u{200b}_B7");
    assert_eq!(put_on("zero-width space after the first four", "key_B7"), "key_\u{200b}B7");
    assert_eq!(put_on("zero-width space before the last", "key_B7"), "key_B\u{200b}7");
    assert_eq!(put_on("\\u, the fifth", "key_B7"), "key_\\u00427");
    assert_eq!(put_on("soft line break after the first four", "key_B7"), "key_=\r\nB7");
    assert_eq!(put_on("adjacent literals, after the first four", "key_B7"), "'key_' 'B7'");
    assert_eq!(put_on("UTF-7, all", "A"), "+AEE-");
    let web = put_on("middle part of a web token", "key_B7");
    let middle = web.split('.').nth(1).unwrap();
    assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(middle).unwrap(), b"{\"sub\":\"key_B7\"}");
    let header = put_on("basic authorization", "key_B7");
    assert_eq!(BASE64_STANDARD.decode(header.rsplit(' ').next().unwrap()).unwrap(), b"git:key_B7");
}
