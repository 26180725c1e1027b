//! The rules in force, and what they make of a text.

use std::borrow::Cow;
use std::ops::Range;

use holdfast_guard::{Action, Family, FileKind, Finding, Guard, Looking, Method, RuleError, Scene, Settings};

use crate::own;

/// Whether the journal keeps what tells of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PersonalData {
    #[default]
    Keep,
    Redact,
}

/// A guard and how it is used. Made when the configuration is read, and shared from then on.
#[derive(Debug)]
pub struct Rules {
    guard: Made,
    people: PersonalData,
}

#[derive(Debug)]
enum Made {
    Builtin(&'static Guard),
    Own(Box<Guard>),
}

/// A text that the rules have gone over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cleaned<'t> {
    Kept(Cow<'t, str>),
    /// Nothing of it may be kept. The reason quotes nothing of it.
    Blocked(String),
}

/// A name that is longer says nothing more about its value.
const NAME_BYTES_MAX: usize = 120;

/// A longer value is a text, and is read as one.
const NAMED_BYTES_MAX: usize = 4096;

impl Rules {
    /// The rules that come with the program.
    pub fn builtin() -> Rules {
        Rules { guard: Made::Builtin(Guard::builtin()), people: PersonalData::Keep }
    }

    /// A user's own settings, with their patterns tried on their own examples.
    pub fn new(settings: &Settings, people: PersonalData) -> Result<Rules, RuleError> {
        Ok(Rules { guard: Made::Own(Box::new(Guard::new(settings)?)), people })
    }

    pub fn guard(&self) -> &Guard {
        match &self.guard {
            Made::Builtin(guard) => guard,
            Made::Own(guard) => guard,
        }
    }

    /// A line for people, in a log or on a terminal, without its secrets. Nothing is taken out of it for looking random:
    /// logs are full of digests.
    pub fn sieved<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redacted(text, Looking::Named) {
            Cleaned::Kept(text) => text,
            Cleaned::Blocked(_) => "[withheld: it holds a secret that cannot be cut out safely]".into(),
        }
    }

    /// A line that is handed to somebody else: without people and addresses too.
    pub fn sieved_for_others<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = self.sieved(text);
        let personal = |f: &Finding<'_>| f.kind.family == Family::Personal;
        match replaced(
            &text,
            &self.guard().find(text.as_bytes(), &Scene::text(Looking::Everything)),
            personal,
        ) {
            Some(clean) => clean.into(),
            None => text,
        }
    }

    /// What is kept of a text in the journal.
    pub(crate) fn stored<'t>(&self, text: &'t str) -> Cleaned<'t> {
        let text = match self.redacted(text, Looking::Named) {
            Cleaned::Kept(text) => text,
            blocked => return blocked,
        };
        Cleaned::Kept(match (is_sentence(&text), self.people) {
            (true, PersonalData::Keep) => self.without_random(text, Looking::Secrets),
            (true, PersonalData::Redact) => self.without_random(text, Looking::SecretsAndPeople),
            (false, PersonalData::Redact) => self.without_person(text),
            (false, PersonalData::Keep) => text,
        })
    }

    /// What is kept of a name in the envelope: it is one word, and may well be a person's.
    pub(crate) fn enveloped<'t>(&self, name: &'t str) -> Cleaned<'t> {
        self.redacted(name, Looking::Named)
    }

    /// What is kept of a value, given what it is called.
    pub(crate) fn stored_under<'t>(&self, name: &str, text: &'t str) -> Cleaned<'t> {
        let Some(clean) = self.told_by_its_name(name, text) else {
            return self.stored(text);
        };
        match self.stored(&clean) {
            Cleaned::Kept(clean) => Cleaned::Kept(clean.into_owned().into()),
            Cleaned::Blocked(reason) => Cleaned::Blocked(reason),
        }
    }

    /// The value without what name and value together give away; `None` when that is nothing.
    fn told_by_its_name(&self, name: &str, text: &str) -> Option<String> {
        let fits = name.len() <= NAME_BYTES_MAX && (1..=NAMED_BYTES_MAX).contains(&text.len());
        if !fits || name.is_empty() || own::is_public(name, text) {
            return None;
        }
        let before = format!("\"{}\": \"", quotable(name));
        let line = format!("{before}{}\"", quotable(text));
        let mut scene = Scene::text(Looking::Named);
        scene.file = FileKind::Json;
        let inside = before.len()..before.len() + text.len();
        let mut findings = self.guard().find(line.as_bytes(), &scene);
        findings.retain(|f| {
            f.kind.action == Action::Replace && f.span.start < inside.end && f.span.end > inside.start
        });
        for finding in &mut findings {
            finding.span = finding.span.start.max(inside.start) - inside.start
                ..finding.span.end.min(inside.end) - inside.start;
        }
        replaced(text, &findings, |_| true)
    }

    /// A sentence without what only looks random in it. Names of our own look so, and people need them.
    fn without_random<'t>(&self, text: Cow<'t, str>, looking: Looking) -> Cow<'t, str> {
        let own =
            |f: &Finding<'_>| f.method == Method::Entropy && own::is_name(word_around(&text, f.span.clone()));
        let findings = self.guard().find(text.as_bytes(), &Scene::text(looking));
        replaced(&text, &findings, |f| !own(f)).map_or(text, Cow::Owned)
    }

    /// A bare value that is a person's mark from end to end goes; a digest in which a number looks like a card stays.
    fn without_person<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        let scene = Scene::text(Looking::SecretsAndPeople);
        let whole = |f: &Finding<'_>| {
            f.kind.family == Family::Personal && f.method == Method::Pattern && f.span == (0..text.len())
        };
        replaced(&text, &self.guard().find(text.as_bytes(), &scene), whole).map_or(text, Cow::Owned)
    }

    fn redacted<'t>(&self, text: &'t str, looking: Looking) -> Cleaned<'t> {
        let redacted = self.guard().redact_for(text, looking);
        match redacted.reason {
            Some(reason) => Cleaned::Blocked(reason),
            None if redacted.redactions.is_empty() => Cleaned::Kept(text.into()),
            None => Cleaned::Kept(redacted.content.into()),
        }
    }
}

/// A value of one word is an id, a digest, a path; a text has blanks.
fn is_sentence(text: &str) -> bool {
    text.trim().contains(char::is_whitespace)
}

/// The word that a stretch of text is in.
fn word_around(text: &str, span: Range<usize>) -> &str {
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':');
    let bytes = text.as_bytes();
    let start = span.start - bytes[..span.start].iter().rev().take_while(|b| part(b)).count();
    let end = span.end + bytes[span.end..].iter().take_while(|b| part(b)).count();
    text.get(start..end).unwrap_or_default()
}

/// The same number of bytes, with nothing in it that would end the quotation.
fn quotable(text: &str) -> String {
    let plain = |c: char| if matches!(c, '"' | '\\') || c.is_ascii_control() { '\'' } else { c };
    text.chars().map(plain).collect()
}

/// The text with some of the findings replaced; `None` when there are none.
fn replaced(text: &str, findings: &[Finding<'_>], wanted: impl Fn(&Finding<'_>) -> bool) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    for finding in findings.iter().filter(|f| wanted(f)) {
        let (start, end) = (floor(text, finding.span.start), ceil(text, finding.span.end));
        if start < copied || text[start..end] == finding.kind.replacement {
            continue;
        }
        out.push_str(&text[copied..start]);
        out.push_str(&finding.kind.replacement);
        copied = end;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
