//! The redactor: a text without its secrets, and a record of what was taken out.

use std::borrow::Cow;
use std::ops::Range;

use crate::engine::Guard;
use crate::finding::{Confidence, Finding, Method};
use crate::kind::Action;
use crate::scene::{Looking, Scene};

/// A text after redaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Redacted {
    /// Empty where the text was blocked.
    pub content: String,
    /// Nothing of the text may be kept.
    pub blocked: bool,
    /// Why it was blocked: the kind's name, never the text.
    pub reason: Option<String>,
    /// In order; empty where the text was blocked.
    pub redactions: Vec<Redaction>,
}

/// One place that was replaced. Nothing in it gives back what stood there.
#[derive(Clone, Debug, PartialEq)]
pub struct Redaction {
    /// The kind's name: `api_key_github`.
    pub kind: String,
    /// How what stood there may be shown: its length, and nothing of it.
    pub original: String,
    pub replacement: String,
    /// Bytes of the text that was given.
    pub span: Range<usize>,
    pub method: Method,
    pub confidence: Confidence,
}

impl Redacted {
    pub(crate) fn blocked_by(kind: &str) -> Redacted {
        Redacted {
            content: String::new(),
            blocked: true,
            reason: Some(block_reason(kind)),
            redactions: Vec::new(),
        }
    }

    /// Whether the text came out as it went in.
    pub fn is_untouched(&self) -> bool {
        !self.blocked && self.redactions.is_empty()
    }
}

pub(crate) fn block_reason(kind: &str) -> String {
    format!("the text holds a secret that cannot be cut out safely: {kind}")
}

/// How often a text is gone over. What is replaced frees its neighbours, which may then be seen for what they are; a text
/// of any sense is settled after the first round, and the second sees that it is.
pub(crate) const ROUNDS: usize = 4;

impl Guard {
    /// A text without secrets, people and addresses.
    pub fn redact(&self, text: &str) -> Redacted {
        self.redact_for(text, Looking::Everything)
    }

    /// A text without what is looked for.
    pub fn redact_for(&self, text: &str, looking: Looking) -> Redacted {
        let scene = Scene::text(looking);
        let mut content = Cow::Borrowed(text);
        let mut redactions = Vec::new();
        for _ in 0..ROUNDS {
            let findings = self.find(content.as_bytes(), &scene);
            if let Some(blocking) = findings.iter().find(|f| f.kind.action == Action::Block) {
                return Redacted::blocked_by(&blocking.kind.id);
            }
            if findings.is_empty() {
                break;
            }
            let mut out = Vec::with_capacity(content.len());
            let round = replace(content.as_bytes(), 0..content.len(), 0, &findings, &mut out);
            if round.is_empty() {
                break;
            }
            // Replacements are text and spans are cut between characters.
            content = Cow::Owned(String::from_utf8(out).unwrap_or_default());
            redactions = composed(redactions, round);
        }
        Redacted { content: content.into_owned(), blocked: false, reason: None, redactions }
    }
}

/// Writes a stretch of text with its findings replaced; `gone` is how much of the text came before. Gives the records.
pub(crate) fn replace(
    text: &[u8],
    stretch: Range<usize>,
    gone: usize,
    findings: &[Finding<'_>],
    out: &mut Vec<u8>,
) -> Vec<Redaction> {
    let mut records = Vec::with_capacity(findings.len());
    let mut copied = stretch.start;
    for finding in findings {
        let span = whole_characters(text, finding.span.clone());
        // `password=[REDACTED_PASSWORD]` is done.
        if span.start < copied || text[span.clone()] == *finding.kind.replacement.as_bytes() {
            continue;
        }
        out.extend_from_slice(&text[copied..span.start]);
        out.extend_from_slice(finding.kind.replacement.as_bytes());
        copied = span.end;
        records.push(Redaction::of(finding, span.start + gone..span.end + gone));
    }
    out.extend_from_slice(&text[copied.min(stretch.end)..stretch.end]);
    records
}

/// The records of two rounds as if there had been one: those of the second, which refer to what the first wrote, are brought
/// back to the text the first was given. A record of the second that covers one of the first takes its place.
pub(crate) fn composed(first: Vec<Redaction>, second: Vec<Redaction>) -> Vec<Redaction> {
    let mut all: Vec<Redaction> = Vec::with_capacity(first.len() + second.len());
    let mut first = first.into_iter().peekable();
    // What must be added to a place in the first's output to have the place in its input.
    let mut shift: isize = 0;
    for mut late in second {
        let place = |at: usize, shift: isize| at.saturating_add_signed(shift);
        while let Some(early) =
            first.next_if(|early| early.span.end <= place(late.span.start, shift + grown(early)))
        {
            shift += grown(&early);
            all.push(early);
        }
        let start = place(late.span.start, shift)
            .min(first.peek().map_or(usize::MAX, |e| e.span.start.max(place(late.span.start, shift))));
        let mut end = place(late.span.end, shift);
        while let Some(early) = first.next_if(|early| early.span.start < end) {
            shift += grown(&early);
            end = place(late.span.end, shift).max(early.span.end);
        }
        late.span = start..end;
        late.original = masked_length(end - start);
        all.push(late);
    }
    all.extend(first);
    all
}

/// By how much a place behind a replacement lies further on in the text before it.
fn grown(record: &Redaction) -> isize {
    record.span.len() as isize - record.replacement.len() as isize
}

/// A span that begins and ends between characters.
pub(crate) fn whole_characters(text: &[u8], mut span: Range<usize>) -> Range<usize> {
    let inside = |at: usize| text.get(at).is_some_and(|b| b & 0xc0 == 0x80);
    while span.start > 0 && inside(span.start) {
        span.start -= 1;
    }
    while inside(span.end) {
        span.end += 1;
    }
    span
}

impl Redaction {
    pub(crate) fn of(finding: &Finding<'_>, span: Range<usize>) -> Redaction {
        Redaction {
            kind: finding.kind.id.clone(),
            original: masked_length(span.len()),
            replacement: finding.kind.replacement.clone(),
            span,
            method: finding.method,
            confidence: finding.confidence,
        }
    }
}

/// How something secret is shown: that it was there, and how long it was.
pub fn masked(secret: &[u8]) -> String {
    masked_length(secret.len())
}

fn masked_length(length: usize) -> String {
    let unit = if length == 1 { "byte" } else { "bytes" };
    format!("•••• ({length} {unit})")
}

/// What names a found secret in lists of exceptions and baselines: the same for the same secret of the same kind, and of no
/// use for finding out which secret it was unless one has it already.
pub fn fingerprint(kind: &str, secret: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("holdfast guard finding fingerprint 1");
    hasher.update(kind.as_bytes());
    hasher.update(&[0]);
    hasher.update(secret);
    format!("blake3:{}", &hasher.finalize().to_hex()[..32])
}
