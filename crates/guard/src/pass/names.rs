//! Names that promise a secret, and what stands behind them.

use super::*;
use crate::finding::Confidence;

impl<'t, 'g> Pass<'t, 'g> {
    /// `ann / …` alone on a line of notes: a name and a password.
    pub(super) fn pair(&mut self, at: usize) {
        if self.scene.file != FileKind::Text
            || at < 2
            || self.text[at - 1] != b' '
            || self.text.get(at + 1) != Some(&b' ')
        {
            return;
        }
        let before = line_before(self.text, at - 1, 47);
        let label = before.rsplit(|b| matches!(b, b' ' | b'(')).next().unwrap_or_default();
        let bare = label.strip_prefix(b"`").and_then(|l| l.strip_suffix(b"`"));
        let lead = before[..before.len() - label.len()].trim_ascii_end();
        let alone = !self.scene.stand_ins_are_kept
            || bare.is_some()
            || lead.is_empty()
            || lead.ends_with(b":")
            || matches!(lead.trim_ascii(), b"-" | b"*")
            || [&b"login"[..], b"user", b"creds", b"credentials", b"account", b"username"]
                .iter()
                .any(|w| lead.to_ascii_lowercase().ends_with(w));
        let named = alone
            && label.len() >= 2
            && bare
                .unwrap_or(label)
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'@'));
        let word = self.next_word(at + 1);
        let ends = self.text.get(word.end).is_none_or(|b| matches!(b, b'\n' | b'\r' | b'`' | b'"'));
        let look = Look::at(&self.text[word.clone()]);
        let identifier = self.text[word.clone()].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
            && self.text[word.clone()].contains(&b'_');
        let strong = !identifier
            && word.len() >= 8
            && look.digits > 0
            && (look.classes() == 4 || (look.classes() == 3 && look.is_random(self.lore.threshold)));
        if named && ends && strong {
            self.judged(
                at - 1 - label.len(),
                word,
                b"",
                Promise::Password,
                value::Dress::Spoken,
                FileKind::Text,
                Known::NamedPassword,
            );
        }
    }

    /// What stands under the heading of a column that promises a secret.
    pub(super) fn columns(&mut self) {
        for cell in columns::cells(self.text) {
            let promise = cell.promise.max(Promise::Secret);
            let heading = &self.text[cell.heading.clone()];
            self.judged(
                cell.heading.start,
                cell.value,
                heading,
                promise,
                value::Dress::Bare,
                FileKind::Settings,
                Known::NamedPassword,
            );
        }
    }

    /// A file of fields: the secret is where its format says.
    pub(super) fn fields(&mut self, fields: Fields) {
        let mut start = 0;
        for line in self.text.split(|b| *b == b'\n') {
            let here = start;
            start += line.len() + 1;
            let line = line.trim_ascii_end();
            if line.is_empty() || line.len() > assign::LONGEST_VALUE || line.starts_with(b"#") {
                continue;
            }
            let Some(value) = field(line, fields) else { continue };
            let secret = &line[value.clone()];
            let kept = value.len() < 4
                || value::is_reference(secret)
                || value::is_stand_in(secret, b"", &Look::at(secret), true);
            let confidence = if kept { 0 } else { 85 };
            self.found.push(Candidate {
                what: What::Known(Known::NamedPassword),
                start: here + value.start,
                end: here + value.end,
                confidence,
                reason: "where this kind of file keeps its secrets",
                from: here,
            });
        }
    }

    /// A name for a password in a script whose letters make no words here.
    pub(super) fn named_abroad(&mut self, at: usize) {
        const NAMES: &[&str] = &[
            "密码",
            "密碼",
            "口令",
            "パスワード",
            "비밀번호",
            "пароль",
            "Пароль",
            "סיסמה",
            "كلمة المرور",
            "รหัสผ่าน",
            "contraseña",
            "Contraseña",
            "hasło",
            "Hasło",
            "şifre",
        ];
        let before = &self.text[at.saturating_sub(40)..at];
        if let Some(name) = NAMES.iter().find(|name| before.ends_with(name.as_bytes())) {
            self.assigned(at - name.len()..at, Promise::Password);
        }
    }

    /// A word that may promise a secret: the whole name, and what stands behind it.
    #[inline(never)]
    pub(super) fn name(&mut self, start: usize, end: usize) {
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let before =
            self.text[start.saturating_sub(LONGEST_NAME)..start].iter().rev().take_while(|b| part(b)).count();
        let after =
            self.text[end..self.text.len().min(end + LONGEST_NAME)].iter().take_while(|b| part(b)).count();
        let mut name = start - before..end + after;
        while name.end > end && matches!(self.text[name.end - 1], b'-' | b'.') {
            name.end -= 1;
        }
        while name.start < start && matches!(self.text[name.start], b'-' | b'.') {
            name.start += 1;
        }
        // An escaped line end before the name is no part of it.
        if name.start > 0
            && self.text[name.start - 1] == b'\\'
            && matches!(self.text[name.start], b'n' | b't' | b'r')
            && name.start < start
        {
            name.start += 1;
        }
        self.named = name.end;
        if self.text[name.end..].starts_with(b"-stdin")
            || self.text[name.clone()].ends_with(b"-stdin")
            || self.text[name.clone()].eq_ignore_ascii_case(b"chpasswd")
        {
            self.piped(&name);
            return;
        }
        if self.text[name.clone()].eq_ignore_ascii_case(b"basic") {
            self.basic(&name);
            return;
        }
        match self.promise_at(&name) {
            Some(promise) => self.assigned(name, promise),
            None => self.remark(name, "a name", "promises nothing"),
        }
    }

    /// What a name promises, by itself or with the word before it or the sign behind it.
    pub(super) fn promise_at(&self, name: &Range<usize>) -> Option<Promise> {
        let spelled = &self.text[name.clone()];
        let line = line_before(self.text, name.start, 40);
        if spelled.eq_ignore_ascii_case(b"community") && memchr::memmem::find(line, b"snmp").is_some() {
            return Some(Promise::Password);
        }
        // The verdict of a test: `PASS: suite/case`.
        if spelled == b"PASS" && self.text.get(name.end) == Some(&b':') {
            return None;
        }
        if let Some(promise) = keyname::promise(spelled) {
            return Some(promise);
        }
        if spelled.eq_ignore_ascii_case(b"identified")
            || self.text.get(name.end) == Some(&b'(')
            || spelled.eq_ignore_ascii_case(b"ConvertTo-SecureString")
        {
            return Some(Promise::Password);
        }
        if !spelled.eq_ignore_ascii_case(b"key") {
            return None;
        }
        let before = line.trim_ascii_end();
        if before.len() < line.len() && !before.is_empty() {
            // `the API key is …`, `tacacs-server key …`
            let from = before.iter().rposition(|b| b.is_ascii_whitespace()).map_or(0, |p| p + 1);
            let word = before[from..].to_ascii_lowercase();
            let promising = [
                &b"api"[..],
                b"secret",
                b"access",
                b"private",
                b"shared",
                b"pre-shared",
                b"preshared",
                b"license",
                b"licence",
                b"signing",
                b"encryption",
                b"master",
                b"account",
                b"auth",
                b"deploy",
                b"service",
                b"recovery",
            ];
            if promising.contains(&word.as_slice()) {
                return Some(Promise::Secret);
            }
            let network = [&b"tacacs"[..], b"radius", b"isakmp"]
                .iter()
                .any(|w| memchr::memmem::find(line, w).is_some());
            return network.then_some(Promise::Password);
        }
        // `"Key": "…"` says little; what is thoroughly random under it says the rest.
        matches!(self.scene.file, FileKind::Source | FileKind::Json).then_some(Promise::Weak)
    }

    /// `Basic dXNlcjpwYXNz`, in any header, string or sentence.
    pub(super) fn basic(&mut self, name: &Range<usize>) {
        if self.text.get(name.end) != Some(&b' ') {
            return;
        }
        let start = name.end + 1;
        let length = self.text[start..self.text.len().min(start + 512)]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_'))
            .count();
        let value = &self.text[start..start + length];
        if self.is_pair(value) {
            self.joined.push((name.start, start + length));
            self.found.push(Candidate {
                what: What::Known(Known::BasicAuth),
                start,
                end: start + length,
                confidence: 90,
                reason: "a name and a password in a basic header",
                from: name.start,
            });
        }
    }

    /// Whether the value right behind a name is a token of a form of its own, found by it: then no judge is needed.
    fn is_token(&mut self, name: &Range<usize>, value: &Range<usize>) -> bool {
        // Further behind, what stands between the two would not be looked at any more.
        let adjacent = value.start >= self.ruled && value.start <= name.end + ADJACENT;
        if !adjacent || !self.lore.tables.may_begin(self.text, value.start) {
            return false;
        }
        let seen = self.found.len();
        self.rules(value.start);
        self.found.len() > seen && self.ruled >= value.end
    }

    /// `${DB_PASS:-…}`: what stands there when nothing else does is a value like any other.
    fn default_of_variable(&self, mut found: assign::Assigned) -> assign::Assigned {
        let value = &self.text[found.value.clone()];
        if value.starts_with(b"${")
            && value.ends_with(b"}")
            && let Some(sign) = memchr::memmem::find(value, b":-")
        {
            found.value = found.value.start + sign + 2..found.value.end - 1;
        }
        found
    }

    /// Whether base64 says a name and a password, and not the ones of examples.
    pub(super) fn is_pair(&self, value: &[u8]) -> bool {
        let Some(plain) =
            decode::base64_text(value).filter(|plain| value.len() >= 8 && !plain.contains(&b' '))
        else {
            return false;
        };
        let Some(colon) = plain.iter().position(|b| *b == b':') else { return false };
        let (user, password) = (&plain[..colon], &plain[colon + 1..]);
        let stood_in =
            value::is_reference(password) || value::is_stand_in(password, user, &Look::at(password), true);
        !(self.scene.stand_ins_are_kept && stood_in)
    }

    /// `echo 'ann:…' | chpasswd`, `echo … | tool --password-stdin`: the secret stands before the name.
    pub(super) fn piped(&mut self, name: &Range<usize>) {
        let line = line_before(self.text, name.start, 160);
        let line_start = name.start - line.len();
        let (Some(echo), Some(pipe)) =
            (memchr::memmem::find(line, b"echo "), line.iter().rposition(|b| *b == b'|'))
        else {
            return;
        };
        if pipe < echo {
            return;
        }
        let said = &line[echo + 5..pipe];
        let said_start = line_start + echo + 5;
        let skipped = said.iter().take_while(|b| matches!(b, b' ' | b'"' | b'\'' | b'-' | b'n')).count();
        let said_end =
            said.len() - said.iter().rev().take_while(|b| matches!(b, b' ' | b'"' | b'\'')).count();
        if skipped >= said_end {
            return;
        }
        let colon = said[skipped..said_end]
            .iter()
            .position(|b| *b == b':')
            .filter(|_| self.text[name.clone()].eq_ignore_ascii_case(b"chpasswd"));
        let value = said_start + skipped + colon.map_or(0, |c| c + 1)..said_start + said_end;
        self.joined.push((line_start, name.end));
        self.judged(
            line_start,
            value,
            b"password",
            Promise::Password,
            value::Dress::Bare,
            FileKind::Shell,
            Known::NamedPassword,
        );
    }

    pub(super) fn assigned(&mut self, name: Range<usize>, promise: Promise) {
        // `password=password=password=…`: each is the value of the one before it, and judging all of them would take for ever.
        self.inner_names = if name.start < self.valued { self.inner_names + 1 } else { 0 };
        if self.inner_names > MOST_INNER_NAMES {
            return;
        }
        let Some(found) = assign::value_of(self.text, name.clone(), self.scene.file) else {
            self.remark(name, "a name that promises a secret", "no value behind it");
            return;
        };
        self.joined.push((name.start, found.value.end));
        self.valued = self.valued.max(found.value.end);
        let found = self.default_of_variable(found);
        if self.is_token(&name, &found.value) {
            return;
        }
        let spelled = &self.text[name.clone()];
        let scheme = &self.text[name.end..found.value.start];
        let says = |word: &[u8]| {
            scheme.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
                || spelled.eq_ignore_ascii_case(word)
        };
        let known = if says(b"bearer") {
            Known::BearerToken
        } else if says(b"basic") {
            Known::BasicAuth
        } else if promise == Promise::Password {
            Known::NamedPassword
        } else {
            Known::NamedSecret
        };
        if known == Known::BasicAuth && self.is_pair(&self.text[found.value.clone()]) {
            self.found.push(Candidate {
                what: What::Known(known),
                start: found.value.start,
                end: found.value.end,
                confidence: 88,
                reason: "a name and a password in a basic header",
                from: name.start,
            });
            return;
        }
        // What a call or a pair hands over as its secret is one, whatever the name of the call promises.
        let handed = scheme.contains(&b'(') && promise >= Promise::Token;
        let promise = match known {
            Known::BearerToken => Promise::Token,
            _ if handed => Promise::Password,
            _ => promise,
        };
        self.judged(name.start, found.value, &self.text[name], promise, found.dress, found.file, known);
    }

    #[expect(clippy::too_many_arguments, reason = "what a judge hears is what there is to hear")]
    pub(super) fn judged(
        &mut self,
        from: usize,
        value: Range<usize>,
        name: &'t [u8],
        promise: Promise,
        dress: value::Dress,
        file: FileKind,
        known: Known,
    ) {
        let text = &self.text[value.clone()];
        if self.scene.file == FileKind::Digests
            && (judge::has_digest_length(text) || text.starts_with(b"sha"))
        {
            return;
        }
        if judge::has_digest_length(text)
            && text.iter().all(u8::is_ascii_hexdigit)
            && self.says_checksum(from)
        {
            self.remark(
                value,
                "the value of a name that promises a secret",
                "kept: a digest, as the words before it say",
            );
            return;
        }
        // Sealed with a key that is elsewhere.
        let sealed = text.len() >= 100
            && memchr::memmem::find(&self.text[from.saturating_sub(BEHIND)..from], b"encryptedData")
                .is_some();
        if sealed {
            self.remark(value, "the value of a name that promises a secret", "kept: it is sealed");
            return;
        }
        let strict = self.scene.stand_ins_are_kept;
        match value::judge(text, name, promise, dress, file, strict) {
            Judgement::Secret { confidence, reason } => {
                // Whoever's number stands in a value that is taken out goes with it.
                if Confidence::percent(confidence) >= self.scene.least {
                    self.people = self.people.max(value.end);
                    self.taken = value.clone();
                }
                self.remark(value.clone(), "the value of a name that promises a secret", reason);
                self.found.push(Candidate {
                    what: What::Known(known),
                    start: value.start,
                    end: value.end,
                    confidence,
                    reason,
                    from,
                });
            }
            Judgement::Kept { reason } => {
                let wrapped = reason != "it stands in for a secret"
                    && promise >= Promise::Token
                    && text.len() >= 8
                    && decode::base64_text(text)
                        .is_some_and(|t| t.len() >= 6 && t.contains(&b':') && !t.contains(&b' '));
                if wrapped {
                    self.found.push(Candidate {
                        what: What::Known(Known::BasicAuth),
                        start: value.start,
                        end: value.end,
                        confidence: 80,
                        reason: "a name and a password in base64",
                        from,
                    });
                } else {
                    self.remark(value, "the value of a name that promises a secret", reason);
                }
            }
        }
    }

    /// `checksum/secret: …`: the digest of a secret.
    pub(super) fn says_checksum(&self, at: usize) -> bool {
        let before = line_before(self.text, at, 24);
        [&b"checksum"[..], b"digest", b"sha256", b"hash"]
            .iter()
            .any(|w| memchr::memmem::find(before, w).is_some())
    }
}
