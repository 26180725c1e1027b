//! Text written as bytes: hex in all the ways it is printed, and base64 over several lines.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

/// What is wrapped is unwrapped up to here.
const LONGEST: usize = 8 * 1024;
/// Fewer bytes are nobody's secret.
const SHORTEST: usize = 8;
/// How far the pieces may stand apart: a line's end and its indentation.
const WIDEST_GAP: usize = 24;

/// What was unwrapped, and how many bytes it took.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapped {
    pub(super) length: usize,
    pub(super) plain: Vec<u8>,
}

/// The text wrapped in the bytes that begin here, if there is one.
pub(super) fn unwrap(text: &[u8]) -> Option<Wrapped> {
    let text = &text[..text.len().min(LONGEST)];
    hex(text).or_else(|| base64(text))
}

/// What letters of base64 say.
pub(super) fn decode(letters: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(letters).ok()
}

/// Whether the first digits of a run of hex are text.
pub(super) fn hex_begins_text(digits: &[u8]) -> bool {
    let mut bytes = [0; 8];
    let pairs = digits.chunks_exact(2);
    let length = pairs.len().min(bytes.len());
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    begins_text(&bytes[..length])
}

/// How long a row of several groups of hex digits is that are text, without a look at what they say.
pub(super) fn hex_row(text: &[u8]) -> Option<usize> {
    let (mut at, mut end, mut bytes) = (0, 0, 0);
    while let Some((before, digits)) = hex_group(&text[at..]) {
        let pairs = digits.chunks_exact(2);
        let is_text = pairs.clone().all(|pair| is_text_byte(value(pair[0]) << 4 | value(pair[1])));
        let after = at + before + digits.len();
        let whole = digits.len().is_multiple_of(2) || (digits.len() == 1 && before > 0);
        if !is_text || !whole || text.get(after).is_some_and(u8::is_ascii_alphanumeric) {
            break;
        }
        bytes += digits.len().div_ceil(2);
        end = after;
        if bytes >= 2 * SHORTEST {
            break;
        }
        at = after + gap(&text[after..], is_hex_sign);
        if at == after {
            break;
        }
    }
    (bytes >= SHORTEST).then_some(end)
}

fn is_text_byte(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e | b'\n' | b'\r' | b'\t' | 0 | 0x80..)
}

fn is_hex_sign(byte: u8) -> bool {
    matches!(byte, b',' | b':' | b'-' | b';')
}

/// Whether the first letters of a run of base64 are text.
pub(super) fn base64_begins_text(letters: &[u8]) -> bool {
    let Some(head) = letters.first_chunk::<8>() else { return false };
    // The first letter says as much of the first byte as is needed to turn nearly all away.
    if !matches!(head[0], b'A' | b'C' | b'D' | b'I'..=b'Z' | b'a'..=b'f' | b'w'..=b'z' | b'0'..=b'9') {
        return false;
    }
    let plain = head.map(|b| match b {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    });
    let mut bytes = [0; 6];
    STANDARD.decode_slice(plain, &mut bytes).is_ok_and(|length| begins_text(&bytes[..length]))
}

/// Whether bytes are the beginning of a text: plain, in UTF-8, or in wide characters of which every other byte is nought.
pub(super) fn begins_text(bytes: &[u8]) -> bool {
    let noughts = bytes.iter().filter(|b| **b == 0).count();
    let plain = |b: &u8| matches!(b, 0x20..=0x7e | b'\n' | b'\r' | b'\t' | 0);
    let valid = match str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        // The last character may be cut off.
        Err(wrong) if wrong.error_len().is_none() => wrong.valid_up_to(),
        Err(_) => return false,
    };
    let shown = bytes[..valid].iter().all(|b| plain(b) || *b >= 0x80);
    shown && valid > 0 && noughts * 4 <= bytes.len() * 3
}

/// The digits of a byte or of several, and how many bytes stand before and behind them.
fn hex_group(text: &[u8]) -> Option<(usize, &[u8])> {
    let marked = usize::from(text.len() > 2 && text[0] == b'0' && matches!(text[1], b'x' | b'X')) * 2;
    let digits = text[marked..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let digits = if marked > 0 && digits > 2 && digits % 2 == 1 { digits - 1 } else { digits };
    (digits > 0).then(|| (marked, &text[marked..marked + digits]))
}

fn hex(text: &[u8]) -> Option<Wrapped> {
    let mut plain = Vec::new();
    let mut at = 0;
    let mut length = 0;
    while let Some((before, digits)) = hex_group(&text[at..]) {
        let single = digits.len() == 1 && before > 0;
        if !single && digits.len() % 2 == 1 {
            break;
        }
        let start = plain.len();
        if single {
            plain.push(value(digits[0]));
        } else {
            plain.extend(digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])));
        }
        let is_text = plain[start..].iter().all(|b| is_text_byte(*b));
        let end = at + before + digits.len();
        // A word that begins with digits is none of the bytes.
        if !is_text || text.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            plain.truncate(start);
            break;
        }
        at = end;
        length = at;
        at += gap(&text[at..], is_hex_sign);
    }
    (plain.len() >= SHORTEST && begins_text(&plain)).then_some(Wrapped { length, plain })
}

fn value(digit: u8) -> u8 {
    (digit as char).to_digit(16).map_or(0, |d| d as u8)
}

/// How many bytes may stand between two pieces: blanks, a line's end, one sign.
fn gap(text: &[u8], sign: impl Fn(u8) -> bool) -> usize {
    let blanks = |text: &[u8]| text.iter().take(WIDEST_GAP).take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = blanks(text);
    if text.get(at).is_some_and(|b| sign(*b)) {
        at += 1;
        at += blanks(&text[at..]);
    }
    at
}

fn in_alphabet(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Pieces of base64, as long as they are text: over lines, in groups, padded piece by piece.
fn base64(text: &[u8]) -> Option<Wrapped> {
    let mut plain = Vec::new();
    // The letters of a quartet that is not complete yet.
    let mut open: Vec<u8> = Vec::new();
    let (mut at, mut length) = (0, 0);
    loop {
        let piece = text[at..].iter().take_while(|b| in_alphabet(b)).count();
        if piece == 0 {
            break;
        }
        let padding = text[at + piece..].iter().take(2).take_while(|b| **b == b'=').count();
        // Behind a blank, what makes no whole quartets is a word of its own.
        let blank = at > 0 && text[at - 1] == b' ' && !text[length..at].contains(&b'\n');
        if blank && (piece + padding) % 4 != 0 {
            break;
        }
        let mut letters = open.clone();
        letters.extend(text[at..at + piece].iter().map(|b| match b {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        }));
        let whole = if padding > 0 { letters.len() } else { letters.len() - letters.len() % 4 };
        let Ok(bytes) = STANDARD.decode(&letters[..whole]) else { break };
        let start = plain.len();
        plain.extend_from_slice(&bytes);
        // A character may begin in one piece and end in the next.
        if !begins_text(&plain[start.saturating_sub(3)..]) && !begins_text(&plain) {
            plain.truncate(start);
            break;
        }
        open = letters.split_off(whole);
        at += piece + padding;
        length = at;
        let next = at + gap(&text[at..], |_| false);
        // Behind padding, only what touches it goes on.
        if (padding > 0 && next > at) || next == at && padding == 0 {
            break;
        }
        at = next;
    }
    if open.len() > 1
        && let Ok(bytes) = STANDARD.decode(&open)
    {
        plain.extend(bytes);
    }
    (plain.len() >= SHORTEST && begins_text(&plain)).then_some(Wrapped { length, plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, length: usize, plain: &str) {
        let wrapped = unwrap(text.as_bytes());
        assert_eq!(wrapped, Some(Wrapped { length, plain: plain.into() }), "{text}");
    }

    #[test]
    fn hex_in_the_ways_it_is_printed() {
        check("6768705f61626364", 16, "ghp_abcd");
        check("0x6768705f61626364", 18, "ghp_abcd");
        check("67 68 70 5f 61 62 63 64 and", 23, "ghp_abcd");
        check("67:68:70:5F:61:62:63:64", 23, "ghp_abcd");
        check("0x67, 0x68,\n  0x70, 0x5f, 0x61, 0x62, 0x63, 0x64}", 48, "ghp_abcd");
        check("6768 705f 6162 6364", 19, "ghp_abcd");
        for text in ["d41d8cd98f00b204e9800998ecf8427e", "67 68", "00:1a:2b:3c:4d:5e", "6768705f6162636g"] {
            assert_eq!(unwrap(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn base64_in_pieces() {
        check("Z2hwX2Fi\n  Y2RlZg==", 19, "ghp_abcdef");
        check("Z2hw X2Fi Y2Rl Zg==", 19, "ghp_abcdef");
        check("Z2hwX2FiY2RlZg==\nnext", 16, "ghp_abcdef");
        check("Z2g=cF9hYmNkZWY=", 16, "ghp_abcdef");
        assert_eq!(unwrap(b"iVBORw0KGgoAAAANSUhEUgAAAAUA"), None);
    }
}
