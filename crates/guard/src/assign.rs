//! From a name to its value, in the many ways files and people write one after the other.
//!
//! `name=value`, `"name": "value"`, `name => 'value'`, `<name>value</name>`, `name="X" value="…"`, `define('NAME', 'value')`,
//! `--name value`, `the name for the new box is value`. Nothing is looked at further than [`REACH`] bytes after the name.

mod bare;
mod calls;
mod markup;
mod spoken;

use std::ops::Range;

use crate::line::line_before;
use crate::scene::FileKind;
use crate::value::Dress;

/// How far behind a name its value may begin, and how long a value may be.
pub(crate) const REACH: usize = 160;
pub(crate) const LONGEST_VALUE: usize = 1024;

/// A value found behind a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assigned {
    pub(crate) value: Range<usize>,
    pub(crate) dress: Dress,
    /// The kind of file the value is to be judged by: a string inside a program may hold a command line.
    pub(crate) file: FileKind,
}

/// Finds the value that belongs to the name at `name`.
pub(crate) fn value_of(text: &[u8], name: Range<usize>, file: FileKind) -> Option<Assigned> {
    Reader { text, name, file }.find()
}

struct Reader<'t> {
    text: &'t [u8],
    name: Range<usize>,
    file: FileKind,
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

impl Reader<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(b'\n')
    }

    fn before(&self, back: usize) -> u8 {
        self.name.start.checked_sub(back).map_or(b'\n', |at| self.text[at])
    }

    fn skip_blanks(&self, mut at: usize) -> usize {
        while matches!(self.text.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    }

    fn skip_space(&self, mut at: usize) -> usize {
        while at < self.text.len() && self.text[at].is_ascii_whitespace() {
            at += 1;
        }
        at
    }

    fn starts_with(&self, at: usize, what: &str) -> bool {
        self.text.get(at..at + what.len()).is_some_and(|t| t.eq_ignore_ascii_case(what.as_bytes()))
    }

    fn find(&self) -> Option<Assigned> {
        let (after_name, quoted) = self.past_closing_quote();
        let mut at = self.skip_blanks(after_name);
        // `**Password**: …`
        if self.file == FileKind::Text && self.starts_with(at, "**") {
            at = self.skip_blanks(at + 2);
        }
        if self.byte(at) == b'[' && self.file == FileKind::Source {
            at = self.past_dimension(at);
        }
        match self.byte(at) {
            b'=' | b'!' if self.byte(at + 1) == b'=' => self.compared(at),
            b'=' if self.byte(at + 1) == b'~' => None,
            b'=' if self.byte(at + 1) == b'>' => self.value(at + 2),
            b'=' => self.value(at + 1),
            b':' if self.byte(at + 1) == b':' => None,
            // `arn:aws:secretsmanager:…:secret:name`, `${NAME:?missing}`
            b':' if (self.before(1) == b':' && self.in_resource_name())
                || (self.before(1) == b'{' && self.before(2) == b'$') =>
            {
                None
            }
            b':' if self.byte(at + 1) == b'=' => self.value(at + 2),
            0xef if self.text[at..].starts_with("：".as_bytes()) => self.value(at + 3),
            b':' => self.typed(at + 1).or_else(|| self.value(at + 1)),
            b'(' => self.call(at),
            b'{' if quoted => self.block_default(at),
            b',' if quoted => self.value_attribute(at + 1).or_else(|| self.quoted_argument(at + 1)),
            b'>' if self.before(1) == b'<'
                && self.text[self.name.clone()].eq_ignore_ascii_case(b"auth-user-pass") =>
            {
                self.second_line(at + 1)
            }
            b'>' if self.before(1) == b'<' || quoted => self.element(at + 1),
            _ if quoted => {
                self.value_attribute(after_name).or_else(|| self.element_after_attributes(after_name))
            }
            b'\n' | b'\r' => self.value_attribute(after_name),
            _ if self.before(1) == b'<' => self.element_after_attributes(after_name),
            _ if at > after_name => self.after_blank(at),
            _ => None,
        }
    }

    /// `arn:aws:…`, `urn:…`
    fn in_resource_name(&self) -> bool {
        let before = &self.text[self.name.start.saturating_sub(96)..self.name.start];
        let word = before.rsplit(|b| b.is_ascii_whitespace() || is_quote(*b)).next().unwrap_or_default();
        word.starts_with(b"arn:") || word.starts_with(b"urn:")
    }

    /// `API_KEY[]`, `KEY[64]`: past the brackets of an array.
    fn past_dimension(&self, at: usize) -> usize {
        let digits = self.text[at + 1..].iter().take(6).take_while(|b| b.is_ascii_digit()).count();
        if self.byte(at + 1 + digits) == b']' { self.skip_blanks(at + digits + 2) } else { at }
    }

    /// Past the quotation mark, escaped or not, and the bracket that close a quoted name.
    fn past_closing_quote(&self) -> (usize, bool) {
        let end = self.name.end;
        let mut at = end;
        if self.byte(at) == b'\\' && is_quote(self.byte(at + 1)) {
            at += 2;
        } else if is_quote(self.byte(at)) && is_quote(self.before(1)) {
            at += 1;
        }
        let quoted = at > end;
        if quoted && self.byte(at) == b']' {
            at += 1;
        }
        (at, quoted)
    }

    /// `name: Type = "value"`, in languages that write types so.
    fn typed(&self, at: usize) -> Option<Assigned> {
        if !matches!(self.file, FileKind::Source | FileKind::Text) {
            return None;
        }
        let line = &self.text[at..self.text.len().min(at + 64)];
        let equals = line.iter().position(|b| *b == b'=')?;
        let is_type = line[..equals].iter().all(|b| {
            b.is_ascii_alphanumeric()
                || matches!(
                    b,
                    b'_' | b'<' | b'>' | b'&' | b'[' | b']' | b'?' | b'|' | b'\'' | b'.' | b' ' | b','
                )
        });
        let named = line[..equals].iter().any(u8::is_ascii_alphabetic);
        if !is_type || !named || matches!(line.get(equals + 1), Some(b'=' | b'>')) {
            return None;
        }
        self.value(at + equals + 1)
    }

    fn value(&self, at: usize) -> Option<Assigned> {
        let mut at = self.skip_blanks(at);
        // `**Password:** …`, and a terminal's colour before the value.
        if self.file == FileKind::Text && self.starts_with(at, "**") {
            at = self.skip_blanks(at + 2);
        }
        if self.byte(at) == 0x1b {
            let colour = self.text[at..].iter().take(12).position(|b| *b == b'm').map_or(0, |m| m + 1);
            at += colour;
        }
        if let Some(block) = self.block_scalar(at) {
            return Some(block);
        }
        if matches!(self.file, FileKind::Source | FileKind::Json) && matches!(self.byte(at), b'\n' | b'\r') {
            at = self.skip_space(at);
        }
        if at > self.name.end + REACH {
            return None;
        }
        if let Some(quoted) = self.quoted(at) {
            return Some(quoted);
        }
        if matches!(self.byte(at), b'\n' | b'\r') {
            return None;
        }
        self.bare(at)
    }

    /// `password: |` and the value on the next line, as YAML writes long ones.
    fn block_scalar(&self, at: usize) -> Option<Assigned> {
        if !matches!(self.file, FileKind::Settings | FileKind::Text) || !matches!(self.byte(at), b'|' | b'>')
        {
            return None;
        }
        let sign = at + 1 + usize::from(matches!(self.byte(at + 1), b'-' | b'+'));
        if self.byte(sign) != b'\n' {
            return None;
        }
        let start = self.skip_blanks(sign + 1);
        let rest = &self.text[start.min(self.text.len())..self.text.len().min(start + LONGEST_VALUE)];
        let line = rest.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii_end();
        let one = start > sign + 1 && !line.is_empty();
        one.then(|| Assigned {
            value: start..start + line.len(),
            dress: Dress::Bare,
            file: FileKind::Settings,
        })
    }

    /// A quoted value at this place, past what some languages write before the quotation mark.
    fn quoted(&self, at: usize) -> Option<Assigned> {
        let mut at = at;
        for wrapper in [
            "String::from(",
            "Some(",
            "new String(",
            "Secret::new(",
            "SecretString::from(",
            "str(",
            "password(",
            "(",
        ] {
            if self.starts_with(at, wrapper) {
                at += wrapper.len();
                // `auth = ("ann", "…")`: a pair, of which the second is the secret.
                if wrapper == "(" && self.starts_with(self.name.end.saturating_sub(4), "auth") {
                    at = self.next_argument(at).map_or(at, |next| self.skip_blanks(next));
                }
                break;
            }
        }
        for _ in 0..2 {
            if matches!(
                self.byte(at),
                b'b' | b'r' | b'u' | b'f' | b'@' | b'L' | b'B' | b'R' | b'U' | b'F' | b'$' | b'N'
            ) && matches!(self.byte(at + 1), b'"' | b'\'' | b'b' | b'r')
            {
                at += 1;
            }
        }
        let escaped = self.byte(at) == b'\\' && is_quote(self.byte(at + 1));
        if escaped {
            at += 1;
        }
        let quote = self.byte(at);
        if !is_quote(quote) {
            return None;
        }
        let mut start = at + 1;
        if self.byte(start) == quote && self.byte(start + 1) == quote {
            start += 2;
        }
        let mut end = start;
        loop {
            match self.text.get(end)? {
                b'\n' => return None,
                b'\\' if escaped && self.byte(end + 1) == quote => break,
                b'\\' if !escaped && quote != b'`' => end += 2,
                b if *b == quote => break,
                _ => end += 1,
            }
            if end - start > LONGEST_VALUE {
                return None;
            }
        }
        (end > start)
            .then(|| self.unprefixed(Assigned { value: start..end, dress: Dress::Quoted, file: self.file }))
    }

    /// Without the scheme some values begin with: `Bearer …`, `base64:…`.
    fn unprefixed(&self, mut found: Assigned) -> Assigned {
        for scheme in ["bearer ", "basic ", "token ", "bot ", "apikey ", "base64:", "{plain}", "{noop}"] {
            if self.starts_with(found.value.start, scheme) && found.value.len() > scheme.len() {
                found.value.start = self.skip_blanks(found.value.start + scheme.len()).min(found.value.end);
                break;
            }
        }
        found
    }

    /// `define('NAME', 'value')`.
    fn quoted_argument(&self, at: usize) -> Option<Assigned> {
        let at = self.skip_space(at);
        if at > self.name.end + REACH {
            return None;
        }
        self.quoted(at)
    }
}

/// Whether a name and an equals sign follow.
fn names_next(rest: &[u8]) -> bool {
    let name = rest
        .iter()
        .take(24)
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b' ' | b'-'))
        .count();
    name > 0 && rest.get(name) == Some(&b'=')
}

/// Whether every bracket that closes was opened.
fn balanced(text: &[u8]) -> bool {
    let mut open = 0i32;
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open -= 1,
            _ => {}
        }
    }
    open >= 0 && matches!(text.last(), Some(b')' | b']' | b'}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value behind the name that stands between `«` and `»`.
    fn value(marked: &str, file: FileKind) -> Option<String> {
        let start = marked.find('«').unwrap();
        let end = marked.find('»').unwrap() - '«'.len_utf8();
        let text = marked.replace(['«', '»'], "");
        let found = value_of(text.as_bytes(), start..end, file)?;
        Some(text[found.value].to_owned())
    }

    #[test]
    fn values_are_found_behind_names_in_every_kind_of_file() {
        use FileKind::{Json, Markup, Settings, Shell, Source, Sql, Text};
        let table = [
            ("«DB_PASSWORD»=abc#1,d;e", Settings, "abc#1,d;e"),
            ("«password»: abc # note", Settings, "abc"),
            ("  «password»: \"a b\"", Settings, "a b"),
            ("{«password»: abc, x: y}", Settings, "abc"),
            ("host=h «password»=abc user=u", Settings, "abc"),
            ("- «DB_PASSWORD»=abc", Settings, "abc"),
            ("- name: «DB_PASSWORD»\n  value: abc", Settings, "abc"),
            ("requirepass: no\n«requirepass» abc", Settings, "abc"),
            ("machine h login u «password» abc", Settings, "abc"),
            ("{\"«password»\": \"abc\"}", Json, "abc"),
            ("{\"name\":\"«DB_PASSWORD»\",\"value\":\"abc\"}", Json, "abc"),
            ("\"{\\\"«password»\\\": \\\"abc\\\"}\"", Json, "abc"),
            ("let «password»: &str = \"abc\";", Source, "abc"),
            ("«password» := \"abc\"", Source, "abc"),
            ("def f(«password»='abc'):", Source, "abc"),
            ("define('«DB_PASSWORD»', 'abc');", Source, "abc"),
            ("'«password»' => 'abc',", Source, "abc"),
            ("cfg[\"«password»\"] = \"abc\"", Source, "abc"),
            ("\"Server=x;«Password»=abc;\"", Source, "abc"),
            ("«password» = String::from(\"abc\")", Source, "abc"),
            ("<«password»>abc</password>", Markup, "abc"),
            ("<«Pass» encoding=\"base64\">abc</Pass>", Markup, "abc"),
            ("<add key=\"«Password»\" value=\"abc\"/>", Markup, "abc"),
            ("<string name=\"«api_key»\">abc</string>", Markup, "abc"),
            ("<user «password»=\"abc\"/>", Markup, "abc"),
            ("export «API_KEY»=abc;", Shell, "abc"),
            ("mysql --«password»=abc db", Shell, "abc"),
            ("tool --«token» abc", Shell, "abc"),
            ("ENV «API_KEY» abc", Shell, "abc"),
            ("curl -H \"«Authorization»: Bearer abc\"", Shell, "abc"),
            ("CREATE USER x «IDENTIFIED» BY 'abc';", Sql, "abc"),
            ("ALTER ROLE x «PASSWORD» 'abc';", Sql, "abc"),
            ("the «password» for the new box is abc.", Text, "abc"),
            ("«password»: abc, thanks", Text, "abc"),
            ("https://h/?«token»=abc&x=1", Text, "abc"),
        ];
        for (marked, file, expected) in table {
            assert_eq!(value(marked, file).as_deref(), Some(expected), "{marked}");
        }
    }

    #[test]
    fn where_no_value_is_none_is_found() {
        use FileKind::{Settings, Source, Text};
        for (marked, file) in [
            ("if «password» == \"abc\"", Source),
            ("let «password» = secret;", Source),
            ("«password»: String,", Source),
            ("fn «password»() {}", Source),
            ("«password»::new(\"x\")", Source),
            ("«password»", Settings),
            ("«password»:\n  nested: x", Settings),
            ("the «password» was lost. Nobody is here", Text),
        ] {
            let found = value(marked, file);
            assert!(found.as_deref().is_none_or(|v| v.is_empty() || v == "lost"), "{marked}: {found:?}");
        }
    }
}
