//! The colours of the stylesheet, checked for people who do not see well: text against its ground, edges against theirs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;

use holdfast_pages::assets;

type Tokens = BTreeMap<String, [f64; 3]>;

fn css() -> &'static str {
    let asset = assets().iter().find(|asset| asset.path.ends_with(".css")).unwrap();
    std::str::from_utf8(asset.bytes).unwrap()
}

/// The colours of the block that begins with this.
fn tokens(begins: &str) -> Tokens {
    let from = css().find(begins).unwrap_or_else(|| panic!("no {begins}"));
    let block = css()[from..].split('}').next().unwrap();
    let pair = |text: &str| {
        let (name, value) = text.trim().rsplit_once(": ")?;
        Some((name.rsplit("--").next()?.to_owned(), colour(value)?))
    };
    block.split(';').filter_map(pair).collect()
}

fn colour(text: &str) -> Option<[f64; 3]> {
    let hex = text.trim().strip_prefix('#')?;
    let wide: String =
        if hex.len() == 3 { hex.chars().flat_map(|c| [c, c]).collect() } else { hex.to_owned() };
    let part = |n: usize| u8::from_str_radix(wide.get(n..n + 2)?, 16).ok().map(|it| f64::from(it) / 255.0);
    Some([part(0)?, part(2)?, part(4)?])
}

/// WCAG 2: relative luminance and contrast.
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    let light = |c: [f64; 3]| 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn check(tokens: &Tokens, pairs: &[(&str, &str)], least: f64) {
    for (front, ground) in pairs {
        let ratio = contrast(tokens[*front], tokens[*ground]);
        assert!(ratio >= least, "{front} on {ground}: {ratio:.2}, wanted {least}");
    }
}

#[test]
fn every_text_can_be_read_and_every_edge_be_seen_in_both_themes() {
    for block in [":root {", ":root:not([data-theme=light]) {", ":root[data-theme=dark] {"] {
        let tokens = tokens(block);
        assert!(tokens.len() >= 11, "{block}: {tokens:?}");
        let mut texts = Vec::new();
        for ground in ["paper", "shore", "lift"] {
            texts.extend(["ink", "slate", "kelp", "buoy", "coral"].map(|front| (front, ground)));
        }
        check(&tokens, &texts, 4.5);
        check(&tokens, &[("on", "kelp"), ("on", "coral"), ("on", "buoy")], 4.5);
        check(&tokens, &[("edge", "paper"), ("edge", "shore"), ("edge", "lift")], 3.0);
    }
}

#[test]
fn the_two_ways_to_dark_are_the_same() {
    assert_eq!(tokens(":root:not([data-theme=light]) {"), tokens(":root[data-theme=dark] {"));
}
