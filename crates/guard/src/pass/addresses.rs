//! Passwords in addresses.

use super::*;

impl<'t, 'g> Pass<'t, 'g> {
    /// A name and a password before a host, outside an address: `user:password@tcp(host)` as a driver for Go writes it,
    /// `oracle:thin:user/password@host`, `register => user:password@host`, `user:password@10.1.2.3` in a message.
    pub(super) fn driver_address(&mut self, at: usize) {
        let after = &self.text[at + 1..self.text.len().min(at + 16)];
        let line = line_before(self.text, at, 128);
        let says = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        let number = after.first().is_some_and(u8::is_ascii_digit)
            && after.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').filter(|b| **b == b'.').count()
                == 3;
        if at < self.address {
            return;
        }
        let known = after.starts_with(b"tcp(")
            || after.starts_with(b"unix(")
            || number
            || says(b"oracle:thin:")
            || (says(b"register") && says(b"=>"));
        if !known {
            return;
        }
        let before = line
            .iter()
            .rev()
            .take_while(|b| {
                !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`' | b'=' | b'>' | b'(' | b'[')
            })
            .count();
        let pair = at - before..at;
        let (from, sign) = match memchr::memmem::rfind(&self.text[pair.clone()], b"thin:") {
            Some(thin) => (pair.start + thin + 5, b'/'),
            None => (pair.start, b':'),
        };
        let Some(split) = self.text[from..at].iter().position(|b| *b == sign) else { return };
        let user = from..from + split;
        let password = Some(from + split + 1..at).filter(|p| p.len() >= 4);
        let odd = |range: &Range<usize>| self.text[range.clone()].iter().any(|b| matches!(b, b'/' | b':'));
        if user.is_empty() || password.as_ref().is_none_or(|p| number && odd(p)) || odd(&user) {
            return;
        }
        let credentials = link::Credentials { user, password, host: at + 1..at + 2 };
        self.joined.push((pair.start, at + 2));
        self.credentials(pair.start, &credentials);
    }

    pub(super) fn link(&mut self, colon: usize) {
        let scheme = self.text[colon.saturating_sub(24)..colon]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
            .count();
        let from = colon - scheme;
        // The scheme is a word, and rules were tried at its beginning.
        let ruled = |c: &Candidate| matches!(c.what, What::Rule(_)) && c.start <= colon && c.end > colon;
        if self.found.last().is_some_and(ruled) {
            return;
        }
        if let Some(found) = link::credentials(self.text, colon) {
            self.joined.push((from, found.host.end));
            self.address = found.host.end;
            self.credentials(from, &found);
            return;
        }
        if self.scene.looking.addresses() {
            let resume = pii::scheme(self.text, colon, &mut self.hits);
            self.take_hits(from, resume);
            self.address = resume;
        }
    }

    pub(super) fn credentials(&mut self, from: usize, found: &link::Credentials) {
        let (span, reason) = match &found.password {
            Some(password) => (password.clone(), "a password in an address"),
            None if found.user.len() >= 16
                && Look::at(&self.text[found.user.clone()]).is_random(self.lore.threshold) =>
            {
                (found.user.clone(), "a token in an address")
            }
            None => return,
        };
        let password = &self.text[span.clone()];
        let user = &self.text[found.user.clone()];
        let look = Look::at(password);
        let templated = value::is_reference(password)
            || password.iter().any(|b| matches!(b, b'{' | b'}' | b'$' | b'<' | b'>' | b'[' | b']'))
                && look.digits == 0;
        let stood_in = self.scene.stand_ins_are_kept
            && (value::is_stand_in(password, user, &look, true) || password.len() < 4);
        if templated || stood_in {
            self.remark(span, reason, "kept: it stands in for one");
            return;
        }
        self.remark(span.clone(), reason, "found");
        self.found.push(Candidate {
            what: What::Known(Known::PasswordInUrl),
            start: span.start,
            end: span.end,
            confidence: 92,
            reason,
            from,
        });
    }
}
