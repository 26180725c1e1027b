//! Escapes of string literals and of documents.

use super::Disguise;
use super::place::Where::{self, All, Fifth, Head, Last, Middle, Third};
use super::place::{halves, insert, pieces, write, write_with};

pub(super) fn all() -> Vec<Disguise> {
    [literals(), documents()].concat()
}

/// What cannot stand raw between quotes; escapes that leave most characters alone still write these.
const MUST: &str = "\\\"'\n\r\t";

fn escaped(secret: &str, place: Where, way: impl Fn(u32) -> String) -> String {
    write(secret, place, MUST, |c| way(u32::from(c)))
}

fn u4(code: u32) -> String {
    format!("\\u{code:04x}")
}

fn x2(code: u32) -> String {
    format!("\\x{code:02x}")
}

fn literals() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "escape", put_on };
    vec![
        d("\\u, all", |s| escaped(s, All, u4)),
        d("\\u, all, upper-case hex", |s| escaped(s, All, |c| format!("\\u{c:04X}"))),
        d("\\u, every third", |s| escaped(s, Third, u4)),
        d("\\u, the middle one", |s| escaped(s, Middle, u4)),
        d("\\u, the fifth", |s| escaped(s, Fifth, u4)),
        d("\\u, the last", |s| escaped(s, Last, u4)),
        d("\\u, the first four", |s| escaped(s, Head, u4)),
        d("\\u with many u, as Java has it, all", |s| escaped(s, All, |c| format!("\\uuuu{c:04x}"))),
        d("\\u{}, all", |s| escaped(s, All, |c| format!("\\u{{{c:x}}}"))),
        d("\\u{} with zeros, every third", |s| escaped(s, Third, |c| format!("\\u{{{c:06X}}}"))),
        d("\\u{}, the fifth", |s| escaped(s, Fifth, |c| format!("\\u{{{c:x}}}"))),
        d("\\U, all", |s| escaped(s, All, |c| format!("\\U{c:08x}"))),
        d("\\U, the middle one", |s| escaped(s, Middle, |c| format!("\\U{c:08X}"))),
        d("\\x, all", |s| escaped(s, All, x2)),
        d("\\x, all, upper-case hex", |s| escaped(s, All, |c| format!("\\x{c:02X}"))),
        d("\\x, the middle one", |s| escaped(s, Middle, x2)),
        d("\\x, the fifth", |s| escaped(s, Fifth, x2)),
        d("\\x, the last", |s| escaped(s, Last, x2)),
        d("\\x{}, as Perl has it, all", |s| escaped(s, All, |c| format!("\\x{{{c:x}}}"))),
        d("octal, all", |s| escaped(s, All, |c| format!("\\{c:03o}"))),
        d("octal, the middle one", |s| escaped(s, Middle, |c| format!("\\{c:03o}"))),
        d("octal with a leading zero, as echo has it, all", |s| escaped(s, All, |c| format!("\\0{c:03o}"))),
        d("octal \\o{}, all", |s| escaped(s, All, |c| format!("\\o{{{c:o}}}"))),
        d("\\N{} with the names of the letters, all", |s| escaped(s, All, named)),
        d("\\N{} with the name of the letter, the fifth", |s| escaped(s, Fifth, named)),
        d("\\N{U+}, as Perl has it, all", |s| escaped(s, All, |c| format!("\\N{{U+{c:04X}}}"))),
        d("\\u, \\x, octal and \\U in turn", |s| {
            write_with(s, All, "", |at, c| {
                let c = u32::from(c);
                [u4(c), x2(c), format!("\\{c:03o}"), format!("\\U{c:08x}")][at % 4].clone()
            })
        }),
        d("\\u, doubly escaped, all", |s| escaped(s, All, |c| format!("\\\\u{c:04x}"))),
        d("\\u, doubly escaped, the middle one", |s| escaped(s, Middle, |c| format!("\\\\u{c:04x}"))),
        d("\\u, trebly escaped, every third", |s| escaped(s, Third, |c| format!("\\\\\\\\u{c:04x}"))),
        d("\\u with its backslash escaped as \\u, all", |s| escaped(s, All, |c| format!("\\u005cu{c:04x}"))),
        d("\\x, doubly escaped, all", |s| escaped(s, All, |c| format!("\\\\x{c:02x}"))),
        d("shell $'' with \\x, all", |s| format!("$'{}'", escaped(s, All, x2))),
        d("shell $'' with octal, the middle one", |s| {
            format!("$'{}'", escaped(s, Middle, |c| format!("\\{c:03o}")))
        }),
        d("printf of octal", |s| format!("printf '{}'", escaped(s, All, |c| format!("\\{c:03o}")))),
        d("JSON string with \\u, the middle one", |s| {
            format!("{{\"token\": \"{}\"}}", escaped(s, Middle, u4))
        }),
        d("Python bytes with \\x, all", |s| format!("b'{}'", escaped(s, All, x2))),
        d("backslashes JavaScript takes away", |s| {
            write(s, All, "", |c| match c {
                'b' | 'f' | 'n' | 'r' | 't' | 'v' | 'u' | 'x' | '0'..='9' => c.to_string(),
                '\n' => "\\n".to_owned(),
                _ => format!("\\{c}"),
            })
        }),
        d("PowerShell `u{}, all", |s| write(s, All, "", |c| format!("`u{{{:x}}}", u32::from(c)))),
        d("SQL U&'' with backslashes, all", |s| {
            format!("U&'{}'", write(s, All, "", |c| format!("\\{:04X}", u32::from(c))))
        }),
        d("SQL U&'' with \\+, the middle one", |s| {
            format!("U&'{}'", write(s, Middle, "\\'", |c| format!("\\+{:06x}", u32::from(c))))
        }),
    ]
}

/// As Unicode calls it; marks that have longer names keep to `\x`.
fn named(code: u32) -> String {
    const DIGITS: [&str; 10] =
        ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"];
    match char::from_u32(code).unwrap_or_default() {
        c @ 'A'..='Z' => format!("\\N{{LATIN CAPITAL LETTER {c}}}"),
        c @ 'a'..='z' => format!("\\N{{LATIN SMALL LETTER {}}}", c.to_ascii_uppercase()),
        c @ '0'..='9' => format!("\\N{{DIGIT {}}}", DIGITS[c as usize - '0' as usize]),
        '_' => "\\N{LOW LINE}".to_owned(),
        '-' => "\\N{HYPHEN-MINUS}".to_owned(),
        _ => x2(code),
    }
}

fn documents() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "document", put_on };
    vec![
        d("CSS escapes with a blank, all", |s| css(s, All, |c| format!("\\{c:x} "))),
        d("CSS escapes of six digits, all", |s| css(s, All, |c| format!("\\{c:06x}"))),
        d("CSS escape, the middle one", |s| css(s, Middle, |c| format!("\\{c:x} "))),
        d("CSS escape of six digits, the fifth", |s| css(s, Fifth, |c| format!("\\{c:06X}"))),
        d("CSS content of a rule", |s| {
            format!(".k::after{{content:\"{}\"}}", css(s, All, |c| format!("\\{c:04X} ")))
        }),
        d("Markdown backslashes before the marks", |s| {
            let out = write(s, All, "", |c| match c {
                _ if c.is_ascii_punctuation() => format!("\\{c}"),
                _ => c.to_string(),
            });
            if out == s { write(s, Middle, "", |c| format!("&#{};", u32::from(c))) } else { out }
        }),
        d("Markdown bold around one letter in the middle", |s| write(s, Middle, "", |c| format!("**{c}**"))),
        d("Markdown bold around every third", |s| write(s, Third, "", |c| format!("**{c}**"))),
        d("Markdown code spans, two side by side", |s| {
            let (one, two) = halves(s);
            format!("`{one}`<!-- -->`{two}`")
        }),
        d("LaTeX empty groups between all", |s| {
            pieces(s, 1).iter().map(|p| latex(p)).collect::<Vec<_>>().join("{}")
        }),
        d("LaTeX \\char, all", |s| write(s, All, "", |c| format!("\\char\"{:X} ", u32::from(c)))),
        d("TeX ^^, the middle one", |s| write(s, Middle, "", |c| format!("^^{:02x}", u32::from(c)))),
        d("RTF \\', all", |s| write(s, All, "", |c| format!("\\'{:02x}", u32::from(c)))),
        d("RTF \\u with a stand-in, all", |s| write(s, All, "", |c| format!("\\u{}?", u32::from(c)))),
        d("RTF groups in the middle", |s| insert(s, Middle, "}{\\b0 ")),
        d("PDF string in octal", |s| {
            format!("({}) Tj", write(s, All, "", |c| format!("\\{:03o}", u32::from(c))))
        }),
        d("PDF string of hex", |s| {
            format!("<{}> Tj", write(s, All, "", |c| format!("{:02X}", u32::from(c))))
        }),
        d("PDF strings kerned in one array", |s| {
            let pieces = pieces(s, 3).into_iter().map(|piece| {
                format!(
                    "({})",
                    write(&piece, All, "", |c| match c {
                        '(' | ')' | '\\' => format!("\\{c}"),
                        _ => c.to_string(),
                    })
                )
            });
            format!("[{}] TJ", pieces.collect::<Vec<_>>().join("-12"))
        }),
    ]
}

fn css(secret: &str, place: Where, way: impl Fn(u32) -> String) -> String {
    write(secret, place, "\\\"'\n", |c| way(u32::from(c)))
}

/// One character.
fn latex(c: &str) -> String {
    match c {
        "\\" => "\\textbackslash".to_owned(),
        "~" | "^" => format!("\\{c}{{}}"),
        _ if "_#$%&{}".contains(c) => format!("\\{c}"),
        _ => c.to_owned(),
    }
}
