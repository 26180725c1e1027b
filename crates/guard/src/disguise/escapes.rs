//! Characters written by number or by name: escapes of literals, references of markup, percent signs, quoted-printable.
//!
//! Every function is given the text from an escape on and says how many bytes it takes and what it reads as.

/// How many bytes an escape takes, and what they read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Escape {
    pub(super) length: usize,
    pub(super) reads: Reads,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    Nothing,
    Char(char),
    /// A byte of a longer character, perhaps.
    Byte(u8),
}

impl Escape {
    fn new(length: usize, reads: Reads) -> Escape {
        Escape { length, reads }
    }

    fn code(length: usize, code: u32) -> Option<Escape> {
        char::from_u32(code).map(|c| Escape::new(length, Reads::Char(c)))
    }
}

/// How backslashes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backslash {
    /// As in the literals of most languages: `\n` is a new line, `\101` is octal.
    Literal,
    /// As in style sheets and in SQL: hex digits follow, and a blank may end them.
    Hex,
    /// As in a shell's word: whatever follows is itself.
    Bare,
}

/// Longer numbers and names than these are none.
const MOST_DIGITS: usize = 64;
const LONGEST_NAME: usize = 48;

fn digits(text: &[u8], most: usize, is_digit: impl Fn(&u8) -> bool) -> &[u8] {
    let length = text.iter().take(most).take_while(|b| is_digit(b)).count();
    &text[..length]
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = str::from_utf8(digits).ok()?.trim_start_matches('0');
    if digits.is_empty() { Some(0) } else { u32::from_str_radix(digits, radix).ok() }
}

fn hex(text: &[u8], least: usize, most: usize) -> Option<(usize, u32)> {
    let digits = digits(text, most, u8::is_ascii_hexdigit);
    if digits.len() < least { None } else { Some((digits.len(), number(digits, 16)?)) }
}

fn octal(text: &[u8], most: usize) -> &[u8] {
    digits(text, most, |b| matches!(b, b'0'..=b'7'))
}

/// `{…}` with a number inside: how many bytes, and the number.
fn braced(text: &[u8], radix: u32) -> Option<(usize, u32)> {
    let inner = text.strip_prefix(b"{")?;
    let digits = digits(inner, MOST_DIGITS, |b| (*b as char).is_digit(radix));
    (!digits.is_empty() && inner.get(digits.len()) == Some(&b'}'))
        .then(|| number(digits, radix))
        .flatten()
        .map(|code| (digits.len() + 2, code))
}

/// At a backslash.
pub(super) fn backslash(text: &[u8], meant: Backslash) -> Option<Escape> {
    match meant {
        Backslash::Literal => literal(text),
        Backslash::Hex => style(text).or_else(|| literal(text)),
        Backslash::Bare => {
            let next = *text.get(1)?;
            next.is_ascii_graphic().then(|| Escape::new(2, Reads::Char(next as char)))
        }
    }
}

/// An escape of style sheets or of SQL: up to six hex digits, and a blank that ends them; or `\+` and six.
fn style(text: &[u8]) -> Option<Escape> {
    if text.get(1) == Some(&b'+') {
        let (length, code) = hex(&text[2..], 6, 6)?;
        return Escape::code(2 + length, code);
    }
    let (length, code) = hex(&text[1..], 2, 6)?;
    let blank = usize::from(matches!(text.get(1 + length), Some(b' ' | b'\t' | b'\n')));
    Escape::code(1 + length + blank, code)
}

fn literal(text: &[u8]) -> Option<Escape> {
    // However often a backslash was escaped itself.
    let slashes = digits(text, MOST_DIGITS, |b| *b == b'\\').len();
    let rest = &text[slashes..];
    let kind = *rest.first()?;
    let after = &rest[1..];
    let head = slashes + 1;
    let of = |part: Option<(usize, u32)>| part.and_then(|(length, code)| Escape::code(head + length, code));
    let escape = match kind {
        b'u' => unit(after).or_else(|| braced(after, 16)).or_else(|| of_rtf(after)),
        b'U' => hex(after, 8, 8),
        b'x' => braced(after, 16).or_else(|| hex(after, 2, 2)),
        b'o' => braced(after, 8),
        b'N' => named(after),
        b'+' if slashes == 1 => hex(after, 6, 6),
        b'\'' if slashes == 1 => hex(after, 2, 2),
        b'c' if after.starts_with(b"har\"") => hex(&after[4..], 1, 6).map(|(length, code)| {
            let blank = usize::from(after.get(4 + length) == Some(&b' '));
            (4 + length + blank, code)
        }),
        b'0'..=b'7' => {
            return octal_escape(rest).map(|(length, code)| Escape { length: slashes + length, reads: code });
        }
        _ => None,
    };
    if let Some(escape) = of(escape) {
        return Some(escape);
    }
    if slashes > 1 {
        // Two of them are one that is meant.
        return Some(Escape::new(2, Reads::Char('\\')));
    }
    letter(kind, after)
}

/// What a backslash and one more character say.
fn letter(kind: u8, after: &[u8]) -> Option<Escape> {
    let blanks = |text: &[u8]| text.iter().take(LONGEST_NAME).take_while(|b| b.is_ascii_whitespace()).count();
    let escape = match kind {
        b'n' | b'r' => Escape::new(2, Reads::Char('\n')),
        b't' => Escape::new(2, Reads::Char('\t')),
        b'b' => Escape::new(2, Reads::Char('\u{8}')),
        b'e' => Escape::new(2, Reads::Char('\u{1b}')),
        b'a' | b'f' | b'v' | b'&' => Escape::new(2, Reads::Nothing),
        b'z' => Escape::new(2 + blanks(after), Reads::Nothing),
        // A line that is continued.
        b'\n' => Escape::new(2 + blanks(after), Reads::Nothing),
        b'\r' if after.first() == Some(&b'\n') => Escape::new(3 + blanks(&after[1..]), Reads::Nothing),
        _ if kind.is_ascii_graphic() => Escape::new(2, Reads::Char(kind as char)),
        _ => return None,
    };
    Some(escape)
}

/// Four hex digits after any number of `u`; two of them in a row where a character takes a pair.
fn unit(after: &[u8]) -> Option<(usize, u32)> {
    let more = digits(after, MOST_DIGITS, |b| *b == b'u').len();
    let (length, code) = hex(&after[more..], 4, 4)?;
    let length = more + length;
    if !(0xd800..0xdc00).contains(&code) {
        return Some((length, code));
    }
    let low = &after[length..];
    let slashes = digits(low, MOST_DIGITS, |b| *b == b'\\').len();
    let rest = low.get(slashes..).filter(|_| slashes > 0)?.strip_prefix(b"u")?;
    let (digits, second) = hex(rest, 4, 4)?;
    (0xdc00..0xe000)
        .contains(&second)
        .then(|| (length + slashes + 1 + digits, 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00)))
}

/// A decimal number and a stand-in for readers that do not know it.
fn of_rtf(after: &[u8]) -> Option<(usize, u32)> {
    let digits = digits(after, 5, u8::is_ascii_digit);
    (!digits.is_empty() && after.get(digits.len()) == Some(&b'?'))
        .then(|| number(digits, 10))
        .flatten()
        .map(|code| (digits.len() + 1, code))
}

/// One to three octal digits; after a nought, as `echo` has it, three more.
fn octal_escape(text: &[u8]) -> Option<(usize, Reads)> {
    let reads = |code: u32| match u8::try_from(code) {
        Ok(byte @ 0x80..) => Some(Reads::Byte(byte)),
        Ok(byte) => Some(Reads::Char(byte as char)),
        Err(_) => None,
    };
    if text[0] == b'0' {
        let four = octal(text, 4);
        let code = number(four, 8).filter(|code| four.len() == 4 && (0x20..0x7f).contains(code));
        if let Some(code) = code {
            return Some((4, reads(code)?));
        }
    }
    let three = octal(text, 3);
    Some((three.len(), reads(number(three, 8)?)?))
}

/// `{LATIN SMALL LETTER A}` or `{U+61}`.
fn named(after: &[u8]) -> Option<(usize, u32)> {
    let inner = after.strip_prefix(b"{")?;
    let length = inner.iter().take(LONGEST_NAME).position(|b| *b == b'}')?;
    let name = str::from_utf8(&inner[..length]).ok()?.to_ascii_uppercase();
    let letter =
        |prefix: &str| name.strip_prefix(prefix).filter(|l| l.len() == 1).and_then(|l| l.chars().next());
    let code = if let Some(digits) = name.strip_prefix("U+") {
        u32::from_str_radix(digits, 16).ok()?
    } else if let Some(small) = letter("LATIN SMALL LETTER ") {
        small.to_ascii_lowercase().into()
    } else if let Some(capital) = letter("LATIN CAPITAL LETTER ") {
        capital.into()
    } else if let Some(digit) = name.strip_prefix("DIGIT ") {
        let names = ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"];
        0x30 + names.iter().position(|n| *n == digit)? as u32
    } else {
        let marks = [
            ("LOW LINE", '_'),
            ("HYPHEN-MINUS", '-'),
            ("FULL STOP", '.'),
            ("SOLIDUS", '/'),
            ("PLUS SIGN", '+'),
            ("EQUALS SIGN", '='),
            ("COLON", ':'),
            ("COMMERCIAL AT", '@'),
            ("ZERO WIDTH SPACE", '\u{200b}'),
            ("ZERO WIDTH JOINER", '\u{200d}'),
            ("SOFT HYPHEN", '\u{ad}'),
        ];
        marks.iter().find(|(mark, _)| *mark == name)?.1.into()
    };
    Some((length + 2, code))
}

/// At an ampersand.
pub(super) fn reference(text: &[u8]) -> Option<Escape> {
    let ends = |length: usize| length + usize::from(text.get(length) == Some(&b';'));
    if text.get(1) == Some(&b'#') {
        let (length, code) = match text.get(2)? {
            b'x' | b'X' => {
                let digits = digits(&text[3..], MOST_DIGITS, u8::is_ascii_hexdigit);
                (3 + digits.len(), number(digits, 16).filter(|_| !digits.is_empty())?)
            }
            _ => {
                let digits = digits(&text[2..], MOST_DIGITS, u8::is_ascii_digit);
                (2 + digits.len(), number(digits, 10).filter(|_| !digits.is_empty())?)
            }
        };
        return Escape::code(ends(length), code);
    }
    let name = digits(&text[1..], LONGEST_NAME, u8::is_ascii_alphanumeric);
    if text.get(1 + name.len()) != Some(&b';') {
        return None;
    }
    let reads = match str::from_utf8(name).ok()? {
        "shy"
        | "zwj"
        | "zwnj"
        | "lrm"
        | "rlm"
        | "NoBreak"
        | "ZeroWidthSpace"
        | "InvisibleTimes"
        | "InvisibleComma"
        | "ApplyFunction"
        | "NegativeThinSpace"
        | "NegativeMediumSpace"
        | "NegativeThickSpace"
        | "NegativeVeryThinSpace"
        | "it"
        | "ic"
        | "af" => Reads::Nothing,
        name => Reads::Char(mark_named(name).or_else(|| letter_named(name))?),
    };
    Some(Escape::new(name.len() + 2, reads))
}

fn mark_named(name: &str) -> Option<char> {
    Some(match name {
        "amp" | "AMP" => '&',
        "lt" | "LT" => '<',
        "gt" | "GT" => '>',
        "quot" | "QUOT" => '"',
        "apos" => '\'',
        "lowbar" | "UnderBar" => '_',
        "period" => '.',
        "comma" => ',',
        "sol" => '/',
        "bsol" => '\\',
        "plus" => '+',
        "equals" => '=',
        "colon" => ':',
        "semi" => ';',
        "commat" => '@',
        "excl" => '!',
        "quest" => '?',
        "num" => '#',
        "dollar" => '$',
        "percnt" => '%',
        "ast" | "midast" => '*',
        "lpar" => '(',
        "rpar" => ')',
        "lsqb" | "lbrack" => '[',
        "rsqb" | "rbrack" => ']',
        "lcub" | "lbrace" => '{',
        "rcub" | "rbrace" => '}',
        "verbar" | "vert" | "VerticalLine" => '|',
        "Hat" => '^',
        "grave" | "DiacriticalGrave" => '`',
        "hyphen" | "dash" => '-',
        "NewLine" => '\n',
        "Tab" => '\t',
        "nbsp" => ' ',
        _ => return None,
    })
}

/// A letter of one of the alphabets of mathematics: `gscr`, `Gopf`, `gfr`.
fn letter_named(name: &str) -> Option<char> {
    let letter = name.chars().next()?;
    (letter.is_ascii_alphabetic() && matches!(&name[1..], "scr" | "opf" | "fr")).then_some(letter)
}

/// At a percent sign.
pub(super) fn percent(text: &[u8]) -> Option<Escape> {
    if matches!(text.get(1), Some(b'u' | b'U')) {
        let (length, code) = hex(&text[2..], 4, 4)?;
        return Escape::code(2 + length, code);
    }
    let (length, byte) = hex(&text[1..], 2, 2)?;
    Some(Escape::new(1 + length, byte_reads(byte as u8)))
}

fn byte_reads(byte: u8) -> Reads {
    if byte < 0x80 { Reads::Char(byte as char) } else { Reads::Byte(byte) }
}

/// At an equals sign, in mail: two hex digits, or a line that is continued.
pub(super) fn quoted_printable(text: &[u8]) -> Option<Escape> {
    if let Some((length, byte)) = hex(text.get(1..)?, 2, 2) {
        return Some(Escape::new(1 + length, byte_reads(byte as u8)));
    }
    let blanks = digits(&text[1..], LONGEST_NAME, |b| matches!(b, b' ' | b'\t')).len();
    let line = &text[1 + blanks..];
    let length = if line.starts_with(b"\r\n") {
        2
    } else if line.starts_with(b"\n") {
        1
    } else {
        return None;
    };
    Some(Escape::new(1 + blanks + length, Reads::Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(read: impl Fn(&[u8]) -> Option<Escape>, text: &str, length: usize, reads: Reads) {
        assert_eq!(read(text.as_bytes()), Some(Escape { length, reads }), "{text}");
    }

    #[test]
    fn literals() {
        let read = |text: &[u8]| backslash(text, Backslash::Literal);
        for (text, length, c) in [
            (r"\u0067hp", 6, 'g'),
            (r"\uuu0067", 8, 'g'),
            (r"\u{67}", 6, 'g'),
            (r"\u{000067}", 10, 'g'),
            (r"\\\\u0067", 9, 'g'),
            (r"\U00000067", 10, 'g'),
            (r"\x67", 4, 'g'),
            (r"\x{67}", 6, 'g'),
            (r"\147hp", 4, 'g'),
            (r"\0147", 5, 'g'),
            (r"\o{147}", 7, 'g'),
            (r"\N{LATIN SMALL LETTER G}", 24, 'g'),
            (r"\N{U+67}", 8, 'g'),
            (r"\ud835\udd64", 12, '𝕤'),
            (r"\u103?", 6, 'g'),
            (r"\'67", 4, 'g'),
            (r#"\char"67 "#, 9, 'g'),
            (r"\n", 2, '\n'),
            (r"\_", 2, '_'),
            (r"\\n", 2, '\\'),
            (r"\00012", 4, '\0'),
        ] {
            check(read, text, length, Reads::Char(c));
        }
        check(read, "\\\n   x", 5, Reads::Nothing);
        check(read, r"\377", 4, Reads::Byte(255));
        assert_eq!(read(b"\\"), None);
    }

    #[test]
    fn backslashes_that_are_meant_in_other_ways() {
        check(|t| backslash(t, Backslash::Hex), r"\67 hp", 4, Reads::Char('g'));
        check(|t| backslash(t, Backslash::Hex), r"\000067hp", 7, Reads::Char('g'));
        check(|t| backslash(t, Backslash::Hex), r"\+000067", 8, Reads::Char('g'));
        check(|t| backslash(t, Backslash::Bare), r"\n", 2, Reads::Char('n'));
    }

    #[test]
    fn references_and_percent_signs_and_mail() {
        check(reference, "&#103;", 6, Reads::Char('g'));
        check(reference, "&#0000103hp", 9, Reads::Char('g'));
        check(reference, "&#X67;", 6, Reads::Char('g'));
        check(reference, "&lowbar;", 8, Reads::Char('_'));
        check(reference, "&gscr;", 6, Reads::Char('g'));
        check(reference, "&shy;", 5, Reads::Nothing);
        check(percent, "%67", 3, Reads::Char('g'));
        check(percent, "%u0067", 6, Reads::Char('g'));
        check(percent, "%e2", 3, Reads::Byte(0xe2));
        check(quoted_printable, "=5Fx", 3, Reads::Char('_'));
        check(quoted_printable, "= \t\r\nx", 5, Reads::Nothing);
        for text in ["&", "&x", "&amp", "&#;", "&#x;", "&#99999999999;"] {
            assert_eq!(reference(text.as_bytes()), None, "{text}");
        }
        assert_eq!((percent(b"%zz"), quoted_printable(b"=x")), (None, None));
    }
}
