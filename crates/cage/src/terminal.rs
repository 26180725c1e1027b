//! What a program prints, made harmless for a terminal.
//!
//! A terminal obeys what is printed on it: titles, the clipboard, answers typed into the shell, text over text that was
//! read already. Of all that only colours, line feeds, tabs and returns to the beginning of the line are passed on;
//! everything else is shown as it is written.

use std::io::{self, Write};

use holdfast_types::drives_a_terminal;

/// Passes on to a terminal what only prints. What goes to a file or a pipe is data, and needs nothing of this.
#[derive(Debug)]
pub struct ForTerminal<W: Write> {
    to: W,
    /// The beginning of a character or of a colour, whose end has not come yet.
    held: Vec<u8>,
    /// Whether colours were changed, which are given back in the end.
    coloured: bool,
}

/// A longer sequence is no colour.
const SEQUENCE_BYTES_MAX: usize = 64;
const ESCAPE: u8 = 0x1b;
const PLAIN: &[u8] = b"\x1b[0m";

impl<W: Write> ForTerminal<W> {
    pub fn new(to: W) -> ForTerminal<W> {
        ForTerminal { to, held: Vec::new(), coloured: false }
    }

    /// Takes what can be told apart from the front of `bytes`; gives how much that was.
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>, is_last: bool) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let (length, shown) = match rest[0] {
                ESCAPE => match colour(rest) {
                    Colour::Whole(length) => {
                        self.coloured = true;
                        (length, Shown::AsIs)
                    }
                    Colour::Cut if !is_last => break,
                    Colour::Cut | Colour::None => (1, Shown::Escaped),
                },
                b'\n' | b'\t' | b'\r' | 0x20..=0x7e => (1, Shown::AsIs),
                0x80.. => match character(rest) {
                    Character::Plain(length) => (length, Shown::AsIs),
                    Character::Driving(length) => (length, Shown::Escaped),
                    Character::Cut if !is_last => break,
                    Character::Cut | Character::None => (1, Shown::Escaped),
                },
                _ => (1, Shown::Escaped),
            };
            match shown {
                Shown::AsIs => out.extend_from_slice(&rest[..length]),
                Shown::Escaped => escape(&rest[..length], out),
            }
            at += length;
        }
        at
    }

    /// What is still held has no end any more, and the terminal gets its own colours back.
    fn finish(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let mut out = Vec::new();
        self.take(&held, &mut out, true);
        if self.coloured {
            out.extend_from_slice(PLAIN);
        }
        self.to.write_all(&out)?;
        self.to.flush()
    }
}

enum Shown {
    AsIs,
    Escaped,
}

impl<W: Write> Write for ForTerminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(all.len());
        let taken = self.take(&all, &mut out, false);
        self.held = all.split_off(taken);
        self.to.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Drop for ForTerminal<W> {
    fn drop(&mut self) {
        // Nobody can be told that the terminal is gone.
        let _ = self.finish();
    }
}

enum Colour {
    Whole(usize),
    Cut,
    None,
}

/// `ESC [ numbers m`, where none of the numbers hides what is printed.
fn colour(bytes: &[u8]) -> Colour {
    match bytes.get(1) {
        None => return Colour::Cut,
        Some(b'[') => {}
        Some(_) => return Colour::None,
    }
    let numbers = &bytes[2..bytes.len().min(SEQUENCE_BYTES_MAX)];
    let Some(length) = numbers.iter().position(|b| !matches!(b, b'0'..=b'9' | b';' | b':')) else {
        return if bytes.len() < SEQUENCE_BYTES_MAX { Colour::Cut } else { Colour::None };
    };
    let is_hidden = hides(&numbers[..length]);
    if numbers[length] == b'm' && !is_hidden { Colour::Whole(length + 3) } else { Colour::None }
}

/// Whether 8 stands among the numbers for itself, and not as part of a colour: `38;5;8` is a grey.
fn hides(numbers: &[u8]) -> bool {
    let mut parts = numbers.split(|b| *b == b';');
    while let Some(part) = parts.next() {
        // What stands behind a colon belongs to the number before it.
        let (part, is_whole) = match part.iter().position(|b| *b == b':') {
            Some(at) => (&part[..at], true),
            None => (part, false),
        };
        let without_zeroes = part.iter().position(|b| *b != b'0').map_or(&[][..], |at| &part[at..]);
        match without_zeroes {
            b"38" | b"48" | b"58" if !is_whole => match parts.next() {
                Some(b"5") => drop(parts.next()),
                Some(b"2") => drop(parts.nth(2)),
                _ => return true,
            },
            b"8" => return true,
            _ => {}
        }
    }
    false
}

enum Character {
    Plain(usize),
    /// It drives a terminal, or is not seen.
    Driving(usize),
    Cut,
    None,
}

/// The character beyond ASCII that bytes begin with.
fn character(bytes: &[u8]) -> Character {
    let front = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(front) {
        Ok(text) => text,
        Err(e) if e.valid_up_to() > 0 => std::str::from_utf8(&front[..e.valid_up_to()]).unwrap_or_default(),
        Err(e) if e.error_len().is_none() && bytes.len() < 4 => return Character::Cut,
        Err(_) => return Character::None,
    };
    match valid.chars().next() {
        Some(letter) if drives_a_terminal(letter) => Character::Driving(letter.len_utf8()),
        Some(letter) => Character::Plain(letter.len_utf8()),
        None => Character::None,
    }
}

/// As it would be written in a program: `\x1b`, `\u{9b}`.
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_ascii() => {
            out.extend(text.chars().flat_map(char::escape_unicode).map(|c| c as u8))
        }
        _ => out.extend(bytes.iter().flat_map(|b| format!("\\x{b:02x}").into_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What comes out when the text comes in pieces of this length.
    fn shown(bytes: &[u8], piece: usize) -> String {
        let mut out = Vec::new();
        {
            let mut screen = ForTerminal::new(&mut out);
            bytes.chunks(piece).for_each(|piece| screen.write_all(piece).unwrap());
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_colours_and_lines_reach_the_terminal() {
        for (printed, seen) in [
            ("plain\tGrüße 日本 ●\r\n", "plain\tGrüße 日本 ●\r\n"),
            ("\x1b[1;38;5;8mgrey\x1b[m", "\x1b[1;38;5;8mgrey\x1b[m\x1b[0m"),
            ("\x1b[38:2::1:2:3mred", "\x1b[38:2::1:2:3mred\x1b[0m"),
            ("\x1b[8mhidden", "\\x1b[8mhidden"),
            ("\x1b[8:1mhidden", "\\x1b[8:1mhidden"),
            ("\x1b[0;08mhidden", "\\x1b[0;08mhidden"),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("\x1b]52;c;ZXZpbA==\x1b\\", "\\x1b]52;c;ZXZpbA==\\x1b\\"),
            ("\x1b]8;;http://a\x1b\\b", "\\x1b]8;;http://a\\x1b\\b"),
            ("\x1bP$qm\x1b\\", "\\x1bP$qm\\x1b\\"),
            ("\x1b[21t\x1b[6n\x1b[c", "\\x1b[21t\\x1b[6n\\x1b[c"),
            ("\x1b[?2004l\x1b[2J\x1b[1;1H", "\\x1b[?2004l\\x1b[2J\\x1b[1;1H"),
            ("\x1b[>4;1m\x1b[1\u{8}m", "\\x1b[>4;1m\\x1b[1\\x08m"),
            ("a\u{8}b\u{7f}\u{0}\u{e}", "a\\x08b\\x7f\\x00\\x0e"),
            ("\u{9b}31m\u{202e}a\u{200b}", "\\u{9b}31m\\u{202e}a\\u{200b}"),
            ("\x1b[", "\\x1b["),
        ] {
            for piece in 1..=printed.len() {
                assert_eq!(shown(printed.as_bytes(), piece), seen, "{piece}");
            }
        }
        assert_eq!(shown(b"\x9b31m\xc3", 1), "\\x9b31m\\xc3");
        assert_eq!(shown(format!("\x1b[{}m", "1;".repeat(99)).as_bytes(), 7).matches("\\x1b").count(), 1);
    }

    proptest! {
        #[test]
        fn no_bytes_drive_the_terminal_however_they_are_cut(
            bytes in prop::collection::vec(prop_oneof![
                any::<u8>(), Just(0x1b), Just(b'['), Just(b'm'), Just(b';'), Just(b'8'), Just(0xc2), Just(0x9b)
            ], 0..200),
            piece in 1usize..50,
        ) {
            let seen = shown(&bytes, piece);
            prop_assert_eq!(&seen, &shown(&bytes, 1));
            let mut rest = seen.as_str();
            while let Some(at) = rest.find('\x1b') {
                let sequence = &rest[at..];
                let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                prop_assert!(sequence.starts_with("\x1b[") && &sequence[end..=end] == "m", "{}", sequence);
                rest = &sequence[end..];
            }
            let drives = |c: char| drives_a_terminal(c) && !matches!(c, '\n' | '\r' | '\t' | '\x1b');
            prop_assert!(!seen.chars().any(drives));
        }
    }
}
