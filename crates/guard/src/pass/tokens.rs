//! Tokens: by their form, by what stands near them, and for looking random.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::*;

/// Words after which a string of a digest's length is one.
#[rustfmt::skip]
const DIGEST_WORDS: &[&str] = &[
    "sha1", "sha-1", "sha2", "sha3", "sha5", "sha256", "sha512", "md5", "blake", "digest", "checksum",
    "integrity", "commit", "revision", "rev ", "rev=", "rev:", "git", "hash", "etag", "merge", "tree ",
    "parent ", "object", "fingerprint", "cherry", "sha:", "sha ", "sha=", "crc", "@sha", "root ",
    "blob", "cksum", "head ", "uuid", "guid", "build id", "build-id", "buildid", "trace", "span",
];

static DIGEST_FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(DIGEST_WORDS).ok());

impl<'t, 'g> Pass<'t, 'g> {
    /// Tries the rules that may begin here.
    #[inline(never)]
    pub(super) fn rules(&mut self, at: usize) {
        let tables = self.lore.tables;
        let mut best: Option<(usize, Way)> = None;
        let first_eight = eight_at(self.text, at);
        let begun = tables.beginnings_at(self.text, at).iter();
        let begun = begun.filter(|b| b.fits(first_eight)).map(|b| b.way);
        for way in begun.chain(tables.addresses_at(self.text, at).iter().copied()) {
            if let Some(end) = self.whole_token(way, at, true)
                && best.is_none_or(|(longest, _)| end > longest)
            {
                best = Some((end, way));
            }
        }
        if let Some((end, way)) = best {
            self.rule_found(way, at, end);
        }
    }

    /// Rules that begin with a long class.
    pub(super) fn free_rules(&mut self, at: usize, end: usize) {
        if at > 0 && matches!(self.text[at - 1], b'_' | b'-' | b'.' | b'+' | b'/') {
            return;
        }
        let tables = self.lore.tables;
        for free in tables.free.iter().filter(|free| free.fits(self.text, at, end - at)) {
            if let Some(end) = self.whole_token(free.way, at, true) {
                self.rule_found(free.way, at, end);
            }
        }
    }

    pub(super) fn rule_found(&mut self, way: Way, start: usize, end: usize) {
        let rule = &self.lore.tables.rules[way.rule as usize];
        self.ruled = end;
        // Nobody's number stands inside a token.
        self.people = self.people.max(end);
        if self.scene.stand_ins_are_kept && is_made_up(&self.text[start..end]) {
            self.remark(start..end, "has the form of a token", "kept: it stands in for one");
            return;
        }
        self.remark(start..end, "has the form of a token", "found");
        let reason = if rule.near.is_empty() {
            "it has the form of such a token"
        } else {
            "it has the length of such a key, and the provider is named before it"
        };
        self.found.push(Candidate {
            what: What::Rule(way.rule),
            start,
            end,
            confidence: rule.confidence,
            reason,
            from: start,
        });
    }

    /// Where the branch matches, if what it matches is a whole token.
    pub(super) fn whole_token(&self, way: Way, at: usize, loose: bool) -> Option<usize> {
        let branch = &self.lore.tables.rules[way.rule as usize].shape.branches()[way.branch as usize];
        let mut end = branch.matches(self.text, at)?;
        if let Some(set) = branch.open_ended() {
            while end < self.text.len() && end - at < AHEAD && set.has(self.text[end]) {
                end += 1;
            }
        }
        // Longer than any token: whatever it is, it is not looked at again from every place inside it.
        if end - at >= AHEAD {
            return Some(end);
        }
        let after = self.text.get(end).copied().unwrap_or(b' ');
        let goes_on = after.is_ascii_alphanumeric()
            || (after == b'_' && self.text.get(end + 1) != Some(&b'_'))
            || (after == b'-' && (!loose || self.text.get(end + 1).is_some_and(u8::is_ascii_alphanumeric)));
        (!goes_on).then_some(end)
    }

    /// Three characters, a digit, `Q~`, and thirty-one to thirty-four more.
    pub(super) fn entra_secret(&mut self, at: usize) {
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'~' | b'-');
        let Some(start) = at.checked_sub(5) else { return };
        let head = &self.text[start..at];
        let begins = head[4] == b'Q'
            && head[3].is_ascii_digit()
            && head[..3].iter().all(part)
            && (start == 0 || !part(&self.text[start - 1]));
        let length = self.text[at + 1..].iter().take(48).take_while(|b| part(b)).count();
        if begins && (31..=34).contains(&length) {
            self.found.push(Candidate {
                what: What::Known(Known::EntraSecret),
                start,
                end: at + 1 + length,
                confidence: 95,
                reason: "it has the form of such a token",
                from: start,
            });
        }
    }

    /// A long run of token characters: tokens by their neighbours, wrapped text, and what only looks random.
    #[inline(never)]
    pub(super) fn long_run(&mut self, start: usize, end: usize) {
        let text = self.text;
        let mut from = start;
        while from < end {
            let rest = &text[from..end];
            let stop = piece_end(rest);
            let piece = from..from + stop;
            if piece.len() >= SHORTEST_RUN {
                self.piece(piece.clone());
            }
            from = piece.end + 1;
        }
    }

    pub(super) fn piece(&mut self, piece: Range<usize>) {
        let piece = trimmed(self.text, piece);
        if piece.len() < SHORTEST_RUN || (piece.start < self.ruled && piece.end <= self.ruled) {
            return;
        }
        let text = &self.text[piece.clone()];
        let head = &text[..text.len().min(LONGEST_TOKEN)];
        let digits = head.iter().filter(|b| b.is_ascii_digit()).count();
        if digits == 0 && head.len() < 24 {
            return;
        }
        if let Some(marks) = &mut self.marks
            && !self.scene.stand_ins_are_kept
            && let Some(mark) = disguise::mark_of_run(self.text, piece.clone())
        {
            marks.push(mark);
        }
        if text.len() >= 24 && self.depth < DEEPEST {
            let wrapped = &text[..text.len().min(LONGEST_RUN)];
            if let Some(plain) = decode::base64_text(wrapped) {
                self.unwrapped(&plain, piece.clone(), "base64 hides it");
            }
        }
        if text.len() > LONGEST_TOKEN {
            return;
        }
        if digits > 0 && changes(head) >= 3 {
            self.near_rules(&piece);
        }
        if piece.len() == 40 {
            self.aws_secret(&piece, &Look::at(text));
        }
        // In files, random strings without a name are digests, ids and data. In what an agent says or remembers, they are not
        // worth the risk.
        // What is taken out with its value needs no further reason.
        if self.scene.looking.random() && self.depth == 0 && !self.is_taken(&piece) {
            let look = Look::at(text);
            self.random(piece, &look);
        }
    }

    fn is_taken(&self, piece: &Range<usize>) -> bool {
        self.taken.start <= piece.start && piece.end <= self.taken.end
    }

    pub(super) fn near_rules(&mut self, piece: &Range<usize>) {
        if self.scene.file == FileKind::Digests {
            return;
        }
        let mut ways = std::mem::take(&mut self.ways);
        ways.clear();
        self.lore.tables.ways_near(&self.text[piece.start.saturating_sub(NEAR)..piece.start], &mut ways);
        for way in &ways {
            if let Some(end) = self.whole_token(*way, piece.start, false)
                && Look::at(&self.text[piece.start..end]).distinct >= 6
                && !(judge::has_digest_length(&self.text[piece.start..end])
                    && self.digest_context(piece.start))
                && !self.names_no_secret(piece.start)
            {
                self.rule_found(*way, piece.start, end);
                break;
            }
        }
        self.ways = ways;
    }

    /// Whether the name right before a value says that it is something else: `username`, `client_id`.
    pub(super) fn names_no_secret(&self, at: usize) -> bool {
        let line = line_before(self.text, at, 48);
        let end = line.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |p| p + 1);
        let length = line[..end]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
            .count();
        let name = line[end - length..end].to_ascii_lowercase();
        [&b"username"[..], b"user", b"email", b"url", b"host", b"region"].iter().any(|n| name.ends_with(n))
    }

    /// Forty characters of base64, with a word of Amazon's before or an access key beside it.
    pub(super) fn aws_secret(&mut self, piece: &Range<usize>, look: &Look) {
        let mixed =
            !self.scene.stand_ins_are_kept && look.classes() >= 3 && look.digits > 0 && look.likeness() < 8;
        let random = look.is_random(self.lore.threshold) || mixed;
        if look.is_hex() || !random || self.text[piece.clone()].contains(&b'-') {
            return;
        }
        let before = &self.text[piece.start.saturating_sub(200)..piece.start];
        let line = before.rsplit(|b| *b == b'\n').next().unwrap_or_default().to_ascii_lowercase();
        let after = &self.text[piece.end..self.text.len().min(piece.end + 200)];
        let says = |word: &[u8]| memchr::memmem::find(&line, word).is_some();
        let beside = |text: &[u8]| {
            memchr::memmem::find(text, b"AKIA").is_some() || memchr::memmem::find(text, b"ASIA").is_some()
        };
        let other_key = says(b"site") || says(b"public");
        let near = !other_key
            && (says(b"aws")
                || says(b"secret")
                || says(b"access_key")
                || says(b"accesskey")
                || beside(before)
                || beside(after));
        if near && !self.digest_context(piece.start) {
            let stood_in = self.scene.stand_ins_are_kept && is_made_up(&self.text[piece.clone()]);
            if !stood_in {
                self.found.push(Candidate {
                    what: What::Known(Known::AwsSecret),
                    start: piece.start,
                    end: piece.end,
                    confidence: 86,
                    reason: "forty random characters beside an access key or its name",
                    from: piece.start,
                });
            }
        }
    }

    /// Whether what stands just before says that a digest follows.
    pub(super) fn digest_context(&self, start: usize) -> bool {
        let before = line_before(self.text, start, 40).to_ascii_lowercase();
        DIGEST_FINDER.as_ref().is_some_and(|finder| finder.is_match(&before))
    }

    /// What only looks random.
    pub(super) fn random(&mut self, piece: Range<usize>, look: &Look) {
        // The public half of a key for SSH says so in its first bytes.
        if [&b"AAAAB3NzaC1"[..], b"AAAAC3NzaC1", b"AAAAE2Vj", b"AAAAGnNr", b"AAAAInNr"]
            .iter()
            .any(|head| self.text[piece.clone()].starts_with(head))
        {
            return;
        }
        if piece.len() >= self.lore.shortest && self.is_random_piece(&piece, look) {
            self.random_found(piece);
            return;
        }
        // A path or a dashed name may carry one random part.
        let mut start = piece.start;
        while start < piece.end {
            let stop = self.text[start..piece.end]
                .iter()
                .position(|b| matches!(b, b'/' | b'-' | b'_' | b'+'))
                .map_or(piece.end, |p| start + p);
            let part = start..stop;
            if part.len() >= self.lore.shortest && part.len() < piece.len() {
                let look = Look::at(&self.text[part.clone()]);
                if self.is_random_piece(&part, &look) {
                    self.random_found(part);
                }
            }
            start = stop + 1;
        }
    }

    pub(super) fn is_random_piece(&mut self, piece: &Range<usize>, look: &Look) -> bool {
        let text = &self.text[piece.clone()];
        if judge::is_uuid(text)
            || text.starts_with(b"sha512-")
            || text.starts_with(b"sha384-")
            || text.starts_with(b"sha256-")
            || !look.is_random(self.lore.threshold)
        {
            return false;
        }
        if judge::has_digest_length(text) && self.digest_context(piece.start) {
            self.remark(piece.clone(), "looks random", "kept: a digest, as the words before it say");
            return false;
        }
        // A path of words and numbers is not random because its parts are many.
        let slashes = text.iter().filter(|b| **b == b'/').count();
        !(slashes >= 3 && look.likeness() > -20 && slashes * 14 > text.len())
    }

    pub(super) fn random_found(&mut self, piece: Range<usize>) {
        self.remark(piece.clone(), "looks random", "found");
        self.found.push(Candidate {
            what: What::Known(Known::HighEntropy),
            start: piece.start,
            end: piece.end,
            confidence: 60,
            reason: "it looks random",
            from: piece.start,
        });
    }
}
