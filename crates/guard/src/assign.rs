//! From a name to its value, in the many ways files and people write one after the other.
//!
//! `name=value`, `"name": "value"`, `name => 'value'`, `<name>value</name>`, `name="X" value="…"`, `define('NAME', 'value')`,
//! `--name value`, `the name for the new box is value`. Nothing is looked at further than [`REACH`] bytes after the name.

use std::ops::Range;

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

    /// `token == "…"`: what a program compares a secret with is the secret, if it looks like one.
    fn compared(&self, at: usize) -> Option<Assigned> {
        let equals = self.text[at..].iter().take(3).take_while(|b| matches!(b, b'=' | b'!')).count();
        let found = self.quoted(self.skip_blanks(at + equals))?;
        let look = crate::judge::Look::at(&self.text[found.value.clone()]);
        (found.value.len() >= 16 && look.is_random(4.5)).then_some(found)
    }

    /// The argument of a call that is a secret: `login("ann", "…")`.
    fn call(&self, at: usize) -> Option<Assigned> {
        const CALLS: &[(&str, usize)] = &[
            ("networkcredential", 1),
            ("setbasicauth", 1),
            ("basic_auth", 1),
            ("basicauth", 1),
            ("httpbasicauth", 1),
            ("basicauthentication", 1),
            ("usernamepasswordcredentials", 1),
            ("passwordauthentication", 1),
            ("getconnection", 2),
            ("connect", 2),
            ("mysqli_connect", 2),
            ("mysqli", 2),
            ("mysql_connect", 2),
            ("pdo", 2),
            ("pg_connect", 0),
            ("bearer_auth", 0),
            ("bearerauth", 0),
            ("bearer", 0),
            ("jwt.sign", 1),
            ("jwt.encode", 1),
            ("jwt.verify", 1),
            ("login", 1),
            ("smtp.login", 1),
            ("ftp.login", 1),
            ("auth", 1),
            ("basicawscredentials", 1),
            ("newstaticcredentials", 1),
            ("newstaticcredentialsprovider", 1),
            ("awsbasiccredentials.create", 1),
            ("azurekeycredential", 0),
            ("setpassword", 0),
            ("withpassword", 0),
            ("password", 0),
            ("setsecret", 0),
            ("settoken", 0),
            ("setapikey", 0),
            ("createhmac", 1),
            ("plainauth", 2),
            ("identified", 0),
        ];
        let name = self.text[self.name.clone()].to_ascii_lowercase();
        let fits = |call: &str| {
            name == call.as_bytes()
                || (name.ends_with(call.as_bytes())
                    && matches!(name[name.len() - call.len() - 1], b'.' | b'_' | b'>'))
        };
        let number = CALLS.iter().filter(|(call, _)| fits(call)).max_by_key(|(call, _)| call.len())?.1;
        let mut at = at + 1;
        for _ in 0..number {
            at = self.next_argument(at)?;
        }
        let at = self.skip_space(at);
        if at > self.name.end + REACH {
            return None;
        }
        self.quoted(at)
    }

    /// Past the comma that ends the argument at a place.
    fn next_argument(&self, at: usize) -> Option<usize> {
        let mut quote = None;
        let mut depth = 0;
        for (i, byte) in self.text[at.min(self.text.len())..].iter().take(REACH).enumerate() {
            match (quote, byte) {
                (Some(q), b) if *b == q => quote = None,
                (Some(_), _) => {}
                (None, b) if is_quote(*b) => quote = Some(*b),
                (None, b'(' | b'[' | b'{') => depth += 1,
                (None, b')' | b']' | b'}') if depth == 0 => return None,
                (None, b')' | b']' | b'}') => depth -= 1,
                (None, b',') if depth == 0 => return Some(at + i + 1),
                _ => {}
            }
        }
        None
    }

    /// `variable "db_password" { default = "…" }`.
    fn block_default(&self, at: usize) -> Option<Assigned> {
        let rest = &self.text[at..self.text.len().min(at + REACH)];
        let end = rest.iter().position(|b| *b == b'}').unwrap_or(rest.len());
        let default = memchr::memmem::find(&rest[..end], b"default")? + 7;
        let equals = self.skip_blanks(at + default);
        if self.byte(equals) == b'=' { self.quoted(self.skip_blanks(equals + 1)) } else { None }
    }

    /// The name and the password between two tags, a line each.
    fn second_line(&self, at: usize) -> Option<Assigned> {
        let rest = &self.text[at.min(self.text.len())..self.text.len().min(at + REACH)];
        let mut lines = rest.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty());
        let line = lines.nth(1)?.trim_ascii();
        let start =
            at + memchr::memmem::rfind(&rest[..memchr::memmem::find(rest, line)? + line.len()], line)?;
        (!line.starts_with(b"<")).then(|| Assigned {
            value: start..start + line.len(),
            dress: Dress::Bare,
            file: FileKind::Settings,
        })
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
        if self.file == FileKind::Source && matches!(self.byte(at), b'\n' | b'\r') {
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

    fn bare(&self, at: usize) -> Option<Assigned> {
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
    fn is_variable(&self, at: usize) -> bool {
        let name = &self.text[self.name.clone()];
        at == self.name.end + 1
            && self.byte(self.name.end) == b'='
            && name.contains(&b'_')
            && name.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
    }

    /// Whether an odd number of quotation marks stands before the name on its line.
    fn in_string(&self) -> bool {
        let from = self.name.start.saturating_sub(120);
        let line = self.text[from..self.name.start].rsplit(|b| *b == b'\n').next().unwrap_or_default();
        line.iter().filter(|b| **b == b'"').count() % 2 == 1
            || line.iter().filter(|b| **b == b'\'').count() % 2 == 1
    }

    /// A setting's value: the rest of the line, where the name begins the line.
    fn bare_setting(&self, at: usize) -> Assigned {
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
    fn begins_line(&self) -> bool {
        let from = self.name.start.saturating_sub(64);
        let before = self.text[from..self.name.start].rsplit(|b| *b == b'\n').next().unwrap_or_default();
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

    fn bare_word(&self, at: usize, file: FileKind) -> Assigned {
        let word = self.plain_word(at, file);
        self.past_scheme(word)
    }

    fn plain_word(&self, at: usize, file: FileKind) -> Assigned {
        let rest = &self.text[at..self.text.len().min(at + LONGEST_VALUE)];
        let listed = matches!(self.before(1), b';' | b'?' | b'&');
        let end = rest.iter().enumerate().position(|(i, b)| match b {
            b'"' | b'\'' | b'`' | b'<' | b'>' => true,
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
    fn past_scheme(&self, word: Assigned) -> Assigned {
        let scheme = self.text[word.value.clone()].to_ascii_lowercase();
        if matches!(
            scheme.as_slice(),
            b"bearer" | b"basic" | b"token" | b"bot" | b"apikey" | b"negotiate" | b"digest"
        ) {
            let next = self.skip_blanks(word.value.end);
            if next > word.value.end && next < self.text.len() {
                return self.plain_word(next, word.file);
            }
        }
        word
    }

    /// `name="X" value="…"`, `"name": "X", "value": "…"`, `name: X` and `value: …` on the next line.
    fn value_attribute(&self, at: usize) -> Option<Assigned> {
        let mut at = self.skip_space(at);
        if self.byte(at) == b',' {
            at = self.skip_space(at + 1);
        }
        let quoted = is_quote(self.byte(at));
        at += usize::from(quoted);
        let word = ["value", "defaultvalue", "default", "secretvalue", "plaintext"]
            .iter()
            .find(|w| self.starts_with(at, w))?;
        at += word.len() + usize::from(quoted);
        at = self.skip_blanks(at);
        if !matches!(self.byte(at), b'=' | b':') || at > self.name.end + REACH {
            return None;
        }
        let at = self.skip_blanks(at + 1);
        self.quoted(at).or_else(|| (self.file == FileKind::Settings).then(|| self.bare_line(at)))
    }

    fn bare_line(&self, at: usize) -> Assigned {
        let rest = &self.text[at..self.text.len().min(at + LONGEST_VALUE)];
        let line = rest.split(|b| matches!(b, b'\n' | b'\r')).next().unwrap_or_default().trim_ascii_end();
        Assigned { value: at..at + line.len(), dress: Dress::Bare, file: FileKind::Settings }
    }

    /// `define('NAME', 'value')`.
    fn quoted_argument(&self, at: usize) -> Option<Assigned> {
        let at = self.skip_space(at);
        if at > self.name.end + REACH {
            return None;
        }
        self.quoted(at)
    }

    /// `<name>value</name>`, also across an attribute list and `CDATA`.
    fn element(&self, at: usize) -> Option<Assigned> {
        let mut at = self.skip_space(at);
        for wrapper in ["<value>", "<![CDATA[", "<string>"] {
            if self.starts_with(at, wrapper) {
                at = self.skip_space(at + wrapper.len());
            }
        }
        let rest = &self.text[at..self.text.len().min(at + LONGEST_VALUE)];
        let end = rest.iter().position(|b| *b == b'<')?;
        let value = rest[..end].strip_suffix(b"]]>").unwrap_or(&rest[..end]).trim_ascii_end();
        Some(Assigned { value: at..at + value.len(), dress: Dress::Quoted, file: FileKind::Markup })
    }

    fn element_after_attributes(&self, at: usize) -> Option<Assigned> {
        let rest = &self.text[at..self.text.len().min(at + 96)];
        let close = rest.iter().position(|b| matches!(b, b'>' | b'<' | b'\n' | b'='))?;
        let close = match rest[close] {
            b'>' => close,
            // One attribute more: `<Pass encoding="base64">`.
            b'=' => {
                rest.iter().position(|b| matches!(b, b'>' | b'<' | b'\n')).filter(|c| rest[*c] == b'>')?
            }
            _ => return None,
        };
        // `encoding="crypt"`: it takes another secret to read this one.
        if (close > 0 && rest[close - 1] == b'/')
            || memchr::memmem::find(&rest[..close], b"\"crypt\"").is_some()
        {
            return None;
        }
        self.element(at + close + 1)
    }

    /// Nothing but blanks between the name and what follows it.
    fn after_blank(&self, at: usize) -> Option<Assigned> {
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
    fn in_comment(&self) -> bool {
        let line = self.text[self.name.start.saturating_sub(120)..self.name.start]
            .rsplit(|b| *b == b'\n')
            .next()
            .unwrap_or_default();
        let line = line.trim_ascii_start();
        [&b"//"[..], b"#", b"*", b"/*", b"--", b";", b"\"\"\""].iter().any(|sign| line.starts_with(sign))
    }

    /// `#define WIFI_PASSWORD "…"`
    fn is_define(&self) -> bool {
        let line = self.text[self.name.start.saturating_sub(64)..self.name.start]
            .rsplit(|b| *b == b'\n')
            .next()
            .unwrap_or_default();
        line.trim_ascii().starts_with(b"#define")
    }

    /// `password 7 060506324F41`, `tacacs-server key …`, `snmp-server community … RO`: how routers are told.
    fn after_type_number(&self, at: usize) -> Option<Assigned> {
        let line = self.text[self.name.start.saturating_sub(64)..self.name.start]
            .rsplit(|b| *b == b'\n')
            .next()
            .unwrap_or_default();
        let name = self.text[self.name.clone()].to_ascii_lowercase();
        let says = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        let numbered = self.byte(at).is_ascii_digit() && self.byte(at + 1) == b' ';
        let told = matches!(name.as_slice(), b"password" | b"secret" | b"key-string")
            && numbered
            && matches!(self.file, FileKind::Settings | FileKind::Text);
        let network = (name == b"community" && says(b"snmp"))
            || (name == b"key" && (says(b"tacacs") || says(b"radius") || says(b"isakmp")));
        if !told && !network {
            return None;
        }
        let at = if numbered { self.skip_blanks(at + 2) } else { at };
        Some(self.bare_word(at, FileKind::Settings))
    }

    /// `stats auth ann:…`
    fn user_and_password(&self, at: usize) -> Option<Assigned> {
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
    fn names_a_word(&self, at: usize) -> bool {
        let line_before = self.text[self.name.start.saturating_sub(120)..self.name.start]
            .rsplit(|b| *b == b'\n')
            .next()
            .unwrap_or_default();
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

    fn identified_by(&self, at: usize) -> Option<Assigned> {
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
    fn random_next(&self, at: usize) -> Option<Assigned> {
        let mut word = self.bare_word(at, FileKind::Text);
        word.dress = Dress::Spoken;
        let value = &self.text[word.value.clone()];
        let look = crate::judge::Look::at(value);
        let random = value.len() >= 12 && look.digits > 0 && look.is_random(4.5);
        // A password somebody made up: three kinds of signs, a number among them, and no path, address or time.
        let made_up = value.len() >= 8
            && look.digits > 0
            && look.classes() >= 3
            && look.lowers + look.uppers > 3
            && !value.iter().any(|b| matches!(b, b'/' | b':' | b'(' | b'.'));
        let is_password =
            crate::keyname::promise(&self.text[self.name.clone()]) == Some(crate::keyname::Promise::Password);
        (random || (made_up && is_password && matches!(self.file, FileKind::Text | FileKind::Settings)))
            .then_some(word)
    }

    /// `ALTER ROLE x PASSWORD '…'` outside a database dump.
    fn sql_in_text(&self, at: usize) -> Option<Assigned> {
        let name = &self.text[self.name.clone()];
        (name == b"PASSWORD" && matches!(self.byte(at), b'\'')).then(|| self.quoted(at)).flatten()
    }

    /// `the password for the new box is …`: a few words, then a word that hands the value over.
    fn spoken(&self, at: usize) -> Option<Assigned> {
        let rest = &self.text[at..self.text.len().min(at + 64)];
        // The end of a string in JSON is the end of what is said.
        let line = rest
            .split(|b| matches!(b, b'\n' | b'.' | b'!' | b';') || (*b == b'"' && self.file == FileKind::Json))
            .next()
            .unwrap_or_default();
        let (after, length) = [&b"is "[..], b"was ", b"to ", b"be ", b"will be ", b"are ", b"-> ", b"= "]
            .iter()
            .filter_map(|word| {
                let found = if line.starts_with(word) {
                    Some(0)
                } else {
                    memchr::memmem::find(line, &[b" ", *word].concat()).map(|p| p + 1)
                };
                found.map(|p| (p, word.len()))
            })
            .chain(memchr::memmem::find(line, b": ").map(|p| (p, 2)))
            .min()?;
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
