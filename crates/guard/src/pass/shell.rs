//! Flags of one letter that take a password.

use super::*;

impl<'t, 'g> Pass<'t, 'g> {
    /// `-u user:password`, `-pPASSWORD`, `sshpass -p PASSWORD`: flags of one letter.
    pub(super) fn flag(&mut self, start: usize, end: usize) {
        if start < 2
            || self.text[start - 1] != b'-'
            || !matches!(self.text[start - 2], b' ' | b'\t' | b'"' | b'\'' | b',')
        {
            return;
        }
        let line = line_before(self.text, start, 120);
        let says = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        let one = end - start == 1;
        let value = match self.text[start] {
            b'u' if one && (says(b"curl") || says(b"http") || says(b"wget")) => {
                match self.user_and_password(end, b':') {
                    Some(value) => value,
                    None => return,
                }
            }
            b'U' if one && says(b"smb") => match self.user_and_password(end, b'%') {
                Some(value) => value,
                None => return,
            },
            b'p' if says(b"mysql") || says(b"mariadb") => self.glued_word(start + 1),
            b'p' if one
                && (says(b"sshpass")
                    || says(b"docker login")
                    || says(b"twine")
                    || says(b"az login")
                    || says(b"podman login")
                    || says(b"mongo")) =>
            {
                self.next_word(end)
            }
            b'w' if one && says(b"ldap") => self.next_word(end),
            b'a' if one && says(b"redis-cli") => self.next_word(end),
            b'k' if one && says(b"openssl enc") => self.next_word(end),
            b'P' if one && (says(b"sqlcmd") || says(b"bcp ") || says(b"ipmitool")) => self.next_word(end),
            _ => return,
        };
        if value.len() < 5 {
            return;
        }
        self.judged(
            start,
            value,
            b"password",
            Promise::Password,
            value::Dress::Bare,
            FileKind::Shell,
            Known::NamedPassword,
        );
    }

    pub(super) fn next_word(&self, after: usize) -> Range<usize> {
        let blanks = self.text[after..].iter().take(8).take_while(|b| matches!(b, b' ' | b'=')).count();
        let mut start = after + blanks;
        let quote = self.text.get(start).copied().filter(|b| matches!(b, b'"' | b'\'' | b'`'));
        start += usize::from(quote.is_some());
        let rest = &self.text[start.min(self.text.len())..self.text.len().min(start + 160)];
        let stop = rest
            .iter()
            .position(|b| quote.map_or(b.is_ascii_whitespace() || *b == b'`', |q| *b == q || *b == b'\n'));
        // What does not end is no argument.
        let whole = stop.or_else(|| (rest.len() < 160).then_some(rest.len()));
        start..start + whole.unwrap_or(0)
    }

    /// `-pPASSWORD`, `-p'PASSWORD'`.
    pub(super) fn glued_word(&self, at: usize) -> Range<usize> {
        match self.text.get(at) {
            Some(b' ') | None => at..at,
            _ => self.next_word(at),
        }
    }

    pub(super) fn user_and_password(&self, after: usize, sign: u8) -> Option<Range<usize>> {
        let word = self.next_word(after);
        let at = self.text[word.clone()].iter().position(|b| *b == sign)?;
        Some(word.start + at + 1..word.end)
    }
}
