//! What the guard's section is made of: a number with one decimal place, and patterns of the user's own.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::json;

use crate::diagnostic::Code;
use crate::scalar::{Meaning, written};
use crate::tree::{Entry, Kind, Node};
use crate::value::{Mismatch, Shape, Value};

/// A number with at most one decimal place, kept in tenths so that equal numbers are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenths(u32);

impl Tenths {
    pub(crate) const fn new(tenths: u32) -> Tenths {
        Tenths(tenths)
    }

    pub fn as_f32(self) -> f32 {
        self.0 as f32 / 10.0
    }
}

impl Value for Tenths {
    /// In tenths.
    type Rule = RangeInclusive<u32>;

    fn read(node: &Node, range: &RangeInclusive<u32>) -> Result<Tenths, Mismatch> {
        let words = Tenths::shape(range).words;
        let Kind::Scalar(scalar) = &node.kind else {
            return Err(Mismatch::wrong_type(node, &words));
        };
        let tenths = match scalar.meaning() {
            Meaning::Whole(number) => u32::try_from(number).ok().and_then(|number| number.checked_mul(10)),
            Meaning::OtherNumber => in_tenths(scalar.text()),
            _ => return Err(Mismatch::wrong_type(node, &words)),
        };
        tenths
            .filter(|tenths| range.contains(tenths))
            .map(Tenths)
            .ok_or_else(|| Mismatch { code: Code::OutOfRange, ..Mismatch::wrong_type(node, &words) })
    }

    fn shown(&self) -> String {
        match self.0 % 10 {
            0 => (self.0 / 10).to_string(),
            tenth => format!("{}.{tenth}", self.0 / 10),
        }
    }

    fn shape(range: &RangeInclusive<u32>) -> Shape {
        let (low, high) = range.clone().into_inner();
        let said = |tenths| Tenths(tenths).shown();
        let words = format!("a number from {} to {} with at most one decimal place", said(low), said(high));
        let bound = |tenths: u32| f64::from(tenths) / 10.0;
        let schema = json!({ "type": "number", "minimum": bound(low), "maximum": bound(high) });
        Shape::new(words, schema, vec![said(low), said(high - 5)])
    }
}

/// `4.5` and nothing more adventurous.
fn in_tenths(text: &str) -> Option<u32> {
    let (whole, tenth) = text.split_once('.')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || whole.len() > 4 || !digits(tenth) || tenth.len() != 1 {
        return None;
    }
    Some(whole.parse::<u32>().ok()? * 10 + tenth.parse::<u32>().ok()?)
}

/// A pattern of the user's own. Its examples may be real secrets, so neither messages nor its debug form repeat them.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Pattern {
    pub name: String,
    pub regex: String,
    pub replacement: Option<String>,
    pub block: bool,
    pub found: Vec<String>,
    pub kept: Vec<String>,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern").field("name", &self.name).finish_non_exhaustive()
    }
}

const WORDS: &str =
    "a pattern as `{ name, regex, replacement, block, found, kept }`, of which name and regex must be there";

/// Examples of one pattern; each is tried whenever the configuration is read.
const EXAMPLES_MAX: usize = 20;
const TEXT_MAX: usize = 1000;

impl Value for Pattern {
    type Rule = ();

    fn read(node: &Node, (): &()) -> Result<Pattern, Mismatch> {
        let wrong = |what: &str| Mismatch::new(Code::WrongType, format!("takes {WORDS}, and {what}"));
        let Kind::Map(entries) = &node.kind else {
            return Err(wrong("this is something else"));
        };
        let mut pattern = Pattern::default();
        for entry in entries {
            let at = |what: &str| Mismatch { place: Some(entry.key_place), ..wrong(what) };
            pattern.take(entry).map_err(at)?;
        }
        if !is_name(&pattern.name) {
            return Err(wrong("this has no name of lower-case letters, digits and underscores, 60 at most"));
        }
        if pattern.regex.is_empty() {
            return Err(wrong("this has no regex"));
        }
        Ok(pattern)
    }

    fn shown(&self) -> String {
        let Pattern { name, regex, replacement, block, found, kept } = self;
        let list = |texts: &[String]| texts.iter().map(|text| written(text)).collect::<Vec<_>>().join(", ");
        let mut parts = vec![format!("name: {}", written(name)), format!("regex: {}", written(regex))];
        parts.extend(replacement.as_ref().map(|text| format!("replacement: {}", written(text))));
        parts.extend(block.then(|| "block: true".to_owned()));
        parts.extend((!found.is_empty()).then(|| format!("found: [{}]", list(found))));
        parts.extend((!kept.is_empty()).then(|| format!("kept: [{}]", list(kept))));
        format!("{{ {} }}", parts.join(", "))
    }

    /// By name alone: an expression may spell out what it is to find.
    fn told(&self) -> String {
        written(&self.name)
    }

    fn shape((): &()) -> Shape {
        let text = json!({ "type": "string", "minLength": 1, "maxLength": TEXT_MAX });
        let texts = json!({ "type": "array", "items": text, "maxItems": EXAMPLES_MAX });
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "pattern": "^[a-z0-9_]{1,60}$" },
                "regex": text,
                "replacement": text,
                "block": { "type": "boolean" },
                "found": texts,
                "kept": texts,
            },
            "required": ["name", "regex"],
            "additionalProperties": false,
        });
        let examples = [
            r#"{ name: badge, regex: "[A-Z]{2}-[0-9]{4}", found: [AB-1234], kept: [AB-12] }"#,
            r#"{ name: ticket, regex: "TCK[0-9]{6}", replacement: "[TICKET]" }"#,
        ];
        let words_known =
            ["name", "regex", "replacement", "block", "found", "kept"].map(str::to_owned).to_vec();
        let shape = Shape::new(WORDS, schema, examples.map(str::to_owned).to_vec());
        Shape { secret: true, words_known, ..shape }
    }
}

impl Pattern {
    fn take(&mut self, entry: &Entry) -> Result<(), &'static str> {
        match entry.key.as_str() {
            "name" => self.name = text(&entry.value).ok_or("this name is not a text")?,
            "regex" => {
                self.regex = text(&entry.value).ok_or("this regex is not a text of at most 1000 bytes")?
            }
            "replacement" => {
                let replacement =
                    text(&entry.value).ok_or("this replacement is not a text of at most 1000 bytes")?;
                self.replacement = Some(replacement);
            }
            "block" => self.block = yes_or_no(&entry.value).ok_or("block is neither `true` nor `false`")?,
            "found" => self.found = texts(&entry.value).ok_or("found is not a list of at most 20 texts")?,
            "kept" => self.kept = texts(&entry.value).ok_or("kept is not a list of at most 20 texts")?,
            _ => return Err("this has another key"),
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    (1..=60).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn text(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Scalar(scalar) if scalar.is_text() => {
            Some(scalar.text()).filter(|text| (1..=TEXT_MAX).contains(&text.len())).map(str::to_owned)
        }
        _ => None,
    }
}

fn texts(node: &Node) -> Option<Vec<String>> {
    match &node.kind {
        Kind::List(nodes) if nodes.len() <= EXAMPLES_MAX => nodes.iter().map(text).collect(),
        _ => None,
    }
}

fn yes_or_no(node: &Node) -> Option<bool> {
    match &node.kind {
        Kind::Scalar(scalar) => match scalar.meaning() {
            Meaning::Bool(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}
