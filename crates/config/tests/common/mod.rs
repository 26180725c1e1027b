//! What the tests of the configuration share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::Path;

use holdfast_config::tree::{Kind, Node, parse};
use holdfast_config::{Config, Error, Layers, Loaded, Meaning, Source, SourceKind, Vocabulary};

/// Every key set to something else than its default, and all of it fits together.
pub(crate) const FULL: &str = include_str!("../examples/full.yaml");

pub(crate) fn read(file: &str) -> Result<Loaded, Error> {
    let file = Some((Path::new("config.yaml"), file.as_bytes()));
    Config::read(Layers { file, ..Layers::default() })
}

#[track_caller]
pub(crate) fn good(file: &str) -> Loaded {
    read(file).unwrap_or_else(|e| panic!("{}\n{file}", said(&e)))
}

pub(crate) fn with(file: &str, environment: &[(&str, &str)], sets: &[&str]) -> Result<Loaded, Error> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let environment: Vec<(String, String)> = environment.iter().map(owned).collect();
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let file = Some((Path::new("config.yaml"), file.as_bytes()));
    Config::read(Layers { file, environment: &environment, sets: &sets })
}

pub(crate) fn said(error: &Error) -> String {
    error.diagnostics().map_or_else(|| error.to_string(), |all| all.render())
}

/// A YAML text as JSON, the way an editor hands it to a schema.
pub(crate) fn json(text: &str) -> serde_json::Value {
    let source = Source::read("t", SourceKind::File, 0, text.as_bytes(), &Vocabulary::new()).unwrap();
    parse(&source).root.as_ref().map_or(serde_json::Value::Null, json_of)
}

fn json_of(node: &Node) -> serde_json::Value {
    match &node.kind {
        Kind::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), json_of(&entry.value))).collect()
        }
        Kind::List(items) => items.iter().map(json_of).collect(),
        Kind::Refused => serde_json::Value::Null,
        Kind::Scalar(scalar) => match scalar.meaning() {
            Meaning::Empty | Meaning::Null => serde_json::Value::Null,
            Meaning::Bool(value) => value.into(),
            Meaning::Whole(value) => value.into(),
            Meaning::OtherNumber => scalar.text().parse::<f64>().unwrap_or(f64::MAX).into(),
            Meaning::Ambiguous(text) | Meaning::Text(text) => text.into(),
        },
    }
}
