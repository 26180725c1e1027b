//! The bytes of a secret as hex, as base64, and in wide encodings.

use super::Disguise;
use super::place::Where::{All, Fifth, Last, Middle, Third};
use super::place::{halves, insert, pieces};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};

pub(super) fn all() -> Vec<Disguise> {
    [hexes(), base64s(), wides()].concat()
}

pub(super) fn hex(secret: &str) -> String {
    joined(secret, "")
}

fn joined(secret: &str, by: &str) -> String {
    secret.bytes().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(by)
}

fn hexes() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "hex", put_on };
    vec![
        d("hex", hex),
        d("hex, upper-case", |s| hex(s).to_uppercase()),
        d("hex with 0x before", |s| format!("0x{}", hex(s))),
        d("hex, spaced", |s| joined(s, " ")),
        d("hex, spaced, upper-case", |s| joined(s, " ").to_uppercase()),
        d("hex with colons", |s| joined(s, ":")),
        d("hex with hyphens, as .NET prints bytes", |s| joined(s, "-").to_uppercase()),
        d("hex with commas", |s| joined(s, ",")),
        d("hex, one byte to a line", |s| joined(s, "\n")),
        d("hex in fours", |s| pieces(&hex(s), 4).join(" ")),
        d("hex in eights", |s| pieces(&hex(s), 8).join(" ")),
        d("hex wrapped at 60", |s| pieces(&hex(s), 60).join("\n")),
        d("list of 0x", |s| format!("[{}]", list(s, ", ", |b| format!("0x{b:02x}")))),
        d("list of 0x, upper-case, tight", |s| format!("{{{}}}", list(s, ",", |b| format!("0X{b:02X}")))),
        d("C array, eight to a line", |s| {
            let lines = pieces(s, 8)
                .iter()
                .map(|p| format!("  {}", list(p, ", ", |b| format!("0x{b:02x}"))))
                .collect::<Vec<_>>();
            format!("unsigned char k[] = {{\n{}\n}};\nunsigned int k_len = {};", lines.join(",\n"), s.len())
        }),
        d("Go byte slice", |s| format!("[]byte{{{}}}", list(s, ", ", |b| format!("0x{b:x}")))),
        d("Node buffer as printed", |s| format!("<Buffer {}>", joined(s, " "))),
        d("assembler bytes with h", |s| format!("db {}", list(s, ",", |b| format!("0{b:02X}h")))),
        // Words before it, so that the column of letters breaks even a short secret in two.
        d("hexdump -C", |s| {
            dump(
                &format!("my token is {s}"),
                |at, hex, shown| format!("{at:08x}  {hex:<48}  |{shown}|"),
                (1, "  "),
            )
        }),
        d("xxd", |s| {
            dump(
                &format!("my token is {s}"),
                |at, hex, shown| format!("{at:08x}: {hex:<39}  {shown}"),
                (2, " "),
            )
        }),
        d("xxd without the letters", |s| dump(s, |at, hex, _| format!("{at:08x}: {hex}"), (2, " "))),
        d("od -tx1", |s| dump(s, |at, hex, _| format!("{at:07o} {hex}"), (1, " "))),
        d("hexdump in words, low byte first", |s| {
            let word = |two: &[u8]| format!("{:02x}{:02x}", two.get(1).unwrap_or(&0), two[0]);
            let line = |(at, row): (usize, &[u8])| {
                format!("{:07x} {}", at * 16, row.chunks(2).map(word).collect::<Vec<_>>().join(" "))
            };
            s.as_bytes().chunks(16).enumerate().map(line).collect::<Vec<_>>().join("\n")
        }),
        d("SQL X''", |s| format!("X'{}'", hex(s).to_uppercase())),
        d("PostgreSQL bytea", |s| format!("\\x{}", hex(s))),
        d("hex of hex", |s| hex(&hex(s))),
        d("hex of a longer text with the secret in it", |s| hex(&format!("token={s}\n"))),
    ]
}

fn list(secret: &str, by: &str, one: impl Fn(u8) -> String) -> String {
    secret.bytes().map(one).collect::<Vec<_>>().join(by)
}

/// Sixteen bytes to a row, so many to a group; a wider gap after the eighth.
fn dump(secret: &str, row: impl Fn(usize, String, String) -> String, (group, gap): (usize, &str)) -> String {
    let one = |(at, bytes): (usize, &[u8])| {
        let groups = |half: &[u8]| {
            half.chunks(group)
                .map(|g| g.iter().map(|b| format!("{b:02x}")).collect())
                .collect::<Vec<String>>()
                .join(" ")
        };
        let hex = bytes.chunks(8).map(groups).collect::<Vec<_>>().join(gap);
        let shown = bytes
            .iter()
            .map(|b| if b.is_ascii_graphic() || *b == b' ' { char::from(*b) } else { '.' })
            .collect();
        row(at * 16, hex, shown).trim_end().to_owned()
    };
    secret.as_bytes().chunks(16).enumerate().map(one).collect::<Vec<_>>().join("\n")
}

fn base64s() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "base64", put_on };
    vec![
        d("base64", |s| BASE64_STANDARD.encode(s)),
        d("base64 without padding", |s| BASE64_STANDARD_NO_PAD.encode(s)),
        d("base64, url-safe", |s| BASE64_URL_SAFE.encode(s)),
        d("base64, url-safe, without padding", |s| BASE64_URL_SAFE_NO_PAD.encode(s)),
        d("base64 wrapped at 76", |s| pieces(&BASE64_STANDARD.encode(s), 76).join("\n")),
        d("base64 wrapped at 76, CR LF", |s| pieces(&BASE64_STANDARD.encode(s), 76).join("\r\n") + "\r\n"),
        d("base64 wrapped at 20", |s| pieces(&BASE64_STANDARD.encode(s), 20).join("\n")),
        d("base64 indented, wrapped at 32", |s| {
            format!("|\n    {}", pieces(&BASE64_STANDARD.encode(s), 32).join("\n    "))
        }),
        d("base64 in fours", |s| pieces(&BASE64_STANDARD.encode(s), 4).join(" ")),
        d("base64 in armour", |s| {
            let body = pieces(&BASE64_STANDARD.encode(s), 64).join("\n");
            format!("-----BEGIN DATA-----\n{body}\n-----END DATA-----")
        }),
        d("base64 twice", |s| BASE64_STANDARD.encode(BASE64_STANDARD.encode(s))),
        d("base64 twice, url-safe without padding", |s| {
            BASE64_URL_SAFE_NO_PAD.encode(BASE64_URL_SAFE_NO_PAD.encode(s))
        }),
        d("base64 three times", |s| {
            BASE64_STANDARD.encode(BASE64_STANDARD.encode(BASE64_STANDARD.encode(s)))
        }),
        d("base64, one byte before", |s| BASE64_STANDARD.encode(format!(":{s}"))),
        d("base64, two bytes before", |s| BASE64_STANDARD.encode(format!("k={s}\n"))),
        d("basic authorization", |s| {
            format!("Authorization: Basic {}", BASE64_STANDARD.encode(format!("git:{s}")))
        }),
        d("base64 of JSON around it", |s| {
            let s = s.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            BASE64_STANDARD.encode(format!("{{\"user\":\"me\",\"token\":\"{s}\"}}"))
        }),
        d("middle part of a web token", |s| {
            let part = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
            let s = s.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{}.{}.{}", part("{\"alg\":\"none\"}"), part(&format!("{{\"sub\":\"{s}\"}}")), part("-"))
        }),
        d("data URL", |s| format!("data:text/plain;charset=utf-8;base64,{}", BASE64_STANDARD.encode(s))),
        d("shell line that decodes base64", |s| format!("echo {}|base64 -d", BASE64_STANDARD.encode(s))),
        d("base64 of three pieces, each padded, one after another", |s| {
            pieces(s, s.len().div_ceil(3)).iter().map(|p| BASE64_STANDARD.encode(p)).collect()
        }),
    ]
}

/// UTF-16 and UTF-32 read as single bytes.
fn wides() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "wide", put_on };
    fn each(secret: &str, before: &str, behind: &str) -> String {
        secret.chars().map(|c| format!("{before}{c}{behind}")).collect()
    }
    vec![
        d("UTF-16, low byte first", |s| each(s, "", "\0")),
        d("UTF-16, high byte first", |s| each(s, "\0", "")),
        d("UTF-16, low byte first, with its mark as Latin-1", |s| {
            format!("\u{ff}\u{fe}{}", each(s, "", "\0"))
        }),
        d("UTF-16, high byte first, with its mark read badly", |s| {
            format!("\u{fffd}\u{fffd}{}", each(s, "\0", ""))
        }),
        d("UTF-32, low byte first", |s| each(s, "", "\0\0\0")),
        d("UTF-32, high byte first", |s| each(s, "\0\0\0", "")),
        d("UTF-16, the second half only", |s| {
            let (one, two) = halves(s);
            format!("{one}{}", each(two, "", "\0"))
        }),
        d("NUL in the middle", |s| insert(s, Middle, "\0")),
        d("NUL after the first four", |s| insert(s, Fifth, "\0")),
        d("NUL before the last", |s| insert(s, Last, "\0")),
        d("NUL between every third", |s| insert(s, Third, "\0")),
        d("NUL between all, three hundred each", |s| insert(s, All, &"\0".repeat(300))),
    ]
}
