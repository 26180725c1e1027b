//! Two disguises, one over the other.

use super::Disguise;
use super::bytes::hex;
use super::forms::{self, math, wide};
use super::place::Where::{self, All, Fifth, Last, Middle, Third};
use super::place::{insert, insert_in, pieces, turn, write};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

pub(super) fn all() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "layered", put_on };
    vec![
        d("full-width with zero-width spaces", |s| insert(&turn(s, All, |_, c| wide(c)), All, "\u{200b}")),
        d("Cyrillic with soft hyphens", |s| {
            insert(&turn(s, All, |_, c| forms::of(forms::CYRILLIC, c)), Third, "\u{ad}")
        }),
        d("bold with a mark over all", |s| {
            insert(&turn(s, All, |_, c| math(forms::BOLD, c)), All, "\u{304}")
        }),
        d("zero-width space as \\u in the middle", |s| in_quotes(s, Middle, "\\u200b")),
        d("zero-width joiner as \\u between all", |s| in_quotes(s, All, "\\u200D")),
        d("soft hyphen as \\x after the first four", |s| in_quotes(s, Fifth, "\\xad")),
        d("NUL as \\u between all", |s| in_quotes(s, All, "\\u0000")),
        d("NUL as \\0 between every third", |s| in_quotes(s, Third, "\\000")),
        d("wrong letter and backspace as \\b in the middle", |s| in_quotes(s, Middle, "x\\b")),
        d("colour as \\u001b in the middle", |s| in_quotes(s, Middle, "\\u001b[0m")),
        d("colour as \\033 after the first four", |s| in_quotes(s, Fifth, "\\033[1;31m")),
        d("colour as \\e between every third", |s| in_quotes(s, Third, "\\e[m")),
        d("colour as \\x1b before the last", |s| in_quotes(s, Last, "\\x1b[0m")),
        d("full-width as \\u, all", |s| utf16(&turn(s, All, |_, c| wide(c)))),
        d("bold as two \\u each", |s| utf16(&turn(s, All, |_, c| math(forms::BOLD, c)))),
        d("tag characters as two \\u each", |s| {
            utf16(&s.chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect::<String>())
        }),
        d("bold as hex references", |s| {
            write(&turn(s, All, |_, c| math(forms::BOLD, c)), All, "", |c| format!("&#x{:x};", u32::from(c)))
        }),
        d("full-width as percent", |s| marked(&turn(s, All, |_, c| wide(c)), "%")),
        d("full-width as quoted-printable", |s| marked(&turn(s, All, |_, c| wide(c)), "=")),
        d("full-width as base64", |s| BASE64_STANDARD.encode(turn(s, All, |_, c| wide(c)))),
        d("zero-width spaces between all, as base64", |s| BASE64_STANDARD.encode(insert(s, All, "\u{200b}"))),
        d("percent of decimal references", |s| {
            marked(&write(s, All, "", |c| format!("&#{};", u32::from(c))), "%")
        }),
        d("percent with its sign as a reference", |s| {
            write(s, All, "", |c| format!("&#37;{:02x}", u32::from(c)))
        }),
        d("\\u with its backslash as a reference", |s| {
            write(s, All, "", |c| format!("&#92;u{:04x}", u32::from(c)))
        }),
        d("references as \\u", |s| write(s, Third, "&<>\\\"\n", |c| format!("\\u0026#{};", u32::from(c)))),
        d("base64 of hex", |s| BASE64_STANDARD.encode(hex(s))),
        d("hex of base64", |s| hex(&BASE64_STANDARD.encode(s))),
        d("base64 of percent", |s| BASE64_STANDARD.encode(marked(s, "%"))),
        d("percent of base64", |s| marked(&BASE64_STANDARD.encode(s), "%")),
        d("base64 of UTF-16, as PowerShell takes it", |s| {
            BASE64_STANDARD.encode(s.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
        }),
        d("hex of UTF-16", |s| s.encode_utf16().map(|u| format!("{:02x}00", u)).collect()),
        d("base64 with a zero-width space in the middle", |s| {
            insert(&BASE64_STANDARD.encode(s), Middle, "\u{200b}")
        }),
        d("base64 with soft line breaks", |s| {
            pieces(&BASE64_STANDARD.encode(s).replace('=', "=3D"), 16).join("=\r\n")
        }),
        d("base64 with colour off between every third", |s| {
            insert(&BASE64_STANDARD.encode(s), Third, "\u{1b}[m")
        }),
        d("base64 with \\n between pieces of twenty", |s| pieces(&BASE64_STANDARD.encode(s), 20).join("\\n")),
        d("base64 joined of two literals", |s| {
            let text = BASE64_STANDARD.encode(s);
            let (one, two) = super::place::halves(&text);
            format!("\"{one}\" + \"{two}\"")
        }),
        d("base64 in full-width letters", |s| turn(&BASE64_STANDARD.encode(s), All, |_, c| wide(c))),
        d("hex with zero-width spaces between bytes", |s| pieces(&hex(s), 2).join("\u{200b}")),
        d("hex joined of two literals", |s| {
            let text = hex(s);
            format!("\"{}\" + \"{}\"", &text[..s.len()], &text[s.len()..])
        }),
        d("plus, the second half from base64", |s| {
            let (one, two) = super::place::halves(s);
            format!("{one:?} + atob(\"{}\")", BASE64_STANDARD.encode(two))
        }),
        d("plus, the second half from hex", |s| {
            let (one, two) = super::place::halves(s);
            format!("{one:?} + bytes.fromhex(\"{}\").decode()", hex(two))
        }),
        d("hex in full-width digits", |s| turn(&hex(s), All, |_, c| wide(c))),
        d("literals joined, each of \\x", |s| {
            let one =
                |p: &String| format!("\"{}\"", p.bytes().map(|b| format!("\\x{b:02x}")).collect::<String>());
            pieces(s, 4).iter().map(one).collect::<Vec<_>>().join(" + ")
        }),
        d("JSON inside JSON with \\u, the middle one", |s| {
            let text = write(s, Middle, "\\\"\n", |c| format!("\\\\u{:04x}", u32::from(c)));
            format!("{{\"body\":\"{{\\\"token\\\":\\\"{text}\\\"}}\"}}")
        }),
        d("highlighted in a page, and each with a soft hyphen", |s| {
            write(s, All, "", |c| format!("<b>&#{};</b>&shy;", u32::from(c)))
        }),
    ]
}

/// Sets an escape between characters, and escapes what cannot stand between quotes beside it.
fn in_quotes(secret: &str, place: Where, what: &str) -> String {
    let ready = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    insert_in(secret, place, what, ready)
}

/// All bytes of its UTF-8 in hex, the sign before each.
fn marked(text: &str, sign: &str) -> String {
    text.bytes().map(|b| format!("{sign}{b:02X}")).collect()
}

fn utf16(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}
