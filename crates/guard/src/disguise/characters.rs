//! Characters that are not shown, and characters that are read as plain ones.

use unicode_normalization::char::decompose_compatible;

/// The longest text a single character is read as.
const LONGEST: usize = 4;

/// A few plain characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plain {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Plain {
    fn one(byte: u8) -> Plain {
        Plain { bytes: [byte, 0, 0, 0], length: 1 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// How a character is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// As what it is.
    Itself,
    /// As nothing: it is not shown, or is a mark on the letter before it.
    Nothing,
    /// As plain characters, by Unicode's own word (NFKC).
    Same(Plain),
    /// As the plain letter below its accent.
    Accented(Plain),
    /// As the plain letter that looks like it, if it stands among plain ones: in its own script it is a letter like any other.
    Like(Plain),
}

pub(super) fn reads(c: char) -> Reads {
    if c.is_ascii() {
        return Reads::Itself;
    }
    if is_not_shown(c) || is_mark(c) {
        return Reads::Nothing;
    }
    if let Some(byte) = look_alike(c) {
        return Reads::Like(Plain::one(byte));
    }
    if let Some(plain) = drawn(c) {
        return Reads::Same(Plain::one(plain));
    }
    // Nothing there decomposes to plain letters, and there is a lot of it.
    if matches!(c, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}') {
        return Reads::Itself;
    }
    decomposed(c)
}

/// What Unicode's compatibility decomposition says.
fn decomposed(c: char) -> Reads {
    let mut plain = Plain { bytes: [0; LONGEST], length: 0 };
    let (mut marked, mut other) = (false, false);
    decompose_compatible(c, |part| {
        let length = usize::from(plain.length);
        if is_mark(part) {
            marked = true;
        } else if part.is_ascii_graphic() && length < LONGEST {
            plain.bytes[length] = part as u8;
            plain.length += 1;
        } else if let Some(byte) = slash(part).filter(|_| length < LONGEST) {
            plain.bytes[length] = byte;
            plain.length += 1;
        } else {
            other = true;
        }
    });
    match (plain.length, marked) {
        (0, _) => Reads::Itself,
        _ if other => Reads::Itself,
        (_, true) => Reads::Accented(plain),
        (_, false) => Reads::Same(plain),
    }
}

/// The slash of fractions is no compatibility character of the plain one.
fn slash(c: char) -> Option<u8> {
    (c == '\u{2044}').then_some(b'/')
}

/// What Unicode calls default ignorable, and a few more that are not shown: annotations, the empty note head,
/// control characters of the second set, and what stands for a character that could not be read.
pub(super) fn is_not_shown(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9a}' | '\u{9c}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffd}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Marks that are set on the letter before them, in the scripts that have plain letters.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// The byte that a tag character stands for.
pub(super) fn tag(c: char) -> Option<u8> {
    let code = u32::from(c);
    (0xe0020..=0xe007e).contains(&code).then(|| (code - 0xe0000) as u8)
}

/// The number of a variation selector, from 0.
pub(super) fn selector(c: char) -> Option<u16> {
    let code = u32::from(c);
    match code {
        0xfe00..=0xfe0f => Some((code - 0xfe00) as u16),
        0xe0100..=0xe01ef => Some((code - 0xe0100 + 16) as u16),
        _ => None,
    }
}

/// Letters and digits in frames, which Unicode decomposes only in part.
fn drawn(c: char) -> Option<u8> {
    let code = u32::from(c);
    let letter = match code {
        0x1f130..=0x1f149 => code - 0x1f130,
        0x1f150..=0x1f169 => code - 0x1f150,
        0x1f170..=0x1f189 => code - 0x1f170,
        _ => return digit_in_a_disc(code),
    };
    Some(b'A' + letter as u8)
}

fn digit_in_a_disc(code: u32) -> Option<u8> {
    let digit = match code {
        0x24eb => return None,
        0x24ff => 0,
        0x2776..=0x277e => code - 0x2775,
        0x2780..=0x2788 => code - 0x277f,
        0x278a..=0x2792 => code - 0x2789,
        _ => return None,
    };
    Some(b'0' + digit as u8)
}

/// Letters of other scripts that look like plain ones, and marks that look like plain marks.
#[rustfmt::skip]
fn look_alike(c: char) -> Option<u8> {
    Some(match c {
        // Cyrillic
        'а' => b'a', 'с' => b'c', 'ԁ' => b'd', 'е' => b'e', 'һ' => b'h', 'і' => b'i', 'ј' => b'j', 'ӏ' => b'l', 'о' => b'o',
        'р' => b'p', 'ԛ' => b'q', 'ѕ' => b's', 'ѵ' => b'v', 'ԝ' => b'w', 'х' => b'x', 'у' | 'ү' => b'y', 'г' => b'r', 'к' => b'k',
        'А' => b'A', 'В' => b'B', 'С' => b'C', 'Е' => b'E', 'Ԍ' => b'G', 'Н' => b'H', 'І' | 'Ӏ' => b'I', 'Ј' => b'J', 'К' => b'K',
        'М' => b'M', 'О' => b'O', 'Р' => b'P', 'Ԛ' => b'Q', 'Ѕ' => b'S', 'Т' => b'T', 'Ѵ' => b'V', 'Ԝ' => b'W', 'Х' => b'X',
        'У' | 'Ү' => b'Y', 'Ꙁ' => b'Z', 'З' => b'3', 'б' => b'6',
        // Greek
        'α' => b'a', 'ϲ' => b'c', 'ε' => b'e', 'ι' => b'i', 'ϳ' => b'j', 'κ' => b'k', 'ο' => b'o', 'ρ' => b'p', 'τ' => b't',
        'υ' => b'u', 'ν' => b'v', 'ω' => b'w', 'χ' => b'x', 'γ' => b'y',
        'Α' => b'A', 'Β' => b'B', 'Ϲ' => b'C', 'Ε' => b'E', 'Ϝ' => b'F', 'Η' => b'H', 'Ι' => b'I', 'Ϳ' => b'J', 'Κ' => b'K',
        'Μ' => b'M', 'Ν' => b'N', 'Ο' => b'O', 'Ρ' => b'P', 'Τ' => b'T', 'Χ' => b'X', 'Υ' => b'Y', 'Ζ' => b'Z',
        // Armenian
        'ց' => b'g', 'հ' => b'h', 'յ' => b'j', 'լ' => b'l', 'ո' => b'n', 'օ' => b'o', 'զ' | 'գ' => b'q', 'ս' => b'u', 'ա' => b'w',
        'Լ' => b'L', 'Օ' => b'O', 'Տ' => b'S', 'Ս' => b'U',
        // Cherokee, large and small
        'Ꭺ' | 'ꭺ' => b'A', 'Ᏼ' => b'B', 'Ꮯ' => b'C', 'Ꭰ' => b'D', 'Ꭼ' => b'E', 'Ꮐ' => b'G', 'Ꮋ' => b'H', 'Ꭵ' => b'i', 'Ꭻ' => b'J',
        'Ꮶ' => b'K', 'Ꮮ' => b'L', 'Ꮇ' => b'M', 'Ꮲ' => b'P', 'Ꭱ' => b'R', 'Ꮪ' => b'S', 'Ꭲ' => b'T', 'Ꮩ' => b'V', 'Ꮃ' => b'W',
        'Ꭹ' => b'Y', 'Ꮓ' => b'Z', 'ꭵ' => b'i', 'ꮃ' => b'w', 'ꮓ' => b'z', 'ꮩ' => b'v', 'ꮪ' => b's', 'ꮯ' => b'c', 'ꮋ' => b'h',
        // Lisu
        'ꓮ' => b'A', 'ꓐ' => b'B', 'ꓚ' => b'C', 'ꓓ' => b'D', 'ꓰ' => b'E', 'ꓝ' => b'F', 'ꓖ' => b'G', 'ꓧ' => b'H', 'ꓲ' => b'I', 'ꓙ' => b'J',
        'ꓗ' => b'K', 'ꓡ' => b'L', 'ꓟ' => b'M', 'ꓠ' => b'N', 'ꓳ' => b'O', 'ꓑ' => b'P', 'ꓣ' => b'R', 'ꓢ' => b'S', 'ꓔ' => b'T', 'ꓴ' => b'U',
        'ꓦ' => b'V', 'ꓪ' => b'W', 'ꓫ' => b'X', 'ꓬ' => b'Y', 'ꓜ' => b'Z', '꓿' => b'=', 'ꓸ' => b'.', 'ꓽ' => b':',
        // Latin letters of phonetics and small capitals that stand for small letters
        'ɑ' => b'a', 'ᴄ' => b'c', 'ɡ' => b'g', 'ı' | 'ɩ' | 'ɪ' => b'i', 'ȷ' => b'j', 'ᴋ' => b'k', 'ǀ' | 'ʟ' => b'l', 'ᴏ' => b'o',
        'ʀ' => b'r', 'ꜱ' => b's', 'ᴛ' => b't', 'ᴜ' => b'u', 'ᴠ' => b'v', 'ᴡ' => b'w', 'ʏ' => b'y', 'ᴢ' => b'z', 'ʙ' => b'b',
        'ᴅ' => b'd', 'ᴇ' => b'e', 'ɢ' => b'g', 'ʜ' => b'h', 'ᴊ' => b'j', 'ᴍ' => b'm', 'ɴ' => b'n', 'ᴘ' => b'p', 'ø' => b'o', 'ł' => b'l',
        // Marks
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2043}' | '\u{fe58}' | '\u{2d7}' => b'-',
        'ˍ' | '\u{fe4d}'..='\u{fe4f}' | '\u{2017}' => b'_', '⁄' | '∕' | '╱' | '⧸' => b'/', 'ᐩ' | '➕' => b'+',
        '꞉' | '∶' | 'ː' | '։' | '׃' => b':', '٠' | '۔' => b'.', '᠀' => b'=', '∗' => b'*', '∼' => b'~',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(c: char, expected: &str) {
        let read = match reads(c) {
            Reads::Itself => c.to_string(),
            Reads::Nothing => String::new(),
            Reads::Same(plain) | Reads::Accented(plain) | Reads::Like(plain) => {
                String::from_utf8_lossy(plain.bytes()).into_owned()
            }
        };
        assert_eq!(read, expected, "U+{:04X}", u32::from(c));
    }

    #[test]
    fn characters_are_read_as_people_or_unicode_read_them() {
        for (c, expected) in [
            ('ｇ', "g"),
            ('＿', "_"),
            ('𝓰', "g"),
            ('ℊ', "g"),
            ('ⓖ', "g"),
            ('🄶', "G"),
            ('ᵍ', "g"),
            ('₇', "7"),
            ('ⅷ', "viii"),
            ('ſ', "s"),
            ('🯵', "5"),
            ('é', "e"),
            ('ﬃ', "ffi"),
            ('а', "a"),
            ('\u{200b}', ""),
            ('\u{e0041}', ""),
            ('\u{301}', ""),
            ('中', "中"),
            ('🙂', "🙂"),
            ('g', "g"),
            ('ﷺ', "ﷺ"),
        ] {
            check(c, expected);
        }
    }
}
