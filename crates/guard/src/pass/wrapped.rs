//! What percent signs and base64 wrap.

use super::*;

impl<'t, 'g> Pass<'t, 'g> {
    /// `%XX` inside a run: what it says is looked at once more.
    pub(super) fn percent(&mut self, at: usize) {
        let is_code =
            |i: usize| self.text.get(i + 1..i + 3).is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit));
        if at < self.ruled || self.depth >= DEEPEST || !is_code(at) {
            return;
        }
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'%' | b'~' | b'+');
        let before =
            self.text[at.saturating_sub(BEHIND / 2)..at].iter().rev().take_while(|b| part(b)).count();
        let start = at - before;
        // Only the first code of a run is looked at; it sees the others.
        if self.text[start..at].contains(&b'%') {
            return;
        }
        let end = at + self.text[at..self.text.len().min(at + 1024)].iter().take_while(|b| part(b)).count();
        self.joined.push((start, end));
        if let Some(plain) = decode::percent_text(&self.text[start..end]) {
            self.unwrapped(&plain, start..end, "percent signs hide it");
        }
    }

    /// Looks at what was unwrapped; what is found in it is found where it was wrapped.
    pub(super) fn unwrapped(&mut self, plain: &[u8], place: Range<usize>, reason: &'static str) {
        let mut scene = self.scene;
        scene.looking = crate::scene::Looking::Named;
        let mut inner = Pass::new(plain, scene, self.lore);
        inner.depth = self.depth + 1;
        inner.run(0, false);
        let rank = |c: &&Candidate| (c.confidence, c.end - c.start);
        let best = inner
            .found
            .iter()
            .filter(|c| c.confidence >= 75 && !matches!(c.what, What::Known(Known::HighEntropy)))
            .max_by_key(rank);
        if let Some(best) = best {
            self.remark(place.clone(), "unwrapped", "found");
            self.found.push(Candidate {
                what: best.what,
                start: place.start,
                end: place.end,
                confidence: best.confidence.saturating_sub(3),
                reason,
                from: place.start,
            });
        }
    }
}
