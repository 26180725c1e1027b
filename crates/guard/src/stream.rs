//! Redaction of a text that comes in pieces, or is too long to hold.
//!
//! What the engine says of a place depends on a bounded stretch around it. So the stream holds back as much as that, decides
//! what lies before, and hands it on. Cutting the text differently changes nothing: the same text comes out, with the same
//! records, as if it had come whole.

use crate::disguise::{self, Mark, Part};
use crate::engine::Guard;
use crate::kind::Action;
use crate::pass::{self, Candidate, Pass, is_token_byte};
use crate::redact::{ROUNDS, Redaction, block_reason, composed, replace};
use crate::scene::{Looking, Scene};

/// How much must have come in since the last look before it is worth another.
const STEP: usize = 16 * 1024;
/// What is decided of a place depends on at most so much behind it, and so much before it.
const AHEAD: usize = if pass::AHEAD > disguise::AHEAD { pass::AHEAD } else { disguise::AHEAD };
const BEHIND: usize = if pass::BEHIND > disguise::BEHIND { pass::BEHIND } else { disguise::BEHIND };
/// A stretch in which there is nowhere to cut is cut anyway when it has grown to this.
const MOST_HELD: usize = 256 * 1024;

/// A text under redaction, piece by piece. As a whole text is gone over several times, so is this: what one round hands on
/// is what the next is given.
#[derive(Debug)]
pub struct Stream<'g> {
    rounds: Vec<Round<'g>>,
}

/// One going over.
#[derive(Debug)]
struct Round<'g> {
    guard: &'g Guard,
    scene: Scene,
    held: Vec<u8>,
    /// The first byte of `held` that is not decided yet; what stands before it is there to be looked back at.
    decided: usize,
    /// How many bytes of the text came before `held`.
    gone: usize,
    /// Whether the last cut went through a run of token characters.
    in_run: bool,
    looked_at: usize,
    /// Where `held` may be read in another way, before what is not decided yet.
    marks: Vec<Mark>,
    redactions: Vec<Redaction>,
    blocked: Option<String>,
}

/// What a stream says when it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEnd {
    /// The rest of the text.
    pub rest: Vec<u8>,
    /// Nothing of the text may be kept, what was handed on before included.
    pub blocked: bool,
    pub reason: Option<String>,
    /// Empty where the text was blocked.
    pub redactions: Vec<Redaction>,
}

impl Guard {
    /// Begins to redact a text that comes in pieces.
    pub fn stream(&self, looking: Looking) -> Stream<'_> {
        let scene = Scene::text(looking);
        let round = || Round {
            guard: self,
            scene,
            held: Vec::new(),
            decided: 0,
            gone: 0,
            in_run: false,
            looked_at: 0,
            marks: Vec::new(),
            redactions: Vec::new(),
            blocked: None,
        };
        Stream { rounds: (0..ROUNDS).map(|_| round()).collect() }
    }
}

impl Stream<'_> {
    /// Takes the next piece; gives what is decided by now. After a block nothing more comes out.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut handed_on = piece.to_vec();
        for round in &mut self.rounds {
            handed_on = round.push(&handed_on);
        }
        if self.is_blocked() { Vec::new() } else { handed_on }
    }

    /// Whether the text has been found to hold something that blocks it.
    pub fn is_blocked(&self) -> bool {
        self.rounds.iter().any(|r| r.blocked.is_some())
    }

    /// Ends the text.
    pub fn finish(mut self) -> StreamEnd {
        let mut rest = Vec::new();
        let mut redactions = Vec::new();
        for round in &mut self.rounds {
            let mut handed_on = round.push(&rest);
            handed_on.extend(round.end());
            if let Some(kind) = &round.blocked {
                return StreamEnd {
                    rest: Vec::new(),
                    blocked: true,
                    reason: Some(block_reason(kind)),
                    redactions: Vec::new(),
                };
            }
            redactions = composed(redactions, std::mem::take(&mut round.redactions));
            rest = handed_on;
        }
        StreamEnd { rest, blocked: false, reason: None, redactions }
    }
}

impl Round<'_> {
    fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.blocked.is_some() {
            return Vec::new();
        }
        self.held.extend_from_slice(piece);
        if self.held.len() < self.looked_at + STEP || self.held.len() < self.decided + AHEAD + STEP {
            return Vec::new();
        }
        self.decide(false)
    }

    fn end(&mut self) -> Vec<u8> {
        if self.blocked.is_some() { Vec::new() } else { self.decide(true) }
    }

    fn decide(&mut self, last: bool) -> Vec<u8> {
        let text = std::mem::take(&mut self.held);
        let mut pass = Pass::new(&text, self.scene, self.guard.lore());
        pass.marks = Some(std::mem::take(&mut self.marks));
        pass.run(self.decided, self.in_run);
        let mut marks = pass.marks.take().unwrap_or_default();
        let mut found = std::mem::take(&mut pass.found);
        let to = if last { text.len() } else { text.len().saturating_sub(AHEAD) };
        let part = Part { text: &text, gone: self.gone, from: self.decided, to };
        disguise::look_behind(part, &self.scene, self.guard.lore(), &mut marks, &mut found);
        let mut whole: Vec<(usize, usize)> = std::mem::take(&mut pass.joined);
        whole.extend(found.iter().map(|c| (c.from.min(c.start), c.end)));
        whole.extend(self.guard.custom_spans(&text, self.decided));
        let cut = if last { text.len() } else { self.cut(&text, &whole) };
        let out = self.hand_on(&text, cut, found);
        let keep = cut.saturating_sub(BEHIND);
        self.in_run = cut > 0 && cut < text.len() && is_token_byte(text[cut - 1]) && is_token_byte(text[cut]);
        self.marks = marks.into_iter().filter(|m| m.start() < cut).filter_map(|m| m.moved(keep)).collect();
        self.gone += keep;
        self.decided = cut - keep;
        self.held = text;
        self.held.drain(..keep);
        self.looked_at = self.held.len();
        out
    }

    /// The last place before which all is decided, or where we stand if there is none yet.
    fn cut(&self, text: &[u8], whole: &[(usize, usize)]) -> usize {
        let limit = text.len().saturating_sub(AHEAD);
        let open = |cut: usize| !whole.iter().any(|(from, to)| *from < cut && cut < *to);
        let mut cut = limit;
        let mut tried = 0;
        while cut > self.decided {
            let plain = !is_token_byte(text[cut - 1])
                && text[cut - 1] < 0x80
                && text.get(cut).is_none_or(|b| *b < 0x80);
            if plain && open(cut) {
                return cut;
            }
            // Inside a stretch that is one whole, go straight to where it begins.
            let from =
                whole.iter().filter(|(from, to)| *from < cut && cut < *to).map(|(from, _)| *from).min();
            cut = from.unwrap_or(cut - 1).min(cut - 1);
            tried += 1;
            if tried > MOST_HELD {
                break;
            }
        }
        if text.len() - self.decided < MOST_HELD {
            return self.decided;
        }
        let mut cut = whole
            .iter()
            .filter(|(from, to)| *from < limit && limit < *to)
            .map(|(_, to)| *to)
            .max()
            .unwrap_or(limit);
        while cut > self.decided && cut < text.len() && text[cut] & 0xc0 == 0x80 {
            cut -= 1;
        }
        cut
    }

    fn hand_on(&mut self, text: &[u8], cut: usize, found: Vec<Candidate>) -> Vec<u8> {
        let decided: Vec<Candidate> =
            found.into_iter().filter(|c| c.start >= self.decided && c.from.min(c.start) < cut).collect();
        let findings = self.guard.settled(text, &self.scene, decided, self.decided..cut);
        if let Some(blocking) = findings.iter().find(|f| f.kind.action == Action::Block) {
            self.blocked = Some(blocking.kind.id.clone());
            return Vec::new();
        }
        let mut out = Vec::with_capacity(cut - self.decided);
        let records = replace(text, self.decided..cut, self.gone, &findings, &mut out);
        self.redactions.extend(records);
        out
    }
}
