//! The types a key can have: how each is read, shown, described and put into the schema.
//!
//! Reading gives the trusted form or a [`Mismatch`], which is the rest of a sentence that begins with the key.
//! The choices (`error | warn | …`) are made by [`choice!`], texts with a form of their own by [`crate::forms`].

use std::ops::RangeInclusive;

use serde_json::json;

use crate::diagnostic::Code;
use crate::nearest::nearest;
use crate::scalar::Meaning;
use crate::source::Place;
use crate::tree::{Kind, Node};

pub(crate) trait Value: Sized {
    /// What narrows the type for one key; a range for numbers, how many for lists.
    type Rule;
    /// Whether the same item may stand twice in a list.
    const MAY_REPEAT: bool = false;
    fn read(node: &Node, rule: &Self::Rule) -> Result<Self, Mismatch>;
    /// As it would be written in the file, on one line.
    fn shown(&self) -> String;
    /// As people are told of it: as written, unless a part of it may be a secret.
    fn told(&self) -> String {
        self.shown()
    }
    /// The same for a list of these.
    fn told_all(items: &[Self]) -> String {
        listed(items.iter().map(Self::told))
    }
    fn shape(rule: &Self::Rule) -> Shape;
}

/// What there is to know about a type without having a value.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// With its article: `a whole number from 1 to 60`.
    pub(crate) words: String,
    /// JSON Schema, draft 2020-12.
    pub(crate) schema: serde_json::Value,
    /// Some values that are taken, as they would be written.
    pub(crate) examples: Vec<String>,
    /// Whether somebody could write a secret here by mistake, so that nothing of it may be repeated.
    pub(crate) secret: bool,
    /// Words of its own that a message may always show.
    pub(crate) words_known: Vec<String>,
}

impl Shape {
    pub(crate) fn new(words: impl Into<String>, schema: serde_json::Value, examples: Vec<String>) -> Shape {
        Shape { words: words.into(), schema, examples, secret: false, words_known: Vec::new() }
    }
}

/// Why a value does not fit its key.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    pub(crate) code: Code,
    /// Goes on after the key: "takes …, and this is …".
    pub(crate) what: String,
    pub(crate) help: Option<String>,
    /// Where, if only a part of the value is meant.
    pub(crate) place: Option<Place>,
}

impl Mismatch {
    pub(crate) fn new(code: Code, what: impl Into<String>) -> Mismatch {
        Mismatch { code, what: what.into(), help: None, place: None }
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Mismatch {
        self.help = Some(help.into());
        self
    }

    /// The value is wrong, and may be a secret that belongs elsewhere.
    pub(crate) fn unsaid(code: Code, words: &str) -> Mismatch {
        Mismatch::new(code, format!("takes {words}, and this is something else"))
    }

    /// The value is of another type.
    pub(crate) fn wrong_type(node: &Node, words: &str) -> Mismatch {
        Mismatch::new(Code::WrongType, format!("takes {words}, and this is {}", node.found()))
    }
}

/// The meaning of a node that must be a single value.
pub(crate) fn single<'a>(node: &'a Node, words: &str) -> Result<Meaning<'a>, Mismatch> {
    match &node.kind {
        Kind::Scalar(scalar) => Ok(scalar.meaning()),
        _ => Err(Mismatch::wrong_type(node, words)),
    }
}

/// The text of a node that must be a text.
pub(crate) fn text<'a>(node: &'a Node, words: &str) -> Result<&'a str, Mismatch> {
    match single(node, words)? {
        Meaning::Text(text) => Ok(text),
        Meaning::Empty => Err(Mismatch::wrong_type(node, words)),
        Meaning::Ambiguous(word) => {
            let help = format!("put it in quotes if it is meant as text: \"{word}\"");
            Err(Mismatch::wrong_type(node, words).help(help))
        }
        Meaning::Null | Meaning::Bool(_) | Meaning::Whole(_) | Meaning::OtherNumber => {
            Err(Mismatch::wrong_type(node, words).help("put it in quotes if it is meant as text"))
        }
    }
}

impl Value for bool {
    type Rule = ();

    fn read(node: &Node, (): &()) -> Result<bool, Mismatch> {
        const WORDS: &str = "`true` or `false`";
        match single(node, WORDS)? {
            Meaning::Bool(value) => Ok(value),
            Meaning::Ambiguous(word) | Meaning::Text(word) => {
                let wrong = Mismatch::wrong_type(node, WORDS);
                Err(match word.to_ascii_lowercase().as_str() {
                    "yes" | "on" | "y" | "true" => wrong.help("write `true`, without quotes"),
                    "no" | "off" | "n" | "false" => wrong.help("write `false`, without quotes"),
                    _ => wrong,
                })
            }
            _ => Err(Mismatch::wrong_type(node, WORDS)),
        }
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn shape((): &()) -> Shape {
        Shape::new("`true` or `false`", json!({ "type": "boolean" }), vec!["true".into(), "false".into()])
    }
}

impl Value for u32 {
    type Rule = RangeInclusive<u32>;

    fn read(node: &Node, range: &RangeInclusive<u32>) -> Result<u32, Mismatch> {
        let words = u32::shape(range).words;
        let found = match single(node, &words)? {
            Meaning::Whole(number) => number,
            Meaning::OtherNumber => {
                let wrong = Mismatch::wrong_type(node, &words);
                return Err(wrong.help("write a number in the range, with digits only"));
            }
            Meaning::Text(text) if text.parse::<i64>().is_ok() => {
                return Err(Mismatch::wrong_type(node, &words).help(format!("write `{text}` without quotes")));
            }
            _ => return Err(Mismatch::wrong_type(node, &words)),
        };
        let fitting = u32::try_from(found).ok().filter(|number| range.contains(number));
        fitting.ok_or_else(|| {
            let (low, high) = range.clone().into_inner();
            Mismatch::new(Code::OutOfRange, format!("goes from {low} to {high}, and this is {found}"))
        })
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn shape(range: &RangeInclusive<u32>) -> Shape {
        let (low, high) = range.clone().into_inner();
        Shape::new(
            format!("a whole number from {low} to {high}"),
            json!({ "type": "integer", "minimum": low, "maximum": high }),
            vec![low.to_string(), high.to_string()],
        )
    }
}

/// Not set, unless it is.
impl<T: Value> Value for Option<T> {
    type Rule = T::Rule;

    fn read(node: &Node, rule: &T::Rule) -> Result<Option<T>, Mismatch> {
        let null = matches!(&node.kind, Kind::Scalar(scalar) if scalar.meaning() == Meaning::Null);
        if null { Ok(None) } else { T::read(node, rule).map(Some) }
    }

    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "null".to_owned(), T::shown)
    }

    fn told(&self) -> String {
        self.as_ref().map_or_else(|| "null".to_owned(), T::told)
    }

    fn shape(rule: &T::Rule) -> Shape {
        let inner = T::shape(rule);
        let schema = json!({ "anyOf": [inner.schema, { "type": "null" }] });
        Shape { words: format!("{}, or `null` for none", inner.words), schema, ..inner }
    }
}

/// How many items a list may have, and what narrows each.
#[derive(Clone, Debug)]
pub(crate) struct Items<R = ()> {
    pub(crate) max: usize,
    pub(crate) each: R,
}

impl Items {
    pub(crate) const fn at_most(max: usize) -> Items {
        Items { max, each: () }
    }
}

impl<T: Value> Value for Vec<T> {
    type Rule = Items<T::Rule>;

    fn read(node: &Node, rule: &Items<T::Rule>) -> Result<Vec<T>, Mismatch> {
        let words = Self::shape(rule).words;
        let Kind::List(nodes) = &node.kind else {
            let example = Self::shape(rule).examples.first().cloned().unwrap_or_default();
            let wrong = match Self::shape(rule).secret {
                true => Mismatch::unsaid(Code::WrongType, &words),
                false => Mismatch::wrong_type(node, &words),
            };
            return Err(wrong.help(format!("write it in brackets: `{example}`")));
        };
        if nodes.len() > rule.max {
            let what = format!("has at most {} items, and this has {}", rule.max, nodes.len());
            return Err(Mismatch::new(Code::OutOfRange, what));
        }
        let mut seen = Vec::new();
        let mut items = Vec::new();
        for node in nodes {
            let at = |wrong: Mismatch| Mismatch { place: wrong.place.or(Some(node.place)), ..wrong };
            let item = T::read(node, &rule.each).map_err(|wrong| {
                let what = wrong.what.replacen("takes", "takes in its list", 1);
                at(Mismatch { what, ..wrong })
            })?;
            let shown = item.shown();
            if !T::MAY_REPEAT && seen.contains(&shown) {
                let what = format!("has `{shown}` in its list twice");
                return Err(at(Mismatch::new(Code::WrongValue, what).help("keep one of them")));
            }
            seen.push(shown);
            items.push(item);
        }
        Ok(items)
    }

    fn shown(&self) -> String {
        listed(self.iter().map(T::shown))
    }

    fn told(&self) -> String {
        T::told_all(self)
    }

    fn shape(rule: &Items<T::Rule>) -> Shape {
        let inner = T::shape(&rule.each);
        let mut schema = json!({ "type": "array", "items": inner.schema, "maxItems": rule.max });
        if !T::MAY_REPEAT {
            schema["uniqueItems"] = json!(true);
        }
        let all = format!("[{}]", inner.examples.join(", "));
        let single = inner.examples.iter().map(|example| format!("[{example}]"));
        let examples = std::iter::once(all).chain(single).collect();
        let words = format!("a list of at most {} items, each {}", rule.max, inner.words);
        Shape { words, schema, examples, ..inner }
    }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Reads one of some words; used by [`choice!`].
pub(crate) fn one_of<T: Copy>(node: &Node, choices: &[(&str, T)]) -> Result<T, Mismatch> {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let words = format!("one of {}", names.join(", "));
    let found = text(node, &words).map_err(|wrong| Mismatch { help: None, ..wrong })?;
    if let Some((_, value)) = choices.iter().find(|(name, _)| *name == found) {
        return Ok(*value);
    }
    let wrong = Mismatch { code: Code::WrongValue, ..Mismatch::wrong_type(node, &words) };
    Err(match nearest(found, names.iter().copied()) {
        Some(name) => wrong.help(format!("write `{name}`")),
        None => wrong,
    })
}

/// An enum whose variants are the words a key takes.
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident { $( $(#[doc = $doc:literal])* $variant:ident = $word:literal, )+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $( $(#[doc = $doc])* $variant, )+ }

        impl $name {
            pub const ALL: &[$name] = &[$( $name::$variant, )+];

            pub fn word(self) -> &'static str {
                match self { $( $name::$variant => $word, )+ }
            }
        }

        impl $crate::value::Value for $name {
            type Rule = ();

            fn read(node: &$crate::tree::Node, (): &()) -> Result<$name, $crate::value::Mismatch> {
                $crate::value::one_of(node, &[$( ($word, $name::$variant), )+])
            }

            fn shown(&self) -> String {
                self.word().to_owned()
            }

            fn shape((): &()) -> $crate::value::Shape {
                let words = [$( $word, )+];
                let listed = words.map(|word| format!("`{word}`")).join(", ");
                let owned: Vec<String> = words.map(str::to_owned).to_vec();
                let schema = serde_json::json!({ "enum": words });
                $crate::value::Shape {
                    words_known: owned.clone(),
                    ..$crate::value::Shape::new(format!("one of {listed}"), schema, owned)
                }
            }
        }
    };
}
pub(crate) use choice;
