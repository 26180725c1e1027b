//! Passwords: those people think up, and those a manager rolls.
//!
//! The words end in what a password may hold there: `pw` fits between quotes of any kind, `pw.plain` also stands bare in
//! YAML, XML and properties, `pw.url` in an address.

use crate::rng::Rng;

const WORDS: &[&str] = &[
    "winter", "sledge", "harbor", "falcon", "copper", "meadow", "thunder", "pickle", "orchid", "granite",
    "walnut", "saffron", "lantern", "badger", "velvet", "tundra", "mango", "bishop", "cobalt", "juniper",
    "rocket", "pepper", "dragon", "otter", "summit", "marble", "violet", "hammer", "breeze", "cactus",
    "domino", "ember", "fjord", "ginger",
];
const SEASONS: &[&str] =
    &["Spring", "Summer", "Autumn", "Winter", "Monday", "October", "Berlin", "Lisbon", "Kraken"];

pub(crate) fn draw(rng: &mut Rng, name: &str) -> Option<String> {
    let punctuation = match name {
        "pw" | "pw.human" | "pw.random" => "!@#%^*-_=+?.~",
        "pw.plain" => "!-_.+*^~",
        "pw.url" => "-_.~!*",
        "secret.hex" => return Some(hex(rng)),
        "secret.key" => return Some(key(rng)),
        _ => return None,
    };
    let human = match name {
        "pw.human" => true,
        "pw.random" => false,
        _ => rng.percent(45),
    };
    Some(if human { thought_up(rng, punctuation) } else { rolled(rng, punctuation) })
}

fn thought_up(rng: &mut Rng, punctuation: &str) -> String {
    let mark = rng.text(punctuation, 1);
    let (one, two) = (rng.word(WORDS), rng.word(WORDS));
    let number = rng.within(2..=99);
    match rng.below(6) {
        0 => format!("{one}-{}-{number}", capital(two)),
        1 => format!("{}{}{mark}", rng.word(SEASONS), rng.within(2016..=2026)),
        2 => format!("{}{mark}{number}", leet(&capital(one))),
        3 => format!("{}{}{number}{mark}", capital(one), capital(two)),
        4 => format!("{one}.{two}.{}", rng.word(WORDS)),
        _ => format!("{}{mark}{}{}", leet(one), capital(two), rng.within(100..=999)),
    }
}

fn rolled(rng: &mut Rng, punctuation: &str) -> String {
    let alnum = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";
    let alphabet = if rng.percent(50) { alnum.to_owned() } else { format!("{alnum}{punctuation}") };
    let len = rng.within(11..=23);
    // A letter at each end and a digit: what a manager's rules ask for, and safe wherever marks are not.
    format!(
        "{}{}{}{}",
        rng.text("abcdefghkmnpqrstuvwxyz", 1),
        rng.text(&alphabet, len),
        rng.text("23456789", 1),
        rng.text("ABCDEFGHKM", 1)
    )
}

fn hex(rng: &mut Rng) -> String {
    let len = *rng.pick(&[32, 40, 64]);
    rng.text("0123456789abcdef", len)
}

fn key(rng: &mut Rng) -> String {
    let len = rng.within(28..=48);
    rng.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", len)
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

fn leet(word: &str) -> String {
    word.replace('o', "0").replace('e', "3").replace('a', "4").replacen('i', "1", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_fit_where_they_are_put() {
        let mut rng = Rng::new(5);
        for _ in 0..500 {
            let url = draw(&mut rng, "pw.url").unwrap();
            assert!(!url.contains(['@', ':', '/', '?', '#', '%', '&']), "{url}");
            let plain = draw(&mut rng, "pw.plain").unwrap();
            assert!(plain.starts_with(|c: char| c.is_ascii_alphanumeric()), "{plain}");
            assert!(!plain.contains(['<', '&', '#', ':', '"', '\'', '\\', '$']), "{plain}");
            let any = draw(&mut rng, "pw").unwrap();
            assert!(any.len() >= 7 && !any.contains(['"', '\'', '\\', '$', '`']), "{any}");
        }
    }
}
