//! What mail does to text: quoted-printable, encoded words, continued parameters, UTF-7.

use super::Disguise;
use super::place::Where::{self, All, Fifth, Last, Middle, Third};
use super::place::{insert_in, pieces, write};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};

/// As quoted-printable what the place hits, and what would be taken for its own.
fn quoted(secret: &str, place: Where) -> String {
    write(secret, place, "=", |c| format!("={:02X}", u32::from(c)))
}

/// With soft line breaks.
fn broken(secret: &str, place: Where, what: &str) -> String {
    insert_in(secret, place, what, |text| text.replace('=', "=3D"))
}

pub(super) fn all() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "mail", put_on };
    vec![
        d("quoted-printable, all", |s| quoted(s, All)),
        d("quoted-printable, all, lower-case", |s| write(s, All, "", |c| format!("={:02x}", u32::from(c)))),
        d("quoted-printable, every third", |s| quoted(s, Third)),
        d("quoted-printable, the middle one", |s| quoted(s, Middle)),
        d("quoted-printable, the fifth", |s| quoted(s, Fifth)),
        d("quoted-printable, the last", |s| quoted(s, Last)),
        d("soft line break in the middle", |s| broken(s, Middle, "=\n")),
        d("soft line break after the first four", |s| broken(s, Fifth, "=\r\n")),
        d("soft line break before the last", |s| broken(s, Last, "=\n")),
        d("soft line breaks between every third", |s| broken(s, Third, "=\r\n")),
        d("soft line break with blanks behind it", |s| broken(s, Middle, "= \t\r\n")),
        d("quoted-printable, all, wrapped at 75", |s| pieces(&quoted(s, All), 75).join("=\r\n")),
        d("encoded word Q, all", |s| format!("=?utf-8?Q?{}?=", quoted(s, All))),
        d("encoded word Q, the middle one", |s| {
            format!("=?us-ascii?q?{}?=", write(s, Middle, "=?_\n", |c| format!("={:02X}", u32::from(c))))
        }),
        d("encoded word B", |s| format!("=?UTF-8?B?{}?=", BASE64_STANDARD.encode(s))),
        d("encoded words B, folded", |s| {
            let word = |piece: &String| format!("=?utf-8?b?{}?=", BASE64_STANDARD.encode(piece));
            pieces(s, 10).iter().map(word).collect::<Vec<_>>().join("\r\n ")
        }),
        d("encoded words Q and B in turn, with a language", |s| {
            let word = |(at, piece): (usize, &String)| match at % 2 {
                0 => format!("=?utf-8*en?Q?{}?=", quoted(piece, All)),
                _ => format!("=?utf-8?B?{}?=", BASE64_STANDARD.encode(piece)),
            };
            pieces(s, 7).iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
        }),
        d("extended parameter", |s| {
            let value = write(s, All, "", |c| format!("%{:02X}", u32::from(c)));
            format!("Content-Disposition: attachment; filename*=UTF-8''{value}")
        }),
        d("parameter continued over lines", |s| {
            let quoted = |s: &str| s.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\\n");
            let part = |(at, piece): (usize, &String)| format!("filename*{at}=\"{}\"", quoted(piece));
            let parts = pieces(s, 5).iter().enumerate().map(part).collect::<Vec<_>>();
            format!("Content-Disposition: attachment;\r\n {}", parts.join(";\r\n "))
        }),
        d("UTF-7, all", utf7),
        d("UTF-7, the middle one", |s| write(s, Middle, "+\\~", |c| utf7(&c.to_string()))),
        d("UTF-7, the fifth", |s| write(s, Fifth, "+\\~", |c| utf7(&c.to_string()))),
    ]
}

fn utf7(text: &str) -> String {
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    format!("+{}-", BASE64_STANDARD_NO_PAD.encode(bytes))
}
