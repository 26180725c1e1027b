//! The grammar of git's configuration, step for step as in git's own reader.

use super::Setting;

/// What a configuration sets; nothing where git would stop at it.
pub(in crate::planted) fn read(text: &[u8]) -> Option<Vec<Setting>> {
    // Git reads on behind a zero byte and then takes values to end there; nobody writes one.
    if text.contains(&0) {
        return None;
    }
    let mut reader = Reader { text: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), at: 0 };
    let mut section = None;
    let mut settings = Vec::new();
    while let Some(byte) = reader.next() {
        match byte {
            byte if is_blank(byte) => {}
            b'#' | b';' => reader.skip_line(),
            b'[' => section = Some(reader.section()?),
            byte if byte.is_ascii_alphabetic() => {
                let (name, value) = reader.setting(byte)?;
                // One without a section is nothing that git knows, and nothing that it writes.
                settings.push(Setting { key: format!("{}.{name}", section.as_ref()?), value });
            }
            _ => return None,
        }
    }
    Some(settings)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

/// What git calls a space; no others are.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_in_a_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        if self.text[self.at..].starts_with(b"\r\n") {
            self.at += 1;
        }
        let byte = self.text.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    /// The end of the text ends a line too.
    fn next_in_line(&mut self) -> u8 {
        self.next().unwrap_or(b'\n')
    }

    fn skip_line(&mut self) {
        while self.next_in_line() != b'\n' {}
    }

    /// `[section]`, `[section "sub"]`, and the older `[section.sub]`: the section.
    fn section(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.next()? {
                b']' => break,
                byte if is_blank(byte) => {
                    self.subsection(byte)?;
                    break;
                }
                byte if is_in_a_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase().into()),
                _ => return None,
            }
        }
        let section = name.split('.').next().unwrap_or_default();
        (!section.is_empty()).then(|| section.to_owned())
    }

    fn subsection(&mut self, mut byte: u8) -> Option<()> {
        while is_blank(byte) {
            if byte == b'\n' {
                return None;
            }
            byte = self.next()?;
        }
        if byte != b'"' {
            return None;
        }
        loop {
            match self.next()? {
                b'\n' => return None,
                b'"' => break,
                b'\\' if self.next()? == b'\n' => return None,
                _ => {}
            }
        }
        (self.next()? == b']').then_some(())
    }

    fn setting(&mut self, first: u8) -> Option<(String, Vec<u8>)> {
        let mut name = String::from(char::from(first.to_ascii_lowercase()));
        let mut byte = self.next_in_line();
        while is_in_a_key(byte) {
            name.push(byte.to_ascii_lowercase().into());
            byte = self.next_in_line();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next_in_line();
        }
        match byte {
            b'\n' => Some((name, b"true".to_vec())),
            b'=' => Some((name, self.value()?)),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut quoted) = (Vec::new(), false);
        // How much of it stays if nothing but blanks follows.
        let mut trimmed = None;
        loop {
            let byte = match self.next_in_line() {
                b'\n' if quoted => return None,
                b'\n' => break,
                byte if is_blank(byte) && !quoted => {
                    if !value.is_empty() {
                        trimmed.get_or_insert(value.len());
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    break;
                }
                byte => byte,
            };
            trimmed = None;
            match byte {
                b'"' => quoted = !quoted,
                b'\\' => match self.next_in_line() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return None,
                },
                byte => value.push(byte),
            }
        }
        value.truncate(trimmed.unwrap_or(value.len()));
        Some(value)
    }
}
