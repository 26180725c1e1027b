//! Values that follow their name with nothing but blanks or words between.

use super::*;
use crate::words::Heads;

impl Reader<'_> {
    /// Nothing but blanks between the name and what follows it.
    pub(super) fn after_blank(&self, at: usize) -> Option<Assigned> {
        let name = &self.text[self.name.clone()];
        if name.eq_ignore_ascii_case(b"identified") {
            return self.identified_by(at);
        }
        // A verb, unless a sign says otherwise.
        if name.eq_ignore_ascii_case(b"pass") && self.file != FileKind::Settings {
            return None;
        }
        if self.starts_with(self.name.start, "bearer") && name.len() == 6 {
            let word = self.bare_word(at, FileKind::Shell);
            return (word.value.len() >= 16).then_some(word);
        }
        if self.before(1) == b'-' && (self.before(2) == b'-' || self.before(2) == b' ') {
            return self.quoted(at).or_else(|| Some(self.bare_word(at, FileKind::Shell)));
        }
        if let Some(found) = self.after_type_number(at).or_else(|| self.user_and_password(at)) {
            return Some(found);
        }
        match self.file {
            FileKind::Sql => self.quoted(at),
            FileKind::Source | FileKind::Settings
                if is_quote(self.byte(at))
                    && (self.is_define()
                        || self.file == FileKind::Settings
                        || name.ends_with(b"SecureString")
                        || self.begins_line()) =>
            {
                self.quoted(at)
            }
            FileKind::Settings | FileKind::Shell if self.names_a_word(at) => {
                Some(self.bare_word(at, self.file))
            }
            FileKind::Settings => self.random_next(at),
            FileKind::Source if !self.in_comment() => self.sql_in_text(at),
            // A message in JSON is a sentence like any other.
            FileKind::Json if !self.in_string() => None,
            FileKind::Text | FileKind::Source | FileKind::Shell | FileKind::Json => {
                self.random_next(at).or_else(|| self.spoken(at)).or_else(|| self.sql_in_text(at))
            }
            _ => None,
        }
    }

    /// Whether the line the name stands on is a comment from its first sign.
    pub(super) fn in_comment(&self) -> bool {
        let line = line_before(self.text, self.name.start, 120);
        let line = line.trim_ascii_start();
        [&b"//"[..], b"#", b"*", b"/*", b"--", b";", b"\"\"\""].iter().any(|sign| line.starts_with(sign))
    }

    /// `#define WIFI_PASSWORD "…"`
    pub(super) fn is_define(&self) -> bool {
        let line = line_before(self.text, self.name.start, 64);
        line.trim_ascii().starts_with(b"#define")
    }

    /// `password 7 060506324F41`, `tacacs-server key …`, `snmp-server community … RO`: how routers are told.
    pub(super) fn after_type_number(&self, at: usize) -> Option<Assigned> {
        let named = |name: &[u8]| self.text[self.name.clone()].eq_ignore_ascii_case(name);
        let says =
            |word: &[u8]| memchr::memmem::find(line_before(self.text, self.name.start, 64), word).is_some();
        let numbered = self.byte(at).is_ascii_digit() && self.byte(at + 1) == b' ';
        let told = numbered
            && matches!(self.file, FileKind::Settings | FileKind::Text)
            && (named(b"password") || named(b"secret") || named(b"key-string"));
        let network = (named(b"community") && says(b"snmp"))
            || (named(b"key") && (says(b"tacacs") || says(b"radius") || says(b"isakmp")));
        if !told && !network {
            return None;
        }
        let at = if numbered { self.skip_blanks(at + 2) } else { at };
        Some(self.bare_word(at, FileKind::Settings))
    }

    /// `stats auth ann:…`
    pub(super) fn user_and_password(&self, at: usize) -> Option<Assigned> {
        let name = &self.text[self.name.clone()];
        if self.file != FileKind::Settings || !name.eq_ignore_ascii_case(b"auth") {
            return None;
        }
        let mut word = self.bare_word(at, FileKind::Settings);
        let colon = self.text[word.value.clone()].iter().position(|b| *b == b':')?;
        word.value.start += colon + 1;
        (word.value.len() >= 6).then_some(word)
    }

    /// Settings that need no sign between name and value: netrc, redis.conf, Dockerfiles.
    pub(super) fn names_a_word(&self, at: usize) -> bool {
        let line_before = line_before(self.text, self.name.start, 120);
        let line_before = line_before.trim_ascii();
        let name = &self.text[self.name.clone()];
        let netrc = memchr::memmem::find(line_before, b"login ").is_some()
            || memchr::memmem::find(line_before, b"machine ").is_some();
        let first = line_before.is_empty() && self.file == FileKind::Settings;
        let docker = line_before == b"ENV" || line_before == b"ARG";
        let alone = !self.text[at..self.text.len().min(at + 200)]
            .split(|b| *b == b'\n')
            .next()
            .unwrap_or_default()
            .trim_ascii()
            .contains(&b' ');
        (netrc && name.eq_ignore_ascii_case(b"password")) || ((first || docker) && alone)
    }

    pub(super) fn identified_by(&self, at: usize) -> Option<Assigned> {
        if !self.starts_with(at, "by ") {
            // `IDENTIFIED WITH plugin BY '…'`
            let rest = &self.text[at..self.text.len().min(at + 64)];
            let by = memchr::memmem::find(rest, b" BY ").or_else(|| memchr::memmem::find(rest, b" by "))?;
            return self.quoted(self.skip_blanks(at + by + 4));
        }
        let mut at = self.skip_blanks(at + 3);
        if self.starts_with(at, "password ") {
            at = self.skip_blanks(at + 9);
        }
        self.quoted(at)
    }

    /// `use token b5fabd24… until Friday`: what follows at once and looks random is meant.
    pub(super) fn random_next(&self, at: usize) -> Option<Assigned> {
        let mut word = self.bare_word(at, FileKind::Text);
        word.dress = Dress::Spoken;
        let value = &self.text[word.value.clone()];
        let look = crate::judge::Look::at(value);
        let random = value.len() >= 12 && look.digits > 0 && look.is_random(4.5);
        // A password somebody made up: three kinds of signs, a number among them, and no path, address or time.
        let made_up = value.len() >= 8
            && look.digits > 0
            && look.classes() >= 3
            && (look.uppers > 0 || value.iter().any(|b| !b.is_ascii_alphanumeric() && *b != b'-'))
            && look.lowers + look.uppers > 3
            && !value.iter().any(|b| matches!(b, b'/' | b':' | b'(' | b'.' | b'|' | b'*'));
        let is_password = || {
            crate::keyname::promise(&self.text[self.name.clone()]) == Some(crate::keyname::Promise::Password)
        };
        (random || (made_up && matches!(self.file, FileKind::Text | FileKind::Settings) && is_password()))
            .then_some(word)
    }

    /// `ALTER ROLE x PASSWORD '…'` outside a database dump.
    pub(super) fn sql_in_text(&self, at: usize) -> Option<Assigned> {
        let name = &self.text[self.name.clone()];
        (name == b"PASSWORD" && matches!(self.byte(at), b'\'')).then(|| self.quoted(at)).flatten()
    }

    /// `the password for the new box is …`: a few words, then a word that hands the value over.
    pub(super) fn spoken(&self, at: usize) -> Option<Assigned> {
        let rest = &self.text[at..self.text.len().min(at + 64)];
        // The end of a string in JSON is the end of what is said.
        let line = rest
            .split(|b| matches!(b, b'\n' | b'.' | b'!' | b';') || (*b == b'"' && self.file == FileKind::Json))
            .next()
            .unwrap_or_default();
        let (after, length) = handed_over(line)?;
        if line[..after].iter().filter(|b| **b == b' ').count() > 6 {
            return None;
        }
        let mut at = self.skip_blanks(at + after + length);
        for filler in ["now ", "still ", "set to ", "just ", "always ", "currently ", "simply ", "= ", ": "] {
            if self.starts_with(at, filler) {
                at += filler.len();
            }
        }
        if let Some(mut quoted) = self.quoted(at) {
            quoted.dress = Dress::Spoken;
            quoted.file = FileKind::Text;
            return Some(quoted);
        }
        let mut word = self.bare_word(at, FileKind::Text);
        while word.value.len() > 1 && matches!(self.text[word.value.end - 1], b',' | b'.' | b'?' | b':') {
            word.value.end -= 1;
        }
        word.dress = Dress::Spoken;
        Some(word)
    }
}

/// Where the first word or sign stands that hands a value over, and how long it is.
fn handed_over(line: &[u8]) -> Option<(usize, usize)> {
    static WORDS: Heads = Heads::of(HANDS_OVER);
    (0..line.len()).find_map(|at| {
        let rest = &line[at..];
        if rest.starts_with(b": ") {
            return Some((at, 2));
        }
        let begins = (at == 0 || line[at - 1] == b' ') && WORDS.begin(rest);
        let word = HANDS_OVER.iter().filter(|_| begins).find(|word| rest.starts_with(word.as_bytes()))?;
        Some((at, word.len()))
    })
}

const HANDS_OVER: &[&str] = &["is ", "was ", "to ", "be ", "will be ", "are ", "-> ", "= "];
