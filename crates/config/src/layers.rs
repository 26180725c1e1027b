//! Who can set a key, and which of them wins: the built-in default, then config.yaml, then the environment, then flags.
//!
//! Everything is handed in as values. The environment is `HOLDFAST_HEALTH__INTERVAL_MINUTES`, a flag is
//! `health.interval_minutes=5`; both hold what would stand behind the key in the file, on one line.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, Sink};
use crate::forms::VariablePrefix;
use crate::outline::{Outline, last, parent};
use crate::quote::{is_key_like, quoted};
use crate::reader::Setting;
use crate::scalar::Scalar;
use crate::source::{Place, Source, SourceKind};
use crate::tree::{self, Kind, Node};
use crate::unknown;

const PREFIX: &str = "HOLDFAST_";
/// Between a section and its key. One underscore is part of a name.
const BETWEEN: &str = "__";

/// Everything a configuration is made from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layers<'a> {
    /// The file's name, for messages, and its bytes.
    pub file: Option<(&'a Path, &'a [u8])>,
    /// All variables; those of others are passed over.
    pub environment: &'a [(String, String)],
    /// Each `section.key=value`.
    pub sets: &'a [String],
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Default,
    File { line: usize, column: usize },
    Environment { variable: String },
    Flag,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Default => f.write_str("default"),
            Layer::File { line, column } => write!(f, "file, line {line}, column {column}"),
            Layer::Environment { variable } => write!(f, "environment, {variable}"),
            Layer::Flag => f.write_str("flag --set"),
        }
    }
}

/// The variable that sets a key.
pub fn variable_of(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', BETWEEN).to_ascii_uppercase())
}

/// One value from outside the file, ready to be read.
pub(crate) struct Single {
    path: String,
    source: Source,
    layer: Layer,
}

/// The settings in the environment. Variables that look like ours and name no key are refused.
pub(crate) fn from_environment(
    outline: &Outline,
    environment: &[(String, String)],
    found: &mut Sink,
) -> Vec<Single> {
    let mut singles = Vec::new();
    let mut ours: Vec<&(String, String)> = environment.iter().filter(|(name, _)| is_setting(name)).collect();
    ours.sort();
    for (order, (name, value)) in ours.into_iter().enumerate() {
        let path = name[PREFIX.len()..].replace(BETWEEN, ".").to_ascii_lowercase();
        let known = outline.key(&path).is_some() && variable_of(&path) == *name;
        if !known {
            found.push(|| unknown_variable(outline, name, &path, order + 1));
            continue;
        }
        let layer = Layer::Environment { variable: name.clone() };
        match Source::read(name, SourceKind::Value, order + 1, value.as_bytes(), &outline.vocabulary) {
            Ok(source) => singles.push(Single { path, source, layer }),
            Err(wrong) => found.push(|| *wrong),
        }
    }
    singles
}

/// The settings given as flags. `after` says how many sources come before them.
pub(crate) fn from_sets(outline: &Outline, sets: &[String], after: usize, found: &mut Sink) -> Vec<Single> {
    let mut singles = Vec::new();
    for (order, set) in sets.iter().enumerate() {
        let order = after + order + 1;
        let Some((path, value)) = set.split_once('=') else {
            // What was written may be a secret with its key forgotten.
            found.push(|| {
                nowhere("--set", order, Code::BadFlag, "this is not `section.key=value`")
                    .help("for example `--set log.level=debug`")
            });
            continue;
        };
        let path = path.trim();
        if outline.key(path).is_none() {
            found.push(|| unknown_set(outline, path, order));
            continue;
        }
        let name = format!("--set {path}");
        match Source::read(&name, SourceKind::Value, order, value.as_bytes(), &outline.vocabulary) {
            Ok(source) => singles.push(Single { path: path.to_owned(), source, layer: Layer::Flag }),
            Err(wrong) => found.push(|| *wrong),
        }
    }
    singles
}

/// Parses single values and lays them over what is there.
pub(crate) fn lay_over<'a>(
    settings: &mut BTreeMap<String, Vec<Setting<'a>>>,
    singles: &'a [Single],
    found: &mut Vec<Sink>,
) {
    for Single { path, source, layer } in singles {
        let parsed = tree::parse(source);
        let broken = !parsed.found.is_empty();
        found.push(parsed.found);
        let empty = || Node { kind: Kind::Scalar(Scalar::new("", true)), place: Place::START };
        let node = match parsed.root {
            _ if broken => Node { kind: Kind::Refused, place: Place::START },
            root => root.unwrap_or_else(empty),
        };
        let place = node.place;
        let setting = Setting { node, place, source, layer: layer.clone() };
        settings.entry(path.clone()).or_default().push(setting);
    }
}

/// Ours, with a section and a key in its name, and not a secret.
fn is_setting(name: &str) -> bool {
    let ours = name.strip_prefix(PREFIX).is_some_and(|rest| rest.contains(BETWEEN));
    ours && !name.starts_with(VariablePrefix::OWN)
}

fn unknown_variable(outline: &Outline, name: &str, path: &str, order: usize) -> Diagnostic {
    if outline.is_section(path) {
        let message = "this variable names a section, and only keys can be set";
        let keys: Vec<String> =
            outline.names_in(path).iter().map(|key| variable_of(&format!("{path}.{key}"))).collect();
        return nowhere(name, order, Code::UnknownKey, message)
            .help(format!("for example `{}`", keys.join("`, `")));
    }
    let help = match unknown::meant(outline, path) {
        Some(meant) => format!("did you mean `{}`?", variable_of(meant)),
        None => unknown::help(outline, parent(path), last(path)),
    };
    nowhere(name, order, Code::UnknownKey, "this variable sets no key there is").help(help)
}

fn unknown_set(outline: &Outline, path: &str, order: usize) -> Diagnostic {
    if !is_key_like(path) {
        let message = "this does not begin with a key";
        return nowhere("--set", order, Code::BadFlag, message).help("for example `--set log.level=debug`");
    }
    if path == "version" {
        let message = "`version` is the form of the file and cannot be set";
        return nowhere("--set", order, Code::Version, message).help("leave it out");
    }
    if outline.is_section(path) {
        let message = format!("`{path}` is a section, and only keys can be set");
        let names = outline.names_in(path).join("`, `");
        return nowhere("--set", order, Code::UnknownKey, message).help(format!("it has `{names}`"));
    }
    let message = format!("unknown key {}", quoted(path));
    let help = match unknown::meant(outline, path) {
        Some(meant) => format!("did you mean `--set {meant}`?"),
        None => unknown::help(outline, parent(path), last(path)),
    };
    nowhere("--set", order, Code::UnknownKey, message).help(help)
}

/// A diagnostic about a name outside any text, of which nothing is shown.
fn nowhere(name: &str, order: usize, code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic {
        file: name.to_owned(),
        kind: SourceKind::Value,
        order,
        place: Place::START,
        code,
        message: message.into(),
        help: None,
        snippet: None,
        related: Vec::new(),
    }
}
