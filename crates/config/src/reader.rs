//! Turns what was written into values: for each key the topmost layer that sets it, else its default.
//!
//! Every layer is checked, also where a higher one wins: a wrong line in a file does not become right because
//! today's environment hides it.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Code, Diagnostic, Related, RelatedPlace, Sink};
use crate::layers::Layer;
use crate::outline::{Outline, last};
use crate::source::{Place, Reveal, Source};
use crate::tree::{Kind, Node};
use crate::value::{Mismatch, Value};

/// A key as one layer sets it.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) node: Node,
    /// Where a person looks for it.
    pub(crate) place: Place,
    pub(crate) source: &'a Source,
    pub(crate) layer: Layer,
}

#[derive(Debug)]
pub(crate) struct Reader<'a> {
    outline: &'a Outline,
    /// By path; the later a setting, the higher its layer.
    settings: BTreeMap<String, Vec<Setting<'a>>>,
    provenance: BTreeMap<String, Layer>,
    /// Keys whose value is not what somebody meant it to be.
    failed: BTreeSet<String>,
    found: Sink,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(outline: &'a Outline, settings: BTreeMap<String, Vec<Setting<'a>>>) -> Reader<'a> {
        Reader {
            outline,
            settings,
            provenance: BTreeMap::new(),
            failed: BTreeSet::new(),
            found: Sink::default(),
        }
    }

    pub(crate) fn key<T: Value>(&mut self, path: String, rule: &T::Rule, default: T) -> T {
        let (mut value, mut layer) = (default, Layer::Default);
        for setting in self.settings.get(&path).map(Vec::as_slice).unwrap_or_default() {
            if matches!(setting.node.kind, Kind::Refused) {
                self.failed.insert(path.clone());
                continue;
            }
            match T::read(&setting.node, rule) {
                Ok(read) => (value, layer) = (read, setting.layer.clone()),
                Err(wrong) => {
                    self.failed.insert(path.clone());
                    self.found.keep(mismatch(self.outline, &path, setting, wrong));
                }
            }
        }
        self.provenance.insert(path, layer);
        value
    }

    /// Reports keys that do not go together, at the first of them that somebody wrote, naming all of them.
    /// Says nothing when one of them is wrong by itself.
    pub(crate) fn combination(&mut self, keys: &[(&str, String)], message: &str, help: &str) {
        if keys.iter().any(|(path, _)| self.failed.contains(*path)) {
            return;
        }
        let written = |path: &str| self.settings.get(path).and_then(|settings| settings.last());
        let Some((first, setting)) = keys.iter().find_map(|(path, _)| Some((*path, written(path)?))) else {
            return;
        };
        let others = keys.iter().filter(|(path, _)| *path != first);
        let related = others.map(|(path, value)| self.related(path, value)).collect();
        let diagnostic = setting
            .source
            .diagnostic(setting.place, reveal(self.outline, first), Code::Combination, message)
            .related(related)
            .help(help);
        self.found.keep(diagnostic);
    }

    fn related(&self, path: &str, value: &str) -> Related {
        let setting = self.settings.get(path).and_then(|settings| settings.last());
        let Some(Setting { source, place, .. }) = setting else {
            return Related { message: format!("`{path}` is {value} by default"), at: None };
        };
        let snippet = source.snippet(*place, reveal(self.outline, path));
        let at = RelatedPlace { file: source.name.clone(), kind: source.kind, place: *place, snippet };
        Related { message: format!("`{path}` is {value}"), at: Some(at) }
    }

    pub(crate) fn finish(self) -> (BTreeMap<String, Layer>, Sink) {
        (self.provenance, self.found)
    }
}

fn mismatch(outline: &Outline, path: &str, setting: &Setting<'_>, wrong: Mismatch) -> Diagnostic {
    let example = outline.key(path).and_then(|key| sensible_example(&key.default, &key.examples));
    let place = wrong.place.unwrap_or(setting.place);
    let message = format!("`{path}` {}", wrong.what);
    let diagnostic = setting.source.diagnostic(place, reveal(outline, path), wrong.code, message);
    let help = wrong.help.or_else(|| Some(format!("for example `{}: {}`", last(path), example?)));
    Diagnostic { help, ..diagnostic }
}

fn reveal(outline: &Outline, path: &str) -> Reveal {
    let secret = outline.key(path).is_none_or(|key| key.secret);
    if secret { Reveal::KnownWords } else { Reveal::Place }
}

/// The default where it says something, else an example.
fn sensible_example<'a>(default: &'a str, examples: &'a [String]) -> Option<&'a str> {
    if matches!(default, "null" | "[]") { examples.first().map(String::as_str) } else { Some(default) }
}
