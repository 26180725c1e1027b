//! Values without quotation marks.

use super::*;
use crate::words::Whole;

impl Reader<'_> {
    pub(super) fn bare(&self, at: usize) -> Option<Assigned> {
        match self.file {
            FileKind::Settings | FileKind::Digests => Some(self.unprefixed(self.bare_setting(at))),
            FileKind::Shell | FileKind::Sql => Some(self.bare_word(at, FileKind::Shell)),
            FileKind::Text if matches!(self.before(1), b';' | b',') || self.is_variable(at) => {
                Some(self.bare_word(at, FileKind::Settings))
            }
            FileKind::Text => Some(self.bare_word(at, FileKind::Text)),
            // A bare word of a program is an expression; but programs hold command lines and connection strings as text.
            FileKind::Source | FileKind::Json | FileKind::Markup | FileKind::Assets => {
                let inside = matches!(self.before(1), b';' | b'?' | b'&' | b'"' | b'\'' | b'`' | b',')
                    || (self.before(1) == b'-' && self.before(2) == b'-')
                    || (self.before(1) == b' ' && self.in_string());
                let glued = self.byte(self.name.end) == b'=' && at == self.name.end + 1;
                // In a connection string a value is what it is; in a command line it may be an expression.
                let file = if matches!(self.before(1), b';' | b',') && self.in_string() {
                    FileKind::Settings
                } else {
                    FileKind::Shell
                };
                (inside && glued).then(|| self.bare_word(at, file))
            }
        }
    }

    /// `DB_PASSWORD=…`: a variable of a shell or of a service, wherever it is mentioned.
    pub(super) fn is_variable(&self, at: usize) -> bool {
        let name = &self.text[self.name.clone()];
        at == self.name.end + 1
            && self.byte(self.name.end) == b'='
            && name.contains(&b'_')
            && name.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
    }

    /// Whether an odd number of quotation marks stands before the name on its line.
    pub(super) fn in_string(&self) -> bool {
        let line = line_before(self.text, self.name.start, 120);
        line.iter().filter(|b| **b == b'"').count() % 2 == 1
            || line.iter().filter(|b| **b == b'\'').count() % 2 == 1
    }

    /// A setting's value: the rest of the line, where the name begins the line.
    pub(super) fn bare_setting(&self, at: usize) -> Assigned {
        let rest = &self.text[at..self.text.len().min(at + LONGEST_VALUE)];
        let line = rest.split(|b| matches!(b, b'\n' | b'\r')).next().unwrap_or_default();
        if !self.begins_line() {
            return self.bare_word(at, FileKind::Settings);
        }
        let mut end = line.len();
        for comment in [&b" #"[..], b"\t#", b" ;", b" //"] {
            if let Some(found) = memchr::memmem::find(&line[..end], comment) {
                end = found;
            }
        }
        while end > 0 && matches!(line[end - 1], b' ' | b'\t' | b',') {
            end -= 1;
        }
        Assigned { value: at..at + end, dress: Dress::Bare, file: FileKind::Settings }
    }

    /// Whether only what introduces a setting stands before the name on its line.
    pub(super) fn begins_line(&self) -> bool {
        let before = line_before(self.text, self.name.start, 64);
        let before = before.trim_ascii();
        before.is_empty()
            || [
                &b"export"[..],
                b"set",
                b"-",
                b"\"",
                b"'",
                b"//",
                b"#",
                b";",
                b"- \"",
                b"- '",
                b"ENV",
                b"ARG",
                b"setx",
                b"local",
                b"declare -x",
                b"env",
            ]
            .contains(&before)
            || before.ends_with(b":") && before.iter().filter(|b| **b == b' ').count() == 0
    }

    pub(super) fn bare_word(&self, at: usize, file: FileKind) -> Assigned {
        let word = self.plain_word(at, file);
        self.past_scheme(word)
    }

    pub(super) fn plain_word(&self, at: usize, file: FileKind) -> Assigned {
        let rest = &self.text[at..self.text.len().min(at + LONGEST_VALUE)];
        let listed = matches!(self.before(1), b';' | b'?' | b'&');
        let end = rest.iter().enumerate().position(|(i, b)| match b {
            b'"' | b'\'' | b'`' | b'<' | b'>' | 0x1b => true,
            // The next name of a list ends a value: `user=a,password=b,host=c`. Else these signs may be part of one.
            b';' => listed || file != FileKind::Settings || names_next(&rest[i + 1..]),
            b'&' => listed || names_next(&rest[i + 1..]) || rest[i..].starts_with(b"&&"),
            b',' => names_next(&rest[i + 1..]),
            b'|' => file == FileKind::Shell,
            b => b.is_ascii_whitespace(),
        });
        let mut end = end.unwrap_or(rest.len());
        while end > 0
            && matches!(rest[end - 1], b',' | b'.' | b':' | b'?' | b'\\' | b')' | b']' | b'}')
            && !balanced(&rest[..end])
        {
            end -= 1;
        }
        let mut start = 0;
        if file == FileKind::Text {
            // Emphasis is not part of what is emphasised.
            start = rest[..end].iter().take_while(|b| **b == b'*').count().min(end);
            end -= rest[start..end].iter().rev().take_while(|b| **b == b'*').count();
        }
        Assigned { value: at + start..at + end, dress: Dress::Bare, file }
    }

    /// `Authorization: Bearer X`: the scheme is not the value, the word after it is.
    pub(super) fn past_scheme(&self, word: Assigned) -> Assigned {
        static SCHEMES: Whole =
            Whole::of(&["bearer", "basic", "token", "bot", "apikey", "negotiate", "digest"]);
        if SCHEMES.has_in_any_case(&self.text[word.value.clone()]) {
            let next = self.skip_blanks(word.value.end);
            if next > word.value.end && next < self.text.len() {
                return self.plain_word(next, word.file);
            }
        }
        word
    }

    pub(super) fn bare_line(&self, at: usize) -> Assigned {
        let rest = &self.text[at..self.text.len().min(at + LONGEST_VALUE)];
        let line = rest.split(|b| matches!(b, b'\n' | b'\r')).next().unwrap_or_default().trim_ascii_end();
        Assigned { value: at..at + line.len(), dress: Dress::Bare, file: FileKind::Settings }
    }
}
